//! Owns bringing a Turn to an honest end after a crash: what can be proved, and going on from there.
//!
//! Knows no rule; it finds out what is true on this machine and submits that. Invariant: a driven Turn is touched only
//! with its driver's lock in hand, on the machine of its attempt, after whatever carries its mark was ended.

use super::{
    CommandHost,
    attached::Done,
    driver::{Driver, spool_id},
    examine::{examine, scopes},
    host::{Host, Hosting, Judged},
    lock::DriverLock,
    site::{Around, Site, attempt_token, sweep, validator_token},
    tree::{self, Tree},
};
use crate::{
    authority::TurnFilter,
    error::{Code, Error, Result},
    failpoint,
    kernel::{Found, Outcome, Step, turn::GRACE},
    model::{
        Attempt, Blocks, Digest, Executor, GoalId, HostFailure, OperationId, Receipt, Timestamp, Turn, TurnId,
        TurnState, Unresolved, uuid_v7,
    },
    private::Kind,
};

/// Records what can be proved of a Turn, and starts nothing.
///
/// Errors: `executor_active` while its driver lives or its attempt belongs to another machine; `not_ready` and `held`
/// when there is nothing to prove yet; `invalid_transition` when it has ended.
pub fn prove(site: &mut Site<'_>, turn_id: TurnId, base: &OperationId) -> Result<Done> {
    let around = site.around(turn_id)?;
    if around.turn.is_driven() && !around.turn.is_terminal() {
        let lock = take(site, &around.turn)?;
        let around = site.around(turn_id)?;
        let gone = end_tree(site, &around.turn)?;
        failpoint::reach!(RecoverSwept);
        let tree = present_tree(site, &around)?;
        let step = Step::Prove { turn_id, executor_gone: gone, tree };
        let receipt = lock.submit(site.authority, around.proof(base.step("prove")?, step))?;
        return finished(site, lock, receipt);
    }
    let tree = present_tree(site, &around)?;
    let step = Step::Prove { turn_id, executor_gone: false, tree };
    let receipt = site.authority.submit_step(around.proof(base.step("prove")?, step))?;
    Ok(Done { receipt, around: site.around(turn_id)?, left: Vec::new() })
}

/// Brings a Turn on from where a crash left it: reads a kept result, validates, starts the host again where nothing
/// can have changed.
///
/// Errors: as [`prove`]; `turn_unresolved` when what happened cannot be told.
pub fn resume(
    site: &mut Site<'_>,
    turn_id: TurnId,
    base: &OperationId,
    host: Option<&dyn Host>,
    stopped: &dyn Fn() -> bool,
) -> Result<Done> {
    let around = site.around(turn_id)?;
    if around.turn.is_driven() || around.turn.is_terminal() {
        return go_on(site, turn_id, base, host, stopped);
    }
    resume_attached(site, around, base, stopped)
}

/// As [`resume`], of a driven Turn.
pub(super) fn go_on(
    site: &mut Site<'_>,
    turn_id: TurnId,
    base: &OperationId,
    host: Option<&dyn Host>,
    stopped: &dyn Fn() -> bool,
) -> Result<Done> {
    let first = site.around(turn_id)?.turn;
    if first.is_terminal() {
        return Err(ended(&first));
    }
    let lock = take(site, &first)?;
    // Only what is read under the lock counts: another recovery may just have let go of it.
    let around = site.around(turn_id)?;
    if around.turn.is_terminal() {
        return Err(ended(&around.turn));
    }
    let gone = end_tree(site, &around.turn)?;
    failpoint::reach!(RecoverSwept);
    if !gone {
        return Err(may_live(&around.turn));
    }
    let kept = match host {
        Some(_) => None,
        None => kept_host(site, turn_id)?,
    };
    let host = host.or(kept.as_ref().map(|host| host as &dyn Host));
    let driver = Driver { base: base.clone(), host, stopped, last: None, before: None, left: Vec::new() };
    let mut recovery = Recovery { driver, lock };
    if recovery.settle_past(site, &around)? {
        let Recovery { driver, lock } = recovery;
        return driver.drive(site, lock);
    }
    let receipt = recovery.driver.last.take().ok_or_else(|| unresolved(&around.turn))?;
    finished(site, recovery.lock, receipt)
}

