//! Owns the one reason for which an agent may or may not take a Todo now.
//!
//! Total: every Todo has exactly one, the first that holds. A claim maps it to its codes, `next` to its answer,
//! status to what a Goal waits for.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Covered, Facts, Read, Wanted, claim, effect, gap, replan, seeded, turn};
use crate::{
    error::{Code, Error, Result},
    model::{
        AgentId, Blocks, Cause, Covering, EffectId, GateState, Goal, Key, Label, OwnId, ReplanCause,
        Timestamp, Todo, TodoId, TodoKind, TodoState, Turn, TurnId, TurnState, Wake, Workspace,
    },
};

/// For whom a reason is asked.
#[derive(Debug, Clone)]
pub struct Viewer<'a> {
    /// The agent.
    pub agent_id: &'a AgentId,
    /// What it can do.
    pub capabilities: BTreeSet<Label>,
    /// The token it holds, if it presents one.
    pub own_id: Option<OwnId>,
    /// Where it would write, if that is known.
    pub workspace: Option<&'a Workspace>,
}

/// Why a Todo can, or cannot, be taken now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A person has to do something.
    User(UserWhy),
    /// Something has to come true; the moment, if it is one.
    Time(Option<Timestamp>),
    /// What was done is not known.
    Unresolved(UnresolvedBy),
    /// Its result is held.
    Held(TurnId, BTreeSet<Cause>),
    /// The viewer executes it.
    Mine(TurnId),
    /// Somebody else keeps it, until then.
    Peer {
        /// Who.
        by: PeerBy,
        /// Until when.
        until: Timestamp,
    },
    /// Its plan has to change.
    Replan(Covered),
    /// It waits for other Todos.
    Deps,
    /// A gate blocks it.
    Gate,
    /// Nobody approved what it needs; a claim opens the gate.
    Approval(Vec<Key>),
    /// The viewer lacks a capability.
    Capability,
    /// It can be taken.
    Claimable,
}

/// What a person has to do about a Todo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UserWhy {
    /// It is done or cancelled; only reopening changes that.
    Ended,
    /// It is blocked.
    Blocked,
    /// It is paused.
    Hold,
    /// It is a person's work.
    Action,
    /// It is a blocker, to be resolved.
    Blocker,
    /// The viewer is excluded.
    Excluded,
    /// It is a replan, and Turns on it failed.
    ReplanFailed,
}

impl UserWhy {
    /// The stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Blocked => "blocked",
            Self::Hold => "hold",
            Self::Action => "action",
            Self::Blocker => "blocker",
            Self::Excluded => "excluded",
            Self::ReplanFailed => "replan_failed",
        }
    }
}

/// What it is of which nobody knows what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum UnresolvedBy {
    /// A Turn.
    #[serde(rename = "turn_id")]
    Turn(TurnId),
    /// An outside effect.
    #[serde(rename = "effect_id")]
    Effect(EffectId),
}

/// Who keeps a Todo from the viewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerBy {
    /// Its owner.
    Owner(AgentId),
    /// A transfer to another agent.
    Reserved(AgentId),
    /// The owner of a Todo with an overlapping write scope.
    Scope(TodoId),
}

impl Reason {
    /// The stable name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Time(_) => "time",
            Self::Unresolved(_) => "unresolved",
            Self::Held(..) => Code::Held.as_str(),
            Self::Mine(_) => "mine",
            Self::Peer { .. } => "peer",
            Self::Replan(_) => "replan",
            Self::Deps => "deps",
            Self::Gate | Self::Approval(_) => "gate",
            Self::Capability => "capability",
            Self::Claimable => "claimable",
        }
    }
}

/// What [`reason`] must read of some Todos that is not loaded yet, for a viewer; asked at most twice.
pub fn reason_reads<'i>(
    todos: impl IntoIterator<Item = &'i TodoId>,
    viewer: &Viewer<'_>,
    facts: &Facts,
) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    for todo_id in todos {
        wanted.want(Read::Goal(todo_id.goal().clone()));
        match wanted.rows().todos.get(todo_id) {
            Some(todo) => reads(todo, viewer.agent_id, viewer.workspace, &mut wanted),
            None => wanted.want(Read::Todo(todo_id.clone())),
        }
    }
    wanted.missing
}

