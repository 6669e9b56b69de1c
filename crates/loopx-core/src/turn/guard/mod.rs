//! Owns the guardian of an attempt: a process between a driver and its host, which outlives the one and ends the other,
//! and afterwards keeps what else the driver runs.
//!
//! `order` is what they say to each other, `guardian` the process itself, `ward` the driver's and the recovery's side of
//! it, `record` what it leaves behind. None of them knows a rule or a host. Invariant: no host is let go before the row
//! of its attempt is committed, and the guardian's lock is free and without a file only when nothing of the attempt is
//! alive; with a file that is left, whoever takes it ends what is. Source: the Turn's "Drivers, guardians, recovery".

mod guardian;
mod order;
mod record;
mod ward;

use std::path::PathBuf;

pub use guardian::{GUARD_WORD, guardian};
pub(super) use order::Order;
pub(super) use record::{
    Remains, check_place, clear, is_cut_off, is_there, is_told_empty, left, remains, remnants, trace,
};
pub(super) use ward::{Alive, Presence, Ward, find};

use crate::process::Launcher;

/// How attempts are guarded on this machine.
#[derive(Debug, Clone)]
pub struct Guarding {
    /// What starts a guardian.
    pub launcher: Launcher,
    /// The folder of all profiles, from which a guardian reads the ledger.
    pub home: PathBuf,
    /// The profile.
    pub profile: String,
}
