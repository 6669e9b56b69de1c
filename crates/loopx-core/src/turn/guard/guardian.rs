//! Owns the guardian process: it starts a host when it is told to, watches it, ends all that descends from it, and keeps
//! what it said; then it keeps the validators of that attempt, where its driver lives.
//!
//! Knows no rule and writes no fact. It lives in a session of its own, so that no terminal's signal reaches it, and does
//! one attempt. Invariant: it lets go of its lock when its tree has ended and how is kept; what the system would not let
//! it end, and what it could not keep within its time, it leaves with its lock's file, for whoever comes next.

use std::{
    fs::remove_dir_all,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    order::{Order, Report, Word},
    record::{self, End},
};
use crate::{
    authority::{
        Authority,
        profile::{self, HostFilesystem, Place, Profile, owner},
    },
    error::{Code, Error, Result},
    failpoint,
    kernel::Seen,
    model::{Guarantee, TurnState, gathered},
    process::{
        self, Channel, Charge, Control, Identity, Launcher, Leaf, Outcome, Spec, Spool, Tick, boot_ms,
    },
    turn::{
        host::{Hosts, Job},
        latch::Hold,
        lock::{DriverLock, GuardLock, Guardian, Told},
        site::attempt_token,
    },
};

/// The word that makes a binary of ours a guardian.
pub const GUARD_WORD: &str = "__guard";

/// How long nobody may hold the driver's lock before the host is ended, in milliseconds.
const ORPHANED_MS: u64 = 30_000;
/// How often the driver's lock is looked at, in milliseconds.
const LOOK_MS: u64 = 1000;
/// How often the driver's words are listened for, in milliseconds.
const TICK_MS: u64 = 100;
/// How long a full disk is waited for before how a tree ended is given up, in milliseconds.
pub(super) const KEEP_MS: u64 = 60_000;
/// Between two tries to keep it.
const KEEP_PAUSE_MS: u64 = 250;
/// As much of stderr is told to a driver, in bytes.
const STDERR_TOLD_BYTES: usize = 64 * 1024;

/// Guards one attempt, as the process at the other end of stdin orders; an exit code.
///
/// `hosts` makes the host that the order names. It is the whole `main` of a process. What takes time is done before the
/// order comes: whoever starts it has other things to do meanwhile.
pub fn guardian(hosts: &dyn Hosts) -> u8 {
    // Without a session of its own, the end of a terminal would end it with its driver.
    let _ = rustix::process::setsid();
    // Until it has its lock nobody could find it, stopped or not, once its driver is gone.
    let _ = process::die_with_parent(true);
    let Ok(mut channel) = Channel::inherited() else { return 2 };
    let process = Identity::own();
    let leaf = Leaf::planned(process);
    let prepared = listen().and_then(|ended| {
        let charge = Charge::prepare(&Launcher::this_binary(), leaf.as_ref()).map_err(unstarted)?;
        Ok((ended, charge))
    });
    let Ok(Some(order)) = channel.receive::<Order>() else {
        if let Ok((_, mut charge)) = prepared {
            charge.give_up();
        }
        return 0;
    };
    let guarded = prepared.and_then(|(ended, charge)| {
        let leaf = charge.leaf().map(|leaf| leaf.path().to_owned());
        let own = Guardian::new(process, leaf);
        let mut charge = Some(charge);
        let guarded = guard(&order, &own, &mut channel, &ended, &mut charge, hosts);
        charge.iter_mut().for_each(Charge::give_up);
        if guarded? {
            process::keep_on(&mut channel, &|| ended.load(Ordering::SeqCst));
        }
        Ok(())
    });
    match guarded {
        Ok(()) => 0,
        Err(error) => {
            // Nobody may be there to hear it; then the driver's successor finds that nothing was started.
            let _ = channel.send(&Report::Refused { why: error.message().to_owned() });
            1
        }
    }
}

