//! Owns the one bounded-process helper: every spawn of LoopX goes through `run`.
//!
//! It must not know what it runs: hosts, validators, doctors and extensions are all a `Spec`.
//!
//! Invariant: when `run` returns, nothing that descends from the program is alive, or `Outcome::survivors`
//! names it. What "descends" can be proved against is `Outcome::containment`: the process group, every process
//! that carries the containment token in its environment, and the children of both. A program that clears its
//! environment *and* leaves its group *and* loses its parent before it is looked at is beyond this module; the
//! guardian of a hosted attempt catches that one from above, as a sub-reaper.
//!
//! It is synchronous and global-free: no thread, no signal handler, no sub-reaper flag on the caller. Linux is
//! qualified; other Unix systems fall back to the process group alone and say so.

mod above;
mod capture;
mod census;
mod clock;
mod program;
mod recover;
mod run;
mod spec;
mod stdin;
mod tree;

#[cfg(test)]
mod tests;

pub use above::token_above;
pub use clock::{boot_ms, pause};
pub use program::find;
pub use recover::{Swept, alive_by_token, end_by_token};
pub use run::run;
pub use spec::{
    Capture, Containment, Control, Ended, NotStarted, Outcome, Overflow, Process, ResultRule, Spec, Tick,
    Token,
};
