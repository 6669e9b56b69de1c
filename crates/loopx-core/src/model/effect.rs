//! Owns the effect: a change outside LoopX, what it was meant to be, what became of it, and what waits until that is known.
//!
//! Knows no rule of when it moves, and reaches no provider: it holds what was told.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Actor, Digest, EffectId, EffectKey, EvidenceId, GoalId, ShortText, Timestamp, TodoId};

/// A change outside LoopX.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// Its id.
    pub effect_id: EffectId,
    /// The Goal.
    pub goal_id: GoalId,
    /// The Todo whose work it is.
    pub todo_id: TodoId,
    /// What names it in its Goal, and at its provider, for ever.
    pub key: EffectKey,
    /// The digest of what the provider is asked.
    pub digest: Digest,
    /// What is meant to happen.
    pub what: ShortText,
    /// What waits until it is known what became of it.
    pub blocks: EffectBlocks,
    /// Where it stands.
    pub state: EffectState,
    /// Moves with every write of this row but a readback that told nothing.
    pub revision: u64,
    /// The revision at which a readback last told nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<u64>,
    /// Who intended it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// What its state rests on, once somebody has told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<EffectFact>,
    /// That it was asked to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_requested: Option<EffectFact>,
    /// That it has stopped. Neither this nor the request says what it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_confirmed: Option<EffectFact>,
}

impl Effect {
    /// Whether nobody knows yet what became of it.
    pub const fn is_unresolved(&self) -> bool {
        match self.state {
            EffectState::Intended | EffectState::Dispatched | EffectState::Unknown => true,
            EffectState::Confirmed
            | EffectState::Absent
            | EffectState::Failed
            | EffectState::WrittenOff { .. } => false,
        }
    }

    /// Whether it is in the way of an achieved Goal: unresolved, or written off and not let go.
    pub const fn is_open(&self) -> bool {
        match &self.state {
            EffectState::WrittenOff { waived, .. } => waived.is_none(),
            EffectState::Intended
            | EffectState::Dispatched
            | EffectState::Unknown
            | EffectState::Confirmed
            | EffectState::Absent
            | EffectState::Failed => self.is_unresolved(),
        }
    }

    /// Whether it may have happened and no readback was tried as it stands now.
    pub fn may_be_read_back(&self) -> bool {
        match self.state {
            EffectState::Dispatched | EffectState::Unknown => self.tried != Some(self.revision),
            EffectState::Intended
            | EffectState::Confirmed
            | EffectState::Absent
            | EffectState::Failed
            | EffectState::WrittenOff { .. } => false,
        }
    }
}

/// What waits for an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectBlocks {
    /// The Todos that nobody may claim or complete: at most 32, its own among them.
    pub todos: BTreeSet<TodoId>,
    /// The keys that no other effect may have or touch: at most 32.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub keys: BTreeSet<EffectKey>,
}

/// Where an effect stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EffectState {
    /// It is meant; nothing was sent.
    Intended,
    /// It is being sent, once.
    Dispatched,
    /// It happened.
    Confirmed,
    /// It did not happen.
    Absent,
    /// Its provider refused it, or it broke off.
    Failed,
    /// Nobody could tell.
    Unknown,
    /// A person gave up finding out.
    WrittenOff {
        /// Why.
        reason: ShortText,
        /// Why the Goal may end without knowing, once a person let it go.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waived: Option<ShortText>,
    },
}

impl EffectState {
    /// The stable spelling.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Intended => "intended",
            Self::Dispatched => "dispatched",
            Self::Confirmed => "confirmed",
            Self::Absent => "absent",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::WrittenOff { .. } => "written_off",
        }
    }
}

/// Something that was told of an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectFact {
    /// Who told it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// What shows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
}
