//! Owns the moves of a Todo between open, deferred, blocked and cancelled, the pause, and the way back.

use super::{Event, add, check_maker, check_plan_open, links, named, no_move};
use crate::{
    error::{Code, Error, Result},
    kernel::{
        Draft, IdList, Outcome, Read,
        claim::{self, Presented},
        turn,
    },
    model::{OwnId, ShortText, Stopped, Todo, TodoId, TodoKind, TodoState, TurnState, Wake},
};

/// A live Todo whose wake has come, or that waits for nothing: what `open` means to a guard.
fn is_open(draft: &Draft<'_>, todo: &Todo) -> bool {
    match &todo.state {
        TodoState::Open => true,
        TodoState::Deferred { wake } => draft.facts().is_awake(wake, todo),
        TodoState::Blocked { .. } | TodoState::Done { .. } | TodoState::Cancelled { .. } => false,
    }
}

/// Writes that a wake has come, when a write relies on it.
pub(in crate::kernel) fn settle_wake(draft: &mut Draft<'_>, todo_id: &TodoId) -> Result<()> {
    let todo = named(draft, todo_id)?;
    let woken = matches!(&todo.state, TodoState::Deferred { wake } if draft.facts().is_awake(wake, todo));
    if woken {
        draft.emit(Event::Woken { todo_id: todo_id.clone() })?;
    }
    Ok(())
}

/// An owner's token when an agent asks; nothing when a person does. Then ends the Turn that is in the way.
///
/// Returns the outcome of a negative end, where the owner came too late and its scopes are taken.
fn clear(
    draft: &mut Draft<'_>,
    todo_id: &TodoId,
    own_id: Option<OwnId>,
    why: Stopped,
) -> Result<Option<Outcome>> {
    if draft.actor().agent().is_some()
        && let Presented::ScopesTaken(outcome) = claim::present(draft, todo_id, own_id)?
    {
        return Ok(Some(*outcome));
    }
    if let Some(turn_id) = named(draft, todo_id)?.turn_id {
        turn::clear(draft, turn_id, why)?;
    }
    Ok(None)
}

pub(super) fn defer(
    draft: &mut Draft<'_>,
    todo_id: &TodoId,
    own_id: Option<OwnId>,
    wake: &Wake,
) -> Result<Option<Outcome>> {
    let todo = named(draft, todo_id)?;
    // Putting off again names another wake.
    let movable = is_open(draft, todo) || matches!(todo.state, TodoState::Deferred { .. });
    if !movable {
        return Err(no_move(todo, "be deferred"));
    }
    add::check_wake(draft, Some(todo_id), wake)?;
    let taken = clear(draft, todo_id, own_id, Stopped::Deferred)?;
    if taken.is_none() {
        draft.emit(Event::Deferred { todo_id: todo_id.clone(), wake: wake.clone() })?;
    }
    Ok(taken)
}

pub(super) fn block(
    draft: &mut Draft<'_>,
    todo_id: &TodoId,
    own_id: Option<OwnId>,
    reason: &ShortText,
) -> Result<Option<Outcome>> {
    settle_wake(draft, todo_id)?;
    let todo = named(draft, todo_id)?;
    if !is_open(draft, todo) {
        return Err(no_move(todo, "be blocked"));
    }
    let taken = clear(draft, todo_id, own_id, Stopped::Blocked)?;
    if taken.is_none() {
        draft.emit(Event::Blocked { todo_id: todo_id.clone(), reason: reason.clone() })?;
    }
    Ok(taken)
}

pub(super) fn unblock(draft: &mut Draft<'_>, todo_id: &TodoId) -> Result<()> {
    let todo = named(draft, todo_id)?;
    match todo.state {
        TodoState::Blocked { .. } | TodoState::Deferred { .. } => {
            draft.emit(Event::Unblocked { todo_id: todo_id.clone() })
        }
        TodoState::Open | TodoState::Done { .. } | TodoState::Cancelled { .. } => {
            Err(no_move(todo, "be unblocked"))
        }
    }
}

pub(super) fn hold(draft: &mut Draft<'_>, todo_id: &TodoId, on: bool) -> Result<()> {
    let todo = named(draft, todo_id)?;
    if !todo.is_live() {
        return Err(no_move(todo, if on { "be held" } else { "be let go" }));
    }
    if todo.hold == on {
        return Ok(());
    }
    let todo_id = todo_id.clone();
    draft.emit(if on { Event::Paused { todo_id } } else { Event::Unpaused { todo_id } })
}

/// Drops a Todo that is open, deferred or blocked.
pub(in crate::kernel) fn cancel(
    draft: &mut Draft<'_>,
    todo_id: &TodoId,
    reason: &ShortText,
    superseded_by: Option<&TodoId>,
) -> Result<()> {
    let todo = named(draft, todo_id)?.clone();
    check_maker(draft, &todo)?;
    check_plan_open(draft, Some(&todo))?;
    if !todo.is_live() {
        return Err(no_move(&todo, "be cancelled"));
    }
    if let Some(other) = superseded_by {
        if other == todo_id {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("the Todo {todo_id} cannot take its own place"),
            ));
        }
        named(draft, other)?;
    }
    if let Some(turn_id) = todo.turn_id {
        turn::clear(draft, turn_id, Stopped::Cancelled)?;
    }
    draft.emit(Event::Cancelled {
        todo_id: todo_id.clone(),
        reason: reason.clone(),
        superseded_by: superseded_by.cloned(),
    })
}

/// Takes back a done or cancelled Todo; returns its dependants that are done already. The others' counters move without
/// their rows.
pub(super) fn reopen(draft: &mut Draft<'_>, todo_id: &TodoId) -> Result<IdList> {
    let todo = named(draft, todo_id)?;
    if todo.is_live() {
        return Err(match draft.facts().live_turn(todo)?.map(|turn| (turn.turn_id, &turn.state)) {
            Some((turn_id, TurnState::Unresolved { .. })) => turn::in_the_way(draft.facts(), turn_id)?,
            Some(_) | None => no_move(todo, "be reopened"),
        });
    }
    if todo.kind == TodoKind::Replan {
        // What it was made for is consumed.
        return Err(no_move(todo, "be reopened: it was a replan"));
    }
    let facts = draft.facts();
    if matches!(todo.state, TodoState::Cancelled { .. }) {
        // Cancelled Todos are walked over when a link is made, so one may stand in a cycle that this would revive.
        links::check_revival(facts, todo)?;
    }
    let done = facts.listed(&Read::DoneDependants(todo_id.clone()))?.clone();
    draft.emit(Event::Reopened { todo_id: todo_id.clone() })?;
    Ok(done)
}
