//! Owns the write transaction: how its lock is waited for, and what is checked before it counts.
//!
//! Knows nothing of what is written.

use std::{cell::Cell, ops::Deref, time::Duration};

use rusqlite::Connection;

use super::{Writer, fault, identity, precedence, queue, schema, typed};
use crate::{
    authority::{clock::Deadline, random},
    error::Result,
    failpoint,
};

/// How long a writer waits for the lock.
const WAIT: Duration = Duration::from_secs(5);
const FIRST_PAUSE_US: u64 = 100;
const LONGEST_PAUSE_US: u64 = 4000;
/// A wait this long is treated as starvation: shorter pauses, and see `precedence`.
const EAGER_AFTER: Duration = Duration::from_millis(250);
/// The longest pause of who starves.
const EAGER_PAUSE_US: u64 = 500;

/// Waits for a lock that another process holds: short pauses that double, half of each by chance.
///
/// SQLite's own handler sleeps in fixed steps and let one of eight processes wait for more than a second.
#[derive(Debug)]
pub(super) struct Patience {
    wait: Duration,
    random: Cell<u64>,
}

impl Patience {
    pub(super) fn new() -> Result<Self> {
        let seed = random::number()?;
        // Xorshift stands still at zero.
        Ok(Self { wait: WAIT, random: Cell::new(seed | 1) })
    }

    /// Repeats a step until it meets no lock, or the wait is over.
    pub(super) fn retry<T>(&self, step: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        self.begun().retry(step, || ())
    }

    fn begun(&self) -> Wait<'_> {
        Wait { patience: self, deadline: None, pause_us: 0 }
    }

    fn chance(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }
}

/// One wait, through all that it waits for.
#[derive(Debug)]
struct Wait<'p> {
    patience: &'p Patience,
    /// Set by the first pause: the clock is read only by who has to wait.
    deadline: Option<Deadline>,
    pause_us: u64,
}

impl Wait<'_> {
    /// Repeats a step until it meets no lock, or the wait is over; says before each further try that the wait has
    /// become starvation.
    fn retry<T>(
        &mut self,
        mut step: impl FnMut() -> rusqlite::Result<T>,
        mut starving: impl FnMut(),
    ) -> rusqlite::Result<T> {
        loop {
            let e = match step() {
                Err(e) if fault::is_busy(&e) => e,
                done => return done,
            };
            let Some(waited) = self.pause() else { return Err(e) };
            if waited >= EAGER_AFTER {
                starving();
            }
        }
    }

    /// Waits in the queue, or for as long as one waits there.
    fn in_queue(&mut self, mut enter: impl FnMut() -> bool, mut starving: impl FnMut()) {
        while !enter() {
            let Some(waited) = self.pause() else { return };
            if waited >= EAGER_AFTER {
                starving();
            }
            if waited >= queue::PASS_BY_AFTER {
                return;
            }
        }
    }

    /// Sleeps a little; says how long the wait took before that, or nothing when it is over.
    fn pause(&mut self) -> Option<Duration> {
        let Patience { wait, .. } = self.patience;
        let left = self.deadline.get_or_insert_with(|| Deadline::after(*wait)).left();
        if left.is_zero() {
            return None;
        }
        let waited = wait.saturating_sub(left);
        self.pause_us = next_pause_us(self.pause_us, waited);
        let half_us = self.pause_us / 2;
        pause(Duration::from_micros(half_us + self.patience.chance() % (half_us + 1)).min(left));
        Some(waited)
    }
}

/// The pause that follows one of `last_us`, before chance takes up to half of it.
fn next_pause_us(last_us: u64, waited: Duration) -> u64 {
    if waited >= EAGER_AFTER {
        return EAGER_PAUSE_US;
    }
    (last_us * 2).clamp(FIRST_PAUSE_US, LONGEST_PAUSE_US)
}

#[expect(
    clippy::disallowed_methods,
    reason = "no event tells when a file lock is free; the wait has a deadline"
)]
pub(super) fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// An open write transaction; dropped without `commit` it leaves nothing.
#[derive(Debug)]
pub struct WriteTx<'a> {
    writer: &'a mut Writer,
    /// Zero for a file that has none yet.
    version: i32,
}

impl Writer {
    /// Takes the write lock.
    ///
    /// Errors: `store_busy` after 5 s; `store_corrupt` when the file was replaced; `schema_*` when another
    /// release migrated it meanwhile.
    pub fn begin_immediate(&mut self) -> Result<WriteTx<'_>> {
        let mut tx = begin_unmarked(self)?;
        // Under the lock: a migration by a newer release, since this connection was opened, is seen here.
        tx.version = schema::still_known(&tx.writer.conn, &tx.writer.schema)?;
        Ok(tx)
    }

    /// As [`Writer::begin_immediate`], also where the schema is older than this release reads.
    pub(super) fn begin_any(&mut self) -> Result<WriteTx<'_>> {
        let mut tx = begin_unmarked(self)?;
        let Writer { conn, patience, schema, .. } = &*tx.writer;
        tx.version = schema::ever(conn, patience, schema)?.ok_or_else(|| schema::missing(schema))?;
        Ok(tx)
    }
}

