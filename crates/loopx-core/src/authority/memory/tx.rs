//! Owns the storing of one decision in memory.

use super::{
    super::{Commit, Meta, OwnCommit, Tx},
    State,
};
use crate::{
    error::Result,
    kernel::{Delta, Rows, Target},
};

impl Tx for State {
    fn found(&mut self, meta: &Meta) -> Result<()> {
        self.meta = Some(meta.clone());
        Ok(())
    }

    fn store_own(&mut self, commit: OwnCommit<'_>) -> Result<()> {
        self.own_events.push(commit.record);
        self.receipts.insert(commit.operation_id.clone(), commit.receipt.clone());
        if let Some(meta) = &mut self.meta {
            meta.stamp = commit.stamp;
            meta.incarnation = commit.incarnation.unwrap_or(meta.incarnation);
        }
        Ok(())
    }

    fn store(&mut self, commit: Commit<'_>) -> Result<()> {
        for delta in commit.writes.deltas {
            self.shift(delta);
        }
        let Rows { goals, agents, todos, texts, turns, gates, evidence, nouns } = commit.writes.rows;
        self.rows.goals.extend(goals);
        self.rows.agents.extend(agents);
        self.rows.todos.extend(todos);
        self.rows.texts.extend(texts);
        self.rows.turns.extend(turns);
        self.rows.gates.extend(gates);
        self.rows.evidence.extend(evidence);
        self.rows.nouns.extend(nouns);
        self.heads.insert(commit.goal_id.clone(), commit.head);
        self.events.entry(commit.goal_id.clone()).or_default().extend(commit.records);
        self.receipts.insert(commit.operation_id.clone(), commit.receipt.clone());
        if let Some(meta) = &mut self.meta {
            meta.stamp = commit.stamp;
        }
        Ok(())
    }
}

impl State {
    fn shift(&mut self, delta: Delta) {
        let todos = &mut self.rows.todos;
        match delta {
            Delta::Dependency { dep, unmet, cancelled } => {
                for todo in todos.values_mut().filter(|todo| todo.depends_on.contains(&dep)) {
                    todo.counters.unmet = todo.counters.unmet.saturating_add_signed(unmet);
                    todo.counters.cancelled_deps =
                        todo.counters.cancelled_deps.saturating_add_signed(cancelled);
                }
            }
            Delta::Gated { todos: ids, by } => {
                for id in ids {
                    if let Some(todo) = todos.get_mut(&id) {
                        todo.counters.blocking_gates = todo.counters.blocking_gates.saturating_add_signed(by);
                    }
                }
            }
            Delta::Wake { target, woken_at, lost } => {
                for todo in todos.values_mut().filter(|todo| Target::of(todo).as_ref() == Some(&target)) {
                    todo.counters.woken_at = woken_at;
                    todo.counters.wake_lost = lost;
                }
            }
            Delta::Meter { scope, bucket, by } => {
                let slots = self.meters.entry((scope.clone(), bucket)).or_default();
                *slots = slots.saturating_add_signed(by);
                if *slots == 0 {
                    self.meters.remove(&(scope, bucket));
                }
            }
        }
    }
}
