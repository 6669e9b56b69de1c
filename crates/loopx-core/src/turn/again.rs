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
    kernel::Outcome,
    model::{Cause, OperationId, Receipt, Turn, TurnState, json_value},
    projection,
};

/// How many questions a message repeats.
const QUESTIONS_MAX: usize = 3;

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
        TurnState::Held { .. } => held(around),
        _ => {
            Error::new(Code::NotReady, format!("nothing is left to do about the Turn {id}, which is {state}"))
                .hint(around.onward().unwrap_or_else(|| format!("turn show {id}")))
        } // wildcard: no other state waits for somebody
    };
    error.detail("turn_id", id.to_string()).detail("state", state)
}

/// That a result is held, by what, what is asked, and what leads on.
pub fn held(around: &Around) -> Error {
    let turn = &around.turn;
    let id = turn.turn_id;
    let words: Vec<_> = around.causes.iter().map(projection::word).collect();
    let error = Error::new(Code::Held, format!("the result of the Turn {id} is held: {}", held_by(around)))
        .detail("causes", words)
        .hint(around.onward().unwrap_or_else(|| format!("turn show {id}")));
    let error = match around.waits_for() {
        Some(other) => error.detail("busy_with", other.turn_id.to_string()),
        None => error,
    };
    if around.asks.iter().any(|ask| ask.question.is_some()) {
        return error.detail("asks", json_value(&around.asks).unwrap_or_default());
    }
    error
}

/// What holds a result, in words: each cause, the Turn that is in the way, and the questions.
pub(super) fn held_by(around: &Around) -> String {
    let plain = |cause| projection::plain(&projection::word(cause)).to_owned();
    let mut said = around.causes.iter().map(plain).collect::<Vec<_>>().join(", ");
    if let Some(other) = around.waits_for() {
        let todo = other.todo_id().map(|todo| format!(" on {todo}")).unwrap_or_default();
        said = format!("{said} (the Turn {}{todo})", other.turn_id);
    }
    let questions: Vec<_> = around.asks.iter().filter_map(projection::question).take(QUESTIONS_MAX).collect();
    if questions.is_empty() { said } else { format!("{said}: {}", questions.join("; ")) }
}
