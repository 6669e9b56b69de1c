//! Owns whether another Turn worked in the same tree meanwhile, so that what changed there may be its.
//!
//! Knows nothing of what changed.

use super::site::{self, Around, Site};
use crate::{
    authority::{TurnFilter, View},
    error::Result,
    model::{GoalId, Timestamp, Turn},
};

/// How many rows are read at once.
const PAGE: usize = 256;

/// Another Turn, of whatever Goal, that has not ended in the work tree of this one.
pub(super) fn live(view: &mut dyn View, turn: &Turn) -> Result<Option<Turn>> {
    let Some(workspace) = &turn.workspace else { return of_goal(view, &turn.goal_id, turn, None) };
    // Two, since one of them may be its own.
    for todo in view.owned_in(&workspace.tree(), 2)? {
        let other = todo.ownership.filter(|own| own.turn_id != turn.turn_id);
        let other = other.map_or(Ok(None), |own| site::turn(view, own.turn_id))?;
        if other.is_some() {
            return Ok(other);
        }
    }
    Ok(None)
}

/// Whether another Turn is [`live`] in the work tree of this one; or, where `since` is given, was admitted there after it,
/// whatever became of it.
pub(super) fn is_shared(site: &mut Site<'_>, around: &Around, since: Option<Timestamp>) -> Result<bool> {
    let turn = &around.turn;
    site.authority.read(|view| {
        if live(view, turn)?.is_some() {
            return Ok(true);
        }
        let Some(since) = since else { return Ok(false) };
        let mut after: Option<GoalId> = None;
        loop {
            let goals = view.goals(after.as_ref(), PAGE)?;
            for goal in &goals {
                if of_goal(view, &goal.goal_id, turn, Some(since))?.is_some() {
                    return Ok(true);
                }
            }
            after = goals.last().map(|goal| goal.goal_id.clone());
            if after.is_none() {
                return Ok(false);
            }
        }
    })
}

/// Another Turn of a Goal in the tree: among those admitted since a moment, else among the live ones.
fn of_goal(
    view: &mut dyn View,
    goal: &GoalId,
    turn: &Turn,
    since: Option<Timestamp>,
) -> Result<Option<Turn>> {
    let filter = TurnFilter { goal, todo: None, agent: None, live: since.is_none() };
    let mut before: Option<String> = None;
    loop {
        let page = view.turns(&filter, before.as_deref(), PAGE)?;
        let is_new = |other: &Turn| since.is_none_or(|since| other.admitted_at >= since);
        // Newest first: after one that is older than the moment none is newer.
        before = page.last().filter(|last| is_new(last)).map(|last| last.turn_id.to_string());
        let is_other =
            |other: &Turn| is_new(other) && other.turn_id != turn.turn_id && other.shares_tree(turn);
        let other = page.into_iter().find(is_other);
        if other.is_some() || before.is_none() {
            return Ok(other);
        }
    }
}
