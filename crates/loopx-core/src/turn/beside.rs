//! Owns whether another Turn worked in the same tree meanwhile, so that what changed there may be its.
//!
//! Knows nothing of what changed.

use super::site::{Around, Site};
use crate::{
    authority::{TurnFilter, View},
    error::Result,
    model::{GoalId, Timestamp, Turn},
};

/// How many rows are read at once.
const PAGE: usize = 256;

/// Whether another Turn, of whatever Goal, is live in the work tree of this one; or, where `since` is given, was admitted
/// there after it, whatever became of it.
pub(super) fn is_shared(site: &mut Site<'_>, around: &Around, since: Option<Timestamp>) -> Result<bool> {
    let (goal, turn) = (&around.goal.goal_id, &around.turn);
    site.authority.read(|view| {
        if of_goal(view, goal, turn, true, None)? {
            return Ok(true);
        }
        let Some(workspace) = &turn.workspace else { return Ok(false) };
        // Two, since one of them may be its own.
        let owned = view.owned_in(&workspace.tree(), 2)?;
        if owned.iter().filter_map(|todo| todo.ownership.as_ref()).any(|own| own.turn_id != turn.turn_id) {
            return Ok(true);
        }
        if since.is_none() {
            return Ok(false);
        }
        let mut after: Option<GoalId> = None;
        loop {
            let goals = view.goals(after.as_ref(), PAGE)?;
            for goal in &goals {
                if of_goal(view, &goal.goal_id, turn, false, since)? {
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

/// Whether a Goal has another Turn in the tree: among the live ones, or among those admitted since a moment.
fn of_goal(
    view: &mut dyn View,
    goal: &GoalId,
    turn: &Turn,
    live: bool,
    since: Option<Timestamp>,
) -> Result<bool> {
    let filter = TurnFilter { goal, todo: None, agent: None, live };
    let mut before: Option<String> = None;
    loop {
        let page = view.turns(&filter, before.as_deref(), PAGE)?;
        let is_new = |other: &&Turn| since.is_none_or(|since| other.admitted_at >= since);
        let other = |other: &Turn| other.turn_id != turn.turn_id && other.shares_tree(turn);
        if page.iter().filter(is_new).any(other) {
            return Ok(true);
        }
        // Newest first: after one that is older than the moment none is newer.
        match page.last().filter(is_new) {
            Some(last) => before = Some(last.turn_id.to_string()),
            None => return Ok(false),
        }
    }
}
