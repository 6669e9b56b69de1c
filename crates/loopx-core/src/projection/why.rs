//! Owns the one reason for which a Goal, a Todo or a gate stands where it does, and the command that would change it.
//!
//! Knows no rule: the reason is the kernel's, and so is the command. What is read is bounded, however many Todos there are.

use serde::Serialize;

use super::{
    decision::sighted,
    status::{Eyes, Which, status},
    todo::{Persons, consumed_text, persons, persons_text},
    words::plain,
};
use crate::{
    authority::View,
    error::{Code, Error, Result},
    kernel::{
        Asker, Covered, Facts, PeerBy, READ_ROUNDS, Read, Reason, Terms, UnresolvedBy, Viewer,
        claim::{self, Claim, Sighted, admissible_reads},
        gate_ask, reason, reason_reads, todo_ask_reads, todo_asks,
    },
    model::{Agent, AgentId, Blocks, Executor, GateId, GoalState, Timestamp, Todo, TodoId, TodoState},
};

/// How many agents of a Goal are asked about.
const AGENTS: usize = 8;

/// Why something stands where it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Because {
    /// The id it is about.
    pub about: String,
    /// What that is: `goal`, `todo`, `gate`, `turn`, `agent`.
    pub kind: &'static str,
    /// For which agent; none, where it is so for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The reason.
    pub reason: String,
    /// In one line.
    pub text: String,
    /// The command that would change it, without the program's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The moment at which it changes by itself, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<Timestamp>,
}

/// Why Goals wait: one reason each.
///
/// Errors: `not_found`.
pub fn why_goals(
    view: &mut dyn View,
    terms: &Terms,
    which: Which<'_>,
    eyes: &Eyes<'_>,
) -> Result<Vec<Because>> {
    let status = status(view, terms, which, None, eyes)?;
    let because = |goal: super::GoalStatus| {
        let of_state = match goal.state {
            "stopped" => Some(format!("goal resume {}", goal.goal_id)),
            "closed" => Some(format!("goal reopen {}", goal.goal_id)),
            _ => None, // an active one waits for what is named first
        };
        Because {
            about: goal.goal_id.to_string(),
            kind: "goal",
            agent_id: None,
            reason: goal.waiting_on.as_str().to_owned(),
            text: match &goal.first {
                Some(first) if first.text != goal.because => format!("{}: {}", goal.because, first.text),
                Some(_) | None => goal.because,
            },
            command: of_state.or(goal.first.map(|first| first.command)),
            until_ms: goal.until_ms,
        }
    };
    Ok(status.goals.into_iter().map(because).collect())
}

/// Why a Todo stands where it does, for one agent or for all of its Goal: one reason where they have the same one, else
/// who can take it stands first.
///
/// Errors: `not_found`.
pub fn why_todo(
    view: &mut dyn View,
    terms: &Terms,
    id: &TodoId,
    agent: Option<&AgentId>,
    eyes: &Eyes<'_>,
) -> Result<Vec<Because>> {
    let goal_id = id.goal();
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Goal(goal_id.clone()), Read::Todo(id.clone())].into(), &mut facts)?;
    let todo = facts.todo(id)?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no Todo {id}"))
            .hint(format!("todo list --goal {goal_id}"))
            .detail("todo_id", id.to_string())
    })?;
    if todo.is_live()
        && let Some(whole) = of_goal_state(&facts, id)?
    {
        return Ok(vec![whole]);
    }
    let agents: Vec<Agent> = view.agents(goal_id)?.into_iter().filter(Agent::is_registered).collect();
    let asked = |row: &Agent| agent.is_none_or(|agent| row.agent_id == *agent);
    if agents.is_empty() && todo.is_live() && todo.kind.is_executable() {
        let text = format!("no agent may work on {goal_id} yet");
        let command = Some(format!("agent add AGENT --goal {goal_id}"));
        return Ok(vec![Because { command, ..because(id, None, "user", text) }]);
    }
    let mut all = Vec::new();
    for row in agents.iter().filter(|row| asked(row)).take(AGENTS) {
        all.push(for_agent(view, terms, id, row, eyes)?);
    }
    if all.is_empty() {
        let named = agent.map_or_else(|| goal_id.to_string(), ToString::to_string);
        return match persons(&facts, todo) {
            Some(Persons { text, command }) if agent.is_none() => {
                Ok(vec![Because { command: Some(command), ..because(id, None, "user", text) }])
            }
            Some(_) | None => {
                Err(Error::new(Code::NotFound, format!("the agent {named} is not registered in {goal_id}"))
                    .hint(format!("agent list --goal {goal_id}")))
            }
        };
    }
    all.sort_by_key(|one| one.reason != "claimable");
    let is_same = all.windows(2).all(|two| match two {
        [one, other] => (&one.reason, &one.text) == (&other.reason, &other.text),
        _ => true, // two at a time
    });
    if is_same && agent.is_none() {
        all.truncate(1);
        for one in &mut all {
            one.agent_id = None;
        }
    }
    Ok(all)
}

