//! Owns the decision: what an agent should do now, by ordered rules, the first that matches.
//!
//! Pure and total; it writes nothing and never obliges an agent to what an admission would refuse.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    ASKS_MAX, Ask, Covered, Depth, Facts, Read, Reason, Viewer, Wanted,
    asks::{
        Sight, close_asks, goal_gate_asks, held_asks, may_be_told, recover_command, todo_asks, unresolved_ask,
    },
    claim, quota, reason, replan, turn,
};
use crate::{
    error::{Code, Error, Result},
    model::{
        Agent, EndpointId, Goal, GoalId, GoalState, MachineId, ReplanRef, ShortText, Timestamp, Todo, TodoId,
        TodoKind, Turn, TurnId, TurnKind, TurnState,
    },
};

/// Why a Turn of the asker that executes somewhere else makes it wait.
const ELSEWHERE: &str = "turn_elsewhere";

/// For whom a decision is asked, and what the edge saw on its machine.
#[derive(Debug, Clone)]
pub struct Asker<'a> {
    /// The agent.
    pub viewer: Viewer<'a>,
    /// Through which endpoint it would execute.
    pub endpoint: &'a EndpointId,
    /// The machine of the asking edge.
    pub machine_id: Option<&'a MachineId>,
    /// What the driver and guardian locks of this machine say of a Turn; absent: unknown.
    pub seen: BTreeMap<TurnId, Seen>,
    /// Unresolved Turns whose readback was tried as they stand now, and led nowhere.
    pub tried: BTreeSet<TurnId>,
}

impl Asker<'_> {
    /// What frees a held Turn, as is seen from here.
    pub(super) fn held_asks(&self, facts: &Facts, turn: &Turn) -> Result<Vec<Ask>> {
        let driver = |turn_id| self.seen.get(&turn_id).copied();
        let sight = Sight { machine_id: self.machine_id, driver: &driver, tried: &self.tried };
        Ok(held_asks(facts, turn, &sight)?.into_iter().map(|(_, ask)| ask).collect())
    }
}

/// What an edge saw of an executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It lives.
    Alive,
    /// It is gone.
    Gone,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum Action {
    /// Work on a Todo.
    Run {
        /// Which.
        todo_id: TodoId,
        /// Its Turn, when it is the asker's already.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
    },
    /// Work on a Todo whose last result was refused.
    Repair {
        /// Which.
        todo_id: TodoId,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<ShortText>,
    },
    /// Change the plan.
    Replan {
        /// The replan; what it covers, where no claim has written it yet.
        todo_id: TodoId,
        /// The name by which it is claimed then.
        #[serde(skip_serializing_if = "Option::is_none")]
        replan: Option<ReplanRef>,
    },
    /// Find out what became of a Turn.
    Reconcile {
        /// Which.
        turn_id: TurnId,
        /// The command that does.
        command: String,
    },
    /// Wait.
    Wait {
        /// For what.
        why: &'static str,
        /// Until when, if that is known; else for a change.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// A person has to act.
    AskUser {
        /// What each has to do.
        asks: Vec<Ask>,
    },
    /// Nothing more; the Goal is closed.
    Closed,
}

impl Action {
    /// What it obliges the asker to.
    const fn obligation(&self) -> Obligation {
        match self {
            Self::Run { .. } | Self::Repair { .. } | Self::Replan { .. } | Self::Reconcile { .. } => {
                Obligation { must_attempt_work: true }
            }
            Self::Wait { .. } | Self::AskUser { .. } | Self::Closed => {
                Obligation { must_attempt_work: false }
            }
        }
    }

    /// The stable name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Run { .. } => "run",
            Self::Repair { .. } => "repair",
            Self::Replan { .. } => "replan",
            Self::Reconcile { .. } => "reconcile",
            Self::Wait { .. } => "wait",
            Self::AskUser { .. } => "ask_user",
            Self::Closed => "closed",
        }
    }
}

