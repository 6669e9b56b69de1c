//! Owns the rules about the asker's own Turns: what it executes, and what of its can be looked into.
//!
//! Knows nothing of Todos that it could take.

use std::collections::BTreeSet;

use super::{Action, Asker, Seen, trace::Found};
use crate::{
    error::{Code, Result},
    kernel::{
        Facts, UnresolvedBy,
        asks::{effect_command, may_be_told, recover_command},
        effect, turn,
    },
    model::{GoalId, Timestamp, Turn, TurnKind, TurnState},
};

/// Why a Turn of the asker that executes somewhere else makes it wait.
const ELSEWHERE: &str = "turn_elsewhere";

/// Rule 2: a Turn of this agent executes already.
///
/// Invariant: the one that executes speaks first, as whatever ran out beside it does not go on before it has ended.
pub(super) fn executing(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Found> {
    let mut turns = facts.agent_turns(goal_id, asker.viewer.agent_id)?;
    let mut executes = BTreeSet::new();
    for turn in &turns {
        if turn::executes(facts, turn)? {
            executes.insert(turn.turn_id);
        }
    }
    turns.sort_by_key(|turn| !executes.contains(&turn.turn_id));
    for turn in &turns {
        if let Some(action) = at_work(facts, turn, asker)? {
            return Ok(Found::held(action, format!("{} is {}", turn.turn_id, turn.state.as_str())));
        }
    }
    Ok(Found::passed(match turns.len() {
        0 => "it has no Turn that has not ended".to_owned(),
        n => format!("none of its {n} that have not ended"),
    }))
}

/// What a Turn that has not ended makes its agent do, if it is at work.
fn at_work(facts: &Facts, turn: &Turn, asker: &Asker<'_>) -> Result<Option<Action>> {
    let TurnKind::Work { todo_id } = &turn.kind else { return Ok(None) };
    let executes = turn::executes(facts, turn)?;
    let expires_at = turn::ownership(facts, turn)?.map(|own| own.expires_at);
    // What has passed without an end is waited for no more; the ownership keeps others out longer.
    let deadline = turn.open_attempt().and_then(|attempt| attempt.deadline_at);
    let coming = |at: Option<Timestamp>| [at, expires_at].into_iter().flatten().find(|at| *at > facts.now());
    let wait = |why, until| Some(Action::Wait { why, until, turn_id: Some(turn.turn_id) });
    let run = || Some(Action::Run { todo_id: todo_id.clone(), turn_id: Some(turn.turn_id) });
    let is_here = turn.machine_id.as_ref() == asker.machine_id;
    // Only its own driver knows the token of a driven Turn.
    if (is_here || !turn.is_driven()) && is_presented(facts, turn, asker)? {
        return Ok(run());
    }
    if !turn.is_driven() {
        return Ok(if executes { wait(ELSEWHERE, expires_at) } else { None });
    }
    if !is_here {
        let until = coming(deadline.map(|at| at.plus(turn::GRACE)));
        return Ok(if executes { wait(ELSEWHERE, until) } else { None });
    }
    let held = matches!(turn.state, TurnState::Held { .. });
    Ok(match asker.seen.get(&turn.turn_id) {
        // What does not execute any more is rule 3's.
        Some(Seen::Gone) if !held && (executes || !is_unresolved(turn)) => Some(reconcile(turn)),
        Some(Seen::Alive) if !held => wait(Code::TurnRunning.as_str(), coming(deadline)),
        None if executes => wait(Code::TurnRunning.as_str(), coming(deadline)),
        Some(Seen::Gone | Seen::Alive) | None => None,
    })
}

/// Whether the asker holds the token of a Turn that is at work, run out or not.
fn is_presented(facts: &Facts, turn: &Turn, asker: &Asker<'_>) -> Result<bool> {
    let at_work = matches!(turn.state, TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate);
    let own = turn::ownership(facts, turn)?;
    let own = own.filter(|own| asker.viewer.own_id == Some(own.own_id) && own.endpoint == *asker.endpoint);
    Ok(at_work && own.is_some())
}

fn is_unresolved(turn: &Turn) -> bool {
    matches!(turn.state, TurnState::Unresolved { .. })
}

fn reconcile(turn: &Turn) -> Action {
    Action::Reconcile { of: UnresolvedBy::Turn(turn.turn_id), command: recover_command(turn.turn_id) }
}

/// Rule 3: an unresolved Turn of this agent that can be looked into from here, or an effect of its work that can be
/// read back, and was not yet.
pub(super) fn unresolved(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Found> {
    let mut turns = facts.agent_turns(goal_id, asker.viewer.agent_id)?;
    turns.retain(|turn| is_unresolved(turn));
    let told = turns.iter().find(|turn| may_be_told(turn, asker.machine_id, &asker.tried));
    if told.is_none()
        && let Some(effect) = effect::may_read_back(facts, goal_id, asker.viewer.agent_id)?
    {
        let (of, command) = (UnresolvedBy::Effect(effect.effect_id), effect_command(effect));
        let saw = format!("what the effect {} did was not read back", effect.effect_id);
        return Ok(Found::held(Action::Reconcile { of, command }, saw));
    }
    Ok(match told {
        Some(turn) => Found::held(reconcile(turn), format!("what {} did was not looked into", turn.turn_id)),
        None if turns.is_empty() => Found::passed("it left nothing unresolved"),
        None => Found::passed(format!("a look from here tells no more of its {} unresolved", turns.len())),
    })
}
