//! Owns what can have happened to a Todo, and its application.

use serde::{Deserialize, Serialize};

use super::{Change, NewTodo, add};
use crate::{
    error::Result,
    kernel::{Context, Delta, Facts, Target, event_kinds, gap, replan, seeded},
    model::{
        Completion, Continuation, Counters, Monitor, ReplanCause, ShortText, Timestamp, Todo, TodoId,
        TodoState, TodoText, Wake,
    },
};

/// What can have happened to a Todo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// It was added.
    Added {
        /// Its id.
        todo_id: TodoId,
        /// What it is made of.
        new: Box<NewTodo>,
        /// How it is looked at, if it is a monitor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        monitor: Option<Monitor>,
    },
    /// Something of it was changed.
    Updated {
        /// Which.
        todo_id: TodoId,
        /// What.
        change: Box<Change>,
    },
    /// It waits for another.
    Linked {
        /// Which.
        todo_id: TodoId,
        /// The other.
        depends_on: TodoId,
    },
    /// It no longer waits for another.
    Unlinked {
        /// Which.
        todo_id: TodoId,
        /// The other.
        depends_on: TodoId,
    },
    /// It was put off.
    Deferred {
        /// Which.
        todo_id: TodoId,
        /// Until when, or for what.
        wake: Wake,
    },
    /// Its wake came.
    Woken {
        /// Which.
        todo_id: TodoId,
    },
    /// Something is in its way.
    Blocked {
        /// Which.
        todo_id: TodoId,
        /// What.
        reason: ShortText,
    },
    /// Nothing is in its way any more.
    Unblocked {
        /// Which.
        todo_id: TodoId,
    },
    /// A person paused it.
    Paused {
        /// Which.
        todo_id: TodoId,
    },
    /// The pause ended.
    Unpaused {
        /// Which.
        todo_id: TodoId,
    },
    /// It is done.
    Completed {
        /// Which.
        todo_id: TodoId,
        /// How.
        completion: Completion,
    },
    /// It was looked at.
    LookedAt {
        /// Which.
        todo_id: TodoId,
        /// Whether there was something new.
        changed: bool,
    },
    /// It was dropped.
    Cancelled {
        /// Which.
        todo_id: TodoId,
        /// Why.
        reason: ShortText,
        /// What takes its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        superseded_by: Option<TodoId>,
    },
    /// It was taken back.
    Reopened {
        /// Which.
        todo_id: TodoId,
    },
}

event_kinds!(Event {
    Added => "todo.added",
    Updated => "todo.updated",
    Linked => "todo.linked",
    Unlinked => "todo.unlinked",
    Deferred => "todo.deferred",
    Woken => "todo.woken",
    Blocked => "todo.blocked",
    Unblocked => "todo.unblocked",
    Paused => "todo.paused",
    Unpaused => "todo.unpaused",
    Completed => "todo.completed",
    LookedAt => "todo.looked_at",
    Cancelled => "todo.cancelled",
    Reopened => "todo.reopened",
});

impl Event {
    /// Whether a ledger of the first schema can hold it: there nobody changed whom a Todo returns to, and nothing was
    /// awaited.
    pub(in crate::kernel) const fn since(&self) -> i32 {
        match self {
            Self::Updated { change, .. } if change.coordinates.is_some() => 2,
            Self::Completed { completion, .. }
                if matches!(completion.continuation, Continuation::Awaits { .. }) =>
            {
                2
            }
            Self::Added { .. }
            | Self::Updated { .. }
            | Self::Linked { .. }
            | Self::Unlinked { .. }
            | Self::Deferred { .. }
            | Self::Woken { .. }
            | Self::Blocked { .. }
            | Self::Unblocked { .. }
            | Self::Paused { .. }
            | Self::Unpaused { .. }
            | Self::Completed { .. }
            | Self::LookedAt { .. }
            | Self::Cancelled { .. }
            | Self::Reopened { .. } => 1,
        }
    }

