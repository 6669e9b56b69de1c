//! Owns one attempt of a host: its dispatch, its run, keeping what it said, and what its end means for the Turn.
//!
//! Knows no one host. Invariant: what a host said is kept before any fact points at it, and no attempt's end is recorded
//! before its whole tree is proved empty.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::{
    beside, contract,
    driver::{Driver, Flow},
    examine::scopes,
    guard::{self, Order, Presence, Remains, Ward},
    host::{Host, Job, Judged, KeptHost},
    lock::DriverLock,
    shift::Shift,
    site::{Around, Emptied, Machine, Site, attempt_token, emptied},
    spool,
    wire::TurnResult,
};
use crate::{
    error::{Class, Result},
    failpoint,
    kernel::Step,
    model::{
        Attempt, Candidate, Digest, Duration, Guarantee, HostFailure, ScopePath, ShortText, Timestamp,
        TodoKind, Turn, TurnId, Wake, gathered,
    },
    private::Kind,
    process::{self, Containment},
};

/// Why an attempt left nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Loss {
    /// Its host was never started; why, where its guardian said so.
    NeverStarted(Option<String>),
    /// It ended, and there was no room to keep how.
    Unkept,
    /// How it ended is nowhere.
    Unknown,
}

impl Loss {
    fn may_have_begun(&self) -> bool {
        !matches!(self, Self::NeverStarted(_))
    }

    pub(super) fn failure(&self) -> HostFailure {
        match self {
            // It never came to it, or what it said never came here.
            Self::NeverStarted(_) | Self::Unkept => HostFailure::TransportLost,
            Self::Unknown => HostFailure::Crashed,
        }
    }

    /// Why, in words.
    pub(super) fn note(&self) -> Option<String> {
        match self {
            Self::NeverStarted(Some(why)) => Some(format!("the host was never started: {why}")),
            Self::NeverStarted(None) => Some("the host was never started".to_owned()),
            Self::Unkept => Some("no space was left to keep what the host said".to_owned()),
            Self::Unknown => None,
        }
    }
}

/// The longest note that an attempt's end takes.
const NOTE_MAX_BYTES: usize = 120;

