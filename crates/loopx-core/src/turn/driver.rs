//! Owns driving a hosted Turn from admission to its end: each step from what the ledger says, never from memory.
//!
//! Knows no host and no rule. Because every step starts from the Turn's row, a driver and a recovery are one loop.
//! Invariant: no transaction is open while a host or a validator runs.

use std::time::Duration as Wait;

use super::{
    again,
    attached::Done,
    attempt::prestarted,
    commits::{Commit, last_receipt, unused},
    examine::examine,
    guard::{self, Ward},
    host::Host,
    lock::DriverLock,
    outcome::Closing,
    prove::let_go,
    renewal::Renewal,
    site::{Around, Site},
    snapshot::UndoLock,
    watch::{Phase, Watcher},
    wish,
};
use crate::{
    authority::{Authority, View, clock::Deadline, last_terms},
    error::{Code, Error, Result},
    failpoint,
    kernel::{ClaimCommand, Command, Facts, Outcome, Read, Step, claim::Claim},
    model::json_value,
    model::{
        Actor, AgentId, Attempt, Duration, EndpointId, Executor, Expected, GoalId, Guarantee, HostFailure,
        Operation, OperationId, Provenance, Receipt, TodoId, Turn, TurnId, TurnState, Workspace,
    },
    process::{Keeper, Process},
};

/// What starts a hosted Turn.
#[derive(Debug, Clone)]
pub struct Start {
    /// The verb's id.
    pub operation_id: OperationId,
    /// Who asks.
    pub actor: Actor,
    /// How it came.
    pub provenance: Provenance,
    /// The Goal.
    pub goal_id: GoalId,
    /// The Todo.
    pub todo_id: TodoId,
    /// For whom it executes, through which endpoint.
    pub executor: (AgentId, EndpointId),
    /// Where it works; remembered in the private store already.
    pub workspace: Workspace,
    /// How long the ownership lasts without renewal.
    pub ttl_ms: Option<Duration>,
}

/// An admission, and the right to drive what it admitted, where this call made it.
#[derive(Debug)]
pub struct Admitted {
    receipt: Receipt,
    turn_id: TurnId,
    lock: Option<DriverLock>,
    /// What will guard the first attempt, and gets ready meanwhile.
    ward: Option<Ward>,
}

impl Admitted {
    /// A Turn that the settlement of the one before it admitted.
    pub const fn next(receipt: Receipt, lock: DriverLock) -> Self {
        Self { receipt, turn_id: lock.turn_id(), lock: Some(lock), ward: None }
    }
}

/// Whether an operation was admitted before, so that giving it again goes on with its own Turn: nothing of that is in its
/// way, however long ago it was.
///
/// Errors: `store_*`.
pub fn has_begun(authority: &mut Authority, operation_id: &OperationId) -> Result<bool> {
    Ok(authority.receipt(&Commit::Admit.of(operation_id)?)?.is_some())
}

/// Admits one hosted Turn, or finds the one that the same verb admitted before.
///
/// Errors: those of the claim, and then nothing was written but what a negative end says; `write_scope_conflict` while an
/// undo changes the work tree; `store_*`.
pub fn admit(site: &mut Site<'_>, start: &Start) -> Result<Admitted> {
    let admit_id = Commit::Admit.of(&start.operation_id)?;
    let mut held = None;
    let ward = prestarted(site)?;
    let (locks, spool) = (site.machine.locks.clone(), site.machine.spool.clone());
    let operation = admission(site, start, admit_id);
    let receipt = site.authority.submit_holding(operation, &mut |outcome: &Outcome| {
        // A gate that was opened instead admits nothing.
        if let (Some(turn_id), Some(_)) = (outcome.turn_id, outcome.own_id) {
            UndoLock::check(&locks, &start.workspace)?;
            // What an attempt leaves must have its place before there is a Turn.
            guard::check_place(&spool)?;
            site.private.check_place()?;
            held = Some(DriverLock::take(&locks, turn_id)?);
        }
        Ok(())
    })?;
    failpoint::reach!(TurnAdmitted);
    if receipt.negative().is_some() {
        return Err(negative(&receipt));
    }
    let turn_id = receipt.outcome::<Outcome>()?.turn_id.ok_or_else(|| Error::from(Code::Internal))?;
    Ok(Admitted { receipt, turn_id, lock: held, ward })
}