/// Asks for what [`reason`] looks at, beside the Todo and its Turn, once the Goal is known.
///
/// Invariant: the one list of it; whoever asks for a reason asks for this.
pub(super) fn reads(todo: &Todo, agent: &AgentId, workspace: Option<&Workspace>, wanted: &mut Wanted<'_>) {
    let goal_id = todo.todo_id.goal();
    let Some(goal) = wanted.rows().goals.get(goal_id) else { return };
    kept_reads(todo, agent, wanted);
    let writes = !claim::declared_scopes(goal, todo).is_empty();
    if let Some(workspace) = workspace.or(goal.workspace.as_ref()).filter(|_| writes) {
        wanted.want(Read::Writers(workspace.tree()));
    }
    if !needed_approvals(goal, todo).is_empty() {
        wanted.want(Read::Approvals(goal_id.clone()));
    }
    effect::want(todo, wanted);
}

/// Asks for what [`kept_from`] looks at, beside the Todo and its Turn.
pub(super) fn kept_reads(todo: &Todo, agent: &AgentId, wanted: &mut Wanted<'_>) {
    if let Some(reviewed) = &todo.reviews {
        wanted.want(Read::Author(reviewed.clone()));
        wanted.want_agent_turns(todo.todo_id.goal(), agent);
    }
    // What holds its Turn is part of the answer.
    let turn = todo.turn_id.and_then(|turn_id| wanted.rows().turns.get(&turn_id));
    if let Some(turn) = turn.filter(|turn| matches!(turn.state, TurnState::Held { .. })) {
        turn::want_causes(turn, wanted);
    }
}

/// Finds the one reason of a Todo for a viewer.
pub fn reason(facts: &Facts, todo: &Todo, viewer: &Viewer<'_>) -> Result<Reason> {
    if let Some(why) = persons(facts, todo, viewer)? {
        return Ok(Reason::User(why));
    }
    if let Some(wait) = timed(facts, todo) {
        return Ok(wait);
    }
    if let Some(reason) = of_turn(facts, todo, viewer)? {
        return Ok(reason);
    }
    if let Some(reason) = of_scopes(facts, todo, viewer)? {
        return Ok(reason);
    }
    if let Some(covered) = replan::covered(facts, todo) {
        return of_replan(facts, todo, covered, viewer);
    }
    if todo.counters.unmet > 0 {
        return Ok(Reason::Deps);
    }
    let goal = facts.goal(todo.todo_id.goal())?.ok_or_else(|| Error::from(Code::Internal))?;
    if goal.goal_gates > 0 || todo.counters.blocking_gates > 0 {
        return Ok(Reason::Gate);
    }
    let missing = missing_approvals(facts, todo)?;
    if !missing.is_empty() {
        return Ok(Reason::Approval(missing));
    }
    // Scopes without a work tree cannot be written by this viewer.
    let has_tree = claim::of_claim(goal, todo, viewer.workspace).is_ok();
    if !has_tree || !todo.requires.capabilities.is_subset(&viewer.capabilities) {
        return Ok(Reason::Capability);
    }
    Ok(match gap::derived(goal, todo) {
        Some(of) => Reason::Replan(Covered::Derived(of.clone())),
        None => Reason::Claimable,
    })
}

/// Who keeps a Todo from the viewer, whatever else is open about it: a person, its live Turn, a transfer or a replan.
///
/// Invariant: it looks at each of them itself. [`reason`] names what comes first, and a moment or an effect that does
/// hides whoever keeps the Todo.
pub(super) fn kept_from(facts: &Facts, todo: &Todo, viewer: &Viewer<'_>) -> Result<Option<Reason>> {
    if let Some(why) = persons(facts, todo, viewer)? {
        return Ok(Some(Reason::User(why)));
    }
    if let Some(reason) = of_holder(facts, todo, viewer)? {
        return Ok(Some(reason));
    }
    Ok(replan::covered(facts, todo).map(Reason::Replan))
}

/// What a person has to do about a Todo before any agent can take it, whoever asks; none where nothing is.
pub fn waits_for_person(todo: &Todo) -> Option<UserWhy> {
    anybodys(todo)
}

/// What is lost, and stands although a replan was made for it: a person's to change.
pub fn consumed(facts: &Facts, todo: &Todo) -> Option<ReplanCause> {
    match replan::covered(facts, todo).filter(|_| todo.is_live()) {
        Some(Covered::Consumed(cause)) => Some(cause),
        Some(Covered::Derived(_) | Covered::By(_)) | None => None,
    }
}

/// What stands in the way of a replan that is only derived, or that it can be claimed by its name.
fn of_replan(facts: &Facts, todo: &Todo, covered: Covered, viewer: &Viewer<'_>) -> Result<Reason> {
    let Covered::Derived(of) = &covered else { return Ok(Reason::Replan(covered)) };
    let goal = facts.goal(todo.todo_id.goal())?.ok_or_else(|| Error::from(Code::Internal))?;
    let offered = replan::offered(goal, Some(todo), of, facts.now())?;
    Ok(match reason(facts, &offered, viewer)? {
        Reason::Claimable => Reason::Replan(covered),
        other => other,
    })
}

