//! Owns what is shown of a Todo: its row in a list and its own page.
//!
//! Never shows the token of an ownership: that is printed once, to the one who claimed.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    gate::{GateRow, idle},
    moments,
    noun::{NounRow, undecided},
    page::{Listed, Slice, bad_cursor, collect},
    turn::TurnRow,
};
use crate::{
    authority::{GateFilter, TodoFilter, TurnFilter, View},
    error::{Code, Error, Result},
    kernel::{
        Facts, Read, Terms, UserWhy, claim::held_by, consumed, consumed_ask, person_ask, waits_for_person,
    },
    model::{
        Actor, AgentId, Blocks, Completion, EffectId, EndpointId, Goal, GoalId, LastEnd, Monitor, NounKey,
        NounKind, Ownership, Priority, ReplanCause, Requires, Reserved, Timestamp, Todo, TodoId, TodoKind,
        TodoState, TurnId, Validator, Wake, gathered,
    },
};

/// Who owns a Todo, until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OwnerRow {
    /// The agent.
    pub agent_id: AgentId,
    /// The endpoint that executes for it.
    pub endpoint: EndpointId,
    /// The Turn it stands for.
    pub turn_id: TurnId,
    /// Since when.
    pub acquired_at_ms: Timestamp,
    /// Until when it keeps others out.
    pub expires_at_ms: Timestamp,
    /// Whether that moment has passed.
    pub expired: bool,
    /// Whether its Turn is held or unresolved, so that time does not count.
    pub frozen: bool,
}

impl OwnerRow {
    pub(super) fn of(own: &Ownership, terms: &Terms) -> Self {
        Self {
            agent_id: own.agent_id.clone(),
            endpoint: own.endpoint.clone(),
            turn_id: own.turn_id,
            acquired_at_ms: own.acquired_at,
            expires_at_ms: own.expires_at,
            expired: terms.is_expired(own),
            frozen: own.frozen,
        }
    }
}

/// A Todo in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TodoRow {
    /// Its id.
    pub todo_id: TodoId,
    /// One line.
    pub title: String,
    /// What sort of work it is.
    pub kind: TodoKind,
    /// How soon it is wanted.
    pub priority: Priority,
    /// Where it stands.
    pub state: &'static str,
    /// What it waits for, when it is deferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake: Option<Wake>,
    /// What is in its way, or why it was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether a person paused it.
    pub hold: bool,
    /// Who owns it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerRow>,
    /// The Todo whose owner writes where it would, while it is nobody's and open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes_held_by: Option<TodoId>,
    /// Dependencies that are not done.
    pub unmet: u32,
    /// Gates that name it and block.
    pub blocking_gates: u32,
    /// Outside effects of which nobody knows yet what they did, and that keep it from being claimed or completed.
    pub blocking_effects: usize,
    /// What `--expect` names.
    pub revision: u64,
}

impl TodoRow {
    pub(super) fn of(todo: &Todo, terms: &Terms) -> Self {
        let (wake, reason) = match &todo.state {
            TodoState::Deferred { wake } => (Some(wake.clone()), None),
            TodoState::Blocked { reason } | TodoState::Cancelled { reason, .. } => {
                (None, Some(reason.to_string()))
            }
            TodoState::Open | TodoState::Done { .. } => (None, None),
        };
        Self {
            todo_id: todo.todo_id.clone(),
            title: todo.title.to_string(),
            kind: todo.kind,
            priority: todo.priority,
            state: todo.state.as_str(),
            wake,
            reason,
            hold: todo.hold,
            owner: todo.ownership.as_ref().map(|own| OwnerRow::of(own, terms)),
            scopes_held_by: None,
            unmet: todo.counters.unmet,
            blocking_gates: todo.counters.blocking_gates,
            blocking_effects: todo.blocking_effects.len(),
            revision: todo.revision,
        }
    }
}

/// Who writes in the work tree of a Goal.
struct Writers {
    goal: Option<Goal>,
    todos: Vec<Todo>,
}

impl Writers {
    /// How many of them are looked at.
    const MAX: usize = 1000;

    fn of(view: &mut dyn View, terms: &Terms, goal_id: &GoalId) -> Result<Self> {
        let mut facts = Facts::new(terms.clone());
        view.load(&[Read::Goal(goal_id.clone())].into(), &mut facts)?;
        let goal = facts.goal(goal_id)?.cloned();
        let todos = match goal.as_ref().and_then(|goal| goal.workspace.as_ref()) {
            Some(workspace) => view.owned_in(&workspace.tree(), Self::MAX)?,
            None => Vec::new(),
        };
        Ok(Self { goal, todos })
    }

    /// The row of a Todo, with whoever holds its scopes.
    fn row(&self, todo: &Todo, terms: &Terms) -> Result<TodoRow> {
        let mut row = TodoRow::of(todo, terms);
        if let Some(goal) = self.goal.as_ref().filter(|_| matches!(todo.state, TodoState::Open)) {
            let holder = held_by(terms, goal, todo, &self.todos)?;
            row.scopes_held_by = holder.map(|holder| holder.todo_id.clone());
        }
        Ok(row)
    }
}