/// What a decision obliges the asker to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Obligation {
    /// Whether it must attempt work; never what an admission would refuse it.
    pub must_attempt_work: bool,
}

/// A decision, the rule that made it, and what else stands around.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// What to do.
    #[serde(flatten)]
    pub action: Action,
    /// What that obliges the asker to.
    pub obligation: Obligation,
    /// The number of the rule that matched.
    pub rule: u8,
    /// How many of the Todos that were looked at have which reason.
    pub also: BTreeMap<&'static str, usize>,
}

/// What a decision must read that is not loaded yet, at one depth.
pub fn next_reads(goal: &GoalId, asker: &Asker<'_>, depth: Depth, facts: &Facts) -> BTreeSet<Read> {
    let agent = asker.viewer.agent_id;
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    wanted.want(Read::Goal(goal.clone()));
    wanted.want(Read::Agent(goal.clone(), agent.clone()));
    wanted.want(Read::LiveTurns(goal.clone()));
    wanted.want(Read::Ready(goal.clone(), agent.clone(), depth));
    if depth == Depth::Whole {
        wanted.want(Read::Live(goal.clone()));
        wanted.want(Read::Unfinished(goal.clone()));
        wanted.want(Read::Gated(goal.clone()));
    }
    wanted.want(Read::GoalGates(goal.clone()));
    quota::reads(goal, agent, &mut wanted);
    let live = |todo: &&Todo| todo.todo_id.goal() == goal && todo.is_live();
    for todo in wanted.rows().todos.values().filter(live) {
        reason::reads(todo, agent, asker.viewer.workspace, &mut wanted);
        if todo.counters.blocking_gates > 0 {
            wanted.want(Read::TodoGates(todo.todo_id.clone()));
        }
    }
    let dropped = wanted.rows().todos.values().filter(live).filter(|todo| todo.counters.cancelled_deps > 0);
    for todo in dropped.take(ASKS_MAX) {
        wanted.want(Read::CancelledDeps(todo.todo_id.clone()));
    }
    turn::asked_reads(|turn| turn.goal_id == *goal, &mut wanted);
    for turn in wanted.rows().turns.values().filter(|turn| turn.goal_id == *goal) {
        turn::want_tree(turn, &mut wanted);
    }
    wanted.missing
}

/// Decides what an agent should do now, by all that any decision looks at.
///
/// Errors: `not_found` for a Goal or an agent that is not there.
pub fn decide_next(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Decided> {
    facts.asked(&Read::Live(goal_id.clone()))?;
    let known = known(facts, goal_id, asker)?;
    if matches!(known.state, GoalState::Closed { .. }) {
        return Ok(decided(1, Action::Closed, BTreeMap::new()));
    }
    let reasons = reasons(facts, goal_id, asker)?;
    let (rule, action) = rules(facts, known, asker, &reasons)?;
    Ok(decided(rule, action, counted(&reasons)))
}

/// Decides by a first page alone; nothing, when what was not loaded could change the answer.
///
/// Invariant: what it decides, [`decide_next`] decides too. Only work to take is decided here: all that comes before
/// it is on the page, and nothing that is not can come before what is ready at any time, or before a monitor.
pub fn decide_first(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Option<Decided>> {
    let known = known(facts, goal_id, asker)?;
    if matches!(known.state, GoalState::Closed { .. }) || ahead(facts, known, asker)?.is_some() {
        return Ok(None);
    }
    let reasons = reasons(facts, goal_id, asker)?;
    let Room { admitted, .. } = room(facts, goal_id, asker, &reasons)?;
    let agent = agent_of(facts, goal_id, asker)?;
    let Some(todo) = best(agent, admitted) else { return Ok(None) };
    let is_certain = match &todo.monitor {
        _ if replan::is_replan(todo) => true,
        Some(_) => agent.is_some_and(|agent| !agent.looked_last),
        None => super::index(todo).ready_at == 0,
    };
    Ok(is_certain.then(|| decided(7, work(facts, todo), counted(&reasons))))
}

fn known<'f>(facts: &'f Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<&'f Goal> {
    let goal = facts
        .goal(goal_id)?
        .ok_or_else(|| Error::new(Code::NotFound, format!("there is no Goal {goal_id}")).hint("goal list"))?;
    if !matches!(goal.state, GoalState::Closed { .. }) {
        super::agent::registered(facts, &(goal_id.clone(), asker.viewer.agent_id.clone()))?;
    }
    Ok(goal)
}

fn decided(rule: u8, action: Action, also: BTreeMap<&'static str, usize>) -> Decided {
    Decided { obligation: action.obligation(), action, rule, also }
}

type Reasons<'f> = Vec<(&'f Todo, Reason)>;

