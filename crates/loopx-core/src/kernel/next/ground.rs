//! Owns what the rules of one Goal stand on: its rows, for whom they are asked, and the reasons of its Todos.
//!
//! Knows no rule.

use std::collections::BTreeMap;

use super::{Action, Asker, Decided, trace::Trace};
use crate::{
    error::{Code, Error, Result},
    kernel::{ASKS_MAX, Depth, Facts, Reason, agent, reason},
    model::{Agent, Goal, GoalId, GoalState, Priority, Timestamp, Todo, TodoId},
};

/// What the rules look at: the Goal, for whom, and the reasons of all live Todos that are loaded.
pub(super) struct Ground<'f> {
    pub(super) facts: &'f Facts,
    pub(super) goal: &'f Goal,
    pub(super) asker: &'f Asker<'f>,
    pub(super) reasons: Vec<(&'f Todo, Reason)>,
}

impl<'f> Ground<'f> {
    /// With what the gap of the Goal would become, where there is one and it was looked for.
    pub(super) fn of(
        facts: &'f Facts,
        goal_id: &GoalId,
        asker: &'f Asker<'f>,
        gap: Option<&'f Todo>,
    ) -> Result<Self> {
        let goal = facts.goal(goal_id)?.ok_or_else(|| {
            Error::new(Code::NotFound, format!("there is no Goal {goal_id}")).hint("goal list")
        })?;
        let ground = |reasons| Self { facts, goal, asker, reasons };
        if matches!(goal.state, GoalState::Closed { .. }) {
            return Ok(ground(Vec::new()));
        }
        agent::registered(facts, &(goal_id.clone(), asker.viewer.agent_id.clone()))?;
        let live =
            facts.rows().todos.values().filter(|todo| todo.todo_id.goal() == goal_id && todo.is_live());
        let all = live.chain(gap);
        let reasons: Result<_> = all.map(|todo| Ok((todo, reason(facts, todo, &asker.viewer)?))).collect();
        Ok(ground(reasons?))
    }

    pub(super) fn goal_id(&self) -> &'f GoalId {
        &self.goal.goal_id
    }

    pub(super) fn agent(&self) -> Result<Option<&'f Agent>> {
        self.facts.agent(&(self.goal_id().clone(), self.asker.viewer.agent_id.clone()))
    }

    pub(super) fn decided(&self, action: Action, trace: Trace, depth: Depth) -> Decided {
        let mut also = BTreeMap::new();
        for (_, reason) in &self.reasons {
            *also.entry(reason.name()).or_insert(0) += 1;
        }
        let (rule, trace) = trace.finish();
        let unasked = if rule == 9 { self.unasked() } else { Vec::new() };
        let priority = self.priority(&action);
        Decided { also, priority, unasked, depth, trace, ..Decided::of(rule, action) }
    }

    fn priority(&self, action: &Action) -> Option<Priority> {
        let todo_id = action.todo_id()?;
        self.reasons.iter().find(|(todo, _)| todo.todo_id == *todo_id).map(|(todo, _)| todo.priority)
    }

    /// What lacks nothing but approvals that nobody was asked for.
    fn unasked(&self) -> Vec<TodoId> {
        let has_all = |todo: &Todo| todo.requires.capabilities.is_subset(&self.asker.viewer.capabilities);
        let lacks =
            |(todo, reason): &&(&Todo, Reason)| matches!(reason, Reason::Approval(_)) && has_all(todo);
        self.reasons.iter().filter(lacks).map(|(todo, _)| todo.todo_id.clone()).take(ASKS_MAX).collect()
    }

    /// The earliest moment that some reasons name.
    pub(super) fn earliest(&self, of: impl Fn(&Reason) -> Option<Timestamp>) -> Option<Timestamp> {
        self.reasons.iter().filter_map(|(_, reason)| of(reason)).min()
    }
}
