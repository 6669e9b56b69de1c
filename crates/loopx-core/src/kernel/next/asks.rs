//! Owns what a decision asks of a person, each with the command that frees it.
//!
//! Knows nothing of the order of the rules; which of them asks stands with them.

use std::collections::BTreeSet;

use super::{ASKS_MAX, Ask, Asker, Reasons};
use crate::{
    error::{Code, Result},
    kernel::{Facts, Read, Reason, UserWhy, goal, reason, turn},
    model::{Blocks, Cause, Gate, GateState, GoalId, Label, Todo, TodoState, Turn, TurnId},
};

pub(super) fn goal_gate_asks(facts: &Facts, goal_id: &GoalId) -> Vec<Ask> {
    let blocks = |gate: &&Gate| {
        gate.goal_id == *goal_id && gate.blocks == Blocks::Goal && gate.is_blocking()
    };
    facts.rows().gates.values().filter(blocks).map(gate_ask).collect()
}

fn gate_ask(gate: &Gate) -> Ask {
    let id = gate.gate_id;
    let denied = matches!(gate.state, GateState::Denied { .. });
    let answer = gate.options.first().map_or("TEXT", Label::as_str);
    let command = match (denied, gate.kind.is_approval()) {
        (true, _) => format!("gate withdraw {id}"),
        (false, true) => format!("gate resolve {id} --approve"),
        (false, false) => format!("gate resolve {id} --answer '{answer}'"),
    };
    ask("gate", &id, command)
}

/// Rule 9: what a person has to do, each with the command that frees it.
pub(super) fn asks(facts: &Facts, asker: &Asker<'_>, reasons: &Reasons<'_>) -> Result<Vec<Ask>> {
    let mut asks: Vec<Ask> = Vec::new();
    for (todo, reason) in reasons {
        let id = &todo.todo_id;
        let lacks = !todo.requires.capabilities.is_subset(&asker.viewer.capabilities);
        match reason {
            // The author of what a Todo reviews waits for its own result, which is asked about there; later another
            // agent reviews it, or a person does.
            Reason::User(UserWhy::Excluded) if !todo.excluded_agents.contains(asker.viewer.agent_id) => {
                if todo.turn_id.is_none() && !reason::works_on_reviewed(facts, todo, &asker.viewer)? {
                    let waive = if goal::has_validators(facts, todo)? { " --waive REASON" } else { "" };
                    asks.push(ask("user", id, format!("todo done {id}{waive}")));
                }
            }
            Reason::User(why) => asks.push(ask("user", id, user_command(facts, *why, todo))),
            Reason::Unresolved(turn_id) => asks.push(abandon_ask(*turn_id)),
            Reason::Held(turn_id, _) => match facts.turn(turn_id)?.filter(|turn| turn.goal_id == *id.goal()) {
                Some(turn) => asks.extend(held_asks(facts, turn)?),
                // What another Goal holds is shown there.
                None => asks.push(ask(Code::Held.as_str(), turn_id, format!("turn show {turn_id}"))),
            },
            Reason::Gate if facts.has(&Read::TodoGates(id.clone())) => {
                asks.extend(facts.todo_gates(id)?.into_iter().map(gate_ask));
            }
            Reason::Gate => asks.push(ask("gate", id, format!("gate list --todo {id}"))),
            Reason::Capability => asks.push(capability_ask(asker, todo, lacks)),
            Reason::Approval(_) if lacks => asks.push(capability_ask(asker, todo, lacks)),
            Reason::Approval(_) => asks.push(ask("gate", id, format!("todo claim {id}"))),
            Reason::Time(_) | Reason::Mine(_) | Reason::Peer { .. } | Reason::Deps | Reason::Claimable => {}
        }
        if asks.len() >= ASKS_MAX {
            break;
        }
    }
    asks.truncate(ASKS_MAX);
    Ok(asks)
}

fn ask(why: &'static str, about: &impl ToString, command: String) -> Ask {
    Ask { why, about: about.to_string(), command }
}

pub(super) fn abandon_ask(turn_id: TurnId) -> Ask {
    ask("unresolved", &turn_id, format!("turn abandon {turn_id} --reason TEXT"))
}