/// Which Todos are listed.
#[derive(Debug, Clone)]
pub struct TodoQuery<'a> {
    /// Of which Goal.
    pub goal: &'a GoalId,
    /// Only in one of these states; none: open, deferred or blocked.
    pub states: BTreeSet<&'a str>,
    /// Only of one of these kinds.
    pub kinds: BTreeSet<&'a str>,
    /// Only of one of these priorities.
    pub priorities: BTreeSet<&'a str>,
    /// Only what this agent owns.
    pub agent: Option<&'a AgentId>,
}

impl TodoQuery<'_> {
    fn takes(&self, todo: &Todo) -> bool {
        let any = |words: &BTreeSet<&str>, word: &str| words.is_empty() || words.contains(word);
        any(&self.states, todo.state.as_str())
            && any(&self.kinds, todo.kind.as_str())
            && any(&self.priorities, todo.priority.as_str())
            && self
                .agent
                .is_none_or(|agent| todo.ownership.as_ref().is_some_and(|own| own.agent_id == *agent))
    }

    /// The part of the ledger's index that holds every Todo asked for.
    fn filter(&self) -> TodoFilter<'_> {
        let ended = |state: &&str| matches!(*state, "done" | "cancelled");
        let one = self.states.first().filter(|_| self.states.len() == 1).copied();
        let bucket = match (self.agent, one) {
            (Some(_), _) => Some("owned"),
            (None, Some("open") | None) => None,
            (None, state) => state,
        };
        TodoFilter { goal: self.goal, live: !self.states.iter().any(ended), bucket }
    }
}

/// A page of Todos, by number.
pub fn todos(
    view: &mut dyn View,
    terms: &Terms,
    query: &TodoQuery<'_>,
    slice: Slice<'_>,
) -> Result<Listed<TodoRow>> {
    let filter = query.filter();
    let writers = Writers::of(view, terms, query.goal)?;
    collect(
        slice,
        |after, limit| {
            let after = after.map_or(Ok(0), |text| text.parse().map_err(|_| bad_cursor(text)))?;
            view.todos(&filter, after, limit)
        },
        |todo| todo.todo_id.number().to_string(),
        |todo| if query.takes(&todo) { writers.row(&todo, terms).map(Some) } else { Ok(None) },
    )
}

/// All that is known of a Todo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TodoPage {
    /// What a list shows of it.
    #[serde(flatten)]
    pub row: TodoRow,
    /// What exactly is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What must be done before.
    pub depends_on: BTreeSet<TodoId>,
    /// What an executor must have and may touch.
    pub requires: Requires,
    /// Agents that may not take it.
    pub excluded_agents: BTreeSet<AgentId>,
    /// What proves it; none means the Goal's.
    pub validators: Vec<Validator>,
    /// How it is looked at.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "moments::named")]
    pub monitor: Option<Monitor>,
    /// The Todo it reviews.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviews: Option<TodoId>,
    /// The coordinator Todo that it returns its result to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinates: Option<TodoId>,
    /// For whom it is reserved.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "moments::named")]
    pub reserved: Option<Reserved>,
    /// Who added it.
    pub made_by: Actor,
    /// When.
    pub made_at_ms: Timestamp,
    /// Moves with what has to be done.
    pub requirement_revision: u64,
    /// How often it was claimed.
    pub epoch: u64,
    /// How many Turns it had.
    pub turn_no: u64,
    /// How its last Turn ended.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "moments::named")]
    pub last_end: Option<LastEnd>,
    /// How it was completed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "moments::named")]
    pub completion: Option<Completion>,
    /// The gates that name it and block; the oldest ones.
    pub gates: Vec<GateRow>,
    /// The outside effects that it waits for; the oldest ones.
    pub effects: Vec<NounRow>,
    /// What peers returned to it and nobody has decided on; the oldest.
    pub returns: Vec<NounRow>,
    /// Its last Turns, newest first.
    pub turns: Vec<TurnRow>,
}

/// How many gates and Turns a Todo's page shows.
const BESIDE: usize = 10;

/// What a person has to move, in one line, and the command that does.
#[derive(Debug)]
pub(super) struct Persons {
    pub(super) text: String,
    pub(super) command: String,
}

/// What is a person's about a Todo, whoever asks: its kind or its state, or what stands lost although its plan was to be
/// changed.
///
/// Invariant: wherever something of a person's is shown, it is asked for here.
pub(super) fn persons(facts: &Facts, todo: &Todo) -> Option<Persons> {
    if let Some(why) = waits_for_person(todo) {
        let command = person_ask(facts, why, todo).command;
        return Some(Persons { text: persons_text(todo, why), command });
    }
    let cause = consumed(facts, todo)?;
    let command = consumed_ask(facts, cause, todo).command;
    Some(Persons { text: consumed_text(todo, cause), command })
}

