//! Owns what a host measured of its own work.
//!
//! Knows nothing of budgets; unknown stays unknown and never becomes zero.

use serde::{Deserialize, Serialize};

use super::Label;

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
