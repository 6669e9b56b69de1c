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
    model::{Digest, HostFailure},
};

/// The most that a note may have, in bytes.
pub(super) const NOTE_MAX_BYTES: usize = 1024;
/// How the schema is spelled, to be told apart from a result's.
pub(super) const SCHEMA: &str = "loopx_turn_failure_v0";

/// The failure's schema id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FailureSchema {
    /// The only one.
    #[serde(rename = "loopx_turn_failure_v0")]
    V0,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReport {
    #[serde(deserialize_with = "strict::word")]
    pub(super) schema_version: FailureSchema,
    pub(super) turn_key: Digest,
    #[serde(deserialize_with = "strict::word")]
    pub(super) failure_class: HostFailure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

/// Reads a report: the failure it tells, or the one that it is.
///
/// The note stays where the raw output is kept: it is a host's own word, and no fact takes one about a failure.
pub(super) fn read(stdout: &[u8], turn_key: &Digest) -> Failure {
    let report = match serde_json::from_slice::<Object<RawReport>>(stdout) {
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