/// The reasons of all live Todos that are loaded.
fn reasons<'f>(facts: &'f Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Reasons<'f>> {
    let live = facts.rows().todos.values().filter(|todo| todo.todo_id.goal() == goal_id && todo.is_live());
    live.map(|todo| Ok((todo, reason(facts, todo, &asker.viewer)?))).collect()
}

fn counted(reasons: &Reasons<'_>) -> BTreeMap<&'static str, usize> {
    let mut also = BTreeMap::new();
    for (_, reason) in reasons {
        *also.entry(reason.name()).or_insert(0) += 1;
    }
    also
}

/// Rules 2 to 5: what comes before any work.
fn ahead(facts: &Facts, goal: &Goal, asker: &Asker<'_>) -> Result<Option<(u8, Action)>> {
    let goal_id = &goal.goal_id;
    if let Some(action) = executing(facts, goal_id, asker)? {
        return Ok(Some((2, action)));
    }
    if let Some(action) = unresolved(facts, goal_id, asker)? {
        return Ok(Some((3, action)));
    }
    if matches!(goal.state, GoalState::Stopped) {
        return Ok(Some((4, Action::Wait { why: Code::GoalStopped.as_str(), until: None })));
    }
    let gated = goal.goal_gates > 0;
    Ok(gated.then(|| (5, Action::AskUser { asks: goal_gate_asks(facts, goal_id) })))
}

/// What could be taken, and whether a slot is left for it.
struct Room<'f> {
    admitted: Vec<&'f Todo>,
    /// Replans that no index offers: they come after all other work.
    lost: Vec<&'f Todo>,
    left: Result<()>,
}

fn room<'f>(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>, reasons: &Reasons<'f>) -> Result<Room<'f>> {
    let agent_id = asker.viewer.agent_id;
    let (mut admitted, mut lost) = (Vec::new(), Vec::new());
    for (todo, reason) in reasons {
        let derived = match reason {
            Reason::Claimable => false,
            Reason::Replan(Covered::Derived(_)) => true,
            _ => continue, // wildcard: nothing else can be taken
        };
        let ends = if derived {
            claim::lapsed_of(facts, goal_id, agent_id)?
        } else {
            claim::would_end(facts, &todo.todo_id, agent_id)?
        };
        match quota::admit(facts, goal_id, agent_id, &ends) {
            Ok(()) if derived && !replan::is_indexed(todo, &asker.viewer.capabilities) => lost.push(*todo),
            Ok(()) => admitted.push(*todo),
            Err(error) if error.code() == Code::QuotaExhausted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Room { admitted, lost, left: quota::admit(facts, goal_id, agent_id, &[]) })
}

