//! Owns the locks of Turns: one file a Turn, held for the life of its driver, and one an attempt, held by its guardian.
//!
//! Knows nothing of what either does. Invariant: a [`DriverLock`] exists only while its file is locked by this
//! process, and only with one, or for a [`Driverless`] Turn, can a step be submitted.

use std::{
    fs::{File, TryLockError, read_dir, remove_file},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    authority::{
        StepRight,
        clock::Deadline,
        profile::file::{self, For},
    },
    error::{Code, Error, Result},
    kernel::Seen,
    model::{Turn, TurnId},
    process::{self, Identity, Leaf},
};

/// How long somebody who only looks may be in the way of somebody who takes.
const LOOK: Duration = Duration::from_millis(200);
/// What stands around the id in the name of a lock file.
const PREFIX: &str = "turn-";
const SUFFIX: &str = ".lock";
const GUARD_SUFFIX: &str = ".guard";
/// The most that a guardian says of itself.
const GUARDIAN_MAX_BYTES: u64 = 16 * 1024;

/// A file that is locked as long as this value lives.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    /// Its being open is the lock.
    file: File,
}

impl Held {
    /// Takes it, past whoever only looks; none while another process has it, stopped or not.
    pub(super) fn take(path: PathBuf) -> Result<Option<Self>> {
        let deadline = Deadline::after(LOOK);
        loop {
            let file = open(&path, true).map_err(|e| unreachable_lock(&e))?;
            match file.try_lock() {
                // The file may have been removed by whoever had it, between our opening and our locking.
                Ok(()) if is_still(&path, &file) => return Ok(Some(Self { path, file })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if deadline.left().is_zero() => return Ok(None),
                Err(TryLockError::WouldBlock) => process::pause(10),
                Err(TryLockError::Error(e)) => return Err(unreachable_lock(&e)),
            }
        }
    }

    /// Writes into its file who has it; whoever is kept out reads it there.
    pub(super) fn note(&self, text: &[u8]) -> Result<()> {
        self.file.write_all_at(text, 0).map_err(|e| unreachable_lock(&e))
    }

    /// Lets go of it, and of its file.
    pub(super) fn close(self) {
        // A file that stays behind is only clutter; the lock itself ends with the file's last descriptor.
        let _ = remove_file(&self.path);
        drop(self.file);
    }
}

/// Whether somebody has a lock; looked at, never taken. None where that cannot be told.
pub(super) fn seen(path: &Path) -> Option<Seen> {
    let file = match open(path, false) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Some(Seen::Gone),
        Err(_) => return None,
    };
    match file.try_lock_shared() {
        Ok(()) => Some(Seen::Gone),
        Err(TryLockError::WouldBlock) => Some(Seen::Alive),
        Err(TryLockError::Error(_)) => None,
    }
}

/// The right to drive one Turn on this machine.
#[derive(Debug)]
pub struct DriverLock {
    turn_id: TurnId,
    held: Held,
}

impl DriverLock {
    /// Takes the lock of a Turn; it never waits for another driver.
    ///
    /// Errors: `executor_active` while another process has it, stopped or not; `store_unavailable`.
    pub fn take(locks: &Path, turn_id: TurnId) -> Result<Self> {
        match Held::take(path_of(locks, turn_id))? {
            Some(held) => Ok(Self { turn_id, held }),
            None => Err(taken(turn_id)),
        }
    }

    /// Whether the driver of a Turn of this machine lives; looked at, never taken.
    pub fn seen(locks: &Path, turn_id: TurnId) -> Option<Seen> {
        seen(&path_of(locks, turn_id))
    }

    /// The Turns that have a lock file, whether it is held or was left behind; none where the folder cannot be read.
    pub(super) fn files(locks: &Path) -> Vec<TurnId> {
        let Ok(entries) = read_dir(locks) else { return Vec::new() };
        let named = |name: &str| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok();
        entries.flatten().filter_map(|entry| named(entry.file_name().to_str()?)).collect()
    }

    /// The Turn.
    pub const fn turn_id(&self) -> TurnId {
        self.turn_id
    }

    /// Lets go of a Turn that has ended, and of its file.
    pub(super) fn close(self) {
        self.held.close();
    }
}

/// The lock of the guardian of one attempt: held until all that it guards has ended.
#[derive(Debug)]
pub(super) struct GuardLock(Held);

impl GuardLock {
    /// Takes it; none while the guardian has it, stopped or not.
    pub(super) fn take(locks: &Path, turn_id: TurnId, attempt: u8) -> Result<Option<Self>> {
        Ok(Held::take(guard_path(locks, turn_id, attempt))?.map(Self))
    }

