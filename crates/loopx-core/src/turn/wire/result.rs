//! Owns the result a host prints: reading it strictly, once.
//!
//! Knows nothing of whether the work was done; a validator finds that out.

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Map, Value};

use super::{
    blame::blame,
    failure::{Failure, Reason},
    reported,
    request::schema_version,
    screened::Screen,
    strict::{self, Object},
};
use crate::{
    boundary::Private,
    model::{
        Continuation, Digest, EvidenceKind, HostFailure, Label, Pointer, ResultKind, Timestamp, TodoId,
        Usage, Wake, from_json,
    },
};

/// The most a result may have, in bytes, white space around it included.
pub const RESULT_MAX_BYTES: usize = 64 * 1024;
pub(super) const SUMMARY_MAX_BYTES: usize = 400;
pub(super) const CLASSIFICATION_MAX_BYTES: usize = 120;
pub(super) const NEXT_ACTION_MAX_BYTES: usize = 1200;
pub(super) const RECOMMENDED_ACTION_MAX_BYTES: usize = 1200;
pub(super) const POINTER_MAX_BYTES: usize = 512;
pub(super) const REASON_MAX_BYTES: usize = 512;
pub(super) const LIST_MAX_ITEMS: usize = 32;
const HANDLE_MAX_BYTES: usize = 1024;
const PHASE_MAX_BYTES: usize = 60;

/// The result's schema id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResultSchema {
    /// The only one.
    #[serde(rename = "loopx_turn_result_v0")]
    V0,
}

/// What the host says of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireKind {
    /// The Todo is done.
    ValidatedCompletion,
    /// A part of it is.
    ValidatedProgress,
    /// Something broken has to be repaired next.
    RepairRequired,
    /// The plan does not hold.
    ReplanRequired,
    /// A person has to do something.
    UserActionRequired,
    /// Something has to come true first.
    Wait,
}

impl WireKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ValidatedCompletion,
        Self::ValidatedProgress,
        Self::RepairRequired,
        Self::ReplanRequired,
        Self::UserActionRequired,
        Self::Wait,
    ];
}

/// How much one delivery covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchScale {
    /// Tests alone.
    TestOnly,
    /// One surface.
    SingleSurface,
    /// Several.
    MultiSurface,
    /// An implementation.
    Implementation,
}

/// What came of it for the Goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// Something that only looks like progress.
    SurfaceOnly,
    /// A gap was found.
    OutcomeGap,
    /// The outcome came nearer.
    OutcomeProgress,
    /// The Goal's own outcome is there.
    PrimaryGoalOutcome,
}

/// What became of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathDelta {
    /// Not said.
    #[serde(rename = "")]
    Unsaid,
    /// As it was.
    Unchanged,
    /// Changed in substance.
    MaterialReplan,
}

/// A command that the host proposes and may not give; opaque here.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The command.
    pub command: Map<String, Value>,
    /// Why.
    pub reason: String,
}

/// A host's result, read and screened: a proposal, not a fact.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnResult {
    /// What the host says of its work.
    pub kind: WireKind,
    /// In short, what was done.
    pub summary: String,
    /// One label for it.
    pub classification: String,
    /// What should happen next.
    pub next_action: String,
    /// What the host would do next.
    pub recommended_action: String,
    /// The host's own phases, as it names them.
    pub completed_phases: Vec<String>,
    /// How much it covered.
    pub batch_scale: BatchScale,
    /// What came of it.
    pub outcome: DeliveryOutcome,
    /// What became of the plan.
    pub path_delta: PathDelta,
    /// What follows a completion.
    pub continuation: Option<Continuation>,
    /// What it points at.
    pub evidence: Vec<Pointer>,
    /// What it measured.
    pub usage: Vec<Usage>,
    /// When to look again, of a [`WireKind::Wait`].
    pub wake: Option<Wake>,
    /// The host's own name of its session.
    pub session_handle: Option<Private<String>>,
    /// What it proposes.
    pub proposals: Vec<Proposal>,
    /// How many private places were redacted from its text.
    pub redactions: usize,
    /// The digest of the bytes as they came; the raw text itself stays private.
    pub digest: Digest,
}

