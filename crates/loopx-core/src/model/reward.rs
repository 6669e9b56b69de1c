//! Owns the reward: a person's judgement of a run or of a way of working, kept for whoever plans the next.
//!
//! Knows no rule. Invariant: no decision reads one.

use serde::{Deserialize, Serialize};

use super::{Actor, GoalId, Label, RewardId, ShortText, Timestamp, TodoId, TurnId};

/// A person's judgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reward {
    /// Its id.
    pub reward_id: RewardId,
    /// The Goal.
    pub goal_id: GoalId,
    /// The Todo whose work is judged, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_id: Option<TodoId>,
    /// The run that is judged, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The way of working that is judged, by its name, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Label>,
    /// Whether more of it is wanted.
    pub polarity: Polarity,
    /// Why.
    pub reason: ShortText,
    /// What to do with it the next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lesson: Option<ShortText>,
    /// Who judged.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

/// Whether more of something is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Polarity {
    /// More of it.
    Good,
    /// Less of it.
    Bad,
}
