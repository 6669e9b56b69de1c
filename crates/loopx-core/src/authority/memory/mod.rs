//! Owns the ledger in memory: the reference the conformance suite compares every other with.
//!
//! Knows no rule. A write works on a copy, which takes the place of the state when its job succeeds.

#[cfg(all(test, feature = "seeded"))]
mod fork;
mod tx;
mod view;

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use super::{Head, Ledger, Meta, Record, StoredReceipt, Tx, View, clock::Deadline};
use crate::{
    error::Result,
    kernel::Rows,
    model::{Amounts, Bucket, GoalId, Limit, MeterScope, OperationId},
};

/// A ledger that lasts as long as its process. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct MemoryLedger {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    bell: Condvar,
}

/// Everything a ledger holds.
#[derive(Debug, Clone, Default)]
struct State {
    meta: Option<Meta>,
    rows: Rows,
    heads: BTreeMap<GoalId, Head>,
    events: BTreeMap<GoalId, Vec<Record>>,
    /// The ledger's own.
    own_events: Vec<Record>,
    own_head: Option<Head>,
    receipts: BTreeMap<OperationId, StoredReceipt>,
    meters: BTreeMap<(MeterScope, Bucket), u64>,
    amounts: BTreeMap<(MeterScope, Bucket), Amounts>,
    limit: Option<Limit>,
    version: u64,
}

impl MemoryLedger {
    /// A new, unfounded ledger.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A job that panicked has not replaced the state.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every row, as it lies.
    pub fn rows(&self) -> Rows {
        self.state().rows.clone()
    }

    /// What every meter holds beside its slots, as it lies.
    pub fn amounts(&self) -> BTreeMap<(MeterScope, Bucket), Amounts> {
        self.state().amounts.clone()
    }

    /// Every meter that holds a slot, as it lies.
    pub fn meters(&self) -> BTreeMap<(MeterScope, Bucket), u64> {
        self.state().meters.clone()
    }
}

impl Ledger for MemoryLedger {
    fn write(&mut self, job: &mut dyn FnMut(&mut dyn Tx) -> Result<()>) -> Result<()> {
        let mut state = self.state();
        let mut copy = state.clone();
        job(&mut copy)?;
        copy.version += 1;
        *state = copy;
        self.shared.bell.notify_all();
        Ok(())
    }

    fn read(&mut self, job: &mut dyn FnMut(&mut dyn View) -> Result<()>) -> Result<()> {
        let mut copy = self.state().clone();
        job(&mut copy)
    }

    fn wait(
        &mut self,
        wait: Duration,
        changed: &mut dyn FnMut(&mut dyn View) -> Result<bool>,
    ) -> Result<bool> {
        let deadline = Deadline::after(wait);
        let mut state = self.state();
        loop {
            if changed(&mut state.clone())? {
                return Ok(true);
            }
            let left = deadline.left();
            if left.is_zero() {
                return Ok(false);
            }
            let (woken, _) =
                self.shared.bell.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
            state = woken;
        }
    }
}
