//! Owns lists, counts and searches: what people and programs page through.
//!
//! Knows no rule.

use std::collections::BTreeSet;

use rusqlite::{Row, params};
use serde_json::Value;

use super::{
    load::{gate, minted, todo, todos, turn},
    state::{OWN, State, body, column, corrupt, hash, limited, number, row_id, sql, unsigned},
};
use crate::{
    authority::{
        Count, EventFilter, GateFilter, Head, Meta, Meters, NounFilter, Record, StoredReceipt, Stray,
        TodoFilter, Told, TurnFilter, View, ledger::cursor,
    },
    error::{Error, Result},
    kernel::{Facts, Read},
    model::{
        Agent, Bucket, Digest, Evidence, EvidenceId, Gate, GateId, Goal, GoalId, MeterScope, Noun, NounKind,
        OperationId, Todo, TodoId, Turn, TurnId, Workspace,
    },
};

/// After every id: where a list begins that goes backwards from the end.
const LAST: [u8; 17] = [0xff; 17];

macro_rules! turns {
    ($rest:literal) => {
        concat!(
            "SELECT turn_id, body FROM turns INDEXED BY ",
            $rest,
            " AND turn_id<?2 AND (?3 IS NULL OR todo=?3) AND (?4 IS NULL OR agent=?4)
              AND (?5=0 OR live=1) ORDER BY turn_id DESC LIMIT ?6"
        )
    };
}

