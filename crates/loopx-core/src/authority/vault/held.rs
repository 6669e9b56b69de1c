//! Owns the look through a ledger that nobody writes: whether its chains fit, and what it holds.
//!
//! Knows no rule and no SQL.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    authority::{
        Audited, EventFilter, Flaw, Head, Meta, View,
        audit::{self, Chain, Own, walk},
    },
    error::{Code, Error, Result},
    model::{AuthorityId, GoalId, IncarnationId, Timestamp},
};

/// How many Goals are read at once.
const STEP: usize = 256;

/// What a ledger holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Held {
    /// The schema of its file.
    pub schema: i32,
    /// Whose it is.
    pub authority_id: AuthorityId,
    /// Its life.
    pub incarnation: IncarnationId,
    /// The time of its last commit.
    pub at_ms: Timestamp,
    /// How many Goals it has.
    pub goals: u64,
    /// How many events, its own ones too.
    pub events: u64,
    /// Where the chain of each Goal ends.
    #[serde(skip)]
    pub(super) heads: BTreeMap<GoalId, Head>,
    /// Where its own chain ends.
    #[serde(skip)]
    pub(super) own: Head,
}

impl Held {
    /// Refuses what is not an earlier state, or the same, of the ledger that is looked at.
    ///
    /// Errors: `store_corrupt`, naming the chain.
    pub(super) fn check_behind(&self, view: &mut dyn View) -> Result<()> {
        let forked = |whose: &str| {
            Error::new(Code::StoreCorrupt, format!("the copy says of {whose} what the ledger does not"))
        };
        if self.own.seq > 0 {
            let found = view.own_events(self.own.seq - 1, 1)?.pop();
            found.filter(|record| record.hash == self.own.hash).ok_or_else(|| forked("the ledger itself"))?;
        }
        for (goal, head) in self.heads.iter().filter(|(_, head)| head.seq > 0) {
            let found = view.events(&EventFilter { goal, after: head.seq - 1 }, 1)?.pop();
            found.filter(|record| record.hash == head.hash).ok_or_else(|| forked(goal.as_str()))?;
        }
        Ok(())
    }
}

/// Walks every chain from its start to its head.
///
/// That rows are what their events come to is for [`audited`] to say. Errors: `store_corrupt`, naming the Goal and the
/// first event that does not fit; `store_*`.
pub(super) fn look_through(view: &mut dyn View, schema: i32) -> Result<Held> {
    look(view, schema, &mut walked)
}

/// As [`look_through`], and each Goal's events, and the ledger's own, are folded once more and compared with its rows.
///
/// Errors: `store_corrupt`, naming the first event, or the first row, that is wrong; `store_*`.
pub(super) fn audited(view: &mut dyn View, schema: i32) -> Result<Held> {
    look(view, schema, &mut |view, goal, head| {
        let (Some(goal), Some(known)) = (goal, head) else {
            let own = Own::of(view, head, &mut |_| {})?;
            let flaw = own.flaw(view)?;
            return sound(None, own.walked.whole, flaw);
        };
        let Audited { head, flaw, .. } = audit::folded(view, goal, known, &mut |_| {})?;
        sound(Some(goal), head, flaw)
    })
}

/// What says of a chain, of a Goal or of the ledger itself, where it ends.
type Look<'l> = dyn FnMut(&mut dyn View, Option<&GoalId>, Option<Head>) -> Result<Head> + 'l;

/// Where each chain ends, as `of` says that looks at it.
fn look(view: &mut dyn View, schema: i32, of: &mut Look<'_>) -> Result<Held> {
    let Some(Meta { authority_id, incarnation, stamp, schema: _ }) = view.meta()? else {
        return Err(Error::new(Code::StoreCorrupt, "the ledger in it was never founded"));
    };
    let end = view.own_head()?;
    let own = of(view, None, end)?;
    let mut events = own.seq;
    let mut heads = BTreeMap::new();
    let mut after: Option<GoalId> = None;
    loop {
        let page = view.chains(after.as_ref(), STEP)?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.clone());
        for (goal, head) in page {
            let head = of(view, Some(&goal), Some(head))?;
            events += head.seq;
            heads.insert(goal, head);
        }
    }
    let at_ms = Timestamp::from_ms(stamp.now_ms);
    let goals = u64::try_from(heads.len()).unwrap_or(u64::MAX);
    Ok(Held { schema, authority_id, incarnation, at_ms, goals, events, heads, own })
}

/// The end of a chain that holds.
fn walked(view: &mut dyn View, goal: Option<&GoalId>, head: Option<Head>) -> Result<Head> {
    let walked = walk(view, goal.map_or(Chain::Own, Chain::Goal), head, &mut |_, _| Ok(()))?;
    sound(goal, walked.whole, Flaw::of_walk(goal, &walked))
}

/// The end of a chain in which nothing is wrong.
fn sound(goal: Option<&GoalId>, head: Head, flaw: Option<Flaw>) -> Result<Head> {
    let Some(flaw) = flaw else { return Ok(head) };
    let whose = goal.map_or("the ledger itself", GoalId::as_str);
    let mut error =
        Error::new(Code::StoreCorrupt, format!("the history of {whose} does not hold: {}", flaw.text));
    if let Some(goal) = goal {
        error = error.detail("goal_id", goal.as_str());
    }
    if let Some(seq) = flaw.seq {
        error = error.detail("seq", seq);
    }
    if let Some(row) = flaw.row {
        error = error.detail("row", row);
    }
    Err(error)
}
