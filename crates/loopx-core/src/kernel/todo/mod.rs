//! Owns the Todo's commands and when each is accepted.

mod add;
mod complete;
mod event;
mod links;
mod moves;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use add::NewTodo;
pub(super) use add::{add, check_coordinator, check_wake, update, wake_reads};
pub(super) use complete::{check_continuation, complete, continuation_reads, finish};
pub use event::Event;
pub(super) use links::{link, unlink};
pub(super) use moves::{cancel, settle_wake};

use super::{Concluded, Draft, IdList, Outcome, Read, Verb, Wanted, claim, replan, stands, turn};
use crate::{
    error::{Code, Error, Result},
    model::{
        Actor, AgentId, Continuation, EvidenceId, GoalId, GoalState, OwnId, Priority, RequiresChange,
        ShortText, Text, Title, Todo, TodoId, TodoKind, TodoState, Validator, Wake,
    },
};

/// What can be asked about a Todo by people and agents, beside owning it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Adds one.
    Add(Box<NewTodo>),
    /// Changes what is given.
    Update {
        /// Which.
        todo_id: TodoId,
        /// What.
        change: Box<Change>,
    },
    /// Makes it wait for another.
    Link {
        /// Which.
        todo_id: TodoId,
        /// The other.
        depends_on: TodoId,
    },
    /// Lets it no longer wait for another.
    Unlink {
        /// Which.
        todo_id: TodoId,
        /// The other.
        depends_on: TodoId,
    },
    /// Puts it off.
    Defer {
        /// Which.
        todo_id: TodoId,
        /// The owner's token, when its owner asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<OwnId>,
        /// Until when, or for what.
        wake: Wake,
    },
    /// Says that something is in its way.
    Block {
        /// Which.
        todo_id: TodoId,
        /// The owner's token, when its owner asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<OwnId>,
        /// What.
        reason: ShortText,
    },
    /// Says that nothing is in its way any more; also ends a deferral.
    Unblock {
        /// Which.
        todo_id: TodoId,
    },
    /// Pauses it.
    Hold {
        /// Which.
        todo_id: TodoId,
    },
    /// Ends the pause.
    Unhold {
        /// Which.
        todo_id: TodoId,
    },
    /// Says that a blocker is gone.
    Resolve {
        /// Which.
        todo_id: TodoId,
        /// What shows it; an agent must give some.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<EvidenceId>,
    },
    /// Drops it.
    Cancel {
        /// Which.
        todo_id: TodoId,
        /// Why.
        reason: ShortText,
        /// What takes its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        superseded_by: Option<TodoId>,
    },
    /// Takes back that it was done or dropped.
    Reopen {
        /// Which.
        todo_id: TodoId,
    },
    /// A person did it.
    Complete {
        /// Which.
        todo_id: TodoId,
        /// What follows.
        #[serde(default, skip_serializing_if = "Continuation::is_default")]
        continuation: Continuation,
        /// Why validators that did not run are let go.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waive: Option<ShortText>,
    },
}

/// What may change in a Todo; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// The detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Text>,
    /// The priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// What it requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<RequiresChange>,
    /// Who may not take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded_agents: Option<BTreeSet<AgentId>>,
    /// What proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validators: Option<Vec<Validator>>,
    /// Whom it returns to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<Coordinator>,
}

/// Whom a Todo returns its result to, where that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Coordinator {
    /// This coordinator.
    Todo(TodoId),
    /// Nobody.
    Nobody,
}

impl Coordinator {
    /// The Todo, if it is one.
    pub const fn todo_id(&self) -> Option<&TodoId> {
        match self {
            Self::Todo(todo_id) => Some(todo_id),
            Self::Nobody => None,
        }
    }
}

