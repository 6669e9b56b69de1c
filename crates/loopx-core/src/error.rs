//! Owns the typed error set: every code, its exit code, HTTP status and whether a retry can help.
//!
//! Knows nothing of who raises an error or how it is printed. Source: the kernel's table of codes; a check
//! fails on a code that is spelled anywhere else.

use std::{borrow::Cow, fmt};

use serde_json::{Map, Value};

/// The class of a code, which alone decides the exit code of a process that ends with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The question was answered, and the answer is no.
    Negative,
    /// The caller's input cannot be taken.
    Usage,
    /// Something needed is not there.
    Unavailable,
    /// Somebody else, or another state, is in the way.
    Conflict,
    /// What happened is not known yet.
    Uncertain,
    /// A rule forbids it.
    Refused,
    /// The ledger itself cannot serve.
    Store,
}

impl Class {
    /// The exit code of a process that ends with a code of this class.
    pub const fn exit(self) -> u8 {
        match self {
            Self::Negative => 1,
            Self::Usage => 2,
            Self::Unavailable => 3,
            Self::Conflict => 4,
            Self::Uncertain => 5,
            Self::Refused => 6,
            Self::Store => 7,
        }
    }
}

macro_rules! codes {
    ($($class:ident $status:literal { $($name:ident $text:literal $([$own_status:literal])? $(($retry:ident))? : $message:literal;)* })*) => {
        /// Every way a LoopX call can fail, as a stable name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $($(#[doc = $message] $name,)*)* }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)*)*];

            /// The stable spelling that scripts compare.
            pub const fn as_str(self) -> &'static str {
                match self { $($(Self::$name => $text,)*)* }
            }

            /// The class, and through it the exit code.
            pub const fn class(self) -> Class {
                match self { $($(Self::$name => Class::$class,)*)* }
            }

            /// The HTTP status of a response that carries this code.
            pub const fn http_status(self) -> u16 {
                match self { $($(Self::$name => codes!(@status $status $($own_status)?),)*)* }
            }

            /// Whether the same call, unchanged, can succeed later without anybody deciding anything.
            pub const fn retryable(self) -> bool {
                match self { $($(Self::$name => codes!(@retry $($retry)?),)*)* }
            }

            /// The one-line message used where the caller has nothing more exact to say.
            pub const fn message(self) -> &'static str {
                match self { $($(Self::$name => $message,)*)* }
            }
        }
    };
    (@status $class:literal) => { $class };
    (@status $class:literal $own:literal) => { $own };
    (@retry) => { false };
    (@retry retry) => { true };
}

