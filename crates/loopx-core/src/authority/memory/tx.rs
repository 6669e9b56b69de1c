//! Owns the storing of one decision in memory.

use super::{
    super::{Commit, Head, Meta, Meters, OwnCommit, StoredReceipt, Tx},
    State,
};
use crate::{
    error::Result,
    kernel::{Delta, Rows, Target},
    model::{Amounts, GoalId, Limit, OperationId},
};

impl Tx for State {
    fn found(&mut self, meta: &Meta) -> Result<()> {
        self.meta = Some(meta.clone());
        Ok(())
    }

    fn store_own(&mut self, commit: OwnCommit<'_>) -> Result<()> {
        self.own_head = Some(Head { seq: commit.record.seq, hash: commit.record.hash });
        self.own_events.push(commit.record);
        if let Some(limit) = commit.limit {
            self.limit = limit;
        }
        self.receipts.insert(commit.operation_id.clone(), commit.receipt.clone());
        if let Some(meta) = &mut self.meta {
            meta.stamp = commit.stamp;
            meta.incarnation = commit.incarnation.unwrap_or(meta.incarnation);
        }
        Ok(())
    }

    fn rebuild(&mut self, goal: &GoalId, head: Head, rows: &Rows, meters: &Meters) -> Result<()> {
        let here = &mut self.rows;
        here.goals.retain(|id, _| id != goal);
        here.agents.retain(|(of, _), _| of != goal);
        here.todos.retain(|id, _| id.goal() != goal);
        here.texts.retain(|id, _| id.goal() != goal);
        here.turns.retain(|_, row| row.goal_id != *goal);
        here.gates.retain(|_, row| row.goal_id != *goal);
        here.evidence.retain(|_, row| row.goal_id != *goal);
        here.nouns.retain(|_, row| row.goal_id() != goal);
        self.meters.retain(|(scope, _), _| scope.goal() != Some(goal));
        self.amounts.retain(|(scope, _), _| scope.goal() != Some(goal));
        if head.seq == 0 {
            self.heads.remove(goal);
            self.events.remove(goal);
            return Ok(());
        }
        let Rows { goals, agents, todos, texts, turns, gates, evidence, nouns } = rows.clone();
        here.goals.extend(goals);
        here.agents.extend(agents);
        here.todos.extend(todos);
        here.texts.extend(texts);
        here.turns.extend(turns);
        here.gates.extend(gates);
        here.evidence.extend(evidence);
        here.nouns.extend(nouns);
        let slots = meters.iter().filter(|(_, held)| held.slots > 0);
        self.meters.extend(slots.map(|(key, held)| (key.clone(), held.slots)));
        let amounts = meters.iter().filter(|(_, held)| held.amounts != Amounts::default());
        self.amounts.extend(amounts.map(|(key, held)| (key.clone(), held.amounts)));
        self.heads.insert(goal.clone(), head);
        self.events.entry(goal.clone()).or_default().retain(|record| record.seq <= head.seq);
        Ok(())
    }

    fn cut_own(&mut self, head: Head, limit: Option<Limit>) -> Result<()> {
        self.limit = limit;
        self.own_events.retain(|record| record.seq <= head.seq);
        self.own_head = (head.seq > 0).then_some(head);
        Ok(())
    }

    fn put_receipt(&mut self, id: &OperationId, receipt: &StoredReceipt) -> Result<()> {
        self.receipts.insert(id.clone(), receipt.clone());
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
            Delta::Amounts { scope, bucket, before, after } => {
                let held = self.amounts.entry((scope.clone(), bucket)).or_default();
                *held = held.replacing(before, after);
                if *held == Amounts::default() {
                    self.amounts.remove(&(scope, bucket));
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
