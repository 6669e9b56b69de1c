//! Owns recording what can be proved of a Turn on this machine; it starts nothing.
//!
//! Knows no rule; it finds out what is true and submits that. Invariant: a driven Turn is touched only with its
//! driver's lock in hand, on the machine of its attempt, after whatever carries its mark was ended.

use std::collections::BTreeSet;

use super::{
    again,
    attached::{Done, proving},
    driver::is_of,
    examine::scopes,
    guard::{self, Presence},
    lock::{DriverLock, Driverless},
    site::{Around, Site, emptied, sweep, validator_token},
};
use crate::{
    authority::{Authority, TurnFilter, View, random},
    error::{Code, Error, Result},
    failpoint,
    kernel::{
        self, AgentCommand, ClaimCommand, Command, Facts, GRACE, Outcome, Read, Step, TodoCommand,
        TurnCommand,
    },
    model::{
        Actor, Attempt, Digest, Executor, GoalId, OperationId, Receipt, Timestamp, TodoId, Turn, TurnId,
        TurnState, gathered, uuid_v7,
    },
    process::{Leaf, alive_by_token},
};

/// Records what can be proved of a Turn, and starts nothing.
///
/// Errors: `executor_active` while its driver lives or its attempt belongs to another machine; `not_ready` and `held`
/// when there is nothing to prove yet; `invalid_transition` when it has ended.
pub fn prove(site: &mut Site<'_>, turn_id: TurnId, base: &OperationId) -> Result<Done> {
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
        // A host that goes on under its guardian is left to whoever drives the Turn next.
        if around.turn.stop_wish.is_some() || around.has_expired() {
            end_guardians(site, &around.turn)?;
        }
        let gone = end_tree(site, &around.turn)?;
        failpoint::reach!(RecoverSwept);
        let tree = present_tree(site, &around)?;
        let step = Step::Prove { turn_id, executor_gone: gone, tree };
        let receipt = site.authority.submit_step(&lock, around.proof(proof_id, step));
        let receipt = receipt.map_err(|error| again::with_causes(error, &around))?;
        return finished(site, lock, receipt);
    }
    let tree = present_tree(site, &around)?;
    let step = Step::Prove { turn_id, executor_gone: false, tree };
    let right = Driverless::of(&around.turn)?;
    let receipt = site.authority.submit_step(&right, around.proof(proof_id, step));
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
/// and of its agent; of what takes a Todo away otherwise, the one that is driven. What an attached agent is at
/// work on is none of them: a claim ends it itself when it has lapsed.
///
/// Errors: `store_*`.
pub fn in_the_way(
    authority: &mut Authority,
    goal: &GoalId,
    command: &Command,
    actor: &Actor,
) -> Result<Vec<Turn>> {
    let everybodys = TurnFilter { goal, todo: None, agent: None, live: true };
    let Command::Claim(ClaimCommand::Claim(claim)) = command else {
        let Some(todo) = takes_away(command) else { return Ok(Vec::new()) };
        let of_todo = TurnFilter { todo: Some(todo), ..everybodys };
        let terms = authority.present()?;
        return authority.read(|view| {
            let mut facts = Facts::new(terms.clone());
            view.load(&[Read::Todo(todo.clone())].into(), &mut facts)?;
            let own = facts.todo(todo)?.and_then(|todo| todo.ownership.as_ref());
            // While its time lasts, the rule refuses.
            if own.is_some_and(|own| !facts.is_expired(own)) {
                return Ok(Vec::new());
            }
            let found = view.turns(&of_todo, None, 1)?;
            Ok(found.into_iter().filter(Turn::is_driven).collect())
        });
    };
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

/// The Todo that a command takes from whoever works on it, once his time is over.
fn takes_away(command: &Command) -> Option<&TodoId> {
    match command {
        Command::Claim(
            ClaimCommand::ForceRelease { todo_id, .. } | ClaimCommand::Transfer { todo_id, .. },
        )
        | Command::Todo(
            TodoCommand::Cancel { todo_id, .. }
            | TodoCommand::Defer { todo_id, .. }
            | TodoCommand::Block { todo_id, .. }
            | TodoCommand::Complete { todo_id, .. },
        ) => Some(todo_id),
        _ => None, // wildcard: every other command ends no Turn, or is refused while one runs
    }
}

/// Proves what can be proved of Turns, before a command decides.
///
/// Errors: `executor_active` where the time of a Turn is over while its driver lives here, or what it started cannot be
/// ended: nobody takes over from what may be at work; `store_*`. What else cannot be proved stays as it is.
pub fn prove_each(site: &mut Site<'_>, turns: &[Turn]) -> Result<Vec<Done>> {
    let mut done = Vec::new();
    for turn in turns {
        let is_here = turn.machine_id.as_ref() == Some(&site.machine.machine_id);
        if is_here && turn.is_driven() && site.around(turn.turn_id)?.has_expired() {
            match prove(site, turn.turn_id, &minted_id()?) {
                Err(error) if error.code() == Code::ExecutorActive => {
                    return Err(error.hint(format!("turn stop {}", turn.turn_id)));
                }
                proved => done.extend(unless_plain_no(proved)?),
            }
            continue;
        }
        done.extend(try_prove(site, turn)?);
    }
    Ok(done)
}

/// Settles the held Turns that a write has freed, after its commit: those of its Goal that nothing holds any more, and
/// those of any Goal that wait for the work tree of the Turn it moved.
///
/// Errors: `store_*`. What cannot be proved stays as it is.
pub fn prove_after(site: &mut Site<'_>, receipt: &Receipt) -> Result<Vec<Done>> {
    let mut done = Vec::new();
    let Some(goal) = receipt.goal_id() else { return Ok(done) };
    let mut turns = live(site, goal)?;
    turns.extend(beside(site, receipt)?);
    for turn in turns {
        if matches!(turn.state, TurnState::Held { .. }) {
            let causes = site.around(turn.turn_id)?.causes;
            if kernel::is_provable(&causes) {
                done.extend(try_prove(site, &turn)?);
            }
        }
    }
    Ok(done)
}

/// The held Turns of other Goals in the work tree of the Turn that a write moved.
fn beside(site: &mut Site<'_>, receipt: &Receipt) -> Result<Vec<Turn>> {
    const LOOKED_AT: usize = 256;
    let Some(turn_id) = receipt.outcome::<Outcome>()?.turn_id else { return Ok(Vec::new()) };
    let terms = site.authority.present()?;
    site.authority.read(|view| {
        let load = |view: &mut dyn View, ids: BTreeSet<TurnId>| {
            let mut facts = Facts::new(terms.clone());
            view.load(&gathered(ids.iter().copied().map(Read::Turn)), &mut facts)?;
            Ok(facts.rows().turns.values().filter(|turn| ids.contains(&turn.turn_id)).cloned().collect())
        };
        let moved: Vec<Turn> = load(view, [turn_id].into())?;
        let Some((turn, tree)) = moved.first().and_then(|turn| Some((turn, turn.workspace.as_ref()?.tree())))
        else {
            return Ok(Vec::new());
        };
        let owned = view.owned_in(&tree, LOOKED_AT)?;
        let elsewhere = owned.iter().filter(|todo| *todo.todo_id.goal() != turn.goal_id);
        let frozen = elsewhere.filter_map(|todo| todo.ownership.as_ref()).filter(|own| own.frozen);
        load(view, gathered(frozen.map(|own| own.turn_id)))
    })
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
    unless_plain_no(prove(site, turn.turn_id, &base))
}

/// What was proved; none where a plain no says that there was nothing to prove.
fn unless_plain_no(proved: Result<Done>) -> Result<Option<Done>> {
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
    DriverLock::take(&site.machine.locks, turn.turn_id)
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
        let lock = proving(site, turn)?;
        let is_swept = sweep(&validator_token(turn_id)?, None);
        lock.close();
        if is_swept? {
            return Ok(());
        }
        return Err(Error::new(
            Code::ExecutorActive,
            format!("a validator of the Turn {turn_id} cannot be ended"),
        ));
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
    let is_gone = end_tree(site, &around.turn)?;
    let Some(attempt) = around.turn.open_attempt() else {
        return if is_gone { Ok(()) } else { Err(may_live(&around.turn)) };
    };
    if !is_gone {
        // What another namespace hides cannot be ended from here, no more than what is on another machine.
        return if is_visible(site, attempt) { Err(may_live(&around.turn)) } else { Ok(()) };
    }
    let step = Step::Prove { turn_id, executor_gone: true, tree: None };
    let operation = around.proof(minted_id()?.step("prove")?, step);
    site.authority.submit_step(&lock, operation).map(drop)
}

/// Whether neither a host nor a validator of a driven Turn is at work here.
fn is_idle(turn: &Turn) -> Result<bool> {
    Ok(turn.open_attempt().is_none() && alive_by_token(&validator_token(turn.turn_id)?)?.is_empty())
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
    for attempt in turn.attempts.iter().filter(|attempt| attempt.containment.is_some()) {
        if is_of_earlier_boot(site, attempt) {
            continue;
        }
        // Another namespace's processes cannot be seen from here, so nothing is proved about them.
        gone &= is_visible(site, attempt) && emptied(site.machine, turn.turn_id, attempt.number)?;
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
    if is_of_earlier_boot(site, attempt) {
        return Ok(None);
    }
    guard::find(site.machine, turn.turn_id, attempt.number, is_visible(site, attempt)).map(Some)
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
