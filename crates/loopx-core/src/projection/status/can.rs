//! Owns whether an agent can take something now. The rules are the kernel's; this loads what they ask for.

use std::collections::{BTreeMap, BTreeSet};

use super::{Eyes, seen::Seen};
use crate::{
    authority::View,
    error::{Code, Result},
    kernel::{
        ASKS_MAX, Ask, Asker, Covered, Depth, Facts, READ_ROUNDS, Read, Reason, UserWhy, Viewer, best,
        budget_why, gap_reads, offered_gap, reason, reason_reads, room, room_reads, todo_asks,
    },
    model::{Agent, AgentId, Executor, ReplanRef, Timestamp, Todo, TodoId, TodoKind},
};

/// What some agent can take, or why none can.
#[derive(Debug)]
pub(super) enum Can {
    /// An agent can take a Todo, or a replan of it.
    Take {
        /// Who.
        agent: AgentId,
        /// What.
        todo: TodoId,
        /// The name of the replan, where it is one to be claimed by its name.
        replan: Option<ReplanRef>,
        /// Whether it is a replan, by name or written.
        replans: bool,
    },
    /// Something can be taken, once the budget has room again.
    Later(Option<Timestamp>),
    /// Nothing can be taken.
    Nothing {
        /// The earliest moment at which time alone changes that.
        until: Option<Timestamp>,
        /// Whether time alone, or another Todo, is waited for at all.
        waits: bool,
        /// What a person can do so that an agent can take something.
        asks: Vec<Ask>,
    },
}

/// What some registered agent can take: the first open Todos are looked at first, and the ready index only when
/// none of them will do.
pub(super) fn can(view: &mut dyn View, seen: &Seen<'_>, eyes: &Eyes<'_>) -> Result<Can> {
    let goal = &seen.goal.goal_id;
    let mut later = None;
    let mut rest = Rest::default();
    // Who left something behind brings that to an end before it takes anything.
    let is_free = |agent: &&Agent| !seen.left().any(|turn| turn.agent_id == agent.agent_id);
    for agent in seen.agents.iter().filter(is_free) {
        let asker = Asker {
            viewer: Viewer {
                agent_id: &agent.agent_id,
                capabilities: agent.capabilities.clone(),
                own_id: None,
                workspace: None,
            },
            endpoint: &agent.agent_id.default_endpoint(),
            executor: Executor::Attached,
            machine_id: eyes.machine_id,
            seen: BTreeMap::new(),
            tried: BTreeSet::new(),
        };
        let mut facts = Facts::new(seen.terms.clone());
        let open: Vec<_> = seen.open.iter().map(|todo| todo.todo_id.clone()).collect();
        load(view, seen, &asker.viewer, &mut facts, &open)?;
        let mut found = first(&facts, agent, &asker, rows(&facts, &open), &mut rest)?;
        if found.is_none() && may_be_ready(seen) {
            let ready = BTreeSet::from([Read::Ready(goal.clone(), agent.agent_id.clone(), Depth::Whole)]);
            view.load(&ready, &mut facts)?;
            // Who writes in the same work tree was loaded too, of whatever Goal.
            let ours = |id: &&TodoId| id.goal() == goal;
            let more: Vec<_> = facts.rows().todos.keys().filter(ours).cloned().collect();
            load(view, seen, &asker.viewer, &mut facts, &more)?;
            found = first(&facts, agent, &asker, rows(&facts, &more), &mut rest)?;
        }
        if found.is_none() {
            // What obliges the whole Goal comes after what is there to do.
            let gap = gap(view, seen, &asker.viewer, &mut facts)?;
            found = first(&facts, agent, &asker, gap.iter(), &mut rest)?;
        }
        let Some(Found { todo, replan, replans }) = found else { continue };
        match room(&facts, goal, &agent.agent_id) {
            Ok(()) => return Ok(Can::Take { agent: agent.agent_id.clone(), todo, replan, replans }),
            Err(error) => match budget_why(&error) {
                Some(why) => {
                    let command = error.hint_args().unwrap_or_default().to_owned();
                    rest.asks.push(Ask { why, about: goal.to_string(), command, question: None });
                }
                None if error.code() == Code::QuotaExhausted => {
                    let frees = error.details().get("frees_at_ms").and_then(serde_json::Value::as_i64);
                    later = Some(earlier(later.flatten(), frees.map(Timestamp::from_ms)));
                }
                None => return Err(error),
            },
        }
    }
    if let Some(until) = later {
        return Ok(Can::Later(until));
    }
    let mut said = BTreeSet::new();
    rest.asks.retain(|ask| said.insert(ask.command.clone()));
    rest.asks.truncate(ASKS_MAX);
    Ok(Can::Nothing { until: rest.until, waits: rest.waits, asks: rest.asks })
}

