//! Owns rewards: who may judge what. Nothing decides by them.

use serde::{Deserialize, Serialize};

use super::{Concluded, Context, Draft, Facts, Outcome, Read, Wanted, event_kinds, todo, turn};
use crate::{
    error::{Code, Error, Result},
    model::{GoalId, Label, Polarity, Reward, RewardId, ShortText, TodoId, TurnId},
};

/// What can be asked about rewards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Records a person's judgement of a Todo's work, of a Turn, or of a way of working.
    Add {
        /// The Todo.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        todo_id: Option<TodoId>,
        /// The Turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
        /// The way of working.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        route: Option<Label>,
        /// Whether more of it is wanted.
        polarity: Polarity,
        /// Why.
        reason: ShortText,
        /// What to do with it the next time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lesson: Option<ShortText>,
    },
}

/// What can have happened to rewards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A judgement was recorded.
    Added {
        /// The judgement.
        reward: Box<Reward>,
    },
}

event_kinds!(Event { Added => "reward.added" });

impl Command {
    pub(super) fn reads(&self, _goal: &GoalId, wanted: &mut Wanted<'_>) {
        let Self::Add { todo_id, turn_id, .. } = self;
        if let Some(todo_id) = todo_id {
            wanted.want(Read::Todo(todo_id.clone()));
        }
        if let Some(turn_id) = turn_id {
            wanted.want(Read::Turn(*turn_id));
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let Self::Add { todo_id, turn_id, route, polarity, reason, lesson } = self;
        if let Some(todo_id) = todo_id {
            todo::named(draft, todo_id)?;
        }
        let worked_on = turn_id.map(|turn_id| turn::named(draft, turn_id)).transpose()?;
        let worked_on = worked_on.and_then(|turn| turn.todo_id().cloned());
        if let (Some(given), Some(worked_on)) = (todo_id, &worked_on)
            && given != worked_on
        {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("the Turn worked on {worked_on}, not on {given}"),
            ));
        }
        let todo_id = todo_id.clone().or(worked_on);
        if todo_id.is_none() && turn_id.is_none() && route.is_none() {
            return Err(Error::new(
                Code::InvalidArgument,
                "a reward judges a Todo's work, a Turn, or a way of working",
            ));
        }
        let reward_id = RewardId::from_bytes(draft.mint());
        let reward = Reward {
            reward_id,
            goal_id: draft.goal_id().clone(),
            todo_id,
            turn_id: *turn_id,
            route: route.clone(),
            polarity: *polarity,
            reason: reason.clone(),
            lesson: lesson.clone(),
            by: draft.actor().clone(),
            at: draft.now(),
        };
        draft.emit(Event::Added { reward: Box::new(reward) })?;
        Ok((Outcome { reward_id: Some(reward_id), ..Outcome::default() }, None))
    }
}

impl Event {
    #[expect(clippy::unnecessary_wraps, reason = "every domain's events are applied by one signature")]
    pub(super) fn apply(&self, _context: &Context, facts: &mut Facts) -> Result<()> {
        let Self::Added { reward } = self;
        facts.put_noun((**reward).clone());
        Ok(())
    }
}
