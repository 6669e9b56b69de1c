//! Owns the envelope of a write: who asks for what under which id, and what a write returns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Actor, Assurance, Digest, Door, GateId, GoalId, OperationId, Provenance, Timestamp, TodoId};
use crate::error::{Code, Error, Result};

/// One write, as an edge asks for it.
///
/// The digest covers actor, goal, command and expected; never the provenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation<C> {
    /// The idempotency key.
    pub operation_id: OperationId,
    /// Who asks.
    pub actor: Actor,
    /// Through which door, how surely.
    pub provenance: Provenance,
    /// The Goal that is written.
    pub goal_id: GoalId,
    /// What is asked.
    pub command: C,
    /// What the caller believes; refused when it is no longer so.
    pub expected: Expected,
}

impl<C> Operation<C> {
    /// An operation through the library that believes nothing; whoever embeds LoopX answers for the person it names.
    pub fn embedded(operation_id: OperationId, actor: Actor, goal_id: GoalId, command: C) -> Self {
        let assurance = if actor.is_user() { Assurance::Proven } else { Assurance::Stated };
        let provenance = Provenance { door: Door::Library, assurance, contained: None };
        Self { operation_id, actor, provenance, goal_id, command, expected: Expected::default() }
    }
}

impl<C: Serialize> Operation<C> {
    /// The digest that tells a replay from another operation.
    pub fn digest(&self) -> Result<Digest> {
        #[derive(Serialize)]
        struct Digested<'a, C> {
            actor: &'a Actor,
            goal: &'a GoalId,
            command: &'a C,
            expected: Option<&'a Expected>,
        }
        Digest::of_value(&Digested {
            actor: &self.actor,
            goal: &self.goal_id,
            command: &self.command,
            expected: (self.expected != Expected::default()).then_some(&self.expected),
        })
    }
}

/// The revisions a caller read; a write whose rows moved on is `stale_revision`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The Goal's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<u64>,
    /// Todos'.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub todos: BTreeMap<TodoId, u64>,
    /// A gate's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<(GateId, u64)>,
}

impl Expected {
    /// Whether nothing is believed.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a write returned, kept for ever; the same operation gets the same receipt whatever happened since.
///
/// Only an authority makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Receipt {
    pub(crate) operation_id: OperationId,
    pub(crate) digest: Digest,
    pub(crate) actor: Actor,
    #[serde(flatten)]
    pub(crate) provenance: Provenance,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) goal_id: Option<GoalId>,
    #[serde(rename = "at_ms")]
    pub(crate) at: Timestamp,
    /// The number of the last event of this write, in its Goal's chain or the ledger's own.
    pub(crate) accepted_revision: u64,
    /// The code of a negative end, accepted all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) negative: Option<&'static str>,
    pub(crate) outcome: Value,
    /// Whether this call wrote nothing, because an earlier one had.
    pub(crate) replayed: bool,
}

impl Receipt {
    /// The idempotency key.
    pub fn operation_id(&self) -> &OperationId {
        &self.operation_id
    }

    /// The digest of the operation it answers.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Who asked.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The Goal that was written; none for a change of the ledger itself.
    pub fn goal_id(&self) -> Option<&GoalId> {
        self.goal_id.as_ref()
    }

    /// When the authority accepted it.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The number of the last event of this write, in its Goal's chain or the ledger's own.
    pub fn accepted_revision(&self) -> u64 {
        self.accepted_revision
    }

    /// The code of a negative end: accepted and written, and yet a no.
    pub fn negative(&self) -> Option<Code> {
        self.negative.and_then(|text| Code::ALL.iter().copied().find(|code| code.as_str() == text))
    }

    /// Whether this call wrote nothing, because an earlier one had.
    pub fn is_replayed(&self) -> bool {
        self.replayed
    }

    /// The outcome, typed.
    pub fn outcome<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.outcome.to_string()).map_err(|e| Error::from(Code::Internal).internal(e))
    }
}
