//! Owns how much of a Goal's chain is kept: whole operations alone, as far as they hold and can have happened.
//!
//! Changes nothing.

use super::super::{
    Flaw, FlawKind, Head, View,
    audit::{Chain, Fold, Folded, Progress, Wrote, walk},
};
use crate::{
    error::{Code, Result},
    model::GoalId,
};

/// What is kept of a chain.
#[derive(Debug)]
pub(super) struct Kept {
    /// Its new end.
    pub(super) head: Head,
    /// Why that is not the old one; none where all of it is kept.
    pub(super) flaw: Option<Flaw>,
    /// What its events come to.
    pub(super) folded: Folded,
}

impl Kept {
    /// Walks and folds a chain, no further than `limit`.
    pub(super) fn of(
        view: &mut dyn View,
        goal: &GoalId,
        head: Head,
        limit: Option<u64>,
        sees: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self> {
        let mut limit = limit.unwrap_or(u64::MAX);
        let mut flaw: Option<Flaw> = None;
        loop {
            let mut fold = Fold::of(goal.clone());
            // Where the present operation began, and the event at which a fold can go no further.
            let (mut begun, mut end, mut stuck) = (Head::START, Head::START, None);
            let walked = walk(view, Chain::Goal(goal), Some(head), &mut |_, record| {
                if record.seq > limit || stuck.is_some() {
                    return Ok(());
                }
                sees(Progress { goal_id: Some(goal), seen: record.seq, of: head.seq });
                match fold.take(record) {
                    Ok(before) => {
                        if before.is_some() {
                            begun = end;
                        }
                        end = Head { seq: record.seq, hash: record.hash };
                    }
                    Err(error) if error.code() == Code::StoreCorrupt => {
                        stuck =
                            Some(Flaw::of_event(FlawKind::Event, Some(goal), record.seq, error.message()));
                    }
                    Err(error) => return Err(error),
                }
                Ok(())
            })?;
            let ends_early = walked.broken.is_some() && limit > walked.whole.seq;
            flaw =
                flaw.or_else(|| Flaw::of_walk(Some(goal), &walked).filter(|_| ends_early)).or(stuck.clone());
            // What holds to its end was written whole.
            if stuck.is_none() && !ends_early {
                return Ok(Self { head: end, flaw, folded: fold.over().0 });
            }
            let has_all = |last: &Wrote| {
                let receipt = view.receipt(&last.operation_id).ok().flatten();
                receipt
                    .is_some_and(|receipt| receipt.goal_id.as_ref() == Some(goal) && receipt.seq == end.seq)
            };
            // Of an operation whose rest is lost none is kept; and what an event that cannot have happened left in a
            // fold is gone with that.
            limit = if fold.last().is_none_or(has_all) { end.seq } else { begun.seq };
        }
    }
}
