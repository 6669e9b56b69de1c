//! Owns digests and the canonical encoding they are taken over.
//!
//! Knows nothing of what is digested. The encoding names each field, sorts maps, prefixes every length, and
//! leaves absent values out, so that a field added later, if optional, changes no digest that exists.
//! Invariant: the golden vectors of the tests are never edited.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::error::{Code, Error};

/// A SHA-256, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Thirty-two zero bytes: what the first link of a chain points at.
    pub const ZERO: Self = Self([0; 32]);

    /// Hashes bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Hashes several parts, each with its length before it, so that no two lists of parts meet.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Hashes the canonical encoding of a value.
    pub fn of_value<T: Serialize>(value: &T) -> Result<Self, Error> {
        Ok(Self::of(&canonical(value)?))
    }

    /// Takes the raw bytes of a digest.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'0'; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            let digit = |half: u8| DIGITS.get(usize::from(half)).copied().unwrap_or(b'0');
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::new(Code::InvalidId, "a digest is 64 lower-case hexadecimal digits");
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return Err(bad());
        }
        for (slot, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digit = |b: u8| match b {
                b'0'..=b'9' => Some(b - b'0'),
                b'a'..=b'f' => Some(b - b'a' + 10),
                _ => None,
            };
            let (Some(high), Some(low)) =
                (pair.first().copied().and_then(digit), pair.last().copied().and_then(digit))
            else {
                return Err(bad());
            };
            *slot = high * 16 + low;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(|e: Error| de::Error::custom(e.message()))
    }
}

/// Encodes a value canonically: tag, length and content of each part; a map's fields by name, in order, without
/// those that are null.
pub fn canonical<T: Serialize>(value: &T) -> Result<Vec<u8>, Error> {
    let value = serde_json::to_value(value).map_err(|e| Error::from(Code::Internal).internal(e))?;
    let mut out = Vec::with_capacity(256);
    encode(&value, &mut out)?;
    Ok(out)
}

fn frame(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&length(bytes.len()));
    out.extend_from_slice(bytes);
}

/// Writes a part whose length is known only when its content stands.
fn nested(
    tag: u8,
    out: &mut Vec<u8>,
    content: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    frame(tag, &[], out);
    let begin = out.len();
    content(out)?;
    let written = length(out.len() - begin);
    if let Some(slot) = out.get_mut(begin - written.len()..begin) {
        slot.copy_from_slice(&written);
    }
    Ok(())
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes()
}

fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    match value {
        Value::Null => frame(b'n', &[], out),
        Value::Bool(flag) => frame(b'b', &[u8::from(*flag)], out),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(n), _) => frame(b'i', &n.to_be_bytes(), out),
            (None, Some(n)) => frame(b'u', &n.to_be_bytes(), out),
            (None, None) => return Err(Error::new(Code::Internal, "a fraction has no canonical encoding")),
        },
        Value::String(text) => frame(b's', text.as_bytes(), out),
        Value::Array(items) => nested(b'a', out, |out| items.iter().try_for_each(|item| encode(item, out)))?,
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().filter(|(_, v)| !v.is_null()).collect();
            fields.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            nested(b'm', out, |out| {
                fields.into_iter().try_for_each(|(name, field)| {
                    frame(b'k', name.as_bytes(), out);
                    encode(field, out)
                })
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Golden vectors: written once, never edited.
    #[test]
    fn fault_h06_the_canonical_encoding_is_pinned() {
        let vectors = [
            (json!({}), "6d 00000000"),
            (json!({"b": 1, "a": null}), "6d 00000013 6b 00000001 62 69 00000008 0000000000000001"),
            (json!(["x", true]), "61 0000000c 73 00000001 78 62 00000001 01"),
        ];
        for (value, hex) in vectors {
            let got =
                canonical(&value).unwrap().iter().fold(String::new(), |hex, b| hex + &format!("{b:02x}"));
            assert_eq!(got, hex.replace(' ', ""), "{value}");
        }
    }

    #[test]
    fn fault_h06_colliding_parts_differ() {
        assert_ne!(Digest::of_parts(&[b"ab", b"c"]), Digest::of_parts(&[b"a", b"bc"]));
        assert_ne!(Digest::of_parts(&[b"ab"]), Digest::of_parts(&[b"ab", b""]));
    }

    #[test]
    fn digests_round_trip_and_refuse_other_spellings() {
        let digest = Digest::of(b"x");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        for bad in ["", "0", &"G".repeat(64), &"A".repeat(64), &"a".repeat(65)] {
            assert!(bad.parse::<Digest>().is_err());
        }
    }
}
