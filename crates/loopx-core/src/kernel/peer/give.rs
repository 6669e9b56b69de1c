//! Owns when a result may be given to a coordinator: of which Turn, by whom, and with what evidence.

use super::{Event, Given, outcome};
use crate::{
    error::{Code, Error, Result},
    kernel::{Concluded, Draft, Read, Wanted, agent, claim, evidence, todo, turn},
    model::{Actor, GoalId, PeerReturn, ReturnId, ReturnState, Todo, TodoId, Turn, TurnState},
};

pub(super) fn reads(given: &Given, goal: &GoalId, actor: &Actor, wanted: &mut Wanted<'_>) {
    claim::owner_reads(&given.todo_id, wanted);
    given.evidence.iter().for_each(|id| wanted.want(Read::Evidence(*id)));
    if let Some((agent, _)) = actor.agent() {
        wanted.want(Read::Agent(goal.clone(), agent.clone()));
    }
    if let Some(turn_id) = given.turn_id {
        wanted.want(Read::Turn(turn_id));
    }
    let Some(todo) = wanted.rows().todos.get(&given.todo_id) else { return };
    if let Some(coordinator) = todo.coordinates.clone() {
        wanted.want(Read::Todo(coordinator));
    }
}

/// Gives a result to the coordinator of a peer's Todo.
pub(super) fn give(draft: &mut Draft<'_>, given: &Given) -> Result<Concluded> {
    if let Some((agent, _)) = draft.actor().agent() {
        agent::registered(draft.facts(), &(draft.goal_id().clone(), agent.clone()))?;
    }
    let from = todo::named(draft, &given.todo_id)?;
    let coordinator = coordinator(draft, from)?;
    let turn = found_in(draft, from, given)?;
    let (turn_id, has_ended) = (turn.turn_id, turn.is_terminal());
    if given.evidence.is_empty() {
        let message = format!("what {} returns rests on evidence", given.todo_id);
        return Err(Error::new(Code::InvalidArgument, message)
            .hint(format!("evidence add POINTER --kind file --todo {}", given.todo_id)));
    }
    evidence::check(draft, &given.evidence)?;
    if !has_ended {
        if let claim::Presented::ScopesTaken(outcome) = claim::present(draft, &given.todo_id, given.own_id)? {
            return Ok((*outcome, Some(Code::OwnershipExpired)));
        }
        claim::renew(draft, &given.todo_id)?;
    }
    let return_id = ReturnId::from_bytes(draft.mint());
    let row = PeerReturn {
        return_id,
        goal_id: draft.goal_id().clone(),
        todo_id: coordinator,
        from: given.todo_id.clone(),
        turn_id,
        evidence: given.evidence.clone(),
        summary: given.summary.clone(),
        by: draft.actor().clone(),
        at: draft.now(),
        state: ReturnState::Returned,
    };
    draft.emit(Event::Returned { given: Box::new(row) })?;
    outcome(draft, return_id)
}

/// The coordinator that a peer's Todo names; one that was cancelled takes nothing in.
fn coordinator(draft: &Draft<'_>, from: &Todo) -> Result<TodoId> {
    let id = &from.todo_id;
    let Some(coordinator) = &from.coordinates else {
        return Err(Error::new(Code::InvalidArgument, format!("the Todo {id} returns to no coordinator"))
            .detail("todo_id", id.to_string())
            .hint(format!("todo update {id} --coordinates TODO")));
    };
    todo::check_coordinator(draft, coordinator)?;
    Ok(coordinator.clone())
}

/// The Turn in which it was found: one of the peer's own on its Todo, over which no other ownership went.
fn found_in<'d>(draft: &'d Draft<'_>, from: &Todo, given: &Given) -> Result<&'d Turn> {
    let id = &from.todo_id;
    // Of a Todo nobody works on, no Turn is the one that is meant: another may have worked on it since.
    let Some(turn_id) = given.turn_id.or(from.turn_id) else {
        let message = format!("nobody works on the Todo {id}; `--turn` says in which Turn it was found");
        return Err(Error::new(Code::InvalidArgument, message)
            .detail("todo_id", id.to_string())
            .detail("argument", "turn")
            .hint(format!("turn list --todo {id}")));
    };
    let turn = turn::named(draft, turn_id)?;
    if turn.todo_id() != Some(id) {
        return Err(Error::new(Code::InvalidArgument, format!("the Turn {turn_id} did not work on {id}"))
            .detail("turn_id", turn_id.to_string())
            .hint(format!("turn list --todo {id}")));
    }
    if draft.actor().agent().is_none_or(|(agent, _)| *agent != turn.agent_id) {
        let message =
            format!("the Turn {turn_id} is one of {}; only that agent returns its result", turn.agent_id);
        return Err(Error::new(Code::ActorNotAllowed, message)
            .detail("turn_id", turn_id.to_string())
            .hint(format!("turn list --todo {id}")));
    }
    if turn.state == TurnState::Fenced {
        let message = format!("another ownership went over the Turn {turn_id}; nothing of it counts");
        return Err(Error::new(Code::OwnershipSuperseded, message)
            .detail("turn_id", turn_id.to_string())
            .hint(format!("turn show {turn_id}")));
    }
    Ok(turn)
}