/// Why a Todo waits for a person, in one line.
pub(super) fn persons_text(todo: &Todo, why: UserWhy) -> String {
    let (id, title) = (&todo.todo_id, &todo.title);
    match why {
        UserWhy::Blocked => match &todo.state {
            TodoState::Blocked { reason } => format!("{id} is blocked: {reason}"),
            TodoState::Open
            | TodoState::Deferred { .. }
            | TodoState::Done { .. }
            | TodoState::Cancelled { .. } => format!("{id} is blocked"),
        },
        UserWhy::Action => format!("{id} is yours: {title}"),
        UserWhy::Blocker => format!("{id} is in the way: {title}"),
        UserWhy::Hold => format!("{id} is on hold: {title}"),
        UserWhy::ReplanFailed => format!("{id} brought no change: {title}"),
        UserWhy::Ended if todo.is_done() => format!("{id} is done: {title}"),
        UserWhy::Ended => format!("{id} was cancelled: {title}"),
        UserWhy::Excluded => format!("{id} is for other agents: {title}"),
    }
}

/// What is lost although its plan was to be changed, in one line.
pub(super) fn consumed_text(todo: &Todo, cause: ReplanCause) -> String {
    let (id, title) = (&todo.todo_id, &todo.title);
    match cause {
        ReplanCause::WakeLost => format!("{id} waits for what cannot come true: {title}"),
        ReplanCause::DependencyCancelled => format!("{id} waits for what was cancelled: {title}"),
        ReplanCause::Fruitless
        | ReplanCause::ReplanRequired
        | ReplanCause::EvidenceRejected
        | ReplanCause::GateDenied
        | ReplanCause::UnchangedLimit
        | ReplanCause::AcceptanceGap => format!("{id} stands as it stood: {title}"),
    }
}

/// The page of a Todo.
///
/// Errors: `not_found`.
pub fn todo(view: &mut dyn View, terms: &Terms, id: &TodoId) -> Result<TodoPage> {
    let mut facts = Facts::new(terms.clone());
    let reads = [Read::Goal(id.goal().clone()), Read::Todo(id.clone()), Read::Text(id.clone())];
    view.load(&reads.into(), &mut facts)?;
    let todo = facts.todo(id)?.ok_or_else(|| {
        let goal = id.goal();
        Error::new(Code::NotFound, format!("there is no Todo {id}"))
            .detail("todo_id", id.to_string())
            .hint(format!("todo list --goal {goal}"))
    })?;
    let completion = match &todo.state {
        TodoState::Done { completion } => Some(completion.clone()),
        TodoState::Open
        | TodoState::Deferred { .. }
        | TodoState::Blocked { .. }
        | TodoState::Cancelled { .. } => None,
    };
    let turns = TurnFilter { goal: id.goal(), todo: Some(id), agent: None, live: false };
    let turns = view.turns(&turns, None, BESIDE)?;
    Ok(TodoPage {
        row: Writers::of(view, terms, id.goal())?.row(todo, terms)?,
        detail: facts.text(id)?.map(|text| text.detail.to_string()),
        depends_on: todo.depends_on.clone(),
        requires: todo.requires.clone(),
        excluded_agents: todo.excluded_agents.clone(),
        validators: todo.validators.clone(),
        monitor: todo.monitor.clone(),
        reviews: todo.reviews.clone(),
        coordinates: todo.coordinates.clone(),
        reserved: todo.reserved.clone(),
        made_by: todo.made_by.clone(),
        made_at_ms: todo.made_at,
        requirement_revision: todo.requirement_revision,
        epoch: todo.epoch,
        turn_no: todo.turn_no,
        last_end: todo.last_end.clone(),
        completion,
        gates: blocking(view, terms, todo)?,
        effects: effects(view, terms, todo)?,
        returns: undecided(view, id, BESIDE)?,
        turns: turns.iter().map(TurnRow::of).collect(),
    })
}

/// The first effects that block a Todo.
fn effects(view: &mut dyn View, terms: &Terms, todo: &Todo) -> Result<Vec<NounRow>> {
    let key = |id: &EffectId| NounKey { kind: NounKind::Effect, id: *id.as_bytes() };
    let mut facts = Facts::new(terms.clone());
    view.load(
        &gathered(todo.blocking_effects.iter().take(BESIDE).map(|id| Read::Noun(key(id)))),
        &mut facts,
    )?;
    Ok(facts.rows().nouns.values().cloned().map(NounRow).collect())
}

fn blocking(view: &mut dyn View, terms: &Terms, todo: &Todo) -> Result<Vec<GateRow>> {
    let goal = todo.todo_id.goal();
    let held = todo.turn_id.is_some();
    if todo.counters.blocking_gates == 0 && !held {
        return Ok(Vec::new());
    }
    let gates = view.gates(&GateFilter { goal, blocking: true }, None, super::page::STEP)?;
    let names = |gate: &&crate::model::Gate| match &gate.blocks {
        Blocks::Goal => true,
        Blocks::Todos(ids) => ids.contains(&todo.todo_id),
    };
    let named: Vec<_> = gates.iter().filter(names).take(BESIDE).cloned().collect();
    let idle = idle(view, terms, &named)?;
    Ok(named.iter().map(|gate| GateRow::of(gate, terms, &idle)).collect())
}
