//! `status --watch`: what changes is shown, whoever changed it, and nothing is left behind.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]
#![allow(clippy::disallowed_methods, reason = "a test waits with a deadline of its own")]

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::desk::{Desk, files};

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A watcher that is at it.
pub(crate) struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let (told, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines() {
                let Ok(line) = line else { return };
                if told.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    fn of(desk: &Desk, words: &[&str]) -> Self {
        let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
        Self::start(command.args(["status", "--watch", "--json"]).args(words))
    }

    /// The next object.
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    /// The first object of which this is so.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let seen = self.next();
            if is_so(&seen["goals"][0]) {
                return seen["goals"][0].clone();
            }
            assert!(Instant::now() < deadline, "{what} never came");
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    /// Ends it by a signal; its exit code and what it said on stderr.
    pub(crate) fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(self.pid(), signal).unwrap();
        let status = self.child.wait().unwrap();
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (status.code(), err)
    }
}

fn todos(goal: &Value) -> u64 {
    goal["counts"].as_object().unwrap().values().filter_map(Value::as_u64).sum()
}

#[test]
fn a_change_by_another_process_is_one_more_object_and_an_interrupt_ends_it() {
    let desk = Desk::with_work();
    let watching = Watching::of(&desk, &[]);
    let first = watching.next();
    assert_eq!((&first["schema_version"], todos(&first["goals"][0])), (&"loopx_status_v1".into(), 3));
    desk.ok(&["todo", "add", "four"]);
    watching.until("the fourth Todo", |goal| todos(goal) == 4);
    desk.ok(&["gate", "open", "Which?", "--blocks", "ship-it.1"]);
    watching.until("the question", |goal| goal["gates"].as_array().is_some_and(|gates| gates.len() == 1));
    // what changes nothing of what is shown is no news
    desk.ok(&["agent", "add", "coder"]);
    desk.ok(&["todo", "add", "five"]);
    assert_eq!(todos(&watching.next()["goals"][0]), 5);
    assert_eq!(watching.end(Signal::INT), (Some(0), String::new()));
}

#[test]
fn many_changes_at_once_end_with_what_is() {
    let desk = Desk::with_work();
    let watching = Watching::of(&desk, &[]);
    watching.next();
    for n in 0..12 {
        desk.ok(&["todo", "add", &format!("more {n}")]);
    }
    watching.until("the last of them", |goal| todos(goal) == 15);
    assert_eq!(watching.end(Signal::TERM).0, Some(0));
}

#[test]
fn what_comes_due_is_shown_when_it_does_though_nobody_writes() {
    let desk = Desk::empty();
    desk.ok(&["init", "--goal", "Ship it"]);
    desk.ok(&["agent", "add", "coder"]);
    desk.ok(&["todo", "add", "one"]);
    desk.ok(&["todo", "defer", "ship-it.1", "--wake", "after:3s"]);
    let before = desk.events();
    let watching = Watching::of(&desk, &[]);
    let first = watching.next();
    assert_eq!(first["goals"][0]["waiting_on"], "time", "{first}");
    let begun = Instant::now();
    watching.until("the wake", |goal| goal["may_continue"] == true);
    assert!(begun.elapsed() < Duration::from_secs(20), "long before it looks without a reason");
    assert_eq!(desk.events(), before);
    assert_eq!(watching.end(Signal::INT).0, Some(0));
}

