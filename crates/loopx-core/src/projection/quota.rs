//! Owns how a budget is shown: each limit beside what was spent, reserved and never measured, and who spent it.
//!
//! Knows no rule. Reads the Turns of a window, newest first, and keeps sums of them; nothing else grows with their number.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{budget::amounts, goal::named, page::STEP};
use crate::{
    authority::{TurnFilter, View},
    error::Result,
    kernel::{Facts, Read, Terms, raise_command},
    model::{
        Agent, AgentId, Bucket, Caps, Currency, Dimension, Duration, Goal, GoalId, Limit, Meter, MeterScope,
        Slot, Timestamp, Turn,
    },
};

/// The window that is shown where no limit names one.
const WINDOW: Duration = Duration::from_mins(24 * 60);

/// The budget of some Goals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// One line for each thing that is limited, or was measured.
    pub rows: Vec<BudgetRow>,
    /// What one attempt may use, where somebody said.
    pub ceilings: Vec<CeilingRow>,
}

/// One thing that is limited or was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetRow {
    /// `authority`, `goal` or `agent`.
    pub scope: &'static str,
    /// The Goal; none for the authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal_id: Option<GoalId>,
    /// The agent, of an agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// `turns`, `tokens`, `cost` or `wall`.
    pub dimension: &'static str,
    /// `turns`, `tokens`, `micros` or `ms`.
    pub unit: &'static str,
    /// The currency of a cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The limit; none where it is only measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// What Turns that have ended count for.
    pub spent: u64,
    /// What Turns that have not ended reserve.
    pub reserved: u64,
    /// How many Turns that have ended no meter told of; they count at their ceiling.
    pub unknown_turns: u64,
    /// What each meter measured, where more than one did.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub meters: BTreeMap<&'static str, u64>,
    /// What is left of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// When the oldest of what is spent leaves the window, where nothing is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frees_at_ms: Option<Timestamp>,
    /// The command that raises a limit of zero, which no time frees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The window.
    pub window_ms: Duration,
}

/// What one attempt may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CeilingRow {
    /// The Goal.
    pub goal_id: GoalId,
    /// The agent, of an agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The ceiling.
    #[serde(flatten)]
    pub ceiling: Caps,
    /// In words.
    pub text: String,
}

/// What Turns come to.
#[derive(Debug, Clone, Default)]
struct Sum {
    spent: [u64; 4],
    reserved: [u64; 4],
    unknown: [u64; 4],
    meters: BTreeMap<(Meter, Dimension), u64>,
    oldest: Option<Bucket>,
}

const TURNS: usize = 0;

fn place(dimension: Dimension) -> usize {
    match dimension {
        Dimension::Tokens => 1,
        Dimension::Cost => 2,
        Dimension::Wall => 3,
    }
}

fn add(to: &mut [u64; 4], at: usize, by: u64) {
    if let Some(sum) = to.get_mut(at) {
        *sum = sum.saturating_add(by);
    }
}

fn at(of: &[u64; 4], place: usize) -> u64 {
    of.get(place).copied().unwrap_or_default()
}

impl Sum {
    fn take(&mut self, turn: &Turn) {
        let has_ended = turn.is_terminal();
        let counts = turn.slot != Slot::Returned;
        if counts {
            add(if has_ended { &mut self.spent } else { &mut self.reserved }, TURNS, 1);
        }
        let Some(spend) = &turn.spend else { return self.note(turn, counts) };
        for dimension in Dimension::ALL {
            let counted = spend.counted.of(dimension);
            add(if has_ended { &mut self.spent } else { &mut self.reserved }, place(dimension), counted);
            let is_unknown = has_ended && !spend.void && spend.measured(dimension).is_none();
            if is_unknown && !turn.attempts.is_empty() && spend.ceiling.of(dimension).is_some() {
                add(&mut self.unknown, place(dimension), 1);
            }
            for (meter, caps) in &spend.measured {
                if let Some(amount) = caps.of(dimension) {
                    let sum = self.meters.entry((*meter, dimension)).or_default();
                    *sum = sum.saturating_add(amount);
                }
            }
        }
        self.note(turn, counts || spend.counted != crate::model::Amounts::default());
    }

    fn note(&mut self, turn: &Turn, counts: bool) {
        if counts {
            self.oldest = [self.oldest, Some(turn.bucket)].into_iter().flatten().min();
        }
    }

    fn has(&self, dimension: Dimension) -> bool {
        let place = place(dimension);
        at(&self.spent, place) + at(&self.reserved, place) > 0
            || self.meters.keys().any(|(_, of)| *of == dimension)
    }
}

