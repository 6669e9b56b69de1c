//! Owns the fold: what the events of one Goal make of an empty ledger.
//!
//! Knows no rule: an event applies itself. All rows of the Goal are in memory until the fold is over.

use super::super::{Count, Envelope, Meters, Record, sqlite::LEDGER};
use crate::{
    error::{Code, Error, Result},
    kernel::{Context, Delta, Facts, Rows, Terms, index},
    model::{Actor, AuthorityId, GoalId, GoalInstance, IncarnationId, OperationId, Provenance, Timestamp},
};

/// What a Goal's events come to.
#[derive(Debug, Clone, Default)]
pub(in crate::authority) struct Folded {
    /// Its rows.
    pub(in crate::authority) rows: Rows,
    /// What its meters hold.
    pub(in crate::authority) meters: Meters,
}

impl Folded {
    /// How many Todos are counted under each bucket.
    pub(in crate::authority) fn counts(&self) -> Count {
        let mut counts = Count::new();
        for todo in self.rows.todos.values() {
            *counts.entry(index(todo).bucket.to_owned()).or_default() += 1;
        }
        counts
    }
}

/// The operation that wrote a run of events.
#[derive(Debug, Clone)]
pub(in crate::authority) struct Wrote {
    pub(in crate::authority) operation_id: OperationId,
    pub(in crate::authority) actor: Actor,
    pub(in crate::authority) provenance: Provenance,
    pub(in crate::authority) at: Timestamp,
    /// Its first and its last event.
    pub(in crate::authority) seqs: (u64, u64),
}

/// A fold that is under way.
#[derive(Debug)]
pub(in crate::authority) struct Fold {
    goal_id: GoalId,
    instance: Option<GoalInstance>,
    facts: Facts,
    meters: Meters,
    wrote: Option<Wrote>,
}

impl Fold {
    /// Begins with nothing.
    pub(in crate::authority) fn of(goal_id: GoalId) -> Self {
        // What an event does was decided when it was written: nothing of these terms but the moment is looked at.
        let terms = Terms {
            authority_id: AuthorityId::from_bytes([0; 16]),
            incarnation: IncarnationId::from_bytes([0; 16]),
            now: Timestamp::from_ms(0),
            clock_jump: false,
            strict: false,
            schema: LEDGER.newest,
        };
        let facts = Facts::whole(terms);
        Self { goal_id, instance: None, facts, meters: Meters::new(), wrote: None }
    }

    /// Applies the next event; gives the operation before, where another begins with this event.
    ///
    /// Errors: `store_corrupt` for an event that cannot be read, or that stands where it cannot have happened.
    pub(in crate::authority) fn take(&mut self, record: &Record) -> Result<Option<Wrote>> {
        let envelope = Envelope::decode(&record.payload)?;
        let strange = |what: &'static str| Err(Error::new(Code::StoreCorrupt, what));
        if envelope.seq != record.seq {
            return strange("an event has another number than its record");
        }
        if *self.instance.get_or_insert(envelope.goal_instance) != envelope.goal_instance {
            return strange("an event is of another life of the Goal's id");
        }
        let Envelope { at, actor, operation_id, provenance, body, .. } = envelope;
        self.facts.set_now(at);
        let context = Context { goal_id: self.goal_id.clone(), actor, at };
        body.apply(&context, &mut self.facts)?;
        self.meter();
        if let Some(wrote) = self.wrote.as_mut().filter(|wrote| wrote.operation_id == operation_id) {
            wrote.seqs.1 = record.seq;
            return Ok(None);
        }
        let seqs = (record.seq, record.seq);
        Ok(self.wrote.replace(Wrote { operation_id, actor: context.actor, provenance, at, seqs }))
    }

    fn meter(&mut self) {
        for delta in self.facts.take_deltas() {
            let key = match &delta {
                Delta::Meter { scope, bucket, .. } | Delta::Amounts { scope, bucket, .. } => {
                    (scope.clone(), *bucket)
                }
                Delta::Dependency { .. } | Delta::Gated { .. } | Delta::Wake { .. } => continue,
            };
            let held = self.meters.entry(key.clone()).or_default();
            match delta {
                Delta::Meter { by, .. } => held.slots = held.slots.saturating_add_signed(by),
                Delta::Amounts { before, after, .. } => held.amounts = held.amounts.replacing(before, after),
                Delta::Dependency { .. } | Delta::Gated { .. } | Delta::Wake { .. } => {}
            }
            if held.is_empty() {
                self.meters.remove(&key);
            }
        }
    }

    /// The operation that wrote the last event.
    pub(in crate::authority) fn last(&self) -> Option<&Wrote> {
        self.wrote.as_ref()
    }

    /// Ends it; gives the last operation too.
    pub(in crate::authority) fn over(self) -> (Folded, Option<Wrote>) {
        (Folded { rows: self.facts.into_rows(), meters: self.meters }, self.wrote)
    }
}
