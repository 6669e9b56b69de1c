//! Owns the owner-local store: bodies that never enter the ledger, each found by kind and id.
//!
//! Knows no fact. A body is put first, then the fact that names its id; a body no fact names is
//! garbage, a fact whose body is missing is a bug of the caller. Source: the architecture's "Three classes of
//! data".

mod purge;
mod tokens;

pub use purge::{Owner, Purge};
pub use tokens::{Token, Tokens};

use std::{
    fmt,
    path::{Path, PathBuf},
};

use rusqlite::{OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use crate::{
    authority::sqlite::{Reader, Schema, Snapshot, WriteTx, Writer, is_there, typed},
    error::{Code, Error, Result},
    failpoint,
};

const NAME: &str = "the private store";
const ID_MAX_BYTES: usize = 160;

/// The file of bodies.
pub(crate) const SCHEMA: Schema = Schema {
    name: NAME,
    application_id: 0x4c6f_7050,
    first: 1,
    oldest: 1,
    newest: 1,
    ddl: "CREATE TABLE bodies(
            kind TEXT NOT NULL, id TEXT NOT NULL, digest BLOB NOT NULL CHECK(length(digest)=32),
            owner_turn TEXT, created_at_ms INTEGER NOT NULL, bytes BLOB NOT NULL,
            PRIMARY KEY(kind, id, digest)) STRICT;
          CREATE INDEX bodies_turn ON bodies(owner_turn) WHERE owner_turn IS NOT NULL;",
    steps: &[],
};

macro_rules! kinds {
    ($($name:ident $text:literal $max:expr, $doc:literal;)*) => {
        /// What a body is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind { $(#[doc = $doc] $name,)* }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The spelling in the file.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The most bytes a body of this kind may have.
            pub const fn max_bytes(self) -> usize {
                match self { $(Self::$name => $max,)* }
            }
        }
    };
}

kinds! {
    Result "result" 64 * 1024, "What a host printed as its result, unscreened.";
    Diagnostics "diagnostics" 1024 * 1024, "What a host or a validator printed beside it.";
    Ending "ending" 4 * 1024, "How an attempt of a host ended: its exit status or signal.";
    Hosting "hosting" 32 * 1024, "How the host of a Turn is started, so that a recovery can start it again.";
    Opening "opening" 32 * 1024 * 1024, "What the work tree of a Turn looked like before its first attempt.";
    Tried "tried" 1024, "How an unresolved Turn stood when a recovery last looked into it in vain.";
}

/// A body to store, or one that was stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    /// What it is.
    pub kind: Kind,
    /// The id of the fact's private row.
    pub id: String,
    /// The Turn it came from, by which retention finds it.
    pub owner_turn: Option<String>,
    /// Wall time, in milliseconds since the Unix epoch.
    pub created_at_ms: i64,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Body {
    fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.bytes).into()
    }
}

/// Invariant: shows no content.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body")
            .field("kind", &self.kind)
            .field("id", &self.id)
            .field("owner_turn", &self.owner_turn)
            .field("created_at_ms", &self.created_at_ms)
            .field("bytes", &format_args!("<{} bytes>", self.bytes.len()))
            .finish()
    }
}

/// The store of one profile. The file is opened when a body is first asked for or put, never before: each
/// database costs a process a directory sync and a close of its own.
#[derive(Debug)]
pub struct PrivateStore {
    path: PathBuf,
    writer: Option<Writer>,
    reader: Option<Reader>,
}

