//! Owns the Turn: one governed attempt, its attempts at a host, its candidate and its verdict.
//!
//! Knows nothing of which move is allowed; the kernel's table of moves decides that.

use serde::{Deserialize, Serialize};

use super::{
    Actor, AgentId, Attempt, Bucket, Candidate, Digest, EndpointId, EntryId, GateId, GoalId, IncarnationId,
    MachineId, OwnId, ShortText, Slot, Spend, Timestamp, TodoId, TurnId, Verdict, VerdictOutcome, Workspace,
};

/// One governed, bounded attempt by one executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Its id.
    pub turn_id: TurnId,
    /// The Goal.
    pub goal_id: GoalId,
    /// What names this Turn in every ledger: the digest of authority, incarnation, Goal, Todo, epoch and number.
    pub turn_key: Digest,
    /// What it is about.
    pub kind: TurnKind,
    /// For whom it executes.
    pub agent_id: AgentId,
    /// Through which endpoint.
    pub endpoint: EndpointId,
    /// The ownership that admitted it.
    pub own_id: OwnId,
    /// Who runs the executor.
    pub executor: Executor,
    /// The ledger's life it was admitted in.
    pub incarnation: IncarnationId,
    /// The fence.
    pub epoch: u64,
    /// Its number among the Todo's Turns.
    pub turn_no: u64,
    /// The machine of its driver, if LoopX drives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<MachineId>,
    /// Where it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// When it was admitted.
    pub admitted_at: Timestamp,
    /// The digest of the facts it was decided on.
    pub decision: Digest,
    /// The revision of the requirement its executor was given.
    pub requirement_revision: u64,
    /// The bucket its slot was reserved in.
    pub bucket: Bucket,
    /// What became of that slot.
    pub slot: Slot,
    /// What it may use and used beside it, where that is limited or was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<Box<Spend>>,
    /// Where it stands.
    pub state: TurnState,
    /// Its attempts, in order; at most [`Turn::ATTEMPTS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// What its executor says it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Candidate>,
    /// What the validators said of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// How often the tree moved under its candidate.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub moved: u8,
    /// The wish that it stop, until its executor is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_wish: Option<StopWish>,
    /// The gate that asks a person to accept its result, if no validator could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_gate: Option<GateId>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

impl Turn {
    /// How often a host may be tried within one Turn.
    pub const ATTEMPTS_MAX: usize = 3;

    /// The Todo, if it works on one.
    pub const fn todo_id(&self) -> Option<&TodoId> {
        match &self.kind {
            TurnKind::Work { todo_id } => Some(todo_id),
            TurnKind::Converse { .. } => None,
        }
    }

    /// Whether another works in the same work tree, whatever folder of it each is in.
    pub fn shares_tree(&self, other: &Self) -> bool {
        match (&self.workspace, &other.workspace) {
            (Some(one), Some(other)) => one.shares_tree(other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Whether nothing leads out of its state.
    pub const fn is_terminal(&self) -> bool {
        match self.state {
            TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => {
                true
            }
            TurnState::Admitted
            | TurnState::Dispatched
            | TurnState::Candidate
            | TurnState::Held { .. }
            | TurnState::Unresolved { .. } => false,
        }
    }

    /// Whether LoopX launched, or will launch, the executor.
    pub const fn is_driven(&self) -> bool {
        match self.executor {
            Executor::Hosted | Executor::Managed => true,
            Executor::Attached => false,
        }
    }

    /// Whether its result is true, and not on its executor's word alone: a validator passed it, or a person accepted it.
    pub fn is_proven(&self) -> bool {
        let validated = self.verdict.as_ref().is_some_and(|verdict| match verdict.outcome {
            VerdictOutcome::Passed | VerdictOutcome::Progress => true,
            VerdictOutcome::Failed | VerdictOutcome::Inconclusive | VerdictOutcome::Unchecked => false,
        });
        self.state == TurnState::Settled && (validated || self.acceptance_gate.is_some())
    }

    /// The attempt whose end is not recorded, of a driven Turn.
    pub fn open_attempt(&self) -> Option<&Attempt> {
        self.attempts.last().filter(|attempt| self.is_driven() && attempt.end.is_none())
    }
}

/// What a Turn is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TurnKind {
    /// A Todo.
    Work {
        /// Which.
        todo_id: TodoId,
    },
    /// A message in a session's queue.
    Converse {
        /// Which.
        entry_id: EntryId,
    },
}

/// Who runs the executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executor {
    /// LoopX launches a host for this Turn.
    Hosted,
    /// The host of a managed session.
    Managed,
    /// An agent that came by itself.
    Attached,
}

/// Where a Turn stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TurnState {
    /// Admitted; no executor yet.
    Admitted,
    /// An executor works, or may.
    Dispatched,
    /// A result is there, to be validated.
    Candidate,
    /// A validated result waits; why is derived, but for the tree.
    Held {
        /// Whether the tree moved twice under it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tree_busy: bool,
    },
    /// What happened is not known.
    Unresolved {
        /// Why not.
        why: Unresolved,
        /// Whether its executor was proved gone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executor_gone: bool,
    },
    /// The result was made true.
    Settled,
    /// It was ended without a result.
    Stopped {
        /// Why.
        why: Stopped,
    },
    /// The host, or the validators, failed it.
    Failed {
        /// How.
        how: FailedBy,
    },
    /// Another ownership took over; nothing of it counts.
    Fenced,
}

