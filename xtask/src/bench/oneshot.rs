//! Owns the bars of whole processes: reads and a claim beside the floor of opening the same file and reading one
//! row, a whole list beside SQLite's own shell, and the log that short writers leave.

use std::{fs, io, path::Path};

use super::{
    fixtures::{BLOCKED, ONE_SHOT, USUAL, copied, ledger, row_id},
    numbers::{Pairs, float, ms},
    report::{Limit, Row},
    stage::{Stage, output, timed},
};
use crate::process;

const ROUNDS: usize = 150;
/// Claims of a process each, after which the log is looked at.
const CLAIMS: u32 = 1_000;
/// A frame of the log: a page and its header.
const FRAME: u64 = 4096 + 24;

/// A read that is compared with the floor: its name, its words, the exits that are no failure.
type Read = (&'static str, &'static [&'static str], &'static [i32]);

/// The reads of what people have.
const READS: [Read; 3] = [
    ("status", &["status", "--goal", "bench"], &[0]),
    ("next --json", &["next", "--goal", "bench", "--agent", "a1", "--json"], &[0]),
    ("todo list", &["todo", "list", "--goal", "bench"], &[0]),
];

/// The same where ten of 10,000 open Todos can be taken, and the others wait.
const BLOCKED_READS: [Read; 3] = [
    ("status, 9,990 blocked", &["status", "--goal", "bench"], &[0]),
    ("next --json, 9,990 blocked", &["next", "--agent", "a1", "--json"], &[0]),
    ("why, 9,990 blocked", &["why", "--goal", "bench"], &[0]),
];

pub(super) fn reads(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let home = copied(stage, USUAL, "reads")?;
    let mut rows = against_floor(stage, &home, &READS, "")?;
    let blocked = copied(stage, BLOCKED, "blocked-reads")?;
    rows.extend(against_floor(stage, &blocked, &BLOCKED_READS, "")?);
    let frames = leave_a_log(stage, &home)?;
    for row in against_floor(stage, &home, &READS, ", beside a log")? {
        rows.push(row.with("log_frames", float(frames)));
    }
    Ok(rows)
}

fn against_floor(stage: &Stage<'_>, home: &Path, reads: &[Read], beside: &str) -> io::Result<Vec<Row>> {
    let read = |(name, words, exits): &Read| {
        let pairs = Pairs::take(ROUNDS, || one(stage, home, words, exits), || floor(stage, home))?;
        Ok(Row::pairs(format!("{name}{beside}"), &pairs, Limit::AtMost(2.0)))
    };
    reads.iter().map(read).collect()
}

fn one(stage: &Stage<'_>, home: &Path, words: &[&str], exits: &[i32]) -> io::Result<f64> {
    let mut command = stage.program("loopx", home)?;
    command.args(words);
    timed(command, exits).map(ms)
}

/// Opens the same file and reads one row of it.
fn floor(stage: &Stage<'_>, home: &Path) -> io::Result<f64> {
    let mut command = stage.program("floor", home)?;
    command.arg(ledger(home)).arg(row_id(7));
    timed(command, &[0]).map(ms)
}

/// The bytes of the log beside a ledger.
fn log_bytes(home: &Path) -> io::Result<u64> {
    let mut path = ledger(home).into_os_string();
    path.push("-wal");
    match fs::metadata(path) {
        Ok(meta) => Ok(meta.len()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(e) => Err(e),
    }
}

/// Writes, a process a commit, until the log is about as long as the last writer may leave it. Says its frames.
fn leave_a_log(stage: &Stage<'_>, home: &Path) -> io::Result<u64> {
    for writer in 0..200 {
        one(stage, home, &["agent", "add", &format!("w{writer}"), "--goal", "bench"], &[0])?;
        let frames = log_bytes(home)? / FRAME;
        if frames >= 48 {
            return Ok(frames);
        }
    }
    Err(io::Error::other("no writer leaves a log of 48 frames"))
}

pub(super) fn list_all(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let bar = "todo list --all --json";
    if !process::exists("sqlite3", &["--version"]) {
        return Ok(vec![Row::skipped(bar, "sqlite3 is missing")]);
    }
    let home = copied(stage, USUAL, "list")?;
    // What a row of the list holds, as far as it stands in columns.
    let sql =
        "SELECT id, title, kind, priority, bucket, wake_target, free_at, unmet, blocking_gates FROM todos";
    let words = ["todo", "list", "--goal", "bench", "--all", "--json"];
    let shell = || {
        let mut command = stage.foreign("sqlite3", &home);
        command.args(["-readonly", "-json"]).arg(ledger(&home)).arg(sql);
        command
    };
    let pairs = Pairs::take(40, || one(stage, &home, &words, &[0]), || timed(shell(), &[0]).map(ms))?;
    let mut ours = stage.program("loopx", &home)?;
    ours.args(words);
    Ok(vec![
        Row::pairs(bar, &pairs, Limit::AtMost(3.0))
            .with("ours_bytes", float(output(ours)?.len() as u64))
            .with("theirs_bytes", float(output(shell())?.len() as u64)),
    ])
}

/// Claims a Todo by the agent of its number.
fn claim_one(stage: &Stage<'_>, home: &Path, number: u32) -> io::Result<f64> {
    let (todo, actor) = (format!("bench.{number}"), format!("agent:a{number}"));
    one(stage, home, &["todo", "claim", &todo, "--goal", "bench", "--as", &actor, "--json"], &[0])
}

pub(super) fn claim(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let home = copied(stage, ONE_SHOT, "claim")?;
    let mut number = 0;
    let claim = || {
        number += 1;
        claim_one(stage, &home, number)
    };
    let pairs = Pairs::take(ROUNDS, claim, || floor(stage, &home))?;
    Ok(vec![Row::pairs("todo claim", &pairs, Limit::AtMost(2.5))])
}

pub(super) fn wal(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let home = copied(stage, ONE_SHOT, "wal")?;
    let mut longest = 0;
    for number in 1..=CLAIMS {
        claim_one(stage, &home, number)?;
        longest = longest.max(log_bytes(&home)?);
    }
    let mib = |bytes| float(bytes) / (1024.0 * 1024.0);
    let last = mib(log_bytes(&home)?);
    Ok(vec![
        Row::of("log after 1,000 one-shot claims", last, "MiB", Limit::AtMost(1.0))
            .with("longest_mib", mib(longest)),
    ])
}
