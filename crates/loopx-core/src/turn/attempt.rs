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
    driver::{Driver, Flow, stop_is_wished},
    examine::scopes,
    host::{Host, Job, Judged, KeptHost},
    lock::DriverLock,
    site::{Around, Machine, Site, attempt_token, sweep},
    spool,
    watch::Phase,
    wire::TurnResult,
};
use crate::{
    error::{Class, Code, Result},
    failpoint,
    kernel::{ClaimCommand, Command, Step},
    model::{
        Attempt, Candidate, Digest, Duration, HostFailure, OperationId, ScopePath, ShortText, Timestamp,
        TodoKind, Turn, TurnId, Wake,
    },
    private::Kind,
    process::{self, Control, Outcome, Tick},
};

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
        if number > 1 && !self.pause(site, turn, number)? {
            return Ok(Flow::Again);
        }
        let token = attempt_token(turn.turn_id, number)?;
        keep_host(site, turn.turn_id, host)?;
        failpoint::reach!(TurnDescribed);
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
        let attempt = attempt_row(site, host, token.as_str(), tree)?;
        let wall_ms = Duration::from_ms(host.hosting().wall_ms);
        let terms = contract::Terms {
            attempt: number,
            wall_ms: wall_ms.as_ms(),
            attempts_left: host.hosting().attempts_max.saturating_sub(number),
        };
        // A contract that cannot be put is found before a host could be said to have had it.
        if let Err(error) =
            contract::request(site, around, host.name(), terms).and_then(|request| request.encode())
        {
            if turn.attempts.is_empty() {
                self.stop(site, lock, around)?;
            }
            return Err(error);
        }
        let step = Step::Dispatch {
            turn_id: turn.turn_id,
            own_id: turn.own_id,
            attempt: Box::new(attempt),
            wall_ms,
        };
        self.submit(site, lock, around, &format!("dispatch.{number}"), step)?;
        failpoint::reach!(TurnDispatched);
        let around = site.around(turn.turn_id)?;
        let request = contract::request(site, &around, host.name(), terms)?.encode()?;
        let job = Job { request, env: host_env(site, &around, token.as_str()), token: &token };
        let outcome = self.work(site, &around, host, &job, number);
        failpoint::reach!(TurnHostEnded);
        spool::keep(site, turn.turn_id, number, &outcome)?;
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
        match judged {
            Judged::Result(result) => {
                let (candidate, wake) = self.candidate(site, around, &result)?;
                let step =
                    Step::Candidate { turn_id, own_id: Some(own_id), candidate: Box::new(candidate), wake };
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
                let left =
                    self.host.map_or(Turn::ATTEMPTS_MAX, |host| usize::from(host.hosting().attempts_max));
                let retry = retry && usize::from(number) < left;
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
        let step = Step::End { turn_id: turn.turn_id, own_id: turn.own_id, failure, retry, note };
        self.submit(site, lock, around, &format!("end.{number}"), step)?;
        failpoint::reach!(TurnAttemptEnded);
        Ok(Flow::Again)
    }

    /// Lets the host work, keeping the ownership and listening for the wish to stop.
    fn work(
        &self,
        site: &mut Site<'_>,
        around: &Around,
        host: &dyn Host,
        job: &Job<'_>,
        attempt: u8,
    ) -> Outcome {
        let turn = &around.turn;
        let ttl_ms = around
            .todo
            .as_ref()
            .and_then(|todo| todo.ownership.as_ref())
            .map_or(u64::MAX, |own| own.ttl_ms.as_ms());
        let every_ms = (ttl_ms / 3).max(1);
        let (mut renewed_at_ms, mut renewals) = (0, 0_u32);
        let (watcher, wall_ms) = (self.watcher, host.hosting().wall_ms);
        let mut tick = |tick: Tick| {
            watcher.sees(Phase::Working { attempt, elapsed_ms: tick.elapsed_ms, wall_ms });
            if tick.ending {
                return Control::Continue;
            }
            if watcher.wants_stop() {
                return Control::Stop;
            }
            // A store that does not answer now does not end the work; the fence is checked at every commit.
            if site.authority.read(|view| stop_is_wished(view, turn.turn_id)).unwrap_or(false) {
                return Control::Stop;
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
        host.work(job, &mut tick)
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
            outside: outside.iter().filter_map(|path| super::validate::cut(path, 120).parse().ok()).collect(),
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

fn attempt_row(site: &Site<'_>, host: &dyn Host, token: &str, tree: Option<Digest>) -> Result<Attempt> {
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

fn host_env(site: &Site<'_>, around: &Around, token: &str) -> BTreeMap<OsString, OsString> {
    let mut env = site.machine.env.clone();
    env.insert("LOOPX_TURN_KEY".into(), around.turn.turn_key.to_string().into());
    env.insert("LOOPX_CONTAINMENT".into(), token.into());
    env.insert("LOOPX_ACTOR".into(), around.executor().to_string().into());
    env
}

/// Renews the ownership of a Turn whose host is alive; no, when somebody took it over.
fn renew(site: &mut Site<'_>, base: &OperationId, around: &Around, number: u32) -> bool {
    let Some(todo) = &around.todo else { return true };
    let attempt = around.turn.attempts.len();
    let Ok(id) = base.step(&format!("renew.{attempt}.{number}")) else { return true };
    let command = Command::Claim(ClaimCommand::Renew {
        todo_id: todo.todo_id.clone(),
        own_id: Some(around.turn.own_id),
    });
    match site.authority.submit(around.step(id, command)) {
        Ok(receipt) => receipt.negative().is_none(),
        Err(error) => !matches!(error.code(), Code::OwnershipSuperseded | Code::OwnershipExpired),
    }
}

/// Where a Turn may write, from the root of its work tree: what its ownership declares, else what its Goal does.
fn declared(around: &Around) -> Result<Vec<ScopePath>> {
    let own: Vec<_> = scopes(around).into_iter().collect();
    let goals = &around.goal.boundary.write_scopes;
    match &around.turn.workspace {
        _ if !own.is_empty() => Ok(own),
        Some(workspace) => goals.iter().map(|scope| workspace.from_root(scope)).collect(),
        None => Ok(goals.clone()),
    }
}

/// Where a program of this name would be found for a host; none when it is nowhere.
pub fn find_program(argv0: &str, folder: &Path, machine: &Machine) -> Option<PathBuf> {
    process::find(OsStr::new(argv0), folder, &machine.env).ok()
}
