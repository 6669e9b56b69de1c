//! Owns the nouns: plain data, closed enums, and parsing at the edge.
//!
//! Knows nothing of how anything is stored or decided. Every id, time, digest and state is a type of its own,
//! parsed once; an unknown field or variant is refused on the way in.

mod actor;
mod attempt;
mod digest;
mod effect;
mod evidence;
mod gate;
mod gathered;
mod goal;
mod handoff;
mod id;
mod json;
mod noun;
mod operation;
mod peer;
mod proposal;
mod quota;
mod replan;
mod result;
mod reward;
mod sighting;
mod text;
mod time;
mod todo;
mod turn;
mod usage;

pub use actor::{Actor, Assurance, Door, Origin, Provenance, UserName};
pub use attempt::{Attempt, AttemptEnd, Guarantee};
pub use digest::{Digest, canonical};
pub use effect::{Effect, EffectBlocks, EffectFact, EffectState};
pub use evidence::{Evidence, EvidenceKind, EvidenceVerdict, Privacy};
pub use gate::{Answer, Blocks, Gate, GateKind, GateState, Key};
pub(crate) use gathered::gathered;
pub use goal::{
    Agent, Awaits, Boundary, BoundaryChange, CloseKind, Criterion, CriterionState, Goal, GoalState,
    Unvalidated, Workspace,
};
pub use handoff::Handoff;
pub(crate) use id::uuid_v7;
pub use id::{
    AgentId, AuthorityId, EffectId, EffectKey, EndpointId, EntryId, EvidenceId, GateId, GoalId, GoalInstance,
    HandoffId, IncarnationId, MachineId, OperationId, OwnId, ProfileId, ProposalId, ReturnId, RewardId,
    SightingId, TodoId, TokenId, TurnId,
};
pub(crate) use json::{from_json, is_default, json_value};
pub use noun::{Noun, NounKey, NounKind, OneNoun};
pub use operation::{Expected, Operation, Receipt};
pub use peer::{PeerReturn, ReturnState};
pub use proposal::{Proposal, ProposalKind, ProposalState};
pub use quota::{Amounts, Bucket, Caps, Currency, Dimension, Limit, MeterScope, Slot};
pub use replan::{Covering, Covers, ReplanCause, ReplanRef, Replans};
pub use result::{Candidate, Pointer, ResultKind, Verdict, VerdictOutcome};
pub use reward::{Polarity, Reward};
pub use sighting::{About, Sighting};
pub use text::{Checked, Label, ShortText, Text, Title};
pub use time::{Duration, Timestamp};
pub use todo::{
    Completion, Continuation, Counters, LastEnd, Monitor, Ownership, Priority, Requires, RequiresChange,
    Reserved, ScopePath, Todo, TodoKind, TodoState, TodoText, Validator, Wake,
};
pub use turn::{
    Cause, End, Executor, FailedBy, HostFailure, StopWish, Stopped, Turn, TurnKind, TurnState, Unresolved,
};
pub use usage::{Meter, Reports, Spend, Usage};
