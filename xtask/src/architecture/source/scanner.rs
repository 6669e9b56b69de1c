//! Owns the walk over a file's token trees. Knows Rust's surface, no rule, and nothing of other files.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};

use super::{Kind, Mention, Text};

/// How often a name is followed through imports: a longer chain is a circle.
const IMPORT_HOPS_MAX: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) mentions: Vec<Mention>,
    pub(super) strings: Vec<Text>,
    pub(super) imports: BTreeMap<String, Vec<String>>,
    pub(super) catch_alls: Vec<usize>,
    pub(super) ignored: Vec<usize>,
    pub(super) test_modules: Vec<Vec<String>>,
    pub(super) whole_file_is_test: bool,
}

/// Where the walk stands.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) module: Vec<String>,
    pub(super) test: bool,
}

pub(super) fn scan(text: &str, module: &[String], test: bool) -> Result<Scan, String> {
    let tokens: TokenStream = text
        .parse()
        .map_err(|error: proc_macro2::LexError| format!("line {}: {error}", error.span().start().line))?;
    let mut scan = Scan::default();
    scan.walk(&trees(tokens), Place { module: module.to_vec(), test }, true);
    scan.resolve();
    Ok(scan)
}

pub(super) fn trees(tokens: TokenStream) -> Vec<TokenTree> {
    tokens.into_iter().collect()
}

impl Scan {
    fn walk(&mut self, tokens: &[TokenTree], mut place: Place, top: bool) {
        let mut index = 0;
        let mut gated = false;
        while index < tokens.len() {
            if let Some((inner, group, next)) = attribute(tokens, index) {
                let gate = is_test_gate(&group);
                place.test |= gate && inner;
                self.whole_file_is_test |= gate && inner && top;
                gated |= gate && !inner;
                let name = first_word(&group);
                if name == "ignore" {
                    self.ignored.push(group.span_open().start().line);
                }
                if name != "doc" {
                    self.walk(&trees(group.stream()), place.clone(), false);
                }
                index = next;
            } else if gated {
                let end = end_of_item(tokens, index);
                let item = tokens.get(index..end).unwrap_or_default();
                if let Some(name) = declared_module(item) {
                    let mut module = place.module.clone();
                    module.push(name);
                    self.test_modules.push(module);
                }
                self.walk(item, Place { test: true, ..place.clone() }, false);
                gated = false;
                index = end;
            } else {
                index = self.step(tokens, index, &place);
            }
        }
    }

    /// Reads what starts at `index` and returns where the next thing starts, always further on.
    fn step(&mut self, tokens: &[TokenTree], index: usize, place: &Place) -> usize {
        match tokens.get(index) {
            Some(TokenTree::Group(group)) => {
                let whole = index.checked_sub(1).and_then(|before| word_at(tokens, before)).is_none();
                if whole && is_arrow(tokens, index + 1) && takes_anything(group) && !place.test {
                    self.catch_alls.push(group.span_open().start().line);
                }
                self.walk(&trees(group.stream()), place.clone(), false);
                index + 1
            }
            Some(TokenTree::Literal(literal)) => {
                self.string(literal, place);
                index + 1
            }
            Some(TokenTree::Punct(mark)) if mark.as_char() == '\'' => index + 2,
            Some(TokenTree::Punct(_)) | None => index + 1,
            Some(TokenTree::Ident(name)) => match name.to_string().as_str() {
                "_" => {
                    if is_arrow(tokens, index + 1) && !place.test {
                        self.catch_alls.push(name.span().start().line);
                    }
                    index + 1
                }
                "use" => self.use_declaration(tokens, index + 1, place),
                "extern" if word_at(tokens, index + 1).as_deref() == Some("crate") => {
                    self.extern_crate(tokens, index + 2, place)
                }
                "mod" => self.inline_module(tokens, index + 1, place),
                _ => self.path(tokens, index, place),
            },
        }
    }

