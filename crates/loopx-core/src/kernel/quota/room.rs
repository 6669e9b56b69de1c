//! Owns what a budget leaves: the limits an admission meets, what it would reserve, and when room comes back.
//!
//! Knows nothing of what was done with what is spent.

use std::collections::BTreeSet;

use super::{super::turn, spend, zero};
use crate::{
    error::{Code, Error, Result},
    kernel::{Facts, Read, Used, Wanted},
    model::{
        Agent, AgentId, Bucket, Caps, Dimension, Goal, GoalId, Limit, MeterScope, Spend, Timestamp, Todo,
        Turn, TurnId,
    },
};

/// Over how many Turns what is left is spread where no limit says how many may come.
const SPREAD: u64 = 4;

/// What is to be admitted.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::kernel) struct Wish<'w> {
    /// For which Todo, where it is known.
    pub(in crate::kernel) todo: Option<&'w Todo>,
    /// Whether a driver runs it, which may try more than once.
    pub(in crate::kernel) is_driven: bool,
    /// Turns that the same commit would end; what they give back counts as free.
    pub(in crate::kernel) ends: &'w [TurnId],
}

/// The limits an admission for an agent meets, with their meters.
fn limits(facts: &Facts, goal: &Goal, agent: Option<&Agent>) -> Vec<(MeterScope, Limit)> {
    let of_all = facts.authority_limit().map(|limit| (MeterScope::Authority, limit));
    let of_goal = goal.limit.map(|limit| (MeterScope::Goal(goal.goal_id.clone()), limit));
    let of_agent = agent.and_then(|agent| {
        let scope = MeterScope::Agent(goal.goal_id.clone(), agent.agent_id.clone());
        agent.limit.map(|limit| (scope, limit))
    });
    of_all.into_iter().chain(of_goal).chain(of_agent).collect()
}

/// Asks for the meters an admission looks at, once Goal and agent are known.
pub(in crate::kernel) fn want(goal: &GoalId, agent: &AgentId, wanted: &mut Wanted<'_>) {
    wanted.want(Read::AuthorityLimit);
    let now = wanted.facts.now();
    let rows = wanted.rows();
    let Some(goal_row) = rows.goals.get(goal) else { return };
    let agent_row = rows.agents.get(&(goal.clone(), agent.clone()));
    for (scope, limit) in limits(wanted.facts, goal_row, agent_row) {
        wanted.want(Read::Used(scope, Bucket::window_start(now, limit.window_ms)));
    }
}

/// What [`room`] must read that is not loaded yet.
pub fn room_reads(goal: &GoalId, agent: &AgentId, facts: &Facts) -> BTreeSet<Read> {
    let mut wanted = Wanted { facts, missing: BTreeSet::new() };
    wanted.want(Read::Goal(goal.clone()));
    wanted.want(Read::Agent(goal.clone(), agent.clone()));
    want(goal, agent, &mut wanted);
    wanted.missing
}

/// Refuses, as an admission would, where no room is left, saying when some frees.
pub fn room(facts: &Facts, goal_id: &GoalId, agent_id: &AgentId) -> Result<()> {
    admit(facts, goal_id, agent_id, &Wish::default()).map(drop)
}

/// One limit beside what its meter holds, less what would be given back first.
struct Scope {
    meter: MeterScope,
    limit: Limit,
    used: Used,
}

impl Scope {
    fn left(&self, dimension: Dimension) -> Option<u64> {
        Some(self.limit.caps().of(dimension)?.saturating_sub(self.used.amounts.of(dimension)))
    }

    fn turns_left(&self) -> Option<u64> {
        Some(u64::from(self.limit.turns?).saturating_sub(self.used.slots))
    }

    fn frees_at(&self, facts: &Facts) -> Timestamp {
        self.used.oldest.unwrap_or(Bucket::of(facts.now())).leaves(self.limit.window_ms)
    }

    fn whose(&self) -> String {
        match &self.meter {
            MeterScope::Authority => "the authority".to_owned(),
            MeterScope::Goal(goal) => format!("the Goal {goal}"),
            MeterScope::Agent(goal, agent) => format!("the agent {agent} in {goal}"),
        }
    }

    /// Refuses a Turn where none is left.
    fn check_turns(&self, facts: &Facts) -> Result<()> {
        let Some(turns) = self.limit.turns.filter(|_| self.turns_left() == Some(0)) else { return Ok(()) };
        let used = self.used.slots;
        let message = format!("{} has used {used} of {turns} Turns", self.whose());
        Err(self.exhausted(facts, "turns", message).detail("used", used).detail("limit", turns))
    }

