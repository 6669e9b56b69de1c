//! Owns the writing connection: how its file is made and opened.
//!
//! Knows nothing of what is written. Invariant: nothing but SQLite opens the file in a process of ours; the
//! close of a foreign handle would drop the locks of every connection.

use std::{
    fs::OpenOptions,
    io,
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rusqlite::{
    Connection, FileControl, OpenFlags,
    config::DbConfig,
    types::{ToSqlOutput, ValueRef},
};

use super::{
    Schema, begin,
    begin::Patience,
    identity::{self, Identity},
    precedence::Manners,
    queue::QueueLock,
    reader::immutable_uri,
    schema::{self, Marks},
    typed,
};
use crate::{
    authority::profile::{owner, unreadable},
    error::Result,
    failpoint,
};

/// Prepared statements a connection keeps; preparing anew costs a third of a claim.
const STATEMENT_CACHE: usize = 64;

/// A connection that may write.
///
/// Dropping it keeps the write-ahead log small; see `close`.
#[derive(Debug)]
pub struct Writer {
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
    pub(super) identity: Identity,
    pub(super) schema: Schema,
    pub(super) patience: Patience,
    pub(super) manners: Manners,
    pub(super) queue: QueueLock,
}

impl Writer {
    /// Opens an existing file.
    ///
    /// Errors: `not_found` before `init`, `schema_needs_migration`, `schema_too_new`, `incompatible_version`
    /// for the SQLite library, `store_*`.
    pub fn open(path: &Path, schema: &Schema) -> Result<Self> {
        let writer = Self::connect(path, schema)?;
        writer.schema_version()?;
        Ok(writer)
    }

    /// Opens the file, and makes it first where there is none: private to its owner, with the newest schema.
    ///
    /// Of several processes that do this at once one makes it. A process killed on the way leaves a file that
    /// the next call completes. Errors: as `open`, and `disk_full`.
    pub fn open_or_create(path: &Path, schema: &Schema) -> Result<Self> {
        create_file(path)?;
        let mut writer = Self::connect(path, schema)?;
        // The mode is kept in the file; to set it on every opening would cost a lock each time.
        let fresh = writer.retry(|conn| {
            conn.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0)).map(|mode| mode != "wal")
        })?;
        if fresh {
            writer
                .retry(|conn| conn.query_row("PRAGMA journal_mode=WAL", [], |row| row.get::<_, String>(0)))?;
        }
        if writer.marks()? == Marks::Empty {
            writer.create_schema()?;
        }
        Ok(writer)
    }

    /// The schema the file has, which may be one older than the newest.
    pub fn schema_version(&self) -> Result<i32> {
        schema::version(&self.conn, &self.patience, &self.schema)
    }

    /// Opens a file of any schema.
    pub(super) fn connect(path: &Path, schema: &Schema) -> Result<Self> {
        Self::connect_with(path, schema, OpenFlags::empty())
    }

    /// Opens a file with another one beside it in the same connection, to be read and left as it is.
    ///
    /// Invariant: nothing that the other file defines is ever run.
    pub(super) fn connect_beside(path: &Path, schema: &Schema, other: &Path, name: &str) -> Result<Self> {
        let writer = Self::connect_with(path, schema, OpenFlags::SQLITE_OPEN_URI)?;
        let uri = immutable_uri(other);
        let uri = ToSqlOutput::Borrowed(ValueRef::Text(uri.as_os_str().as_bytes()));
        writer
            .conn
            .set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
            .and_then(|_| writer.conn.execute(&format!("ATTACH ?1 AS {name}"), [&uri]))
            .map_err(|e| typed(&e, schema.name))?;
        Ok(writer)
    }

    fn connect_with(path: &Path, schema: &Schema, more: OpenFlags) -> Result<Self> {
        schema::check_sqlite()?;
        if !schema::is_there(path, schema)? {
            return Err(schema::missing(schema));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
        let conn = Connection::open_with_flags(path, flags).map_err(|e| typed(&e, schema.name))?;
        let identity = identity::opened(&conn, path, schema)?;
        let patience = Patience::new()?;
        // A pragma reads the header, and so may meet the lock of who makes the file.
        patience.retry(|| tune(&conn)).map_err(|e| typed(&e, schema.name))?;
        Ok(Self {
            conn,
            path: path.to_owned(),
            identity,
            schema: *schema,
            patience,
            manners: Manners::default(),
            queue: QueueLock::default(),
        })
    }

    fn create_schema(&mut self) -> Result<()> {
        failpoint::reach!(StoreBeforeSchema);
        let tx = begin::begin_unmarked(self)?;
        // Somebody else may have made it while we waited for the lock.
        if tx.writer().marks()? == Marks::Empty {
            let schema = tx.writer().schema;
            schema.make(&tx, schema.newest).map_err(|e| typed(&e, schema.name))?;
        }
        tx.commit()
    }

    fn marks(&self) -> Result<Marks> {
        schema::marks(&self.conn, &self.patience, &self.schema)
    }

    fn retry<T>(&self, step: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.patience.retry(|| step(&self.conn)).map_err(|e| typed(&e, self.schema.name))
    }
}

/// What every connection gets, whatever it is for.
pub(super) fn tune_any(conn: &Connection) -> rusqlite::Result<()> {
    // SQLite's own waiting lets one process starve for seconds; ours is in `begin`.
    conn.busy_timeout(std::time::Duration::ZERO)?;
    // A checkpoint at every close would cost a short process three fsyncs more; `close` has the other half.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // A sort that outgrows memory would leave a person's words in a temporary file.
    conn.execute_batch("PRAGMA temp_store=MEMORY")
}

fn tune(conn: &Connection) -> rusqlite::Result<()> {
    tune_any(conn)?;
    // The log and its index stay in place, so that a reader who may not create files can still read.
    let mut persist = 1;
    conn.file_control(None::<&str>, FileControl::PersistWal(&mut persist))?;
    conn.execute_batch("PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF;")?;
    #[cfg(target_os = "macos")]
    conn.execute_batch("PRAGMA fullfsync=1; PRAGMA checkpoint_fullfsync=1;")?;
    Ok(())
}

/// Makes an empty file that only its owner can read; the log and its index take over these permissions.
///
/// Invariant: never opens a file that exists, see `Writer`.
fn create_file(path: &Path) -> Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => {
            owner::give(&file, path);
            Ok(())
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(unreadable(path, &e)),
    }
}
