//! Owns the sighting: that a person saw something that needs somebody, as it stood then.
//!
//! Knows no rule. There is one a thing, whatever was seen of it before.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{
    Actor, Digest, EffectId, GateId, GoalId, Label, ProposalId, SightingId, Timestamp, TodoId, TurnId,
    text::string_serde,
};
use crate::error::Error;

/// What a person saw, and how it stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sighting {
    /// Its id, which follows from what was seen.
    pub sighting_id: SightingId,
    /// The Goal.
    pub goal_id: GoalId,
    /// The Todo, where one was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_id: Option<TodoId>,
    /// What was seen.
    pub about: About,
    /// How it stood.
    pub version: Label,
    /// Who saw it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

/// What can need somebody; written as its id alone, since no two sorts of ids meet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum About {
    /// A Goal.
    Goal(GoalId),
    /// A Todo.
    Todo(TodoId),
    /// A Turn.
    Turn(TurnId),
    /// A gate.
    Gate(GateId),
    /// A change outside.
    Effect(EffectId),
    /// A command that waits for a person's word.
    Proposal(ProposalId),
}

impl About {
    /// The id of the one sighting of it.
    pub fn sighting_id(&self) -> SightingId {
        let mut bytes = [0; 16];
        let digest = Digest::of(self.to_string().as_bytes());
        for (slot, byte) in bytes.iter_mut().zip(digest.as_bytes()) {
            *slot = *byte;
        }
        SightingId::from_bytes(bytes)
    }

    /// The Todo, if it is one.
    pub const fn todo_id(&self) -> Option<&TodoId> {
        match self {
            Self::Todo(id) => Some(id),
            Self::Goal(_) | Self::Turn(_) | Self::Gate(_) | Self::Effect(_) | Self::Proposal(_) => None,
        }
    }
}

impl FromStr for About {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // No slug holds `_`, and none holds a dot.
        if text.starts_with(GateId::PREFIX) {
            text.parse().map(Self::Gate)
        } else if text.starts_with(TurnId::PREFIX) {
            text.parse().map(Self::Turn)
        } else if text.starts_with(EffectId::PREFIX) {
            text.parse().map(Self::Effect)
        } else if text.starts_with(ProposalId::PREFIX) {
            text.parse().map(Self::Proposal)
        } else if text.contains('.') {
            text.parse().map(Self::Todo)
        } else {
            text.parse().map(Self::Goal)
        }
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Goal(id) => write!(f, "{id}"),
            Self::Todo(id) => write!(f, "{id}"),
            Self::Turn(id) => write!(f, "{id}"),
            Self::Gate(id) => write!(f, "{id}"),
            Self::Effect(id) => write!(f, "{id}"),
            Self::Proposal(id) => write!(f, "{id}"),
        }
    }
}

string_serde!(About);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::error::Code;

    fn things() -> [About; 6] {
        let bytes = [7; 16];
        [
            About::Goal("g-1".parse().unwrap()),
            About::Todo("g-1.3".parse().unwrap()),
            About::Turn(TurnId::from_bytes(bytes)),
            About::Gate(GateId::from_bytes(bytes)),
            About::Effect(EffectId::from_bytes(bytes)),
            About::Proposal(ProposalId::from_bytes(bytes)),
        ]
    }

    #[test]
    fn one_thing_has_one_sighting_and_two_have_two() {
        let ids: BTreeSet<_> = things().iter().map(|about| about.sighting_id().to_string()).collect();
        assert_eq!(ids.len(), things().len());
        // Ledgers hold it.
        let goal: About = "g-1".parse().unwrap();
        assert_eq!(goal.sighting_id().to_string(), "see_5sg5tmkk2mdc7eajd45abvjj0h");
    }

    #[test]
    fn what_was_seen_is_read_as_it_is_written() {
        for about in things() {
            assert_eq!(about.to_string().parse::<About>().unwrap(), about);
        }
        for bad in ["", "gate_1", "evd_00000000000000000000000000", "g.0", "A"] {
            assert_eq!(bad.parse::<About>().unwrap_err().code(), Code::InvalidId, "{bad}");
        }
    }
}
