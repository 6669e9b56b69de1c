//! Owns a waiter's inotify watch of one bell file.
//!
//! Knows nothing of what a ring means, nor of when to give up.

use std::{
    fs,
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::fs::MetadataExt as _,
    },
    path::PathBuf,
    time::Duration,
};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use super::{Beside, FileId, Profile, bell_path, open_bell, sleep, unusable};
use crate::error::Result;

/// A watch of the bell that writers ring at this time.
#[derive(Debug)]
pub(super) struct Ear {
    inotify: OwnedFd,
    path: PathBuf,
    /// Device and inode of the watched file.
    bell: (u64, u64),
    source: Option<FileId>,
}

impl Ear {
    pub(super) fn new(profile: &Profile) -> Result<Self> {
        let source = FileId::of(&profile.place().profile_json());
        let path = bell_path(&profile.run_dir()?);
        let failed = |e: rustix::io::Errno| unusable(&path, &e.into());
        let made = open_bell(&path).and_then(|file| file.metadata()).map_err(|e| unusable(&path, &e))?;
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(failed)?;
        // ATTRIB is a touch, or a removed name; CLOSE_WRITE a ring on a disk; the others a bell that went.
        let what = WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::DONT_FOLLOW;
        inotify::add_watch(&inotify, &path, what).map_err(failed)?;
        // The name may have got another file since; `is_current` then finds the difference.
        Ok(Self { inotify, path, bell: (made.dev(), made.ino()), source })
    }

    /// Whether a ring now would be heard: name and file still belong together, and the profile names them.
    pub(super) fn is_current(&self, profile: &Profile) -> bool {
        let same = fs::symlink_metadata(&self.path).is_ok_and(|meta| (meta.dev(), meta.ino()) == self.bell);
        same && FileId::of(&profile.place().profile_json()) == self.source
    }

    /// Sleeps until a ring, and takes all rings that came so far; says whether another descriptor called.
    pub(super) fn sleep(&mut self, wait: Duration, beside: &[Beside<'_>]) -> Result<bool> {
        let called = sleep(Some(self.inotify.as_fd()), beside, wait)?;
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut rings = inotify::Reader::new(&self.inotify, &mut buffer);
        // It ends with "would block"; what the rings say does not matter, only that they came.
        while rings.next().is_ok() {}
        Ok(called)
    }
}
