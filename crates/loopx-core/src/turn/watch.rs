//! Owns what whoever waits for a Turn is told while it works, and what it is asked.
//!
//! Knows nothing of how that is shown.

use super::lock::DriverLock;
use crate::model::{Actor, Provenance, TurnId};

/// Where a Turn is, at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It is admitted, or taken up again; nothing works yet.
    Admitted {
        /// Which.
        turn_id: TurnId,
    },
    /// Its host works, or is being ended.
    Working {
        /// From 1.
        attempt: u8,
        /// Since its start, in milliseconds.
        elapsed_ms: u64,
        /// When it is ended at the latest, in milliseconds after its start.
        wall_ms: u64,
    },
    /// A lost host is started again after a while.
    Pausing {
        /// The attempt that follows.
        attempt: u8,
        /// Since the pause began, in milliseconds.
        elapsed_ms: u64,
        /// How long it lasts, in milliseconds.
        pause_ms: u64,
    },
    /// A validator runs.
    Validating {
        /// Which, from 1.
        number: usize,
        /// Of how many.
        of: usize,
        /// Since its start, in milliseconds.
        elapsed_ms: u64,
        /// When it is ended at the latest, in milliseconds after its start.
        wall_ms: u64,
    },
}

/// Whoever waits for a Turn. Both are called several times a second, and have to be quick.
pub trait Watcher {
    /// Whether it wants the Turn to end.
    fn wants_stop(&self) -> bool;

    /// Who it is, and how that is known; none where nobody in particular asks.
    fn caller(&self) -> Option<(Actor, Provenance)> {
        None
    }

    /// Takes note of where the Turn is.
    fn sees(&self, phase: Phase) {
        let _ = phase;
    }

    /// Whether it goes on with one more Turn of the same holder, if this one settles as progress.
    fn goes_on(&self) -> bool {
        false
    }

    /// Takes the right to drive the Turn that was admitted with such a settlement.
    ///
    /// Let go of, that Turn waits for a recovery.
    fn takes_on(&self, next: DriverLock) {
        drop(next);
    }
}

/// Only asks.
impl<F: Fn() -> bool> Watcher for F {
    fn wants_stop(&self) -> bool {
        self()
    }
}
