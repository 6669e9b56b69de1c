//! Owns the choice of a worker: one program, so that what is measured is built once.
//!
//! The first argument names the role, the others are its words `key=value`.

mod audit;
mod claims;
mod fixture;
mod growth;
mod raw_sql;
mod snapshots;
mod stage;
mod turns;
mod wake;

use std::process::ExitCode;

use loopx_core::cli::{self, Preset};
use stage::{Outcome, Words};

fn main() -> Outcome<()> {
    // A Turn that this worker drives is guarded by the worker's own binary.
    let first = std::env::args_os().nth(1);
    if first.is_some_and(|word| Preset::CORE.inner.iter().any(|(inner, _)| word == *inner)) {
        return match cli::run("worker", &Preset::CORE) {
            ExitCode::SUCCESS => Ok(()),
            _ => Err("a process beside a worker failed".into()),
        };
    }
    let mut arguments = std::env::args().skip(1);
    let role = arguments.next().unwrap_or_default();
    let words = Words::of(arguments);
    match role.as_str() {
        "audit" => audit::run(&words),
        "claims" => claims::run(&words),
        "fixture" => fixture::run(&words),
        "growth" => growth::run(&words),
        "raw_sql" => raw_sql::run(&words),
        "snapshots" => snapshots::run(&words),
        "turns" => turns::run(&words),
        "wake" => wake::run(&words),
        other => Err(format!("no role `{other}`").into()),
    }
}
