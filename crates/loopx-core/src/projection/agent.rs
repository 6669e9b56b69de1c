//! Owns what is shown of the agents of a Goal.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    page::{Listed, Slice},
    turn::TurnRow,
};
use crate::{
    authority::{TurnFilter, View},
    error::{Code, Error, Result},
    model::{Agent, AgentId, GoalId, Label, Limit, Timestamp},
};

/// An agent in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentRow {
    /// The identity.
    pub agent_id: AgentId,
    /// The Goal.
    pub goal_id: GoalId,
    /// `registered` or `retired`.
    pub state: &'static str,
    /// What it can do.
    pub capabilities: BTreeSet<Label>,
    /// Its own budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// When it was registered, last.
    pub registered_at_ms: Timestamp,
    /// When it was retired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retired_at_ms: Option<Timestamp>,
}

impl AgentRow {
    pub(super) fn of(agent: Agent) -> Self {
        Self {
            state: if agent.is_registered() { "registered" } else { "retired" },
            agent_id: agent.agent_id,
            goal_id: agent.goal_id,
            capabilities: agent.capabilities,
            limit: agent.limit,
            registered_at_ms: agent.registered_at,
            retired_at_ms: agent.retired_at,
        }
    }
}

/// A page of agents, by id.
pub fn agents(
    view: &mut dyn View,
    goal: &GoalId,
    retired: bool,
    slice: Slice<'_>,
) -> Result<Listed<AgentRow>> {
    let wanted = |agent: &Agent| {
        (retired || agent.is_registered()) && slice.after.is_none_or(|after| agent.agent_id.as_str() > after)
    };
    let mut items: Vec<_> = view.agents(goal)?.into_iter().filter(wanted).map(AgentRow::of).collect();
    let limit = slice.limit.unwrap_or(usize::MAX);
    let more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| more).map(|last| last.agent_id.to_string());
    Ok(Listed { items, next_cursor })
}

/// An agent, and its Turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentPage {
    /// What a list shows of it.
    #[serde(flatten)]
    pub row: AgentRow,
    /// Its Turns that have not ended.
    pub live: Vec<TurnRow>,
    /// Its last Turns, newest first.
    pub turns: Vec<TurnRow>,
}

/// How many Turns an agent's page shows of each sort.
const BESIDE: usize = 10;

/// The page of an agent.
///
/// Errors: `not_found`.
pub fn agent(view: &mut dyn View, goal: &GoalId, id: &AgentId) -> Result<AgentPage> {
    let found = view.agents(goal)?.into_iter().find(|agent| agent.agent_id == *id);
    let row = found.map(AgentRow::of).ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no agent {id} in {goal}"))
            .detail("agent_id", id.as_str())
            .hint(format!("agent add {id} --goal {goal}"))
    })?;
    let mut turns = |live| -> Result<Vec<TurnRow>> {
        let filter = TurnFilter { goal, todo: None, agent: Some(id), live };
        Ok(view.turns(&filter, None, BESIDE)?.iter().map(TurnRow::of).collect())
    };
    Ok(AgentPage { row, live: turns(true)?, turns: turns(false)? })
}