impl Command {
    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Add(_) => Verb::TodoAdd,
            Self::Update { .. } => Verb::TodoUpdate,
            Self::Link { .. } => Verb::TodoLink,
            Self::Unlink { .. } => Verb::TodoUnlink,
            Self::Defer { .. } => Verb::TodoDefer,
            Self::Block { .. } => Verb::TodoBlock,
            Self::Unblock { .. } => Verb::TodoUnblock,
            Self::Hold { .. } => Verb::TodoHold,
            Self::Unhold { .. } => Verb::TodoUnhold,
            Self::Resolve { .. } => Verb::TodoResolve,
            Self::Cancel { .. } => Verb::TodoCancel,
            Self::Reopen { .. } => Verb::TodoReopen,
            Self::Complete { waive: None, .. } => Verb::TodoComplete,
            Self::Complete { waive: Some(_), .. } => Verb::TodoWaive,
        }
    }

    pub(super) fn reads(&self, _goal: &GoalId, wanted: &mut Wanted<'_>) {
        match self {
            Self::Add(new) => add::reads(new, wanted),
            Self::Link { todo_id, depends_on } => {
                wanted.want(Read::Todo(todo_id.clone()));
                wanted.want(Read::Todo(depends_on.clone()));
                wanted.want(Read::Ancestors(depends_on.clone()));
                replan::want(todo_id, wanted);
            }
            Self::Unlink { todo_id, depends_on } => {
                wanted.want(Read::Todo(todo_id.clone()));
                wanted.want(Read::Todo(depends_on.clone()));
                replan::want(todo_id, wanted);
            }
            Self::Defer { todo_id, wake, .. } => {
                claim::owner_reads(todo_id, wanted);
                wake_reads(wake, wanted);
            }
            Self::Block { todo_id, .. } => claim::owner_reads(todo_id, wanted),
            Self::Update { todo_id, change } => {
                wanted.want(Read::Todo(todo_id.clone()));
                replan::want(todo_id, wanted);
                if change.detail.is_none() {
                    // What stays counts towards the size of the whole.
                    wanted.want(Read::Text(todo_id.clone()));
                }
                if let Some(coordinator) = change.coordinates.as_ref().and_then(Coordinator::todo_id) {
                    wanted.want(Read::Todo(coordinator.clone()));
                }
            }
            Self::Unblock { todo_id } | Self::Hold { todo_id } | Self::Unhold { todo_id } => {
                wanted.want(Read::Todo(todo_id.clone()));
            }
            Self::Resolve { todo_id, evidence } => {
                wanted.want(Read::Todo(todo_id.clone()));
                for id in evidence {
                    wanted.want(Read::Evidence(*id));
                }
            }
            Self::Cancel { todo_id, superseded_by, .. } => {
                wanted.want(Read::Todo(todo_id.clone()));
                replan::want(todo_id, wanted);
                turn::asked_reads(|turn| turn.todo_id() == Some(todo_id), wanted);
                if let Some(other) = superseded_by {
                    wanted.want(Read::Todo(other.clone()));
                }
            }
            Self::Reopen { todo_id } => {
                wanted.want(Read::Todo(todo_id.clone()));
                wanted.want(Read::DoneDependants(todo_id.clone()));
                let cancelled = |todo: &Todo| matches!(todo.state, TodoState::Cancelled { .. });
                if wanted.rows().todos.get(todo_id).is_some_and(cancelled) {
                    wanted.want(Read::Ancestors(todo_id.clone()));
                }
            }
            Self::Complete { todo_id, continuation, .. } => complete::reads(todo_id, continuation, wanted),
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        match self {
            Self::Add(new) => {
                let todo_id = add(draft, new)?;
                let outcome = Outcome { created: Some(true), todo_ids: vec![todo_id], ..Outcome::default() };
                return Ok((outcome, None));
            }
            Self::Update { todo_id, change } => update(draft, todo_id, change)?,
            Self::Link { todo_id, depends_on } => link(draft, todo_id, depends_on)?,
            Self::Unlink { todo_id, depends_on } => unlink(draft, todo_id, depends_on)?,
            Self::Defer { todo_id, own_id, wake } => {
                if let Some(taken) = moves::defer(draft, todo_id, *own_id, wake)? {
                    return Ok((taken, Some(Code::OwnershipExpired)));
                }
            }
            Self::Block { todo_id, own_id, reason } => {
                if let Some(taken) = moves::block(draft, todo_id, *own_id, reason)? {
                    return Ok((taken, Some(Code::OwnershipExpired)));
                }
            }
            Self::Unblock { todo_id } => moves::unblock(draft, todo_id)?,
            Self::Hold { todo_id } => moves::hold(draft, todo_id, true)?,
            Self::Unhold { todo_id } => moves::hold(draft, todo_id, false)?,
            Self::Resolve { todo_id, evidence } => complete::resolve(draft, todo_id, evidence)?,
            Self::Cancel { todo_id, reason, superseded_by } => {
                cancel(draft, todo_id, reason, superseded_by.as_ref())?;
            }
            Self::Reopen { todo_id } => {
                let IdList { ids: affected, count } = moves::reopen(draft, todo_id)?;
                let affected_count = Some(count).filter(|count| affected.len() as u64 != *count);
                let todo_ids = vec![todo_id.clone()];
                return Ok((Outcome { todo_ids, affected, affected_count, ..Outcome::default() }, None));
            }
            Self::Complete { todo_id, continuation, waive } => {
                complete(draft, todo_id, continuation, waive.as_ref())?;
            }
        }
        let todo_ids = self.todo_id().cloned().into_iter().collect();
        Ok((Outcome { todo_ids, ..Outcome::default() }, None))
    }

    fn todo_id(&self) -> Option<&TodoId> {
        match self {
            Self::Add(_) => None,
            Self::Update { todo_id, .. }
            | Self::Link { todo_id, .. }
            | Self::Unlink { todo_id, .. }
            | Self::Defer { todo_id, .. }
            | Self::Block { todo_id, .. }
            | Self::Unblock { todo_id }
            | Self::Hold { todo_id }
            | Self::Unhold { todo_id }
            | Self::Resolve { todo_id, .. }
            | Self::Cancel { todo_id, .. }
            | Self::Reopen { todo_id }
            | Self::Complete { todo_id, .. } => Some(todo_id),
        }
    }
}

