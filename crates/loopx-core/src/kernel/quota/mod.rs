//! Owns the budget: limits and ceilings, what an admission reserves, what is counted of what was measured.
//!
//! Spending exists only as the commit that ends a Turn; a report moves what is counted of it, and never a Turn.

mod event;
mod room;
mod spend;
mod zero;

use serde::{Deserialize, Serialize};

use super::{Concluded, Draft, Outcome, Read, Verb, Wanted, agent, todo, turn};
use crate::{
    error::{Code, Error, Result},
    model::{
        AgentId, Caps, Currency, Duration, Goal, GoalId, Label, Limit, Meter, OwnId, ShortText, Slot, TodoId,
        Turn, TurnId, Usage,
    },
};

pub use event::Event;
pub use room::{Left, left, room, room_reads};
pub(super) use room::{Wish, admit, holders, want as reads};
pub(super) use spend::{ended, measured, shift};
pub use zero::{is_zero, raise_command};

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
    /// Sets what one attempt may use: of a Todo, of an agent's Turns, or of all of the Goal's.
    Cap {
        /// The agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<AgentId>,
        /// The Todo.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        todo_id: Option<TodoId>,
        /// The ceiling; what it leaves out is not said any more.
        ceiling: Caps,
    },
    /// Reports what was used since the last report of a meter.
    Usage {
        /// Of which Turn.
        turn_id: TurnId,
        /// Its ownership, when its agent reports.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        own_id: Option<OwnId>,
        /// Of which attempt, from 1; the last one unless said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u8>,
        /// Who measured.
        meter: Meter,
        /// What.
        usage: Box<Usage>,
    },
    /// Takes the spend of a Turn back.
    Void {
        /// Which Turn.
        turn_id: TurnId,
        /// Why.
        reason: ShortText,
    },
}

impl Command {
    pub(super) const fn verb(&self) -> Verb {
        match self {
            Self::Set { .. } | Self::Cap { .. } => Verb::QuotaSet,
            Self::Usage { .. } => Verb::QuotaUsage,
            Self::Void { .. } => Verb::QuotaVoid,
        }
    }

