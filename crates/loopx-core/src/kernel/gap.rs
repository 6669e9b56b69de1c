//! Owns the gap in the criteria of a Goal: when nothing is left to do and acceptance is not met, so that its plan has to
//! change, and what closes such a gap.
//!
//! It is a condition: nothing keeps it, and it obliges again as often as it holds. A claim by its name writes it as a
//! replan that covers the Goal, and so no Todo.

use std::collections::BTreeSet;

use super::{Facts, Read, Viewer, Wanted, reason, replan};
use crate::{
    error::{Code, Error, Result},
    model::{AgentId, Continuation, Goal, GoalId, ReplanRef, Todo, TodoId, TodoKind, Workspace},
};

/// Asks for what shows whether other work is live.
pub(super) fn want(goal: &GoalId, wanted: &mut Wanted<'_>) {
    wanted.want(Read::Unfinished(goal.clone()));
}

/// Asks for what the obligation of a Goal, and its reason for an agent, look at.
pub(super) fn offer_reads(
    goal: &GoalId,
    agent: &AgentId,
    workspace: Option<&Workspace>,
    wanted: &mut Wanted<'_>,
) {
    want(goal, wanted);
    let Some(row) = wanted.rows().goals.get(goal) else { return };
    if let Some(by) = &row.covered_by {
        wanted.want(Read::Todo(by.clone()));
    }
    if let Ok(offered) = replan::offered(row, None, &name(row), wanted.facts.now()) {
        reason::reads(&offered, agent, workspace, wanted);
    }
}

/// What [`offered`], and the reason of what it offers, must read that is not loaded yet; asked at most twice.
pub fn gap_reads(goal: &GoalId, viewer: &Viewer<'_>, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    wanted.want(Read::Goal(goal.clone()));
    offer_reads(goal, viewer.agent_id, viewer.workspace, &mut wanted);
    wanted.missing
}

/// The Todo that the gap of a Goal becomes when it is claimed; none where there is no gap, or a claim has written it.
pub fn offered(facts: &Facts, goal_id: &GoalId) -> Result<Option<Todo>> {
    facts.asked(&Read::Unfinished(goal_id.clone()))?;
    let Some(goal) = facts.goal(goal_id)? else { return Ok(None) };
    if is_closed(facts, goal) || goal.covered_by.is_some() {
        return Ok(None);
    }
    replan::offered(goal, None, &name(goal), facts.now()).map(Some)
}

/// How the gap of a Goal is named: by the Todo that it becomes, so that no name comes again.
fn name(goal: &Goal) -> ReplanRef {
    ReplanRef::of_goal(&TodoId::new(goal.goal_id.clone(), goal.next_todo))
}

/// The name of a gap that no claim has written, of the Todo that it would become.
pub(super) fn derived<'t>(goal: &Goal, todo: &'t Todo) -> Option<&'t ReplanRef> {
    let of = todo.covering.as_ref().map(|covering| &covering.of)?;
    (of.covered().is_none() && goal.covered_by.as_ref() != Some(&todo.todo_id)).then_some(of)
}

/// Whether nothing is left that a replan of the whole Goal has to change: acceptance is met, a monitor is awaited, or other
/// work is live.
pub(super) fn is_closed(facts: &Facts, goal: &Goal) -> bool {
    let is_other = |todo: &Todo| {
        let counts = match todo.kind {
            TodoKind::Advance | TodoKind::Action | TodoKind::Blocker | TodoKind::Replan => true,
            TodoKind::Monitor => false,
        };
        counts && todo.is_live() && *todo.todo_id.goal() == goal.goal_id
    };
    let mut todos = facts.rows().todos.values();
    goal.open_criterion().is_none()
        || goal.awaited().is_some()
        || todos.any(|todo| is_other(todo) && goal.covered_by.as_ref() != Some(&todo.todo_id))
}

/// Whether a Goal can await what a monitor sees: agents look at it, and its plan has not to change first.
pub(super) fn can_be_awaited(facts: &Facts, todo: &Todo) -> bool {
    todo.kind == TodoKind::Monitor && todo.is_live() && replan::covered(facts, todo).is_none()
}

/// Refuses a continuation that awaits, unless a gap is closed by it.
pub(super) fn check_awaits(facts: &Facts, ends: &TodoId, monitor: &Todo) -> Result<()> {
    let covering = facts.todo(ends)?.and_then(|todo| todo.covering.as_ref());
    if covering.is_none_or(|covering| covering.covers().is_some()) {
        let message = format!("only a replan of a whole Goal awaits a monitor, and {ends} is none");
        return Err(Error::new(Code::InvalidArgument, message).hint(format!("todo show {ends}")));
    }
    if can_be_awaited(facts, monitor) {
        return Ok(());
    }
    let id = &monitor.todo_id;
    let what = if monitor.kind == TodoKind::Monitor { "no monitor that is looked at" } else { "no monitor" };
    Err(Error::new(Code::InvalidArgument, format!("the Todo {id} is {what}"))
        .detail("todo_id", id.to_string())
        .hint(format!("todo list --kind monitor --goal {}", id.goal())))
}

/// What follows a replan that settles now: a monitor is awaited only while it can be.
pub(super) fn follows(facts: &Facts, said: &Continuation) -> Result<Continuation> {
    if let Continuation::Awaits { monitor } = said
        && !facts.todo(monitor)?.is_some_and(|todo| can_be_awaited(facts, todo))
    {
        return Ok(Continuation::ActiveGoal);
    }
    Ok(said.clone())
}

/// Lets a Goal await what a monitor sees, on the terms that it has now.
pub(super) fn await_it(facts: &mut Facts, monitor: &TodoId) -> Result<()> {
    let goal = facts.goal_mut(monitor.goal())?;
    goal.awaits = Some(crate::model::Awaits { monitor: monitor.clone(), revision: goal.revision });
    Ok(())
}

/// What a monitor was awaited for has come, or comes no more.
pub(super) fn came(facts: &mut Facts, todo_id: &TodoId) -> Result<()> {
    let goal = facts.goal(todo_id.goal())?;
    if goal.and_then(|goal| goal.awaits.as_ref()).is_some_and(|awaits| awaits.monitor == *todo_id) {
        facts.goal_mut(todo_id.goal())?.awaits = None;
    }
    Ok(())
}
