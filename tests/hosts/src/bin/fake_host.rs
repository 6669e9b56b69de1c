//! The `loopx-fake-host` binary, built beside the LoopX that it is run against.

use std::process::ExitCode;

fn main() -> ExitCode {
    fake_host::main()
}
