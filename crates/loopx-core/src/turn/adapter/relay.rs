//! Owns running the program inside an adapter as a group of its own, to its end or to the adapter's.
//!
//! Knows nothing of what runs, and starts nothing itself: `process` does. It holds nothing beyond one run.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, getppid},
};
use signal_hook::{
    SigId,
    consts::{SIGINT, SIGTERM},
    flag, low_level,
};

use super::end::{Left, RelayEnd, StoppedBy};
use crate::{
    error::{Code, Error, Result},
    model::gathered,
    process::{self, Capture, Control, Outcome, Overflow, ResultRule, Spec, TOKEN_VARIABLE, Tick, Token},
};

/// The most that the program inside may print on stdout, in bytes, unless another limit is set: 16 MiB.
pub const STDOUT_MAX_BYTES: usize = 16 * 1024 * 1024;
/// How often the parent and the signals are looked at, in milliseconds.
const LOOK_MS: u64 = 50;

/// One run of the program inside.
///
/// It runs in a process group of its own. When it ends, or is ended, all that it started is ended too: TERM, the
/// grace, KILL; also what made a session of its own, as agents do with their tools. The mark that LoopX gave the
/// adapter, `LOOPX_CONTAINMENT`, is passed on where it is among the variables.
#[derive(Debug)]
pub struct Relay {
    spec: Spec,
    parent: Option<Pid>,
    lifelines: Vec<OwnedFd>,
}

impl Relay {
    /// A run of this program and these arguments in this folder, without a shell.
    ///
    /// By itself it has no input, no variables, 16 MiB of stdout, the last 1 MiB of stderr, 30 minutes, and 5 s of
    /// grace.
    pub fn new(argv: Vec<OsString>, folder: PathBuf) -> Self {
        let mut spec = Spec::new(argv, folder);
        spec.stdout = Capture { max_bytes: STDOUT_MAX_BYTES, overflow: Overflow::End };
        spec.tick_ms = LOOK_MS;
        Self { spec, parent: getppid(), lifelines: Vec::new() }
    }

    /// Gives it these variables, and no others.
    #[must_use]
    pub fn variables(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.spec.env = gathered(variables);
        self
    }

