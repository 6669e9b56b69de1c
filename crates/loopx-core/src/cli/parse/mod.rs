//! Owns the way from an argument vector to a command of the table with checked values.
//!
//! Only the row that was named is ever turned into a parser. Knows nothing of what a command does, of files
//! or of rendering.

mod args;
mod error;
mod nearest;
mod parser;
mod route;
mod value;

#[cfg(test)]
pub(super) use self::args::Reader;
pub use self::{
    args::{Args, Origin},
    value::{Value, Wake, When},
};
pub(super) use self::{
    nearest::nearest,
    parser::tree,
    route::{Route, route, walk},
    value::{parse_duration_ms, show_duration_ms},
};

use std::ffi::OsString;

use super::{env::Env, table::Command};
use crate::error::Result;

/// Parses what follows a command's words.
///
/// Errors: `invalid_argument`, naming the argument, with the command's help as the hint.
pub(super) fn parse(chain: &[&'static Command], rest: Vec<OsString>, env: &Env) -> Result<Args> {
    let path = words(chain);
    let Some(command) = chain.last() else { return Err(error::no_command()) };
    let matches =
        parser::leaf(command).try_get_matches_from(rest).map_err(|e| error::typed(&e, command, &path))?;
    args::collect(command, &path, matches, env)
}

/// The words that name a command.
pub(super) fn words(chain: &[&'static Command]) -> String {
    chain.iter().map(|command| command.name).collect::<Vec<_>>().join(" ")
}
