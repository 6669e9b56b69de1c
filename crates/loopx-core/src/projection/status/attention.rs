//! Owns what needs somebody, most urgent first, each with the command that moves it.

use std::collections::BTreeSet;

use super::{Attention, Stuck, seen::Seen, waiting::Wait};
use crate::projection::words::plain;
use crate::kernel::answer_command;
use crate::error::Code;
use crate::model::{
    Blocks, Cause, Gate, GateState, GoalState, Todo, TodoKind, TodoState, Turn, TurnState,
};

/// The rows of one Goal: a jump of the clock, what is unresolved, what is held, what ran out, gates by age, what a person has to
/// move, work that is due.
pub(super) fn rows(seen: &Seen<'_>, wait: &Wait) -> Vec<Attention> {
    if matches!(seen.goal.state, GoalState::Closed { .. }) {
        return Vec::new();
    }
    let mut rows = Vec::new();
    rows.extend(clock(seen));
    let unresolved = |stuck: &&Stuck| stuck.turn.state == "unresolved";
    rows.extend(seen.stuck.iter().filter(unresolved).map(|stuck| unresolved_row(seen, stuck)));
    rows.extend(seen.live.iter().filter(|turn| seen.gone.contains(&turn.turn_id)).map(gone_row));
    rows.extend(seen.stuck.iter().filter(|stuck| !unresolved(stuck)).map(|stuck| held_row(seen, stuck)));
    rows.extend(lapsed(seen));
    if matches!(seen.goal.state, GoalState::Stopped) {
        let id = &seen.goal.goal_id;
        rows.push(row("goal", id, format!("{id} is stopped"), format!("goal resume {id}")));
    }
    let named = |gate: &&Gate| !seen.stuck.iter().any(|stuck| gate.accepts == Some(stuck.turn.turn_id));
    rows.extend(seen.gates.iter().filter(named).map(gate_row));
    rows.extend(no_agent(seen));
    rows.extend(seen.persons.iter().chain(seen.open.iter().filter(|todo| is_persons(todo))).map(|todo| todo_row(seen, todo)));
    rows.extend(due(wait));
    rows.extend(over(seen, wait));
    // What two rules find is said once.
    let mut said = BTreeSet::new();
    rows.retain(|row| said.insert((row.about.clone(), row.command.clone())));
    rows
}

/// What must happen first: where an agent can go on, its work; else the most urgent row.
pub(super) fn first<'r>(rows: &'r [Attention], wait: &Wait) -> Option<&'r Attention> {
    if wait.may_continue {
        return rows.iter().find(|row| row.kind == "due");
    }
    rows.first()
}

fn row(kind: &'static str, about: &dyn ToString, text: String, command: String) -> Attention {
    Attention { kind, about: about.to_string(), text, command, since_ms: None }
}

/// While nobody has accepted a jump nothing expires, so nothing that waits for a time ever moves.
fn clock(seen: &Seen<'_>) -> Option<Attention> {
    let text = || "the clock jumped; nothing expires until a person accepts it".to_owned();
    seen.terms.clock_jump.then(|| row("clock_jump", &seen.goal.goal_id, text(), "doctor --accept-clock".to_owned()))
}

fn unresolved_row(seen: &Seen<'_>, stuck: &Stuck) -> Attention {
    let turn = seen.live.iter().find(|turn| turn.turn_id == stuck.turn.turn_id);
    let id = stuck.turn.turn_id;
    let why = plain(stuck.turn.why.as_deref().unwrap_or("unknown"));
    let old = turn.is_some_and(|turn| {
        matches!(turn.state, TurnState::Unresolved { why: crate::model::Unresolved::Incarnation, .. })
    });
    let command = match turn {
        Some(turn) if turn.is_driven() && !old => format!("turn recover {id} --resume"),
        Some(_) | None => format!("turn abandon {id} --reason TEXT"),
    };
    let text = format!("what the Turn on {} did is not known: {why}", about(stuck));
    Attention { since_ms: Some(stuck.turn.admitted_at_ms), ..row(Code::TurnUnresolved.as_str(), &id, text, command) }
}

/// A Turn at work whose driver is not.
fn gone_row(turn: &Turn) -> Attention {
    let id = turn.turn_id;
    let todo = turn.todo_id().map_or_else(|| id.to_string(), ToString::to_string);
    let text = format!("what drove the Turn on {todo} is gone");
    let command = format!("turn recover {id} --resume");
    Attention { since_ms: Some(turn.admitted_at), ..row("driver_gone", &id, text, command) }
}

fn about(stuck: &Stuck) -> String {
    stuck.turn.todo_id.as_ref().map_or_else(|| stuck.turn.turn_id.to_string(), ToString::to_string)
}

