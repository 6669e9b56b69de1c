//! Owns replans: when the plan of a Todo has to change, what a claim makes of that, and what counts as a change.
//!
//! An obligation is derived from the covered Todo's row until a claim writes it as a Todo of its own; by that it is
//! consumed, and what caused it causes no other.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Context, Draft, Facts, Read, Wanted, event_kinds, gap, proposal, seeded, todo, turn};
use crate::{
    error::{Code, Error, Result},
    model::{
        Actor, AgentId, Counters, Covering, Covers, Goal, GoalId, Label, ReplanCause, ReplanRef, Replans,
        Stopped, Timestamp, Title, Todo, TodoId, TodoKind, TodoState, TurnState,
    },
};

/// What of a replan stands in the way of a Todo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Covered {
    /// One that can be claimed by its name.
    Derived(ReplanRef),
    /// One that is written.
    By(TodoId),
    /// None any more: a replan was made for it, and it stands all the same.
    Consumed(ReplanCause),
}

/// What can have happened to replans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// An obligation became a Todo.
    Written {
        /// The Todo.
        todo_id: TodoId,
        /// The obligation.
        of: ReplanRef,
    },
}

event_kinds!(Event { Written => "replan.written" });

/// Whether an agent is offered the replan of a Todo by the ready index: its row stands there, for who can do that too.
/// That of a whole Goal has no row.
pub(super) fn is_indexed(todo: &Todo, capabilities: &BTreeSet<Label>) -> bool {
    if todo.kind == TodoKind::Replan {
        return false;
    }
    let Counters { unmet, cancelled_deps, blocking_gates, wake_lost, .. } = todo.counters;
    let can = todo.requires.capabilities.is_subset(capabilities);
    can && unmet == 0 && cancelled_deps == 0 && blocking_gates == 0 && !wake_lost
}

/// Whether a row stands for a replan, written or not.
pub(super) fn is_replan(todo: &Todo) -> bool {
    todo.kind == TodoKind::Replan || !todo.replans.pending.is_empty()
}

/// What of a replan stands in the way of a live Todo, if something does.
pub(super) fn covered(facts: &Facts, todo: &Todo) -> Option<Covered> {
    let replans = &todo.replans;
    if let Some(by) = &replans.by {
        return Some(Covered::By(by.clone()));
    }
    let named = |cause, ordinal| Covered::Derived(ReplanRef::of_todo(cause, todo.todo_id.clone(), ordinal));
    if let Some((cause, ordinal)) = replans.pending.iter().next() {
        return Some(named(*cause, *ordinal));
    }
    let standing = |cause, is_new: bool| {
        // A replan is not replanned: a person is asked.
        let derives = is_new && todo.kind != TodoKind::Replan;
        if derives { named(cause, replans.count + 1) } else { Covered::Consumed(cause) }
    };
    let cancelled = todo.counters.cancelled_deps;
    if cancelled > 0 {
        return Some(standing(ReplanCause::DependencyCancelled, cancelled > replans.seen_cancelled));
    }
    is_lost(facts, todo).then(|| standing(ReplanCause::WakeLost, !replans.seen_lost))
}

/// Whether what a Todo waits for can no longer come true.
pub(super) fn is_lost(facts: &Facts, todo: &Todo) -> bool {
    let asleep = matches!(&todo.state, TodoState::Deferred { wake } if !facts.is_awake(wake, todo));
    asleep && todo.counters.wake_lost
}