/// What keeps every Todo of a Goal from being taken.
fn of_goal_state(facts: &Facts, id: &TodoId) -> Result<Option<Because>> {
    let goal_id = id.goal();
    let goal = facts.goal(goal_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let (code, command) = match goal.state {
        GoalState::Active => return Ok(None),
        GoalState::Stopped => (Code::GoalStopped, format!("goal resume {goal_id}")),
        GoalState::Closed { .. } => (Code::GoalClosed, format!("goal reopen {goal_id}")),
    };
    let text = format!("{goal_id}: {}", plain(code.as_str()));
    Ok(Some(Because { command: Some(command), ..because(id, None, code.as_str(), text) }))
}

fn because(id: &TodoId, agent: Option<&AgentId>, reason: &str, text: String) -> Because {
    Because {
        about: id.to_string(),
        kind: "todo",
        agent_id: agent.cloned(),
        reason: reason.to_owned(),
        text,
        command: None,
        until_ms: None,
    }
}

/// The reason of a Todo for one agent.
fn for_agent(
    view: &mut dyn View,
    terms: &Terms,
    id: &TodoId,
    agent: &Agent,
    eyes: &Eyes<'_>,
) -> Result<Because> {
    let endpoint = agent.agent_id.default_endpoint();
    let Sighted { seen, tried, .. } = sighted(view, id.goal(), &agent.agent_id, eyes)?;
    let viewer = Viewer {
        agent_id: &agent.agent_id,
        capabilities: agent.capabilities.clone(),
        own_id: None,
        workspace: None,
    };
    let asker = Asker {
        viewer,
        endpoint: &endpoint,
        executor: Executor::Attached,
        machine_id: eyes.machine_id,
        seen,
        tried,
    };
    let claim = Claim::attached(id.clone());
    let mut facts = Facts::new(terms.clone());
    for _ in 0..READ_ROUNDS {
        let mut missing = reason_reads([id], &asker.viewer, &facts);
        missing.extend(admissible_reads(&claim, &agent.agent_id, &facts));
        missing.extend(todo_ask_reads([id], &facts));
        missing.extend(facts.rows().todos.get(id).into_iter().flat_map(dependencies));
        view.load(&missing, &mut facts)?;
    }
    view.load(&todo_ask_reads([id], &facts), &mut facts)?;
    let todo = facts.todo(id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let reason = reason(&facts, todo, &asker.viewer)?;
    let text = text(&facts, todo, &reason);
    let mut found = because(id, Some(&agent.agent_id), reason.name(), text);
    found.command = todo_asks(&facts, &asker, todo, &reason)?.into_iter().next().map(|ask| ask.command);
    match &reason {
        Reason::Claimable => {
            let by = &agent.agent_id;
            found.command = Some(format!("todo claim {id} --as agent:{by}"));
            if let Err(error) = claim::admissible(&facts, &claim, by, &endpoint) {
                let until = error.details().get("frees_at_ms").or_else(|| error.details().get("until_ms"));
                found.until_ms = until.and_then(serde_json::Value::as_i64).map(Timestamp::from_ms);
                error.code().as_str().clone_into(&mut found.reason);
                error.message().clone_into(&mut found.text);
                let shown = error.hint_args().map(str::to_owned);
                found.command = shown.or_else(|| Some(format!("agent show {by} --goal {}", id.goal())));
            }
        }
        Reason::Time(at) => {
            found.until_ms = *at;
            let is_put_off = matches!(todo.state, TodoState::Deferred { .. });
            found.command = Some(format!("todo {} {id}", if is_put_off { "unblock" } else { "show" }));
        }
        Reason::Peer { by, until } => {
            found.until_ms = Some(*until);
            found.command = Some(match by {
                PeerBy::Owner(_) => format!("todo release {id} --force --reason TEXT"),
                PeerBy::Reserved(to) => format!("todo claim {id} --as agent:{to}"),
                PeerBy::Scope(other) => format!("why {other}"),
            });
        }
        Reason::Deps => found.command = open_dep(&facts, todo).map(|dep| format!("why {dep}")),
        Reason::Mine(turn_id) => found.command = Some(format!("turn show {turn_id}")),
        Reason::Replan(Covered::Derived(of)) => {
            found.command = Some(format!("todo claim {of} --as agent:{}", agent.agent_id));
        }
        Reason::Replan(Covered::By(by)) => found.command = Some(format!("why {by}")),
        Reason::User(_)
        | Reason::Unresolved(_)
        | Reason::Held(..)
        | Reason::Replan(Covered::Consumed(_))
        | Reason::Gate
        | Reason::Approval(_)
        | Reason::Capability => {}
    }
    Ok(found)
}

/// What a Todo that waits for others depends on; at most what one can name.
fn dependencies(todo: &Todo) -> Vec<Read> {
    if todo.counters.unmet == 0 {
        return Vec::new();
    }
    todo.depends_on.iter().map(|dep| Read::Todo(dep.clone())).collect()
}

/// The first Todo that one waits for.
fn open_dep<'t>(facts: &Facts, todo: &'t Todo) -> Option<&'t TodoId> {
    let is_open = |dep: &&TodoId| facts.rows().todos.get(*dep).is_some_and(|dep| !dep.is_done());
    todo.depends_on.iter().find(is_open)
}

