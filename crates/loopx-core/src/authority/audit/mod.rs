//! Owns the audit of a ledger: each chain walked, each Goal's events folded once more and compared with its rows.
//!
//! Knows no rule: events apply themselves. Changes nothing.

mod compare;
mod fold;
mod own;
mod walk;

use serde::Serialize;

use self::compare::Compared;
pub(super) use self::{
    fold::{Fold, Folded, Wrote},
    own::Own,
    walk::{Chain, walk},
};
use super::{Authority, Head, View, last_terms};
use crate::{
    error::{Code, Error, Result},
    model::GoalId,
};

/// How many Goals are listed at once.
const STEP: usize = 256;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlawKind {
    /// A chain does not hold.
    Chain,
    /// A record holds, and what it says cannot have happened or cannot be read.
    Event,
    /// An operation's receipt does not agree with its events.
    Receipt,
    /// A row is not what the events come to.
    Row,
    /// A meter is not.
    Meter,
    /// A count is not.
    Count,
    /// What is kept beside a row to find it by does not agree with it.
    Column,
}

impl FlawKind {
    /// What a message calls the row of such a flaw; a row itself names its noun.
    const fn noun(self) -> &'static str {
        match self {
            Self::Chain | Self::Event | Self::Row => "",
            Self::Receipt => "the receipt of",
            Self::Meter => "the meter of",
            Self::Count => "the count of",
            Self::Column => "beside",
        }
    }
}

/// What is wrong first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flaw {
    /// What kind of thing.
    pub kind: FlawKind,
    /// In which Goal; none for the ledger's own chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal_id: Option<GoalId>,
    /// The first event that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The first row that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// In one line.
    pub text: String,
}

impl Flaw {
    pub(super) fn of_event(kind: FlawKind, goal_id: Option<&GoalId>, seq: u64, says: &str) -> Self {
        let text = format!("event {seq}: {says}");
        Self { kind, goal_id: goal_id.cloned(), seq: Some(seq), row: None, text }
    }

    /// What is wrong with a chain that was walked, if anything is.
    pub(super) fn of_walk(goal: Option<&GoalId>, walked: &walk::Walked) -> Option<Self> {
        let (broken, seq) = (walked.broken?, walked.first_bad()?);
        Some(Self::of_event(FlawKind::Chain, goal, seq, broken.says()))
    }
}

/// What was looked at under one chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Audited {
    /// Whose chain; none for the ledger's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal_id: Option<GoalId>,
    /// How many events hold.
    pub events: u64,
    /// The last of them.
    pub head: Head,
    /// Whether they were folded and compared with the rows.
    pub folded: bool,
    /// What is wrong first, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flaw: Option<Flaw>,
}

/// How far an audit is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'p> {
    /// In which Goal; none for the ledger's own chain.
    pub goal_id: Option<&'p GoalId>,
    /// How many events were seen.
    pub seen: u64,
    /// How many there are, as the head says.
    pub of: u64,
}

