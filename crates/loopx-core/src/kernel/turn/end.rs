//! Owns how a Turn ends: the single way to each terminal state, and what is in the way of ending it.

use super::{Event, named};
use crate::{
    error::{Code, Error, Result},
    kernel::{Draft, Facts, Outcome, asks, claim, gate, seeded},
    model::{
        End, FailedBy, Ownership, ShortText, Slot, Stopped, Timestamp, Turn, TurnId, TurnState, Unresolved,
    },
};

/// Ends a Turn: its state, its slot and its ownership in one event.
///
/// A slot is spent by settled, failed by its validators, and fenced; given back by the rest.
pub(in crate::kernel) fn finish(
    draft: &mut Draft<'_>,
    turn_id: TurnId,
    end: End,
    note: Option<ShortText>,
    repair: bool,
) -> Result<()> {
    let slot = match end {
        End::Settled | End::Failed(FailedBy::Validate) | End::Fenced => Slot::Spent,
        End::Stopped(_) | End::Failed(FailedBy::Host(_)) => Slot::Returned,
    };
    if slot == Slot::Spent && seeded!(EndsTwice) {
        draft.emit(Event::Ended { turn_id, end, slot, note: note.clone(), repair })?;
    }
    draft.emit(Event::Ended { turn_id, end, slot, note, repair })?;
    gate::retract(draft, turn_id)
}

/// Ends a Turn without a result; its candidate stays in its row as evidence.
pub(in crate::kernel) fn stop(draft: &mut Draft<'_>, turn_id: TurnId, why: Stopped) -> Result<()> {
    let wish = named(draft, turn_id)?.stop_wish.as_ref().filter(|_| why == Stopped::Stop);
    let note = wish.and_then(|wish| wish.reason.clone());
    finish(draft, turn_id, End::Stopped(why), note, false)
}

/// Ends a held Turn because a person denied what it needs; a refused acceptance is to be repaired.
pub(in crate::kernel) fn stop_denied(
    draft: &mut Draft<'_>,
    turn_id: TurnId,
    note: Option<ShortText>,
    repair: bool,
) -> Result<()> {
    finish(draft, turn_id, End::Stopped(Stopped::Denied), note, repair)
}

/// Makes way for a command over a Todo: ends an attached, held or lapsed Turn, refuses over a running or an
/// unresolved one.
pub(in crate::kernel) fn clear(draft: &mut Draft<'_>, turn_id: TurnId, why: Stopped) -> Result<()> {
    clear_for(draft, turn_id, why, None)
}

/// Makes way as [`clear`] does, and keeps the words with which it was asked for.
pub(in crate::kernel) fn clear_for(
    draft: &mut Draft<'_>,
    turn_id: TurnId,
    why: Stopped,
    reason: Option<&ShortText>,
) -> Result<()> {
    let turn = named(draft, turn_id)?;
    let end = match turn.state {
        TurnState::Unresolved { .. } => return Err(in_the_way(draft.facts(), turn_id)?),
        TurnState::Held { .. } => End::Stopped(why),
        TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate => {
            let lapsed = has_lapsed(draft.facts(), turn)?;
            if !lapsed && turn.is_driven() {
                return Err(running(turn));
            }
            if lapsed { lapsed_end(turn) } else { End::Stopped(why) }
        }
        TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => {
            return Ok(());
        }
    };
    finish(draft, turn_id, end, reason.cloned(), false)
}

/// Makes way for a person's completion: a lapsed Turn ends, any other refuses it.
pub(in crate::kernel) fn make_way(draft: &mut Draft<'_>, turn_id: Option<TurnId>) -> Result<()> {
    let Some(turn_id) = turn_id else { return Ok(()) };
    if has_lapsed(draft.facts(), named(draft, turn_id)?)? {
        return lapse(draft, turn_id);
    }
    Err(in_the_way(draft.facts(), turn_id)?)
}

/// The error of a command that a running Turn refuses.
pub(in crate::kernel) fn running(turn: &Turn) -> Error {
    let id = turn.turn_id;
    let unresolved = matches!(turn.state, TurnState::Unresolved { .. });
    let hint = if unresolved { asks::prove_command(id) } else { format!("turn stop {id}") };
    Error::new(Code::TurnRunning, format!("the Turn {id} is {}", turn.state.as_str()))
        .detail("turn_id", id.to_string())
        .hint(hint)
}

