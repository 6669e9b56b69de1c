//! Owns what a work tree held before and after a Turn: taking it, showing the difference, taking it back, forgetting it.
//!
//! It must not know a host, a rule or the command line. Invariant: nothing is written below the user's `.git`, no hook,
//! filter or monitor of the tree is run, and a snapshot that cannot be taken delays or fails no Turn.

mod collect;
mod diff;
mod keep;
mod listing;
mod lock;
mod picture;
mod record;
mod restore;
mod scratch;
mod shelf;
mod store;
mod take;
mod undo;
mod walk;

pub(super) use collect::collect;
pub use diff::{Text, text};
pub use keep::Keep;
pub use listing::{Committable, committable};
pub(super) use lock::UndoLock;
pub use lock::{is_undo, is_undoing};
pub use record::{Change, Direction, Kind, Record, Undo};
pub use shelf::{recorded, so_far, waits_for_snapshot, why_none};
pub use undo::{Undone, undo, would_undo};
pub use walk::Fate;

#[cfg(test)]
mod tests;
