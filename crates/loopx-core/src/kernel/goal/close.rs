//! Owns when a Goal may be closed, and what closing ends.

use super::{Concluded, Draft, Event, current, done, no_criterion};
use crate::{
    error::{Code, Error, Result},
    kernel::{Facts, Read, effect, replan, turn},
    model::{CloseKind, ShortText, Stopped, Todo, TodoKind, TurnKind, TurnState},
};

/// Closes a Goal, or says what is in the way.
pub(super) fn close(
    draft: &mut Draft<'_>,
    kind: CloseKind,
    reason: Option<&ShortText>,
    waive: &[(u8, ShortText)],
) -> Result<Concluded> {
    self::waive(draft, waive)?;
    match kind {
        CloseKind::Achieved => {
            // What is let go closes the gap that somebody was to fill.
            replan::sweep(draft)?;
            achieved(draft)?;
        }
        CloseKind::Abandoned => abandoned(draft, reason)?,
    }
    draft.emit(Event::Closed { kind, reason: reason.cloned() })?;
    Ok(done())
}

/// Lets criteria go that nothing shows, each with a reason.
pub(super) fn waive(draft: &mut Draft<'_>, waive: &[(u8, ShortText)]) -> Result<()> {
    let criteria = current(draft)?.acceptance.len();
    for (criterion, reason) in waive {
        if *criterion == 0 || usize::from(*criterion) > criteria {
            return Err(no_criterion(*criterion, criteria));
        }
        draft.emit(Event::CriterionWaived { criterion: *criterion, reason: reason.clone() })?;
    }
    Ok(())
}

/// What refuses an achieved end now, first failure first; none when it would be accepted.
pub(in crate::kernel) fn refusal(facts: &Facts, goal_id: &crate::model::GoalId) -> Result<Option<Error>> {
    facts.asked(&Read::Unfinished(goal_id.clone()))?;
    facts.asked(&Read::Gated(goal_id.clone()))?;
    let Some(goal) = facts.goal(goal_id)? else { return Ok(Some(Error::from(Code::NotFound))) };
    let counts = |todo: &&Todo| {
        todo.todo_id.goal() == goal_id
            && todo.is_live()
            && matches!(todo.kind, TodoKind::Advance | TodoKind::Blocker | TodoKind::Replan)
    };
    // An open Todo names its owner's Turn first: that is what has to end before anything else can.
    if let Some(turn) = facts.live_turns(goal_id)?.first() {
        return Ok(Some(match turn.state {
            TurnState::Held { .. } => Error::new(Code::Held, format!("the Turn {} is held", turn.turn_id))
                .detail("turn_id", turn.turn_id.to_string())
                .hint(format!("turn show {}", turn.turn_id)),
            TurnState::Admitted
            | TurnState::Dispatched
            | TurnState::Candidate
            | TurnState::Unresolved { .. }
            | TurnState::Settled
            | TurnState::Stopped { .. }
            | TurnState::Failed { .. }
            | TurnState::Fenced => turn::in_the_way(facts, turn.turn_id)?,
        }));
    }
    if let Some(todo) = facts.rows().todos.values().find(counts) {
        let id = &todo.todo_id;
        return Ok(Some(
            Error::new(Code::InvalidTransition, format!("the Todo {id} is {}", todo.state.as_str()))
                .detail("todo_id", id.to_string())
                .hint(format!("todo show {id}")),
        ));
    }
    let gated =
        |todo: &&Todo| todo.todo_id.goal() == goal_id && todo.is_live() && todo.counters.blocking_gates > 0;
    if goal.goal_gates > 0 || facts.rows().todos.values().any(|todo| gated(&todo)) {
        return Ok(Some(
            Error::new(Code::GateBlocked, format!("a gate of the Goal {goal_id} waits for a person"))
                .hint(format!("gate list --goal {goal_id}")),
        ));
    }
    if let Some((number, _)) = goal.open_criterion() {
        let message = format!("criterion {number} of {goal_id} has neither accepted evidence nor a waiver");
        return Ok(Some(
            Error::new(Code::NotReady, message)
                .detail("criterion", number)
                .hint(format!("evidence add POINTER --kind note --criterion {number} --goal {goal_id}")),
        ));
    }
    // Last: what lets a written-off effect go is the close itself, which all else would refuse.
    effect::close_refusal(facts, goal_id)
}

fn achieved(draft: &Draft<'_>) -> Result<()> {
    refusal(draft.facts(), draft.goal_id())?.map_or(Ok(()), Err)
}

fn abandoned(draft: &mut Draft<'_>, reason: Option<&ShortText>) -> Result<()> {
    let goal_id = draft.goal_id().clone();
    if reason.is_none() {
        return Err(Error::new(Code::InvalidArgument, "abandoning a Goal needs a reason")
            .hint(format!("goal close {goal_id} --abandoned --reason TEXT")));
    }
    let facts = draft.facts();
    let live = facts.live_turns(&goal_id)?;
    for turn in &live {
        if matches!(turn.kind, TurnKind::Work { .. }) && turn.is_driven() && turn::executes(facts, turn)? {
            return Err(turn::running(turn));
        }
    }
    let live: Vec<_> = live.iter().map(|turn| turn.turn_id).collect();
    for turn_id in live {
        turn::stop(draft, turn_id, Stopped::GoalClosed)?;
    }
    Ok(())
}
