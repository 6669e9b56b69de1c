//! Owns the ways into and out of JSON that more than one part goes.
//!
//! Knows no row.

use serde::{
    Serialize,
    de::{DeserializeOwned, Error as _},
};
use serde_json::Value;

use crate::error::{Code, Error, Result};

/// A row as a JSON value, by way of its text: a serializer of its own for every noun would weigh as much again as the
/// one that every noun has. Not for a hot path.
///
/// Errors: `internal` for what JSON cannot hold.
pub(crate) fn json_value<T: Serialize + ?Sized>(row: &T) -> Result<Value> {
    let text = serde_json::to_string(row).map_err(|e| Error::from(Code::Internal).internal(e))?;
    serde_json::from_str(&text).map_err(|e| Error::from(Code::Internal).internal(e))
}

/// Reads JSON from bytes by way of text: a reader of bytes for every type would weigh as much again as the one of text.
///
/// Errors: what is no UTF-8, or no such JSON.
pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    serde_json::from_str(std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?)
}

/// Whether a field is as it is when it is left out, for serde.
pub(crate) fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}
