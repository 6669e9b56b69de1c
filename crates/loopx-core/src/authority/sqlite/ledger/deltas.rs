//! Owns the set-wise changes: counters and meters moved by statements, no row loaded.
//!
//! Knows no rule: the moves are the kernel's.

use rusqlite::params;

use super::{
    load::meter_key,
    state::{State, sql},
};
use crate::{
    error::Result,
    kernel::{Delta, woken_ready_at},
    model::{Amounts, Bucket, Dimension, MeterScope, Timestamp},
};

impl State<'_> {
    /// Applies one change to the rows as they lie. No counter and no meter goes below zero.
    pub(super) fn shift(&mut self, delta: &Delta) -> Result<()> {
        match delta {
            Delta::Dependency { dep, unmet, cancelled } => {
                let dep = self.written_todo(dep)?;
                let sql = sql!(
                    "UPDATE todos SET unmet=max(unmet+?2, 0), cancelled_deps=max(cancelled_deps+?3, 0)
                     WHERE id IN (SELECT todo FROM deps INDEXED BY deps_back WHERE dep=?1)"
                );
                self.run(sql, params![dep, unmet, cancelled]).map(drop)
            }
            Delta::Gated { todos, by } => {
                for todo in todos {
                    let todo = self.written_todo(todo)?;
                    let sql = sql!("UPDATE todos SET blocking_gates=max(blocking_gates+?2, 0) WHERE id=?1");
                    self.run(sql, params![todo, by])?;
                }
                Ok(())
            }
            Delta::Wake { target, woken_at, lost } => {
                let sql = sql!(
                    "UPDATE todos INDEXED BY todo_wakes SET woken_at=?2, wake_lost=?3, ready_at=?4
                     WHERE wake_target=?1"
                );
                let (at, ready_at) = (woken_at.map(Timestamp::as_ms), woken_ready_at(*woken_at));
                self.run(sql, params![target.to_string(), at, lost, ready_at]).map(drop)
            }
            Delta::Amounts { scope, bucket, before, after } => {
                self.move_amounts(scope, *bucket, *before, *after)
            }
            Delta::Meter { scope, bucket, by } => {
                let Some((goal, agent)) = meter_key(scope) else { return Ok(()) };
                let goal = self.written_goal(goal)?;
                let sql = sql!(
                    "INSERT INTO meters(goal, agent, bucket, slots) VALUES(?1, ?2, ?3, max(?4, 0))
                     ON CONFLICT(goal, agent, bucket) DO UPDATE SET slots=max(slots+?4, 0)"
                );
                self.run(sql, params![goal, agent, bucket.number(), by])?;
                if *by <= 0 {
                    let sql = sql!("DELETE FROM meters WHERE goal=?1 AND agent=?2 AND bucket=?3 AND slots=0");
                    self.run(sql, params![goal, agent, bucket.number()])?;
                }
                Ok(())
            }
        }
    }

    pub(super) fn move_amounts(
        &mut self,
        scope: &MeterScope,
        bucket: Bucket,
        before: Amounts,
        after: Amounts,
    ) -> Result<()> {
        let Some((goal, agent)) = meter_key(scope).filter(|_| before != after) else { return Ok(()) };
        let goal = self.written_goal(goal)?;
        let [tokens_were, cost_was, wall_was] = Dimension::ALL.map(|dimension| signed(before.of(dimension)));
        let [tokens, cost, wall] = Dimension::ALL.map(|dimension| signed(after.of(dimension)));
        // As `Amounts::replacing`: what would be more than an integer holds stays the greatest, in no step beyond it.
        let sql = sql!(
            "INSERT INTO amounts(goal, agent, bucket, tokens, cost_micros, wall_ms)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT(goal, agent, bucket) DO UPDATE SET
               tokens=min(max(tokens-?7, 0), ?10-?4)+?4,
               cost_micros=min(max(cost_micros-?8, 0), ?10-?5)+?5,
               wall_ms=min(max(wall_ms-?9, 0), ?10-?6)+?6"
        );
        self.run(
            sql,
            params![
                goal,
                agent,
                bucket.number(),
                tokens,
                cost,
                wall,
                tokens_were,
                cost_was,
                wall_was,
                i64::MAX
            ],
        )?;
        let sql = sql!(
            "DELETE FROM amounts WHERE goal=?1 AND agent=?2 AND bucket=?3 AND tokens=0 AND cost_micros=0
               AND wall_ms=0"
        );
        self.run(sql, params![goal, agent, bucket.number()]).map(drop)
    }
}

/// An amount as a column holds it.
fn signed(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}
