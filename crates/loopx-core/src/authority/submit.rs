//! Owns the one way a fact is written: receipt, two rounds of reads, decision, commit.
//!
//! Knows no rule and no SQL. Invariant: state change and receipt land in one transaction, always.

use std::time::Duration;

use super::{
    chain::{Head, Linking, link},
    clock::{self, Clock, Stamp, SystemClock},
    ledger::{Commit, Ledger, Meta, StoredReceipt, Tx, View},
    profile::{Env, Profile},
    random,
    sqlite::SqliteLedger,
};
use crate::{
    error::{Code, Error, Result},
    kernel::{self, Command, Facts, Input, Minted, Outcome, READ_ROUNDS, Step, Terms},
    model::{AuthorityId, IncarnationId, Operation, OperationId, Receipt, Timestamp, TurnId, uuid_v7},
};

/// The right to write the steps of one Turn. Invariant: it is only given by holding the Turn's driver lock, or by having
/// seen that the Turn has no driver.
pub(crate) trait StepRight: std::fmt::Debug {
    /// Of which Turn.
    fn turn_id(&self) -> TurnId;

    /// Whether it still stands; what is a lock may have been lost.
    ///
    /// Errors: `executor_active`.
    fn stands(&self) -> Result<()> {
        Ok(())
    }
}

/// The keeper of one ledger: everything that writes goes through it.
#[derive(Debug)]
pub struct Authority {
    pub(super) ledger: Box<dyn Ledger>,
    pub(super) clock: Box<dyn Clock>,
    strict: bool,
    pub(super) ours: Ours,
}

/// Whose ledger it has to be, and which of its two connections have been seen to be at that one.
///
/// One look a connection is enough: a file that takes the place of an open one is refused by what has that open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ours {
    /// Unknown before the ledger was founded.
    pub(super) expects: Option<AuthorityId>,
    reading: bool,
    writing: bool,
}

impl Ours {
    /// Refuses another authority's ledger, by the first read of a connection.
    fn check(self, seen: bool, view: &mut dyn View) -> Result<()> {
        if self.expects.is_some() && !seen {
            ours(view.meta()?, self.expects)?;
        }
        Ok(())
    }
}

impl Authority {
    /// Keeps a ledger by the clocks of this machine.
    pub fn new(ledger: Box<dyn Ledger>) -> Self {
        Self::with_clock(ledger, Box::new(SystemClock::new()))
    }

    /// Keeps a ledger by a given clock.
    pub fn with_clock(ledger: Box<dyn Ledger>, clock: Box<dyn Clock>) -> Self {
        Self { ledger, clock, strict: false, ours: Ours::default() }
    }

    /// Keeps the ledger of a profile, which must be there; its file is opened by the first read or write.
    ///
    /// Errors: `not_found` before `init`, `store_corrupt` where the profile had a ledger and has none,
    /// `store_unreadable`. Each read and write refuses the ledger of another authority: `orphaned_goal_state`.
    pub fn open(profile: &Profile, env: &Env) -> Result<Self> {
        profile.check_ledger()?;
        let opened = Self::new(Box::new(SqliteLedger::open(profile, env)?));
        Ok(opened.expecting(profile.authority_id()))
    }

    /// Keeps the ledger of a profile, and makes and founds it where it is missing.
    ///
    /// Errors: as [`Authority::open`] but `not_found`; `disk_full`, `schema_*`, `store_*`.
    pub fn create(profile: &Profile, env: &Env) -> Result<Self> {
        profile.check_ledger()?;
        let made = Self::new(Box::new(SqliteLedger::create(profile, env)?));
        let mut authority = made.expecting(profile.authority_id());
        authority.found()?;
        let meta = authority.read(|view| view.meta())?.ok_or_else(unfounded)?;
        profile.note_authority(meta.authority_id)?;
        Ok(authority)
    }

    fn expecting(self, expects: Option<AuthorityId>) -> Self {
        Self { ours: Ours { expects, ..Ours::default() }, ..self }
    }

