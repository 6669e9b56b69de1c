//! Owns what is done to the ledger's file as a whole: its migration, a look through a copy, the exchange of its content.
//!
//! Knows no rule. Invariant: the file stays the one that others have open; each change is one transaction of it.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{
    SCHEMA,
    state::{State, encode},
};
use crate::{
    authority::{
        Meta, StoredReceipt, Tx, View,
        sqlite::{Reader, Schema, Writer, schema::check_tables, typed},
    },
    error::{Code, Error, Result},
    failpoint,
};

/// A copy of the ledger, as it is called in messages.
const COPY: Schema = Schema { name: "the copy", ..SCHEMA };
/// The name of the file whose content is taken.
const OTHER: &str = "other";

/// Brings the ledger's file to the newest schema; see [`super::super::migrate()`]. `beside` writes what happened.
pub(in crate::authority) fn migrate_ledger<K>(
    path: &Path,
    before: impl FnOnce() -> Result<K>,
    beside: impl FnOnce(&mut dyn Tx, i32, &K) -> Result<()>,
) -> Result<Option<(i32, K)>> {
    super::super::migrate(path, &SCHEMA, before, |tx, from, kept| {
        beside(&mut State::to_write(tx, tx.version()), from, kept)
    })
}

/// Reads a file that nobody writes any more as a ledger, once its pages fit each other.
pub(in crate::authority) fn read_still<T>(
    path: &Path,
    job: impl FnOnce(&mut dyn View, i32) -> Result<T>,
) -> Result<T> {
    let mut reader = Reader::open_still(path, &COPY)?;
    reader.check_pages()?;
    look(&mut reader, job)
}

/// As [`read_still`], of a file that anybody may have made: its indexes and tables are looked through too.
pub(in crate::authority) fn read_foreign<T>(
    path: &Path,
    job: impl FnOnce(&mut dyn View, i32) -> Result<T>,
) -> Result<T> {
    let opened = Reader::open_still(path, &COPY);
    let mut reader = opened.map_err(|error| match error.code() {
        // Nobody has marked it, whatever else it may hold.
        Code::NotFound => Error::new(Code::StoreCorrupt, "the copy is no ledger").internal(error),
        _ => error, // wildcard: every other code says what is wrong with the file
    })?;
    reader.check_whole()?;
    check_owned(&mut reader)?;
    look(&mut reader, job)
}

/// Refuses events of a Goal that is not listed: nobody who goes from Goal to Goal would meet them.
fn check_owned(reader: &mut Reader) -> Result<()> {
    let sql = "SELECT id & 4294967295 FROM events WHERE id>4294967295 AND id>>32 NOT IN (SELECT goal FROM goals) LIMIT 1";
    let snapshot = reader.snapshot()?;
    let mut statement = snapshot.prepare(sql).map_err(|e| typed(&e, COPY.name))?;
    let lost =
        statement.query_map([], |row| row.get::<_, i64>(0)).and_then(|mut rows| rows.next().transpose());
    match lost.map_err(|e| typed(&e, COPY.name))? {
        None => Ok(()),
        Some(seq) => {
            Err(Error::new(Code::StoreCorrupt, "the copy holds the history of a Goal that it does not list")
                .detail("seq", seq))
        }
    }
}

fn look<T>(reader: &mut Reader, job: impl FnOnce(&mut dyn View, i32) -> Result<T>) -> Result<T> {
    let snapshot = reader.snapshot()?;
    let version = snapshot.version();
    job(&mut State::new(&snapshot, version), version)
}

/// Puts the content of another file in the place of the ledger's, in one transaction of the ledger's own file.
///
/// Who has the ledger open goes on with the new content, as after any commit. `before` sees what is replaced, under
/// the write lock. Receipts of operations that the other file does not know stay, and say that what they tell of was
/// cut. `beside` writes into the same transaction; it is told the life that ends. Errors: theirs; `store_corrupt` for
/// another file that is not as this release makes it, `store_busy`, `disk_full`, `store_*`; then nothing was changed.
pub(in crate::authority) fn exchange<K>(
    path: &Path,
    other: &Path,
    before: impl FnOnce(&mut dyn View) -> Result<K>,
    beside: impl FnOnce(&mut dyn Tx, &Meta, &K) -> Result<()>,
) -> Result<K> {
    let mut writer = Writer::connect_beside(path, &SCHEMA, other, OTHER)?;
    let tx = writer.begin_immediate()?;
    let mut state = State::new(&tx, tx.version());
    let ended =
        state.meta()?.ok_or_else(|| Error::new(Code::StoreCorrupt, "the ledger was never founded"))?;
    let kept = before(&mut state)?;
    failpoint::reach!(RestoreKept);
    let version = take(&tx, &ended)?;
    failpoint::reach!(RestoreTaken);
    beside(&mut State::to_write(&tx, version), &ended, &kept)?;
    tx.commit()?;
    Ok(kept)
}

