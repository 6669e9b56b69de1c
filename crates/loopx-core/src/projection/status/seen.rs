//! Owns what the status of one Goal looks at: a bounded page of each sort of row.

use std::collections::BTreeSet;

use super::{Eyes, LastRun, Left, Owned, Stuck, is_running};
use crate::{
    authority::{Count, GateFilter, NounFilter, TodoFilter, TurnFilter, View},
    error::{Code, Result},
    kernel::{Facts, GRACE, Read, Terms, effect_in_hand, held_reads, is_approved, may_be_told, turn},
    model::{
        Agent, Effect, Gate, Goal, GoalId, Monitor, NounKind, OneNoun as _, Ownership, PeerReturn, Proposal,
        ProposalKind, ProposalState, Stopped, Timestamp, Todo, TodoState, Turn, TurnId, TurnKind, TurnState,
        VerdictOutcome, Wake, Workspace, gathered,
    },
    projection::{
        gate,
        todo::{self, OwnerRow},
        turn::{TurnRow, is_out_of_bounds, word},
        words::plain,
    },
};

/// How many rows of each sort are looked at.
const PAGE: usize = 16;
/// How many Todos that wait for a person are looked at, of each sort.
const FEW: usize = 4;
/// How far a look goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// How many rows of each sort.
    page: usize,
    /// How many Todos that wait for a person, of each sort.
    few: usize,
}

impl Reach {
    /// As far as a screen shows.
    pub(super) const GLANCE: Self = Self { page: PAGE, few: FEW };
    /// As far as any list of a Goal goes.
    pub(super) const WHOLE: Self = Self { page: Facts::PAGE, few: Facts::PAGE };
}

/// How many pages are looked through for gates that still block something.
const STEPS: usize = 8;

/// What the status of one Goal looks at.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    pub(super) goal: &'a Goal,
    pub(super) terms: &'a Terms,
    pub(super) counts: Count,
    pub(super) agents: Vec<Agent>,
    /// Turns that have not ended, newest first.
    pub(super) live: Vec<Turn>,
    /// Of those, the ones whose driver was on this machine and is gone.
    pub(super) gone: Vec<TurnId>,
    /// Of those, the attached ones whose result nobody on this machine proves.
    pub(super) unproved: Vec<TurnId>,
    /// Their Todos, and what holds those that are held.
    pub(super) facts: Facts,
    /// Todos of other Goals that are owned in the work trees of those.
    beside: Vec<Todo>,
    /// Turns that are held or unresolved.
    pub(super) stuck: Vec<Stuck>,
    /// The last Turn of which something can be said.
    last: Option<Turn>,
    /// Gates that block something that has not ended, oldest first.
    pub(super) gates: Vec<Gate>,
    /// Todos that wait for a person.
    pub(super) persons: Vec<Todo>,
    /// The first open Todos that nobody owns.
    pub(super) open: Vec<Todo>,
    /// The effects that are not resolved and that nobody is at work on, oldest first.
    pub(super) effects: Vec<Effect>,
    /// The changes that were proposed and that a person may be reminded of, oldest first.
    pub(super) proposals: Vec<Proposal>,
    /// What peers returned and nobody has decided on, oldest first.
    pub(super) returns: Vec<PeerReturn>,
    /// When what is put off, or looked at now and then, is due.
    due: Vec<Timestamp>,
    /// The unresolved Turns of which a look from here may still tell something.
    pub(super) told: Vec<TurnId>,
    /// Those that were looked into in vain.
    pub(super) tried: BTreeSet<TurnId>,
}

