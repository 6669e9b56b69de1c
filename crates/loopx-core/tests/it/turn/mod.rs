//! The governed Turn through the binary: real processes, real kills.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what a test's place cannot do fails the test"
)]

mod folders;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod guardians;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod kills;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod loop_kills;
mod loops;
mod output;
mod parallel;
pub(crate) mod place;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod sweeps;
mod verbs;
