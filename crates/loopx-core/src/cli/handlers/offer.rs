//! Owns the command that a write names as the next one.
//!
//! Invariant: what is named is accepted in the state that the write left. Where no command helps, none is named; a
//! look that fails costs the line, never the answer of a write that stands.

use super::{
    desk::Desk,
    turn_plan::{self, Asking},
};
use crate::{
    authority::View,
    cli::Context,
    error::{Code, Result},
    kernel::{
        Action, Facts, READ_ROUNDS, Terms,
        claim::{self, Claim, admissible_reads},
    },
    model::{Agent, AgentId, Executor, GoalId, TodoId},
};

/// How many agents are tried for one Todo.
const AGENTS_MAX: usize = 8;

/// Who can take a new Todo, or what has to be done before anybody can.
pub(super) fn for_todo(context: &Context<'_, '_>, desk: &mut Desk, id: &TodoId) -> Option<String> {
    if desk.exact {
        return None;
    }
    let program = context.program;
    let goal = id.goal();
    let offer = desk.look(|view, terms| offered(view, terms, id)).ok()?;
    Some(match offer {
        Offer::Claim(agent) => {
            format!("an agent takes it with `{program} todo claim {id} --as agent:{agent}`")
        }
        Offer::AddAgent => format!("no agent is registered yet: `{program} agent add <AGENT> --goal {goal}`"),
        Offer::Resume => format!("the Goal is stopped; it goes on with `{program} goal resume {goal}`"),
        Offer::Nothing => return None,
    })
}

enum Offer {
    Claim(AgentId),
    AddAgent,
    Resume,
    Nothing,
}

fn offered(view: &mut dyn View, terms: &Terms, id: &TodoId) -> Result<Offer> {
    let agents: Vec<AgentId> = view
        .agents(id.goal())?
        .into_iter()
        .filter(Agent::is_registered)
        .map(|agent| agent.agent_id)
        .collect();
    if agents.is_empty() {
        return Ok(Offer::AddAgent);
    }
    for agent in agents.into_iter().take(AGENTS_MAX) {
        match admitted(view, terms, &Claim::attached(id.clone()), &agent) {
            Ok(()) => return Ok(Offer::Claim(agent)),
            Err(error) if error.code() == Code::GoalStopped => return Ok(Offer::Resume),
            Err(_) => {}
        }
    }
    Ok(Offer::Nothing)
}

/// Whether a claim would be accepted now, from the agent's usual endpoint.
fn admitted(view: &mut dyn View, terms: &Terms, claim: &Claim, agent: &AgentId) -> Result<()> {
    let mut facts = Facts::new(terms.clone());
    for _ in 0..READ_ROUNDS {
        view.load(&admissible_reads(claim, agent, &facts), &mut facts)?;
    }
    claim::admissible(&facts, claim, agent, &agent.default_endpoint())
}

/// What a new agent can take, or where it learns what to do.
pub(super) fn for_agent(
    context: &Context<'_, '_>,
    desk: &mut Desk,
    goal: &GoalId,
    agent: &AgentId,
) -> Option<String> {
    if desk.exact {
        return None;
    }
    let program = context.program;
    let endpoint = agent.default_endpoint();
    // What is offered is a claim of its own.
    let asking = Asking { executor: Executor::Attached, ..Asking::new(goal, agent, &endpoint) };
    let decided = turn_plan::decide(context, desk, &asking).ok()?;
    Some(match decided.action {
        Action::Run { todo_id, .. } => {
            format!("it takes work with `{program} todo claim {todo_id} --as agent:{agent}`")
        }
        Action::Repair { .. }
        | Action::Replan { .. }
        | Action::Reconcile { .. }
        | Action::Wait { .. }
        | Action::AskUser { .. }
        | Action::Closed => {
            format!("what it should do: `{program} turn plan --agent {agent} --goal {goal}`")
        }
    })
}
