//! Owns what happens to a ledger itself, beside its Goals: one chain of its own, and a receipt an operation.
//!
//! Knows no rule of a Goal. Invariant: as with every write, change, event and receipt land in one transaction.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Authority,
    chain::{self, Head, Record},
    clock::{self, Stamp},
    incarnation::{Cause, Cut},
    ledger::{OwnCommit, StoredReceipt, Tx, View},
    submit::{conflict, ours},
};
use crate::{
    error::{Code, Error, Result},
    kernel::{check_currency, check_limit},
    model::{
        Actor, Assurance, Currency, Digest, IncarnationId, Limit, OperationId, Provenance, Receipt,
        ShortText, Timestamp,
    },
};

/// How many events are read at once.
const STEP: usize = 256;

/// Who asks for a change of the ledger itself, and by which operation.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The idempotency key.
    pub operation_id: OperationId,
    /// Who asks.
    pub actor: Actor,
    /// Through which door, how surely.
    pub provenance: Provenance,
}

/// What can have happened to a ledger itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum OwnEvent {
    /// A person took the present time after a jump of the clock.
    ClockAccepted {
        /// The ledger's time, had nobody accepted it.
        before: Timestamp,
        /// The ledger's time from then on.
        now: Timestamp,
    },
    /// Another life of the ledger began.
    Incarnated {
        /// Why.
        cause: Cause,
        /// The life before.
        parent: IncarnationId,
        /// The life from then on.
        incarnation: IncarnationId,
        /// Where chains of the life before were cut.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cuts: Vec<Cut>,
        /// The file in the profile's folder in which what was cut is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        archive: Option<ShortText>,
    },
    /// A person set, or lifted, the limit of all Goals together.
    LimitSet {
        /// The limit; none lifts it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
    /// The ledger's file was brought to a newer schema.
    SchemaMigrated {
        /// The schema it had.
        from: i32,
        /// The schema it has.
        to: i32,
        /// The digest of the file in which it is kept as it was.
        kept: Digest,
    },
}

/// An event of the ledger itself, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnEnvelope {
    /// Its number.
    pub seq: u64,
    /// When it was committed.
    pub at: Timestamp,
    /// The operation that made it.
    pub operation_id: OperationId,
    /// Who asked.
    pub actor: Actor,
    /// Through which door, how surely.
    pub provenance: Provenance,
    /// What happened.
    pub body: OwnEvent,
}

impl Authority {
    /// Takes the present time after a jump of the clock: a person stands by it. None where there was no jump; then
    /// nothing is written.
    ///
    /// Errors: `user_only`, `unauthenticated`, `operation_conflict`, `not_found` before the ledger was founded, `store_*`.
    pub fn accept_clock(&mut self, asked: &Asked) -> Result<Option<Receipt>> {
        let digest = Digest::of_value(&json!({"actor": asked.actor, "own": "accept_clock"}))?;
        let Self { ledger, clock, ours: of, .. } = self;
        let mut receipt = None;
        ledger.write(&mut |tx| {
            let meta = ours(tx.meta()?, of.expects)?;
            receipt = replayed(tx, asked, digest)?;
            if receipt.is_some() {
                return Ok(());
            }
            // A replay returns what was returned before; there is nothing to agree to.
            authorize(asked, "accept the clock")?;
            let reading = clock.read()?;
            let before = clock::advance(&meta.stamp, &reading);
            if !before.clock_jump {
                return Ok(());
            }
            let stamp = clock::accept(&meta.stamp, &reading);
            let [before, now] = [before.now_ms, stamp.now_ms].map(Timestamp::from_ms);
            let outcome = json!({"clock_accepted": {"before_ms": before, "now_ms": now}});
            let stored = store(tx, asked, digest, stamp, OwnEvent::ClockAccepted { before, now }, outcome)?;
            receipt = Some(stored.into_receipt(asked.operation_id.clone(), false));
            Ok(())
        })?;
        Ok(receipt)
    }