/// Guards an attempt from its order on; whether it is to keep what else its driver runs. The charge is left where nothing
/// was started.
fn guard(
    order: &Order,
    own: &Guardian,
    channel: &mut Channel,
    ended: &AtomicBool,
    charge: &mut Option<Charge>,
    hosts: &dyn Hosts,
) -> Result<bool> {
    let taken = || Error::new(Code::ExecutorActive, "another guardian has this attempt");
    let lock = GuardLock::take(order.locks.as_ref(), order.turn_id, order.attempt)?.ok_or_else(taken)?;
    lock.note(own)?;
    let _ = process::die_with_parent(false);
    failpoint::reach!(GuardLocked);
    let host = hosts.host(&order.host.name, order.host.hosting.clone())?;
    let is_confined = charge.as_ref().is_some_and(|charge| charge.leaf().is_some());
    let guarantee = if is_confined { Guarantee::Cgroup } else { Guarantee::SubReaper };
    let told = channel.send(&Report::Ready { guarantee }).map_err(unstarted);
    failpoint::reach!(GuardReady);
    // Opened while its driver commits.
    let ledger = ledger(order);
    let go = told.and_then(|()| channel.receive::<Word>().map_err(unstarted));
    // What was said before a stop is not go.
    let Ok(Some(Word::Go { request })) = go else {
        lock.close();
        return Ok(false);
    };
    failpoint::reach!(GuardLetGo);
    let token = attempt_token(order.turn_id, order.attempt)?;
    let spec = host.spec(&Job { request, env: gathered(order.env.iter().cloned()), token: &token });
    let spec = Spec { tick_ms: TICK_MS, ..spec };
    let current = ledger.and_then(|mut ledger| is_current(&mut ledger, order));
    let may_begin = current.map(|current| current && !ended.load(Ordering::SeqCst));
    let began = Guardian { told: [Told::Began].into(), ..own.clone() };
    let begun = may_begin.and_then(|may_begin| match charge.take_if(|_| may_begin) {
        Some(charge) => begin(order, &spec, charge, || lock.note(&began)),
        None => Err(late()),
    });
    let (spool, charge) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            lock.close();
            return Err(error);
        }
    };
    let now_ms = boot_ms();
    let mut said = Said { lock: &lock, noted: began };
    let mut watch = Watch {
        order,
        channel,
        ended,
        said: &mut said,
        started: false,
        looked_at_ms: now_ms,
        driven_at_ms: now_ms,
    };
    let outcome = process::run_guarded(&spec, charge, &spool, &mut |tick| watch.tick(tick));
    // What it saw stands before all else can fail: that is short, and in a file which is there.
    if outcome.survivors.is_empty() {
        said.says(Told::Emptied);
    }
    // From here on nothing is refused any more: the host ran.
    let keeps = order.validates && outcome.survivors.is_empty();
    let kept = after(order, &outcome, channel);
    match kept {
        // Whoever finds no lock file takes the end as it is written.
        Ok(By::Guardian) if outcome.survivors.is_empty() => lock.close(),
        Ok(By::Guardian | By::Driver) => {}
        Err(_) => said.says(Told::Unkept),
    }
    // A driver that is gone finds it out by itself.
    let told = channel.send(&if kept.is_ok() { Report::Ended { keeps } } else { Report::Lost });
    Ok(keeps && kept.is_ok() && told.is_ok())
}

/// Makes all ready for a program, and has it noted that it begins; where that fails, nothing is left of it.
fn begin(
    order: &Order,
    spec: &Spec,
    charge: Charge,
    note: impl FnOnce() -> Result<()>,
) -> Result<(Spool, Charge)> {
    let mut charge = charge.ready().map_err(unstarted)?;
    // From the note on, that there is no folder says nothing any more.
    let spool = spool(order, spec).and_then(|spool| {
        // A folder without a note says that a host may have run.
        let folder = || record::folder(order.spool.as_ref(), order.turn_id, order.attempt);
        note().map(|()| spool).inspect_err(|_| drop(remove_dir_all(folder())))
    });
    match spool {
        Ok(spool) => Ok((spool, charge)),
        Err(error) => {
            charge.give_up();
            Err(error)
        }
    }
}