/// Whether the ready index can hold what the first page does not.
fn may_be_ready(seen: &Seen<'_>) -> bool {
    let looked = u64::try_from(seen.open.len()).unwrap_or(u64::MAX);
    seen.count("open") + seen.count("monitor") > looked || seen.count("deferred") + seen.count("owned") > 0
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// What stands in the way of the Todos that were looked at.
#[derive(Debug, Default)]
struct Rest {
    until: Option<Timestamp>,
    waits: bool,
    asks: Vec<Ask>,
}

/// Loads what the reasons of some Todos look at, and the agent's budget.
fn load(
    view: &mut dyn View,
    seen: &Seen<'_>,
    viewer: &Viewer<'_>,
    facts: &mut Facts,
    todos: &[TodoId],
) -> Result<()> {
    for _ in 0..READ_ROUNDS {
        let mut missing = reason_reads(todos, viewer, facts);
        missing.extend(room_reads(&seen.goal.goal_id, viewer.agent_id, facts));
        if missing.is_empty() {
            return Ok(());
        }
        view.load(&missing, facts)?;
    }
    Ok(())
}

/// What an agent can take.
struct Found {
    todo: TodoId,
    /// The name of the replan, where it is one to be claimed by its name.
    replan: Option<ReplanRef>,
    /// Whether it is a replan, by name or written.
    replans: bool,
}

/// What the gap in the criteria of a Goal would become, where there is one.
fn gap(view: &mut dyn View, seen: &Seen<'_>, viewer: &Viewer<'_>, facts: &mut Facts) -> Result<Option<Todo>> {
    let goal = &seen.goal.goal_id;
    if seen.goal.open_criterion().is_none() {
        return Ok(None);
    }
    for _ in 0..READ_ROUNDS {
        let missing = gap_reads(goal, viewer, facts);
        view.load(&missing, facts)?;
    }
    offered_gap(facts, goal)
}

/// Those of some Todos that are loaded.
fn rows<'f>(facts: &'f Facts, todos: &[TodoId]) -> impl Iterator<Item = &'f Todo> {
    todos.iter().filter_map(|id| facts.rows().todos.get(id))
}

/// The best of some Todos that an agent can take.
fn first<'t>(
    facts: &Facts,
    agent: &Agent,
    asker: &Asker<'_>,
    todos: impl IntoIterator<Item = &'t Todo>,
    rest: &mut Rest,
) -> Result<Option<Found>> {
    let (mut claimable, mut named) = (Vec::new(), BTreeMap::new());
    for todo in todos {
        let reason = reason(facts, todo, &asker.viewer)?;
        match &reason {
            Reason::Claimable => claimable.push(todo),
            Reason::Replan(Covered::Derived(of)) => {
                claimable.push(todo);
                named.insert(&todo.todo_id, of.clone());
            }
            Reason::Time(at) => {
                rest.waits = true;
                rest.until = earlier(rest.until, *at);
            }
            Reason::Deps => rest.waits = true,
            // What is another's, or everybody's, to free is seen by itself.
            Reason::Replan(Covered::Consumed(_))
            | Reason::Capability
            | Reason::Approval(_)
            | Reason::User(UserWhy::Excluded) => {
                rest.asks.extend(todo_asks(facts, asker, todo, &reason)?);
            }
            Reason::User(_)
            | Reason::Replan(Covered::By(_))
            | Reason::Unresolved(_)
            | Reason::Held(..)
            | Reason::Mine(_)
            | Reason::Peer { .. }
            | Reason::Gate => {}
        }
    }
    Ok(best(Some(agent), claimable).map(|todo| {
        let replan = named.remove(&todo.todo_id);
        let replans = todo.kind == TodoKind::Replan || replan.is_some();
        Found { todo: todo.todo_id.clone(), replan, replans }
    }))
}