/// What a person has to do before all else, whoever asks.
fn anybodys(todo: &Todo) -> Option<UserWhy> {
    match (&todo.state, todo.kind) {
        (TodoState::Done { .. } | TodoState::Cancelled { .. }, _) => Some(UserWhy::Ended),
        (TodoState::Blocked { .. }, _) => Some(UserWhy::Blocked),
        (TodoState::Open | TodoState::Deferred { .. }, TodoKind::Action) => Some(UserWhy::Action),
        (TodoState::Open | TodoState::Deferred { .. }, TodoKind::Blocker) => Some(UserWhy::Blocker),
        (
            TodoState::Open | TodoState::Deferred { .. },
            TodoKind::Advance | TodoKind::Monitor | TodoKind::Replan,
        ) if todo.hold => Some(UserWhy::Hold),
        (
            TodoState::Open | TodoState::Deferred { .. },
            TodoKind::Advance | TodoKind::Monitor | TodoKind::Replan,
        ) => {
            let failed = todo.covering.as_ref().map_or(0, |covering| covering.failed);
            (failed >= Covering::FAILED_MAX).then_some(UserWhy::ReplanFailed)
        }
    }
}

fn persons(facts: &Facts, todo: &Todo, viewer: &Viewer<'_>) -> Result<Option<UserWhy>> {
    if let Some(why) = anybodys(todo) {
        return Ok(Some(why));
    }
    let excluded = todo.excluded_agents.contains(viewer.agent_id) || reviews_itself(facts, todo, viewer)?;
    Ok(excluded.then_some(UserWhy::Excluded))
}

/// Whether the viewer is the author of what the Todo reviews: it works on that, or was the last who did.
fn reviews_itself(facts: &Facts, todo: &Todo, viewer: &Viewer<'_>) -> Result<bool> {
    let Some(reviewed) = &todo.reviews else { return Ok(false) };
    if facts.author(reviewed)? == Some(viewer.agent_id) {
        return Ok(true);
    }
    works_on_reviewed(facts, todo, viewer)
}

/// Whether the viewer's own Turn on what the Todo reviews has not ended: its result waits there to be accepted.
pub(super) fn works_on_reviewed(facts: &Facts, todo: &Todo, viewer: &Viewer<'_>) -> Result<bool> {
    let turns = facts.agent_turns(todo.todo_id.goal(), viewer.agent_id)?;
    Ok(turns.iter().any(|turn| turn.todo_id().is_some() && turn.todo_id() == todo.reviews.as_ref()))
}

/// The reason of what waits in time: for a moment, or for what may come true at any.
fn timed(facts: &Facts, todo: &Todo) -> Option<Reason> {
    if let TodoState::Deferred { wake } = &todo.state
        && !facts.is_awake(wake, todo)
    {
        return match wake {
            Wake::TodoDone(_) | Wake::Gate(_) if todo.counters.wake_lost => None,
            Wake::TodoDone(_) | Wake::Gate(_) => Some(Reason::Time(None)),
            Wake::After(at) => Some(Reason::Time(Some(*at))),
        };
    }
    let monitor = todo.monitor.as_ref().filter(|_| todo.turn_id.is_none())?;
    let due = monitor.due_at()?;
    (due > facts.now()).then_some(Reason::Time(Some(due)))
}

fn of_turn(facts: &Facts, todo: &Todo, viewer: &Viewer<'_>) -> Result<Option<Reason>> {
    let live = facts.live_turn(todo)?;
    let is_unresolved = live.is_some_and(|turn| matches!(turn.state, TurnState::Unresolved { .. }));
    let passed = is_unresolved || seeded!(ClaimsPastEffects);
    if let (false, Some(effect_id)) = (passed, todo.blocking_effects.first()) {
        return Ok(Some(Reason::Unresolved(UnresolvedBy::Effect(*effect_id))));
    }
    of_holder(facts, todo, viewer)
}

