//! Owns the ledger in a SQLite file: when it is opened for what, and what a transaction around a job does.
//!
//! Knows no rule and no verb. Invariant: reading and waiting never open the file for writing and never make
//! it; who waits is told after the commit, never before.

mod deltas;
mod list;
mod load;
mod nouns;
#[cfg(test)]
mod plans;
mod ready;
mod rebuild;
mod save;
mod state;
mod stray;
mod tables;
mod whole;

use std::{path::PathBuf, time::Duration};

pub(crate) use tables::SCHEMA;
pub(in crate::authority) use whole::{
    copy_still, exchange, migrate_ledger, read_foreign, read_still, write_alone,
};

use super::{
    Reader, Writer,
    schema::{is_there, missing},
};
use crate::{
    authority::{
        Ledger, Tx, View,
        doorbell::{Doorbell, Waited, Waiter},
        profile::{Env, Profile},
    },
    error::Result,
    failpoint,
};
use state::State;

/// The ledger of a profile, in its file.
#[derive(Debug)]
pub struct SqliteLedger {
    path: PathBuf,
    reader: Option<Reader>,
    writer: Option<Writer>,
    bell: Doorbell,
    waiter: Waiter,
}

impl SqliteLedger {
    /// Takes the ledger of a profile. Nothing is opened before the first read or write, each for itself.
    ///
    /// Errors: `not_found` before `init`, `store_unreadable`.
    pub fn open(profile: &Profile, env: &Env) -> Result<Self> {
        let ledger = Self::closed(profile, env);
        if is_there(&ledger.path, &SCHEMA)? {
            return Ok(ledger);
        }
        Err(missing(&SCHEMA))
    }

    /// Takes the ledger of a profile, and makes its file where there is none.
    ///
    /// Errors: `disk_full`, `schema_*`, `store_*`.
    pub fn create(profile: &Profile, env: &Env) -> Result<Self> {
        let mut ledger = Self::closed(profile, env);
        ledger.writer = Some(Writer::open_or_create(&ledger.path, &SCHEMA)?);
        Ok(ledger)
    }

    /// Lets the file grow no further than this many pages, or than it has already.
    #[cfg(test)]
    pub(in crate::authority) fn limit_pages(&mut self, pages: u32) -> Result<()> {
        let writer = opened(&mut self.writer, || Writer::open(&self.path, &SCHEMA))?;
        let tx = writer.begin_immediate()?;
        tx.query_row(&format!("PRAGMA max_page_count={pages}"), [], |_| Ok(())).map_err(|e| state::fail(&e))
    }

    fn closed(profile: &Profile, env: &Env) -> Self {
        Self {
            path: profile.place().authority_db(),
            reader: None,
            writer: None,
            bell: Doorbell::new(profile, env),
            waiter: Waiter::new(profile),
        }
    }
}

/// Takes what was opened before, or opens it.
fn opened<T>(slot: &mut Option<T>, open: impl FnOnce() -> Result<T>) -> Result<&mut T> {
    if slot.is_none() {
        *slot = Some(open()?);
    }
    slot.as_mut().ok_or_else(|| crate::error::Code::Internal.into())
}

impl Ledger for SqliteLedger {
    fn write(&mut self, job: &mut dyn FnMut(&mut dyn Tx) -> Result<()>) -> Result<()> {
        let writer = opened(&mut self.writer, || Writer::open(&self.path, &SCHEMA))?;
        let tx = writer.begin_immediate()?;
        let mut state = State::to_write(&tx, tx.version());
        job(&mut state)?;
        // A job that stored nothing, as a replay, leaves nothing to commit and nobody to wake.
        if state.has_stored() {
            tx.commit()?;
            failpoint::reach!(LedgerBeforeBell);
            self.bell.ring();
            failpoint::reach!(LedgerAfterBell);
        }
        Ok(())
    }

    fn read(&mut self, job: &mut dyn FnMut(&mut dyn View) -> Result<()>) -> Result<()> {
        let reader = opened(&mut self.reader, || Reader::open(&self.path, &SCHEMA))?;
        let snapshot = reader.snapshot()?;
        let version = snapshot.version();
        job(&mut State::new(&snapshot, version))
    }

    fn wait(
        &mut self,
        wait: Duration,
        changed: &mut dyn FnMut(&mut dyn View) -> Result<bool>,
    ) -> Result<bool> {
        let reader = opened(&mut self.reader, || Reader::open(&self.path, &SCHEMA))?;
        let mut seen = None;
        let waited = self.waiter.wait(wait, || {
            // Taken before the state is read, so that a commit between the two is looked at once more.
            let version = reader.data_version()?;
            if seen.replace(version) == Some(version) {
                return Ok(false);
            }
            let snapshot = reader.snapshot()?;
            let version = snapshot.version();
            changed(&mut State::new(&snapshot, version))
        })?;
        Ok(waited == Waited::Changed)
    }
}