    pub(in crate::kernel) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        match self {
            Self::Added { todo_id, new, monitor } => added(context, facts, todo_id, new, monitor.as_ref()),
            Self::Updated { todo_id, change } => updated(facts, todo_id, change),
            Self::Linked { todo_id, depends_on } => relink(facts, todo_id, depends_on, true),
            Self::Unlinked { todo_id, depends_on } => relink(facts, todo_id, depends_on, false),
            Self::Deferred { todo_id, wake } => {
                let woken_at = add::woken_at(facts, wake)?;
                let todo = write(facts, todo_id)?;
                todo.state = TodoState::Deferred { wake: wake.clone() };
                todo.counters.woken_at = woken_at;
                todo.counters.wake_lost = false;
                todo.replans.seen_lost = false;
                if let Some(target) = Target::of(todo) {
                    facts.note_waiting(target, todo_id);
                }
                Ok(())
            }
            Self::Woken { todo_id } | Self::Unblocked { todo_id } => {
                let todo = write(facts, todo_id)?;
                todo.state = TodoState::Open;
                forget_wake(todo);
                Ok(())
            }
            Self::Blocked { todo_id, reason } => {
                let todo = write(facts, todo_id)?;
                todo.state = TodoState::Blocked { reason: reason.clone() };
                forget_wake(todo);
                Ok(())
            }
            Self::Paused { todo_id } => {
                write(facts, todo_id)?.hold = true;
                Ok(())
            }
            Self::Unpaused { todo_id } => {
                write(facts, todo_id)?.hold = false;
                Ok(())
            }
            Self::LookedAt { todo_id, changed } => {
                let todo = write(facts, todo_id)?;
                if let Some(monitor) = &mut todo.monitor {
                    monitor.looked_at = Some(context.at);
                    monitor.unchanged = if *changed { 0 } else { monitor.unchanged.saturating_add(1) };
                }
                let tired = |monitor: &Monitor| monitor.unchanged >= monitor.unchanged_limit;
                let is_tired = todo.monitor.as_ref().is_some_and(tired);
                if is_tired {
                    replan::oblige(facts, todo_id, ReplanCause::UnchangedLimit)?;
                }
                if is_tired || *changed { gap::came(facts, todo_id) } else { Ok(()) }
            }
            Self::Completed { todo_id, completion } => {
                let todo = write(facts, todo_id)?;
                todo.state = TodoState::Done { completion: completion.clone() };
                todo.reserved = None;
                forget_wake(todo);
                ended(facts, todo_id, -1, 0, Some(context.at));
                gap::came(facts, todo_id)?;
                if let Continuation::Awaits { monitor } = &completion.continuation {
                    gap::await_it(facts, monitor)?;
                }
                replan::uncover(facts, todo_id)
            }
            Self::Cancelled { todo_id, reason, superseded_by } => {
                let todo = write(facts, todo_id)?;
                let (reason, superseded_by) = (reason.clone(), superseded_by.clone());
                todo.state = TodoState::Cancelled { reason, superseded_by, at: context.at };
                todo.reserved = None;
                forget_wake(todo);
                ended(facts, todo_id, 0, 1, None);
                gap::came(facts, todo_id)?;
                replan::uncover(facts, todo_id)
            }
            Self::Reopened { todo_id } => reopened(facts, todo_id),
        }
    }
}

/// The row, with its revision moved.
fn write<'f>(facts: &'f mut Facts, todo_id: &TodoId) -> Result<&'f mut Todo> {
    let todo = facts.todo_mut(todo_id)?;
    todo.revision += 1;
    Ok(todo)
}

fn forget_wake(todo: &mut Todo) {
    todo.counters.woken_at = None;
    todo.counters.wake_lost = false;
}

/// Tells those that wait for a Todo that it ended.
fn ended(facts: &mut Facts, todo_id: &TodoId, unmet: i32, cancelled: i32, woken_at: Option<Timestamp>) {
    if !seeded!(LosesDependants) {
        facts.shift(Delta::Dependency { dep: todo_id.clone(), unmet, cancelled });
    }
    let target = Target::Todo(todo_id.clone());
    facts.shift(Delta::Wake { target, woken_at, lost: woken_at.is_none() });
}

