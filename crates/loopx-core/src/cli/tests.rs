//! Tests of the frame as a whole: arguments in, streams and exit code out, no process started.

mod args;
mod forms;
mod place;
mod screens;
mod settings;
mod table;
mod terminal;
mod verbs;

use std::ffi::OsString;

use super::{Env, Preset, Stdio, main};

/// What a call printed, and how it ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) exit: u8,
    pub(super) out: String,
    pub(super) err: String,
}

impl Ended {
    /// The one JSON object on stdout.
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// Whether the command line takes a line, as a hint or an answer names it.
pub(crate) fn takes(line: &str) -> bool {
    table::parsed(line).is_ok()
}

/// Calls the frame with words, in an environment of pairs.
pub(super) fn call_in(env: &Env, words: &[&str]) -> Ended {
    call_raw(env, &words.iter().map(OsString::from).collect::<Vec<_>>(), &Preset::CORE)
}

/// Calls the frame with words, in an empty environment.
pub(super) fn call(words: &[&str]) -> Ended {
    call_in(&Env::default(), words)
}

/// Calls the frame with an argument vector.
pub(super) fn call_raw(env: &Env, argv: &[OsString], preset: &Preset) -> Ended {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut stdio = Stdio {
        input: &mut std::io::empty(),
        out: &mut out,
        err: &mut err,
        input_is_terminal: false,
        out_is_terminal: false,
        err_is_terminal: false,
    };
    let exit = main("loopx", preset, argv, env, &mut stdio);
    Ended { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}
