//! Owns evidence: a pointer to something that shows that work was done, and what was made of it.

use serde::{Deserialize, Serialize};

use super::{Actor, Digest, EvidenceId, GoalId, Label, ShortText, Timestamp, TodoId, TurnId};
use crate::error::{Code, Error, Result, echo};

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

impl EvidenceKind {
    /// Refuses a pointer that leads out of the work tree; a note is words, and points nowhere.
    ///
    /// Errors: `invalid_argument`.
    pub fn check(self, pointer: &str) -> Result<()> {
        if matches!(self, Self::Note) || !leads_outside(pointer) {
            return Ok(());
        }
        let message = format!(
            "evidence is a relative path inside the work tree, a URL or a commit, not `{}`",
            echo(pointer)
        );
        Err(Error::new(Code::InvalidArgument, message)
            .hint("evidence add --help")
            .detail("argument", "pointer"))
    }
}

/// An absolute path of any platform, one below a home, a `file:` URL, or one that climbs.
fn leads_outside(pointer: &str) -> bool {
    let text = pointer.trim_start();
    let mut chars = text.chars();
    let is_drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':');
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let climbs = || text.split(['/', '\\']).any(|part| part == "..");
    text.starts_with(['/', '\\', '~'])
        || is_drive
        || scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("file"))
        || (!text.contains("://") && climbs())
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

impl Privacy {
    /// Whether everybody may see it; for fields that are left out when they say so.
    pub const fn is_public(&self) -> bool {
        matches!(self, Self::Public)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_stays_inside_the_work_tree() {
        for good in
            ["a.txt", "a/b..c/..d", "./x", "https://example.org/a/../b", "9f2c1e0", "sh check.sh", "a:b"]
        {
            let taken =
                if good == "a:b" { EvidenceKind::Note.check(good) } else { EvidenceKind::File.check(good) };
            taken.unwrap_or_else(|e| panic!("{good}: {e}"));
        }
        for bad in [
            "../../x",
            "a/../../x",
            "..",
            "a\\..\\x",
            "/etc/passwd",
            " /etc/passwd",
            "\\\\host\\share",
            "~/x",
            "C:\\x",
            "c:x",
            "file:///etc/passwd",
            "FILE:/x",
        ] {
            for kind in [EvidenceKind::File, EvidenceKind::Commit, EvidenceKind::Url, EvidenceKind::Check] {
                let error = kind.check(bad).unwrap_err();
                assert_eq!(
                    (error.code(), error.hint_args()),
                    (Code::InvalidArgument, Some("evidence add --help")),
                    "{bad}"
                );
            }
        }
    }
}
