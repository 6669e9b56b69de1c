//! Owns what only an exploration asks of the ledger in memory: copies of it, and looks that copy nothing.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex},
};

use super::{MemoryLedger, Shared, State};
use crate::{
    authority::Record,
    kernel::Rows,
    model::{GoalId, OperationId},
};

impl MemoryLedger {
    /// Another ledger in the same state, without the events so far and with the receipts of some operations only.
    pub(in crate::authority) fn fork(&self, keep: &[&OperationId]) -> Self {
        let state = self.state();
        let receipts = keep.iter().filter_map(|id| state.receipts.get_key_value(*id));
        let fork = State {
            meta: state.meta.clone(),
            rows: state.rows.clone(),
            heads: state.heads.clone(),
            events: BTreeMap::new(),
            own_events: Vec::new(),
            own_head: state.own_head,
            receipts: receipts.map(|(id, receipt)| (id.clone(), receipt.clone())).collect(),
            meters: state.meters.clone(),
            amounts: state.amounts.clone(),
            limit: state.limit,
            version: state.version,
        };
        Self { shared: Arc::new(Shared { state: Mutex::new(fork), bell: Condvar::new() }) }
    }

    /// Looks at the rows where they lie.
    pub(in crate::authority) fn seen<T>(&self, look: impl FnOnce(&Rows) -> T) -> T {
        look(&self.state().rows)
    }

    /// The events that were stored since this ledger was made.
    pub(in crate::authority) fn stored(&self, goal: &GoalId) -> Vec<Record> {
        self.state().events.get(goal).cloned().unwrap_or_default()
    }

    /// Moves with every job that took the place of the state, whether it wrote or found a receipt.
    pub(in crate::authority) fn version(&self) -> u64 {
        self.state().version
    }
}
