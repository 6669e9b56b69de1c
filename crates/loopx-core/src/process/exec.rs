//! Owns the last step before a guarded program: binding its life to its guardian's, then becoming it.
//!
//! Knows nothing of what the program is. It runs in a process of its own between the two, so that nothing has to run
//! between a fork and an exec. Invariant: no program begins unless its guardian lives and said so.

use std::{ffi::OsString, io, os::unix::process::CommandExt as _, process::Command};

use rustix::{io::Errno, process::getppid, stdio::dup2_stdin};
use serde::{Deserialize, Serialize};

use super::{channel::Channel, stdin};

/// The word that makes a binary of ours this step.
pub const EXEC_WORD: &str = "__exec";

/// What it says once it can begin: its life is bound to its guardian's.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ready;

/// What it becomes, and with what. Names of files are no text, and in JSON no text is a key.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Go {
    pub(super) program: OsString,
    pub(super) argv: Vec<OsString>,
    pub(super) cwd: OsString,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) stdin: Vec<u8>,
}

/// Why it could not begin: the error number, where the system gave one. When it begins, the channel just closes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Refused {
    pub(super) errno: Option<i32>,
}

/// Runs the step: the one word is the process id of the guardian.
///
/// It returns only when no program began.
pub fn exec(words: &[OsString]) -> u8 {
    const REFUSED: u8 = 126;
    let [guardian] = words else { return REFUSED };
    let Some(guardian) = guardian.to_str().and_then(|pid| pid.parse::<i32>().ok()) else { return REFUSED };
    let Ok(mut channel) = Channel::inherited() else { return REFUSED };
    // From here on the guardian's death is ours. It may have died before, which the look at the parent tells.
    if die_with_parent(true).is_err() || !is_parent(guardian) {
        return REFUSED;
    }
    let go = channel.send(&Ready).and_then(|()| channel.receive::<Go>());
    let Ok(Some(go)) = go else { return REFUSED };
    let failed = begin(&go);
    let _ = channel.send(&Refused { errno: failed.raw_os_error() });
    REFUSED
}

fn is_parent(pid: i32) -> bool {
    getppid().is_some_and(|parent| parent.as_raw_nonzero().get() == pid)
}

/// Becomes the program; returns what was in the way.
fn begin(go: &Go) -> io::Error {
    let Some((name, arguments)) = go.argv.split_first() else { return Errno::NOENT.into() };
    // The channel's other descriptors close by themselves when the program begins.
    let fed = stdin::file(&go.stdin).and_then(|file| dup2_stdin(file).map_err(Into::into));
    if let Err(error) = fed {
        return error;
    }
    #[expect(clippy::disallowed_methods, reason = "it starts nothing: this process becomes the program")]
    let mut command = Command::new(&go.program);
    command.arg0(name).args(arguments).current_dir(&go.cwd).env_clear().envs(go.env.iter().cloned()).exec()
}

/// Says whether this process is killed when the thread that started it ends, stopped or not.
///
/// Errors: those of the system.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn die_with_parent(dies: bool) -> io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    Ok(set_parent_process_death_signal(dies.then_some(Signal::KILL))?)
}

/// Has this process woken when the thread that started it ends, should it be stopped then: its channel tells the rest.
///
/// Errors: those of the system.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn wake_with_parent() -> io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    Ok(set_parent_process_death_signal(Some(Signal::CONT))?)
}

/// Elsewhere nobody is woken.
///
/// Errors: none.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn wake_with_parent() -> io::Result<()> {
    Ok(())
}

/// Elsewhere nothing dies with its parent: a guardian that is killed leaves the group, which whoever recovers ends.
///
/// Errors: none.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn die_with_parent(_dies: bool) -> io::Result<()> {
    Ok(())
}
