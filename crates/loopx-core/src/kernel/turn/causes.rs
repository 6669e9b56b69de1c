//! Owns what holds a validated result: a set of causes, derived anew at each read.

use std::collections::BTreeSet;

use super::end::executes;
use crate::{
    error::{Code, Error, Result},
    kernel::Facts,
    model::{Cause, Turn, TurnKind, TurnState},
};

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
