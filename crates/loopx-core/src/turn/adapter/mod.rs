//! Owns what an adapter needs that stands between LoopX and an agent program: reading a request, building a result,
//! and running the program inside.
//!
//! Knows no agent program, no ledger and no driver: it is the far side of the pipe. It has no logic of the wire either;
//! what it builds is held against the reader that LoopX itself uses. It reads no environment and writes no log.

mod answer;
mod end;
mod relay;
mod request;

#[cfg(test)]
mod tests;

pub use answer::{Candidate, Report, Said};
pub use end::{Left, RelayEnd, StoppedBy};
pub use relay::{Relay, Relayed, STDOUT_MAX_BYTES};
pub use request::{check_goal, read_request};
