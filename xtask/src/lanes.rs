//! Owns `cargo xtask test`: the order of the lanes, their times, the counts at the end.
//!
//! Needs no terminal and no standard input. Knows nothing of what a test tests.

mod counts;
mod hosts;
mod left_out;
mod plan;
mod tools;

use std::{
    io::{self, Write},
    path::Path,
    time::Duration,
};

use self::{counts::Counts, left_out::LeftOut, plan::Lane, tools::Tools};
use crate::process::{self, Ended, Limits, Moment};

/// How long a whole run may take: past it, the run is a failure.
const ALLOWED: Duration = Duration::from_secs(60 * 60);

/// What the caller of `cargo xtask test` chose.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Install the programs that optional tests talk to.
    pub provision: bool,
    /// Run only fmt, clippy and the tests.
    pub fast: bool,
}

/// Runs the lanes and prints the counts as the last line. Returns whether nothing failed.
pub fn run(root: &Path, options: Options, out: &mut dyn Write) -> io::Result<bool> {
    let limits = Limits::start(ALLOWED)?;
    let started = Moment::now();
    let mut total = Counts::default();
    let tools = Tools::find(root);
    let tools = if options.provision { provision(root, &tools, &limits, out)? } else { tools };
    for missing in tools.missing() {
        writeln!(out, "skipped by name: {}: {}", missing.name, missing.without)?;
    }
    for lane in plan::lanes(root, &tools, options.fast)? {
        if let Some(reason) = limits.over() {
            writeln!(out, "-- {}: not run, {reason}", lane.name)?;
            total.failed += 1;
            continue;
        }
        total += run_lane(root, lane, &limits, out)?;
    }
    writeln!(out, "all lanes: {:.1} s", started.elapsed().as_secs_f64())?;
    writeln!(out, "{total}")?;
    out.flush()?;
    Ok(total.failed == 0)
}

fn run_lane(root: &Path, lane: Lane, limits: &Limits, out: &mut dyn Write) -> io::Result<Counts> {
    let Lane { name, work, counts_by, picks } = lane;
    let Some(mut work) = work else {
        writeln!(out, "-- {name}: skipped")?;
        return Ok(Counts { skipped: 1, ..Counts::default() });
    };
    writeln!(out, "== {name}")?;
    let started = Moment::now();
    let mut seen = Counts::default();
    let left_out = LeftOut::at(&std::env::temp_dir())?;
    work.current_dir(root).env(LeftOut::VARIABLE, left_out.path());
    let ended = process::run(work, limits, &mut |line| {
        if let Some(runner) = counts_by {
            seen += Counts::in_line(runner, line);
        }
        writeln!(out, "{line}")
    });
    let (succeeded, how) = match ended {
        Ok(Ended::Itself(status)) => (status.success(), if status.success() { "ok" } else { "failed" }),
        Ok(Ended::Limited(reason)) => (false, reason),
        Err(error) => {
            writeln!(out, "{error}")?;
            (false, "failed")
        }
    };
    if picks {
        seen.skipped = 0;
    }
    for line in left_out.told()? {
        writeln!(out, "skipped by itself: {line}")?;
        seen.leave_out();
    }
    let counts = if counts_by.is_some() { seen.or_one(succeeded) } else { Counts::one(succeeded) };
    writeln!(out, "-- {name}: {how}, {:.1} s, {counts}", started.elapsed().as_secs_f64())?;
    Ok(counts)
}

/// Installs what is missing. An installer that fails leaves its program missing, which is reported like any other.
fn provision(root: &Path, tools: &Tools, limits: &Limits, out: &mut dyn Write) -> io::Result<Tools> {
    for tool in tools.missing() {
        for mut step in tool.install_steps(root) {
            writeln!(out, "== install {}", tool.name)?;
            step.current_dir(root);
            let ended = process::run(step, limits, &mut |line| writeln!(out, "{line}"));
            if !matches!(&ended, Ok(Ended::Itself(status)) if status.success()) {
                writeln!(out, "-- install {}: did not work", tool.name)?;
                break;
            }
        }
    }
    Ok(Tools::find(root))
}
