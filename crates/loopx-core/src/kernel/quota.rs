//! Owns the budget of Turns: limits, the slot an admission reserves, and what becomes of it.
//!
//! Spending exists only as the commit that ends a Turn. Tokens, cost and wall time are not metered here yet.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Concluded, Context, Delta, Draft, Facts, Outcome, Read, Wanted, agent, event_kinds, turn};
use crate::{
    error::{Code, Error, Result},
    model::{AgentId, Bucket, Duration, Goal, GoalId, Limit, MeterScope, Turn, TurnId},
};

/// What can be asked about a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Sets, or lifts, the limit of the Goal or of one agent in it.
    Set {
        /// The agent; none means the Goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<AgentId>,
        /// The limit; none lifts it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
}

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
}

event_kinds!(Event { LimitSet => "quota.limit_set" });

impl Command {
    pub(super) fn reads(&self, goal: &GoalId, wanted: &mut Wanted<'_>) {
        let Self::Set { agent_id, .. } = self;
        if let Some(agent_id) = agent_id {
            wanted.want(Read::Agent(goal.clone(), agent_id.clone()));
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let Self::Set { agent_id, limit } = self;
        if let Some(agent_id) = agent_id {
            agent::registered(draft.facts(), &(draft.goal_id().clone(), agent_id.clone()))?;
        }
        let window = limit.map(|limit| limit.window_ms);
        let ok = |w: Duration| (Duration::from_mins(5)..=Duration::from_mins(31 * 24 * 60)).contains(&w);
        if window.is_some_and(|window| !ok(window)) {
            return Err(Error::new(Code::InvalidArgument, "a budget's window is 5 minutes to 31 days"));
        }
        draft.emit(Event::LimitSet { agent_id: agent_id.clone(), limit: *limit })?;
        Ok((Outcome::default(), None))
    }
}

impl Event {
    pub(super) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        let Self::LimitSet { agent_id, limit } = self;
        match agent_id {
            Some(agent_id) => {
                facts.agent_mut(&(context.goal_id.clone(), agent_id.clone()))?.limit = *limit;
            }
            None => facts.goal_mut(&context.goal_id)?.limit = *limit,
        }
        Ok(())
    }
}

/// The limits an admission for an agent meets, with their meters.
fn limits(goal: &Goal, agent: Option<&crate::model::Agent>) -> Vec<(MeterScope, Limit)> {
    let of_goal = goal.limit.map(|limit| (MeterScope::Goal(goal.goal_id.clone()), limit));
    let of_agent = agent.and_then(|agent| {
        let scope = MeterScope::Agent(goal.goal_id.clone(), agent.agent_id.clone());
        agent.limit.map(|limit| (scope, limit))
    });
    of_goal.into_iter().chain(of_agent).collect()
}

/// Asks for the meters an admission looks at, once Goal and agent are known.
pub(super) fn reads(goal: &GoalId, agent: &AgentId, wanted: &mut Wanted<'_>) {
    let now = wanted.facts.now();
    let rows = wanted.rows();
    let Some(goal_row) = rows.goals.get(goal) else { return };
    let agent_row = rows.agents.get(&(goal.clone(), agent.clone()));
    for (scope, limit) in limits(goal_row, agent_row) {
        wanted.want(Read::Used(scope, Bucket::window_start(now, limit.window_ms)));
    }
}

/// What [`room`] must read that is not loaded yet.
pub fn room_reads(goal: &GoalId, agent: &AgentId, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    wanted.want(Read::Goal(goal.clone()));
    wanted.want(Read::Agent(goal.clone(), agent.clone()));
    reads(goal, agent, &mut wanted);
    wanted.missing
}

/// Refuses, as an admission would, where no slot is left, saying when one frees.
pub fn room(facts: &Facts, goal_id: &GoalId, agent_id: &AgentId) -> Result<()> {
    admit(facts, goal_id, agent_id, &[])
}

