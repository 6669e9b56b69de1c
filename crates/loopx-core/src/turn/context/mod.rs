//! Owns the continuity of a work contract: the whole packet first, and only what changed for whoever holds one exactly.
//!
//! Pure. What a caller holds is what its basis says, and nothing else is kept of it: a basis is made of a packet, and
//! comes back with the next question. Invariant: a delta, put on the packet that its basis was made of, is the present
//! packet, byte by byte; and at any doubt the whole packet is sent, with the doubt.

mod basis;
mod part;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::{
    basis::{BASIS_MAX_BYTES, Basis, Presented},
    part::Part,
};
use super::wire::Envelope;
use crate::{
    error::Result,
    model::{Digest, IncarnationId, json_value},
};

/// The work contract of one Todo, as one read saw it, and under what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The life of the ledger that it was read from.
    pub incarnation: IncarnationId,
    /// The revision of the Goal.
    pub goal_revision: u64,
    /// Which life of the executor's session it is for, as its host counts them.
    pub generation: u64,
    /// What the executor must know.
    pub envelope: Envelope,
}

/// What a caller says that it holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Held {
    /// The basis of the packet.
    pub basis: Option<Presented>,
    /// Why it may hold it no more.
    pub doubt: Option<Doubt>,
}

/// Why a caller doubts that the executor holds what it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The executor's context was compacted.
    Compacted,
    /// Nobody said that what was sent has come.
    AcknowledgementLost,
}

/// Why a packet is sent whole. The first that holds is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The executor's context was compacted.
    Compacted,
    /// It is not known that what was sent has come.
    AcknowledgementLost,
    /// Nothing is held.
    Initial,
    /// The basis has the form of another release.
    OtherForm,
    /// The basis is of another life of the ledger.
    Incarnation,
    /// The basis is of another Goal, or of one that was started anew under this name.
    Goal,
    /// The basis is of another agent.
    Agent,
    /// The basis is of another Todo.
    Todo,
    /// The basis is of another life of the session.
    Generation,
    /// The Goal or the requirement has another revision.
    Revised,
    /// The basis is of no packet that its parts come to.
    UnknownDigest,
    /// Every part has another content, so that nothing is saved.
    AllChanged,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    /// The basis of the packet, for the next question.
    pub basis: Basis,
    /// How much of it is sent.
    pub form: Form,
}

/// How much of a packet is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// All of it.
    Full {
        /// Why.
        reason: Reason,
    },
    /// What changed.
    Delta {
        /// The digest of the packet that it is put on.
        on: Digest,
        /// The parts that have another content; a part is replaced whole.
        changes: Vec<Part>,
    },
    /// Nothing: the packet is the one that is held.
    Unchanged,
}

/// Compares what is with what is held.
///
/// Errors: `internal` for a packet that JSON cannot hold.
pub fn contract(now: &Packet, held: &Held) -> Result<Contract> {
    let basis = Basis::of(now)?;
    let form = match trusted(&basis, held) {
        Ok(held) if held == &basis => Form::Unchanged,
        Ok(held) => {
            let changes: Vec<_> = Part::ALL.into_iter().filter(|part| held.differs(&basis, *part)).collect();
            if changes.len() == Part::ALL.len() {
                Form::Full { reason: Reason::AllChanged }
            } else {
                Form::Delta { on: held.digest(), changes }
            }
        }
        Err(reason) => Form::Full { reason },
    };
    Ok(Contract { basis, form })
}

/// What is held, where that is beyond doubt.
fn trusted<'h>(now: &Basis, held: &'h Held) -> Result<&'h Basis, Reason> {
    match held.doubt {
        Some(Doubt::Compacted) => return Err(Reason::Compacted),
        Some(Doubt::AcknowledgementLost) => return Err(Reason::AcknowledgementLost),
        None => {}
    }
    let basis = match &held.basis {
        None => return Err(Reason::Initial),
        Some(Presented::OtherForm) => return Err(Reason::OtherForm),
        Some(Presented::Known(basis)) => basis,
    };
    match basis.meets(now) {
        Some(reason) => Err(reason),
        None => Ok(basis),
    }
}

/// Parts of an envelope by their names.
fn parts(envelope: &Envelope, wanted: &[Part]) -> Result<Map<String, Value>> {
    let mut value = json_value(envelope)?;
    let fields = value.as_object_mut().into_iter().flat_map(std::mem::take);
    Ok(fields.filter(|(name, _)| wanted.iter().any(|part| part.name() == name)).collect())
}

impl Contract {
    /// What is sent, for programs.
    ///
    /// Errors: as [`contract`].
    pub fn answer(&self, packet: &Packet) -> Result<Value> {
        let mut fields = Map::new();
        let mut add = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        match &self.form {
            Form::Full { reason } => {
                add("form", "full".into());
                add("reason", json_value(reason)?);
                add("packet", json_value(&packet.envelope)?);
            }
            Form::Delta { on, changes } => {
                add("form", "delta".into());
                add("on", json_value(on)?);
                add("changes", Value::Object(parts(&packet.envelope, changes)?));
            }
            Form::Unchanged => {
                add("form", "unchanged".into());
            }
        }
        add("basis", self.basis.to_string().into());
        add("digest", json_value(&self.basis.digest())?);
        Ok(Value::Object(fields))
    }
}
