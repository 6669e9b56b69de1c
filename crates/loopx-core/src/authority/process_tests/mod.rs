//! Tests with real processes, real locks and real faults of a disk.
//!
//! A child is this test binary again, running `child` alone with a role in its environment. It says what it
//! found in lines that begin with `@`, and goes on when it reads a line.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
};

use super::sqlite::{Reader, Schema, WriteTx, Writer};
use crate::error::{Code, Result};

mod bell;
mod files;
mod full;
mod kills;
mod ledger;
mod locks;
mod roles;

const SCHEMA: Schema = Schema {
    name: "the test ledger",
    application_id: 0x7465_7374,
    first: 1,
    oldest: 2,
    newest: 3,
    ddl: "CREATE TABLE t(id INTEGER PRIMARY KEY, who TEXT NOT NULL, pad BLOB NOT NULL) STRICT;",
    steps: &[
        "CREATE TABLE early(id INTEGER PRIMARY KEY) STRICT;",
        "CREATE TABLE later(id INTEGER PRIMARY KEY) STRICT;",
    ],
};

/// A user without rights on every machine that has users.
const NOBODY: u32 = 65_534;

/// A folder with a ledger in it.
struct Disk {
    dir: tempfile::TempDir,
}

impl Disk {
    fn new() -> Self {
        let disk = Self::empty();
        drop(Writer::open_or_create(&disk.db(), &SCHEMA).unwrap());
        disk
    }

    fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn db(&self) -> PathBuf {
        self.dir.path().join("t.db")
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        self.dir.path().join(format!("t.db{suffix}"))
    }
}

fn insert(tx: &WriteTx<'_>, who: &str, pad: u32) -> Result<()> {
    tx.prepare_cached("INSERT INTO t(who, pad) VALUES(?1, zeroblob(?2))")
        .and_then(|mut statement| statement.execute((who, pad)))
        .map(drop)
        .map_err(|e| super::sqlite::typed(&e, SCHEMA.name))
}

/// One row in one transaction of an open writer.
fn write(writer: &mut Writer, who: &str, pad: u32) -> Result<()> {
    let tx = writer.begin_immediate()?;
    insert(&tx, who, pad)?;
    tx.commit()
}

/// One row, as a short process does it.
fn write_once(db: &Path, who: &str, pad: u32) -> Result<()> {
    let mut writer = Writer::open(db, &SCHEMA)?;
    write(&mut writer, who, pad)
}

/// All rows, each read whole.
fn count(db: &Path) -> Result<i64> {
    let mut reader = Reader::open(db, &SCHEMA)?;
    let snapshot = reader.snapshot()?;
    snapshot
        .query_row("SELECT count(*) FROM (SELECT who, pad, length(pad) FROM t WHERE who<>pad)", [], |row| {
            row.get(0)
        })
        .map_err(|e| super::sqlite::typed(&e, SCHEMA.name))
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
    result.unwrap_err().code()
}

/// A child in a role.
struct Role {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

#[derive(Default)]
struct Start<'a> {
    uid: Option<u32>,
    clear: &'a [&'a str],
    set: &'a [(&'a str, &'a OsStr)],
}

#[expect(clippy::disallowed_methods, reason = "a test of processes starts processes")]
fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

#[expect(clippy::disallowed_methods, reason = "a child of a test is told its role by its environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn start(role: &str, at: &Path, how: &Start<'_>) -> Role {
    let mut command = command(std::env::current_exe().unwrap());
    command
        .args(["--exact", "authority::process_tests::roles::child", "--nocapture", "--test-threads=1"])
        .env("LOOPX_TEST_ROLE", role)
        .env("LOOPX_TEST_AT", at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    for name in how.clear {
        command.env_remove(name);
    }
    command.envs(how.set.iter().copied());
    if let Some(uid) = how.uid {
        command.uid(uid).gid(uid).current_dir("/");
    }
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    Role { stdin: child.stdin.take(), child, lines }
}

impl Role {
    /// The next thing the child says; `None` when it has ended.
    fn next(&mut self) -> Option<String> {
        // The harness may print its own words on the same line first.
        self.lines
            .by_ref()
            .map_while(std::io::Result::ok)
            .find_map(|line| Some(line.split_once('@')?.1.to_owned()))
    }

    fn said(&mut self, expected: &str) {
        assert_eq!(self.next().as_deref(), Some(expected));
    }

    fn go(&mut self) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(b"go\n").unwrap();
        stdin.flush().unwrap();
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn end(mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.child.wait().unwrap()
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // A test that failed leaves no child; one that ended has waited for it already.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