struct Recovery<'h> {
    driver: Driver<'h, dyn Fn() -> bool + 'h>,
    lock: DriverLock,
}

impl Recovery<'_> {
    /// Settles what the crash left open; yes, when the driver can go on from there.
    fn settle_past(&mut self, site: &mut Site<'_>, around: &Around) -> Result<bool> {
        let turn = &around.turn;
        if turn.stop_wish.is_some() && !matches!(turn.state, TurnState::Unresolved { .. } | TurnState::Held { .. }) {
            self.prove(site, around)?;
            return Ok(false);
        }
        match &turn.state {
            TurnState::Admitted if around.has_expired() => {
                self.prove(site, around)?;
                Ok(false)
            }
            TurnState::Admitted | TurnState::Candidate => Ok(true),
            TurnState::Held { .. } => {
                if around.causes.iter().all(|cause| *cause == crate::model::Cause::TreeBusy) {
                    self.prove(site, around)?;
                }
                Ok(true)
            }
            TurnState::Dispatched => self.dispatched(site, around),
            TurnState::Unresolved { why, .. } => self.unresolved(site, around, *why),
            TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => Ok(false),
        }
    }

    fn prove(&mut self, site: &mut Site<'_>, around: &Around) -> Result<()> {
        let turn_id = around.turn.turn_id;
        let tree = present_tree(site, around)?;
        let step = Step::Prove { turn_id, executor_gone: true, tree };
        let operation = around.proof(self.driver.base.step("prove")?, step);
        self.driver.last = Some(self.lock.submit(site.authority, operation)?);
        Ok(())
    }

    /// An attempt without a recorded end: its result if it left one, else another attempt, if nothing can have changed.
    fn dispatched(&mut self, site: &mut Site<'_>, around: &Around) -> Result<bool> {
        let turn = &around.turn;
        let Some(attempt) = turn.attempts.last() else { return Ok(true) };
        if attempt.end.as_ref().is_some_and(|end| end.failure.is_some()) {
            return Ok(true);
        }
        if let Some(judged) = self.kept_result(site, around, attempt)? {
            self.driver.take_in(site, &self.lock, around, attempt.number, judged)?;
            return Ok(true);
        }
        if around.has_expired() {
            self.prove(site, around)?;
            return Ok(false);
        }
        let (turn_id, own_id) = (turn.turn_id, turn.own_id);
        if unchanged(site, around, attempt)? {
            let failure = Some(HostFailure::Crashed);
            self.driver.end(site, &self.lock, around, attempt.number, failure, self.driver.host.is_some(), None)?;
            return Ok(true);
        }
        let name = format!("end.{}", attempt.number);
        self.driver.submit(site, &self.lock, around, &name, Step::Lose { turn_id, own_id, executor_gone: true })?;
        Ok(false)
    }

    fn unresolved(&mut self, site: &mut Site<'_>, around: &Around, why: Unresolved) -> Result<bool> {
        let turn = &around.turn;
        let attempt = turn.attempts.last();
        let found = match (why, attempt) {
            (Unresolved::Inconclusive, _) if turn.candidate.is_some() => Found::Again,
            (Unresolved::Lost | Unresolved::Incarnation | Unresolved::Inconclusive, Some(attempt)) => {
                match self.kept_result(site, around, attempt)? {
                    Some(Judged::Result(result)) if why == Unresolved::Lost => {
                        Found::Result(Box::new(self.driver.candidate(site, around, &result)?.0))
                    }
                    Some(Judged::Failed { failure, .. }) => Found::Nothing(failure),
                    Some(Judged::Result(_) | Judged::Stopped) | None if unchanged(site, around, attempt)? => {
                        Found::Nothing(HostFailure::Crashed)
                    }
                    Some(Judged::Result(_) | Judged::Stopped) | None => return Err(unresolved(turn)),
                }
            }
            (Unresolved::Lost | Unresolved::Incarnation | Unresolved::Inconclusive, None) => {
                Found::Nothing(HostFailure::Crashed)
            }
        };
        self.prove_gone(site, around)?;
        let step = Step::Recover { turn_id: turn.turn_id, own_id: turn.own_id, found };
        self.driver.submit(site, &self.lock, around, "recover", step)?;
        Ok(true)
    }

    /// Records first that the executor is gone, where that is not known yet.
    fn prove_gone(&mut self, site: &mut Site<'_>, around: &Around) -> Result<()> {
        if matches!(around.turn.state, TurnState::Unresolved { executor_gone: false, .. }) {
            self.prove(site, around)?;
        }
        Ok(())
    }

    /// What the last attempt said, if it was kept.
    fn kept_result(&self, site: &mut Site<'_>, around: &Around, attempt: &Attempt) -> Result<Option<Judged>> {
        let turn = &around.turn;
        let Some(body) = site.private.latest(Kind::Result, &spool_id(turn.turn_id, attempt.number))? else { return Ok(None) };
        let judged = match self.driver.host {
            Some(host) => host.reread(&body.bytes, &turn.turn_key),
            None => CommandHost::new(placeholder())?.reread(&body.bytes, &turn.turn_key),
        };
        Ok(Some(judged))
    }
}

