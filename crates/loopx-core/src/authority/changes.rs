//! Owns following a ledger for long: sleeping until somebody committed, a time is over, or something else calls.
//!
//! Knows nothing of what changed. It looks at the ledger through a connection of its own, and writes nothing.

use std::{path::PathBuf, time::Duration};

use super::{
    doorbell::{Beside, Waited, Waiter},
    profile::Profile,
    sqlite::{LEDGER, Reader},
};
use crate::error::Result;

/// Whoever follows a ledger.
#[derive(Debug)]
pub struct Changes {
    path: PathBuf,
    waiter: Waiter,
    reader: Option<Reader>,
    seen: Option<i64>,
}

impl Changes {
    /// Prepares to follow the ledger of a profile; nothing is opened before the first wait.
    pub fn of(profile: &Profile) -> Self {
        Self { path: profile.place().authority_db(), waiter: Waiter::new(profile), reader: None, seen: None }
    }

    /// Sleeps until there is a commit that the last call had not seen, at most for `wait`; the first call finds one.
    ///
    /// `also` is asked now and then for what rings no bell; a descriptor `beside` ends the wait at once. What is read after
    /// a call is at least as new as what the call has seen. Errors: those of `also`; `store_*`.
    pub fn next(
        &mut self,
        wait: Duration,
        beside: &[Beside<'_>],
        mut also: impl FnMut() -> Result<bool>,
    ) -> Result<Waited> {
        let reader = match self.reader.take() {
            Some(reader) => self.reader.insert(reader),
            None => self.reader.insert(Reader::open(&self.path, &LEDGER)?),
        };
        let seen = &mut self.seen;
        self.waiter.wait_beside(wait, beside, || {
            let version = reader.data_version()?;
            if seen.replace(version) != Some(version) {
                return Ok(true);
            }
            also()
        })
    }
}
