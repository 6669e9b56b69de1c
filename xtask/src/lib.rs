//! The repository's own commands, as a library that the tests call too.
//!
//! Owns the architecture checks, the test lanes and the bench. Depends on no workspace crate, so that it builds and
//! speaks when the rest does not.
#![forbid(unsafe_code)]

pub mod architecture;
pub mod bench;
pub mod lanes;
pub mod process;
