//! Owns the Todo: its fields, its states, and the ownership that is part of its row.
//!
//! Knows nothing of when a Todo may move or be claimed; the kernel decides that.

use std::{collections::BTreeSet, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{
    Actor, AgentId, Caps, Covering, Duration, EffectId, EndpointId, EvidenceId, GateId, Key, Label, Origin,
    OwnId, Replans, ShortText, Text, Timestamp, Title, TodoId, TurnId, Workspace, text::parsed_text,
};
use crate::error::{Code, Error};

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    /// Its id.
    pub todo_id: TodoId,
    /// One line.
    pub title: Title,
    /// What sort of work it is.
    pub kind: TodoKind,
    /// How soon it is wanted.
    pub priority: Priority,
    /// Todos that must be done before.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub depends_on: BTreeSet<TodoId>,
    /// What an executor must have and may touch.
    #[serde(default, skip_serializing_if = "Requires::is_empty")]
    pub requires: Requires,
    /// Agents that may not take it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub excluded_agents: BTreeSet<AgentId>,
    /// What proves it; none means the Goal's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validators: Vec<Validator>,
    /// How often it is looked at, for a monitor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Monitor>,
    /// The Todo whose acceptance gate its completion approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviews: Option<TodoId>,
    /// The coordinator Todo that it returns its result to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<TodoId>,
    /// What one attempt of its Turns may use.
    #[serde(default, skip_serializing_if = "Caps::is_open")]
    pub ceiling: Caps,
    /// A person's pause, beside the state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// Where the wish came up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Who added it.
    pub made_by: Actor,
    /// When it was added.
    pub made_at: Timestamp,
    /// Where it stands.
    pub state: TodoState,
    /// Moves with every write of this row.
    pub revision: u64,
    /// Moves with what has to be done.
    pub requirement_revision: u64,
    /// How often it was claimed, for the life of the Todo: the fence.
    pub epoch: u64,
    /// Whether an agent other than its maker ever owned it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub owned_by_another: bool,
    /// How many Turns it had.
    pub turn_no: u64,
    /// The agent it was handed to, for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Reserved>,
    /// The last ownership that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_own_id: Option<OwnId>,
    /// Who owns it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ownership: Option<Ownership>,
    /// Its one Turn that has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// How its last Turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_end: Option<LastEnd>,
    /// The outside effects that keep it from being claimed or completed; what they are stands in their own rows.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub blocking_effects: BTreeSet<EffectId>,
    /// What its plan is to be changed for.
    #[serde(default, skip_serializing_if = "Replans::is_none")]
    pub replans: Replans,
    /// What it covers, if it is a replan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covering: Option<Box<Covering>>,
    /// What other rows' moves keep up to date; stored beside the row, never in it.
    #[serde(skip)]
    pub counters: Counters,
}

impl Todo {
    /// A new one, open, that asks for nothing and that nobody has worked on.
    pub fn blank(todo_id: TodoId, title: Title, kind: TodoKind, made_by: Actor, made_at: Timestamp) -> Self {
        Self {
            todo_id,
            title,
            kind,
            priority: Priority::default(),
            depends_on: BTreeSet::new(),
            requires: Requires::default(),
            excluded_agents: BTreeSet::new(),
            validators: Vec::new(),
            monitor: None,
            reviews: None,
            coordinates: None,
            ceiling: Caps::default(),
            blocking_effects: BTreeSet::new(),
            hold: false,
            origin: None,
            made_by,
            made_at,
            state: TodoState::Open,
            revision: 1,
            requirement_revision: 1,
            epoch: 0,
            owned_by_another: false,
            turn_no: 0,
            reserved: None,
            last_own_id: None,
            ownership: None,
            turn_id: None,
            last_end: None,
            replans: Replans::default(),
            covering: None,
            counters: Counters::default(),
        }
    }

    /// Whether it can still be worked on: open, deferred or blocked.
    pub const fn is_live(&self) -> bool {
        match self.state {
            TodoState::Open | TodoState::Deferred { .. } | TodoState::Blocked { .. } => true,
            TodoState::Done { .. } | TodoState::Cancelled { .. } => false,
        }
    }

    /// How its last Turn ended, where its result was refused and is still to be repaired.
    pub fn to_repair(&self) -> Option<&LastEnd> {
        self.last_end.as_ref().filter(|end| end.repair)
    }

    /// The agent of its last Turn that did not merely stop.
    pub fn author(&self) -> Option<&AgentId> {
        self.last_end.as_ref()?.by.as_ref()
    }

    /// Whether it is done.
    pub const fn is_done(&self) -> bool {
        matches!(self.state, TodoState::Done { .. })
    }
}

/// The long part of a Todo, read only when it is shown or executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoText {
    /// What exactly is wanted.
    pub detail: Text,
}

