//! Owns the proof that the path still names the file that is open.
//!
//! Knows nothing of the file's content, and never opens it: closing a second handle would drop the locks of
//! every connection of this process.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use rusqlite::{Connection, FileControl};

use super::{Schema, typed};
use crate::error::{Code, Error, Result};

/// A file's device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

/// Notes which file a new connection has open.
pub(super) fn opened(conn: &Connection, path: &Path, schema: &Schema) -> Result<Identity> {
    let identity = at(path, schema)?;
    // Between the opening and the look the path may have got another file; SQLite knows the inode it opened.
    let mut moved = 0;
    conn.file_control(None::<&str>, FileControl::HasMoved(&mut moved)).map_err(|e| typed(&e, schema.name))?;
    if moved != 0 {
        return Err(replaced(path, schema));
    }
    Ok(identity)
}

/// Refuses to go on when the path names another file, or none.
pub(super) fn check(identity: Identity, path: &Path, schema: &Schema) -> Result<()> {
    if at(path, schema)? == identity { Ok(()) } else { Err(replaced(path, schema)) }
}

fn at(path: &Path, schema: &Schema) -> Result<Identity> {
    let meta = fs::metadata(path).map_err(|e| replaced(path, schema).internal(e))?;
    Ok(Identity { device: meta.dev(), inode: meta.ino() })
}

fn replaced(path: &Path, schema: &Schema) -> Error {
    Error::new(
        Code::StoreCorrupt,
        format!("{} was moved or replaced while it was open; nothing was written", schema.name),
    )
    .internal(path.display())
}
