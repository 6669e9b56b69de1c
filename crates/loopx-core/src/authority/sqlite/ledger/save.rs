//! Owns the storing of one decision: changes first, then rows, links, counts, events, receipt, time.
//!
//! Knows no rule. Invariant: an index is only touched where its columns change, so that a claim writes little.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{ToSql, params};

use super::{
    load::{todo, todos},
    ready::BETWEEN,
    state::{OWN, State, column, encode, row_id, signed, sql},
};
use crate::{
    authority::{Commit, Head, Meta, Meters, OwnCommit, Record, StoredReceipt, Tx, clock::Stamp},
    error::{Code, Error, Result},
    kernel::{Index, Rows, index},
    model::{Blocks, Evidence, Gate, GateState, GoalId, Limit, OperationId, Timestamp, Todo, TodoId, Turn},
};

/// How the counts of a Goal move with one decision.
type Moves = BTreeMap<(i64, String), i64>;

/// How a Todo lies in the file: what decides which of its columns and links have to be touched.
#[derive(Debug)]
pub(super) struct Lying {
    bucket: String,
    still: Still,
    depends_on: BTreeSet<TodoId>,
}

impl Lying {
    /// As it lies since it was stored.
    pub(super) fn of(todo: &Todo) -> Self {
        let index = index(todo);
        Self {
            bucket: index.bucket.to_owned(),
            still: Still::of(todo, &index),
            depends_on: todo.depends_on.clone(),
        }
    }
}

/// The columns of a Todo that a claim does not touch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Still {
    pub(super) live: bool,
    pub(super) title: String,
    pub(super) wake_target: Option<String>,
    pub(super) reserved_for: Option<String>,
    pub(super) excluded: Option<String>,
    pub(super) needs: Option<String>,
}

impl Tx for State<'_> {
    fn found(&mut self, meta: &Meta) -> Result<()> {
        let Meta { authority_id, incarnation, stamp, schema: _ } = meta;
        let sql = sql!(
            "INSERT INTO meta(one, authority_id, incarnation, boot_id, boot_ms, now_ms, clock_jump)
             VALUES(1, ?1, ?2, ?3, ?4, ?5, ?6)"
        );
        self.run(
            sql,
            params![
                authority_id.as_bytes(),
                incarnation.as_bytes(),
                stamp.boot_id,
                stamp.boot_ms,
                stamp.now_ms,
                stamp.clock_jump
            ],
        )
        .map(drop)
    }

    fn store(&mut self, commit: Commit<'_>) -> Result<()> {
        self.check_schema(commit.since)?;
        for delta in &commit.writes.deltas {
            self.shift(delta)?;
        }
        let goal = self.put_head(commit.goal_id, &commit.head)?;
        self.put_rows(&commit.writes.rows)?;
        for record in &commit.records {
            self.put_event(goal, record)?;
        }
        self.insert_receipt(commit.operation_id, commit.receipt)?;
        self.restamp(&commit.stamp)
    }

    fn store_own(&mut self, commit: OwnCommit<'_>) -> Result<()> {
        self.put_event(OWN, &commit.record)?;
        self.put_own_head(Head { seq: commit.record.seq, hash: commit.record.hash })?;
        if let Some(limit) = &commit.limit {
            self.check_schema(2)?;
            self.put_limit(limit.as_ref())?;
        }
        self.insert_receipt(commit.operation_id, commit.receipt)?;
        if let Some(incarnation) = commit.incarnation {
            self.run(sql!("UPDATE meta SET incarnation=?1 WHERE one=1"), [incarnation.as_bytes()])?;
        }
        self.restamp(&commit.stamp)
    }

    fn rebuild(&mut self, goal: &GoalId, head: Head, rows: &Rows, meters: &Meters) -> Result<()> {
        self.replace_goal(goal, head, rows, meters)
    }

    fn cut_own(&mut self, head: Head, limit: Option<Limit>) -> Result<()> {
        self.cut_events(OWN, head.seq)?;
        if self.has(2) {
            self.put_limit(limit.as_ref())?;
        }
        self.put_own_head(head)
    }

    fn put_receipt(&mut self, id: &OperationId, receipt: &StoredReceipt) -> Result<()> {
        let sql = sql!(
            "INSERT INTO receipts(operation_id, body) VALUES(?1, ?2)
             ON CONFLICT(operation_id) DO UPDATE SET body=excluded.body"
        );
        self.run(sql, params![id.as_str(), encode(receipt)?]).map(drop)
    }
}

