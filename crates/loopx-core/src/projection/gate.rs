//! Owns what is shown of a gate.

use std::collections::BTreeSet;

use serde::Serialize;

use super::page::{Listed, Slice, bad_cursor, collect};
use crate::{
    authority::{GateFilter, View},
    error::{Code, Error, Result},
    kernel::{Facts, Read, Terms},
    model::{
        Actor, Blocks, Gate, GateId, GateKind, GateState, GoalId, Timestamp, TodoId, TodoState, TurnId,
        gathered,
    },
};

/// A gate, in a list and on its own page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateRow {
    /// Its id.
    pub gate_id: GateId,
    /// The Goal.
    pub goal_id: GoalId,
    /// What sort of question it is.
    pub kind: GateKind,
    /// Where it stands; `expired` for a standing approval whose time is over.
    pub state: &'static str,
    /// Whether it stops something now: not when it is answered, nor when every Todo it names has ended.
    pub blocking: bool,
    /// The question.
    pub question: String,
    /// What may be answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What it stops.
    pub blocks: Blocks,
    /// What an approval covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Until when an approval goes on to cover later work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing_until_ms: Option<Timestamp>,
    /// The Turn whose result it accepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepts: Option<TurnId>,
    /// Who asks.
    pub opened_by: Actor,
    /// Since when.
    pub opened_at_ms: Timestamp,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<Actor>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at_ms: Option<Timestamp>,
    /// What was answered, or why it was denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// When a deferred one comes up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred_until_ms: Option<Timestamp>,
    /// Moves with every write of it.
    pub revision: u64,
}

impl GateRow {
    pub(super) fn of(gate: &Gate, terms: &Terms, idle: &BTreeSet<GateId>) -> Self {
        let (mut by, mut at, mut answer, mut until) = (None, None, None, None);
        match &gate.state {
            GateState::Open => {}
            GateState::Deferred { until: moment } => until = Some(*moment),
            GateState::Approved { by: who, at: when } | GateState::Withdrawn { by: who, at: when } => {
                (by, at) = (Some(who.clone()), Some(*when));
            }
            GateState::Denied { by: who, at: when, reason } => {
                (by, at, answer) = (Some(who.clone()), Some(*when), reason.as_ref().map(ToString::to_string));
            }
            GateState::Answered { by: who, at: when, answer: text } => {
                (by, at, answer) = (Some(who.clone()), Some(*when), Some(text.to_string()));
            }
        }
        Self {
            gate_id: gate.gate_id,
            goal_id: gate.goal_id.clone(),
            kind: gate.kind,
            state: state(gate, terms),
            blocking: gate.is_blocking() && !idle.contains(&gate.gate_id),
            question: gate.question.to_string(),
            options: gate.options.iter().map(ToString::to_string).collect(),
            blocks: gate.blocks.clone(),
            scope: gate.scope.as_ref().map(ToString::to_string),
            standing_until_ms: gate.standing_until,
            accepts: gate.accepts,
            opened_by: gate.opened_by.clone(),
            opened_at_ms: gate.opened_at,
            resolved_by: by,
            resolved_at_ms: at,
            answer,
            deferred_until_ms: until,
            revision: gate.revision,
        }
    }
}

/// Those of some gates that wait for an answer and stop nothing: every Todo they name has ended.
pub(super) fn idle(view: &mut dyn View, terms: &Terms, gates: &[Gate]) -> Result<BTreeSet<GateId>> {
    let names = |gate: &Gate| match &gate.blocks {
        Blocks::Todos(ids) if gate.is_blocking() => ids.clone(),
        Blocks::Todos(_) | Blocks::Goal => BTreeSet::new(),
    };
    let reads: BTreeSet<_> = gathered(gates.iter().flat_map(names).map(Read::Todo));
    if reads.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut facts = Facts::new(terms.clone());
    view.load(&reads, &mut facts)?;
    let mut idle = BTreeSet::new();
    for gate in gates {
        let ids = names(gate);
        let mut is_idle = !ids.is_empty();
        for id in ids {
            is_idle &= facts.todo(&id)?.is_none_or(|todo| match todo.state {
                TodoState::Done { .. } | TodoState::Cancelled { .. } => true,
                TodoState::Open | TodoState::Deferred { .. } | TodoState::Blocked { .. } => false,
            });
        }
        if is_idle {
            idle.insert(gate.gate_id);
        }
    }
    Ok(idle)
}

