//! Rule: every file says first what it owns, stays short, and has a name that says something.

use super::{Finding, Repo};

pub(super) const RULE: &str = "file_shape";

/// Past this many lines a file is listed.
pub const LINES_LISTED: usize = 600;
/// Past this many lines a file is a finding.
pub const LINES_MAX: usize = 1_000;
/// Names that say nothing.
const EMPTY_NAMES: [&str; 8] =
    ["common", "helper", "helpers", "manager", "misc", "util", "utilities", "utils"];

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repo.sources {
        let mut report = |line, message| {
            findings.push(Finding { rule: RULE, file: source.path.clone(), line, message });
        };
        if !source.text.starts_with("//!") {
            report(1, "a file opens with `//!`: what it owns, what it must not know".to_owned());
        }
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            report(LINES_MAX + 1, format!("{lines} lines, the limit is {LINES_MAX}: split it"));
        }
        for name in source.path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part)) {
            if EMPTY_NAMES.contains(&name) {
                report(1, format!("`{name}` says nothing about what is inside: name the noun"));
            }
        }
    }
    findings
}

/// Files that are listed for their length without being a finding yet.
pub fn long_files(repo: &Repo) -> Vec<(String, usize)> {
    repo.sources
        .iter()
        .map(|source| (source.path.clone(), source.text.lines().count()))
        .filter(|(_, lines)| (LINES_LISTED + 1..=LINES_MAX).contains(lines))
        .collect()
}
