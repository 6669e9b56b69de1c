//! Owns the JSON forms: an answer with its schema first, and the error object.

use serde::Serialize;
use serde_json::{Map, Value};

use super::printable;
use crate::error::{Code, Error, Result};

/// Writes an object with `schema_version` before its own fields.
pub(super) fn object(schema: &'static str, body: &impl Serialize) -> Result<String> {
    let internal = |text: String| Error::new(Code::Internal, "an answer has no JSON form").internal(text);
    let text = serde_json::to_string(body).map_err(|e| internal(e.to_string()))?;
    let fields = text.strip_prefix('{').ok_or_else(|| internal(schema.to_owned()))?;
    let comma = if fields == "}" { "" } else { "," };
    Ok(printable::json(format!("{{\"schema_version\":\"{schema}\"{comma}{fields}")))
}

#[derive(Serialize)]
struct Body<'a> {
    error: Fields<'a>,
}

#[derive(Serialize)]
struct Fields<'a> {
    code: &'static str,
    message: &'a str,
    hint: Option<String>,
    retryable: bool,
    details: &'a Map<String, Value>,
}

/// Writes the error object; the hint is a whole command of the running program.
pub(super) fn error(error: &Error, program: &str) -> String {
    let code = error.code();
    let fields = Fields {
        code: code.as_str(),
        message: error.message(),
        hint: error.hint_args().map(|args| format!("{program} {args}")),
        retryable: code.retryable(),
        details: error.details(),
    };
    // Plain data always has a JSON form; the other arm keeps the promise of one object all the same.
    object("loopx_error_v1", &Body { error: fields }).unwrap_or_else(|_| {
        r#"{"schema_version":"loopx_error_v1","error":{"code":"internal","message":"an internal rule was broken","hint":null,"retryable":false,"details":{}}}"#.to_owned()
    })
}
