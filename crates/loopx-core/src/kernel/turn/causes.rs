//! Owns what holds a validated result: a set of causes, derived anew at each read.

use std::collections::BTreeSet;

use super::{end::executes, turn_reads};
use crate::{
    error::{Code, Error, Result},
    kernel::{Facts, Read, Wanted, quota},
    model::{Cause, Turn, TurnId, TurnKind, TurnState},
};

/// What an edge must read to see a Turn whole: its rows, what blocks it, and the budget of its agent.
pub fn around(turn_id: TurnId, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    turn_reads(turn_id, &mut wanted);
    if let Some(turn) = wanted.rows().turns.get(&turn_id) {
        let (goal, agent) = (turn.goal_id.clone(), turn.agent_id.clone());
        let (gate, todo) = (turn.acceptance_gate, turn.todo_id().cloned());
        wanted.want(Read::Goal(goal.clone()));
        wanted.want(Read::Agent(goal.clone(), agent.clone()));
        wanted.want(Read::GoalGates(goal.clone()));
        if let Some(gate_id) = gate {
            wanted.want(Read::Gate(gate_id));
        }
        if let Some(todo_id) = todo {
            wanted.want(Read::Text(todo_id));
        }
        quota::reads(&goal, &agent, &mut wanted);
    }
    wanted.missing
}

/// What keeps the candidate of a Turn from being settled now; empty when nothing does.
pub fn causes(facts: &Facts, turn: &Turn) -> Result<BTreeSet<Cause>> {
    let mut causes = BTreeSet::new();
    if matches!(turn.state, TurnState::Held { tree_busy: true }) {
        causes.insert(Cause::TreeBusy);
    }
    let Some(todo_id) = turn.todo_id() else { return Ok(causes) };
    let todo = facts.todo(todo_id)?.ok_or_else(|| Error::from(Code::Internal))?;
    let goal = facts.goal(&turn.goal_id)?.ok_or_else(|| Error::from(Code::Internal))?;
    let candidate = turn.candidate.as_ref();
    if candidate.is_some_and(|candidate| candidate.requirement_revision != todo.requirement_revision) {
        causes.insert(Cause::Requirement);
    }
    if goal.goal_gates > 0 || !facts.todo_gates(todo_id)?.is_empty() {
        causes.insert(Cause::Gate);
    }
    // Approved, the gate no longer blocks; denied, it ended this Turn in the same commit.
    let asked = turn.acceptance_gate.and_then(|gate_id| facts.rows().gates.get(&gate_id));
    if asked.is_some_and(crate::model::Gate::is_blocking) {
        causes.insert(Cause::Acceptance);
    }
    if todo.hold {
        causes.insert(Cause::Hold);
    }
    if todo.counters.unmet > 0 {
        causes.insert(Cause::Deps);
    }
    Ok(causes)
}

/// Refuses a move after which an agent would execute two pieces of work.
///
/// Errors: `executor_active`.
pub(in crate::kernel) fn check_agent_free(facts: &Facts, turn: &Turn) -> Result<()> {
    if !agent_busy(facts, turn)? {
        return Ok(());
    }
    let turn_id = turn.turn_id;
    Err(Error::new(Code::ExecutorActive, format!("the agent of the Turn {turn_id} executes another"))
        .hint(format!("turn show {turn_id}")))
}

/// Whether the agent of a held Turn executes other work, so that this one cannot go back to its candidate.
pub(super) fn agent_busy(facts: &Facts, turn: &Turn) -> Result<bool> {
    for other in facts.agent_turns(&turn.goal_id, &turn.agent_id)? {
        let work = matches!(other.kind, TurnKind::Work { .. });
        if other.turn_id != turn.turn_id && work && executes(facts, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}
