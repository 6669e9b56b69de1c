//! The repository's own commands, as a library that the tests call too.
//!
//! Owns the architecture checks, the test lanes, the bench and the writing of reference pages. Depends on no
//! workspace crate, so that it builds and
//! speaks when the rest does not.
#![forbid(unsafe_code)]

pub mod architecture;
pub mod bench;
pub mod docs;
pub mod lanes;
pub mod process;