codes! {
    Negative 422 {
        CheckFailed "check_failed": "a check found something";
        ValidationFailed "validation_failed": "a validator refused the result";
        NotReady "not_ready": "not ready yet";
    }
    Usage 400 {
        InvalidId "invalid_id": "this is not a well-formed id";
        AmbiguousId "ambiguous_id": "several ids start like this";
        NotFound "not_found" [404]: "there is nothing with this id";
        InvalidArgument "invalid_argument": "this argument cannot be taken";
        UnknownField "unknown_field": "the input has a field nobody reads";
        UnknownMode "unknown_mode": "this is not a session mode";
        UnknownCapabilityKey "unknown_capability_key": "this is not a capability key";
        UnsupportedVersion "unsupported_version": "this schema version is not supported";
        MissingActor "missing_actor": "nobody is named as the actor";
        OwnRequired "own_required": "the ownership token is missing";
        PayloadTooLarge "payload_too_large" [413]: "the input is larger than its limit";
        RequiredContextTooLarge "required_context_too_large": "the required context does not fit";
        CurrencyMismatch "currency_mismatch": "the budget is in another currency";
        CeilingRequired "ceiling_required": "a ceiling is needed before this can be admitted";
    }
    Unavailable 503 {
        NotInstalled "not_installed": "this is not installed";
        NotEnabled "not_enabled": "this is installed but not enabled";
        HostUnavailable "host_unavailable": "the host program cannot be started";
        NodeUnavailable "node_unavailable": "this host needs Node.js";
        IncompatibleVersion "incompatible_version": "this version is known not to work";
        ManagerUnavailable "manager_unavailable": "no service manager answers";
        UnsupportedPlatform "unsupported_platform": "not supported on this platform";
        CapabilityMissing "capability_missing": "a needed capability is missing";
        SessionUnavailable "session_unavailable": "the session cannot be reached";
        ComponentFailed "component_failed": "a component has failed";
        StoreUnavailable "store_unavailable" (retry): "the store cannot be reached";
        SandboxDenied "sandbox_denied": "a sandbox keeps LoopX from its folder";
        AttachedSessionLiveSteeringUnavailable "attached_session_live_steering_unavailable": "this session does not take live steering";
        LiveSteeringRequiresActiveTurn "live_steering_requires_active_turn": "live steering needs a running Turn";
        LiveSteeringSessionNotAttached "live_steering_session_not_attached": "live steering needs an attached session";
        DeliveryUnavailable "delivery_unavailable": "the result cannot be delivered there";
    }
    Conflict 409 {
        AlreadyClaimed "already_claimed" (retry): "somebody else owns this Todo";
        OwnershipSuperseded "ownership_superseded": "this ownership has been replaced";
        OwnershipExpired "ownership_expired": "this ownership has run out";
        OperationConflict "operation_conflict": "this operation id was used for another operation";
        StaleRevision "stale_revision" [412]: "the row has moved on since it was read";
        BindingConflict "binding_conflict": "another binding is open";
        ExecutorActive "executor_active" (retry): "another executor of this agent is active";
        TurnRunning "turn_running": "a Turn is running on it";
        WriteScopeConflict "write_scope_conflict" (retry): "somebody else holds an overlapping write scope";
        DependencyCycle "dependency_cycle": "this link would close a cycle";
        DependencyGraphTooLarge "dependency_graph_too_large": "the dependency graph is larger than the limit";
        GoalExists "goal_exists": "a Goal with this id exists";
        TodoAlreadyDone "todo_already_done": "this Todo is done";
        NotClaimable "not_claimable": "this Todo cannot be claimed now";
        InvalidTransition "invalid_transition": "this is not possible in the present state";
        ClaimExpired "claim_expired": "this claim has run out";
        CompletionDuplicate "completion_duplicate": "this entry is already completed";
        CompletionRejected "completion_rejected": "this completion came too late";
        CodexHomeMismatch "codex_home_mismatch": "the session belongs to another Codex home";
        ChatWorkPending "chat_work_pending": "chat work is still pending";
        ProfileMismatch "profile_mismatch": "another profile answers";
        ReleaseMismatch "release_mismatch": "another release answers";
        ConfigMismatch "config_mismatch": "another configuration answers";
        ForeignListener "foreign_listener": "a foreign program listens there";
        ForeignWriter "foreign_writer": "a foreign program writes there";
        ProfileOverlap "profile_overlap": "two profiles share a folder";
        RollbackIncompatible "rollback_incompatible": "the earlier release cannot read this state";
    }
    Uncertain 409 {
        EffectUnresolved "effect_unresolved": "an outside effect is not resolved";
        TurnUnresolved "turn_unresolved": "a Turn's outcome is not known";
        ReconciliationRequired "reconciliation_required": "this has to be reconciled first";
    }
    Refused 403 {
        GateBlocked "gate_blocked": "a gate is in the way";
        GateOpened "gate_opened": "a gate was opened and waits for a person";
        Held "held": "its Turn is held";
        QuotaExhausted "quota_exhausted" [429] (retry): "the budget is used up";
        GoalStopped "goal_stopped": "the Goal is stopped";
        GoalClosed "goal_closed": "the Goal is closed";
        UserOnly "user_only": "only a person may do this";
        ActorNotAllowed "actor_not_allowed": "this actor may not do this";
        BoundaryViolation "boundary_violation": "this is outside the Goal's boundary";
        QueueFull "queue_full" [429] (retry): "the queue is full";
        QueueExpired "queue_expired": "the entry waited too long";
        Unauthenticated "unauthenticated" [401]: "this needs proof of who asks";
        ForbiddenOrigin "forbidden_origin": "the request comes from a foreign origin";
    }
    Store 503 {
        StoreBusy "store_busy" (retry): "the ledger is busy";
        StoreCorrupt "store_corrupt": "the ledger is damaged";
        StoreUnreadable "store_unreadable": "the ledger cannot be read";
        SchemaTooNew "schema_too_new": "the ledger was written by a newer release";
        SchemaNeedsMigration "schema_needs_migration": "the ledger needs `migrate` first";
        DiskFull "disk_full" (retry): "no space is left";
        NetworkFilesystem "network_filesystem": "the ledger would lie on a network filesystem";
        AuthorityRegressed "authority_regressed": "the ledger has gone back in time";
        OrphanedGoalState "orphaned_goal_state": "state exists for a Goal nobody registered";
        Internal "internal": "an internal rule was broken";
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What every fallible public function of LoopX returns.
///
/// `message` and `details` are public: ids, states and times, never a path, SQL or host text. `internal` is
/// for a local log and reaches no public output.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    code: Code,
    message: Cow<'static, str>,
    hint: Option<String>,
    details: Map<String, Value>,
    internal: Option<String>,
}

impl Error {
    /// Makes an error that names what it is about; lower case, no full stop.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            code,
            message: message.into(),
            hint: None,
            details: Map::new(),
            internal: None,
        }))
    }

    /// Adds the arguments of a `loopx` command that is correct in this state, without the program's name.
    #[must_use]
    pub fn hint(mut self, command: impl Into<String>) -> Self {
        self.0.hint = Some(command.into());
        self
    }

    /// Adds one machine-readable detail.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds what only a local log may show.
    #[must_use]
    pub fn internal(mut self, text: impl fmt::Display) -> Self {
        self.0.internal = Some(text.to_string());
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The public message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The hint's arguments, if any command helps.
    pub fn hint_args(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The machine-readable details.
    pub fn details(&self) -> &Map<String, Value> {
        &self.0.details
    }

    /// What only a local log may show.
    pub fn internal_text(&self) -> Option<&str> {
        self.0.internal.as_deref()
    }
}

impl From<Code> for Error {
    fn from(code: Code) -> Self {
        Self::new(code, code.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("code", &self.0.code)
            .field("message", &self.0.message)
            .field("hint", &self.0.hint)
            .field("details", &self.0.details)
            .field("internal", &self.0.internal)
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl std::error::Error for Error {}

/// What a message repeats of a caller's text: at most 60 characters, a control character as its escape.
///
/// The one way for such text into a message, a hint or a detail.
pub(crate) fn echo(text: &str) -> Cow<'_, str> {
    const CHARS_MAX: usize = 60;
    let end = text.char_indices().nth(CHARS_MAX).map(|(end, _)| end);
    let head = end.and_then(|end| text.get(..end)).unwrap_or(text);
    if end.is_none() && !head.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(head.len() + 8);
    for c in head.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    if end.is_some() {
        shown.push('…');
    }
    Cow::Owned(shown)
}

/// Words as a POSIX shell reads them back, for a hint and for a command that is shown; none where one holds a NUL.
///
/// The one way for a value into a line that a person pastes.
pub(crate) fn shell_line<'w>(words: impl IntoIterator<Item = &'w str>) -> Option<String> {
    shlex::try_join(words).ok()
}

/// The result of a fallible public function.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_short_and_hides_nothing() {
        assert_eq!(echo("plain ü \u{4e2d}"), "plain ü \u{4e2d}");
        assert_eq!(echo("a\u{1b}[31m\nb\0\u{9b}"), "a\\u{1b}[31m\\nb\\u{0}\\u{9b}");
        assert_eq!(echo(&"x".repeat(60)).len(), 60);
        let long = echo(&"\u{1b}".repeat(100_000)).into_owned();
        assert!(long.ends_with('…') && long.len() < 60 * 6 + 4, "{}", long.len());
    }
}
