//! Owns bringing a Turn on from where a crash left it: reading a kept result, validating, starting the host again.
//!
//! Knows no rule, and nothing it has not read under the driver's lock. Source: the Turn's table "found, then".

use super::{
    again,
    attached::{Done, Proving},
    commits::{Commit, ROUNDS, last_receipt, unused},
    course::Course,
    driver::{Driver, Flow},
    examine::examine,
    guard::{Presence, Remains},
    host::{Host, Hosting, Judged, KeptHost},
    lock::DriverLock,
    outcome::{Closing, Loss, awake, candidate, remains, unchanged, weaker},
    prove::{end_tree, finished, guardian_of, may_live, present_tree, prove_by, take},
    renewal::Renewal,
    site::{Around, Emptied, Site},
    spool, tries,
    watch::{Phase, Watcher},
};
use crate::{
    error::{Class, Code, Error, Result},
    failpoint,
    kernel::{self, Found, Step},
    model::{Attempt, HostFailure, OperationId, Timestamp, Turn, TurnId, TurnState, Unresolved},
    private::Kind,
};

/// Brings a Turn on from where a crash left it: reads a kept result, validates, starts the host again where nothing
/// can have changed.
///
/// Errors: as [`super::prove()`]; `turn_unresolved` when what happened cannot be told.
pub fn resume(
    site: &mut Site<'_>,
    turn_id: TurnId,
    base: &OperationId,
    host: Option<&dyn Host>,
    watcher: &dyn Watcher,
) -> Result<Done> {
    watcher.sees(Phase::Admitted { turn_id });
    let around = site.around(turn_id)?;
    // Given again, it returns what it returned, unless it was cut off before its end.
    let is_over = around.turn.is_terminal()
        || !around.turn.is_driven() && !matches!(around.turn.state, TurnState::Candidate);
    let given_before = if is_over {
        last_receipt(site, base, &around.turn)?
    } else if around.turn.is_driven() {
        let kept = match host {
            Some(_) => None,
            None => kept_host(site, turn_id)?,
        };
        again::rested(site, base, &around, host.or(kept.as_deref()))?
    } else {
        None
    };
    if let Some(receipt) = given_before {
        return Ok(Done { receipt, around, left: Vec::new() });
    }
    let mut done = if around.turn.is_driven() || around.turn.is_terminal() {
        go_on(site, turn_id, base, host, watcher)
    } else {
        resume_attached(site, &around, base, watcher)
    };
    let was_looked_into = done.as_ref().map_or_else(|error| error.code() == Code::TurnUnresolved, |_| true);
    if was_looked_into {
        tries::note(site, turn_id)?;
        // What is to be done about it may be another thing now.
        if let Ok(done) = &mut done {
            done.around = site.around(turn_id)?;
        }
    }
    done
}

/// As [`resume`], of a driven Turn.
pub(super) fn go_on(
    site: &mut Site<'_>,
    turn_id: TurnId,
    base: &OperationId,
    host: Option<&dyn Host>,
    watcher: &dyn Watcher,
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
    let kept = match host {
        Some(_) => None,
        None => kept_host(site, turn_id)?,
    };
    let host = host.or(kept.as_deref());
    let driver = Driver {
        base: base.clone(),
        host,
        watcher,
        last: None,
        left: Vec::new(),
        held_by: None,
        awake_ms: None,
        ward: None,
        wards: Vec::new(),
        keeper: site.machine.keeper(),
    };
    let stopped = adopt(site, &lock, &driver, &around)?;
    // A wish that came meanwhile counts.
    let around = site.around(turn_id)?;
    let known = end_tree(site, &around.turn)?;
    failpoint::reach!(RecoverSwept);
    if known == Emptied::Alive {
        return Err(may_live(&around.turn));
    }
    let mut recovery = Recovery { driver, lock, stopped, known };
    let goes_on = match recovery.settle_past(site, &around) {
        Err(refused) => recovery.driver.overtaken(site, &recovery.lock, refused).map(|_| true)?,
        Ok(goes_on) => goes_on,
    };
    if goes_on {
        let Recovery { driver, lock, .. } = recovery;
        return driver.drive(site, lock);
    }
    let receipt = recovery.driver.last.take().ok_or_else(|| unresolved(&around.turn))?;
    finished(site, recovery.lock, receipt)
}

