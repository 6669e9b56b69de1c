//! Owns ownership: claiming, presenting, renewing and handing over; claiming is admitting a Turn.

mod admit;
mod event;
mod next;
mod own;
mod scopes;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use event::Event;
pub use next::{Next, Sighted};
pub use scopes::held_by;

pub(super) use admit::{Admission, admit, admit_next, refusal, taking};
pub(super) use own::{Presented, check, present, rearm_at, renew};
pub(super) use scopes::{conflict, of_claim, wanted as declared_scopes, wanted_in as wanted_scopes};

use super::{Concluded, Draft, Facts, Outcome, Read, Verb, Wanted, gap, quota, reason, replan, todo, turn};
use crate::{
    error::{Code, Error, Result},
    model::{
        Actor, AgentId, Duration, EndpointId, Executor, GoalId, MachineId, OwnId, ReplanRef, ShortText,
        Stopped, TodoId, Workspace,
    },
};

/// What can be asked about an ownership.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Takes a Todo: ownership, Turn and reservation in one commit.
    Claim(Box<Claim>),
    /// Takes what the asker should do now, as the rules decide it in the commit itself.
    Next(Box<Next>),
    /// Keeps it longer.
    Renew {
        /// Which.
        todo_id: TodoId,
        /// The owner's token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<OwnId>,
    },
    /// Lets it go.
    Release {
        /// Which.
        todo_id: TodoId,
        /// The owner's token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<OwnId>,
    },
    /// A person takes it away.
    ForceRelease {
        /// Which.
        todo_id: TodoId,
        /// Why.
        reason: ShortText,
    },
    /// Hands it to another agent, for whom it is reserved for ten minutes.
    Transfer {
        /// Which.
        todo_id: TodoId,
        /// The owner's token, when its owner asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<OwnId>,
        /// To whom.
        to: AgentId,
    },
}

/// A claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Which Todo; where a replan is claimed by its name, the covered one, or the one that it becomes.
    pub todo_id: TodoId,
    /// The replan that is claimed, before it is a Todo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan: Option<ReplanRef>,
    /// Who executes, when a person starts a hosted Turn; an agent claims for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor_of: Option<(AgentId, EndpointId)>,
    /// Who runs the executor.
    pub executor: Executor,
    /// The driver's machine, for a hosted Turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<MachineId>,
    /// How long it keeps others out without renewal: 45 minutes unless said, at most 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<Duration>,
    /// Where it writes; the Goal's workspace unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
}

impl Claim {
    /// An attached claim of a replan by its name.
    pub fn replanning(replan: ReplanRef) -> Self {
        let claim = Self::attached(replan.claimed());
        Self { replan: Some(replan), ..claim }
    }

    /// A claim of an agent that came by itself, on the usual terms.
    pub fn attached(todo_id: TodoId) -> Self {
        Self {
            todo_id,
            replan: None,
            executor_of: None,
            executor: Executor::Attached,
            machine_id: None,
            ttl_ms: None,
            workspace: None,
        }
    }
}

/// How long an ownership lasts unless said.
pub const TTL_DEFAULT: Duration = Duration::from_mins(45);
/// How long it lasts at most.
pub const TTL_MAX: Duration = Duration::from_mins(24 * 60);
/// How long it lasts at least.
const TTL_MIN: Duration = Duration::from_secs(1);
/// How long a transfer reserves a Todo.
const RESERVED_FOR: Duration = Duration::from_mins(10);