impl State<'_> {
    fn put_limit(&mut self, limit: Option<&Limit>) -> Result<()> {
        let Some(limit) = limit else {
            return self.run(sql!("DELETE FROM settings WHERE name='limit'"), []).map(drop);
        };
        let sql = sql!(
            "INSERT INTO settings(name, body) VALUES('limit', ?1)
             ON CONFLICT(name) DO UPDATE SET body=excluded.body"
        );
        self.run(sql, [encode(limit)?]).map(drop)
    }

    /// Notes where the ledger's own chain ends, so that one notices an end that is cut off. A file of the first schema has
    /// no place for it.
    fn put_own_head(&mut self, head: Head) -> Result<()> {
        if !self.has(2) {
            return Ok(());
        }
        if head.seq == 0 {
            return self.run(sql!("DELETE FROM settings WHERE name='own_head'"), []).map(drop);
        }
        let sql = sql!(
            "INSERT INTO settings(name, body) VALUES('own_head', ?1)
             ON CONFLICT(name) DO UPDATE SET body=excluded.body"
        );
        self.run(sql, [encode(&head)?]).map(drop)
    }

    fn insert_receipt(&mut self, id: &OperationId, receipt: &StoredReceipt) -> Result<()> {
        let sql = sql!("INSERT INTO receipts(operation_id, body) VALUES(?1, ?2)");
        self.run(sql, params![id.as_str(), encode(receipt)?]).map(drop)
    }

    fn restamp(&mut self, stamp: &Stamp) -> Result<()> {
        let sql = sql!("UPDATE meta SET boot_id=?1, boot_ms=?2, now_ms=?3, clock_jump=?4 WHERE one=1");
        self.run(sql, params![stamp.boot_id, stamp.boot_ms, stamp.now_ms, stamp.clock_jump]).map(drop)
    }

    /// Moves the end of a Goal's chain; a Goal that starts gets its number.
    fn put_head(&mut self, goal: &GoalId, head: &Head) -> Result<i64> {
        let (seq, hash) = (signed(head.seq)?, head.hash.as_bytes());
        if let Some(key) = self.goal_key(goal)? {
            self.run(
                sql!("UPDATE goals SET head_seq=?2, head_hash=?3 WHERE goal=?1"),
                params![key, seq, hash],
            )?;
            self.moved(goal, key, *head);
            return Ok(key);
        }
        let sql = sql!("INSERT INTO goals(slug, head_seq, head_hash) VALUES(?1, ?2, ?3)");
        self.run(sql, params![goal.as_str(), seq, hash])?;
        self.written_goal(goal)
    }

    pub(super) fn put_rows(&mut self, rows: &Rows) -> Result<()> {
        for (goal, row) in &rows.goals {
            let key = self.written_goal(goal)?;
            let sql = sql!(
                "INSERT INTO goal_bodies(goal, body) VALUES(?1, ?2)
                 ON CONFLICT(goal) DO UPDATE SET body=excluded.body"
            );
            self.run(sql, params![key, encode(row)?])?;
        }
        for ((goal, agent), row) in &rows.agents {
            let key = self.written_goal(goal)?;
            let sql = sql!(
                "INSERT INTO agents(goal, agent, body) VALUES(?1, ?2, ?3)
                 ON CONFLICT(goal, agent) DO UPDATE SET body=excluded.body"
            );
            self.run(sql, params![key, agent.as_str(), encode(row)?])?;
        }
        let mut moves = Moves::new();
        for todo in rows.todos.values() {
            self.put_todo(todo, &mut moves)?;
        }
        for ((goal, bucket), by) in moves {
            let sql = sql!(
                "INSERT INTO counts(goal, bucket, n) VALUES(?1, ?2, max(?3, 0))
                 ON CONFLICT(goal, bucket) DO UPDATE SET n=n+?3"
            );
            if by != 0 {
                self.run(sql, params![goal, bucket, by])?;
            }
        }
        for (id, text) in &rows.texts {
            let key = self.written_todo(id)?;
            let sql = sql!(
                "INSERT INTO texts(id, body) VALUES(?1, ?2) ON CONFLICT(id) DO UPDATE SET body=excluded.body"
            );
            self.run(sql, params![key, encode(text)?])?;
        }
        rows.turns.values().try_for_each(|turn| self.put_turn(turn))?;
        rows.gates.values().try_for_each(|gate| self.put_gate(gate))?;
        rows.evidence.values().try_for_each(|evidence| self.put_evidence(evidence))?;
        rows.nouns.values().try_for_each(|noun| self.put_noun(noun))
    }

    fn put_todo(&mut self, todo: &Todo, moves: &mut Moves) -> Result<()> {
        let goal = self.written_goal(todo.todo_id.goal())?;
        let id = row_id(goal, todo.todo_id.number());
        let index = index(todo);
        let still = Still::of(todo, &index);
        let before = match self.take_lying(&todo.todo_id) {
            Some(lying) => Some(lying),
            None => self.lying(id)?,
        };
        match &before {
            None => self.insert_todo(goal, id, todo, &index, &still)?,
            Some(before) => {
                self.move_todo(id, todo, &index, &before.bucket)?;
                if before.still != still {
                    let sql = sql!("UPDATE todos SET live=?2, title=?3, wake_target=?4, reserved_for=?5, excluded=?6, needs=?7
                         WHERE id=?1");
                    let Still { live, title, wake_target, reserved_for, excluded, needs } = &still;
                    self.run(sql, params![id, live, title, wake_target, reserved_for, excluded, needs])?;
                }
            }
        }
        let linked = before.as_ref().map(|before| &before.depends_on);
        self.link(id, linked.unwrap_or(&BTreeSet::new()), &todo.depends_on)?;
        if before.as_ref().is_none_or(|before| before.bucket != index.bucket) {
            *moves.entry((goal, index.bucket.to_owned())).or_default() += 1;
            if let Some(before) = before {
                *moves.entry((goal, before.bucket)).or_default() -= 1;
            }
        }
        Ok(())
    }

    /// Reads how a Todo lies that is written without having been read.
    fn lying(&mut self, id: i64) -> Result<Option<Lying>> {
        let row = self.one(sql!(todos!("WHERE id=?1")), [id], todo)?;
        Ok(row.as_ref().map(Lying::of))
    }

    fn insert_todo(&mut self, goal: i64, id: i64, todo: &Todo, index: &Index, still: &Still) -> Result<()> {
        let sql = sql!("INSERT INTO todos(id, goal, priority, free_at, ready_at, unmet, cancelled_deps, blocking_gates,
               woken_at, wake_lost, bucket, writes_in, live, kind, title, wake_target, reserved_for, excluded, needs,
               body)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)");
        let counters = &todo.counters;
        self.run(
            sql,
            params![
                id,
                goal,
                index.ready.map(|ready| ready.priority),
                index.ready.map(|ready| ready.free_at),
                index.ready_at,
                counters.unmet,
                counters.cancelled_deps,
                counters.blocking_gates,
                counters.woken_at.map(Timestamp::as_ms),
                counters.wake_lost,
                index.bucket,
                index.writes_in.as_ref().map(crate::model::Workspace::as_str),
                still.live,
                todo.kind.as_str(),
                still.title,
                still.wake_target,
                still.reserved_for,
                still.excluded,
                still.needs,
                encode(todo)?
            ],
        )
        .map(drop)
    }

    /// Writes what moves with a Todo's state, in one statement; the bucket only where it differs, for the sake of its
    /// index.
    fn move_todo(&mut self, id: i64, todo: &Todo, index: &Index, bucket: &str) -> Result<()> {
        macro_rules! moved {
            ($more:literal) => {
                concat!(
                    "UPDATE todos SET priority=?2, free_at=?3, ready_at=?4, unmet=?5, cancelled_deps=?6,
                       blocking_gates=?7, woken_at=?8, wake_lost=?9, writes_in=?10, body=?11",
                    $more,
                    " WHERE id=?1"
                )
            };
        }
        let counters = &todo.counters;
        let (priority, free_at) =
            (index.ready.map(|ready| ready.priority), index.ready.map(|ready| ready.free_at));
        let woken_at = counters.woken_at.map(Timestamp::as_ms);
        let writes_in = index.writes_in.as_ref().map(crate::model::Workspace::as_str);
        let body = encode(todo)?;
        let mut values: Vec<&dyn ToSql> = vec![
            &id,
            &priority,
            &free_at,
            &index.ready_at,
            &counters.unmet,
            &counters.cancelled_deps,
            &counters.blocking_gates,
            &woken_at,
            &counters.wake_lost,
            &writes_in,
            &body,
        ];
        let sql = if bucket == index.bucket {
            sql!(moved!(""))
        } else {
            values.push(&index.bucket);
            sql!(moved!(", bucket=?12"))
        };
        self.run(sql, values.as_slice()).map(drop)
    }

    /// Keeps the links of a Todo to what it depends on.
    fn link(&mut self, id: i64, before: &BTreeSet<TodoId>, after: &BTreeSet<TodoId>) -> Result<()> {
        for dep in before.difference(after) {
            let dep = self.written_todo(dep)?;
            self.run(sql!("DELETE FROM deps WHERE todo=?1 AND dep=?2"), params![id, dep])?;
        }
        for dep in after.difference(before) {
            let dep = self.written_todo(dep)?;
            self.run(sql!("INSERT INTO deps(todo, dep) VALUES(?1, ?2)"), params![id, dep])?;
        }
        Ok(())
    }

    fn put_turn(&mut self, turn: &Turn) -> Result<()> {
        let (id, live, body) = (turn.turn_id.as_bytes(), !turn.is_terminal(), encode(turn)?);
        // Only a Turn that ends leaves an index; one that goes on touches none.
        let sql = sql!("UPDATE turns SET body=?2 WHERE turn_id=?1 AND live=?3");
        if self.has_seen(turn.turn_id) && self.run(sql, params![id, body, live])? > 0 {
            return Ok(());
        }
        let goal = self.written_goal(&turn.goal_id)?;
        let todo = turn.todo_id().map(|todo| self.written_todo(todo)).transpose()?;
        let sql = sql!(
            "INSERT INTO turns(turn_id, goal, agent, todo, live, body) VALUES(?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT(turn_id) DO UPDATE SET live=excluded.live, body=excluded.body"
        );
        self.run(sql, params![id, goal, turn.agent_id.as_str(), todo, live, body]).map(drop)
    }

    fn put_gate(&mut self, gate: &Gate) -> Result<()> {
        let goal = self.written_goal(&gate.goal_id)?;
        let id = gate.gate_id.as_bytes();
        let whole = gate.blocks == Blocks::Goal;
        let approves = matches!(gate.state, GateState::Approved { .. }) && gate.scope.is_some();
        let sql = sql!(
            "INSERT INTO gates(gate_id, goal, whole, blocking, approves, body) VALUES(?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT(gate_id) DO UPDATE SET whole=excluded.whole, blocking=excluded.blocking,
               approves=excluded.approves, body=excluded.body"
        );
        self.run(sql, params![id, goal, whole, gate.is_blocking(), approves, encode(gate)?])?;
        let sql = sql!("SELECT todo FROM gate_todos INDEXED BY gate_todos_back WHERE gate_id=?1");
        let before: BTreeSet<i64> = self.all(sql, [id], |row| column(row, 0))?.into_iter().collect();
        let named = match &gate.blocks {
            Blocks::Todos(ids) => {
                ids.iter().map(|id| self.written_todo(id)).collect::<Result<BTreeSet<i64>>>()?
            }
            Blocks::Goal => BTreeSet::new(),
        };
        for todo in before.difference(&named) {
            self.run(sql!("DELETE FROM gate_todos WHERE todo=?1 AND gate_id=?2"), params![todo, id])?;
        }
        for todo in named.difference(&before) {
            self.run(sql!("INSERT INTO gate_todos(todo, gate_id) VALUES(?1, ?2)"), params![todo, id])?;
        }
        Ok(())
    }

    fn put_evidence(&mut self, evidence: &Evidence) -> Result<()> {
        let goal = self.written_goal(&evidence.goal_id)?;
        let todo = evidence.todo_id.as_ref().map(|todo| self.written_todo(todo)).transpose()?;
        let sql = sql!(
            "INSERT INTO evidence(evidence_id, goal, todo, body) VALUES(?1, ?2, ?3, ?4)
             ON CONFLICT(evidence_id) DO UPDATE SET todo=excluded.todo, body=excluded.body"
        );
        self.run(sql, params![evidence.evidence_id.as_bytes(), goal, todo, encode(evidence)?]).map(drop)
    }

    fn put_event(&mut self, goal: i64, record: &Record) -> Result<()> {
        let number = u32::try_from(record.seq).map_err(|_| {
            Error::from(Code::Internal).internal("a Goal has more events than a key can number")
        })?;
        let sql = sql!("INSERT INTO events(id, payload, hash) VALUES(?1, ?2, ?3)");
        self.run(sql, params![row_id(goal, number), record.payload, record.hash.as_bytes()]).map(drop)
    }
}

impl Still {
    pub(super) fn of(todo: &Todo, index: &Index) -> Self {
        let joined = |names: Vec<&str>| (!names.is_empty()).then(|| names.join(BETWEEN));
        Self {
            live: index.live,
            title: todo.title.to_string(),
            wake_target: index.wake_target.as_ref().map(ToString::to_string),
            reserved_for: index.reserved_for.as_ref().map(|agent| agent.as_str().to_owned()),
            excluded: joined(todo.excluded_agents.iter().map(crate::model::AgentId::as_str).collect()),
            needs: joined(todo.requires.capabilities.iter().map(crate::model::Label::as_str).collect()),
        }
    }
}
