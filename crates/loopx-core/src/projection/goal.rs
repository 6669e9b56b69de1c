//! Owns what is shown of a Goal: its row and its page.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    agent::AgentRow,
    page::{Listed, Slice, bad_cursor, collect},
};
use crate::{
    authority::{Count, View},
    error::{Code, Error, Result},
    kernel::{Facts, Read, Terms},
    model::{
        Actor, Boundary, CloseKind, Criterion, CriterionState, Digest, EvidenceId, Goal, GoalId,
        GoalInstance, GoalState, Limit, Origin, ShortText, Timestamp, TodoId, Unvalidated, Validator,
        Workspace,
    },
};

/// A Goal in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoalRow {
    /// The slug.
    pub goal_id: GoalId,
    /// What should be true in the end.
    pub objective: String,
    /// `active`, `stopped` or `closed`.
    pub state: &'static str,
    /// How a closed one ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<CloseKind>,
    /// How many Todos stand where.
    pub counts: Count,
    /// Criteria that are shown or waived.
    pub criteria_met: usize,
    /// All criteria.
    pub criteria: usize,
    /// What `--expect` names.
    pub revision: u64,
    /// When it was started.
    pub started_at_ms: Timestamp,
}

/// The state as it is shown.
pub(super) const fn state(goal: &Goal) -> &'static str {
    match goal.state {
        GoalState::Active => "active",
        GoalState::Stopped => "stopped",
        GoalState::Closed { .. } => "closed",
    }
}

impl GoalRow {
    pub(super) fn of(goal: &Goal, counts: Count) -> Self {
        let closed = match &goal.state {
            GoalState::Closed { kind, .. } => Some(*kind),
            GoalState::Active | GoalState::Stopped => None,
        };
        Self {
            goal_id: goal.goal_id.clone(),
            objective: goal.objective.to_string(),
            state: state(goal),
            closed,
            counts,
            criteria_met: goal.acceptance.iter().filter(|criterion| !criterion.state.is_open()).count(),
            criteria: goal.acceptance.len(),
            revision: goal.revision,
            started_at_ms: goal.started_at,
        }
    }
}

/// A page of Goals, by slug.
pub fn goals(view: &mut dyn View, states: &BTreeSet<&str>, slice: Slice<'_>) -> Result<Listed<GoalRow>> {
    let listed = collect(
        slice,
        |after, limit| {
            let after = after.map(|text| text.parse().map_err(|_| bad_cursor(text))).transpose()?;
            view.goals(after.as_ref(), limit)
        },
        |goal| goal.goal_id.to_string(),
        |goal| Ok((states.is_empty() || states.contains(state(&goal))).then_some(goal)),
    )?;
    let items: Result<Vec<_>> =
        listed.items.iter().map(|goal| Ok(GoalRow::of(goal, view.counts(&goal.goal_id)?))).collect();
    Ok(Listed { items: items?, next_cursor: listed.next_cursor })
}

/// The page of a Goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoalPage {
    /// What a list shows of it.
    #[serde(flatten)]
    pub row: GoalRow,
    /// This life of its slug.
    pub goal_instance: GoalInstance,
    /// Why it was abandoned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close_reason: Option<String>,
    /// When it was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at_ms: Option<Timestamp>,
    /// Its criteria, in order.
    pub acceptance: Vec<CriterionRow>,
    /// What is not wanted.
    pub non_goals: Vec<ShortText>,
    /// Where agents may write, and what needs an approval.
    pub boundary: Boundary,
    /// When an agent must stop and ask.
    pub stop_conditions: Vec<ShortText>,
    /// What proves a Todo that names nothing itself.
    pub validators: Vec<Validator>,
    /// Required reads.
    pub authority_sources: Vec<ShortText>,
    /// Where the wish came up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The work tree its work is done in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// The replan that covers it, while that is live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covered_by: Option<TodoId>,
    /// The monitor whose news it awaits, where a criterion is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaits: Option<TodoId>,
    /// What happens to a completion that nothing proved.
    pub unvalidated: Unvalidated,
    /// The budget of Turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Who started it.
    pub started_by: Actor,
    /// Its agents.
    pub agents: Vec<AgentRow>,
    /// The number of its last event.
    pub head_seq: u64,
    /// The hash of its chain up to there.
    pub head_hash: Digest,
}

/// A criterion, and whether it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CriterionRow {
    /// Counted from 1.
    pub criterion: usize,
    /// What must hold.
    pub text: String,
    /// `open`, `shown` or `waived`.
    pub state: &'static str,
    /// What shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_id: Option<EvidenceId>,
    /// Why it was let go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Validator>,
}

impl CriterionRow {
    fn of((place, criterion): (usize, &Criterion)) -> Self {
        let (state, evidence_id, reason) = match &criterion.state {
            CriterionState::Open => ("open", None, None),
            CriterionState::Shown { evidence } => ("shown", Some(*evidence), None),
            CriterionState::Waived { reason } => ("waived", None, Some(reason.to_string())),
        };
        let (text, check) = (criterion.text.to_string(), criterion.check.clone());
        Self { criterion: place + 1, text, state, evidence_id, reason, check }
    }
}

/// The Goal of that slug.
///
/// Errors: `not_found`.
pub(super) fn named(view: &mut dyn View, terms: &Terms, id: &GoalId) -> Result<Goal> {
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Goal(id.clone())].into(), &mut facts)?;
    facts.goal(id)?.cloned().ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no Goal {id}"))
            .detail("goal_id", id.as_str())
            .hint("goal list")
    })
}

/// Refuses a Goal that is not there, at the cost of one indexed row.
///
/// Errors: `not_found`.
pub fn known(view: &mut dyn View, id: &GoalId) -> Result<()> {
    let found = view.head(id)?.map(drop);
    found.ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no Goal {id}"))
            .detail("goal_id", id.as_str())
            .hint("goal list")
    })
}

/// The page of a Goal.
///
/// Errors: `not_found`.
pub fn goal(view: &mut dyn View, terms: &Terms, id: &GoalId) -> Result<GoalPage> {
    let goal = named(view, terms, id)?;
    let head = view.head(id)?;
    let (close_reason, closed_at_ms) = match &goal.state {
        GoalState::Closed { reason, at, .. } => (reason.as_ref().map(ToString::to_string), Some(*at)),
        GoalState::Active | GoalState::Stopped => (None, None),
    };
    Ok(GoalPage {
        row: GoalRow::of(&goal, view.counts(id)?),
        goal_instance: goal.instance,
        close_reason,
        closed_at_ms,
        acceptance: goal.acceptance.iter().enumerate().map(CriterionRow::of).collect(),
        agents: view.agents(id)?.into_iter().map(AgentRow::of).collect(),
        head_seq: head.map_or(0, |head| head.seq),
        head_hash: head.map_or(Digest::ZERO, |head| head.hash),
        awaits: goal.awaited().filter(|_| goal.open_criterion().is_some()).cloned(),
        covered_by: goal.covered_by,
        non_goals: goal.non_goals,
        boundary: goal.boundary,
        stop_conditions: goal.stop_conditions,
        validators: goal.validators,
        authority_sources: goal.authority_sources,
        origin: goal.origin,
        workspace: goal.workspace,
        unvalidated: goal.unvalidated,
        limit: goal.limit,
        started_by: goal.started_by,
    })
}
