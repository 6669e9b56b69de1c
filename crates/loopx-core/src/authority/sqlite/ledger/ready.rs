//! Owns the page of Todos that an agent may take: the walk along the ready index.
//!
//! Knows no rule behind the index: its columns come from `kernel::index`. Rows that exclude the agent, or need
//! what it lacks, are passed over within the index, and so cost no row.

use std::collections::BTreeSet;

use rusqlite::params;

use super::state::{Sql, State, column, fail, sql};
use crate::{
    error::Result,
    kernel::{Depth, Facts},
    model::{AgentId, Label, Priority},
};

/// Between the names that a side column holds; no agent and no label holds it.
pub(super) const BETWEEN: &str = "\n";

/// A partial term must stand literally in each statement, or the index would not be taken.
macro_rules! ready {
    ($rest:literal) => {
        concat!(
            "SELECT ready_at, id, excluded, needs FROM todos INDEXED BY todo_ready WHERE goal=?1 AND priority=?2 ",
            "AND unmet=0 AND cancelled_deps=0 AND blocking_gates=0 AND ",
            $rest
        )
    };
}

/// Nobody owns it, and no time has to come.
const FREE: Sql = sql!(ready!("free_at=0 AND ready_at=0 ORDER BY id"));
/// Nobody owns it, and its time has come.
const DUE: Sql = sql!(ready!("free_at=0 AND ready_at>0 AND ready_at<=?3 ORDER BY ready_at, id"));
/// An ownership or a reservation has run out. These come in the order of that moment, so all are looked at.
const EXPIRED: Sql = sql!(ready!("free_at>0 AND free_at<=?3 AND ready_at<=?3"));
/// It is kept for this agent.
const RESERVED: Sql = sql!(
    "SELECT ready_at, id, excluded, needs, priority FROM todos INDEXED BY todo_reserved
     WHERE reserved_for=?1 AND goal=?2 AND priority IS NOT NULL AND unmet=0 AND cancelled_deps=0
       AND blocking_gates=0 AND free_at>?3 AND ready_at<=?3"
);

/// Who takes a page, as the side columns see it.
struct Taker<'a> {
    agent: &'a str,
    has: BTreeSet<Label>,
}

impl Taker<'_> {
    fn may(&self, excluded: Option<&str>, needs: Option<&str>) -> bool {
        let excluded = excluded.is_some_and(|names| names.split(BETWEEN).any(|name| name == self.agent));
        let lacks = |need: &str| !self.has.iter().any(|label| label.as_str() == need);
        !excluded && !needs.is_some_and(|needs| needs.split(BETWEEN).any(lacks))
    }
}

impl State<'_> {
    /// The keys of the first Todos an agent may take, most urgent first.
    pub(super) fn ready(
        &mut self,
        goal: i64,
        agent: &AgentId,
        depth: Depth,
        now_ms: i64,
    ) -> Result<Vec<i64>> {
        let has = self.agent_row(goal, agent)?.map(|agent| agent.capabilities).unwrap_or_default();
        let taker = Taker { agent: agent.as_str(), has };
        let mut reserved = Vec::new();
        self.each(RESERVED, params![agent.as_str(), goal, now_ms], |row| {
            if let Some(place) = fitting(&taker, row)? {
                reserved.push((column::<i64>(row, 4)?, place));
            }
            Ok(true)
        })?;
        let mut page = Vec::new();
        for priority in Priority::ALL {
            let left = depth.rows().saturating_sub(page.len());
            if left == 0 {
                break;
            }
            let priority = priority as i64;
            let kept = reserved.iter().filter(|(of, _)| *of == priority);
            let mut places: Vec<_> = kept.map(|(_, place)| *place).collect();
            self.fitting(FREE, params![goal, priority], &taker, left, &mut places)?;
            self.fitting(DUE, params![goal, priority, now_ms], &taker, Facts::PAGE, &mut places)?;
            self.fitting(EXPIRED, params![goal, priority, now_ms], &taker, usize::MAX, &mut places)?;
            places.sort_unstable();
            let (always, in_time) = places.split_at(places.partition_point(|(ready_at, _)| *ready_at == 0));
            page.extend(always.iter().take(left).chain(in_time.iter().take(Facts::PAGE)).map(|(_, id)| *id));
        }
        Ok(page)
    }

    /// Collects the places of the first rows that the taker may take.
    fn fitting(
        &self,
        sql: Sql,
        given: impl rusqlite::Params,
        taker: &Taker<'_>,
        limit: usize,
        places: &mut Vec<(i64, i64)>,
    ) -> Result<()> {
        let full = places.len().saturating_add(limit);
        self.each(sql, given, |row| {
            places.extend(fitting(taker, row)?);
            Ok(places.len() < full)
        })
    }
}

/// Where a row stands among those of its priority, if the taker may take it.
fn fitting(taker: &Taker<'_>, row: &rusqlite::Row<'_>) -> Result<Option<(i64, i64)>> {
    let text = |at| -> Result<Option<&str>> {
        row.get_ref(at).and_then(|cell| Ok(cell.as_str_or_null()?)).map_err(|e| fail(&e))
    };
    if !taker.may(text(2)?, text(3)?) {
        return Ok(None);
    }
    Ok(Some((column(row, 0)?, column(row, 1)?)))
}
