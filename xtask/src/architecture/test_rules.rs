//! Rule: no test is switched off.

use super::{Finding, Repo};

pub(super) const RULE: &str = "test_rules";

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repo.sources {
        for line in &source.ignored {
            findings.push(Finding {
                rule: RULE,
                file: source.path.clone(),
                line: *line,
                message: "an ignored test proves nothing: mend it or delete it".to_owned(),
            });
        }
    }
    findings
}
