//! Owns completion by a person, the resolution of blockers, and what a continuation may name.

use super::{Event, named, no_move, settle_wake};
use crate::{
    error::{Code, Error, Result},
    kernel::{Draft, Read, Wanted, evidence, gap, gate, goal, replan, turn},
    model::{Completion, Continuation, EvidenceId, ShortText, Todo, TodoId, TodoKind, TodoState},
};

pub(super) fn reads(todo_id: &TodoId, continuation: &Continuation, wanted: &mut Wanted<'_>) {
    wanted.want(Read::Todo(todo_id.clone()));
    replan::want(todo_id, wanted);
    turn::asked_reads(|turn| turn.todo_id() == Some(todo_id), wanted);
    continuation_reads(continuation, wanted);
    let reviews = wanted.rows().todos.get(todo_id).and_then(|todo| todo.reviews.clone());
    if let Some(reviewed) = reviews {
        wanted.want(Read::Todo(reviewed.clone()));
        wanted.want(Read::TodoGates(reviewed));
    }
}

/// Asks for the Todos a continuation names.
pub(in crate::kernel) fn continuation_reads(continuation: &Continuation, wanted: &mut Wanted<'_>) {
    match continuation {
        Continuation::ActiveGoal | Continuation::NoFollowup => {}
        Continuation::Successor { todo_ids } => {
            for id in todo_ids {
                wanted.want(Read::Todo(id.clone()));
            }
        }
        Continuation::Awaits { monitor } => wanted.want(Read::Todo(monitor.clone())),
    }
}

/// A successor is a live Todo of the Goal, and not the one that ends; what is awaited is a monitor that is looked at.
pub(in crate::kernel) fn check_continuation(
    draft: &Draft<'_>,
    todo_id: &TodoId,
    continuation: &Continuation,
) -> Result<()> {
    let todo_ids = match continuation {
        Continuation::ActiveGoal | Continuation::NoFollowup => return Ok(()),
        Continuation::Awaits { monitor } => {
            return gap::check_awaits(draft.facts(), todo_id, named(draft, monitor)?);
        }
        Continuation::Successor { todo_ids } => todo_ids,
    };
    if todo_ids.is_empty() || todo_ids.len() > 32 {
        return Err(Error::new(Code::InvalidArgument, "a completion names 1 to 32 successors"));
    }
    for id in todo_ids {
        let successor = named(draft, id)?;
        if id == todo_id || !successor.is_live() {
            return Err(Error::new(Code::InvalidArgument, format!("the Todo {id} cannot succeed {todo_id}"))
                .detail("todo_id", id.to_string()));
        }
    }
    Ok(())
}

/// A person did it: without ownership, over no live Turn, and over validators only with a waiver.
pub(in crate::kernel) fn complete(
    draft: &mut Draft<'_>,
    todo_id: &TodoId,
    continuation: &Continuation,
    waive: Option<&ShortText>,
) -> Result<()> {
    settle_wake(draft, todo_id)?;
    let todo = named(draft, todo_id)?.clone();
    match todo.state {
        TodoState::Open => {}
        TodoState::Deferred { .. }
        | TodoState::Blocked { .. }
        | TodoState::Done { .. }
        | TodoState::Cancelled { .. } => {
            return Err(no_move(&todo, "complete"));
        }
    }
    match todo.kind {
        TodoKind::Blocker => {
            return Err(Error::new(
                Code::InvalidTransition,
                format!("the Todo {todo_id} is a blocker; it is resolved"),
            )
            .hint(format!("todo resolve {todo_id}")));
        }
        TodoKind::Advance | TodoKind::Monitor | TodoKind::Replan | TodoKind::Action => {}
    }
    turn::make_way(draft, todo.turn_id)?;
    // A person's own kind of work has no validator to run.
    if todo.kind != TodoKind::Action && waive.is_none() && goal::has_validators(draft.facts(), &todo)? {
        return Err(Error::new(
            Code::ValidationFailed,
            format!("the Todo {todo_id} has validators that did not run; waive them with a reason"),
        )
        .detail("todo_id", todo_id.to_string())
        .hint(format!("todo done {todo_id} --waive REASON")));
    }
    check_continuation(draft, todo_id, continuation)?;
    let completion = Completion {
        at: draft.now(),
        by: draft.actor().clone(),
        turn_id: None,
        continuation: continuation.clone(),
        waived: waive.cloned(),
        evidence: Vec::new(),
    };
    finish(draft, &todo, completion, true)
}

/// Completes a Todo. A review whose completion is accepted, by a person or by validators, approves the acceptance
/// gate of what it reviewed.
pub(in crate::kernel) fn finish(
    draft: &mut Draft<'_>,
    todo: &Todo,
    completion: Completion,
    accepted: bool,
) -> Result<()> {
    let by = completion.by.clone();
    draft.emit(Event::Completed { todo_id: todo.todo_id.clone(), completion })?;
    match todo.reviews.as_ref().filter(|_| accepted) {
        Some(reviewed) => gate::approve_acceptance(draft, reviewed, &by),
        None => Ok(()),
    }
}

/// A blocker is gone; an agent shows it with evidence of the Goal.
pub(super) fn resolve(draft: &mut Draft<'_>, todo_id: &TodoId, evidence_ids: &[EvidenceId]) -> Result<()> {
    let todo = named(draft, todo_id)?.clone();
    if todo.kind != TodoKind::Blocker {
        return Err(Error::new(Code::InvalidTransition, format!("the Todo {todo_id} is not a blocker"))
            .hint(format!("todo show {todo_id}")));
    }
    settle_wake(draft, todo_id)?;
    if !todo.is_live() {
        return Err(no_move(&todo, "be resolved"));
    }
    if draft.actor().agent().is_some() && evidence_ids.is_empty() {
        return Err(Error::new(Code::InvalidArgument, format!("an agent resolves {todo_id} with evidence"))
            .hint(format!("evidence add POINTER --kind check --todo {todo_id}")));
    }
    evidence::check(draft, evidence_ids)?;
    let completion = Completion {
        at: draft.now(),
        by: draft.actor().clone(),
        turn_id: None,
        continuation: Continuation::ActiveGoal,
        waived: None,
        evidence: evidence_ids.to_vec(),
    };
    draft.emit(Event::Completed { todo_id: todo_id.clone(), completion })
}
