//! Owns where the facts lie and how they are reached: the one transaction, the ledgers, profile, clock, doorbell.
//!
//! Knows no rule: what may be written is the kernel's to decide.

mod audit;
mod chain;
mod changes;
pub mod clock;
mod decision;
pub mod doorbell;
mod incarnation;
mod ledger;
mod memory;
mod own;
pub mod profile;
pub mod random;
mod repair;
pub mod sqlite;
mod submit;
pub mod vault;

pub use audit::{Audited, Flaw, FlawKind, Progress as AuditProgress, chain_flaw};
pub use chain::{Envelope, Head, Record, next_link, verify};
pub use changes::Changes;
pub use decision::next;
pub use incarnation::{Cause, Cut};
pub use ledger::{
    Commit, Count, EventFilter, GateFilter, Held, Ledger, Meta, Meters, NounFilter, OwnCommit, StoredReceipt,
    Stray, TodoFilter, Told, TurnFilter, Tx, View,
};
pub use memory::MemoryLedger;
pub use own::{Asked, OwnEnvelope, OwnEvent, own_chain};
use profile::machine::hex;
pub use repair::{Mended, Repair};
pub use sqlite::SqliteLedger;
pub use submit::Authority;
pub(crate) use submit::{StepRight, last_terms};

#[cfg(test)]
mod check;
#[cfg(any(test, feature = "testing"))]
pub mod conformance;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod process_tests;
