//! Tests of the `loopx-core` binary as a process.

mod cli;
mod turn;
