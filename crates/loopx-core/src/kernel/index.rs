//! Owns what the ledger indexes of a Todo: the columns by which it is found, counted and offered.
//!
//! The one owner of the ready index; a ledger stores these columns and knows no rule behind them.

use super::{delta::Target, replan};
use crate::model::{AgentId, Covering, Timestamp, Todo, TodoKind, TodoState, Wake, Workspace};

/// The columns of a Todo's row that a ledger indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Whether it is open, deferred or blocked.
    pub live: bool,
    /// What status counts it under.
    pub bucket: &'static str,
    /// Where the ready index holds it, if it does.
    pub ready: Option<Ready>,
    /// When it is next due, in milliseconds; the ready index's `ready_at`. Zero is 'at any time', which no monitor is.
    pub ready_at: i64,
    /// What its wake names, if that is a Todo or a gate.
    pub wake_target: Option<Target>,
    /// The work tree it is owned in, whether its owner says what it writes there or not.
    pub writes_in: Option<Workspace>,
    /// The agent that a transfer reserves it for, to whom `free_at` does not apply.
    pub reserved_for: Option<AgentId>,
}

/// When a monitor that nobody looked at yet is due, and a replan: before all others, and still in time.
const NEVER_LOOKED_AT: i64 = 1;

/// A row of the ready index; the counters `unmet`, `cancelled_deps` and `blocking_gates` must be zero besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// 0 for P0 to 4 for P4.
    pub priority: u8,
    /// When its owner no longer keeps others out: 0 unowned, else the expiry in milliseconds, or the maximum.
    pub free_at: i64,
}

/// Takes the indexed columns of a row.
pub fn index(todo: &Todo) -> Index {
    let free_at = match (&todo.ownership, &todo.turn_id, &todo.reserved) {
        (Some(own), _, _) if own.frozen => i64::MAX,
        (Some(own), _, _) => own.expires_at.as_ms(),
        // An unresolved Turn whose ownership has ended: nobody may claim.
        (None, Some(_), _) => i64::MAX,
        (None, None, Some(reserved)) => reserved.until.as_ms(),
        (None, None, None) => 0,
    };
    let awake_at = match &todo.state {
        TodoState::Deferred { wake: Wake::After(at) } => at.as_ms(),
        TodoState::Deferred { wake: Wake::TodoDone(_) | Wake::Gate(_) } => {
            woken_ready_at(todo.counters.woken_at)
        }
        TodoState::Open
        | TodoState::Blocked { .. }
        | TodoState::Done { .. }
        | TodoState::Cancelled { .. } => 0,
    };
    let due = todo.monitor.as_ref().map(|monitor| monitor.due_at().map_or(NEVER_LOOKED_AT, Timestamp::as_ms));
    // What stands for a replan is found with what becomes ready in time, so that none is missed.
    let at_least = if replan::is_replan(todo) { NEVER_LOOKED_AT } else { 0 };
    let ready_at = due.map_or(awake_at, |due| due.max(awake_at)).max(at_least);
    let offered = matches!(todo.state, TodoState::Open | TodoState::Deferred { .. })
        && todo.kind.is_executable()
        && !todo.hold
        && todo.blocking_effects.is_empty()
        && todo.replans.by.is_none()
        && todo.covering.as_ref().is_none_or(|covering| covering.failed < Covering::FAILED_MAX);
    Index {
        live: todo.is_live(),
        bucket: bucket(todo),
        ready: offered.then_some(Ready { priority: todo.priority as u8, free_at }),
        ready_at,
        wake_target: Target::of(todo),
        writes_in: todo.ownership.as_ref().and_then(|own| own.workspace.as_ref().map(Workspace::tree)),
        reserved_for: todo.reserved.as_ref().map(|reserved| reserved.agent_id.clone()),
    }
}

/// The `ready_at` of a Todo that waits for another Todo or a gate, which moves with [`super::Delta::Wake`].
pub fn woken_ready_at(woken_at: Option<Timestamp>) -> i64 {
    woken_at.map_or(i64::MAX, Timestamp::as_ms)
}

/// What status counts a Todo under.
fn bucket(todo: &Todo) -> &'static str {
    match &todo.state {
        TodoState::Open if todo.turn_id.is_some() => "owned",
        TodoState::Open if todo.kind == TodoKind::Action => "action",
        TodoState::Open if todo.kind == TodoKind::Blocker => "blocker",
        TodoState::Open if todo.kind == TodoKind::Monitor => "monitor",
        TodoState::Open
        | TodoState::Deferred { .. }
        | TodoState::Blocked { .. }
        | TodoState::Done { .. }
        | TodoState::Cancelled { .. } => todo.state.as_str(),
    }
}