    /// Says whether a person's every verb needs proof.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Writes what a door asks for, or returns what the same operation returned before.
    ///
    /// A receipt can be a no that was accepted and written: see [`Receipt::negative`]. Errors: every code of the
    /// kernel, `operation_conflict`, `store_*`.
    pub fn submit(&mut self, operation: Operation<Command>) -> Result<Receipt> {
        self.write(&operation.map(Input::Command), &mut |_| Ok(()))
    }

    /// As [`Authority::submit`], with something to take before the commit: a lock that is named after what was just
    /// made. Not called for a replay. If it fails nothing is written.
    pub(crate) fn submit_holding(
        &mut self,
        operation: Operation<Command>,
        hold: &mut dyn FnMut(&Outcome) -> Result<()>,
    ) -> Result<Receipt> {
        self.write(&operation.map(Input::Command), hold)
    }

    /// Writes a step of a Turn for whoever has the right to: its driver, or what ran the validators of one without.
    ///
    /// Errors: those of the kernel; `operation_conflict`, `store_*`; `internal` for another Turn's step.
    pub(crate) fn submit_step(
        &mut self,
        right: &dyn StepRight,
        operation: Operation<Step>,
    ) -> Result<Receipt> {
        self.submit_step_holding(right, operation, &mut |_| Ok(()))
    }

    /// As [`Authority::submit_step`], with something to take before the commit, as [`Authority::submit_holding`] has.
    pub(crate) fn submit_step_holding(
        &mut self,
        right: &dyn StepRight,
        operation: Operation<Step>,
        hold: &mut dyn FnMut(&Outcome) -> Result<()>,
    ) -> Result<Receipt> {
        if operation.command.turn_id() != right.turn_id() {
            return Err(Error::from(Code::Internal).internal("a step of another Turn"));
        }
        right.stands()?;
        self.write(&operation.map(Input::Step), hold)
    }

    /// Reads one consistent state.
    ///
    /// Errors: those of the job; `orphaned_goal_state` for the ledger of another authority, `store_*`.
    pub fn read<T>(&mut self, mut job: impl FnMut(&mut dyn View) -> Result<T>) -> Result<T> {
        let Self { ledger, ours, .. } = self;
        let mut answer = None;
        ledger.read(&mut |view| {
            ours.check(ours.reading, view)?;
            answer = Some(job(view)?);
            Ok(())
        })?;
        ours.reading = true;
        answer.ok_or_else(|| Error::from(Code::Internal).internal("a ledger did not run its job"))
    }

    /// Reads one consistent state on the connection that is about to write, so that a short process opens the file
    /// once.
    pub(crate) fn read_first<T>(&mut self, mut job: impl FnMut(&mut dyn View) -> Result<T>) -> Result<T> {
        let Self { ledger, ours, .. } = self;
        let mut answer = None;
        ledger.write(&mut |tx| {
            ours.check(ours.writing, tx)?;
            answer = Some(job(tx)?);
            Ok(())
        })?;
        ours.writing = true;
        answer.ok_or_else(|| Error::from(Code::Internal).internal("a ledger did not run its job"))
    }

    /// Reads one consistent state, with what a decision on it would be made under now.
    ///
    /// Errors: those of the job; `not_found` before the ledger was founded, `store_*`.
    pub fn look<T>(&mut self, mut job: impl FnMut(&mut dyn View, &Terms) -> Result<T>) -> Result<T> {
        let Self { ledger, clock, strict, ours: Ours { expects, .. } } = self;
        let mut answer = None;
        ledger.read(&mut |view| {
            let meta = ours(view.meta()?, *expects)?;
            let stamp = clock::advance(&meta.stamp, &clock.read()?);
            answer = Some(job(view, &terms(&meta, &stamp, *strict))?);
            Ok(())
        })?;
        answer.ok_or_else(|| Error::from(Code::Internal).internal("a ledger did not run its job"))
    }

    /// Sleeps until `changed` says yes, at most for `wait`; says whether it did.
    ///
    /// Errors: those of `changed`; `orphaned_goal_state` for the ledger of another authority, `store_*`.
    pub fn wait(
        &mut self,
        wait: Duration,
        mut changed: impl FnMut(&mut dyn View) -> Result<bool>,
    ) -> Result<bool> {
        let Self { ledger, ours, .. } = self;
        let mut seen = ours.reading;
        let waited = ledger.wait(wait, &mut |view| {
            ours.check(seen, view)?;
            seen = true;
            changed(view)
        })?;
        ours.reading = seen;
        Ok(waited)
    }

