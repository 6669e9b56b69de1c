//! Owns the check of a proof by itself, and against a head or a ledger that somebody trusts.
//!
//! Needs no profile and no ledger: what is checked is what lies in the proof. It may come from anybody.

use serde::{Deserialize, Serialize};

use super::{EVENTS_MAX, Proof, SCHEMA, Said, admits, ends};
use crate::{
    authority::{Envelope, EventFilter, Head, View, next_link},
    error::{Code, Error, Result},
    model::{Digest, GoalId, TodoId, TurnId},
};

/// The largest proof that is read, in bytes.
pub const PROOF_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What a proof that holds says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// The Goal.
    pub goal_id: GoalId,
    /// The Todo.
    pub todo_id: TodoId,
    /// The Turn.
    pub turn_id: TurnId,
    /// How many events it holds.
    pub events: usize,
    /// Of how many the payload is there, and proved by its digest.
    pub printed: usize,
    /// How many receipts agree with them.
    pub receipts: usize,
    /// The hash of the event that ended the Turn.
    pub settled: Digest,
    /// The Goal's head when it was written.
    pub head: Head,
}

fn failed(what: impl std::fmt::Display) -> Error {
    Error::new(Code::CheckFailed, format!("the proof does not hold: {what}"))
}

fn at(seq: u64, what: &str) -> Error {
    failed(format_args!("event {seq}: {what}")).detail("seq", seq)
}

/// The form of what somebody sent, before anything else of it is looked at.
#[derive(Debug, Deserialize)]
struct Form {
    schema_version: Box<str>,
}

/// Reads a proof that somebody sent.
///
/// Errors: `payload_too_large`, `unsupported_version`, `unknown_field`, `invalid_argument`.
pub fn read(text: &str) -> Result<Proof> {
    if u64::try_from(text.len()).is_ok_and(|length| length > PROOF_MAX_BYTES) {
        return Err(Error::new(
            Code::PayloadTooLarge,
            format!("a proof is at most {PROOF_MAX_BYTES} bytes long"),
        ));
    }
    let bad = |e: serde_json::Error| {
        let text = e.to_string();
        let code = if text.starts_with("unknown field") { Code::UnknownField } else { Code::InvalidArgument };
        Error::new(code, format!("this is no proof: {}", crate::error::echo(&text)))
    };
    let form: Form = serde_json::from_str(text).map_err(bad)?;
    if &*form.schema_version != SCHEMA {
        let found = crate::error::echo(&form.schema_version).into_owned();
        return Err(Error::new(Code::UnsupportedVersion, format!("a proof is {SCHEMA}, this is {found}")));
    }
    serde_json::from_str(text).map_err(bad)
}

/// Checks that everything in a proof agrees with everything else.
///
/// Errors: `check_failed`, naming the first thing that does not.
pub fn check(proof: &Proof) -> Result<Checked> {
    if proof.todo_id.goal() != &proof.goal_id {
        return Err(failed("the Todo is of another Goal"));
    }
    if proof.events.len() > EVENTS_MAX || proof.rest.len() > EVENTS_MAX {
        return Err(failed("it is longer than any that was written"));
    }
    let (said, envelopes, settled) = events(proof)?;
    let mut link = settled;
    for digest in &proof.rest {
        link = next_link(&link, *digest);
    }
    if link != proof.head {
        return Err(failed("its links do not end at its head").detail("seq", link.seq));
    }
    receipts(proof, &envelopes)?;
    for (what, same) in [
        ("validators", said.validators == proof.validators),
        ("evidence", said.evidence == proof.evidence),
        ("trees", said.trees == proof.trees),
    ] {
        if !same {
            return Err(failed(format_args!("`{what}` is not what its events say")));
        }
    }
    if proof.seal != Some(proof.sealed()?) {
        return Err(failed("its seal is not that of what it holds"));
    }
    Ok(Checked {
        goal_id: proof.goal_id.clone(),
        todo_id: proof.todo_id.clone(),
        turn_id: proof.turn_id,
        events: proof.events.len(),
        printed: envelopes.len(),
        receipts: proof.receipts.len(),
        settled: settled.hash,
        head: proof.head,
    })
}

