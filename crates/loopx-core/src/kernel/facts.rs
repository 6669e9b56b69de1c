//! Owns the facts a decision may look at: rows loaded for one command, and the record of what was asked for.
//!
//! Knows nothing of SQL. A key that was never asked for is an internal error, never 'absent'.
//! Invariant: a row is only changed through [`Facts`], so that what has to be written is known.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    delta::{Delta, Target},
    read::Read,
};
use crate::{
    error::{Code, Error, Result},
    model::{
        Agent, AgentId, Amounts, AuthorityId, Blocks, Bucket, Evidence, EvidenceId, Gate, GateId, Goal,
        GoalId, IncarnationId, Limit, MeterScope, Noun, NounKey, OneNoun, Ownership, Timestamp, Todo, TodoId,
        TodoText, Turn, TurnId, Wake, Workspace,
    },
};

/// What every decision is made under; the authority stamps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The tenant.
    pub authority_id: AuthorityId,
    /// This life of the ledger.
    pub incarnation: IncarnationId,
    /// The moment of the commit.
    pub now: Timestamp,
    /// Whether the clock jumped and nothing may expire until a person accepts it.
    pub clock_jump: bool,
    /// Whether a person's every verb needs proof.
    pub strict: bool,
    /// The schema of the ledger, which says what it can hold.
    pub schema: i32,
}

impl Terms {
    /// Whether an ownership has run out: it no longer keeps others out.
    pub fn is_expired(&self, ownership: &Ownership) -> bool {
        !ownership.frozen && !self.clock_jump && ownership.expires_at <= self.now
    }
}

/// The rows a decision may look at and change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    terms: Terms,
    /// Whether every row of the ledger is here, as in a fold.
    complete: bool,
    asked: BTreeSet<Read>,
    pub(super) rows: Rows,
    pub(super) used: BTreeMap<(MeterScope, Bucket), Used>,
    authority_limit: Option<Limit>,
    authors: BTreeMap<TodoId, AgentId>,
    listed: BTreeMap<Read, IdList>,
    dependants: BTreeMap<TodoId, BTreeSet<TodoId>>,
    /// The Todos that were seen waiting for a Todo or a gate; some may wait no more.
    waiting: BTreeMap<Target, BTreeSet<TodoId>>,
    changed: Changed,
    deltas: Vec<Delta>,
}

/// What a meter holds since a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// Slots reserved or spent.
    pub slots: u64,
    /// Of what else is metered.
    pub amounts: Amounts,
    /// The oldest bucket that holds anything.
    pub oldest: Option<Bucket>,
}

/// What a question that loads no row answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdList {
    /// The first Todos, by number.
    pub ids: Vec<TodoId>,
    /// How many there are.
    pub count: u64,
}

/// Rows by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Goals.
    pub goals: BTreeMap<GoalId, Goal>,
    /// Agents.
    pub agents: BTreeMap<(GoalId, AgentId), Agent>,
    /// Todos.
    pub todos: BTreeMap<TodoId, Todo>,
    /// Long texts of Todos.
    pub texts: BTreeMap<TodoId, TodoText>,
    /// Turns.
    pub turns: BTreeMap<TurnId, Turn>,
    /// Gates.
    pub gates: BTreeMap<GateId, Gate>,
    /// Evidence.
    pub evidence: BTreeMap<EvidenceId, Evidence>,
    /// Nouns beside the plan.
    pub nouns: BTreeMap<NounKey, Noun>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Changed {
    goals: BTreeSet<GoalId>,
    agents: BTreeSet<(GoalId, AgentId)>,
    todos: BTreeSet<TodoId>,
    texts: BTreeSet<TodoId>,
    turns: BTreeSet<TurnId>,
    gates: BTreeSet<GateId>,
    evidence: BTreeSet<EvidenceId>,
    nouns: BTreeSet<NounKey>,
}

/// What a decision wants written: deltas first, to rows as they lie in the ledger, then whole rows.
///
/// Invariant: a row that is written whole carries counters that already hold the deltas of the same decision.
#[derive(Debug, Clone, Default)]
pub struct Writes {
    /// Set-wise changes, in order.
    pub deltas: Vec<Delta>,
    /// Whole rows.
    pub rows: Rows,
}

fn unasked(what: &str, key: impl std::fmt::Display) -> Error {
    debug_assert!(false, "a decision looked at {what} {key} without asking for it");
    Error::from(Code::Internal).internal(format!("{what} {key} was never asked for"))
}

