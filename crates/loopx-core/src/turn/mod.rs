//! Owns the governed Turn: what executes it, proves it and recovers it.
//!
//! It must not know any one host.

mod workspace;
pub mod wire;

pub use workspace::{folder, identify, remember};
