//! Owns what a verb of a driven Turn returns that is given again, and what it says where nothing is left to do.
//!
//! Knows no rule: a verb that came to rest has an answer, and keeps it; one that was cut off goes on.

use super::{
    commits::{Commit, last_receipt},
    host::Host,
    site::{Around, Site},
};
use crate::{
    error::{Code, Error, Result},
    kernel::{self, Outcome},
    model::{Cause, OperationId, Receipt, Turn, TurnState},
    projection,
};

/// Whether a changed requirement alone holds the result, so that its host is given the new one, attempts being left.
pub(super) fn may_try_again(around: &Around, host: Option<&dyn Host>) -> bool {
    let Some(host) = host else { return false };
    let only = around.causes.len() == 1 && around.causes.contains(&Cause::Requirement);
    let most = usize::from(host.hosting().attempts_max).min(Turn::ATTEMPTS_MAX);
    matches!(around.turn.state, TurnState::Held { .. }) && only && around.turn.attempts.len() < most
}

/// The receipt with which a verb came to rest before its Turn had ended: it left it held, or unresolved.
///
/// None where it was cut off before that; then the same verb goes on.
pub(super) fn rested(
    site: &mut Site<'_>,
    base: &OperationId,
    around: &Around,
    host: Option<&dyn Host>,
) -> Result<Option<Receipt>> {
    let Some(receipt) = last_receipt(site, base, &around.turn)? else { return Ok(None) };
    let state = receipt.outcome::<Outcome>()?.turn_state;
    // That an executor is gone is recorded on the way, and what was found follows.
    let on_its_way = Commit::Prove.has_made(&receipt);
    let rests = match state.as_deref() {
        Some(held) if held == Code::Held.as_str() => !may_try_again(around, host),
        Some("unresolved") => !on_its_way,
        Some(_) | None => false,
    };
    Ok(rests.then_some(receipt))
}

/// Says of a refusal what holds the Turn, and what leads on.
pub(super) fn with_causes(refused: Error, around: &Around) -> Error {
    let is_held = matches!(around.turn.state, TurnState::Held { .. }) && !around.causes.is_empty();
    if refused.code() == Code::Held && is_held { nothing_to_do(around) } else { refused }
}

/// The error of a verb that found nothing it could do: what the Turn waits for, and what leads on.
pub(super) fn nothing_to_do(around: &Around) -> Error {
    let turn = &around.turn;
    let (id, state) = (turn.turn_id, turn.state.as_str());
    let error = match turn.state {
        TurnState::Held { .. } => {
            let words: Vec<_> = around.causes.iter().map(projection::word).collect();
            let said: Vec<_> = words.iter().map(|word| projection::plain(word)).collect();
            Error::new(Code::Held, format!("the result of the Turn {id} is held: {}", said.join(", ")))
                .detail("causes", words)
        }
        _ => {
            Error::new(Code::NotReady, format!("nothing is left to do about the Turn {id}, which is {state}"))
        } // wildcard: no other state waits for somebody
    };
    let error = error.detail("turn_id", id.to_string()).detail("state", state);
    match (around.asks.first(), kernel::busy_with(&around.facts, turn)) {
        (Some(ask), _) => error.hint(ask.command.clone()),
        (None, Ok(Some(other))) => {
            error.detail("busy_with", other.turn_id.to_string()).hint(format!("turn show {}", other.turn_id))
        }
        (None, Ok(None) | Err(_)) => error.hint(format!("turn show {id}")),
    }
}
