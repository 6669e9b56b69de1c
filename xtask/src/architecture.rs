//! Owns the list of rules this repository holds itself to, and the shape of what a rule reports.
//!
//! One file a rule. A rule reads a loaded [`Repo`] and returns findings; it prints nothing, fixes nothing and
//! knows no other rule. `repo` and `source` read; they know no rule.

mod error_codes;
mod file_shape;
mod import_pins;
mod module_budget;
mod module_walls;
mod purity;
mod repo;
mod schema_ids;
mod single_writer;
mod source;
mod spawning;
mod test_rules;
mod tiers;
mod wildcards;

use std::fmt;

pub use file_shape::{LINES_LISTED, LINES_MAX, long_files};
pub(crate) use repo::rust_files;
pub use repo::{Member, Repo};
pub use source::{Kind, Mention, Source, Text};

/// One place that breaks one rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// The file, relative to the repository's root, with `/` between the parts.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to do, in one line.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}:{}: {}", self.rule, self.file, self.line, self.message)
    }
}

/// A rule: its name and the function that looks for what breaks it.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The name, which is also the name of its fixtures' folder.
    pub name: &'static str,
    /// Returns every place that breaks the rule.
    pub check: fn(&Repo) -> Vec<Finding>,
}

/// Every rule, in the order it is checked.
pub const RULES: &[Rule] = &[
    Rule { name: module_budget::RULE, check: module_budget::check },
    Rule { name: import_pins::RULE, check: import_pins::check },
    Rule { name: tiers::RULE, check: tiers::check },
    Rule { name: purity::RULE, check: purity::check },
    Rule { name: module_walls::RULE, check: module_walls::check },
    Rule { name: single_writer::RULE, check: single_writer::check },
    Rule { name: spawning::RULE, check: spawning::check },
    Rule { name: schema_ids::RULE, check: schema_ids::check },
    Rule { name: error_codes::RULE, check: error_codes::check },
    Rule { name: file_shape::RULE, check: file_shape::check },
    Rule { name: wildcards::RULE, check: wildcards::check },
    Rule { name: test_rules::RULE, check: test_rules::check },
];

/// Runs every rule. Findings come sorted within a rule.
pub fn check(repo: &Repo) -> Vec<Finding> {
    RULES
        .iter()
        .flat_map(|rule| {
            let mut found = (rule.check)(repo);
            found.sort();
            found.dedup();
            found
        })
        .collect()
}
