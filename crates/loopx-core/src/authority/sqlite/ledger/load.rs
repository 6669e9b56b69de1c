//! Owns the answers to the kernel's questions.
//!
//! Knows no rule: what a question means stands at `Read`, and the ledger in memory answers the same.

use std::collections::BTreeSet;

use rusqlite::{Row, params};

use super::state::{OWN, Sql, State, body, column, corrupt, limited, number, row_id, sql, unsigned};
use crate::{
    authority::{Meta, NounFilter, StoredReceipt, View as _, clock::Stamp},
    error::{Error, Result},
    kernel::{Depth, Facts, IdList, Read, Rows, Used},
    model::{
        Agent, AgentId, Amounts, AuthorityId, Bucket, Counters, Gate, Goal, GoalId, IncarnationId, Limit,
        MeterScope, NounKey, NounKind, OneNoun as _, OperationId, Proposal, ProposalId, Timestamp, Todo,
        TodoId, TodoState, Turn,
    },
};

/// A question whose rows are whole Todos.
macro_rules! todos {
    ($rest:literal) => {
        concat!(
            "SELECT id, unmet, cancelled_deps, blocking_gates, woken_at, wake_lost, body FROM todos ",
            $rest
        )
    };
}
pub(super) use todos;

const TODO_GATES: Sql = sql!(
    "SELECT g.gate_id, g.body FROM gate_todos t CROSS JOIN gates g ON g.gate_id=t.gate_id
     WHERE t.todo=?1 AND g.blocking=1"
);
const GOAL_GATES: Sql =
    sql!("SELECT gate_id, body FROM gates INDEXED BY gate_blocking WHERE goal=?1 AND blocking=1 AND whole=1");
const APPROVALS: Sql =
    sql!("SELECT gate_id, body FROM gates INDEXED BY gate_approves WHERE goal=?1 AND approves=1");
const WRITERS: Sql = sql!(todos!("INDEXED BY todo_writers WHERE writes_in=?1"));
const DONE_DEPENDANTS: Sql = sql!(
    "SELECT t.id FROM deps d INDEXED BY deps_back CROSS JOIN todos t ON t.id=d.todo
     WHERE d.dep=?1 AND t.bucket='done' ORDER BY d.todo LIMIT ?2"
);
const COUNT_DONE_DEPENDANTS: Sql = sql!(
    "SELECT count(*) FROM deps d INDEXED BY deps_back CROSS JOIN todos t ON t.id=d.todo
     WHERE d.dep=?1 AND t.bucket='done'"
);
const CANCELLED_DEPS: Sql = sql!(
    "SELECT t.id FROM deps d CROSS JOIN todos t ON t.id=d.dep
     WHERE d.todo=?1 AND t.bucket='cancelled' ORDER BY d.dep LIMIT ?2"
);
const COUNT_CANCELLED_DEPS: Sql = sql!(
    "SELECT count(*) FROM deps d CROSS JOIN todos t ON t.id=d.dep
     WHERE d.todo=?1 AND t.bucket='cancelled'"
);
const UNFINISHED: Sql = sql!(todos!(
    "INDEXED BY todo_live WHERE live=1 AND id>?1 AND id<=?2 AND kind IN ('advance','blocker','replan')
     ORDER BY id LIMIT ?3"
));
const ACTIONS: Sql = sql!(todos!(
    "INDEXED BY todo_live WHERE live=1 AND id>?1 AND id<=?2 AND kind='action' ORDER BY id LIMIT ?3"
));
/// Only what a gate names can be counted as gated, and few gates of a Goal block.
const GATED: Sql = sql!(todos!(
    "WHERE live=1 AND blocking_gates>0 AND id IN (
       SELECT t.todo FROM gates g INDEXED BY gate_blocking CROSS JOIN gate_todos t ON t.gate_id=g.gate_id
       WHERE g.goal=?1 AND g.blocking=1 AND g.whole=0)
     ORDER BY id LIMIT ?2"
));
pub(super) const LIVE: Sql =
    sql!(todos!("INDEXED BY todo_live WHERE live=1 AND id>?1 AND id<=?2 ORDER BY id LIMIT ?3"));

