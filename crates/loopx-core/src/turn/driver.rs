//! Owns driving a hosted Turn from admission to its end: each step from what the ledger says, never from memory.
//!
//! Knows no host and no rule. Because every step starts from the Turn's row, a driver and a recovery are one loop.
//! Invariant: no transaction is open while a host or a validator runs.

use std::{ffi::OsString, path::PathBuf, time::Duration as Wait};

use super::{
    attached::Done,
    contract,
    examine::{examine, scopes},
    host::{Host, Hosting, Job, Judged},
    lock::DriverLock,
    site::{Around, Site, attempt_token, sweep},
    tree::{self, Tree},
    wire::TurnResult,
};
use crate::{
    authority::clock::Deadline,
    error::{Code, Error, Result},
    failpoint,
    kernel::{ClaimCommand, Command, Outcome, Read, Step, claim::Claim},
    model::{
        Actor, AgentId, Attempt, Candidate, Cause, Duration, EndpointId, Executor, Expected, GoalId, HostFailure,
        Operation, OperationId, Provenance, Receipt, ScopePath, ShortText, Timestamp, TodoId, TodoKind, Turn, TurnId,
        TurnState, Workspace,
    },
    private::{Body, Kind},
    process::{Control, Process, Tick},
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

/// Runs one hosted Turn to its end, or to where a person is needed.
///
/// `stopped` is asked several times a second; a yes ends the host's tree and the Turn. Errors: those of the claim;
/// `executor_active` when the same verb is running elsewhere; `store_*`. How the Turn ended is no error here.
pub fn run(site: &mut Site<'_>, start: &Start, host: &dyn Host, stopped: &dyn Fn() -> bool) -> Result<Done> {
    let admit_id = start.operation_id.step("admit")?;
    let mut held = None;
    let locks = site.machine.locks.clone();
    let operation = admission(site, start, admit_id);
    let receipt = site.authority.submit_holding(operation, &mut |outcome: &Outcome| {
        // A gate that was opened instead admits nothing.
        if let (Some(turn_id), Some(_)) = (outcome.turn_id, outcome.own_id) {
            held = Some(DriverLock::take(&locks, turn_id)?);
        }
        Ok(())
    })?;
    failpoint::reach!(TurnAdmitted);
    if receipt.negative().is_some() {
        return Err(negative(&receipt));
    }
    let turn_id = receipt.outcome::<Outcome>()?.turn_id.ok_or_else(|| Error::from(Code::Internal))?;
    let around = site.around(turn_id)?;
    if around.turn.is_terminal() {
        let receipt = last_receipt(site, &start.operation_id, &around.turn)?.unwrap_or(receipt);
        return Ok(Done { receipt, around, left: Vec::new() });
    }
    let lock = match held {
        Some(lock) => lock,
        None => return super::recover::go_on(site, turn_id, &start.operation_id, Some(host), stopped),
    };
    Driver { base: start.operation_id.clone(), host: Some(host), stopped, last: Some(receipt), before: None, left: Vec::new() }
        .drive(site, lock)
}

fn admission(site: &Site<'_>, start: &Start, operation_id: OperationId) -> Operation<Command> {
    let claim = Claim {
        todo_id: start.todo_id.clone(),
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
    Error::from(code).detail("receipt", serde_json::to_value(receipt).unwrap_or_default())
}

/// The last receipt of a verb that was given again after its Turn had ended.
fn last_receipt(site: &mut Site<'_>, base: &OperationId, turn: &Turn) -> Result<Option<Receipt>> {
    let mut names = Vec::new();
    for number in 1..=turn.attempts.len() {
        names.extend([format!("dispatch.{number}"), format!("end.{number}"), format!("candidate.{number}")]);
        names.extend([format!("verdict.{number}.1"), format!("verdict.{number}.2")]);
    }
    for name in names.iter().rev() {
        if let Some(receipt) = site.receipt(&base.step(name)?)? {
            return Ok(Some(receipt));
        }
    }
    Ok(None)
}

/// The driver of one Turn; it lives as long as it holds the lock.
#[derive(Debug)]
pub(super) struct Driver<'h, S: Fn() -> bool + ?Sized> {
    /// From which the ids of the steps are derived.
    pub(super) base: OperationId,
    /// The host; a recovery without one only goes where none is needed.
    pub(super) host: Option<&'h dyn Host>,
    /// Whether its caller wants it to end.
    pub(super) stopped: &'h S,
    /// What the last commit returned.
    pub(super) last: Option<Receipt>,
    /// The tree before the last attempt.
    pub(super) before: Option<Tree>,
    /// What could not be ended.
    pub(super) left: Vec<Process>,
}

/// Whether the loop goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Again,
    Rest,
}