/// Whose budget a line is of.
struct Whose<'w> {
    scope: &'static str,
    goal: Option<&'w Goal>,
    agent: Option<&'w Agent>,
    limit: Option<Limit>,
}

impl Whose<'_> {
    fn rows(&self, sum: &Sum, rows: &mut Vec<BudgetRow>) {
        let limit = self.limit;
        let turns = limit.and_then(|limit| limit.turns).map(u64::from);
        if turns.is_some() || self.scope == "goal" {
            rows.push(self.row(sum, TURNS, ("turns", "turns"), turns, None, BTreeMap::new()));
        }
        for dimension in Dimension::ALL {
            let most = limit.and_then(|limit| limit.caps().of(dimension));
            if most.is_none() && !(self.scope == "goal" && sum.has(dimension)) {
                continue;
            }
            let unit = match dimension {
                Dimension::Tokens => "tokens",
                Dimension::Cost => "micros",
                Dimension::Wall => "ms",
            };
            let of_goal = self.goal.and_then(|goal| goal.currency);
            let currency = limit.and_then(|limit| limit.currency).or(of_goal);
            let currency = currency.filter(|_| dimension == Dimension::Cost);
            let of = sum.meters.iter().filter(|((_, of), _)| *of == dimension);
            let meters: BTreeMap<_, _> = of.map(|((meter, _), amount)| (meter.as_str(), *amount)).collect();
            let meters = if meters.len() > 1 { meters } else { BTreeMap::new() };
            rows.push(self.row(sum, place(dimension), (dimension.as_str(), unit), most, currency, meters));
        }
    }

    fn meter(&self) -> MeterScope {
        match (self.goal, self.agent) {
            (Some(goal), Some(agent)) => MeterScope::Agent(goal.goal_id.clone(), agent.agent_id.clone()),
            (Some(goal), None) => MeterScope::Goal(goal.goal_id.clone()),
            (None, _) => MeterScope::Authority,
        }
    }

    fn row(
        &self,
        sum: &Sum,
        place: usize,
        (dimension, unit): (&'static str, &'static str),
        limit: Option<u64>,
        currency: Option<Currency>,
        meters: BTreeMap<&'static str, u64>,
    ) -> BudgetRow {
        let (spent, reserved) = (at(&sum.spent, place), at(&sum.reserved, place));
        let left = limit.map(|limit| limit.saturating_sub(spent.saturating_add(reserved)));
        let window_ms = self.limit.map_or(WINDOW, |limit| limit.window_ms);
        let (is_full, is_zero) = (left == Some(0), limit == Some(0));
        let frees_at_ms = sum.oldest.filter(|_| is_full && !is_zero).map(|oldest| oldest.leaves(window_ms));
        BudgetRow {
            scope: self.scope,
            goal_id: self.goal.map(|goal| goal.goal_id.clone()),
            agent_id: self.agent.map(|agent| agent.agent_id.clone()),
            dimension,
            unit,
            currency: currency.map(|currency| currency.to_string()),
            limit,
            spent,
            reserved,
            unknown_turns: at(&sum.unknown, place),
            meters,
            left,
            frees_at_ms,
            command: self.limit.filter(|_| is_zero).map(|limit| raise_command(&self.meter(), &limit)),
            window_ms,
        }
    }
}

/// The budget of one Goal, or of all, with that of the authority.
///
/// Errors: `not_found` for a Goal that is not there; `store_*`.
pub fn budget(view: &mut dyn View, terms: &Terms, goal: Option<&GoalId>) -> Result<Budget> {
    let goals = match goal {
        Some(id) => vec![named(view, terms, id)?],
        None => view.goals(None, usize::MAX)?,
    };
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::AuthorityLimit].into(), &mut facts)?;
    let mut shown = Budget { rows: Vec::new(), ceilings: Vec::new() };
    if let Some(limit) = facts.authority_limit() {
        let mut sum = Sum::default();
        for goal in view.goals(None, usize::MAX)? {
            within(view, terms, &goal.goal_id, limit.window_ms, |turn| sum.take(turn))?;
        }
        let whose = Whose { scope: "authority", goal: None, agent: None, limit: Some(limit) };
        whose.rows(&sum, &mut shown.rows);
    }
    for goal in &goals {
        of_goal(view, terms, goal, &mut shown)?;
    }
    Ok(shown)
}

