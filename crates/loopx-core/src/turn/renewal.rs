//! Owns keeping the ownership of a Turn alive while a host or a validator works on it.
//!
//! Knows nothing of what works. Each renewal has an id of its own: one that a driver of before made says nothing of now.

use super::{
    commits::Commit,
    prove::minted_id,
    site::{Around, Site},
};
use crate::{
    error::Result,
    kernel::{ClaimCommand, Command},
    model::{Operation, OperationId, Receipt},
    process::boot_ms,
};

/// When an ownership is due to be renewed, in milliseconds of the boot clock.
#[derive(Debug)]
pub(super) struct Renewal {
    every_ms: u64,
    due_ms: u64,
}

impl Renewal {
    /// For what begins now: each third of its time, the first time before two thirds of that are not left any more.
    pub(super) fn of(around: &Around) -> Self {
        let Some((ttl_ms, left_ms)) = around.time_left_ms() else {
            return Self { every_ms: u64::MAX, due_ms: u64::MAX };
        };
        let every_ms = (ttl_ms / 3).max(1);
        Self { every_ms, due_ms: boot_ms().saturating_add(left_ms.saturating_sub(every_ms * 2)) }
    }

    /// Renews it when that is due, by an operation of its holder; none while it is not.
    pub(super) fn keep(
        &mut self,
        site: &mut Site<'_>,
        around: &Around,
        operation: &dyn Fn(OperationId, Command) -> Operation<Command>,
    ) -> Option<Result<Receipt>> {
        let now_ms = boot_ms();
        let todo = around.todo.as_ref().filter(|_| now_ms >= self.due_ms)?;
        self.due_ms = now_ms.saturating_add(self.every_ms);
        let own_id = Some(around.turn.own_id);
        let command = Command::Claim(ClaimCommand::Renew { todo_id: todo.todo_id.clone(), own_id });
        let id = minted_id().and_then(|base| Commit::Renew.of(&base));
        Some(id.and_then(|id| site.authority.submit(operation(id, command))))
    }
}