/// What frees an agent that cannot take a Todo as it is.
fn capability_ask(asker: &Asker<'_>, todo: &Todo, lacks: bool) -> Ask {
    let id = &todo.todo_id;
    if !lacks {
        return ask("capability", id, format!("todo claim {id} --workspace ."));
    }
    let all: BTreeSet<_> = asker.viewer.capabilities.union(&todo.requires.capabilities).collect();
    let flags: Vec<_> = all.iter().map(|key| format!("--capability '{key}'")).collect();
    let (agent, goal) = (asker.viewer.agent_id, id.goal());
    ask("capability", id, format!("agent add {agent} {} --goal {goal}", flags.join(" ")))
}

/// What frees a held Turn, cause by cause; nothing left means that a proof settles it.
pub(super) fn held_asks(facts: &Facts, turn: &Turn) -> Result<Vec<Ask>> {
    let id = turn.turn_id;
    let held = |command: String| ask(Code::Held.as_str(), &id, command);
    let causes = turn::causes(facts, turn)?;
    if turn::is_provable(&causes) {
        return Ok(vec![held(format!("turn recover {id} --prove"))]);
    }
    let mut asks = Vec::new();
    for cause in causes {
        match (cause, turn.todo_id()) {
            (Cause::Requirement, _) => asks.push(held(format!("turn accept {id}"))),
            (Cause::Gate, Some(todo_id)) => asks.extend(facts.todo_gates(todo_id)?.into_iter().map(gate_ask)),
            (Cause::Acceptance, _) => asks.extend(turn.acceptance_gate.map(|gate_id| {
                ask(Code::Held.as_str(), &gate_id, format!("gate resolve {gate_id} --approve"))
            })),
            (Cause::Hold, Some(todo_id)) => asks.push(held(format!("todo unhold {todo_id}"))),
            (Cause::Deps, Some(todo_id)) => {
                let gone = facts.cancelled_dep(todo_id);
                asks.extend(gone.map(|dep| held(format!("todo unlink {todo_id} --depends-on {dep}"))));
            }
            // What time ends is left to a proof, once nothing else is in the way.
            (Cause::TreeBusy | Cause::AgentBusy, _) => {}
            (Cause::Gate | Cause::Hold | Cause::Deps, None) => {}
        }
    }
    Ok(asks)
}

fn user_command(facts: &Facts, why: UserWhy, todo: &Todo) -> String {
    let id = &todo.todo_id;
    match why {
        UserWhy::Ended => format!("todo reopen {id}"),
        UserWhy::Blocked | UserWhy::WakeLost => format!("todo unblock {id}"),
        UserWhy::Hold => format!("todo unhold {id}"),
        // What is put off cannot be done yet; a person may still want it now.
        UserWhy::Action => match &todo.state {
            TodoState::Deferred { wake } if !facts.is_awake(wake, todo) => format!("todo unblock {id}"),
            TodoState::Deferred { .. }
            | TodoState::Open
            | TodoState::Blocked { .. }
            | TodoState::Done { .. }
            | TodoState::Cancelled { .. } => format!("todo done {id}"),
        },
        UserWhy::Blocker => format!("todo resolve {id}"),
        UserWhy::Excluded => format!("todo update {id} --clear exclude"),
        UserWhy::DependencyCancelled => match facts.cancelled_dep(id) {
            Some(dep) => format!("todo unlink {id} --depends-on {dep}"),
            None => format!("todo show {id}"),
        },
    }
}

/// Rule 10: whether the Goal can be closed, or what a close would still meet.
pub(super) fn close_asks(facts: &Facts, goal_id: &GoalId) -> Result<Vec<Ask>> {
    let Some(error) = goal::close_refusal(facts, goal_id)? else {
        return Ok(vec![ask("ready_to_close", goal_id, format!("goal close {goal_id} --achieved"))]);
    };
    if error.code() == Code::GateBlocked {
        let gates = facts.rows().gates.values().filter(|gate| gate.goal_id == *goal_id && gate.is_blocking());
        let asks: Vec<_> = gates.take(ASKS_MAX).map(gate_ask).collect();
        if !asks.is_empty() {
            return Ok(asks);
        }
    }
    let command = error.hint_args().map_or_else(|| format!("goal show {goal_id}"), str::to_owned);
    Ok(vec![ask("acceptance_gap", goal_id, command)])
}
