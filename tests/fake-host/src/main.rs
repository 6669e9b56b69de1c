//! The `loopx-fake-host` binary: one host, one bad habit.

use std::process::ExitCode;

fn main() -> ExitCode {
    fake_host::main()
}
