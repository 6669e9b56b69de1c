//! Owns the courtesy between writers: who is about to take the lock again lets one who starves go first.
//!
//! Knows nothing of the transaction. A writer in a loop leaves the lock free for microseconds, and on a loaded
//! machine a sleeper is woken too late for that gap, again and again. So a writer that has waited long locks a
//! file beside the database, and others pause while it is locked. It is a courtesy and guards nothing: a writer that
//! does not take its turn within `COURTESY`, such as a stopped process, is passed by. No file means that nobody starved.

use std::{
    fs::{File, TryLockError},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use super::begin::pause;
use crate::authority::{
    clock::Deadline,
    profile::file::{self, For},
    random,
};

/// How long one writer steps back for another; a slow disk's commit fits into it.
const COURTESY: Duration = Duration::from_millis(200);
/// How long one writer steps back for all others together.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a connection ignores one for whom it has stepped back in vain.
const IGNORED: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(1);

/// Tells one asker from the next.
type Word = [u8; 8];

/// Held by the one who goes first; dropping it, or dying, ends it.
#[derive(Debug)]
pub(super) struct PrecedenceLock {
    _lock: File,
}

/// A connection's manners.
#[derive(Debug, Default)]
pub(super) struct Manners {
    /// Whom to ignore, and how long.
    ignored: Option<(Word, Deadline)>,
}

fn precedence_path(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push("-turn");
    PathBuf::from(name)
}

/// Asks the others to step back; `None` when another one has asked first, or no file can be made.
pub(super) fn ask(db: &Path) -> Option<PrecedenceLock> {
    let file = file::open(&precedence_path(db), For::Keeping).ok()?;
    file.try_lock().ok()?;
    // A word that cannot be written only makes others less patient.
    let _ = random::number().map(|word| file.write_all_at(&word.to_le_bytes(), 0));
    Some(PrecedenceLock { _lock: file })
}

/// The word of who asks at this moment.
fn asked(db: &Path) -> Option<Word> {
    let file = file::open(&precedence_path(db), For::Reading).ok()?;
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then(|| {
        let mut word = Word::default();
        // Too short a file is that of an asker who has not written yet.
        let _ = file.read_at(&mut word, 0);
        word
    })
}

impl Manners {
    /// Steps back while somebody asks for it, at most for `COURTESY` each and `PATIENCE` in all.
    pub(super) fn step_back(&mut self, db: &Path) {
        let Some(mut asker) = asked(db) else { return };
        if self.ignored.is_some_and(|(word, until)| word == asker && !until.left().is_zero()) {
            return;
        }
        let all = Deadline::after(PATIENCE);
        let mut one = Deadline::after(COURTESY);
        while !all.left().is_zero() {
            pause(STEP);
            match asked(db) {
                None => return,
                Some(next) if next != asker => {
                    asker = next;
                    one = Deadline::after(COURTESY);
                }
                Some(_) if one.left().is_zero() => {
                    self.ignored = Some((asker, Deadline::after(IGNORED)));
                    return;
                }
                Some(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::clock::monotonic;

    fn stepping_back(manners: &mut Manners, db: &Path) -> Duration {
        let begun = monotonic();
        manners.step_back(db);
        monotonic().saturating_duration_since(begun)
    }

    #[test]
    fn one_asks_and_others_step_back_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("t.db");
        let mut manners = Manners::default();
        // given nobody ever asked, no file is made
        stepping_back(&mut manners, &db);
        assert!(!precedence_path(&db).exists());
        // when one asks and never takes its turn, the others step back in vain, once
        let turn = ask(&db).unwrap();
        assert!(ask(&db).is_none(), "only one goes first");
        assert!(stepping_back(&mut manners, &db) >= COURTESY);
        assert!(manners.ignored.is_some());
        assert!(stepping_back(&mut manners, &db) < COURTESY);
        // when the turn is over nobody waits, and another may ask
        drop(turn);
        let mut fresh = Manners::default();
        stepping_back(&mut fresh, &db);
        assert!(fresh.ignored.is_none());
        // and who was ignored for one asker is polite to the next
        let _next = ask(&db).unwrap();
        assert!(stepping_back(&mut manners, &db) >= COURTESY);
    }
}
