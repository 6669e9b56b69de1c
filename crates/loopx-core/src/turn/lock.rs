//! Owns the locks of Turns: one file a Turn, held for the life of its driver, and one an attempt, held by its guardian.
//!
//! Knows nothing of what either does. Invariant: a [`DriverLock`] exists only while its file is locked by this
//! process, and only with one, or for a [`Driverless`] Turn, can a step be submitted. Whoever drives writes his name into
//! the file: one that is blank may stand where another's was taken away.

use std::{
    collections::BTreeSet,
    fs::read_dir,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::latch::{Hold, Latch, seen};
use crate::{
    authority::{
        StepRight,
        profile::file::{self, For},
    },
    error::{Code, Error, Result},
    kernel::Seen,
    model::{Turn, TurnId},
    process::{self, Identity, Leaf},
};

/// What stands around the id in the name of a lock file.
const PREFIX: &str = "turn-";
const SUFFIX: &str = ".lock";
const GUARD_SUFFIX: &str = ".guard";
/// The most that a guardian says of itself.
const GUARDIAN_MAX_BYTES: u64 = 16 * 1024;
/// How long a commit waits to know whether its lock is held still, as long as a guardian waits for a full disk.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The right to drive one Turn on this machine.
#[derive(Debug)]
pub struct DriverLock {
    turn_id: TurnId,
    latch: Latch,
}

impl DriverLock {
    /// Takes the lock of a Turn that nobody can have driven yet; it never waits for another driver.
    ///
    /// Errors: `executor_active` while another process has it, stopped or not; `store_unavailable`.
    pub fn take(locks: &Path, turn_id: TurnId) -> Result<Self> {
        let lock = Self::opened(locks, turn_id, For::Keeping).map_err(|e| unreachable_lock(&e))??;
        lock.sign()?;
        Ok(lock)
    }

    /// As [`DriverLock::take`], of a Turn that may have a driver, though somebody took its lock's file away.
    pub(super) fn take_over(locks: &Path, turn_id: TurnId) -> Result<Self> {
        let lock = Self::opened(locks, turn_id, For::Keeping).map_err(|e| unreachable_lock(&e))??;
        if lock.latch.is_blank() && Self::is_unnamed(locks, turn_id) {
            lock.close();
            return Err(taken(turn_id));
        }
        lock.sign()?;
        Ok(lock)
    }

    /// As [`DriverLock::take`], to clear up: nobody drives by it. None where no file is left, and none is made.
    pub(super) fn left(locks: &Path, turn_id: TurnId) -> Result<Option<Self>> {
        match Self::opened(locks, turn_id, For::Locking) {
            Ok(lock) => lock.map(Some),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(unreachable_lock(&e)),
        }
    }

    fn opened(locks: &Path, turn_id: TurnId, what_for: For) -> io::Result<Result<Self>> {
        let latch = Latch::take(path_of(locks, turn_id), what_for)?;
        Ok(latch.map(|latch| Self { turn_id, latch }).ok_or_else(|| taken(turn_id)))
    }

    fn sign(&self) -> Result<()> {
        self.latch.write(&own_name()?).map_err(|e| unreachable_lock(&e))
    }

    /// Whether the driver of a Turn of this machine lives; looked at, never taken.
    pub fn seen(locks: &Path, turn_id: TurnId) -> Option<Seen> {
        seen(&path_of(locks, turn_id))
    }

    /// Whether another process drives a Turn although its lock's file was taken away.
    pub(super) fn is_unnamed(locks: &Path, turn_id: TurnId) -> bool {
        !holders(&path_of(locks, turn_id)).is_empty()
    }

    /// Looks whether it is held still, and holds on to it where its file was taken away.
    pub(super) fn hold(&self) -> Hold {
        own_name().map_or_else(|e| Hold::Untold(io::Error::other(e)), |name| self.latch.hold(&name))
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
        self.latch.close();
    }
}

fn own_name() -> Result<Vec<u8>> {
    serde_json::to_vec(&Identity::own()).map_err(|e| Error::from(Code::Internal).internal(e))
}

/// A Turn that something of this machine works on: its driver, or a guardian that outlived him. Looked at, never taken.
pub fn at_work(locks: &Path) -> Option<TurnId> {
    read_dir(locks).ok()?.flatten().find_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str()?.strip_prefix(PREFIX)?;
        let guarded = || Some(name.strip_suffix(GUARD_SUFFIX)?.rsplit_once('.')?.0);
        let turn_id = name.strip_suffix(SUFFIX).or_else(guarded)?.parse().ok()?;
        (seen(&entry.path()) == Some(Seen::Alive)).then_some(turn_id)
    })
}