/// The Todo that an obligation becomes when it is claimed; it covers the whole Goal where it covers no Todo.
pub(super) fn offered(goal: &Goal, covered: Option<&Todo>, of: &ReplanRef, at: Timestamp) -> Result<Todo> {
    let todo_id = TodoId::new(goal.goal_id.clone(), goal.next_todo);
    let why = match of.cause {
        ReplanCause::Fruitless => "its last Turns brought no progress",
        ReplanCause::ReplanRequired => "its executor says that it does not hold",
        ReplanCause::EvidenceRejected => "evidence of it was rejected",
        ReplanCause::GateDenied => "what it needs was denied",
        ReplanCause::UnchangedLimit => "nothing changes",
        ReplanCause::DependencyCancelled => "what it depends on was cancelled",
        ReplanCause::WakeLost => "what it waits for cannot come true",
        ReplanCause::AcceptanceGap => "nothing is left to do, and a criterion is not shown",
    };
    let title: Title = format!("change the plan of {}: {why}", of.covers).parse()?;
    Ok(Todo {
        priority: covered.map(|covered| covered.priority).unwrap_or_default(),
        covering: Some(Box::new(Covering {
            of: of.clone(),
            planned: planned(goal),
            requirement_revision: covered.map_or(goal.revision, |covered| covered.requirement_revision),
            failed: 0,
            proposed: [].into(),
            confirmed: false,
        })),
        ..Todo::blank(todo_id, title, TodoKind::Replan, Actor::System, at)
    })
}

/// How many Todos beside replans a Goal has had.
const fn planned(goal: &Goal) -> u32 {
    goal.next_todo.saturating_sub(goal.replans)
}

/// Writes an obligation that is claimed, and can be, as a Todo.
pub(super) fn write(draft: &mut Draft<'_>, of: &ReplanRef) -> Result<TodoId> {
    let goal = draft.facts().goal(draft.goal_id())?.ok_or_else(|| Error::from(Code::NotFound))?;
    let todo_id = TodoId::new(goal.goal_id.clone(), goal.next_todo);
    draft.emit(Event::Written { todo_id: todo_id.clone(), of: of.clone() })?;
    Ok(todo_id)
}

/// Refuses an obligation that does not stand, or not by this name.
pub(super) fn check_stands(facts: &Facts, of: &ReplanRef) -> Result<()> {
    let (stands, hint) = match &of.covers {
        Covers::Todo(todo_id) => {
            let live = facts.todo(todo_id)?.filter(|todo| todo.is_live());
            let stands = live.and_then(|todo| covered(facts, todo)) == Some(Covered::Derived(of.clone()));
            (stands, format!("todo show {todo_id}"))
        }
        Covers::Goal(goal_id) => {
            let offered = gap::offered(facts, goal_id)?.and_then(|todo| todo.covering);
            let by = facts.goal(goal_id)?.and_then(|goal| goal.covered_by.as_ref());
            let hint = by.map_or_else(|| format!("status --goal {goal_id}"), |by| format!("todo show {by}"));
            (offered.is_some_and(|covering| covering.of == *of), hint)
        }
    };
    if stands {
        return Ok(());
    }
    Err(Error::new(Code::NotClaimable, format!("{of} is not to be done"))
        .detail("todo_id", of.claimed().to_string())
        .detail("reason", "replan")
        .hint(hint))
}

/// Whether the plan changed since a replan was written, or has no longer to.
pub(super) fn is_changed(facts: &Facts, covering: &Covering) -> Result<bool> {
    let goal = facts.goal(covering.of.goal())?.ok_or_else(|| Error::from(Code::Internal))?;
    let revision = match covering.covers() {
        Some(todo_id) => {
            facts.todo(todo_id)?.ok_or_else(|| Error::from(Code::Internal))?.requirement_revision
        }
        None => goal.revision,
    };
    let moved = revision != covering.requirement_revision;
    Ok(covering.confirmed || planned(goal) > covering.planned || moved || is_over(facts, covering))
}

/// Whether nothing is left that a replan has to change, as far as what it covers is loaded.
fn is_over(facts: &Facts, covering: &Covering) -> bool {
    let Some(todo_id) = covering.covers() else {
        let goal = facts.rows().goals.get(covering.of.goal());
        return goal.is_some_and(|goal| gap::is_closed(facts, goal));
    };
    let Some(covered) = facts.rows().todos.get(todo_id) else { return false };
    let gone = match covering.of.cause {
        ReplanCause::GateDenied => covered.counters.blocking_gates == 0,
        ReplanCause::DependencyCancelled => covered.counters.cancelled_deps == 0,
        ReplanCause::WakeLost => !is_lost(facts, covered),
        ReplanCause::Fruitless
        | ReplanCause::ReplanRequired
        | ReplanCause::EvidenceRejected
        | ReplanCause::UnchangedLimit
        | ReplanCause::AcceptanceGap => false,
    };
    gone || !covered.is_live()
}