#[test]
fn who_reads_no_more_ends_it_though_nothing_changes() {
    let desk = Desk::with_work();
    let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
    let mut child =
        command.args(["status", "--watch"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out: ChildStdout = child.stdout.take().unwrap();
    let mut some = [0; 16];
    out.read_exact(&mut some).unwrap();
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(err, "");
}

#[test]
fn a_killed_watcher_leaves_nothing() {
    let desk = Desk::with_work();
    let shown = |desk: &Desk| {
        let mut all = files(&desk.path("home"));
        all.extend(files(&desk.path("run")));
        all.extend(files(&desk.folder()));
        all.retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
        all
    };
    let before = shown(&desk);
    let mark = desk.path("mark").display().to_string();
    let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
    let watching =
        Watching::start(command.args(["status", "--watch", "--json"]).env("LOOPX_TEST_MARK", &mark));
    watching.next();
    assert_eq!(watching.end(Signal::KILL).0, None);
    assert!(shown(&desk) == before, "a file is left, or changed");
    let mark = format!("LOOPX_TEST_MARK={mark}");
    let left = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let environ = fs::read(entry.ok()?.path().join("environ")).ok()?;
        environ.split(|byte| *byte == 0).any(|one| one == mark.as_bytes()).then_some(())
    });
    assert_eq!(left.count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn it_costs_next_to_nothing_while_nothing_changes() {
    let desk = Desk::with_work();
    let watching = Watching::of(&desk, &[]);
    watching.next();
    let spent_ns = |watching: &Watching| -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", watching.child.id())).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    // Its own last steps before it waits are not part of the wait.
    let settled = {
        let deadline = Instant::now() + PATIENCE;
        let mut last = spent_ns(&watching);
        loop {
            let _ = watching.lines.recv_timeout(Duration::from_millis(300));
            let now = spent_ns(&watching);
            if now == last {
                break now;
            }
            assert!(Instant::now() < deadline, "it never waits");
            last = now;
        }
    };
    let wakes = |watching: &Watching| -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", watching.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    };
    let (mut before, woken) = (settled, wakes(&watching));
    let mut windows = [0_u128; 4].map(|_| {
        let begun = Instant::now();
        assert!(watching.lines.recv_timeout(Duration::from_secs(2)).is_err(), "nothing has changed");
        let now = spent_ns(&watching);
        let spent = now - std::mem::replace(&mut before, now);
        u128::from(spent) * 1000 / begun.elapsed().as_nanos()
    });
    // It asks every two seconds, and is woken by nothing else.
    let woken = wakes(&watching) - woken;
    assert!(woken <= 8, "woken {woken} times in 8 s");
    // What a wake costs on a machine that shares its processors says little, and a loop would cost this in every window.
    // The bar of 0.1 % is for a shipped build on a quiet machine.
    windows.sort_unstable();
    assert!(windows[0] < 10, "{windows:?} of a thousand");
    assert_eq!(watching.end(Signal::INT).0, Some(0));
}

#[test]
fn it_goes_on_without_its_bell_and_with_another_ledger_in_the_file() {
    let desk = Desk::with_work();
    let copy = desk.path("copy.db").to_str().unwrap().to_owned();
    desk.ok(&["backup", &copy]);
    let watching = Watching::of(&desk, &[]);
    assert_eq!(todos(&watching.next()["goals"][0]), 3);
    // By one move: whoever waits may hang its bell anew at any moment.
    for (number, entry) in fs::read_dir(desk.path("run")).unwrap().enumerate() {
        fs::rename(entry.unwrap().path(), desk.path(&format!("gone-{number}"))).unwrap();
    }
    desk.ok(&["todo", "add", "four"]);
    watching.until("a change after the bell was gone", |goal| todos(goal) == 4);
    desk.proven(&["restore", &copy]);
    watching.until("what was restored", |goal| todos(goal) == 3);
    desk.ok(&["todo", "add", "another four"]);
    watching.until("a change after that", |goal| todos(goal) == 4);
    assert_eq!(watching.end(Signal::INT).0, Some(0));
}

#[test]
fn what_cannot_be_watched_is_refused_as_status_is() {
    let desk = Desk::with_work();
    desk.refused(&["status", "--watch", "--goal", "none"], "not_found", 2);
    desk.refused(&["status", "--watch", "--agent", "nobody"], "not_found", 2);
    let empty = Desk::empty();
    assert_eq!(empty.json(&["status", "--watch"]).code(), empty.json(&["status"]).code());
}

/// A terminal of a size, and the file through which a program is on it.
fn terminal(columns: u16, rows: u16) -> (File, File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    resize(&theirs, columns, rows);
    (ours.into(), theirs)
}

fn resize(terminal: &File, columns: u16, rows: u16) {
    let size = rustix::termios::Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(terminal, size).unwrap();
}

/// Reads what comes until this has come since `from`; where that ends.
fn reads_until(lines: &Receiver<Vec<u8>>, text: &mut String, from: usize, wanted: &str) -> usize {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(at) = text.get(from..).and_then(|rest| rest.find(wanted)) {
            return from + at + wanted.len();
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let bytes = lines.recv_timeout(left).unwrap_or_else(|_| panic!("no {wanted:?} in {text:?}"));
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_terminal_is_drawn_over_in_place_and_is_as_it_was_afterwards() {
    let desk = Desk::with_work();
    let (mut ours, theirs) = terminal(50, 8);
    let mode = |terminal: &File| format!("{:?}", rustix::termios::tcgetattr(terminal).unwrap().local_modes);
    let before = mode(&theirs);
    let on = || Stdio::from(theirs.try_clone().unwrap());
    let mut child = desk
        .command(env!("CARGO_BIN_EXE_loopx-core"))
        .args(["status", "--watch"])
        .env("TERM", "xterm")
        .stdin(on())
        .stdout(on())
        .stderr(on())
        .spawn()
        .unwrap();
    let (told, heard) = channel();
    let mut reads = ours.try_clone().unwrap();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = reads.read(&mut bytes) {
            if told.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut text = String::new();
    let at = reads_until(&heard, &mut text, 0, "more lines\u{1b}[K\r\n\u{1b}[J");
    let frame = text[..at].to_owned();
    assert!(frame.contains("ship-it"), "{frame}");
    assert_eq!(frame.matches('\n').count(), 7, "as high as the terminal, but for the cursor's line: {frame}");
    desk.ok(&["gate", "open", "Which?", "--blocks", "goal"]);
    let at = reads_until(&heard, &mut text, at, "\u{1b}[7A\r");
    let at = reads_until(&heard, &mut text, at, "waits for");
    reads_until(&heard, &mut text, at, "more lines\u{1b}[K\r\n\u{1b}[J");
    for line in text.split("\r\n") {
        let plain = line.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "").replace("\u{1b}[K", "");
        let plain = plain.rsplit("\u{1b}[J").next().unwrap().rsplit("\u{1b}[7A\r").next().unwrap().to_owned();
        assert!(plain.chars().count() <= 50, "{plain:?}");
    }
    // another size: it has the screen to itself
    let from = text.len();
    resize(&theirs, 60, 40);
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::WINCH).unwrap();
    let at = reads_until(&heard, &mut text, from, "\u{1b}[H\u{1b}[J");
    reads_until(&heard, &mut text, at, "\u{1b}[K\r\n\u{1b}[J");
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(mode(&theirs), before);
    ours.write_all(b"x").unwrap();
}