/// Waits for a host that goes on under its guardian, as the driver that is gone would have; whether it was asked to stop.
/// Nothing is started beside it.
fn adopt(site: &mut Site<'_>, lock: &DriverLock, driver: &Driver<'_>, around: &Around) -> Result<bool> {
    let Some(attempt) = around.turn.open_attempt() else { return Ok(false) };
    let Some(Presence::Alive(mut alive)) = guardian_of(site, &around.turn, attempt)? else {
        return Ok(false);
    };
    if around.has_expired() {
        return alive.end().map(|()| false);
    }
    let deadline_ms = attempt.deadline_at.map_or(0, Timestamp::as_ms);
    let left_ms = deadline_ms.saturating_sub(site.authority.present()?.now.as_ms());
    let wall_ms = u64::try_from(left_ms).unwrap_or(0);
    alive.until(wall_ms);
    driver.shift(lock, around, attempt.number, wall_ms).watch(site, &mut alive)
}

struct Recovery<'h> {
    driver: Driver<'h>,
    lock: DriverLock,
    /// Whether whoever recovers asked the host to stop.
    stopped: bool,
    /// What is known of what the attempts started.
    known: Emptied,
}

impl Recovery<'_> {
    /// Settles what the crash left open; yes, when the driver can go on from there.
    fn settle_past(&mut self, site: &mut Site<'_>, around: &Around) -> Result<bool> {
        match Course::of(around, self.driver.host.is_some()) {
            Course::Ends => {
                self.prove(site, around)?;
                Ok(false)
            }
            Course::GivesBack => {
                self.driver.stop(site, &self.lock, around)?;
                Ok(false)
            }
            Course::Starts | Course::Validates | Course::Holds => Ok(true),
            Course::Proves => {
                self.prove(site, around)?;
                Ok(true)
            }
            Course::Reads => self.dispatched(site, around),
            Course::Looks(why) => self.unresolved(site, around, why),
            Course::Over => Ok(false),
        }
    }

    fn prove(&mut self, site: &mut Site<'_>, around: &Around) -> Result<()> {
        let turn_id = around.turn.turn_id;
        let tree = present_tree(site, around)?;
        let step = Step::Prove { turn_id, executor_gone: self.known == Emptied::Proved, tree };
        let operation = around.proof(unused(site, &self.driver.base, Commit::Prove)?, step);
        let receipt = site.authority.submit_step(&self.lock, operation);
        self.driver.last = Some(receipt.map_err(|refused| again::with_causes(refused, around))?);
        Ok(())
    }

    /// An attempt without a recorded end: its result if it left one, else another attempt, if nothing can have changed.
    fn dispatched(&mut self, site: &mut Site<'_>, around: &Around) -> Result<bool> {
        let turn = &around.turn;
        let Some(attempt) = turn.attempts.last() else { return Ok(true) };
        if attempt.end.as_ref().is_some_and(|end| end.failure.is_some()) {
            return Ok(true);
        }
        // Nothing is started beside what may live, and nothing it may still change is taken for a result.
        let kept = self.kept(site, around, attempt)?;
        if self.known < Emptied::Proved {
            self.driver.lose(site, &self.lock, around, attempt.number)?;
            return Ok(false);
        }
        let loss = match kept {
            KeptOf::Said(judged) => {
                self.driver.take_in(site, &self.lock, around, attempt.number, judged)?;
                return Ok(true);
            }
            KeptOf::Nothing(loss) => loss,
        };
        if self.stopped {
            self.driver.end(site, &self.lock, around, Closing::stopped(attempt.number))?;
            return Ok(true);
        }
        if around.has_expired() {
            self.prove(site, around)?;
            return Ok(false);
        }
        Ok(self.driver.lost(site, &self.lock, around, attempt.number, &loss)? == Flow::Again)
    }

    fn unresolved(&mut self, site: &mut Site<'_>, around: &Around, why: Unresolved) -> Result<bool> {
        let turn = &around.turn;
        let attempt = turn.attempts.last();
        let mut wake = None;
        let found = match (why, attempt) {
            (Unresolved::Inconclusive, _) if turn.candidate.is_some() => Found::Again,
            (Unresolved::Lost | Unresolved::Incarnation | Unresolved::Inconclusive, Some(attempt)) => {
                let kept = self.kept(site, around, attempt)?;
                if self.known < Emptied::Proved {
                    return Err(unresolved(turn));
                }
                match kept {
                    KeptOf::Said(Judged::Result(result)) if why == Unresolved::Lost => {
                        let (made, woken_by) = candidate(site, around, &result)?;
                        wake = woken_by;
                        Found::Result(Box::new(made))
                    }
                    KeptOf::Said(Judged::Failed { failure, .. }) => Found::Nothing(failure),
                    KeptOf::Nothing(loss @ Loss::NeverStarted(_)) => Found::Nothing(loss.failure()),
                    said @ (KeptOf::Said(Judged::Result(_) | Judged::Stopped) | KeptOf::Nothing(_)) => {
                        if !unchanged(site, around, attempt)? {
                            return Err(unresolved(turn));
                        }
                        Found::Nothing(match said {
                            KeptOf::Nothing(loss) => loss.failure(),
                            KeptOf::Said(_) => HostFailure::Crashed,
                        })
                    }
                }
            }
            (Unresolved::Lost | Unresolved::Incarnation | Unresolved::Inconclusive, None) => {
                Found::Nothing(HostFailure::Crashed)
            }
        };
        self.prove_gone(site, around)?;
        let (turn_id, own_id) = (turn.turn_id, turn.own_id);
        let is_result = matches!(found, Found::Result(_));
        let held_by = self.driver.held_by.take().filter(|_| is_result);
        let awake_ms = self.driver.awake_ms;
        let step = Step::Recover { turn_id, own_id, found, wake, held_by, awake_ms };
        match self.driver.submit(site, &self.lock, around, Commit::Recover, step) {
            // As in a driven end: what a result names costs the host its result, and never strands the Turn.
            Err(error) if is_result && error.code().class() == Class::Usage => {
                let found = Found::Nothing(HostFailure::ResultInvalid);
                let step = Step::Recover { turn_id, own_id, found, wake: None, held_by: None, awake_ms };
                self.driver.submit(site, &self.lock, around, Commit::Invalid, step)?;
            }
            submitted => submitted?,
        }
        Ok(true)
    }

    /// Records first that the executor is gone, where that is not known yet.
    fn prove_gone(&mut self, site: &mut Site<'_>, around: &Around) -> Result<()> {
        if self.known == Emptied::Proved
            && matches!(around.turn.state, TurnState::Unresolved { executor_gone: false, .. })
        {
            self.prove(site, around)?;
        }
        Ok(())
    }

    /// What is kept of the last attempt: where its guardian left it, else in the private store.
    fn kept(&mut self, site: &mut Site<'_>, around: &Around, attempt: &Attempt) -> Result<KeptOf> {
        let turn = &around.turn;
        let reader = match self.driver.host {
            Some(_) => None,
            None => Some(site.hosts.host(attempt.host.as_str(), reader())?),
        };
        let Some(host) = self.driver.host.or(reader.as_deref()) else {
            return Ok(KeptOf::Nothing(Loss::Unknown));
        };
        // How it ended counts before what it said: the folder stays until the Turn has ended.
        let remains = remains(site, around, host, attempt.number)?;
        self.driver.held_by = weaker(site, turn, attempt.number, &remains);
        self.driver.awake_ms = awake(&remains);
        if let Remains::Ended(outcome) = remains {
            spool::keep(site, turn.turn_id, attempt.number, &outcome)?;
            return Ok(KeptOf::Said(host.judge(&outcome, &turn.turn_key)));
        }
        if let Some(body) = spool::result(site, turn.turn_id, attempt.number)? {
            return Ok(KeptOf::Said(host.reread(&body.bytes, &turn.turn_key)));
        }
        Ok(KeptOf::Nothing(match remains {
            Remains::NeverStarted => Loss::NeverStarted(None),
            Remains::Unkept => Loss::Unkept,
            Remains::Unknown | Remains::Abandoned(_) | Remains::Ended(_) => Loss::Unknown,
        }))
    }
}