/// Drives an admitted Turn to its end, or to where a person is needed.
///
/// The watcher is asked several times a second; a yes ends the host's tree and the Turn. Errors: `executor_active` when
/// the same verb is running elsewhere; `store_*`. How the Turn ended is no error here.
pub fn drive(
    site: &mut Site<'_>,
    start: &Start,
    admitted: Admitted,
    host: &dyn Host,
    watcher: &dyn Watcher,
) -> Result<Done> {
    let Admitted { receipt, turn_id, lock, ward } = admitted;
    watcher.sees(Phase::Admitted { turn_id });
    let around = site.around(turn_id)?;
    if around.turn.is_terminal() {
        return over(site, start, around, receipt);
    }
    let Some(lock) = lock else {
        if let Some(receipt) = again::rested(site, &start.operation_id, &around, Some(host))? {
            return Ok(Done { receipt, around, left: Vec::new() });
        }
        let went = super::resume::go_on(site, turn_id, &start.operation_id, Some(host), watcher);
        let around = site.around(turn_id)?;
        // The same verb, given at the same time by another process, may have ended it meanwhile.
        if went.as_ref().is_err_and(|error| error.code() == Code::InvalidTransition)
            && around.turn.is_terminal()
        {
            return over(site, start, around, receipt);
        }
        return went;
    };
    Driver {
        base: start.operation_id.clone(),
        host: Some(host),
        watcher,
        last: Some(receipt),
        left: Vec::new(),
        held_by: None,
        awake_ms: None,
        ward,
        wards: Vec::new(),
        keeper: site.machine.keeper(),
    }
    .drive(site, lock)
}

/// What a verb returns whose Turn has ended already: its last receipt.
fn over(site: &mut Site<'_>, start: &Start, around: Around, admitted: Receipt) -> Result<Done> {
    let receipt = last_receipt(site, &start.operation_id, &around.turn)?.unwrap_or(admitted);
    Ok(Done { receipt, around, left: Vec::new() })
}

fn admission(site: &Site<'_>, start: &Start, operation_id: OperationId) -> Operation<Command> {
    let claim = Claim {
        todo_id: start.todo_id.clone(),
        replan: None,
        executor_of: start.actor.is_user().then(|| start.executor.clone()),
        executor: Executor::Hosted,
        machine_id: Some(site.machine.machine_id.clone()),
        ttl_ms: start.ttl_ms,
        workspace: Some(start.workspace.clone()),
    };
    Operation {
        operation_id,
        actor: start.actor.clone(),
        provenance: start.provenance,
        goal_id: start.goal_id.clone(),
        command: Command::Claim(ClaimCommand::Claim(Box::new(claim))),
        expected: Expected::default(),
    }
}

/// A no that was accepted and written, as the error an edge prints.
pub fn negative(receipt: &Receipt) -> Error {
    let code = receipt.negative().unwrap_or(Code::Internal);
    let gate_id = receipt.outcome::<Outcome>().ok().and_then(|outcome| outcome.gate_id);
    let error = match gate_id {
        Some(gate_id) => Error::new(code, format!("the gate {gate_id} was opened and waits for a person"))
            .hint(format!("gate show {gate_id}")),
        None => Error::from(code),
    };
    error.detail("receipt", json_value(receipt).unwrap_or_default())
}

/// The driver of one Turn; it lives as long as it holds the lock.
pub(super) struct Driver<'h> {
    /// From which the ids of the steps are derived.
    pub(super) base: OperationId,
    /// The host; a recovery without one only goes where none is needed.
    pub(super) host: Option<&'h dyn Host>,
    /// Who waits for it.
    pub(super) watcher: &'h dyn Watcher,
    /// What the last commit returned.
    pub(super) last: Option<Receipt>,
    /// What could not be ended.
    pub(super) left: Vec<Process>,
    /// By what the last attempt was held together, where that is less than was recorded.
    pub(super) held_by: Option<Guarantee>,
    /// How long the last attempt took while the machine was awake, where that is known.
    pub(super) awake_ms: Option<u64>,
    /// What will guard the next attempt, and gets ready meanwhile.
    pub(super) ward: Option<Ward>,
    /// What guarded the attempts before.
    pub(super) wards: Vec<Ward>,
    /// Below what its validators run.
    pub(super) keeper: Keeper,
}

