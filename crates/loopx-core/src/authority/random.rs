//! Owns chance: the one place that asks the operating system for random bytes.
//!
//! Knows nothing of what they are for.

use crate::error::{Code, Error, Result};

/// Random bytes.
///
/// Errors: `internal` where the system gives none.
pub fn bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| Error::from(Code::Internal).internal(e))?;
    Ok(bytes)
}

/// A random number.
///
/// Errors: as [`bytes`].
pub fn number() -> Result<u64> {
    bytes().map(u64::from_ne_bytes)
}