/// Refuses an admission for which no slot is left, saying when one frees.
///
/// `ends` are Turns that the same commit would end; what they give back counts as free.
pub(super) fn admit(facts: &Facts, goal_id: &GoalId, agent_id: &AgentId, ends: &[TurnId]) -> Result<()> {
    let goal = facts.goal(goal_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let agent = facts.agent(&(goal_id.clone(), agent_id.clone()))?;
    for (scope, limit) in limits(goal, agent) {
        let since = Bucket::window_start(facts.now(), limit.window_ms);
        let used = facts.used(&scope, since)?;
        let mut slots = used.slots;
        for turn_id in ends {
            let turn = facts.turn(turn_id)?.ok_or_else(|| Error::from(Code::Internal))?;
            if turn::gives_back(turn) && holds(&scope, since, turn) {
                slots = slots.saturating_sub(1);
            }
        }
        if slots >= u64::from(limit.turns) {
            let frees = used.oldest.unwrap_or(Bucket::of(facts.now())).leaves(limit.window_ms);
            let used = slots;
            let whose = match &scope {
                MeterScope::Goal(goal) => format!("the Goal {goal}"),
                MeterScope::Agent(goal, agent) => format!("the agent {agent} in {goal}"),
            };
            return Err(Error::new(
                Code::QuotaExhausted,
                format!("{whose} has used {used} of {} Turns", limit.turns),
            )
            .detail("used", used)
            .detail("limit", limit.turns)
            .detail("frees_at_ms", frees.as_ms()));
        }
    }
    Ok(())
}

/// Whether a Turn's slot counts on a meter since a bucket.
fn holds(scope: &MeterScope, since: Bucket, turn: &Turn) -> bool {
    let metered = match scope {
        MeterScope::Goal(goal) => turn.goal_id == *goal,
        MeterScope::Agent(goal, agent) => turn.goal_id == *goal && turn.agent_id == *agent,
    };
    metered && turn.bucket >= since
}

/// The live Turns whose reservations keep an agent from being admitted.
pub(super) fn holders<'f>(facts: &'f Facts, goal_id: &GoalId, agent_id: &AgentId) -> Result<Vec<&'f Turn>> {
    let goal = facts.goal(goal_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let agent = facts.agent(&(goal_id.clone(), agent_id.clone()))?;
    let mut full = Vec::new();
    for (scope, limit) in limits(goal, agent) {
        let since = Bucket::window_start(facts.now(), limit.window_ms);
        let used = facts.used(&scope, since)?;
        if used.slots >= u64::from(limit.turns) {
            full.push((scope, since));
        }
    }
    let counts = |turn: &&Turn| full.iter().any(|(scope, since)| holds(scope, *since, turn));
    Ok(facts.live_turns(goal_id)?.into_iter().filter(counts).collect())
}

/// How many Turns the limits of an agent in a Goal leave; none where there is no limit.
pub fn left(facts: &Facts, goal_id: &GoalId, agent_id: &AgentId) -> Result<Option<u64>> {
    let goal = facts.goal(goal_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let agent = facts.agent(&(goal_id.clone(), agent_id.clone()))?;
    let of = |(scope, limit): (MeterScope, Limit)| -> Result<u64> {
        let used = facts.used(&scope, Bucket::window_start(facts.now(), limit.window_ms))?;
        Ok(u64::from(limit.turns).saturating_sub(used.slots))
    };
    let left = limits(goal, agent).into_iter().map(of).collect::<Result<Vec<_>>>()?;
    Ok(left.into_iter().min())
}

/// Moves the meters of a Turn's admission by `by` slots.
pub(super) fn shift(facts: &mut Facts, turn: &Turn, by: i64) {
    let scopes = [
        MeterScope::Goal(turn.goal_id.clone()),
        MeterScope::Agent(turn.goal_id.clone(), turn.agent_id.clone()),
    ];
    for scope in scopes {
        facts.shift(Delta::Meter { scope, bucket: turn.bucket, by });
    }
}
