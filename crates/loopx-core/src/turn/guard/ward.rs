//! Owns the other side of a guardian: a driver's, which starts it and lets it go, and that of whoever recovers, which finds
//! it at work.
//!
//! Knows nothing of what is done with a host's end.

use rustix::process::Signal;

use super::{
    Guarding,
    guardian::{GUARD_WORD, KEEP_MS},
    order::{Order, Report, Word},
    record::Remains,
};
use crate::{
    error::{Code, Error, Result},
    model::{Guarantee, TurnId},
    process::{Companion, Identity, Outcome, boot_ms},
    turn::{
        lock::{GuardLock, Left},
        site::Machine,
    },
};

/// How long a guardian may take to be ready, in milliseconds.
const READY_MS: u64 = 20_000;
/// How long a guardian has to end its tree before it is ended itself, in milliseconds: TERM, 5 s, KILL, 5 s, and writing.
const END_MS: u64 = 15_000;
/// How long a guardian that says nothing more may take to end, in milliseconds.
const PART_MS: u64 = 250;

/// A guardian that this process started.
#[derive(Debug)]
pub(in crate::turn) struct Ward {
    companion: Companion,
    stopped_at_ms: Option<u64>,
    /// Whether it said so.
    has_ended: bool,
    /// Whether it waits for runs to keep since then.
    keeps: bool,
    /// How its host ended, where it cannot write that.
    told: Option<Outcome>,
    /// Whether it waits to hear that this is kept.
    waits: bool,
    /// Why it started nothing.
    refusal: Option<String>,
    until_ms: u64,
}

impl Ward {
    /// Starts a guardian, which gets ready meanwhile; dropped before its order, it ends.
    ///
    /// Errors: `host_unavailable`.
    pub(in crate::turn) fn start(guarding: &Guarding) -> Result<Self> {
        let companion = Companion::start(&guarding.launcher, GUARD_WORD).map_err(|e| unguarded(&e))?;
        let until_ms = u64::MAX;
        let (stopped_at_ms, told, refusal) = (None, None, None);
        Ok(Self {
            companion,
            stopped_at_ms,
            has_ended: false,
            keeps: false,
            told,
            waits: false,
            refusal,
            until_ms,
        })
    }

    /// Tells it what to guard, and waits until it is ready; by what its tree will be held together.
    ///
    /// Errors: `host_unavailable`; then it is gone.
    pub(in crate::turn) fn ready(&mut self, order: &Order) -> Result<Guarantee> {
        let channel = &mut self.companion.channel;
        let told = channel.send(order).and_then(|()| channel.within(Some(READY_MS)));
        let told = told.and_then(|()| channel.receive());
        match told {
            Ok(Some(Report::Ready { guarantee })) => Ok(guarantee),
            Ok(Some(Report::Refused { why })) => Err(unguarded(&why)),
            Ok(Some(Report::Ended { .. } | Report::Unkept { .. } | Report::Lost) | None) => {
                Err(unguarded(&"it ended"))
            }
            Err(error) => Err(unguarded(&error)),
        }
        .inspect_err(|_| self.companion.kill())
    }

    /// Lets the host go. Only after its attempt was committed.
    ///
    /// A guardian that is gone is no error here: what it left tells that nothing was started.
    pub(in crate::turn) fn go(&mut self, request: Vec<u8>, wall_ms: u64) {
        self.until_ms = boot_ms().saturating_add(wall_ms).saturating_add(2 * END_MS + KEEP_MS);
        self.companion.goes_on(true);
        let _ = self.companion.channel.send(&Word::Go { request });
    }

    /// Asks it to end its host.
    pub(in crate::turn) fn stop(&mut self) {
        if self.stopped_at_ms.is_none() {
            self.stopped_at_ms = Some(boot_ms());
            let _ = self.companion.channel.send(&Word::Stop);
        }
    }

