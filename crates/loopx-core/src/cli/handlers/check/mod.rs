//! Owns the handler of `check`: which files are looked at, what is found, and the answer.
//!
//! Knows no form of a credential and no private place: `boundary` does.

mod allow;
mod lines;
mod scope;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::read_link,
    io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use self::{
    allow::Allowing,
    lines::{Piece, Shape},
    scope::{Entry, Scope},
};
use super::schema;
use crate::{
    authority::profile::file::{self, For},
    boundary::inspect,
    cli::{Args, Context, Document, Format, Rendered},
    error::{Code, Error, Result, echo},
    model::json_value,
};

/// The largest file that is read, in bytes.
const FILE_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How many findings, and how many files that were left out, are named; the rest is counted.
const NAMED_MAX: usize = 10_000;

/// One thing that must not be public.
#[derive(Debug, Serialize)]
struct Finding {
    file: String,
    line: u64,
    /// Counted in characters, from 1.
    column: usize,
    kind: &'static str,
    excerpt: String,
}

/// A file that was not looked at.
#[derive(Debug, Serialize)]
struct LeftOut {
    file: String,
    reason: &'static str,
}

/// What became of a scan.
#[derive(Debug, Default, Serialize)]
struct Report {
    items: Vec<Finding>,
    /// How many files were read, links included.
    files: u64,
    findings: u64,
    /// How many findings a marker allowed.
    allowed: u64,
    /// How many files were left out as binary ones.
    binary: u64,
    /// The other files that were left out, and why.
    left_out: Vec<LeftOut>,
    /// Whether more was found, or left out, than is named.
    more: bool,
}

/// `check`.
pub(in crate::cli) fn check(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let here = context.folder()?.to_owned();
    let mut named: Vec<PathBuf> = args.files("path").map(Path::to_owned).collect();
    if named.is_empty() {
        named.push(PathBuf::new());
    }
    let git = ["PATH", "HOME"]
        .iter()
        .filter_map(|name| Some(((*name).into(), context.env.named(name)?.to_owned())));
    let scope = Scope { all: args.switch("all"), env: git.collect::<BTreeMap<OsString, OsString>>() };
    let mut report = Report::default();
    for path in &named {
        for entry in scope.entries(&here, path)? {
            report.look(&here, &entry)?;
        }
    }
    answer(context, &report)
}

fn answer(context: &Context<'_, '_>, report: &Report) -> Result<Rendered> {
    let found = report.findings > 0;
    if found && context.look.format == Format::Json {
        let mut error = Error::new(Code::CheckFailed, told(report));
        if let Some(fields) = json_value(report)?.as_object() {
            for (name, value) in fields {
                error = error.detail(name, value.clone());
            }
        }
        return Err(error);
    }
    let row = |one: &Finding| {
        vec![format!("{}:{}:{}", one.file, one.line, one.column), one.kind.to_owned(), one.excerpt.clone()]
    };
    let mut document = Document::new();
    if found {
        document = document.log(&["WHERE", "KIND", "EXCERPT"], report.items.iter().map(row).collect());
    }
    if !report.left_out.is_empty() {
        let rows = report.left_out.iter().map(|one| vec![one.file.clone(), one.reason.to_owned()]);
        document = document.log(&["LEFT OUT", "BECAUSE"], rows.collect());
    }
    let rendered = Rendered::new(schema::CHECK, report, document.para(format!("{}.", told(report))))?;
    Ok(if found { rendered.exit(Code::CheckFailed.class().exit()) } else { rendered })
}

/// What came of it, in a sentence without its stop.
fn told(report: &Report) -> String {
    let files = |count: u64| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    let mut text = match report.findings {
        0 => format!("nothing found in {}", files(report.files)),
        1 => format!("1 finding in {}", files(report.files)),
        count => format!("{count} findings in {}", files(report.files)),
    };
    let mut add = |count: u64, what: &str| {
        if count > 0 {
            text.extend(["; ", &count.to_string(), " ", what]);
        }
    };
    add(report.allowed, "allowed by a marker");
    add(report.binary, "binary files left out");
    add(u64::try_from(report.left_out.len()).unwrap_or(u64::MAX), "others left out");
    if report.more {
        text.push_str("; not all are named");
    }
    text
}

impl Report {
    fn look(&mut self, here: &Path, entry: &Entry) -> Result<()> {
        let shown = shown(&entry.path);
        if let Some(reason) = entry.left_out {
            self.leave_out(shown, reason);
            return Ok(());
        }
        let path = here.join(&entry.path);
        if entry.is_link {
            // A commit holds where a link leads to, and nothing of what lies there.
            match read_link(&path) {
                Ok(target) => {
                    self.take(&shown, &Piece::whole(&target.to_string_lossy()), &mut Allowing::default());
                }
                Err(_) => self.leave_out(shown, scope::UNREADABLE),
            }
            self.files += 1;
            return Ok(());
        }
        let mut allowing = Allowing::default();
        let opened = file::open(&path, For::Reading);
        let read = opened.and_then(|file| {
            if file.metadata()?.len() > FILE_MAX_BYTES {
                return Ok(Shape::Large);
            }
            lines::read(file, FILE_MAX_BYTES, &mut |piece| self.take(&shown, piece, &mut allowing))
        });
        match read {
            Ok(Shape::Text) => self.files += 1,
            Ok(Shape::Binary) => self.binary += 1,
            Ok(Shape::Large) => self.leave_out(shown, "larger than 64 MiB"),
            Err(error) if entry.is_named => return Err(unreadable(&shown, &error)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.leave_out(shown, "no regular file");
            }
            Err(_) => self.leave_out(shown, scope::UNREADABLE),
        }
        Ok(())
    }

    fn leave_out(&mut self, file: String, reason: &'static str) {
        if self.left_out.len() < NAMED_MAX {
            self.left_out.push(LeftOut { file, reason });
        } else {
            self.more = true;
        }
    }

    /// Looks at one piece of a line.
    fn take(&mut self, file: &str, piece: &Piece<'_>, allowing: &mut Allowing) {
        allowing.at(piece.line, piece.text);
        for leaked in inspect(piece.text) {
            if !piece.judged.contains(&leaked.after_chars) {
                continue;
            }
            let kind = leaked.kind.as_str();
            if allowing.covers(kind) {
                self.allowed += 1;
                continue;
            }
            self.findings += 1;
            if self.items.len() >= NAMED_MAX {
                self.more = true;
                continue;
            }
            let column = piece.after_chars + leaked.after_chars + 1;
            let excerpt = leaked.excerpt;
            self.items.push(Finding { file: file.to_owned(), line: piece.line, column, kind, excerpt });
        }
    }
}

/// A path as it is shown, from the present folder or as it was named.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn unreadable(shown: &str, error: &io::Error) -> Error {
    let what =
        if error.kind() == io::ErrorKind::InvalidInput { "is no regular file" } else { "cannot be read" };
    Error::new(Code::InvalidArgument, format!("`{}` {what}", echo(shown)))
        .hint("check --help")
        .detail("argument", "path")
        .internal(error)
}