impl PrivateStore {
    /// Names the file; opens nothing.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), writer: None, reader: None }
    }

    /// Makes the file where there is none, so that the first Turn of a profile does not have to.
    ///
    /// Errors: `disk_full`, `schema_*`, `store_*`.
    pub fn create(path: &Path) -> Result<()> {
        Writer::open_or_create(path, &SCHEMA).map(drop)
    }

    /// Refuses something else in the place of the file; opens nothing.
    ///
    /// Errors: `store_unreadable`, `store_unavailable`.
    pub fn check_place(&self) -> Result<()> {
        is_there(&self.path, &SCHEMA).map(drop)
    }

    /// Stores all bodies in one durable commit.
    ///
    /// A body that is there already, by kind, id and digest, is left as it is; another content under the same
    /// id stands beside the first, so no fact ever loses its body. Errors: `payload_too_large`, `invalid_id`,
    /// `disk_full`, `store_*`; then nothing was stored.
    pub fn put_all(&mut self, bodies: &[Body]) -> Result<()> {
        for body in bodies {
            check(body)?;
        }
        if bodies.is_empty() {
            return Ok(());
        }
        let tx = self.writer()?.begin_immediate()?;
        insert(&tx, bodies).map_err(|e| typed(&e, NAME))?;
        failpoint::reach!(PrivateBeforeCommit);
        tx.commit()?;
        failpoint::reach!(PrivateAfterCommit);
        Ok(())
    }

    /// Finds the body that was put last under a kind and an id; `None` where there is none, or it was purged.
    ///
    /// For what no fact carries the digest of: an id that names its own content, or a spool.
    ///
    /// Errors: `store_corrupt` when the content does not have the digest it was kept under; `store_*`.
    pub fn latest(&mut self, kind: Kind, id: &str) -> Result<Option<Body>> {
        let Some(reader) = self.reader()? else { return Ok(None) };
        let snapshot = reader.snapshot()?;
        let found = find_latest(&snapshot, kind, id).map_err(|e| typed(&e, NAME))?;
        match found {
            Some((body, digest)) if body.digest() != digest => {
                let is_purged = body.bytes.is_empty() && purge::is_emptied(&digest);
                if is_purged { Ok(None) } else { Err(purge::damaged(kind, id)) }
            }
            other => Ok(other.map(|(body, _)| body)),
        }
    }

    /// The schemas that this release knows: the oldest it reads, and the one it writes.
    pub const SCHEMAS: (i32, i32) = (SCHEMA.oldest, SCHEMA.newest);

    /// Looks at the whole file, and says which schema it has; `None` while no body was ever put.
    ///
    /// Errors: `store_corrupt`, `schema_*`, `store_*`.
    pub fn check(&mut self) -> Result<Option<i32>> {
        let Some(reader) = self.reader()? else { return Ok(None) };
        let version = reader.schema_version()?;
        reader.check_pages()?;
        Ok(Some(version))
    }

    /// The reading connection; `None` while no body was ever put.
    fn reader(&mut self) -> Result<Option<&mut Reader>> {
        if self.reader.is_none() {
            if !is_there(&self.path, &SCHEMA)? {
                return Ok(None);
            }
            match Reader::open(&self.path, &SCHEMA) {
                // Half made, by a process that died or is at it: no body was put yet, and the next write completes it.
                Err(e) if e.code() == Code::NotFound => return Ok(None),
                opened => self.reader = Some(opened?),
            }
        }
        Ok(self.reader.as_mut())
    }

    fn writer(&mut self) -> Result<&mut Writer> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => Writer::open_or_create(&self.path, &SCHEMA)?,
        };
        Ok(self.writer.insert(writer))
    }
}

fn find_latest(snapshot: &Snapshot<'_>, kind: Kind, id: &str) -> rusqlite::Result<Option<(Body, [u8; 32])>> {
    snapshot
        .prepare_cached(
            "SELECT owner_turn, created_at_ms, bytes, digest FROM bodies WHERE kind=?1 AND id=?2
             ORDER BY rowid DESC LIMIT 1",
        )?
        .query_row(params![kind.as_str(), id], |row| {
            let body = Body {
                kind,
                id: id.to_owned(),
                owner_turn: row.get(0)?,
                created_at_ms: row.get(1)?,
                bytes: row.get(2)?,
            };
            Ok((body, row.get(3)?))
        })
        .optional()
}

fn insert(tx: &WriteTx<'_>, bodies: &[Body]) -> rusqlite::Result<()> {
    let mut statement = tx.prepare_cached(
        // What is kept again is the latest again, whatever the clock says.
        "INSERT OR REPLACE INTO bodies(kind, id, digest, owner_turn, created_at_ms, bytes)
         VALUES(?1,?2,?3,?4,?5,?6)",
    )?;
    for body in bodies {
        let Body { kind, id, owner_turn, created_at_ms, bytes } = body;
        statement.execute(params![kind.as_str(), id, body.digest(), owner_turn, created_at_ms, bytes])?;
    }
    Ok(())
}

fn check(body: &Body) -> Result<()> {
    let Body { kind, id, bytes, .. } = body;
    if id.is_empty() || id.len() > ID_MAX_BYTES || id.contains('\0') {
        return Err(Error::new(Code::InvalidId, "a body's id is 1 to 160 bytes without NUL"));
    }
    if bytes.len() > kind.max_bytes() {
        let (kind, max) = (kind.as_str(), kind.max_bytes());
        return Err(Error::new(
            Code::PayloadTooLarge,
            format!("the {kind} body {id} has {} bytes, {max} are allowed", bytes.len()),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
