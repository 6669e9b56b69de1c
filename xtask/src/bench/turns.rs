//! Owns the bars of one governed Turn: a host that does nothing, `true` as validator, an empty folder; and of looking
//! for Turns that a crash left. Always the whole process with its close.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{
    fixtures::{PAST, copied},
    numbers::{float, median, ms},
    report::{Limit, Row},
    stage::{Stage, answer, output, timed},
};
use crate::process;

const ROUNDS: u32 = 40;

pub(super) fn turn(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let mut all = Vec::new();
    for round in 0..ROUNDS {
        let place = Place::make(stage, &format!("turn-{round}"))?;
        all.push(ms(timed(place.run(stage)?, &[0])?));
        fs::remove_dir_all(&place.home)?;
    }
    let wall = Row::of("one Turn", median(&all), "ms", Limit::AtMost(40.0));
    Ok(vec![wall, fsyncs(stage)?, guardian(stage)?])
}

/// What a guardian adds to a Turn: the same Turns of one process, each second one guarded.
fn guardian(stage: &Stage<'_>) -> io::Result<Row> {
    let home = stage.folder("guardian")?;
    let tree = stage.bare_folder("guardian-tree")?;
    let words = [
        ("host", host(stage, &home)?),
        ("tree", tree.to_string_lossy().into_owned()),
        ("rounds", ROUNDS.to_string()),
    ];
    let told = answer(stage.worker("turns", &home, &words)?)?;
    let took = |key: &str| -> Vec<f64> {
        let all = told.get(key).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_u64).map(|ns| float(ns) / 1e6).collect()
    };
    let (guarded, alone) = (median(&took("guarded_ns")), median(&took("alone_ns")));
    let row = Row::of("guardian of a Turn, p50", guarded - alone, "ms", Limit::AtMost(5.0));
    Ok(row.with("guarded_ms", guarded).with("alone_ms", alone))
}

/// The bar of a recovery that finds nothing: every Turn is past, and the whole process looks through all Goals.
pub(super) fn recovery(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let home = copied(stage, PAST, "recovery")?;
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        let mut scan = stage.program("loopx", &home)?;
        scan.args(["turn", "recover", "--prove", "--json"]);
        all.push(ms(timed(scan, &[0])?));
    }
    let bar = format!("recovery scan, {} past Turns", PAST.turns);
    Ok(vec![Row::of(bar, median(&all), "ms", Limit::AtMost(5.0))])
}

fn fsyncs(stage: &Stage<'_>) -> io::Result<Row> {
    let bar = "one Turn, fsyncs";
    if !process::exists("strace", &["-V"]) {
        return Ok(Row::skipped(bar, "strace is missing"));
    }
    let place = Place::make(stage, "turn-traced")?;
    let run = place.run(stage)?;
    let log = place.home.join("trace");
    let mut traced = stage.foreign("strace", &place.home);
    traced.args(["-f", "-e", "trace=fsync,fdatasync,sync_file_range,syncfs,sync", "-o"]).arg(&log);
    traced
        .arg(run.get_program())
        .args(run.get_args())
        .current_dir(&place.folder)
        .env("LOOPX_ACTOR", "user:bench");
    timed(traced, &[0])?;
    let text = fs::read_to_string(&log)?;
    // An unfinished call is told a second time when it ends.
    let calls = text.lines().filter(|line| line.contains("sync") && line.contains('(')).count();
    Ok(Row::of(bar, float(calls as u64), "calls", Limit::AtMost(12.0)))
}

/// A new profile, a Goal bound to an empty folder, an agent, and one Todo.
struct Place {
    home: PathBuf,
    folder: PathBuf,
}

impl Place {
    fn make(stage: &Stage<'_>, name: &str) -> io::Result<Self> {
        let home = stage.folder(name)?;
        // Below a repository the whole of it would be the work tree, and be looked at by every Turn.
        let folder = stage.bare_folder(name)?;
        let place = Self { home, folder };
        for words in [
            &["init", "--goal", "Bench"][..],
            &["agent", "add", "a1"],
            &["todo", "add", "Do nothing", "--validator", "true"],
        ] {
            output(place.command(stage, words)?)?;
        }
        Ok(place)
    }

    fn command(&self, stage: &Stage<'_>, words: &[&str]) -> io::Result<Command> {
        let mut command = stage.program("loopx", &self.home)?;
        command.args(words).current_dir(&self.folder);
        Ok(command)
    }

    fn run(&self, stage: &Stage<'_>) -> io::Result<Command> {
        let host = host(stage, &self.home)?;
        self.command(stage, &["turn", "run", "--agent", "a1", "--host", &host, "--json"])
    }
}

/// The path of the host that does nothing.
fn host(stage: &Stage<'_>, home: &Path) -> io::Result<String> {
    Ok(stage.program("host", home)?.get_program().to_string_lossy().into_owned())
}
