//! Owns what is done while a host works: its ownership is kept, the wish to stop is heard, and whoever waits is told.
//!
//! Knows nothing of how the host is run: by this process, by its guardian, or by one that another process started.

use super::{
    driver::stop_is_wished,
    guard::{Alive, Ward},
    latch::Hold,
    lock::DriverLock,
    renewal::Renewal,
    site::{Around, Site},
    watch::{Phase, Watcher},
    wish,
};
use crate::{
    error::{Code, Result},
    model::OperationId,
    process::{Control, Tick, boot_ms},
};

/// How often is looked around, in milliseconds.
const LOOK_MS: u64 = 250;

/// A guardian, whoever started it.
pub(super) trait Guard {
    /// Waits for its end at most this long, in milliseconds; whether it has ended.
    fn wait(&mut self, wait_ms: u64) -> Result<bool>;

    /// Asks it to end its host; again and again, it is made to.
    fn stop(&mut self);
}

impl Guard for Ward {
    fn wait(&mut self, wait_ms: u64) -> Result<bool> {
        Ok(Self::wait(self, wait_ms))
    }

    fn stop(&mut self) {
        Self::stop(self);
    }
}

impl Guard for Alive {
    fn wait(&mut self, wait_ms: u64) -> Result<bool> {
        Self::wait(self, wait_ms)
    }

    fn stop(&mut self) {
        Self::stop(self);
    }
}

/// The watch over one attempt.
pub(super) struct Shift<'s> {
    base: &'s OperationId,
    watcher: &'s dyn Watcher,
    lock: &'s DriverLock,
    around: &'s Around,
    attempt: u8,
    wall_ms: u64,
    renewal: Renewal,
}

impl<'s> Shift<'s> {
    pub(super) fn of(
        base: &'s OperationId,
        watcher: &'s dyn Watcher,
        lock: &'s DriverLock,
        around: &'s Around,
        attempt: u8,
        wall_ms: u64,
    ) -> Self {
        Self { base, watcher, lock, around, attempt, wall_ms, renewal: Renewal::of(around) }
    }

    /// Looks around while a process of our own works.
    pub(super) fn tick(&mut self, site: &mut Site<'_>, tick: Tick) -> Control {
        let goes_on = self.look(site, tick.elapsed_ms);
        if goes_on || tick.ending { Control::Continue } else { Control::Stop }
    }

    /// Looks around until a guardian has ended; whether its host was asked to stop.
    ///
    /// Errors: `store_unavailable`.
    pub(super) fn watch(&mut self, site: &mut Site<'_>, guard: &mut dyn Guard) -> Result<bool> {
        let began_ms = boot_ms();
        let mut stopped = false;
        loop {
            stopped |= !self.look(site, boot_ms().saturating_sub(began_ms));
            if stopped {
                guard.stop();
            }
            if guard.wait(LOOK_MS)? {
                return Ok(stopped);
            }
        }
    }

    /// Tells, listens and renews; no, when the host is to end.
    fn look(&mut self, site: &mut Site<'_>, elapsed_ms: u64) -> bool {
        self.watcher.sees(Phase::Working { attempt: self.attempt, elapsed_ms, wall_ms: self.wall_ms });
        let turn_id = self.around.turn.turn_id;
        // A file that somebody took away is made again; what another drives is nobody else's. What cannot be told now is
        // looked at the next time, and at every commit.
        if matches!(self.lock.hold(), Hold::Lost) {
            return false;
        }
        // A store that does not answer now does not end the work; the fence is checked at every commit.
        if site.authority.read(|view| stop_is_wished(view, turn_id)).unwrap_or(false) {
            return false;
        }
        if self.watcher.wants_stop() {
            // What cannot be recorded ends the host all the same.
            if let Err(error) = wish::record(site, self.base, self.around, self.watcher) {
                tracing::warn!(%error, "the wish to stop is not on record");
            }
            return false;
        }
        // No, when somebody took it over.
        match self.renewal.keep(site, self.around, &|id, command| self.around.step(id, command)) {
            Some(Ok(receipt)) => receipt.negative().is_none(),
            Some(Err(error)) => !matches!(error.code(), Code::OwnershipSuperseded | Code::OwnershipExpired),
            None => true,
        }
    }
}