macro_rules! row {
    ($get:ident, $get_mut:ident, $put:ident, $rows:ident, $Key:ty, $Row:ty, $what:literal, $read:expr) => {
        row!($get, $put, $rows, $Key, $Row, $what, $read);

        /// The row, to change it.
        pub(super) fn $get_mut(&mut self, key: &$Key) -> Result<&mut $Row> {
            match self.rows.$rows.get_mut(key) {
                Some(row) => {
                    self.changed.$rows.insert(key.clone());
                    Ok(row)
                }
                // Over a whole ledger every row is here: an event that changes another is damaged, no rule broken.
                None if self.complete => Err(Error::from(Code::StoreCorrupt)
                    .internal(format_args!("an event changes {} {key:?}, which there is not", $what))),
                None => Err(unasked($what, format_args!("{key:?}"))),
            }
        }
    };
    ($get:ident, $put:ident, $rows:ident, $Key:ty, $Row:ty, $what:literal, $read:expr) => {
        /// The row, if there is one.
        pub fn $get(&self, key: &$Key) -> Result<Option<&$Row>> {
            let row = self.rows.$rows.get(key);
            let read: fn(&$Key) -> Read = $read;
            if row.is_none() && !self.complete && !self.asked.contains(&read(key)) {
                return Err(unasked($what, format_args!("{key:?}")));
            }
            Ok(row)
        }

        /// Takes in a new row.
        pub(super) fn $put(&mut self, key: $Key, row: $Row) {
            self.changed.$rows.insert(key.clone());
            self.rows.$rows.insert(key, row);
        }
    };
}

impl Facts {
    /// How many rows a page of candidates holds.
    pub const PAGE: usize = 256;

    /// How many Todos of a sort are loaded to say that something keeps a Goal from being achieved.
    pub const UNFINISHED: usize = 8;

    /// How many ids a question that loads no row lists.
    pub const LISTED: usize = 32;

    /// How many Todos a walk along dependencies may visit.
    pub const WALK_MAX: usize = 10_000;

    /// Starts with nothing loaded.
    pub fn new(terms: Terms) -> Self {
        Self {
            terms,
            complete: false,
            asked: BTreeSet::new(),
            rows: Rows::default(),
            used: BTreeMap::new(),
            authority_limit: None,
            authors: BTreeMap::new(),
            listed: BTreeMap::new(),
            dependants: BTreeMap::new(),
            waiting: BTreeMap::new(),
            changed: Changed::default(),
            deltas: Vec::new(),
        }
    }

    /// Starts as a whole, empty ledger: what a fold of events is applied to.
    pub fn whole(terms: Terms) -> Self {
        Self { complete: true, ..Self::new(terms) }
    }

    /// What this decision is made under.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The moment of the commit.
    pub fn now(&self) -> Timestamp {
        self.terms.now
    }

