//! LoopX and its hosts, put together as processes.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what a test's place cannot do fails the test"
)]

mod adapter;
mod matrix;
mod personalities;

/// The LoopX under test.
const LOOPX: &str = env!("CARGO_BIN_EXE_hosts-loopx");
/// The host with bad habits.
const FAKE_HOST: &str = env!("CARGO_BIN_EXE_hosts-fake-host");
/// The example adapter.
const ADAPTER: &str = env!("CARGO_BIN_EXE_hosts-codex-adapter");
