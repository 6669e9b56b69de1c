//! Owns how a relayed program can end, in an adapter's own words.
//!
//! Knows nothing of how it is run. It has types of its own, so that what `process` learns about its ends is no adapter's
//! to match on.

use std::fmt;

use crate::process::{Ended, NotStarted, Process};

/// Why the program inside was ended before its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoppedBy {
    /// TERM or INT came, or the caller wished it.
    Wish,
    /// The adapter's parent is gone.
    ParentGone,
}

/// How the program inside ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayEnd {
    /// It exited by itself, with this status.
    Exited(i32),
    /// A signal that the relay did not send ended it.
    Signalled(i32),
    /// It exited, and somebody else collected its status.
    Unknown,
    /// It was done, and was ended because it went on; what it said stands.
    Lingered,
    /// Its time was over.
    WallDeadline,
    /// It was silent for too long.
    IdleDeadline,
    /// It printed more than it may.
    OutputTooLarge,
    /// The adapter was to end.
    Stopped(StoppedBy),
    /// There is no such program.
    Missing,
    /// The program cannot be executed.
    NotExecutable,
    /// The working folder cannot be entered.
    FolderUnavailable,
    /// The system did not start it, with its error number where it gave one.
    NotStarted(Option<i32>),
}

impl RelayEnd {
    pub(super) fn of(ended: Ended, stopped_by: Option<StoppedBy>) -> Self {
        match ended {
            Ended::Exited(status) => Self::Exited(status),
            Ended::Signalled(signal) => Self::Signalled(signal),
            Ended::ExitUnknown => Self::Unknown,
            Ended::Lingered => Self::Lingered,
            Ended::WallDeadline => Self::WallDeadline,
            Ended::IdleDeadline => Self::IdleDeadline,
            Ended::OutputTooLarge => Self::OutputTooLarge,
            Ended::Stopped => Self::Stopped(stopped_by.unwrap_or(StoppedBy::Wish)),
            Ended::Abandoned => Self::Stopped(StoppedBy::ParentGone),
            Ended::NotStarted(NotStarted::Missing) => Self::Missing,
            Ended::NotStarted(NotStarted::NotExecutable) => Self::NotExecutable,
            Ended::NotStarted(NotStarted::FolderUnavailable) => Self::FolderUnavailable,
            Ended::NotStarted(NotStarted::Other(errno)) => Self::NotStarted(errno),
        }
    }
}

/// In words, without a name or a place.
impl fmt::Display for RelayEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "exit {status}"),
            Self::Signalled(signal) => write!(f, "killed by signal {signal}"),
            Self::Unknown => f.write_str("ended, and somebody else took its status"),
            Self::Lingered => f.write_str("ended because it went on when it was done"),
            Self::WallDeadline => f.write_str("ended at its deadline"),
            Self::IdleDeadline => f.write_str("ended because it was silent for too long"),
            Self::OutputTooLarge => f.write_str("ended because it printed more than its limit"),
            Self::Stopped(StoppedBy::Wish) => f.write_str("ended on a wish"),
            Self::Stopped(StoppedBy::ParentGone) => f.write_str("ended because its parent is gone"),
            Self::Missing => f.write_str("the program is missing"),
            Self::NotExecutable => f.write_str("the program cannot be executed"),
            Self::FolderUnavailable => f.write_str("the folder cannot be entered"),
            Self::NotStarted(_) => f.write_str("the program could not be started"),
        }
    }
}

/// A process that is named to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its process id.
    pub pid: i32,
    /// Its short name; empty where the system does not tell.
    pub name: String,
}

impl Left {
    pub(super) fn all(processes: Vec<Process>) -> Vec<Self> {
        processes.into_iter().map(|Process { pid, name }| Self { pid, name }).collect()
    }
}
