//! Owns the decision: what an agent should do now, by ordered rules, the first that matches.
//!
//! Pure and total; it writes nothing and never obliges an agent to what an admission would refuse.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Facts, Read, Reason, UserWhy, Viewer, Wanted, claim, goal, quota, reason, turn};
use crate::{
    error::{Code, Error, Result},
    model::{
        AgentId, EndpointId, Executor, GoalId, GoalState, MachineId, ShortText, Timestamp, Todo, TodoId, TodoKind,
        Turn, TurnId, TurnKind, TurnState,
    },
};

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
    /// Unresolved Turns whose readback was tried at their present version.
    pub tried: BTreeSet<TurnId>,
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
    /// Whether the asker must attempt work.
    pub const fn must_attempt_work(&self) -> bool {
        match self {
            Self::Run { .. } | Self::Repair { .. } | Self::Reconcile { .. } => true,
            Self::Wait { .. } | Self::AskUser { .. } | Self::Closed => false,
        }
    }

    /// The stable name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Run { .. } => "run",
            Self::Repair { .. } => "repair",
            Self::Reconcile { .. } => "reconcile",
            Self::Wait { .. } => "wait",
            Self::AskUser { .. } => "ask_user",
            Self::Closed => "closed",
        }
    }
}

/// One thing a person has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ask {
    /// Why.
    pub why: &'static str,
    /// The id it is about.
    pub about: String,
    /// The command that moves it.
    pub command: String,
}

/// A decision, the rule that made it, and what else stands around.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// What to do.
    #[serde(flatten)]
    pub action: Action,
    /// The number of the rule that matched.
    pub rule: u8,
    /// How many Todos have which reason.
    pub also: BTreeMap<&'static str, usize>,
}

/// What a decision must read that is not loaded yet.
pub fn next_reads(goal: &GoalId, asker: &Asker<'_>, facts: &Facts) -> BTreeSet<Read> {
    let agent = asker.viewer.agent_id;
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    wanted.want(Read::Goal(goal.clone()));
    wanted.want(Read::Agent(goal.clone(), agent.clone()));
    wanted.want(Read::LiveTurns(goal.clone()));
    wanted.want(Read::Live(goal.clone()));
    wanted.want(Read::Ready(goal.clone(), agent.clone()));
    wanted.want(Read::Unfinished(goal.clone()));
    wanted.want(Read::GoalGates(goal.clone()));
    quota::reads(goal, agent, &mut wanted);
    let rows = wanted.rows();
    let Some(goal_row) = rows.goals.get(goal) else { return wanted.missing };
    let workspace = asker.viewer.workspace.or(goal_row.workspace.as_ref()).cloned();
    let exclusive = goal_row.boundary.exclusive_workspace;
    let scoped = exclusive || rows.todos.values().any(|todo| !todo.requires.write_scopes.is_empty());
    let needs = !goal_row.boundary.needs_approval.is_empty();
    let gated: Vec<_> = rows
        .todos
        .values()
        .filter(|todo| todo.todo_id.goal() == goal && (todo.turn_id.is_some() || todo.counters.blocking_gates > 0))
        .map(|todo| todo.todo_id.clone())
        .collect();
    if let Some(workspace) = workspace.filter(|_| scoped) {
        wanted.want(Read::Writers(workspace));
    }
    if needs {
        wanted.want(Read::Approvals(goal.clone()));
    }
    gated.into_iter().for_each(|id| wanted.want(Read::TodoGates(id)));
    wanted.missing
}

/// Decides what an agent should do now.
pub fn decide_next(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Decided> {
    let goal = facts.goal(goal_id)?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no Goal {goal_id}")).hint("goal list")
    })?;
    if matches!(goal.state, GoalState::Closed { .. }) {
        return Ok(Decided { action: Action::Closed, rule: 1, also: BTreeMap::new() });
    }
    super::agent::registered(facts, &(goal_id.clone(), asker.viewer.agent_id.clone()))?;
    let reasons = reasons(facts, goal_id, asker)?;
    let mut also = BTreeMap::new();
    for (_, reason) in &reasons {
        *also.entry(reason.name()).or_insert(0) += 1;
    }
    let (rule, action) = rules(facts, goal_id, asker, &reasons)?;
    Ok(Decided { action, rule, also })
}

type Reasons<'f> = Vec<(&'f Todo, Reason)>;

