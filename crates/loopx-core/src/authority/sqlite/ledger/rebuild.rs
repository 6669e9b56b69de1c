//! Owns the whole of a Goal in the file: its rows as they lie, handed out, and others put in their place.
//!
//! Knows no rule, and no row: what is handed out is columns.

use rusqlite::{params, types::ValueRef};
use serde_json::{Map, Value, json};

use super::{
    load::meter_key,
    nouns::SINCE,
    state::{Sql, State, fail, row_id, signed, sql},
};
use crate::{
    authority::{Head, Meters},
    error::{Code, Error, Result},
    kernel::Rows,
    model::{Amounts, GoalId},
};

/// Where rows of a Goal lie, each under the Goal's number `?1` and with keys from `?2` to `?3`.
const PLACES: [(&str, Sql, Sql); 14] = [
    (
        "goals",
        sql!("SELECT * FROM goals WHERE goal=?1 AND ?2<?3"),
        sql!("DELETE FROM goals WHERE goal=?1 AND ?2<?3"),
    ),
    (
        "goal_bodies",
        sql!("SELECT * FROM goal_bodies WHERE goal=?1 AND ?2<?3"),
        sql!("DELETE FROM goal_bodies WHERE goal=?1 AND ?2<?3"),
    ),
    (
        "agents",
        sql!("SELECT * FROM agents WHERE goal=?1 AND ?2<?3"),
        sql!("DELETE FROM agents WHERE goal=?1 AND ?2<?3"),
    ),
    (
        "todos",
        sql!("SELECT * FROM todos WHERE id>?2 AND id<=?3 AND ?1=?1"),
        sql!("DELETE FROM todos WHERE id>?2 AND id<=?3 AND ?1=?1"),
    ),
    (
        "texts",
        sql!("SELECT * FROM texts WHERE id>?2 AND id<=?3 AND ?1=?1"),
        sql!("DELETE FROM texts WHERE id>?2 AND id<=?3 AND ?1=?1"),
    ),
    (
        "deps",
        sql!("SELECT * FROM deps WHERE todo>?2 AND todo<=?3 AND ?1=?1"),
        sql!("DELETE FROM deps WHERE todo>?2 AND todo<=?3 AND ?1=?1"),
    ),
    (
        "turns",
        sql!("SELECT * FROM turns INDEXED BY turn_goals WHERE goal=?1 AND ?2<?3"),
        sql!("DELETE FROM turns INDEXED BY turn_goals WHERE goal=?1 AND ?2<?3"),
    ),
    (
        "gates",
        sql!("SELECT * FROM gates INDEXED BY gate_goals WHERE goal=?1 AND ?2<?3"),
        sql!("DELETE FROM gates INDEXED BY gate_goals WHERE goal=?1 AND ?2<?3"),
    ),
    (
        "gate_todos",
        sql!("SELECT * FROM gate_todos WHERE todo>?2 AND todo<=?3 AND ?1=?1"),
        sql!("DELETE FROM gate_todos WHERE todo>?2 AND todo<=?3 AND ?1=?1"),
    ),
    (
        "evidence",
        sql!("SELECT * FROM evidence INDEXED BY evidence_goals WHERE goal=?1 AND ?2<?3"),
        sql!("DELETE FROM evidence INDEXED BY evidence_goals WHERE goal=?1 AND ?2<?3"),
    ),
    (
        "meters",
        sql!("SELECT * FROM meters WHERE goal=?1 AND ?2<?3"),
        sql!("DELETE FROM meters WHERE goal=?1 AND ?2<?3"),
    ),
    (
        "counts",
        sql!("SELECT * FROM counts WHERE goal=?1 AND ?2<?3"),
        sql!("DELETE FROM counts WHERE goal=?1 AND ?2<?3"),
    ),
    // Last: a file of the first schema has none of these.
    (
        AMOUNTS,
        sql!("SELECT * FROM amounts WHERE goal=?1 AND ?2<?3"),
        sql!("DELETE FROM amounts WHERE goal=?1 AND ?2<?3"),
    ),
    (
        NOUNS,
        sql!("SELECT * FROM nouns INDEXED BY noun_goals WHERE goal=?1 AND ?2<?3"),
        sql!("DELETE FROM nouns INDEXED BY noun_goals WHERE goal=?1 AND ?2<?3"),
    ),
];

