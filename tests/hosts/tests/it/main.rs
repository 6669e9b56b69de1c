//! LoopX and its hosts, put together as processes.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what a test's place cannot do fails the test"
)]

mod adapter;
mod matrix;
mod model;
mod personalities;
mod place;
mod real_codex;
