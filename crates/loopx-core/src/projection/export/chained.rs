//! Owns the check of an exported chain: each link follows from the one before it, up to the head that is named.
//!
//! Needs no ledger. What an event says is shown as it may be handed on, and is not what its digest was taken of.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    authority::{Head, next_link},
    error::{Code, Error, Result, echo},
    model::{Digest, GoalId},
};

/// The form of the first line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    #[expect(dead_code, reason = "whoever calls this has looked at it")]
    schema_version: Box<str>,
    goal_id: GoalId,
    before: Head,
    head: Head,
}

/// The form of every other line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    seq: u64,
    hash: Digest,
    payload_digest: Digest,
    #[serde(rename = "payload")]
    _payload: Value,
}

/// Walks the lines of an export; says of which Goal it is, how many events it holds, and the head it leads to.
///
/// Errors: `check_failed`, naming the first event that does not follow; `invalid_argument` for a line of another form.
pub fn check_chain(text: &str) -> Result<(GoalId, usize, Head)> {
    let bad = |number: usize, e: serde_json::Error| {
        let what = e.to_string();
        Error::new(Code::InvalidArgument, format!("line {number} is none of an export: {}", echo(&what)))
    };
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let (number, line) = lines.next().unwrap_or((1, ""));
    let first: First = serde_json::from_str(line).map_err(|e| bad(number, e))?;
    let mut link = first.before;
    let mut events = 0;
    let broken = |seq: u64| {
        Error::new(Code::CheckFailed, format!("event {seq} does not follow from the one before it"))
            .detail("seq", seq)
    };
    for (number, line) in lines {
        let line: Line = serde_json::from_str(line).map_err(|e| bad(number, e))?;
        let next = next_link(&link, line.payload_digest);
        if next.seq != line.seq || next.hash != line.hash {
            return Err(broken(link.seq.saturating_add(1)));
        }
        link = next;
        events += 1;
    }
    if link != first.head {
        return Err(broken(link.seq.saturating_add(1)));
    }
    Ok((first.goal_id, events, link))
}