/// The state as it is shown: a standing approval whose time is over has expired.
fn state(gate: &Gate, terms: &Terms) -> &'static str {
    let over = gate.standing_until.is_some_and(|until| until <= terms.now);
    if over && matches!(gate.state, GateState::Approved { .. }) { "expired" } else { gate.state.as_str() }
}

/// Which gates are listed.
#[derive(Debug, Clone)]
pub struct GateQuery<'a> {
    /// Of which Goal; none for all of them.
    pub goal: Option<&'a GoalId>,
    /// Only in one of these states; none: those that block.
    pub states: BTreeSet<&'a str>,
    /// Only of one of these kinds.
    pub kinds: BTreeSet<&'a str>,
    /// Only those that name this Todo.
    pub todo: Option<&'a TodoId>,
}

/// A page of gates, oldest first within their Goal.
pub fn gates(
    view: &mut dyn View,
    terms: &Terms,
    query: &GateQuery<'_>,
    slice: Slice<'_>,
) -> Result<Listed<GateRow>> {
    match query.goal {
        Some(goal) => of_goal(view, terms, query, goal, slice),
        None => of_all(view, terms, query, slice),
    }
}

/// Goes through the Goals by slug; the cursor is `<goal>/<gate>`.
fn of_all(
    view: &mut dyn View,
    terms: &Terms,
    query: &GateQuery<'_>,
    slice: Slice<'_>,
) -> Result<Listed<GateRow>> {
    let mut items = Vec::new();
    let (mut goal, mut after) = match slice.after {
        None => (first_goal(view, None)?, None),
        Some(text) => {
            let (goal, gate) = text.split_once('/').ok_or_else(|| bad_cursor(text))?;
            (
                Some(goal.parse().map_err(|_| bad_cursor(text))?),
                Some(gate.to_owned()).filter(|gate| !gate.is_empty()),
            )
        }
    };
    while let Some(id) = goal {
        if slice.is_full(items.len()) {
            return Ok(Listed { items, next_cursor: Some(format!("{id}/{}", after.unwrap_or_default())) });
        }
        let limit = slice.limit.map(|limit| limit - items.len());
        let page = of_goal(view, terms, query, &id, Slice { after: after.as_deref(), limit })?;
        items.extend(page.items);
        if let Some(cursor) = page.next_cursor {
            return Ok(Listed { items, next_cursor: Some(format!("{id}/{cursor}")) });
        }
        (goal, after) = (first_goal(view, Some(&id))?, None);
    }
    Ok(Listed { items, next_cursor: None })
}

fn first_goal(view: &mut dyn View, after: Option<&GoalId>) -> Result<Option<GoalId>> {
    Ok(view.goals(after, 1)?.pop().map(|goal| goal.goal_id))
}

fn of_goal(
    view: &mut dyn View,
    terms: &Terms,
    query: &GateQuery<'_>,
    goal: &GoalId,
    slice: Slice<'_>,
) -> Result<Listed<GateRow>> {
    let filter = GateFilter { goal, blocking: query.states.is_empty() };
    let names = |gate: &Gate| match (&gate.blocks, query.todo) {
        (_, None) => true,
        (Blocks::Goal, Some(_)) => false,
        (Blocks::Todos(ids), Some(todo)) => ids.contains(todo),
    };
    let any = |words: &BTreeSet<&str>, word: &str| words.is_empty() || words.contains(word);
    collect(
        slice,
        |after, limit| {
            if let Some(text) = after {
                text.parse::<GateId>().map_err(|_| bad_cursor(text))?;
            }
            let gates = view.gates(&filter, after, limit)?;
            let idle = idle(view, terms, &gates)?;
            Ok(gates.into_iter().map(|gate| (GateRow::of(&gate, terms, &idle), names(&gate))).collect())
        },
        |(row, _)| row.gate_id.to_string(),
        |(row, is_named)| {
            let is_wanted = any(&query.states, row.state) && any(&query.kinds, row.kind.as_str()) && is_named;
            // Where no state is asked for, what waits for a person is meant.
            Ok(Some(row).filter(|row| is_wanted && (row.blocking || !query.states.is_empty())))
        },
    )
}

/// The page of a gate.
///
/// Errors: `not_found`.
pub fn gate(view: &mut dyn View, terms: &Terms, id: &GateId) -> Result<GateRow> {
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Gate(*id)].into(), &mut facts)?;
    let gate = facts.gate(id)?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no gate {id}"))
            .detail("gate_id", id.to_string())
            .hint("gate list")
    })?;
    let idle = idle(view, terms, std::slice::from_ref(gate))?;
    Ok(GateRow::of(gate, terms, &idle))
}
