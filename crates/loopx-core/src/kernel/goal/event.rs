//! Owns what can have happened to a Goal, and its application.

use serde::{Deserialize, Serialize};

use super::{GoalChange, NewGoal};
use crate::{
    error::Result,
    kernel::{Context, Facts, event_kinds},
    model::{Caps, CloseKind, CriterionState, EvidenceId, Goal, GoalInstance, GoalState, ShortText},
};

/// What can have happened to a Goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// It was started.
    Started {
        /// This life of its slug.
        instance: GoalInstance,
        /// What it is made of.
        new: Box<NewGoal>,
    },
    /// Something of it was changed.
    Updated {
        /// What.
        change: Box<GoalChange>,
    },
    /// It was stopped.
    Stopped {},
    /// It was resumed.
    Resumed {},
    /// A criterion was let go.
    CriterionWaived {
        /// Counted from 1.
        criterion: u8,
        /// Why.
        reason: ShortText,
    },
    /// A criterion was shown.
    CriterionShown {
        /// Counted from 1.
        criterion: u8,
        /// By what.
        evidence: EvidenceId,
    },
    /// It was closed.
    Closed {
        /// How.
        kind: CloseKind,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// Its end was taken back.
    Reopened {},
}

event_kinds!(Event {
    Started => "goal.started",
    Updated => "goal.updated",
    Stopped => "goal.stopped",
    Resumed => "goal.resumed",
    CriterionWaived => "goal.criterion_waived",
    CriterionShown => "goal.criterion_shown",
    Closed => "goal.closed",
    Reopened => "goal.reopened",
});

impl Event {
    pub(in crate::kernel) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        match self {
            Self::Started { instance, new } => {
                facts.put_goal(context.goal_id.clone(), started(context, *instance, new));
                return Ok(());
            }
            Self::CriterionWaived { criterion, reason } => {
                let state = CriterionState::Waived { reason: reason.clone() };
                settle(facts, context, *criterion, state)?;
                return Ok(());
            }
            Self::CriterionShown { criterion, evidence } => {
                settle(facts, context, *criterion, CriterionState::Shown { evidence: *evidence })?;
                return Ok(());
            }
            Self::Updated { .. }
            | Self::Stopped {}
            | Self::Resumed {}
            | Self::Closed { .. }
            | Self::Reopened {} => {}
        }
        let goal = facts.goal_mut(&context.goal_id)?;
        match self {
            Self::Updated { change } => {
                if updated(goal, change) {
                    goal.revision += 1;
                }
                return Ok(());
            }
            Self::Stopped {} => goal.state = GoalState::Stopped,
            Self::Resumed {} | Self::Reopened {} => goal.state = GoalState::Active,
            Self::Closed { kind, reason } => {
                goal.state = GoalState::Closed { kind: *kind, reason: reason.clone(), at: context.at };
            }
            Self::Started { .. } | Self::CriterionWaived { .. } | Self::CriterionShown { .. } => {}
        }
        goal.revision += 1;
        Ok(())
    }
}

fn started(context: &Context, instance: GoalInstance, new: &NewGoal) -> Goal {
    Goal {
        goal_id: context.goal_id.clone(),
        instance,
        objective: new.objective.clone(),
        acceptance: new.acceptance.clone(),
        non_goals: new.non_goals.clone(),
        boundary: new.boundary.clone(),
        stop_conditions: new.stop_conditions.clone(),
        validators: new.validators.clone(),
        authority_sources: new.authority_sources.clone(),
        origin: new.origin.clone(),
        workspace: new.workspace.clone(),
        unvalidated: new.unvalidated,
        limit: None,
        currency: None,
        ceiling: Caps::default(),
        state: GoalState::Active,
        revision: 1,
        next_todo: 1,
        replans: 0,
        covered_by: None,
        awaits: None,
        goal_gates: 0,
        started_at: context.at,
        started_by: context.actor.clone(),
    }
}

/// Applies a change; says whether it moves the revision, as objective, acceptance, boundary and validators do.
fn updated(goal: &mut Goal, change: &GoalChange) -> bool {
    fn set<T: Clone>(slot: &mut T, new: Option<&T>) -> bool {
        new.is_some_and(|new| {
            *slot = new.clone();
            true
        })
    }
    let boundary = change.boundary.as_ref().map(|change| change.of(&goal.boundary));
    let moved = [
        set(&mut goal.objective, change.objective.as_ref()),
        set(&mut goal.acceptance, change.acceptance.as_ref()),
        set(&mut goal.boundary, boundary.as_ref()),
        set(&mut goal.validators, change.validators.as_ref()),
    ];
    set(&mut goal.non_goals, change.non_goals.as_ref());
    set(&mut goal.stop_conditions, change.stop_conditions.as_ref());
    set(&mut goal.authority_sources, change.authority_sources.as_ref());
    if change.workspace.is_some() {
        goal.workspace.clone_from(&change.workspace);
    }
    moved.contains(&true)
}

fn settle(facts: &mut Facts, context: &Context, criterion: u8, state: CriterionState) -> Result<()> {
    let goal = facts.goal_mut(&context.goal_id)?;
    let place = usize::from(criterion).checked_sub(1);
    if let Some(slot) = place.and_then(|place| goal.acceptance.get_mut(place)) {
        slot.state = state;
        goal.revision += 1;
    }
    Ok(())
}
