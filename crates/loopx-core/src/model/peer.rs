//! Owns the return: what a peer gives back to the Todo that coordinates it, and what its coordinator made of it.
//!
//! Knows no rule of who returns or decides. That something was returned and that it was taken in are two facts.

use serde::{Deserialize, Serialize};

use super::{Actor, EvidenceId, GoalId, ReturnId, ShortText, Timestamp, TodoId, TurnId};

/// A peer's result, given to its coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerReturn {
    /// Its id.
    pub return_id: ReturnId,
    /// The Goal.
    pub goal_id: GoalId,
    /// The coordinator Todo, to which it is given.
    pub todo_id: TodoId,
    /// The peer's Todo, whose result it is.
    pub from: TodoId,
    /// The Turn in which it was found.
    pub turn_id: TurnId,
    /// What shows it: 1 to 32 pieces.
    pub evidence: Vec<EvidenceId>,
    /// In short, what was found.
    pub summary: ShortText,
    /// Who returned it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// What the coordinator made of it.
    pub state: ReturnState,
}

impl PeerReturn {
    /// Whether nobody has decided on it yet.
    pub const fn is_open(&self) -> bool {
        matches!(self.state, ReturnState::Returned)
    }
}

/// What became of a return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReturnState {
    /// It waits for its coordinator.
    Returned,
    /// It was taken in.
    Adopted {
        /// Who took it in.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why, where that was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// It was not.
    Rejected {
        /// Who said no.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: ShortText,
    },
    /// Another return stands in its place.
    Superseded {
        /// Who said so.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: ShortText,
        /// The other one.
        superseded_by: ReturnId,
    },
}

impl ReturnState {
    /// The stable spelling.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Adopted { .. } => "adopted",
            Self::Rejected { .. } => "rejected",
            Self::Superseded { .. } => "superseded",
        }
    }
}
