//! Owns the way from a row to a JSON value that its reader may still change.
//!
//! Knows no row.

use serde::Serialize;
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