    /// Sets, or lifts, the limit of all Goals together.
    ///
    /// Errors: `invalid_argument`, `user_only`, `unauthenticated`, `operation_conflict`, `schema_needs_migration`,
    /// `not_found` before the ledger was founded, `store_*`.
    pub fn set_limit(&mut self, asked: &Asked, limit: Option<Limit>) -> Result<Receipt> {
        let digest = Digest::of_value(&json!({"actor": asked.actor, "own": "set_limit", "limit": limit}))?;
        let Self { ledger, clock, ours: of, .. } = self;
        let mut receipt = None;
        ledger.write(&mut |tx| {
            let meta = ours(tx.meta()?, of.expects)?;
            receipt = replayed(tx, asked, digest)?;
            if receipt.is_some() {
                return Ok(());
            }
            authorize(asked, "limit all Goals together")?;
            limit.as_ref().map_or(Ok(()), check_limit)?;
            check_currencies(tx, limit.and_then(|limit| limit.currency))?;
            let stamp = clock::advance(&meta.stamp, &clock.read()?);
            let outcome = json!({"limit": limit});
            let stored = store(tx, asked, digest, stamp, OwnEvent::LimitSet { limit }, outcome)?;
            receipt = Some(stored.into_receipt(asked.operation_id.clone(), false));
            Ok(())
        })?;
        receipt.ok_or_else(|| Error::from(Code::Internal))
    }
}

/// Refuses a currency in which not all Goals count: one meter holds what they cost together.
fn check_currencies(view: &mut (impl View + ?Sized), given: Option<Currency>) -> Result<()> {
    let Some(given) = given else { return Ok(()) };
    for goal in view.goals(None, usize::MAX)? {
        check_currency(&goal, given)?;
    }
    Ok(())
}

/// What the operation returned before, if it was asked for before.
///
/// Errors: `operation_conflict`, `store_*`.
pub(super) fn replayed(
    view: &mut (impl View + ?Sized),
    asked: &Asked,
    digest: Digest,
) -> Result<Option<Receipt>> {
    let id = &asked.operation_id;
    match view.receipt(id)?.map(|stored| stored.standing(id)).transpose()? {
        Some(stored) if stored.digest != digest => Err(conflict(id)),
        stored => Ok(stored.map(|stored| stored.into_receipt(id.clone(), true))),
    }
}

/// Stores an event of the ledger itself, and what its operation returns.
pub(super) fn store(
    tx: &mut dyn Tx,
    asked: &Asked,
    digest: Digest,
    stamp: Stamp,
    body: OwnEvent,
    outcome: Value,
) -> Result<StoredReceipt> {
    let now = Timestamp::from_ms(stamp.now_ms);
    let head = tx.own_head()?.unwrap_or(Head::START);
    let (incarnation, limit) = match &body {
        OwnEvent::LimitSet { limit } => (None, Some(*limit)),
        OwnEvent::Incarnated { incarnation, .. } => (Some(*incarnation), None),
        OwnEvent::ClockAccepted { .. } | OwnEvent::SchemaMigrated { .. } => (None, None),
    };
    let record = linked(&head, asked, now, body)?;
    let stored = StoredReceipt {
        digest,
        actor: asked.actor.clone(),
        provenance: asked.provenance,
        goal_id: None,
        at: now,
        seq: record.seq,
        negative: None,
        outcome,
        cut: None,
    };
    let (operation_id, receipt) = (&asked.operation_id, &stored);
    tx.store_own(OwnCommit { record, operation_id, receipt, stamp, limit, incarnation })?;
    Ok(stored)
}

/// The ledger itself is a person's to vouch for, and never stated alone. `act` follows `may` and `to`.
pub(super) fn authorize(asked: &Asked, act: &str) -> Result<()> {
    if !asked.actor.is_user() || asked.provenance.contained.is_some() {
        return Err(Error::new(Code::UserOnly, format!("only a person may {act}")));
    }
    if asked.provenance.assurance == Assurance::Proven {
        return Ok(());
    }
    Err(Error::new(Code::Unauthenticated, format!("to {act} needs proof that {} asks", asked.actor)))
}

fn linked(head: &Head, asked: &Asked, at: Timestamp, body: OwnEvent) -> Result<Record> {
    let seq = head.seq + 1;
    let Asked { operation_id, actor, provenance } = asked.clone();
    let envelope = OwnEnvelope { seq, at, operation_id, actor, provenance, body };
    let payload = serde_json::to_vec(&envelope).map_err(|e| Error::from(Code::Internal).internal(e))?;
    Ok(Record { seq, hash: chain::next(head, seq, &payload), payload })
}