impl TurnResult {
    /// What this result means for a Todo; of a monitor, progress is a look. Source: the Turn's table of results.
    pub const fn kind_for(&self, is_monitor: bool) -> ResultKind {
        match (self.kind, is_monitor, self.path_delta) {
            (WireKind::Wait, true, _) | (WireKind::ValidatedProgress, true, PathDelta::Unchanged) => {
                ResultKind::LookUnchanged
            }
            (WireKind::ValidatedProgress, true, _) => ResultKind::LookChanged,
            (WireKind::ValidatedProgress, false, _) => ResultKind::ValidatedProgress,
            (WireKind::ValidatedCompletion, ..) => ResultKind::ValidatedCompletion,
            (WireKind::RepairRequired, ..) => ResultKind::RepairRequired,
            (WireKind::ReplanRequired, ..) => ResultKind::ReplanRequired,
            (WireKind::UserActionRequired, ..) => ResultKind::UserActionRequired,
            (WireKind::Wait, false, _) => ResultKind::Wait,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawResult {
    #[serde(deserialize_with = "strict::word", rename = "schema_version")]
    _schema_version: ResultSchema,
    turn_key: Digest,
    #[serde(deserialize_with = "strict::word")]
    result_kind: WireKind,
    summary: String,
    classification: String,
    next_action: String,
    recommended_action: String,
    completed_phases: Vec<String>,
    #[serde(deserialize_with = "strict::word")]
    delivery_batch_scale: BatchScale,
    #[serde(deserialize_with = "strict::word")]
    delivery_outcome: DeliveryOutcome,
    #[serde(deserialize_with = "strict::word")]
    path_delta_mode: PathDelta,
    continuation: Option<Object<RawContinuation>>,
    #[serde(default)]
    evidence: Option<Vec<Object<RawEvidence>>>,
    usage: Option<Vec<Object<Usage>>>,
    wake: Option<String>,
    session_handle: Option<Private<String>>,
    proposals: Option<Vec<Object<RawProposal>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawContinuation {
    #[serde(deserialize_with = "strict::word")]
    kind: ContinuationKind,
    todo_ids: Option<Vec<TodoId>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ContinuationKind {
    Successor,
    NoFollowup,
    ActiveGoal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEvidence {
    #[serde(deserialize_with = "strict::word")]
    pub(super) kind: EvidenceKind,
    pub(super) pointer: String,
    pub(super) digest: Option<Digest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProposal {
    pub(super) command: Map<String, Value>,
    pub(super) reason: String,
}

/// Whether stdout already is one whole JSON object, so that a host that goes on is only lingering.
pub fn is_complete(stdout: &[u8]) -> bool {
    let text = stdout.trim_ascii();
    // The first and last bytes decide nearly always, so this stays cheap while a result comes in small pieces.
    text.starts_with(b"{")
        && text.ends_with(b"}")
        && std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// Reads what a host printed for the Turn `turn_key`, and screens every text in it.
///
/// Fails with the class that the Turn's table knows: `output_too_large`, `result_missing`, `incompatible_version`, the
/// class that a host reports of itself, and `result_invalid` for everything else.
pub fn parse_result(stdout: &[u8], turn_key: &Digest) -> Result<TurnResult, Failure> {
    if stdout.len() > RESULT_MAX_BYTES {
        return Err(Failure::new(HostFailure::OutputTooLarge, Reason::TooLarge));
    }
    if stdout.trim_ascii().is_empty() {
        return Err(Failure::new(HostFailure::ResultMissing, Reason::Empty));
    }
    let raw = from_json::<Object<RawResult>>(stdout).map_err(|error| no_result(stdout, turn_key, &error))?;
    if raw.0.turn_key != *turn_key {
        return Err(Failure::invalid(Reason::OtherTurn));
    }
    raw.0.check(Digest::of(stdout))
}

/// Why what a host printed is no result.
fn no_result(stdout: &[u8], turn_key: &Digest, error: &serde_json::Error) -> Failure {
    let failure = if is_complete(stdout) {
        match schema_version(stdout).as_deref() {
            Some(reported::SCHEMA) => return reported::read(stdout, turn_key),
            Some("loopx_turn_result_v0") | None => Failure::invalid(blame(stdout, error)),
            Some(_) => Failure::new(HostFailure::IncompatibleVersion, Reason::OtherVersion),
        }
    } else {
        Failure::invalid(Reason::NotOneObject)
    };
    failure.because(error)
}

impl RawResult {
    fn check(self, digest: Digest) -> Result<TurnResult, Failure> {
        let mut screen = Screen::default();
        bounded("completed_phases", &self.completed_phases)?;
        let is_phase = |phase: &String| {
            let plain = phase.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            plain && !phase.is_empty() && phase.len() <= PHASE_MAX_BYTES
        };
        if !self.completed_phases.iter().all(is_phase) {
            return Err(Failure::invalid(Reason::Inconsistent("completed_phases")));
        }
        Ok(TurnResult {
            kind: self.result_kind,
            summary: screen.text("summary", &self.summary, SUMMARY_MAX_BYTES)?,
            classification: screen.text("classification", &self.classification, CLASSIFICATION_MAX_BYTES)?,
            next_action: screen.text("next_action", &self.next_action, NEXT_ACTION_MAX_BYTES)?,
            recommended_action: screen.text(
                "recommended_action",
                &self.recommended_action,
                RECOMMENDED_ACTION_MAX_BYTES,
            )?,
            completed_phases: self.completed_phases,
            batch_scale: self.delivery_batch_scale,
            outcome: self.delivery_outcome,
            path_delta: self.path_delta_mode,
            continuation: self.continuation.map(|raw| continuation(raw.0)).transpose()?,
            evidence: screen.evidence(items("evidence", self.evidence)?)?,
            usage: usage(items("usage", self.usage)?)?,
            wake: self.wake.as_deref().map(wake).transpose()?,
            session_handle: self.session_handle.map(handle).transpose()?,
            proposals: screen.proposals(items("proposals", self.proposals)?)?,
            redactions: screen.redactions(),
            digest,
        })
    }
}

fn bounded<T>(field: &'static str, list: &[T]) -> Result<(), Failure> {
    if list.len() > LIST_MAX_ITEMS { Err(Failure::invalid(Reason::TooMany(field))) } else { Ok(()) }
}

fn items<T>(field: &'static str, list: Option<Vec<Object<T>>>) -> Result<Vec<T>, Failure> {
    let list = list.unwrap_or_default();
    bounded(field, &list)?;
    Ok(list.into_iter().map(|object| object.0).collect())
}

fn continuation(raw: RawContinuation) -> Result<Continuation, Failure> {
    let todo_ids = raw.todo_ids.unwrap_or_default();
    bounded("continuation", &todo_ids)?;
    match (raw.kind, todo_ids.is_empty()) {
        (ContinuationKind::Successor, false) => Ok(Continuation::Successor { todo_ids }),
        (ContinuationKind::NoFollowup, true) => Ok(Continuation::NoFollowup),
        (ContinuationKind::ActiveGoal, true) => Ok(Continuation::ActiveGoal),
        (ContinuationKind::Successor, true)
        | (ContinuationKind::NoFollowup | ContinuationKind::ActiveGoal, false) => {
            Err(Failure::invalid(Reason::Inconsistent("continuation")))
        }
    }
}

fn usage(reports: Vec<Usage>) -> Result<Vec<Usage>, Failure> {
    let mut seen = std::collections::BTreeSet::new();
    let sound = reports.iter().all(|one| {
        let is_currency =
            |text: &Label| text.as_str().len() == 3 && text.as_str().bytes().all(|b| b.is_ascii_uppercase());
        seen.insert(one.seq)
            // The ledger counts in signed integers; an amount has no bound here, and counts as at most its own.
            && i64::try_from(one.seq).is_ok()
            && one.cost_micros.is_some() == one.currency.is_some()
            && one.currency.as_ref().is_none_or(is_currency)
    });
    if sound { Ok(reports) } else { Err(Failure::invalid(Reason::Inconsistent("usage"))) }
}

fn wake(text: &str) -> Result<Wake, Failure> {
    let parsed = text.split_once(':').and_then(|(kind, rest)| match kind {
        "after" => rest.parse().ok().filter(|ms| *ms >= 0).map(|ms| Wake::After(Timestamp::from_ms(ms))),
        "todo_done" => rest.parse().ok().map(Wake::TodoDone),
        "gate" => rest.parse().ok().map(Wake::Gate),
        _ => None,
    });
    parsed.ok_or(Failure::invalid(Reason::Inconsistent("wake")))
}

fn handle(handle: Private<String>) -> Result<Private<String>, Failure> {
    let text = handle.expose();
    if text.len() > HANDLE_MAX_BYTES {
        return Err(Failure::invalid(Reason::TooLong("session_handle")));
    }
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err(Failure::invalid(Reason::Inconsistent("session_handle")));
    }
    Ok(handle)
}
