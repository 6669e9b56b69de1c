//! Owns the units of the budget: buckets of time, meters, and a Turn's slot.
//!
//! Knows nothing of when a slot is taken or given back; the kernel's quota rules decide that.

use serde::{Deserialize, Serialize};

use super::{AgentId, Duration, GoalId, Timestamp};

/// Five minutes of a meter, numbered from the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bucket(i64);

impl Bucket {
    const WIDTH_MS: i64 = 5 * 60 * 1000;

    /// The bucket a moment falls into.
    pub const fn of(at: Timestamp) -> Self {
        Self(at.as_ms().div_euclid(Self::WIDTH_MS))
    }

    /// The first bucket of the window that ends with `now`'s.
    pub const fn window_start(now: Timestamp, window: Duration) -> Self {
        let buckets = window.as_ms().div_ceil(Self::WIDTH_MS.unsigned_abs());
        let first = Self::of(now).0.saturating_sub_unsigned(buckets).saturating_add(1);
        Self(first)
    }

    /// When this bucket leaves a window of that length.
    pub const fn leaves(self, window: Duration) -> Timestamp {
        Timestamp::from_ms(self.0.saturating_mul(Self::WIDTH_MS)).plus(window)
    }

    /// The number.
    pub const fn number(self) -> i64 {
        self.0
    }

    /// Takes a stored number.
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }
}

/// What a meter counts Turns of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MeterScope {
    /// A Goal.
    Goal(GoalId),
    /// An agent in a Goal.
    Agent(GoalId, AgentId),
}

impl MeterScope {
    /// The Goal it is of.
    pub const fn goal(&self) -> &GoalId {
        match self {
            Self::Goal(goal) | Self::Agent(goal, _) => goal,
        }
    }
}

/// What became of the one slot that a Turn's admission reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    /// Taken, until the Turn ends.
    Reserved,
    /// Spent.
    Spent,
    /// Given back.
    Returned,
}
