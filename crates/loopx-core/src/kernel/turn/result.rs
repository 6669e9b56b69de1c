//! Owns what a result means when it comes: whether it may, what it is recorded as, and what it ends at once.
//!
//! Knows nothing of validators; what they say is another step.

use super::{Event, causes, end, named, no_move, settle, steps::todo_of};
use crate::{
    error::{Code, Error, Result},
    kernel::{Draft, claim, gate, quota, todo},
    model::{
        Attempt, Candidate, Duration, End, FailedBy, Guarantee, Meter, ResultKind, ShortText, Stopped, Todo,
        TodoKind, Turn, TurnId, TurnState, Usage, Wake,
    },
};

/// Takes a result where the Turn may have one.
pub(super) fn candidate_came(
    draft: &mut Draft<'_>,
    turn: &Turn,
    candidate: &Candidate,
    wake: Option<&Wake>,
    held_by: Option<Guarantee>,
) -> Result<()> {
    let may = match turn.state {
        TurnState::Dispatched => turn.stop_wish.is_none() && (!turn.is_driven() || may_have_result(turn)),
        TurnState::Candidate | TurnState::Held { .. } => !turn.is_driven(),
        TurnState::Admitted
        | TurnState::Unresolved { .. }
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => false,
    };
    if !may {
        return Err(no_move(turn, "take a result"));
    }
    if matches!(turn.state, TurnState::Held { .. }) {
        causes::check_agent_free(draft.facts(), turn)?;
    }
    record(draft, turn, candidate, wake, held_by)
}

/// Whether the last attempt may have left a result: it is open, or was proved gone without being judged.
fn may_have_result(turn: &Turn) -> bool {
    let failed = |attempt: &Attempt| attempt.end.as_ref().is_some_and(|end| end.failure.is_some());
    turn.attempts.last().is_some_and(|attempt| !failed(attempt))
}

/// Records a result, and ends the Turn at once where there is nothing to validate.
pub(super) fn record(
    draft: &mut Draft<'_>,
    turn: &Turn,
    candidate: &Candidate,
    wake: Option<&Wake>,
    held_by: Option<Guarantee>,
) -> Result<()> {
    let todo = todo_of(draft, turn)?.clone();
    let kind = kind_of(candidate, turn, &todo)?;
    if kind == ResultKind::ValidatedCompletion {
        todo::check_continuation(draft, &todo.todo_id, &candidate.continuation)?;
    }
    let own = end::ownership(draft.facts(), turn)?.ok_or_else(|| Error::from(Code::Internal))?;
    let candidate = Candidate {
        kind,
        at: draft.now(),
        // An attached executor reads the Todo as it is; a driven one was given a requirement.
        requirement_revision: if turn.is_driven() {
            turn.requirement_revision
        } else {
            todo.requirement_revision
        },
        ..candidate.clone()
    };
    // Frozen time never counts: what leaves held or unresolved starts anew.
    let expires_at = if own.frozen {
        claim::rearm_at(draft.facts(), own)?
    } else {
        own.expires_at.max(draft.now().plus(own.ttl_ms))
    };
    let turn_id = turn.turn_id;
    if turn.candidate.as_ref().is_some_and(|old| !old.is_same_result(&candidate)) {
        gate::retract(draft, turn_id)?;
    }
    // What may be another's is listed, and counts against nobody.
    let outside = candidate.outside.first().filter(|_| !candidate.shared).cloned();
    let summary = candidate.summary.clone();
    let question = candidate.next_action.clone();
    let usage = candidate.usage.clone();
    draft.emit(Event::CandidateRecorded { turn_id, candidate: Box::new(candidate), expires_at, held_by })?;
    measured(draft, turn_id, &usage)?;
    let scoped =
        draft.facts().goal(draft.goal_id())?.is_some_and(|goal| !goal.boundary.write_scopes.is_empty());
    if let Some(path) = outside.filter(|_| scoped) {
        let note = format!("boundary_violation: wrote {path} outside its scopes").parse()?;
        return end::finish(draft, turn_id, End::Failed(FailedBy::Validate), Some(note), true);
    }
    match kind {
        ResultKind::LookUnchanged | ResultKind::LookChanged => settle::settle_or_hold(draft, turn_id, false),
        ResultKind::UserActionRequired => {
            let asked = question.as_ref().map_or_else(|| summary.clone(), |text| shorten(text.as_str()));
            end::finish(draft, turn_id, End::Stopped(Stopped::UserAction), summary, false)?;
            gate::ask_person(draft, &todo.todo_id, asked)
        }
        ResultKind::Wait => {
            end::finish(draft, turn_id, End::Stopped(Stopped::Wait), summary, false)?;
            let soon = Wake::After(draft.now().plus(Duration::from_mins(15)));
            let wake = wake.cloned().unwrap_or(soon);
            todo::check_wake(draft, Some(&todo.todo_id), &wake)?;
            draft.emit(todo::Event::Deferred { todo_id: todo.todo_id, wake })
        }
        ResultKind::ValidatedCompletion if todo.covering.is_some() => {
            settle::settle_or_hold(draft, turn_id, false)
        }
        ResultKind::ValidatedCompletion
        | ResultKind::ValidatedProgress
        | ResultKind::RepairRequired
        | ResultKind::ReplanRequired => Ok(()),
    }
}

/// Counts what the executor measured.
fn measured(draft: &mut Draft<'_>, turn_id: TurnId, usage: &[Usage]) -> Result<()> {
    for report in usage {
        let turn = named(draft, turn_id)?.clone();
        let attempt = turn.attempts.last().map_or(1, |attempt| attempt.number);
        quota::measured(draft, &turn, attempt, Meter::Host, report)?;
    }
    Ok(())
}

/// What a result is about its Todo: on a monitor, a look. It has to fit.
fn kind_of(candidate: &Candidate, turn: &Turn, todo: &Todo) -> Result<ResultKind> {
    let is_monitor = todo.kind == TodoKind::Monitor;
    // An attached agent chose the wrong verb; a host's result is wrong in itself, and costs it the result.
    let misfit = if turn.is_driven() { Code::InvalidArgument } else { Code::InvalidTransition };
    match (candidate.kind, is_monitor) {
        (ResultKind::Wait, true) => Ok(ResultKind::LookUnchanged),
        (ResultKind::ValidatedProgress, true) => Ok(ResultKind::LookChanged),
        (ResultKind::ValidatedCompletion, true) => {
            Err(Error::new(misfit, format!("the monitor {} is ended by a look", todo.todo_id))
                .hint(format!("todo look {} --unchanged", todo.todo_id)))
        }
        (ResultKind::LookUnchanged | ResultKind::LookChanged, false) => {
            Err(Error::new(misfit, format!("the Todo {} is not a monitor", todo.todo_id))
                .hint(format!("todo done {}", todo.todo_id)))
        }
        (kind, _) => Ok(kind),
    }
}

/// The first part of a text, as a question of at most 512 bytes.
fn shorten(text: &str) -> Option<ShortText> {
    let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= 512).last()?;
    text.get(..end).and_then(|head| head.parse().ok())
}
