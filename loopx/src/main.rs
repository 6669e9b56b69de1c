//! The `loopx` binary.
fn main() {}
