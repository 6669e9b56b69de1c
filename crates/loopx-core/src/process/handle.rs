//! Owns handles of processes: one that is held means one process for ever, whoever gets its number afterwards.
//!
//! Knows nothing of why a process is watched or signalled. Linux has such handles since 5.3; elsewhere there are none, and
//! a process is signalled by its number.

use std::os::fd::OwnedFd;

use rustix::{
    io::{Errno, Result},
    process::{Pid, Signal, kill_process},
};

/// A handle of a process; `NOSYS` where this system has none.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn open(pid: Pid) -> Result<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn open(_pid: Pid) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Signals a process by a handle that was opened before somebody made sure whose it is.
pub(super) fn signal(handle: &Result<OwnedFd>, pid: Pid, signal: Signal) -> Result<()> {
    match handle {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        Ok(handle) => rustix::process::pidfd_send_signal(handle, signal),
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        Ok(_) => kill_process(pid, signal),
        Err(Errno::NOSYS) => kill_process(pid, signal),
        Err(errno) => Err(*errno),
    }
}