fn reasons<'f>(facts: &'f Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Reasons<'f>> {
    facts.asked(&Read::Live(goal_id.clone()))?;
    let live = facts.rows().todos.values().filter(|todo| todo.todo_id.goal() == goal_id && todo.is_live());
    live.map(|todo| Ok((todo, reason(facts, todo, &asker.viewer)?))).collect()
}

fn rules(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>, reasons: &Reasons<'_>) -> Result<(u8, Action)> {
    let goal = facts.goal(goal_id)?.ok_or_else(|| Error::from(Code::Internal))?;
    if let Some(action) = executing(facts, goal_id, asker)? {
        return Ok((2, action));
    }
    if let Some(action) = unresolved(facts, goal_id, asker)? {
        return Ok((3, action));
    }
    if matches!(goal.state, GoalState::Stopped) {
        return Ok((4, Action::Wait { why: "goal_stopped", until: None }));
    }
    if goal.goal_gates > 0 {
        return Ok((5, Action::AskUser { asks: goal_gate_asks(facts, goal_id) }));
    }
    if let Err(error) = quota::admit(facts, goal_id, asker.viewer.agent_id) {
        if error.code() != Code::QuotaExhausted {
            return Err(error);
        }
        let until = error.details().get("frees_at_ms").and_then(serde_json::Value::as_i64);
        return Ok((6, Action::Wait { why: "quota", until: until.map(Timestamp::from_ms) }));
    }
    if let Some(action) = best(reasons) {
        return Ok((7, action));
    }
    let asks = asks(reasons);
    let earliest = |pick: &dyn Fn(&Reason) -> Option<Timestamp>| reasons.iter().filter_map(|(_, r)| pick(r)).min();
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
        return Ok((10, Action::AskUser { asks: vec![close_ask(facts, goal_id)?] }));
    }
    let until = earliest(&|reason| match reason {
        Reason::Time(at) => *at,
        _ => None, // wildcard: only one reason matters here
    });
    Ok((11, Action::Wait { why: "time", until }))
}

