//! Owns what a caller says about a process and what it is told back; plain data.
//!
//! Knows nothing of how a process is started, watched or ended.

use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};

/// The name of the environment variable that carries a [`Token`] through a tree.
pub const TOKEN_VARIABLE: &str = "LOOPX_CONTAINMENT";

/// The mark that a process tree carries in its environment, so that a stranger can find all of it.
///
/// A token belongs to one tree: ending it ends whatever carries it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(String);

impl Token {
    /// Takes 8–128 characters of `A–Z a–z 0–9 _ . : -`; anything else is `invalid_id`.
    pub fn parse(text: &str) -> Result<Self> {
        let fits = (8..=128).contains(&text.len());
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'-');
        if fits && text.bytes().all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::new(Code::InvalidId, "a containment token is 8 to 128 plain characters"))
        }
    }

    /// The token as it stands in the environment.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The whole environment entry, `NAME=value`.
    pub(super) fn entry(&self) -> Vec<u8> {
        format!("{TOKEN_VARIABLE}={}", self.0).into_bytes()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What happens to output beyond [`Capture::max_bytes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The tree is ended and the outcome is [`Ended::OutputTooLarge`].
    End,
    /// Reading goes on; only the last `max_bytes` are kept.
    KeepTail,
}

/// How much of one output stream is kept. Invariant: at most twice `max_bytes` are ever held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The most that is kept, in bytes.
    pub max_bytes: usize,
    /// What happens beyond it.
    pub overflow: Overflow,
}

/// When a program counts as having said all it has to say, although it still runs.
#[derive(Debug, Clone, Copy)]
pub struct ResultRule {
    /// Whether these bytes of stdout are a complete result. Called after reads, so it must be cheap.
    pub is_complete: fn(&[u8]) -> bool,
    /// How long the program may go on after its result, in milliseconds.
    pub linger_ms: u64,
}

/// One bounded run.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The program and its arguments; no shell. Without a slash the program is looked up in `env`'s `PATH`.
    pub argv: Vec<OsString>,
    /// The working folder.
    pub cwd: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: BTreeMap<OsString, OsString>,
    /// What the program reads, then end of file.
    pub stdin: Vec<u8>,
    /// What is kept of stdout.
    pub stdout: Capture,
    /// What is kept of stderr.
    pub stderr: Capture,
    /// The longest run in milliseconds of the boot clock, suspended time included.
    pub wall_ms: u64,
    /// The longest silence on both streams, in milliseconds of the boot clock.
    pub idle_ms: Option<u64>,
    /// How long the tree has between TERM and KILL, in milliseconds.
    pub grace_ms: u64,
    /// How often the caller's tick is called, in milliseconds.
    pub tick_ms: u64,
    /// The mark of this tree, exported as `LOOPX_CONTAINMENT`.
    pub containment: Option<Token>,
    /// When the program is done although it runs.
    pub result: Option<ResultRule>,
    /// Whether the program leaves nothing behind. Once it has exited by itself and closed both streams, its end is then
    /// proved by its empty group alone; whoever is in there is ended as ever.
    pub alone: bool,
}

impl Spec {
    /// A run with the defaults of the governed Turn: 64 KiB of stdout, the last 1 MiB of stderr, 30 minutes, 5 s of
    /// grace, four ticks a second, an empty environment and no input.
    pub fn new(argv: Vec<OsString>, cwd: PathBuf) -> Self {
        Self {
            argv,
            cwd,
            env: BTreeMap::new(),
            stdin: Vec::new(),
            stdout: Capture { max_bytes: 64 * 1024, overflow: Overflow::End },
            stderr: Capture { max_bytes: 1024 * 1024, overflow: Overflow::KeepTail },
            wall_ms: 30 * 60 * 1000,
            idle_ms: None,
            grace_ms: 5000,
            tick_ms: 250,
            containment: None,
            result: None,
            alone: false,
        }
    }
}

/// What the caller is told while the program runs or is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The process id of the program, which is also its group; 0 where another process runs it.
    pub pid: i32,
    /// Time since the start, in milliseconds.
    pub elapsed_ms: u64,
    /// Bytes that came on stdout so far.
    pub stdout_seen_bytes: u64,
    /// Bytes that came on stderr so far.
    pub stderr_seen_bytes: u64,
    /// Whether the tree is already being ended, so that a wish to stop changes nothing.
    pub ending: bool,
    /// Whether stdout holds a complete result.
    pub result_complete: bool,
    /// Whether all of the tree is in a control group of its own.
    pub is_confined: bool,
}

impl Tick {
    /// What is known of a run in another process.
    pub(super) fn of(elapsed_ms: u64, ending: bool) -> Self {
        Self {
            pid: 0,
            elapsed_ms,
            stdout_seen_bytes: 0,
            stderr_seen_bytes: 0,
            ending,
            result_complete: false,
            is_confined: false,
        }
    }
}

/// What the caller wants after a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// End the tree; the outcome is [`Ended::Stopped`].
    Stop,
    /// End the tree, unless its result is complete; the outcome is [`Ended::Abandoned`].
    Abandon,
}

/// Why a program did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStarted {
    /// There is no such program.
    Missing,
    /// The file is there and cannot be executed.
    NotExecutable,
    /// The working folder is missing or cannot be entered.
    FolderUnavailable,
    /// The operating system refused, with its error number where it gave one.
    Other(Option<i32>),
}

/// In words, without a name or a place.
impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "the program is missing",
            Self::NotExecutable => "the program cannot be executed",
            Self::FolderUnavailable => "the work tree cannot be entered",
            Self::Other(_) => "the program could not be started",
        })
    }
}

/// How the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The program exited by itself.
    Exited(i32),
    /// A signal that this module did not send ended the program.
    Signalled(i32),
    /// The program exited, and how is not known: somebody else collected its status, or who kept it is gone.
    ExitUnknown,
    /// The result was complete and the program lingered past [`ResultRule::linger_ms`]; the result stands.
    Lingered,
    /// [`Spec::wall_ms`] passed.
    WallDeadline,
    /// [`Spec::idle_ms`] passed without output.
    IdleDeadline,
    /// A stream passed its limit under [`Overflow::End`].
    OutputTooLarge,
    /// The caller asked.
    Stopped,
    /// Nobody waited for it any more.
    Abandoned,
    /// Nothing ran.
    NotStarted(NotStarted),
}

/// In words, without a name or a place.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit {code}"),
            Self::Signalled(signal) => write!(f, "killed by signal {signal}"),
            Self::ExitUnknown => f.write_str("ended, and how is not known"),
            Self::Lingered => f.write_str("ended by LoopX, because it went on after its result"),
            Self::WallDeadline => f.write_str("ended by LoopX at its deadline"),
            Self::IdleDeadline => f.write_str("ended by LoopX, because it was silent for too long"),
            Self::OutputTooLarge => f.write_str("ended by LoopX, because it printed more than its limit"),
            Self::Stopped => f.write_str("ended by LoopX on a wish"),
            Self::Abandoned => f.write_str("ended by LoopX, because nobody waited for it any more"),
            Self::NotStarted(why) => why.fmt(f),
        }
    }
}

/// A process as a person would look for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its process id.
    pub pid: i32,
    /// Its short name; empty where the system does not tell.
    pub name: String,
}

/// What the end of a tree was proved against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    /// A control group of its own, which nothing leaves, and all that the others name.
    Leaf,
    /// All that descends from the program, also what lost its parent, and the token's carriers.
    Adopted,
    /// The process group, the token's carriers and their children.
    Token,
    /// The process group and the children of its members: no token was given.
    Children,
    /// The process group alone: this system shows no process table.
    Group,
}

/// All that is known of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// What was kept of stdout.
    pub stdout: Vec<u8>,
    /// What was kept of stderr.
    pub stderr: Vec<u8>,
    /// All that came on stdout, in bytes.
    pub stdout_seen_bytes: u64,
    /// All that came on stderr, in bytes.
    pub stderr_seen_bytes: u64,
    /// Whether stdout was a complete result at some time, whatever happened later.
    pub result_complete: bool,
    /// From start to proved end, in milliseconds.
    pub wall_ms: u64,
    /// Of that, the time in which the machine was awake; none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awake_ms: Option<u64>,
    /// What was still alive when the program itself had exited, and had to be ended.
    pub outlived: Vec<Process>,
    /// What is still alive. Empty unless the system would not let it be killed.
    pub survivors: Vec<Process>,
    /// What the end was proved against.
    pub containment: Containment,
}