    /// What an operation returned, if it was ever submitted.
    ///
    /// Errors: `operation_conflict` where that was cut from the history; `store_*`.
    pub fn receipt(&mut self, operation_id: &OperationId) -> Result<Option<Receipt>> {
        let found = self.read(|view| view.receipt(operation_id))?;
        found
            .map(|stored| Ok(stored.standing(operation_id)?.into_receipt(operation_id.clone(), true)))
            .transpose()
    }

    /// What a decision would be made under now, without writing that time passed.
    ///
    /// Errors: `not_found` before the ledger was founded, `orphaned_goal_state`, `store_*`.
    pub fn present(&mut self) -> Result<Terms> {
        let meta = ours(self.read(|view| view.meta())?, self.ours.expects)?;
        let stamp = clock::advance(&meta.stamp, &self.clock.read()?);
        Ok(terms(&meta, &stamp, self.strict))
    }

    /// Founds the ledger, unless it has been founded; says whether this call did.
    pub fn found(&mut self) -> Result<bool> {
        let reading = self.clock.read()?;
        let at = Timestamp::from_ms(reading.wall_ms);
        let meta = Meta {
            authority_id: AuthorityId::from_bytes(uuid_v7(at, random::bytes()?)),
            incarnation: IncarnationId::from_bytes(uuid_v7(at, random::bytes()?)),
            stamp: Stamp::first(&reading),
            schema: NEWEST,
        };
        let mut made = false;
        let expects = self.ours.expects;
        self.ledger.write(&mut |tx| {
            let known = tx.meta()?;
            if known.is_some() || expects.is_some() {
                return ours(known, expects).map(drop);
            }
            tx.found(&meta)?;
            made = true;
            Ok(())
        })?;
        Ok(made)
    }

    fn write(
        &mut self,
        operation: &Operation<Input>,
        hold: &mut dyn FnMut(&Outcome) -> Result<()>,
    ) -> Result<Receipt> {
        let digest = operation.digest()?;
        let seed = random::bytes::<32>()?;
        let Self { ledger, clock, strict, ours: of } = self;
        let mut receipt = None;
        ledger.write(&mut |tx| {
            // Before the receipt: another authority's ledger may hold one of the same operation.
            let meta = ours(tx.meta()?, of.expects)?;
            let known = tx.receipt(&operation.operation_id)?;
            if let Some(stored) = known.filter(|_| !kernel::seeded!(ForgetsReceipts)) {
                // Before the digest is looked at: what stood under another wish is gone just as well.
                let stored = stored.standing(&operation.operation_id)?;
                if stored.digest != digest {
                    return Err(conflict(&operation.operation_id));
                }
                receipt = Some(stored.into_receipt(operation.operation_id.clone(), true));
                return Ok(());
            }
            let reading = clock.read()?;
            let stamp = clock::advance(&meta.stamp, &reading);
            let minted = Minted::new(seed, Timestamp::from_ms(reading.wall_ms));
            let stored = decide(tx, operation, digest, terms(&meta, &stamp, *strict), minted, stamp, hold)?;
            receipt = Some(stored.into_receipt(operation.operation_id.clone(), false));
            Ok(())
        })?;
        receipt.ok_or_else(|| Error::from(Code::Internal).internal("a ledger did not run its job"))
    }
}

impl<C> Operation<C> {
    /// The same operation with another form of its command.
    fn map<D>(self, form: impl FnOnce(C) -> D) -> Operation<D> {
        let Self { operation_id, actor, provenance, goal_id, command, expected } = self;
        Operation { operation_id, actor, provenance, goal_id, command: form(command), expected }
    }
}

pub(super) fn terms(meta: &Meta, stamp: &Stamp, strict: bool) -> Terms {
    Terms {
        authority_id: meta.authority_id,
        incarnation: meta.incarnation,
        now: Timestamp::from_ms(stamp.now_ms),
        clock_jump: stamp.clock_jump,
        strict,
        schema: meta.schema,
    }
}

