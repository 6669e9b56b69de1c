//! Rule: a match in `kernel` names every case, so that a new variant stops the build where it matters.
//!
//! An arm on something that is no enum of ours says so: `// wildcard: <what is matched>`.

use super::{Finding, Repo, repo::is_below};

pub(super) const RULE: &str = "wildcards";
const KERNEL: &str = "crates/loopx-core/src/kernel";
const EXCUSE: &str = "wildcard";

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let kernel = |path: &str| is_below(path, KERNEL) || path.strip_prefix(KERNEL) == Some(".rs");
    let mut findings = Vec::new();
    for source in repo.shipped().filter(|source| kernel(&source.path)) {
        for line in source.catch_alls.iter().filter(|line| !source.excused(**line, EXCUSE)) {
            findings.push(Finding {
                rule: RULE,
                file: source.path.clone(),
                line: *line,
                message: "an arm that takes anything hides the next variant: name the cases".to_owned(),
            });
        }
    }
    findings
}
