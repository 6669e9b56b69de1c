//! Owns passing every text of a result through the boundary's screen.
//!
//! Knows nothing of what a credential or a place looks like.

use serde_json::{Map, Value};

use super::{
    failure::{Failure, Reason},
    result::{POINTER_MAX_BYTES, Proposal, REASON_MAX_BYTES, RawEvidence, RawProposal},
};
use crate::{
    boundary,
    model::{Pointer, Privacy},
};

/// Screens texts and counts what was redacted.
#[derive(Debug, Default)]
pub(super) struct Screen {
    redactions: usize,
}

impl Screen {
    pub(super) const fn redactions(&self) -> usize {
        self.redactions
    }

    /// Screens one text. The limit is on what came; a redaction that made it longer is cut to the limit again.
    pub(super) fn text(
        &mut self,
        field: &'static str,
        text: &str,
        max_bytes: usize,
    ) -> Result<String, Failure> {
        if text.len() > max_bytes {
            return Err(Failure::invalid(Reason::TooLong(field)));
        }
        let mut text = self.any(field, text)?;
        while text.len() > max_bytes {
            text.pop();
        }
        Ok(text)
    }

    fn any(&mut self, field: &'static str, text: &str) -> Result<String, Failure> {
        let screened = boundary::screen(text)
            .map_err(|refused| Failure::invalid(Reason::Credential(field, refused.kind)))?;
        self.redactions = self.redactions.saturating_add(screened.redactions);
        Ok(screened.text)
    }

    pub(super) fn evidence(&mut self, raw: Vec<RawEvidence>) -> Result<Vec<Pointer>, Failure> {
        let one = |raw: RawEvidence| {
            let text = self.text("evidence", &raw.pointer, POINTER_MAX_BYTES)?;
            let pointer = text.parse().map_err(|_| Failure::invalid(Reason::Inconsistent("evidence")))?;
            // A host's words are screened, and everybody's.
            Ok(Pointer { kind: raw.kind, pointer, digest: raw.digest, privacy: Privacy::Public })
        };
        raw.into_iter().map(one).collect()
    }

    pub(super) fn proposals(&mut self, raw: Vec<RawProposal>) -> Result<Vec<Proposal>, Failure> {
        let one = |raw: RawProposal| {
            let reason = self.text("proposals", &raw.reason, REASON_MAX_BYTES)?;
            Ok(Proposal { command: self.object(raw.command)?, reason })
        };
        raw.into_iter().map(one).collect()
    }

    /// Screens every text of an opaque object. A key cannot be redacted: two could become one.
    fn object(&mut self, object: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        let field = |(key, value): (String, Value)| {
            if self.any("proposals", &key)? != key {
                return Err(Failure::invalid(Reason::Inconsistent("proposals")));
            }
            Ok((key, self.value(value)?))
        };
        object.into_iter().map(field).collect()
    }

    /// Recursion is bounded by the JSON reader's own limit on nesting.
    fn value(&mut self, value: Value) -> Result<Value, Failure> {
        Ok(match value {
            Value::String(text) => Value::String(self.any("proposals", &text)?),
            Value::Array(list) => {
                Value::Array(list.into_iter().map(|each| self.value(each)).collect::<Result<_, _>>()?)
            }
            Value::Object(object) => Value::Object(self.object(object)?),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        })
    }
}
