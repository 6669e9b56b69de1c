//! Owns the limit of zero: it lets nothing run, no time frees it, and a person raises it by one command.
//!
//! Knows nothing of what was used: under such a limit nothing can be.

use crate::{
    error::{Code, Error},
    model::{Dimension, Limit, MeterScope},
};

/// What a command that raises a limit of zero raises it to, for a person to change.
const TURNS: u32 = 1;
const TOKENS: u64 = 100_000;
const COST_MICROS: u64 = 1_000_000;
const WALL_MS: u64 = 3_600_000;

/// What of a limit is zero.
fn zeros(limit: &Limit) -> impl Iterator<Item = &'static str> {
    let turns = (limit.turns == Some(0)).then_some("Turns");
    let caps = limit.caps();
    let rest = Dimension::ALL.into_iter().filter(move |dimension| caps.of(*dimension) == Some(0));
    turns.into_iter().chain(rest.map(Dimension::as_str))
}

/// Whether a limit lets nothing run.
pub fn is_zero(limit: &Limit) -> bool {
    zeros(limit).next().is_some()
}

/// Refuses what a limit of zero never lets run; without a moment, for none frees it.
pub(super) fn check(scope: &MeterScope, limit: &Limit, whose: &str) -> Result<(), Error> {
    let Some(what) = zeros(limit).next() else { return Ok(()) };
    let message = format!("{whose} may run nothing: its limit of {what} is 0, and no time frees it");
    let dimension = what.to_ascii_lowercase();
    Err(Error::new(Code::QuotaExhausted, message)
        .detail("dimension", dimension)
        .detail("limit", 0)
        .hint(raise_command(scope, limit)))
}

/// The command that lets something run again: the same limit, and no zero in it.
pub fn raise_command(scope: &MeterScope, limit: &Limit) -> String {
    let least = |amount: Option<u64>, least| amount.map(|amount| if amount == 0 { least } else { amount });
    let whose = match scope {
        MeterScope::Authority => "quota set --authority".to_owned(),
        MeterScope::Goal(goal) => format!("quota set --goal {goal}"),
        MeterScope::Agent(goal, agent) => format!("quota set --goal {goal} --agent {agent}"),
    };
    let turns = limit.turns.map(|turns| format!("--turns {}", turns.max(TURNS)));
    let tokens = least(limit.tokens, TOKENS).map(|tokens| format!("--tokens {tokens}"));
    let cost = least(limit.cost_micros, COST_MICROS).zip(limit.currency).map(|(micros, currency)| {
        format!("--cost {}.{:06}{currency}", micros / 1_000_000, micros % 1_000_000)
    });
    let wall = least(limit.wall_ms, WALL_MS).map(|ms| format!("--wall {}", seconds(ms)));
    let window = format!("--window {}", seconds(limit.window_ms.as_ms()));
    let flags = [turns, tokens, cost, wall, Some(window)].into_iter().flatten();
    [whose].into_iter().chain(flags).collect::<Vec<_>>().join(" ")
}

/// A length of time as a flag takes it, in the largest unit that has it whole.
fn seconds(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m")];
    let whole = units.into_iter().find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{}s", ms.div_ceil(1000)), |(unit, name)| format!("{}{name}", ms / unit))
}
