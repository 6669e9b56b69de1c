//! Owns what needs somebody, most urgent first, each with the command that moves it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Attention, Eyes, Rank,
    seen::Seen,
    waiting::{Wait, not_shown},
};
use crate::{
    error::{Code, Result, echo},
    kernel::{
        Ask, Terms, confirm_command, effect_command, gate_ask, held_asks, recover_command, return_commands,
        turn, unresolved_ask, waits_for, waits_for_person,
    },
    model::{
        Blocks, Cause, Effect, EffectState, Gate, GateState, GoalState, PeerReturn, Proposal, Todo, Turn,
        TurnState,
    },
    projection::{
        todo::{Persons, persons},
        turn::left,
        words::plain,
    },
};

/// The kind of the row that says that the clock jumped.
pub(super) const CLOCK_JUMP: &str = "clock_jump";

/// The kind of the row that says that nobody has decided on what a peer returned.
const RETURN: &str = "return";

/// The rows of one Goal: a jump of the clock, what is unresolved or lost, gates by age, what else a person has to move,
/// a plan that has to change, work that is due.
pub(super) fn rows(seen: &Seen<'_>, wait: &Wait, eyes: &Eyes<'_>) -> Result<Vec<Attention>> {
    if matches!(seen.goal.state, GoalState::Closed { .. }) {
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    rows.extend(clock(seen.terms, &seen.goal.goal_id));
    rows.extend(seen.effects.iter().map(effect_row));
    rows.extend(seen.live.iter().filter_map(|turn| unresolved_row(seen, turn)));
    rows.extend(
        seen.live.iter().filter(|turn| seen.gone.contains(&turn.turn_id)).map(|turn| left_row(seen, turn)),
    );
    for turn in seen.live.iter().filter(|turn| matches!(turn.state, TurnState::Held { .. })) {
        rows.extend(held_rows(seen, turn, eyes)?);
    }
    rows.extend(
        seen.live
            .iter()
            .filter(|turn| seen.unproved.contains(&turn.turn_id))
            .map(|turn| left_row(seen, turn)),
    );
    rows.extend(lapsed(seen));
    if matches!(seen.goal.state, GoalState::Stopped) {
        let id = &seen.goal.goal_id;
        let stopped = row(Rank::Gate, "goal", id, format!("{id} is stopped"), format!("goal resume {id}"));
        rows.push(Attention { stands: true, ..stopped });
    }
    rows.extend(seen.gates.iter().map(gate_row));
    rows.extend(no_agent(seen));
    rows.extend(seen.persons.iter().chain(&seen.open).filter_map(|todo| todo_row(seen, todo)));
    rows.extend(seen.proposals.iter().map(proposal_row));
    rows.extend(due(wait));
    rows.extend(seen.returns.iter().map(|given| return_row(seen, given)));
    rows.extend(wait.asks.iter().map(|ask| asked_row(seen, ask)));
    // What two rules find is said once.
    let mut said = BTreeSet::new();
    rows.retain(|row| said.insert(row.command.clone()));
    // A result that a question holds waits as long as the question; a Goal that is stopped waits before all of them.
    let asked: BTreeMap<_, _> =
        seen.gates.iter().map(|gate| (gate_ask(gate).command, gate.opened_at)).collect();
    for row in rows.iter_mut().filter(|row| row.rank == Rank::Person) {
        if let Some(opened_at) = asked.get(&row.command) {
            (row.rank, row.since_ms) = (Rank::Gate, Some(*opened_at));
        }
    }
    rows.sort_by_key(|row| (row.rank, row.since_ms.filter(|_| row.rank == Rank::Gate)));
    Ok(rows)
}

/// What must happen first: where an agent can go on, its work; else the most urgent row.
pub(super) fn first<'r>(rows: &'r [Attention], wait: &Wait) -> Option<&'r Attention> {
    if let Some(command) = &wait.recover {
        return rows.iter().find(|row| row.command == *command).or_else(|| rows.first());
    }
    if wait.may_continue {
        let is_next = |row: &&Attention| matches!(row.rank, Rank::Replan | Rank::Work) && row.kind != RETURN;
        return rows.iter().find(is_next);
    }
    // Of several things that hold one result, what is asked first leads on; the others are only ranked.
    let asked = |row: &&Attention| wait.asks.iter().any(|ask| ask.command == row.command);
    let leads = |row: &&Attention| row.rank == Rank::Lost || asked(row) || row.kind == "turn_held";
    rows.iter().find(leads).or_else(|| rows.first())
}

fn row(rank: Rank, kind: &'static str, about: &dyn ToString, text: String, command: String) -> Attention {
    Attention { rank, kind, about: about.to_string(), text, command, since_ms: None, stands: false }
}

