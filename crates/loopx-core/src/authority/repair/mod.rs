//! Owns the repair of a damaged ledger: how far each chain holds, what is kept of it, what is taken out.
//!
//! Knows no rule: rows are what the events that are kept come to. Invariant: one transaction; what it takes out lies
//! durably in a file beside the ledger before anything is taken out, and an operation that was cut is never done anew.

mod archive;
mod prefix;

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;
use serde_json::json;

use self::{archive::Archive, prefix::Kept};
use super::{
    Authority, Cause, Cut, Flaw, Head, StoredReceipt, Tx, View,
    audit::{Chain, Own, Progress},
    chain::Envelope,
    incarnation::{Birth, begin},
    ledger::Meta,
    own::{Asked, OwnEnvelope, authorize},
    submit::{conflict, ours},
};
use crate::{
    error::Result,
    failpoint,
    model::{Digest, GoalId, IncarnationId, Limit, OperationId, Receipt, ShortText},
};

/// How many Goals, receipts or records are read at once.
const STEP: usize = 256;

/// One chain that is mended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mended {
    /// What is kept of it.
    #[serde(flatten)]
    pub cut: Cut,
    /// What was wrong with it first.
    pub flaw: Flaw,
}

/// A repair that is about to be, or was, done.
#[derive(Debug)]
pub struct Repair {
    /// The chains it mends; none where there is nothing to mend.
    pub mended: Vec<Mended>,
    /// The file in the profile's folder in which what is taken out is kept.
    pub archive: String,
    /// What it returned, where it was done.
    pub receipt: Option<Receipt>,
}

/// How chains are to be mended.
struct Plan {
    meta: Meta,
    mended: Vec<Mended>,
    heads: BTreeMap<GoalId, Head>,
    /// As far as the ledger's own chain holds.
    own: Head,
    /// The limit of all Goals together that this comes to.
    limit: Option<Limit>,
}

impl Plan {
    fn archive(&self) -> String {
        // Named after the life that ends by it: done again after a crash it meets its own file.
        format!("repair-{}.jsonl", self.meta.incarnation)
    }

    /// How much is kept of each chain that is cut.
    fn kept(&self) -> BTreeMap<Option<GoalId>, u64> {
        self.mended.iter().map(|mended| (mended.cut.goal_id.clone(), mended.cut.kept)).collect()
    }
}

