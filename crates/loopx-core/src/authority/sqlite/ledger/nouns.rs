//! Owns the nouns beside the plan in the file: one table, found by kind, Goal, Todo and whether they are open.
//!
//! Knows no rule and no noun. A file of schema 1 holds none, and a question about them is answered so.

use rusqlite::{Row, params};

use super::{
    load::Found,
    state::{Sql, State, column, corrupt, encode, limited, sql},
};
use crate::{
    authority::NounFilter,
    error::{Code, Error, Result},
    model::{EffectKey, GoalId, Noun, NounKey, NounKind, TodoId},
};

/// The first schema with the table.
pub(super) const SINCE: i32 = 2;

macro_rules! nouns {
    ($rest:literal) => {
        concat!(
            "SELECT id, body FROM nouns INDEXED BY ",
            $rest,
            " AND kind=?2 AND id>?3 ORDER BY id LIMIT ?4"
        )
    };
}

const OF_GOAL: Sql = sql!(nouns!("noun_goals WHERE goal=?1"));
const OPEN: Sql = sql!(nouns!("noun_open WHERE goal=?1 AND open=1"));
const OF_TODO: Sql = sql!(nouns!("noun_todos WHERE todo=?1"));
const LAST_OF_TODO: Sql = sql!(
    "SELECT id, body FROM nouns INDEXED BY noun_todos WHERE todo=?1 AND kind=?2 ORDER BY id DESC LIMIT 1"
);
/// A Goal has few effects: the rows of one kind are looked through.
const EFFECT_OF: Sql =
    sql!("SELECT id, body FROM nouns INDEXED BY noun_names WHERE goal=?1 AND kind=?2 AND name=?3");
const TAILS: Sql = sql!(
    "SELECT id FROM nouns WHERE kind=?1 AND substr(id, 7)>=?2 AND substr(id, 7)<=?3 ORDER BY id LIMIT ?4"
);

/// Takes a noun from a row of (id, body).
pub(super) fn noun(kind: NounKind, row: &Row<'_>) -> Result<Noun> {
    let id: [u8; 16] = column(row, 0)?;
    let body: String = column(row, 1)?;
    let of_row = || format!("nouns {}", kind.id(id));
    let noun = Noun::decode(kind, &body).map_err(|e| corrupt(format_args!("{}: {e}", of_row())))?;
    if noun.key() == (NounKey { kind, id }) { Ok(noun) } else { Err(corrupt(of_row())) }
}

impl State<'_> {
    pub(super) fn one_noun(&mut self, key: NounKey, found: &mut Found<'_>) -> Result<()> {
        if !self.has(SINCE) {
            return Ok(());
        }
        let sql = sql!("SELECT id, body FROM nouns WHERE id=?1 AND kind=?2");
        let row = self.one(sql, params![key.id, key.kind.as_str()], |row| noun(key.kind, row))?;
        found.rows.nouns.extend(row.map(|noun| (key, noun)));
        Ok(())
    }

    /// The effect that a key names in a Goal.
    pub(super) fn effect_of(&mut self, goal: &GoalId, key: &EffectKey, found: &mut Found<'_>) -> Result<()> {
        let Some(goal) = self.goal_key(goal)? else { return Ok(()) };
        if !self.has(SINCE) {
            return Ok(());
        }
        let kind = NounKind::Effect;
        let row = self.one(EFFECT_OF, params![goal, kind.as_str(), key.as_str()], |row| noun(kind, row))?;
        found.rows.nouns.extend(row.map(|noun| (noun.key(), noun)));
        Ok(())
    }

    pub(super) fn some_nouns(
        &mut self,
        filter: &NounFilter<'_>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Noun>> {
        let after = filter.after(after)?;
        let after: &[u8] = after.as_ref().map_or(&[], |id| id);
        let Some(goal) = self.goal_key(filter.goal)? else { return Ok(Vec::new()) };
        if !self.has(SINCE) {
            return Ok(Vec::new());
        }
        let kind = filter.kind;
        let (sql, key) = match filter.todo {
            Some(todo) => {
                let Some(key) = self.todo_key(todo)? else { return Ok(Vec::new()) };
                (OF_TODO, key)
            }
            None if filter.open => (OPEN, goal),
            None => (OF_GOAL, goal),
        };
        let mut page = Vec::new();
        if limit == 0 {
            return Ok(page);
        }
        // A Todo has few of a kind: those that are not asked for are passed over.
        let rows = if filter.todo.is_some() && filter.open { usize::MAX } else { limit };
        self.each(sql, params![key, kind.as_str(), after, limited(rows)], |row| {
            let noun = noun(kind, row)?;
            // A page of none has no row to spare.
            if page.len() < limit && (!filter.open || noun.is_open()) {
                page.push(noun);
            }
            Ok(page.len() < limit)
        })?;
        Ok(page)
    }

    /// The last noun of a kind about a Todo: no other row of it is read.
    pub(super) fn last_noun_of(&mut self, kind: NounKind, todo: &TodoId) -> Result<Option<Noun>> {
        let Some(key) = self.todo_key(todo)? else { return Ok(None) };
        if !self.has(SINCE) {
            return Ok(None);
        }
        self.one(LAST_OF_TODO, params![key, kind.as_str()], |row| noun(kind, row))
    }

    /// Ids of a kind whose random part lies between two.
    pub(super) fn noun_tails(
        &self,
        kind: NounKind,
        (from, to): ([u8; 10], [u8; 10]),
        limit: usize,
    ) -> Result<Vec<String>> {
        if !self.has(SINCE) {
            return Ok(Vec::new());
        }
        self.all(TAILS, params![kind.as_str(), from, to, limited(limit)], |row| Ok(kind.id(column(row, 0)?)))
    }

    pub(super) fn put_noun(&mut self, noun: &Noun) -> Result<()> {
        let NounKey { kind, id } = noun.key();
        let goal = self.written_goal(noun.goal_id())?;
        let todo = noun.todo_id().map(|todo| self.written_todo(todo)).transpose()?;
        let sql = sql!(
            "INSERT INTO nouns(id, kind, goal, todo, open, name, body) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT(id) DO UPDATE SET open=excluded.open, body=excluded.body"
        );
        self.run(sql, params![id, kind.as_str(), goal, todo, noun.is_open(), noun.name(), encode(noun)?])
            .map(drop)
    }

    /// Refuses what the schema of the file cannot hold.
    ///
    /// Errors: `schema_needs_migration`.
    pub(super) fn check_schema(&self, since: i32) -> Result<()> {
        if self.has(since) {
            return Ok(());
        }
        Err(Error::new(Code::SchemaNeedsMigration, format!("this needs schema {since} of the ledger"))
            .hint("migrate")
            .detail("needed", since))
    }
}
