//! Owns what a work tree held before and after a Turn: taking it, showing the difference, taking it back, forgetting it.
//!
//! It must not know a host, a rule or the command line. Invariant: nothing is written below the user's `.git`, no hook,
//! filter or monitor of the tree is run, and a snapshot that cannot be taken delays or fails no Turn.

mod diff;
mod keep;
mod listing;
mod picture;
mod record;
mod restore;
mod shelf;
mod store;
mod take;
mod undo;

pub use diff::{Text, text};
pub use keep::Keep;
pub use record::{Change, Kind, Record};
pub use shelf::{recorded, waits_for_snapshot, why_none};
pub use undo::{Direction, Fate, Undone, undo};

#[cfg(test)]
mod tests;
