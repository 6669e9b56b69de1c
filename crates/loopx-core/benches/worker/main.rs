//! Owns the choice of a worker: one program, so that what is measured is built once.
//!
//! The first argument names the role, the others are its words `key=value`.

mod claims;
mod fixture;
mod growth;
mod raw_sql;
mod stage;
mod wake;

use stage::{Outcome, Words};

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let role = arguments.next().unwrap_or_default();
    let words = Words::of(arguments);
    match role.as_str() {
        "claims" => claims::run(&words),
        "fixture" => fixture::run(&words),
        "growth" => growth::run(&words),
        "raw_sql" => raw_sql::run(&words),
        "wake" => wake::run(&words),
        other => Err(format!("no role `{other}`").into()),
    }
}