/// Who kept how a tree ended.
#[derive(Debug, Clone, Copy)]
enum By {
    Guardian,
    Driver,
}

fn after(order: &Order, outcome: &Outcome, channel: &mut Channel) -> Result<By> {
    failpoint::reach!(GuardEnded);
    let kept = keep(order, outcome, channel)?;
    failpoint::reach!(GuardSpooled);
    Ok(kept)
}

/// What a guardian says of itself in its lock, whoever reads it.
struct Said<'a> {
    lock: &'a GuardLock,
    noted: Guardian,
}

impl Said<'_> {
    /// Says more. What cannot be written is not known to whoever comes later.
    fn says(&mut self, more: Told) {
        self.noted.told.insert(more);
        let _ = self.lock.note(&self.noted);
    }

    /// Whether the lock is this guardian's still, though somebody took its file away.
    fn hold(&self) -> Hold {
        self.lock.hold(&self.noted)
    }
}

/// Listens for the signals by which somebody who recovers, or a system that goes down, ends the attempt.
fn listen() -> Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&asked)).map_err(unstarted)?;
    }
    Ok(asked)
}

fn unstarted(error: io::Error) -> Error {
    Error::new(Code::HostUnavailable, "the guardian of a host could not do its work").internal(error)
}

fn late() -> Error {
    Error::new(Code::InvalidTransition, "the attempt is not the present one")
}

/// The ledger in which the attempt is recorded.
fn ledger(order: &Order) -> Result<Authority> {
    let env = profile::Env {
        loopx_home: Some(order.home.clone().into()),
        profile: Some(order.profile.clone()),
        allow_filesystem: true,
        ..profile::Env::default()
    };
    let profile = Profile::open(&Place::resolve(&env)?, &env, &HostFilesystem)?;
    Authority::open(&profile, &env)
}

/// Whether the ledger still says that this attempt is to be made.
fn is_current(ledger: &mut Authority, order: &Order) -> Result<bool> {
    let turn = ledger.read(|view| crate::turn::site::turn(view, order.turn_id))?;
    Ok(turn.is_some_and(|turn| {
        let is_open = turn.open_attempt().is_some_and(|attempt| attempt.number == order.attempt);
        is_open && turn.state == TurnState::Dispatched
    }))
}

fn spool(order: &Order, spec: &Spec) -> Result<Spool> {
    let folder = record::folder(order.spool.as_ref(), order.turn_id, order.attempt);
    let made = owner::make_dirs(order.spool.as_ref());
    made.and_then(|()| Spool::make(&folder, spec)).map_err(|e| match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::new(Code::DiskFull, "no space is left to keep what a host says").internal(e)
        }
        _ => Error::new(Code::StoreUnavailable, "what a host says cannot be kept").internal(e), // wildcard: no other reason says more
    })
}

/// Keeps how the tree ended. What cannot be written, as on a full disk, is handed to a driver that lives, and is tried
/// again until one of the two has it: what the host said is nowhere else.
fn keep(order: &Order, outcome: &Outcome, channel: &mut Channel) -> Result<By> {
    let folder = record::folder(order.spool.as_ref(), order.turn_id, order.attempt);
    let until_ms = boot_ms().saturating_add(KEEP_MS);
    let mut listens = None;
    loop {
        let Err(error) = record::write(&folder, outcome) else { return Ok(By::Guardian) };
        let is_heard = listens.unwrap_or_else(|| channel.send(&unkept(outcome)).is_ok());
        failpoint::reach!(SpoolFull);
        if !is_heard && error.code() != Code::DiskFull || boot_ms() >= until_ms {
            return Err(error);
        }
        listens = Some(is_heard);
        if !is_heard {
            process::pause(KEEP_PAUSE_MS);
        } else if channel.is_due(KEEP_PAUSE_MS) {
            match channel.receive::<Word>() {
                Ok(Some(Word::Kept)) => return Ok(By::Driver),
                Ok(Some(Word::Go { .. } | Word::Stop)) => {}
                Ok(None) | Err(_) => listens = Some(false),
            }
        }
    }
}

