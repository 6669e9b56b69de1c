//! Owns what is done while a host works: its ownership is kept, the wish to stop is heard, and whoever waits is told.
//!
//! Knows nothing of how the host is run: by this process, by its guardian, or by one that another process started.

use super::{
    commits::Commit,
    driver::stop_is_wished,
    guard::{Alive, Ward},
    lock::DriverLock,
    site::{Around, Site},
    watch::{Phase, Watcher},
    wish,
};
use crate::{
    authority::StepRight as _,
    error::{Code, Result},
    kernel::{ClaimCommand, Command},
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
    /// Between two renewals, in milliseconds.
    every_ms: u64,
    renewed_at_ms: u64,
    renewals: u32,
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
        let own = around.todo.as_ref().and_then(|todo| todo.ownership.as_ref());
        let every_ms = own.map_or(u64::MAX, |own| own.ttl_ms.as_ms() / 3).max(1);
        Self { base, watcher, lock, around, attempt, wall_ms, every_ms, renewed_at_ms: 0, renewals: 0 }
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
        // A file that somebody took away is made again; what another drives is nobody else's.
        if self.lock.stands().is_err() {
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
        if elapsed_ms.saturating_sub(self.renewed_at_ms) >= self.every_ms {
            self.renewed_at_ms = elapsed_ms;
            self.renewals += 1;
            return self.renew(site);
        }
        true
    }

    /// Renews the ownership of a Turn whose host is alive; no, when somebody took it over.
    fn renew(&self, site: &mut Site<'_>) -> bool {
        let Some(todo) = &self.around.todo else { return true };
        let Ok(id) = Commit::Renew(self.attempt, self.renewals).of(self.base) else {
            return true;
        };
        let command = Command::Claim(ClaimCommand::Renew {
            todo_id: todo.todo_id.clone(),
            own_id: Some(self.around.turn.own_id),
        });
        match site.authority.submit(self.around.step(id, command)) {
            Ok(receipt) => receipt.negative().is_none(),
            Err(error) => !matches!(error.code(), Code::OwnershipSuperseded | Code::OwnershipExpired),
        }
    }
}
