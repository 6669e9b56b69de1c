//! Owns the budget that a loop declares, and when it is spent.
//!
//! Knows no clock: what is left of the time is said by whoever asks.

use serde::Serialize;

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Meter {
    /// Turns.
    Turns,
    /// Time since the loop began.
    Wall,
    /// What hosts report that their work cost.
    Cost,
}

impl Meter {
    /// The stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Wall => "wall",
            Self::Cost => "cost",
        }
    }
}

/// What is left of one meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing was declared: it bounds nothing.
    Unbounded,
    /// So much, in the meter's own unit.
    Some(u64),
    /// Something was declared, and what was used is not known. Unknown is never taken for zero.
    Unknown,
}

impl Left {
    const fn is_spent(self) -> bool {
        match self {
            Self::Unbounded => false,
            Self::Some(left) => left == 0,
            Self::Unknown => true,
        }
    }
}

/// What is left of a loop's budget, and how its last Turns failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Turns.
    pub turns: Left,
    /// Milliseconds.
    pub wall_ms: Left,
    /// Millionths of the currency's unit.
    pub cost_micros: Left,
    /// How many Turns in a row, up to the last, ended in the same failure.
    pub alike: u8,
}

impl Budget {
    /// The first meter that has nothing left, if there is one.
    pub const fn spent(&self) -> Option<Meter> {
        if self.turns.is_spent() {
            Some(Meter::Turns)
        } else if self.wall_ms.is_spent() {
            Some(Meter::Wall)
        } else if self.cost_micros.is_spent() {
            Some(Meter::Cost)
        } else {
            None
        }
    }
}
