//! Owns LoopX's own processes around a guarded program: how they are started, and taking in what loses its parent.
//!
//! Knows nothing of Turns. A guardian is this very binary under another word; so is the step that becomes the program.
//! Both are started from the main thread, since the system ties a child's death to the thread that started it.

use std::{
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, Signal, WaitId, WaitIdOptions, getpid, waitid},
};

use super::{
    census,
    channel::Channel,
    clock::{boot_ms, pause, timeout},
    exec::{EXEC_WORD, Go, Ready, Refused},
    handle,
    leaf::Leaf,
};

/// How long a process of ours may take to be ready.
const READY_MS: u64 = 10_000;
/// How long a process of ours that has done its work may take to end.
const PART_MS: u64 = 200;
/// How long a process of ours may take to end once it is killed.
const REAPED_MS: u64 = 5000;

/// How a binary of ours is started again under another word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    program: PathBuf,
}

impl Launcher {
    /// This process's own binary: the same build, also while its file is being replaced.
    ///
    /// For a binary whose first word may be `__guard` and `__exec`, and no other: what embeds this library is not.
    pub fn this_binary() -> Self {
        let own = PathBuf::from("/proc/self/exe");
        let program = if own.exists() { own } else { std::env::current_exe().unwrap_or(own) };
        Self { program }
    }

    /// Another program in its place.
    #[cfg(test)]
    pub(super) const fn of(program: PathBuf) -> Self {
        Self { program }
    }

    fn command(&self, word: &str) -> Command {
        #[expect(clippy::disallowed_methods, reason = "this module starts LoopX's own processes")]
        let mut command = Command::new(&self.program);
        command.arg0("loopx").arg(word).env_clear().stdout(Stdio::null()).stderr(Stdio::null());
        command.current_dir("/").envs(crate::failpoint::passed_on());
        command
    }
}

/// A process of ours beside this one, and the way to talk to it.
#[derive(Debug)]
pub struct Companion {
    child: Child,
    /// Whether it is at work that it goes on with when nobody listens to it any more.
    goes_on: bool,
    /// Both ways.
    pub channel: Channel,
}

impl Companion {
    /// Starts this binary under `word`.
    ///
    /// Errors: those of the system.
    pub fn start(launcher: &Launcher, word: &str) -> io::Result<Self> {
        let (channel, theirs) = Channel::pair()?;
        let child = launcher.command(word).stdin(Stdio::from(OwnedFd::from(theirs))).spawn()?;
        Ok(Self { child, goes_on: false, channel })
    }

    /// Whether it has ended; collects it then.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end at most this long; whether it came.
    pub fn wait(&mut self, wait_ms: u64) -> bool {
        let until_ms = boot_ms().saturating_add(wait_ms);
        while !self.has_ended() {
            if boot_ms() >= until_ms {
                return false;
            }
            pause(1);
        }
        true
    }

    /// Says whether it goes on with its work when this is dropped; else it ends with its channel, and is waited for.
    pub fn goes_on(&mut self, goes_on: bool) {
        self.goes_on = goes_on;
    }

    /// Closes the channel, which tells it that nothing more is wanted.
    pub fn close(&self) {
        self.channel.close();
    }

    /// Kills it, and waits for its end.
    pub fn kill(&mut self) {
        // A process that has ended takes no signal.
        let _ = self.child.kill();
        self.wait(REAPED_MS);
    }
}

impl Drop for Companion {
    /// One that has ended, or does so within its moment, is collected.
    fn drop(&mut self) {
        self.close();
        self.wait(if self.goes_on { 0 } else { PART_MS });
    }
}

/// One process by which a later one can tell it from whoever gets its number afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Its process id.
    pub pid: i32,
    /// When it started, in the kernel's ticks since boot; 0 where the system does not tell.
    pub started: u64,
}

impl Identity {
    /// This process.
    pub fn own() -> Self {
        let pid = getpid().as_raw_nonzero().get();
        Self { pid, started: census::any(pid).map_or(0, |row| row.started) }
    }

    /// Whether it lives; what has ended and was not collected does not.
    pub fn is_living(self) -> bool {
        census::any(self.pid).is_some_and(|row| row.started == self.started && !row.dead)
    }