/// A host that is only asked to read.
fn placeholder() -> Hosting {
    Hosting { argv: vec!["-".to_owned()], folder: "/".into(), wall_ms: 0, attempts_max: 1 }
}

fn resume_attached(site: &mut Site<'_>, around: Around, base: &OperationId, stopped: &dyn Fn() -> bool) -> Result<Done> {
    let turn_id = around.turn.turn_id;
    let mut last = None;
    match around.turn.state {
        TurnState::Held { .. } | TurnState::Dispatched | TurnState::Admitted => return prove(site, turn_id, base),
        TurnState::Unresolved { why: Unresolved::Inconclusive, .. } => {
            let step = Step::Recover { turn_id, own_id: around.turn.own_id, found: Found::Again };
            last = Some(site.authority.submit_step(around.step(base.step("recover")?, step))?);
        }
        TurnState::Unresolved { .. } => return Err(unresolved(&around.turn)),
        TurnState::Candidate => {}
        TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => {
            return Err(ended(&around.turn));
        }
    }
    for name in ["verdict", "verdict.2"] {
        let around = site.around(turn_id)?;
        if !matches!(around.turn.state, TurnState::Candidate) {
            break;
        }
        let Some(step) = examine(site, &around, None, &mut |_| stopped())? else { break };
        last = Some(site.authority.submit_step(around.step(base.step(name)?, step))?);
    }
    let receipt = last.ok_or_else(|| unresolved(&around.turn))?;
    Ok(Done { receipt, around: site.around(turn_id)?, left: Vec::new() })
}

/// Proves every Turn of this machine that waits for a proof, of one Goal or of all; what cannot be proved stays.
///
/// Errors: `store_*`.
pub fn prove_all(site: &mut Site<'_>, goal: Option<&GoalId>) -> Result<Vec<Done>> {
    let mut goals = Vec::new();
    match goal {
        Some(goal) => goals.push(goal.clone()),
        None => loop {
            let after = goals.last().cloned();
            let page = site.authority.read(|view| view.goals(after.as_ref(), 256))?;
            if page.is_empty() {
                break;
            }
            goals.extend(page.into_iter().map(|goal| goal.goal_id));
        },
    }
    let mut done = Vec::new();
    for goal in goals {
        for turn in live(site, &goal)? {
            done.extend(try_prove(site, &turn)?);
        }
    }
    Ok(done)
}

