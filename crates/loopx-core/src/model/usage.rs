//! Owns what was measured of an executor's work: single reports, and what they come to for one Turn.
//!
//! Knows nothing of budgets; unknown stays unknown and never becomes zero.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Amounts, Caps, Label};

/// One report of a host, counted by itself from 0 within the attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// The number of the report; one number counts once.
    pub seq: u64,
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// Millionths of the currency's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The currency, three capitals; given exactly when a cost is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<Label>,
    /// Time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

impl Usage {
    /// What one amount of a report counts for at most, whichever door it comes by: above it a report is not refused, as no
    /// Turn fails for what it used, and counts as this.
    pub const AMOUNT_MAX: u64 = 1 << 50;

    /// The one report of a clock about an attempt.
    pub const fn of_wall(wall_ms: u64) -> Self {
        Self {
            seq: 0,
            tokens_in: None,
            tokens_out: None,
            cost_micros: None,
            currency: None,
            wall_ms: Some(wall_ms),
        }
    }

    /// What it says of each dimension; a cost in another currency than the budget's is unknown here.
    pub fn caps(&self, currency: Option<&str>) -> Caps {
        let bounded = |amount: u64| amount.min(Self::AMOUNT_MAX);
        let tokens = match (self.tokens_in.map(bounded), self.tokens_out.map(bounded)) {
            (None, None) => None,
            (read, written) => Some(read.unwrap_or(0).saturating_add(written.unwrap_or(0))),
        };
        let is_ours = |own: &Label| currency.is_none_or(|currency| currency == own.as_str());
        let cost_micros = self.cost_micros.filter(|_| self.currency.as_ref().is_some_and(is_ours));
        Caps { tokens, cost_micros: cost_micros.map(bounded), wall_ms: self.wall_ms.map(bounded) }
    }
}

/// Who measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meter {
    /// The executor itself.
    Host,
    /// The account that is billed.
    Account,
    /// LoopX, by the clock of its driver.
    Driver,
}

impl Meter {
    /// The stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Account => "account",
            Self::Driver => "driver",
        }
    }
}

/// What a Turn may use, what its meters hold for it, and what was measured of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spend {
    /// What one attempt may use of what is limited.
    #[serde(default, skip_serializing_if = "Caps::is_open")]
    pub ceiling: Caps,
    /// What the meters hold for it now: reserved while it lives, what counts of it once it has ended.
    #[serde(default)]
    pub counted: Amounts,
    /// What each meter measured so far, of all attempts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measured: BTreeMap<Meter, Caps>,
    /// Which reports were counted, by meter and attempt.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<Meter, BTreeMap<u8, Reports>>,
    /// Whether a person took it back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub void: bool,
}

impl Spend {
    /// What was measured of one dimension: the larger of the meters.
    pub fn measured(&self, dimension: super::Dimension) -> Option<u64> {
        self.measured.values().filter_map(|caps| caps.of(dimension)).max()
    }
}

/// Which reports of an attempt were counted, whatever the order they came in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reports {
    /// All below this number.
    #[serde(default)]
    below: u64,
    /// Those beyond, at most [`Reports::AHEAD_MAX`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    beyond: BTreeSet<u64>,
}

impl Reports {
    /// How many may come ahead of one that is missing.
    pub const AHEAD_MAX: usize = 256;

    /// Whether a report was counted.
    pub fn has(&self, seq: u64) -> bool {
        seq < self.below || self.beyond.contains(&seq)
    }

    /// Notes a report as counted.
    pub fn note(&mut self, seq: u64) {
        self.beyond.insert(seq);
        while self.beyond.remove(&self.below) {
            self.below += 1;
        }
        // Whoever leaves out so many never sends them: they count as seen, so that none is counted twice.
        while self.beyond.len() > Self::AHEAD_MAX {
            if let Some(least) = self.beyond.pop_first() {
                self.below = least.saturating_add(1);
            }
            while self.beyond.remove(&self.below) {
                self.below += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_once_whatever_the_order() {
        let mut reports = Reports::default();
        for seq in [3, 0, 2, 1, 7] {
            assert!(!reports.has(seq), "{seq}");
            reports.note(seq);
            assert!(reports.has(seq), "{seq}");
        }
        assert_eq!((reports.below, reports.beyond.len()), (4, 1));
        for seq in 1000..1300 {
            reports.note(seq);
        }
        assert!(reports.beyond.len() <= Reports::AHEAD_MAX && reports.has(1299) && reports.has(500));
    }
}
