//! Owns recording what can be proved of a Turn on this machine; it starts nothing.
//!
//! Knows no rule; it finds out what is true and submits that. Invariant: a driven Turn is touched only with its
//! driver's lock in hand, on the machine of its attempt, after whatever carries its mark was ended.

use super::{
    attached::Done,
    driver::is_of,
    examine::scopes,
    guard::{self, Presence},
    lock::{DriverLock, Driverless},
    site::{Around, Site, emptied, sweep, validator_token},
};
use crate::{
    authority::{Authority, TurnFilter, random},
    error::{Code, Error, Result},
    failpoint,
    kernel::{self, AgentCommand, ClaimCommand, Command, GRACE, Step, TodoCommand, TurnCommand},
    model::{
        Actor, Attempt, Digest, Executor, GoalId, OperationId, Receipt, Timestamp, Turn, TurnId, TurnState,
        uuid_v7,
    },
    process::Leaf,
};

/// Records what can be proved of a Turn, and starts nothing.
///
/// Errors: `executor_active` while its driver lives or its attempt belongs to another machine; `not_ready` and `held`
/// when there is nothing to prove yet; `invalid_transition` when it has ended.
pub fn prove(site: &mut Site<'_>, turn_id: TurnId, base: &OperationId) -> Result<Done> {
    prove_by(site, turn_id, base, By::Waiting)
}

/// As [`prove`], and ends the executor of the Turn first, on the machine of its attempt, whatever it is at: for whoever
/// gives the Turn up.
///
/// Errors: as [`prove`].
pub fn prove_ended(site: &mut Site<'_>, turn_id: TurnId, base: &OperationId) -> Result<Done> {
    prove_by(site, turn_id, base, By::Ending)
}

/// What is done about a host that goes on under its guardian, without a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// It is left to whoever drives the Turn next, unless it was wished to stop or its time is over.
    Waiting,
    /// It is ended.
    Ending,
}

fn prove_by(site: &mut Site<'_>, turn_id: TurnId, base: &OperationId, by: By) -> Result<Done> {
    let around = site.around(turn_id)?;
    let proof_id = base.step("prove")?;
    // Given again, it returns what it returned: what can be proved by now is another proof.
    if let Some(receipt) = site.receipt(&proof_id)?
        && is_of(&receipt, turn_id)?
    {
        return Ok(Done { receipt, around, left: Vec::new() });
    }
    if around.turn.is_driven() && !around.turn.is_terminal() {
        let lock = take(site, &around.turn)?;
        let around = site.around(turn_id)?;
        if by == By::Ending || around.turn.stop_wish.is_some() || around.has_expired() {
            end_guardians(site, &around.turn)?;
        }
        let gone = end_tree(site, &around.turn)?;
        failpoint::reach!(RecoverSwept);
        let tree = present_tree(site, &around)?;
        let step = Step::Prove { turn_id, executor_gone: gone, tree };
        let receipt = site.authority.submit_step(&lock, around.proof(proof_id, step))?;
        return finished(site, lock, receipt);
    }
    let tree = present_tree(site, &around)?;
    let step = Step::Prove { turn_id, executor_gone: false, tree };
    let right = Driverless::of(&around.turn)?;
    let receipt = site.authority.submit_step(&right, around.proof(proof_id, step))?;
    site.snapshots_around(&receipt);
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
    clear_locks(site)?;
    site.snapshots_of_ended();
    Ok(done)
}