impl<S: Fn() -> bool + ?Sized> Driver<'_, S> {
    /// Drives until the Turn has ended, or rests where a person or a later proof is needed.
    pub(super) fn drive(mut self, site: &mut Site<'_>, lock: DriverLock) -> Result<Done> {
        let turn_id = lock.turn_id();
        // Three attempts, each with two examinations, and one more after a changed requirement.
        for _ in 0..32 {
            let around = site.around(turn_id)?;
            if self.step(site, &lock, &around)? == Flow::Rest {
                break;
            }
        }
        let around = site.around(turn_id)?;
        let receipt = self.last.take().ok_or_else(|| Error::new(Code::NotReady, "nothing was left to do")
            .detail("turn_id", turn_id.to_string())
            .detail("state", around.turn.state.as_str())
            .hint(format!("turn show {turn_id}")))?;
        if around.turn.is_terminal() {
            lock.close();
        }
        Ok(Done { receipt, around, left: self.left })
    }

    fn step(&mut self, site: &mut Site<'_>, lock: &DriverLock, around: &Around) -> Result<Flow> {
        let turn = &around.turn;
        match &turn.state {
            TurnState::Admitted => self.attempt(site, lock, around),
            TurnState::Dispatched => match turn.attempts.last().and_then(|attempt| attempt.end.as_ref()) {
                Some(_) => self.attempt(site, lock, around),
                // An attempt that is open is one that this driver did not start; a recovery closes it first.
                None => Ok(Flow::Rest),
            },
            TurnState::Candidate => self.validate(site, lock, around),
            TurnState::Held { .. } => {
                let only = around.causes.len() == 1 && around.causes.contains(&Cause::Requirement);
                let left = turn.attempts.len() < Turn::ATTEMPTS_MAX && self.host.is_some();
                if only && left { self.attempt(site, lock, around) } else { Ok(Flow::Rest) }
            }
            TurnState::Unresolved { .. }
            | TurnState::Settled
            | TurnState::Stopped { .. }
            | TurnState::Failed { .. }
            | TurnState::Fenced => Ok(Flow::Rest),
        }
    }

    /// Submits a step and keeps its receipt.
    pub(super) fn submit(&mut self, site: &mut Site<'_>, lock: &DriverLock, around: &Around, name: &str, step: Step) -> Result<()> {
        let operation = around.step(self.base.step(name)?, step);
        self.last = Some(lock.submit(site.authority, operation)?);
        Ok(())
    }

    /// Dispatches one attempt and takes in what came of it.
    fn attempt(&mut self, site: &mut Site<'_>, lock: &DriverLock, around: &Around) -> Result<Flow> {
        let turn = &around.turn;
        if turn.stop_wish.is_some() || (self.stopped)() {
            return self.stop(site, lock, around);
        }
        let Some(host) = self.host else { return Ok(Flow::Rest) };
        let number = u8::try_from(turn.attempts.len()).unwrap_or(u8::MAX).saturating_add(1);
        if number > 1 && !self.pause(site, turn, number)? {
            return Ok(Flow::Again);
        }
        let token = attempt_token(turn.turn_id, number)?;
        keep_hosting(site, turn.turn_id, host.hosting())?;
        failpoint::reach!(TurnDescribed);
        self.before = Tree::of(&host.hosting().folder, &site.machine.env);
        let whole = || tree::whole(&host.hosting().folder, &site.machine.env);
        let tree = self.before.as_ref().map_or_else(whole, |tree| Some(tree.digest(&[].into())));
        let attempt = attempt_row(site, host, token.as_str(), tree)?;
        let wall_ms = Duration::from_ms(host.hosting().wall_ms);
        let step = Step::Dispatch { turn_id: turn.turn_id, own_id: turn.own_id, attempt: Box::new(attempt), wall_ms };
        self.submit(site, lock, around, &format!("dispatch.{number}"), step)?;
        failpoint::reach!(TurnDispatched);
        let around = site.around(turn.turn_id)?;
        let terms = contract::Terms {
            attempt: number,
            wall_ms: wall_ms.as_ms(),
            attempts_left: host.hosting().attempts_max.saturating_sub(number),
        };
        let request = contract::request(site, &around, host.name(), terms)?.encode()?;
        let job = Job { request, env: host_env(site, &around, token.as_str()), token: &token };
        let outcome = self.work(site, &around, host, &job);
        failpoint::reach!(TurnHostEnded);
        let outcome = outcome?;
        self.spool(site, &around, number, &outcome)?;
        failpoint::reach!(TurnSpooled);
        self.left.clone_from(&outcome.survivors);
        if !outcome.survivors.is_empty() || !sweep(&token)? {
            let step = Step::Lose { turn_id: turn.turn_id, own_id: turn.own_id, executor_gone: false };
            self.submit(site, lock, &around, &format!("end.{number}"), step)?;
            return Ok(Flow::Rest);
        }
        self.take_in(site, lock, &around, number, host.judge(&outcome, &turn.turn_key))
    }

    /// Records what a host's end means.
    pub(super) fn take_in(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        number: u8,
        judged: Judged,
    ) -> Result<Flow> {
        let turn = &around.turn;
        let (turn_id, own_id) = (turn.turn_id, turn.own_id);
        let wished = site.around(turn_id)?.turn.stop_wish.is_some();
        match judged {
            // A result that came before the wish to stop was committed still counts for nothing.
            Judged::Result(result) if !wished => {
                let (candidate, wake) = self.candidate(site, around, &result)?;
                let step = Step::Candidate { turn_id, own_id: Some(own_id), candidate: Box::new(candidate), wake };
                self.submit(site, lock, around, &format!("candidate.{number}"), step)?;
                failpoint::reach!(TurnCandidate);
                Ok(Flow::Again)
            }
            Judged::Result(_) | Judged::Stopped => self.end(site, lock, around, number, None, false, None),
            Judged::Failed { failure, retry, note } => {
                let left = self.host.map_or(Turn::ATTEMPTS_MAX, |host| usize::from(host.hosting().attempts_max));
                let retry = retry && usize::from(number) < left;
                self.end(site, lock, around, number, Some(failure), retry, note)
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one step, and the three things every step needs")]
    pub(super) fn end(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        number: u8,
        failure: Option<HostFailure>,
        retry: bool,
        note: Option<ShortText>,
    ) -> Result<Flow> {
        let turn = &around.turn;
        let note = note.or_else(|| failure.and_then(|failure| failure.as_str().parse().ok()));
        let step = Step::End { turn_id: turn.turn_id, own_id: turn.own_id, failure, retry, note };
        self.submit(site, lock, around, &format!("end.{number}"), step)?;
        failpoint::reach!(TurnAttemptEnded);
        Ok(Flow::Again)
    }

    /// Ends a Turn on a wish, when no host runs.
    fn stop(&mut self, site: &mut Site<'_>, lock: &DriverLock, around: &Around) -> Result<Flow> {
        let turn_id = around.turn.turn_id;
        if around.turn.stop_wish.is_none() {
            let command = Command::Turn(crate::kernel::TurnCommand::Stop { turn_id, own_id: Some(around.turn.own_id) });
            let operation = around.step(self.base.step("stop")?, command);
            self.last = Some(site.authority.submit(operation)?);
        }
        if !site.around(turn_id)?.turn.is_terminal() {
            let operation = around.proof(self.base.step("stopped")?, Step::Prove { turn_id, executor_gone: true, tree: None });
            self.last = Some(lock.submit(site.authority, operation)?);
        }
        Ok(Flow::Rest)
    }

    /// Waits before another attempt, 1 s × 2ⁿ; no, when somebody wants it stopped meanwhile.
    fn pause(&self, site: &mut Site<'_>, turn: &Turn, number: u8) -> Result<bool> {
        let failed = |attempt: &Attempt| attempt.end.as_ref().is_some_and(|end| end.failure.is_some());
        if !turn.attempts.last().is_some_and(failed) {
            return Ok(true);
        }
        let deadline = Deadline::after(Wait::from_secs(1 << u32::from(number.saturating_sub(2)).min(4)));
        while !deadline.left().is_zero() {
            let slice = deadline.left().min(Wait::from_millis(250));
            let wished = site.authority.wait(slice, |view| stop_is_wished(view, turn.turn_id))?;
            if wished || (self.stopped)() {
                return Ok(wished || !(self.stopped)());
            }
        }
        Ok(true)
    }

    /// Lets the host work, keeping the ownership and listening for the wish to stop.
    fn work(&self, site: &mut Site<'_>, around: &Around, host: &dyn Host, job: &Job<'_>) -> Result<crate::process::Outcome> {
        let turn = &around.turn;
        let ttl_ms = around.todo.as_ref().and_then(|todo| todo.ownership.as_ref()).map_or(u64::MAX, |own| own.ttl_ms.as_ms());
        let every_ms = (ttl_ms / 3).max(1);
        let (mut renewed_at_ms, mut renewals) = (0, 0_u32);
        let stopped = self.stopped;
        let mut tick = |tick: Tick| {
            if tick.ending {
                return Control::Continue;
            }
            if stopped() {
                return Control::Stop;
            }
            // A store that does not answer now does not end the work; the fence is checked at every commit.
            match site.authority.read(|view| stop_is_wished(view, turn.turn_id)) {
                Ok(true) => return Control::Stop,
                Ok(false) | Err(_) => {}
            }
            if tick.elapsed_ms.saturating_sub(renewed_at_ms) >= every_ms {
                renewed_at_ms = tick.elapsed_ms;
                renewals += 1;
                if !renew(site, &self.base, around, renewals) {
                    return Control::Stop;
                }
            }
            Control::Continue
        };
        Ok(host.work(job, &mut tick))
    }

    /// Keeps what a host said, before any fact points at it.
    fn spool(&self, site: &mut Site<'_>, around: &Around, number: u8, outcome: &crate::process::Outcome) -> Result<()> {
        let turn_id = around.turn.turn_id;
        let id = spool_id(turn_id, number);
        let mut bodies: Vec<Body> = Vec::new();
        if !outcome.stdout.is_empty() {
            bodies.push(Site::body(Kind::Result, id.clone(), turn_id, outcome.stdout.clone())?);
        }
        if !outcome.stderr.is_empty() {
            bodies.push(Site::body(Kind::Diagnostics, id, turn_id, outcome.stderr.clone())?);
        }
        site.private.put_all(&bodies).map(drop)
    }

    /// What a result becomes as a fact.
    pub(super) fn candidate(
        &self,
        site: &mut Site<'_>,
        around: &Around,
        result: &TurnResult,
    ) -> Result<(Candidate, Option<crate::model::Wake>)> {
        let is_monitor = around.todo.as_ref().is_some_and(|todo| todo.kind == TodoKind::Monitor);
        let folder = site.folder(&around.turn)?;
        let now = folder.as_deref().and_then(|folder| Tree::of(folder, &site.machine.env));
        let declared = declared(around);
        let outside = match (&self.before, &now) {
            (Some(before), Some(now)) if !declared.is_empty() && !shared(site, around)? => now.outside(before, &declared, 32),
            _ => Vec::new(), // wildcard: without two pictures, or scopes, nothing can be said to lie outside
        };
        let candidate = Candidate {
            kind: result.kind_for(is_monitor),
            digest: result.digest,
            requirement_revision: 0,
            at: Timestamp::default(),
            summary: result.summary.parse().ok(),
            classification: result.classification.parse().ok(),
            next_action: result.next_action.parse().ok(),
            continuation: result.continuation.clone().unwrap_or_default(),
            evidence: result.evidence.clone(),
            goes_on: false,
            tree: now.map(|tree| tree.digest(&scopes(around))),
            outside: outside.iter().filter_map(|path| super::validate::cut(path, 120).parse().ok()).collect(),
        };
        Ok((candidate, result.wake.clone()))
    }

    /// Runs the validators and records what they said.
    fn validate(&mut self, site: &mut Site<'_>, lock: &DriverLock, around: &Around) -> Result<Flow> {
        let stopped = self.stopped;
        let turn_id = around.turn.turn_id;
        let wished = &mut |site: &mut Site<'_>| {
            stopped() || site.authority.read(|view| stop_is_wished(view, turn_id)).unwrap_or(false)
        };
        let step = examine(site, around, self.before.as_ref(), wished)?;
        failpoint::reach!(TurnJudged);
        let Some(step) = step else { return self.stop(site, lock, around) };
        let (attempt, round) = (around.turn.attempts.len(), around.turn.moved.saturating_add(1));
        self.submit(site, lock, around, &format!("verdict.{attempt}.{round}"), step)?;
        failpoint::reach!(TurnVerdict);
        Ok(Flow::Again)
    }
}

/// The id under which what an attempt said is kept.
pub(super) fn spool_id(turn_id: TurnId, number: u8) -> String {
    format!("{turn_id}.{number}")
}

fn keep_hosting(site: &mut Site<'_>, turn_id: TurnId, hosting: &Hosting) -> Result<()> {
    let bytes = hosting.encode()?;
    let known = site.private.latest(Kind::Hosting, &turn_id.to_string())?;
    if known.is_some_and(|body| body.bytes == bytes) {
        return Ok(());
    }
    let body = Site::body(Kind::Hosting, turn_id.to_string(), turn_id, bytes)?;
    site.private.put_all(&[body]).map(drop)
}

fn attempt_row(site: &Site<'_>, host: &dyn Host, token: &str, tree: Option<crate::model::Digest>) -> Result<Attempt> {
    Ok(Attempt {
        number: 0,
        host: host.name().parse()?,
        host_version: None,
        machine_id: Some(site.machine.machine_id.clone()),
        boot_id: site.machine.boot_id().cloned(),
        pid_namespace: site.machine.pid_namespace().cloned(),
        containment: Some(token.parse()?),
        dispatched_at: Timestamp::default(),
        deadline_at: None,
        tree,
        end: None,
    })
}

fn host_env(site: &Site<'_>, around: &Around, token: &str) -> std::collections::BTreeMap<OsString, OsString> {
    let mut env = site.machine.env.clone();
    env.insert("LOOPX_TURN_KEY".into(), around.turn.turn_key.to_string().into());
    env.insert("LOOPX_CONTAINMENT".into(), token.into());
    env.insert("LOOPX_ACTOR".into(), around.executor().to_string().into());
    env
}

/// Whether the Turn is to end: by a wish, or because it has ended already.
fn stop_is_wished(view: &mut dyn crate::authority::View, turn_id: TurnId) -> Result<bool> {
    let mut facts = crate::kernel::Facts::new(no_terms(view)?);
    view.load(&[Read::Turn(turn_id)].into(), &mut facts)?;
    Ok(facts.turn(&turn_id)?.is_some_and(|turn| turn.stop_wish.is_some() || turn.is_terminal()))
}

/// Terms for a read that decides nothing by time.
fn no_terms(view: &mut dyn crate::authority::View) -> Result<crate::kernel::Terms> {
    let meta = view.meta()?.ok_or_else(|| Error::from(Code::Internal))?;
    Ok(crate::kernel::Terms {
        authority_id: meta.authority_id,
        incarnation: meta.incarnation,
        now: Timestamp::from_ms(meta.stamp.now_ms),
        clock_jump: meta.stamp.clock_jump,
        strict: false,
    })
}

/// Renews the ownership of a Turn whose host is alive; no, when somebody took it over.
fn renew(site: &mut Site<'_>, base: &OperationId, around: &Around, number: u32) -> bool {
    let Some(todo) = &around.todo else { return true };
    let attempt = around.turn.attempts.len();
    let Ok(id) = base.step(&format!("renew.{attempt}.{number}")) else { return true };
    let command = Command::Claim(ClaimCommand::Renew { todo_id: todo.todo_id.clone(), own_id: Some(around.turn.own_id) });
    match site.authority.submit(around.step(id, command)) {
        Ok(receipt) => receipt.negative().is_none(),
        Err(error) => !matches!(error.code(), Code::OwnershipSuperseded | Code::OwnershipExpired),
    }
}

/// Where a Turn may write: what its ownership declares, else what its Goal does.
fn declared(around: &Around) -> Vec<ScopePath> {
    let own: Vec<_> = scopes(around).into_iter().collect();
    if own.is_empty() { around.goal.boundary.write_scopes.clone() } else { own }
}

/// Whether another live Turn of the Goal works in the same work tree, so that a change may be its.
fn shared(site: &mut Site<'_>, around: &Around) -> Result<bool> {
    let filter =
        crate::authority::TurnFilter { goal: &around.goal.goal_id, todo: None, agent: None, live: true };
    let turns = site.authority.read(|view| view.turns(&filter, None, 256))?;
    Ok(turns.iter().any(|turn| turn.turn_id != around.turn.turn_id && turn.workspace == around.turn.workspace))
}

/// Where a program of this name would be found for a host; none when it is nowhere.
pub fn find_program(argv0: &str, folder: &std::path::Path, machine: &super::Machine) -> Option<PathBuf> {
    crate::process::find(OsString::from(argv0).as_os_str(), folder, &machine.env).ok()
}
