//! Owns taking one request from a stream.
//!
//! Knows nothing of what the adapter does with it.

use std::io::Read;

use crate::{
    error::{Code, Error, Result},
    model::{GoalId, GoalInstance},
    turn::wire::{REQUEST_MAX_BYTES, Request},
};

/// Reads one request to the end of a stream and checks its envelope against its digests.
///
/// At most 32,768 bytes are taken, and one more to see that there are too many. A request that was cut short, altered
/// or extended on its way is refused here, before an agent sees a word of it.
///
/// Errors: `payload_too_large`; `unsupported_version`; `unknown_field` for a key or value that is not the wire's, and
/// for anything that is no JSON object; `invalid_argument` where the envelope is not the one its signature was made
/// for; `required_context_too_large`; `not_ready` where the stream cannot be read.
pub fn read_request(stream: &mut dyn Read) -> Result<Request> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(REQUEST_MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    stream
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::new(Code::NotReady, "the request cannot be read").internal(error))?;
    Request::parse(&bytes)
}

/// Checks that a request is of the Goal that an adapter keeps something of: a session, a folder, a count.
///
/// A Goal that was started anew under the same name is another one, and nothing that was kept of the first is its.
/// Errors: `binding_conflict`.
pub fn check_goal(request: &Request, goal_id: &GoalId, goal_instance: GoalInstance) -> Result<()> {
    let envelope = &request.turn_envelope;
    if envelope.goal_id == *goal_id && envelope.goal_instance == goal_instance {
        return Ok(());
    }
    let message = if envelope.goal_id == *goal_id {
        format!("the Goal {goal_id} was started anew since, and is another one")
    } else {
        format!("the request is of the Goal {}, not of {goal_id}", envelope.goal_id)
    };
    Err(Error::new(Code::BindingConflict, message).detail("goal_id", envelope.goal_id.to_string()))
}
