//! Owns one attempt of a host: making it ready, its dispatch, its run.
//!
//! Knows no one host, nor what an end means. Invariant: no host runs before its attempt is on record.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::{
    commits::Commit,
    contract,
    driver::{Driver, Flow},
    guard::{self, Order, Presence, Remains, Ward},
    host::{Host, Job, KeptHost},
    lock::DriverLock,
    opening::Opening,
    outcome::remains,
    shift::Shift,
    site::{Around, Machine, Site, attempt_token, emptied},
    tree::Tree,
};
use crate::{
    error::Result,
    failpoint,
    kernel::Step,
    model::{Attempt, Digest, Duration, Guarantee, Timestamp},
    private::Kind,
    process,
};

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
        self.awake_ms = None;
        // Those of earlier attempts keep nothing any more.
        self.wards.clear();
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
        site.snapshot_before(around);
        let now = site.picture(turn)?;
        keep(site, around, host, now.as_ref())?;
        failpoint::reach!(TurnDescribed);
        let tree = match &now {
            Some(tree) => Some(tree.digest(&[].into())),
            None => site.whole(turn)?,
        };
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
        self.submit(site, lock, around, Commit::Dispatch(number), step)?;
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
}

/// Keeps what a recovery needs: how the host is started, and what its first attempt found.
fn keep(site: &mut Site<'_>, around: &Around, host: &dyn Host, now: Option<&Tree>) -> Result<()> {
    let turn_id = around.turn.turn_id;
    let mut bodies = Vec::new();
    let bytes = KeptHost::of(host).encode()?;
    let known = site.private.latest(Kind::Hosting, &turn_id.to_string())?;
    if known.is_none_or(|body| body.bytes != bytes) {
        bodies.push(Site::body(Kind::Hosting, turn_id.to_string(), turn_id, bytes)?);
    }
    // What changed is told from the first attempt on: a later one starts from what the earlier ones left.
    if around.turn.attempts.is_empty() {
        bodies.push(Opening::of(site, around, now)?.body(turn_id)?);
    }
    site.private.put_all(&bodies)
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
        validates: !around.validators().is_empty(),
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

/// Where a program of this name would be found for a host; none when it is nowhere.
pub fn find_program(argv0: &str, folder: &Path, machine: &Machine) -> Option<PathBuf> {
    process::find(OsStr::new(argv0), folder, &machine.env).ok()
}
