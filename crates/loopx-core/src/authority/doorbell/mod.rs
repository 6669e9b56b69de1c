//! Owns the waiting for a change: a writer rings after its commit, a waiter sleeps until then.
//!
//! Knows nothing of what changed. The bell is a hint and holds no truth: a ring that fails, or a writer that
//! dies before it rings, costs a waiter `SAFETY_POLL` at most. Qualified on Linux; elsewhere a waiter asks
//! every `PLAIN_POLL`.

use std::{
    fs::{self, File},
    io,
    os::{fd::BorrowedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{event, fs::Timespec};

use super::{
    clock::Deadline,
    profile::{
        Env, Profile,
        file::{self, For},
    },
};
use crate::error::{Code, Error, Result};

#[cfg(target_os = "linux")]
mod ear;
#[cfg(not(target_os = "linux"))]
#[path = "deaf.rs"]
mod ear;

use ear::Ear;

/// How often an armed waiter asks all the same.
const SAFETY_POLL: Duration = Duration::from_secs(2);
/// How often a waiter asks that cannot hear the bell.
const PLAIN_POLL: Duration = Duration::from_millis(50);

/// The bell's file in the run folder.
fn bell_path(run_dir: &Path) -> PathBuf {
    run_dir.join("bell")
}

/// A writer's hand on the bell.
#[derive(Debug)]
pub struct Doorbell {
    profile: Profile,
    env: Env,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    file: File,
    path: PathBuf,
    /// The profile's file from which the path was read.
    source: Option<FileId>,
    /// Whether a change of times reaches no disk, so that the file can be kept open and touched.
    memory: bool,
}

/// Tells one content of a name from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
    changed_ns: (i64, i64),
}

impl FileId {
    fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        Some(Self { device: meta.dev(), inode: meta.ino(), changed_ns: (meta.ctime(), meta.ctime_nsec()) })
    }
}

impl Doorbell {
    /// Prepares to ring; nothing is opened before the first ring.
    pub fn new(profile: &Profile, env: &Env) -> Self {
        Self { profile: profile.clone(), env: env.clone(), held: None }
    }

    /// Wakes everybody who waits. Says whether it could; the commit before it stands in any case.
    pub fn ring(&mut self) -> bool {
        match self.try_ring() {
            Ok(()) => true,
            Err(e) => {
                self.held = None;
                tracing::debug!(error = ?e, "the bell could not be rung");
                false
            }
        }
    }

    fn try_ring(&mut self) -> Result<()> {
        if let Some(held) = self.held.take().filter(|held| self.is_current(held)) {
            touch(&held)?;
            self.held = Some(held);
            return Ok(());
        }
        let source = FileId::of(&self.profile.place().profile_json());
        let path = bell_path(&self.profile.run_dir_or_move(&self.env)?);
        let file = open_bell(&path).map_err(|e| unusable(&path, &e))?;
        let memory = lies_in_memory(&file);
        let held = Held { file, path, source, memory };
        touch(&held)?;
        self.held = Some(held);
        Ok(())
    }

    /// Whether the file in hand is still the one that everybody else would find.
    fn is_current(&self, held: &Held) -> bool {
        let linked = held.file.metadata().is_ok_and(|meta| meta.nlink() > 0);
        linked && FileId::of(&self.profile.place().profile_json()) == held.source
    }
}

/// Makes waiters hear. On a disk a change of times would dirty the inode for the next commit's fsync, so there
/// the file is opened for writing and closed, which waiters hear too and which writes nothing.
fn touch(held: &Held) -> Result<()> {
    if held.memory {
        let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
        rustix::fs::futimens(&held.file, &times).map_err(|e| unusable(&held.path, &e.into()))
    } else {
        open_bell(&held.path).map(drop).map_err(|e| unusable(&held.path, &e))
    }
}

fn open_bell(path: &Path) -> io::Result<File> {
    file::open(path, For::Keeping)
}

