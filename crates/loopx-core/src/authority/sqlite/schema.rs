//! Owns the marks in a database file's header: whose it is and which schema it has.
//!
//! Knows nothing of the tables behind them.

use std::{fs, io, path::Path};

use rusqlite::Connection;

use super::{begin::Patience, typed};
use crate::{
    authority::profile::unreadable,
    error::{Code, Error, Result},
};

/// SQLite before this version can damage a write-ahead log when several processes checkpoint at once.
const SQLITE_LEAST: i32 = 3_051_003;

/// One kind of database file.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// What the file is called in messages, as `the ledger`.
    pub name: &'static str,
    /// The header's `application_id`.
    pub application_id: i32,
    /// The oldest schema there ever was, from which `migrate` leads.
    pub first: i32,
    /// The oldest schema this release reads and writes.
    pub oldest: i32,
    /// The schema a new file gets, and the newest this release reads.
    pub newest: i32,
    /// What makes the tables of the first schema in an empty file.
    pub ddl: &'static str,
    /// What leads from each schema to the next, from the first on.
    pub steps: &'static [&'static str],
}

impl Schema {
    /// What leads from a schema to the newest, in order.
    pub(super) fn steps_from(&self, version: i32) -> &'static [&'static str] {
        let done = usize::try_from(version.saturating_sub(self.first)).unwrap_or_default();
        self.steps.get(done..).unwrap_or_default()
    }
}

impl Schema {
    /// Makes the tables of a schema in an empty file, and marks it.
    pub(super) fn make(&self, conn: &Connection, version: i32) -> rusqlite::Result<()> {
        let steps = usize::try_from(version.saturating_sub(self.first)).unwrap_or_default();
        conn.execute_batch(self.ddl)?;
        self.steps.iter().take(steps).try_for_each(|step| conn.execute_batch(step))?;
        conn.pragma_update(None, "application_id", self.application_id)?;
        conn.pragma_update(None, "user_version", version)
    }
}

/// Refuses a file whose tables and indexes are not as this release makes those of that schema: a trigger, a view, a
/// column more. `database` is the name of the file in the connection.
///
/// Errors: `store_corrupt`, `store_*`.
pub(super) fn check_tables(conn: &Connection, database: &str, schema: &Schema, version: i32) -> Result<()> {
    let listed = |conn: &Connection, database: &str| -> rusqlite::Result<Vec<[String; 4]>> {
        let sql = format!(
            "SELECT type, name, tbl_name, coalesce(sql, '') FROM {database}.sqlite_schema ORDER BY type, name"
        );
        let mut statement = conn.prepare(&sql)?;
        let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
        rows.collect()
    };
    let wanted = Connection::open_in_memory().and_then(|memory| {
        schema.make(&memory, version)?;
        listed(&memory, "main")
    });
    let wanted = wanted.map_err(|e| Error::from(Code::Internal).internal(e))?;
    if listed(conn, database).map_err(|e| typed(&e, schema.name))? == wanted {
        return Ok(());
    }
    Err(Error::new(Code::StoreCorrupt, format!("{} has not the tables of schema {version}", schema.name)))
}

/// What stands in a file's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// Nothing was ever written.
    Empty,
    /// A file of this kind, with a schema this release reads.
    Ours(i32),
}

/// Reads the header.
///
/// Errors: `schema_needs_migration` and `schema_too_new`, both naming both versions; `store_corrupt` for a
/// database of another program.
pub(super) fn marks(conn: &Connection, patience: &Patience, schema: &Schema) -> Result<Marks> {
    let Some(version) = of_kind(conn, patience, schema)? else { return Ok(Marks::Empty) };
    within(version, schema)?;
    Ok(Marks::Ours(version))
}

/// The schema in the header of a file of this kind, whichever it is; none where nothing was ever written.
fn of_kind(conn: &Connection, patience: &Patience, schema: &Schema) -> Result<Option<i32>> {
    let (version, application_id) = header(conn, patience).map_err(|e| typed(&e, schema.name))?;
    if (application_id, version) == (0, 0) {
        return Ok(None);
    }
    if application_id != schema.application_id {
        return Err(Error::new(Code::StoreCorrupt, format!("{} is a file of another program", schema.name))
            .internal(format_args!("application_id {application_id:#x}")));
    }
    Ok(Some(version))
}

