//! Owns the batch: many commands of one Goal in one commit, all or nothing.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Concluded, Draft, Outcome, Read, Wanted, evidence, gate, replan, todo};
use crate::{
    error::{Code, Error, Result},
    model::{Continuation, GoalId, ShortText, TodoId},
};

/// The most items of a batch.
pub(super) const ITEMS_MAX: usize = 10_000;

/// One item of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Item {
    /// Adds a Todo, which may depend on Todos that earlier items add.
    Add {
        /// The Todo.
        new: Box<todo::NewTodo>,
        /// Places, counted from 0, of earlier items whose Todos it depends on.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        after_items: BTreeSet<u32>,
    },
    /// Changes a Todo.
    Update {
        /// Which.
        todo: Ref,
        /// What.
        change: Box<todo::Change>,
    },
    /// Makes a Todo wait for another.
    Link {
        /// Which.
        todo: Ref,
        /// The other.
        depends_on: Ref,
    },
    /// Lets a Todo no longer wait for another.
    Unlink {
        /// Which.
        todo: Ref,
        /// The other.
        depends_on: Ref,
    },
    /// A person did a Todo.
    Complete {
        /// Which.
        todo: Ref,
    },
    /// Drops a Todo.
    Cancel {
        /// Which.
        todo: Ref,
        /// Why.
        reason: ShortText,
    },
    /// Adds evidence.
    Evidence(evidence::Command),
    /// Opens a gate.
    Gate(Box<gate::NewGate>),
}

/// A Todo that a batch names: one that is there, or `#<item>`, which an earlier item adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ref {
    /// One that is there.
    Todo(TodoId),
    /// The one that the item at this place, counted from 0, adds.
    Item(u32),
}

fn want(reference: &Ref, wanted: &mut Wanted<'_>) {
    match reference {
        Ref::Todo(id) => {
            wanted.want(Read::Todo(id.clone()));
            replan::want(id, wanted);
            let turn = wanted.rows().todos.get(id).and_then(|todo| todo.turn_id);
            let gate = turn.and_then(|turn_id| wanted.rows().turns.get(&turn_id)?.acceptance_gate);
            if let Some(gate_id) = gate {
                wanted.want(Read::Gate(gate_id));
            }
            let reviewed = wanted.rows().todos.get(id).and_then(|todo| todo.reviews.clone());
            if let Some(reviewed) = reviewed {
                wanted.want(Read::Todo(reviewed.clone()));
                wanted.want(Read::TodoGates(reviewed));
            }
        }
        Ref::Item(_) => {}
    }
}

pub(super) fn reads(items: &[Item], goal: &GoalId, wanted: &mut Wanted<'_>) {
    let links = items.iter().any(|item| matches!(item, Item::Link { .. }));
    for item in items {
        match item {
            Item::Add { new, .. } => {
                todo::Command::Add(new.clone()).reads(goal, wanted);
                // A later item may complete this review.
                if let Some(reviewed) = &new.reviews {
                    wanted.want(Read::TodoGates(reviewed.clone()));
                }
                if links {
                    // A later item may make others wait for this one, and through it for these.
                    for id in &new.depends_on {
                        wanted.want(Read::Ancestors(id.clone()));
                    }
                }
            }
            Item::Update { todo, change } => {
                want(todo, wanted);
                if let (Ref::Todo(id), true) = (todo, change.detail.is_none()) {
                    wanted.want(Read::Text(id.clone()));
                }
            }
            Item::Complete { todo } | Item::Cancel { todo, .. } => want(todo, wanted),
            Item::Link { todo, depends_on } => {
                want(todo, wanted);
                want(depends_on, wanted);
                if let Ref::Todo(id) = depends_on {
                    wanted.want(Read::Ancestors(id.clone()));
                }
            }
            Item::Unlink { todo, depends_on } => {
                want(todo, wanted);
                want(depends_on, wanted);
            }
            Item::Evidence(command) => command.reads(goal, wanted),
            Item::Gate(new) => gate::Command::Open(new.clone()).reads(goal, wanted),
        }
    }
}

pub(super) fn decide(items: &[Item], draft: &mut Draft<'_>) -> Result<Concluded> {
    if items.is_empty() || items.len() > ITEMS_MAX {
        return Err(Error::new(Code::InvalidArgument, format!("a batch has 1 to {ITEMS_MAX} items")));
    }
    let mut made: Vec<Option<TodoId>> = Vec::with_capacity(items.len());
    let mut outcome = Outcome::default();
    for (place, item) in items.iter().enumerate() {
        let added = one(item, &made, draft, &mut outcome).map_err(|error| error.detail("item", place))?;
        made.push(added);
    }
    outcome.todo_ids = made.into_iter().flatten().collect();
    Ok((outcome, None))
}

fn resolve(reference: &Ref, made: &[Option<TodoId>]) -> Result<TodoId> {
    match reference {
        Ref::Todo(id) => Ok(id.clone()),
        Ref::Item(place) => usize::try_from(*place)
            .ok()
            .and_then(|place| made.get(place))
            .cloned()
            .flatten()
            .ok_or_else(|| {
                Error::new(Code::InvalidArgument, format!("#{place} names no earlier item that adds a Todo"))
            }),
    }
}

fn one(
    item: &Item,
    made: &[Option<TodoId>],
    draft: &mut Draft<'_>,
    outcome: &mut Outcome,
) -> Result<Option<TodoId>> {
    match item {
        Item::Add { new, after_items } => {
            let mut new = (**new).clone();
            for place in after_items {
                new.depends_on.insert(resolve(&Ref::Item(*place), made)?);
            }
            return todo::add(draft, &new).map(Some);
        }
        Item::Update { todo, change } => todo::update(draft, &resolve(todo, made)?, change)?,
        Item::Link { todo, depends_on } => {
            todo::link(draft, &resolve(todo, made)?, &resolve(depends_on, made)?)?;
        }
        Item::Unlink { todo, depends_on } => {
            todo::unlink(draft, &resolve(todo, made)?, &resolve(depends_on, made)?)?;
        }
        Item::Complete { todo } => {
            todo::complete(draft, &resolve(todo, made)?, &Continuation::ActiveGoal, None)?;
        }
        Item::Cancel { todo, reason } => todo::cancel(draft, &resolve(todo, made)?, reason, None)?,
        Item::Evidence(command) => outcome.evidence_ids.push(evidence::add(draft, command)?),
        Item::Gate(new) => {
            let (opened, _) = gate::Command::Open(new.clone()).decide(draft)?;
            outcome.gate_id = opened.gate_id;
        }
    }
    Ok(None)
}