impl Driver<'_> {
    /// Dispatches one attempt and takes in what came of it.
    pub(super) fn attempt(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
    ) -> Result<Flow> {
        let turn = &around.turn;
        if turn.stop_wish.is_some() || self.watcher.wants_stop() {
            return self.stop(site, lock, around);
        }
        let Some(host) = self.host else { return Ok(Flow::Rest) };
        let number = u8::try_from(turn.attempts.len()).unwrap_or(u8::MAX).saturating_add(1);
        // It gets ready while the attempt is; nothing is started before it is let go.
        let mut ward = match self.ward.take() {
            Some(ward) => Some(ward),
            None => prestarted(site)?,
        };
        if number > 1 && !self.pause(site, turn, number)? {
            return Ok(Flow::Again);
        }
        let token = attempt_token(turn.turn_id, number)?;
        keep_host(site, turn.turn_id, host)?;
        failpoint::reach!(TurnDescribed);
        site.snapshot_before(around);
        let now = site.picture(turn)?;
        let tree = match &now {
            Some(tree) => Some(tree.digest(&[].into())),
            None => site.whole(turn)?,
        };
        // What changed is told from the first attempt on: a later one starts from what the earlier ones left.
        if self.before.is_none() {
            self.before = now;
            self.beside = beside::is_shared(site, around, None)?;
        }
        let wall_ms = Duration::from_ms(host.hosting().wall_ms);
        let terms = contract::Terms {
            attempt: number,
            wall_ms: wall_ms.as_ms(),
            attempts_left: host.hosting().attempts_max.saturating_sub(number),
        };
        // A contract that cannot be put is found before a host could be said to have had it.
        let made = contract::request(site, around, host.name(), terms).and_then(|request| request.encode());
        let guarantee = match made.and_then(|_| ready(site, around, host, number, ward.as_mut())) {
            Ok(guarantee) => guarantee,
            Err(error) => {
                // What cannot begin is given back, not kept waiting.
                if turn.attempts.is_empty() {
                    self.stop(site, lock, around)?;
                }
                return Err(error);
            }
        };
        let attempt = Box::new(attempt_row(site, host, token.as_str(), guarantee, tree)?);
        let step = Step::Dispatch { turn_id: turn.turn_id, own_id: turn.own_id, attempt, wall_ms };
        self.submit(site, lock, around, &format!("dispatch.{number}"), step)?;
        failpoint::reach!(TurnDispatched);
        let around = site.around(turn.turn_id)?;
        let request = contract::request(site, &around, host.name(), terms)?.encode()?;
        let remains = if let Some(ward) = ward {
            self.guarded(site, lock, &around, host, ward, request, number)?
        } else {
            let job = Job { request, env: host_env(site, &around), token: &token };
            let (spec, mut shift) = (host.spec(&job), self.shift(lock, &around, number, wall_ms.as_ms()));
            Remains::Ended(Box::new(process::run(&spec, &mut |tick| shift.tick(site, tick))))
        };
        failpoint::reach!(TurnHostEnded);
        self.ended(site, lock, &around, number, remains)
    }

    /// Lets a guarded host go, waits for its end, and reads what its guardian left.
    #[expect(clippy::too_many_arguments, reason = "what every step needs, and the parts of one attempt")]
    fn guarded(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        host: &dyn Host,
        mut ward: Ward,
        request: Vec<u8>,
        number: u8,
    ) -> Result<Remains> {
        let wall_ms = host.hosting().wall_ms;
        ward.go(request, wall_ms);
        let watched = self.shift(lock, around, number, wall_ms).watch(site, &mut ward);
        let told = ward.told();
        // It is collected with the driver, when it has had the time to end.
        self.wards.push(ward);
        watched?;
        if let Some(told) = told {
            return Ok(told);
        }
        let left = remains(site, around, host, number)?;
        if matches!(left, Remains::NeverStarted) {
            // Its guardian's lock may know better; looking at it leaves the trace that counts.
            emptied(site.machine, around.turn.turn_id, number)?;
            return remains(site, around, host, number);
        }
        Ok(left)
    }

    /// Takes in what an attempt came to that has just ended: first what was said is kept, and the tree is proved empty.
    fn ended(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        number: u8,
        remains: Remains,
    ) -> Result<Flow> {
        let turn = &around.turn;
        if let Remains::Ended(outcome) = &remains {
            spool::keep(site, turn.turn_id, number, outcome)?;
            failpoint::reach!(TurnSpooled);
            self.wards.iter_mut().for_each(Ward::kept);
            self.left.clone_from(&outcome.survivors);
            self.held_by = weaker(turn, number, outcome.containment);
        }
        let emptied = match &remains {
            _ if is_proved_empty(&remains) => Emptied::Proved,
            _ if !self.left.is_empty() => Emptied::Alive,
            _ => emptied(site.machine, turn.turn_id, number)?, // wildcard: nobody has said
        };
        // A result that was all there stands; nothing is started beside what may live.
        let has_result = matches!(&remains, Remains::Ended(outcome) if outcome.result_complete);
        if emptied < Emptied::Confined || emptied < Emptied::Proved && !has_result {
            return self.lose(site, lock, around, number);
        }
        let judged = match (remains, self.host) {
            (Remains::Ended(outcome), Some(host)) => host.judge(&outcome, &turn.turn_key),
            (Remains::NeverStarted, _) => {
                let why = self.wards.last().and_then(Ward::refusal).map(str::to_owned);
                return self.lost(site, lock, around, number, Loss::NeverStarted(why));
            }
            (Remains::Unkept, _) => return self.lost(site, lock, around, number, Loss::Unkept),
            (Remains::Unknown | Remains::Ended(_), _) => {
                return self.lost(site, lock, around, number, Loss::Unknown);
            }
        };
        self.take_in(site, lock, around, number, judged)
    }

    /// Records that an attempt left no result: another may follow where nothing can have changed.
    pub(super) fn lost(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        number: u8,
        loss: Loss,
    ) -> Result<Flow> {
        let turn = &around.turn;
        let attempt = turn.attempts.iter().find(|attempt| attempt.number == number);
        let unchanged = match attempt {
            Some(attempt) if loss.may_have_begun() => unchanged(site, around, attempt)?,
            Some(_) | None => true,
        };
        let note = loss.note();
        if let Some(note) = &note {
            spool::keep_note(site, turn.turn_id, number, note)?;
        }
        if unchanged {
            // What was never started is no try of the host.
            let retry = !loss.may_have_begun() || self.has_attempts_after(number);
            let note = note.and_then(|note| super::validate::cut(&note, NOTE_MAX_BYTES).parse().ok());
            return self.end(site, lock, around, number, Some(loss.failure()), retry, note);
        }
        let step = Step::Lose { turn_id: turn.turn_id, own_id: turn.own_id, executor_gone: true };
        self.submit(site, lock, around, &format!("end.{number}"), step)?;
        Ok(Flow::Rest)
    }

    /// Records that nobody can tell whether an attempt's executor is gone.
    pub(super) fn lose(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        number: u8,
    ) -> Result<Flow> {
        let (turn_id, own_id) = (around.turn.turn_id, around.turn.own_id);
        let step = Step::Lose { turn_id, own_id, executor_gone: false };
        self.submit(site, lock, around, &format!("end.{number}"), step)?;
        Ok(Flow::Rest)
    }

    /// Whether the host may be started again after this attempt.
    fn has_attempts_after(&self, number: u8) -> bool {
        self.host.is_some_and(|host| number < host.hosting().attempts_max)
    }

    /// The watch over one attempt.
    pub(super) fn shift<'s>(
        &'s self,
        lock: &'s DriverLock,
        around: &'s Around,
        attempt: u8,
        wall_ms: u64,
    ) -> Shift<'s> {
        Shift::of(&self.base, self.watcher, lock, around, attempt, wall_ms)
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
        let (turn_id, own_id, held_by) = (turn.turn_id, turn.own_id, self.held_by);
        match judged {
            Judged::Result(result) => {
                let (candidate, wake) = self.candidate(site, around, &result)?;
                let step = Step::Candidate {
                    turn_id,
                    own_id: Some(own_id),
                    candidate: Box::new(candidate),
                    wake,
                    held_by,
                };
                match self.submit(site, lock, around, &format!("candidate.{number}"), step) {
                    // What a result names is the host's own word: it costs the host its result, and never strands the Turn.
                    Err(error) if error.code().class() == Class::Usage => {
                        let note = super::validate::cut(error.message(), NOTE_MAX_BYTES).parse().ok();
                        self.end(site, lock, around, number, Some(HostFailure::ResultInvalid), false, note)
                    }
                    submitted => {
                        submitted?;
                        failpoint::reach!(TurnCandidate);
                        Ok(Flow::Again)
                    }
                }
            }
            Judged::Stopped => self.end(site, lock, around, number, None, false, None),
            Judged::Failed { failure, retry, note } => {
                let retry = retry && (self.host.is_none() || self.has_attempts_after(number));
                self.end(site, lock, around, number, Some(failure), retry, note)
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one step, and the three things every step needs"
    )]
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
        let held_by = self.held_by.take();
        let step = Step::End { turn_id: turn.turn_id, own_id: turn.own_id, failure, retry, note, held_by };
        self.submit(site, lock, around, &format!("end.{number}"), step)?;
        failpoint::reach!(TurnAttemptEnded);
        Ok(Flow::Again)
    }

    /// What a result becomes as a fact.
    pub(super) fn candidate(
        &self,
        site: &mut Site<'_>,
        around: &Around,
        result: &TurnResult,
    ) -> Result<(Candidate, Option<Wake>)> {
        let is_monitor = around.todo.as_ref().is_some_and(|todo| todo.kind == TodoKind::Monitor);
        let now = site.picture(&around.turn)?;
        let declared = declared(around)?;
        let outside = match (&self.before, &now) {
            (Some(before), Some(now)) if !declared.is_empty() => now.outside(before, &declared, 32),
            _ => Vec::new(), // wildcard: without two pictures, or scopes, nothing can be said to lie outside
        };
        let shared = !outside.is_empty()
            && (self.beside || beside::is_shared(site, around, Some(around.turn.admitted_at))?);
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
            usage: result.usage.clone(),
            goes_on: false,
            tree: now.map(|tree| tree.digest(&scopes(around))),
            outside: gathered(outside.iter().filter_map(|path| super::validate::cut(path, 120).parse().ok())),
            shared,
        };
        Ok((candidate, result.wake.clone()))
    }
}