fn reopened(facts: &mut Facts, todo_id: &TodoId) -> Result<()> {
    let was_done = facts.todo(todo_id)?.is_some_and(Todo::is_done);
    let todo = write(facts, todo_id)?;
    todo.state = TodoState::Open;
    todo.requirement_revision += 1;
    let (unmet, cancelled) = if was_done { (1, 0) } else { (0, -1) };
    facts.shift(Delta::Dependency { dep: todo_id.clone(), unmet, cancelled });
    facts.shift(Delta::Wake { target: Target::Todo(todo_id.clone()), woken_at: None, lost: false });
    Ok(())
}

fn updated(facts: &mut Facts, todo_id: &TodoId, change: &Change) -> Result<()> {
    let todo = write(facts, todo_id)?;
    todo.requirement_revision += 1;
    if let Some(title) = &change.title {
        todo.title.clone_from(title);
    }
    if let Some(priority) = change.priority {
        todo.priority = priority;
    }
    if let Some(requires) = &change.requires {
        todo.requires = requires.of(&todo.requires);
    }
    if let Some(excluded) = &change.excluded_agents {
        todo.excluded_agents.clone_from(excluded);
    }
    if let Some(validators) = &change.validators {
        todo.validators.clone_from(validators);
    }
    if let Some(coordinator) = &change.coordinates {
        todo.coordinates = coordinator.todo_id().cloned();
    }
    if let Some(detail) = &change.detail {
        facts.put_text(todo_id.clone(), TodoText { detail: detail.clone() });
    }
    Ok(())
}

fn relink(facts: &mut Facts, todo_id: &TodoId, dep: &TodoId, on: bool) -> Result<()> {
    let (unmet, cancelled) = standing(facts, dep)?;
    facts.relink(todo_id, dep, on)?;
    let todo = write(facts, todo_id)?;
    todo.requirement_revision += 1;
    let counters = &mut todo.counters;
    if on {
        counters.unmet += unmet;
        counters.cancelled_deps += cancelled;
    } else {
        counters.unmet = counters.unmet.saturating_sub(unmet);
        counters.cancelled_deps = counters.cancelled_deps.saturating_sub(cancelled);
    }
    todo.replans.seen_cancelled = todo.replans.seen_cancelled.min(counters.cancelled_deps);
    Ok(())
}

/// What a dependency adds to the counters of who waits for it: (unmet, cancelled).
fn standing(facts: &Facts, dep: &TodoId) -> Result<(u32, u32)> {
    let state = facts.todo(dep)?.map(|todo| &todo.state);
    Ok(match state {
        Some(TodoState::Done { .. }) => (0, 0),
        Some(TodoState::Cancelled { .. }) => (1, 1),
        Some(TodoState::Open | TodoState::Deferred { .. } | TodoState::Blocked { .. }) | None => (1, 0),
    })
}

fn added(
    context: &Context,
    facts: &mut Facts,
    todo_id: &TodoId,
    new: &NewTodo,
    monitor: Option<&Monitor>,
) -> Result<()> {
    let mut counters = Counters::default();
    for dep in &new.depends_on {
        let (unmet, cancelled) = standing(facts, dep)?;
        counters.unmet += unmet;
        counters.cancelled_deps += cancelled;
    }
    if let Some(wake) = &new.wake {
        counters.woken_at = add::woken_at(facts, wake)?;
    }
    let state = match (&new.wake, &new.blocked) {
        (Some(wake), _) => TodoState::Deferred { wake: wake.clone() },
        (None, Some(reason)) => TodoState::Blocked { reason: reason.clone() },
        (None, None) => TodoState::Open,
    };
    if let Some(detail) = &new.detail {
        facts.put_text(todo_id.clone(), TodoText { detail: detail.clone() });
    }
    facts.goal_mut(&context.goal_id)?.next_todo = todo_id.number().saturating_add(1);
    let blank = Todo::blank(todo_id.clone(), new.title.clone(), new.kind, context.actor.clone(), context.at);
    facts.put_todo(Todo {
        priority: new.priority,
        depends_on: new.depends_on.clone(),
        requires: new.requires.clone(),
        excluded_agents: new.excluded_agents.clone(),
        validators: new.validators.clone(),
        monitor: monitor.cloned(),
        reviews: new.reviews.clone(),
        coordinates: new.coordinates.clone(),
        hold: new.hold,
        origin: new.origin.clone(),
        state,
        counters,
        ..blank
    });
    Ok(())
}