/// Whether the loop goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Again,
    Rest,
}

impl Driver<'_> {
    /// Drives until the Turn has ended, or rests where a person or a later proof is needed.
    pub(super) fn drive(mut self, site: &mut Site<'_>, lock: DriverLock) -> Result<Done> {
        let turn_id = lock.turn_id();
        // Three attempts, each with two examinations, and one more after a changed requirement.
        for _ in 0..32 {
            let around = site.around(turn_id)?;
            let flow = match self.step(site, &lock, &around) {
                Err(refused) => self.overtaken(site, &lock, refused)?,
                Ok(flow) => flow,
            };
            if flow == Flow::Rest {
                break;
            }
        }
        let around = site.around(turn_id)?;
        let receipt = self.last.take().ok_or_else(|| again::nothing_to_do(&around))?;
        let_go(site, lock, &around.turn);
        Ok(Done { receipt, around, left: self.left })
    }

    fn step(&mut self, site: &mut Site<'_>, lock: &DriverLock, around: &Around) -> Result<Flow> {
        let turn = &around.turn;
        match &turn.state {
            TurnState::Admitted => self.attempt(site, lock, around),
            TurnState::Dispatched => match turn.attempts.last().and_then(|attempt| attempt.end.as_ref()) {
                // Whoever brings it on may have declared less than whoever began it.
                Some(end) if turn.stop_wish.is_none() && self.has_spent(turn) => {
                    let number = turn.attempts.last().map_or(0, |attempt| attempt.number);
                    let failure = end.failure.unwrap_or(HostFailure::Crashed);
                    self.end(site, lock, around, Closing::failed(number, failure))
                }
                Some(_) => self.attempt(site, lock, around),
                // An attempt that is open is one that this driver did not start; a recovery closes it first.
                None => Ok(Flow::Rest),
            },
            TurnState::Candidate => self.validate(site, lock, around),
            TurnState::Held { .. } => {
                if again::may_try_again(around, self.host) {
                    self.attempt(site, lock, around)
                } else {
                    Ok(Flow::Rest)
                }
            }
            TurnState::Unresolved { .. }
            | TurnState::Settled
            | TurnState::Stopped { .. }
            | TurnState::Failed { .. }
            | TurnState::Fenced => Ok(Flow::Rest),
        }
    }

    /// Whether its host was tried as often as it may be.
    fn has_spent(&self, turn: &Turn) -> bool {
        self.host.is_some_and(|host| turn.attempts.len() >= usize::from(host.hosting().attempts_max))
    }

    /// Submits a step and keeps its receipt.
    pub(super) fn submit(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        commit: Commit,
        step: Step,
    ) -> Result<()> {
        let operation = around.step(unused(site, &self.base, commit)?, step);
        let (locks, mut next) = (&site.machine.locks, None);
        let receipt = site.authority.submit_step_holding(lock, operation, &mut |outcome: &Outcome| {
            // What a settlement admits has its driver before anybody can see it.
            next = outcome.next_turn_id.map(|turn_id| DriverLock::take(locks, turn_id)).transpose()?;
            Ok(())
        })?;
        self.last = Some(receipt);
        if let Some(next) = next {
            self.watcher.takes_on(next);
        }
        Ok(())
    }

    /// Ends a Turn on a wish, when no host runs.
    pub(super) fn stop(&mut self, site: &mut Site<'_>, lock: &DriverLock, around: &Around) -> Result<Flow> {
        let turn_id = around.turn.turn_id;
        // Somebody else may have ended it since it was read, as by giving it up.
        if site.around(turn_id)?.turn.is_terminal() {
            return Ok(Flow::Rest);
        }
        if around.turn.stop_wish.is_none() {
            self.last = Some(wish::record(site, &self.base, around, self.watcher)?);
        }
        if !site.around(turn_id)?.turn.is_terminal() {
            let operation = around.proof(
                Commit::Stopped.of(&self.base)?,
                Step::Prove { turn_id, executor_gone: true, tree: None },
            );
            self.last = Some(site.authority.submit_step(lock, operation)?);
        }
        Ok(Flow::Rest)
    }

    /// Goes on after a refused move, where somebody else stopped the Turn, or wished it, after the last look at it.
    ///
    /// What a host said before that counts for nothing.
    pub(super) fn overtaken(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        refused: Error,
    ) -> Result<Flow> {
        if !matches!(
            refused.code(),
            Code::InvalidTransition | Code::OwnershipExpired | Code::OwnershipSuperseded
        ) {
            return Err(refused);
        }
        let now = site.around(lock.turn_id())?;
        match (&now.turn.state, &now.turn.stop_wish, now.turn.open_attempt().map(|attempt| attempt.number)) {
            (TurnState::Stopped { .. }, _, _) => Ok(Flow::Rest),
            (TurnState::Admitted | TurnState::Dispatched, Some(_), Some(number)) => {
                self.end(site, lock, &now, Closing::stopped(number))
            }
            (TurnState::Admitted | TurnState::Dispatched, Some(_), None) => self.stop(site, lock, &now),
            _ => Err(refused), // wildcard: no wish to stop was the reason
        }
    }

    /// Waits before another attempt, 1 s × 2ⁿ; no, when somebody wants it stopped meanwhile.
    pub(super) fn pause(&self, site: &mut Site<'_>, turn: &Turn, number: u8) -> Result<bool> {
        let failed = |attempt: &Attempt| attempt.end.as_ref().is_some_and(|end| end.failure.is_some());
        if !turn.attempts.last().is_some_and(failed) {
            return Ok(true);
        }
        let pause = Wait::from_secs(1 << u32::from(number.saturating_sub(2)).min(4));
        let deadline = Deadline::after(pause);
        let millis = |span: Wait| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        while !deadline.left().is_zero() {
            let elapsed_ms = millis(pause.saturating_sub(deadline.left()));
            self.watcher.sees(Phase::Pausing { attempt: number, elapsed_ms, pause_ms: millis(pause) });
            let slice = deadline.left().min(Wait::from_millis(250));
            let wished = site.authority.wait(slice, |view| stop_is_wished(view, turn.turn_id))?;
            if wished || self.watcher.wants_stop() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs the validators and records what they said.
    fn validate(&mut self, site: &mut Site<'_>, lock: &DriverLock, around: &Around) -> Result<Flow> {
        let watcher = self.watcher;
        let turn_id = around.turn.turn_id;
        let mut renewal = Renewal::of(around);
        let wished = &mut |site: &mut Site<'_>, phase: Phase| {
            watcher.sees(phase);
            lock.hold();
            // Who took it over meanwhile is found at the verdict.
            renewal.keep(site, around, &|id, command| around.step(id, command));
            watcher.wants_stop() || site.authority.read(|view| stop_is_wished(view, turn_id)).unwrap_or(false)
        };
        // The last guardian is ready for it, where there is one.
        if let Some(companion) = self.wards.pop().and_then(Ward::into_keeper) {
            self.keeper.take_on(companion);
        }
        let step = examine(site, around, &mut self.keeper, wished)?;
        failpoint::reach!(TurnJudged);
        let Some(mut step) = step else { return self.stop(site, lock, around) };
        if let Step::Verdict { goes_on, .. } = &mut step {
            *goes_on = watcher.goes_on();
        }
        let attempt = around.turn.attempts.last().map_or(0, |attempt| attempt.number);
        let round = around.turn.moved.saturating_add(1);
        self.submit(site, lock, around, Commit::Verdict(attempt, round), step)?;
        failpoint::reach!(TurnVerdict);
        Ok(Flow::Again)
    }
}

/// Whether the Turn is to end: by a wish, or because it has ended already.
pub(super) fn stop_is_wished(view: &mut dyn View, turn_id: TurnId) -> Result<bool> {
    let mut facts = Facts::new(last_terms(view)?);
    view.load(&[Read::Turn(turn_id)].into(), &mut facts)?;
    Ok(facts.turn(&turn_id)?.is_some_and(|turn| turn.stop_wish.is_some() || turn.is_terminal()))
}
