//! Owns a Goal's whole history as it may be handed on: every row, every event with its place in the chain, receipts.
//!
//! Knows no rule. Invariant: what an owner presents to write never leaves: each ownership token is printed as its
//! digest, so that rows, events and receipts of one ownership are still seen to belong together; the words and the
//! environment of validators pass the public screen, and a pointer that is the owner's stays. The chain can be checked all the same, since it is made over the
//! digests of payloads, which are printed.

mod chained;
mod closed;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub use chained::check_chain;
use closed::Closed;

use super::{
    goal::named,
    page::{STEP, Slice, collect},
};
use crate::{
    authority::{
        Envelope, EventFilter, Flaw, GateFilter, Head, NounFilter, TodoFilter, TurnFilter, View, chain_flaw,
        next_link,
    },
    boundary::{Public, screen},
    error::{Code, Error, Result},
    kernel::{Facts, Read, Terms},
    model::json_value,
    model::{Digest, GoalId, GoalInstance, NounKind, OperationId, OwnId, Todo, TodoText, gathered},
};

/// What stands for a validator's word in which a credential was found.
const WITHHELD: &str = "[withheld]";

/// A Goal with its whole history: what `goal export` prints.
#[derive(Debug, Clone, Serialize)]
pub struct GoalExport {
    /// The Goal as it stands.
    pub goal: Value,
    /// The life of its slug.
    pub goal_instance: GoalInstance,
    /// Its agents.
    pub agents: Vec<Value>,
    /// Its Todos, each with its long text under `text`.
    pub todos: Vec<Value>,
    /// Its Turns, newest first.
    pub turns: Vec<Value>,
    /// Its gates.
    pub gates: Vec<Value>,
    /// Its evidence.
    pub evidence: Vec<Value>,
    /// The nouns beside its plan, by kind.
    pub nouns: BTreeMap<&'static str, Vec<Value>>,
    /// Its events, as they are chained.
    pub events: Vec<EventExport>,
    /// The receipts of the operations that made them.
    pub receipts: Vec<ReceiptExport>,
    /// Why events from a number on are not here: the chain does not hold there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Flaw>,
}

#[derive(Serialize)]
struct TodoExport {
    #[serde(flatten)]
    todo: Todo,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TodoText>,
}

impl Public for TodoExport {}

/// An event with its place in the chain.
#[derive(Debug, Clone, Serialize)]
pub struct EventExport {
    /// Its number.
    pub seq: u64,
    /// The chain's hash up to and with it: over the hash before, the number and `payload_digest`.
    pub hash: Digest,
    /// The digest of the stored payload, before anything was taken out of it.
    pub payload_digest: Digest,
    /// What is stored, without what may not be handed on.
    pub payload: Value,
    /// What wrote it.
    #[serde(skip)]
    operation_id: OperationId,
}

/// A receipt under its operation.
#[derive(Debug, Clone, Serialize)]
pub struct ReceiptExport {
    /// The operation.
    pub operation_id: OperationId,
    /// What it returned.
    pub receipt: Value,
}

/// A Goal with its whole history.
///
/// Errors: `not_found`; `store_corrupt` for an event that cannot be read.
pub fn export(view: &mut dyn View, terms: &Terms, id: &GoalId) -> Result<GoalExport> {
    let goal = named(view, terms, id)?;
    let (events, finding) = events(view, id, Head::START)?;
    let receipts = receipts(view, &events)?;
    let turns = TurnFilter { goal: id, todo: None, agent: None, live: false };
    let gates = GateFilter { goal: id, blocking: false };
    let agents = view.agents(id)?.iter().map(public).collect::<Result<_>>()?;
    Ok(GoalExport {
        goal_instance: goal.instance,
        goal: public(&goal)?,
        agents,
        todos: todos(view, terms, id)?,
        turns: all(
            |after, step| view.turns(&turns, after, step),
            |turn| turn.turn_id.to_string(),
            |turn| public(&Closed::turn(turn)?),
        )?,
        gates: all(
            |after, step| view.gates(&gates, after, step),
            |gate| gate.gate_id.to_string(),
            |gate| public(&gate),
        )?,
        evidence: all(
            |after, step| view.evidence(id, None, after, step),
            |piece| piece.evidence_id.to_string(),
            |piece| public(&Closed::evidence(piece)?),
        )?,
        nouns: nouns(view, id)?,
        events,
        receipts,
        finding,
    })
}

