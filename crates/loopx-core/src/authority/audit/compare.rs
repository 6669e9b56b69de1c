//! Owns the comparison of what events come to with the rows as they lie, and the first row that differs.
//!
//! Knows no rule and no SQL.

use std::{collections::BTreeMap, fmt::Display};

use super::{
    super::{GateFilter, Held, NounFilter, TodoFilter, TurnFilter, View},
    Flaw, FlawKind,
    fold::Folded,
};
use crate::{
    error::{Code, Error, Result},
    kernel::{Facts, Read, Rows, Terms},
    model::{AgentId, GoalId, MeterScope, Noun, NounKey, NounKind, Todo, TodoId, TodoText},
};

/// How many rows are read at once.
const STEP: usize = 1024;

/// A Goal whose live rows are compared.
pub(super) struct Compared<'c> {
    pub(super) view: &'c mut dyn View,
    pub(super) terms: &'c Terms,
    pub(super) goal: &'c GoalId,
}

/// Reads the live rows of one sort.
trait Live<K, V> {
    /// A page of them.
    fn page(&mut self, at: &mut Compared<'_>, after: Option<&K>) -> Result<Vec<(K, V)>>;
    /// One of them, where a page cannot be read.
    fn one(&mut self, at: &mut Compared<'_>, id: &K) -> Result<Option<V>>;
}

impl<K, V, P, O> Live<K, V> for (P, O)
where
    P: FnMut(&mut Compared<'_>, Option<&K>) -> Result<Vec<(K, V)>>,
    O: FnMut(&mut Compared<'_>, &K) -> Result<Option<V>>,
{
    fn page(&mut self, at: &mut Compared<'_>, after: Option<&K>) -> Result<Vec<(K, V)>> {
        self.0(at, after)
    }

    fn one(&mut self, at: &mut Compared<'_>, id: &K) -> Result<Option<V>> {
        self.1(at, id)
    }
}

impl Compared<'_> {
    /// The first row that differs from the fold; what is of one sort comes by its id.
    ///
    /// Live rows are read by the page; those that were folded are in memory. A row that cannot be read is a flaw.
    /// Errors: `store_*` where the file itself cannot be read.
    pub(super) fn first_flaw(&mut self, folded: Folded) -> Result<Option<Flaw>> {
        let counts = folded.counts();
        let Folded { rows, meters } = folded;
        let flaw = match self.rows(rows)? {
            Some(flaw) => Some(flaw),
            None => match self.sums(&meters, &counts)? {
                Some(flaw) => Some(flaw),
                None => self.view.stray(self.goal)?.map(|stray| {
                    self.flaw(FlawKind::Column, &stray.row, format!("{} says something else", stray.what))
                }),
            },
        };
        Ok(flaw)
    }

    fn rows(&mut self, rows: Rows) -> Result<Option<Flaw>> {
        let Rows { goals, agents, todos, texts, turns, gates, evidence, nouns } = rows;
        let agents: BTreeMap<AgentId, _> = agents.into_iter().map(|((_, id), row)| (id, row)).collect();
        let titled: Vec<TodoId> = todos.keys().cloned().collect();
        let mut flaw = self.differing("goal", goals, &mut (one_page(goal_row), goal_row))?;
        if flaw.is_none() {
            let page = |at: &mut Compared<'_>, after: Option<&AgentId>| {
                // Agents of a Goal come in one page.
                let rows = if after.is_some() { Vec::new() } else { at.view.agents(at.goal)? };
                Ok(rows.into_iter().map(|row| (row.agent_id.clone(), row)).collect())
            };
            let one = |at: &mut Compared<'_>, id: &AgentId| {
                let key = (at.goal.clone(), id.clone());
                Ok(at.load(Read::Agent(key.0.clone(), key.1.clone()))?.agent(&key)?.cloned())
            };
            flaw = self.differing("agent", agents, &mut (page, one))?;
        }
        if flaw.is_none() {
            let page = |at: &mut Compared<'_>, after: Option<&TodoId>| {
                let filter = TodoFilter { goal: at.goal, live: false, bucket: None };
                let rows = at.view.todos(&filter, after.map_or(0, TodoId::number), STEP)?;
                Ok(rows.into_iter().map(|row| (row.todo_id.clone(), row)).collect())
            };
            let one = |at: &mut Compared<'_>, id: &TodoId| {
                Ok::<Option<Todo>, Error>(at.load(Read::Todo(id.clone()))?.todo(id)?.cloned())
            };
            flaw = self.differing("todo", todos, &mut (page, one))?;
        }
        if flaw.is_none() {
            flaw = self.differing("text", texts, &mut (text_pages(titled), text_row))?;
        }
        if flaw.is_none() {
            let page = |at: &mut Compared<'_>, after: Option<&crate::model::TurnId>| {
                let filter = TurnFilter { goal: at.goal, todo: None, agent: None, live: false };
                let rows = at.view.turns(&filter, after.map(ToString::to_string).as_deref(), STEP)?;
                Ok(rows.into_iter().map(|row| (row.turn_id, row)).collect())
            };
            let one = |at: &mut Compared<'_>, id: &_| Ok(at.load(Read::Turn(*id))?.turn(id)?.cloned());
            flaw = self.differing("turn", turns, &mut (page, one))?;
        }
        if flaw.is_none() {
            let page = |at: &mut Compared<'_>, after: Option<&crate::model::GateId>| {
                let filter = GateFilter { goal: at.goal, blocking: false };
                let rows = at.view.gates(&filter, after.map(ToString::to_string).as_deref(), STEP)?;
                Ok(rows.into_iter().map(|row| (row.gate_id, row)).collect())
            };
            let one = |at: &mut Compared<'_>, id: &_| Ok(at.load(Read::Gate(*id))?.gate(id)?.cloned());
            flaw = self.differing("gate", gates, &mut (page, one))?;
        }
        if flaw.is_none() {
            let page = |at: &mut Compared<'_>, after: Option<&crate::model::EvidenceId>| {
                let after = after.map(ToString::to_string);
                let rows = at.view.evidence(at.goal, None, after.as_deref(), STEP)?;
                Ok(rows.into_iter().map(|row| (row.evidence_id, row)).collect())
            };
            let one =
                |at: &mut Compared<'_>, id: &_| Ok(at.load(Read::Evidence(*id))?.evidence(id)?.cloned());
            flaw = self.differing("evidence", evidence, &mut (page, one))?;
        }
        for kind in NounKind::ALL {
            if flaw.is_none() {
                flaw = self.nouns(*kind, &nouns)?;
            }
        }
        Ok(flaw)
    }

    fn nouns(&mut self, kind: NounKind, nouns: &BTreeMap<NounKey, Noun>) -> Result<Option<Flaw>> {
        let of_kind = nouns.iter().filter(|(key, _)| key.kind == kind);
        let folded: BTreeMap<String, Noun> =
            of_kind.map(|(key, noun)| (kind.id(key.id), noun.clone())).collect();
        let page = |at: &mut Compared<'_>, after: Option<&String>| {
            let filter = NounFilter { kind, goal: at.goal, todo: None, open: false };
            let rows = at.view.nouns(&filter, after.map(String::as_str), STEP)?;
            Ok(rows.into_iter().map(|row| (kind.id(row.key().id), row)).collect())
        };
        let one = |at: &mut Compared<'_>, id: &String| {
            let key = NounKey { kind, id: kind.parse(id)? };
            Ok(at.load(Read::Noun(key))?.rows().nouns.get(&key).cloned())
        };
        self.differing(kind.as_str(), folded, &mut (page, one))
    }

    /// Compares what is summed up: meters and counts.
    fn sums(&mut self, meters: &super::super::Meters, counts: &super::super::Count) -> Result<Option<Flaw>> {
        let live = match self.view.meters(self.goal) {
            Err(error) if error.code() == Code::StoreCorrupt => {
                return Ok(Some(self.flaw(FlawKind::Meter, self.goal, "cannot be read")));
            }
            live => live?,
        };
        if let Some((scope, bucket)) = first_apart(meters, &live) {
            let whose = match scope {
                MeterScope::Authority => "all Goals".to_owned(),
                MeterScope::Goal(goal) => goal.to_string(),
                MeterScope::Agent(_, agent) => agent.to_string(),
            };
            let key = (scope.clone(), *bucket);
            let [wanted, found] = [meters, &live].map(|held| held.get(&key).copied().unwrap_or_default());
            let text = format!(
                "holds {} at {}, its events come to {}",
                held(&found),
                bucket.number(),
                held(&wanted)
            );
            return Ok(Some(self.flaw(FlawKind::Meter, &whose, text)));
        }
        let live = self.view.counts(self.goal)?;
        let flaw = first_apart(counts, &live).map(|bucket| {
            let [wanted, found] = [counts, &live].map(|held| held.get(bucket).copied().unwrap_or_default());
            self.flaw(FlawKind::Count, bucket, format!("says {found}, its events come to {wanted}"))
        });
        Ok(flaw)
    }

    fn differing<K, V>(
        &mut self,
        noun: &'static str,
        mut folded: BTreeMap<K, V>,
        live: &mut dyn Live<K, V>,
    ) -> Result<Option<Flaw>>
    where
        K: Ord + Clone + Display,
        V: PartialEq,
    {
        let mut first: Option<(K, &'static str)> = None;
        let mut note = |id: K, says| {
            if first.as_ref().is_none_or(|(seen, _)| id < *seen) {
                first = Some((id, says));
            }
        };
        let mut after = None;
        loop {
            let page = match live.page(self, after.as_ref()) {
                Err(error) if error.code() == Code::StoreCorrupt => break,
                page => page?,
            };
            let Some((last, _)) = page.last() else {
                for id in folded.into_keys() {
                    note(id, "is missing");
                }
                folded = BTreeMap::new();
                break;
            };
            after = Some(last.clone());
            for (id, row) in page {
                match folded.remove(&id) {
                    Some(wanted) if wanted == row => {}
                    Some(_) => note(id, DIFFERS),
                    None => note(id, "is not of its events"),
                }
            }
        }
        // What a page could not tell, each row tells for itself.
        for (id, wanted) in folded {
            match live.one(self, &id) {
                Ok(Some(row)) if row == wanted => {}
                Ok(Some(_)) => note(id, DIFFERS),
                Ok(None) => note(id, "is missing"),
                Err(error) if error.code() == Code::StoreCorrupt => note(id, "cannot be read"),
                Err(error) => return Err(error),
            }
        }
        Ok(first.map(|(id, says)| self.flaw(FlawKind::Row, &format!("{noun} {id}"), says)))
    }

    fn load(&mut self, read: Read) -> Result<Facts> {
        let mut facts = Facts::new(self.terms.clone());
        self.view.load(&[read].into(), &mut facts)?;
        Ok(facts)
    }

    fn flaw(&self, kind: FlawKind, row: &(impl Display + ?Sized), says: impl Display) -> Flaw {
        Flaw {
            kind,
            goal_id: Some(self.goal.clone()),
            seq: None,
            text: format!("{} {row} {says}", kind.noun()).trim_start().to_owned(),
            row: Some(row.to_string()),
        }
    }
}

