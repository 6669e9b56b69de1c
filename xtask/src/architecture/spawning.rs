//! Rule: programs are started by core's `process` alone.
//!
//! The repository's own tools and every test start what they need.

use super::{Finding, Repo, repo::is_below};

pub(super) const RULE: &str = "spawning";
const OWNER: &str = "crates/loopx-core/src/process";
const STARTERS: &[&[&str]] = &[
    &["std", "process", "*"],
    &["std", "process", "Command"],
    &["tokio", "process"],
    &["process_wrap"],
    &["libc", "fork"],
];

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in repo.shipped() {
        if is_below(&source.path, OWNER) || source.path.strip_prefix(OWNER) == Some(".rs") {
            continue;
        }
        for mention in source.shipped_mentions() {
            if mention.segments.len() > 1 && STARTERS.iter().any(|prefix| mention.starts_with(prefix)) {
                findings.push(Finding {
                    rule: RULE,
                    file: source.path.clone(),
                    line: mention.line,
                    message: format!(
                        "`{}` starts programs: `process` is the one place that does",
                        mention.path()
                    ),
                });
            }
        }
    }
    findings
}
