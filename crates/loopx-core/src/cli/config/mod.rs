//! Owns settings: their keys, bounds and defaults, where each value came from, and the profile's file.
//!
//! Knows nothing of what uses a setting. A file with an unknown key or a value out of bounds is refused.

mod command;
mod file;
mod key;
mod settings;

#[cfg(test)]
pub(super) use self::key::KEYS;
pub(super) use self::{
    command::{explain, get, rows, set},
    file::{not_toml, read_limited},
};
pub use self::{
    key::Key,
    settings::{Settings, Source},
};