    fn string(&mut self, literal: &Literal, place: &Place) {
        let value = match syn::Lit::new(literal.clone()) {
            syn::Lit::Str(text) => text.value(),
            syn::Lit::ByteStr(bytes) => String::from_utf8_lossy(&bytes.value()).into_owned(),
            syn::Lit::CStr(text) => text.value().to_string_lossy().into_owned(),
            _ => return,
        };
        self.strings.push(Text { value, line: literal.span().start().line, test: place.test });
    }

    fn extern_crate(&mut self, tokens: &[TokenTree], index: usize, place: &Place) -> usize {
        let (Some(name), Some(line)) = (word_at(tokens, index), line_at(tokens, index)) else {
            return index;
        };
        let alias = match word_at(tokens, index + 1).as_deref() {
            Some("as") => word_at(tokens, index + 2),
            _ => None,
        };
        let end = index + if alias.is_some() { 3 } else { 1 };
        self.imports.insert(alias.unwrap_or_else(|| name.clone()), vec![name.clone()]);
        self.mentions.push(Mention { segments: vec![name], line, test: place.test, kind: Kind::ExternCrate });
        end
    }

    fn inline_module(&mut self, tokens: &[TokenTree], index: usize, place: &Place) -> usize {
        let Some(name) = word_at(tokens, index) else {
            return index;
        };
        if let Some(TokenTree::Group(body)) = tokens.get(index + 1) {
            let mut inside = place.clone();
            inside.module.push(name);
            self.walk(&trees(body.stream()), inside, false);
            return index + 2;
        }
        index + 1
    }

    fn path(&mut self, tokens: &[TokenTree], index: usize, place: &Place) -> usize {
        let mut segments = Vec::new();
        let mut next = index;
        while let Some(word) = word_at(tokens, next) {
            segments.push(word);
            next += 1;
            if !(is_mark(tokens, next, ':') && is_mark(tokens, next + 1, ':')) {
                break;
            }
            if word_at(tokens, next + 2).is_none() {
                break;
            }
            next += 2;
        }
        self.mention(segments, line_at(tokens, index).unwrap_or(1), place, Kind::Path);
        next.max(index + 1)
    }

    pub(super) fn mention(&mut self, segments: Vec<String>, line: usize, place: &Place, kind: Kind) {
        let segments = from_root(segments, &place.module);
        self.mentions.push(Mention { segments, line, test: place.test, kind });
    }

    /// Follows the first segment of every longer path through the file's imports.
    fn resolve(&mut self) {
        for mention in &mut self.mentions {
            if mention.segments.len() < 2 {
                continue;
            }
            for _ in 0..IMPORT_HOPS_MAX {
                let Some((first, rest)) = mention.segments.split_first() else {
                    break;
                };
                let Some(target) = self.imports.get(first) else {
                    break;
                };
                if target.first() == Some(first) {
                    break;
                }
                mention.segments = target.iter().chain(rest).cloned().collect();
            }
        }
    }
}

/// Turns `self`, `super` and `crate` at the front into a path from the crate's root.
pub(super) fn from_root(segments: Vec<String>, module: &[String]) -> Vec<String> {
    let ups = segments.iter().take_while(|segment| *segment == "super").count();
    let front = segments.first().map(String::as_str);
    let (base, skipped) = match front {
        Some("self") if segments.len() > 1 => {
            let ups = segments.iter().skip(1).take_while(|segment| *segment == "super").count();
            (module.len().saturating_sub(ups), ups + 1)
        }
        Some("super") => (module.len().saturating_sub(ups), ups),
        _ => return segments,
    };
    let mut rooted = vec!["crate".to_owned()];
    rooted.extend(module.iter().take(base).cloned());
    rooted.extend(segments.into_iter().skip(skipped));
    rooted
}

pub(super) fn word_at(tokens: &[TokenTree], index: usize) -> Option<String> {
    match tokens.get(index) {
        Some(TokenTree::Ident(name)) => {
            let name = name.to_string();
            Some(name.strip_prefix("r#").map(str::to_owned).unwrap_or(name))
        }
        _ => None,
    }
}

pub(super) fn line_at(tokens: &[TokenTree], index: usize) -> Option<usize> {
    tokens.get(index).map(|token| token.span().start().line)
}

