//! Owns what holds a validated result: a set of causes, derived anew at each read.

use std::collections::BTreeSet;

use super::{
    end::{executes, ownership},
    turn_reads,
};
use crate::{
    error::{Code, Error, Result},
    kernel::{Facts, Read, Wanted, asks, quota, seeded},
    model::{Cause, GateState, ResultKind, Turn, TurnId, TurnKind, TurnState, Unresolved, VerdictOutcome},
};

/// What an edge must read to see a Turn whole: its rows, what blocks it, and the budget of its agent.
pub fn around(turn_id: TurnId, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    turn_reads(turn_id, &mut wanted);
    if let Some(turn) = wanted.rows().turns.get(&turn_id) {
        let (goal, agent) = (&turn.goal_id, &turn.agent_id);
        asks::want_held(turn, &mut wanted);
        wanted.want(Read::Agent(goal.clone(), agent.clone()));
        if let Some(todo_id) = turn.todo_id() {
            wanted.want(Read::Text(todo_id.clone()));
        }
        quota::reads(goal, agent, &mut wanted);
    }
    wanted.missing
}

/// Asks for what [`causes`] looks at beside the Turn.
pub(in crate::kernel) fn want_causes(turn: &Turn, wanted: &mut Wanted<'_>) {
    wanted.want(Read::Goal(turn.goal_id.clone()));
    wanted.want_agent_turns(&turn.goal_id, &turn.agent_id);
    if let Some(gate_id) = turn.acceptance_gate {
        wanted.want(Read::Gate(gate_id));
    }
    let Some(todo_id) = turn.todo_id() else { return };
    wanted.want(Read::TodoGates(todo_id.clone()));
    if !wanted.rows().todos.contains_key(todo_id) {
        wanted.want(Read::Todo(todo_id.clone()));
    }
}

/// Asks for what may be at work in the tree that moved under a Turn.
pub(in crate::kernel) fn want_tree(turn: &Turn, wanted: &mut Wanted<'_>) {
    if !matches!(turn.state, TurnState::Held { tree_busy: true }) {
        return;
    }
    wanted.want(Read::LiveTurns(turn.goal_id.clone()));
    if let Some(workspace) = &turn.workspace {
        wanted.want(Read::Writers(workspace.tree()));
    }
}

/// What keeps a Turn where it is: its candidate from being settled, or an unresolved one from its candidate; empty when
/// nothing does.
pub fn causes(facts: &Facts, turn: &Turn) -> Result<BTreeSet<Cause>> {
    let (mut causes, returns) = match turn.state {
        TurnState::Held { .. } => {
            let causes = of_result(facts, turn)?;
            // What only waits is settled by a proof; a moved requirement or tree is validated again, as is the rest where
            // a proof finds another tree.
            let again = causes.contains(&Cause::Requirement) || causes.contains(&Cause::TreeBusy);
            let returns = again || causes.is_empty();
            (causes, returns)
        }
        TurnState::Unresolved { why: Unresolved::Lost | Unresolved::Inconclusive, .. } => {
            (BTreeSet::new(), true)
        }
        TurnState::Unresolved { why: Unresolved::Incarnation, .. } => (BTreeSet::new(), false),
        TurnState::Admitted
        | TurnState::Dispatched
        | TurnState::Candidate
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => (of_result(facts, turn)?, false),
    };
    if returns && busy_with(facts, turn)?.is_some() {
        causes.insert(Cause::AgentBusy);
    }
    Ok(causes)
}

/// Whether nothing but a tree or an agent that may be free by now holds a Turn, so that a proof may lead it on.
pub fn is_provable(causes: &BTreeSet<Cause>) -> bool {
    causes.iter().all(|cause| matches!(cause, Cause::TreeBusy | Cause::AgentBusy))
}

/// Whether a person has accepted the result of a Turn that no validator could prove.
pub fn is_approved(facts: &Facts, turn: &Turn) -> bool {
    let gate = turn.acceptance_gate.and_then(|gate_id| facts.rows().gates.get(&gate_id));
    gate.is_some_and(|gate| matches!(gate.state, GateState::Approved { .. }))
}

