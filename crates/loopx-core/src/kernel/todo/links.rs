//! Owns dependencies: who waits for whom, and that nobody waits for himself.

use std::collections::BTreeSet;

use super::{Event, check_maker, check_plan_open, named, no_move};
use crate::{
    error::{Code, Error, Result},
    kernel::{Draft, Facts, Read},
    model::{Todo, TodoId, TodoState},
};

/// Makes a Todo wait for another.
pub(in crate::kernel) fn link(draft: &mut Draft<'_>, todo_id: &TodoId, dep: &TodoId) -> Result<()> {
    let todo = named(draft, todo_id)?.clone();
    check(draft, &todo, "be linked")?;
    named(draft, dep)?;
    if todo.depends_on.contains(dep) {
        return Ok(());
    }
    if todo.depends_on.len() >= 64 {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("the Todo {todo_id} depends on 64 others, the limit"),
        ));
    }
    if waits_for(draft.facts(), dep, todo_id)? {
        return Err(Error::new(Code::DependencyCycle, format!("{dep} already waits for {todo_id}"))
            .detail("todo_id", todo_id.to_string())
            .detail("depends_on", dep.to_string()));
    }
    draft.emit(Event::Linked { todo_id: todo_id.clone(), depends_on: dep.clone() })
}

/// Lets a Todo no longer wait for another.
pub(in crate::kernel) fn unlink(draft: &mut Draft<'_>, todo_id: &TodoId, dep: &TodoId) -> Result<()> {
    let todo = named(draft, todo_id)?.clone();
    check(draft, &todo, "be unlinked")?;
    if !todo.depends_on.contains(dep) {
        return Err(Error::new(Code::NotFound, format!("the Todo {todo_id} does not depend on {dep}")));
    }
    draft.emit(Event::Unlinked { todo_id: todo_id.clone(), depends_on: dep.clone() })
}

fn check(draft: &Draft<'_>, todo: &Todo, verb: &str) -> Result<()> {
    check_maker(draft, todo)?;
    check_plan_open(draft, Some(todo))?;
    if todo.is_live() { Ok(()) } else { Err(no_move(todo, verb)) }
}

/// Whether `from` waits, directly or through others that are not cancelled, for `target`.
fn waits_for(facts: &Facts, from: &TodoId, target: &TodoId) -> Result<bool> {
    let mut seen = BTreeSet::from([from.clone()]);
    let mut open = vec![from.clone()];
    while let Some(id) = open.pop() {
        if id == *target {
            return Ok(true);
        }
        // The ledger stops loading where the graph is larger than the walk may be.
        let todo = facts.rows().todos.get(&id).ok_or_else(|| too_large(from))?;
        if matches!(todo.state, TodoState::Cancelled { .. }) && id != *from {
            continue;
        }
        for dep in &todo.depends_on {
            if seen.insert(dep.clone()) {
                open.push(dep.clone());
            }
        }
        if seen.len() > Facts::WALK_MAX {
            return Err(too_large(from));
        }
    }
    Ok(false)
}

/// Refuses to bring back a Todo that others made part of a cycle while it was cancelled.
pub(super) fn check_revival(facts: &Facts, todo: &Todo) -> Result<()> {
    facts.asked(&Read::Ancestors(todo.todo_id.clone()))?;
    for dep in &todo.depends_on {
        let cancelled =
            facts.rows().todos.get(dep).is_some_and(|dep| matches!(dep.state, TodoState::Cancelled { .. }));
        if !cancelled && waits_for(facts, dep, &todo.todo_id)? {
            let id = &todo.todo_id;
            return Err(Error::new(
                Code::DependencyCycle,
                format!("{id} waits for {dep}, which waits for it"),
            )
            .detail("todo_id", id.to_string())
            .hint(format!("todo unlink {dep} --depends-on {id}")));
        }
    }
    Ok(())
}

fn too_large(from: &TodoId) -> Error {
    let max = Facts::WALK_MAX;
    Error::new(Code::DependencyGraphTooLarge, format!("more than {max} Todos stand before {from}"))
        .detail("limit", max)
}
