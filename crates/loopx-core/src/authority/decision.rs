//! Owns how a decision is read: a short page first, and the whole page when the short one does not settle it.
//!
//! Knows no rule: what must be read, and whether it suffices, the kernel says.

use super::ledger::View;
use crate::{
    error::{Code, Error, Result},
    kernel::{Asker, Decided, Depth, Facts, READ_ROUNDS, Terms, decide_first, decide_next, next_reads},
    model::GoalId,
};

/// Decides what an agent should do now.
///
/// Errors: `not_found` for a Goal or an agent that is not there; `store_*`.
pub fn next(view: &mut dyn View, terms: &Terms, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Decided> {
    let mut facts = Facts::new(terms.clone());
    load(view, goal_id, asker, Depth::First, &mut facts)?;
    if let Some(decided) = decide_first(&facts, goal_id, asker)? {
        return Ok(decided);
    }
    load(view, goal_id, asker, Depth::Whole, &mut facts)?;
    decide_next(&facts, goal_id, asker)
}

/// Loads all that a decision looks at, at one depth.
pub(super) fn load(
    view: &mut dyn View,
    goal_id: &GoalId,
    asker: &Asker<'_>,
    depth: Depth,
    facts: &mut Facts,
) -> Result<()> {
    for _ in 0..READ_ROUNDS {
        let missing = next_reads(goal_id, asker, depth, facts);
        if missing.is_empty() {
            return Ok(());
        }
        view.load(&missing, facts)?;
    }
    if next_reads(goal_id, asker, depth, facts).is_empty() {
        return Ok(());
    }
    Err(Error::from(Code::Internal).internal("a decision asks for more than its rounds"))
}
