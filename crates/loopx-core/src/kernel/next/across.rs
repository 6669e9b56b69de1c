//! Owns the one answer over several Goals, each of which is decided by itself.
//!
//! Knows no rule within a Goal; only which of their answers comes first.

use std::collections::BTreeMap;

use super::{Action, Decided};
use crate::model::{GoalId, Priority, Timestamp};

/// What comes first over several Goals: a Turn that executes (one to work on before one to wait for), what can be looked
/// into, the best work by (priority, slug, number), what a person can free before what is ready to close, the earliest
/// wait; and at last what is closed.
///
/// The reasons of all Goals are counted together; none for no Goal.
pub fn across(decided: impl IntoIterator<Item = (GoalId, Decided)>) -> Option<(GoalId, Decided)> {
    let mut also = BTreeMap::new();
    let mut first: Option<(GoalId, Decided)> = None;
    for (goal_id, decided) in decided {
        for (reason, count) in &decided.also {
            *also.entry(*reason).or_insert(0) += count;
        }
        let comes_first =
            first.as_ref().is_none_or(|(goal, other)| order(&goal_id, &decided) < order(goal, other));
        if comes_first {
            first = Some((goal_id, decided));
        }
    }
    first.map(|(goal_id, decided)| (goal_id, Decided { also, ..decided }))
}

/// Where a decision stands among those of other Goals. A Goal offers one Todo, so that its slug settles the rest.
type Order<'d> = (u8, Priority, Timestamp, &'d GoalId);

fn order<'d>(goal_id: &'d GoalId, decided: &Decided) -> Order<'d> {
    /// Nothing known comes as late.
    const NEVER: Timestamp = Timestamp::from_ms(i64::MAX);
    let at = |class| (class, Priority::P0, NEVER, goal_id);
    match (&decided.action, decided.rule) {
        (
            Action::Run { .. } | Action::Repair { .. } | Action::Replan { .. } | Action::Reconcile { .. },
            2,
        ) => at(0),
        (Action::Wait { until, .. }, 2) => (1, Priority::P0, until.unwrap_or(NEVER), goal_id),
        (Action::Reconcile { .. }, _) => at(2),
        (Action::Run { .. } | Action::Repair { .. } | Action::Replan { .. }, _) => {
            (3, decided.priority.unwrap_or_default(), NEVER, goal_id)
        }
        (Action::AskUser { .. }, 10) => at(5),
        (Action::AskUser { .. }, _) => at(4),
        (Action::Wait { until, .. }, _) => (6, Priority::P0, until.unwrap_or(NEVER), goal_id),
        (Action::Closed, _) => at(7),
    }
}
