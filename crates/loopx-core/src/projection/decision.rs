//! Owns how a decision is read with what a machine sees: of one Goal, or over all Goals of an agent.
//!
//! Knows no rule; what must be read, what follows and which Goal comes first the kernel says.

use super::status::Eyes;
use crate::{
    authority::{self, TurnFilter, View},
    error::{Code, Error, Result},
    kernel::{Asker, Decided, Depth, Facts, Read, Terms, Viewer, across, claim::Sighted},
    model::{AgentId, EndpointId, Executor, Goal, GoalId, GoalState, OwnId, Workspace, gathered},
};

/// How many Goals are looked at in one go.
const GOALS: usize = 256;
/// How many Turns of an agent are looked for on this machine.
const TURNS: usize = 64;

/// Who asks what to do, and what it presents.
#[derive(Debug, Clone, Copy)]
pub struct Inquiry<'a> {
    /// The agent.
    pub agent: &'a AgentId,
    /// Through which endpoint it would execute.
    pub endpoint: &'a EndpointId,
    /// Who would run it.
    pub executor: Executor,
    /// The token of a Turn that it is at work on.
    pub own_id: Option<OwnId>,
    /// Where it would work, if not in a Goal's own work tree.
    pub workspace: Option<&'a Workspace>,
}

impl<'a> Inquiry<'a> {
    /// Somebody who would come by itself, and presents nothing.
    pub const fn new(agent: &'a AgentId, endpoint: &'a EndpointId) -> Self {
        Self { agent, endpoint, executor: Executor::Attached, own_id: None, workspace: None }
    }
}

/// What an agent should do now in one Goal.
///
/// Errors: `not_found` for a Goal or an agent that is not there.
pub fn decision(
    view: &mut dyn View,
    terms: &Terms,
    goal: &GoalId,
    inquiry: &Inquiry<'_>,
    eyes: &Eyes<'_>,
) -> Result<Decided> {
    let mut facts = Facts::new(terms.clone());
    let key = (goal.clone(), inquiry.agent.clone());
    view.load(&[Read::Agent(key.0.clone(), key.1.clone())].into(), &mut facts)?;
    let capabilities = facts.agent(&key)?.map(|row| row.capabilities.clone()).unwrap_or_default();
    let Sighted { seen, tried, .. } = sighted(view, goal, inquiry.agent, eyes)?;
    let asker = Asker {
        viewer: Viewer {
            agent_id: inquiry.agent,
            capabilities,
            own_id: inquiry.own_id,
            workspace: inquiry.workspace,
        },
        endpoint: inquiry.endpoint,
        executor: inquiry.executor,
        machine_id: eyes.machine_id,
        seen,
        tried,
    };
    authority::next(view, terms, goal, &asker)
}

/// What this machine sees of the Turns that a decision for an agent looks at.
pub fn sighted(view: &mut dyn View, goal: &GoalId, agent: &AgentId, eyes: &Eyes<'_>) -> Result<Sighted> {
    let live = TurnFilter { goal, todo: None, agent: None, live: true };
    let own = view.turns(&TurnFilter { agent: Some(agent), ..live.clone() }, None, TURNS)?;
    let seen = own.iter().filter_map(|turn| Some((turn.turn_id, eyes.of(turn)?)));
    Ok(Sighted {
        machine_id: eyes.machine_id.cloned(),
        seen: gathered(seen),
        tried: (eyes.tried)(&view.turns(&live, None, Facts::PAGE)?)?,
        depth: Depth::Whole,
    })
}

/// What an agent should do now over all Goals that it is registered with, and in which.
///
/// Errors: `not_found` where it is registered with none.
pub fn decisions(
    view: &mut dyn View,
    terms: &Terms,
    inquiry: &Inquiry<'_>,
    eyes: &Eyes<'_>,
) -> Result<(GoalId, Decided)> {
    let mut decided = Vec::new();
    let mut after: Option<GoalId> = None;
    loop {
        let page = view.goals(after.as_ref(), GOALS)?;
        for goal in &page {
            if let Some(found) = of_goal(view, terms, goal, inquiry, eyes)? {
                decided.push((goal.goal_id.clone(), found));
            }
        }
        match page.last().filter(|_| page.len() == GOALS) {
            Some(last) => after = Some(last.goal_id.clone()),
            None => break,
        }
    }
    let agent = inquiry.agent;
    across(decided).ok_or_else(|| {
        Error::new(Code::NotFound, format!("the agent {agent} is registered with no Goal"))
            .hint(format!("agent add {agent}"))
            .detail("agent_id", agent.as_str())
    })
}

/// The decision in a Goal that the agent is registered with.
fn of_goal(
    view: &mut dyn View,
    terms: &Terms,
    goal: &Goal,
    inquiry: &Inquiry<'_>,
    eyes: &Eyes<'_>,
) -> Result<Option<Decided>> {
    let key = (goal.goal_id.clone(), inquiry.agent.clone());
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Agent(key.0.clone(), key.1.clone())].into(), &mut facts)?;
    let is_closed = matches!(goal.state, GoalState::Closed { .. });
    let row = facts.agent(&key)?;
    match row {
        Some(row) if is_closed || row.is_registered() => {}
        Some(_) | None => return Ok(None),
    }
    decision(view, terms, &goal.goal_id, inquiry, eyes).map(Some)
}