    pub(super) fn reads(&self, goal: &GoalId, wanted: &mut Wanted<'_>) {
        match self {
            Self::Set { agent_id, .. } => {
                want_agent(goal, agent_id.as_ref(), wanted);
                wanted.want(Read::AuthorityLimit);
            }
            Self::Cap { agent_id, todo_id, .. } => {
                want_agent(goal, agent_id.as_ref(), wanted);
                if let Some(todo_id) = todo_id {
                    wanted.want(Read::Todo(todo_id.clone()));
                }
            }
            Self::Usage { turn_id, .. } | Self::Void { turn_id, .. } => wanted.want(Read::Turn(*turn_id)),
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        match self {
            Self::Set { agent_id, limit } => set(draft, agent_id.as_ref(), *limit)?,
            Self::Cap { agent_id, todo_id, ceiling } => {
                cap(draft, agent_id.as_ref(), todo_id.as_ref(), *ceiling)?;
            }
            Self::Usage { turn_id, own_id, attempt, meter, usage } => {
                let created = used(draft, *turn_id, *own_id, *attempt, *meter, usage)?;
                let turn_id = Some(*turn_id);
                return Ok((Outcome { turn_id, created: Some(created), ..Outcome::default() }, None));
            }
            Self::Void { turn_id, reason } => {
                void(draft, *turn_id, reason)?;
                return Ok((Outcome { turn_id: Some(*turn_id), ..Outcome::default() }, None));
            }
        }
        Ok((Outcome::default(), None))
    }
}

fn want_agent(goal: &GoalId, agent_id: Option<&AgentId>, wanted: &mut Wanted<'_>) {
    if let Some(agent_id) = agent_id {
        wanted.want(Read::Agent(goal.clone(), agent_id.clone()));
    }
}

/// Refuses a limit that no window can hold, or whose cost has no currency.
///
/// Errors: `invalid_argument`, `currency_mismatch`.
pub(crate) fn check_limit(limit: &Limit) -> Result<()> {
    let ok = |w: Duration| (Duration::from_mins(5)..=Duration::from_mins(31 * 24 * 60)).contains(&w);
    if !ok(limit.window_ms) {
        return Err(Error::new(Code::InvalidArgument, "a budget's window is 5 minutes to 31 days"));
    }
    if limit.cost_micros.is_some() != limit.currency.is_some() {
        return Err(Error::new(
            Code::InvalidArgument,
            "a limit of cost has a currency, and no other has one",
        ));
    }
    if limit.turns.is_none() && limit.caps().is_open() {
        return Err(Error::new(Code::InvalidArgument, "a limit limits something"));
    }
    Ok(())
}

fn set(draft: &mut Draft<'_>, agent_id: Option<&AgentId>, limit: Option<Limit>) -> Result<()> {
    if let Some(agent_id) = agent_id {
        agent::registered(draft.facts(), &(draft.goal_id().clone(), agent_id.clone()))?;
    }
    if let Some(limit) = &limit {
        check_limit(limit)?;
        if let (Some(goal), Some(asked)) = (draft.facts().goal(draft.goal_id())?, limit.currency) {
            check_currency(goal, asked)?;
        }
        let of_all = draft.facts().authority_limit().and_then(|of_all| of_all.currency);
        if let (Some(of_all), Some(asked)) = (of_all, limit.currency)
            && of_all != asked
        {
            // One meter holds what all Goals cost.
            return Err(other_currency(
                &format!("all Goals together are limited in {of_all}, and one of them is to be in {asked}"),
                &of_all,
                draft.goal_id(),
            ));
        }
    }
    draft.emit(Event::LimitSet { agent_id: agent_id.cloned(), limit })
}

fn mismatch(goal: &GoalId, counts_in: &dyn ToString, given: &dyn ToString) -> Error {
    let (counts_in, given) = (counts_in.to_string(), given.to_string());
    other_currency(
        &format!("the costs of {goal} are counted in {counts_in}, not in {given}"),
        &counts_in,
        goal,
    )
}

fn other_currency(message: &str, counts_in: &dyn ToString, goal: &GoalId) -> Error {
    Error::new(Code::CurrencyMismatch, message.to_owned())
        .detail("currency", counts_in.to_string())
        .hint(format!("quota show --goal {goal}"))
}

/// Refuses a cost in another currency than that in which the costs of a Goal are counted.
///
/// Errors: `currency_mismatch`.
pub(crate) fn check_currency(goal: &Goal, given: Currency) -> Result<()> {
    match goal.currency {
        Some(counts_in) if counts_in != given => Err(mismatch(&goal.goal_id, &counts_in, &given)),
        Some(_) | None => Ok(()),
    }
}

fn cap(
    draft: &mut Draft<'_>,
    agent_id: Option<&AgentId>,
    todo_id: Option<&TodoId>,
    ceiling: Caps,
) -> Result<()> {
    if let (Some(_), Some(_)) = (agent_id, todo_id) {
        return Err(Error::new(Code::InvalidArgument, "a ceiling is of a Todo or of an agent, not of both"));
    }
    if let Some(agent_id) = agent_id {
        agent::registered(draft.facts(), &(draft.goal_id().clone(), agent_id.clone()))?;
    }
    if let Some(todo_id) = todo_id {
        todo::named(draft, todo_id)?;
    }
    draft.emit(Event::CeilingSet { agent_id: agent_id.cloned(), todo_id: todo_id.cloned(), ceiling })
}

/// Counts a report, unless its number was counted before; says whether it did.
fn used(
    draft: &mut Draft<'_>,
    turn_id: TurnId,
    own_id: Option<OwnId>,
    attempt: Option<u8>,
    meter: Meter,
    usage: &Usage,
) -> Result<bool> {
    let turn = turn::named(draft, turn_id)?.clone();
    if let Some(asker) = draft.actor().agent() {
        let is_its = asker == (&turn.agent_id, &turn.endpoint) && own_id == Some(turn.own_id);
        if !is_its {
            let code = if own_id.is_none() { Code::OwnRequired } else { Code::OwnershipSuperseded };
            return Err(Error::new(
                code,
                format!("what {turn_id} used is reported by its agent, with its token"),
            )
            .detail("turn_id", turn_id.to_string()));
        }
    }
    if meter == Meter::Driver {
        return Err(Error::new(Code::InvalidArgument, "what a driver measures it reports itself"));
    }
    let currency: Option<&Label> = usage.currency.as_ref();
    if currency.is_some() != usage.cost_micros.is_some() {
        return Err(Error::new(Code::InvalidArgument, "a cost has a currency, and no other report has one"));
    }
    let counts_in = draft.facts().goal(draft.goal_id())?.and_then(|goal| goal.currency);
    if let (Some(counts_in), Some(given)) = (counts_in, currency)
        && counts_in.to_string() != given.as_str()
    {
        return Err(mismatch(draft.goal_id(), &counts_in, given));
    }
    let last = turn.attempts.last().map_or(1, |attempt| attempt.number);
    measured(draft, &turn, attempt.unwrap_or(last), meter, usage)
}

fn void(draft: &mut Draft<'_>, turn_id: TurnId, reason: &ShortText) -> Result<()> {
    let turn: &Turn = turn::named(draft, turn_id)?;
    let is_void = turn.spend.as_ref().is_some_and(|spend| spend.void);
    if !turn.is_terminal() || is_void || (turn.slot != Slot::Spent && turn.spend.is_none()) {
        let why = if !turn.is_terminal() {
            "has not ended"
        } else if is_void {
            "was taken back already"
        } else {
            "spent nothing"
        };
        return Err(Error::new(Code::InvalidTransition, format!("the Turn {turn_id} {why}"))
            .detail("turn_id", turn_id.to_string())
            .hint(format!("turn show {turn_id}")));
    }
    draft.emit(Event::Voided { turn_id, reason: reason.clone() })
}
