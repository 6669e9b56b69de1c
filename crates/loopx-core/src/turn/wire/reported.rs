//! Owns the failure an adapter prints in a result's place: why its inner program could not work.
//!
//! Knows nothing of what becomes of the Turn; the class decides that, as it does for what LoopX sees itself.

use serde::{Deserialize, Serialize};

use super::{
    failure::{Failure, Reason},
    strict::{self, Object},
};
use crate::{
    boundary::Private,
    error::{Code, Error, Result},
    model::{Digest, HostFailure, from_json},
    turn::validate::cut,
};

/// The most that a note may have, in bytes.
const NOTE_MAX_BYTES: usize = 1024;
/// How the schema is spelled, to be told apart from a result's.
pub(super) const SCHEMA: &str = "loopx_turn_failure_v0";

/// The failure's schema id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum FailureSchema {
    /// The only one.
    #[serde(rename = "loopx_turn_failure_v0")]
    V0,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReport {
    #[serde(deserialize_with = "strict::word")]
    schema_version: FailureSchema,
    turn_key: Digest,
    #[serde(deserialize_with = "strict::word")]
    failure_class: HostFailure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Writes a report; the note is cut to its limit, between two characters.
pub(in crate::turn) fn encode(turn_key: Digest, class: HostFailure, note: &str) -> Result<Vec<u8>> {
    let note = cut(note, NOTE_MAX_BYTES);
    let report = RawReport {
        schema_version: FailureSchema::V0,
        turn_key,
        failure_class: class,
        note: (!note.is_empty()).then(|| note.to_owned()),
    };
    let mut bytes = serde_json::to_vec(&report).map_err(|e| Error::from(Code::Internal).internal(e))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a report: the failure it tells, or the one that it is.
///
/// The note stays where the raw output is kept: it is a host's own word, and no fact takes one about a failure.
pub(super) fn read(stdout: &[u8], turn_key: &Digest) -> Failure {
    let report = match from_json::<Object<RawReport>>(stdout) {
        Ok(report) => report.0,
        Err(error) => return Failure::invalid(Reason::MalformedReport).because(&error),
    };
    if report.turn_key != *turn_key {
        return Failure::invalid(Reason::OtherTurn);
    }
    if report.note.as_ref().is_some_and(|note| note.len() > NOTE_MAX_BYTES) {
        return Failure::invalid(Reason::TooLong("note"));
    }
    Failure {
        class: report.failure_class,
        reason: Reason::Reported(report.failure_class),
        internal: report.note.map(Private::new),
    }
}