/// What a read that decides nothing, by time or otherwise, is made under: what the last commit was.
///
/// Errors: `internal` before the ledger was founded, `store_*`.
pub(crate) fn last_terms(view: &mut dyn View) -> Result<Terms> {
    let meta = view.meta()?.ok_or_else(|| Error::from(Code::Internal))?;
    Ok(terms(&meta, &meta.stamp, false))
}

/// What a ledger knows of itself, if it is the one that is expected here.
pub(super) fn ours(meta: Option<Meta>, expects: Option<AuthorityId>) -> Result<Meta> {
    match (meta, expects) {
        (Some(meta), Some(expected)) if meta.authority_id != expected => {
            let message = "the ledger is another authority's: this profile has registered none of its Goals";
            Err(Error::new(Code::OrphanedGoalState, message)
                .hint("doctor")
                .detail("found", meta.authority_id.to_string())
                .detail("expected", expected.to_string()))
        }
        (Some(meta), _) => Ok(meta),
        (None, Some(_)) => {
            Err(Error::new(Code::StoreCorrupt, "this profile had a ledger, and it is empty").hint("doctor"))
        }
        (None, None) => Err(unfounded()),
    }
}

fn unfounded() -> Error {
    Error::new(Code::NotFound, "this profile has no ledger yet").hint("init")
}

pub(super) fn conflict(operation_id: &OperationId) -> Error {
    Error::new(
        Code::OperationConflict,
        format!("the operation id {operation_id} was used for another operation"),
    )
    .detail("operation_id", operation_id.as_str())
}

/// What a ledger that has no file is as good as; a file says it itself.
const NEWEST: i32 = super::sqlite::LEDGER.newest;

/// Loads what a command asks for, in at most two rounds.
pub(super) fn load(view: &mut dyn View, operation: &Operation<Input>, facts: &mut Facts) -> Result<()> {
    for _ in 0..READ_ROUNDS {
        let missing = kernel::reads(operation, facts);
        if missing.is_empty() {
            return Ok(());
        }
        view.load(&missing, facts)?;
    }
    let missing = kernel::reads(operation, facts);
    debug_assert!(missing.is_empty(), "a command asks for a third round of reads: {missing:?}");
    Ok(())
}

pub(super) fn decide(
    tx: &mut dyn Tx,
    operation: &Operation<Input>,
    digest: crate::model::Digest,
    terms: Terms,
    mut minted: Minted,
    stamp: Stamp,
    hold: &mut dyn FnMut(&Outcome) -> Result<()>,
) -> Result<StoredReceipt> {
    let now = terms.now;
    let mut facts = Facts::new(terms);
    load(tx, operation, &mut facts)?;
    let mut head = tx.head(&operation.goal_id)?.unwrap_or(Head::START);
    let standing = facts.goal(&operation.goal_id)?.map(|goal| goal.instance);
    let decision = kernel::decide(facts, operation, &mut minted)?;
    hold(&decision.outcome)?;
    let started = decision.writes.rows.goals.get(&operation.goal_id).map(|goal| goal.instance);
    let goal_instance = standing.or(started).ok_or_else(|| Error::from(Code::Internal))?;
    let linking = Linking {
        goal_instance,
        at: now,
        operation_id: &operation.operation_id,
        actor: &operation.actor,
        provenance: operation.provenance,
    };
    let since = decision.events.iter().map(kernel::Event::since).max().unwrap_or(1);
    let records = link(&mut head, &linking, decision.events)?;
    let outcome =
        serde_json::to_value(&decision.outcome).map_err(|e| Error::from(Code::Internal).internal(e))?;
    let receipt = StoredReceipt {
        digest,
        actor: operation.actor.clone(),
        provenance: operation.provenance,
        goal_id: Some(operation.goal_id.clone()),
        at: now,
        seq: head.seq,
        negative: decision.negative.map(|code| code.as_str().into()),
        outcome,
        cut: None,
    };
    tx.store(Commit {
        goal_id: &operation.goal_id,
        head,
        records,
        operation_id: &operation.operation_id,
        receipt: &receipt,
        writes: decision.writes,
        stamp,
        since,
    })?;
    Ok(receipt)
}
