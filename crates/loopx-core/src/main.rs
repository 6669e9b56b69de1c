//! The `loopx-core` binary: the kernel's commands and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    loopx_core::main()
}
