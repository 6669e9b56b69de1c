//! Owns the metrics of a window: what they mean, and counting them from the events of the ledger.
//!
//! Knows nothing of how they are shown. Invariant: the events are gone through once and in their order, and what is
//! remembered on the way is bounded by what was open at one time. What the ledger cannot hold yet is unknown, never zero.

mod tally;

use serde::{Serialize, Serializer};

use self::tally::Tally;
use super::{goal::named, page::STEP};
use crate::{
    authority::{Envelope, EventFilter, View},
    error::Result,
    kernel::Terms,
    model::{Duration, Goal, GoalId, Timestamp},
};

/// Why a number is unknown: what it would be counted from comes with sessions.
const NOT_RECORDED: &str = "no such fact recorded yet";

/// A number, where the ledger can tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// So many.
    Known(u64),
    /// The ledger has no fact that would tell.
    Unknown,
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(count) => serializer.serialize_u64(*count),
            Self::Unknown => serializer.serialize_str("unknown"),
        }
    }
}

/// One metric of a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Its stable name.
    pub metric: &'static str,
    /// What is counted, of what.
    pub definition: &'static str,
    /// How many.
    pub numerator: Count,
    /// Of how many; none for a plain count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denominator: Option<Count>,
    /// The one by the other, in thousandths; none where there is nothing to divide by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_mille: Option<u64>,
    /// The middle of the times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_ms: Option<u64>,
    /// What 95 of 100 times are within.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<u64>,
    /// What is known of an unknown number: each part with its own.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub parts: &'static [&'static str],
    /// How many each part is, in the order of `parts`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<Count>,
    /// Why a number is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<&'static str>,
}

/// The metrics of a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// From when.
    pub from_ms: Timestamp,
    /// Until when: the present.
    pub to_ms: Timestamp,
    /// How many Goals were looked at.
    pub goals: u64,
    /// How many events lie in the window.
    pub events: u64,
    /// Each metric.
    pub items: Vec<Metric>,
}

/// Counts the metrics of a window that ends now, of one Goal or of all.
///
/// Errors: `not_found`; `store_corrupt` for an event that cannot be read.
pub fn metrics(
    view: &mut dyn View,
    terms: &Terms,
    goal: Option<&GoalId>,
    window: Duration,
) -> Result<Metrics> {
    let from = terms.now.minus(window);
    let (mut tally, mut goals, mut events) = (Tally::default(), 0, 0);
    let mut count = |view: &mut dyn View, goal: &GoalId| -> Result<()> {
        goals += 1;
        events += gone_through(view, goal, from, &mut tally)?;
        tally.end_goal();
        Ok(())
    };
    if let Some(goal) = goal {
        named(view, terms, goal)?;
        count(view, goal)?;
    } else {
        let mut after: Option<GoalId> = None;
        loop {
            let page: Vec<Goal> = view.goals(after.as_ref(), STEP)?;
            for goal in &page {
                count(view, &goal.goal_id)?;
            }
            after = page.last().map(|goal| goal.goal_id.clone());
            if page.len() < STEP {
                break;
            }
        }
    }
    Ok(Metrics { from_ms: from, to_ms: terms.now, goals, events, items: tally.metrics() })
}

/// Hands the events of a Goal since a moment to the tally, and counts them.
fn gone_through(view: &mut dyn View, goal: &GoalId, from: Timestamp, tally: &mut Tally) -> Result<u64> {
    let head = view.head(goal)?.map_or(0, |head| head.seq);
    let (mut after, mut events) = (before(view, goal, from, head)?, 0);
    while after < head {
        let records = view.events(&EventFilter { goal, after }, STEP)?;
        let Some(last) = records.last() else { break };
        after = last.seq;
        for record in &records {
            let envelope = Envelope::decode(&record.payload)?;
            // The one before the window was found by its time; a later one is never before it.
            if envelope.at >= from {
                tally.take(&envelope);
                events += 1;
            }
        }
    }
    Ok(events)
}

/// The number of the last event before a moment: time never goes back within a Goal.
fn before(view: &mut dyn View, goal: &GoalId, from: Timestamp, head: u64) -> Result<u64> {
    let (mut low, mut high) = (0, head);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let records = view.events(&EventFilter { goal, after: middle - 1 }, 1)?;
        let is_before = match records.first() {
            Some(record) => Envelope::decode(&record.payload)?.at < from,
            None => false,
        };
        if is_before {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}
