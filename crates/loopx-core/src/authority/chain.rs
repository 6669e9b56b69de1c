//! Owns the hash chain of a Goal's events: `hash = SHA-256(prev, seq, payload digest)`.
//!
//! Knows nothing of what an event says. Invariant: the chain covers the bytes as they are stored, so that it
//! can be checked without understanding them.

use serde::{Deserialize, Serialize};

use crate::{
    error::{Code, Error, Result},
    kernel::Event,
    model::{Actor, Digest, GoalInstance, OperationId, Provenance, Timestamp},
};

/// The end of a Goal's chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The number of the last event, from 1; 0 before the first.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
}

impl Head {
    /// What the first event points at.
    pub const START: Self = Self { seq: 0, hash: Digest::ZERO };
}

/// One event as it is stored: its bytes, and where it stands in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its number in the Goal.
    pub seq: u64,
    /// The envelope, encoded.
    pub payload: Vec<u8>,
    /// The chain's hash up to and with it.
    pub hash: Digest,
}

/// An event with everything that is known of its making.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// The Goal's life.
    pub goal_instance: GoalInstance,
    /// Its number in the Goal.
    pub seq: u64,
    /// When it was committed.
    pub at: Timestamp,
    /// The operation that made it.
    pub operation_id: OperationId,
    /// Who asked.
    pub actor: Actor,
    /// Through which door, how surely.
    pub provenance: Provenance,
    /// Its stable name.
    pub kind: Box<str>,
    /// What happened.
    pub body: Event,
}

impl Envelope {
    /// Reads a stored event.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let damaged = || Error::new(Code::StoreCorrupt, "an event cannot be read");
        // Read as text, as every other row is: reading bytes would double the code of all nouns in the binary.
        let text = std::str::from_utf8(payload).map_err(|e| damaged().internal(e))?;
        serde_json::from_str(text).map_err(|e| damaged().internal(e))
    }
}

/// What an event is linked under.
#[derive(Debug, Clone)]
pub(super) struct Linking<'a> {
    pub(super) goal_instance: GoalInstance,
    pub(super) at: Timestamp,
    pub(super) operation_id: &'a OperationId,
    pub(super) actor: &'a Actor,
    pub(super) provenance: Provenance,
}

/// Appends events to a chain, and moves its head.
pub(super) fn link(head: &mut Head, linking: &Linking<'_>, events: Vec<Event>) -> Result<Vec<Record>> {
    let mut records = Vec::with_capacity(events.len());
    for body in events {
        let seq = head.seq + 1;
        let envelope = Envelope {
            goal_instance: linking.goal_instance,
            seq,
            at: linking.at,
            operation_id: linking.operation_id.clone(),
            actor: linking.actor.clone(),
            provenance: linking.provenance,
            kind: body.kind().into(),
            body,
        };
        let payload = serde_json::to_vec(&envelope).map_err(|e| Error::from(Code::Internal).internal(e))?;
        let hash = next(head, seq, &payload);
        *head = Head { seq, hash };
        records.push(Record { seq, payload, hash });
    }
    Ok(records)
}

/// The end of a chain after one more event, of which only the payload's digest is known.
pub fn next_link(head: &Head, payload_digest: Digest) -> Head {
    let seq = head.seq.saturating_add(1);
    Head { seq, hash: linked(head, seq, payload_digest) }
}

/// The hash of the chain after one more event.
pub(super) fn next(head: &Head, seq: u64, payload: &[u8]) -> Digest {
    linked(head, seq, Digest::of(payload))
}

fn linked(head: &Head, seq: u64, digest: Digest) -> Digest {
    let mut bytes = [0; 72];
    bytes[..32].copy_from_slice(head.hash.as_bytes());
    bytes[32..40].copy_from_slice(&seq.to_be_bytes());
    bytes[40..].copy_from_slice(digest.as_bytes());
    Digest::of(&bytes)
}

/// Walks records from a head; names the first that does not fit.
pub fn verify<'r>(mut head: Head, records: impl IntoIterator<Item = &'r Record>) -> Result<Head> {
    for record in records {
        if record.seq != head.seq + 1 || record.hash != next(&head, record.seq, &record.payload) {
            return Err(Error::new(
                Code::StoreCorrupt,
                format!("the chain of events breaks at {}", head.seq + 1),
            )
            .detail("seq", head.seq + 1));
        }
        head = Head { seq: record.seq, hash: record.hash };
    }
    Ok(head)
}
