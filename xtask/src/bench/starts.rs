//! Owns the bars of starting: size of the binary, and `--help` and `--version` beside an empty clap program.

use std::{
    fs, io,
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::{
    event,
    fs::{OFlags, Timespec, fcntl_getfl, fcntl_setfl},
};

use super::{
    numbers::{Pairs, float, ms},
    report::{Limit, Row},
    stage::{Stage, timed},
};
use crate::process::Moment;

const ROUNDS: usize = 300;
const MIB: f64 = 1024.0 * 1024.0;

pub(super) fn size(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let bytes = float(stage.size("loopx-core")?);
    let product = float(stage.size("loopx")?);
    Ok(vec![
        Row::of("size, loopx-core stripped", bytes / MIB, "MiB", Limit::AtMost(5.0)),
        Row::of("size, loopx stripped", product / MIB, "MiB", Limit::Free),
    ])
}

pub(super) fn startup(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let home = stage.folder("nothing")?;
    let mut rows = Vec::new();
    for name in ["loopx", "loopx-core"] {
        for flag in ["--help", "--version"] {
            let run = |program: &str| {
                let mut command = stage.program(program, &home)?;
                command.arg(flag);
                timed(command, &[0]).map(ms)
            };
            let pairs = Pairs::take(ROUNDS, || run(name), || run("empty_clap"))?;
            rows.push(Row::pairs(format!("startup, {name} {flag}"), &pairs, Limit::AtMost(1.6)));
        }
    }
    for name in ["loopx", "loopx-core"] {
        let bar = format!("memory, {name} --help");
        let peak = |program: &str| {
            let mut command = stage.program(program, &home)?;
            command.arg("--help");
            peak_kib(command)
        };
        rows.push(match (peak(name)?, peak("empty_clap")?) {
            (Some(ours), Some(theirs)) => Row::of(bar, float(ours) / 1024.0, "MiB", Limit::AtMost(5.0))
                .with("empty_clap_mib", float(theirs) / 1024.0),
            _ => Row::skipped(bar, "/proc is missing"),
        });
    }
    Ok(rows)
}

/// The most memory a program has held when it prints, in KiB.
///
/// What a parent is told at the end counts its own pages too, when it starts by sharing them. So the program is
/// made to wait in its first write, into a pipe that is full, and is looked at there: all that is left is to end.
fn peak_kib(mut command: Command) -> io::Result<Option<u64>> {
    let (reader, mut writer) = io::pipe()?;
    let flags = fcntl_getfl(&writer)?;
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK)?;
    while writer.write(&[0; 4096]).is_ok() {}
    fcntl_setfl(&writer, flags)?;
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(writer).spawn()?;
    // The pipe's writing end must be the child's alone, or it would never end.
    drop(command);
    let peak = peak_of_blocked(&mut child);
    drop(reader);
    // It ends by the broken pipe, one way or the other.
    child.wait()?;
    peak
}

fn peak_of_blocked(child: &mut Child) -> io::Result<Option<u64>> {
    let folder = Path::new("/proc").join(child.id().to_string());
    if !folder.exists() {
        return Ok(None);
    }
    let began = Moment::now();
    let mut last = None;
    while began.elapsed() < Duration::from_secs(10) {
        event::poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 }))?;
        if child.try_wait()?.is_some() {
            return Err(io::Error::other("it ended before it wrote"));
        }
        let status = fs::read_to_string(folder.join("status"))?;
        let field = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key))?;
            line.split_whitespace().nth(1).map(str::to_owned)
        };
        let peak: Option<u64> = field("VmHWM:").and_then(|text| text.parse().ok());
        // Asleep, and no larger than a moment ago: it stands in its write.
        if field("State:").as_deref() == Some("S") && peak.is_some() && peak == last {
            return Ok(peak);
        }
        last = peak;
    }
    Err(io::Error::other("it never wrote"))
}