/// Takes a Todo from a row of `todos!`.
pub(super) fn todo(row: &Row<'_>) -> Result<Todo> {
    let id: i64 = column(row, 0)?;
    let mut todo: Todo = body(row, 6, &format_args!("todos {id}"))?;
    if todo.todo_id.number() != number(id) {
        return Err(corrupt(format_args!("todos {id} holds {}", todo.todo_id)));
    }
    todo.counters = Counters {
        unmet: column(row, 1)?,
        cancelled_deps: column(row, 2)?,
        blocking_gates: column(row, 3)?,
        woken_at: column::<Option<i64>>(row, 4)?.map(Timestamp::from_ms),
        wake_lost: column(row, 5)?,
    };
    Ok(todo)
}

/// Takes a Turn from a row of (id, body).
pub(super) fn turn(row: &Row<'_>) -> Result<Turn> {
    minted(row, "turns")
}

/// Takes a gate from a row of (id, body).
pub(super) fn gate(row: &Row<'_>) -> Result<Gate> {
    minted(row, "gates")
}

/// Takes what a table keeps under a minted id, from a row of (id, body).
pub(super) fn minted<T: serde::de::DeserializeOwned>(row: &Row<'_>, table: &str) -> Result<T> {
    let id: [u8; 16] = column(row, 0)?;
    body(row, 1, &format_args!("{table} {:032x}", u128::from_be_bytes(id)))
}

/// What is found, beside what the asker has already.
pub(super) struct Found<'f> {
    pub(super) rows: Rows,
    have: &'f Rows,
}

impl Found<'_> {
    fn has_todo(&self, id: &TodoId) -> bool {
        self.rows.todos.contains_key(id) || self.have.todos.contains_key(id)
    }
}

