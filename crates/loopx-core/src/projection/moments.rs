//! Owns how the moments in a row of the model are called where a program reads them: each name ends with its unit.
//!
//! Knows no row. What is stored and chained keeps its own names, in an export too.

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::Value;

use crate::model::{gathered, json_value};

/// Serialises a row with the unit in the name of each of its moments.
pub(super) fn named<T: Serialize, S: Serializer>(row: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let value = json_value(row).map_err(|e| S::Error::custom(e.message()))?;
    with_units(value).serialize(serializer)
}

/// The same value: `at`, `until` and each `…_at` that holds a number end with `_ms`.
pub fn with_units(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let renamed = |(name, value): (String, Value)| {
                let is_moment =
                    value.is_number() && (name == "at" || name == "until" || name.ends_with("_at"));
                (if is_moment { name + "_ms" } else { name }, with_units(value))
            };
            Value::Object(gathered(fields.into_iter().map(renamed)))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(with_units).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