fn all<T>(
    batch: impl FnMut(Option<&str>, usize) -> Result<Vec<T>>,
    id: impl Fn(&T) -> String,
    shown: impl Fn(T) -> Result<Value>,
) -> Result<Vec<Value>> {
    let slice = Slice { after: None, limit: None };
    Ok(collect(slice, batch, id, |row| shown(row).map(Some))?.items)
}

fn nouns(view: &mut dyn View, id: &GoalId) -> Result<BTreeMap<&'static str, Vec<Value>>> {
    let mut exported = BTreeMap::new();
    for kind in NounKind::ALL {
        let filter = NounFilter { kind: *kind, goal: id, todo: None, open: false };
        let rows = all(
            |after, step| view.nouns(&filter, after, step),
            |noun| kind.id(noun.key().id),
            |noun| public(&noun),
        )?;
        exported.insert(kind.as_str(), rows);
    }
    Ok(exported)
}

fn todos(view: &mut dyn View, terms: &Terms, id: &GoalId) -> Result<Vec<Value>> {
    let filter = TodoFilter { goal: id, live: false, bucket: None };
    let mut exported = Vec::new();
    let mut after = 0;
    loop {
        let rows = view.todos(&filter, after, STEP)?;
        let Some(last) = rows.last() else { return Ok(exported) };
        after = last.todo_id.number();
        let mut facts = Facts::new(terms.clone());
        view.load(&gathered(rows.iter().map(|todo| Read::Text(todo.todo_id.clone()))), &mut facts)?;
        for todo in rows {
            let text = facts.text(&todo.todo_id)?.cloned();
            exported.push(public(&TodoExport { todo, text })?);
        }
    }
}

/// The events after a link, as far as they hold, and what is wrong with the first that does not.
fn events(view: &mut dyn View, id: &GoalId, mut link: Head) -> Result<(Vec<EventExport>, Option<Flaw>)> {
    let mut exported = Vec::new();
    loop {
        let records = view.events(&EventFilter { goal: id, after: link.seq }, STEP)?;
        for record in &records {
            let next = next_link(&link, Digest::of(&record.payload));
            let is_next = (next.seq, next.hash) == (record.seq, record.hash);
            let Some(envelope) = Envelope::decode(&record.payload).ok().filter(|_| is_next) else {
                return Ok((exported, chain_flaw(view, id)?));
            };
            link = next;
            exported.push(EventExport {
                seq: record.seq,
                hash: record.hash,
                payload_digest: Digest::of(&record.payload),
                operation_id: envelope.operation_id.clone(),
                payload: public(&Closed::event(envelope)?)?,
            });
        }
        if records.is_empty() {
            let flaw = if view.head(id)? == Some(link) { None } else { chain_flaw(view, id)? };
            return Ok((exported, flaw));
        }
    }
}

fn receipts(view: &mut dyn View, events: &[EventExport]) -> Result<Vec<ReceiptExport>> {
    let mut exported: Vec<ReceiptExport> = Vec::new();
    for EventExport { operation_id, .. } in events {
        // The events of one operation follow each other.
        if exported.last().is_some_and(|last| last.operation_id == *operation_id) {
            continue;
        }
        if let Some(receipt) = view.receipt(operation_id)? {
            exported.push(ReceiptExport { operation_id: operation_id.clone(), receipt: public(&receipt)? });
        }
    }
    Ok(exported)
}

/// A row as it may be handed on.
fn public(row: &(impl Public + Serialize)) -> Result<Value> {
    printed(row)
}

/// Whether all of an event may be handed on as it is stored, but for ownership tokens.
pub(super) fn may_leave(envelope: &Envelope) -> Result<bool> {
    let mut stored = json_value(envelope)?;
    close_tokens(&mut stored);
    Ok(public(&Closed::event(envelope.clone())?)? == stored)
}

