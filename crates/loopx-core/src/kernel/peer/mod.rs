//! Owns returns: what a peer gives to its coordinator, and who says what became of that.
//!
//! Knows nothing of what is in a result. Invariant: a return never touches the coordinator's row, and a decision on one
//! never the peer's, so that each outlives the other side's end.

mod event;
mod give;

use serde::{Deserialize, Serialize};

pub use event::Event;

use super::{Concluded, Draft, Outcome, Read, Verb, Wanted, claim, seeded, stands, todo};
use crate::{
    error::{Code, Error, Result},
    model::{
        Actor, EvidenceId, GoalId, NounKey, NounKind, OwnId, PeerReturn, ReturnId, ReturnState, ShortText,
        TodoId, TurnId,
    },
};

/// What can be asked about returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Gives a result to the coordinator.
    Return(Box<Given>),
    /// Takes one in.
    Adopt {
        /// Which.
        return_id: ReturnId,
        /// The coordinator it was given to.
        todo_id: TodoId,
        /// The token of the coordinator's owner, when its owner asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<OwnId>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// Does not take one in.
    Reject {
        /// Which.
        return_id: ReturnId,
        /// The coordinator it was given to.
        todo_id: TodoId,
        /// The token of the coordinator's owner, when its owner asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<OwnId>,
        /// Why.
        reason: ShortText,
        /// The return that stands in its place, if one does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        superseded_by: Option<ReturnId>,
    },
}

/// A result as a peer gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// The peer's Todo.
    pub todo_id: TodoId,
    /// The token of its owner, while it is owned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_id: Option<OwnId>,
    /// The Turn in which it was found; the one that works on the Todo, else the last that did, unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// What shows it.
    pub evidence: Vec<EvidenceId>,
    /// In short, what was found.
    pub summary: ShortText,
}

impl Command {
    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Return(_) => Verb::PeerReturn,
            Self::Adopt { .. } => Verb::PeerAdopt,
            Self::Reject { .. } => Verb::PeerReject,
        }
    }

    pub(super) fn reads(&self, goal: &GoalId, actor: &Actor, wanted: &mut Wanted<'_>) {
        let (return_id, todo_id, other) = match self {
            Self::Return(given) => return give::reads(given, goal, actor, wanted),
            Self::Adopt { return_id, todo_id, .. } => (return_id, todo_id, None),
            Self::Reject { return_id, todo_id, superseded_by, .. } => (return_id, todo_id, *superseded_by),
        };
        for id in std::iter::once(*return_id).chain(other) {
            wanted.want(Read::Noun(key(id)));
        }
        claim::owner_reads(todo_id, wanted);
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        match self {
            Self::Return(given) => give::give(draft, given),
            Self::Adopt { return_id, todo_id, own_id, reason } => {
                if let Some(taken) = check_decides(draft, *return_id, todo_id, *own_id)? {
                    return Ok(taken);
                }
                let given = named(draft, *return_id)?;
                if !given.is_open() && !seeded!(DecidesTwice) {
                    return Err(no_move(given, "be adopted"));
                }
                draft.emit(Event::Adopted { return_id: *return_id, reason: reason.clone() })?;
                outcome(draft, *return_id)
            }
            Self::Reject { return_id, todo_id, own_id, reason, superseded_by } => {
                if let Some(taken) = check_decides(draft, *return_id, todo_id, *own_id)? {
                    return Ok(taken);
                }
                let (return_id, reason) = (*return_id, reason.clone());
                let event = match superseded_by {
                    None => reject(draft, return_id, reason)?,
                    Some(other) => supersede(draft, return_id, *other, reason)?,
                };
                draft.emit(event)?;
                outcome(draft, return_id)
            }
        }
    }
}

fn reject(draft: &Draft<'_>, return_id: ReturnId, reason: ShortText) -> Result<Event> {
    let given = named(draft, return_id)?;
    if given.is_open() {
        return Ok(Event::Rejected { return_id, reason });
    }
    Err(no_move(given, "be rejected"))
}

/// A later result takes the place of one that waits, or that was taken in before it was known better.
fn supersede(draft: &Draft<'_>, return_id: ReturnId, other: ReturnId, reason: ShortText) -> Result<Event> {
    let given = named(draft, return_id)?;
    match given.state {
        ReturnState::Returned | ReturnState::Adopted { .. } => {}
        ReturnState::Rejected { .. } | ReturnState::Superseded { .. } => {
            return Err(no_move(given, "be superseded"));
        }
    }
    let refused = |why: &str| {
        Err(Error::new(Code::InvalidArgument, format!("the return {other} {why}"))
            .detail("return_id", other.to_string())
            .hint(format!("peer list --todo {}", given.todo_id)))
    };
    let instead = named(draft, other)?;
    if other == return_id {
        return refused("cannot stand in its own place");
    }
    if instead.todo_id != given.todo_id {
        return refused("was given to another coordinator");
    }
    match instead.state {
        ReturnState::Returned | ReturnState::Adopted { .. } => {
            Ok(Event::Superseded { return_id, superseded_by: other, reason })
        }
        ReturnState::Rejected { .. } => refused("was rejected"),
        ReturnState::Superseded { .. } => refused("was superseded itself"),
    }
}

/// Who decides on a return: the owner of the coordinator, with its token, or a person. Whoever owned it before does not.
fn check_decides(
    draft: &mut Draft<'_>,
    return_id: ReturnId,
    todo_id: &TodoId,
    own_id: Option<OwnId>,
) -> Result<Option<Concluded>> {
    let given = named(draft, return_id)?;
    if given.todo_id != *todo_id {
        let message = format!("the return {return_id} was given to {}, not to {todo_id}", given.todo_id);
        return Err(Error::new(Code::InvalidArgument, message).hint(format!("peer show {return_id}")));
    }
    todo::named(draft, todo_id)?;
    if draft.actor().agent().is_none() {
        return Ok(None);
    }
    if let claim::Presented::ScopesTaken(outcome) = claim::present(draft, todo_id, own_id)? {
        return Ok(Some((*outcome, Some(Code::OwnershipExpired))));
    }
    claim::renew(draft, todo_id)?;
    Ok(None)
}

/// Where a return is found.
const fn key(return_id: ReturnId) -> NounKey {
    NounKey { kind: NounKind::PeerReturn, id: *return_id.as_bytes() }
}

/// The return of this Goal with that id, or `not_found`.
fn named<'d>(draft: &'d Draft<'_>, return_id: ReturnId) -> Result<&'d PeerReturn> {
    let goal_id = draft.goal_id();
    let given = draft.facts().noun::<PeerReturn>(*return_id.as_bytes())?;
    given.filter(|given| given.goal_id == *goal_id).ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no return {return_id} in {goal_id}"))
            .hint(format!("peer list --goal {goal_id}"))
    })
}

/// What a receipt says of a return as it stands.
fn outcome(draft: &Draft<'_>, return_id: ReturnId) -> Result<Concluded> {
    let given = named(draft, return_id)?;
    let outcome = Outcome {
        todo_ids: vec![given.todo_id.clone()],
        return_id: Some(return_id),
        return_state: Some(given.state.as_str().to_owned()),
        ..Outcome::default()
    };
    Ok((outcome, None))
}

/// The error of a move that the table does not know.
fn no_move(given: &PeerReturn, verb: &str) -> Error {
    let (id, state) = (given.return_id, given.state.as_str());
    Error::new(Code::InvalidTransition, format!("the return {id} {}", stands(state, verb)))
        .detail("return_id", id.to_string())
        .detail("state", state)
        .hint(format!("peer show {id}"))
}