/// The Todo of this Goal with that id, or `not_found`; a Todo of another Goal cannot be meant.
pub(super) fn named<'d>(draft: &'d Draft<'_>, todo_id: &TodoId) -> Result<&'d Todo> {
    same_goal(draft, todo_id)?;
    draft.facts().todo(todo_id)?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no Todo {todo_id}"))
            .detail("todo_id", todo_id.to_string())
            .hint(format!("todo list --goal {}", todo_id.goal()))
    })
}

/// A reference from a Goal's row names the same Goal.
pub(super) fn same_goal(draft: &Draft<'_>, todo_id: &TodoId) -> Result<()> {
    if todo_id.goal() == draft.goal_id() {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidArgument,
        format!("the Todo {todo_id} is not of the Goal {}", draft.goal_id()),
    ))
}

/// The error of a move that its table does not know.
fn no_move(todo: &Todo, verb: &str) -> Error {
    let code =
        if todo.is_done() && verb == "complete" { Code::TodoAlreadyDone } else { Code::InvalidTransition };
    let error = Error::new(code, format!("the Todo {} {}", todo.todo_id, stands(todo.state.as_str(), verb)))
        .detail("todo_id", todo.todo_id.to_string())
        .detail("state", todo.state.as_str());
    let reopens = !todo.is_live() && todo.kind != TodoKind::Replan;
    if reopens { error.hint(format!("todo reopen {}", todo.todo_id)) } else { error }
}

/// A write by an agent to a Todo it does not own: it must have made it, and nobody else may ever have owned it.
fn check_maker(draft: &Draft<'_>, todo: &Todo) -> Result<()> {
    let Some((agent, _)) = draft.actor().agent() else { return Ok(()) };
    let made = matches!(&todo.made_by, Actor::Agent(maker, _) if maker == agent);
    if (made && !todo.owned_by_another) || replan::is_owned_by(draft.facts(), todo, agent)? {
        return Ok(());
    }
    Err(Error::new(
        Code::ActorNotAllowed,
        format!(
            "{} may only change Todos it made and nobody else owned; {} is not one",
            draft.actor(),
            todo.todo_id
        ),
    ))
}

/// An agent's plan changes only while its Goal runs, or by its owner of a replan, who was admitted to that: he adds Todos,
/// and changes what it covers.
fn check_plan_open(draft: &Draft<'_>, changed: Option<&Todo>) -> Result<()> {
    let refused = check_open_for_agents(draft);
    let (Err(_), Some((agent, _))) = (&refused, draft.actor().agent()) else { return refused };
    let may = match changed {
        Some(todo) => replan::is_owned_by(draft.facts(), todo, agent)?,
        None => replan::owns_one(draft.facts(), draft.goal_id(), agent)?,
    };
    if may { Ok(()) } else { refused }
}

/// An agent begins nothing while its Goal is stopped.
pub(super) fn check_open_for_agents(draft: &Draft<'_>) -> Result<()> {
    let goal = draft.facts().goal(draft.goal_id())?;
    match goal.map(|goal| &goal.state) {
        Some(GoalState::Stopped) if draft.actor().agent().is_some() => {
            Err(Error::new(Code::GoalStopped, format!("the Goal {} is stopped", draft.goal_id()))
                .hint(format!("goal resume {}", draft.goal_id())))
        }
        Some(GoalState::Active | GoalState::Stopped | GoalState::Closed { .. }) | None => Ok(()),
    }
}