    /// Whether it lives, or has at least not been collected.
    pub(super) fn is_alive(self) -> bool {
        census::any(self.pid).is_some_and(|row| row.started == self.started)
    }

    /// Waits for its end, at most this long.
    pub fn wait(self, wait_ms: u64) {
        let Some(handle) = self.handle() else { return };
        let mut watched = [PollFd::new(&handle, PollFlags::IN)];
        // An interrupted wait is a shorter one.
        let _ = poll(&mut watched, Some(&timeout(wait_ms)));
    }

    /// A handle of it, and of nobody else; none once it is gone.
    fn handle(self) -> Option<OwnedFd> {
        let pid = Pid::from_raw(self.pid).filter(|_| self.pid > 1 && self.started > 0)?;
        let handle = handle::open(pid).ok()?;
        self.is_alive().then_some(handle)
    }

    /// Signals it; never another process that got its number. Without effect once it is gone.
    pub fn signal(self, signal: Signal) {
        if let (Some(handle), Some(pid)) = (self.handle(), Pid::from_raw(self.pid)) {
            // It may end at any moment, which is what is wanted.
            let _ = handle::signal(&Ok(handle), pid, signal);
        }
    }
}

/// A process that is about to become a guarded program.
#[derive(Debug)]
pub struct Charge {
    pub(super) child: Child,
    channel: Channel,
    pub(super) leaf: Option<Leaf>,
}

impl Charge {
    /// Starts it, in a leaf where one was planned and can be made; it gets ready by itself. Whatever descends from it and
    /// loses its parent is this process's from now on.
    ///
    /// Errors: those of the system; then nothing is left.
    pub fn prepare(launcher: &Launcher, planned: Option<&Leaf>) -> io::Result<Self> {
        adopt_orphans();
        let leaf = planned.filter(|leaf| leaf.make()).cloned();
        let (channel, theirs) = Channel::pair()?;
        let mut command = launcher.command(EXEC_WORD);
        let started = command
            .arg(OsString::from(std::process::id().to_string()))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        match started {
            Ok(child) => Ok(Self { child, channel, leaf }),
            Err(error) => {
                leaf.iter().for_each(Leaf::remove);
                Err(error)
            }
        }
    }

    /// Waits until it can begin.
    ///
    /// Errors: those of the system; then nothing is left.
    pub fn ready(mut self) -> io::Result<Self> {
        let heard = self.channel.within(Some(READY_MS)).and_then(|()| self.channel.receive::<Ready>());
        let ready = heard.and_then(|ready| ready.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()));
        match ready {
            Ok(Ready) => Ok(self),
            Err(error) => {
                self.give_up();
                Err(error)
            }
        }
    }

    /// The control group in which it will work, where there is one.
    pub fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref()
    }

    /// Lets it become the program, once it is ready.
    ///
    /// Errors: what the system says of the program.
    pub(super) fn go(&mut self, go: &Go) -> io::Result<()> {
        self.channel.send(go)?;
        // One that is stopped says nothing, and would hold up all that its guardian has to look at.
        self.channel.within(Some(READY_MS))?;
        // When it has become the program, its end of the channel is closed.
        match self.channel.receive::<Refused>()? {
            None => Ok(()),
            Some(Refused { errno }) => {
                Err(errno.map_or_else(|| io::ErrorKind::Other.into(), io::Error::from_raw_os_error))
            }
        }
    }

    /// Ends it before it became anything.
    pub fn give_up(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.leaf.iter().for_each(Leaf::remove);
    }
}

/// Makes this process the parent of what loses its own below it; where the system has no such thing, nothing changes.
fn adopt_orphans() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

/// Whether this process has no child but `leader`.
pub(super) fn is_childless(leader: i32) -> bool {
    census::children(std::process::id()).is_some_and(|pids| pids.iter().all(|pid| *pid == leader))
}

/// Collects what this process adopted and has ended; `leader` stays.
pub(super) fn reap_adopted(leader: i32) {
    for pid in census::children(std::process::id()).unwrap_or_default() {
        if let Some(pid) = Pid::from_raw(pid).filter(|_| pid != leader) {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
}
