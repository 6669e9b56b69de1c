//! Owns how an answer or an error reaches the caller: text, Markdown or JSON, on stdout or stderr.
//!
//! Knows nothing of commands. All text passes `printable` on its way, so that nothing a Goal, a host or a
//! file says can steer a terminal.

mod document;
mod json;
mod look;
mod markdown;
mod printable;
mod roff;
mod screen;
mod table;
mod text;

pub use self::{
    document::{Block, Document},
    look::{Format, Look, Stdio},
};
pub(super) use self::{
    markdown::markdown, printable::is_kept as is_printable, roff::roff, screen::Screen, table::clipped,
    text::text,
};

use std::{
    ffi::OsString,
    io::{self, Write},
};

use serde::Serialize;
use serde_json::Value;

use super::again::again;
use crate::{
    error::{Code, Error, Result},
    model::OperationId,
};

/// What a handler answers: the JSON form, the form for people, and the exit code.
#[derive(Debug)]
pub struct Rendered {
    json: String,
    document: Document,
    notes: Vec<String>,
    operation: Option<String>,
    exit: u8,
    is_told: bool,
}

impl Rendered {
    /// Makes an answer of its JSON form; `body` must serialise as an object, `schema` is put before its
    /// fields.
    ///
    /// Errors: `internal` when it is no object.
    pub fn new(schema: &'static str, body: &impl Serialize, document: Document) -> Result<Self> {
        let json = json::object(schema, body)?;
        Ok(Self { json, document, notes: Vec::new(), operation: None, exit: 0, is_told: false })
    }

    /// An answer that was printed on the way, as it came: nothing is left to be said.
    pub(super) fn told() -> Self {
        let document = Document::new();
        Self { json: String::new(), document, notes: Vec::new(), operation: None, exit: 0, is_told: true }
    }

    /// What it prints, each line ended.
    pub(super) fn shown(&self, look: Look) -> String {
        match look.format {
            Format::Json => format!("{}\n", self.json),
            Format::Markdown => markdown(&self.document),
            Format::Text => text(&self.document, look),
        }
    }

    /// Adds a line for stderr, where text is printed.
    #[must_use]
    pub fn note(mut self, line: impl Into<String>) -> Self {
        self.notes.push(line.into());
        self
    }

    /// Names the operation that was written, and says so on stderr, where text is printed.
    #[must_use]
    pub fn operation(mut self, id: &OperationId, is_replayed: bool) -> Self {
        let replayed = if is_replayed { ", as before" } else { "" };
        self.operation = Some(id.to_string());
        self.note(format!("operation {id}{replayed}"))
    }

    /// Sets the exit code of an answer that is not simply done, as `next` has.
    #[must_use]
    pub fn exit(mut self, exit: u8) -> Self {
        self.exit = exit;
        self
    }
}

/// The JSON form of a listing: its rows, and where the next page starts if there is one.
#[derive(Debug, Serialize)]
pub struct Page<T> {
    /// The rows of this page.
    pub items: Vec<T>,
    /// What `--cursor` takes to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// How this process was called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    /// The running binary's name.
    pub(super) program: &'static str,
    /// What followed it.
    pub(super) argv: &'a [OsString],
}

/// Prints an answer and gives the exit code.
pub(super) fn print(rendered: &Rendered, call: Call<'_>, look: Look, stdio: &mut Stdio<'_>) -> u8 {
    if rendered.is_told {
        return rendered.exit;
    }
    let data = rendered.shown(look);
    if let Err(error) = written(stdio.out, &data) {
        return unwritable(&error, rendered.exit, rendered.operation.as_deref(), call, look, stdio);
    }
    if look.format != Format::Json {
        for note in &rendered.notes {
            self::note(note, stdio);
        }
    }
    rendered.exit
}

/// Prints a line for a person on stderr. A stderr that is gone is no failure.
pub(super) fn note(line: &str, stdio: &mut Stdio<'_>) {
    let line = printable::line(line);
    let _ = writeln!(stdio.err, "{line}").and_then(|()| stdio.err.flush());
}

/// Prints an error and gives the exit code of its class: under JSON one object on stdout, else two lines on
/// stderr.
pub(super) fn print_error(error: &Error, call: Call<'_>, look: Look, stdio: &mut Stdio<'_>) -> u8 {
    let program = call.program;
    let error = &in_profile(error, call.argv);
    let exit = error.code().class().exit();
    if look.format == Format::Json {
        let line = json::error(error, program) + "\n";
        return match written(stdio.out, &line) {
            Ok(()) => exit,
            Err(failed) => {
                // A negative end was written all the same.
                let id = error.details().get("receipt").and_then(|receipt| receipt.get("operation_id"));
                unwritable(&failed, exit, id.and_then(Value::as_str), call, look, stdio)
            }
        };
    }
    let label = |name: &str, code: &str| {
        if look.colour_err { format!("\u{1b}[1;{code}m{name}:\u{1b}[0m") } else { format!("{name}:") }
    };
    let mut lines = format!("{} {}\n", label("error", "31"), printable::line(error.message()));
    if let Some(hint) = error.hint_args() {
        lines.extend([&label("hint", "36"), " ", program, " ", &printable::line(hint), "\n"]);
    }
    let _ = written(stdio.err, &lines);
    exit
}

/// The same error, with a hint that means the profile which was named in the call.
fn in_profile(error: &Error, argv: &[OsString]) -> Error {
    let mut words = argv.iter().filter_map(|word| word.to_str());
    let mut named = None;
    while let Some(word) = words.next() {
        let value = if word == "--profile" { words.next() } else { word.strip_prefix("--profile=") };
        named = value.or(named);
    }
    let hint = error.hint_args().filter(|hint| !hint.contains("--profile"));
    // What is no name of a profile is what the error is about.
    let is_name = |name: &&str| {
        (1..=48).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    match (hint, named.filter(is_name)) {
        (Some(hint), Some(named)) => error.clone().hint(format!("--profile {named} {hint}")),
        (Some(_) | None, _) => error.clone(),
    }
}

fn written(to: &mut dyn Write, data: &str) -> io::Result<()> {
    to.write_all(data.as_bytes())?;
    to.flush()
}

/// The exit code where stdout took no more. A reader that has seen enough is no failure; whoever has seen nothing is
/// told what was written all the same, and how to see it.
fn unwritable(
    failed: &io::Error,
    exit: u8,
    operation: Option<&str>,
    call: Call<'_>,
    look: Look,
    stdio: &mut Stdio<'_>,
) -> u8 {
    if failed.kind() == io::ErrorKind::BrokenPipe {
        return exit;
    }
    let code = if failed.kind() == io::ErrorKind::StorageFull { Code::DiskFull } else { Code::Internal };
    let message = "the answer could not be written to stdout";
    let error = match operation {
        None => Error::new(code, message),
        Some(id) => {
            let text = format!(
                "{message}, but the operation {id} was written; repeated with its id, it shows its receipt"
            );
            let error = Error::new(code, text);
            // A refused result carries the receipt of its last step, whose id begins with the verb's.
            match again(call.argv, "--op-id", id.split('/').next().unwrap_or(id)) {
                Some(args) => error.hint(args),
                None => error,
            }
        }
    };
    let on_stderr = Look { format: Format::Text, ..look };
    print_error(&error.internal(failed), call, on_stderr, stdio)
}
