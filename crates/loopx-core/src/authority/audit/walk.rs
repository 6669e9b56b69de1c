//! Owns the walk along a chain: from its start to its head, and the first record at which it does not hold.
//!
//! Knows nothing of what an event says.

use super::super::{EventFilter, Head, Record, View, chain};
use crate::{error::Result, model::GoalId};

/// How many records are read at once.
const STEP: usize = 1024;

/// Whose chain is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::authority) enum Chain<'g> {
    /// A Goal's.
    Goal(&'g GoalId),
    /// The ledger's own.
    Own,
}

impl Chain<'_> {
    pub(in crate::authority) fn records(
        self,
        view: &mut dyn View,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Record>> {
        match self {
            Self::Goal(goal) => view.events(&EventFilter { goal, after }, limit),
            Self::Own => view.own_events(after, limit),
        }
    }
}

/// How far a chain holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::authority) struct Walked {
    /// The last record that fits, or the start.
    pub(in crate::authority) whole: Head,
    /// Why the next one does not; none where the chain holds to its end.
    pub(in crate::authority) broken: Option<Broken>,
}

impl Walked {
    /// The number of the first record that does not hold.
    pub(in crate::authority) fn first_bad(&self) -> Option<u64> {
        self.broken.map(|_| self.whole.seq + 1)
    }
}

/// Why a record does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::authority) enum Broken {
    /// There is none of this number, and there are later ones.
    Missing,
    /// There is none of this number, and the head says that there is.
    Torn,
    /// It does not follow from the record before it: one of the two was changed.
    Unlinked,
    /// It is the last, and not the one that the head names.
    OtherHead,
    /// The head does not know of it.
    Beyond,
}

impl Broken {
    pub(in crate::authority) const fn says(self) -> &'static str {
        match self {
            Self::Missing => "the record is missing",
            Self::Torn => "the chain ends before it, and the head says that it goes on",
            Self::Unlinked => "the record does not follow from the one before it",
            Self::OtherHead => "the last record is not the one that the head names",
            Self::Beyond => "the head says that the chain ends before it",
        }
    }
}

/// Walks a chain by number, and hands each record that holds to `each`, with none but one page in memory.
///
/// Without a head nothing is known of an end that is cut off.
/// Errors: those of `each`; `store_*` where the file itself cannot be read.
pub(in crate::authority) fn walk(
    view: &mut dyn View,
    of: Chain<'_>,
    head: Option<Head>,
    each: &mut dyn FnMut(&mut dyn View, &Record) -> Result<()>,
) -> Result<Walked> {
    let mut at = Head::START;
    let stops = |whole, broken| Ok(Walked { whole, broken: Some(broken) });
    loop {
        let records = of.records(view, at.seq, STEP)?;
        if records.is_empty() {
            break;
        }
        for record in &records {
            let seq = at.seq + 1;
            if record.seq != seq {
                return stops(at, Broken::Missing);
            }
            if head.is_some_and(|head| seq > head.seq) {
                return stops(at, Broken::Beyond);
            }
            if record.hash != chain::next(&at, seq, &record.payload) {
                return stops(at, Broken::Unlinked);
            }
            if head.is_some_and(|head| head.seq == seq && head.hash != record.hash) {
                return stops(at, Broken::OtherHead);
            }
            each(view, record)?;
            at = Head { seq, hash: record.hash };
        }
    }
    let torn = head.is_some_and(|head| head.seq > at.seq);
    Ok(Walked { whole: at, broken: torn.then_some(Broken::Torn) })
}
