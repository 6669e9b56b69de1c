//! Owns the turn envelope: what an executor must know of its Turn, small enough to be read at once.
//!
//! Knows nothing of where its parts come from, nor which may be cut; the work contract decides that.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::strict;
use crate::{
    error::{Code, Error, Result},
    model::json_value,
    model::{
        AgentId, Digest, Duration, GateId, GateKind, GoalId, GoalInstance, Key, Label, Priority, ScopePath,
        ShortText, Text, Title, TodoId, TodoKind,
    },
};

/// The most an encoded envelope may have, in bytes.
pub const ENVELOPE_MAX_BYTES: usize = 16 * 1024;

/// The envelope's schema id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EnvelopeSchema {
    /// The only one.
    #[serde(rename = "loopx_turn_envelope_v0")]
    V0,
}

/// What the executor of one Turn must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// The schema.
    #[serde(deserialize_with = "strict::word")]
    pub schema_version: EnvelopeSchema,
    /// The Goal.
    pub goal_id: GoalId,
    /// Which Goal of that name: one that is started anew is another.
    pub goal_instance: GoalInstance,
    /// For whom it executes.
    pub agent_id: AgentId,
    /// The Todo.
    #[serde(deserialize_with = "strict::object")]
    pub todo: TodoPart,
    /// What the decision said to do.
    #[serde(deserialize_with = "strict::word")]
    pub effective_action: Action,
    /// The same in words.
    pub recommended_action: Text,
    /// The Goal and its limits.
    #[serde(deserialize_with = "strict::object")]
    pub boundary: BoundaryPart,
    /// The gates that block the Goal.
    #[serde(deserialize_with = "strict::object")]
    pub gates: GatesPart,
    /// What to read first: relative paths, URLs, pointers.
    pub required_reads: Vec<ShortText>,
    /// The bounds of the run.
    #[serde(deserialize_with = "strict::object")]
    pub execution_policy: ExecutionPolicy,
    /// Who will judge the result, in order; the executor never does.
    #[serde(deserialize_with = "strict::objects")]
    pub validators: Vec<ValidatorPart>,
    /// What the budget leaves.
    #[serde(deserialize_with = "strict::object")]
    pub quota_left: QuotaLeft,
    /// The digests that show truncation and drift.
    #[serde(deserialize_with = "strict::object")]
    pub action_signature: ActionSignature,
}

/// The Todo as its executor needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoPart {
    /// Its id.
    pub todo_id: TodoId,
    /// Its kind.
    #[serde(deserialize_with = "strict::word")]
    pub kind: TodoKind,
    /// Its priority.
    #[serde(deserialize_with = "strict::word")]
    pub priority: Priority,
    /// Its title.
    pub title: Title,
    /// All of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Text>,
    /// The revision of this requirement; a result counts for this one.
    pub requirement_revision: u64,
    /// Where this Todo may write; none means where the Goal may.
    pub write_scopes: Vec<ScopePath>,
}

/// What the decision said to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Work on the Todo.
    Run,
    /// Mend what the last result broke.
    Repair,
    /// Change the plan.
    Replan,
    /// Find out what happened.
    Reconcile,
}

/// The Goal and its limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundaryPart {
    /// What is wanted.
    pub objective: Text,
    /// When it counts as reached.
    pub acceptance: Vec<ShortText>,
    /// What is not wanted.
    pub non_goals: Vec<ShortText>,
    /// Path prefixes that may be written; none means the whole tree.
    pub write_scopes: Vec<ScopePath>,
    /// What needs an approval.
    pub needs_approval: Vec<Key>,
    /// Whether nobody else works in the tree.
    pub exclusive_workspace: bool,
    /// When to stop.
    pub stop_conditions: Vec<ShortText>,
}

/// The gates that block: the oldest whole, the rest counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatesPart {
    /// The oldest.
    #[serde(deserialize_with = "strict::objects")]
    pub blocking: Vec<GatePart>,
    /// How many more there are.
    pub more: u32,
}

/// One gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatePart {
    /// Its id.
    pub gate_id: GateId,
    /// Its kind.
    #[serde(deserialize_with = "strict::word")]
    pub kind: GateKind,
    /// What is asked.
    pub question: ShortText,
}

/// The bounds of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionPolicy {
    /// The longest run, suspended time included.
    pub wall_ms: Duration,
    /// The longest silence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<Duration>,
    /// Attempts that may follow this one.
    pub attempts_left: u8,
}

/// One validator, described; its environment is nobody's business.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidatorPart {
    /// What it runs, in short.
    pub description: Label,
    /// The exit status that means progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_exit: Option<u8>,
    /// How long it may take.
    pub timeout_ms: Duration,
}

/// What the budget leaves; absent means no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaLeft {
    /// Turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of the currency's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The currency, three capitals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<Label>,
    /// Time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<Duration>,
}

/// Content digests: they show truncation and drift. They prove no authority; that is the pipe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionSignature {
    /// The digest of the whole contract, before anything was cut to fit.
    pub source_hash: Digest,
    /// The digest of this envelope without its signature.
    pub envelope_hash: Digest,
    /// Whether the two are equal: nothing was cut.
    pub matches: bool,
}

impl Envelope {
    /// The digest of all but the signature, over the canonical encoding.
    pub fn content_hash(&self) -> Result<Digest> {
        let mut value = json_value(self)?;
        if let Value::Object(fields) = &mut value {
            fields.remove("action_signature");
        }
        Digest::of_value(&value)
    }

    /// Signs the envelope; `source_hash` is the [`Envelope::content_hash`] of the contract before it was cut.
    pub fn seal(mut self, source_hash: Digest) -> Result<Self> {
        let envelope_hash = self.content_hash()?;
        let matches = source_hash == envelope_hash;
        self.action_signature = ActionSignature { source_hash, envelope_hash, matches };
        Ok(self)
    }

    /// Whether the signature is that of this content; `invalid_argument` if it is not.
    pub fn check_signature(&self) -> Result<()> {
        let signature = &self.action_signature;
        let same = signature.envelope_hash == self.content_hash()?;
        if same && signature.matches == (signature.source_hash == signature.envelope_hash) {
            Ok(())
        } else {
            Err(Error::new(Code::InvalidArgument, "the envelope is not the one its signature was made for"))
        }
    }

    /// Its size as it goes over the wire; `required_context_too_large` past [`ENVELOPE_MAX_BYTES`].
    pub fn check_size(&self) -> Result<usize> {
        let bytes = serde_json::to_vec(self).map_err(|e| Error::from(Code::Internal).internal(e))?.len();
        if bytes <= ENVELOPE_MAX_BYTES {
            return Ok(bytes);
        }
        let message = format!("the envelope has {bytes} bytes, the limit is {ENVELOPE_MAX_BYTES}");
        Err(Error::new(Code::RequiredContextTooLarge, message).detail("limit_bytes", ENVELOPE_MAX_BYTES))
    }
}
