//! Owns the obligation to change the plan of a Todo: what causes one, how it is named, and what it keeps on the rows.
//!
//! Knows no rule.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use super::{ProposalId, TodoId, text::string_serde};
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
}

/// An obligation by its name, `replan:<cause>:<todo>/<ordinal>`, before a claim has written it as a Todo.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplanRef {
    /// The cause.
    pub cause: ReplanCause,
    /// The Todo that is covered.
    pub todo_id: TodoId,
    /// The how-manieth obligation of that Todo it is.
    pub ordinal: u64,
}

impl ReplanRef {
    /// What every name of one starts with.
    pub const PREFIX: &'static str = "replan:";
}

impl fmt::Display for ReplanRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}:{}/{}", Self::PREFIX, self.cause.as_str(), self.todo_id, self.ordinal)
    }
}

impl FromStr for ReplanRef {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = || {
            let (cause, rest) = text.strip_prefix(Self::PREFIX)?.split_once(':')?;
            let (todo_id, ordinal) = rest.rsplit_once('/')?;
            let cause = ReplanCause::ALL.iter().copied().find(|known| known.as_str() == cause)?;
            let is_number = !ordinal.starts_with('0') && ordinal.bytes().all(|byte| byte.is_ascii_digit());
            let ordinal = ordinal.parse().ok().filter(|_| is_number)?;
            Some(Self { cause, todo_id: todo_id.parse().ok()?, ordinal })
        };
        parts().ok_or_else(|| {
            let message = format!("`{}` is not a well-formed name of a replan", echo(text));
            Error::new(Code::InvalidId, message).detail("expected", "replan:<cause>:<todo>/<ordinal>")
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
    /// The requirement of the covered Todo.
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

    /// The Todo it covers.
    pub const fn covers(&self) -> &TodoId {
        &self.of.todo_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replan_is_read_as_it_is_named() {
        for cause in ReplanCause::ALL {
            let named = ReplanRef { cause: *cause, todo_id: "a-b.7".parse().unwrap(), ordinal: 12 };
            assert_eq!(named.to_string().parse::<ReplanRef>().unwrap(), named);
        }
        for bad in ["replan:wake_lost:g.1", "replan:x:g.1/1", "replan:wake_lost:g.1/0", "wake_lost:g.1/1"] {
            assert_eq!(bad.parse::<ReplanRef>().unwrap_err().code(), Code::InvalidId, "{bad}");
        }
    }
}
