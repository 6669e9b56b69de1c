//! Owns the kernel's time: integers of milliseconds, and their arithmetic.
//!
//! Knows no clock and no calendar; the edge formats, the authority stamps.

use serde::{Deserialize, Serialize};

/// A moment: milliseconds since the Unix epoch, as the authority stamped it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Takes milliseconds since the epoch.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the epoch.
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// This moment and a while; saturates.
    #[must_use]
    pub const fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add_unsigned(span.0))
    }

    /// This moment less a while; saturates.
    #[must_use]
    pub const fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub_unsigned(span.0))
    }

    /// How long ago `earlier` was; zero when it is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0).max(0).unsigned_abs())
    }
}

/// A span of time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(u64);

impl Duration {
    /// Takes milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Takes seconds; saturates.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Takes minutes; saturates.
    pub const fn from_mins(mins: u64) -> Self {
        Self(mins.saturating_mul(60_000))
    }

    /// Milliseconds.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// The `n`-th part.
    #[must_use]
    pub const fn part(self, n: u64) -> Self {
        Self(match self.0.checked_div(n) {
            Some(ms) => ms,
            None => self.0,
        })
    }
}