/// Walks the ledger's own chain from its start; says how many events it has, and the last of them.
///
/// Errors: `store_corrupt`, naming the first event that does not fit; `store_*`.
pub fn own_chain(view: &mut dyn View) -> Result<(u64, Option<OwnEnvelope>)> {
    let mut head = Head::START;
    let mut last = None;
    loop {
        let records = view.own_events(head.seq, STEP)?;
        let Some(record) = records.last() else { return Ok((head.seq, last)) };
        head = chain::verify(head, &records)?;
        let damaged =
            |e: &dyn std::fmt::Display| Error::new(Code::StoreCorrupt, "an event cannot be read").internal(e);
        let text = std::str::from_utf8(&record.payload).map_err(|e| damaged(&e))?;
        last = Some(serde_json::from_str(text).map_err(|e| damaged(&e))?);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::authority::{
        MemoryLedger,
        clock::{Clock, Reading},
    };
    use crate::model::Door;

    const T: i64 = 1_800_000_000_000;
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;

    /// A clock that a test sets.
    #[derive(Debug, Clone)]
    struct Set(Arc<Mutex<Reading>>);

    impl Clock for Set {
        fn read(&self) -> Result<Reading> {
            Ok(self.0.lock().unwrap().clone())
        }
    }

    fn asked(id: &str, actor: &str, assurance: Assurance) -> Asked {
        Asked {
            operation_id: id.parse().unwrap(),
            actor: actor.parse().unwrap(),
            provenance: Provenance { door: Door::Cli, assurance, contained: None },
        }
    }

    #[test]
    fn an_accepted_jump_has_its_receipt_and_its_link_and_is_replayed() {
        let reading = |boot: &str, wall_ms| Reading { boot_id: boot.into(), boot_ms: 1000, wall_ms };
        let clock = Set(Arc::new(Mutex::new(reading("a", T))));
        let mut authority = Authority::with_clock(Box::new(MemoryLedger::new()), Box::new(clock.clone()));
        authority.found().unwrap();
        let ana = |id: &str| asked(id, "user:ana", Assurance::Proven);
        let own = |authority: &mut Authority| authority.read(|view| own_chain(view)).unwrap();
        // given no jump, nothing is written
        assert!(authority.accept_clock(&ana("none")).unwrap().is_none());
        assert!(authority.receipt(&"none".parse().unwrap()).unwrap().is_none());
        // when the wall is a year on after a boot
        *clock.0.lock().unwrap() = reading("b", T + 365 * DAY_MS);
        assert!(authority.present().unwrap().clock_jump);
        for (who, assurance, code) in [
            ("user:ana", Assurance::Stated, Code::Unauthenticated),
            ("agent:coder", Assurance::Proven, Code::UserOnly),
        ] {
            assert_eq!(authority.accept_clock(&asked("x", who, assurance)).unwrap_err().code(), code);
        }
        let receipt = authority.accept_clock(&ana("one")).unwrap().unwrap();
        // then the receipt stands, with the ledger's own event, and time goes on from the wall
        assert_eq!((receipt.accepted_revision(), receipt.goal_id(), receipt.is_replayed()), (1, None, false));
        let terms = authority.present().unwrap();
        assert_eq!((terms.now.as_ms(), terms.clock_jump), (T + 365 * DAY_MS, false));
        let (count, last) = own(&mut authority);
        let body = OwnEvent::ClockAccepted {
            before: Timestamp::from_ms(T + 1000),
            now: Timestamp::from_ms(T + 365 * DAY_MS),
        };
        assert_eq!((count, last.map(|event| event.body)), (1, Some(body)));
        // and a replay returns it, also when the clock has jumped again; another's is a conflict
        *clock.0.lock().unwrap() = reading("c", T);
        let again = authority.accept_clock(&ana("one")).unwrap().unwrap();
        assert!(again.is_replayed() && again.digest() == receipt.digest());
        assert!(authority.present().unwrap().clock_jump, "a replay accepts nothing");
        let bob = asked("one", "user:bob", Assurance::Proven);
        assert_eq!(authority.accept_clock(&bob).unwrap_err().code(), Code::OperationConflict);
        authority.accept_clock(&ana("two")).unwrap().unwrap();
        assert_eq!(own(&mut authority).0, 2);
    }
}