impl State<'_> {
    pub(super) fn meta_row(&self) -> Result<Option<Meta>> {
        let sql = sql!(
            "SELECT authority_id, incarnation, boot_id, boot_ms, now_ms, clock_jump FROM meta WHERE one=1"
        );
        self.one(sql, [], |row| {
            Ok(Meta {
                authority_id: AuthorityId::from_bytes(column(row, 0)?),
                incarnation: IncarnationId::from_bytes(column(row, 1)?),
                stamp: Stamp {
                    boot_id: column(row, 2)?,
                    boot_ms: column(row, 3)?,
                    now_ms: column(row, 4)?,
                    clock_jump: column(row, 5)?,
                },
                schema: self.schema(),
            })
        })
    }

    /// The limit of all Goals together.
    fn authority_limit(&self) -> Result<Option<Limit>> {
        if !self.has(2) {
            return Ok(None);
        }
        self.one(sql!("SELECT body FROM settings WHERE name='limit'"), [], |row| {
            body(row, 0, &"settings limit")
        })
    }

    pub(super) fn receipt_row(&self, id: &OperationId) -> Result<Option<StoredReceipt>> {
        self.one(sql!("SELECT body FROM receipts WHERE operation_id=?1"), [id.as_str()], |row| {
            body(row, 0, &format_args!("receipts {id}"))
        })
    }

    pub(super) fn answer_all(&mut self, reads: &BTreeSet<Read>, facts: &mut Facts) -> Result<()> {
        let now = facts.now();
        let (mut used, mut authors, mut lists) = (Vec::new(), Vec::new(), Vec::new());
        let mut limit = None;
        let mut found = Found { rows: Rows::default(), have: facts.rows() };
        for read in reads {
            match read {
                Read::Used(scope, since) => used.push((scope.clone(), *since, self.used(scope, *since)?)),
                Read::AuthorityLimit => limit = Some(self.authority_limit()?),
                Read::Author(id) => authors.extend(self.author(id)?.map(|author| (id.clone(), author))),
                Read::DoneDependants(id) => {
                    lists.push((read, self.listed(DONE_DEPENDANTS, COUNT_DONE_DEPENDANTS, id)?));
                }
                Read::CancelledDeps(id) => {
                    lists.push((read, self.listed(CANCELLED_DEPS, COUNT_CANCELLED_DEPS, id)?));
                }
                _ => self.answer(read, now, &mut found)?, // wildcard: every other question loads rows
            }
        }
        let rows = found.rows;
        for (scope, since, used) in used {
            facts.load_used(scope, since, used);
        }
        if let Some(limit) = limit {
            facts.load_authority_limit(limit);
        }
        for (id, author) in authors {
            facts.load_author(id, author);
        }
        for (read, listed) in lists {
            facts.load_listed(read.clone(), listed);
        }
        rows.turns.keys().for_each(|id| self.saw_turn(*id));
        self.saw_todos(rows.todos.values());
        facts.load(rows);
        for read in reads {
            facts.note(read.clone());
        }
        Ok(())
    }

    fn answer(&mut self, read: &Read, now: Timestamp, found: &mut Found<'_>) -> Result<()> {
        match read {
            Read::Goal(goal) => self.goal_row(goal, found),
            Read::Agent(goal, agent) => self.agent(goal, agent, found),
            Read::Todo(id) => self.one_todo(id, found),
            Read::Text(id) => self.text(id, found),
            Read::Turn(id) => {
                let row = self.one(
                    sql!("SELECT turn_id, body FROM turns WHERE turn_id=?1"),
                    [id.as_bytes()],
                    turn,
                )?;
                self.with_todos(row, found)
            }
            Read::Gate(id) => {
                let row = self.one(
                    sql!("SELECT gate_id, body FROM gates WHERE gate_id=?1"),
                    [id.as_bytes()],
                    gate,
                )?;
                found.rows.gates.extend(row.map(|gate| (*id, gate)));
                Ok(())
            }
            Read::Evidence(id) => {
                let sql = sql!("SELECT evidence_id, body FROM evidence WHERE evidence_id=?1");
                let row = self.one(sql, [id.as_bytes()], |row| minted(row, "evidence"))?;
                found.rows.evidence.extend(row.map(|row| (*id, row)));
                Ok(())
            }
            Read::Noun(key) => self.one_noun(*key, found),
            Read::OpenNouns(goal, kind) => {
                let filter = NounFilter { kind: *kind, goal, todo: None, open: true };
                let page = self.nouns(&filter, None, Facts::PAGE)?;
                found.rows.nouns.extend(page.into_iter().map(|noun| (noun.key(), noun)));
                Ok(())
            }
            Read::EffectOf(goal, key) => self.effect_of(goal, key, found),
            Read::Proven(id) => self.proven_turn(id, found),
            Read::AgentTurns(goal, agent) => self.live_turns(goal, Some(agent), found),
            Read::LiveTurns(goal) => self.live_turns(goal, None, found),
            Read::TodoGates(id) => {
                let key = self.todo_key(id)?;
                self.some_gates(TODO_GATES, key, found)
            }
            Read::GoalGates(goal) => {
                let key = self.goal_key(goal)?;
                self.some_gates(GOAL_GATES, key, found)
            }
            Read::Approvals(goal) => {
                let key = self.goal_key(goal)?;
                self.some_gates(APPROVALS, key, found)
            }
            Read::Writers(workspace) => {
                let todos = self.all(WRITERS, [workspace.as_str()], todo)?;
                self.with_turns(todos, found)
            }
            Read::Ancestors(id) => self.ancestors(id, found),
            Read::Unfinished(goal) => {
                if self.first_todos(UNFINISHED, goal, Facts::UNFINISHED, found)? == 0 {
                    self.first_todos(ACTIONS, goal, 1, found)?;
                }
                Ok(())
            }
            Read::Gated(goal) => self.gated_todos(goal, found),
            Read::Live(goal) => self.first_todos(LIVE, goal, Facts::PAGE, found).map(drop),
            Read::Ready(goal, agent, depth) => self.ready_todos(goal, agent, *depth, now, found),
            // Answered by who calls this.
            Read::Used(..)
            | Read::AuthorityLimit
            | Read::Author(_)
            | Read::DoneDependants(_)
            | Read::CancelledDeps(_) => Ok(()),
        }
    }

    /// The first Todos that stand beside one, and how many do; no row is decoded.
    fn listed(&mut self, first: Sql, count: Sql, id: &TodoId) -> Result<IdList> {
        let Some(key) = self.todo_key(id)? else {
            return Ok(IdList::default());
        };
        let take = |row: &Row<'_>| Ok(TodoId::new(id.goal().clone(), number(column(row, 0)?)));
        let ids = self.all(first, params![key, limited(Facts::LISTED)], take)?;
        let count = if ids.len() < Facts::LISTED {
            ids.len() as u64
        } else {
            self.one(count, [key], |row| unsigned(row, 0))?.unwrap_or_default()
        };
        Ok(IdList { ids, count })
    }

    /// The live Turns of a Goal, of one agent if one is given.
    fn live_turns(&mut self, goal: &GoalId, agent: Option<&AgentId>, found: &mut Found<'_>) -> Result<()> {
        let Some(key) = self.goal_key(goal)? else {
            return Ok(());
        };
        let turns = if let Some(agent) = agent {
            let sql = sql!(
                "SELECT turn_id, body FROM turns INDEXED BY turn_live WHERE goal=?1 AND agent=?2 AND live=1"
            );
            self.all(sql, params![key, agent.as_str()], turn)?
        } else {
            let sql = sql!("SELECT turn_id, body FROM turns INDEXED BY turn_live WHERE goal=?1 AND live=1");
            self.all(sql, [key], turn)?
        };
        self.with_todos(turns, found)
    }

    /// The last Turn on a Todo whose result is proven, back from the newest. Ids order Turns by the moment of their
    /// admission, and not those of one moment: those are all looked at.
    fn proven_turn(&mut self, id: &TodoId, found: &mut Found<'_>) -> Result<()> {
        let Some(key) = self.todo_key(id)? else { return Ok(()) };
        let sql =
            sql!("SELECT turn_id, body FROM turns INDEXED BY turn_todos WHERE todo=?1 ORDER BY turn_id DESC");
        let mut last: Option<Turn> = None;
        self.each(sql, [key], |row| {
            let turn = turn(row)?;
            if last.as_ref().is_some_and(|last| turn.admitted_at < last.admitted_at) {
                return Ok(false);
            }
            if turn.is_proven() && last.as_ref().is_none_or(|last| last.turn_no < turn.turn_no) {
                last = Some(turn);
            }
            Ok(true)
        })?;
        self.with_todos(last, found)
    }

    /// The first Todos of a Goal that a gate blocks by name.
    fn gated_todos(&mut self, goal: &GoalId, found: &mut Found<'_>) -> Result<()> {
        let Some(key) = self.goal_key(goal)? else {
            return Ok(());
        };
        let todos = self.all(GATED, params![key, limited(Facts::UNFINISHED)], todo)?;
        self.with_turns(todos, found)
    }

    /// The Todos that an agent may take now, with their Turns.
    fn ready_todos(
        &mut self,
        goal: &GoalId,
        agent: &AgentId,
        depth: Depth,
        now: Timestamp,
        found: &mut Found<'_>,
    ) -> Result<()> {
        let Some(key) = self.goal_key(goal)? else {
            return Ok(());
        };
        for id in self.ready(key, agent, depth, now.as_ms())? {
            self.one_todo(&TodoId::new(goal.clone(), number(id)), found)?;
        }
        Ok(())
    }

    fn goal_row(&mut self, goal: &GoalId, found: &mut Found<'_>) -> Result<()> {
        let Some(key) = self.goal_key(goal)? else {
            return Ok(());
        };
        let row: Option<Goal> =
            self.one(sql!("SELECT body FROM goal_bodies WHERE goal=?1"), [key], |row| {
                body(row, 0, &format_args!("goal_bodies {goal}"))
            })?;
        found.rows.goals.extend(row.map(|row| (goal.clone(), row)));
        Ok(())
    }

    fn agent(&mut self, goal: &GoalId, agent: &AgentId, found: &mut Found<'_>) -> Result<()> {
        let Some(key) = self.goal_key(goal)? else {
            return Ok(());
        };
        let row: Option<Agent> = self.agent_row(key, agent)?;
        found.rows.agents.extend(row.map(|row| ((goal.clone(), agent.clone()), row)));
        Ok(())
    }

    pub(super) fn agent_row(&self, goal: i64, agent: &AgentId) -> Result<Option<Agent>> {
        self.one(
            sql!("SELECT body FROM agents WHERE goal=?1 AND agent=?2"),
            params![goal, agent.as_str()],
            |row| body(row, 0, &format_args!("agents {goal} {agent}")),
        )
    }

    fn text(&mut self, id: &TodoId, found: &mut Found<'_>) -> Result<()> {
        let Some(key) = self.todo_key(id)? else {
            return Ok(());
        };
        let row = self.one(sql!("SELECT body FROM texts WHERE id=?1"), [key], |row| {
            body(row, 0, &format_args!("texts {id}"))
        })?;
        found.rows.texts.extend(row.map(|text| (id.clone(), text)));
        Ok(())
    }

    /// Collects a Todo, with what goes with it.
    fn one_todo(&mut self, id: &TodoId, found: &mut Found<'_>) -> Result<()> {
        if found.has_todo(id) {
            return Ok(());
        }
        let Some(key) = self.todo_key(id)? else {
            return Ok(());
        };
        let row = self.one(sql!(todos!("WHERE id=?1")), [key], todo)?;
        self.with_turns(row, found)
    }

    /// Collects the first Todos of a Goal that a question names, and says how many those are.
    fn first_todos(&mut self, sql: Sql, goal: &GoalId, limit: usize, found: &mut Found<'_>) -> Result<usize> {
        let Some(key) = self.goal_key(goal)? else {
            return Ok(0);
        };
        let todos = self.all(sql, params![row_id(key, 0), row_id(key, u32::MAX), limited(limit)], todo)?;
        let count = todos.len();
        self.with_turns(todos, found)?;
        Ok(count)
    }

    /// Collects Todos, their Turns that have not ended, and what those proposed, with whose it is.
    fn with_turns(&mut self, todos: impl IntoIterator<Item = Todo>, found: &mut Found<'_>) -> Result<()> {
        for row in todos {
            if found.has_todo(&row.todo_id) {
                continue;
            }
            if let Some(turn_id) = row.turn_id.filter(|id| !found.rows.turns.contains_key(id)) {
                let sql = sql!("SELECT turn_id, body FROM turns WHERE turn_id=?1");
                let turn = self.one(sql, [turn_id.as_bytes()], turn)?;
                found.rows.turns.extend(turn.map(|turn| (turn_id, turn)));
            }
            for proposal_id in row.covering.iter().flat_map(|covering| &covering.proposed) {
                self.proposed(*proposal_id, found)?;
            }
            found.rows.todos.insert(row.todo_id.clone(), row);
        }
        Ok(())
    }

    /// Collects a proposal, and the agent that made it.
    fn proposed(&mut self, proposal_id: ProposalId, found: &mut Found<'_>) -> Result<()> {
        let key = NounKey { kind: NounKind::Proposal, id: *proposal_id.as_bytes() };
        self.one_noun(key, found)?;
        let author = found.rows.nouns.get(&key).and_then(Proposal::of).and_then(|proposal| {
            proposal.by.agent().map(|(agent, _)| (proposal.goal_id.clone(), agent.clone()))
        });
        author.map_or(Ok(()), |(goal, agent)| self.agent(&goal, &agent, found))
    }

    /// Collects Turns, and their Todos.
    fn with_todos(&mut self, turns: impl IntoIterator<Item = Turn>, found: &mut Found<'_>) -> Result<()> {
        for turn in turns {
            let todo_id = turn.todo_id().cloned();
            found.rows.turns.insert(turn.turn_id, turn);
            if let Some(todo_id) = todo_id {
                self.one_todo(&todo_id, found)?;
            }
        }
        Ok(())
    }

    fn some_gates(&mut self, sql: Sql, key: Option<i64>, found: &mut Found<'_>) -> Result<()> {
        let Some(key) = key else { return Ok(()) };
        let gates = self.all(sql, [key], gate)?;
        found.rows.gates.extend(gates.into_iter().map(|gate| (gate.gate_id, gate)));
        Ok(())
    }

    /// Walks along dependencies, depth first, as far as a walk may go.
    fn ancestors(&mut self, id: &TodoId, found: &mut Found<'_>) -> Result<()> {
        let mut seen = BTreeSet::new();
        let mut open = vec![id.clone()];
        while let Some(next) = open.pop() {
            if seen.contains(&next) || seen.len() > Facts::WALK_MAX {
                continue;
            }
            self.one_todo(&next, found)?;
            let Some(row) = found.rows.todos.get(&next).or_else(|| found.have.todos.get(&next)) else {
                continue;
            };
            if next == *id || !matches!(row.state, TodoState::Cancelled { .. }) {
                open.extend(row.depends_on.iter().cloned());
            }
            seen.insert(next);
        }
        Ok(())
    }

    /// The agent of the last Turn on a Todo that did not merely stop.
    fn author(&mut self, id: &TodoId) -> Result<Option<AgentId>> {
        let Some(key) = self.todo_key(id)? else {
            return Ok(None);
        };
        let row = self.one(sql!(todos!("WHERE id=?1")), [key], todo)?;
        Ok(row.as_ref().and_then(Todo::author).cloned())
    }

    /// What a meter holds since a bucket.
    fn used(&mut self, scope: &MeterScope, since: Bucket) -> Result<Used> {
        let mut sum = Used::default();
        let keys = match meter_key(scope) {
            Some((goal, agent)) => self.goal_key(goal)?.into_iter().map(|key| (key, agent)).collect(),
            // Goals are few beside what each holds, and one writes at a time.
            None => self.all(sql!("SELECT goal FROM goals WHERE goal>?1 ORDER BY goal"), [OWN], |row| {
                Ok((column(row, 0)?, ""))
            })?,
        };
        for (key, agent) in keys {
            let one = self.used_of(key, agent, since)?;
            sum.slots = sum.slots.saturating_add(one.slots);
            sum.amounts = sum.amounts.replacing(Amounts::default(), one.amounts);
            sum.oldest = [sum.oldest, one.oldest].into_iter().flatten().min();
        }
        Ok(sum)
    }

    /// What the meters of a Goal hold beside their slots.
    pub(super) fn amounts_of(&self, key: i64) -> Result<Vec<(String, Bucket, Amounts)>> {
        if !self.has(2) {
            return Ok(Vec::new());
        }
        let sql = sql!("SELECT agent, bucket, tokens, cost_micros, wall_ms FROM amounts WHERE goal=?1");
        self.all(sql, [key], |row| {
            let [tokens, cost_micros, wall_ms] = [unsigned(row, 2)?, unsigned(row, 3)?, unsigned(row, 4)?];
            let amounts = Amounts { tokens, cost_micros, wall_ms };
            Ok((column(row, 0)?, Bucket::from_number(column(row, 1)?), amounts))
        })
    }

    /// What one Goal, or one agent of it, holds since a bucket.
    fn used_of(&self, key: i64, agent: &str, since: Bucket) -> Result<Used> {
        let sql = sql!(
            "SELECT coalesce(sum(slots), 0), min(bucket) FROM meters WHERE goal=?1 AND agent=?2 AND bucket>=?3"
        );
        let used = self.one(sql, params![key, agent, since.number()], |row| {
            Ok(Used {
                slots: unsigned(row, 0)?,
                amounts: Amounts::default(),
                oldest: column::<Option<i64>>(row, 1)?.map(Bucket::from_number),
            })
        })?;
        let mut used = used.unwrap_or_default();
        if !self.has(2) {
            return Ok(used);
        }
        // Upper and lower halves by themselves: a sum of SQLite's that does not fit is an error.
        let sql = sql!(
            "SELECT coalesce(sum(tokens>>32), 0), coalesce(sum(tokens&4294967295), 0),
               coalesce(sum(cost_micros>>32), 0), coalesce(sum(cost_micros&4294967295), 0),
               coalesce(sum(wall_ms>>32), 0), coalesce(sum(wall_ms&4294967295), 0), min(bucket)
             FROM amounts WHERE goal=?1 AND agent=?2 AND bucket>=?3"
        );
        let amounts = self.one(sql, params![key, agent, since.number()], |row| {
            let whole = |at: usize| Ok::<u64, Error>(joined(unsigned(row, at)?, unsigned(row, at + 1)?));
            let amounts = Amounts { tokens: whole(0)?, cost_micros: whole(2)?, wall_ms: whole(4)? };
            Ok((amounts, column::<Option<i64>>(row, 6)?.map(Bucket::from_number)))
        })?;
        if let Some((amounts, oldest)) = amounts {
            used.amounts = amounts;
            used.oldest = [used.oldest, oldest].into_iter().flatten().min();
        }
        Ok(used)
    }
}

/// A sum from the sums of its upper and lower halves, at most what an amount can be.
fn joined(upper: u64, lower: u64) -> u64 {
    upper.saturating_mul(1 << 32).saturating_add(lower).min(Amounts::MAX)
}

/// A meter's key: the Goal, and the agent or nothing; none for what is summed over all Goals.
pub(super) fn meter_key(scope: &MeterScope) -> Option<(&GoalId, &str)> {
    match scope {
        MeterScope::Authority => None,
        MeterScope::Goal(goal) => Some((goal, "")),
        MeterScope::Agent(goal, agent) => Some((goal, agent.as_str())),
    }
}
