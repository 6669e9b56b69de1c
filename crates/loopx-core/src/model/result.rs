//! Owns what an executor says of its work, and what validators say of that.
//!
//! Knows nothing of which move either makes; the kernel's table of moves decides that.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    Continuation, Digest, Duration, EvidenceKind, Label, Privacy, ShortText, Text, Timestamp, Usage,
};

/// What an executor says of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// The Todo is done.
    ValidatedCompletion,
    /// A part of it is.
    ValidatedProgress,
    /// It found something broken that the next Turn has to repair.
    RepairRequired,
    /// The plan does not hold.
    ReplanRequired,
    /// A person has to do something.
    UserActionRequired,
    /// Something has to come true first.
    Wait,
    /// A look at a monitor: nothing new.
    LookUnchanged,
    /// A look at a monitor: something new.
    LookChanged,
}

/// A typed result whose text is screened; the rest of it is private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// What the executor says.
    pub kind: ResultKind,
    /// The digest of its whole result.
    pub digest: Digest,
    /// The requirement it was made for.
    pub requirement_revision: u64,
    /// When it was recorded.
    pub at: Timestamp,
    /// In short, what was done: ≤ 400 bytes on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ShortText>,
    /// One label for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classification: Option<Label>,
    /// What should happen next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_action: Option<Text>,
    /// What follows a completion.
    #[serde(default, skip_serializing_if = "Continuation::is_default")]
    pub continuation: Continuation,
    /// What it points at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Pointer>,
    /// What its host measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<Usage>,
    /// Whether its holder goes on with a next Turn if it settles as progress.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    /// The digest of the tree when the result came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Digest>,
    /// Paths changed outside the declared scopes: at most 32.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub outside: BTreeSet<Label>,
    /// Whether another Turn was live in the work tree meanwhile: then those paths may be its, and do not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

impl Candidate {
    /// Whether both are the same result of the same kind, whenever they were recorded.
    pub fn is_same_result(&self, other: &Self) -> bool {
        self.kind == other.kind && self.digest == other.digest
    }
}

/// Evidence that came with a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pointer {
    /// What it points at.
    pub kind: EvidenceKind,
    /// The URL, commit or relative path.
    pub pointer: ShortText,
    /// The digest of what is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Who may see the pointer.
    #[serde(default, skip_serializing_if = "Privacy::is_public")]
    pub privacy: Privacy,
}

/// What the validators said of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// In one word.
    pub outcome: VerdictOutcome,
    /// The program that decided it, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validator: Option<Label>,
    /// Its exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Why, when it is not plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<ShortText>,
    /// How long all of them took.
    pub took_ms: Duration,
    /// The digest of the tree they saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Digest>,
    /// When.
    pub at: Timestamp,
}

/// A verdict in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictOutcome {
    /// Every validator passed.
    Passed,
    /// One said progress, none refused.
    Progress,
    /// One refused.
    Failed,
    /// One could not say: missing, timed out, killed.
    Inconclusive,
    /// There was nothing to validate with.
    Unchecked,
}
