//! Owns how a text that was given with a command becomes a short fact: its limit, the screen, and how it is refused.
//!
//! Knows no command: who calls this names the argument and its limit.

use super::screen;
use crate::{
    error::{Code, Error, Result},
    model::ShortText,
};

/// How long a summary, or what an agent says of a decision, may be.
pub const SAID_MAX_BYTES: usize = 400;

/// A text as a fact may hold it. The limit is on what came: a redaction that makes it longer is cut.
///
/// Errors: `payload_too_large`; `invalid_argument` for one that holds a credential, or nothing.
pub fn said(argument: &str, text: &str, max_bytes: usize) -> Result<ShortText> {
    const FACT_MAX_BYTES: usize = 512;
    if text.len() > max_bytes {
        let message = format!("the {argument} has {} bytes, the limit is {max_bytes}", text.len());
        return Err(Error::new(Code::PayloadTooLarge, message)
            .detail("limit_bytes", max_bytes)
            .detail("argument", argument));
    }
    let screened = screen(text).map_err(|refused| {
        Error::new(Code::InvalidArgument, format!("the {argument} holds a credential ({})", refused.kind))
            .detail("argument", argument)
    })?;
    let mut text = screened.text;
    while text.len() > FACT_MAX_BYTES {
        text.pop();
    }
    text.parse().map_err(|error: Error| error.detail("argument", argument))
}