/// Proves the Turns that a write has freed, after its commit: those on its Todos, of its gate, and in what it opened.
///
/// Errors: `store_*`. What cannot be proved stays as it is.
pub fn prove_after(site: &mut Site<'_>, receipt: &Receipt) -> Result<Vec<Done>> {
    let outcome: Outcome = receipt.outcome()?;
    let gate_id = outcome.gate_id;
    let gate = match gate_id {
        Some(gate_id) => {
            let terms = site.authority.present()?;
            site.authority.read(|view| {
                let mut facts = crate::kernel::Facts::new(terms.clone());
                view.load(&[crate::kernel::Read::Gate(gate_id)].into(), &mut facts)?;
                Ok(facts.gate(&gate_id)?.cloned())
            })?
        }
        None => None,
    };
    let concerns = |turn: &Turn| {
        let Some(todo_id) = turn.todo_id() else { return false };
        let by_gate = gate.as_ref().is_some_and(|gate| match &gate.blocks {
            Blocks::Goal => true,
            Blocks::Todos(todos) => todos.contains(todo_id),
        });
        by_gate || outcome.todo_ids.contains(todo_id) || gate_id.is_some_and(|id| turn.acceptance_gate == Some(id))
    };
    let mut done = Vec::new();
    for turn in live(site, receipt.goal_id())? {
        if matches!(turn.state, TurnState::Held { .. }) && concerns(&turn) {
            done.extend(try_prove(site, &turn)?);
        }
    }
    Ok(done)
}

/// Proves what stands in the way of one agent or one Todo, before a claim decides.
///
/// Errors: `store_*`.
pub fn prove_before(site: &mut Site<'_>, goal: &GoalId, concerns: &dyn Fn(&Turn) -> bool) -> Result<Vec<Done>> {
    let mut done = Vec::new();
    for turn in live(site, goal)?.into_iter().filter(|turn| concerns(turn)) {
        done.extend(try_prove(site, &turn)?);
    }
    Ok(done)
}

fn live(site: &mut Site<'_>, goal: &GoalId) -> Result<Vec<Turn>> {
    let filter = TurnFilter { goal, todo: None, agent: None, live: true };
    let mut turns: Vec<Turn> = Vec::new();
    loop {
        let before = turns.last().map(|turn| turn.turn_id.to_string());
        let page = site.authority.read(|view| view.turns(&filter, before.as_deref(), 256))?;
        if page.is_empty() {
            return Ok(turns);
        }
        turns.extend(page);
    }
}

fn try_prove(site: &mut Site<'_>, turn: &Turn) -> Result<Option<Done>> {
    let base = minted_id()?;
    match prove(site, turn.turn_id, &base) {
        Ok(done) => Ok(Some(done)),
        Err(error) => match error.code() {
            Code::NotReady
            | Code::Held
            | Code::ExecutorActive
            | Code::InvalidTransition
            | Code::OwnershipSuperseded
            | Code::GoalClosed
            | Code::UnsupportedPlatform => Ok(None),
            _ => Err(error), // wildcard: what is not a plain no is a failure of the store
        },
    }
}

/// An operation id of LoopX's own: `op_…`.
pub fn minted_id() -> Result<OperationId> {
    use crate::authority::clock::{Clock as _, SystemClock};
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|e| Error::from(Code::Internal).internal(e))?;
    let at = Timestamp::from_ms(SystemClock::new().read()?.wall_ms);
    let id = TurnId::from_bytes(uuid_v7(at, random)).to_string();
    format!("op_{}", id.trim_start_matches(TurnId::PREFIX)).parse()
}

/// Takes the lock of a driven Turn of this machine.
fn take(site: &Site<'_>, turn: &Turn) -> Result<DriverLock> {
    if turn.machine_id.as_ref() != Some(&site.machine.machine_id) {
        return Err(may_live(turn).detail("elsewhere", true));
    }
    DriverLock::take(&site.machine.locks, turn.turn_id)
}

