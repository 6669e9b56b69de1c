//! Owns the look at what is kept beside rows so that they are found: columns and links, which must agree with them.
//!
//! Knows no rule: what the columns of a row are `kernel::index` says.

use rusqlite::{Row, params};

use super::{
    load::{gate, minted, turn},
    save::Still,
    state::{State, column, number, row_id, sql},
};
use crate::{
    authority::Stray,
    error::Result,
    kernel::index,
    model::{Blocks, Evidence, Gate, GateState, GoalId, NounKind, Todo, TodoId, Turn, Workspace},
};

fn stray(row: impl std::fmt::Display, what: &'static str) -> Stray {
    Stray { row: row.to_string(), what }
}

impl State<'_> {
    /// The first column or link of a Goal that says something else than its row.
    pub(super) fn first_stray(&mut self, goal: &GoalId) -> Result<Option<Stray>> {
        let Some(key) = self.goal_key(goal)? else { return Ok(None) };
        let looks = [
            Self::stray_todo,
            Self::stray_link,
            Self::stray_turn,
            Self::stray_gate,
            Self::stray_evidence,
            Self::stray_noun,
        ];
        for look in looks {
            if let Some(found) = look(self, key, goal)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn stray_todo(&mut self, key: i64, _: &GoalId) -> Result<Option<Stray>> {
        let sql = sql!(
            "SELECT id, unmet, cancelled_deps, blocking_gates, woken_at, wake_lost, body,
               goal, priority, free_at, ready_at, bucket, writes_in, live, kind, title, wake_target, reserved_for,
               excluded, needs
             FROM todos WHERE id>?1 AND id<=?2 ORDER BY id"
        );
        let mut found = None;
        self.each(sql, params![row_id(key, 0), row_id(key, u32::MAX)], |row| {
            let todo = super::load::todo(row)?;
            found = stray_column(row, key, &todo)?.map(|what| stray(&todo.todo_id, what));
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    /// Links from Todos to what they depend on, and texts without a Todo.
    fn stray_link(&mut self, key: i64, goal: &GoalId) -> Result<Option<Stray>> {
        let (from, to) = (row_id(key, 0), row_id(key, u32::MAX));
        let id = |id: i64| TodoId::new(goal.clone(), number(id));
        let todos = self.all(
            sql!(
                "SELECT id, unmet, cancelled_deps, blocking_gates, woken_at, wake_lost, body FROM todos
                  WHERE id>?1 AND id<=?2 AND instr(body, '\"depends_on\"')>0 ORDER BY id"
            ),
            params![from, to],
            |row| {
                let todo: Todo = super::load::todo(row)?;
                Ok((column::<i64>(row, 0)?, todo.depends_on))
            },
        )?;
        let mut wanted = todos.into_iter().flat_map(|(todo, deps)| {
            let deps: Vec<_> = deps.iter().map(|dep| (todo, row_id(key, dep.number()))).collect();
            deps.into_iter()
        });
        let sql = sql!("SELECT todo, dep FROM deps WHERE todo>?1 AND todo<=?2 ORDER BY todo, dep");
        let mut found = None;
        self.each(sql, params![from, to], |row| {
            let link: (i64, i64) = (column(row, 0)?, column(row, 1)?);
            let next = wanted.next();
            if next != Some(link) {
                let at = next.map_or(link.0, |next| next.0.min(link.0));
                found = Some(stray(id(at), "a link to what it depends on"));
            }
            Ok(found.is_none())
        })?;
        if let (None, Some((todo, _))) = (&found, wanted.next()) {
            found = Some(stray(id(todo), "a link to what it depends on"));
        }
        if found.is_some() {
            return Ok(found);
        }
        let sql = sql!(
            "SELECT x.id FROM texts x WHERE x.id>?1 AND x.id<=?2
             AND NOT EXISTS(SELECT 1 FROM todos t WHERE t.id=x.id) ORDER BY x.id LIMIT 1"
        );
        let orphan = self.one(sql, params![from, to], |row| column::<i64>(row, 0))?;
        Ok(orphan.map(|at| stray(id(at), "a text without its Todo")))
    }

    fn stray_turn(&mut self, key: i64, goal: &GoalId) -> Result<Option<Stray>> {
        let sql = sql!(
            "SELECT turn_id, body, agent, todo, live FROM turns INDEXED BY turn_goals WHERE goal=?1 ORDER BY turn_id"
        );
        let mut found = None;
        self.each(sql, [key], |row| {
            let turn: Turn = turn(row)?;
            let todo = turn.todo_id().map(|todo| row_id(key, todo.number()));
            let agrees = column::<String>(row, 2)? == turn.agent_id.as_str()
                && column::<Option<i64>>(row, 3)? == todo
                && column::<bool>(row, 4)? != turn.is_terminal()
                && column::<[u8; 16]>(row, 0)? == *turn.turn_id.as_bytes()
                && turn.goal_id == *goal;
            found = (!agrees).then(|| stray(turn.turn_id, "a column of its row"));
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    fn stray_gate(&mut self, key: i64, _: &GoalId) -> Result<Option<Stray>> {
        let sql = sql!(
            "SELECT gate_id, body, whole, blocking, approves FROM gates INDEXED BY gate_goals WHERE goal=?1
             ORDER BY gate_id"
        );
        let gates = self.all(sql, [key], |row| {
            let gate: Gate = gate(row)?;
            let approves = matches!(gate.state, GateState::Approved { .. }) && gate.scope.is_some();
            let agrees = column::<bool>(row, 2)? == (gate.blocks == Blocks::Goal)
                && column::<bool>(row, 3)? == gate.is_blocking()
                && column::<bool>(row, 4)? == approves
                && column::<[u8; 16]>(row, 0)? == *gate.gate_id.as_bytes();
            Ok((agrees, gate))
        })?;
        for (agrees, gate) in gates {
            if !agrees {
                return Ok(Some(stray(gate.gate_id, "a column of its row")));
            }
            let mut named: Vec<i64> = match &gate.blocks {
                Blocks::Todos(ids) => ids.iter().map(|id| row_id(key, id.number())).collect(),
                Blocks::Goal => Vec::new(),
            };
            named.sort_unstable();
            named.dedup();
            let sql =
                sql!("SELECT todo FROM gate_todos INDEXED BY gate_todos_back WHERE gate_id=?1 ORDER BY todo");
            let linked: Vec<i64> = self.all(sql, [gate.gate_id.as_bytes()], |row| column(row, 0))?;
            if linked != named {
                return Ok(Some(stray(gate.gate_id, "a link to what it blocks")));
            }
        }
        Ok(None)
    }

    fn stray_evidence(&mut self, key: i64, _: &GoalId) -> Result<Option<Stray>> {
        let sql = sql!(
            "SELECT evidence_id, body, todo FROM evidence INDEXED BY evidence_goals WHERE goal=?1
             ORDER BY evidence_id"
        );
        let mut found = None;
        self.each(sql, [key], |row| {
            let piece: Evidence = minted(row, "evidence")?;
            let todo = piece.todo_id.as_ref().map(|todo| row_id(key, todo.number()));
            let agrees = column::<Option<i64>>(row, 2)? == todo
                && column::<[u8; 16]>(row, 0)? == *piece.evidence_id.as_bytes();
            found = (!agrees).then(|| stray(piece.evidence_id, "a column of its row"));
            Ok(found.is_none())
        })?;
        Ok(found)
    }
}

impl State<'_> {
    fn stray_noun(&mut self, key: i64, _: &GoalId) -> Result<Option<Stray>> {
        if !self.has(super::nouns::SINCE) {
            return Ok(None);
        }
        for kind in NounKind::ALL {
            let sql = sql!(
                "SELECT id, body, todo, open, name FROM nouns INDEXED BY noun_goals WHERE goal=?1 AND kind=?2 ORDER BY id"
            );
            let mut found = None;
            self.each(sql, params![key, kind.as_str()], |row| {
                let noun = super::nouns::noun(*kind, row)?;
                let todo = noun.todo_id().map(|todo| row_id(key, todo.number()));
                let agrees = column::<Option<i64>>(row, 2)? == todo
                    && column::<bool>(row, 3)? == noun.is_open()
                    && column::<Option<String>>(row, 4)?.as_deref() == noun.name();
                found = (!agrees).then(|| stray(kind.id(noun.key().id), "a column of its row"));
                Ok(found.is_none())
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// The first column of a Todo that says something else than its row.
fn stray_column(row: &Row<'_>, key: i64, todo: &Todo) -> Result<Option<&'static str>> {
    let index = index(todo);
    let still = Still::of(todo, &index);
    let ready = index.ready.map(|ready| (Some(i64::from(ready.priority)), Some(ready.free_at)));
    let text = |at| column::<Option<String>>(row, at);
    let looks = [
        ("the column `goal`", column::<i64>(row, 7)? == key),
        (
            "the ready index",
            (column::<Option<i64>>(row, 8)?, column::<Option<i64>>(row, 9)?) == ready.unwrap_or_default(),
        ),
        ("the column `ready_at`", column::<i64>(row, 10)? == index.ready_at),
        ("the column `bucket`", column::<String>(row, 11)? == index.bucket),
        ("the column `writes_in`", text(12)?.as_deref() == index.writes_in.as_ref().map(Workspace::as_str)),
        ("the column `live`", column::<bool>(row, 13)? == still.live),
        ("the column `kind`", column::<String>(row, 14)? == todo.kind.as_str()),
        ("the column `title`", column::<String>(row, 15)? == still.title),
        ("the column `wake_target`", text(16)? == still.wake_target),
        ("the column `reserved_for`", text(17)? == still.reserved_for),
        ("the column `excluded`", text(18)? == still.excluded),
        ("the column `needs`", text(19)? == still.needs),
    ];
    Ok(looks.into_iter().find(|(_, agrees)| !agrees).map(|(what, _)| what))
}