impl<'a> Seen<'a> {
    pub(super) fn look(
        view: &mut dyn View,
        terms: &'a Terms,
        goal: &'a Goal,
        eyes: &Eyes<'_>,
        reach: Reach,
    ) -> Result<Self> {
        let Reach { page, few } = reach;
        let id = &goal.goal_id;
        let counts = view.counts(id)?;
        let turns = |live| TurnFilter { goal: id, todo: None, agent: None, live };
        let live = view.turns(&turns(true), None, page)?;
        let last = view.turns(&turns(false), None, FEW)?.into_iter().find(has_something_to_say);
        let mut some = |bucket: &'static str, limit: usize| {
            if counts.get(bucket).is_none_or(|count| *count == 0) {
                return Ok(Vec::new());
            }
            view.todos(&TodoFilter { goal: id, live: true, bucket: Some(bucket) }, 0, limit)
        };
        let mut persons = some("action", few)?;
        persons.extend(some("blocker", few)?);
        persons.extend(some("blocked", few)?);
        let deferred = some("deferred", page)?;
        let mut open = some("open", page)?;
        open.extend(some("monitor", few)?);
        let mut due: Vec<_> = deferred.iter().chain(&open).filter_map(due_at).collect();
        let agents = view.agents(id)?;
        // Who made one counts it, so that nothing is looked for where none is.
        let proposed = if agents.iter().any(|agent| agent.proposals > 0) {
            changes(view, id, page)?
        } else {
            Vec::new()
        };
        due.extend(proposed.iter().filter_map(put_off));
        let proposals = proposed
            .into_iter()
            .filter(|proposal| put_off(proposal).is_none_or(|until| until <= terms.now))
            .collect();
        let returned = NounFilter { kind: NounKind::PeerReturn, goal: id, todo: None, open: true };
        let returns: Vec<_> =
            view.nouns(&returned, None, page)?.iter().filter_map(PeerReturn::of).cloned().collect();
        let facts = load(view, terms, id, &live, deferred.iter().chain(&open), &returns, few)?;
        let effects = idle_effects(&facts, id)?;
        // What was put off may be a person's too: his own work, or what can no longer come true.
        persons.extend(deferred.into_iter().filter(|todo| todo::persons(&facts, todo).is_some()));
        let mut stuck = Vec::new();
        for turn in live.iter().filter(|turn| is_stuck(turn)) {
            stuck.push(Stuck {
                turn: TurnRow::of(turn),
                causes: turn::causes(&facts, turn)?.into_iter().collect(),
            });
        }
        let tried = (eyes.tried)(&live)?;
        let told: Vec<_> = live
            .iter()
            .filter(|turn| may_be_told(turn, eyes.machine_id, &tried))
            .map(|turn| turn.turn_id)
            .collect();
        Ok(Self {
            goal,
            terms,
            effects,
            told,
            tried,
            proposals,
            returns,
            agents: agents.into_iter().filter(Agent::is_registered).take(PAGE).collect(),
            beside: beside(
                view,
                goal,
                live.iter().filter_map(|turn| facts.rows().todos.get(turn.todo_id()?)),
            )?,
            facts,
            gates: blocking(view, terms, goal, page)?,
            counts,
            gone: live
                .iter()
                .filter(|turn| eyes.left(turn) == Some(Left::Driver))
                .map(|turn| turn.turn_id)
                .collect(),
            unproved: live
                .iter()
                .filter(|turn| eyes.left(turn) == Some(Left::Result))
                .map(|turn| turn.turn_id)
                .collect(),
            live,
            stuck,
            last,
            persons,
            open,
            due,
        })
    }

    /// The next moment at which time alone may change what was seen; `until` is what else is waited for.
    pub(super) fn next_moment(&self, until: Option<Timestamp>) -> Option<Timestamp> {
        let owned = self.facts.rows().todos.values().filter_map(|todo| todo.ownership.as_ref());
        let owned = owned.filter(|own| !own.frozen).map(|own| own.expires_at);
        let open = self.live.iter().filter_map(|turn| turn.attempts.last()?.deadline_at);
        // A Turn that is driven elsewhere is waited for a little longer.
        let open = open.flat_map(|at| [at, at.plus(GRACE)]);
        let moments = owned.chain(open).chain(self.due.iter().copied()).chain(until);
        moments.filter(|at| *at > self.terms.now).min()
    }

    /// The Todos that are a person's to move, of those that were looked at.
    pub(super) fn persons(&self) -> impl Iterator<Item = &Todo> {
        self.persons.iter().chain(&self.open).filter(|todo| todo::persons(&self.facts, todo).is_some())
    }

    /// How many Todos are counted under a bucket.
    pub(super) fn count(&self, bucket: &str) -> u64 {
        self.counts.get(bucket).copied().unwrap_or_default()
    }

    /// The Todo a live Turn works on.
    fn todo_of(&self, turn: &Turn) -> Option<&Todo> {
        self.facts.rows().todos.get(turn.todo_id()?)
    }

    /// The Todos that live Turns work on, in the order of those.
    fn owned(&self) -> impl Iterator<Item = &Todo> {
        self.live.iter().filter_map(|turn| self.todo_of(turn))
    }

    /// The Turns that have to be brought on, or looked into, from this machine before their agents can take anything.
    pub(super) fn left(&self) -> impl Iterator<Item = &Turn> {
        let is_left = |turn: &&Turn| {
            matches!(turn.kind, TurnKind::Work { .. })
                && (self.gone.contains(&turn.turn_id) || self.told.contains(&turn.turn_id))
        };
        self.live.iter().filter(is_left)
    }

    /// A result that a person has approved, and whose proof is to be renewed, which nobody does.
    pub(super) fn renewal(&self) -> Option<&Turn> {
        self.live.iter().find(|turn| self.is_renewal(turn))
    }

    /// Whether a Turn is such a result.
    pub(super) fn is_renewal(&self, turn: &Turn) -> bool {
        let is_left = self.gone.contains(&turn.turn_id) || self.unproved.contains(&turn.turn_id);
        is_left && matches!(turn.state, TurnState::Candidate) && is_approved(&self.facts, turn)
    }

    /// Whether a live Turn is at work as far as is known: what is unresolved may be, and is told apart.
    pub(super) fn is_at_work(&self, turn: &Turn) -> Result<bool> {
        let running = is_running(turn) && !self.gone.contains(&turn.turn_id) && !self.is_renewal(turn);
        Ok(running && turn::executes(&self.facts, turn)?)
    }

    pub(super) fn owners(&self) -> Vec<Owned> {
        let rows = self.owned().filter_map(|todo| {
            let owner = OwnerRow::of(todo.ownership.as_ref()?, self.terms);
            Some(Owned { todo_id: todo.todo_id.clone(), title: todo.title.to_string(), owner })
        });
        rows.collect()
    }

    pub(super) fn last_run(&self) -> Option<LastRun> {
        let turn = self.last.as_ref()?;
        Some(LastRun { text: said(turn), turn: TurnRow::of(turn) })
    }

    /// Owners that share a work tree without saying what they write there.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let undeclared: Vec<_> = self.owned().filter_map(silent).collect();
        let beside: Vec<_> = self.beside.iter().filter_map(silent).collect();
        for (place, (todo, own)) in undeclared.iter().enumerate() {
            let others = undeclared.iter().skip(place + 1).chain(&beside);
            let shares = others.into_iter().find(|(_, other)| match (&own.workspace, &other.workspace) {
                (Some(one), Some(other)) => one.shares_tree(other),
                (Some(_) | None, _) => false,
            });
            if let Some((other, _)) = shares {
                warnings.push(format!(
                    "{} and {} are worked on in one work tree, and neither says what it writes",
                    todo.todo_id, other.todo_id
                ));
            }
        }
        let live = u64::try_from(self.live.len()).unwrap_or(u64::MAX);
        if self.count("owned") > live {
            warnings
                .push(format!("{} Todos are owned; the newest {live} were looked at", self.count("owned")));
        }
        warnings
    }
}

