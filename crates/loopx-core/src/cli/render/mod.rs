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
mod text;

pub use self::{
    document::{Block, Document},
    look::{Format, Look, Stdio},
};
pub(super) use self::{markdown::markdown, roff::roff, text::text};

use std::io::{self, Write};

use serde::Serialize;

use crate::error::{Code, Error, Result};

/// What a handler answers: the JSON form, the form for people, and the exit code.
#[derive(Debug)]
pub struct Rendered {
    json: String,
    document: Document,
    notes: Vec<String>,
    exit: u8,
}

impl Rendered {
    /// Makes an answer of its JSON form; `body` must serialise as an object, `schema` is put before its
    /// fields.
    ///
    /// Errors: `internal` when it is no object.
    pub fn new(schema: &'static str, body: &impl Serialize, document: Document) -> Result<Self> {
        let json = json::object(schema, body)?;
        Ok(Self { json, document, notes: Vec::new(), exit: 0 })
    }

    /// Adds a line for stderr, where text is printed.
    #[must_use]
    pub fn note(mut self, line: impl Into<String>) -> Self {
        self.notes.push(line.into());
        self
    }

    /// Sets the exit code of an answer that is not simply done, as `next` has.
    #[must_use]
    pub fn exit(mut self, exit: u8) -> Self {
        self.exit = exit;
        self
    }

    /// The JSON form, one line.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The form for people.
    pub fn document(&self) -> &Document {
        &self.document
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

/// Prints an answer and gives the exit code.
pub(super) fn print(rendered: Rendered, program: &str, look: Look, stdio: &mut Stdio<'_>) -> u8 {
    let data = match look.format {
        Format::Json => rendered.json + "\n",
        Format::Markdown => markdown(&rendered.document),
        Format::Text => text(&rendered.document, look),
    };
    if let Err(error) = written(stdio.out, &data) {
        return unwritable(&error, rendered.exit, program, look, stdio);
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
pub(super) fn print_error(error: &Error, program: &str, look: Look, stdio: &mut Stdio<'_>) -> u8 {
    let exit = error.code().class().exit();
    if look.format == Format::Json {
        let line = json::error(error, program) + "\n";
        return match written(stdio.out, &line) {
            Ok(()) => exit,
            Err(failed) => unwritable(&failed, exit, program, look, stdio),
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

fn written(to: &mut dyn Write, data: &str) -> io::Result<()> {
    to.write_all(data.as_bytes())?;
    to.flush()
}

/// The exit code where stdout took no more. A reader that has seen enough is no failure.
fn unwritable(failed: &io::Error, exit: u8, program: &str, look: Look, stdio: &mut Stdio<'_>) -> u8 {
    if failed.kind() == io::ErrorKind::BrokenPipe {
        return exit;
    }
    let code = if failed.kind() == io::ErrorKind::StorageFull { Code::DiskFull } else { Code::Internal };
    let error = Error::new(code, "the answer could not be written to stdout").internal(failed);
    let on_stderr = Look { format: Format::Text, ..look };
    print_error(&error, program, on_stderr, stdio)
}

