//! The repository keeps its own rules, every rule can fail, and what must not compile does not.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot set itself up fails"
)]

mod compile_fail;
mod rules;
