//! Owns the units of the budget: buckets of time, limits, amounts, meters, and a Turn's slot.
//!
//! Knows nothing of when a slot or an amount is taken or given back; the kernel's quota rules decide that.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{AgentId, Duration, GoalId, Timestamp, text::string_serde};
use crate::error::{Code, Error, Result, echo};

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
    /// All Goals of the authority.
    Authority,
    /// A Goal.
    Goal(GoalId),
    /// An agent in a Goal.
    Agent(GoalId, AgentId),
}

impl MeterScope {
    /// The Goal it is of; none for what is summed over all of them.
    pub const fn goal(&self) -> Option<&GoalId> {
        match self {
            Self::Authority => None,
            Self::Goal(goal) | Self::Agent(goal, _) => Some(goal),
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

/// What is metered beside Turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Tokens read and written.
    Tokens,
    /// Millionths of the currency's unit.
    Cost,
    /// Milliseconds at work, without those in which the machine slept.
    Wall,
}

impl Dimension {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tokens, Self::Cost, Self::Wall];

    /// The stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Wall => "wall",
        }
    }
}

/// An amount of each dimension, or none where nothing is said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of the currency's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

impl Caps {
    /// Whether nothing is said of any dimension.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// What is said of one.
    pub const fn of(&self, dimension: Dimension) -> Option<u64> {
        match dimension {
            Dimension::Tokens => self.tokens,
            Dimension::Cost => self.cost_micros,
            Dimension::Wall => self.wall_ms,
        }
    }

    /// Says something of one.
    pub const fn set(&mut self, dimension: Dimension, amount: Option<u64>) {
        match dimension {
            Dimension::Tokens => self.tokens = amount,
            Dimension::Cost => self.cost_micros = amount,
            Dimension::Wall => self.wall_ms = amount,
        }
    }
}

/// How much of each dimension a meter holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amounts {
    /// Tokens.
    #[serde(default)]
    pub tokens: u64,
    /// Millionths of the currency's unit.
    #[serde(default)]
    pub cost_micros: u64,
    /// Milliseconds.
    #[serde(default)]
    pub wall_ms: u64,
}

impl Amounts {
    /// The most that is counted of a dimension, of a Turn and in a sum: a ledger counts in signed integers.
    pub const MAX: u64 = i64::MAX.unsigned_abs();

    /// As many times an amount, at most [`Amounts::MAX`].
    pub const fn times(amount: u64, n: u64) -> u64 {
        at_most_max(amount.saturating_mul(n))
    }

    /// How much of one dimension.
    pub const fn of(&self, dimension: Dimension) -> u64 {
        match dimension {
            Dimension::Tokens => self.tokens,
            Dimension::Cost => self.cost_micros,
            Dimension::Wall => self.wall_ms,
        }
    }

    /// The amount of one dimension, to change it.
    pub const fn of_mut(&mut self, dimension: Dimension) -> &mut u64 {
        match dimension {
            Dimension::Tokens => &mut self.tokens,
            Dimension::Cost => &mut self.cost_micros,
            Dimension::Wall => &mut self.wall_ms,
        }
    }

    /// Takes some away and adds others, each dimension by itself; nothing falls below zero, or rises above
    /// [`Amounts::MAX`]. Every ledger counts like this.
    #[must_use]
    pub const fn replacing(self, before: Self, after: Self) -> Self {
        const fn moved(held: u64, before: u64, after: u64) -> u64 {
            at_most_max(held.saturating_sub(before).saturating_add(after))
        }
        Self {
            tokens: moved(self.tokens, before.tokens, after.tokens),
            cost_micros: moved(self.cost_micros, before.cost_micros, after.cost_micros),
            wall_ms: moved(self.wall_ms, before.wall_ms, after.wall_ms),
        }
    }
}

const fn at_most_max(amount: u64) -> u64 {
    if amount > Amounts::MAX { Amounts::MAX } else { amount }
}

/// A budget over a rolling window; what is absent is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Turns admitted at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of the currency's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The currency; given exactly when a cost is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<Currency>,
    /// Milliseconds at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Over this window: 5 minutes to 31 days, in whole 5-minute buckets.
    pub window_ms: Duration,
}

impl Limit {
    /// A limit of Turns alone.
    pub const fn of_turns(turns: u32, window_ms: Duration) -> Self {
        Self { turns: Some(turns), tokens: None, cost_micros: None, currency: None, wall_ms: None, window_ms }
    }

    /// What is limited beside Turns.
    pub const fn caps(&self) -> Caps {
        Caps { tokens: self.tokens, cost_micros: self.cost_micros, wall_ms: self.wall_ms }
    }
}

/// A currency by its three capitals, such as `USD`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

impl FromStr for Currency {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match <[u8; 3]>::try_from(text.as_bytes()) {
            Ok(letters) if letters.iter().all(u8::is_ascii_uppercase) => Ok(Self(letters)),
            _ => Err(Error::new(
                Code::InvalidArgument,
                format!("`{}` is no currency: three capitals, as USD", echo(text)),
            )),
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Three ASCII capitals.
        f.write_str(str::from_utf8(&self.0).unwrap_or("???"))
    }
}

string_serde!(Currency);
