//! Owns what one process does to itself: stalling, flooding, ignoring, stopping.
//!
//! Knows nothing of the wire. Invariant: nothing here outlives the limit of this program.

use std::{
    io::{self, Write},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use rustix::{
    process::{Signal, getpid, kill_process},
    stdio::{dup2_stderr, dup2_stdout},
};

use super::LEFT_BEHIND_MAX;

/// Gives the processor away.
#[expect(clippy::disallowed_methods, reason = "being silent for a while is what this program is for")]
pub(super) fn pause(span: Duration) {
    std::thread::sleep(span);
}

/// Does nothing until it is ended, or for as long as anything of this program lives.
pub(super) fn stall() {
    pause(LEFT_BEHIND_MAX);
}

/// Takes no notice of TERM, INT and HUP from here on.
pub(super) fn ignore_term() -> io::Result<()> {
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// Sends itself a signal.
pub(super) fn signal_myself(signal: Signal) -> io::Result<()> {
    Ok(kill_process(getpid(), signal)?)
}

/// Puts nothing where its output was.
pub(super) fn close_output() -> io::Result<()> {
    let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    Ok(())
}

/// Prints so many bytes, or until nobody takes them.
pub(super) fn flood(stream: &mut dyn Write, bytes: u64) {
    let block = [b'x'; 8 * 1024];
    let mut left = bytes;
    while left > 0 && stream.write_all(&block).is_ok() {
        left = left.saturating_sub(block.len() as u64);
    }
}

/// Prints a text byte by byte.
pub(super) fn drip(text: &str) -> io::Result<()> {
    for byte in text.as_bytes() {
        let mut stdout = io::stdout().lock();
        stdout.write_all(&[*byte])?;
        stdout.flush()?;
    }
    Ok(())
}