fn held_row(seen: &Seen<'_>, stuck: &Stuck) -> Attention {
    let id = stuck.turn.turn_id;
    let todo = about(stuck);
    let asks = seen.gates.iter().find(|gate| gate.accepts == Some(id)).map(|gate| gate.gate_id);
    // The first cause that a command lifts; an empty set only has to be proved.
    let (text, command) = match (stuck.causes.first(), asks) {
        (Some(Cause::Requirement), _) => {
            (format!("{todo} changed while it was worked on"), format!("turn accept {id}"))
        }
        (Some(Cause::Acceptance), Some(gate)) => {
            (format!("the result on {todo} waits to be accepted"), format!("gate resolve {gate} --approve"))
        }
        (Some(Cause::Gate | Cause::Acceptance), _) => {
            (format!("a question holds the result on {todo}"), format!("gate list --todo {todo}"))
        }
        (Some(Cause::Hold), _) => (format!("the result on {todo} is on hold"), format!("todo unhold {todo}")),
        (Some(Cause::Deps), _) => {
            (format!("the result on {todo} waits for what it depends on"), format!("todo show {todo}"))
        }
        (Some(Cause::TreeBusy | Cause::AgentBusy), _) => {
            (format!("the result on {todo} waits for other work to end"), format!("turn show {id}"))
        }
        (None, _) => (format!("the result on {todo} is to be proved"), format!("turn recover {id} --prove")),
    };
    Attention { since_ms: Some(stuck.turn.admitted_at_ms), ..row("turn_held", &id, text, command) }
}

/// Ownerships that ran out.
fn lapsed(seen: &Seen<'_>) -> Vec<Attention> {
    let expired = seen.owners().into_iter().filter(|owned| owned.owner.expired);
    expired
        .map(|owned| {
            let text = format!("{} of {} has run out; it may still write files", owned.todo_id, owned.owner.agent_id);
            let command = format!("todo release {} --force --reason TEXT", owned.todo_id);
            Attention {
                since_ms: Some(owned.owner.expires_at_ms),
                ..row(Code::OwnershipExpired.as_str(), &owned.todo_id, text, command)
            }
        })
        .collect()
}

fn gate_row(gate: &Gate) -> Attention {
    let id = gate.gate_id;
    let is_denied = matches!(gate.state, GateState::Denied { .. });
    let command = answer_command(&id.to_string(), gate.kind, &gate.options, is_denied);
    let blocks = match &gate.blocks {
        Blocks::Goal => gate.goal_id.to_string(),
        Blocks::Todos(ids) => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let text = format!("{}, blocks {blocks}: {}", if is_denied { "denied" } else { "asked" }, gate.question);
    Attention { since_ms: Some(gate.opened_at), ..row("gate", &id, text, command) }
}

fn no_agent(seen: &Seen<'_>) -> Option<Attention> {
    let work = seen.count("open") + seen.count("monitor") + seen.count("deferred");
    let id = &seen.goal.goal_id;
    let text = || format!("no agent may work on {id} yet");
    (work > 0 && seen.agents.is_empty()).then(|| row("agent", id, text(), format!("agent add AGENT --goal {id}")))
}

/// Whether an open Todo is a person's to move, though its kind is an agent's.
pub(super) fn is_persons(todo: &Todo) -> bool {
    todo.hold || todo.counters.cancelled_deps > 0 || todo.counters.wake_lost
}

fn todo_row(seen: &Seen<'_>, todo: &Todo) -> Attention {
    let id = &todo.todo_id;
    let title = &todo.title;
    let (text, command) = match (&todo.state, todo.kind) {
        (TodoState::Blocked { reason }, _) => (format!("{id} is blocked: {reason}"), format!("todo unblock {id}")),
        (_, TodoKind::Action) => (format!("{id} is yours: {title}"), format!("todo done {id}")),
        (_, TodoKind::Blocker) => (format!("{id} is in the way: {title}"), format!("todo resolve {id}")),
        (_, TodoKind::Advance | TodoKind::Monitor | TodoKind::Replan) if todo.hold => {
            (format!("{id} is on hold: {title}"), format!("todo unhold {id}"))
        }
        (_, TodoKind::Advance | TodoKind::Monitor | TodoKind::Replan) => match seen.cancelled.get(id) {
            Some(dep) => {
                let text = format!("{id} waits for {dep}, which was cancelled: {title}");
                (text, format!("todo unlink {id} --depends-on {dep}"))
            }
            None => (format!("{id} waits for what cannot come true: {title}"), format!("todo unblock {id}")),
        },
    };
    Attention { since_ms: Some(todo.made_at), ..row("todo", id, text, command) }
}

fn due(wait: &Wait) -> Option<Attention> {
    let (agent, todo) = wait.take.as_ref()?;
    let text = format!("{todo} can be taken by {agent}");
    Some(row("due", todo, text, format!("todo claim {todo} --as agent:{agent}")))
}

fn over(seen: &Seen<'_>, wait: &Wait) -> Option<Attention> {
    let id = &seen.goal.goal_id;
    if wait.capability {
        let text = "no agent has the capabilities that are needed".to_owned();
        return Some(row("agent", id, text, format!("agent list --goal {id}")));
    }
    if !wait.is_over {
        return None;
    }
    let open = seen.goal.acceptance.iter().position(|criterion| criterion.state.is_open());
    let started = seen.counts.values().any(|count| *count > 0);
    Some(match (started, open) {
        (false, _) => row("goal", id, format!("{id} has no Todo yet"), format!("todo add TITLE --goal {id}")),
        (true, Some(place)) => {
            let number = place + 1;
            let text = format!("criterion {number} of {id} is not shown yet");
            let command = format!("evidence add POINTER --kind note --criterion {number} --goal {id}");
            row("goal", id, text, command)
        }
        (true, None) => row("goal", id, format!("{id} can be closed"), format!("goal close {id} --achieved")),
    })
}
