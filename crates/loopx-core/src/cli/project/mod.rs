//! Owns the binding of a folder: `.loopx/project.toml`, how it is found, and how `init` writes it.
//!
//! Starts no process: what is needed of git is read from its files. Knows nothing of Goals but a name.

mod bind;
mod discover;
mod git;

pub use self::{
    bind::{Bound, bind},
    discover::{Project, discover},
};

/// The folder of ours in a project.
const FOLDER: &str = ".loopx";
/// The file in it.
const FILE: &str = "project.toml";

#[cfg(test)]
mod tests;
