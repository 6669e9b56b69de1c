//! Owns the set-wise changes of a decision: counters and meters the ledger moves without loading their rows.

use serde::{Deserialize, Serialize};

use crate::model::{Amounts, Bucket, GateId, MeterScope, Timestamp, Todo, TodoId, TodoState, Wake};

/// A change of many rows at once, applied by the ledger with one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Moves the counters of every Todo that depends on `dep`.
    Dependency {
        /// The Todo they depend on.
        dep: TodoId,
        /// What is added to their unmet dependencies.
        unmet: i32,
        /// What is added to their cancelled ones.
        cancelled: i32,
    },
    /// Moves the count of blocking gates of the Todos a gate names.
    Gated {
        /// The Todos.
        todos: Vec<TodoId>,
        /// What is added.
        by: i32,
    },
    /// Says to every deferred Todo that waits for `target` what became of it.
    Wake {
        /// What they wait for.
        target: Target,
        /// When it came true, if it did.
        woken_at: Option<Timestamp>,
        /// Whether it can no longer come true.
        lost: bool,
    },
    /// Takes or gives back slots of a meter.
    Meter {
        /// The meter.
        scope: MeterScope,
        /// The bucket of the Turn's admission.
        bucket: Bucket,
        /// What is added.
        by: i64,
    },
    /// Moves what else a meter holds: what counted of a Turn before, and what counts of it now.
    Amounts {
        /// The meter.
        scope: MeterScope,
        /// The bucket of the Turn's admission.
        bucket: Bucket,
        /// What is taken away.
        before: Amounts,
        /// What is added.
        after: Amounts,
    },
}

/// What a deferred Todo can wait for beside a moment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    /// Another Todo's completion.
    Todo(TodoId),
    /// A gate's approval or answer.
    Gate(GateId),
}

impl Target {
    /// What a Todo waits for, if it is deferred until a Todo or a gate.
    pub fn of(todo: &Todo) -> Option<Self> {
        match &todo.state {
            TodoState::Deferred { wake: Wake::TodoDone(id) } => Some(Self::Todo(id.clone())),
            TodoState::Deferred { wake: Wake::Gate(id) } => Some(Self::Gate(*id)),
            TodoState::Deferred { wake: Wake::After(_) }
            | TodoState::Open
            | TodoState::Blocked { .. }
            | TodoState::Done { .. }
            | TodoState::Cancelled { .. } => None,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Todo(id) => write!(f, "{id}"),
            Self::Gate(id) => write!(f, "{id}"),
        }
    }
}
