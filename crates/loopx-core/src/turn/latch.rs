//! Owns one lock file: taking it, looking at it, and holding on to it when its name is taken away.
//!
//! Knows nothing of what the lock is of. Invariant: a [`Latch`] is locked by this process as long as it lives; its file
//! stands under its name, unless somebody took that away since the last look.

use std::{
    cell::RefCell,
    fs::{DirBuilder, File, Metadata, TryLockError, remove_file},
    io,
    os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    authority::{
        clock::Deadline,
        profile::file::{self, For},
    },
    kernel::Seen,
    process,
};

/// How long somebody who only looks may be in the way of somebody who takes.
const LOOK: Duration = Duration::from_millis(200);

/// A file that is locked as long as this value lives.
#[derive(Debug)]
pub(super) struct Latch {
    path: PathBuf,
    /// Its being open is the lock.
    file: RefCell<File>,
}

impl Latch {
    /// Takes it, past whoever only looks; none while another process has it, stopped or not.
    pub(super) fn take(path: PathBuf, what_for: For) -> io::Result<Option<Self>> {
        let deadline = Deadline::after(LOOK);
        loop {
            let file = file::open(&path, what_for)?;
            match file.try_lock() {
                // The file may have been removed by whoever had it, between our opening and our locking.
                Ok(()) if is_still(&path, &file) => return Ok(Some(Self { path, file: file.into() })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if deadline.left().is_zero() => return Ok(None),
                Err(TryLockError::WouldBlock) => process::pause(10),
                Err(TryLockError::Error(e)) => return Err(e),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether nobody has written into it.
    pub(super) fn is_blank(&self) -> bool {
        self.file.borrow().metadata().is_ok_and(|file| file.len() == 0)
    }

    /// Writes over its beginning.
    pub(super) fn write(&self, text: &[u8]) -> io::Result<()> {
        self.file.borrow().write_all_at(text, 0)
    }

    /// Whether its file stands under its name still.
    pub(super) fn is_named(&self) -> bool {
        is_still(&self.path, &self.file.borrow())
    }

    /// Takes the name again that was taken away, with `text` in its file; no, when another has it, or had.
    pub(super) fn renew(&self, text: &[u8]) -> bool {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let deadline = Deadline::after(LOOK);
        let file = loop {
            let Ok(file) = file::open(&self.path, For::Keeping) else { return false };
            match file.try_lock() {
                Ok(()) if is_still(&self.path, &file) => break file,
                Ok(()) => {}
                // Whoever clears up lets go of it in a moment.
                Err(TryLockError::WouldBlock) if !deadline.left().is_zero() => process::pause(10),
                Err(_) => return false,
            }
        };
        let is_mine = file.metadata().is_ok_and(|file| file.len() == 0) && file.write_all_at(text, 0).is_ok();
        if is_mine {
            // The one that is locked now takes the other's place before that is let go.
            drop(self.file.replace(file));
        }
        is_mine
    }

    /// Lets go of it, and of its file.
    pub(super) fn close(self) {
        // A file that stays behind is only clutter; the lock itself ends with the file's last descriptor.
        if self.is_named() {
            let _ = remove_file(&self.path);
        }
    }
}

/// Whether somebody has a lock; looked at, never taken. None where that cannot be told.
pub(super) fn seen(path: &Path) -> Option<Seen> {
    let file = match file::open(path, For::Reading) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Some(Seen::Gone),
        Err(_) => return None,
    };
    match file.try_lock_shared() {
        Ok(()) => Some(Seen::Gone),
        Err(TryLockError::WouldBlock) => Some(Seen::Alive),
        Err(TryLockError::Error(_)) => None,
    }
}

fn is_still(path: &Path, file: &File) -> bool {
    let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    matches!((path.metadata(), file.metadata()), (Ok(a), Ok(b)) if same(&a, &b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_on_a_removed_file_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let first = Latch::take(path.clone(), For::Keeping).unwrap().unwrap();
        assert!(Latch::take(path.clone(), For::Keeping).unwrap().is_none());
        remove_file(&path).unwrap();
        let second = Latch::take(path.clone(), For::Keeping).unwrap().unwrap();
        assert!(second.is_named() && !first.is_named() && !first.renew(b"mine"));
        // Its end takes nothing of the other's away.
        first.close();
        assert!(second.is_named());
    }
}