/// The random part of every id in a table, which only a search by a few letters of it reads.
macro_rules! tails {
    ($id:literal, $table:literal) => {
        concat!(
            "SELECT ",
            $id,
            " FROM ",
            $table,
            " WHERE substr(",
            $id,
            ", 7)>=?1 AND substr(",
            $id,
            ", 7)<=?2 ORDER BY ",
            $id,
            " LIMIT ?3"
        )
    };
}
impl View for State<'_> {
    fn meta(&mut self) -> Result<Option<Meta>> {
        self.meta_row()
    }

    fn receipt(&mut self, id: &OperationId) -> Result<Option<StoredReceipt>> {
        self.receipt_row(id)
    }

    fn head(&mut self, goal: &GoalId) -> Result<Option<Head>> {
        Ok(self.goal(goal)?.map(|(_, head)| head))
    }

    fn load(&mut self, reads: &BTreeSet<Read>, facts: &mut Facts) -> Result<()> {
        self.answer_all(reads, facts)
    }

    fn goals(&mut self, after: Option<&GoalId>, limit: usize) -> Result<Vec<Goal>> {
        // Every slug is greater than the empty text.
        let after = after.map_or("", GoalId::as_str);
        let sql = sql!(
            "SELECT g.slug, b.body FROM goals g CROSS JOIN goal_bodies b ON b.goal=g.goal
             WHERE g.slug>?1 ORDER BY g.slug LIMIT ?2"
        );
        self.all(sql, params![after, limited(limit)], |row| {
            let slug: String = column(row, 0)?;
            body(row, 1, &format_args!("goal_bodies {slug}"))
        })
    }

    fn todos(&mut self, filter: &TodoFilter<'_>, after: u32, limit: usize) -> Result<Vec<Todo>> {
        let Some(goal) = self.goal_key(filter.goal)? else {
            return Ok(Vec::new());
        };
        let (from, to, limit) = (row_id(goal, after), row_id(goal, u32::MAX), limited(limit));
        match (filter.bucket, filter.live) {
            (None, false) => self.all(
                sql!(todos!("WHERE id>?1 AND id<=?2 ORDER BY id LIMIT ?3")),
                params![from, to, limit],
                todo,
            ),
            (None, true) => self.all(super::load::LIVE, params![from, to, limit], todo),
            (Some(bucket), live) => {
                let sql = sql!(todos!(
                    "INDEXED BY todo_buckets WHERE bucket=?4 AND id>?1 AND id<=?2 AND (?5=0 OR live=1)
                     ORDER BY id LIMIT ?3"
                ));
                self.all(sql, params![from, to, limit, bucket, live], todo)
            }
        }
    }

    fn owned_in(&mut self, workspace: &Workspace, limit: usize) -> Result<Vec<Todo>> {
        let sql = sql!("SELECT body FROM todos INDEXED BY todo_writers WHERE writes_in=?1 LIMIT ?2");
        self.all(sql, params![workspace.as_str(), limited(limit)], |row| body(row, 0, &"todos"))
    }

    fn agents(&mut self, goal: &GoalId) -> Result<Vec<Agent>> {
        let Some(key) = self.goal_key(goal)? else {
            return Ok(Vec::new());
        };
        self.all(sql!("SELECT agent, body FROM agents WHERE goal=?1 ORDER BY agent"), [key], |row| {
            let agent: String = column(row, 0)?;
            body(row, 1, &format_args!("agents {goal} {agent}"))
        })
    }

    fn gates(&mut self, filter: &GateFilter<'_>, after: Option<&str>, limit: usize) -> Result<Vec<Gate>> {
        let after = cursor::<GateId>(after)?;
        let after: &[u8] = after.as_ref().map_or(&[], |id| id.as_bytes());
        let Some(goal) = self.goal_key(filter.goal)? else {
            return Ok(Vec::new());
        };
        let sql = if filter.blocking {
            sql!("SELECT gate_id, body FROM gates INDEXED BY gate_blocking WHERE goal=?1 AND blocking=1 AND gate_id>?2
             ORDER BY gate_id LIMIT ?3")
        } else {
            sql!(
                "SELECT gate_id, body FROM gates INDEXED BY gate_goals WHERE goal=?1 AND gate_id>?2
             ORDER BY gate_id LIMIT ?3"
            )
        };
        self.all(sql, params![goal, after, limited(limit)], gate)
    }

    fn evidence(
        &mut self,
        goal: &GoalId,
        todo: Option<&TodoId>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Evidence>> {
        let after = cursor::<EvidenceId>(after)?;
        let after: &[u8] = after.as_ref().map_or(&[], |id| id.as_bytes());
        let Some(goal) = self.goal_key(goal)? else {
            return Ok(Vec::new());
        };
        let take = |row: &Row<'_>| minted(row, "evidence");
        let Some(todo) = todo else {
            let sql = sql!(
                "SELECT evidence_id, body FROM evidence INDEXED BY evidence_goals WHERE goal=?1
                 AND evidence_id>?2 ORDER BY evidence_id LIMIT ?3"
            );
            return self.all(sql, params![goal, after, limited(limit)], take);
        };
        let Some(todo) = self.todo_key(todo)? else {
            return Ok(Vec::new());
        };
        let sql = sql!(
            "SELECT evidence_id, body FROM evidence INDEXED BY evidence_todos WHERE todo=?4 AND goal=?1
             AND evidence_id>?2 ORDER BY evidence_id LIMIT ?3"
        );
        self.all(sql, params![goal, after, limited(limit), todo], take)
    }

    fn nouns(&mut self, filter: &NounFilter<'_>, after: Option<&str>, limit: usize) -> Result<Vec<Noun>> {
        self.some_nouns(filter, after, limit)
    }

    fn last_noun(&mut self, kind: NounKind, todo: &TodoId) -> Result<Option<Noun>> {
        self.last_noun_of(kind, todo)
    }

    fn turns(&mut self, filter: &TurnFilter<'_>, before: Option<&str>, limit: usize) -> Result<Vec<Turn>> {
        let before = cursor::<TurnId>(before)?;
        // Every id is less than a longer text of the greatest byte.
        let before = before.as_ref().map_or(&LAST[..], |id| id.as_bytes());
        let Some(goal) = self.goal_key(filter.goal)? else {
            return Ok(Vec::new());
        };
        let todo = match filter.todo {
            None => None,
            Some(id) => match self.todo_key(id)? {
                None => return Ok(Vec::new()),
                key => key,
            },
        };
        let sql = match (filter.live, todo) {
            (true, _) => sql!(turns!("turn_live WHERE goal=?1 AND live=1")),
            (false, Some(_)) => sql!(turns!("turn_todos WHERE todo=?3 AND goal=?1")),
            (false, None) => sql!(turns!("turn_goals WHERE goal=?1")),
        };
        let agent = filter.agent.map(crate::model::AgentId::as_str);
        self.all(sql, params![goal, before, todo, agent, filter.live, limited(limit)], turn)
    }

    fn events(&mut self, filter: &EventFilter<'_>, limit: usize) -> Result<Vec<Record>> {
        let Some(goal) = self.goal_key(filter.goal)? else {
            return Ok(Vec::new());
        };
        self.events_of(goal, filter.after, limit)
    }

    fn own_head(&mut self) -> Result<Option<Head>> {
        let sql = sql!("SELECT id, hash FROM events WHERE id>?1 AND id<=?2 ORDER BY id DESC LIMIT 1");
        let last = self.one(sql, params![row_id(OWN, 0), row_id(OWN, u32::MAX)], |row| {
            Ok(Head { seq: number(column(row, 0)?).into(), hash: hash(row, 1)? })
        })?;
        if !self.has(2) {
            return Ok(last);
        }
        // What cannot be read fits no record, and keeps nobody from reading what is whole.
        let unreadable = Head { seq: last.map_or(1, |last| last.seq), hash: Digest::ZERO };
        let noted = self.one(sql!("SELECT body FROM settings WHERE name='own_head'"), [], |row| {
            let text: String = column(row, 0)?;
            Ok(serde_json::from_str(&text).unwrap_or(unreadable))
        })?;
        Ok(noted.or(last))
    }

    fn own_events(&mut self, after: u64, limit: usize) -> Result<Vec<Record>> {
        self.events_of(OWN, after, limit)
    }

    fn chains(&mut self, after: Option<&GoalId>, limit: usize) -> Result<Vec<(GoalId, Head)>> {
        // Every slug is greater than the empty text.
        let after = after.map_or("", GoalId::as_str);
        let sql = sql!("SELECT slug, head_seq, head_hash FROM goals WHERE slug>?1 ORDER BY slug LIMIT ?2");
        self.all(sql, params![after, limited(limit)], |row| {
            let slug: String = column(row, 0)?;
            let goal = slug.parse().map_err(|e: Error| corrupt(format_args!("goals {slug}: {e}")))?;
            Ok((goal, Head { seq: unsigned(row, 1)?, hash: hash(row, 2)? }))
        })
    }

    fn meters(&mut self, goal: &GoalId) -> Result<Meters> {
        let Some(key) = self.goal_key(goal)? else {
            return Ok(Meters::new());
        };
        let sql = sql!("SELECT agent, bucket, slots FROM meters WHERE goal=?1");
        let held = self.all(sql, [key], |row| {
            let agent: String = column(row, 0)?;
            let scope = meter_scope(goal, &agent)?;
            Ok(((scope, Bucket::from_number(column(row, 1)?)), unsigned(row, 2)?))
        })?;
        let mut meters = Meters::new();
        for (key, slots) in held {
            meters.entry(key).or_default().slots = slots;
        }
        for (agent, bucket, amounts) in self.amounts_of(key)? {
            let scope = meter_scope(goal, &agent)?;
            meters.entry((scope, bucket)).or_default().amounts = amounts;
        }
        Ok(meters)
    }

    fn stray(&mut self, goal: &GoalId) -> Result<Option<Stray>> {
        self.first_stray(goal)
    }

    fn receipts(&mut self, after: Option<&OperationId>, limit: usize) -> Result<Vec<Told>> {
        let after = after.map_or("", OperationId::as_str);
        let sql = sql!(
            "SELECT operation_id, body FROM receipts WHERE operation_id>?1 ORDER BY operation_id LIMIT ?2"
        );
        self.all(sql, params![after, limited(limit)], |row| {
            let id: String = column(row, 0)?;
            let receipt = body(row, 1, &format_args!("receipts {id}")).ok();
            Ok((id.parse().map_err(|e: Error| corrupt(format_args!("receipts {id}: {e}")))?, receipt))
        })
    }

    fn raw(&mut self, goal: &GoalId, each: &mut dyn FnMut(&'static str, Value) -> Result<()>) -> Result<()> {
        self.raw_rows(goal, each)
    }

    fn counts(&mut self, goal: &GoalId) -> Result<Count> {
        let Some(goal) = self.goal_key(goal)? else {
            return Ok(Count::new());
        };
        let counts =
            self.all(sql!("SELECT bucket, n FROM counts WHERE goal=?1 AND n<>0"), [goal], |row| {
                Ok((column(row, 0)?, unsigned(row, 1)?))
            })?;
        Ok(counts.into_iter().collect())
    }

    fn find(&mut self, text: &str, goal: Option<&GoalId>, limit: usize) -> Result<Vec<(String, String)>> {
        let text = text.to_lowercase();
        let holds = |id: &str, title: &str| id.contains(&text) || title.to_lowercase().contains(&text);
        let goals = self.named_goals(goal)?;
        let mut found: Vec<_> = goals
            .iter()
            .filter(|(_, slug, objective)| holds(slug, objective))
            .take(limit)
            .map(|(_, slug, objective)| (slug.clone(), objective.clone()))
            .collect();
        let sql =
            sql!("SELECT id, title FROM todos INDEXED BY todo_titles WHERE id>?1 AND id<=?2 ORDER BY id");
        for (key, slug, _) in &goals {
            self.each(sql, params![row_id(*key, 0), row_id(*key, u32::MAX)], |row| {
                if found.len() >= limit {
                    return Ok(false);
                }
                let id = format!("{slug}.{}", number(column(row, 0)?));
                let title: String = column(row, 1)?;
                if holds(&id, &title) {
                    found.push((id, title));
                }
                Ok(true)
            })?;
        }
        let sql =
            sql!("SELECT gate_id, body FROM gates INDEXED BY gate_goals WHERE goal=?1 ORDER BY gate_id");
        for (key, _, _) in &goals {
            self.each(sql, [key], |row| {
                if found.len() >= limit {
                    return Ok(false);
                }
                let gate = gate(row)?;
                let (id, question) = (gate.gate_id.to_string(), gate.question.to_string());
                if holds(&id, &question) {
                    found.push((id, question));
                }
                Ok(true)
            })?;
        }
        Ok(found)
    }

    fn tails(&mut self, prefix: &str, tail: &str, limit: usize) -> Result<Vec<String>> {
        let Some((from, to)) = tail_bounds(tail) else {
            return Ok(Vec::new());
        };
        if let Some(kind) = NounKind::ALL.iter().find(|kind| kind.prefix() == prefix) {
            return self.noun_tails(*kind, (from, to), limit);
        }
        let sql = match prefix {
            TurnId::PREFIX => sql!(tails!("turn_id", "turns")),
            GateId::PREFIX => sql!(tails!("gate_id", "gates")),
            EvidenceId::PREFIX => sql!(tails!("evidence_id", "evidence")),
            _ => return Ok(Vec::new()),
        };
        self.all(sql, params![from, to, limited(limit)], |row| {
            let id: [u8; 16] = column(row, 0)?;
            Ok(match prefix {
                TurnId::PREFIX => TurnId::from_bytes(id).to_string(),
                GateId::PREFIX => GateId::from_bytes(id).to_string(),
                _ => EvidenceId::from_bytes(id).to_string(),
            })
        })
    }
}

/// Whose meter a row is of.
fn meter_scope(goal: &GoalId, agent: &str) -> Result<MeterScope> {
    if agent.is_empty() {
        return Ok(MeterScope::Goal(goal.clone()));
    }
    let agent = agent.parse().map_err(|e: Error| corrupt(format_args!("meters: {e}")))?;
    Ok(MeterScope::Agent(goal.clone(), agent))
}

/// The least and the greatest random part, ten bytes, that begins with some letters; none if no id does.
fn tail_bounds(tail: &str) -> Option<([u8; 10], [u8; 10])> {
    let filled = |with: char| -> Option<[u8; 10]> {
        let mut text = format!("{}0000000000{tail}", TurnId::PREFIX);
        (tail.len()..16).for_each(|_| text.push(with));
        let id: TurnId = text.parse().ok()?;
        id.as_bytes().get(6..)?.try_into().ok()
    };
    Some((filled('0')?, filled('z')?))
}

impl State<'_> {
    /// Events under a Goal's number.
    fn events_of(&self, goal: i64, after: u64, limit: usize) -> Result<Vec<Record>> {
        let Ok(after) = u32::try_from(after) else {
            return Ok(Vec::new());
        };
        let sql = sql!("SELECT id, payload, hash FROM events WHERE id>?1 AND id<=?2 ORDER BY id LIMIT ?3");
        self.all(sql, params![row_id(goal, after), row_id(goal, u32::MAX), limited(limit)], |row| {
            Ok(Record { seq: number(column(row, 0)?).into(), payload: column(row, 1)?, hash: hash(row, 2)? })
        })
    }

    /// Number, slug and objective of one Goal or of all, by slug.
    fn named_goals(&mut self, goal: Option<&GoalId>) -> Result<Vec<(i64, String, String)>> {
        let sql = sql!(
            "SELECT g.goal, g.slug, b.body FROM goals g CROSS JOIN goal_bodies b ON b.goal=g.goal
             WHERE ?1 IS NULL OR g.slug=?1 ORDER BY g.slug"
        );
        self.all(sql, params![goal.map(GoalId::as_str)], |row| {
            let slug: String = column(row, 1)?;
            let goal: Goal = body(row, 2, &format_args!("goal_bodies {slug}"))?;
            Ok((column(row, 0)?, slug, goal.objective.to_string()))
        })
    }
}
