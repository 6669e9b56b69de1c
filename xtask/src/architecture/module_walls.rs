//! Rule: a module of core names only the modules it may know.
//!
//! The table is the "must not know" column of the architecture page, as far as paths can show it. `authority::clock`
//! and `cli::env` are the one reader of the clock and of the environment, open to every module with effects.

use super::{Finding, Repo, Source};

pub(super) const RULE: &str = "module_walls";

/// What a module may name.
enum Wall {
    /// These modules of core and no other.
    Only(&'static [&'static str]),
    /// Every module of core but these.
    Not(&'static [&'static str]),
}

/// Each module of core and what it may name.
const WALLS: &[(&str, Wall)] = &[
    ("model", Wall::Only(&["model", "error", "boundary"])),
    ("kernel", Wall::Only(&["kernel", "model", "error", "boundary"])),
    ("error", Wall::Only(&["error"])),
    ("boundary", Wall::Only(&["boundary", "model", "error"])),
    ("failpoint", Wall::Only(&["failpoint", "error"])),
    ("process", Wall::Only(&["process", "error", "failpoint", "model"])),
    ("authority", Wall::Not(&["cli", "projection", "registry", "sdk", "turn"])),
    ("private", Wall::Not(&["cli", "kernel", "projection", "registry", "sdk", "turn"])),
    ("projection", Wall::Not(&["cli", "private", "registry", "sdk"])),
    ("turn", Wall::Not(&["cli", "sdk"])),
    ("registry", Wall::Not(&["cli", "sdk"])),
];

/// Doors that stay open to every module but the pure ones.
const OPEN: [[&str; 2]; 2] = [["authority", "clock"], ["cli", "env"]];
const PURE: [&str; 4] = ["model", "kernel", "error", "boundary"];

/// Where SQL's library may be named.
const SQL_OWNERS: [&[&str]; 2] = [&["authority", "sqlite"], &["private"]];

/// What a read model must not call.
const WRITING: [&str; 3] = ["submit", "submit_step", "decide"];

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let core = "crates/loopx-core";
    let mut findings = Vec::new();
    for source in repo.shipped().filter(|source| source.member == core) {
        findings.extend(check_imports(source));
        findings.extend(check_sql(source));
        if source.module.first().is_some_and(|module| module == "projection") {
            findings.extend(check_reading(source));
        }
    }
    for source in repo.shipped().filter(|source| source.member != core && !writes_elsewhere(source)) {
        findings.extend(check_sql(source));
    }
    findings
}

/// A ledger outside core is a package of its own.
fn writes_elsewhere(source: &Source) -> bool {
    source.member.starts_with("packages/loopx-authority-")
}

fn check_imports(source: &Source) -> Vec<Finding> {
    let Some(own) = source.module.first() else {
        return Vec::new();
    };
    let Some((_, wall)) = WALLS.iter().find(|(module, _)| module == own) else {
        return Vec::new();
    };
    let pure = PURE.contains(&own.as_str());
    source
        .shipped_mentions()
        .filter_map(|mention| {
            let (root, inside) = mention.segments.split_first()?;
            let target = inside.first().filter(|_| root == "crate")?;
            let fits = match wall {
                Wall::Only(known) => known.contains(&target.as_str()),
                Wall::Not(unknown) => !unknown.contains(&target.as_str()),
            };
            let open = !pure
                && OPEN
                    .iter()
                    .any(|door| inside.len() > 1 && inside.iter().zip(door).all(|(one, other)| one == other));
            (!fits && !open)
                .then(|| finding(source, mention.line, format!("`{own}` must not know `{}`", mention.path())))
        })
        .collect()
}

fn check_sql(source: &Source) -> Vec<Finding> {
    let owner = SQL_OWNERS.iter().any(|owner| {
        source.module.len() >= owner.len()
            && source.module.iter().zip(*owner).all(|(one, other)| one == other)
    });
    if owner && source.member == "crates/loopx-core" {
        return Vec::new();
    }
    source
        .shipped_mentions()
        .filter(|mention| mention.starts_with(&["rusqlite"]))
        .map(|mention| {
            let message = format!("`{}` belongs to `authority::sqlite` and `private`", mention.path());
            finding(source, mention.line, message)
        })
        .collect()
}

fn check_reading(source: &Source) -> Vec<Finding> {
    source
        .shipped_mentions()
        .filter(|mention| mention.segments.last().is_some_and(|last| WRITING.contains(&last.as_str())))
        .map(|mention| {
            finding(source, mention.line, format!("`{}` writes, and a projection only reads", mention.path()))
        })
        .collect()
}

fn finding(source: &Source, line: usize, message: String) -> Finding {
    Finding { rule: RULE, file: source.path.clone(), line, message }
}
