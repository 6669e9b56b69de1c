//! Owns write scopes: what a claim will write, where, and who else writes there.

use std::collections::BTreeSet;

use crate::{
    error::{Code, Error, Result},
    kernel::{Facts, Read, Terms},
    model::{Goal, ScopePath, Todo, TodoId, Workspace, gathered},
};

/// What an owner of a Todo writes: its declared scopes, or the whole tree where the Goal wants it alone.
pub(in crate::kernel) fn wanted(goal: &Goal, todo: &Todo) -> BTreeSet<ScopePath> {
    if goal.boundary.exclusive_workspace {
        return BTreeSet::from([ScopePath::whole_tree()]);
    }
    todo.requires.write_scopes.clone()
}

/// As [`wanted`], as paths from the root of the work tree: what two folders of one tree call differently is one place.
pub(in crate::kernel) fn wanted_in(
    goal: &Goal,
    todo: &Todo,
    workspace: Option<&Workspace>,
) -> Result<BTreeSet<ScopePath>> {
    let scopes = wanted(goal, todo);
    match workspace {
        Some(workspace) if !goal.boundary.exclusive_workspace => {
            let scopes: Result<Vec<_>> = scopes.iter().map(|scope| workspace.from_root(scope)).collect();
            Ok(gathered(scopes?))
        }
        Some(_) | None => Ok(scopes),
    }
}

/// The workspace and scopes of a claim; scopes without a workspace are refused.
pub(in crate::kernel) fn of_claim(
    goal: &Goal,
    todo: &Todo,
    workspace: Option<&Workspace>,
) -> Result<(Option<Workspace>, BTreeSet<ScopePath>)> {
    let workspace = workspace.or(goal.workspace.as_ref()).cloned();
    let scopes = wanted_in(goal, todo, workspace.as_ref())?;
    if workspace.is_none() && !scopes.is_empty() {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("the Todo {} declares write scopes, and no workspace is known", todo.todo_id),
        )
        .hint(format!("todo claim {} --workspace .", todo.todo_id)));
    }
    Ok((workspace, scopes))
}

/// The Todo whose owner, still keeping others out, writes where these scopes do.
pub(in crate::kernel) fn conflict<'f>(
    facts: &'f Facts,
    own: &TodoId,
    workspace: Option<&Workspace>,
    scopes: &BTreeSet<ScopePath>,
) -> Result<Option<&'f Todo>> {
    let Some(workspace) = workspace.filter(|_| !scopes.is_empty()) else { return Ok(None) };
    facts.asked(&Read::Writers(workspace.tree()))?;
    let clashes = |todo: &&Todo| {
        todo.todo_id != *own
            && todo.ownership.as_ref().is_some_and(|other| {
                other.workspace.as_ref().is_some_and(|other| other.shares_tree(workspace))
                    && !facts.is_expired(other)
                    && other.scopes.iter().any(|a| scopes.iter().any(|b| a.overlaps(b)))
            })
    };
    Ok(facts.rows().todos.values().find(clashes))
}

/// Whose owner, still keeping others out, writes where a claim of this Todo in its Goal's work tree would; none while it is
/// owned itself. `writers` are the Todos that are owned in that tree.
///
/// Errors: `internal` for a scope that its folder cannot have.
pub fn held_by<'t>(terms: &Terms, goal: &Goal, todo: &Todo, writers: &'t [Todo]) -> Result<Option<&'t Todo>> {
    let Some(workspace) = goal.workspace.as_ref().filter(|_| todo.ownership.is_none()) else {
        return Ok(None);
    };
    let scopes = wanted_in(goal, todo, Some(workspace))?;
    let clashes = |other: &&Todo| {
        other.todo_id != todo.todo_id
            && other.ownership.as_ref().is_some_and(|own| {
                !terms.is_expired(own) && own.scopes.iter().any(|a| scopes.iter().any(|b| a.overlaps(b)))
            })
    };
    Ok(writers.iter().find(clashes))
}

/// Whether the scopes of a Todo's own, expired ownership are still free.
pub(in crate::kernel) fn is_free(facts: &Facts, todo: &Todo) -> Result<bool> {
    let Some(own) = &todo.ownership else { return Ok(false) };
    Ok(conflict(facts, &todo.todo_id, own.workspace.as_ref(), &own.scopes)?.is_none())
}
