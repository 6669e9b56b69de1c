//! Owns one attempt of a driven Turn: where it ran, by what it was held together, how it ended.
//!
//! Knows nothing of which move is allowed; the kernel's table of moves decides that.

use serde::{Deserialize, Serialize};

use super::{Digest, HostFailure, Label, MachineId, Timestamp};

/// One try of one host within a Turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// From 1.
    pub number: u8,
    /// The host's name.
    pub host: Label,
    /// Its version, if it said one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_version: Option<Label>,
    /// The machine it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<MachineId>,
    /// The boot of that machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<Label>,
    /// The pid namespace there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<Label>,
    /// What its whole process tree carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<Label>,
    /// By what its process tree is held together; none where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<Guarantee>,
    /// When it was dispatched.
    pub dispatched_at: Timestamp,
    /// When it is ended at the latest, if LoopX runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    /// The digest of the tree before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Digest>,
    /// How it ended, once that is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<AttemptEnd>,
}

/// The recorded end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptEnd {
    /// When.
    pub at: Timestamp,
    /// What failed, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<HostFailure>,
}

/// By what a process tree is held together, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// A guardian and a control group, which nothing leaves; a host that works on for 50 ms is moved
    /// into it.
    Cgroup,
    /// A guardian that adopts whatever loses its parent.
    SubReaper,
    /// The process group and the mark that it carries: what leaves both is not seen. Nobody guards it.
    GroupOnly,
}

impl Guarantee {
    /// The spelling in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::SubReaper => "sub_reaper",
            Self::GroupOnly => "group_only",
        }
    }

    /// Whether a guardian holds it.
    pub const fn is_guarded(self) -> bool {
        match self {
            Self::Cgroup | Self::SubReaper => true,
            Self::GroupOnly => false,
        }
    }
}