/// Counts that the moves of other rows change set-wise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Dependencies that are not done.
    pub unmet: u32,
    /// Dependencies that were cancelled.
    pub cancelled_deps: u32,
    /// Gates that name this Todo and block.
    pub blocking_gates: u32,
    /// When what it waits for came true, for a wake that names a Todo or a gate.
    pub woken_at: Option<Timestamp>,
    /// Whether what it waits for can no longer come true.
    pub wake_lost: bool,
}

/// What sort of work a Todo is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoKind {
    /// Work for an agent.
    Advance,
    /// Something an agent looks at again and again.
    Monitor,
    /// An obligation to change the plan; only the system makes it.
    Replan,
    /// Something in the way; resolved, not executed.
    Blocker,
    /// Work for a person.
    Action,
}

impl TodoKind {
    /// Whether an agent executes it.
    pub const fn is_executable(self) -> bool {
        match self {
            Self::Advance | Self::Monitor | Self::Replan => true,
            Self::Blocker | Self::Action => false,
        }
    }

    /// The stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Advance => "advance",
            Self::Monitor => "monitor",
            Self::Replan => "replan",
            Self::Blocker => "blocker",
            Self::Action => "action",
        }
    }
}

/// How soon a Todo is wanted: P0 first, P4 last, P2 by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Priority {
    /// Before everything.
    P0,
    /// Soon.
    P1,
    /// In turn.
    #[default]
    P2,
    /// Later.
    P3,
    /// When nothing else is there.
    P4,
}

impl Priority {
    /// Whether it is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// All five, most urgent first.
    pub const ALL: [Self; 5] = [Self::P0, Self::P1, Self::P2, Self::P3, Self::P4];

    /// The stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P0 => "P0",
            Self::P1 => "P1",
            Self::P2 => "P2",
            Self::P3 => "P3",
            Self::P4 => "P4",
        }
    }
}

/// What an executor must have, and what it may touch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requires {
    /// Capabilities of the agent.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<Label>,
    /// Path prefixes it will write below.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub write_scopes: BTreeSet<ScopePath>,
    /// Classes of outside effects it will have.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub effects: BTreeSet<Label>,
    /// Whether it makes something public.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub publish: bool,
}

/// What changes of that; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiresChange {
    /// The capabilities anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<Label>>,
    /// The path prefixes anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_scopes: Option<BTreeSet<ScopePath>>,
    /// The classes of outside effects anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<BTreeSet<Label>>,
    /// Whether it makes something public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<bool>,
}

impl RequiresChange {
    /// What is required once this has changed.
    pub fn of(&self, requires: &Requires) -> Requires {
        let Self { capabilities, write_scopes, effects, publish } = self;
        Requires {
            capabilities: capabilities.as_ref().unwrap_or(&requires.capabilities).clone(),
            write_scopes: write_scopes.as_ref().unwrap_or(&requires.write_scopes).clone(),
            effects: effects.as_ref().unwrap_or(&requires.effects).clone(),
            publish: publish.unwrap_or(requires.publish),
        }
    }
}

impl Requires {
    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The keys an approval may be needed for.
    pub fn keys(&self) -> BTreeSet<Key> {
        let capabilities = self.capabilities.iter().cloned().map(Key::Capability);
        let paths = self.write_scopes.iter().cloned().map(Key::Path);
        let effects = self.effects.iter().cloned().map(Key::Effect);
        capabilities.chain(paths).chain(effects).chain(self.publish.then_some(Key::Publish)).collect()
    }
}

parsed_text! {
    /// A normalised path prefix within a work tree: relative, `/`-separated, no `.` or `..`; `.` is the whole tree.
    ScopePath
}

impl ScopePath {
    /// The whole tree.
    pub fn whole_tree() -> Self {
        Self(".".into())
    }

    /// Whether everything below `other` also lies below this.
    pub fn contains(&self, other: &Self) -> bool {
        if &*self.0 == "." || self.0 == other.0 {
            return true;
        }
        other.0.strip_prefix(&*self.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Whether some path lies below both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(other) || other.contains(self)
    }
}

impl FromStr for ScopePath {
    type Err = Error;

    /// Normalises: drops empty and `.` parts; an absolute path, `..`, a backslash, NUL or over 512 bytes is refused.
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |why: &str| Error::new(Code::InvalidArgument, format!("a write scope {why}"));
        if text.trim().is_empty() || text.len() > 512 {
            return Err(bad("is 1 to 512 bytes"));
        }
        if text.starts_with('/') {
            return Err(bad("is relative to the work tree"));
        }
        if text.chars().any(|c| c.is_control() || c == '\\') {
            return Err(bad("holds no control character and no backslash"));
        }
        let parts: Vec<_> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return Err(bad("never climbs with `..`"));
        }
        if parts.is_empty() {
            return Ok(Self::whole_tree());
        }
        Ok(Self(parts.join("/").into()))
    }
}

