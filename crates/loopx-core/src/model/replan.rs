//! Owns the obligation to change a plan, of a Todo or of a whole Goal: what causes one, how it is named, and what it
//! keeps on the rows.
//!
//! Knows no rule.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use super::{GoalId, ProposalId, TodoId, text::string_serde};
use crate::error::{Code, Error, echo};

macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        /// Why the plan of a Todo has to change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ReplanCause { $($(#[$doc])* $name,)* }

        impl ReplanCause {
            /// All causes.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable spelling.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

causes! {
    /// Turns in a row on it brought no accepted progress.
    Fruitless "fruitless";
    /// A Turn settled that says so.
    ReplanRequired "replan_required";
    /// A person, or a validator, rejected evidence of it.
    EvidenceRejected "evidence_rejected";
    /// A gate that it needs was denied.
    GateDenied "gate_denied";
    /// A monitor was looked at too often without change.
    UnchangedLimit "unchanged_limit";
    /// Something it depends on was cancelled.
    DependencyCancelled "dependency_cancelled";
    /// What it waits for can no longer come true.
    WakeLost "wake_lost";
    /// Nothing is left to do, and a criterion of the Goal is not shown.
    AcceptanceGap "acceptance_gap";
}

/// What a replan covers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Covers {
    /// The Goal, and so no Todo.
    Goal(GoalId),
    /// A Todo.
    Todo(TodoId),
}

impl fmt::Display for Covers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Goal(goal_id) => goal_id.fmt(f),
            Self::Todo(todo_id) => todo_id.fmt(f),
        }
    }
}

/// An obligation by its name, `replan:<cause>:<what it covers>/<ordinal>`, before a claim has written it as a Todo.
///
/// Invariant: a gap in the criteria covers a Goal, and every other cause a Todo.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplanRef {
    /// The cause.
    pub cause: ReplanCause,
    /// What is covered.
    pub covers: Covers,
    /// The how-manieth obligation of that Todo it is; of a Goal, the number of the Todo that it becomes.
    pub ordinal: u64,
}

impl ReplanRef {
    /// What every name of one starts with.
    pub const PREFIX: &'static str = "replan:";

    /// That a Todo has.
    pub const fn of_todo(cause: ReplanCause, todo_id: TodoId, ordinal: u64) -> Self {
        Self { cause, covers: Covers::Todo(todo_id), ordinal }
    }

    /// That a Goal has, by the Todo that it becomes.
    pub fn of_goal(becomes: &TodoId) -> Self {
        let covers = Covers::Goal(becomes.goal().clone());
        Self { cause: ReplanCause::AcceptanceGap, covers, ordinal: becomes.number().into() }
    }

    /// The Todo that is covered; none where that is the Goal.
    pub const fn covered(&self) -> Option<&TodoId> {
        match &self.covers {
            Covers::Todo(todo_id) => Some(todo_id),
            Covers::Goal(_) => None,
        }
    }

    /// The Goal whose plan it is about.
    pub const fn goal(&self) -> &GoalId {
        match &self.covers {
            Covers::Todo(todo_id) => todo_id.goal(),
            Covers::Goal(goal_id) => goal_id,
        }
    }

    /// The Todo that a claim of it names: the covered one, or, where the Goal is, the one that it becomes.
    pub fn claimed(&self) -> TodoId {
        match &self.covers {
            Covers::Todo(todo_id) => todo_id.clone(),
            // A name was only made, or read, with a number that fits.
            Covers::Goal(goal_id) => {
                TodoId::new(goal_id.clone(), u32::try_from(self.ordinal).unwrap_or(u32::MAX))
            }
        }
    }
}

impl fmt::Display for ReplanRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}:{}/{}", Self::PREFIX, self.cause.as_str(), self.covers, self.ordinal)
    }
}

