//! Owns the lock of an undo: one file a work tree, held while its paths are changed, and there only for so long.
//!
//! Knows nothing of what an undo does. Invariant: no admission to a work tree commits while its lock is held. An admission
//! looks here inside of its transaction; an undo takes the lock first and reads who is live as a writer does, after every
//! commit that did not see it. Beside the snapshots lies a mark meanwhile: where it does, a lock without its file may be
//! held by whoever has that open, and is looked for.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    authority::profile::file::{self, For},
    error::{Code, Error, Result},
    kernel::Seen,
    model::{Turn, TurnId, Workspace},
    turn::{
        latch::{Hold, Latch, seen},
        lock::{PATIENCE, holders, unreachable_lock},
    },
};

/// The most that the file says: the id of a Turn.
const NOTE_MAX_BYTES: u64 = 256;
/// The detail of a refusal that names the Turn that is undone.
const UNDO_OF: &str = "undo_of";

/// The right to change the paths of a work tree.
#[derive(Debug)]
pub(in crate::turn) struct UndoLock {
    latch: Latch,
    tree: Workspace,
    turn_id: TurnId,
    mark: PathBuf,
}

impl UndoLock {
    /// Takes the lock of a work tree, to undo a Turn.
    ///
    /// Errors: `write_scope_conflict` while another undo has it, stopped or not, though somebody took its file away;
    /// `disk_full`, `store_unavailable`.
    pub(super) fn take(locks: &Path, tree: &Workspace, turn_id: TurnId) -> Result<Self> {
        let path = path(locks, tree);
        let latch = Latch::take(path.clone(), For::Keeping).map_err(|e| unreachable_lock(&e))?;
        let Some(latch) = latch else { return Err(busy(locks, tree)) };
        if latch.is_blank() && !holders(&path).is_empty() {
            latch.close();
            return Err(busy(locks, tree));
        }
        let (mark, text) = (mark(locks, tree), turn_id.to_string());
        let marked = latch.write(text.as_bytes()).and_then(|()| match fs::write(&mark, text) {
            // Without snapshots nothing is undone.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            written => written,
        });
        let lock = Self { latch, tree: tree.clone(), turn_id, mark };
        match marked {
            Ok(()) => Ok(lock),
            Err(e) => {
                lock.close();
                Err(unreachable_lock(&e))
            }
        }
    }

    /// Holds on to it; whether its file had been taken away meanwhile, and an admission may not have seen it.
    ///
    /// Errors: `write_scope_conflict` when another undo has it; `disk_full`, `store_unavailable` where that cannot be told.
    pub(super) fn hold(&self) -> Result<bool> {
        match self.latch.hold_within(self.turn_id.to_string().as_bytes(), PATIENCE) {
            Hold::Mine { again } => Ok(again),
            Hold::Lost => Err(busy(self.latch.path().parent().unwrap_or(Path::new("/")), &self.tree)),
            Hold::Untold(e) => Err(unreachable_lock(&e)),
        }
    }

    /// Lets an admission pass, unless an undo changes its work tree.
    ///
    /// Errors: `write_scope_conflict` with the undone Turn as `undo_of`; `store_unavailable`.
    pub(in crate::turn) fn check(locks: &Path, workspace: &Workspace) -> Result<()> {
        match at_work(locks, workspace) {
            Some(Seen::Gone) => Ok(()),
            Some(Seen::Alive) => Err(busy(locks, workspace)),
            None => Err(Error::new(Code::StoreUnavailable, "the lock of an undo cannot be reached")),
        }
    }

    /// Lets go of it.
    pub(super) fn close(self) {
        // Where another has it, the mark is that one's.
        if self.latch.is_named().is_ok_and(|named| named) {
            // One that stays costs whoever is admitted next a look.
            let _ = fs::remove_file(&self.mark);
        }
        self.latch.close();
    }
}

/// Whether an admission was refused because an undo changes its work tree.
pub fn is_undo(refused: &Error) -> bool {
    refused.details().contains_key(UNDO_OF)
}

/// Whether an undo is at work in the work tree of a Turn.
pub fn is_undoing(locks: &Path, turn: &Turn) -> bool {
    turn.workspace.as_ref().is_some_and(|workspace| at_work(locks, workspace) == Some(Seen::Alive))
}

/// Whether an undo is at work in a work tree, though somebody may have taken its lock's file away.
fn at_work(locks: &Path, workspace: &Workspace) -> Option<Seen> {
    let path = path(locks, workspace);
    match seen(&path) {
        // To look who has it open takes time, and counts only while an undo is at work, or was cut off.
        Some(Seen::Gone) if mark(locks, workspace).exists() && !holders(&path).is_empty() => {
            Some(Seen::Alive)
        }
        told => told,
    }
}

fn path(locks: &Path, workspace: &Workspace) -> PathBuf {
    locks.join(format!("undo-{}.lock", workspace.tree().as_str()))
}

/// What says that an undo is at work in a work tree, and of which Turn; what was cut off leaves it.
fn mark(locks: &Path, workspace: &Workspace) -> PathBuf {
    locks.with_file_name("snapshots").join(format!("{}.undoing", workspace.tree().as_str()))
}

fn busy(locks: &Path, workspace: &Workspace) -> Error {
    let named = |path: &Path| file::read_ours(path, NOTE_MAX_BYTES).ok()??.parse().ok();
    let turn_id: Option<TurnId> = named(&path(locks, workspace)).or_else(|| named(&mark(locks, workspace)));
    // It may not have said yet which Turn it is about.
    let Some(turn_id) = turn_id else {
        return Error::new(Code::WriteScopeConflict, "an undo changes this work tree")
            .detail(UNDO_OF, Value::Null)
            .hint("turn list");
    };
    Error::new(
        Code::WriteScopeConflict,
        format!("an undo of the Turn {turn_id} changes this work tree; once it has ended, this can be done"),
    )
    .detail(UNDO_OF, turn_id.to_string())
    .hint(format!("turn show {turn_id}"))
}
