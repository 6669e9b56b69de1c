//! Owns the way from a connection to typed rows: statements, keys, the encoding of a body.
//!
//! Knows no table but the Goals', whose numbers are part of other keys.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use rusqlite::{Connection, OptionalExtension as _, Params, Row, types::FromSql};
use serde::{Serialize, de::DeserializeOwned};

use super::super::typed;
use super::{SCHEMA, save::Lying};
use crate::{
    authority::Head,
    error::{Code, Error, Result},
    model::{Digest, GoalId, Todo, TodoId, TurnId},
};

/// The text of a statement.
///
/// Invariant: [`sql!`] alone makes one, and tells the tests of it; so none can stay out of the list whose plans are
/// checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sql(&'static str);

impl Sql {
    /// A text that stands in the list of all statements.
    pub(super) const fn listed(text: &'static str) -> Self {
        Self(text)
    }
}

/// A statement in the list of all statements, for the tests to read.
#[cfg(test)]
#[derive(Debug)]
pub(super) struct Listed(pub(super) &'static str);

#[cfg(test)]
inventory::collect!(Listed);

/// Makes a statement of a constant text.
macro_rules! sql {
    ($text:expr) => {{
        const TEXT: &str = $text;
        #[cfg(test)]
        ::inventory::submit! { $crate::authority::sqlite::ledger::state::Listed(TEXT) }
        $crate::authority::sqlite::ledger::state::Sql::listed(TEXT)
    }};
}
pub(super) use sql;

/// One state of the file, to be read, and within a write transaction to be changed.
#[derive(Debug)]
pub(super) struct State<'c> {
    conn: &'c Connection,
    /// The schema that the file has.
    version: i32,
    /// The Goals that were looked up in this state: their numbers, and the ends of their chains.
    goals: BTreeMap<GoalId, (i64, Head)>,
    /// The Turns that were read in this state, and so exist.
    turns: BTreeSet<TurnId>,
    /// The Todos that were read in this state, as they lie in the file; kept only by who may write.
    todos: Option<BTreeMap<TodoId, Lying>>,
    stored: bool,
}

/// Types an error of a statement.
pub(super) fn fail(e: &rusqlite::Error) -> Error {
    typed(e, SCHEMA.name)
}

/// The number under which the ledger's own events lie; those of Goals begin at 1.
pub(super) const OWN: i64 = 0;

/// The key of a Todo or an event: its Goal's number and its own.
pub(super) fn row_id(goal: i64, number: u32) -> i64 {
    (goal << 32) | i64::from(number)
}

/// The number in its Goal that a key holds.
pub(super) fn number(row_id: i64) -> u32 {
    // The upper half is the Goal's.
    u32::try_from(row_id & i64::from(u32::MAX)).unwrap_or_default()
}

/// A page's size as SQLite takes it.
pub(super) fn limited(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// An unsigned number as SQLite holds it.
pub(super) fn signed(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|e| Error::from(Code::Internal).internal(e))
}

/// Encodes a row.
pub(super) fn encode<T: Serialize>(row: &T) -> Result<String> {
    serde_json::to_string(row).map_err(|e| Error::from(Code::Internal).internal(e))
}

/// Decodes a row; `key` names it for who has to look into the file.
pub(super) fn decode<T: DeserializeOwned>(key: &dyn Display, body: &str) -> Result<T> {
    serde_json::from_str(body).map_err(|e| corrupt(format_args!("{key}: {e}")))
}

/// A row that was not written by us.
pub(super) fn corrupt(what: impl Display) -> Error {
    Error::new(Code::StoreCorrupt, "a row of the ledger cannot be read").internal(what)
}

/// Takes a column.
pub(super) fn column<T: FromSql>(row: &Row<'_>, at: usize) -> Result<T> {
    row.get(at).map_err(|e| fail(&e))
}

/// Takes a link of a chain. One of the wrong length fits nothing, and keeps nobody from reading what is whole.
pub(super) fn hash(row: &Row<'_>, at: usize) -> Result<Digest> {
    let bytes: Vec<u8> = column(row, at)?;
    Ok(<[u8; 32]>::try_from(bytes).map_or(Digest::ZERO, Digest::from_bytes))
}

/// Takes a column that holds no negative number.
pub(super) fn unsigned(row: &Row<'_>, at: usize) -> Result<u64> {
    u64::try_from(column::<i64>(row, at)?).map_err(|e| corrupt(format_args!("column {at}: {e}")))
}

/// Decodes the body that a row holds in a column.
pub(super) fn body<T: DeserializeOwned>(row: &Row<'_>, at: usize, key: &dyn Display) -> Result<T> {
    let body = row.get_ref(at).map_err(|e| fail(&e))?;
    decode(key, body.as_str().map_err(|e| corrupt(format_args!("{key}: {e}")))?)
}

impl<'c> State<'c> {
    /// A state to be read.
    pub(super) fn new(conn: &'c Connection, version: i32) -> Self {
        Self { conn, version, goals: BTreeMap::new(), turns: BTreeSet::new(), todos: None, stored: false }
    }

