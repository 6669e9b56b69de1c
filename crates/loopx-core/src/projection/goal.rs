//! Owns what is shown of a Goal: its row, its page, and its whole history.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::page::{Listed, STEP, Slice, bad_cursor, collect};
use crate::{
    authority::{Count, EventFilter, GateFilter, StoredReceipt, TodoFilter, TurnFilter, View},
    error::{Code, Error, Result},
    kernel::{Facts, Read, Terms},
    model::{
        Agent, CloseKind, Digest, Evidence, Gate, Goal, GoalId, GoalInstance, GoalState, OperationId, Timestamp, Todo,
        TodoText, Turn,
    },
};

/// A Goal in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoalRow {
    /// The slug.
    pub goal_id: GoalId,
    /// What should be true in the end.
    pub objective: String,
    /// `active`, `stopped` or `closed`.
    pub state: &'static str,
    /// How a closed one ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<CloseKind>,
    /// How many Todos stand where.
    pub counts: Count,
    /// Criteria that are shown or waived.
    pub criteria_met: usize,
    /// All criteria.
    pub criteria: usize,
    /// What `--expect` names.
    pub revision: u64,
    /// When it was started.
    pub started_at_ms: Timestamp,
}

/// The state as it is shown.
pub(super) const fn state(goal: &Goal) -> &'static str {
    match goal.state {
        GoalState::Active => "active",
        GoalState::Stopped => "stopped",
        GoalState::Closed { .. } => "closed",
    }
}

impl GoalRow {
    pub(super) fn of(goal: &Goal, counts: Count) -> Self {
        let closed = match &goal.state {
            GoalState::Closed { kind, .. } => Some(*kind),
            GoalState::Active | GoalState::Stopped => None,
        };
        Self {
            goal_id: goal.goal_id.clone(),
            objective: goal.objective.to_string(),
            state: state(goal),
            closed,
            counts,
            criteria_met: goal.acceptance.iter().filter(|criterion| !criterion.state.is_open()).count(),
            criteria: goal.acceptance.len(),
            revision: goal.revision,
            started_at_ms: goal.started_at,
        }
    }
}

/// A page of Goals, by slug.
pub fn goals(view: &mut dyn View, states: &BTreeSet<&str>, slice: Slice<'_>) -> Result<Listed<GoalRow>> {
    let listed = collect(
        slice,
        |after, limit| {
            let after = after.map(|text| text.parse().map_err(|_| bad_cursor(text))).transpose()?;
            view.goals(after.as_ref(), limit)
        },
        |goal| goal.goal_id.to_string(),
        |goal| Ok((states.is_empty() || states.contains(state(&goal))).then_some(goal)),
    )?;
    let items: Result<Vec<_>> =
        listed.items.iter().map(|goal| Ok(GoalRow::of(goal, view.counts(&goal.goal_id)?))).collect();
    Ok(Listed { items: items?, next_cursor: listed.next_cursor })
}

/// The page of a Goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoalPage {
    /// The Goal as it stands.
    #[serde(flatten)]
    pub goal: Goal,
    /// How many Todos stand where.
    pub counts: Count,
    /// Its agents.
    pub agents: Vec<Agent>,
    /// The number of its last event, and the hash of its chain up to there.
    pub head_seq: u64,
    /// The hash.
    pub head_hash: Digest,
}

/// The Goal of that slug.
///
/// Errors: `not_found`.
pub(super) fn named(view: &mut dyn View, terms: &Terms, id: &GoalId) -> Result<Goal> {
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Goal(id.clone())].into(), &mut facts)?;
    facts.goal(id)?.cloned().ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no Goal {id}")).detail("goal_id", id.as_str()).hint("goal list")
    })
}

/// Refuses a Goal that is not there, at the cost of one indexed row.
///
/// Errors: `not_found`.
pub fn known(view: &mut dyn View, id: &GoalId) -> Result<()> {
    let found = view.head(id)?.map(drop);
    found.ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no Goal {id}")).detail("goal_id", id.as_str()).hint("goal list")
    })
}

/// The page of a Goal.
///
/// Errors: `not_found`.
pub fn goal(view: &mut dyn View, terms: &Terms, id: &GoalId) -> Result<GoalPage> {
    let goal = named(view, terms, id)?;
    let head = view.head(id)?;
    Ok(GoalPage {
        counts: view.counts(id)?,
        agents: view.agents(id)?,
        head_seq: head.map_or(0, |head| head.seq),
        head_hash: head.map_or(Digest::ZERO, |head| head.hash),
        goal,
    })
}