/// A command that proves a result; 0 passes. No shell; side-effect free by contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validator {
    /// Program and arguments; the program was resolved when this was written.
    pub argv: Vec<Box<str>>,
    /// The exit code that means progress, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_exit: Option<u8>,
    /// How long it may take.
    pub timeout_ms: Duration,
    /// Environment recorded when this was written; nothing else is inherited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(Box<str>, Box<str>)>,
}

/// How often a monitor is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Monitor {
    /// At least 60 s.
    pub every_ms: Duration,
    /// Looks without change before a person hears of it.
    pub unchanged_limit: u32,
    /// When it was looked at, last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<Timestamp>,
    /// Looks without change in a row.
    #[serde(default)]
    pub unchanged: u32,
}

impl Monitor {
    /// When it is looked at the next time; none where nobody has looked yet, so that it is due.
    pub fn due_at(&self) -> Option<Timestamp> {
        self.looked_at.map(|at| at.plus(self.every_ms))
    }
}

/// Where a Todo stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TodoState {
    /// To be done.
    Open,
    /// To be done once something has come true.
    Deferred {
        /// What that is.
        wake: Wake,
    },
    /// Something is in the way.
    Blocked {
        /// What that is.
        reason: ShortText,
    },
    /// Done.
    Done {
        /// How it was completed.
        completion: Completion,
    },
    /// Will not be done.
    Cancelled {
        /// Why not.
        reason: ShortText,
        /// The Todo that takes its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        superseded_by: Option<TodoId>,
        /// When.
        at: Timestamp,
    },
}

impl TodoState {
    /// The stable spelling.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Deferred { .. } => "deferred",
            Self::Blocked { .. } => "blocked",
            Self::Done { .. } => "done",
            Self::Cancelled { .. } => "cancelled",
        }
    }
}

/// What a deferred Todo waits for: `after:<ms>`, `todo_done:<id>` or `gate:<id>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Wake {
    /// A moment.
    After(Timestamp),
    /// Another Todo's completion.
    TodoDone(TodoId),
    /// A gate's approval or answer.
    Gate(GateId),
}

/// How a Todo was completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// When.
    pub at: Timestamp,
    /// Who completed it.
    pub by: Actor,
    /// The Turn that did, unless a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// What follows.
    #[serde(default)]
    pub continuation: Continuation,
    /// Why a person let the validators go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waived: Option<ShortText>,
    /// The evidence it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
}

/// What follows a completion.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Continuation {
    /// Whatever the Goal has next.
    #[default]
    ActiveGoal,
    /// Nothing.
    NoFollowup,
    /// These Todos of the same Goal.
    Successor {
        /// At most 32.
        todo_ids: Vec<TodoId>,
    },
    /// What a monitor sees; said of a replan that covers the whole Goal.
    Awaits {
        /// The monitor.
        monitor: TodoId,
    },
}

impl Continuation {
    /// Whether it is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Claim, lease and fence in one: who owns a Todo, until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ownership {
    /// The one token an owner presents.
    pub own_id: OwnId,
    /// The agent.
    pub agent_id: AgentId,
    /// The endpoint that executes for it.
    pub endpoint: EndpointId,
    /// When it was claimed.
    pub acquired_at: Timestamp,
    /// Until when it keeps others out.
    pub expires_at: Timestamp,
    /// How far a renewal moves that.
    pub ttl_ms: Duration,
    /// Whether its Turn is held or unresolved, and time does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
    /// The Turn it stands for.
    pub turn_id: TurnId,
    /// Where it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// What it writes below there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub scopes: BTreeSet<ScopePath>,
}

/// A transfer's reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserved {
    /// For whom.
    pub agent_id: AgentId,
    /// Until when.
    pub until: Timestamp,
}

/// How a Todo's last Turn ended, as far as the next one must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastEnd {
    /// The Turn.
    pub turn_id: TurnId,
    /// Its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentId>,
    /// Whether the next Turn repairs it.
    pub repair: bool,
    /// What went wrong, or was achieved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<ShortText>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_normalised_and_compared_by_whole_parts() {
        let scope = |text: &str| text.parse::<ScopePath>().unwrap();
        assert_eq!(scope("./a//b/").as_str(), "a/b");
        assert_eq!(scope("./"), ScopePath::whole_tree());
        assert!(scope("a").contains(&scope("a/b")) && !scope("a").contains(&scope("ab")));
        assert!(scope("a/b").overlaps(&scope("a")) && scope(".").overlaps(&scope("x")));
        for bad in ["", " ", "/a", "..", "a/../b", "a\\b", "a\0", &"x".repeat(513)] {
            assert_eq!(bad.parse::<ScopePath>().unwrap_err().code(), Code::InvalidArgument, "{bad:?}");
        }
    }
}