/// Writes a copy of a file that nobody writes any more into an empty one.
pub(in crate::authority) fn copy_still(path: &Path, to: &Path) -> Result<()> {
    Reader::copy_still(path, &COPY, to)
}

/// Writes into a ledger whose file has no name yet, and leaves no log beside it.
pub(in crate::authority) fn write_alone(
    path: &Path,
    job: impl FnOnce(&mut dyn Tx) -> Result<()>,
) -> Result<()> {
    let mut writer = Writer::open_or_create(path, &COPY)?;
    let tx = writer.begin_immediate()?;
    job(&mut State::to_write(&tx, tx.version()))?;
    tx.commit()?;
    writer.close_alone()
}

/// Takes every table of the other file; says which schema that has.
fn take(conn: &Connection, ended: &Meta) -> Result<i32> {
    let fail = |e: rusqlite::Error| typed(&e, SCHEMA.name);
    let version: i32 = conn.query_row("PRAGMA other.user_version", [], |row| row.get(0)).map_err(fail)?;
    if !(SCHEMA.oldest..=SCHEMA.newest).contains(&version) {
        return Err(Error::new(Code::StoreCorrupt, "the copy was changed while it was read"));
    }
    // Looked at here once more: whoever can write that file may have done so since it was looked through.
    check_tables(conn, OTHER, &COPY, version)?;
    conn.execute_batch(
        "CREATE TEMP TABLE lost AS SELECT operation_id, body FROM main.receipts
           WHERE operation_id NOT IN (SELECT operation_id FROM other.receipts);",
    )
    .map_err(fail)?;
    for table in
        tables(conn, "SELECT name FROM main.sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'")?
    {
        conn.execute_batch(&format!("DROP TABLE main.{}", quoted(&table))).map_err(fail)?;
    }
    SCHEMA.make(conn, version).map_err(fail)?;
    for table in
        tables(conn, "SELECT name FROM main.sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'")?
    {
        let table = quoted(&table);
        conn.execute_batch(&format!("INSERT INTO main.{table} SELECT * FROM other.{table}")).map_err(fail)?;
    }
    mark_lost(conn, ended)?;
    conn.execute_batch("DROP TABLE temp.lost").map_err(fail)?;
    Ok(version)
}

/// Keeps what the lost operations returned, each marked as cut with the life that ended; what cannot be read is lost.
fn mark_lost(conn: &Connection, ended: &Meta) -> Result<()> {
    let fail = |e: rusqlite::Error| typed(&e, SCHEMA.name);
    let mut lost = conn.prepare("SELECT operation_id, body FROM temp.lost").map_err(fail)?;
    let mut rows = lost.query([]).map_err(fail)?;
    let keep = "INSERT INTO main.receipts(operation_id, body) VALUES(?1, ?2)";
    while let Some(row) = rows.next().map_err(fail)? {
        let (id, body): (String, String) = (row.get(0).map_err(fail)?, row.get(1).map_err(fail)?);
        let Ok(receipt) = serde_json::from_str::<StoredReceipt>(&body) else { continue };
        let marked = StoredReceipt { cut: Some(ended.incarnation), ..receipt };
        conn.execute(keep, params![id, encode(&marked)?]).map_err(fail)?;
    }
    Ok(())
}

fn tables(conn: &Connection, sql: &str) -> Result<Vec<String>> {
    let fail = |e: rusqlite::Error| typed(&e, SCHEMA.name);
    let mut statement = conn.prepare(sql).map_err(fail)?;
    let names = statement.query_map([], |row| row.get(0)).map_err(fail)?;
    names.collect::<rusqlite::Result<_>>().map_err(fail)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
