//! Owns the accepted handoff: that an agent took work over, knowing where it stood.
//!
//! Knows no rule. It gives nobody an ownership and no session another mode: those have facts of their own.

use serde::{Deserialize, Serialize};

use super::{Actor, Digest, GoalId, HandoffId, Timestamp, TodoId};

/// A handoff that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handoff {
    /// Its id.
    pub handoff_id: HandoffId,
    /// The Goal.
    pub goal_id: GoalId,
    /// The Todo that was taken over.
    pub todo_id: TodoId,
    /// The revision of the packet that its acceptor had read.
    pub revision: Digest,
    /// Who accepted it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}
