//! Owns what is kept of a host's and a validator's own words, and reading it back for the owner.
//!
//! Knows nothing of what the words mean. Invariant: they lie in the private store of this machine and in no fact, and
//! are kept before any fact points at them.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::site::Site;
use crate::{
    boundary::OwnerView,
    error::{Code, Error, Result},
    model::{Attempt, Turn, TurnId, from_json},
    private::{Body, Kind, PrivateStore},
    process::Outcome,
};

/// How an attempt of a host ended, as its driver saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// In words: the exit status, the signal, or why it was ended.
    pub ended: String,
    /// From start to proved end, in milliseconds.
    pub wall_ms: u64,
    /// All that came on stdout, in bytes.
    pub stdout_seen_bytes: u64,
    /// All that came on stderr, in bytes.
    pub stderr_seen_bytes: u64,
    /// What it left running and had to be ended, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlived: Vec<String>,
    /// That nobody heard what it printed, so that nothing seen is not nothing printed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheard: bool,
}

impl Ending {
    /// Whether it is known that nothing was printed.
    pub const fn is_silent(&self) -> bool {
        !self.unheard && self.stdout_seen_bytes == 0 && self.stderr_seen_bytes == 0
    }
}

/// Whose words they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The host, in this attempt.
    Attempt(u8),
    /// The validators, when they last ran.
    Validators,
}

/// What was kept of one speaker; none of it says that nothing was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Whose.
    pub speaker: Speaker,
    /// How it ended; not of validators, whose end is a fact.
    pub ending: Option<Ending>,
    /// What it printed as its result.
    pub stdout: Option<Vec<u8>>,
    /// What it printed beside it; of validators, all they printed.
    pub diagnostics: Option<Vec<u8>>,
    /// Whether something of it was kept, and has been purged.
    pub purged: bool,
}

impl Kept {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.ending.is_none() && self.stdout.is_none() && self.diagnostics.is_none()
    }
}

/// Keeps what a host said, before any fact points at it, and how it ended: of who said nothing, that it did.
pub(super) fn keep(site: &mut Site<'_>, turn_id: TurnId, number: u8, outcome: &Outcome) -> Result<()> {
    let id = spool_id(turn_id, number);
    let mut bodies: Vec<Body> = Vec::new();
    if !outcome.stdout.is_empty() {
        bodies.push(Site::body(Kind::Result, id.clone(), turn_id, outcome.stdout.clone())?);
    }
    if !outcome.stderr.is_empty() {
        bodies.push(Site::body(Kind::Diagnostics, id.clone(), turn_id, outcome.stderr.clone())?);
    }
    let ending = Ending {
        ended: outcome.ended.to_string(),
        wall_ms: outcome.wall_ms,
        stdout_seen_bytes: outcome.stdout_seen_bytes,
        stderr_seen_bytes: outcome.stderr_seen_bytes,
        outlived: outcome.outlived.iter().take(8).map(|process| process.name.clone()).collect(),
        unheard: false,
    };
    let bytes = serde_json::to_vec(&ending).map_err(|e| Error::from(Code::Internal).internal(e))?;
    bodies.push(Site::body(Kind::Ending, id, turn_id, bytes)?);
    site.private.put_all(&bodies).map(drop)
}

/// Keeps why nothing is kept of what a host said, for its owner.
pub(super) fn keep_note(site: &mut Site<'_>, turn_id: TurnId, number: u8, note: &str) -> Result<()> {
    let ending = Ending {
        ended: note.to_owned(),
        wall_ms: 0,
        stdout_seen_bytes: 0,
        stderr_seen_bytes: 0,
        outlived: Vec::new(),
        unheard: true,
    };
    let bytes = serde_json::to_vec(&ending).map_err(|e| Error::from(Code::Internal).internal(e))?;
    let body = Site::body(Kind::Ending, spool_id(turn_id, number), turn_id, bytes)?;
    site.private.put_all(&[body]).map(drop)
}

/// Keeps what validators printed, before their verdict; nothing, unless what they printed before would pass for it.
pub(super) fn keep_proof(site: &mut Site<'_>, turn_id: TurnId, output: &[u8]) -> Result<()> {
    let id = proof_id(turn_id);
    if output.is_empty() {
        let before = site.private.latest(Kind::Diagnostics, &id)?;
        if before.is_none_or(|body| body.bytes.is_empty()) {
            return Ok(());
        }
    }
    let body = Site::body(Kind::Diagnostics, id, turn_id, output.to_vec())?;
    site.private.put_all(&[body]).map(drop)
}