/// Removes what drivers left behind that died before their admission, or whose Turn somebody else ended.
fn clear_locks(site: &mut Site<'_>) -> Result<()> {
    Leaf::clear_abandoned();
    for turn_id in DriverLock::files(&site.machine.locks) {
        let Ok(lock) = DriverLock::take(&site.machine.locks, turn_id) else { continue };
        match site.around(lock.turn_id()) {
            Ok(around) => let_go(site, lock, &around.turn),
            Err(error) if error.code() == Code::NotFound => lock.close(),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a command can take away what holds a result, so that [`prove_after`] is worth its reads: a question, a pause, a
/// dependency, or the work that another waits for, its agent or its work tree.
pub fn may_free(command: &Command) -> bool {
    match command {
        Command::Gate(_) | Command::Batch(_) => true,
        Command::Todo(command) => match command {
            TodoCommand::Unhold { .. }
            | TodoCommand::Update { .. }
            | TodoCommand::Unlink { .. }
            | TodoCommand::Complete { .. }
            | TodoCommand::Resolve { .. }
            // What ends an attached Turn leaves its agent free and its work tree still.
            | TodoCommand::Cancel { .. }
            | TodoCommand::Defer { .. }
            | TodoCommand::Block { .. } => true,
            TodoCommand::Add(_)
            | TodoCommand::Link { .. }
            | TodoCommand::Unblock { .. }
            | TodoCommand::Hold { .. }
            | TodoCommand::Reopen { .. } => false,
        },
        Command::Claim(command) => match command {
            ClaimCommand::Release { .. }
            | ClaimCommand::ForceRelease { .. }
            | ClaimCommand::Transfer { .. } => true,
            ClaimCommand::Claim(_) | ClaimCommand::Renew { .. } => false,
        },
        Command::Turn(command) => match command {
            TurnCommand::Stop { .. } | TurnCommand::Abandon { .. } => true,
            TurnCommand::Accept { .. } => false,
        },
        Command::Agent(command) => match command {
            AgentCommand::Retire { .. } => true,
            AgentCommand::Add { .. } => false,
        },
        // A Goal that is closed ends all that is held with it.
        Command::Goal(_) | Command::Quota(_) | Command::Evidence(_) => false,
    }
}

/// The live Turns that a command finds in its way, and that a proof may lead out of it: of a claim, those of its Todo
/// and of its agent. What an attached agent is at work on is none of them: a claim ends it itself when it has lapsed.
///
/// Errors: `store_*`.
pub fn in_the_way(
    authority: &mut Authority,
    goal: &GoalId,
    command: &Command,
    actor: &Actor,
) -> Result<Vec<Turn>> {
    let Command::Claim(ClaimCommand::Claim(claim)) = command else { return Ok(Vec::new()) };
    let everybodys = TurnFilter { goal, todo: None, agent: None, live: true };
    let of_todo = TurnFilter { todo: Some(&claim.todo_id), ..everybodys.clone() };
    let own = actor.agent().map(|(agent, _)| TurnFilter { agent: Some(agent), ..everybodys.clone() });
    let mut found = authority.read_first(|view| {
        let mut found = view.turns(&of_todo, None, 1)?;
        if let Some(own) = &own {
            found.extend(
                view.turns(own, None, 256)?.into_iter().filter(|turn| turn.todo_id() != Some(&claim.todo_id)),
            );
        }
        Ok(found)
    })?;
    found.retain(|turn| {
        turn.is_driven() || matches!(turn.state, TurnState::Held { .. } | TurnState::Unresolved { .. })
    });
    Ok(found)
}

/// Proves what can be proved of Turns, before a command decides.
///
/// Errors: `store_*`. What cannot be proved stays as it is.
pub fn prove_each(site: &mut Site<'_>, turns: &[Turn]) -> Result<Vec<Done>> {
    let mut done = Vec::new();
    for turn in turns {
        done.extend(try_prove(site, turn)?);
    }
    Ok(done)
}

/// Settles the held Turns of a Goal that a write has freed, after its commit: those that nothing holds any more.
///
/// Errors: `store_*`. What cannot be proved stays as it is.
pub fn prove_after(site: &mut Site<'_>, receipt: &Receipt) -> Result<Vec<Done>> {
    let mut done = Vec::new();
    let Some(goal) = receipt.goal_id() else { return Ok(done) };
    for turn in live(site, goal)? {
        if matches!(turn.state, TurnState::Held { .. }) {
            let causes = site.around(turn.turn_id)?.causes;
            if kernel::is_provable(&causes) {
                done.extend(try_prove(site, &turn)?);
            }
        }
    }
    Ok(done)
}

/// Proves what stands in the way of one agent or one Todo, before a claim decides.
///
/// Errors: `store_*`.
pub fn prove_before(
    site: &mut Site<'_>,
    goal: &GoalId,
    concerns: &dyn Fn(&Turn) -> bool,
) -> Result<Vec<Done>> {
    let turns: Vec<_> = live(site, goal)?.into_iter().filter(|turn| concerns(turn)).collect();
    prove_each(site, &turns)
}

pub(super) fn live(site: &mut Site<'_>, goal: &GoalId) -> Result<Vec<Turn>> {
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
    let at = Timestamp::from_ms(SystemClock::new().read()?.wall_ms);
    let id = TurnId::from_bytes(uuid_v7(at, random::bytes()?)).to_string();
    format!("op_{}", id.trim_start_matches(TurnId::PREFIX)).parse()
}

/// Takes the lock of a driven Turn of this machine.
pub(super) fn take(site: &Site<'_>, turn: &Turn) -> Result<DriverLock> {
    if turn.machine_id.as_ref() != Some(&site.machine.machine_id) {
        return Err(may_live(turn).detail("elsewhere", true));
    }
    DriverLock::take(&site.machine.locks, turn.turn_id)
}

/// Ends the validators of an attached Turn that a process which died has left.
///
/// Errors: `executor_active` when one cannot be ended.
pub fn end_validators(turn_id: TurnId) -> Result<()> {
    if sweep(&validator_token(turn_id)?, None)? {
        return Ok(());
    }
    Err(Error::new(Code::ExecutorActive, format!("a validator of the Turn {turn_id} cannot be ended")))
}

/// Ends whatever carries a mark of the Turn; whether its executor is proved gone.
///
/// Errors: `executor_active` while a host goes on under its guardian; then nothing of it is touched.
pub(super) fn end_tree(site: &Site<'_>, turn: &Turn) -> Result<bool> {
    if let Some(attempt) = turn.open_attempt()
        && let Some(Presence::Alive(_)) = guardian_of(site, turn, attempt)?
    {
        return Err(guarded(turn));
    }
    let mut gone = sweep(&validator_token(turn.turn_id)?, None)?;
    for attempt in turn.attempts.iter().filter(|attempt| is_of_this_boot(site, attempt)) {
        // Another namespace's processes cannot be seen from here, so nothing is proved about them.
        gone &= emptied(site.machine, turn.turn_id, attempt.number)? && is_visible(site, attempt);
    }
    Ok(gone)
}

/// Ends the guardians of a Turn's attempts, with all that they guard.
///
/// Errors: `executor_active` where one does not end, or cannot be seen from here.
fn end_guardians(site: &Site<'_>, turn: &Turn) -> Result<()> {
    for attempt in &turn.attempts {
        if let Some(Presence::Alive(alive)) = guardian_of(site, turn, attempt)? {
            alive.end()?;
        }
    }
    Ok(())
}

/// What stands of the guardian of an attempt; none for one of an earlier boot, which nothing of survived.
pub(super) fn guardian_of(site: &Site<'_>, turn: &Turn, attempt: &Attempt) -> Result<Option<Presence>> {
    if !is_of_this_boot(site, attempt) {
        return Ok(None);
    }
    guard::find(site.machine, turn.turn_id, attempt.number, is_visible(site, attempt)).map(Some)
}

fn is_of_this_boot(site: &Site<'_>, attempt: &Attempt) -> bool {
    attempt.boot_id.as_ref() == site.machine.boot_id()
}

fn is_visible(site: &Site<'_>, attempt: &Attempt) -> bool {
    attempt.pid_namespace.as_ref() == site.machine.pid_namespace()
}

/// The error while a host goes on under its guardian, without a driver.
fn guarded(turn: &Turn) -> Error {
    let id = turn.turn_id;
    Error::new(Code::ExecutorActive, format!("the host of the Turn {id} works on; its driver is gone"))
        .detail("turn_id", id.to_string())
        .hint(kernel::recover_command(id))
}

/// The tree of a Turn as it is now, for a proof that settles.
///
/// Errors: `not_ready` where the result was validated on a tree that this machine does not know.
pub(super) fn present_tree(site: &mut Site<'_>, around: &Around) -> Result<Option<Digest>> {
    let turn = &around.turn;
    if !matches!(turn.state, TurnState::Held { .. }) {
        return Ok(None);
    }
    let seen = turn.verdict.as_ref().and_then(|verdict| verdict.tree);
    let digest = site.picture(turn)?.map(|tree| tree.digest(&scopes(around)));
    if seen.is_some() && digest.is_none() {
        let message = format!("the work tree of the Turn {} is not on this machine", turn.turn_id);
        return Err(Error::new(Code::NotReady, message).hint(format!("turn show {}", turn.turn_id)));
    }
    Ok(digest)
}

pub(super) fn finished(site: &mut Site<'_>, lock: DriverLock, receipt: Receipt) -> Result<Done> {
    let around = site.around(lock.turn_id())?;
    let_go(site, lock, &around.turn);
    Ok(Done { receipt, around, left: Vec::new() })
}

/// Lets go of a Turn; of one that has ended, also of all that was kept to bring it on.
pub(super) fn let_go(site: &mut Site<'_>, lock: DriverLock, turn: &Turn) {
    if turn.is_terminal() {
        site.snapshots_of_ended();
        // One more than there are: a guardian may have died before its attempt was recorded.
        for number in (1..).take(turn.attempts.len() + 1) {
            guard::clear(site.machine, turn.turn_id, number);
        }
        lock.close();
    }
}

pub(super) fn may_live(turn: &Turn) -> Error {
    let id = turn.turn_id;
    let error = Error::new(Code::ExecutorActive, format!("the executor of the Turn {id} may still live"))
        .detail("turn_id", id.to_string())
        .hint(format!("turn show {id}"));
    match turn.open_attempt().and_then(|attempt| attempt.deadline_at) {
        Some(deadline) if turn.executor != Executor::Attached => {
            error.detail("until_ms", deadline.plus(GRACE).as_ms())
        }
        Some(_) | None => error,
    }
}