/// What keeps the result of a Turn from being true.
fn of_result(facts: &Facts, turn: &Turn) -> Result<BTreeSet<Cause>> {
    let mut causes = BTreeSet::new();
    if matches!(turn.state, TurnState::Held { tree_busy: true }) {
        causes.insert(Cause::TreeBusy);
    }
    let Some(todo_id) = turn.todo_id() else { return Ok(causes) };
    let todo = facts.todo(todo_id)?.ok_or_else(|| Error::from(Code::Internal))?;
    let goal = facts.goal(&turn.goal_id)?.ok_or_else(|| Error::from(Code::Internal))?;
    let candidate = turn.candidate.as_ref();
    let moved =
        candidate.is_some_and(|candidate| candidate.requirement_revision != todo.requirement_revision);
    if moved && !seeded!(SettlesPastRequirements) {
        causes.insert(Cause::Requirement);
    }
    let gated = goal.goal_gates > 0 || !facts.todo_gates(todo_id)?.is_empty();
    if gated && !seeded!(SettlesPastGates) {
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
    if !todo.blocking_effects.is_empty() && completes(turn) && !seeded!(SettlesPastEffects) {
        causes.insert(Cause::Effect);
    }
    let asked = todo.covering.as_ref().is_some_and(|covering| !covering.proposed.is_empty());
    if asked && !seeded!(SettlesPastProposals) {
        causes.insert(Cause::Proposal);
    }
    Ok(causes)
}

/// Whether the result of a Turn, as far as it is validated, makes its Todo done; progress does not.
pub(super) fn completes(turn: &Turn) -> bool {
    let is_progress =
        turn.verdict.as_ref().is_some_and(|verdict| verdict.outcome == VerdictOutcome::Progress);
    let kind = turn.candidate.as_ref().map(|candidate| candidate.kind);
    kind == Some(ResultKind::ValidatedCompletion) && !is_progress
}

/// Refuses a move after which an agent would execute two pieces of work.
///
/// Errors: `executor_active`, with the other Turn and until when it keeps others out.
pub(in crate::kernel) fn check_agent_free(facts: &Facts, turn: &Turn) -> Result<()> {
    let Some(other) = busy_with(facts, turn)? else { return Ok(()) };
    let (id, agent) = (other.turn_id, &turn.agent_id);
    let message = format!("the agent {agent} executes the Turn {id}, so {} has to wait", turn.turn_id);
    let error = Error::new(Code::ExecutorActive, message)
        .detail("turn_id", id.to_string())
        .detail("causes", serde_json::json!([Cause::AgentBusy]))
        .hint(format!("turn show {id}"));
    let until = ownership(facts, other)?.filter(|own| !own.frozen).map(|own| own.expires_at);
    Err(match until.or_else(|| super::may_live_until(other)) {
        Some(until) => error.detail("until_ms", until.as_ms()),
        None => error,
    })
}

/// The other Turn whose end a Turn waits for, by what holds it: of its agent, or in its work tree.
pub fn waits_for<'f>(facts: &'f Facts, turn: &Turn, causes: &BTreeSet<Cause>) -> Result<Option<&'f Turn>> {
    let agents = if causes.contains(&Cause::AgentBusy) { busy_with(facts, turn)? } else { None };
    if agents.is_none() && causes.contains(&Cause::TreeBusy) { writes_with(facts, turn) } else { Ok(agents) }
}

/// Another Turn that executes in the same work tree, of whatever Goal; of this one also a Turn whose ownership has ended
/// while its executor may live.
pub(super) fn writes_with<'f>(facts: &'f Facts, turn: &Turn) -> Result<Option<&'f Turn>> {
    let mut others = facts.live_turns(&turn.goal_id)?;
    if let Some(workspace) = &turn.workspace {
        others.extend(facts.turns_in(workspace)?);
    }
    for other in others {
        let same = turn.shares_tree(other) && other.turn_id != turn.turn_id;
        if same && executes(facts, other)? {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

/// The other work that the agent of a Turn executes, so that this one cannot go back to its candidate.
pub(super) fn busy_with<'f>(facts: &'f Facts, turn: &Turn) -> Result<Option<&'f Turn>> {
    for other in facts.agent_turns(&turn.goal_id, &turn.agent_id)? {
        let work = matches!(other.kind, TurnKind::Work { .. });
        if other.turn_id != turn.turn_id && work && executes(facts, other)? {
            return Ok(Some(other));
        }
    }
    Ok(None)
}
