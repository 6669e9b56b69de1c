//! Owns recording what can be proved of a Turn on this machine; it starts nothing.
//!
//! Knows no rule; it finds out what is true and submits that. Invariant: a driven Turn is touched only with its
//! driver's lock in hand, on the machine of its attempt, after whatever carries its mark was ended.

use super::{
    again,
    attached::{Done, Proving},
    commits::{Commit, is_about},
    examine::scopes,
    guard::{self, Presence},
    lock::{DriverLock, Driverless},
    site::{Around, Emptied, Site, emptied, sweep, validator_token},
};
use crate::{
    authority::{StepRight, TurnFilter, random},
    error::{Code, Error, Result},
    failpoint,
    kernel::{self, GRACE, Step},
    model::{
        Attempt, Digest, Executor, GoalId, OperationId, Receipt, Timestamp, Turn, TurnId, TurnState, uuid_v7,
    },
    process::{Leaf, alive_by_token},
};

/// Records what can be proved of a Turn, and starts nothing.
///
/// Errors: `executor_active` while its driver lives or its attempt belongs to another machine; `not_ready` and `held`
/// when there is nothing to prove yet; `invalid_transition` when it has ended.
pub fn prove(site: &mut Site<'_>, turn_id: TurnId, base: &OperationId) -> Result<Done> {
    prove_by(site, turn_id, base, None)
}

/// As [`prove`], by the right that whoever proves it has already, where it is an attached one.
pub(super) fn prove_by(
    site: &mut Site<'_>,
    turn_id: TurnId,
    base: &OperationId,
    right: Option<&Proving>,
) -> Result<Done> {
    let around = site.around(turn_id)?;
    let proof_id = Commit::Prove.of(base)?;
    // Given again, it returns what it returned: what can be proved by now is another proof.
    if let Some(receipt) = site.receipt(&proof_id)?
        && is_about(&receipt, turn_id)?
    {
        return Ok(Done { receipt, around, left: Vec::new() });
    }
    if around.turn.is_driven() && !around.turn.is_terminal() {
        let lock = take(site, &around.turn)?;
        let around = site.around(turn_id)?;
        // A host that goes on under its guardian is left to whoever drives the Turn next.
        if around.turn.stop_wish.is_some() || around.has_expired() {
            end_guardians(site, &around.turn)?;
        }
        let gone = end_tree(site, &around.turn)?;
        failpoint::reach!(RecoverSwept);
        let tree = present_tree(site, &around)?;
        let step = Step::Prove { turn_id, executor_gone: gone == Emptied::Proved, tree };
        let receipt = site.authority.submit_step(&lock, around.proof(proof_id, step));
        let receipt = receipt.map_err(|error| again::with_causes(error, &around))?;
        return finished(site, lock, receipt);
    }
    let tree = present_tree(site, &around)?;
    let step = Step::Prove { turn_id, executor_gone: false, tree };
    let driverless = Driverless::of(&around.turn)?;
    let right: &dyn StepRight = right.map_or(&driverless, |right| right);
    let receipt = site.authority.submit_step(right, around.proof(proof_id, step));
    let receipt = receipt.map_err(|error| again::with_causes(error, &around))?;
    site.snapshots_around(&receipt);
    Ok(Done { receipt, around: site.around(turn_id)?, left: Vec::new() })
}

/// A Turn that was proved, and where it stood before.
#[derive(Debug)]
pub struct Proved {
    /// As it was found.
    pub was: Turn,
    /// Where the proof left it.
    pub done: Done,
}

/// Proves every Turn of this machine that waits for a proof, of one Goal or of all; what cannot be proved stays.
///
/// Errors: `store_*`.
pub fn prove_all(site: &mut Site<'_>, goal: Option<&GoalId>) -> Result<Vec<Proved>> {
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
        for was in live(site, &goal)? {
            let proved = try_prove(site, &was)?;
            done.extend(proved.map(|done| Proved { was, done }));
        }
    }
    clear_locks(site)?;
    site.snapshots_of_ended();
    Ok(done)
}