impl FromStr for ReplanRef {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = || {
            let (cause, rest) = text.strip_prefix(Self::PREFIX)?.split_once(':')?;
            let (covers, ordinal) = rest.rsplit_once('/')?;
            let cause = ReplanCause::ALL.iter().copied().find(|known| known.as_str() == cause)?;
            if cause == ReplanCause::AcceptanceGap {
                return Some(Self::of_goal(&format!("{covers}.{ordinal}").parse().ok()?));
            }
            let is_number = !ordinal.starts_with('0') && ordinal.bytes().all(|byte| byte.is_ascii_digit());
            let ordinal = ordinal.parse().ok().filter(|_| is_number)?;
            Some(Self::of_todo(cause, covers.parse().ok()?, ordinal))
        };
        parts().ok_or_else(|| {
            let message = format!("`{}` is not a well-formed name of a replan", echo(text));
            Error::new(Code::InvalidId, message).detail("expected", "replan:<cause>:<todo or goal>/<ordinal>")
        })
    }
}

string_serde!(ReplanRef);

/// What a Todo keeps of the obligations to change its plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replans {
    /// How many there were, whatever became of them.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub count: u64,
    /// Those that no claim has written yet, with their ordinals.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pending: BTreeMap<ReplanCause, u64>,
    /// The replan Todo that covers it, while that is live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<TodoId>,
    /// How many cancelled dependencies a replan has been made for.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub seen_cancelled: u32,
    /// Whether a replan has been made for its lost wake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub seen_lost: bool,
    /// Turns in a row without accepted progress, since the last replan that was made for it.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub fruitless: u8,
}

impl Replans {
    /// Turns in a row without accepted progress after which the plan has to change.
    pub const FRUITLESS_MAX: u8 = 2;

    /// Whether there never was one.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Notes a cause; one that is pending already stays what it is.
    pub fn oblige(&mut self, cause: ReplanCause) {
        if !self.pending.contains_key(&cause) {
            self.count += 1;
            self.pending.insert(cause, self.count);
        }
    }
}

/// What a replan Todo covers, and how things stood when it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Covering {
    /// The obligation.
    pub of: ReplanRef,
    /// How many Todos beside replans the Goal had.
    pub planned: u32,
    /// The requirement of the covered Todo, or the revision of the covered Goal.
    pub requirement_revision: u64,
    /// Turns on it that failed.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub failed: u32,
    /// Proposals made in its present Turn that wait for a person.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub proposed: BTreeSet<ProposalId>,
    /// Whether one of them was confirmed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
}

impl Covering {
    /// Failed Turns after which a person is asked.
    pub const FAILED_MAX: u32 = 2;

    /// The Todo it covers; none where that is the Goal.
    pub const fn covers(&self) -> Option<&TodoId> {
        self.of.covered()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replan_is_read_as_it_is_named() {
        for cause in ReplanCause::ALL {
            let todo_id: TodoId = "a-b.7".parse().unwrap();
            let named = match cause {
                ReplanCause::AcceptanceGap => ReplanRef::of_goal(&todo_id),
                _ => ReplanRef::of_todo(*cause, todo_id, 12),
            };
            assert_eq!(named.to_string().parse::<ReplanRef>().unwrap(), named);
        }
        // What was written before is read, and written, as it was.
        for kept in ["replan:wake_lost:g.1/1", "replan:acceptance_gap:g/4"] {
            assert_eq!(kept.parse::<ReplanRef>().unwrap().to_string(), kept);
        }
        let kept = r#"{"of":"replan:wake_lost:g.1/1","planned":2,"requirement_revision":3}"#;
        let covering: Covering = serde_json::from_str(kept).unwrap();
        assert_eq!(covering.covers(), Some(&"g.1".parse().unwrap()));
        assert_eq!(serde_json::to_string(&covering).unwrap(), kept);
        for bad in [
            "replan:wake_lost:g.1",
            "replan:x:g.1/1",
            "replan:wake_lost:g.1/0",
            "wake_lost:g.1/1",
            "replan:wake_lost:g/1",
            "replan:acceptance_gap:g.1/1",
            "replan:acceptance_gap:g/0",
            "replan:acceptance_gap:g/4294967296",
        ] {
            assert_eq!(bad.parse::<ReplanRef>().unwrap_err().code(), Code::InvalidId, "{bad}");
        }
    }
}
