//! Owns building what an adapter prints: a result that the wire takes, or a failure that it reports.
//!
//! Knows no limit of its own. Invariant: what [`Candidate::encode`] returns has been read by the reader that LoopX
//! reads it with, so a result that would be refused is never printed.

use serde_json::{Map, Value};

use crate::{
    boundary::Private,
    error::{Code, Error, Result},
    model::{Continuation, Digest, EvidenceKind, GateId, HostFailure, Timestamp, TodoId, Usage, json_value},
    turn::{
        validate::cut,
        wire::{
            BatchScale, DeliveryOutcome, Failure, PathDelta, Request, ResultContract, ResultSchema, WireKind,
            encode_failure, parse_result,
        },
    },
};

/// The four texts of a result. Each is cut to its limit, between two characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Said<'a> {
    /// In short, what was done.
    pub summary: &'a str,
    /// One label for it.
    pub classification: &'a str,
    /// What should happen next.
    pub next_action: &'a str,
    /// What the host would do next.
    pub recommended_action: &'a str,
}

/// A result in the making.
///
/// What has to be there is asked for at the start, so that nothing required can be forgotten; the rest is added. Texts
/// are cut to the limits that the request names, lists are not: one that is too long is refused at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    turn_key: Digest,
    kind: WireKind,
    contract: ResultContract,
    fields: Map<String, Value>,
}

impl Candidate {
    /// Begins the result of a request.
    ///
    /// Errors: `invalid_argument` for a kind that the request does not take.
    pub fn new(
        request: &Request,
        kind: WireKind,
        said: Said<'_>,
        scale: BatchScale,
        outcome: DeliveryOutcome,
    ) -> Result<Self> {
        let contract = request.result_contract.clone();
        if !contract.result_kinds.contains(&kind) {
            return Err(Error::new(Code::InvalidArgument, "the request does not take a result of this kind"));
        }
        let mut candidate = Self { turn_key: request.turn_key, kind, contract, fields: Map::new() };
        let contract = candidate.contract.clone();
        candidate.put("schema_version", &ResultSchema::V0)?;
        candidate.put("turn_key", &request.turn_key)?;
        candidate.put("result_kind", &kind)?;
        candidate.put("summary", &cut(said.summary, contract.summary_max_bytes))?;
        candidate.put("classification", &cut(said.classification, contract.classification_max_bytes))?;
        candidate.put("next_action", &cut(said.next_action, contract.next_action_max_bytes))?;
        let recommended = cut(said.recommended_action, contract.recommended_action_max_bytes);
        candidate.put("recommended_action", &recommended)?;
        candidate.put("completed_phases", &Vec::<String>::new())?;
        candidate.put("delivery_batch_scale", &scale)?;
        candidate.put("delivery_outcome", &outcome)?;
        candidate.put("path_delta_mode", &PathDelta::Unsaid)?;
        Ok(candidate)
    }

    /// Names the phases that were gone through: words of `a–z 0–9 _`, each at most 60 bytes.
    pub fn phases<S: AsRef<str>>(mut self, phases: &[S]) -> Result<Self> {
        let phases: Vec<&str> = phases.iter().map(AsRef::as_ref).collect();
        self.put("completed_phases", &phases)?;
        Ok(self)
    }

    /// Says what became of the plan.
    pub fn path_delta(mut self, delta: PathDelta) -> Result<Self> {
        self.put("path_delta_mode", &delta)?;
        Ok(self)
    }

    /// Says what follows a completion.
    ///
    /// Errors: `invalid_argument` unless the result is a completion.
    pub fn continuation(mut self, continuation: &Continuation) -> Result<Self> {
        if self.kind != WireKind::ValidatedCompletion {
            return Err(Error::new(Code::InvalidArgument, "only a completion has a continuation"));
        }
        let (kind, todo_ids): (&str, &[TodoId]) = match continuation {
            Continuation::Successor { todo_ids } => ("successor", todo_ids),
            Continuation::NoFollowup => ("no_followup", &[]),
            Continuation::ActiveGoal => ("active_goal", &[]),
            Continuation::Awaits { .. } => {
                return Err(Error::new(
                    Code::InvalidArgument,
                    "what a Goal awaits is said by an owner at the command line",
                ));
            }
        };
        let mut object = Map::new();
        object.insert("kind".to_owned(), kind.into());
        if !todo_ids.is_empty() {
            object.insert("todo_ids".to_owned(), json_value(todo_ids)?);
        }
        self.fields.insert("continuation".to_owned(), object.into());
        Ok(self)
    }