    /// A state to be changed.
    pub(super) fn to_write(conn: &'c Connection, version: i32) -> Self {
        Self { todos: Some(BTreeMap::new()), ..Self::new(conn, version) }
    }

    /// The schema that the file has.
    pub(super) const fn schema(&self) -> i32 {
        self.version
    }

    /// Whether the file has a schema, or a later one.
    pub(super) const fn has(&self, version: i32) -> bool {
        self.version >= version
    }

    /// Whether anything was written through this state.
    pub(super) fn has_stored(&self) -> bool {
        self.stored
    }

    /// Takes the one row of a question.
    pub(super) fn one<T>(
        &self,
        sql: Sql,
        params: impl Params,
        take: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.conn.prepare_cached(sql.0).map_err(|e| fail(&e))?;
        statement.query_row(params, |row| Ok(take(row))).optional().map_err(|e| fail(&e))?.transpose()
    }

    /// Takes rows until there are no more or `take` has enough.
    pub(super) fn each(
        &self,
        sql: Sql,
        params: impl Params,
        mut take: impl FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        let mut statement = self.conn.prepare_cached(sql.0).map_err(|e| fail(&e))?;
        let mut rows = statement.query(params).map_err(|e| fail(&e))?;
        while let Some(row) = rows.next().map_err(|e| fail(&e))? {
            if !take(row)? {
                break;
            }
        }
        Ok(())
    }

    /// Takes all rows.
    pub(super) fn all<T>(
        &self,
        sql: Sql,
        params: impl Params,
        mut take: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        self.each(sql, params, |row| {
            found.push(take(row)?);
            Ok(true)
        })?;
        Ok(found)
    }

    /// Runs a statement that changes rows; says how many.
    pub(super) fn run(&mut self, sql: Sql, params: impl Params) -> Result<usize> {
        self.stored = true;
        self.conn
            .prepare_cached(sql.0)
            .and_then(|mut statement| statement.execute(params))
            .map_err(|e| fail(&e))
    }

    /// The number of a Goal and the end of its chain, if there is such a Goal.
    pub(super) fn goal(&mut self, goal: &GoalId) -> Result<Option<(i64, Head)>> {
        if let Some(known) = self.goals.get(goal) {
            return Ok(Some(*known));
        }
        let sql = sql!("SELECT goal, head_seq, head_hash FROM goals WHERE slug=?1");
        let known = self.one(sql, [goal.as_str()], |row| {
            let head = Head { seq: unsigned(row, 1)?, hash: hash(row, 2)? };
            Ok((column(row, 0)?, head))
        })?;
        if let Some(known) = known {
            self.goals.insert(goal.clone(), known);
        }
        Ok(known)
    }

    /// The number of a Goal, if there is such a Goal.
    pub(super) fn goal_key(&mut self, goal: &GoalId) -> Result<Option<i64>> {
        Ok(self.goal(goal)?.map(|(key, _)| key))
    }

    /// Notes where the chain of a Goal ends now.
    pub(super) fn moved(&mut self, goal: &GoalId, key: i64, head: Head) {
        self.goals.insert(goal.clone(), (key, head));
    }

    /// Forgets what was seen of a Goal and of all Todos and Turns.
    pub(super) fn forget(&mut self, goal: &GoalId) {
        self.goals.remove(goal);
        self.turns.clear();
        self.todos = self.todos.take().map(|_| BTreeMap::new());
    }

    /// Notes that a Turn exists.
    pub(super) fn saw_turn(&mut self, turn: TurnId) {
        self.turns.insert(turn);
    }

    /// Whether a Turn was read before, and so is there to be updated.
    pub(super) fn has_seen(&self, turn: TurnId) -> bool {
        self.turns.contains(&turn)
    }

    /// Notes how Todos lie in the file.
    pub(super) fn saw_todos<'t>(&mut self, todos: impl IntoIterator<Item = &'t Todo>) {
        if let Some(seen) = &mut self.todos {
            seen.extend(todos.into_iter().map(|todo| (todo.todo_id.clone(), Lying::of(todo))));
        }
    }

    /// How a Todo that was read before lies in the file.
    pub(super) fn take_lying(&mut self, todo: &TodoId) -> Option<Lying> {
        self.todos.as_mut()?.remove(todo)
    }

    /// The key of a Todo, if there is its Goal.
    pub(super) fn todo_key(&mut self, todo: &TodoId) -> Result<Option<i64>> {
        Ok(self.goal_key(todo.goal())?.map(|goal| row_id(goal, todo.number())))
    }

    /// The number of a Goal whose rows are written.
    pub(super) fn written_goal(&mut self, goal: &GoalId) -> Result<i64> {
        self.goal_key(goal)?.ok_or_else(|| {
            Error::from(Code::Internal).internal(format_args!("{goal} is written and does not exist"))
        })
    }

    /// The key of a Todo that is written.
    pub(super) fn written_todo(&mut self, todo: &TodoId) -> Result<i64> {
        Ok(row_id(self.written_goal(todo.goal())?, todo.number()))
    }
}