fn keep_host(site: &mut Site<'_>, turn_id: TurnId, host: &dyn Host) -> Result<()> {
    let bytes = KeptHost::of(host).encode()?;
    let known = site.private.latest(Kind::Hosting, &turn_id.to_string())?;
    if known.is_some_and(|body| body.bytes == bytes) {
        return Ok(());
    }
    let body = Site::body(Kind::Hosting, turn_id.to_string(), turn_id, bytes)?;
    site.private.put_all(&[body])
}

/// A guardian that gets ready for an attempt; none where this machine has no guardians.
pub(super) fn prestarted(site: &Site<'_>) -> Result<Option<Ward>> {
    site.machine.guarding.as_ref().map(Ward::start).transpose()
}

/// Makes the guardian of an attempt ready, and says by what the attempt will be held together.
fn ready(
    site: &Site<'_>,
    around: &Around,
    host: &dyn Host,
    number: u8,
    ward: Option<&mut Ward>,
) -> Result<Guarantee> {
    let (Some(guarding), Some(ward)) = (&site.machine.guarding, ward) else {
        return Ok(Guarantee::GroupOnly);
    };
    // One that a driver has left which died before the attempt was on record: nobody can ever let it go.
    if let Presence::Alive(left) = guard::find(site.machine, around.turn.turn_id, number, true, false)? {
        left.end()?;
    }
    ward.ready(&Order {
        home: guarding.home.clone().into(),
        profile: guarding.profile.clone(),
        locks: site.machine.locks.clone().into(),
        spool: site.machine.spool.clone().into(),
        turn_id: around.turn.turn_id,
        attempt: number,
        host: KeptHost::of(host),
        env: host_env(site, around).into_iter().collect(),
    })
}

