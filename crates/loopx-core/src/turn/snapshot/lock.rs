//! Owns the lock of an undo: one file a work tree, held while its paths are changed, and there only for so long.
//!
//! Knows nothing of what an undo does. Invariant: no admission to a work tree commits while its lock is held. An admission
//! looks here inside of its transaction; an undo takes the lock first and reads who is live as a writer does, after every
//! commit that did not see it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{
    authority::profile::file::{self, For},
    error::{Code, Error, Result},
    kernel::Seen,
    model::{Turn, TurnId, Workspace},
    turn::{
        latch::{Latch, seen},
        lock::unreachable_lock,
    },
};

/// The most that the file says: the id of a Turn.
const NOTE_MAX_BYTES: u64 = 256;
/// The detail of a refusal that names the Turn that is undone.
const UNDO_OF: &str = "undo_of";

/// The right to change the paths of a work tree.
#[derive(Debug)]
pub(in crate::turn) struct UndoLock(Latch);

impl UndoLock {
    /// Takes the lock of a work tree, to undo a Turn.
    ///
    /// Errors: `write_scope_conflict` while another undo has it, stopped or not; `store_unavailable`.
    pub(super) fn take(locks: &Path, tree: &Workspace, turn_id: TurnId) -> Result<Self> {
        let path = path(locks, tree);
        let latch = Latch::take(path.clone(), For::Keeping).map_err(|e| unreachable_lock(&e))?;
        let Some(latch) = latch else { return Err(busy(&path)) };
        latch.write(turn_id.to_string().as_bytes()).map_err(|e| unreachable_lock(&e))?;
        Ok(Self(latch))
    }

    /// Lets an admission pass, unless an undo changes its work tree.
    ///
    /// Errors: `write_scope_conflict` with the undone Turn as `undo_of`; `store_unavailable`.
    pub(in crate::turn) fn check(locks: &Path, workspace: &Workspace) -> Result<()> {
        let path = path(locks, workspace);
        match seen(&path) {
            Some(Seen::Gone) => Ok(()),
            Some(Seen::Alive) => Err(busy(&path)),
            None => Err(Error::new(Code::StoreUnavailable, "the lock of an undo cannot be reached")),
        }
    }

    /// Lets go of it.
    pub(super) fn close(self) {
        self.0.close();
    }
}

/// Whether an admission was refused because an undo changes its work tree.
pub fn is_undo(refused: &Error) -> bool {
    refused.details().contains_key(UNDO_OF)
}

/// Whether an undo is at work in the work tree of a Turn.
pub fn is_undoing(locks: &Path, turn: &Turn) -> bool {
    turn.workspace.as_ref().is_some_and(|workspace| seen(&path(locks, workspace)) == Some(Seen::Alive))
}

fn path(locks: &Path, workspace: &Workspace) -> PathBuf {
    locks.join(format!("undo-{}.lock", workspace.tree().as_str()))
}

fn busy(path: &Path) -> Error {
    let text = file::read_ours(path, NOTE_MAX_BYTES).ok().flatten();
    let turn_id: Option<TurnId> = text.and_then(|text| text.parse().ok());
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