/// The reason of a live Turn, else of a transfer.
fn of_holder(facts: &Facts, todo: &Todo, viewer: &Viewer<'_>) -> Result<Option<Reason>> {
    if let Some(turn) = facts.live_turn(todo)? {
        return of_live(facts, todo, turn, viewer);
    }
    if todo.turn_id.is_some() {
        return Err(Error::from(Code::Internal).internal("a Todo names a Turn that is not there"));
    }
    Ok(todo.reserved.as_ref().filter(|r| r.agent_id != *viewer.agent_id && r.until > facts.now()).map(
        |reserved| Reason::Peer { by: PeerBy::Reserved(reserved.agent_id.clone()), until: reserved.until },
    ))
}

fn of_live(facts: &Facts, todo: &Todo, turn: &Turn, viewer: &Viewer<'_>) -> Result<Option<Reason>> {
    match turn.state {
        TurnState::Unresolved { .. } => {
            return Ok(Some(Reason::Unresolved(UnresolvedBy::Turn(turn.turn_id))));
        }
        TurnState::Held { .. } if seeded!(FailsOnHeld) => return Err(Error::from(Code::Internal)),
        TurnState::Held { .. } => return Ok(Some(Reason::Held(turn.turn_id, turn::causes(facts, turn)?))),
        TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate => {}
        TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => {
            return Err(Error::from(Code::Internal).internal("a Todo names a Turn that has ended"));
        }
    }
    let Some(own) = &todo.ownership else {
        return Err(Error::from(Code::Internal).internal("a Turn executes without an ownership"));
    };
    let presented = viewer.own_id == Some(own.own_id);
    if turn.agent_id == *viewer.agent_id && (presented || !facts.is_expired(own)) {
        return Ok(Some(Reason::Mine(turn.turn_id)));
    }
    if facts.is_expired(own) || seeded!(ClaimsFromAnOwner) {
        return Ok(None);
    }
    Ok(Some(Reason::Peer { by: PeerBy::Owner(own.agent_id.clone()), until: own.expires_at }))
}

fn of_scopes(facts: &Facts, todo: &Todo, viewer: &Viewer<'_>) -> Result<Option<Reason>> {
    let goal = facts.goal(todo.todo_id.goal())?.ok_or_else(|| Error::from(Code::Internal))?;
    let workspace = viewer.workspace.or(goal.workspace.as_ref());
    let scopes = claim::wanted_scopes(goal, todo, workspace)?;
    let Some(other) = claim::conflict(facts, &todo.todo_id, workspace, &scopes)? else { return Ok(None) };
    let Some(turn) = facts.live_turn(other)? else { return Ok(None) };
    let until = other.ownership.as_ref().map_or(facts.now(), |own| own.expires_at);
    Ok(Some(match turn.state {
        TurnState::Unresolved { .. } => Reason::Unresolved(UnresolvedBy::Turn(turn.turn_id)),
        // The causes of a foreign Turn are its own Goal's to tell.
        TurnState::Held { .. } => Reason::Held(turn.turn_id, BTreeSet::new()),
        TurnState::Admitted
        | TurnState::Dispatched
        | TurnState::Candidate
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => Reason::Peer { by: PeerBy::Scope(other.todo_id.clone()), until },
    }))
}

/// The keys a Todo uses that need an approval.
fn needed_approvals(goal: &Goal, todo: &Todo) -> Vec<Key> {
    let needs = |key: &Key| goal.boundary.needs_approval.iter().any(|need| need.matches(key));
    todo.requires.keys().into_iter().filter(needs).collect()
}

/// Of those, the ones nobody gave.
fn missing_approvals(facts: &Facts, todo: &Todo) -> Result<Vec<Key>> {
    let goal_id = todo.todo_id.goal();
    let goal = facts.goal(goal_id)?.ok_or_else(|| Error::from(Code::Internal))?;
    let needed = needed_approvals(goal, todo);
    if needed.is_empty() {
        return Ok(needed);
    }
    facts.asked(&Read::Approvals(goal_id.clone()))?;
    let covers = |key: &Key| {
        facts.rows().gates.values().any(|gate| {
            // A standing approval covers later work too, and nothing once it has expired.
            let counts = match (gate.standing_until, &gate.blocks) {
                (Some(until), _) => until > facts.now(),
                (None, Blocks::Todos(ids)) => ids.contains(&todo.todo_id),
                (None, Blocks::Goal) => false,
            };
            // An approval covers exactly its scope: one below a path approves nothing above it.
            let exact = match (&gate.scope, key) {
                (Some(Key::Path(approved)), Key::Path(wanted)) => approved.contains(wanted),
                (scope, _) => scope.as_ref() == Some(key),
            };
            gate.goal_id == *goal_id && exact && matches!(gate.state, GateState::Approved { .. }) && counts
        })
    };
    Ok(needed.into_iter().filter(|key| !covers(key)).collect())
}
