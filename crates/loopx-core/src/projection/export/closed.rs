//! Owns which rows may be handed on at all: those that are public as they stand, and those whose owner's part was
//! taken out.
//!
//! Knows nothing of how they are printed. Invariant: [`Closed`] is made here alone, so a row that can point at
//! something of the owner's reaches an export only without that pointer; one that is forgotten does not compile.

use serde::{Serialize, Serializer};

use crate::{
    authority::{Envelope, StoredReceipt},
    boundary::Public,
    error::Result,
    kernel::{ClaimEvent, Event, EvidenceEvent, TurnEvent},
    model::{Agent, Candidate, Evidence, Gate, Goal, Noun, Privacy, ShortText, Turn},
};

/// What stands for a pointer that is the owner's.
pub(super) const OWNERS: &str = "[owner]";

impl Public for Goal {}
impl Public for Agent {}
impl Public for Gate {}
impl Public for Noun {}
/// An outcome holds ids and times.
impl Public for StoredReceipt {}

/// A row without what is the owner's; its kind and its digest stay.
#[derive(Debug, Clone)]
pub(super) struct Closed<T>(T);

impl<T> Public for Closed<T> {}

impl<T: Serialize> Serialize for Closed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Closed<Evidence> {
    /// A piece of evidence.
    pub(super) fn evidence(mut piece: Evidence) -> Result<Self> {
        close(piece.privacy, &mut piece.pointer)?;
        Ok(Self(piece))
    }
}

impl Closed<Turn> {
    /// A Turn, with the evidence that its result names.
    pub(super) fn turn(mut turn: Turn) -> Result<Self> {
        turn.candidate.as_mut().map_or(Ok(()), candidate)?;
        Ok(Self(turn))
    }
}

impl Closed<Envelope> {
    /// An event, whatever it tells of.
    pub(super) fn event(mut envelope: Envelope) -> Result<Self> {
        match &mut envelope.body {
            Event::Evidence(EvidenceEvent::Added { evidence }) => {
                close(evidence.privacy, &mut evidence.pointer)?;
            }
            Event::Turn(TurnEvent::CandidateRecorded { candidate: found, .. }) => candidate(found)?,
            Event::Claim(ClaimEvent::Claimed { turn, .. }) => {
                turn.candidate.as_mut().map_or(Ok(()), candidate)?;
            }
            Event::Goal(_)
            | Event::Agent(_)
            | Event::Quota(_)
            | Event::Todo(_)
            | Event::Gate(_)
            | Event::Effect(_)
            | Event::Reward(_)
            | Event::Proposal(_)
            | Event::Replan(_)
            | Event::Attention(_)
            | Event::Peer(_)
            | Event::Handoff(_)
            | Event::Claim(
                ClaimEvent::Renewed { .. } | ClaimEvent::Rearmed { .. } | ClaimEvent::Reserved { .. },
            )
            | Event::Turn(
                TurnEvent::Dispatched { .. }
                | TurnEvent::AttemptEnded { .. }
                | TurnEvent::Validated { .. }
                | TurnEvent::TreeMoved { .. }
                | TurnEvent::Held { .. }
                | TurnEvent::Returned { .. }
                | TurnEvent::Unresolved { .. }
                | TurnEvent::ExecutorGone { .. }
                | TurnEvent::StopWished { .. }
                | TurnEvent::Ended { .. },
            ) => {}
        }
        Ok(Self(envelope))
    }
}

fn candidate(candidate: &mut Candidate) -> Result<()> {
    candidate.evidence.iter_mut().try_for_each(|found| close(found.privacy, &mut found.pointer))
}

fn close(privacy: Privacy, pointer: &mut ShortText) -> Result<()> {
    if !privacy.is_public() {
        *pointer = OWNERS.parse()?;
    }
    Ok(())
}
