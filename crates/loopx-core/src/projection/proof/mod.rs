//! Owns the proof of one Turn: the events from its admission to its end with their links, and what they say.
//!
//! Knows no rule. A payload is printed exactly as it is stored, or not at all: only then does its digest, which the
//! chain is made over, prove it. The ownership tokens in it are those of a Turn that has ended, and open no door.

mod check;

use serde::{Deserialize, Serialize};

pub use self::check::{Checked, PROOF_MAX_BYTES, against, against_ledger, check, read};
use super::{export::may_leave, page::STEP};
use crate::{
    authority::{Envelope, EventFilter, Head, View},
    error::{Code, Error, Result},
    kernel::{ClaimEvent, Event, EvidenceEvent, Facts, Outcome, Read, Terms, TurnEvent},
    model::{
        Actor, Digest, Evidence, GoalId, GoalInstance, IncarnationId, OperationId, Provenance, Timestamp,
        TodoId, TurnId, Verdict,
    },
};

/// The form of a proof.
pub const SCHEMA: &str = "loopx_proof_v1";
/// How many events a proof holds, and how many links after them, at most.
const EVENTS_MAX: usize = 100_000;

/// What proves one Turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// Its form; the printer writes it.
    #[serde(skip_serializing)]
    pub schema_version: Box<str>,
    /// The Goal.
    pub goal_id: GoalId,
    /// The life of its id.
    pub goal_instance: GoalInstance,
    /// The Todo.
    pub todo_id: TodoId,
    /// The Turn.
    pub turn_id: TurnId,
    /// The ledger's life that it was admitted in.
    pub incarnation: IncarnationId,
    /// The Goal's head when this was written.
    pub head: Head,
    /// The link before the first event.
    pub before: Head,
    /// The events from admission to end.
    pub events: Vec<ProofEvent>,
    /// The digests of the payloads from there to the head.
    pub rest: Vec<Digest>,
    /// The receipts of the operations whose events are printed.
    pub receipts: Vec<ProofReceipt>,
    /// What validators said, in order.
    pub validators: Vec<Verdict>,
    /// The evidence that was added.
    pub evidence: Vec<Evidence>,
    /// The tree before and after.
    pub trees: Trees,
    /// The digest of all of the above: a change by accident shows, a change on purpose by the chain and the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Digest>,
}

/// An event of a proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofEvent {
    /// Its number.
    pub seq: u64,
    /// The chain's hash up to and with it.
    pub hash: Digest,
    /// The digest of its payload.
    pub payload_digest: Digest,
    /// The payload as it is stored, if it is about this Todo and may be handed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}

/// A receipt of a proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofReceipt {
    /// The operation.
    pub operation_id: OperationId,
    /// Its digest.
    pub digest: Digest,
    /// Who asked.
    pub actor: Actor,
    /// Through which door, how surely.
    pub provenance: Provenance,
    /// When.
    pub at: Timestamp,
    /// The number of its last event.
    pub seq: u64,
    /// The code of a negative end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative: Option<Box<str>>,
    /// What it did.
    pub outcome: Outcome,
}

/// Digests of the work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trees {
    /// Before the first attempt, where somebody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// As the validators saw it, else as the result came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
}

/// What the events of a proof say of its Turn.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    validators: Vec<Verdict>,
    evidence: Vec<Evidence>,
    trees: Trees,
}

impl Said {
    /// Takes one more event in.
    fn take(&mut self, turn_id: TurnId, event: &Event) {
        match event {
            Event::Turn(TurnEvent::Dispatched { turn_id: of, attempt, .. }) if *of == turn_id => {
                self.trees.before = self.trees.before.or(attempt.tree);
            }
            Event::Turn(TurnEvent::CandidateRecorded { turn_id: of, candidate, .. }) if *of == turn_id => {
                self.trees.after = candidate.tree.or(self.trees.after);
            }
            Event::Turn(TurnEvent::Validated { turn_id: of, verdict }) if *of == turn_id => {
                self.trees.after = verdict.tree.or(self.trees.after);
                self.validators.push((**verdict).clone());
            }
            Event::Evidence(EvidenceEvent::Added { evidence }) => self.evidence.push((**evidence).clone()),
            _ => {} // wildcard: nothing else says what is listed beside the events
        }
    }
}