/// Walks the events: links, payloads, the admission first and the end last.
fn events(proof: &Proof) -> Result<(Said, Vec<Envelope>, Head)> {
    let mut said = Said::default();
    let mut envelopes = Vec::new();
    let mut link = proof.before;
    let mut ended = false;
    for event in &proof.events {
        let seq = event.seq;
        if ended {
            return Err(at(seq, "it comes after the end of the Turn"));
        }
        if link.seq.checked_add(1) != Some(seq) {
            return Err(at(seq, "it is not the next by its number"));
        }
        let next = next_link(&link, event.payload_digest);
        if next.hash != event.hash {
            return Err(at(seq, "it does not follow from the one before it"));
        }
        link = next;
        let Some(payload) = &event.payload else {
            if seq == proof.before.seq + 1 {
                return Err(at(seq, "the admission is not printed"));
            }
            continue;
        };
        if Digest::of(payload.as_bytes()) != event.payload_digest {
            return Err(at(seq, "the payload is not the one its digest was taken of"));
        }
        let envelope = Envelope::decode(payload.as_bytes()).map_err(|_| at(seq, "it cannot be read"))?;
        if envelope.seq != seq || envelope.goal_instance != proof.goal_instance {
            return Err(at(seq, "the payload is of another event"));
        }
        if &*envelope.kind != envelope.body.kind() {
            return Err(at(seq, "it is not of the kind that it says"));
        }
        if envelopes.is_empty() && !admits(&envelope.body, proof.turn_id) {
            return Err(at(seq, "it does not admit the Turn"));
        }
        if let crate::kernel::Event::Claim(crate::kernel::ClaimEvent::Claimed { todo_id, turn, .. }) =
            &envelope.body
            && turn.turn_id == proof.turn_id
            && (*todo_id != proof.todo_id || turn.incarnation != proof.incarnation)
        {
            return Err(at(seq, "it admits the Turn for another Todo, or in another life of the ledger"));
        }
        ended = ends(&envelope.body, proof.turn_id);
        said.take(proof.turn_id, &envelope.body);
        envelopes.push(envelope);
    }
    if !ended {
        return Err(failed("it does not reach the end of the Turn"));
    }
    Ok((said, envelopes, link))
}

/// Every printed event has its receipt, and every receipt its events.
fn receipts(proof: &Proof, envelopes: &[Envelope]) -> Result<()> {
    let mut left = proof.receipts.iter();
    let mut before: Option<&Envelope> = None;
    for envelope in envelopes {
        if before.replace(envelope).is_some_and(|last| last.operation_id == envelope.operation_id) {
            continue;
        }
        let id = &envelope.operation_id;
        let receipt = left.next().filter(|receipt| receipt.operation_id == *id);
        let Some(receipt) = receipt else {
            return Err(failed(format_args!("the receipt of {id} is missing")));
        };
        let last = envelopes.iter().rfind(|other| other.operation_id == *id).map_or(0, |last| last.seq);
        let agrees = receipt.actor == envelope.actor
            && receipt.provenance == envelope.provenance
            && receipt.at == envelope.at
            && receipt.seq >= last
            && receipt.seq <= proof.head.seq
            && receipt.outcome.todo_ids.iter().all(|todo| todo.goal() == &proof.goal_id);
        if !agrees {
            return Err(failed(format_args!("the receipt of {id} is not of its events")));
        }
    }
    match left.next() {
        Some(receipt) => Err(failed(format_args!("the receipt of {} has no event", receipt.operation_id))),
        None => Ok(()),
    }
}

/// Whether a proof that holds reaches a hash that somebody trusts: that of the Turn's end, or of any event after it.
///
/// Errors: `check_failed`.
pub fn against(proof: &Proof, trusted: Digest) -> Result<()> {
    let end = proof.events.last().map_or(proof.before, |last| Head { seq: last.seq, hash: last.hash });
    let mut link = end;
    if link.hash == trusted {
        return Ok(());
    }
    for digest in &proof.rest {
        link = next_link(&link, *digest);
        if link.hash == trusted {
            return Ok(());
        }
    }
    Err(failed("it does not lead to the head that was given"))
}

/// Whether a ledger holds the events and the receipts of a proof that holds.
///
/// Errors: `check_failed`; `store_*`.
pub fn against_ledger(view: &mut dyn View, proof: &Proof) -> Result<()> {
    let goal = &proof.goal_id;
    let last = proof.events.last().map_or(0, |last| last.seq);
    let here = view.events(&EventFilter { goal, after: last.saturating_sub(1) }, 1)?.pop();
    let hash = proof.events.last().map(|last| last.hash);
    if here.is_none_or(|record| record.seq != last || Some(record.hash) != hash) {
        return Err(at(last, "the ledger of this profile has another one"));
    }
    for receipt in &proof.receipts {
        let id = &receipt.operation_id;
        let same = view.receipt(id)?.is_some_and(|stored| {
            let outcome = serde_json::from_value(stored.outcome).ok();
            stored.goal_id.as_ref() == Some(goal)
                && stored.digest == receipt.digest
                && stored.seq == receipt.seq
                && stored.negative == receipt.negative
                && outcome.as_ref() == Some(&receipt.outcome)
        });
        if !same {
            return Err(failed(format_args!("the ledger of this profile has another receipt of {id}")));
        }
    }
    Ok(())
}
