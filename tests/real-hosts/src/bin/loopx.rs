//! The `loopx-core` binary, built beside the hosts of these tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    loopx_core::main()
}
