//! Owns what one Rust file says: the paths it names, the strings it holds, its catch-all arms, its tests.
//!
//! It reads the token trees of the whole file, so a macro's arguments are read like any other code, and knows
//! no rule. What it cannot see: a path that a macro of another crate builds from pieces.

mod scanner;
mod uses;

use std::collections::BTreeMap;

/// How a path was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In a `use`, every leaf of a group on its own.
    Use,
    /// In an `extern crate`.
    ExternCrate,
    /// Anywhere else, macro arguments included.
    Path,
}

/// One path that a file names.
#[derive(Debug, Clone)]
pub struct Mention {
    /// The path from its root: `crate`, another crate's name, or the first segment where neither is known.
    pub segments: Vec<String>,
    /// Where it stands, from 1.
    pub line: usize,
    /// Whether only tests see it.
    pub test: bool,
    /// How it was written.
    pub kind: Kind,
}

impl Mention {
    /// The path as text.
    pub fn path(&self) -> String {
        self.segments.join("::")
    }

    /// Whether the path is `prefix` or leads through it.
    pub fn starts_with(&self, prefix: &[&str]) -> bool {
        self.segments.len() >= prefix.len()
            && self.segments.iter().zip(prefix).all(|(one, other)| one == other)
    }
}

/// One string literal that is not documentation.
#[derive(Debug, Clone)]
pub struct Text {
    /// Its value, escapes resolved.
    pub value: String,
    /// Where it stands, from 1.
    pub line: usize,
    /// Whether only tests see it.
    pub test: bool,
}

/// A Rust file, scanned.
#[derive(Debug)]
pub struct Source {
    /// The folder of its crate, relative to the repository's root.
    pub member: String,
    /// The file, relative to the repository's root.
    pub path: String,
    /// Its text.
    pub text: String,
    /// The module it is, from the crate's root.
    pub module: Vec<String>,
    /// Whether all of it is a test.
    pub test: bool,
    /// The paths it names, resolved through its own imports.
    pub mentions: Vec<Mention>,
    /// Its string literals.
    pub strings: Vec<Text>,
    /// Names its imports bind, and what they stand for.
    pub imports: BTreeMap<String, Vec<String>>,
    /// Lines with a match arm that takes anything, outside tests.
    pub catch_alls: Vec<usize>,
    /// Lines with an `#[ignore]`.
    pub ignored: Vec<usize>,
    /// Modules it declares for tests only, as full module paths.
    pub test_modules: Vec<Vec<String>>,
}

impl Source {
    /// Scans a file's text. Fails, naming the file, on text that is not Rust.
    pub fn scan(member: &str, path: &str, text: String) -> Result<Self, String> {
        let inside = path.strip_prefix(member).unwrap_or(path).trim_start_matches('/');
        let module = module_of(inside);
        let test = super::repo::is_below(member, "tests")
            || ["tests", "benches"].iter().any(|dir| super::repo::is_below(inside, dir));
        let scan = scanner::scan(&text, &module, test).map_err(|error| format!("{path}: {error}"))?;
        Ok(Self {
            member: member.to_owned(),
            path: path.to_owned(),
            text,
            module,
            test: test || scan.whole_file_is_test,
            mentions: scan.mentions,
            strings: scan.strings,
            imports: scan.imports,
            catch_alls: scan.catch_alls,
            ignored: scan.ignored,
            test_modules: scan.test_modules,
        })
    }

    /// The paths that ship.
    pub fn shipped_mentions(&self) -> impl Iterator<Item = &Mention> {
        self.mentions.iter().filter(|mention| !mention.test && !self.test)
    }

    /// The strings that ship.
    pub fn shipped_strings(&self) -> impl Iterator<Item = &Text> {
        self.strings.iter().filter(|text| !text.test && !self.test)
    }