impl Authority {
    /// Audits one Goal, or the ledger's own chain and all Goals; each on one consistent state of its own, so that no
    /// writer is kept waiting and nothing but one Goal's rows is in memory.
    ///
    /// With `chain_only` nothing is folded, and one page of records is all that is in memory.
    /// Errors: `not_found` for an unknown Goal; `orphaned_goal_state`, `store_*`.
    pub fn audit(
        &mut self,
        goal: Option<&GoalId>,
        chain_only: bool,
        sees: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Audited>> {
        let mut audited = Vec::new();
        if let Some(goal) = goal {
            audited.push(self.audited(goal, chain_only, sees)?);
            return Ok(audited);
        }
        audited.push(self.read(|view| own(view, chain_only, sees))?);
        let mut after: Option<GoalId> = None;
        loop {
            let goals = self.read(|view| view.chains(after.as_ref(), STEP))?;
            let Some((last, _)) = goals.last() else { return Ok(audited) };
            after = Some(last.clone());
            for (goal, _) in goals {
                audited.push(self.audited(&goal, chain_only, sees)?);
            }
        }
    }

    fn audited(
        &mut self,
        goal: &GoalId,
        chain_only: bool,
        sees: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Audited> {
        self.read(|view| {
            let missing = || {
                Error::new(Code::NotFound, format!("there is no Goal {goal}"))
                    .hint("goal list")
                    .detail("goal_id", goal.as_str())
            };
            let head = view.head(goal)?.ok_or_else(missing)?;
            if chain_only { chained(view, goal, head, sees) } else { folded(view, goal, head, sees) }
        })
    }
}

/// What is wrong first with a Goal's chain; for who has met a record that does not hold, and asks where that begins.
///
/// Errors: `store_*` where the file itself cannot be read.
pub fn chain_flaw(view: &mut dyn View, goal: &GoalId) -> Result<Option<Flaw>> {
    let head = view.head(goal)?;
    let mut unread = None;
    let walked = walk(view, Chain::Goal(goal), head, &mut |_, record| {
        if unread.is_none() && super::Envelope::decode(&record.payload).is_err() {
            unread = Some(record.seq);
        }
        Ok(())
    })?;
    let says = "it cannot be read";
    let unread = unread.map(|seq| Flaw::of_event(FlawKind::Event, Some(goal), seq, says));
    Ok(unread.or_else(|| Flaw::of_walk(Some(goal), &walked)))
}

fn own(view: &mut dyn View, chain_only: bool, sees: &mut dyn FnMut(Progress<'_>)) -> Result<Audited> {
    let head = view.own_head()?;
    let own = Own::of(view, head, sees)?;
    let flaw = if chain_only { Flaw::of_walk(None, &own.walked) } else { own.flaw(view)? };
    Ok(own.audited(flaw, !chain_only))
}

fn chained(
    view: &mut dyn View,
    goal: &GoalId,
    head: Head,
    sees: &mut dyn FnMut(Progress<'_>),
) -> Result<Audited> {
    let walked = walk(view, Chain::Goal(goal), Some(head), &mut |_, record| {
        sees(Progress { goal_id: Some(goal), seen: record.seq, of: head.seq });
        Ok(())
    })?;
    Ok(Audited {
        goal_id: Some(goal.clone()),
        events: walked.whole.seq,
        head: walked.whole,
        folded: false,
        flaw: Flaw::of_walk(Some(goal), &walked),
    })
}

/// Walks a chain, folds it on the way, and compares what that comes to with the rows.
///
/// Errors: `store_*` where the file itself cannot be read.
pub(super) fn folded(
    view: &mut dyn View,
    goal: &GoalId,
    head: Head,
    sees: &mut dyn FnMut(Progress<'_>),
) -> Result<Audited> {
    let mut fold = Fold::of(goal.clone());
    let (mut event, mut receipt): (Option<Flaw>, Option<Flaw>) = (None, None);
    let walked = walk(view, Chain::Goal(goal), Some(head), &mut |view, record| {
        sees(Progress { goal_id: Some(goal), seen: record.seq, of: head.seq });
        // The chain is walked to its end; what cannot be folded is not gone on with.
        if event.is_some() {
            return Ok(());
        }
        match fold.take(record) {
            Ok(Some(wrote)) if receipt.is_none() => receipt = unreceipted(view, goal, &wrote)?,
            Ok(_) => {}
            Err(error) if error.code() == Code::StoreCorrupt => {
                event = Some(Flaw::of_event(FlawKind::Event, Some(goal), record.seq, error.message()));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    })?;
    let mut audited = Audited {
        goal_id: Some(goal.clone()),
        events: walked.whole.seq,
        head: walked.whole,
        folded: false,
        flaw: Flaw::of_walk(Some(goal), &walked).or(event),
    };
    if audited.flaw.is_some() {
        return Ok(audited);
    }
    let (folded, last) = fold.over();
    if let (None, Some(wrote)) = (&receipt, &last) {
        receipt = unreceipted(view, goal, wrote)?;
    }
    audited.folded = true;
    audited.flaw = folded.first_flaw(view, goal)?.or(receipt);
    Ok(audited)
}

impl Folded {
    /// The first row of a Goal that is not what its events come to.
    ///
    /// Errors: `store_*` where the file itself cannot be read.
    pub(super) fn first_flaw(self, view: &mut dyn View, goal: &GoalId) -> Result<Option<Flaw>> {
        let terms = last_terms(view)?;
        Compared { view, terms: &terms, goal }.first_flaw(self)
    }
}

/// What an operation's receipt says else than the events that it wrote.
fn unreceipted(view: &mut dyn View, goal: &GoalId, wrote: &Wrote) -> Result<Option<Flaw>> {
    let id = &wrote.operation_id;
    let says = match view.receipt(id) {
        Err(error) if error.code() == Code::StoreCorrupt => "cannot be read",
        Err(error) => return Err(error),
        Ok(None) => "is missing",
        Ok(Some(receipt)) => {
            let agrees = receipt.goal_id.as_ref() == Some(goal)
                && receipt.actor == wrote.actor
                && receipt.provenance == wrote.provenance
                && receipt.at == wrote.at
                && receipt.seq == wrote.seqs.1;
            if agrees {
                return Ok(None);
            }
            "is not of its events"
        }
    };
    Ok(Some(Flaw {
        kind: FlawKind::Receipt,
        goal_id: Some(goal.clone()),
        seq: Some(wrote.seqs.0),
        row: Some(id.to_string()),
        text: format!("{} {id} {says}", FlawKind::Receipt.noun()),
    }))
}
