//! Owns the end of a writing connection: the write-ahead log must stay small between short processes.
//!
//! Knows nothing of what is in it. Without a checkpoint on close every lone process rebuilds the log's index
//! and forgets what was already copied back, so the log would grow without end, and every opener would have
//! to read it. Truncating it only past 64 frames costs a short process no fsync most of the time.

use std::{fs, path::{Path, PathBuf}};

use super::{Writer, typed};
use crate::error::Result;

/// 64 frames of a page and its header.
const WAL_MAX_BYTES: u64 = 64 * (4096 + 24);

/// The write-ahead log beside a database.
pub(super) fn wal_path(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

impl Writer {
    /// Ends the connection. Errors: `store_*` when the log could not be copied back; nothing is lost then.
    pub fn close(self) -> Result<()> {
        // `drop` does it again, finds a short log, and ends the connection.
        self.shorten_wal()
    }

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
        // Who drops instead of closing has an error of his own; a long log harms no fact.
        let _ = self.shorten_wal();
    }
}