/// The error of a command that a live Turn, running or not, refuses.
pub(in crate::kernel) fn in_the_way(facts: &Facts, turn_id: TurnId) -> Result<Error> {
    let turn = facts.turn(&turn_id)?.ok_or_else(|| Error::from(Code::Internal))?;
    Ok(match turn.state {
        TurnState::Unresolved { .. } => {
            Error::new(Code::TurnUnresolved, format!("what the Turn {turn_id} did is not known"))
                .detail("turn_id", turn_id.to_string())
                .hint(asks::abandon_command(turn_id))
        }
        TurnState::Admitted
        | TurnState::Dispatched
        | TurnState::Candidate
        | TurnState::Held { .. }
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => running(turn),
    })
}

/// The ownership a Turn stands on, if it still has it.
pub(in crate::kernel) fn ownership<'f>(facts: &'f Facts, turn: &Turn) -> Result<Option<&'f Ownership>> {
    let Some(todo_id) = turn.todo_id() else { return Ok(None) };
    let own = facts.todo(todo_id)?.and_then(|todo| todo.ownership.as_ref());
    Ok(own.filter(|own| own.turn_id == turn.turn_id))
}

/// Whether a Turn executes: its executor may be at work.
///
/// Invariant: the executing Turns of an agent in a Goal have one endpoint, and at most one of them is work.
pub fn executes(facts: &Facts, turn: &Turn) -> Result<bool> {
    let kept = || -> Result<bool> { Ok(ownership(facts, turn)?.is_some_and(|own| !facts.is_expired(own))) };
    match turn.state {
        TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate => kept(),
        TurnState::Unresolved { executor_gone, .. } => {
            Ok(!executor_gone && super::may_live_until(turn).is_some_and(|until| until > facts.now()))
        }
        TurnState::Held { .. }
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => Ok(false),
    }
}

/// Whether a Turn was executing and its ownership has run out: a claim, or a proof, may end it.
pub(in crate::kernel) fn has_lapsed(facts: &Facts, turn: &Turn) -> Result<bool> {
    let executing = matches!(turn.state, TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate);
    Ok(executing && ownership(facts, turn)?.is_none_or(|own| facts.is_expired(own)))
}

/// Whether a lapsed Turn gives its slot back when it ends: attached or never dispatched it is stopped, else fenced.
pub(in crate::kernel) fn gives_back(turn: &Turn) -> bool {
    !turn.is_driven() || turn.attempts.is_empty()
}

/// Ends a lapsed Turn: stopped, or fenced where a host ran.
pub(in crate::kernel) fn lapse(draft: &mut Draft<'_>, turn_id: TurnId) -> Result<()> {
    let end = lapsed_end(named(draft, turn_id)?);
    finish(draft, turn_id, end, None, false)
}

fn lapsed_end(turn: &Turn) -> End {
    if gives_back(turn) { End::Stopped(Stopped::Lapsed) } else { End::Fenced }
}

/// Begins another life of the ledger under a live Turn: its ownership ends, its outcome is not known.
pub(in crate::kernel) fn lose_incarnation(draft: &mut Draft<'_>, turn_id: TurnId) -> Result<()> {
    let why = Unresolved::Incarnation;
    let (executor_gone, keeps_ownership) = (false, false);
    draft.emit(Event::Unresolved { turn_id, why, executor_gone, keeps_ownership, held_by: None })
}

/// Until when the ownership of a Turn lasts when it leaves held or unresolved now.
pub(super) fn rearmed(facts: &Facts, turn: &Turn) -> Result<Timestamp> {
    match ownership(facts, turn)? {
        Some(own) => claim::rearm_at(facts, own),
        None => Err(Error::new(
            Code::OwnershipSuperseded,
            format!("the Turn {} no longer owns its Todo", turn.turn_id),
        )),
    }
}

/// What a receipt says of a Turn as it stands.
pub(in crate::kernel) fn outcome(draft: &Draft<'_>, turn_id: TurnId) -> Result<Outcome> {
    let turn = named(draft, turn_id)?;
    let own = ownership(draft.facts(), turn)?;
    Ok(Outcome {
        todo_ids: turn.todo_id().cloned().into_iter().collect(),
        turn_id: Some(turn_id),
        turn_state: Some(turn.state.as_str().to_owned()),
        own_id: own.map(|own| own.own_id),
        expires_at_ms: own.map(|own| own.expires_at),
        gate_id: turn.acceptance_gate,
        ..Outcome::default()
    })
}
