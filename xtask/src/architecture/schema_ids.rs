//! Rule: a schema id is spelled in one shipped file, its owner; everybody else names the owner's constant.

use std::collections::BTreeMap;

use super::{Finding, Repo};

pub(super) const RULE: &str = "schema_ids";
const PREFIX: &str = "loopx_";

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut findings = Vec::new();
    for source in repo.sources.iter().filter(|source| !source.test) {
        for text in source.shipped_strings() {
            for id in schema_ids(&text.value) {
                let owner = owners.entry(id.to_owned()).or_insert_with(|| source.path.clone());
                if *owner != source.path {
                    findings.push(Finding {
                        rule: RULE,
                        file: source.path.clone(),
                        line: text.line,
                        message: format!("`{id}` is owned by {owner}: name its constant"),
                    });
                }
            }
        }
    }
    findings
}

/// The words of a text that have a schema id's form: `loopx_<lower case>_v<number>`.
fn schema_ids(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| {
        word.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once("_v")).is_some_and(|(name, version)| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
                && !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::schema_ids;

    #[test]
    fn only_whole_ids_count() {
        let found: Vec<&str> =
            schema_ids("a loopx_turn_result_v1, loopx_v2 loopx_Turn_v1 xloopx_a_v1 loopx_b_v12").collect();
        assert_eq!(found, ["loopx_turn_result_v1", "loopx_b_v12"]);
    }
}