/// While nobody has accepted a jump nothing expires, so nothing that waits for a time ever moves.
pub(super) fn clock(terms: &Terms, about: &dyn ToString) -> Option<Attention> {
    let text = || "the clock jumped; nothing expires until a person accepts it".to_owned();
    let row = || row(Rank::Lost, CLOCK_JUMP, about, text(), "doctor --accept-clock".to_owned());
    terms.clock_jump.then(row)
}

fn effect_row(effect: &Effect) -> Attention {
    let (id, what) = (&effect.effect_id, echo(effect.what.as_str()));
    let text = match effect.state {
        EffectState::Intended => format!("it was meant, and never sent: {what}"),
        _ => format!("it is not known whether it happened: {what}"), // the others that are unresolved may have been
    };
    let row = row(Rank::Lost, Code::EffectUnresolved.as_str(), id, text, effect_command(effect));
    Attention { since_ms: Some(effect.at), stands: true, ..row }
}

fn unresolved_row(seen: &Seen<'_>, turn: &Turn) -> Option<Attention> {
    if !matches!(turn.state, TurnState::Unresolved { .. }) {
        return None;
    }
    let text = left(&seen.facts, turn);
    let may_be_told = seen.told.contains(&turn.turn_id);
    let command = unresolved_ask(turn, may_be_told).command;
    let row = row(Rank::Lost, Code::TurnUnresolved.as_str(), &turn.turn_id, text, command);
    // While a look from here may still tell something, a person is not who is asked.
    Some(Attention { since_ms: Some(turn.admitted_at), stands: !may_be_told, ..row })
}

/// A Turn at work that nobody brings on.
fn left_row(seen: &Seen<'_>, turn: &Turn) -> Attention {
    let kind = if matches!(turn.state, TurnState::Candidate) { "turn_unproved" } else { "driver_gone" };
    let row = row(Rank::Lost, kind, &turn.turn_id, left(&seen.facts, turn), recover_command(turn.turn_id));
    Attention { since_ms: Some(turn.admitted_at), ..row }
}

fn about(turn: &Turn) -> String {
    turn.todo_id().map_or_else(|| turn.turn_id.to_string(), ToString::to_string)
}

fn held_rows(seen: &Seen<'_>, turn: &Turn, eyes: &Eyes<'_>) -> Result<Vec<Attention>> {
    let todo = about(turn);
    let held = |text: String, command: String| Attention {
        since_ms: Some(turn.admitted_at),
        ..row(Rank::Person, "turn_held", &turn.turn_id, text, command)
    };
    let asks = held_asks(&seen.facts, turn, &eyes.sight(&seen.tried))?;
    let beside = waits_for(&seen.facts, turn, &turn::causes(&seen.facts, turn)?)?;
    let waits = |other: &Turn| {
        format!("the result on {todo} waits until {} has ended its work on {}", other.agent_id, about(other))
    };
    if asks.is_empty() {
        if let Some(other) = beside {
            return Ok(vec![held(waits(other), format!("turn show {}", other.turn_id))]);
        }
        // What it waits for is asked about there.
        let text = format!("the result on {todo} waits for what it depends on");
        return Ok(vec![held(text, format!("todo show {todo}"))]);
    }
    let text = |cause| match cause {
        Some(Cause::Requirement) => format!("{todo} changed while it was worked on"),
        Some(Cause::Acceptance) => format!("the result on {todo} waits to be accepted"),
        Some(Cause::Gate) => format!("a question holds the result on {todo}"),
        Some(Cause::Hold) => format!("the result on {todo} is on hold"),
        Some(Cause::Proposal) => format!("{todo} waits for an answer to what was proposed"),
        Some(Cause::Deps) => format!("the result on {todo} waits for what was cancelled"),
        Some(Cause::Effect) => format!("the result on {todo} waits for what an outside effect did"),
        Some(Cause::TreeBusy | Cause::AgentBusy) => match beside {
            Some(other) => waits(other),
            None => format!("the result on {todo} is to be proved, now that its work tree is still"),
        },
        None => format!("the result on {todo} is to be proved"),
    };
    let whole = |cause, ask: &Ask| match &ask.question {
        Some(question) => format!("{}: \u{ab}{question}\u{bb}", text(cause)),
        None => text(cause),
    };
    Ok(asks.into_iter().map(|(cause, ask)| held(whole(cause, &ask), ask.command)).collect())
}

/// Ownerships that ran out.
fn lapsed(seen: &Seen<'_>) -> Vec<Attention> {
    let expired = seen.owners().into_iter().filter(|owned| owned.owner.expired);
    expired
        .map(|owned| {
            let text = format!(
                "{} of {} has run out; it may still write files",
                owned.todo_id, owned.owner.agent_id
            );
            let command = format!("todo release {} --force --reason TEXT", owned.todo_id);
            Attention {
                since_ms: Some(owned.owner.expires_at_ms),
                ..row(Rank::Lost, Code::OwnershipExpired.as_str(), &owned.todo_id, text, command)
            }
        })
        .collect()
}

