//! Owns the messages between LoopX's own processes: one JSON value a frame, over a pair of sockets.
//!
//! Knows nothing of what the messages mean. Invariant: a frame is read whole or not at all, and never more of it than
//! [`FRAME_MAX_BYTES`].

use std::{
    io::{self, Read as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
};

use serde::{Serialize, de::DeserializeOwned};

/// The largest frame; a host's whole request and environment fit many times.
const FRAME_MAX_BYTES: usize = 16 * 1024 * 1024;

/// How long the other end may take to make room.
const SEND_WAIT: std::time::Duration = std::time::Duration::from_secs(20);

/// One end of a pair.
#[derive(Debug)]
pub struct Channel(UnixStream);

impl Channel {
    /// Two ends that are connected.
    pub(super) fn pair() -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        // A process that is stopped reads nothing, and must not stop us.
        ours.set_write_timeout(Some(SEND_WAIT))?;
        Ok((Self(ours), theirs))
    }

    /// The end that a process of ours finds as its stdin.
    ///
    /// Errors: those of the system, and `InvalidInput` where stdin is no socket.
    pub fn inherited() -> io::Result<Self> {
        let end = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        // What is no socket has no peer.
        end.peer_addr().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        end.set_write_timeout(Some(SEND_WAIT))?;
        Ok(Self(end))
    }

    /// Closes it, both ways: whoever waits at the other end sees that.
    pub(super) fn close(&self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }

    /// Sends one value.
    ///
    /// Errors: `InvalidInput` beyond the largest frame; `BrokenPipe` when the other end is gone, never a signal.
    pub fn send(&mut self, value: &impl Serialize) -> io::Result<()> {
        let body = serde_json::to_vec(value)?;
        let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= FRAME_MAX_BYTES);
        let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut frame = length.to_be_bytes().to_vec();
        frame.extend(body);
        self.0.write_all(&frame)
    }

    /// Waits for the next value; none when the other end is closed or gone.
    ///
    /// Errors: `InvalidData` for what is no such value; `WouldBlock` after the time that [`Channel::within`] set.
    pub fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut length = [0_u8; 4];
        match self.0.read_exact(&mut length) {
            Err(e) if matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
                return Ok(None);
            }
            read => read?,
        }
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > FRAME_MAX_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0_u8; length];
        self.0.read_exact(&mut body)?;
        serde_json::from_slice(&body).map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Bounds how long a receive waits, in milliseconds; none for ever.
    pub fn within(&self, wait_ms: Option<u64>) -> io::Result<()> {
        self.0.set_read_timeout(wait_ms.map(|ms| std::time::Duration::from_millis(ms.max(1))))
    }

    /// Bounds how long a send waits for room, in milliseconds; none for as long as the other end lives.
    pub fn sends_within(&self, wait_ms: Option<u64>) -> io::Result<()> {
        self.0.set_write_timeout(wait_ms.map(|ms| std::time::Duration::from_millis(ms.max(1))))
    }

    /// Whether something came, or the other end is gone; waits at most this long.
    pub fn is_due(&self, wait_ms: u64) -> bool {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut watched = [PollFd::new(&self.0, PollFlags::IN)];
        // An interrupted wait is a shorter one.
        poll(&mut watched, Some(&super::clock::timeout(wait_ms))).is_ok_and(|ready| ready > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_whole_or_not_at_all() {
        let (mut ours, theirs) = Channel::pair().unwrap();
        let mut theirs = Channel(theirs);
        assert!(!theirs.is_due(1));
        ours.send(&vec!["a", "b"]).unwrap();
        assert!(theirs.is_due(1000));
        assert_eq!(theirs.receive::<Vec<String>>().unwrap(), Some(vec!["a".to_owned(), "b".to_owned()]));
        theirs.within(Some(1)).unwrap();
        assert_eq!(theirs.receive::<u8>().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        ours.send(&"no number").unwrap();
        assert_eq!(theirs.receive::<u8>().unwrap_err().kind(), io::ErrorKind::InvalidData);
        ours.0.write_all(&u32::MAX.to_be_bytes()).unwrap();
        assert_eq!(theirs.receive::<u8>().unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(ours);
        assert_eq!(theirs.receive::<u8>().unwrap(), None);
        assert_eq!(theirs.send(&1).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