impl TurnState {
    /// The stable spelling.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Dispatched => "dispatched",
            Self::Candidate => "candidate",
            Self::Held { .. } => "held", // same spelling: a state, or a host failure
            Self::Unresolved { .. } => "unresolved",
            Self::Settled => "settled",
            Self::Stopped { .. } => "stopped",
            Self::Failed { .. } => "failed",
            Self::Fenced => "fenced",
        }
    }
}

/// Why a Turn's outcome is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unresolved {
    /// Its executor is gone, and what it did cannot be told.
    Lost,
    /// A validator was missing, timed out, or was killed.
    Inconclusive,
    /// It belongs to an earlier life of the ledger.
    Incarnation,
}

/// Why a Turn was ended without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// Its owner let go.
    Released,
    /// Its owner, or a person, handed the Todo on.
    Transferred,
    /// A person took it away.
    ForceReleased,
    /// The Todo was deferred.
    Deferred,
    /// The Todo was blocked.
    Blocked,
    /// The Todo was cancelled.
    Cancelled,
    /// The executor needs a person.
    UserAction,
    /// The executor waits for something.
    Wait,
    /// Its ownership ran out.
    Lapsed,
    /// Somebody stopped it.
    Stop,
    /// A person gave it up.
    Abandoned,
    /// Its agent was retired.
    Retired,
    /// The Goal was closed.
    GoalClosed,
    /// Its ownership ran out and its scopes were taken.
    ScopesTaken,
    /// A person denied what it needs.
    Denied,
}

/// What failed a Turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedBy {
    /// The host.
    Host(HostFailure),
    /// The validators.
    Validate,
}

/// How a host can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostFailure {
    /// It is not signed in.
    AuthRequired,
    /// Its session cannot be resumed.
    SessionUnavailable,
    /// It may not use the workspace.
    WorkspaceDenied,
    /// It ran past its deadline.
    Timeout,
    /// It was silent too long.
    IdleTimeout,
    /// Its connection broke.
    TransportLost,
    /// It said too much.
    OutputTooLarge,
    /// It ended without a result.
    ResultMissing,
    /// Its result cannot be taken.
    ResultInvalid,
    /// Its provider has no room.
    ProviderCapacity,
    /// Its provider slows it down.
    RateLimited,
    /// Its version is known not to work.
    IncompatibleVersion,
    /// It crashed.
    Crashed,
}

impl HostFailure {
    /// Whether another attempt of the same Turn may follow.
    pub const fn is_retried(self) -> bool {
        match self {
            Self::TransportLost | Self::Crashed | Self::RateLimited | Self::ProviderCapacity => true,
            Self::AuthRequired
            | Self::SessionUnavailable
            | Self::WorkspaceDenied
            | Self::Timeout
            | Self::IdleTimeout
            | Self::OutputTooLarge
            | Self::ResultMissing
            | Self::ResultInvalid
            | Self::IncompatibleVersion => false,
        }
    }

    /// The stable spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthRequired => "auth_required",
            Self::SessionUnavailable => "session_unavailable", // same spelling: a state, or a host failure
            Self::WorkspaceDenied => "workspace_denied",
            Self::Timeout => "timeout",
            Self::IdleTimeout => "idle_timeout",
            Self::TransportLost => "transport_lost",
            Self::OutputTooLarge => "output_too_large",
            Self::ResultMissing => "result_missing",
            Self::ResultInvalid => "result_invalid",
            Self::ProviderCapacity => "provider_capacity",
            Self::RateLimited => "rate_limited",
            Self::IncompatibleVersion => "incompatible_version", // same spelling: a state, or a host failure
            Self::Crashed => "crashed",
        }
    }
}

/// A wish that a Turn stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopWish {
    /// Whose.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ShortText>,
}

/// How a Turn can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Its result was made true.
    Settled,
    /// Without a result.
    Stopped(Stopped),
    /// By its host or its validators.
    Failed(FailedBy),
    /// By another ownership.
    Fenced,
}

/// What keeps a validated result from being settled; derived at each read, but for the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The requirement moved on.
    Requirement,
    /// A gate blocks the Todo or the Goal.
    Gate,
    /// A person has to accept the result.
    Acceptance,
    /// A person paused the Todo.
    Hold,
    /// A dependency was taken back.
    Deps,
    /// The tree moved twice.
    TreeBusy,
    /// Its agent executes another Turn.
    AgentBusy,
    /// What an outside effect did is not known, and the result is a completion.
    Effect,
    /// A person has to answer what it proposed.
    Proposal,
}
