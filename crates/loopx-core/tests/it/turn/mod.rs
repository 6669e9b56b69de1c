//! The governed Turn through the binary: real processes, real kills.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test's place cannot do fails the test"
)]

mod boundary;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod elsewhere;
mod folders;
mod gates;
mod gc;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod guardians;
mod held;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod keepers;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod kills;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod locks;
mod loop_ends;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod loop_kills;
mod loops;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod machines;
mod midrun;
mod output;
mod parallel;
mod peers;
pub(crate) mod place;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod quota;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod restarts;
mod restores;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod roles;
mod snapshots;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod sweeps;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod traced;
mod undo_words;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod undos;
mod verbs;
mod watches;
mod words;
