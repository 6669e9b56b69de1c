//! The `loopx` binary: presets and wiring, no logic.

use std::process::ExitCode;

use loopx_core::cli::{Preset, run};

fn main() -> ExitCode {
    run("loopx", &Preset::CORE)
}
