//! Owns the Goal, its acceptance and boundary, and the agents registered in it.
//!
//! Knows nothing of when a Goal may move; the kernel's goal rules decide that.

use std::{collections::BTreeSet, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{
    Actor, AgentId, Caps, Currency, EvidenceId, GoalId, GoalInstance, Key, Label, Limit, Origin, ScopePath,
    ShortText, Text, Timestamp, TodoId, Validator, text::parsed_text,
};
use crate::error::{Code, Error};

/// What a person wants to be true, and the terms on which agents may work towards it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// The slug.
    pub goal_id: GoalId,
    /// This life of the slug.
    pub instance: GoalInstance,
    /// What should be true in the end.
    pub objective: Text,
    /// The criteria that close it, in the order they are numbered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<Criterion>,
    /// What is not wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_goals: Vec<ShortText>,
    /// Where agents may write, and what needs a person's approval.
    #[serde(default, skip_serializing_if = "Boundary::is_open")]
    pub boundary: Boundary,
    /// When an agent must stop and ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_conditions: Vec<ShortText>,
    /// What proves a Todo that names no validator of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validators: Vec<Validator>,
    /// Pointers the work must obey, shown as required reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority_sources: Vec<ShortText>,
    /// Where the wish came up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The workspace of Todos whose claim names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// What happens to a completion that no validator proved.
    pub unvalidated: Unvalidated,
    /// Its budget over a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// In what its costs are counted, once a limit or a report has said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<Currency>,
    /// What one attempt of a Turn may use, where neither its Todo nor its agent says.
    #[serde(default, skip_serializing_if = "Caps::is_open")]
    pub ceiling: Caps,
    /// Where it stands.
    pub state: GoalState,
    /// Moves with objective, acceptance, boundary, validators and state.
    pub revision: u64,
    /// The number the next Todo gets; numbers are never reused.
    pub next_todo: u32,
    /// How many of them are replans.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub replans: u32,
    /// The replan Todo that covers it, while that is live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_by: Option<TodoId>,
    /// The monitor whose news it awaits instead of more work, and for which terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits: Option<Awaits>,
    /// Goal-wide gates that block now.
    pub goal_gates: u32,
    /// When it was started.
    pub started_at: Timestamp,
    /// Who started it.
    pub started_by: Actor,
}

/// That a Goal awaits what a monitor sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Awaits {
    /// The monitor.
    pub monitor: TodoId,
    /// The revision of the Goal for which that was said.
    pub revision: u64,
}

/// Where a Goal stands. Terminal truth is stored, never inferred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum GoalState {
    /// Work may be admitted.
    Active,
    /// What is admitted goes on; nothing new is.
    Stopped,
    /// Over; only reads and `reopen` touch it.
    Closed {
        /// How it ended.
        kind: CloseKind,
        /// Why, when it was abandoned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
        /// When.
        at: Timestamp,
    },
}

/// How a Goal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseKind {
    /// Every criterion is met or waived.
    Achieved,
    /// Given up, with a reason.
    Abandoned,
}

/// One criterion of acceptance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// What must hold.
    pub text: ShortText,
    /// A command that shows it: exit 0 means it holds. No shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Validator>,
    /// Whether it is shown.
    #[serde(default, skip_serializing_if = "CriterionState::is_open")]
    pub state: CriterionState,
}

/// Whether a criterion is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CriterionState {
    /// Nothing accepted shows it yet.
    #[default]
    Open,
    /// Accepted evidence shows it.
    Shown {
        /// The evidence.
        evidence: EvidenceId,
    },
    /// A person let it go.
    Waived {
        /// Why.
        reason: ShortText,
    },
}

impl Goal {
    /// The first criterion that nothing settles yet, counted from 1; none when acceptance is met.
    ///
    /// Invariant: the one owner of that; a Goal without any criterion lacks none.
    pub fn open_criterion(&self) -> Option<(usize, &Criterion)> {
        (1..).zip(&self.acceptance).find(|(_, criterion)| criterion.state.is_open())
    }

    /// The monitor that it awaits: as long as its terms are those for which that was said.
    pub fn awaited(&self) -> Option<&TodoId> {
        self.awaits.as_ref().filter(|awaits| awaits.revision == self.revision).map(|awaits| &awaits.monitor)
    }
}

