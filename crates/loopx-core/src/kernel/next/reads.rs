//! Owns what a decision reads, in the two rounds that any read has.
//!
//! Knows no rule.

use std::collections::BTreeSet;

use super::Asker;
use crate::{
    kernel::{ASKS_MAX, Depth, Facts, Read, Wanted, effect, gap, quota, reason, turn},
    model::{AgentId, GoalId, Todo, Workspace},
};

/// What a decision must read that is not loaded yet, at one depth.
pub fn next_reads(goal: &GoalId, asker: &Asker<'_>, depth: Depth, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    reads(goal, asker.viewer.agent_id, asker.viewer.workspace, depth, &mut wanted);
    wanted.missing
}

/// Asks for what a decision looks at; see [`next_reads`].
pub(in crate::kernel) fn reads(
    goal: &GoalId,
    agent: &AgentId,
    workspace: Option<&Workspace>,
    depth: Depth,
    wanted: &mut Wanted<'_>,
) {
    wanted.want(Read::Goal(goal.clone()));
    wanted.want(Read::Agent(goal.clone(), agent.clone()));
    wanted.want(Read::LiveTurns(goal.clone()));
    wanted.want(Read::Ready(goal.clone(), agent.clone(), depth));
    if depth == Depth::Whole {
        wanted.want(Read::Live(goal.clone()));
        gap::offer_reads(goal, agent, workspace, wanted);
        wanted.want(Read::Gated(goal.clone()));
    }
    wanted.want(Read::GoalGates(goal.clone()));
    effect::want_open(goal, wanted);
    quota::reads(goal, agent, wanted);
    let live = |todo: &&Todo| todo.todo_id.goal() == goal && todo.is_live();
    for todo in wanted.rows().todos.values().filter(live) {
        reason::reads(todo, agent, workspace, wanted);
        if todo.counters.blocking_gates > 0 {
            wanted.want(Read::TodoGates(todo.todo_id.clone()));
        }
    }
    let dropped = wanted.rows().todos.values().filter(live).filter(|todo| todo.counters.cancelled_deps > 0);
    for todo in dropped.take(ASKS_MAX) {
        wanted.want(Read::CancelledDeps(todo.todo_id.clone()));
    }
    turn::asked_reads(|turn| turn.goal_id == *goal, wanted);
    for turn in wanted.rows().turns.values().filter(|turn| turn.goal_id == *goal) {
        turn::want_tree(turn, wanted);
    }
}