    /// Waits for its end at most this long; whether it has ended. One that does not in its time is ended, and what it
    /// guards dies with it.
    pub(in crate::turn) fn wait(&mut self, wait_ms: u64) -> bool {
        if self.companion.channel.is_due(wait_ms) && self.hear() {
            return true;
        }
        let now_ms = boot_ms();
        let is_late = self.stopped_at_ms.is_some_and(|at_ms| now_ms.saturating_sub(at_ms) >= END_MS);
        if !self.has_ended && (is_late || now_ms >= self.until_ms) {
            self.companion.kill();
        }
        self.has_ended || self.companion.has_ended()
    }
}

impl Ward {
    /// Takes in what it says; whether its host has ended, or it says nothing more.
    fn hear(&mut self) -> bool {
        match self.companion.channel.receive() {
            Ok(Some(Report::Ended { keeps })) => {
                (self.has_ended, self.keeps) = (true, keeps);
                self.companion.goes_on(false);
            }
            Ok(Some(Report::Unkept { end, stdout, stderr })) => {
                self.told = Some(end.with(stdout, stderr));
                self.waits = true;
            }
            Ok(Some(Report::Refused { why })) => {
                self.refusal = Some(why);
                self.has_ended = self.companion.wait(PART_MS);
            }
            Ok(Some(Report::Ready { .. } | Report::Lost) | None) | Err(_) => {
                self.has_ended = self.companion.wait(PART_MS);
            }
        }
        self.has_ended || self.waits
    }

    /// How its host ended, where the guardian cannot write that.
    pub(in crate::turn) fn told(&mut self) -> Option<Remains> {
        self.told.take().map(Remains::of)
    }

    /// Why it started nothing, in words; none where it said no such thing.
    pub(in crate::turn) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// The process itself, where it keeps runs now that its host has ended.
    pub(in crate::turn) fn into_keeper(self) -> Option<Companion> {
        Some(self.companion).filter(|_| self.keeps)
    }

    /// Tells it that how its host ended is kept, so that it need not go on trying; waits until it has gone.
    pub(in crate::turn) fn kept(&mut self) {
        if !std::mem::take(&mut self.waits) {
            return;
        }
        let told = self.companion.channel.send(&Word::Kept);
        let until_ms = boot_ms().saturating_add(READY_MS);
        while told.is_ok() && !self.has_ended && boot_ms() < until_ms {
            if self.companion.channel.is_due(PART_MS) {
                self.hear();
            }
        }
    }
}

fn unguarded(why: &dyn std::fmt::Display) -> Error {
    Error::new(Code::HostUnavailable, "the guardian of the host could not be started")
        .hint("doctor")
        .internal(why)
}

/// What stands of the guardian of an attempt that this process did not start.
#[derive(Debug)]
pub(in crate::turn) enum Presence {
    /// It is gone, or there never was one; its lock, if it left one.
    Gone(Option<GuardLock>),
    /// It lives.
    Alive(Alive),
}

/// Finds the guardian of an attempt of this machine and boot.
///
/// `is_near` says whether its processes can be seen from here; of one `on_record` is also looked for who has its lock
/// although somebody took the file away. Errors: `store_unavailable`.
pub(in crate::turn) fn find(
    machine: &Machine,
    turn_id: TurnId,
    attempt: u8,
    is_near: bool,
    on_record: bool,
) -> Result<Presence> {
    let alive = |process: Option<Identity>| {
        Presence::Alive(Alive {
            process,
            is_near,
            locks: machine.locks.clone(),
            turn_id,
            attempt,
            stopped_at_ms: None,
            until_ms: u64::MAX,
        })
    };
    Ok(match GuardLock::left(&machine.locks, turn_id, attempt)? {
        Left::Nothing if on_record && is_near => match GuardLock::unnamed(&machine.locks, turn_id, attempt) {
            Some(process) => alive(Some(process)),
            None => Presence::Gone(None),
        },
        Left::Nothing => Presence::Gone(None),
        Left::Lock(lock) => Presence::Gone(Some(lock)),
        Left::Taken(guardian) => alive(guardian.filter(|_| is_near).map(|guardian| guardian.process)),
    })
}

