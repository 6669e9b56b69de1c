//! Owns the presenting of an ownership: who may act on what is claimed, and what renews it.

use super::{Event, scopes};
use crate::{
    error::{Code, Error, Result},
    kernel::{Draft, Facts, Outcome, abandon_command, seeded, todo, turn},
    model::{OwnId, Ownership, Stopped, Timestamp, Todo, TodoId, TurnState},
};

/// What a presented ownership turned out to be.
#[derive(Debug)]
pub(in crate::kernel) enum Presented {
    /// Current, or armed again.
    Current,
    /// Run out, and its scopes taken: its Turn was stopped in this commit.
    ScopesTaken(Box<Outcome>),
}

/// Checks the token of an owner, arms a run-out ownership again where nobody has come, or stops its Turn where
/// somebody writes in its place.
///
/// Invariant: after `Current`, the Todo is owned by the actor and its ownership keeps others out.
pub(in crate::kernel) fn present(
    draft: &mut Draft<'_>,
    todo_id: &TodoId,
    own_id: Option<OwnId>,
) -> Result<Presented> {
    check(draft, todo_id, own_id)?;
    let todo = todo::named(draft, todo_id)?;
    let Some(own) = &todo.ownership else {
        return Err(Error::new(Code::OwnershipExpired, format!("nobody owns the Todo {todo_id}")));
    };
    if !draft.facts().is_expired(own) {
        return Ok(Presented::Current);
    }
    let turn_id = own.turn_id;
    if let Some(turn) = draft.facts().turn(&turn_id)? {
        turn::check_agent_free(draft.facts(), turn)?;
    }
    if scopes::is_free(draft.facts(), todo)? {
        let expires_at = rearm_at(draft.facts(), own)?;
        draft.emit(Event::Rearmed { todo_id: todo_id.clone(), expires_at })?;
        return Ok(Presented::Current);
    }
    turn::stop(draft, turn_id, Stopped::ScopesTaken)?;
    Ok(Presented::ScopesTaken(Box::new(turn::outcome(draft, turn_id)?)))
}

/// Checks that the token is that of the Todo's ownership, and the actor its agent through its endpoint.
pub(in crate::kernel) fn check(draft: &Draft<'_>, todo_id: &TodoId, presented: Option<OwnId>) -> Result<()> {
    let todo = todo::named(draft, todo_id)?;
    let Some(presented) = presented else {
        let message = format!("acting on the Todo {todo_id} needs the own_id that its claim printed");
        let error =
            |message: String| Error::new(Code::OwnRequired, message).detail("todo_id", todo_id.to_string());
        return Err(match lost(draft, todo) {
            Some(way_out) => error(message + IF_LOST).hint(way_out),
            None => error(message),
        });
    };
    match &todo.ownership {
        Some(own) if own.own_id == presented || seeded!(AnyTokenOwns) => {
            if draft.actor().agent() == Some((&own.agent_id, &own.endpoint)) {
                return Ok(());
            }
            Err(superseded(todo, &format!("{} is not its owner", draft.actor())))
        }
        None if todo.last_own_id == Some(presented) && todo.is_done() => {
            Err(Error::new(Code::TodoAlreadyDone, format!("the Todo {todo_id} is done"))
                .detail("todo_id", todo_id.to_string()))
        }
        None if todo.last_own_id == Some(presented) => {
            let claim = match draft.actor().agent() {
                Some((agent, _)) => format!("todo claim {todo_id} --as agent:{agent}"),
                None => format!("todo claim {todo_id}"),
            };
            Err(Error::new(Code::OwnershipExpired, format!("this ownership of the Todo {todo_id} has ended"))
                .hint(claim)
                .detail("todo_id", todo_id.to_string()))
        }
        Some(_) | None => Err(match lost(draft, todo) {
            Some(way_out) => {
                superseded(todo, &format!("the token is of another ownership{IF_LOST}")).hint(way_out)
            }
            None => superseded(todo, "the token is of another ownership"),
        }),
    }
}

/// What an owner is told who has not got its token any more.
const IF_LOST: &str = "; where that is lost, a person stops its Turn, and it can be claimed again";

/// What frees a Todo whose owner acts, and has lost its token; none for whom it is not, and while a driver has the token.
fn lost(draft: &Draft<'_>, todo: &Todo) -> Option<String> {
    let own = todo.ownership.as_ref()?;
    let turn = draft.facts().rows().turns.get(&own.turn_id)?;
    let is_owners = draft.actor().agent() == Some((&own.agent_id, &own.endpoint));
    (is_owners && !turn.is_driven()).then(|| match turn.state {
        TurnState::Unresolved { .. } => abandon_command(turn.turn_id),
        TurnState::Admitted
        | TurnState::Dispatched
        | TurnState::Candidate
        | TurnState::Held { .. }
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => format!("turn stop {}", turn.turn_id),
    })
}

fn superseded(todo: &Todo, why: &str) -> Error {
    let error = Error::new(Code::OwnershipSuperseded, format!("the Todo {}: {why}", todo.todo_id))
        .detail("todo_id", todo.todo_id.to_string());
    match &todo.ownership {
        Some(own) => error
            .detail("holder", format!("agent:{}@{}", own.agent_id, own.endpoint))
            .detail("expires_at_ms", own.expires_at.as_ms()),
        None => error,
    }
}

/// Until when an ownership lasts when it is armed now: its time, and never less than its attempt may take.
pub(in crate::kernel) fn rearm_at(facts: &Facts, own: &Ownership) -> Result<Timestamp> {
    let plain = facts.now().plus(own.ttl_ms);
    let attempt = facts.turn(&own.turn_id)?.and_then(|turn| turn.open_attempt());
    let deadline = attempt.and_then(|attempt| attempt.deadline_at).map(|at| at.plus(turn::GRACE));
    Ok(deadline.map_or(plain, |deadline| deadline.max(plain)))
}

/// Keeps an ownership longer, without an event within a quarter of its time since the last.
pub(in crate::kernel) fn renew(draft: &mut Draft<'_>, todo_id: &TodoId) -> Result<()> {
    let todo = todo::named(draft, todo_id)?;
    let Some(own) = todo.ownership.as_ref().filter(|own| !own.frozen) else { return Ok(()) };
    let expires_at = rearm_at(draft.facts(), own)?;
    if expires_at.since(own.expires_at) < own.ttl_ms.part(4) {
        return Ok(());
    }
    draft.emit(Event::Renewed { todo_id: todo_id.clone(), expires_at })
}