    /// As [`GuardLock::take`], of an attempt that a guardian may have left; none as well when there is no trace of one.
    pub(super) fn left(locks: &Path, turn_id: TurnId, attempt: u8) -> Result<Left> {
        let path = guard_path(locks, turn_id, attempt);
        match path.try_exists() {
            Ok(false) => Ok(Left::Nothing),
            Ok(true) => match Held::take(path.clone())? {
                Some(held) => Ok(Left::Lock(Self(held))),
                None => Ok(Left::Taken(noted(&path))),
            },
            Err(e) => Err(unreachable_lock(&e)),
        }
    }

    /// Writes into the file who holds it; whoever comes later reads it there. Said again, it says more.
    pub(super) fn note(&self, guardian: &Guardian) -> Result<()> {
        let text = serde_json::to_vec(guardian).map_err(|e| Error::from(Code::Internal).internal(e))?;
        self.0.note(&text)
    }

    /// Who held it last.
    pub(super) fn noted(&self) -> Option<Guardian> {
        noted(&self.0.path)
    }

    /// The control group of what its last holder guarded, where it is still there.
    pub(super) fn leaf(&self) -> Option<Leaf> {
        self.noted().and_then(|guardian| Leaf::at(&guardian.leaf?))
    }

    /// Lets go of it, and of its file.
    pub(super) fn close(self) {
        self.0.close();
    }
}

/// What a guardian has left of its lock.
#[derive(Debug)]
pub(super) enum Left {
    /// There is no file: none ever had it, or it ended in order.
    Nothing,
    /// It is gone, and this is its lock.
    Lock(GuardLock),
    /// It lives, stopped or not; who it is, where it said so.
    Taken(Option<Guardian>),
}

/// Who guards an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Guardian {
    /// Its process.
    pub(super) process: Identity,
    /// The control group of what it guards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) leaf: Option<PathBuf>,
    /// Whether it let its host go.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) began: bool,
}

fn noted(path: &Path) -> Option<Guardian> {
    let text = file::read_ours(path, GUARDIAN_MAX_BYTES).ok()??;
    serde_json::from_str(&text).ok()
}

fn guard_path(locks: &Path, turn_id: TurnId, attempt: u8) -> PathBuf {
    locks.join(format!("{PREFIX}{turn_id}.{attempt}{GUARD_SUFFIX}"))
}

impl StepRight for DriverLock {
    fn turn_id(&self) -> TurnId {
        self.turn_id
    }
}

/// The right to submit steps of a Turn that has no driver: an attached one, or one that has ended and takes none.
#[derive(Debug)]
pub(super) struct Driverless(TurnId);

impl Driverless {
    /// Errors: `internal` for a Turn that a driver may be at.
    pub(super) fn of(turn: &Turn) -> Result<Self> {
        if turn.is_driven() && !turn.is_terminal() {
            return Err(
                Error::from(Code::Internal).internal("a step of a driven Turn needs its driver's lock")
            );
        }
        Ok(Self(turn.turn_id))
    }
}

impl StepRight for Driverless {
    fn turn_id(&self) -> TurnId {
        self.0
    }
}

fn path_of(locks: &Path, turn_id: TurnId) -> PathBuf {
    locks.join(format!("{PREFIX}{turn_id}{SUFFIX}"))
}

fn open(path: &Path, create: bool) -> std::io::Result<File> {
    file::open(path, if create { For::Keeping } else { For::Reading })
}

fn is_still(path: &Path, file: &File) -> bool {
    let same = |a: &std::fs::Metadata, b: &std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    matches!((path.metadata(), file.metadata()), (Ok(a), Ok(b)) if same(&a, &b))
}

fn taken(turn_id: TurnId) -> Error {
    Error::new(Code::ExecutorActive, format!("the driver of the Turn {turn_id} lives"))
        .detail("turn_id", turn_id.to_string())
        .hint(format!("turn show {turn_id}"))
}

fn unreachable_lock(e: &std::io::Error) -> Error {
    Error::new(Code::StoreUnavailable, "the lock of a Turn cannot be reached").internal(e)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> TurnId {
        TurnId::from_bytes([7; 16])
    }

    #[test]
    fn one_driver_a_turn_and_looking_takes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(DriverLock::seen(dir.path(), turn()), Some(Seen::Gone));
        let lock = DriverLock::take(dir.path(), turn()).unwrap();
        assert_eq!(DriverLock::seen(dir.path(), turn()), Some(Seen::Alive));
        assert_eq!(DriverLock::take(dir.path(), turn()).unwrap_err().code(), Code::ExecutorActive);
        drop(lock);
        assert_eq!(DriverLock::seen(dir.path(), turn()), Some(Seen::Gone));
        let lock = DriverLock::take(dir.path(), turn()).unwrap();
        lock.close();
        assert_eq!(read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_lock_on_a_removed_file_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let first = DriverLock::take(dir.path(), turn()).unwrap();
        remove_file(path_of(dir.path(), turn())).unwrap();
        let second = DriverLock::take(dir.path(), turn()).unwrap();
        assert!(
            is_still(&second.held.path, &second.held.file) && !is_still(&first.held.path, &first.held.file)
        );
    }
}