    fn exhausted(&self, facts: &Facts, dimension: &str, message: String) -> Error {
        Error::new(Code::QuotaExhausted, message)
            .detail("dimension", dimension)
            .detail("frees_at_ms", self.frees_at(facts).as_ms())
    }

    /// Refuses an amount that is more than what is left.
    fn check_amount(&self, facts: &Facts, dimension: Dimension, each: u64, attempts: u64) -> Result<()> {
        let needed = each.saturating_mul(attempts);
        let (Some(left), Some(limit)) = (self.left(dimension), self.limit.caps().of(dimension)) else {
            return Ok(());
        };
        if needed > limit {
            let (whose, name) = (self.whose(), dimension.as_str());
            let message = format!(
                "a Turn may use {needed} of {name}, more than all that {whose} may: lower its ceiling"
            );
            return Err(ceiling_required(facts, dimension, message, &self.meter, limit / attempts.max(1)));
        }
        if left > 0 && needed <= left {
            return Ok(());
        }
        let name = dimension.as_str();
        let used = self.used.amounts.of(dimension);
        let message = format!("{} has used or reserved {used} of {limit} of {name}", self.whose());
        Err(self
            .exhausted(facts, name, message)
            .detail("used", used)
            .detail("limit", limit)
            .detail("needed", needed))
    }
}

/// Asks for a ceiling, and offers one that fits: what a Turn may use at most.
fn ceiling_required(
    facts: &Facts,
    dimension: Dimension,
    message: String,
    scope: &MeterScope,
    most: u64,
) -> Error {
    let goal = match scope {
        MeterScope::Goal(goal) | MeterScope::Agent(goal, _) => Some(goal.clone()),
        // Any of its Goals will do; a decision has one loaded.
        MeterScope::Authority => facts.rows().goals.keys().next().cloned(),
    };
    // Whole seconds are what a ceiling of time is said in.
    let most = if dimension == Dimension::Wall { most / 1000 } else { most };
    let flag = match dimension {
        // Not even the least fits: whoever sees the limit raises it.
        _ if most == 0 => None,
        Dimension::Tokens => Some(format!("--ceiling-tokens {most}")),
        Dimension::Cost => Some(format!("--ceiling-cost {}.{:06}", most / 1_000_000, most % 1_000_000)),
        Dimension::Wall => Some(format!("--ceiling-wall {most}s")),
    };
    let error = Error::new(Code::CeilingRequired, message).detail("dimension", dimension.as_str());
    match (goal, flag) {
        (Some(goal), Some(flag)) => error.hint(format!("quota set --goal {goal} {flag}")),
        (Some(goal), None) => error.hint(format!("quota show --goal {goal}")),
        (None, _) => error,
    }
}

