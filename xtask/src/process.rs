//! Owns the start and the end of every program xtask runs, and its one clock.
//!
//! A program runs in its own process group, without standard input, and ends with its group: by itself, at
//! the deadline, or when xtask is interrupted. Knows nothing of what the program is for.

use std::{
    ffi::OsStr,
    io::{self, BufRead as _, BufReader, Read},
    os::unix::process::CommandExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long a group may take to end after it was asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(10);
/// How often a running program is looked at while it prints nothing.
const LOOK: Duration = Duration::from_millis(100);
/// How long output may still come after the program itself has ended.
const DRAIN: Duration = Duration::from_secs(2);

/// A moment, from the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Moment(Instant);

impl Moment {
    /// The present moment.
    #[expect(clippy::disallowed_methods, reason = "this type is xtask's one reader of the clock")]
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// The time since then.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// What a program may be ended by, other than itself.
#[derive(Debug, Clone)]
pub struct Limits {
    started: Moment,
    allowed: Duration,
    interrupted: Arc<AtomicBool>,
}

impl Limits {
    /// Starts the clock of a run, and takes over interrupt, terminate and hang-up for as long as xtask lives.
    pub fn start(allowed: Duration) -> io::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        Ok(Self { started: Moment::now(), allowed, interrupted })
    }

    /// Whether the run has to end now, and why.
    pub fn over(&self) -> Option<&'static str> {
        if self.interrupted.load(Ordering::Relaxed) {
            Some("interrupted")
        } else if self.started.elapsed() >= self.allowed {
            Some("out of time")
        } else {
            None
        }
    }
}

/// How a program ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself.
    Itself(ExitStatus),
    /// By its limits, with the reason.
    Limited(&'static str),
}

/// The program to run: cargo, with one build environment for all lanes.
pub fn cargo<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = program("cargo");
    command.args(arguments).env("CARGO_TERM_COLOR", "never");
    command
}

/// The program to run, by name.
#[expect(clippy::disallowed_methods, reason = "this module is xtask's one owner of processes")]
pub fn program(name: &str) -> Command {
    Command::new(name)
}

/// Whether a program can be started at all.
pub fn exists(name: &str, arguments: &[&str]) -> bool {
    program(name)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What a short program prints on its first line, if it is there and succeeds.
pub fn said(name: &str, arguments: &[&str]) -> Option<String> {
    let output = program(name).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// The platform the default toolchain builds for.
pub fn host_platform() -> io::Result<String> {
    let output = program("rustc").arg("-vV").stdin(Stdio::null()).output()?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .ok_or_else(|| io::Error::other("rustc names no host platform"))
}

/// Runs a program to its end and hands every line of both its streams to `show` as it comes.
pub fn run(
    mut command: Command,
    limits: &Limits,
    show: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<Ended> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let lines = read_both(&mut child);
    loop {
        if let Some(reason) = limits.over() {
            end_group(&mut child, &lines)?;
            return Ok(Ended::Limited(reason));
        }
        match lines.recv_timeout(LOOK) {
            Ok(line) => show(&line)?,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                if child.try_wait()?.is_some() {
                    break;
                }
            }
        }
    }
    let status = child.wait()?;
    let ended = Moment::now();
    while ended.elapsed() < DRAIN {
        match lines.recv_timeout(LOOK) {
            Ok(line) => show(&line)?,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    signal_group(&child, Signal::KILL);
    Ok(Ended::Itself(status))
}

fn read_both(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
        child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
    ];
    for stream in streams.into_iter().flatten() {
        let sender = sender.clone();
        thread::spawn(move || forward(stream, &sender));
    }
    receiver
}

fn forward(stream: Box<dyn Read + Send>, sender: &Sender<String>) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while matches!(reader.read_until(b'\n', &mut line), Ok(read) if read > 0) {
        let text = String::from_utf8_lossy(&line);
        if sender.send(text.trim_end_matches(['\n', '\r']).to_owned()).is_err() {
            return;
        }
        line.clear();
    }
}

/// Asks a group to end, waits, then kills what is left of it.
fn end_group(child: &mut Child, lines: &Receiver<String>) -> io::Result<()> {
    signal_group(child, Signal::TERM);
    let asked = Moment::now();
    while child.try_wait()?.is_none() && asked.elapsed() < GRACE {
        // Output is taken and dropped, so that a full pipe cannot keep the program from ending.
        if matches!(lines.recv_timeout(LOOK), Err(RecvTimeoutError::Disconnected)) {
            break;
        }
    }
    signal_group(child, Signal::KILL);
    child.wait()?;
    Ok(())
}

/// A group that is already gone is what was wanted.
fn signal_group(child: &Child, signal: Signal) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, signal);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Ended, Limits, Moment, program, run};

    fn shell(script: &str, allowed: Duration) -> (Ended, Vec<String>) {
        let limits = Limits::start(allowed).expect("signals can be taken");
        let mut command = program("sh");
        command.args(["-c", script]);
        let mut lines = Vec::new();
        let ended = run(command, &limits, &mut |line| {
            lines.push(line.to_owned());
            Ok(())
        });
        lines.sort();
        (ended.expect("runs"), lines)
    }

    /// Whether a process has ended, within a generous deadline.
    fn ends(pid: &str) -> bool {
        let asked = Moment::now();
        while asked.elapsed() < Duration::from_secs(10) {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if state.is_empty() || state.contains(") Z ") {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }

    #[test]
    fn both_streams_and_the_status_come_back() {
        let (ended, lines) = shell("echo out; echo err >&2; exit 3", Duration::from_secs(60));
        let Ended::Itself(status) = ended else { panic!("it was ended: {ended:?}") };
        assert_eq!((status.code(), lines), (Some(3), vec!["err".to_owned(), "out".to_owned()]));
    }

    #[test]
    fn the_deadline_ends_the_whole_group() {
        let started = Moment::now();
        let (ended, lines) = shell("sleep 300 & echo $!; wait", Duration::from_millis(500));
        assert!(matches!(ended, Ended::Limited("out of time")), "{ended:?}");
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        let pid = lines.first().expect("the group had started");
        assert!(ends(pid), "{pid} still runs");
    }

    #[test]
    fn what_a_program_leaves_behind_ends_with_it() {
        let (ended, lines) = shell("sleep 300 & echo $!", Duration::from_secs(60));
        assert!(matches!(ended, Ended::Itself(_)), "{ended:?}");
        assert!(lines.first().is_some_and(|pid| ends(pid)), "{lines:?}");
    }
}
