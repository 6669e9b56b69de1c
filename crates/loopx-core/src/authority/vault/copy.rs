//! Owns how a copy of a database is made: under another name first, looked through, then named.
//!
//! Knows nothing of what lies in it.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{
    authority::{
        profile::{
            Place,
            file::{Unfinished, Whose, unwritable},
            make_private_dir,
        },
        sqlite::{Reader, Schema},
    },
    error::{Code, Error, Result},
    model::{Digest, Timestamp},
};

/// How much of a file is hashed at once.
const BLOCK_BYTES: usize = 64 * 1024;

/// A copy of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The file, private to its owner.
    pub path: PathBuf,
    /// How large it is.
    pub bytes: u64,
    /// The digest of the file.
    pub digest: Digest,
}

/// Where a copy goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target<'t> {
    /// Into the profile's own folder, under a name of the time and a number that makes it unique.
    Dated(&'t Place, Timestamp, &'static str),
    /// To this path; whether what lies there may be replaced.
    At(&'t Path, bool),
}

impl Target<'_> {
    /// The file of the n-th name that may be free; none after the last one.
    pub(super) fn path(&self, n: u32) -> Option<PathBuf> {
        match self {
            Self::Dated(place, at, what) => {
                Some(place.backups().join(format!("{}-{n}{what}.db", compact(*at))))
            }
            Self::At(path, _) => (n == 1).then(|| path.to_path_buf()),
        }
    }

    fn replaces(&self) -> bool {
        matches!(self, Self::At(_, true))
    }
}

fn taken() -> Error {
    refused("a file of that name is there already; `--force` replaces it")
}

fn refused(message: &'static str) -> Error {
    Error::new(Code::InvalidArgument, message).hint("backup --help").detail("argument", "path")
}

/// Refuses a name that something has, unless that is a regular file which may be replaced.
///
/// A link is none, wherever it leads: neither it nor what it names is for a copy to take the place of.
pub(super) fn check_taken(path: &Path, replaces: bool) -> Result<()> {
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => {
            Err(refused("something other than a regular file has that name, and stays as it is"))
        }
        Ok(_) if !replaces => Err(taken()),
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(unwritable(path, &e)),
    }
}

/// A moment in UTC as a file's name has it; it sorts by time.
fn compact(at: Timestamp) -> String {
    jiff::Timestamp::from_second(at.as_ms().div_euclid(1000))
        .map_or_else(|_| at.as_ms().to_string(), |time| time.strftime("%Y%m%dT%H%M%SZ").to_string())
}

/// Copies one state of a database, whatever is written to it meanwhile, and has it looked through before it has its
/// name.
///
/// Errors: those of `look`; `disk_full`, `store_*`; then nothing lies there.
pub(super) fn keep<T>(
    db: &Path,
    schema: &Schema,
    target: Target<'_>,
    look: impl FnOnce(&Path) -> Result<T>,
) -> Result<(Kept, T)> {
    if let Target::Dated(place, ..) = target {
        make_private_dir(&place.backups())?;
    }
    let first = target.path(1).ok_or_else(taken)?;
    if let Target::At(path, replaces) = target {
        check_taken(path, replaces)?;
    }
    // A copy that root makes for another place is root's: who owns that folder may not be meant to have it.
    let whose = if matches!(target, Target::Dated(..)) { Whose::Folders } else { Whose::Makers };
    let unfinished = Unfinished::beside(&first, whose)?;
    Reader::copy_into(db, schema, unfinished.path())?;
    let found = look(unfinished.path())?;
    let (bytes, digest) = measured(unfinished.path())?;
    let mut n = 1;
    loop {
        let path = target.path(n).ok_or_else(taken)?;
        if let Target::At(path, replaces) = target {
            // Looked at once more: copying takes its time.
            check_taken(path, replaces)?;
        }
        if unfinished.finish(&path, target.replaces())? {
            return Ok((Kept { path, bytes, digest }, found));
        }
        n += 1;
    }
}

/// The length and the digest of a file that no database connection has open.
pub(super) fn measured(path: &Path) -> Result<(u64, Digest)> {
    let read = || -> io::Result<(u64, Digest)> {
        let (mut file, mut hasher, mut bytes) = (File::open(path)?, Sha256::new(), 0);
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let n = file.read(&mut block)?;
            if n == 0 {
                return Ok((bytes, Digest::from_bytes(hasher.finalize().into())));
            }
            hasher.update(block.get(..n).unwrap_or_default());
            bytes += u64::try_from(n).unwrap_or_default();
        }
    };
    read().map_err(|e| unwritable(path, &e))
}