/// Rule 2: a Turn of this agent executes already.
fn executing(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Option<Action>> {
    for turn in facts.agent_turns(goal_id, asker.viewer.agent_id)? {
        let TurnKind::Work { todo_id } = &turn.kind else { continue };
        let own = turn::ownership(facts, turn)?;
        let presented = own.is_some_and(|own| asker.viewer.own_id == Some(own.own_id));
        let here = turn.machine_id.as_ref() == asker.machine_id;
        let until = own.map(|own| own.expires_at);
        if turn.executor == Executor::Attached && presented && !is_unresolved(turn) {
            return Ok(Some(Action::Run { todo_id: todo_id.clone(), turn_id: Some(turn.turn_id) }));
        }
        if !turn::executes(facts, turn)? {
            continue;
        }
        if turn.is_driven() && here && asker.seen.get(&turn.turn_id) == Some(&Seen::Gone) {
            return Ok(Some(reconcile(turn)));
        }
        if is_unresolved(turn) {
            continue;
        }
        let why = if turn.is_driven() && here { "turn_running" } else { "turn_elsewhere" };
        return Ok(Some(Action::Wait { why, until }));
    }
    Ok(None)
}

fn is_unresolved(turn: &Turn) -> bool {
    matches!(turn.state, TurnState::Unresolved { .. })
}

fn reconcile(turn: &Turn) -> Action {
    Action::Reconcile { turn_id: turn.turn_id, command: format!("turn recover {} --resume", turn.turn_id) }
}

/// Rule 3: an unresolved Turn of this agent that can be looked into from here.
fn unresolved(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Option<Action>> {
    let here = |turn: &&Turn| turn.machine_id.is_none() || turn.machine_id.as_ref() == asker.machine_id;
    let turns = facts.agent_turns(goal_id, asker.viewer.agent_id)?;
    let turn = turns.into_iter().filter(here).find(|turn| is_unresolved(turn) && !asker.tried.contains(&turn.turn_id));
    Ok(turn.map(reconcile))
}

fn goal_gate_asks(facts: &Facts, goal_id: &GoalId) -> Vec<Ask> {
    let blocks = |gate: &&crate::model::Gate| {
        gate.goal_id == *goal_id && gate.blocks == crate::model::Blocks::Goal && gate.is_blocking()
    };
    facts.rows().gates.values().filter(blocks).map(gate_ask).collect()
}

fn gate_ask(gate: &crate::model::Gate) -> Ask {
    let id = gate.gate_id;
    let denied = matches!(gate.state, crate::model::GateState::Denied { .. });
    let command = match (denied, gate.kind.is_approval()) {
        (true, _) => format!("gate withdraw {id}"),
        (false, true) => format!("gate resolve {id} --approve"),
        (false, false) => format!("gate resolve {id} --answer TEXT"),
    };
    Ask { why: "gate", about: id.to_string(), command }
}

/// Rule 7: the best Todo that can be taken.
fn best(reasons: &Reasons<'_>) -> Option<Action> {
    let claimable = reasons.iter().filter(|(_, reason)| *reason == Reason::Claimable);
    let order = |todo: &Todo| {
        let looked_at = todo.monitor.as_ref().map(|monitor| monitor.looked_at);
        (todo.priority, looked_at.is_none(), looked_at.flatten(), todo.todo_id.number())
    };
    let (todo, _) = claimable.min_by_key(|(todo, _)| order(todo))?;
    let todo_id = todo.todo_id.clone();
    Some(match todo.last_end.as_ref().filter(|end| end.repair) {
        Some(end) => Action::Repair { todo_id, failure: end.note.clone() },
        None => Action::Run { todo_id, turn_id: None },
    })
}

/// Rule 9: what a person has to do, each with the command that frees it.
fn asks(reasons: &Reasons<'_>) -> Vec<Ask> {
    let mut asks = Vec::new();
    for (todo, reason) in reasons {
        let id = &todo.todo_id;
        let mut ask = |why, about: String, command: String| asks.push(Ask { why, about, command });
        match reason {
            Reason::User(why) => ask("user", id.to_string(), user_command(*why, todo)),
            Reason::Unresolved(turn) => {
                ask("unresolved", turn.to_string(), format!("turn abandon {turn} --reason TEXT"));
            }
            Reason::Held(turn, _) => ask("held", turn.to_string(), format!("turn show {turn}")),
            Reason::Gate => ask("gate", id.to_string(), format!("gate list --goal {}", id.goal())),
            Reason::Approval(_) => ask("gate", id.to_string(), format!("todo claim {id}")),
            Reason::Capability => ask("capability", id.to_string(), format!("todo show {id}")),
            Reason::Time(_) | Reason::Mine(_) | Reason::Peer { .. } | Reason::Deps | Reason::Claimable => {}
        }
        if asks.len() >= 32 {
            break;
        }
    }
    asks
}

fn user_command(why: UserWhy, todo: &Todo) -> String {
    let id = &todo.todo_id;
    match why {
        UserWhy::Ended => format!("todo reopen {id}"),
        UserWhy::Blocked | UserWhy::WakeLost => format!("todo unblock {id}"),
        UserWhy::Hold => format!("todo unhold {id}"),
        UserWhy::Action => format!("todo done {id}"),
        UserWhy::Blocker => format!("todo resolve {id}"),
        UserWhy::Excluded => format!("todo show {id}"),
        UserWhy::DependencyCancelled => format!("todo show {id}"),
    }
}

/// Rule 10: whether the Goal can be closed, or what a close would still meet.
fn close_ask(facts: &Facts, goal_id: &GoalId) -> Result<Ask> {
    let refusal = goal::close_refusal(facts, goal_id)?;
    Ok(match refusal {
        None => Ask { why: "ready_to_close", about: goal_id.to_string(), command: format!("goal close {goal_id} --achieved") },
        Some(error) => Ask {
            why: "acceptance_gap",
            about: goal_id.to_string(),
            command: error.hint_args().map_or_else(|| format!("goal show {goal_id}"), str::to_owned),
        },
    })
}

/// Whether a claim of this Todo by this asker would be accepted; what the property tests compare `next` with.
#[cfg(test)]
pub(super) fn would_admit(facts: &Facts, todo_id: &TodoId, agent: &AgentId, endpoint: &EndpointId) -> Result<()> {
    claim::may_admit(facts, &claim::Admission {
        todo_id: todo_id.clone(),
        agent_id: agent.clone(),
        endpoint: endpoint.clone(),
        executor: Executor::Attached,
        machine_id: None,
        ttl_ms: claim::TTL_DEFAULT,
        workspace: None,
    })
}
