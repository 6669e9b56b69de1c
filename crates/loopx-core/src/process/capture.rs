//! Owns reading one output stream without ever holding more of it than was allowed.
//!
//! Knows nothing of deadlines or of what the bytes mean.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::{Errno, read},
};

use super::{
    spec::{Capture, Overflow},
    spool::Sink,
};

/// Read in one go before the loop looks at its deadlines again, so that a flood cannot starve them.
const PULL_MAX_BYTES: usize = 256 * 1024;

/// One stream of a running program.
#[derive(Debug)]
pub(super) struct Stream {
    pipe: Option<OwnedFd>,
    limit: Capture,
    kept: Vec<u8>,
    seen_bytes: u64,
    overflowed: bool,
    sink: Option<Sink>,
}

impl Stream {
    /// Takes our end of the pipe and makes its reads non-blocking. What is kept is also written to `sink`, as it comes.
    pub(super) fn open(pipe: Option<OwnedFd>, limit: Capture, sink: Option<Sink>) -> Self {
        let pipe = pipe.filter(|fd| {
            let flags = fcntl_getfl(fd);
            flags.and_then(|flags| fcntl_setfl(fd, flags | OFlags::NONBLOCK)).is_ok()
        });
        Self { pipe, limit, kept: Vec::new(), seen_bytes: 0, overflowed: false, sink }
    }

    /// The descriptor to wait on, while the stream is open.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    pub(super) fn seen_bytes(&self) -> u64 {
        self.seen_bytes
    }

    /// Whether the limit was passed under [`Overflow::End`].
    pub(super) fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// What is kept so far; exact only for [`Overflow::End`] and until the first overflow.
    pub(super) fn so_far(&self) -> &[u8] {
        &self.kept
    }

    /// Reads what is there; true if anything came.
    pub(super) fn pull(&mut self) -> bool {
        let mut chunk = [0_u8; 16 * 1024];
        let mut pulled = 0;
        while pulled < PULL_MAX_BYTES {
            let Some(pipe) = &self.pipe else { break };
            match read(pipe, &mut chunk[..]) {
                Ok(0) => self.pipe = None,
                Ok(n) => {
                    pulled += n;
                    self.keep(chunk.get(..n).unwrap_or_default());
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.pipe = None,
            }
        }
        pulled > 0
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.seen_bytes = self.seen_bytes.saturating_add(bytes.len() as u64);
        let max = self.limit.max_bytes;
        match self.limit.overflow {
            Overflow::End => {
                let room = max.saturating_sub(self.kept.len());
                if bytes.len() > room {
                    self.overflowed = true;
                    // Nobody reads on: the flood meets a closed pipe instead of our memory.
                    self.pipe = None;
                }
                let bytes = bytes.get(..room.min(bytes.len())).unwrap_or_default();
                self.kept.extend_from_slice(bytes);
                self.spool(bytes);
            }
            Overflow::KeepTail => {
                self.spool(bytes);
                self.kept.extend_from_slice(bytes.get(bytes.len().saturating_sub(max)..).unwrap_or_default());
                if self.kept.len() > max.saturating_mul(2) {
                    self.kept.drain(..self.kept.len() - max);
                }
            }
        }
    }

    fn spool(&mut self, bytes: &[u8]) {
        if let Some(sink) = self.sink.as_mut() {
            sink.write(bytes);
        }
    }

    /// Makes what was spooled so far survive the machine.
    pub(super) fn keep_for_good(&mut self) {
        if let Some(sink) = self.sink.as_mut() {
            sink.sync();
        }
    }

    /// Ends reading and hands over what is kept, and how much came in all.
    pub(super) fn close(&mut self) -> (Vec<u8>, u64) {
        self.pipe = None;
        let excess = self.kept.len().saturating_sub(self.limit.max_bytes);
        self.kept.drain(..excess);
        (std::mem::take(&mut self.kept), self.seen_bytes)
    }
}
