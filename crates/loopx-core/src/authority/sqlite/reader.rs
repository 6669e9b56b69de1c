//! Owns the reading connection: one consistent snapshot a decision, and no byte written.
//!
//! Knows nothing of what is read. An opener of a file in WAL mode may create an empty -wal and a -shm beside
//! it, and nothing else.

use std::{
    ops::Deref,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use rusqlite::{
    Connection, OpenFlags,
    types::{ToSqlOutput, ValueRef},
};

use super::{
    Schema,
    begin::Patience,
    close::wal_path,
    identity::{self, Identity},
    open::tune_any,
    schema, typed,
};
use crate::error::{Code, Error, Result};

/// A connection that cannot write.
#[derive(Debug)]
pub struct Reader {
    conn: Connection,
    path: PathBuf,
    identity: Identity,
    schema: Schema,
    patience: Patience,
}

impl Reader {
    /// Opens an existing file.
    ///
    /// A file on a filesystem that nobody can write to is read without locks, if it has no log. Errors:
    /// `not_found` before `init`, `schema_needs_migration`, `schema_too_new`, `store_unreadable` for a folder
    /// this user cannot write and whose log's index is missing, `store_*`.
    pub fn open(path: &Path, schema: &Schema) -> Result<Self> {
        schema::check_sqlite()?;
        if !schema::is_there(path, schema)? {
            return Err(schema::missing(schema));
        }
        let mut reader = Self::connect(path, schema, false)?;
        match reader.snapshot().map(drop) {
            // Without its index a log cannot be read, and where no file can be made neither can the index.
            // Only where the whole filesystem is read-only does nobody write meanwhile.
            Err(e) if e.code() == Code::StoreUnreadable && frozen(path) => {
                reader = Self::connect(path, schema, true)?;
                reader.snapshot().map(drop)?;
            }
            other => other?,
        }
        Ok(reader)
    }

    /// Opens a file that nobody writes any more, such as a backup: without a lock, and without a file beside it.
    ///
    /// Errors: as [`Reader::open`].
    pub(crate) fn open_still(path: &Path, schema: &Schema) -> Result<Self> {
        schema::check_sqlite()?;
        let mut reader = Self::connect(path, schema, true)?;
        reader.snapshot().map(drop)?;
        Ok(reader)
    }

    /// The schema of a file that may be older than this release reads; none where nothing was ever written.
    ///
    /// Errors: `schema_too_new`, `store_*`.
    pub(crate) fn schema_of(path: &Path, schema: &Schema) -> Result<Option<i32>> {
        schema::check_sqlite()?;
        if !schema::is_there(path, schema)? {
            return Ok(None);
        }
        let reader = Self::connect(path, schema, false)?;
        schema::ever(&reader.conn, &reader.patience, schema)
    }

    /// Writes one state of a file of any schema into an empty one, whole and without what lies free in it.
    ///
    /// One read transaction holds that state, so that writers go on meanwhile and none of them makes this begin
    /// anew. Errors: `disk_full`, `store_*`.
    pub(crate) fn copy_into(path: &Path, schema: &Schema, to: &Path) -> Result<()> {
        Self::connect(path, schema, false)?.vacuum_into(to)
    }

    /// As [`Reader::copy_into`], of a file that nobody writes any more.
    pub(crate) fn copy_still(path: &Path, schema: &Schema, to: &Path) -> Result<()> {
        Self::connect(path, schema, true)?.vacuum_into(to)
    }

    fn vacuum_into(&self, to: &Path) -> Result<()> {
        let to = ToSqlOutput::Borrowed(ValueRef::Text(to.as_os_str().as_bytes()));
        self.patience
            .retry(|| self.conn.execute("VACUUM INTO ?1", [&to]))
            .map(drop)
            .map_err(|e| typed(&e, self.schema.name))
    }

    fn connect(path: &Path, schema: &Schema, immutable: bool) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = if immutable {
            Connection::open_with_flags(immutable_uri(path), flags | OpenFlags::SQLITE_OPEN_URI)
        } else {
            Connection::open_with_flags(path, flags)
        }
        .map_err(|e| typed(&e, schema.name))?;
        let identity = identity::opened(&conn, path, schema)?;
        let patience = Patience::new()?;
        patience.retry(|| tune_any(&conn)).map_err(|e| typed(&e, schema.name))?;
        Ok(Self { conn, path: path.to_owned(), identity, schema: *schema, patience })
    }

    /// Begins a read of one state of the file, whatever others commit meanwhile.
    ///
    /// Errors: `store_corrupt` when the file was replaced; `schema_*` when it was migrated since.
    pub fn snapshot(&mut self) -> Result<Snapshot<'_>> {
        identity::check(self.identity, &self.path, &self.schema)?;
        let mut snapshot = Snapshot { conn: &self.conn, version: 0 };
        // BEGIN takes nothing; the first read, of the header, fixes the state.
        self.conn
            .prepare_cached("BEGIN")
            .and_then(|mut statement| statement.execute([]))
            .map_err(|e| typed(&e, self.schema.name))?;
        snapshot.version = schema::version(&self.conn, &self.patience, &self.schema)?;
        Ok(snapshot)
    }

    /// The schema that the file has.
    ///
    /// Errors: `schema_*`, `store_*`.
    pub fn schema_version(&mut self) -> Result<i32> {
        Ok(self.snapshot()?.version)
    }

    /// Looks at every page of the file.
    ///
    /// Errors: `store_corrupt` when they do not fit each other; `store_*`.
    pub fn check_pages(&mut self) -> Result<()> {
        self.check_by("PRAGMA quick_check(1)")
    }

    /// As [`Reader::check_pages`], of a file that anybody may have made: every index, and that the tables are as this
    /// release makes them.
    pub(crate) fn check_whole(&mut self) -> Result<()> {
        let schema = self.schema;
        let snapshot = self.snapshot()?;
        schema::check_tables(&snapshot, "main", &schema, snapshot.version())?;
        drop(snapshot);
        self.check_by("PRAGMA integrity_check(1)")
    }

    fn check_by(&mut self, pragma: &str) -> Result<()> {
        let name = self.schema.name;
        let snapshot = self.snapshot()?;
        let said: String = snapshot.query_row(pragma, [], |row| row.get(0)).map_err(|e| typed(&e, name))?;
        if said == "ok" {
            Ok(())
        } else {
            Err(Error::new(Code::StoreCorrupt, format!("{name} is damaged")).internal(said))
        }
    }

    /// A number that differs from the last one when another connection has committed.
    ///
    /// Errors: `store_corrupt` when the file was replaced, after which the number would stand still.
    pub fn data_version(&mut self) -> Result<i64> {
        identity::check(self.identity, &self.path, &self.schema)?;
        self.patience
            .retry(|| self.conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0)))
            .map_err(|e| typed(&e, self.schema.name))
    }
}

