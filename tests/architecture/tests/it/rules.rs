//! Every rule against its bad fixtures, and all rules against this repository.
//!
//! A fixture is `fixtures/<rule>/<case>`: files laid over the clean workspace in `fixtures/base`, and the one
//! finding that all rules together make of the result, in `expected.txt`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use xtask::architecture::{self, RULES, Repo};

const EXPECTED: &str = "expected.txt";

fn own_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

fn lay_over(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("readable") {
        let path = entry.expect("readable").path();
        let target = to.join(name(&path));
        if path.is_dir() {
            lay_over(&path, &target);
        } else if name(&path) != EXPECTED {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

/// What all rules find in the clean workspace with some files laid over it.
fn findings(overlay: Option<&Path>) -> Vec<String> {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    lay_over(&own_dir().join("fixtures/base"), scratch.path());
    if let Some(overlay) = overlay {
        lay_over(overlay, scratch.path());
    }
    let repo = Repo::load(scratch.path()).unwrap_or_else(|error| panic!("{overlay:?}: {error}"));
    architecture::check(&repo).iter().map(ToString::to_string).collect()
}

#[test]
fn the_clean_workspace_has_no_finding() {
    assert_eq!(findings(None), Vec::<String>::new());
}

#[test]
fn every_fixture_yields_exactly_its_finding() {
    let mut wrong = Vec::new();
    for rule in folders(&own_dir().join("fixtures")).iter().filter(|rule| name(rule) != "base") {
        for case in folders(rule) {
            let expected = fs::read_to_string(case.join(EXPECTED)).expect("every case says what it expects");
            let expected = expected.trim_end();
            let found = findings(Some(&case));
            if found != [expected] || !expected.starts_with(&format!("{}: ", name(rule))) {
                wrong.push(format!("{}: found {found:#?}\nexpected {expected}", case.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_fixture_and_every_fixture_a_rule() {
    let rules: BTreeSet<String> = RULES.iter().map(|rule| rule.name.to_owned()).collect();
    let fixtures: BTreeSet<String> = folders(&own_dir().join("fixtures"))
        .iter()
        .filter(|folder| !folders(folder).is_empty() && name(folder) != "base")
        .map(|folder| name(folder))
        .collect();
    assert_eq!(rules, fixtures);
}

#[test]
fn this_repository_has_no_finding() {
    let root = own_dir().join("../..");
    let repo = Repo::load(&root).expect("the workspace loads");
    let found: Vec<String> = architecture::check(&repo).iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The source of every test, below a folder.
fn sources(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        let is_built = path.file_name().is_some_and(|name| name == "target" || name == "fixtures");
        if path.is_dir() && !is_built {
            sources(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            into.push_str(&fs::read_to_string(&path).expect("a source is text"));
        }
    }
}

#[test]
fn every_test_that_the_acceptance_table_names_is_there() {
    let root = own_dir().join("../..");
    let table = fs::read_to_string(root.join("docs/acceptance.md")).expect("the table is there");
    let mut code = String::new();
    for folder in ["crates", "loopx", "tests", "xtask"] {
        sources(&root.join(folder), &mut code);
    }
    let is_test = |word: &&str| {
        word.matches('_').count() >= 3
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    // Odd pieces stand between backticks; a path before a name is left away.
    let words = table.split('`').skip(1).step_by(2).filter_map(|word| word.rsplit("::").next());
    let named: BTreeSet<&str> = words.filter(is_test).collect();
    assert!(named.len() > 30, "the table names {} tests", named.len());
    let missing: Vec<&&str> = named.iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
