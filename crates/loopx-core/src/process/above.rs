//! Owns the question whether this process runs below a tree of ours, whatever its own environment says.
//!
//! Knows nothing of what such a tree may do.

use super::{census, spec::TOKEN_VARIABLE};

/// How far up is looked; no honest tree is deeper.
const ANCESTORS_MAX: usize = 64;

/// The containment token in the environment of the nearest ancestor that carries one.
///
/// None where the system shows no process table. An ancestor whose environment may not be read is passed over.
pub fn token_above() -> Option<String> {
    let mut pid = rustix::process::getppid()?.as_raw_nonzero().get();
    for _ in 0..ANCESTORS_MAX {
        if let Some(token) = census::variable(pid, TOKEN_VARIABLE) {
            return Some(token);
        }
        pid = census::one(pid).map(|row| row.parent).filter(|parent| *parent > 0)?;
    }
    None
}