impl Command {
    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Claim(claim) => match claim.executor {
                Executor::Attached => Verb::TodoClaim,
                Executor::Hosted | Executor::Managed => Verb::TurnRun,
            },
            Self::Next(_) => Verb::TodoClaim,
            Self::Renew { .. } => Verb::TodoRenew,
            Self::Release { .. } => Verb::TodoRelease,
            Self::ForceRelease { .. } => Verb::TodoForceRelease,
            Self::Transfer { .. } => Verb::TodoTransfer,
        }
    }

    pub(super) fn reads(&self, goal: &GoalId, actor: &Actor, wanted: &mut Wanted<'_>) {
        match self {
            Self::Claim(claim) => {
                wanted.want(Read::Todo(claim.todo_id.clone()));
                if let Some((agent, _)) = executor(claim, actor) {
                    claim_reads(goal, &agent, claim, wanted);
                }
            }
            Self::Next(next) => next.reads(goal, actor, wanted),
            Self::Renew { todo_id, .. } | Self::Release { todo_id, .. } => owner_reads(todo_id, wanted),
            Self::ForceRelease { todo_id, .. } => {
                wanted.want(Read::Todo(todo_id.clone()));
                turn::asked_reads(|turn| turn.todo_id() == Some(todo_id), wanted);
            }
            Self::Transfer { todo_id, to, .. } => {
                owner_reads(todo_id, wanted);
                wanted.want(Read::Agent(goal.clone(), to.clone()));
            }
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        match self {
            Self::Claim(claim) => {
                let Some((agent_id, endpoint)) = executor(claim, draft.actor()) else {
                    return Err(Error::new(
                        Code::InvalidArgument,
                        "a hosted Turn names the agent that it runs for",
                    ));
                };
                admit(
                    draft,
                    &Admission {
                        todo_id: claim.todo_id.clone(),
                        replan: claim.replan.clone(),
                        agent_id,
                        endpoint,
                        executor: claim.executor,
                        machine_id: claim.machine_id.clone(),
                        ttl_ms: checked_ttl(claim.ttl_ms)?,
                        workspace: claim.workspace.clone(),
                    },
                )
            }
            Self::Next(next) => next.decide(draft),
            Self::Renew { todo_id, own_id } => {
                todo::named(draft, todo_id)?;
                match present(draft, todo_id, *own_id)? {
                    Presented::Current => {}
                    Presented::ScopesTaken(outcome) => return Ok((*outcome, Some(Code::OwnershipExpired))),
                }
                renew(draft, todo_id)?;
                Ok((owned(draft, todo_id)?, None))
            }
            Self::Release { todo_id, own_id } => {
                todo::named(draft, todo_id)?;
                if let Presented::ScopesTaken(outcome) = present(draft, todo_id, *own_id)? {
                    return Ok((*outcome, Some(Code::OwnershipExpired)));
                }
                let_go(draft, todo_id, Stopped::Released, None)
            }
            Self::ForceRelease { todo_id, reason } => {
                let_go(draft, todo_id, Stopped::ForceReleased, Some(reason))
            }
            Self::Transfer { todo_id, own_id, to } => transfer(draft, todo_id, *own_id, to),
        }
    }
}

/// For whom a claim executes: a person's claim says so, an agent's is its own.
fn executor(claim: &Claim, actor: &Actor) -> Option<(AgentId, EndpointId)> {
    match actor {
        Actor::Agent(agent, endpoint) => Some((agent.clone(), endpoint.clone())),
        Actor::User(_) | Actor::Host(_) | Actor::System => claim.executor_of.clone(),
    }
}

fn checked_ttl(ttl_ms: Option<Duration>) -> Result<Duration> {
    let ttl_ms = ttl_ms.unwrap_or(TTL_DEFAULT);
    if (TTL_MIN..=TTL_MAX).contains(&ttl_ms) {
        return Ok(ttl_ms);
    }
    Err(Error::new(Code::InvalidArgument, "an ownership lasts between 1 second and 24 hours"))
}

/// Whether a claim of a Todo by an agent would be accepted now.
///
/// Errors: those of the claim; `gate_blocked` for an approval that the claim itself would ask for.
pub fn admissible(facts: &Facts, claim: &Claim, agent_id: &AgentId, endpoint: &EndpointId) -> Result<()> {
    admit::may_admit(
        facts,
        &Admission {
            todo_id: claim.todo_id.clone(),
            replan: claim.replan.clone(),
            agent_id: agent_id.clone(),
            endpoint: endpoint.clone(),
            executor: claim.executor,
            machine_id: claim.machine_id.clone(),
            ttl_ms: checked_ttl(claim.ttl_ms)?,
            workspace: claim.workspace.clone(),
        },
    )
}

/// What [`admissible`] must read that is not loaded yet.
pub fn admissible_reads(claim: &Claim, agent_id: &AgentId, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    let goal = claim.todo_id.goal();
    wanted.want(Read::Goal(goal.clone()));
    wanted.want(Read::Todo(claim.todo_id.clone()));
    claim_reads(goal, agent_id, claim, &mut wanted);
    wanted.missing
}

/// Asks for what the admission by a claim looks at.
fn claim_reads(goal: &GoalId, agent: &AgentId, claim: &Claim, wanted: &mut Wanted<'_>) {
    admission_reads(goal, agent, &claim.todo_id, claim.workspace.as_ref(), wanted);
    if claim.replan.as_ref().is_some_and(|of| of.covered().is_none()) {
        gap::offer_reads(goal, agent, claim.workspace.as_ref(), wanted);
    }
}