/// When a Todo that waits for its time is due.
fn due_at(todo: &Todo) -> Option<Timestamp> {
    let reserved = todo.reserved.as_ref().map(|reserved| reserved.until);
    let wake = match &todo.state {
        TodoState::Deferred { wake: Wake::After(at) } => Some(*at),
        _ => todo.monitor.as_ref().and_then(Monitor::due_at), // wildcard: nothing else waits for a moment
    };
    wake.into_iter().chain(reserved).min()
}

/// A Todo whose owner works in a work tree and does not say what it writes there.
fn silent(todo: &Todo) -> Option<(&Todo, &Ownership)> {
    let own = todo.ownership.as_ref()?;
    (own.scopes.is_empty() && own.workspace.is_some()).then_some((todo, own))
}

/// Todos of other Goals that are owned where these are; a few of each work tree.
fn beside<'t>(view: &mut dyn View, goal: &Goal, owned: impl Iterator<Item = &'t Todo>) -> Result<Vec<Todo>> {
    let trees: BTreeSet<_> =
        gathered(owned.filter_map(silent).filter_map(|(_, own)| own.workspace.as_ref().map(Workspace::tree)));
    let mut found = Vec::new();
    for tree in trees {
        let here = view.owned_in(&tree, PAGE)?;
        found.extend(here.into_iter().filter(|todo| *todo.todo_id.goal() != goal.goal_id));
    }
    Ok(found)
}