/// The lock of the guardian of one attempt: held until all that it guards has ended.
#[derive(Debug)]
pub(super) struct GuardLock(Latch);

impl GuardLock {
    /// Takes it; none while the guardian has it, stopped or not.
    pub(super) fn take(locks: &Path, turn_id: TurnId, attempt: u8) -> Result<Option<Self>> {
        let latch = Latch::take(guard_path(locks, turn_id, attempt), For::Keeping);
        Ok(latch.map_err(|e| unreachable_lock(&e))?.map(Self))
    }

    /// As [`GuardLock::take`], of an attempt that a guardian may have left; none as well when there is no trace of one.
    pub(super) fn left(locks: &Path, turn_id: TurnId, attempt: u8) -> Result<Left> {
        let path = guard_path(locks, turn_id, attempt);
        // A file that was made here would say that a guardian died without a word.
        match Latch::take(path.clone(), For::Locking) {
            // It may be about to make the file again that was taken away.
            Ok(Some(latch)) if latch.is_blank() => Ok(match Self::unnamed(locks, turn_id, attempt) {
                Some(process) => Left::Taken(Some(Guardian::new(process, None))),
                None => Left::Lock(Self(latch)),
            }),
            Ok(Some(latch)) => Ok(Left::Lock(Self(latch))),
            Ok(None) => Ok(Left::Taken(noted(&path))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Left::Nothing),
            Err(e) => Err(unreachable_lock(&e)),
        }
    }

    /// Whether the guardian of an attempt of this machine lives; looked at, never taken.
    pub(super) fn seen(locks: &Path, turn_id: TurnId, attempt: u8) -> Option<Seen> {
        seen(&guard_path(locks, turn_id, attempt))
    }

    /// Writes into the file who holds it; whoever comes later reads it there. Said again, it says more.
    pub(super) fn note(&self, guardian: &Guardian) -> Result<()> {
        let text = serde_json::to_vec(guardian).map_err(|e| Error::from(Code::Internal).internal(e))?;
        self.0.write(&text).map_err(|e| unreachable_lock(&e))
    }

    /// Looks whether it is held still, and holds on to it where its file was taken away.
    pub(super) fn hold(&self, guardian: &Guardian) -> Hold {
        serde_json::to_vec(guardian).map_or_else(|e| Hold::Untold(e.into()), |text| self.0.hold(&text))
    }

    /// Who has the lock of an attempt although its file was taken away; none where nobody is seen to.
    pub(super) fn unnamed(locks: &Path, turn_id: TurnId, attempt: u8) -> Option<Identity> {
        holders(&guard_path(locks, turn_id, attempt)).into_iter().next()
    }

    /// Who held it last.
    pub(super) fn noted(&self) -> Option<Guardian> {
        noted(self.0.path())
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
    /// What it says of its host: it only ever says more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) told: BTreeSet<Told>,
}

/// What a guardian says of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Told {
    /// It let it go.
    Began,
    /// All of it was moved into the control group.
    Confined,
    /// Some of it left that group.
    Escaped,
    /// It saw the end of all of it.
    Emptied,
    /// It gave up keeping how it ended: there was no room.
    Unkept,
}

impl Guardian {
    /// One that has let nothing go yet.
    pub(super) const fn new(process: Identity, leaf: Option<PathBuf>) -> Self {
        Self { process, leaf, told: BTreeSet::new() }
    }

    /// Whether it said this.
    pub(super) fn has_told(&self, told: Told) -> bool {
        self.told.contains(&told)
    }