    /// Adds one pointer to what shows the work: a relative path, a commit, a public URL, a check, a note.
    pub fn evidence(mut self, kind: EvidenceKind, pointer: &str, digest: Option<Digest>) -> Result<Self> {
        let mut object = Map::new();
        object.insert("kind".to_owned(), json_value(&kind)?);
        object.insert("pointer".to_owned(), pointer.into());
        if let Some(digest) = digest {
            object.insert("digest".to_owned(), json_value(&digest)?);
        }
        self.push("evidence", object.into());
        Ok(self)
    }

    /// Adds one report of what this attempt used; each report's number counts once, and it holds what is new alone: a
    /// program that counts over a whole session is to be reported by the difference.
    pub fn usage(mut self, usage: &Usage) -> Result<Self> {
        let value = json_value(usage)?;
        self.push("usage", value);
        Ok(self)
    }

    /// Says when to look again, of a wait: at this time.
    #[must_use]
    pub fn wake_after(self, at: Timestamp) -> Self {
        self.wake(&format!("after:{}", at.as_ms()))
    }

    /// Says when to look again, of a wait: when this Todo is done.
    #[must_use]
    pub fn wake_when_done(self, todo_id: &TodoId) -> Self {
        self.wake(&format!("todo_done:{todo_id}"))
    }

    /// Says when to look again, of a wait: when this gate is answered.
    #[must_use]
    pub fn wake_when_answered(self, gate_id: GateId) -> Self {
        self.wake(&format!("gate:{gate_id}"))
    }

    fn wake(mut self, wake: &str) -> Self {
        self.fields.insert("wake".to_owned(), wake.into());
        self
    }

    /// Gives the host's own name of its session, one line of at most 1,024 bytes. It stays private.
    #[must_use]
    pub fn session(mut self, handle: &Private<String>) -> Self {
        self.fields.insert("session_handle".to_owned(), handle.expose().clone().into());
        self
    }

    /// Proposes a command that the host may not give itself.
    #[must_use]
    pub fn proposal(mut self, command: Map<String, Value>, reason: &str) -> Self {
        let mut object = Map::new();
        object.insert("command".to_owned(), command.into());
        object.insert("reason".to_owned(), reason.into());
        self.push("proposals", object.into());
        self
    }

    /// The whole result, as it is to be printed.
    ///
    /// It has been read as LoopX reads it. Errors: the failure that LoopX would have found, `result_invalid` for a list
    /// with more than 32 items, a text beyond its limit, fields that contradict, a credential in any text, or
    /// `output_too_large`; the adapter reports that one instead, with [`Report`].
    pub fn encode(self) -> std::result::Result<Vec<u8>, Failure> {
        let mut bytes = Value::Object(self.fields).to_string().into_bytes();
        bytes.push(b'\n');
        parse_result(&bytes, &self.turn_key).map(|_| bytes)
    }

    fn put<T: serde::Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<()> {
        self.fields.insert(key.to_owned(), json_value(value)?);
        Ok(())
    }

    fn push(&mut self, key: &str, value: Value) {
        let list = self.fields.entry(key.to_owned()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(items) = list {
            items.push(value);
        }
    }
}

/// A failure of the program inside, to be printed in the place of a result.
///
/// The class decides what becomes of the Turn: `transport_lost`, `crashed`, `rate_limited` and `provider_capacity` are
/// tried again while attempts are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    turn_key: Digest,
    class: HostFailure,
    note: String,
}

impl Report {
    /// Reports that the request could not be worked on.
    pub fn new(request: &Request, class: HostFailure) -> Self {
        Self { turn_key: request.turn_key, class, note: String::new() }
    }

    /// Adds why, cut to 1,024 bytes. It is kept private and shown to the Turn's owner alone.
    #[must_use]
    pub fn note(mut self, note: &str) -> Self {
        note.clone_into(&mut self.note);
        self
    }

    /// The whole report, as it is to be printed. Errors: `internal`.
    pub fn encode(&self) -> Result<Vec<u8>> {
        encode_failure(self.turn_key, self.class, &self.note)
    }
}
