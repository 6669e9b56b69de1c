//! Owns the end of a writing connection: the write-ahead log must stay small between short processes.
//!
//! Knows nothing of what is in it. Without a checkpoint on close every lone process rebuilds the log's index
//! and forgets what was already copied back, so the log would grow without end, and every opener would have
//! to read it. Truncating it only past 64 frames costs a short process no fsync most of the time.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Writer, typed};
use crate::error::Result;

/// 64 frames of a page and its header.
const WAL_MAX_BYTES: u64 = 64 * (4096 + 24);

/// The write-ahead log beside a database.
pub(super) fn wal_path(db: &Path) -> PathBuf {
    beside(db, "-wal")
}

/// A file beside a database, by what follows its name.
pub(crate) fn beside(db: &Path, suffix: &str) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

impl Writer {
    /// Copies the whole log back into a file that has no name yet, and takes away what lies beside it.
    pub(super) fn close_alone(self) -> Result<()> {
        let (path, name) = (self.path.clone(), self.schema.name);
        self.conn
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|e| typed(&e, name))?;
        drop(self);
        for suffix in ["-wal", "-shm", "-gate", "-turn"] {
            // A log that is empty by now says nothing, wherever it lies.
            let _ = fs::remove_file(beside(&path, suffix));
        }
        Ok(())
    }

    /// Makes the file smaller where more than half of it is free and at most `max_bytes` are in use; says whether it did.
    ///
    /// Errors: `store_busy` where others work in it, `disk_full`, `store_*`.
    pub(crate) fn shrink(&mut self, max_bytes: u64) -> Result<bool> {
        let number =
            |name: &str| self.conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
        let sizes = || Ok((number("page_count")?, number("freelist_count")?, number("page_size")?));
        let (pages, free, size) = sizes().map_err(|e| typed(&e, self.schema.name))?;
        let used = pages.saturating_sub(free).saturating_mul(size);
        if free <= pages / 2 || u64::try_from(used).is_ok_and(|used| used > max_bytes) {
            return Ok(false);
        }
        self.conn.execute_batch("VACUUM").map_err(|e| typed(&e, self.schema.name))?;
        self.shorten_wal().map(|()| true)
    }

    /// Copies a long log back into the file and empties it.
    fn shorten_wal(&self) -> Result<()> {
        if !fs::metadata(wal_path(&self.path)).is_ok_and(|meta| meta.len() > WAL_MAX_BYTES) {
            return Ok(());
        }
        // Busy means that somebody reads or writes: he, or the next one, will do it.
        self.conn
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|e| typed(&e, self.schema.name))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // What was committed stands in the log: a failure here, a full disk for one, must not be reported by
        // a command that has succeeded.
        if let Err(e) = self.shorten_wal() {
            tracing::debug!(error = ?e, "the log stays long");
        }
    }
}