#[cfg(target_os = "linux")]
fn lies_in_memory(file: &File) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    // The field's width and sign differ between machines; the number fits all of them.
    rustix::fs::fstatfs(file).is_ok_and(|stat| u64::try_from(stat.f_type).is_ok_and(|found| found == TMPFS))
}

#[cfg(not(target_os = "linux"))]
fn lies_in_memory(_file: &File) -> bool {
    false
}

fn unusable(path: &Path, e: &io::Error) -> Error {
    Error::new(Code::StoreUnavailable, "the bell cannot be used")
        .internal(format_args!("{}: {e}", path.display()))
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The caller's question was answered with yes.
    Changed,
    /// The time was over, and the answer still no.
    TimedOut,
    /// A descriptor beside the bell called.
    Called,
}

/// A descriptor that ends a wait, and what it has to be ready for; what is broken calls in any case.
pub type Beside<'f> = (BorrowedFd<'f>, event::PollFlags);

/// Sleeps until the bell rings and a question is answered with yes.
///
/// It writes no state: at most it makes the run folder and the bell again.
#[derive(Debug)]
pub struct Waiter {
    profile: Profile,
    ear: Option<Ear>,
}

impl Waiter {
    /// Prepares to wait; nothing is opened before the first wait.
    pub fn new(profile: &Profile) -> Self {
        Self { profile: profile.clone(), ear: None }
    }

    /// Waits until `changed` says yes, at most for `wait`. `changed` is asked at least once, and between two
    /// of its answers no ring is lost; compare `Reader::data_version` in it. Errors: those of `changed`.
    pub fn wait(&mut self, wait: Duration, changed: impl FnMut() -> Result<bool>) -> Result<Waited> {
        self.wait_beside(wait, &[], changed)
    }

    /// As [`Waiter::wait`], and no longer than until a descriptor calls.
    pub fn wait_beside(
        &mut self,
        wait: Duration,
        beside: &[Beside<'_>],
        mut changed: impl FnMut() -> Result<bool>,
    ) -> Result<Waited> {
        let deadline = Deadline::after(wait);
        loop {
            // Listen first, then ask: a commit after the question rings a bell that is heard.
            self.listen();
            if changed()? {
                return Ok(Waited::Changed);
            }
            let left = deadline.left();
            if left.is_zero() {
                return Ok(Waited::TimedOut);
            }
            let called = match &mut self.ear {
                Some(ear) => ear.sleep(left.min(SAFETY_POLL), beside)?,
                None => sleep(None, beside, left.min(PLAIN_POLL))?,
            };
            if called {
                return Ok(Waited::Called);
            }
        }
    }

    /// Keeps the ear at the bell that writers ring now.
    fn listen(&mut self) {
        if self.ear.as_ref().is_some_and(|ear| ear.is_current(&self.profile)) {
            return;
        }
        self.ear = match Ear::new(&self.profile) {
            Ok(ear) => Some(ear),
            Err(e) => {
                tracing::debug!(error = ?e, "the bell cannot be heard");
                None
            }
        };
    }
}

/// Sleeps until an ear or another descriptor is ready or the time is over; a signal ends it early, which harms nobody.
/// Says whether another descriptor is.
fn sleep(ear: Option<BorrowedFd<'_>>, beside: &[Beside<'_>], wait: Duration) -> Result<bool> {
    let ears = ear.into_iter().map(|ear| (ear, event::PollFlags::IN));
    let mut descriptors: Vec<_> = beside
        .iter()
        .copied()
        .chain(ears)
        .map(|(fd, flags)| event::PollFd::from_borrowed_fd(fd, flags))
        .collect();
    let timeout = Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    };
    match event::poll(&mut descriptors, Some(&timeout)) {
        Ok(_) => Ok(descriptors.iter().take(beside.len()).any(|one| !one.revents().is_empty())),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(Error::from(Code::Internal).internal(e)),
    }
}

#[cfg(test)]
mod tests;