/// What is kept of an attempt.
enum KeptOf {
    /// What it said, or how it failed.
    Said(Judged),
    /// Nothing that would tell, and why.
    Nothing(Loss),
}

/// The start of a host that is only asked to read, and never started.
pub(super) fn reader() -> Hosting {
    Hosting { argv: vec!["-".to_owned()], folder: "/".into(), wall_ms: 0, attempts_max: 1 }
}

fn resume_attached(
    site: &mut Site<'_>,
    around: &Around,
    base: &OperationId,
    watcher: &dyn Watcher,
) -> Result<Done> {
    let right = Proving::take(site, &around.turn)?;
    // Only what is read under the lock counts.
    let done = match site.around(around.turn.turn_id) {
        Ok(around) => resume_proving(site, &around, &right, base, watcher),
        Err(error) => Err(error),
    };
    right.close();
    done
}

fn resume_proving(
    site: &mut Site<'_>,
    around: &Around,
    right: &Proving,
    base: &OperationId,
    watcher: &dyn Watcher,
) -> Result<Done> {
    let turn_id = around.turn.turn_id;
    let mut last = None;
    // What a proof that died has left is ended first; nothing is validated beside it.
    if end_tree(site, &around.turn)? == Emptied::Alive {
        return Err(may_live(&around.turn));
    }
    match around.turn.state {
        TurnState::Held { .. } | TurnState::Dispatched | TurnState::Admitted => {
            return prove_by(site, turn_id, base, Some(right));
        }
        TurnState::Unresolved { why: Unresolved::Inconclusive, .. } => {
            let own_id = around.turn.own_id;
            let found = Found::Again;
            let step = Step::Recover { turn_id, own_id, found, wake: None, held_by: None, awake_ms: None };
            last = Some(site.authority.submit_step(right, around.step(Commit::Recover.of(base)?, step))?);
        }
        TurnState::Unresolved { .. } => return Err(unresolved(&around.turn)),
        TurnState::Candidate => {}
        TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => {
            return Err(ended(&around.turn));
        }
    }
    let mut keeper = site.machine.keeper();
    for round in ROUNDS {
        let around = site.around(turn_id)?;
        if !matches!(around.turn.state, TurnState::Candidate) {
            break;
        }
        let mut renewal = Renewal::of(&around);
        let wished = &mut |site: &mut Site<'_>, phase: Phase| {
            watcher.sees(phase);
            right.keep();
            renewal.keep(site, &around, &|id, command| around.step(id, command));
            watcher.wants_stop()
        };
        let Some(step) = examine(site, &around, &mut keeper, wished)? else { break };
        last =
            Some(site.authority.submit_step(right, around.step(Commit::OwnVerdict(round).of(base)?, step))?);
    }
    let receipt = last.ok_or_else(|| unresolved(&around.turn))?;
    site.snapshots_around(&receipt);
    Ok(Done { receipt, around: site.around(turn_id)?, left: Vec::new() })
}

