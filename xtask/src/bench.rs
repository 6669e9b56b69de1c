//! Owns `cargo xtask bench`: which bars there are, in which order they are measured, and whether one is missed.
//!
//! Knows no workspace crate: it starts their binaries and workers and compares what those did. Every figure is a
//! ratio of two programs that ran in turn, or a plain number with a limit; the limits are the project's demands and
//! stand beside each bar's measurement.

mod audits;
mod fixtures;
mod growth;
mod machine;
mod numbers;
mod oneshot;
mod programs;
mod report;
mod ring;
mod snapshots;
mod stage;
mod starts;
mod turns;
mod workers;

use std::{
    io::{self, Write},
    path::Path,
    time::Duration,
};

use self::{report::Row, stage::Stage};
use crate::process::Limits;

/// How long a whole run may take; the fixture of a million Todos is most of it.
const ALLOWED: Duration = Duration::from_secs(2 * 60 * 60);

/// What the caller of `cargo xtask bench` chose.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only these groups; all but the large ones when empty.
    pub only: Vec<String>,
    /// Also the groups that take minutes.
    pub large: bool,
    /// Do not fail when a bar is missed.
    pub report_only: bool,
    /// Make the fixtures anew.
    pub fresh: bool,
}

/// Bars that are measured together.
struct Group {
    name: &'static str,
    large: bool,
    measure: fn(&mut Stage<'_>) -> io::Result<Vec<Row>>,
}

const GROUPS: &[Group] = &[
    Group { name: "size", large: false, measure: starts::size },
    Group { name: "startup", large: false, measure: starts::startup },
    Group { name: "reads", large: false, measure: oneshot::reads },
    Group { name: "list-all", large: false, measure: oneshot::list_all },
    Group { name: "claim", large: false, measure: oneshot::claim },
    Group { name: "wal", large: false, measure: oneshot::wal },
    Group { name: "claims", large: false, measure: workers::claims },
    Group { name: "contention", large: false, measure: workers::contention },
    Group { name: "wake", large: false, measure: ring::wake },
    Group { name: "turn", large: false, measure: turns::turn },
    Group { name: "recovery", large: false, measure: turns::recovery },
    Group { name: "audit", large: false, measure: audits::audit },
    Group { name: "snapshot", large: false, measure: snapshots::snapshot },
    Group { name: "growth", large: true, measure: growth::growth },
];

/// The names `--only` takes.
pub fn groups() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|group| group.name)
}

/// Measures, prints a table, and writes it under `bench/`. Returns whether no bar was missed.
pub fn run(root: &Path, options: &Options, out: &mut dyn Write) -> io::Result<bool> {
    let limits = Limits::start(ALLOWED)?;
    let chosen = |group: &&Group| {
        if options.only.is_empty() {
            options.large || !group.large
        } else {
            options.only.iter().any(|name| name == group.name)
        }
    };
    let chosen: Vec<_> = GROUPS.iter().filter(chosen).collect();
    let before = machine::load();
    let mut stage = Stage::set(root, &limits, options.fresh, out)?;
    let mut rows = Vec::new();
    for group in chosen {
        if let Some(reason) = limits.over() {
            rows.push(Row::unmeasured(group.name, reason));
            continue;
        }
        stage.say(&format!("-- {}", group.name))?;
        // One group that cannot be measured must not hide the others.
        rows.extend(
            (group.measure)(&mut stage).unwrap_or_else(|e| vec![Row::unmeasured(group.name, &e.to_string())]),
        );
    }
    let machine = machine::describe(stage.scratch(), before.as_deref());
    drop(stage);
    report::table(&rows, out)?;
    report::write(root, &rows, &machine)?;
    out.flush()?;
    Ok(options.report_only || rows.iter().all(Row::is_good))
}
