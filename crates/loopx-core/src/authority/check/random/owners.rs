//! Owns the moves of a random history that take, keep and give back Todos.
//!
//! Knows nothing of how a Turn goes on.

use super::{super::world::text, Player, pick};
use crate::{
    kernel::{ClaimCommand, Command, Covered, Reason, index},
    model::*,
};

impl Player {
    /// A Todo that can be taken, if there is one.
    pub(super) fn ready(&self, by: u16) -> Option<TodoId> {
        let todos = self.world.ledger.rows().todos;
        let ready = todos.into_values().filter(|todo| {
            let counters = &todo.counters;
            let met = counters.unmet + counters.cancelled_deps + counters.blocking_gates == 0;
            met && index(todo).ready.is_some_and(|ready| ready.free_at < 1_900_000_000_000)
        });
        pick(ready.map(|todo| todo.todo_id), by)
    }

    /// An obligation that an agent was told of.
    fn derived(&mut self, by: u16) -> Option<ReplanRef> {
        let live: Vec<_> = self.world.ledger.rows().todos.into_values().filter(Todo::is_live).collect();
        let mut named = Vec::new();
        for todo in live.iter().filter(|todo| todo.replans.count > 0 || todo.counters.cancelled_deps > 0) {
            if let Reason::Replan(Covered::Derived(of)) = self.world.reason("a", &todo.todo_id) {
                named.push(of);
            }
        }
        // What obliges the whole Goal is told by the decision alone.
        let decided = self.world.next("a", None).ok().and_then(|decided| decided.action.replan().cloned());
        named.extend(decided.filter(|of| of.covered().is_none()));
        pick(named, by)
    }

    pub(super) fn own(&mut self, x: u16, y: u16) {
        let ready = self.ready(x / 16).filter(|_| x % 16 > 4);
        let Some(todo_id) = ready.or_else(|| self.todo(x / 16)) else {
            return;
        };
        let row = self.world.row(&todo_id);
        let own_id = row.ownership.as_ref().map(|own| own.own_id);
        let hosted = x.is_multiple_of(5);
        let replan = self.derived(y).filter(|_| y.is_multiple_of(3));
        let claim = crate::kernel::claim::Claim {
            todo_id: replan.as_ref().map_or_else(|| todo_id.clone(), ReplanRef::claimed),
            replan,
            executor_of: None,
            executor: if hosted { Executor::Hosted } else { Executor::Attached },
            machine_id: hosted.then(|| text("abc123")),
            ttl_ms: y.is_multiple_of(3).then(|| Duration::from_mins(5)),
            workspace: y.is_multiple_of(2).then(|| text("00112233445566778899")),
        };
        let command = match x % 16 {
            0 => ClaimCommand::Renew { todo_id, own_id },
            1 => ClaimCommand::Release { todo_id, own_id },
            2 => ClaimCommand::Transfer { todo_id, own_id, to: text("b") },
            3 => {
                return self
                    .as_user(Command::Claim(ClaimCommand::ForceRelease { todo_id, reason: text("mine") }));
            }
            4 => {
                let to = text(["a", "b", "c"][usize::from(y) % 3]);
                return self.as_user(Command::Claim(ClaimCommand::Transfer { todo_id, own_id: None, to }));
            }
            _ => ClaimCommand::Claim(Box::new(claim)),
        };
        let owner = row.ownership.filter(|_| x % 16 < 4).map(|own| own.agent_id);
        match owner {
            Some(owner) => drop(self.world.agent(owner.as_str(), Command::Claim(command))),
            None => self.as_agent(y, Command::Claim(command)),
        }
    }
}