/// The proof of a Turn that has ended.
///
/// Errors: `not_found`; `not_ready` before it ended; `payload_too_large`; `store_*`.
pub fn prove(view: &mut dyn View, terms: &Terms, turn_id: TurnId) -> Result<Proof> {
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Turn(turn_id)].into(), &mut facts)?;
    let missing = || {
        Error::new(Code::NotFound, format!("there is no Turn {turn_id}"))
            .detail("turn_id", turn_id.to_string())
    };
    let turn = facts.turn(&turn_id)?.ok_or_else(missing)?;
    let todo_id = turn.todo_id().cloned().ok_or_else(missing)?;
    if !turn.is_terminal() {
        let message =
            format!("the Turn {turn_id} is {}; what has not ended cannot be proved", turn.state.as_str());
        return Err(Error::new(Code::NotReady, message).hint(format!("turn show {turn_id}")));
    }
    let goal_id = turn.goal_id.clone();
    let head = view.head(&goal_id)?.ok_or_else(missing)?;
    let mut proof = Proof {
        schema_version: SCHEMA.into(),
        goal_id: goal_id.clone(),
        goal_instance: GoalInstance::from_bytes([0; 16]),
        todo_id,
        turn_id,
        incarnation: turn.incarnation,
        head,
        before: Head::START,
        events: Vec::new(),
        rest: Vec::new(),
        receipts: Vec::new(),
        validators: Vec::new(),
        evidence: Vec::new(),
        trees: Trees::default(),
        seal: None,
    };
    let said = walk(view, &mut proof, turn.admitted_at)?;
    let Said { validators, evidence, trees } = said;
    (proof.validators, proof.evidence, proof.trees) = (validators, evidence, trees);
    proof.seal = Some(proof.sealed()?);
    Ok(proof)
}

/// Goes along the Goal's chain and takes in what is of the Turn.
fn walk(view: &mut dyn View, proof: &mut Proof, admitted_at: Timestamp) -> Result<Said> {
    let goal = proof.goal_id.clone();
    let words = [proof.todo_id.to_string(), proof.turn_id.to_string()].map(|id| format!("\"{id}\""));
    let mut said = Said::default();
    let (mut at, mut ended) = (Head::START, false);
    loop {
        let records = view.events(&EventFilter { goal: &goal, after: at.seq }, STEP)?;
        if records.is_empty() {
            return Ok(said);
        }
        for record in records {
            let before = std::mem::replace(&mut at, Head { seq: record.seq, hash: record.hash });
            let payload_digest = Digest::of(&record.payload);
            if ended {
                proof.rest.push(payload_digest);
                too_long(proof.rest.len())?;
                continue;
            }
            let envelope = Envelope::decode(&record.payload)?;
            if proof.events.is_empty() {
                if envelope.at < admitted_at || !admits(&envelope.body, proof.turn_id) {
                    continue;
                }
                (proof.before, proof.goal_instance) = (before, envelope.goal_instance);
            }
            let text = std::str::from_utf8(&record.payload).unwrap_or_default();
            let payload = (words.iter().any(|word| text.contains(word.as_str())) && may_leave(&envelope)?)
                .then(|| text.to_owned());
            if payload.is_some() {
                said.take(proof.turn_id, &envelope.body);
                receipt(view, proof, &envelope.operation_id)?;
            }
            ended = ends(&envelope.body, proof.turn_id);
            proof.events.push(ProofEvent { seq: record.seq, hash: record.hash, payload_digest, payload });
            too_long(proof.events.len())?;
        }
    }
}

fn too_long(length: usize) -> Result<()> {
    if length <= EVENTS_MAX {
        return Ok(());
    }
    Err(Error::new(Code::PayloadTooLarge, format!("a proof holds at most {EVENTS_MAX} events")))
}

fn receipt(view: &mut dyn View, proof: &mut Proof, id: &OperationId) -> Result<()> {
    if proof.receipts.last().is_some_and(|last| last.operation_id == *id) {
        return Ok(());
    }
    let Some(stored) = view.receipt(id)? else { return Ok(()) };
    let outcome = serde_json::from_value(stored.outcome)
        .map_err(|e| Error::new(Code::StoreCorrupt, "a receipt cannot be read").internal(e))?;
    proof.receipts.push(ProofReceipt {
        operation_id: id.clone(),
        digest: stored.digest,
        actor: stored.actor,
        provenance: stored.provenance,
        at: stored.at,
        seq: stored.seq,
        negative: stored.negative,
        outcome,
    });
    Ok(())
}

/// Whether an event admitted a Turn.
fn admits(event: &Event, turn_id: TurnId) -> bool {
    matches!(event, Event::Claim(ClaimEvent::Claimed { turn, .. }) if turn.turn_id == turn_id)
}

/// Whether an event ended a Turn.
fn ends(event: &Event, turn_id: TurnId) -> bool {
    matches!(event, Event::Turn(TurnEvent::Ended { turn_id: of, .. }) if *of == turn_id)
}

impl Proof {
    /// The digest of everything but the seal itself.
    fn sealed(&self) -> Result<Digest> {
        Digest::of_value(&Self { seal: None, ..self.clone() })
    }
}
