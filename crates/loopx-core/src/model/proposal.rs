//! Owns the proposal: one command that its author may not give, kept whole until a person answers.
//!
//! Knows no rule, and not what the command says: it is kept as the JSON in which it was typed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Actor, Expected, GoalId, ProposalId, ShortText, Timestamp, TodoId, TurnId};

/// A command that waits for a person's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// Its id.
    pub proposal_id: ProposalId,
    /// The Goal.
    pub goal_id: GoalId,
    /// The Todo its author worked on when he made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_id: Option<TodoId>,
    /// The Turn he worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// What it is meant as.
    pub kind: ProposalKind,
    /// The verb of the command.
    pub verb: Box<str>,
    /// The command.
    pub command: Value,
    /// What its author believed.
    #[serde(default, skip_serializing_if = "Expected::is_nothing")]
    pub expected: Expected,
    /// Why.
    pub reason: ShortText,
    /// Who made it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// Where it stands.
    pub state: ProposalState,
}

impl Proposal {
    /// Whether it still waits for a person.
    pub const fn is_open(&self) -> bool {
        matches!(self.state, ProposalState::Open | ProposalState::Deferred { .. })
    }
}

/// What a proposal is meant as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalKind {
    /// Its author needs it.
    Change,
    /// An idea; nobody waits for it.
    Dream,
}

impl ProposalKind {
    /// The stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Dream => "dream",
        }
    }
}

/// Where a proposal stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ProposalState {
    /// It waits.
    Open,
    /// It waits, and nobody wants to be reminded before then.
    Deferred {
        /// Not before then.
        until: Timestamp,
    },
    /// A person gave the command.
    Confirmed {
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
    },
    /// A person said no.
    Rejected {
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// What its author believed was no longer so.
    Stale {
        /// When that was met.
        at: Timestamp,
    },
    /// Its author took it back.
    Withdrawn {
        /// When.
        at: Timestamp,
    },
}

impl ProposalState {
    /// The stable spelling.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Deferred { .. } => "deferred",
            Self::Confirmed { .. } => "confirmed",
            Self::Rejected { .. } => "rejected",
            Self::Stale { .. } => "stale",
            Self::Withdrawn { .. } => "withdrawn",
        }
    }
}