    /// Moves the moment, as a fold goes from event to event.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        self.terms.now = now;
    }

    /// Every row that is loaded.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    row!(goal, goal_mut, put_goal, goals, GoalId, Goal, "goal", |k| Read::Goal(k.clone()));
    row!(agent, agent_mut, put_agent, agents, (GoalId, AgentId), Agent, "agent", |k| Read::Agent(
        k.0.clone(),
        k.1.clone()
    ));
    row!(todo, todo_mut, put_todo_row, todos, TodoId, Todo, "todo", |k| Read::Todo(k.clone()));
    row!(text, put_text, texts, TodoId, TodoText, "text", |k| Read::Text(k.clone()));
    row!(turn, turn_mut, put_turn, turns, TurnId, Turn, "turn", |k| Read::Turn(*k));
    row!(gate, gate_mut, put_gate, gates, GateId, Gate, "gate", |k| Read::Gate(*k));
    row!(evidence, put_evidence, evidence, EvidenceId, Evidence, "evidence", |k| Read::Evidence(*k));

    /// Takes in a new noun beside the plan.
    pub(super) fn put_noun(&mut self, row: impl OneNoun) {
        let noun = row.into_noun();
        self.changed.nouns.insert(noun.key());
        self.rows.nouns.insert(noun.key(), noun);
    }

    /// The noun of a kind, if there is one of that id.
    pub fn noun<T: OneNoun>(&self, id: [u8; 16]) -> Result<Option<&T>> {
        let key = NounKey { kind: T::KIND, id };
        let noun = self.rows.nouns.get(&key);
        if noun.is_none() {
            self.asked(&Read::Noun(key))?;
        }
        Ok(noun.and_then(T::of))
    }

    /// The noun of a kind, to change it.
    pub(super) fn noun_mut<T: OneNoun>(&mut self, id: [u8; 16]) -> Result<&mut T> {
        let key = NounKey { kind: T::KIND, id };
        self.changed.nouns.insert(key);
        let noun = self.rows.nouns.get_mut(&key).and_then(T::of_mut);
        noun.ok_or_else(|| unasked("noun", format_args!("{key:?}")))
    }

    /// The nouns of a kind in a Goal that are open.
    pub fn open_nouns<T: OneNoun>(&self, goal: &GoalId) -> Result<Vec<&T>> {
        self.asked(&Read::OpenNouns(goal.clone(), T::KIND))?;
        let open = |noun: &&Noun| noun.goal_id() == goal && noun.is_open();
        Ok(self.rows.nouns.values().filter(open).filter_map(T::of).collect())
    }

    /// Whether a question was put to the ledger.
    pub fn has(&self, read: &Read) -> bool {
        self.complete || self.asked.contains(read)
    }

    /// Fails unless a set-wise question was asked.
    pub(super) fn asked(&self, read: &Read) -> Result<()> {
        if self.has(read) { Ok(()) } else { Err(unasked("set", format_args!("{read:?}"))) }
    }

    /// Notes that a question was answered; the rows follow through [`Facts::load`].
    pub fn note(&mut self, read: Read) {
        self.asked.insert(read);
    }

    /// Takes in rows as the ledger holds them; a row that is here already stays as it is.
    pub fn load(&mut self, rows: Rows) {
        fn keep<K: Ord, V>(here: &mut BTreeMap<K, V>, came: BTreeMap<K, V>) {
            for (key, row) in came {
                here.entry(key).or_insert(row);
            }
        }
        for (id, todo) in rows.todos {
            if !self.rows.todos.contains_key(&id) {
                self.index_todo(&todo);
                self.rows.todos.insert(id, todo);
            }
        }
        let Rows { goals, agents, texts, turns, gates, evidence, nouns, .. } = rows;
        keep(&mut self.rows.goals, goals);
        keep(&mut self.rows.agents, agents);
        keep(&mut self.rows.texts, texts);
        keep(&mut self.rows.turns, turns);
        keep(&mut self.rows.gates, gates);
        keep(&mut self.rows.evidence, evidence);
        keep(&mut self.rows.nouns, nouns);
    }

    /// Takes in a meter's sum.
    pub fn load_used(&mut self, scope: MeterScope, since: Bucket, used: Used) {
        self.used.insert((scope, since), used);
    }

    /// Takes in the limit of all Goals together.
    pub fn load_authority_limit(&mut self, limit: Option<Limit>) {
        self.authority_limit = limit;
    }

    /// The limit of all Goals together, if there is one and it was asked for.
    pub fn authority_limit(&self) -> Option<Limit> {
        self.authority_limit
    }

    /// Takes in who last worked on a Todo.
    pub fn load_author(&mut self, todo_id: TodoId, agent_id: AgentId) {
        self.authors.insert(todo_id, agent_id);
    }

    /// The agent of the last Turn on a Todo that did not merely stop.
    pub fn author(&self, todo_id: &TodoId) -> Result<Option<&AgentId>> {
        if let Some(todo) = self.rows.todos.get(todo_id) {
            return Ok(todo.author());
        }
        self.asked(&Read::Author(todo_id.clone()))?;
        Ok(self.authors.get(todo_id))
    }

    /// Takes in the answer of a question that loads no row.
    pub fn load_listed(&mut self, read: Read, listed: IdList) {
        self.listed.insert(read, listed);
    }

    /// The answer of a question that loads no row.
    pub fn listed(&self, read: &Read) -> Result<&IdList> {
        self.listed.get(read).ok_or_else(|| unasked("list", format_args!("{read:?}")))
    }

    /// A cancelled Todo that one depends on, where that was asked.
    pub(super) fn cancelled_dep(&self, todo_id: &TodoId) -> Option<&TodoId> {
        self.listed.get(&Read::CancelledDeps(todo_id.clone()))?.ids.first()
    }

    /// What a meter holds since a bucket.
    pub fn used(&self, scope: &MeterScope, since: Bucket) -> Result<Used> {
        let key = (scope.clone(), since);
        self.used.get(&key).copied().ok_or_else(|| unasked("meter", format_args!("{key:?}")))
    }

    fn index_todo(&mut self, todo: &Todo) {
        for dep in &todo.depends_on {
            self.dependants.entry(dep.clone()).or_default().insert(todo.todo_id.clone());
        }
        if let Some(target) = Target::of(todo) {
            self.note_waiting(target, &todo.todo_id);
        }
    }

    /// Remembers that a Todo waits for another or for a gate.
    pub(super) fn note_waiting(&mut self, target: Target, todo_id: &TodoId) {
        self.waiting.entry(target).or_default().insert(todo_id.clone());
    }

    /// Takes in a new Todo.
    pub(super) fn put_todo(&mut self, todo: Todo) {
        self.index_todo(&todo);
        // What is new has no text but what is put beside it.
        self.asked.insert(Read::Text(todo.todo_id.clone()));
        self.put_todo_row(todo.todo_id.clone(), todo);
    }

    /// Adds or removes one dependency of a Todo.
    pub(super) fn relink(&mut self, todo_id: &TodoId, dep: &TodoId, on: bool) -> Result<()> {
        let todo = self.todo_mut(todo_id)?;
        let dependants = if on {
            todo.depends_on.insert(dep.clone());
            self.dependants.entry(dep.clone()).or_default().insert(todo_id.clone());
            return Ok(());
        } else {
            todo.depends_on.remove(dep);
            self.dependants.get_mut(dep)
        };
        if let Some(set) = dependants {
            set.remove(todo_id);
        }
        Ok(())
    }

    /// The loaded Todos that depend on one.
    fn loaded_dependants(&self, dep: &TodoId) -> impl Iterator<Item = &TodoId> {
        self.dependants.get(dep).into_iter().flatten()
    }

    /// Applies a set-wise change to what is loaded, and keeps it for the ledger.
    pub(super) fn shift(&mut self, delta: Delta) {
        match &delta {
            Delta::Dependency { dep, unmet, cancelled } => {
                let ids: Vec<_> = self.loaded_dependants(dep).cloned().collect();
                for id in ids {
                    if let Some(todo) = self.rows.todos.get_mut(&id) {
                        todo.counters.unmet = todo.counters.unmet.saturating_add_signed(*unmet);
                        todo.counters.cancelled_deps =
                            todo.counters.cancelled_deps.saturating_add_signed(*cancelled);
                    }
                }
            }
            Delta::Gated { todos, by } => {
                for id in todos {
                    if let Some(todo) = self.rows.todos.get_mut(id) {
                        todo.counters.blocking_gates =
                            todo.counters.blocking_gates.saturating_add_signed(*by);
                    }
                }
            }
            Delta::Wake { target, woken_at, lost } => {
                for id in self.waiting.get(target).into_iter().flatten() {
                    let Some(todo) = self.rows.todos.get_mut(id) else { continue };
                    if Target::of(todo).as_ref() == Some(target) {
                        todo.counters.woken_at = *woken_at;
                        todo.counters.wake_lost = *lost;
                    }
                }
            }
            Delta::Meter { scope, bucket, by } => {
                for ((held, since), used) in &mut self.used {
                    if held == scope && since <= bucket {
                        used.slots = used.slots.saturating_add_signed(*by);
                    }
                }
            }
            Delta::Amounts { scope, bucket, before, after } => {
                for ((held, since), used) in &mut self.used {
                    if held == scope && since <= bucket {
                        used.amounts = used.amounts.replacing(*before, *after);
                    }
                }
            }
        }
        self.deltas.push(delta);
    }

    /// Takes the set-wise changes so far, as a fold does that keeps the meters itself.
    pub(crate) fn take_deltas(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.deltas)
    }

    /// Every row, of a fold that is over.
    pub(crate) fn into_rows(self) -> Rows {
        self.rows
    }

    /// What has to be written.
    pub fn into_writes(self) -> Writes {
        fn take<K: Ord, V>(mut rows: BTreeMap<K, V>, changed: &BTreeSet<K>) -> BTreeMap<K, V> {
            rows.retain(|key, _| changed.contains(key));
            rows
        }
        let Self { rows, changed, deltas, .. } = self;
        Writes {
            deltas,
            rows: Rows {
                goals: take(rows.goals, &changed.goals),
                agents: take(rows.agents, &changed.agents),
                todos: take(rows.todos, &changed.todos),
                texts: take(rows.texts, &changed.texts),
                turns: take(rows.turns, &changed.turns),
                gates: take(rows.gates, &changed.gates),
                evidence: take(rows.evidence, &changed.evidence),
                nouns: take(rows.nouns, &changed.nouns),
            },
        }
    }

    /// Whether an ownership has run out: it no longer keeps others out.
    pub fn is_expired(&self, ownership: &Ownership) -> bool {
        self.terms.is_expired(ownership)
    }

    /// The live Turn of a Todo, if it has one.
    pub fn live_turn(&self, todo: &Todo) -> Result<Option<&Turn>> {
        match &todo.turn_id {
            Some(turn_id) => self.turn(turn_id),
            None => Ok(None),
        }
    }

    /// The Turns of an agent that have not ended.
    pub fn agent_turns(&self, goal: &GoalId, agent: &AgentId) -> Result<Vec<&Turn>> {
        if !self.has(&Read::LiveTurns(goal.clone())) {
            self.asked(&Read::AgentTurns(goal.clone(), agent.clone()))?;
        }
        let of_agent = |t: &&Turn| t.goal_id == *goal && t.agent_id == *agent && !t.is_terminal();
        Ok(self.rows.turns.values().filter(of_agent).collect())
    }

    /// The Turns of a Goal that have not ended.
    pub fn live_turns(&self, goal: &GoalId) -> Result<Vec<&Turn>> {
        self.asked(&Read::LiveTurns(goal.clone()))?;
        Ok(self.rows.turns.values().filter(|t| t.goal_id == *goal && !t.is_terminal()).collect())
    }

    /// The Turns, of all Goals, that own a Todo in a work tree.
    pub fn turns_in(&self, workspace: &Workspace) -> Result<Vec<&Turn>> {
        self.asked(&Read::Writers(workspace.tree()))?;
        let own = self.rows.todos.values().filter_map(|todo| todo.ownership.as_ref());
        let here = own.filter(|own| own.workspace.as_ref().is_some_and(|other| other.shares_tree(workspace)));
        Ok(here.filter_map(|own| self.rows.turns.get(&own.turn_id)).collect())
    }

    /// The last Turn on a Todo whose result is proven.
    pub fn proven(&self, todo: &TodoId) -> Result<Option<&Turn>> {
        self.asked(&Read::Proven(todo.clone()))?;
        let proven = self.rows.turns.values().filter(|turn| turn.todo_id() == Some(todo) && turn.is_proven());
        Ok(proven.max_by_key(|turn| turn.turn_no))
    }

    /// The gates that block a Todo by name; none that asks for its result to be accepted.
    pub fn todo_gates(&self, todo: &TodoId) -> Result<Vec<&Gate>> {
        self.asked(&Read::TodoGates(todo.clone()))?;
        let by_name = |gate: &&Gate| gate.blocks != Blocks::Goal && gate.accepts.is_none();
        Ok(self.blocking(todo).filter(by_name).collect())
    }

    /// All gates that block a Todo, oldest first: of its Goal, by name, and those that ask for its result to be accepted.
    pub fn gates_before(&self, todo: &TodoId) -> Result<Vec<&Gate>> {
        self.asked(&Read::TodoGates(todo.clone()))?;
        self.asked(&Read::GoalGates(todo.goal().clone()))?;
        Ok(self.blocking(todo).collect())
    }

    /// What of the loaded gates blocks a Todo, whatever it asks for.
    fn blocking(&self, todo: &TodoId) -> impl Iterator<Item = &Gate> {
        self.rows.gates.values().filter(move |gate| {
            let names = match &gate.blocks {
                Blocks::Todos(ids) => ids.contains(todo),
                Blocks::Goal => gate.goal_id == *todo.goal(),
            };
            names && gate.is_blocking()
        })
    }

    /// Whether a deferred Todo's wake has come.
    pub fn is_awake(&self, wake: &Wake, todo: &Todo) -> bool {
        match wake {
            Wake::After(at) => *at <= self.terms.now,
            Wake::TodoDone(_) | Wake::Gate(_) => todo.counters.woken_at.is_some(),
        }
    }
}
