//! Owns the doors for packages: all that may be named from outside the tiers.
//!
//! It has no logic of its own. What is not re-exported here is not a package's to use.

pub use crate::{
    boundary::{OwnerView, Private, Public},
    error::{Class, Code, Error, Result},
    model::*,
};

/// The seam for adapters: what stands between LoopX's generic command host and an agent program.
///
/// An adapter is a program. LoopX starts it for one attempt of one Turn, writes one request to its stdin and reads one
/// object from its stdout: a result, or a failure that the adapter reports. What the adapter says is a proposal; a
/// validator judges it.
///
/// Sizes are bytes of UTF-8, times are milliseconds. Every limit stands in the request's `result_contract`, and is
/// checked by the reader that LoopX itself uses, so a result built here is one that is taken. Nothing here keeps
/// anything between two calls, reads the environment or writes a log.
///
/// ```
/// use loopx_core::sdk::turn_host::{
///     BatchScale, Candidate, DeliveryOutcome, Request, Said, WireKind, check_result, read_request,
/// };
///
/// fn answer(request: &Request) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
///     let said = Said { summary: "looked, and changed nothing", ..Said::default() };
///     let candidate = Candidate::new(
///         request,
///         WireKind::ValidatedProgress,
///         said,
///         BatchScale::SingleSurface,
///         DeliveryOutcome::OutcomeGap,
///     )?;
///     candidate.encode().map_err(|failure| failure.reason.to_string().into())
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let stdin = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/wire/request.json"));
/// // In an adapter this is `std::io::stdin().lock()`.
/// let request = read_request(&mut stdin.as_slice())?;
/// let printed = answer(&request)?;
/// assert!(check_result(&printed, &request.turn_key).is_ok());
///
/// // A request that lost its end, or in which one letter is another, is refused.
/// assert!(read_request(&mut stdin.get(..2000).unwrap_or_default()).is_err());
/// # Ok(())
/// # }
/// ```
pub mod turn_host {
    pub use crate::turn::{
        adapter::{
            Candidate, Left, Relay, RelayEnd, Relayed, Report, STDOUT_MAX_BYTES, Said, StoppedBy, check_goal,
            read_request,
        },
        wire::{
            Action, ActionSignature, BatchScale, BoundaryPart, DeliveryOutcome, ENVELOPE_MAX_BYTES, Envelope,
            EnvelopeSchema, ExecutionPolicy, Failure, GatePart, GatesPart, PathDelta, Proposal, QuotaLeft,
            REQUEST_MAX_BYTES, RESULT_MAX_BYTES, Reason, Request, RequestSchema, ResultContract,
            ResultSchema, Session, SessionAction, TodoPart, TurnResult, ValidatorPart, WireKind, is_complete,
            parse_result as check_result,
        },
    };
}
