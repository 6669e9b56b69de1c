//! Owns the name of this machine: a hash, so that it tells nothing about the machine.
//!
//! Knows nothing of who compares it. Source: the Turn's "Drivers, guardians, recovery".

use sha2::{Digest as _, Sha256};

use super::record::Record;
use crate::{
    authority::random,
    error::{Code, Error, Result},
};

const MACHINE_ID_FILE: &str = "/etc/machine-id";

/// The platform's own id, where it has one.
fn platform_id() -> Option<String> {
    let text = std::fs::read_to_string(MACHINE_ID_FILE).ok()?;
    let id = text.trim();
    // While a machine image is being prepared the file says `uninitialized`.
    (id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())).then(|| id.to_owned())
}

/// Mints what stands in for the platform's id, if it has none.
pub(super) fn seed_if_needed() -> Result<Option<String>> {
    if platform_id().is_some() {
        return Ok(None);
    }
    Ok(Some(hex(&random::bytes::<16>()?)))
}

/// The machine's name in this profile. A stored seed wins over an id that the platform got later.
pub(super) fn machine_id(record: &Record) -> Result<String> {
    let source = record.machine_seed.clone().or_else(platform_id).ok_or_else(|| {
        Error::new(Code::NotReady, "this machine has lost its id").internal(MACHINE_ID_FILE)
    })?;
    Ok(derive(&source, &record.profile_id))
}

fn derive(source: &str, profile_id: &str) -> String {
    let mut hash = Sha256::new();
    for part in ["loopx machine", source, profile_id] {
        hash.update([u8::try_from(part.len()).unwrap_or(u8::MAX)]);
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    hex(digest.get(..16).unwrap_or_default())
}

/// Bytes as lower-case hexadecimal digits.
pub(in crate::authority) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_depends_on_machine_and_profile_and_shows_neither() {
        let one = derive("0123456789abcdef0123456789abcdef", "prf_a");
        assert_eq!(one.len(), 32);
        assert_eq!(one, derive("0123456789abcdef0123456789abcdef", "prf_a"));
        assert_ne!(one, derive("0123456789abcdef0123456789abcdee", "prf_a"));
        assert_ne!(one, derive("0123456789abcdef0123456789abcdef", "prf_b"));
        assert!(!one.contains("0123456789abcdef"));
    }
}