/// The schema of a file that may be older than this release reads; none where nothing was ever written.
///
/// Errors: `schema_too_new`; `store_corrupt` for a schema that never was.
pub(super) fn ever(conn: &Connection, patience: &Patience, schema: &Schema) -> Result<Option<i32>> {
    let Some(version) = of_kind(conn, patience, schema)? else { return Ok(None) };
    if version < schema.first {
        return Err(Error::new(Code::StoreCorrupt, format!("{} has a schema that never was", schema.name))
            .detail("found", version));
    }
    within(version, &Schema { oldest: schema.first, ..*schema })?;
    Ok(Some(version))
}

/// Refuses a schema that this release does not know.
fn within(version: i32, schema: &Schema) -> Result<()> {
    let Schema { name, oldest, newest, .. } = schema;
    if version < *oldest {
        return Err(Error::new(
            Code::SchemaNeedsMigration,
            format!("{name} has schema {version}, this release needs {oldest} or newer"),
        )
        .hint("migrate")
        .detail("found", version)
        .detail("needed", *oldest));
    }
    if version > *newest {
        return Err(Error::new(
            Code::SchemaTooNew,
            format!("{name} has schema {version}, this release knows {newest} at most"),
        )
        .detail("found", version)
        .detail("known", *newest));
    }
    Ok(())
}

fn number(conn: &Connection, pragma: &str) -> rusqlite::Result<i32> {
    conn.prepare_cached(pragma)?.query_row([], |row| row.get(0))
}

/// `user_version` and `application_id` of one state of the file, within the caller's transaction if there is
/// one: read apart they could be of two states while another process makes the file.
fn header(conn: &Connection, patience: &Patience) -> rusqlite::Result<(i32, i32)> {
    let own = conn.is_autocommit();
    if own {
        conn.prepare_cached("BEGIN")?.execute([])?;
    }
    // The first read of a connection may meet another process that makes the file or recovers its log.
    let read = patience
        .retry(|| number(conn, "PRAGMA user_version"))
        .and_then(|version| Ok((version, number(conn, "PRAGMA application_id")?)));
    if own {
        conn.prepare_cached("COMMIT")?.execute([])?;
    }
    read
}

/// Refuses a schema that this release does not know, within a write transaction, and says which it is: a file never
/// changes its kind, so one lookup does.
pub(super) fn still_known(conn: &Connection, schema: &Schema) -> Result<i32> {
    let version = number(conn, "PRAGMA user_version").map_err(|e| typed(&e, schema.name))?;
    within(version, schema)?;
    Ok(version)
}

/// The header of a file that must have been written before.
pub(super) fn version(conn: &Connection, patience: &Patience, schema: &Schema) -> Result<i32> {
    match marks(conn, patience, schema)? {
        Marks::Ours(version) => Ok(version),
        Marks::Empty => Err(missing(schema)),
    }
}

/// Whether a file is there. Not opened for that: SQLite would wait for the other end of a pipe.
///
/// Errors: `store_unreadable` for what is no regular file, `store_*`.
pub(crate) fn is_there(path: &Path, schema: &Schema) -> Result<bool> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let message =
                format!("something that is no regular file lies in the place of {}, `{name}`", schema.name);
            Err(Error::new(Code::StoreUnreadable, message).hint("doctor").internal(path.display()))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(unreadable(path, &e)),
    }
}

pub(super) fn missing(schema: &Schema) -> Error {
    Error::new(Code::NotFound, format!("{} does not exist yet", schema.name)).hint("init")
}

/// Refuses to run on a SQLite that can lose data.
pub(super) fn check_sqlite() -> Result<()> {
    check_sqlite_version(rusqlite::version_number())
}

fn check_sqlite_version(found: i32) -> Result<()> {
    if found >= SQLITE_LEAST {
        return Ok(());
    }
    let text = |n: i32| format!("{}.{}.{}", n / 1_000_000, n / 1000 % 1000, n % 1000);
    Err(Error::new(
        Code::IncompatibleVersion,
        format!("SQLite {} can damage a ledger, {} is needed", text(found), text(SQLITE_LEAST)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlite_that_loses_data_is_refused() {
        check_sqlite().unwrap();
        check_sqlite_version(3_051_003).unwrap();
        let refused = check_sqlite_version(3_051_002).unwrap_err();
        assert_eq!(refused.code(), Code::IncompatibleVersion);
        assert!(refused.message().contains("3.51.2") && refused.message().contains("3.51.3"));
    }
}