    /// Who guards, or guarded, an attempt; none where it left no file.
    pub(super) fn noted(locks: &Path, turn_id: TurnId, attempt: u8) -> Option<Self> {
        noted(&guard_path(locks, turn_id, attempt))
    }
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

    /// Holds on to the lock, where its file was taken away; what cannot be told now is waited for.
    fn stands(&self) -> Result<()> {
        stands(&self.latch.hold_within(&own_name()?, PATIENCE), self.turn_id)
    }
}

/// Whether a step may be submitted: only by whoever is known to hold the lock.
fn stands(hold: &Hold, turn_id: TurnId) -> Result<()> {
    match hold {
        Hold::Mine { .. } => Ok(()),
        Hold::Lost => Err(taken(turn_id)),
        Hold::Untold(e) => Err(unreachable_lock(e)),
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

/// Who has a lock file locked, whatever became of its name.
pub(super) fn holders(path: &Path) -> Vec<Identity> {
    path.file_name().map(process::holders).unwrap_or_default()
}

fn taken(turn_id: TurnId) -> Error {
    Error::new(Code::ExecutorActive, format!("the driver of the Turn {turn_id} lives"))
        .detail("turn_id", turn_id.to_string())
        .hint(format!("turn show {turn_id}"))
}

/// The error while nobody can tell whose a lock is.
pub(super) fn unreachable_lock(e: &io::Error) -> Error {
    match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::new(Code::DiskFull, "no space is left for the lock of a Turn").internal(e)
        }
        _ => Error::new(Code::StoreUnavailable, "the lock of a Turn cannot be reached").internal(e), // wildcard: no other reason says more
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
    fn a_lock_whose_file_was_taken_away_is_held_on_to_and_lost_to_whoever_drives_by_another() {
        let dir = tempfile::tempdir().unwrap();
        let locks = dir.path().join("locks");
        fs::create_dir(&locks).unwrap();
        let first = DriverLock::take(&locks, turn()).unwrap();
        fs::remove_dir_all(&locks).unwrap();
        assert_eq!(DriverLock::seen(&locks, turn()), Some(Seen::Gone));
        first.stands().unwrap();
        assert_eq!(DriverLock::seen(&locks, turn()), Some(Seen::Alive));
        assert_eq!(DriverLock::take(&locks, turn()).unwrap_err().code(), Code::ExecutorActive);
        fs::remove_file(path_of(&locks, turn())).unwrap();
        fs::write(path_of(&locks, turn()), "").unwrap();
        drop(DriverLock::left(&locks, turn()).unwrap().unwrap());
        first.stands().unwrap();
        fs::remove_file(path_of(&locks, turn())).unwrap();
        drop(DriverLock::take(&locks, turn()).unwrap());
        assert_eq!(first.stands().unwrap_err().code(), Code::ExecutorActive, "somebody has driven it");
    }

    #[test]
    fn nothing_is_submitted_by_who_cannot_tell_that_he_holds_the_lock_and_it_may_be_tried_again() {
        stands(&Hold::Mine { again: true }, turn()).unwrap();
        assert_eq!(stands(&Hold::Lost, turn()).unwrap_err().code(), Code::ExecutorActive);
        for (why, code) in [
            (io::ErrorKind::StorageFull, Code::DiskFull),
            (io::ErrorKind::QuotaExceeded, Code::DiskFull),
            (io::ErrorKind::WouldBlock, Code::StoreUnavailable),
            (io::ErrorKind::NotADirectory, Code::StoreUnavailable),
        ] {
            let refused = stands(&Hold::Untold(why.into()), turn()).unwrap_err();
            assert!(refused.code() == code && code.retryable(), "{why}: {refused:?}");
        }
    }

    #[test]
    fn regress_looking_for_what_a_guardian_left_makes_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..300 {
            let lock = GuardLock::take(dir.path(), turn(), 1).unwrap().unwrap();
            std::thread::scope(|scope| {
                // It ends in order while it is looked for.
                let ends = scope.spawn(|| lock.close());
                while !ends.is_finished() {
                    drop(GuardLock::left(dir.path(), turn(), 1).unwrap());
                }
            });
            assert_eq!(read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}