/// A Goal with its whole history: what `goal export` prints.
#[derive(Debug, Clone, Serialize)]
pub struct GoalExport {
    /// The Goal as it stands.
    pub goal: Goal,
    /// The life of its slug.
    pub goal_instance: GoalInstance,
    /// Its agents.
    pub agents: Vec<Agent>,
    /// Its Todos.
    pub todos: Vec<TodoExport>,
    /// Its Turns, newest first.
    pub turns: Vec<Turn>,
    /// Its gates.
    pub gates: Vec<Gate>,
    /// Its evidence.
    pub evidence: Vec<Evidence>,
    /// Its events, as they are chained.
    pub events: Vec<EventExport>,
    /// The receipts of the operations that made them.
    pub receipts: Vec<ReceiptExport>,
}

/// A Todo with its long text.
#[derive(Debug, Clone, Serialize)]
pub struct TodoExport {
    /// The row.
    #[serde(flatten)]
    pub todo: Todo,
    /// The long text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<TodoText>,
}

/// An event with its place in the chain.
#[derive(Debug, Clone, Serialize)]
pub struct EventExport {
    /// Its number.
    pub seq: u64,
    /// The chain's hash up to and with it.
    pub hash: Digest,
    /// The bytes the hash is taken over, as text.
    pub payload: String,
}

/// A receipt under its operation.
#[derive(Debug, Clone, Serialize)]
pub struct ReceiptExport {
    /// The operation.
    pub operation_id: OperationId,
    /// What it returned.
    pub receipt: StoredReceipt,
}

/// A Goal with its whole history.
///
/// Errors: `not_found`; `store_corrupt` for an event that is no text.
pub fn export(view: &mut dyn View, terms: &Terms, id: &GoalId) -> Result<GoalExport> {
    let goal = named(view, terms, id)?;
    let events = events(view, id)?;
    let receipts = receipts(view, &events)?;
    let turns = TurnFilter { goal: id, todo: None, agent: None, live: false };
    let gates = GateFilter { goal: id, blocking: false };
    Ok(GoalExport {
        goal_instance: goal.instance,
        agents: view.agents(id)?,
        todos: todos(view, terms, id)?,
        turns: all(|after, step| view.turns(&turns, after, step), |turn| turn.turn_id.to_string())?,
        gates: all(|after, step| view.gates(&gates, after, step), |gate| gate.gate_id.to_string())?,
        evidence: all(
            |after, step| view.evidence(id, None, after, step),
            |piece| piece.evidence_id.to_string(),
        )?,
        events,
        receipts,
        goal,
    })
}

fn all<T>(
    batch: impl FnMut(Option<&str>, usize) -> Result<Vec<T>>,
    id: impl Fn(&T) -> String,
) -> Result<Vec<T>> {
    Ok(collect(Slice { after: None, limit: None }, batch, id, |row| Ok(Some(row)))?.items)
}

fn todos(view: &mut dyn View, terms: &Terms, id: &GoalId) -> Result<Vec<TodoExport>> {
    let filter = TodoFilter { goal: id, live: false, bucket: None };
    let mut exported = Vec::new();
    let mut after = 0;
    loop {
        let rows = view.todos(&filter, after, STEP)?;
        let Some(last) = rows.last() else { return Ok(exported) };
        after = last.todo_id.number();
        let mut facts = Facts::new(terms.clone());
        view.load(&rows.iter().map(|todo| Read::Text(todo.todo_id.clone())).collect(), &mut facts)?;
        for todo in rows {
            let text = facts.text(&todo.todo_id)?.cloned();
            exported.push(TodoExport { todo, text });
        }
    }
}

fn events(view: &mut dyn View, id: &GoalId) -> Result<Vec<EventExport>> {
    let mut exported = Vec::new();
    let mut after = 0;
    loop {
        let records = view.events(&EventFilter { goal: id, after }, STEP)?;
        let Some(last) = records.last() else { return Ok(exported) };
        after = last.seq;
        for record in records {
            let payload = String::from_utf8(record.payload)
                .map_err(|e| Error::new(Code::StoreCorrupt, "an event is no text").internal(e))?;
            exported.push(EventExport { seq: record.seq, hash: record.hash, payload });
        }
    }
}

fn receipts(view: &mut dyn View, events: &[EventExport]) -> Result<Vec<ReceiptExport>> {
    let mut exported: Vec<ReceiptExport> = Vec::new();
    for event in events {
        let envelope: Value = serde_json::from_str(&event.payload)
            .map_err(|e| Error::new(Code::StoreCorrupt, "an event cannot be read").internal(e))?;
        let Some(text) = envelope.get("operation_id").and_then(Value::as_str) else { continue };
        // The events of one operation follow each other.
        if exported.last().is_some_and(|last| last.operation_id.as_str() == text) {
            continue;
        }
        let operation_id: OperationId = text.parse()?;
        if let Some(receipt) = view.receipt(&operation_id)? {
            exported.push(ReceiptExport { operation_id, receipt });
        }
    }
    Ok(exported)
}