/// One state of the file.
#[derive(Debug)]
pub struct Snapshot<'a> {
    conn: &'a Connection,
    version: i32,
}

impl Snapshot<'_> {
    /// The schema that the file has.
    pub(super) const fn version(&self) -> i32 {
        self.version
    }
}

impl Deref for Snapshot<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        if !self.conn.is_autocommit() {
            // Nothing was written, so nothing can be lost by an end that fails.
            let _ = self.conn.execute_batch("COMMIT");
        }
    }
}

/// Whether nobody can be writing: a read-only filesystem, and no log that would have to be read with the file.
fn frozen(path: &Path) -> bool {
    let log_is_empty = std::fs::metadata(wal_path(path)).map_or(true, |meta| meta.len() == 0);
    log_is_empty
        && rustix::fs::statvfs(path)
            .is_ok_and(|stat| stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// The file's name as SQLite wants it in a URI.
pub(super) fn immutable_uri(path: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'?' | b'#' | b'%' => uri.extend(format!("%{byte:02x}").into_bytes()),
            _ => uri.push(*byte),
        }
    }
    uri.extend(b"?immutable=1");
    PathBuf::from(std::ffi::OsString::from_vec(uri))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_the_uri() {
        assert_eq!(immutable_uri(Path::new("/a?b#c%d e")), Path::new("file:/a%3fb%23c%25d e?immutable=1"));
    }
}
