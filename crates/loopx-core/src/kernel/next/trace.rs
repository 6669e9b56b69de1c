//! Owns what a decision looked at on its way: each rule it came to, and what that saw.
//!
//! Knows no rule: what one saw, it says itself.

use serde::Serialize;

use super::Action;

/// One rule that a decision came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Looked {
    /// Its number.
    pub rule: u8,
    /// What it asks.
    pub asks: &'static str,
    /// Whether its condition held; the last one's did, and that rule decided.
    pub held: bool,
    /// What it saw, in one line.
    pub saw: String,
}

/// What a rule found: its answer, if its condition held, and what it saw.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) action: Option<Action>,
    pub(super) saw: String,
}

impl Found {
    /// The condition held.
    pub(super) fn held(action: Action, saw: impl Into<String>) -> Self {
        Self { action: Some(action), saw: saw.into() }
    }

    /// It did not.
    pub(super) fn passed(saw: impl Into<String>) -> Self {
        Self { action: None, saw: saw.into() }
    }
}

/// What was looked at so far.
#[derive(Debug, Default)]
pub(super) struct Trace(Vec<Looked>);

impl Trace {
    /// Notes what a rule found, and gives its answer on.
    ///
    /// Invariant: rules come in their order, and none after the one that held.
    pub(super) fn look(&mut self, rule: u8, found: Found) -> Option<Action> {
        let Found { action, saw } = found;
        self.0.push(Looked { rule, asks: asks(rule), held: action.is_some(), saw });
        action
    }

    /// The number of the rule that was looked at last, and all of them.
    pub(super) fn finish(self) -> (u8, Vec<Looked>) {
        (self.0.last().map_or(0, |looked| looked.rule), self.0)
    }
}

/// What each rule asks, in the order of the rules.
const ASKS: [&str; 11] = [
    "is the Goal closed?",
    "does a Turn of this agent execute?",
    "can something of its own be looked into?",
    "is the Goal stopped?",
    "does a gate block the whole Goal?",
    "is there no room in the budget?",
    "can something be taken?",
    "do only others work?",
    "can a person free something?",
    "is nothing left to do?",
    "what comes with time?",
];

fn asks(rule: u8) -> &'static str {
    let at = usize::from(rule).checked_sub(1);
    at.and_then(|at| ASKS.get(at)).copied().unwrap_or_default()
}