/// The events of a Goal after a number, as they may be handed on, with the links before and after them.
#[derive(Debug, Clone, Serialize)]
pub struct ChainExport {
    /// The Goal.
    pub goal_id: GoalId,
    /// The link before the first of them.
    pub before: Head,
    /// The Goal's head.
    pub head: Head,
    /// The events.
    pub items: Vec<EventExport>,
    /// Why events from a number on are not here: the chain does not hold there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Flaw>,
}

/// A part of a Goal's chain.
///
/// Errors: `not_found`; `invalid_argument` for a number beyond the head; `store_corrupt` for an event that cannot be
/// read.
pub fn export_chain(view: &mut dyn View, id: &GoalId, since: u64) -> Result<ChainExport> {
    let missing = || {
        Error::new(Code::NotFound, format!("there is no Goal {id}"))
            .hint("goal list")
            .detail("goal_id", id.as_str())
    };
    let head = view.head(id)?.ok_or_else(missing)?;
    let before = match since.checked_sub(1) {
        None => Head::START,
        Some(earlier) => {
            let record = view.events(&EventFilter { goal: id, after: earlier }, 1)?.pop();
            let record = record.filter(|record| record.seq == since).ok_or_else(|| {
                Error::new(Code::InvalidArgument, format!("{id} has no event {since}"))
                    .hint(format!("log --goal {id}"))
                    .detail("argument", "--since")
            })?;
            Head { seq: record.seq, hash: record.hash }
        }
    };
    let (items, finding) = events(view, id, before)?;
    Ok(ChainExport { goal_id: id.clone(), before, head, items, finding })
}

fn printed(row: &impl Serialize) -> Result<Value> {
    let mut value = json_value(row)?;
    close(&mut value);
    Ok(value)
}

/// Puts its digest in the place of each ownership token.
fn close_tokens(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Ok(own_id) = text.parse::<OwnId>() {
                *text = Digest::of(own_id.to_string().as_bytes()).to_string();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close_tokens),
        Value::Object(fields) => fields.values_mut().for_each(close_tokens),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Takes out what may not be handed on, wherever it stands; the depth is that of our own rows.
fn close(value: &mut Value) {
    match value {
        Value::String(_) => close_tokens(value),
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Object(fields) => {
            // A validator: its program was resolved on somebody's machine, its environment is from there.
            if fields.contains_key("argv") {
                for name in ["argv", "env"] {
                    fields.get_mut(name).into_iter().for_each(screen_all);
                }
            }
            fields.values_mut().for_each(close);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn screen_all(value: &mut Value) {
    match value {
        Value::String(text) => {
            *text = screen(text).map_or_else(|_| WITHHELD.to_owned(), |screened| screened.text);
        }
        Value::Array(items) => items.iter_mut().for_each(screen_all),
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_ownership_token_is_printed_as_its_digest_wherever_it_stands() {
        let own_id = OwnId::from_bytes([7; 16]).to_string();
        let row = json!({"own_id": own_id, "deep": [{"last_own_id": own_id}, "own_it"]});
        let shown = printed(&row).unwrap();
        let digest = Digest::of(own_id.as_bytes()).to_string();
        assert_eq!(shown, json!({"own_id": digest, "deep": [{"last_own_id": digest}, "own_it"]}));
    }

    #[test]
    fn a_validator_is_printed_without_the_places_of_a_machine() {
        let row = json!({"validators": [{
            "argv": ["/home/ana/bin/check", "--fast"], // loopx:allow private_path
            "env": [["HOME", "/home/ana"], ["KEY", "ghp_0123456789abcdefghijABCDEFGHIJ012345"]], // loopx:allow private_path
        }]});
        let shown = printed(&row).unwrap().to_string();
        assert!(!shown.contains("ana") && !shown.contains("ghp_"), "{shown}");
        assert!(shown.contains("--fast") && shown.contains(WITHHELD), "{shown}");
    }
}
