//! Owns evidence: a pointer to something that shows that work was done, and what was made of it.

use serde::{Deserialize, Serialize};

use super::{Actor, Digest, EvidenceId, GoalId, Label, ShortText, Timestamp, TodoId, TurnId};

/// A pointer to something that shows work, and what was made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Its id.
    pub evidence_id: EvidenceId,
    /// The Goal.
    pub goal_id: GoalId,
    /// The Todo it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_id: Option<TodoId>,
    /// The Turn that brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The criterion of the Goal it shows, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<u8>,
    /// What it points at.
    pub kind: EvidenceKind,
    /// The URL, commit or relative path.
    pub pointer: ShortText,
    /// The digest of what is there, if it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Who may see the pointer.
    pub privacy: Privacy,
    /// Who brought it.
    pub produced_by: Actor,
    /// What was made of it.
    pub verdict: EvidenceVerdict,
    /// What a validator said, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validator: Option<Label>,
    /// The validator's exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// When.
    pub at: Timestamp,
}

/// What a piece of evidence points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// A file, by its path in the work tree.
    File,
    /// A commit.
    Commit,
    /// A web address.
    Url,
    /// A test or check that ran.
    Check,
    /// A statement.
    Note,
}

/// Who may see a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Privacy {
    /// Everybody.
    #[default]
    Public,
    /// The owner of the profile.
    Owner,
}

/// What was made of a piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceVerdict {
    /// A validator or a person accepts it.
    Accepted,
    /// A validator or a person rejects it.
    Rejected,
    /// Nobody looked.
    Unchecked,
}
