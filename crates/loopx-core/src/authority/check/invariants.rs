//! Owns what must be true of the rows after every call, whatever happened, and the name of each such promise.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    kernel::{Rows, index},
    model::*,
};

macro_rules! promises {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What LoopX promises, whatever is done to it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[cfg_attr(not(feature = "seeded"), allow(dead_code, reason = "some are only looked for by the exploration"))]
        pub(super) enum Promise { $($(#[$doc])* $name,)* }

        #[cfg(feature = "seeded")]
        impl Promise {
            /// Every one.
            pub(super) const ALL: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

promises! {
    /// A Todo has one live owner at most.
    OneOwner,
    /// What is stale - a token, a revision - writes nothing.
    StaleWritesNothing,
    /// A Turn ends once, settles once and spends once.
    OneSettlement,
    /// The meters hold what Turns reserved and spent, and what has ended reserves nothing.
    Reservations,
    /// Nothing settles past what holds it.
    NothingPast,
    /// An agent executes one piece of work.
    OneExecutor,
    /// `next` obliges to nothing that is then refused.
    NextIsAdmitted,
    /// What is refused writes nothing.
    RefusalsWriteNothing,
    /// A repeated operation returns what it returned.
    SameReceipt,
    /// The fold of the events equals the rows.
    Fold,
    /// What a row counts of others is so.
    Counters,
    /// A decision never fails in itself.
    Total,
    /// What a plan was changed for obliges to no other change, and one change at a time is made of it.
    ObligedOnce,
    /// Whoever follows LoopX comes to the end, or to a wait that is named.
    Live,
}

/// A promise that was broken, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) promise: Promise,
    pub(super) what: String,
}

/// Says that a promise is broken unless a condition holds.
pub(super) fn keeps(holds: bool, promise: Promise, what: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { promise, what: what() }) }
}

/// What is true of any one state.
pub(super) fn rows(rows: &Rows, now: Timestamp) -> Result<(), Broken> {
    for todo in rows.todos.values() {
        counters(rows, todo)?;
        owned(rows, todo)?;
        replans(rows, todo)?;
    }
    rows.goals.values().try_for_each(|goal| gap(rows, goal))?;
    obliged_once(rows)?;
    effects(rows)?;
    proposals(rows)?;
    let mut executing: BTreeMap<(&GoalId, &AgentId), &Turn> = BTreeMap::new();
    let (mut live, mut keys) = (BTreeSet::new(), BTreeSet::new());
    for turn in rows.turns.values() {
        let id = turn.turn_id;
        keeps(keys.insert(*turn.turn_key.as_bytes()), Promise::OneOwner, || format!("{id}: a Turn twice"))?;
        if turn.is_terminal() {
            keeps(turn.slot != Slot::Reserved, Promise::Reservations, || {
                format!("{id}: ended, and keeps its reservation")
            })?;
            continue;
        }
        let todo = &rows.todos[turn.todo_id().unwrap()];
        let one = live.insert(turn.todo_id()) && todo.turn_id == Some(id);
        keeps(one, Promise::OneOwner, || format!("{}: two live Turns, {id} is one", todo.todo_id))?;
        keeps(todo.is_live(), Promise::OneOwner, || format!("{}: ended under {id}", todo.todo_id))?;
        keeps(turn.slot == Slot::Reserved, Promise::Reservations, || format!("{id}: live without a slot"))?;
        if executes(turn, todo, now) {
            let other = executing.insert((&turn.goal_id, &turn.agent_id), turn);
            keeps(other.is_none(), Promise::OneExecutor, || {
                format!("{} executes twice: {other:?} and {turn:?}", turn.agent_id)
            })?;
        }
    }
    Ok(())
}

fn executes(turn: &Turn, todo: &Todo, now: Timestamp) -> bool {
    let owned =
        todo.ownership.as_ref().is_some_and(|own| own.turn_id == turn.turn_id && own.expires_at > now);
    let until = turn
        .open_attempt()
        .and_then(|attempt| attempt.deadline_at)
        .map(|at| at.plus(Duration::from_secs(60)));
    match turn.state {
        TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate => owned,
        TurnState::Unresolved { executor_gone, .. } => {
            !executor_gone && until.is_some_and(|until| until > now)
        }
        TurnState::Held { .. }
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => false,
    }
}

/// A Todo is covered by one live replan at most, and each knows the other.
fn replans(rows: &Rows, todo: &Todo) -> Result<(), Broken> {
    let id = &todo.todo_id;
    let once = |holds: bool, what: &str| keeps(holds, Promise::ObligedOnce, || format!("{id}: {what}"));
    if let Some(by) = &todo.replans.by {
        let replan = &rows.todos[by];
        once(replan.is_live(), "covered by what has ended")?;
        let covers = replan.covering.as_ref().is_some_and(|covering| covering.covers() == Some(id));
        once(covers, "covered by what covers another")?;
        once(index(todo).ready.is_none(), "offered while it is covered")?;
    }
    once((todo.kind == TodoKind::Replan) == todo.covering.is_some(), "a replan of nothing")?;
    if let Some(covering) = todo.covering.as_ref().filter(|_| todo.is_live()) {
        let by = match &covering.of.covers {
            Covers::Todo(covered) => rows.todos[covered].replans.by.as_ref(),
            Covers::Goal(goal_id) => rows.goals[goal_id].covered_by.as_ref(),
        };
        once(by == Some(id), "covers what does not know it")?;
    }
    once(
        todo.replans.pending.values().all(|ordinal| *ordinal <= todo.replans.count),
        "obliged out of order",
    )?;
    once(todo.replans.pending.is_empty() || todo.is_live(), "ended, and obliged")
}

/// A Goal is covered by one live replan at most, each knows the other, and none that nobody works on outlives what it is
/// for; what is awaited can come.
fn gap(rows: &Rows, goal: &Goal) -> Result<(), Broken> {
    let id = &goal.goal_id;
    let once = |holds: bool, what: &str| keeps(holds, Promise::ObligedOnce, || format!("{id}: {what}"));
    if let Some(by) = &goal.covered_by {
        let replan = &rows.todos[by];
        let covers = replan.covering.as_ref().map(|covering| &covering.of.covers);
        once(
            replan.is_live() && covers == Some(&Covers::Goal(id.clone())),
            "covered by what does not cover it",
        )?;
        let lacks = goal.acceptance.iter().any(|criterion| criterion.state.is_open());
        let work = rows.todos.values().any(|todo| {
            let other = todo.todo_id != *by && todo.todo_id.goal() == id;
            other && todo.is_live() && todo.kind != TodoKind::Monitor
        });
        let idle = replan.turn_id.is_none() && !matches!(goal.state, GoalState::Closed { .. });
        once(!idle || lacks && !work, "a gap that is closed is still to be closed")?;
    }
    let awaited = goal.awaits.as_ref().map(|awaits| &rows.todos[&awaits.monitor]);
    let comes = |todo: &Todo| todo.is_live() && todo.kind == TodoKind::Monitor;
    once(awaited.is_none_or(comes), "awaits what comes no more")
}

/// What became a replan does so once, and obliges no more.
fn obliged_once(rows: &Rows) -> Result<(), Broken> {
    let mut written = BTreeSet::new();
    for covering in rows.todos.values().filter_map(|todo| todo.covering.as_ref()) {
        let first = written.insert((&covering.of.covers, covering.of.ordinal));
        keeps(first, Promise::ObligedOnce, || format!("{} was written twice", covering.of))?;
    }
    for todo in rows.todos.values() {
        let covers = Covers::Todo(todo.todo_id.clone());
        let again = todo.replans.pending.values().find(|n| written.contains(&(&covers, **n)));
        keeps(again.is_none(), Promise::ObligedOnce, || format!("{}: {again:?} was written", todo.todo_id))?;
    }
    Ok(())
}

/// What waits for a person is counted with its author, and with the replan that it was made in.
fn proposals(rows: &Rows) -> Result<(), Broken> {
    let waiting: Vec<_> =
        rows.nouns.values().filter_map(Proposal::of).filter(|proposal| proposal.is_open()).collect();
    for ((goal, agent_id), agent) in &rows.agents {
        let its = |proposal: &&&Proposal| {
            proposal.goal_id == *goal && proposal.by.agent().is_some_and(|(by, _)| by == agent_id)
        };
        let found = waiting.iter().filter(its).count();
        keeps(agent.proposals as usize == found, Promise::Counters, || {
            format!("{agent_id}: {found} of its proposals wait, it has {}", agent.proposals)
        })?;
    }
    for todo in rows.todos.values().filter(|todo| todo.turn_id.is_some()) {
        let Some(covering) = &todo.covering else { continue };
        let its = |proposal: &&&Proposal| {
            proposal.todo_id.as_ref() == Some(&todo.todo_id) && proposal.turn_id == todo.turn_id
        };
        let found: BTreeSet<_> = waiting.iter().filter(its).map(|proposal| proposal.proposal_id).collect();
        keeps(covering.proposed == found, Promise::Counters, || {
            format!("{}: its Turn proposed {found:?}, it has {:?}", todo.todo_id, covering.proposed)
        })?;
    }
    Ok(())
}

fn counters(rows: &Rows, todo: &Todo) -> Result<(), Broken> {
    let id = &todo.todo_id;
    let unmet = todo.depends_on.iter().filter(|dep| !rows.todos[*dep].is_done()).count();
    let gone = |dep: &&TodoId| matches!(rows.todos[*dep].state, TodoState::Cancelled { .. });
    let blocks = |gate: &&Gate| {
        let names = matches!(&gate.blocks, Blocks::Todos(ids) if ids.contains(id));
        names && gate.is_blocking() && gate.accepts.is_none()
    };
    let expected =
        [unmet, todo.depends_on.iter().filter(gone).count(), rows.gates.values().filter(blocks).count()];
    let held = [todo.counters.unmet, todo.counters.cancelled_deps, todo.counters.blocking_gates];
    let same = held.iter().zip(expected).all(|(held, expected)| *held as usize == expected);
    keeps(same, Promise::Counters, || {
        format!("{id}: unmet, cancelled, gates are {expected:?}, it has {held:?}")
    })?;
    let blocks = |effect: &&Effect| effect.is_unresolved() && effect.blocks.todos.contains(id);
    let effects: BTreeSet<EffectId> =
        rows.nouns.values().filter_map(Effect::of).filter(blocks).map(|effect| effect.effect_id).collect();
    let same = todo.blocking_effects == effects;
    keeps(same, Promise::Counters, || format!("{id}: effects are {effects:?}"))?;
    let offered = !effects.is_empty() && index(todo).ready.is_some();
    keeps(!offered, Promise::Counters, || format!("{id}: offered, and an effect blocks it"))
}

fn owned(rows: &Rows, todo: &Todo) -> Result<(), Broken> {
    let id = &todo.todo_id;
    let Some(own) = &todo.ownership else { return Ok(()) };
    let turn = &rows.turns[&own.turn_id];
    let same = todo.turn_id == Some(own.turn_id)
        && (turn.own_id, &turn.agent_id, &turn.endpoint) == (own.own_id, &own.agent_id, &own.endpoint);
    keeps(same, Promise::OneOwner, || format!("{id}: owned without its Turn"))?;
    let open = todo.state == TodoState::Open;
    keeps(open, Promise::OneOwner, || format!("{id}: owned while {:?}", todo.state))?;
    let still = matches!(turn.state, TurnState::Held { .. } | TurnState::Unresolved { .. });
    keeps(own.frozen == still, Promise::OneOwner, || format!("{id}: frozen exactly while held or unresolved"))
}

/// An effect names its own Todo among those it blocks, and is the only one of its key.
fn effects(rows: &Rows) -> Result<(), Broken> {
    let mut keys = BTreeSet::new();
    for effect in rows.nouns.values().filter_map(Effect::of) {
        let id = effect.effect_id;
        let names = effect.blocks.todos.contains(&effect.todo_id);
        keeps(names, Promise::Counters, || format!("{id}: its own Todo"))?;
        let first = keys.insert((&effect.goal_id, &effect.key));
        keeps(first, Promise::SameReceipt, || format!("{id}: its key"))?;
        let asked = effect.stop_confirmed.is_none() || effect.stop_requested.is_some();
        keeps(asked, Promise::NothingPast, || format!("{id}: stopped, and nobody asked"))?;
    }
    Ok(())
}

/// What is true of a commit that settled something: nothing held it.
pub(super) fn settled(before: &Rows, after: &Rows) -> Result<(), Broken> {
    for turn in after.turns.values().filter(|turn| turn.state == TurnState::Settled) {
        if before.turns.get(&turn.turn_id).is_some_and(|turn| turn.state == TurnState::Settled) {
            continue;
        }
        let todo = &after.todos[turn.todo_id().unwrap()];
        let goal = &after.goals[&turn.goal_id];
        let past = |holds: bool, what: &str| {
            keeps(holds, Promise::NothingPast, || format!("{} settled {what}", turn.turn_id))
        };
        let candidate = turn.candidate.as_ref();
        let Some(candidate) = candidate else { return past(false, "without a result") };
        past(todo.counters.blocking_gates + goal.goal_gates == 0, "past a blocking gate")?;
        let same = candidate.requirement_revision == todo.requirement_revision;
        past(same, "past a moved requirement")?;
        past(!todo.hold && todo.counters.unmet == 0, "past a pause or a dependency")?;
        let completed = todo.is_done() && before.todos.get(&todo.todo_id).is_some_and(Todo::is_live);
        past(!completed || todo.blocking_effects.is_empty(), "past an effect nobody knows of")?;
        let asked = todo.covering.as_ref().is_some_and(|covering| !covering.proposed.is_empty());
        past(!asked, "past a proposal that waits")?;
        let looked = matches!(candidate.kind, ResultKind::LookChanged | ResultKind::LookUnchanged);
        let said = turn.verdict.as_ref().map(|verdict| verdict.outcome);
        let passed = matches!(
            said,
            Some(VerdictOutcome::Passed | VerdictOutcome::Progress | VerdictOutcome::Unchecked)
        );
        let replanned = todo.covering.is_some() && candidate.kind == ResultKind::ValidatedCompletion;
        past(looked || passed || replanned, "without a verdict")?;
        let approved = turn
            .acceptance_gate
            .is_some_and(|gate| matches!(after.gates[&gate].state, GateState::Approved { .. }));
        let trusted = goal.unvalidated == Unvalidated::Trust || !todo.is_done();
        past(
            said != Some(VerdictOutcome::Unchecked) || approved || trusted,
            "and nobody said that it is done",
        )?;
    }
    Ok(())
}

/// Whether a Turn that has ended spends its slot; none, while it has not ended.
pub(super) fn spends(turn: &Turn) -> Option<bool> {
    Some(match turn.state {
        TurnState::Settled => {
            turn.candidate.as_ref().is_some_and(|result| result.kind != ResultKind::LookUnchanged)
        }
        TurnState::Failed { how: FailedBy::Validate } | TurnState::Fenced => true,
        TurnState::Failed { how: FailedBy::Host(_) } | TurnState::Stopped { .. } => false,
        TurnState::Admitted
        | TurnState::Dispatched
        | TurnState::Candidate
        | TurnState::Held { .. }
        | TurnState::Unresolved { .. } => return None,
    })
}

/// What the meters hold beside slots is what counts of each Turn.
pub(super) fn amounts(rows: &Rows, held: &BTreeMap<(MeterScope, Bucket), Amounts>) -> Result<(), Broken> {
    let mut expected: BTreeMap<(MeterScope, Bucket), Amounts> = BTreeMap::new();
    for turn in rows.turns.values() {
        let Some(spend) = &turn.spend else { continue };
        let agent = MeterScope::Agent(turn.goal_id.clone(), turn.agent_id.clone());
        for scope in [MeterScope::Goal(turn.goal_id.clone()), agent] {
            let sum = expected.entry((scope, turn.bucket)).or_default();
            *sum = sum.replacing(Amounts::default(), spend.counted);
        }
        let reserves = |dimension| {
            spend.ceiling.of(dimension).is_none_or(|ceiling| spend.counted.of(dimension) >= ceiling)
        };
        let covered = turn.is_terminal() || Dimension::ALL.into_iter().all(reserves);
        keeps(covered, Promise::Reservations, || format!("{} reserves less than it may use", turn.turn_id))?;
    }
    expected.retain(|_, sum| *sum != Amounts::default());
    keeps(*held == expected, Promise::Reservations, || {
        format!("the meters hold {held:?}, what counts of the Turns is {expected:?}")
    })
}

/// What the meters hold is what the Turns reserved and spent.
pub(super) fn meters(rows: &Rows, meters: &BTreeMap<(MeterScope, Bucket), u64>) -> Result<(), Broken> {
    let mut held: BTreeMap<(MeterScope, Bucket), u64> = BTreeMap::new();
    for turn in rows.turns.values().filter(|turn| turn.slot != Slot::Returned) {
        let of_agent = MeterScope::Agent(turn.goal_id.clone(), turn.agent_id.clone());
        for scope in [MeterScope::Goal(turn.goal_id.clone()), of_agent] {
            *held.entry((scope, turn.bucket)).or_default() += 1;
        }
    }
    keeps(held == *meters, Promise::Reservations, || {
        format!("the meters hold {meters:?}, the Turns' slots are {held:?}")
    })
}
