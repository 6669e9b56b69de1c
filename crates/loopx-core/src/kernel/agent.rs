//! Owns the registration of agents in a Goal.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Concluded, Context, Draft, Facts, Outcome, Read, Verb, Wanted, event_kinds, turn};
use crate::{
    error::{Code, Error, Result},
    model::{Agent, AgentId, GoalId, Label, Stopped},
};

/// What can be asked about an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Registers it; again with the same capabilities changes nothing.
    Add {
        /// Who.
        agent_id: AgentId,
        /// What it can do.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        capabilities: BTreeSet<Label>,
    },
    /// Retires it, ending its attached and held Turns.
    Retire {
        /// Who.
        agent_id: AgentId,
    },
}

/// What can have happened to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// It was registered, or got another set of capabilities.
    Registered {
        /// Who.
        agent_id: AgentId,
        /// What it can do.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        capabilities: BTreeSet<Label>,
    },
    /// It was retired.
    Retired {
        /// Who.
        agent_id: AgentId,
    },
}

event_kinds!(Event { Registered => "agent.registered", Retired => "agent.retired" });

impl Command {
    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Add { .. } => Verb::AgentAdd,
            Self::Retire { .. } => Verb::AgentRetire,
        }
    }

    pub(super) fn reads(&self, goal: &GoalId, wanted: &mut Wanted<'_>) {
        match self {
            Self::Add { agent_id, .. } => wanted.want(Read::Agent(goal.clone(), agent_id.clone())),
            Self::Retire { agent_id } => {
                wanted.want(Read::Agent(goal.clone(), agent_id.clone()));
                wanted.want(Read::AgentTurns(goal.clone(), agent_id.clone()));
                turn::asked_reads(|turn| turn.agent_id == *agent_id, wanted);
            }
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        match self {
            Self::Add { agent_id, capabilities } => add(draft, agent_id, capabilities),
            Self::Retire { agent_id } => retire(draft, agent_id),
        }
    }
}

fn add(draft: &mut Draft<'_>, agent_id: &AgentId, capabilities: &BTreeSet<Label>) -> Result<Concluded> {
    if capabilities.len() > 32 {
        return Err(Error::new(Code::InvalidArgument, "an agent has at most 32 capabilities"));
    }
    let key = (draft.goal_id().clone(), agent_id.clone());
    let same = draft
        .facts()
        .agent(&key)?
        .is_some_and(|agent| agent.is_registered() && agent.capabilities == *capabilities);
    if !same {
        draft.emit(Event::Registered { agent_id: agent_id.clone(), capabilities: capabilities.clone() })?;
    }
    Ok((Outcome { created: Some(!same), ..Outcome::default() }, None))
}

fn retire(draft: &mut Draft<'_>, agent_id: &AgentId) -> Result<Concluded> {
    let key = (draft.goal_id().clone(), agent_id.clone());
    registered(draft.facts(), &key)?;
    let turns: Vec<_> =
        draft.facts().agent_turns(&key.0, agent_id)?.iter().map(|turn| turn.turn_id).collect();
    for turn_id in turns {
        turn::clear(draft, turn_id, Stopped::Retired)?;
    }
    draft.emit(Event::Retired { agent_id: agent_id.clone() })?;
    Ok((Outcome::default(), None))
}

/// The registered agent, or why there is none.
pub(super) fn registered<'f>(facts: &'f Facts, key: &(GoalId, AgentId)) -> Result<&'f Agent> {
    let (goal, agent_id) = key;
    facts.agent(key)?.filter(|agent| agent.is_registered()).ok_or_else(|| {
        Error::new(Code::NotFound, format!("the agent {agent_id} is not registered in {goal}"))
            .hint(format!("agent add {agent_id} --goal {goal}"))
    })
}

impl Event {
    pub(super) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        match self {
            Self::Registered { agent_id, capabilities } => {
                let key = (context.goal_id.clone(), agent_id.clone());
                let before = facts.agent(&key)?;
                let agent = Agent {
                    goal_id: key.0.clone(),
                    agent_id: agent_id.clone(),
                    capabilities: capabilities.clone(),
                    limit: before.and_then(|agent| agent.limit),
                    ceiling: before.map(|agent| agent.ceiling).unwrap_or_default(),
                    looked_last: before.is_some_and(|agent| agent.looked_last),
                    proposals: before.map_or(0, |agent| agent.proposals),
                    registered_at: context.at,
                    retired_at: None,
                };
                facts.put_agent(key, agent);
            }
            Self::Retired { agent_id } => {
                facts.agent_mut(&(context.goal_id.clone(), agent_id.clone()))?.retired_at = Some(context.at);
            }
        }
        Ok(())
    }
}
