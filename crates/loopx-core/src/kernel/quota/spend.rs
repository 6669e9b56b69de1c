//! Owns what counts of a Turn: reserved while it lives, measured once it has ended, unknown at its ceiling.
//!
//! Invariant: what the meters hold of a Turn is `Spend::counted`; it moves with that, in the same event.

use std::collections::BTreeMap;

use super::Event;
use crate::{
    error::Result,
    kernel::{Delta, Draft, Facts},
    model::{Amounts, Caps, Currency, Dimension, Meter, MeterScope, Slot, Spend, Turn, TurnId, Usage},
};

/// The first schema that can hold what was measured.
const SINCE: i32 = 2;

/// The meters on which a Turn counts.
fn scopes(turn: &Turn) -> [MeterScope; 2] {
    [MeterScope::Goal(turn.goal_id.clone()), MeterScope::Agent(turn.goal_id.clone(), turn.agent_id.clone())]
}

/// Moves the meters of a Turn's admission by `by` slots, and by what it reserves.
pub(in crate::kernel) fn shift(facts: &mut Facts, turn: &Turn, by: i64) {
    for scope in scopes(turn) {
        facts.shift(Delta::Meter { scope, bucket: turn.bucket, by });
    }
    if by > 0
        && let Some(spend) = &turn.spend
    {
        move_amounts(facts, turn, Amounts::default(), spend.counted);
    }
}

fn move_amounts(facts: &mut Facts, turn: &Turn, before: Amounts, after: Amounts) {
    if before == after {
        return;
    }
    for scope in scopes(turn) {
        facts.shift(Delta::Amounts { scope, bucket: turn.bucket, before, after });
    }
}

/// How many attempts a Turn may have.
pub(super) fn attempts_of(is_driven: bool) -> u64 {
    if is_driven { u64::try_from(Turn::ATTEMPTS_MAX).unwrap_or(u64::MAX) } else { 1 }
}

/// What counts of a Turn that lives: what it may still use, or what it used beyond that.
fn while_live(turn: &Turn, spend: &Spend) -> Amounts {
    let attempts = attempts_of(turn.is_driven());
    count(spend, |dimension| {
        let reserved = spend.ceiling.of(dimension).map(|ceiling| Amounts::times(ceiling, attempts));
        spend.measured(dimension).max(reserved)
    })
}

/// What counts of a Turn that has ended: what was measured, and what no meter told of at the ceiling of each attempt.
pub(in crate::kernel) fn once_ended(turn: &Turn, spend: &Spend) -> Amounts {
    let made = turn.attempts.len();
    count(spend, |dimension| {
        let at_most = |attempts: usize| {
            let attempts = u64::try_from(attempts).unwrap_or(u64::MAX);
            spend.ceiling.of(dimension).map(|ceiling| Amounts::times(ceiling, attempts))
        };
        let left_out = |meter: &Meter| made.saturating_sub(spend.seen.get(meter).map_or(0, BTreeMap::len));
        let told = spend.measured.iter();
        let told = told.filter_map(|(meter, caps)| Some((left_out(meter), caps.of(dimension)?)));
        let Some(fewest) = told.clone().map(|(left_out, _)| left_out).min() else { return at_most(made) };
        // An attempt that no meter saw is none that used nothing.
        let unseen = at_most(fewest).unwrap_or(0);
        told.map(|(left_out, sum)| if left_out == fewest { sum.saturating_add(unseen) } else { sum }).max()
    })
}

fn count(spend: &Spend, of: impl Fn(Dimension) -> Option<u64>) -> Amounts {
    let mut counted = Amounts::default();
    if spend.void {
        return counted;
    }
    for dimension in Dimension::ALL {
        *counted.of_mut(dimension) = of(dimension).unwrap_or(0).min(Amounts::MAX);
    }
    counted
}

/// Counts a Turn as it stands now.
fn recount(facts: &mut Facts, turn_id: &TurnId) -> Result<()> {
    let turn = facts.turn_mut(turn_id)?;
    let Some(spend) = turn.spend.clone() else { return Ok(()) };
    let after = if turn.is_terminal() { once_ended(turn, &spend) } else { while_live(turn, &spend) };
    if let Some(spend) = &mut turn.spend {
        spend.counted = after;
    }
    let turn = turn.clone();
    move_amounts(facts, &turn, spend.counted, after);
    Ok(())
}

/// Closes what a Turn that has just ended reserved.
pub(in crate::kernel) fn ended(facts: &mut Facts, turn_id: &TurnId) -> Result<()> {
    recount(facts, turn_id)
}

/// Records a report of a meter, unless its number was counted before or the ledger cannot hold one; says whether it did.
pub(in crate::kernel) fn measured(
    draft: &mut Draft<'_>,
    turn: &Turn,
    attempt: u8,
    meter: Meter,
    usage: &Usage,
) -> Result<bool> {
    let facts = draft.facts();
    let seen = turn.spend.as_ref().and_then(|spend| spend.seen.get(&meter)?.get(&attempt));
    if facts.terms().schema < SINCE || seen.is_some_and(|seen| seen.has(usage.seq)) {
        return Ok(false);
    }
    let counts_in = facts.goal(draft.goal_id())?.and_then(|goal| goal.currency);
    let amounts = usage.caps(counts_in.map(|currency| currency.to_string()).as_deref());
    let currency = usage.currency.as_ref().filter(|_| amounts.cost_micros.is_some());
    let currency = currency.and_then(|text| text.as_str().parse::<Currency>().ok());
    // A cost in no currency that there is, is none that can be counted.
    let amounts = if currency.is_none() { Caps { cost_micros: None, ..amounts } } else { amounts };
    let (turn_id, seq) = (turn.turn_id, usage.seq);
    draft.emit(Event::Used { turn_id, attempt, meter, seq, amounts, currency })?;
    Ok(true)
}

pub(super) fn add(
    facts: &mut Facts,
    turn_id: &TurnId,
    attempt: u8,
    meter: Meter,
    seq: u64,
    amounts: Caps,
) -> Result<()> {
    let turn = facts.turn_mut(turn_id)?;
    let spend = turn.spend.get_or_insert_default();
    spend.seen.entry(meter).or_default().entry(attempt).or_default().note(seq);
    let sum = spend.measured.entry(meter).or_default();
    for dimension in Dimension::ALL {
        if let Some(amount) = amounts.of(dimension) {
            let more = sum.of(dimension).unwrap_or(0).saturating_add(amount);
            sum.set(dimension, Some(more.min(Amounts::MAX)));
        }
    }
    recount(facts, turn_id)
}

pub(super) fn take_back(facts: &mut Facts, turn_id: &TurnId) -> Result<()> {
    let turn = facts.turn_mut(turn_id)?;
    let was = std::mem::replace(&mut turn.slot, Slot::Returned);
    turn.spend.get_or_insert_default().void = true;
    let turn = turn.clone();
    if was == Slot::Spent {
        for scope in scopes(&turn) {
            facts.shift(Delta::Meter { scope, bucket: turn.bucket, by: -1 });
        }
    }
    recount(facts, turn_id)
}

/// What the meters give back of a Turn that would end now.
pub(super) fn frees(turn: &Turn) -> (Amounts, Amounts) {
    let none = Amounts::default();
    turn.spend.as_ref().map_or((none, none), |spend| (spend.counted, once_ended(turn, spend)))
}
