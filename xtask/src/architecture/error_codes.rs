//! Rule: an error code is spelled in core's table of codes and nowhere else that ships.
//!
//! A word that merely looks like a code (a state, an argument) says so: `// same spelling: <what it is>`.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::Item;

use super::{Finding, Repo};

pub(super) const RULE: &str = "error_codes";
const TABLE: &str = "crates/loopx-core/src/error.rs";
const MACRO: &str = "codes";
const EXCUSE: &str = "same spelling";

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let finding = |file: &str, line, message| Finding { rule: RULE, file: file.to_owned(), line, message };
    let table = repo.sources.iter().find(|source| source.path == TABLE);
    let codes = table.map(|source| codes(&source.text)).unwrap_or_default();
    if codes.is_empty() {
        return vec![finding(TABLE, 1, format!("no `{MACRO}!` table was found"))];
    }
    let mut findings = Vec::new();
    for source in repo.shipped().filter(|source| source.path != TABLE) {
        for text in source.shipped_strings() {
            if codes.contains(&text.value) && !source.excused(text.line, EXCUSE) {
                let message = format!("`{}` is an error code: name it through `Code`", text.value);
                findings.push(finding(&source.path, text.line, message));
            }
        }
    }
    findings
}

/// The codes of the table: every string that directly follows a name.
fn codes(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for item in syn::parse_file(text).map(|file| file.items).unwrap_or_default() {
        if let Item::Macro(call) = item
            && call.mac.path.is_ident(MACRO)
        {
            collect(call.mac.tokens, &mut found);
        }
    }
    found
}

fn collect(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let mut after_name = false;
    for token in tokens {
        let is_name = matches!(token, TokenTree::Ident(_));
        match token {
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Literal(literal) if after_name => {
                if let syn::Lit::Str(code) = syn::Lit::new(literal) {
                    found.insert(code.value());
                }
            }
            TokenTree::Literal(_) | TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
        after_name = is_name;
    }
}