/// Removes what drivers left behind that died before their admission, or whose Turn somebody else ended.
fn clear_locks(site: &mut Site<'_>) -> Result<()> {
    Leaf::clear_abandoned();
    let mut left = guard::left(site.machine);
    left.extend(DriverLock::files(&site.machine.locks));
    for turn_id in left {
        let Ok(lock) = DriverLock::left(&site.machine.locks, turn_id) else { continue };
        let is_over = match site.around(turn_id) {
            Ok(around) => clear_up(site, &around.turn),
            Err(error) if error.code() == Code::NotFound => true,
            Err(error) => return Err(error),
        };
        if let Some(lock) = lock.filter(|_| is_over) {
            lock.close();
        }
    }
    Ok(())
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

pub(super) fn try_prove(site: &mut Site<'_>, turn: &Turn) -> Result<Option<Done>> {
    let base = minted_id()?;
    unless_plain_no(prove(site, turn.turn_id, &base))
}

/// What was proved; none where a plain no says that there was nothing to prove.
pub(super) fn unless_plain_no(proved: Result<Done>) -> Result<Option<Done>> {
    match proved {
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
    DriverLock::take_over(&site.machine.locks, turn.turn_id)
}

/// Ends what a Turn that is given up has left on this machine, and records that it is gone where an attempt is open.
///
/// Elsewhere nothing can be ended, and the rule waits for the attempt's time. Errors: `executor_active` while its driver
/// and an attempt live here, or where something cannot be ended; `store_*`.
pub fn end_left(site: &mut Site<'_>, turn: &Turn) -> Result<()> {
    let turn_id = turn.turn_id;
    let is_here = turn.machine_id.as_ref() == Some(&site.machine.machine_id);
    if turn.is_terminal() || turn.is_driven() && !is_here {
        return Ok(());
    }
    if !turn.is_driven() {
        let lock = Proving::take(site, turn)?;
        let is_swept = sweep(&validator_token(turn_id)?, None);
        lock.close();
        if is_swept? {
            return Ok(());
        }
        return Err(validator_lives(turn_id));
    }
    let lock = match take(site, turn) {
        Ok(lock) => lock,
        // A driver that lives and has nothing at work finds at its next commit that it was given up.
        Err(error) if error.code() == Code::ExecutorActive && is_idle(turn)? => return Ok(()),
        Err(error) if error.code() == Code::ExecutorActive => {
            return Err(error.hint(format!("turn stop {turn_id}")));
        }
        Err(error) => return Err(error),
    };
    let around = site.around(turn_id)?;
    end_guardians(site, &around.turn)?;
    // Where nothing of it is seen, a person's word is what ends it.
    let may_live_on = end_tree(site, &around.turn)? == Emptied::Alive;
    let Some(attempt) = around.turn.open_attempt() else {
        return if may_live_on { Err(may_live(&around.turn)) } else { Ok(()) };
    };
    if may_live_on {
        // What another namespace hides cannot be ended from here, no more than what is on another machine.
        return if is_visible(site, attempt) { Err(may_live(&around.turn)) } else { Ok(()) };
    }
    let step = Step::Prove { turn_id, executor_gone: true, tree: None };
    let operation = around.proof(Commit::Prove.of(&minted_id()?)?, step);
    site.authority.submit_step(&lock, operation).map(drop)
}

/// The error while a validator cannot be ended.
pub(super) fn validator_lives(turn_id: TurnId) -> Error {
    Error::new(Code::ExecutorActive, format!("a validator of the Turn {turn_id} cannot be ended"))
        .detail("turn_id", turn_id.to_string())
        .hint(format!("turn show {turn_id}"))
}

/// Whether neither a host nor a validator of a driven Turn is at work here.
fn is_idle(turn: &Turn) -> Result<bool> {
    Ok(turn.open_attempt().is_none() && alive_by_token(&validator_token(turn.turn_id)?)?.is_empty())
}

/// Ends whatever carries a mark of the Turn; what is known of its executor then.
///
/// Errors: `executor_active` while a host goes on under its guardian; then nothing of it is touched.
pub(super) fn end_tree(site: &Site<'_>, turn: &Turn) -> Result<Emptied> {
    if let Some(attempt) = turn.open_attempt()
        && let Some(Presence::Alive(_)) = guardian_of(site, turn, attempt)?
    {
        return Err(guarded(turn));
    }
    let is_swept = sweep(&validator_token(turn.turn_id)?, None)?;
    let mut known = if is_swept { Emptied::Proved } else { Emptied::Alive };
    for attempt in turn.attempts.iter().filter(|attempt| attempt.containment.is_some()) {
        if is_of_earlier_boot(site, attempt) {
            continue;
        }
        // Another namespace's processes cannot be seen from here, so nothing is proved about them.
        known = known.min(if is_visible(site, attempt) {
            emptied(site.machine, turn.turn_id, attempt.number)?
        } else {
            Emptied::Alive
        });
    }
    Ok(known)
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
    if is_of_earlier_boot(site, attempt) {
        return Ok(None);
    }
    guard::find(site.machine, turn.turn_id, attempt.number, is_visible(site, attempt), true).map(Some)
}

/// Whether the machine was started anew since an attempt began; no, where either is unknown: then it is looked for.
fn is_of_earlier_boot(site: &Site<'_>, attempt: &Attempt) -> bool {
    attempt.boot_id.as_ref().zip(site.machine.boot_id()).is_some_and(|(then, now)| then != now)
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
    if clear_up(site, turn) {
        lock.close();
    }
}

/// Removes what was kept to bring a Turn on that has ended; whether it has.
fn clear_up(site: &mut Site<'_>, turn: &Turn) -> bool {
    if !turn.is_terminal() {
        return false;
    }
    site.snapshots_of_ended();
    // One more than there are: a guardian may have died before its attempt was recorded.
    for number in (1..).take(turn.attempts.len() + 1) {
        guard::clear(site.machine, turn.turn_id, number);
    }
    true
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