/// Asks for what an admission of an agent to a Todo looks at.
pub(super) fn admission_reads(
    goal: &GoalId,
    agent: &AgentId,
    todo_id: &TodoId,
    workspace: Option<&Workspace>,
    wanted: &mut Wanted<'_>,
) {
    going_on_reads(goal, agent, todo_id, workspace, wanted);
    turn::asked_reads(
        |turn| turn.goal_id == *goal && (turn.agent_id == *agent || turn.todo_id() == Some(todo_id)),
        wanted,
    );
}

/// The same for who goes on with its own Todo: that ends nobody's Turn, so what others' results wait for is not looked at.
pub(super) fn going_on_reads(
    goal: &GoalId,
    agent: &AgentId,
    todo_id: &TodoId,
    workspace: Option<&Workspace>,
    wanted: &mut Wanted<'_>,
) {
    wanted.want(Read::Agent(goal.clone(), agent.clone()));
    wanted.want(Read::AgentTurns(goal.clone(), agent.clone()));
    quota::reads(goal, agent, wanted);
    if let Some(todo) = wanted.rows().todos.get(todo_id) {
        reason::reads(todo, agent, workspace, wanted);
        replan::want(todo_id, wanted);
    }
}

/// Asks for what an owner's command looks at: the Todo, its Turn, and who else writes where it does.
pub(super) fn owner_reads(todo_id: &TodoId, wanted: &mut Wanted<'_>) {
    wanted.want(Read::Todo(todo_id.clone()));
    turn::asked_reads(|turn| turn.todo_id() == Some(todo_id), wanted);
    let own = wanted.rows().todos.get(todo_id).and_then(|todo| todo.ownership.as_ref());
    if let Some(own) = own.filter(|own| wanted.facts.is_expired(own)) {
        // It is armed again only while its agent executes nothing else.
        wanted.want(Read::AgentTurns(todo_id.goal().clone(), own.agent_id.clone()));
    }
    let workspace = own.filter(|own| !own.scopes.is_empty()).and_then(|own| own.workspace.clone());
    if let Some(workspace) = workspace {
        wanted.want(Read::Writers(workspace.tree()));
    }
}

/// What a receipt says of an ownership as it stands.
pub(super) fn owned(draft: &Draft<'_>, todo_id: &TodoId) -> Result<Outcome> {
    let own = todo::named(draft, todo_id)?.ownership.as_ref();
    Ok(Outcome {
        todo_ids: vec![todo_id.clone()],
        own_id: own.map(|own| own.own_id),
        expires_at_ms: own.map(|own| own.expires_at),
        turn_id: own.map(|own| own.turn_id),
        ..Outcome::default()
    })
}

fn let_go(
    draft: &mut Draft<'_>,
    todo_id: &TodoId,
    why: Stopped,
    reason: Option<&ShortText>,
) -> Result<Concluded> {
    let Some(turn_id) = todo::named(draft, todo_id)?.turn_id else {
        return Err(Error::new(Code::InvalidTransition, format!("nobody owns the Todo {todo_id}"))
            .hint(format!("todo show {todo_id}")));
    };
    turn::clear_for(draft, turn_id, why, reason)?;
    Ok((turn::outcome(draft, turn_id)?, None))
}

fn transfer(
    draft: &mut Draft<'_>,
    todo_id: &TodoId,
    own_id: Option<OwnId>,
    to: &AgentId,
) -> Result<Concluded> {
    todo::named(draft, todo_id)?;
    super::agent::registered(draft.facts(), &(draft.goal_id().clone(), to.clone()))?;
    if draft.actor().agent().is_some()
        && let Presented::ScopesTaken(outcome) = present(draft, todo_id, own_id)?
    {
        return Ok((*outcome, Some(Code::OwnershipExpired)));
    }
    let todo = todo::named(draft, todo_id)?;
    if todo.excluded_agents.contains(to) {
        return Err(Error::new(Code::InvalidArgument, format!("the agent {to} is excluded from {todo_id}")));
    }
    if !todo.is_live() || !todo.kind.is_executable() {
        return Err(Error::new(
            Code::InvalidTransition,
            format!("the Todo {todo_id} cannot be handed to an agent"),
        )
        .hint(format!("todo show {todo_id}")));
    }
    let mut outcome = Outcome { todo_ids: vec![todo_id.clone()], ..Outcome::default() };
    if let Some(turn_id) = todo.turn_id {
        turn::clear(draft, turn_id, Stopped::Transferred)?;
        outcome = turn::outcome(draft, turn_id)?;
    }
    let until = draft.now().plus(RESERVED_FOR);
    draft.emit(Event::Reserved { todo_id: todo_id.clone(), agent_id: to.clone(), until })?;
    Ok((outcome, None))
}
