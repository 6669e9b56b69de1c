//! LoopX with real agent programs inside, against a model on this machine.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what a test's place cannot do fails the test"
)]

mod codex;
mod model;

/// The LoopX under test.
const LOOPX: &str = env!("CARGO_BIN_EXE_real-hosts-loopx");
/// The example adapter.
const ADAPTER: &str = env!("CARGO_BIN_EXE_real-hosts-codex-adapter");
/// The model that plays a plan.
const FAKE_MODEL: &str = env!("CARGO_BIN_EXE_real-hosts-fake-model");