/// The reason of a Todo in one line.
fn text(facts: &Facts, todo: &Todo, reason: &Reason) -> String {
    let id = &todo.todo_id;
    match reason {
        Reason::User(why) => persons_text(todo, *why),
        Reason::Time(_) => match &todo.monitor {
            Some(_) => format!("{id} is looked at again in time"),
            None => format!("{id} is put off"),
        },
        Reason::Unresolved(UnresolvedBy::Turn(_)) => format!("{id}: what its last Turn did is not known"),
        Reason::Unresolved(UnresolvedBy::Effect(_)) => {
            format!("{id}: what an outside effect did is not known")
        }
        Reason::Held(_, causes) => {
            let causes: Vec<_> = causes.iter().map(|cause| plain(&super::word(cause)).to_owned()).collect();
            let held = format!("{id}: {}", plain(reason.name()));
            if causes.is_empty() { held } else { format!("{held}: {}", causes.join(", ")) }
        }
        Reason::Mine(_) => format!("{id}: {}", plain(reason.name())),
        Reason::Peer { by: PeerBy::Owner(agent), .. } => format!("{agent} owns {id}"),
        Reason::Peer { by: PeerBy::Reserved(agent), .. } => format!("{id} is kept for {agent}"),
        Reason::Peer { by: PeerBy::Scope(other), .. } => {
            format!("the owner of {other} writes where {id} would")
        }
        Reason::Replan(Covered::Derived(of)) => {
            format!("the plan of {id} has to change: {}", plain(of.cause.as_str()))
        }
        Reason::Replan(Covered::By(by)) => format!("{by} changes the plan of {id}"),
        Reason::Replan(Covered::Consumed(cause)) => consumed_text(todo, *cause),
        Reason::Deps => match open_dep(facts, todo) {
            Some(dep) if todo.counters.unmet > 1 => {
                format!("{id} waits for {dep} and {} more", todo.counters.unmet - 1)
            }
            Some(dep) => format!("{id} waits for {dep}"),
            None => format!("{id}: {}", plain(reason.name())),
        },
        Reason::Gate => match facts
            .todo_gates(id)
            .ok()
            .and_then(|gates| gates.first().map(|gate| gate.question.to_string()))
        {
            Some(question) => format!("{id} waits for an answer: \u{ab}{question}\u{bb}"),
            None => format!("a question blocks the whole Goal of {id}"),
        },
        Reason::Approval(keys) => {
            let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
            format!("{id} needs an approval that nobody was asked for: {}", keys.join(", "))
        }
        Reason::Capability => {
            let needs: Vec<_> = todo.requires.capabilities.iter().map(ToString::to_string).collect();
            if needs.is_empty() {
                format!("{id} writes in a work tree, and none is known")
            } else {
                format!("{id} needs {}", needs.join(", "))
            }
        }
        Reason::Claimable => format!("{id} can be taken"),
    }
}

/// Why a gate stands where it does.
///
/// Errors: `not_found`.
pub fn why_gate(view: &mut dyn View, terms: &Terms, id: GateId) -> Result<Because> {
    let row = super::gate(view, terms, &id)?;
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Gate(id)].into(), &mut facts)?;
    let gate = facts.gate(&id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let blocked = match &gate.blocks {
        Blocks::Goal => gate.goal_id.to_string(),
        Blocks::Todos(ids) => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let (question, state) = (&row.question, row.state);
    let text = if row.blocking {
        format!("{state}, so {blocked} waits: \u{ab}{question}\u{bb}")
    } else {
        format!("{state}, so {blocked} does not wait for it: \u{ab}{question}\u{bb}")
    };
    Ok(Because {
        about: id.to_string(),
        kind: "gate",
        agent_id: None,
        reason: state.to_owned(),
        text,
        command: row.blocking.then(|| gate_ask(gate).command),
        until_ms: row.deferred_until_ms.or(row.standing_until_ms),
    })
}