/// Takes the write lock of a file that may have no schema yet.
pub(super) fn begin_unmarked(writer: &mut Writer) -> Result<WriteTx<'_>> {
    identity::check(writer.identity, &writer.path, &writer.schema)?;
    writer.manners.step_back(&writer.path);
    let Writer { conn, path, queue, patience, .. } = &mut *writer;
    let mut ahead = None;
    let mut starving = || ahead = ahead.take().or_else(|| precedence::ask(path));
    let mut wait = patience.begun();
    wait.in_queue(|| queue.enter(path), &mut starving);
    if let Err(e) = wait.retry(|| conn.prepare_cached("BEGIN IMMEDIATE")?.execute([]), starving) {
        queue.leave();
        return Err(typed(&e, writer.schema.name));
    }
    Ok(WriteTx { writer, version: 0 })
}

impl WriteTx<'_> {
    pub(super) fn writer(&self) -> &Writer {
        self.writer
    }

    /// The schema that the file has.
    pub(super) const fn version(&self) -> i32 {
        self.version
    }

    /// Brings the tables to the newest schema.
    ///
    /// Errors: `disk_full`, `store_*`; then nothing may be committed.
    pub(super) fn raise(&mut self) -> Result<()> {
        let Writer { conn, schema, .. } = &*self.writer;
        schema
            .steps_from(self.version)
            .iter()
            .try_for_each(|step| conn.execute_batch(step))
            .and_then(|()| conn.pragma_update(None, "user_version", schema.newest))
            .map_err(|e| typed(&e, schema.name))?;
        self.version = schema.newest;
        Ok(())
    }

    /// Makes everything durable, or nothing.
    ///
    /// Errors: `store_corrupt` when the file was replaced since the lock was taken; `disk_full`, `store_*`.
    pub fn commit(self) -> Result<()> {
        let Writer { conn, path, identity, schema, .. } = &*self.writer;
        identity::check(*identity, path, schema)?;
        failpoint::reach!(StoreBeforeCommit);
        conn.prepare_cached("COMMIT")
            .and_then(|mut statement| statement.execute([]))
            .map_err(|e| typed(&e, schema.name))?;
        failpoint::reach!(StoreAfterCommit);
        Ok(())
    }
}

impl Deref for WriteTx<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.writer.conn
    }
}

impl Drop for WriteTx<'_> {
    fn drop(&mut self) {
        // After some failures, a full disk for one, SQLite has rolled back by itself.
        if !self.writer.conn.is_autocommit() {
            // A rollback that fails leaves the log without a commit mark, which counts for nothing.
            let _ = self.writer.conn.execute_batch("ROLLBACK");
        }
        // After the commit, and the checkpoint that may have followed it.
        self.writer.queue.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)
    }

    #[test]
    fn a_wait_ends_with_the_lock_or_the_deadline() {
        let patience = Patience { wait: Duration::from_millis(20), random: Cell::new(7) };
        let mut calls = 0;
        let won = patience.retry(|| {
            calls += 1;
            if calls < 4 { Err(busy()) } else { Ok(calls) }
        });
        assert_eq!(won.unwrap(), 4);
        assert!(patience.retry(|| Err::<(), _>(busy())).is_err_and(|e| fault::is_busy(&e)));
        let mut others = 0;
        let failed = patience.retry(|| {
            others += 1;
            Err::<(), _>(rusqlite::Error::InvalidQuery)
        });
        assert!(failed.is_err());
        assert_eq!(others, 1, "only a lock is waited for");
    }

    #[test]
    fn pauses_double_until_the_wait_is_starvation() {
        let mut pauses = vec![0];
        for _ in 0..8 {
            pauses.push(next_pause_us(pauses[pauses.len() - 1], Duration::from_millis(1)));
        }
        assert_eq!(pauses[1..], [100, 200, 400, 800, 1600, 3200, 4000, 4000]);
        assert_eq!(next_pause_us(4000, Duration::from_millis(249)), 4000);
        assert_eq!(next_pause_us(4000, Duration::from_millis(250)), 500);
        assert_eq!(next_pause_us(500, Duration::from_secs(4)), 500);
    }

    #[test]
    fn pauses_differ() {
        let patience = Patience::new().unwrap();
        let drawn: std::collections::BTreeSet<u64> = (0..100).map(|_| patience.chance() % 2001).collect();
        assert!(drawn.len() > 50, "{drawn:?}");
    }
}