/// The first gates that block something which has not ended.
fn blocking(view: &mut dyn View, terms: &Terms, goal: &Goal, wanted: usize) -> Result<Vec<Gate>> {
    let filter = GateFilter { goal: &goal.goal_id, blocking: true };
    let mut found: Vec<Gate> = Vec::new();
    let mut after: Option<String> = None;
    // Bounded, however many idle ones there are.
    for _ in 0..STEPS {
        let page = view.gates(&filter, after.as_deref(), wanted)?;
        let idle = gate::idle(view, terms, &page)?;
        let is_last = page.len() < wanted;
        after = page.last().map(|gate| gate.gate_id.to_string());
        found.extend(page.into_iter().filter(|gate| !idle.contains(&gate.gate_id)));
        if is_last || found.len() >= wanted {
            break;
        }
    }
    found.truncate(wanted);
    Ok(found)
}

fn is_stuck(turn: &Turn) -> bool {
    matches!(turn.state, TurnState::Held { .. } | TurnState::Unresolved { .. })
}

/// Loads the Todos of live Turns, what holds those that are held, and what was cancelled under those that wait.
fn load<'t>(
    view: &mut dyn View,
    terms: &Terms,
    goal: &GoalId,
    live: &[Turn],
    open: impl Iterator<Item = &'t Todo>,
    returns: &[PeerReturn],
    few: usize,
) -> Result<Facts> {
    let mut facts = Facts::new(terms.clone());
    let mut reads: BTreeSet<_> =
        gathered(live.iter().filter_map(|turn| turn.todo_id().cloned().map(Read::Todo)));
    reads.extend(live.iter().filter(|turn| is_stuck(turn)).flat_map(|turn| held_reads(turn, &facts)));
    let candidates = live.iter().filter(|turn| matches!(turn.state, TurnState::Candidate));
    reads.extend(candidates.filter_map(|turn| turn.acceptance_gate).map(Read::Gate));
    let waiting = open.filter(|todo| todo.counters.cancelled_deps > 0).take(few);
    reads.extend(waiting.map(|todo| Read::CancelledDeps(todo.todo_id.clone())));
    reads.extend(returns.iter().map(|given| Read::Todo(given.todo_id.clone())));
    reads.insert(Read::OpenNouns(goal.clone(), NounKind::Effect));
    view.load(&reads, &mut facts)?;
    Ok(facts)
}