pub(super) fn is_mark(tokens: &[TokenTree], index: usize, mark: char) -> bool {
    matches!(tokens.get(index), Some(TokenTree::Punct(found)) if found.as_char() == mark)
}

fn is_arrow(tokens: &[TokenTree], index: usize) -> bool {
    is_mark(tokens, index, '=') && is_mark(tokens, index + 1, '>')
}

/// Whether a pattern's tuple is made of `_` only.
fn takes_anything(group: &Group) -> bool {
    let inside = trees(group.stream());
    group.delimiter() == Delimiter::Parenthesis
        && !inside.is_empty()
        && inside.iter().all(|token| match token {
            TokenTree::Ident(name) => name == "_",
            TokenTree::Punct(mark) => mark.as_char() == ',',
            TokenTree::Group(nested) => takes_anything(nested),
            TokenTree::Literal(_) => false,
        })
}

/// The attribute at `index`: whether it is an inner one, its bracket, and where it ends.
fn attribute(tokens: &[TokenTree], index: usize) -> Option<(bool, Group, usize)> {
    if !is_mark(tokens, index, '#') {
        return None;
    }
    let inner = is_mark(tokens, index + 1, '!');
    let at = index + if inner { 2 } else { 1 };
    match tokens.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => {
            Some((inner, group.clone(), at + 1))
        }
        _ => None,
    }
}

fn first_word(group: &Group) -> String {
    word_at(&trees(group.stream()), 0).unwrap_or_default()
}

/// `#[test]`, `#[cfg(test)]` and `#[cfg(all(test, …))]`: what they mark ships nowhere.
fn is_test_gate(attribute: &Group) -> bool {
    let inside = trees(attribute.stream());
    let argument = |tokens: &[TokenTree]| match tokens.get(1) {
        Some(TokenTree::Group(group)) => trees(group.stream()),
        _ => Vec::new(),
    };
    match word_at(&inside, 0).as_deref() {
        Some("test") => inside.len() == 1,
        Some("cfg") => {
            let condition = argument(&inside);
            match word_at(&condition, 0).as_deref() {
                Some("test") => condition.len() == 1,
                Some("all") => argument(&condition)
                    .split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ','))
                    .any(|part| part.len() == 1 && word_at(part, 0).as_deref() == Some("test")),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Where the thing that starts at `index` ends: an item at its body or semicolon, a field or arm at its comma.
fn end_of_item(tokens: &[TokenTree], index: usize) -> usize {
    const ITEMS: &[&str] = &[
        "pub",
        "mod",
        "fn",
        "use",
        "impl",
        "struct",
        "enum",
        "const",
        "static",
        "type",
        "trait",
        "async",
        "unsafe",
        "extern",
        "macro_rules",
        "union",
        "let",
    ];
    let first = word_at(tokens, index).unwrap_or_default();
    let field = first == "pub" && is_field(tokens, index);
    let item = ITEMS.contains(&first.as_str()) && !field;
    let mut next = index;
    while let Some(token) = tokens.get(next) {
        if attribute(tokens, next).is_some() {
            next += 2;
            continue;
        }
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let closed = next + 1;
                let trailing = is_mark(tokens, closed, ';') || (!item && is_mark(tokens, closed, ','));
                return closed + usize::from(trailing);
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => return next + 1,
            TokenTree::Punct(mark) if mark.as_char() == ',' && !item => return next + 1,
            _ => next += 1,
        }
    }
    tokens.len()
}

/// Whether `pub [(…)] name :` starts here.
fn is_field(tokens: &[TokenTree], index: usize) -> bool {
    let name = match tokens.get(index + 1) {
        Some(TokenTree::Group(_)) => index + 2,
        _ => index + 1,
    };
    word_at(tokens, name).is_some() && is_mark(tokens, name + 1, ':')
}

/// The name of the module that an item declares, if it is one.
fn declared_module(item: &[TokenTree]) -> Option<String> {
    let at = item.iter().position(|token| matches!(token, TokenTree::Ident(name) if name == "mod"))?;
    (at <= 2).then(|| word_at(item, at + 1)).flatten()
}
