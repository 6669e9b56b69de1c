//! Owns the queue before the write lock, a lock of its own: writers wait here, where waiting disturbs nobody.
//!
//! Knows nothing of the transaction. A writer that asks SQLite again and again takes a reader's lock each time,
//! so the log could never begin anew while several write, and every commit past its usual length would pay for a
//! checkpoint. So a writer that finds the queue's lock taken waits for it, and leaves the database alone meanwhile.
//! It is a courtesy and guards nothing: a writer that has waited long, perhaps behind a stopped process, passes by,
//! and the lock of the database decides as ever.

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::authority::profile::file::{self, For};

/// How long a writer waits here before it passes by; 32 busy writers keep one waiting for less.
pub(super) const PASS_BY_AFTER: Duration = Duration::from_millis(500);

/// A connection's place in the queue.
#[derive(Debug, Default)]
pub(super) struct QueueLock {
    file: Option<File>,
    inside: bool,
}

fn queue_path(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push("-gate");
    PathBuf::from(name)
}

impl QueueLock {
    /// Goes in, if nobody is inside. Where no file can be made there is no queue.
    pub(super) fn enter(&mut self, db: &Path) -> bool {
        if self.file.is_none() {
            self.file = file::open(&queue_path(db), For::Keeping).ok();
        }
        let Some(file) = &self.file else { return true };
        self.inside = self.inside || file.try_lock().is_ok();
        self.inside
    }

    /// Lets the next one in.
    pub(super) fn leave(&mut self) {
        if !std::mem::take(&mut self.inside) {
            return;
        }
        // A file that cannot be unlocked is closed, which ends its lock too.
        if self.file.as_ref().is_some_and(|file| file.unlock().is_err()) {
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_inside_and_the_next_follows() {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("t.db");
        let (mut one, mut other) = (QueueLock::default(), QueueLock::default());
        assert!(one.enter(&db) && one.enter(&db), "who is inside stays inside");
        assert!(!other.enter(&db));
        // who was never inside lets nobody in by leaving
        other.leave();
        assert!(!other.enter(&db));
        one.leave();
        assert!(other.enter(&db));
        assert!(!one.enter(&db));
        // a process that dies leaves
        drop(other);
        assert!(one.enter(&db));
    }

    #[test]
    fn where_no_file_can_be_made_there_is_no_queue() {
        // something else in its place is none either, and nobody waits for a pipe's other end
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("t.db");
        std::fs::create_dir(queue_path(&db)).unwrap();
        assert!(QueueLock::default().enter(&db) && QueueLock::default().enter(&db));
        let (mut one, mut other) = (QueueLock::default(), QueueLock::default());
        let db = Path::new("/nowhere/t.db");
        assert!(one.enter(db) && other.enter(db));
        one.leave();
    }
}