fn scopes(facts: &Facts, goal_id: &GoalId, agent_id: &AgentId, ends: &[TurnId]) -> Result<Vec<Scope>> {
    let goal = facts.goal(goal_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let agent = facts.agent(&(goal_id.clone(), agent_id.clone()))?;
    let mut all = Vec::new();
    for (scope, limit) in limits(facts, goal, agent) {
        let since = Bucket::window_start(facts.now(), limit.window_ms);
        let mut used = facts.used(&scope, since)?;
        for turn_id in ends {
            let turn = facts.turn(turn_id)?.ok_or_else(|| Error::from(Code::Internal))?;
            if !holds(&scope, since, turn) {
                continue;
            }
            if turn::gives_back(turn) {
                used.slots = used.slots.saturating_sub(1);
            }
            let (before, after) = spend::frees(turn);
            used.amounts = used.amounts.replacing(before, after);
        }
        all.push(Scope { meter: scope, limit, used });
    }
    Ok(all)
}

/// Refuses an admission for which no room is left, saying when some frees, or, under a limit of zero, which command
/// raises it; returns what the Turn would reserve beside
/// its slot, if anything of that is limited.
///
/// Errors: `quota_exhausted`, `ceiling_required`.
pub(in crate::kernel) fn admit(
    facts: &Facts,
    goal_id: &GoalId,
    agent_id: &AgentId,
    wish: &Wish<'_>,
) -> Result<Option<Box<Spend>>> {
    let scopes = scopes(facts, goal_id, agent_id, wish.ends)?;
    // What no time frees is said before what some does.
    scopes.iter().try_for_each(|scope| zero::check(&scope.meter, &scope.limit, &scope.whose()))?;
    scopes.iter().try_for_each(|scope| scope.check_turns(facts))?;
    let said = said(facts, goal_id, agent_id, wish.todo)?;
    let attempts = spend::attempts_of(wish.is_driven);
    let mut spend = Spend::default();
    for dimension in Dimension::ALL {
        let limited: Vec<_> = scopes.iter().filter(|scope| scope.left(dimension).is_some()).collect();
        let Some(first) = limited.first() else { continue };
        let ceiling = match said.of(dimension) {
            Some(ceiling) => ceiling,
            None => derived(facts, &limited, dimension, attempts)?,
        };
        let check =
            |each| limited.iter().try_for_each(|scope| scope.check_amount(facts, dimension, each, attempts));
        check(ceiling)?;
        if ceiling == 0 && said.of(dimension).is_none() {
            // Where not even the least would fit, no ceiling helps.
            check(1)?;
            let name = dimension.as_str();
            let message =
                format!("what is left of {name} is too little to be shared out: say what a Turn may use");
            let left = first.left(dimension).unwrap_or_default() / attempts.max(1);
            return Err(ceiling_required(facts, dimension, message, &first.meter, left));
        }
        spend.ceiling.set(dimension, Some(ceiling));
        *spend.counted.of_mut(dimension) = ceiling.saturating_mul(attempts);
    }
    Ok((!spend.ceiling.is_open()).then(|| Box::new(spend)))
}

/// What was said that one attempt may use: of the Todo, else of the agent, else of the Goal, each dimension by itself.
fn said(facts: &Facts, goal_id: &GoalId, agent_id: &AgentId, todo: Option<&Todo>) -> Result<Caps> {
    let goal = facts.goal(goal_id)?.map(|goal| goal.ceiling).unwrap_or_default();
    let agent = facts.agent(&(goal_id.clone(), agent_id.clone()))?.map(|agent| agent.ceiling);
    let (agent, todo) = (agent.unwrap_or_default(), todo.map(|todo| todo.ceiling).unwrap_or_default());
    let mut said = Caps::default();
    for dimension in Dimension::ALL {
        let first = [todo, agent, goal].iter().find_map(|caps| caps.of(dimension));
        said.set(dimension, first);
    }
    Ok(said)
}

/// A share of what is left, for each attempt, where nobody said what one may use.
fn derived(facts: &Facts, limited: &[&Scope], dimension: Dimension, attempts: u64) -> Result<u64> {
    let mut least = u64::MAX;
    for scope in limited {
        // Nothing left is no share of anything: it says when some comes back.
        if scope.left(dimension) == Some(0) {
            scope.check_amount(facts, dimension, 1, 1)?;
        }
        let turns = scope.turns_left().unwrap_or(SPREAD).max(1);
        let share = scope.left(dimension).unwrap_or(u64::MAX) / turns / attempts.max(1);
        least = least.min(share);
    }
    Ok(least)
}

/// Whether a Turn counts on a meter since a bucket.
fn holds(scope: &MeterScope, since: Bucket, turn: &Turn) -> bool {
    let metered = match scope {
        MeterScope::Authority => true,
        MeterScope::Goal(goal) => turn.goal_id == *goal,
        MeterScope::Agent(goal, agent) => turn.goal_id == *goal && turn.agent_id == *agent,
    };
    metered && turn.bucket >= since
}

/// The live Turns whose reservations keep an agent from being admitted.
pub(in crate::kernel) fn holders<'f>(
    facts: &'f Facts,
    goal_id: &GoalId,
    agent_id: &AgentId,
) -> Result<Vec<&'f Turn>> {
    let mut full = Vec::new();
    for scope in scopes(facts, goal_id, agent_id, &[])? {
        let is_full = scope.turns_left() == Some(0)
            || Dimension::ALL.into_iter().any(|dimension| scope.left(dimension) == Some(0));
        if is_full {
            full.push((scope.meter, Bucket::window_start(facts.now(), scope.limit.window_ms)));
        }
    }
    let counts = |turn: &&Turn| full.iter().any(|(scope, since)| holds(scope, *since, turn));
    Ok(facts.live_turns(goal_id)?.into_iter().filter(counts).collect())
}

/// What the limits of an agent in a Goal leave; each is absent where nothing limits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Left {
    /// Turns.
    pub turns: Option<u64>,
    /// The rest.
    pub caps: Caps,
}

/// What the limits of an agent in a Goal leave.
pub fn left(facts: &Facts, goal_id: &GoalId, agent_id: &AgentId) -> Result<Left> {
    let mut left = Left::default();
    let least = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    for scope in scopes(facts, goal_id, agent_id, &[])? {
        left.turns = least(left.turns, scope.turns_left());
        for dimension in Dimension::ALL {
            left.caps.set(dimension, least(left.caps.of(dimension), scope.left(dimension)));
        }
    }
    Ok(left)
}