fn rules(facts: &Facts, goal: &Goal, asker: &Asker<'_>, reasons: &Reasons<'_>) -> Result<(u8, Action)> {
    let goal_id = &goal.goal_id;
    if let Some(found) = ahead(facts, goal, asker)? {
        return Ok(found);
    }
    let Room { admitted, lost, left } = room(facts, goal_id, asker, reasons)?;
    if let (Err(error), true) = (left, admitted.is_empty() && lost.is_empty()) {
        return Ok((6, no_slot(facts, goal_id, asker, &error)?));
    }
    let agent = agent_of(facts, goal_id, asker)?;
    if let Some(todo) = best(agent, admitted).or_else(|| best(agent, lost)) {
        return Ok((7, work(facts, todo)));
    }
    let asks = asks(facts, asker, reasons)?;
    let earliest =
        |pick: &dyn Fn(&Reason) -> Option<Timestamp>| reasons.iter().filter_map(|(_, r)| pick(r)).min();
    let peer = earliest(&|reason| match reason {
        Reason::Peer { until, .. } => Some(*until),
        _ => None, // wildcard: only one reason matters here
    });
    if let (Some(until), true) = (peer, asks.is_empty()) {
        return Ok((8, Action::Wait { why: "owned_by_peers", until: Some(until) }));
    }
    if !asks.is_empty() {
        return Ok((9, Action::AskUser { asks }));
    }
    let only_monitors = reasons.iter().all(|(todo, _)| todo.kind == TodoKind::Monitor);
    if only_monitors {
        return Ok((10, Action::AskUser { asks: close_asks(facts, goal_id)? }));
    }
    let until = earliest(&|reason| match reason {
        Reason::Time(at) => *at,
        _ => None, // wildcard: only one reason matters here
    });
    Ok((11, Action::Wait { why: "time", until }))
}

/// Rule 9: what a person has to do, each with the command that frees it.
fn asks(facts: &Facts, asker: &Asker<'_>, reasons: &Reasons<'_>) -> Result<Vec<Ask>> {
    let mut asks: Vec<Ask> = Vec::new();
    for (todo, reason) in reasons {
        asks.extend(todo_asks(facts, asker, todo, reason)?);
        if asks.len() >= ASKS_MAX {
            break;
        }
    }
    asks.truncate(ASKS_MAX);
    Ok(asks)
}