    /// Gives it this input, and then the end of file.
    #[must_use]
    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.spec.stdin = bytes;
        self
    }

    /// Ends it after so many milliseconds of the boot clock, suspended time included.
    #[must_use]
    pub fn wall_ms(mut self, wall_ms: u64) -> Self {
        self.spec.wall_ms = wall_ms;
        self
    }

    /// Ends it after so many milliseconds of silence on both streams.
    #[must_use]
    pub fn idle_ms(mut self, idle_ms: Option<u64>) -> Self {
        self.spec.idle_ms = idle_ms;
        self
    }

    /// Gives its tree so many milliseconds between TERM and KILL.
    #[must_use]
    pub fn grace_ms(mut self, grace_ms: u64) -> Self {
        self.spec.grace_ms = grace_ms;
        self
    }

    /// Ends it when it prints more than so many bytes on stdout; what came until then is kept.
    #[must_use]
    pub fn stdout_max_bytes(mut self, max_bytes: usize) -> Self {
        self.spec.stdout.max_bytes = max_bytes;
        self
    }

    /// Counts it as done once this says so of its stdout; then it has so many milliseconds to end by itself.
    ///
    /// The function is asked after each piece of output, with all that came so far, so it must be cheap.
    #[must_use]
    pub fn done_when(mut self, is_complete: fn(&[u8]) -> bool, linger_ms: u64) -> Self {
        self.spec.result = Some(ResultRule { is_complete, linger_ms });
        self
    }

    /// Ends it when the other end of this pipe or socket closes: the parent holds that end for as long as it lives.
    ///
    /// An adapter's stdin is no such descriptor, for a request ends with the end of file. Its stdout is, see
    /// [`Relay::with_stdout`].
    #[must_use]
    pub fn lifeline(mut self, descriptor: OwnedFd) -> Self {
        self.lifelines.push(descriptor);
        self
    }

    /// Ends it when nobody reads this process's stdout any more, where that is a pipe.
    ///
    /// Errors: `not_ready` where the descriptor cannot be doubled.
    pub fn with_stdout(self) -> Result<Self> {
        let own = io::stdout().as_fd().try_clone_to_owned();
        let own =
            own.map_err(|error| Error::new(Code::NotReady, "stdout cannot be watched").internal(error))?;
        Ok(self.lifeline(own))
    }

    /// Runs it to its end: its own, a limit's, or the adapter's.
    ///
    /// The adapter's end is TERM or INT to this process, another parent than at [`Relay::new`], or a closed lifeline.
    /// Then the tree is ended, and waited for. From here on TERM and INT do not end this process by themselves, after
    /// the run neither: it is expected to print what it has and to exit. Who goes on, or listens already, takes
    /// [`Relay::run_unless`].
    ///
    /// A program that does not start is no error but a [`RelayEnd::NotStarted`]. Errors: `invalid_id` for a mark among the
    /// variables that is none; `not_ready` where signals cannot be listened to.
    pub fn run(self) -> Result<Relayed> {
        let signals = Signals::listen()
            .map_err(|error| Error::new(Code::NotReady, "signals cannot be listened to").internal(error))?;
        self.run_unless(&mut || signals.came())
    }

    /// As [`Relay::run`], with the caller's own wish to end it in the place of signals.
    pub fn run_unless(mut self, wished: &mut dyn FnMut() -> bool) -> Result<Relayed> {
        let token = self.spec.env.get(OsStr::new(TOKEN_VARIABLE)).and_then(|token| token.to_str());
        self.spec.containment = token.map(Token::parse).transpose()?;
        let mut stopped_by = None;
        let outcome = process::run(&self.spec, &mut |tick: Tick| {
            if tick.ending {
                return Control::Continue;
            }
            stopped_by = if wished() {
                Some(StoppedBy::Wish)
            } else if self.parent_is_gone() {
                Some(StoppedBy::ParentGone)
            } else {
                return Control::Continue;
            };
            Control::Stop
        });
        Ok(Relayed::of(outcome, stopped_by))
    }

    fn parent_is_gone(&self) -> bool {
        getppid() != self.parent || self.lifelines.iter().any(is_cut)
    }
}

/// Whether the other end of a pipe or socket has closed; never of a file or a terminal.
fn is_cut(descriptor: &OwnedFd) -> bool {
    let mut watched = [PollFd::new(descriptor, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let looked = poll(&mut watched, Some(&now));
    looked.is_ok() && watched.iter().any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

/// How the program inside ended, and what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relayed {
    /// How it ended.
    pub ended: RelayEnd,
    /// What it printed on stdout, up to the limit.
    pub stdout: Vec<u8>,
    /// The last 1 MiB of what it printed on stderr.
    pub stderr: Vec<u8>,
    /// From its start to the proved end of its tree, in milliseconds.
    pub wall_ms: u64,
    /// What it left running when it had exited by itself, and had to be ended.
    pub outlived: Vec<Left>,
    /// What could not be ended; empty, unless the system does not let it be killed.
    pub survivors: Vec<Left>,
}

impl Relayed {
    fn of(outcome: Outcome, stopped_by: Option<StoppedBy>) -> Self {
        Self {
            ended: RelayEnd::of(outcome.ended, stopped_by),
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            wall_ms: outcome.wall_ms,
            outlived: Left::all(outcome.outlived),
            survivors: Left::all(outcome.survivors),
        }
    }
}

/// TERM and INT, for as long as it lives.
#[derive(Debug)]
struct Signals {
    came: Arc<AtomicBool>,
    heard: Vec<SigId>,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let mut signals = Self { came: Arc::new(AtomicBool::new(false)), heard: Vec::new() };
        for signal in [SIGTERM, SIGINT] {
            signals.heard.push(flag::register(signal, Arc::clone(&signals.came))?);
        }
        Ok(signals)
    }

    fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.heard.drain(..) {
            low_level::unregister(id);
        }
    }
}