/// A guardian at work that another process started.
#[derive(Debug)]
pub(in crate::turn) struct Alive {
    /// Who it is; none before it said so, or where it cannot be seen.
    process: Option<Identity>,
    is_near: bool,
    locks: std::path::PathBuf,
    turn_id: TurnId,
    attempt: u8,
    stopped_at_ms: Option<u64>,
    /// When it is ended at the latest.
    until_ms: u64,
}

impl Alive {
    /// Bounds how long it is waited for: its time, and what ending takes.
    pub(in crate::turn) fn until(&mut self, wall_ms: u64) {
        self.until_ms = boot_ms().saturating_add(wall_ms).saturating_add(2 * END_MS + KEEP_MS);
    }

    /// Asks it to end its host; the second time, long after the first, it is ended itself.
    pub(in crate::turn) fn stop(&mut self) {
        let now_ms = boot_ms();
        let asked_at_ms = self.stopped_at_ms;
        self.stopped_at_ms.get_or_insert(now_ms);
        let Some(process) = self.process else { return };
        match asked_at_ms {
            None => {
                process.signal(Signal::TERM);
                // A stopped one hears it when it goes on.
                process.signal(Signal::CONT);
            }
            Some(at_ms) if now_ms.saturating_sub(at_ms) >= END_MS => process.signal(Signal::KILL),
            Some(_) => {}
        }
    }

    /// Waits for its end at most this long; whether it has ended.
    ///
    /// Errors: `store_unavailable`.
    pub(in crate::turn) fn wait(&mut self, wait_ms: u64) -> Result<bool> {
        let now_ms = boot_ms();
        if now_ms >= self.until_ms {
            self.stop();
        }
        let cannot_be_reached = self.process.is_none()
            && self.stopped_at_ms.is_some_and(|at_ms| now_ms.saturating_sub(at_ms) >= END_MS);
        if cannot_be_reached {
            return Err(self.does_not_end());
        }
        match self.process {
            Some(process) => process.wait(wait_ms),
            None => crate::process::pause(wait_ms.min(50)),
        }
        let left = match GuardLock::left(&self.locks, self.turn_id, self.attempt) {
            // What cannot be told now is looked at the next time, while it is seen to live.
            Err(_) if self.process.is_some_and(Identity::is_living) => return Ok(false),
            left => left?,
        };
        match left {
            // Its file may have been taken away, and it takes that again in its time.
            Left::Nothing => Ok(self.process.is_none_or(|process| !process.is_living())),
            Left::Lock(_) => Ok(true),
            Left::Taken(guardian) => {
                let said = guardian.filter(|_| self.is_near).map(|guardian| guardian.process);
                self.process = self.process.or(said);
                Ok(false)
            }
        }
    }

    /// Ends it and its tree.
    ///
    /// Errors: `executor_active` where it does not end; `store_unavailable`.
    pub(in crate::turn) fn end(mut self) -> Result<()> {
        let until_ms = boot_ms().saturating_add(END_MS + END_MS / 3);
        loop {
            self.stop();
            if self.wait(250)? {
                return Ok(());
            }
            if boot_ms() >= until_ms {
                return Err(self.does_not_end());
            }
        }
    }

    fn does_not_end(&self) -> Error {
        let id = self.turn_id;
        Error::new(Code::ExecutorActive, format!("the guardian of the Turn {id} does not end"))
            .detail("turn_id", id.to_string())
            .hint(format!("turn show {id}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guardian_whose_lock_cannot_be_looked_at_is_waited_for_while_it_lives() {
        let dir = tempfile::tempdir().unwrap();
        let turn_id = TurnId::from_bytes([7; 16]);
        // Something else lies in the place of its lock.
        std::fs::create_dir(dir.path().join(format!("turn-{turn_id}.1.guard"))).unwrap();
        let alive = |process| Alive {
            process,
            is_near: true,
            locks: dir.path().to_owned(),
            turn_id,
            attempt: 1,
            stopped_at_ms: None,
            until_ms: u64::MAX,
        };
        assert!(!alive(Some(Identity::own())).wait(1).unwrap());
        assert_eq!(alive(None).wait(1).unwrap_err().code(), Code::StoreUnavailable);
    }
}
