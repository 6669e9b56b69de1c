//! Owns taking bodies away: of whose Turns something is kept, and leaving of each no more than its digest.
//!
//! Knows no Turn and no age. Invariant: what was purged is told from what was never kept, and from what is damaged: its row
//! stays, with the digest of what it held and nothing in it.

use rusqlite::{OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use super::{Kind, NAME, PrivateStore};
use crate::{
    authority::sqlite::typed,
    error::{Code, Error, Result},
    failpoint,
};

/// Whose bodies lie here, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The Turn, as text.
    pub turn: String,
    /// When the newest was kept, in milliseconds since the Unix epoch.
    pub newest_ms: i64,
    /// How many have content.
    pub count: u64,
    /// How much that is.
    pub bytes: u64,
}

/// What becomes of the bodies of a Turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purge {
    /// Their content goes, their digests stay.
    Content,
    /// All of them go that were kept no later than this: no fact points at them.
    Whole {
        /// In milliseconds since the Unix epoch.
        until_ms: i64,
    },
}

impl PrivateStore {
    /// The Turns of which bodies with content lie here, by their ids, after the one that is named.
    ///
    /// Errors: `store_*`.
    pub fn owners(&mut self, after: &str, limit: usize) -> Result<Vec<Owner>> {
        let Some(reader) = self.reader()? else { return Ok(Vec::new()) };
        let snapshot = reader.snapshot()?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = snapshot
            .prepare_cached(
                "SELECT owner_turn, max(created_at_ms), count(*), sum(length(bytes)) FROM bodies
                 WHERE owner_turn>?1 AND length(bytes)>0 GROUP BY owner_turn ORDER BY owner_turn LIMIT ?2",
            )
            .and_then(|mut statement| {
                let rows = statement.query_map(params![after, limit], |row| {
                    Ok(Owner {
                        turn: row.get(0)?,
                        newest_ms: row.get(1)?,
                        count: unsigned(row.get(2)?),
                        bytes: unsigned(row.get(3)?),
                    })
                })?;
                rows.collect::<rusqlite::Result<Vec<_>>>()
            });
        found.map_err(|e| typed(&e, NAME))
    }

    /// Takes the bodies of some Turns away, in one durable commit; what they held is overwritten.
    ///
    /// Errors: `disk_full`, `store_*`; then nothing went.
    pub fn purge(&mut self, turns: &[(String, Purge)]) -> Result<()> {
        if turns.is_empty() {
            return Ok(());
        }
        let tx = self.writer()?.begin_immediate()?;
        let went = tx.execute_batch("PRAGMA secure_delete=ON").and_then(|()| {
            turns.iter().try_for_each(|(turn, purge)| {
                match purge {
                    Purge::Content => tx
                        .prepare_cached(
                            "UPDATE bodies SET bytes=x'' WHERE owner_turn=?1 AND length(bytes)>0",
                        )?
                        .execute([turn])?,
                    Purge::Whole { until_ms } => tx
                        .prepare_cached("DELETE FROM bodies WHERE owner_turn=?1 AND created_at_ms<=?2")?
                        .execute(params![turn, until_ms])?,
                };
                Ok(())
            })
        });
        went.map_err(|e| typed(&e, NAME))?;
        tx.commit()?;
        failpoint::reach!(GcBodies);
        Ok(())
    }

    /// Whether a body of this kind and id was kept once and has been purged since.
    ///
    /// Errors: `store_*`.
    pub fn is_purged(&mut self, kind: Kind, id: &str) -> Result<bool> {
        let Some(reader) = self.reader()? else { return Ok(false) };
        let snapshot = reader.snapshot()?;
        let last = snapshot
            .prepare_cached(
                "SELECT length(bytes), digest FROM bodies WHERE kind=?1 AND id=?2 ORDER BY rowid DESC LIMIT 1",
            )
            .and_then(|mut statement| {
                let row = statement.query_row(params![kind.as_str(), id], |row| Ok((row.get(0)?, row.get(1)?)));
                row.optional()
            });
        let last: Option<(i64, [u8; 32])> = last.map_err(|e| typed(&e, NAME))?;
        Ok(last.is_some_and(|(length, digest)| length == 0 && is_emptied(&digest)))
    }

    /// Gives the room of what was purged back to the disk, where that is most of the file and little is left to be moved.
    ///
    /// Says whether it did; somebody who works in the file, or a full disk, is no failure. Errors: `store_*`.
    pub fn shrink(&mut self) -> Result<bool> {
        match self.writer().and_then(|writer| writer.shrink(SHRINK_MAX_BYTES)) {
            Err(error) if matches!(error.code(), Code::StoreBusy | Code::DiskFull) => Ok(false),
            done => done,
        }
    }
}

/// The most that is moved to shrink a file: nobody who waits for it meanwhile waits for long.
const SHRINK_MAX_BYTES: u64 = 64 * 1024 * 1024;

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Whether an empty body once held something.
pub(super) fn is_emptied(digest: &[u8; 32]) -> bool {
    let nothing: [u8; 32] = Sha256::digest([]).into();
    *digest != nothing
}

/// The error of a body whose content is not what its digest says.
pub(super) fn damaged(kind: Kind, id: &str) -> Error {
    Error::new(Code::StoreCorrupt, format!("the {} body {id} does not have its digest", kind.as_str()))
}