impl CriterionState {
    /// Whether nothing settles the criterion yet.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }
}

/// Where agents of a Goal may write, and what needs a person's approval.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boundary {
    /// Path prefixes agents may declare; none means the whole tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_scopes: Vec<ScopePath>,
    /// Keys that need an approval before work that uses them is claimed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub needs_approval: BTreeSet<Key>,
    /// One owner at a time in the whole work tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_workspace: bool,
}

/// What changes of that; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundaryChange {
    /// The path prefixes anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_scopes: Option<Vec<ScopePath>>,
    /// The keys anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_approval: Option<BTreeSet<Key>>,
    /// Whether one owner at a time is in the whole work tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusive_workspace: Option<bool>,
}

impl BoundaryChange {
    /// The boundary once this has changed.
    pub fn of(&self, boundary: &Boundary) -> Boundary {
        let Self { write_scopes, needs_approval, exclusive_workspace } = self;
        Boundary {
            write_scopes: write_scopes.as_ref().unwrap_or(&boundary.write_scopes).clone(),
            needs_approval: needs_approval.as_ref().unwrap_or(&boundary.needs_approval).clone(),
            exclusive_workspace: exclusive_workspace.unwrap_or(boundary.exclusive_workspace),
        }
    }
}

impl Boundary {
    /// Whether it restricts nothing.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// What happens to a completion that no validator proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unvalidated {
    /// A person approves it through a gate.
    #[default]
    Ask,
    /// It settles with verdict unchecked, which is never accepted progress.
    Trust,
}

parsed_text! {
    /// A work tree, by the digest of its machine and its root's resolved path, and the folder in it that paths are meant
    /// from: `digest`, or `digest/sub`. Where the root lies stays private.
    Workspace
}

impl Workspace {
    /// The work tree alone.
    #[must_use]
    pub fn tree(&self) -> Self {
        Self(self.0.split('/').next().unwrap_or_default().into())
    }

    /// The folder below the root that paths are meant from; none for the root.
    pub fn below(&self) -> Option<ScopePath> {
        self.0.split_once('/').and_then(|(_, below)| below.parse().ok())
    }

    /// Whether both lie in one work tree, whatever folder of it they name.
    pub fn shares_tree(&self, other: &Self) -> bool {
        self.0.split('/').next() == other.0.split('/').next()
    }

    /// A path that is meant from the folder, as one from the root.
    ///
    /// Errors: `invalid_argument` for one that is too long then.
    pub fn from_root(&self, path: &ScopePath) -> Result<ScopePath, Error> {
        self.below().map_or_else(|| Ok(path.clone()), |below| format!("{below}/{path}").parse())
    }
}

impl FromStr for Workspace {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let (tree, below) = text.split_once('/').map_or((text, None), |(tree, below)| (tree, Some(below)));
        // Two spellings of one folder would be two folders.
        let is_normal =
            |below: &str| below.parse::<ScopePath>().is_ok_and(|path| path.as_str() == below && below != ".");
        if (16..=64).contains(&tree.len()) && tree.bytes().all(hex) && below.is_none_or(is_normal) {
            return Ok(Self(text.into()));
        }
        Err(Error::new(
            Code::InvalidId,
            "a workspace id is 16 to 64 lower-case hexadecimal digits, and perhaps `/` and a folder",
        ))
    }
}

/// An agent registered in a Goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The Goal.
    pub goal_id: GoalId,
    /// The identity.
    pub agent_id: AgentId,
    /// What it can do; a Todo may require some of them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<Label>,
    /// Its own budget in this Goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// What one attempt of its Turns may use, where the Todo does not say.
    #[serde(default, skip_serializing_if = "Caps::is_open")]
    pub ceiling: Caps,
    /// Whether its last Turn looked at a monitor: between two others it looks at one at most.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looked_last: bool,
    /// How many of its proposals wait for a person.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub proposals: u32,
    /// When it was registered, last.
    pub registered_at: Timestamp,
    /// When it was retired, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<Timestamp>,
}

impl Agent {
    /// Whether it may claim.
    pub const fn is_registered(&self) -> bool {
        self.retired_at.is_none()
    }
}
