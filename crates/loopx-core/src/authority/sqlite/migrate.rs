//! Owns the way of a file from an older schema to the newest: one transaction, all or nothing.
//!
//! Knows no table, and nothing of what is kept before or written beside it: both are handed in. Invariant: no read and
//! no other write brings a file to another schema.

use std::path::Path;

use super::{Schema, WriteTx, Writer};
use crate::{error::Result, failpoint};

/// Brings a file to the newest schema; says which it had, none where it has the newest.
///
/// `before` runs while the write lock is held and nothing is changed yet: what it keeps is what the file held last.
/// `beside` writes into the same transaction. Errors: theirs; `not_found` for a file without tables,
/// `schema_too_new`, `disk_full`, `store_*`; then nothing was changed.
pub(crate) fn migrate<K>(
    path: &Path,
    schema: &Schema,
    before: impl FnOnce() -> Result<K>,
    beside: impl FnOnce(&WriteTx<'_>, i32, &K) -> Result<()>,
) -> Result<Option<(i32, K)>> {
    let mut writer = Writer::connect(path, schema)?;
    let mut tx = writer.begin_any()?;
    let from = tx.version();
    if from == schema.newest {
        return Ok(None);
    }
    let kept = before()?;
    failpoint::reach!(MigrateKept);
    tx.raise()?;
    failpoint::reach!(MigrateRaised);
    beside(&tx, from, &kept)?;
    tx.commit()?;
    Ok(Some((from, kept)))
}
