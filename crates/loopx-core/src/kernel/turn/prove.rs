//! Owns what is recorded when a Turn is proved, lost or looked into: by a proof that starts nothing, and by a recovery.
//!
//! Knows nothing of how it was found out.

use super::{
    Event,
    causes::{self, causes},
    end, may_live_until, no_move,
    result::record,
    settle,
    steps::Found,
};
use crate::{
    error::{Code, Error, Result},
    kernel::Draft,
    model::{Cause, Digest, End, FailedBy, Guarantee, Stopped, Timestamp, Turn, TurnState, Unresolved, Wake},
};

pub(super) fn prove(
    draft: &mut Draft<'_>,
    turn: &Turn,
    executor_gone: bool,
    tree: Option<Digest>,
) -> Result<()> {
    let turn_id = turn.turn_id;
    if executor_gone && turn.open_attempt().is_some() {
        draft.emit(Event::ExecutorGone { turn_id })?;
    }
    match turn.state {
        TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate => {
            if turn.stop_wish.is_some() && executor_gone {
                return end::stop(draft, turn_id, Stopped::Stop);
            }
            if end::has_lapsed(draft.facts(), turn)? {
                return end::lapse(draft, turn_id);
            }
            // An attached executor is nobody's to prove gone while its ownership lives.
            if executor_gone && turn.is_driven() { Ok(()) } else { Err(nothing_to_prove(turn)) }
        }
        TurnState::Unresolved { executor_gone: known, .. } => {
            if executor_gone && !known && turn.open_attempt().is_none() {
                draft.emit(Event::ExecutorGone { turn_id })?;
            }
            if executor_gone { Ok(()) } else { Err(nothing_to_prove(turn)) }
        }
        TurnState::Held { .. } => prove_held(draft, turn, tree),
        TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => {
            Err(no_move(turn, "be proved"))
        }
    }
}

fn nothing_to_prove(turn: &Turn) -> Error {
    let error = Error::new(Code::NotReady, format!("nothing can be proved of the Turn {} yet", turn.turn_id))
        .detail("state", turn.state.as_str());
    match may_live_until(turn) {
        Some(until) => error.detail("until_ms", Timestamp::as_ms(until)),
        None => error,
    }
}

fn prove_held(draft: &mut Draft<'_>, turn: &Turn, tree: Option<Digest>) -> Result<()> {
    let turn_id = turn.turn_id;
    let mut causes = causes(draft.facts(), turn)?;
    let tree_busy = causes.remove(&Cause::TreeBusy);
    // What is as it was validated settles, whatever its agent does meanwhile.
    let agent_busy = causes.remove(&Cause::AgentBusy);
    if tree_busy && causes::writes_with(draft.facts(), turn)?.is_some() {
        causes.insert(Cause::TreeBusy);
    }
    if !causes.is_empty() {
        causes.extend(agent_busy.then_some(Cause::AgentBusy));
        return Err(Error::new(Code::Held, format!("the Turn {turn_id} is held"))
            .detail("causes", serde_json::to_value(&causes).unwrap_or_default())
            .hint(format!("turn show {turn_id}")));
    }
    let seen = turn.verdict.as_ref().and_then(|verdict| verdict.tree);
    let as_validated = !tree_busy && turn.verdict.is_some() && tree == seen;
    if as_validated || settle::looked(turn).is_some() || settle::replans(draft.facts(), turn)? {
        return settle::settle(draft, turn_id, false);
    }
    if let Some(other) = causes::busy_with(draft.facts(), turn)? {
        return Err(Error::new(
            Code::Held,
            format!("the Turn {turn_id} is held: its agent executes another"),
        )
        .detail("causes", serde_json::json!([Cause::AgentBusy]))
        .detail("turn_id", other.turn_id.to_string())
        .hint(format!("turn show {turn_id}")));
    }
    let expires_at = end::rearmed(draft.facts(), turn)?;
    draft.emit(Event::Returned { turn_id, renewed: false, expires_at })
}

pub(super) fn lose(
    draft: &mut Draft<'_>,
    turn: &Turn,
    executor_gone: bool,
    held_by: Option<Guarantee>,
) -> Result<()> {
    if !matches!(turn.state, TurnState::Dispatched) || !turn.is_driven() {
        return Err(no_move(turn, "be lost"));
    }
    let (turn_id, why) = (turn.turn_id, Unresolved::Lost);
    draft.emit(Event::Unresolved { turn_id, why, executor_gone, keeps_ownership: true, held_by })
}

pub(super) fn recover(
    draft: &mut Draft<'_>,
    turn: &Turn,
    found: &Found,
    wake: Option<&Wake>,
    held_by: Option<Guarantee>,
) -> Result<()> {
    let TurnState::Unresolved { why, executor_gone } = turn.state else {
        return Err(no_move(turn, "be recovered"));
    };
    let turn_id = turn.turn_id;
    match found {
        Found::Nothing(failure) => {
            if !executor_gone && may_live_until(turn).is_some_and(|until| until > draft.now()) {
                return Err(nothing_to_prove(turn));
            }
            end::finish(draft, turn_id, End::Failed(FailedBy::Host(*failure)), None, false)
        }
        Found::Result(candidate) => {
            causes::check_agent_free(draft.facts(), turn)?;
            record(draft, turn, candidate, wake, held_by)
        }
        Found::Again => {
            causes::check_agent_free(draft.facts(), turn)?;
            if why != Unresolved::Inconclusive || turn.candidate.is_none() {
                return Err(no_move(turn, "be validated again"));
            }
            let expires_at = end::rearmed(draft.facts(), turn)?;
            draft.emit(Event::Returned { turn_id, renewed: false, expires_at })
        }
    }
}
