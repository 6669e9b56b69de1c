//! Owns one lock file: taking it, looking at it, and holding on to it when its name is taken away.
//!
//! Knows nothing of what the lock is of. Invariant: a [`Latch`] is locked by this process as long as it lives; its file
//! stands under its name, unless somebody took that away since the last look.

use std::{
    cell::RefCell,
    fs::{File, Metadata, TryLockError, remove_file},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    authority::{
        clock::Deadline,
        profile::{
            file::{self, For},
            owner,
        },
    },
    kernel::Seen,
    process,
};

/// How long somebody who only looks may be in the way of somebody who takes.
const LOOK: Duration = Duration::from_millis(200);

/// Between two looks at what cannot be told.
const AGAIN_MS: u64 = 250;

/// Whether a lock is held still by whoever took it, though its file may have been taken away.
#[derive(Debug)]
pub(super) enum Hold {
    /// It is, and stands under its name.
    Mine {
        /// Whether that had to be taken again.
        again: bool,
    },
    /// Another works by it, or did.
    Lost,
    /// That cannot be told now, as on a full disk or while somebody clears up: it is nobody else's as far as is known.
    Untold(io::Error),
}

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
                Ok(()) if is_still(&path, &file)? => return Ok(Some(Self { path, file: file.into() })),
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
        is_blank(&self.file.borrow()).unwrap_or(false)
    }

    /// Writes over its beginning.
    pub(super) fn write(&self, text: &[u8]) -> io::Result<()> {
        self.file.borrow().write_all_at(text, 0)
    }

    /// Whether its file stands under its name still.
    pub(super) fn is_named(&self) -> io::Result<bool> {
        is_still(&self.path, &self.file.borrow())
    }

    /// Looks whether it is held still, and takes its name again where that was taken away, with `text` in its file.
    pub(super) fn hold(&self, text: &[u8]) -> Hold {
        let held = match self.is_named() {
            Ok(true) if !self.is_blank() => return Hold::Mine { again: false },
            // What was taken again could not be written into.
            Ok(true) => Ok(true),
            Ok(false) => self.renew(),
            Err(e) => Err(e),
        };
        match held.and_then(|is_mine| if is_mine { self.sign(text).map(|()| true) } else { Ok(false) }) {
            Ok(true) => Hold::Mine { again: true },
            Ok(false) => Hold::Lost,
            Err(e) => Hold::Untold(e),
        }
    }

    /// As [`Latch::hold`], for what may only be done by whoever holds it: what cannot be told is looked at again for a
    /// while.
    pub(super) fn hold_within(&self, text: &[u8], patience: Duration) -> Hold {
        let deadline = Deadline::after(patience);
        loop {
            match self.hold(text) {
                Hold::Untold(_) if !deadline.left().is_zero() => process::pause(AGAIN_MS),
                told @ (Hold::Mine { .. } | Hold::Lost | Hold::Untold(_)) => return told,
            }
        }
    }

    /// Takes the name again that was taken away; no, when another has it, or had.
    fn renew(&self) -> io::Result<bool> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        // Where it cannot be made, the file in it says why.
        let _ = owner::make_dirs(folder);
        let deadline = Deadline::after(LOOK);
        let file = loop {
            let file = file::open(&self.path, For::Keeping)?;
            match file.try_lock() {
                Ok(()) if is_still(&self.path, &file)? => break file,
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if !deadline.left().is_zero() => process::pause(10),
                // Who works by a lock says so in it. Whoever clears up, or looks who has it, lets go in its time.
                Err(TryLockError::WouldBlock) if is_blank(&file)? => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(TryLockError::WouldBlock) => return Ok(false),
                Err(TryLockError::Error(e)) => return Err(e),
            }
        };
        let is_mine = is_blank(&file)?;
        if is_mine {
            // The one that is locked now takes the other's place before that is let go.
            drop(self.file.replace(file));
        }
        Ok(is_mine)
    }

    /// Writes into a blank file, all or nothing: half of it would be another's to whoever reads it.
    fn sign(&self, text: &[u8]) -> io::Result<()> {
        self.write(text).inspect_err(|_| {
            // The failure to report is the write's.
            let _ = self.file.borrow().set_len(0);
        })
    }

    /// Lets go of it, and of its file.
    pub(super) fn close(self) {
        // A file that stays behind is only clutter; the lock itself ends with the file's last descriptor.
        if self.is_named().is_ok_and(|named| named) {
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

/// Whether a file stands under a name; an error where that cannot be told.
fn is_still(path: &Path, file: &File) -> io::Result<bool> {
    let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    match path.metadata() {
        Ok(named) => Ok(same(&named, &file.metadata()?)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(e) => Err(e),
    }
}

fn is_blank(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.len() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_on_a_removed_file_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let first = taken(&path);
        assert!(Latch::take(path.clone(), For::Keeping).unwrap().is_none());
        remove_file(&path).unwrap();
        let second = taken(&path);
        second.write(b"theirs").unwrap();
        assert!(matches!(second.hold(b"theirs"), Hold::Mine { again: false }));
        assert!(matches!(first.hold(b"mine"), Hold::Lost));
        // Its end takes nothing of the other's away.
        first.close();
        assert!(second.is_named().unwrap());
    }

    fn taken(path: &Path) -> Latch {
        Latch::take(path.to_owned(), For::Keeping).unwrap().unwrap()
    }

    #[test]
    fn who_holds_a_blank_file_for_long_has_taken_no_lock_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let lock = taken(&path);
        remove_file(&path).unwrap();
        let clears = taken(&path);
        assert!(matches!(lock.hold(b"mine"), Hold::Untold(_)), "longer than a look");
        drop(clears);
        assert!(matches!(lock.hold(b"mine"), Hold::Mine { again: true }));
        assert!(matches!(lock.hold(b"mine"), Hold::Mine { again: false }));
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn what_cannot_be_told_is_nobody_else_s_and_is_looked_at_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("locks/x");
        std::fs::create_dir(dir.path().join("locks")).unwrap();
        let lock = taken(&path);
        std::fs::remove_dir_all(dir.path().join("locks")).unwrap();
        // Nothing can be made below a file.
        std::fs::write(dir.path().join("locks"), "").unwrap();
        assert!(matches!(lock.hold_within(b"mine", Duration::from_millis(1)), Hold::Untold(_)));
        std::thread::scope(|scope| {
            let holds = scope.spawn(|| {
                let lock = lock;
                matches!(lock.hold_within(b"mine", Duration::from_secs(20)), Hold::Mine { again: true })
            });
            process::pause(2 * AGAIN_MS);
            remove_file(dir.path().join("locks")).unwrap();
            assert!(holds.join().unwrap());
        });
    }

    #[test]
    fn a_name_that_was_taken_again_and_could_not_be_written_into_is_written_into_later() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let lock = taken(&path);
        remove_file(&path).unwrap();
        assert!(lock.renew().unwrap() && lock.is_blank());
        // It is locked meanwhile, so that nobody else takes it.
        assert!(Latch::take(path.clone(), For::Keeping).unwrap().is_none());
        assert!(matches!(lock.hold(b"mine"), Hold::Mine { again: true }));
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    }
}
