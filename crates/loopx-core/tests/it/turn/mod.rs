//! The governed Turn through the binary: real processes, real kills.

#[cfg(all(feature = "failpoints", feature = "tier"))]
mod kills;
mod place;
mod verbs;
