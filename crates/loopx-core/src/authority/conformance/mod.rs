//! Owns what every ledger must do, said once and run on each: the conformance suite.
//!
//! Knows no ledger but through its trait, so that a ledger of a package can be held to the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a suite fails by panicking"
)]

mod whole;

use super::Ledger;

pub use whole::{Whole, whole};

/// A place that holds one ledger, which can be opened any number of times.
pub trait Room {
    /// Opens the ledger of this place once more.
    fn open(&self) -> Box<dyn Ledger>;
}