fn gate_row(gate: &Gate) -> Attention {
    let blocks = match &gate.blocks {
        Blocks::Goal => gate.goal_id.to_string(),
        Blocks::Todos(ids) => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let text = match &gate.state {
        GateState::Denied { .. } => format!("denied, blocks {blocks}: {}", gate.question),
        _ => format!("asked, blocks {blocks}: {}", gate.question), // the other blocking ones wait for an answer
    };
    Attention {
        since_ms: Some(gate.opened_at),
        stands: true,
        ..row(Rank::Gate, "gate", &gate.gate_id, text, gate_ask(gate).command)
    }
}

fn no_agent(seen: &Seen<'_>) -> Option<Attention> {
    let work = seen.count("open") + seen.count("monitor") + seen.count("deferred");
    let id = &seen.goal.goal_id;
    let text = || format!("no agent may work on {id} yet");
    (work > 0 && seen.agents.is_empty())
        .then(|| row(Rank::Person, "agent", id, text(), format!("agent add AGENT --goal {id}")))
}

fn todo_row(seen: &Seen<'_>, todo: &Todo) -> Option<Attention> {
    let Persons { text, command } = persons(&seen.facts, todo)?;
    let row = row(Rank::Person, "todo", &todo.todo_id, text, command);
    // What is lost follows from more than the Todo.
    Some(Attention { since_ms: Some(todo.made_at), stands: waits_for_person(todo).is_some(), ..row })
}

fn proposal_row(proposal: &Proposal) -> Attention {
    let id = proposal.proposal_id;
    let (verb, reason) = (&proposal.verb, echo(proposal.reason.as_str()));
    let text = format!("{} proposes `{verb}`: {reason}", proposal.by);
    let row = row(Rank::Person, "proposal", &id, text, confirm_command(id));
    Attention { since_ms: Some(proposal.at), stands: true, ..row }
}

/// A result that was given to a coordinator: for whoever works on that to decide on, and a person's once it has ended.
fn return_row(seen: &Seen<'_>, given: &PeerReturn) -> Attention {
    let (from, to, summary) = (&given.from, &given.todo_id, echo(given.summary.as_str()));
    let todo = seen.facts.rows().todos.get(to);
    let owner = todo.and_then(|todo| todo.ownership.as_ref()).map(|own| &own.agent_id);
    let (rank, who) = match owner {
        Some(agent) => (Rank::Work, format!("{agent} decides")),
        None if todo.is_some_and(Todo::is_live) => (Rank::Work, "whoever takes it decides".to_owned()),
        None => (Rank::Person, "it has ended".to_owned()),
    };
    let text = format!("{from} returned to {to}, {who}: {summary}");
    let [adopt, _] = return_commands(given.return_id);
    Attention { since_ms: Some(given.at), ..row(rank, RETURN, &given.return_id, text, adopt) }
}

/// What an agent can take first: one row a Goal.
fn due(wait: &Wait) -> Option<Attention> {
    let (agent, todo) = wait.take.as_ref()?;
    let (rank, kind) = if wait.replans { (Rank::Replan, "replan") } else { (Rank::Work, "due") };
    let word = wait.replan.as_ref().map_or_else(|| todo.to_string(), ToString::to_string);
    let about = wait.replan.as_ref().map_or_else(|| todo.to_string(), |of| of.covers.to_string());
    let command = format!("todo claim {word} --as agent:{agent}");
    Some(row(rank, kind, &about, wait.because.clone(), command))
}

/// What was found to be a person's, once nothing can be taken.
fn asked_row(seen: &Seen<'_>, ask: &Ask) -> Attention {
    let about = &ask.about;
    let (kind, text) = match ask.why {
        why if why == Ask::LIMIT_ZERO || why == Code::CeilingRequired.as_str() => {
            ("goal", format!("{about}: {}", plain(why)))
        }
        Ask::NO_TODO => ("goal", format!("{about} has no Todo yet")),
        Ask::READY_TO_CLOSE if seen.goal.acceptance.is_empty() => {
            ("goal", format!("{about} has no criterion: whether it is reached is yours to say"))
        }
        Ask::READY_TO_CLOSE => ("goal", format!("each criterion of {about} is met, so it can be closed")),
        "acceptance_gap" => ("goal", not_shown(seen.goal)),
        "capability" => ("agent", format!("{about} needs what no agent has")),
        "gate" => match &ask.question {
            Some(question) => ("gate", format!("asked: {question}")),
            None => ("gate", format!("{about} waits for an approval")),
        },
        "user" => ("todo", format!("{about} waits for a person")),
        Ask::EFFECT => ("effect", "an outside effect keeps the Goal from being achieved".to_owned()),
        why => ("todo", format!("{about}: {}", plain(why))),
    };
    row(Rank::Person, kind, about, text, ask.command.clone())
}