const NOUNS: &str = "nouns";
const AMOUNTS: &str = "amounts";
const GOALS: &str = "goals";

impl State<'_> {
    /// Hands out the rows of a Goal, each as its columns by name; bytes as `{"hex": …}`.
    pub(super) fn raw_rows(
        &mut self,
        goal: &GoalId,
        each: &mut dyn FnMut(&'static str, Value) -> Result<()>,
    ) -> Result<()> {
        let Some(key) = self.goal_key(goal)? else { return Ok(()) };
        for (place, all, _) in PLACES {
            if is_newer(place) && !self.has(SINCE) {
                continue;
            }
            self.each(all, params![key, row_id(key, 0), row_id(key, u32::MAX)], |row| {
                let mut columns = Map::new();
                for at in 0..row.as_ref().column_count() {
                    let name = row.as_ref().column_name(at).map_err(|e| fail(&e))?.to_owned();
                    columns.insert(name, shown(row.get_ref(at).map_err(|e| fail(&e))?));
                }
                each(place, Value::Object(columns))?;
                Ok(true)
            })?;
        }
        Ok(())
    }

    /// Puts rows in the place of all that lie under a Goal, and lets its chain end at a head.
    pub(super) fn replace_goal(
        &mut self,
        goal: &GoalId,
        head: Head,
        rows: &Rows,
        meters: &Meters,
    ) -> Result<()> {
        let Some(key) = self.goal_key(goal)? else { return Ok(()) };
        for (place, _, none) in PLACES {
            let stays = place == GOALS && head.seq > 0;
            if !stays && (!is_newer(place) || self.has(SINCE)) {
                self.run(none, params![key, row_id(key, 0), row_id(key, u32::MAX)])?;
            }
        }
        self.cut_events(key, head.seq)?;
        self.forget(goal);
        if head.seq == 0 {
            return Ok(());
        }
        let sql = sql!("UPDATE goals SET head_seq=?2, head_hash=?3 WHERE goal=?1");
        self.run(sql, params![key, signed(head.seq)?, head.hash.as_bytes()])?;
        self.put_rows(rows)?;
        for ((scope, bucket), held) in meters {
            let Some((_, agent)) = meter_key(scope) else { continue };
            if held.slots > 0 {
                let sql = sql!("INSERT INTO meters(goal, agent, bucket, slots) VALUES(?1, ?2, ?3, ?4)");
                self.run(sql, params![key, agent, bucket.number(), signed(held.slots)?])?;
            }
            self.move_amounts(scope, *bucket, Amounts::default(), held.amounts)?;
        }
        Ok(())
    }

    /// Takes the events after a number away.
    pub(super) fn cut_events(&mut self, key: i64, after: u64) -> Result<()> {
        let after = u32::try_from(after).map_err(|e| Error::from(Code::Internal).internal(e))?;
        let sql = sql!("DELETE FROM events WHERE id>?1 AND id<=?2");
        self.run(sql, params![row_id(key, after), row_id(key, u32::MAX)]).map(drop)
    }
}

/// Whether a file of the first schema lacks a table.
fn is_newer(place: &str) -> bool {
    matches!(place, NOUNS | AMOUNTS)
}

/// A column as it lies.
fn shown(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => json!(text),
            Err(_) => json!({"text_hex": crate::authority::hex(text)}),
        },
        ValueRef::Blob(bytes) => json!({"hex": crate::authority::hex(bytes)}),
    }
}
