//! The governed Turn through the binary: real processes, real kills.

mod place;
mod verbs;
#[cfg(all(feature = "failpoints", feature = "tier"))]
mod kills;
