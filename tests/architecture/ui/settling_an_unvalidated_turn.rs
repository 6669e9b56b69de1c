//! A package submits the verdict of validators that nobody ran: it can name neither the door that takes steps nor a step.
//!
//! This shows the wall around the modules, and no more. Inside of it a verdict is plain data, and that only `turn`
//! submits one after a run is kept by `submit_step` being private to the crate, and by its lock being asked for.

use loopx_core::{authority::Authority, kernel::Step, sdk::Operation};

fn settle(authority: &mut Authority, verdict: Operation<Step>) {
    let _ = authority.submit_step(verdict);
}

fn main() {}