impl Authority {
    /// What a repair would mend; nothing is changed.
    ///
    /// Errors: `not_found` before the ledger was founded, `orphaned_goal_state`, `store_*`.
    pub fn plan_repair(&mut self, sees: &mut dyn FnMut(Progress<'_>)) -> Result<Repair> {
        let expects = self.ours.expects;
        let plan = self.read(|view| {
            let meta = ours(view.meta()?, expects)?;
            plan(view, meta, sees)
        })?;
        Ok(Repair { archive: plan.archive(), mended: plan.mended, receipt: None })
    }

    /// Cuts each chain where it no longer holds, or where what it says cannot have happened, and puts what is left of
    /// it in the place of the rows; another life of the ledger begins. Nothing is written where nothing is wrong.
    ///
    /// What is taken out lies in a new file in `folder` by then. A Goal of which no event holds is taken out whole. The
    /// rows of one Goal are in memory at a time, and no other writer is let in meanwhile.
    /// Errors: `user_only`, `unauthenticated`, `operation_conflict`, `disk_full`, `store_*`.
    pub fn repair(
        &mut self,
        asked: &Asked,
        folder: &Path,
        sees: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Repair> {
        let digest = Digest::of_value(&json!({"actor": asked.actor, "own": "repair"}))?;
        let Self { ledger, clock, ours: of, .. } = self;
        let mut repair = Repair { mended: Vec::new(), archive: String::new(), receipt: None };
        ledger.write(&mut |tx| {
            let meta = ours(tx.meta()?, of.expects)?;
            let id = &asked.operation_id;
            if let Some(stored) = tx.receipt(id)? {
                let stored = stored.standing(id)?;
                if stored.digest != digest {
                    return Err(conflict(id));
                }
                repair.receipt = Some(stored.into_receipt(id.clone(), true));
                return Ok(());
            }
            authorize(asked, "repair the ledger")?;
            let plan = plan(tx, meta, sees)?;
            if plan.mended.is_empty() {
                return Ok(());
            }
            repair.archive = plan.archive();
            repair.mended.clone_from(&plan.mended);
            Archive { view: tx, plan: &plan, asked }.write(&folder.join(&repair.archive))?;
            failpoint::reach!(RepairArchived);
            let receipt = mend(tx, &plan, asked, digest, &clock.read()?)?;
            repair.receipt = Some(receipt.into_receipt(id.clone(), false));
            Ok(())
        })?;
        Ok(repair)
    }
}

/// Looks at every chain, and says what is to be kept of those that have a flaw.
fn plan(view: &mut dyn View, meta: Meta, sees: &mut dyn FnMut(Progress<'_>)) -> Result<Plan> {
    let mut plan = Plan { meta, mended: Vec::new(), heads: BTreeMap::new(), own: Head::START, limit: None };
    let head = view.own_head()?;
    let own = Own::of(view, head, sees)?;
    (plan.own, plan.limit) = (own.walked.whole, own.limit);
    if let Some(flaw) = own.flaw(view)? {
        let kept = plan.own.seq;
        let had = head.map_or(kept, |head| head.seq);
        plan.mended.push(Mended { cut: Cut { goal_id: None, kept, had }, flaw });
    }
    let mut after: Option<GoalId> = None;
    loop {
        let goals = view.chains(after.as_ref(), STEP)?;
        let Some((last, _)) = goals.last() else { return Ok(plan) };
        after = Some(last.clone());
        for (goal, head) in goals {
            let Kept { head: kept, flaw, folded } = Kept::of(view, &goal, head, None, sees)?;
            let flaw = match flaw {
                Some(flaw) => Some(flaw),
                None => folded.first_flaw(view, &goal)?,
            };
            if let Some(flaw) = flaw {
                let cut = Cut { goal_id: Some(goal.clone()), kept: kept.seq, had: head.seq };
                plan.mended.push(Mended { cut, flaw });
                plan.heads.insert(goal, kept);
            }
        }
    }
}

/// Carries a plan out: what is cut is buried, rows are put in place, another life begins.
fn mend(
    tx: &mut dyn Tx,
    plan: &Plan,
    asked: &Asked,
    digest: Digest,
    reading: &super::clock::Reading,
) -> Result<StoredReceipt> {
    let kept = plan.kept();
    bury(tx, &kept, plan.meta.incarnation)?;
    if kept.contains_key(&None) {
        tx.cut_own(plan.own, plan.limit)?;
    }
    for (goal, head) in &plan.heads {
        let folded = Kept::of(tx, goal, *head, Some(head.seq), &mut |_| {})?.folded;
        tx.rebuild(goal, *head, &folded.rows, &folded.meters)?;
    }
    let cuts = plan.mended.iter().map(|mended| mended.cut.clone()).collect();
    let archive: ShortText = plan.archive().parse()?;
    let birth = Birth { asked, digest, cause: Cause::Repair, cuts, archive: Some(archive) };
    begin(tx, birth, &plan.meta, reading)
}

/// Marks the receipts of what is cut, and gives one to each operation of a cut event that has none.
fn bury(tx: &mut dyn Tx, kept: &BTreeMap<Option<GoalId>, u64>, life: IncarnationId) -> Result<()> {
    let mut after: Option<OperationId> = None;
    loop {
        let page = tx.receipts(after.as_ref(), STEP)?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.clone());
        for (id, receipt) in page {
            let Some(receipt) = receipt.filter(|receipt| is_cut(receipt, kept)) else { continue };
            tx.put_receipt(&id, &StoredReceipt { cut: Some(life), ..receipt })?;
        }
    }
    for (goal, kept) in kept {
        let chain = goal.as_ref().map_or(Chain::Own, Chain::Goal);
        let mut after = *kept;
        loop {
            let records = chain.records(tx, after, STEP)?;
            let Some(last) = records.last() else { break };
            after = last.seq;
            for record in records {
                let Some((id, receipt)) = stone(goal.as_ref(), record.seq, &record.payload, life) else {
                    continue;
                };
                if tx.receipt(&id)?.is_none() {
                    tx.put_receipt(&id, &receipt)?;
                }
            }
        }
    }
    Ok(())
}

/// Whether what a receipt tells of is cut.
fn is_cut(receipt: &StoredReceipt, kept: &BTreeMap<Option<GoalId>, u64>) -> bool {
    receipt.cut.is_none() && kept.get(&receipt.goal_id).is_some_and(|kept| receipt.seq > *kept)
}

/// What stands for an operation of which only an event is known.
fn stone(
    goal: Option<&GoalId>,
    seq: u64,
    payload: &[u8],
    life: IncarnationId,
) -> Option<(OperationId, StoredReceipt)> {
    let (operation_id, actor, provenance, at) = if goal.is_some() {
        let Envelope { operation_id, actor, provenance, at, .. } = Envelope::decode(payload).ok()?;
        (operation_id, actor, provenance, at)
    } else {
        let envelope: OwnEnvelope = serde_json::from_slice(payload).ok()?;
        (envelope.operation_id, envelope.actor, envelope.provenance, envelope.at)
    };
    let receipt = StoredReceipt {
        digest: Digest::ZERO,
        actor,
        provenance,
        goal_id: goal.cloned(),
        at,
        seq,
        negative: None,
        outcome: json!({}),
        cut: Some(life),
    };
    Some((operation_id, receipt))
}