fn of_goal(view: &mut dyn View, terms: &Terms, goal: &Goal, shown: &mut Budget) -> Result<()> {
    let mut sum = Sum::default();
    let window = goal.limit.map_or(WINDOW, |limit| limit.window_ms);
    within(view, terms, &goal.goal_id, window, |turn| sum.take(turn))?;
    let whose = Whose { scope: "goal", goal: Some(goal), agent: None, limit: goal.limit };
    whose.rows(&sum, &mut shown.rows);
    ceiling(goal, None, goal.ceiling, shown);
    for agent in view.agents(&goal.goal_id)? {
        ceiling(goal, Some(&agent), agent.ceiling, shown);
        let Some(limit) = agent.limit else { continue };
        let mut sum = Sum::default();
        within(view, terms, &goal.goal_id, limit.window_ms, |turn| {
            if turn.agent_id == agent.agent_id {
                sum.take(turn);
            }
        })?;
        let whose = Whose { scope: "agent", goal: Some(goal), agent: Some(&agent), limit: Some(limit) };
        whose.rows(&sum, &mut shown.rows);
    }
    Ok(())
}

fn ceiling(goal: &Goal, agent: Option<&Agent>, ceiling: Caps, shown: &mut Budget) {
    if !ceiling.is_open() {
        shown.ceilings.push(CeilingRow {
            goal_id: goal.goal_id.clone(),
            agent_id: agent.map(|agent| agent.agent_id.clone()),
            ceiling,
            text: amounts(&ceiling, goal.currency),
        });
    }
}

/// Takes the Turns that were admitted within a window, newest first.
fn within(
    view: &mut dyn View,
    terms: &Terms,
    goal: &GoalId,
    window: Duration,
    mut take: impl FnMut(&Turn),
) -> Result<()> {
    let since = Bucket::window_start(terms.now, window);
    let filter = TurnFilter { goal, todo: None, agent: None, live: false };
    let mut before: Option<String> = None;
    loop {
        let page = view.turns(&filter, before.as_deref(), STEP)?;
        let Some(last) = page.last() else { break };
        before = Some(last.turn_id.to_string());
        let is_past = last.bucket < since;
        page.iter().filter(|turn| turn.bucket >= since).for_each(&mut take);
        if is_past {
            break;
        }
    }
    Ok(())
}

/// What a table of spending is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendBy {
    /// Each Goal.
    Goal,
    /// Each agent of each Goal.
    Agent,
    /// Each day, in UTC.
    Day,
}

/// One line of a table of spending.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpendRow {
    /// Turns that spent their slot.
    pub spent: u64,
    /// Turns that gave it back.
    pub returned: u64,
    /// Turns that have not ended.
    pub reserved: u64,
    /// What was measured, by dimension; unknown stays unknown.
    pub measured: Caps,
    /// How many ended Turns a dimension was not measured of.
    pub unknown: [u64; 3],
}

/// Who spent what within a window: keys, which are a day, a Goal, or a Goal and an agent, with the currency of a cost.
///
/// Errors: `not_found` for a Goal that is not there; `store_*`.
pub fn spending(
    view: &mut dyn View,
    terms: &Terms,
    goal: Option<&GoalId>,
    window: Duration,
    by: SpendBy,
) -> Result<BTreeMap<(String, String, String), SpendRow>> {
    let goals = match goal {
        Some(id) => vec![named(view, terms, id)?],
        None => view.goals(None, usize::MAX)?,
    };
    let mut rows = BTreeMap::new();
    for goal in &goals {
        let currency = goal.currency.map(|currency| currency.to_string()).unwrap_or_default();
        within(view, terms, &goal.goal_id, window, |turn| {
            let slug = goal.goal_id.to_string();
            let (one, two) = match by {
                SpendBy::Goal => (slug, String::new()),
                SpendBy::Agent => (slug, turn.agent_id.to_string()),
                SpendBy::Day => (day(turn.admitted_at), String::new()),
            };
            let row: &mut SpendRow = rows.entry((one, two, currency.clone())).or_default();
            row.take(turn);
        })?;
    }
    Ok(rows)
}

impl SpendRow {
    fn take(&mut self, turn: &Turn) {
        let count = match (turn.is_terminal(), turn.slot) {
            (false, _) => &mut self.reserved,
            (true, Slot::Returned) => &mut self.returned,
            (true, Slot::Reserved | Slot::Spent) => &mut self.spent,
        };
        *count += 1;
        for (at, dimension) in Dimension::ALL.into_iter().enumerate() {
            match turn.spend.as_ref().and_then(|spend| spend.measured(dimension)) {
                Some(amount) => {
                    let sum = self.measured.of(dimension).unwrap_or(0).saturating_add(amount);
                    self.measured.set(dimension, Some(sum));
                }
                None if turn.is_terminal() && !turn.attempts.is_empty() => {
                    if let Some(unknown) = self.unknown.get_mut(at) {
                        *unknown += 1;
                    }
                }
                None => {}
            }
        }
    }
}

/// The day of a moment, in UTC.
fn day(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_ms())
        .map_or_else(|_| at.as_ms().to_string(), |time| time.strftime("%Y-%m-%d").to_string())
}
