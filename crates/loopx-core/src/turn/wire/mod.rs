//! Owns the wire of the generic command host: one JSON object in, one out, both closed.
//!
//! It must not know processes, the ledger or any one host. What a host says is parsed once, screened, and is then a
//! [`TurnResult`]: a proposal still, never a fact. Source: the Turn's "generic command host"; the reference page is
//! `docs/reference/wire.md`, the examples are `docs/wire/*.json`.

mod blame;
mod envelope;
mod failure;
mod reported;
mod request;
mod result;
mod screened;
mod strict;

#[cfg(test)]
mod tests;

pub use envelope::{
    Action, ActionSignature, BoundaryPart, ENVELOPE_MAX_BYTES, Envelope, EnvelopeSchema, ExecutionPolicy,
    GatePart, GatesPart, QuotaLeft, TodoPart, ValidatorPart,
};
pub use failure::{Failure, Reason};
pub(super) use reported::encode as encode_failure;
pub use request::{REQUEST_MAX_BYTES, Request, RequestSchema, ResultContract, Session, SessionAction};
pub use result::{
    BatchScale, DeliveryOutcome, PathDelta, Proposal, RESULT_MAX_BYTES, ResultSchema, TurnResult, WireKind,
    is_complete, parse_result,
};