    /// Whether a line, or the one above it, carries `// <marker>: <reason>` with a reason.
    pub fn excused(&self, line: usize, marker: &str) -> bool {
        let carries = |number: usize| {
            self.text
                .lines()
                .nth(number)
                .and_then(|text| text.split_once("// "))
                .and_then(|(_, comment)| comment.strip_prefix(marker))
                .and_then(|rest| rest.strip_prefix(':'))
                .is_some_and(|reason| !reason.trim().is_empty())
        };
        line.checked_sub(1).is_some_and(carries) || line.checked_sub(2).is_some_and(carries)
    }
}

/// The module path of a file, from its place below the crate's folder.
fn module_of(inside: &str) -> Vec<String> {
    let Some(below) = inside.strip_prefix("src/").and_then(|path| path.strip_suffix(".rs")) else {
        return Vec::new();
    };
    let mut parts: Vec<String> = below.split('/').map(str::to_owned).collect();
    if parts.first().is_some_and(|part| part == "bin") {
        return Vec::new();
    }
    if parts.last().is_some_and(|part| matches!(part.as_str(), "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{Kind, Source};

    fn scan(text: &str) -> Source {
        Source::scan("crates/one", "crates/one/src/a/b.rs", text.to_owned()).expect("scans")
    }

    fn paths(source: &Source) -> Vec<String> {
        source.mentions.iter().filter(|one| one.segments.len() > 1).map(super::Mention::path).collect()
    }

    #[test]
    fn groups_renames_and_bodies_resolve_to_the_same_root() {
        let source =
            scan("use std::{fs as files, time}; fn f() { files::read(); let _ = time::Instant::now(); }");
        assert_eq!(paths(&source), ["std::fs", "std::time", "std::fs::read", "std::time::Instant::now"]);
    }

    #[test]
    fn relative_paths_start_at_the_crate() {
        let source =
            scan("use super::c; mod inner { use super::super::d; } fn f() { self::x(); crate::y::z(); }");
        assert_eq!(paths(&source), ["crate::a::c", "crate::a::d", "crate::a::b::x", "crate::y::z"]);
    }

    #[test]
    fn macro_arguments_are_read_and_documentation_is_not() {
        let source = scan("/// INSERT INTO t\nfn f() { say!(\"a {}\", std::env::vars()); }");
        assert_eq!(paths(&source), ["std::env::vars"]);
        assert_eq!(source.strings.len(), 1);
        assert_eq!(source.mentions.iter().find(|one| one.segments.len() > 1).map(|one| one.line), Some(2));
    }

    #[test]
    fn what_only_tests_see_is_marked() {
        let source = scan(
            "#[cfg(test)] use std::fs; fn f() { std::io::stdin(); } #[cfg(test)] mod t { fn g() { std::net::x(); } } #[cfg(test)] mod u; #[test] fn h() { std::env::vars(); }",
        );
        let shipped: Vec<String> = source
            .shipped_mentions()
            .filter(|one| one.segments.len() > 1)
            .map(super::Mention::path)
            .collect();
        assert_eq!(shipped, ["std::io::stdin"]);
        assert_eq!(source.test_modules, [vec!["a", "b", "t"], vec!["a", "b", "u"]]);
    }

    #[test]
    fn an_extern_crate_and_a_bare_name_are_told_apart() {
        let source = scan("extern crate core_of as c; fn f() { m!(core_of); c::x::y(); }");
        let kinds: Vec<Kind> =
            source.mentions.iter().filter(|one| one.segments == ["core_of"]).map(|one| one.kind).collect();
        assert_eq!(kinds, [Kind::ExternCrate, Kind::Path]);
        assert!(paths(&source).contains(&"core_of::x::y".to_owned()));
    }

    #[test]
    fn arms_that_take_anything_are_counted_and_can_be_excused() {
        let source = scan(
            "fn f() {\n match a {\n  A(_) => 1,\n  _ => 2,\n };\n match (a, b) {\n  // wildcard: a number\n  (_, _) => 3,\n }\n}",
        );
        assert_eq!(source.catch_alls, [4, 8]);
        assert!(!source.excused(4, "wildcard"));
        assert!(source.excused(8, "wildcard"));
    }
}
