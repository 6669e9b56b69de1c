//! Rule: SQL that writes is spelled only where a ledger or the private store is kept.
//!
//! A keyword counts where a clause follows it, or where it stands in capitals before anything at all.

use super::{Finding, Repo, Source, repo::is_below};

pub(super) const RULE: &str = "single_writer";

const WRITERS: [&str; 2] = ["crates/loopx-core/src/authority/sqlite", "crates/loopx-core/src/private"];
const KEYWORDS: [&str; 7] = ["INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "DROP"];
/// Words that make a keyword SQL whatever its case.
const CLAUSES: [&str; 11] =
    ["INTO", "FROM", "TABLE", "INDEX", "TRIGGER", "VIEW", "UNIQUE", "TEMP", "VIRTUAL", "OR", "SET"];

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in repo.shipped().filter(|source| !may_write(source)) {
        for text in source.shipped_strings() {
            if let Some(keyword) = writing_keyword(&text.value) {
                findings.push(Finding {
                    rule: RULE,
                    file: source.path.clone(),
                    line: text.line,
                    message: format!(
                        "`{keyword}` is SQL that writes: the ledger and the private store alone hold it"
                    ),
                });
            }
        }
    }
    findings
}

fn may_write(source: &Source) -> bool {
    let in_core = WRITERS
        .iter()
        .any(|owner| is_below(&source.path, owner) || source.path.strip_prefix(owner) == Some(".rs"));
    in_core || source.member.starts_with("packages/loopx-authority-")
}

fn writing_keyword(text: &str) -> Option<&'static str> {
    let mut words = text.split_ascii_whitespace().peekable();
    while let Some(word) = words.next() {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
        let Some(keyword) = KEYWORDS.into_iter().find(|keyword| word.eq_ignore_ascii_case(keyword)) else {
            continue;
        };
        let clause =
            words.peek().is_some_and(|next| CLAUSES.iter().any(|one| next.eq_ignore_ascii_case(one)));
        let statement = word == keyword && (words.peek().is_some() || text.ends_with(char::is_whitespace));
        let named_set =
            keyword == "UPDATE" && words.clone().nth(1).is_some_and(|next| next.eq_ignore_ascii_case("set"));
        if clause || statement || named_set {
            return Some(keyword);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::writing_keyword;

    #[test]
    fn sql_is_told_from_prose_and_methods() {
        let sql = [
            "INSERT INTO t VALUES (1)",
            "insert or replace into t",
            " update t set a = 1",
            "DELETE ",
            "with x as (select 1) DELETE FROM t",
            "create unique index i on t(a)",
        ];
        for text in sql {
            assert!(writing_keyword(text).is_some(), "{text}");
        }
        for text in ["DELETE", "create a Goal", "update the row", "select replace(a, 'b', 'c') from t", ""] {
            assert_eq!(writing_keyword(text), None, "{text}");
        }
    }
}
