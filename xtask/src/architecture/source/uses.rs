//! Owns the reading of `use` trees: every leaf becomes a path and, where it binds a name, an import.

use proc_macro2::{Delimiter, TokenTree};

use super::{
    Kind,
    scanner::{Place, Scan, from_root, is_mark, line_at, trees, word_at},
};

impl Scan {
    /// Reads the tree that follows `use` and returns where the next thing starts.
    pub(super) fn use_declaration(&mut self, tokens: &[TokenTree], index: usize, place: &Place) -> usize {
        let end = self.use_tree(tokens, index, &[], place);
        end + usize::from(is_mark(tokens, end, ';'))
    }

    fn use_tree(&mut self, tokens: &[TokenTree], index: usize, prefix: &[String], place: &Place) -> usize {
        let mut segments = prefix.to_vec();
        let mut line = line_at(tokens, index).unwrap_or(1);
        let mut next = index;
        while let Some(token) = tokens.get(next) {
            match token {
                TokenTree::Ident(name) if name == "as" => {
                    let alias = word_at(tokens, next + 1);
                    self.leaf(segments, alias, line, place);
                    return next + 2;
                }
                TokenTree::Ident(_) => {
                    line = line_at(tokens, next).unwrap_or(line);
                    segments.extend(word_at(tokens, next));
                }
                TokenTree::Punct(mark) if mark.as_char() == '*' => segments.push("*".to_owned()),
                TokenTree::Punct(mark) if matches!(mark.as_char(), ':' | '$') => {}
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    let inside = trees(group.stream());
                    let mut at = 0;
                    while at < inside.len() {
                        at = self.use_tree(&inside, at, &segments, place);
                        at += usize::from(is_mark(&inside, at, ',') || at < inside.len());
                    }
                    return next + 1;
                }
                _ => break,
            }
            next += 1;
        }
        self.leaf(segments, None, line, place);
        next
    }

    fn leaf(&mut self, mut segments: Vec<String>, alias: Option<String>, line: usize, place: &Place) {
        if segments.len() > 1 && segments.last().is_some_and(|last| last == "self") {
            segments.pop();
        }
        let Some(last) = segments.last().cloned() else {
            return;
        };
        let name = alias.unwrap_or(last);
        if name != "*" && name != "_" {
            self.imports.insert(name, from_root(segments.clone(), &place.module));
        }
        self.mention(segments, line, place, Kind::Use);
    }
}