const DIFFERS: &str = "is not what its events come to";

fn goal_row(at: &mut Compared<'_>, id: &GoalId) -> Result<Option<crate::model::Goal>> {
    Ok(at.load(Read::Goal(id.clone()))?.goal(id)?.cloned())
}

/// The one page of a Goal's own row.
fn one_page<V>(
    mut row: impl FnMut(&mut Compared<'_>, &GoalId) -> Result<Option<V>>,
) -> impl FnMut(&mut Compared<'_>, Option<&GoalId>) -> Result<Vec<(GoalId, V)>> {
    move |at, after| {
        if after.is_some() {
            return Ok(Vec::new());
        }
        let goal = at.goal.clone();
        Ok(row(at, &goal)?.map(|row| (goal, row)).into_iter().collect())
    }
}

fn text_row(at: &mut Compared<'_>, id: &TodoId) -> Result<Option<TodoText>> {
    Ok(at.load(Read::Text(id.clone()))?.text(id)?.cloned())
}

/// The texts of Todos, page by page; a page without any does not end them.
fn text_pages(
    ids: Vec<TodoId>,
) -> impl FnMut(&mut Compared<'_>, Option<&TodoId>) -> Result<Vec<(TodoId, TodoText)>> {
    let mut left = ids.into_iter();
    move |at, _| {
        loop {
            let page: std::collections::BTreeSet<Read> = left.by_ref().take(STEP).map(Read::Text).collect();
            if page.is_empty() {
                return Ok(Vec::new());
            }
            let mut facts = Facts::new(at.terms.clone());
            at.view.load(&page, &mut facts)?;
            if !facts.rows().texts.is_empty() {
                return Ok(facts.into_rows().texts.into_iter().collect());
            }
        }
    }
}

/// The first key under which two maps hold different things.
fn first_apart<'m, K: Ord, V: PartialEq>(
    one: &'m BTreeMap<K, V>,
    other: &'m BTreeMap<K, V>,
) -> Option<&'m K> {
    let apart = |(key, value): &(&'m K, &'m V), beside: &BTreeMap<K, V>| beside.get(key) != Some(*value);
    let first = one.iter().find(|entry| apart(entry, other)).map(|(key, _)| key);
    let second = other.iter().find(|entry| apart(entry, one)).map(|(key, _)| key);
    match (first, second) {
        (Some(first), Some(second)) => Some(first.min(second)),
        (first, second) => first.or(second),
    }
}

/// What a meter holds, in short.
fn held(held: &Held) -> String {
    let Held { slots, amounts } = held;
    let rest = [(amounts.tokens, "tokens"), (amounts.cost_micros, "of cost"), (amounts.wall_ms, "ms")];
    let rest =
        rest.iter().filter(|(amount, _)| *amount > 0).map(|(amount, unit)| format!(", {amount} {unit}"));
    format!("{slots}{}", rest.collect::<String>())
}