/// All that a driver needs of an end that could not be written.
fn unkept(outcome: &Outcome) -> Report {
    let tail = outcome.stderr.len().saturating_sub(STDERR_TOLD_BYTES);
    let (stdout, stderr) = (outcome.stdout.clone(), outcome.stderr.get(tail..).unwrap_or_default().to_vec());
    Report::Unkept { end: End::of(outcome), stdout, stderr }
}

/// What a guardian looks at while its host works.
struct Watch<'a, 'l> {
    order: &'a Order,
    channel: &'a mut Channel,
    /// Whether a signal came.
    ended: &'a AtomicBool,
    said: &'a mut Said<'l>,
    started: bool,
    looked_at_ms: u64,
    /// When somebody was last seen to drive the Turn.
    driven_at_ms: u64,
}

impl Watch<'_, '_> {
    fn tick(&mut self, tick: Tick) -> Control {
        if !self.started {
            self.started = true;
            let _ = started();
        }
        if tick.is_confined && !self.said.noted.has_told(Told::Confined) {
            self.said.says(Told::Confined);
        }
        if tick.ending {
            return Control::Continue;
        }
        if self.is_told_to_stop() {
            return Control::Stop;
        }
        // What was said stands; who went on after it is ended in its time.
        if self.ended.load(Ordering::SeqCst) || !self.is_in_charge() {
            return Control::Abandon;
        }
        Control::Continue
    }

    /// Notes, once, that something left the group which held all of it.
    fn look_for_escapes(&mut self) {
        let noted = &self.said.noted;
        let is_held = noted.has_told(Told::Confined) && !noted.has_told(Told::Escaped);
        let leaf = noted.leaf.as_deref().filter(|_| is_held).and_then(Leaf::at);
        if leaf.is_some_and(|leaf| leaf.has_lost()) {
            self.said.says(Told::Escaped);
        }
    }

    fn is_told_to_stop(&mut self) -> bool {
        if !self.channel.is_due(0) {
            return false;
        }
        match self.channel.receive::<Word>() {
            Ok(Some(Word::Stop)) => true,
            // A driver that died says nothing more, and its channel stays due for ever.
            Ok(Some(Word::Go { .. } | Word::Kept) | None) | Err(_) => false,
        }
    }

    /// Whether the attempt is this guardian's, and somebody has driven the Turn of late.
    fn is_in_charge(&mut self) -> bool {
        let now_ms = boot_ms();
        if now_ms.saturating_sub(self.looked_at_ms) >= LOOK_MS {
            self.looked_at_ms = now_ms;
            // What cannot be told now is looked at the next time.
            if matches!(self.said.hold(), Hold::Lost) {
                return false;
            }
            self.look_for_escapes();
            // What cannot be told is not held against whoever drives.
            if DriverLock::seen(self.order.locks.as_ref(), self.order.turn_id) != Some(Seen::Gone) {
                self.driven_at_ms = now_ms;
            }
        }
        let is_late = |driven_at_ms: u64| now_ms.saturating_sub(driven_at_ms) >= ORPHANED_MS;
        // That its lock's file was taken away is no proof that a driver is gone.
        if is_late(self.driven_at_ms) && DriverLock::is_unnamed(self.order.locks.as_ref(), self.order.turn_id)
        {
            self.driven_at_ms = now_ms;
        }
        !is_late(self.driven_at_ms)
    }
}

/// The point at which a host works.
#[cfg_attr(not(feature = "failpoints"), expect(clippy::unnecessary_wraps, reason = "a failpoint may fail"))]
fn started() -> Result<()> {
    failpoint::reach!(GuardStarted);
    Ok(())
}