/// The host of a Turn, as it was kept, so that the same one is started again.
pub(super) fn kept_host(site: &mut Site<'_>, turn_id: TurnId) -> Result<Option<Box<dyn Host>>> {
    let body = site.private.latest(Kind::Hosting, &turn_id.to_string())?;
    let Some(body) = body else { return Ok(None) };
    let KeptHost { name, hosting } = KeptHost::decode(&body.bytes)?;
    site.hosts.host(&name, hosting).map(Some)
}

/// What would be started again for a Turn, in short and without where it lies; none where nothing was kept.
///
/// Errors: `store_*`.
pub fn starts_again(site: &mut Site<'_>, turn_id: TurnId) -> Result<Option<String>> {
    let host = kept_host(site, turn_id)?;
    Ok(host.map(|host| super::validate::named(&host.hosting().argv)))
}

fn ended(turn: &Turn) -> Error {
    Error::new(
        Code::InvalidTransition,
        format!("the Turn {} is {}; it cannot be recovered", turn.turn_id, turn.state.as_str()),
    )
    .detail("turn_id", turn.turn_id.to_string())
    .detail("state", turn.state.as_str())
    .hint(format!("turn show {}", turn.turn_id))
}

fn unresolved(turn: &Turn) -> Error {
    let id = turn.turn_id;
    Error::new(Code::TurnUnresolved, format!("what the Turn {id} did cannot be told from here"))
        .detail("turn_id", id.to_string())
        .hint(kernel::abandon_command(id))
}
