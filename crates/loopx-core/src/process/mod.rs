//! Owns the one bounded-process helper: every spawn of LoopX goes through `run`.
//!
//! It must not know what it runs: hosts, validators, doctors and extensions are all a `Spec`.
//!
//! Invariant: when `run` returns, nothing that descends from the program is alive, or `Outcome::survivors`
//! names it. What "descends" can be proved against is `Outcome::containment`: the process group, every process
//! that carries the containment token in its environment, and the children of both. A program that clears its
//! environment *and* leaves its group *and* loses its parent before it is looked at is beyond `run`; `run_guarded`,
//! in a process that does nothing else, catches that one too: it adopts what loses its parent, and puts the program
//! into a control group where it may.
//!
//! `run` is synchronous and global-free: no thread, no signal handler, no sub-reaper flag on the caller. Linux is
//! qualified; other Unix systems fall back to the process group alone and say so.

mod above;
mod capture;
mod census;
mod channel;
mod clock;
mod exec;
mod guarded;
mod handle;
mod holders;
mod keeper;
mod leaf;
mod program;
mod recover;
mod run;
mod spec;
mod spool;
mod stdin;
mod tree;

#[cfg(test)]
pub(crate) mod tests;

pub use above::token_above;
pub use channel::Channel;
pub use clock::{boot_ms, pause};
pub use exec::{EXEC_WORD, die_with_parent, exec};
pub use guarded::{Charge, Companion, Identity, Launcher};
pub use holders::holders;
pub use keeper::{KEEP_WORD, Keeper, keep, keep_on};
pub use leaf::Leaf;
pub use program::find;
pub use recover::{Swept, alive_by_token, end_by_token};
pub use run::{run, run_guarded};
pub use spec::{
    Capture, Containment, Control, Ended, NotStarted, Outcome, Overflow, Process, ResultRule, Spec,
    TOKEN_VARIABLE, Tick, Token,
};
pub use spool::Spool;
