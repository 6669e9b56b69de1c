//! Owns finding who has a file of ours locked, also when that was removed.
//!
//! Knows nothing of what the file is for; its name has to be one that nobody else gives.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use super::{census, guarded::Identity};

/// The living processes, but for this one, that have a file of this name locked for themselves, wherever it lies or lay.
///
/// None where the system shows no process table; those of another user, or of another pid namespace, are not seen.
pub fn holders(name: &OsStr) -> Vec<Identity> {
    let own = Identity::own();
    let rows = census::living().unwrap_or_default().into_iter();
    let others = rows.filter(|row| row.pid != own.pid && census::has_locked(row.pid, name.as_bytes()));
    others.map(|row| Identity { pid: row.pid, started: row.started }).collect()
}
