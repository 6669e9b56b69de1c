//! Rule: `kernel` and `model` touch no file, socket, process, environment, thread, clock, chance or SQL.
//!
//! Their tests may. What other modules of core they may name is the business of `module_walls`.

use super::{Finding, Repo};

pub(super) const RULE: &str = "purity";

const PURE: [&str; 2] = ["crates/loopx-core/src/kernel", "crates/loopx-core/src/model"];

/// Paths that lead outside a computation, without their first segment's `std` twin.
const OUTSIDE: &[&[&str]] = &[
    &["std", "*"],
    &["std", "env"],
    &["std", "fs"],
    &["std", "io", "stderr"],
    &["std", "io", "stdin"],
    &["std", "io", "stdout"],
    &["std", "net"],
    &["std", "os"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "time", "*"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
    &["std", "time", "UNIX_EPOCH"],
    &["fd_lock"],
    &["getrandom"],
    &["jiff", "Timestamp", "now"],
    &["jiff", "Zoned", "now"],
    &["libc"],
    &["rand"],
    &["rusqlite"],
    &["rustix"],
    &["tempfile"],
    &["tokio"],
];

/// Ends of paths that read a clock or draw chance, whatever the type was called through.
const ENDS: &[[&str; 2]] = &[
    ["Instant", "now"],
    ["SystemTime", "now"],
    ["Timestamp", "now"],
    ["Zoned", "now"],
    ["Uuid", "new_v4"],
    ["Uuid", "now_v7"],
];

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in PURE.iter().flat_map(|dir| module_files(repo, dir)) {
        for mention in source.shipped_mentions() {
            let leads =
                OUTSIDE.iter().any(|prefix| mention.segments.len() > 1 && mention.starts_with(prefix));
            let ends = ENDS.iter().any(|end| {
                mention.segments.len() > 1
                    && mention.segments.iter().rev().zip(end.iter().rev()).all(|(one, other)| one == other)
            });
            let named = mention.segments.len() == 1
                && mention.kind != super::Kind::Path
                && OUTSIDE.iter().any(|prefix| prefix.len() == 1 && mention.starts_with(prefix));
            if leads || ends || named {
                findings.push(Finding {
                    rule: RULE,
                    file: source.path.clone(),
                    line: mention.line,
                    message: format!(
                        "`{}` has no place in a pure module: the edge passes it in",
                        mention.path()
                    ),
                });
            }
        }
    }
    findings
}

/// A module's files: the folder, and the single file of the same name.
fn module_files<'a>(repo: &'a Repo, dir: &'a str) -> impl Iterator<Item = &'a super::Source> {
    repo.sources.iter().filter(move |source| {
        super::repo::is_below(&source.path, dir)
            || source.path.strip_prefix(dir).is_some_and(|rest| rest == ".rs")
    })
}