/// Ends whatever carries a mark of the Turn; whether its executor is proved gone.
fn end_tree(site: &Site<'_>, turn: &Turn) -> Result<bool> {
    let mut gone = sweep(&validator_token(turn.turn_id)?)?;
    for attempt in &turn.attempts {
        let same_boot = attempt.boot_id.as_ref() == site.machine.boot_id();
        if !same_boot {
            continue;
        }
        // Another namespace's processes cannot be seen from here, so nothing is proved about them.
        let visible = attempt.pid_namespace.as_ref() == site.machine.pid_namespace();
        gone &= sweep(&attempt_token(turn.turn_id, attempt.number)?)? && visible;
    }
    Ok(gone)
}

/// Whether nothing can have changed since an attempt began: a tree that can be compared, equal to what it was.
fn unchanged(site: &mut Site<'_>, around: &Around, attempt: &Attempt) -> Result<bool> {
    let Some(before) = attempt.tree else { return Ok(false) };
    let Some(folder) = site.folder(&around.turn)? else { return Ok(false) };
    Ok(tree::whole(&folder, &site.machine.env) == Some(before))
}

/// The tree of a Turn as it is now, for a proof that settles.
///
/// Errors: `not_ready` where the result was validated on a tree that this machine does not know.
fn present_tree(site: &mut Site<'_>, around: &Around) -> Result<Option<Digest>> {
    let turn = &around.turn;
    if !matches!(turn.state, TurnState::Held { .. }) {
        return Ok(None);
    }
    let seen = turn.verdict.as_ref().and_then(|verdict| verdict.tree);
    let folder = site.folder(turn)?;
    let tree = folder.as_deref().and_then(|folder| Tree::of(folder, &site.machine.env));
    let digest = tree.map(|tree| tree.digest(&scopes(around)));
    if seen.is_some() && digest.is_none() {
        let message = format!("the work tree of the Turn {} is not on this machine", turn.turn_id);
        return Err(Error::new(Code::NotReady, message).hint(format!("turn show {}", turn.turn_id)));
    }
    Ok(digest)
}

fn kept_host(site: &mut Site<'_>, turn_id: TurnId) -> Result<Option<CommandHost>> {
    let body = site.private.latest(Kind::Hosting, &turn_id.to_string())?;
    body.map(|body| CommandHost::new(Hosting::decode(&body.bytes)?)).transpose()
}

fn finished(site: &mut Site<'_>, lock: DriverLock, receipt: Receipt) -> Result<Done> {
    let around = site.around(lock.turn_id())?;
    if around.turn.is_terminal() {
        lock.close();
    }
    Ok(Done { receipt, around, left: Vec::new() })
}

fn ended(turn: &Turn) -> Error {
    Error::new(Code::InvalidTransition, format!("the Turn {} is {}; it cannot be recovered", turn.turn_id, turn.state.as_str()))
        .detail("turn_id", turn.turn_id.to_string())
        .detail("state", turn.state.as_str())
        .hint(format!("turn show {}", turn.turn_id))
}

fn may_live(turn: &Turn) -> Error {
    let id = turn.turn_id;
    let error = Error::new(Code::ExecutorActive, format!("the executor of the Turn {id} may still live"))
        .detail("turn_id", id.to_string())
        .hint(format!("turn show {id}"));
    match turn.open_attempt().and_then(|attempt| attempt.deadline_at) {
        Some(deadline) if turn.executor != Executor::Attached => error.detail("until_ms", deadline.plus(GRACE).as_ms()),
        Some(_) | None => error,
    }
}

fn unresolved(turn: &Turn) -> Error {
    let id = turn.turn_id;
    Error::new(Code::TurnUnresolved, format!("what the Turn {id} did cannot be told from here"))
        .detail("turn_id", id.to_string())
        .hint(format!("turn abandon {id} --reason TEXT"))
}