/// The effects of which nobody knows what they did, and whose Todo nobody is at work on.
fn idle_effects(facts: &Facts, goal: &GoalId) -> Result<Vec<Effect>> {
    let open = facts.open_nouns::<Effect>(goal)?;
    let idle =
        |effect: &&&Effect| effect.is_unresolved() && effect_in_hand(facts, effect.effect_id).is_none();
    Ok(open.iter().filter(idle).map(|effect| (*effect).clone()).collect())
}

/// The first changes that wait for a person's word; a dream waits for nobody's.
fn changes(view: &mut dyn View, goal: &GoalId, wanted: usize) -> Result<Vec<Proposal>> {
    let filter = NounFilter { kind: NounKind::Proposal, goal, todo: None, open: true };
    let mut found: Vec<Proposal> = Vec::new();
    let mut after: Option<String> = None;
    // Bounded, however many dreams there are.
    for _ in 0..STEPS {
        let page = view.nouns(&filter, after.as_deref(), wanted)?;
        let is_last = page.len() < wanted;
        after = page.last().map(|noun| noun.key().kind.id(noun.key().id));
        let changes = page.iter().filter_map(Proposal::of).filter(|one| one.kind == ProposalKind::Change);
        found.extend(changes.cloned());
        if is_last || found.len() >= wanted {
            break;
        }
    }
    found.truncate(wanted);
    Ok(found)
}

/// Until when nobody wants to be reminded of a proposal.
const fn put_off(proposal: &Proposal) -> Option<Timestamp> {
    match proposal.state {
        ProposalState::Deferred { until } => Some(until),
        ProposalState::Open
        | ProposalState::Confirmed { .. }
        | ProposalState::Rejected { .. }
        | ProposalState::Stale { .. }
        | ProposalState::Withdrawn { .. } => None,
    }
}

fn has_something_to_say(turn: &Turn) -> bool {
    turn.is_terminal() || turn.candidate.is_some() || matches!(turn.state, TurnState::Unresolved { .. })
}

/// What a run proved or blocked, in one line.
fn said(turn: &Turn) -> String {
    let about = turn.todo_id().map_or_else(|| turn.turn_id.to_string(), ToString::to_string);
    let proved = |verdict: VerdictOutcome| match verdict {
        VerdictOutcome::Passed => "proved by its validators",
        VerdictOutcome::Progress => "progress, by its validators",
        VerdictOutcome::Failed => "refused by its validators",
        VerdictOutcome::Inconclusive => "its validators could not tell",
        VerdictOutcome::Unchecked => "not checked by any validator",
    };
    let verdict = turn.verdict.as_ref();
    let mut text = match &turn.state {
        TurnState::Settled => format!("{about} settled"),
        TurnState::Failed { how: crate::model::FailedBy::Host(failure) } => {
            format!("{about} failed: {}", plain(failure.as_str()))
        }
        TurnState::Failed { .. } if is_out_of_bounds(turn) => {
            format!("{about} failed: {}", plain(Code::BoundaryViolation.as_str()))
        }
        TurnState::Failed { how: crate::model::FailedBy::Validate } => format!("{about} failed"),
        TurnState::Stopped { why } => {
            let wish = turn.stop_wish.as_ref().filter(|_| *why == Stopped::Stop);
            let by =
                wish.map_or_else(|| plain(&word(why)).to_owned(), |wish| format!("{} asked for it", wish.by));
            let reason = wish.and_then(|wish| wish.reason.as_ref());
            format!(
                "{about} stopped: {by}{}",
                reason.map(|reason| format!(" ({reason})")).unwrap_or_default()
            )
        }
        TurnState::Fenced => format!("{about} was fenced by another ownership"),
        TurnState::Held { .. } => format!("{about} is held"),
        TurnState::Unresolved { why, .. } => format!("{about} is unresolved: {}", plain(&word(why))),
        TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate => format!("{about} has a result"),
    };
    if let Some(verdict) = verdict {
        text = format!("{text}, {}", proved(verdict.outcome));
    }
    if let Some(said) = TurnRow::of(turn).words() {
        text = format!("{text}: {said}");
    }
    text
}
