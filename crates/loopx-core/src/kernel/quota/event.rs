//! Owns what can have happened to a budget, and its application.

use serde::{Deserialize, Serialize};

use super::spend;
use crate::{
    error::Result,
    kernel::{Context, Facts, event_kinds},
    model::{AgentId, Caps, Currency, Limit, Meter, ShortText, TodoId, TurnId},
};

/// What can have happened to a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A limit was set or lifted.
    LimitSet {
        /// The agent; none means the Goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<AgentId>,
        /// The limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
    /// A ceiling was set or lifted.
    CeilingSet {
        /// The agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<AgentId>,
        /// The Todo; neither means the Goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        todo_id: Option<TodoId>,
        /// What one attempt may use.
        ceiling: Caps,
    },
    /// Something was used.
    Used {
        /// By which Turn.
        turn_id: TurnId,
        /// In which attempt.
        attempt: u8,
        /// Who measured.
        meter: Meter,
        /// The number of the report.
        seq: u64,
        /// How much.
        #[serde(default, skip_serializing_if = "Caps::is_open")]
        amounts: Caps,
        /// The currency, where there is a cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        currency: Option<Currency>,
    },
    /// A person took a spend back.
    Voided {
        /// Of which Turn.
        turn_id: TurnId,
        /// Why.
        reason: ShortText,
    },
}

event_kinds!(Event {
    LimitSet => "quota.limit_set",
    CeilingSet => "quota.ceiling_set",
    Used => "quota.used",
    Voided => "quota.voided",
});

impl Event {
    /// Whether a ledger of the first schema can hold it: it knew limits of Turns alone.
    pub(in crate::kernel) const fn since(&self) -> i32 {
        match self {
            Self::LimitSet { limit: None, .. } => 1,
            Self::LimitSet { limit: Some(limit), .. } => match (limit.turns, limit.caps()) {
                (Some(_), Caps { tokens: None, cost_micros: None, wall_ms: None }) => 1,
                _ => 2, // wildcard: anything that is new, or without what every limit had
            },
            Self::CeilingSet { .. } | Self::Used { .. } | Self::Voided { .. } => 2,
        }
    }

    pub(in crate::kernel) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        match self {
            Self::LimitSet { agent_id, limit } => {
                if let Some(agent_id) = agent_id {
                    facts.agent_mut(&(context.goal_id.clone(), agent_id.clone()))?.limit = *limit;
                } else {
                    facts.goal_mut(&context.goal_id)?.limit = *limit;
                }
                match limit.and_then(|limit| limit.currency) {
                    Some(currency) => counts_in(context, facts, currency),
                    None => Ok(()),
                }
            }
            Self::CeilingSet { agent_id: Some(agent_id), ceiling, .. } => {
                facts.agent_mut(&(context.goal_id.clone(), agent_id.clone()))?.ceiling = *ceiling;
                Ok(())
            }
            Self::CeilingSet { todo_id: Some(todo_id), ceiling, .. } => {
                let todo = facts.todo_mut(todo_id)?;
                todo.revision += 1;
                todo.ceiling = *ceiling;
                Ok(())
            }
            Self::CeilingSet { agent_id: None, todo_id: None, ceiling } => {
                facts.goal_mut(&context.goal_id)?.ceiling = *ceiling;
                Ok(())
            }
            Self::Used { turn_id, attempt, meter, seq, amounts, currency } => {
                spend::add(facts, turn_id, *attempt, *meter, *seq, *amounts)?;
                match currency {
                    Some(currency) => counts_in(context, facts, *currency),
                    None => Ok(()),
                }
            }
            Self::Voided { turn_id, .. } => spend::take_back(facts, turn_id),
        }
    }
}

/// The first currency that is named is the Goal's.
fn counts_in(context: &Context, facts: &mut Facts, currency: Currency) -> Result<()> {
    if facts.goal(&context.goal_id)?.is_some_and(|goal| goal.currency.is_none()) {
        facts.goal_mut(&context.goal_id)?.currency = Some(currency);
    }
    Ok(())
}