fn attempt_row(
    site: &Site<'_>,
    host: &dyn Host,
    token: &str,
    guarantee: Guarantee,
    tree: Option<Digest>,
) -> Result<Attempt> {
    Ok(Attempt {
        number: 0,
        host: host.name().parse()?,
        host_version: None,
        machine_id: Some(site.machine.machine_id.clone()),
        boot_id: site.machine.boot_id().cloned(),
        pid_namespace: site.machine.pid_namespace().cloned(),
        containment: Some(token.parse()?),
        guarantee: Some(guarantee),
        dispatched_at: Timestamp::default(),
        deadline_at: None,
        tree,
        end: None,
    })
}

fn host_env(site: &Site<'_>, around: &Around) -> BTreeMap<OsString, OsString> {
    let mut env = site.machine.env.clone();
    env.insert("LOOPX_TURN_KEY".into(), around.turn.turn_key.to_string().into());
    env.insert("LOOPX_ACTOR".into(), around.executor().to_string().into());
    env
}

/// Where a Turn may write, from the root of its work tree: what its ownership declares, else what its Goal does.
pub(super) fn declared(around: &Around) -> Result<Vec<ScopePath>> {
    let own: Vec<_> = scopes(around).into_iter().collect();
    let goals = &around.goal.boundary.write_scopes;
    match &around.turn.workspace {
        _ if !own.is_empty() => Ok(own),
        Some(workspace) => goals.iter().map(|scope| workspace.from_root(scope)).collect(),
        None => Ok(goals.clone()),
    }
}

/// Whether a guardian saw the end of all that it guarded, and said so.
fn is_proved_empty(remains: &Remains) -> bool {
    let Remains::Ended(outcome) = remains else { return false };
    matches!(outcome.containment, Containment::Leaf | Containment::Adopted) && outcome.survivors.is_empty()
}

/// By what an attempt was held together after all, where that is less than was recorded.
pub(super) fn weaker(turn: &Turn, number: u8, containment: Containment) -> Option<Guarantee> {
    let recorded = turn.attempts.iter().find(|attempt| attempt.number == number)?.guarantee;
    let was_moved = containment != Containment::Adopted;
    recorded.filter(|_| !was_moved).filter(|one| *one < Guarantee::SubReaper).map(|_| Guarantee::SubReaper)
}

/// What a guardian that is gone has left of an attempt of this machine; of one of an earlier boot, only what it wrote.
pub(super) fn remains(site: &Site<'_>, around: &Around, host: &dyn Host, number: u8) -> Result<Remains> {
    let machine = site.machine;
    let attempt = around.turn.attempts.iter().find(|attempt| attempt.number == number);
    let Some(attempt) = attempt.filter(|attempt| attempt.guarantee.is_some_and(Guarantee::is_guarded)) else {
        return Ok(Remains::Unknown);
    };
    let is_complete = |stdout: &[u8]| host.is_complete(stdout);
    let remains = guard::remains(machine, around.turn.turn_id, number, &is_complete)?;
    // What a crash of the machine has taken may have been there.
    let same_boot = attempt.boot_id.as_ref().zip(machine.boot_id()).is_some_and(|(then, now)| then == now);
    Ok(if matches!(remains, Remains::NeverStarted) && !same_boot { Remains::Unknown } else { remains })
}

/// Whether nothing can have changed since an attempt began: a tree that can be compared, equal to what it was.
pub(super) fn unchanged(site: &mut Site<'_>, around: &Around, attempt: &Attempt) -> Result<bool> {
    let Some(before) = attempt.tree else { return Ok(false) };
    Ok(site.whole(&around.turn)? == Some(before))
}

/// Where a program of this name would be found for a host; none when it is nowhere.
pub fn find_program(argv0: &str, folder: &Path, machine: &Machine) -> Option<PathBuf> {
    process::find(OsStr::new(argv0), folder, &machine.env).ok()
}
