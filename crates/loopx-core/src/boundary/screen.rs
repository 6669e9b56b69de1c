//! Owns the order of the screen: strip what hides, refuse credentials, redact places.
//!
//! Knows nothing of what a credential or a place looks like.

use super::{
    credential::{self, Credential},
    place, visible,
};

/// A text that may be kept as a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screened {
    /// The text, with `[path]` and `[host]` where a private place stood.
    pub text: String,
    /// How many places were redacted.
    pub redactions: usize,
}

/// A text that may not be kept at all. It names the kind and never the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// What was found.
    pub kind: Credential,
}

/// Screens a foreign text before it becomes a fact or reaches a public output.
///
/// Invariant: screening what was screened changes nothing and redacts nothing.
pub fn screen(text: &str) -> Result<Screened, Refused> {
    let stripped = visible::stripped(text);
    let refuse = |text: &str| credential::find(text).map_or(Ok(()), |kind| Err(Refused { kind }));
    refuse(&stripped)?;
    let (text, redactions) = place::redact(&stripped);
    if redactions > 0 {
        // A placeholder is new text; what it makes of its neighbours must be judged now, not at the next screening.
        refuse(&text)?;
    }
    Ok(Screened { text, redactions })
}