/// Whether an agent owns the replan that covers a Todo, and so may change that.
///
/// Errors: `ownership_expired` for one whose ownership ran out: it renews that, or claims anew.
pub(super) fn is_owned_by(facts: &Facts, todo: &Todo, agent: &AgentId) -> Result<bool> {
    let Some(by) = &todo.replans.by else { return Ok(false) };
    let own = facts.todo(by)?.and_then(|by| by.ownership.as_ref());
    let Some(own) = own.filter(|own| own.agent_id == *agent) else { return Ok(false) };
    if facts.is_expired(own) {
        let replan = by.to_string();
        return Err(Error::new(Code::OwnershipExpired, format!("the ownership of {replan} has run out"))
            .detail("todo_id", replan.clone())
            .hint(format!("todo claim {replan} --as agent:{agent}")));
    }
    Ok(true)
}

/// Whether a Turn of an agent that executes is on a replan: what that is for goes on, as all that is admitted does.
pub(super) fn owns_one(facts: &Facts, goal_id: &GoalId, agent: &AgentId) -> Result<bool> {
    for turn in facts.agent_turns(goal_id, agent)? {
        let todo = turn.todo_id().map(|todo_id| facts.todo(todo_id)).transpose()?.flatten();
        if todo.is_some_and(|todo| todo.kind == TodoKind::Replan) && turn::executes(facts, turn)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Asks for what a Todo covers, and for what covers it, once it is here.
pub(super) fn want(todo_id: &TodoId, wanted: &mut Wanted<'_>) {
    let Some(todo) = wanted.rows().todos.get(todo_id) else { return };
    let of = todo.covering.as_ref().map(|covering| &covering.of);
    for other in of.and_then(ReplanRef::covered).into_iter().chain(&todo.replans.by) {
        wanted.want(Read::Todo(other.clone()));
    }
    if let Some(Covers::Goal(goal_id)) = of.map(|of| &of.covers) {
        gap::want(goal_id, wanted);
    }
}

/// Asks for what a write of a Goal can end beside what it is about: the replan that covers the whole Goal.
pub(super) fn want_of_goal(goal: &Goal, wanted: &mut Wanted<'_>) {
    if let Some(by) = &goal.covered_by {
        wanted.want(Read::Todo(by.clone()));
        gap::want(&goal.goal_id, wanted);
    }
}

/// Ends the replans that a decision has left with nothing to change, where nobody works on them.
pub(super) fn sweep(draft: &mut Draft<'_>) -> Result<()> {
    let live = |todo: &&Todo| todo.is_live() && todo.todo_id.goal() == draft.goal_id();
    let over: Vec<_> = draft
        .facts()
        .rows()
        .todos
        .values()
        .filter(live)
        .filter_map(|todo| Some((todo, todo.covering.as_ref()?)))
        .filter(|(_, covering)| is_over(draft.facts(), covering))
        .filter(|(_, covering)| covering.covers().is_some() || !seeded!(OutlivesItsGap))
        .map(|(todo, covering)| {
            (todo.todo_id.clone(), todo.turn_id, covering.proposed.clone(), covering.confirmed)
        })
        .collect();
    for (todo_id, turn_id, proposed, confirmed) in over {
        if let Some(turn_id) = turn_id {
            match draft.facts().turn(&turn_id)?.map(|turn| &turn.state) {
                Some(TurnState::Held { .. }) => {
                    // What it would change has to be changed no more.
                    proposed.into_iter().try_for_each(|id| proposal::withdraw(draft, id))?;
                    if confirmed {
                        // A person's word has changed the plan: with that it settles.
                        continue;
                    }
                    turn::stop(draft, turn_id, Stopped::Cancelled)?;
                }
                // Whoever works on it has done what is to be done.
                Some(_) | None => continue,
            }
        }
        let reason = "nothing is left to change".parse()?;
        draft.emit(todo::Event::Cancelled { todo_id, reason, superseded_by: None })?;
    }
    Ok(())
}

/// Notes a cause on a live Todo that agents work on.
pub(super) fn oblige(facts: &mut Facts, todo_id: &TodoId, cause: ReplanCause) -> Result<()> {
    let takes = |todo: &Todo| {
        todo.is_live()
            && match todo.kind {
                TodoKind::Advance | TodoKind::Monitor => true,
                TodoKind::Replan | TodoKind::Blocker | TodoKind::Action => false,
            }
    };
    if facts.todo(todo_id)?.is_some_and(takes) {
        let todo = facts.todo_mut(todo_id)?;
        todo.revision += 1;
        todo.replans.oblige(cause);
    }
    Ok(())
}

/// Counts a Turn on work by what it brought; one too many in a row without accepted progress is a cause.
pub(super) fn count(facts: &mut Facts, todo_id: &TodoId, progress: bool) -> Result<()> {
    if facts.todo(todo_id)?.is_none_or(|todo| todo.kind != TodoKind::Advance) {
        return Ok(());
    }
    let replans = &mut facts.todo_mut(todo_id)?.replans;
    replans.fruitless = if progress { 0 } else { replans.fruitless.saturating_add(1) };
    if replans.fruitless >= Replans::FRUITLESS_MAX {
        return oblige(facts, todo_id, ReplanCause::Fruitless);
    }
    Ok(())
}

/// Takes a cause back that no longer holds.
pub(super) fn relieve(facts: &mut Facts, todo_id: &TodoId, cause: ReplanCause) -> Result<()> {
    if facts.todo(todo_id)?.is_some_and(|todo| todo.replans.pending.contains_key(&cause)) {
        let todo = facts.todo_mut(todo_id)?;
        todo.revision += 1;
        todo.replans.pending.remove(&cause);
    }
    Ok(())
}

/// Lets go what a replan Todo covers, now that it has ended.
pub(super) fn uncover(facts: &mut Facts, todo_id: &TodoId) -> Result<()> {
    let todo = facts.todo_mut(todo_id)?;
    todo.replans.pending.clear();
    match todo.covering.as_ref().map(|covering| covering.of.covers.clone()) {
        Some(Covers::Todo(covers)) => {
            let covered = facts.todo_mut(&covers)?;
            covered.revision += 1;
            covered.replans.by = None;
        }
        Some(Covers::Goal(goal_id)) => facts.goal_mut(&goal_id)?.covered_by = None,
        None => {}
    }
    Ok(())
}

impl Event {
    pub(super) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        let Self::Written { todo_id, of } = self;
        let internal = || Error::from(Code::Internal).internal("a replan of what is not there");
        let goal = facts.goal(&context.goal_id)?.ok_or_else(internal)?;
        let covered = match of.covered() {
            Some(covers) => Some(facts.todo(covers)?.ok_or_else(internal)?),
            None => None,
        };
        let row = Todo { todo_id: todo_id.clone(), ..offered(goal, covered, of, context.at)? };
        let goal = facts.goal_mut(&context.goal_id)?;
        goal.next_todo = todo_id.number().saturating_add(1);
        goal.replans += 1;
        let Some(covers) = of.covered() else {
            goal.covered_by = Some(todo_id.clone());
            facts.put_todo(row);
            return Ok(());
        };
        let covered = facts.todo_mut(covers)?;
        covered.revision += 1;
        if let Some(monitor) = &mut covered.monitor {
            monitor.unchanged = 0;
        }
        let counters = covered.counters;
        let replans = &mut covered.replans;
        replans.count = replans.count.max(of.ordinal);
        if !seeded!(ObligesAgain) {
            replans.pending.clear();
        }
        replans.fruitless = 0;
        replans.by = Some(todo_id.clone());
        replans.seen_cancelled = counters.cancelled_deps;
        replans.seen_lost = counters.wake_lost;
        facts.put_todo(row);
        Ok(())
    }
}
