//! Owns what an answer looks like in the place it goes to: format, colour, width.
//!
//! Precedence of colour: `--color`, `NO_COLOR`, `CLICOLOR_FORCE`, then a terminal that is not `dumb`.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    io::{IsTerminal as _, Read, Write},
};

use crate::cli::env::{Env, Var};

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs; one object on one line.
    Json,
    /// For documents.
    Markdown,
}

/// The three streams of a process, and which of them are terminals.
pub struct Stdio<'a> {
    /// Where input is read from.
    pub input: &'a mut dyn Read,
    /// Where data goes.
    pub out: &'a mut dyn Write,
    /// Where diagnostics go.
    pub err: &'a mut dyn Write,
    /// Whether input is a terminal: only then may a question be asked.
    pub input_is_terminal: bool,
    /// Whether data goes to a terminal.
    pub out_is_terminal: bool,
    /// Whether diagnostics go to a terminal.
    pub err_is_terminal: bool,
}

impl Stdio<'_> {
    /// Lends the streams of this process to a function.
    pub fn with_process<T>(run: impl FnOnce(&mut Stdio<'_>) -> T) -> T {
        let (mut input, mut out, mut err) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
        let terminals = (input.is_terminal(), out.is_terminal(), err.is_terminal());
        run(&mut Stdio {
            input: &mut input,
            out: &mut out,
            err: &mut err,
            input_is_terminal: terminals.0,
            out_is_terminal: terminals.1,
            err_is_terminal: terminals.2,
        })
    }
}

impl fmt::Debug for Stdio<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio")
            .field("input_is_terminal", &self.input_is_terminal)
            .field("out_is_terminal", &self.out_is_terminal)
            .field("err_is_terminal", &self.err_is_terminal)
            .finish_non_exhaustive()
    }
}

/// What an answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    /// Its form.
    pub format: Format,
    /// Whether stdout gets colour.
    pub colour: bool,
    /// Whether stderr gets colour.
    pub colour_err: bool,
    /// The width to fit, where there is one: `COLUMNS`, else the terminal's.
    pub columns: Option<u16>,
    /// The same for what is drawn on stderr.
    pub columns_err: Option<u16>,
}

impl Look {
    /// Decides it, from the unparsed arguments: an error of the parser must look right too.
    pub(in crate::cli) fn of(argv: &[OsString], env: &Env, stdio: &Stdio<'_>) -> Self {
        let wish = last_value(argv, "--color");
        let format = match last_value(argv, "--format") {
            _ if is_given(argv, "--json") => Format::Json,
            Some("json") => Format::Json,
            Some("markdown") => Format::Markdown,
            _ => Format::Text,
        };
        Self {
            format,
            colour: has_colour(wish, env, stdio.out_is_terminal),
            colour_err: has_colour(wish, env, stdio.err_is_terminal),
            columns: columns(env, stdio.out_is_terminal, std::io::stdout()),
            columns_err: columns(env, stdio.err_is_terminal, std::io::stderr()),
        }
    }
}

fn has_colour(wish: Option<&str>, env: &Env, is_terminal: bool) -> bool {
    match wish {
        Some("always") => true,
        Some("never") => false,
        _ if env.get(Var::NoColor).is_some() => false,
        _ if env.get(Var::ClicolorForce).is_some_and(|value| value != "0") => true,
        _ => is_terminal && env.get(Var::Term).is_none_or(|term| term != "dumb"),
    }
}

fn columns(env: &Env, is_terminal: bool, stream: impl Stream) -> Option<u16> {
    let stated = env.get(Var::Columns).and_then(OsStr::to_str).and_then(|text| text.parse().ok());
    stated.or_else(|| if is_terminal { terminal_columns(stream) } else { None }).filter(|&width| width > 0)
}

#[cfg(unix)]
use std::os::fd::AsFd as Stream;

#[cfg(not(unix))]
use std::io::Write as Stream;

#[cfg(unix)]
fn terminal_columns(stream: impl Stream) -> Option<u16> {
    rustix::termios::tcgetwinsize(stream).ok().map(|size| size.ws_col)
}

#[cfg(not(unix))]
fn terminal_columns(_: impl Stream) -> Option<u16> {
    None
}

/// The words before `--`.
fn words(argv: &[OsString]) -> impl Iterator<Item = &str> {
    argv.iter().map(|word| word.to_str().unwrap_or("")).take_while(|word| *word != "--")
}

fn is_given(argv: &[OsString], flag: &str) -> bool {
    words(argv).any(|word| word == flag)
}

/// The last value given to a flag, as `--flag VALUE` or `--flag=VALUE`.
fn last_value<'a>(argv: &'a [OsString], flag: &str) -> Option<&'a str> {
    let mut last = None;
    let mut words = words(argv);
    while let Some(word) = words.next() {
        if word == flag {
            last = words.next();
        } else if let Some(value) = word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')) {
            last = Some(value);
        }
    }
    last
}