/// What an attempt printed as its result, if it was kept.
pub(super) fn result(site: &mut Site<'_>, turn_id: TurnId, number: u8) -> Result<Option<Body>> {
    site.private.latest(Kind::Result, &spool_id(turn_id, number))
}

/// Reads what was kept of a Turn's attempts and validators, for its owner.
///
/// The words of a taken result are left out: its facts are in the Turn, the rest was for LoopX alone. Errors:
/// `store_*`.
pub fn kept(private: &mut PrivateStore, turn: &Turn) -> Result<OwnerView<Vec<Kept>>> {
    let mut all = Vec::new();
    for attempt in turn.attempts.iter().filter(|_| turn.is_driven()) {
        all.push(of_attempt(private, turn, attempt)?);
    }
    if turn.verdict.is_some() {
        let id = proof_id(turn.turn_id);
        let diagnostics = said(private, Kind::Diagnostics, &id)?;
        let purged = private.is_purged(Kind::Diagnostics, &id)?;
        all.push(Kept { speaker: Speaker::Validators, ending: None, stdout: None, diagnostics, purged });
    }
    Ok(OwnerView::new(all))
}

fn of_attempt(private: &mut PrivateStore, turn: &Turn, attempt: &Attempt) -> Result<Kept> {
    let id = spool_id(turn.turn_id, attempt.number);
    let ending = private.latest(Kind::Ending, &id)?.map(|body| {
        from_json(&body.bytes)
            .map_err(|e| Error::new(Code::StoreCorrupt, "how an attempt ended cannot be read").internal(e))
    });
    let mut purged = false;
    for kind in [Kind::Ending, Kind::Result, Kind::Diagnostics] {
        purged |= private.is_purged(kind, &id)?;
    }
    let is_taken = attempt.end.as_ref().is_some_and(|end| end.failure.is_none());
    Ok(Kept {
        speaker: Speaker::Attempt(attempt.number),
        ending: ending.transpose()?,
        stdout: if is_taken { None } else { said(private, Kind::Result, &id)? },
        diagnostics: said(private, Kind::Diagnostics, &id)?,
        purged,
    })
}

fn said(private: &mut PrivateStore, kind: Kind, id: &str) -> Result<Option<Vec<u8>>> {
    Ok(private.latest(kind, id)?.map(|body| body.bytes).filter(|bytes| !bytes.is_empty()))
}

/// The texts of a Turn that lie in the private store, with their sizes in bytes; the texts are not read out.
///
/// Errors: `store_*`.
pub fn bodies(private: &mut PrivateStore, turn: &Turn) -> Result<Vec<(Kind, String, usize)>> {
    let mut ids: Vec<(Kind, String)> = Vec::new();
    for attempt in &turn.attempts {
        let id = spool_id(turn.turn_id, attempt.number);
        ids.extend([(Kind::Result, id.clone()), (Kind::Diagnostics, id)]);
    }
    ids.push((Kind::Diagnostics, proof_id(turn.turn_id)));
    let mut found = Vec::new();
    for (kind, id) in ids {
        if let Some(bytes) = said(private, kind, &id)? {
            found.push((kind, id, bytes.len()));
        }
    }
    Ok(found)
}

/// The id under which what an attempt said is kept.
fn spool_id(turn_id: TurnId, number: u8) -> String {
    format!("{turn_id}.{number}")
}

/// The id under which what the validators of a Turn said is kept.
fn proof_id(turn_id: TurnId) -> String {
    format!("{turn_id}.v")
}

/// One validator's part of what is kept: its name and end, then what it printed; none when it printed nothing.
pub(super) fn proof_part(name: &str, ended: &str, outcome: &Outcome) -> Vec<u8> {
    if outcome.stdout.is_empty() && outcome.stderr.is_empty() {
        return Vec::new();
    }
    let mut head = String::new();
    let _ = writeln!(head, "[{name}: {ended}]");
    let mut part = head.into_bytes();
    for stream in [&outcome.stdout, &outcome.stderr] {
        part.extend_from_slice(stream);
        if stream.last().is_some_and(|last| *last != b'\n') {
            part.push(b'\n');
        }
    }
    part
}