/// Rule 2: a Turn of this agent executes already.
fn executing(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Option<Action>> {
    for turn in facts.agent_turns(goal_id, asker.viewer.agent_id)? {
        let TurnKind::Work { todo_id } = &turn.kind else { continue };
        let executes = turn::executes(facts, turn)?;
        let expires_at = turn::ownership(facts, turn)?.map(|own| own.expires_at);
        // What has passed without an end is waited for no more; the ownership keeps others out longer.
        let deadline = turn.open_attempt().and_then(|attempt| attempt.deadline_at);
        let coming =
            |at: Option<Timestamp>| [at, expires_at].into_iter().flatten().find(|at| *at > facts.now());
        let wait = |why, until: Option<Timestamp>| Ok(Some(Action::Wait { why, until }));
        if !turn.is_driven() {
            if is_presented(facts, turn, asker)? {
                return Ok(Some(Action::Run { todo_id: todo_id.clone(), turn_id: Some(turn.turn_id) }));
            }
            if executes {
                return wait(ELSEWHERE, expires_at);
            }
            continue;
        }
        // Only its own driver knows the token of a driven Turn.
        if turn.machine_id.as_ref() == asker.machine_id && is_presented(facts, turn, asker)? {
            return Ok(Some(Action::Run { todo_id: todo_id.clone(), turn_id: Some(turn.turn_id) }));
        }
        if turn.machine_id.as_ref() != asker.machine_id {
            if executes {
                return wait(ELSEWHERE, coming(deadline.map(|at| at.plus(turn::GRACE))));
            }
            continue;
        }
        let held = matches!(turn.state, TurnState::Held { .. });
        match asker.seen.get(&turn.turn_id) {
            // What does not execute any more is rule 3's.
            Some(Seen::Gone) if !held && (executes || !is_unresolved(turn)) => {
                return Ok(Some(reconcile(turn)));
            }
            Some(Seen::Alive) if !held => return wait(Code::TurnRunning.as_str(), coming(deadline)),
            None if executes => return wait(Code::TurnRunning.as_str(), coming(deadline)),
            Some(Seen::Gone | Seen::Alive) | None => {}
        }
    }
    Ok(None)
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
    Action::Reconcile { turn_id: turn.turn_id, command: recover_command(turn.turn_id) }
}

/// Rule 3: an unresolved Turn of this agent that can be looked into from here, and was not yet.
fn unresolved(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Option<Action>> {
    let turns = facts.agent_turns(goal_id, asker.viewer.agent_id)?;
    let turn = turns.into_iter().find(|turn| may_be_told(turn, asker.machine_id, &asker.tried));
    Ok(turn.map(reconcile))
}

/// Rule 6: nothing can be reserved. Held and unresolved Turns that hold the reservation are a person's to free.
fn no_slot(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>, error: &Error) -> Result<Action> {
    if error.code() != Code::QuotaExhausted {
        return Err(error.clone());
    }
    let mut asks = Vec::new();
    for turn in quota::holders(facts, goal_id, asker.viewer.agent_id)? {
        match turn.state {
            TurnState::Held { .. } => asks.extend(asker.held_asks(facts, turn)?),
            TurnState::Unresolved { .. } => {
                asks.push(unresolved_ask(turn, may_be_told(turn, asker.machine_id, &asker.tried)));
            }
            TurnState::Admitted
            | TurnState::Dispatched
            | TurnState::Candidate
            | TurnState::Settled
            | TurnState::Stopped { .. }
            | TurnState::Failed { .. }
            | TurnState::Fenced => {}
        }
    }
    if !asks.is_empty() {
        return Ok(Action::AskUser { asks });
    }
    let until = error.details().get("frees_at_ms").and_then(serde_json::Value::as_i64);
    Ok(Action::Wait { why: "quota", until: until.map(Timestamp::from_ms) })
}

fn agent_of<'f>(facts: &'f Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Option<&'f Agent>> {
    facts.agent(&(goal_id.clone(), asker.viewer.agent_id.clone()))
}

/// Rule 7's order: the best of some Todos that an agent can take. After a look at a monitor, other work comes first.
pub fn best<'f>(agent: Option<&Agent>, claimable: impl IntoIterator<Item = &'f Todo>) -> Option<&'f Todo> {
    let looked_last = agent.is_some_and(|agent| agent.looked_last);
    claimable.into_iter().min_by_key(|todo| {
        let looked_at = todo.monitor.as_ref().map(|monitor| monitor.looked_at);
        let is_replan = replan::is_replan(todo);
        let in_turn = looked_last && looked_at.is_some() && !is_replan;
        let looks = (looked_at.is_none(), looked_at.flatten());
        (in_turn, todo.priority, !is_replan, looks, todo.todo_id.number())
    })
}

fn work(facts: &Facts, todo: &Todo) -> Action {
    let todo_id = todo.todo_id.clone();
    if todo.kind == TodoKind::Replan {
        return Action::Replan { todo_id, replan: None };
    }
    if let Some(Covered::Derived(of)) = replan::covered(facts, todo) {
        return Action::Replan { todo_id, replan: Some(of) };
    }
    match todo.last_end.as_ref().filter(|end| end.repair) {
        Some(end) => Action::Repair { todo_id, failure: end.note.clone() },
        None => Action::Run { todo_id, turn_id: None },
    }
}

/// Whether a claim of this Todo by this asker would be accepted; what the property tests compare `next` with.
#[cfg(test)]
pub(crate) fn would_admit(
    facts: &Facts,
    todo_id: &TodoId,
    replan: Option<&ReplanRef>,
    asker: &Asker<'_>,
) -> Result<()> {
    let claim = claim::Claim {
        workspace: asker.viewer.workspace.cloned(),
        replan: replan.cloned(),
        ..claim::Claim::attached(todo_id.clone())
    };
    claim::admissible(facts, &claim, asker.viewer.agent_id, asker.endpoint)
}
