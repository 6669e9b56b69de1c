//! Owns the text of what a Turn changed, as a unified difference.
//!
//! Knows no verb. What stands in the files is not trusted; who prints it makes it harmless.

use std::{fmt::Write as _, fs::read_link, os::unix::ffi::OsStrExt as _, path::Path};

use super::{
    listing::{Looker, as_path},
    picture::Form,
    record::{Change, Record, Side},
    scratch::Scratch,
    shelf::Shelf,
    store::Store,
};
use crate::{error::Result, model::Turn, turn::site::Machine};

/// The most that is said of all paths, in bytes.
const TEXT_MAX_BYTES: usize = 4 * 1024 * 1024;
/// So far into a content a zero byte tells that it is no text.
const LOOKED_AT_BYTES: usize = 8000;

/// The difference as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The lines.
    pub text: String,
    /// How many paths are left out, because the text grew too long.
    pub left_out: usize,
    /// Lines that came and went, by path in order; none where a path is no text.
    pub counts: Vec<Option<(usize, usize)>>,
}

/// What a Turn changed as text, as far as its contents are kept.
///
/// Errors: `store_*`; `not_ready` of a Turn that goes on, where git does not know its work tree.
pub fn text(machine: &Machine, turn: &Turn, record: &Record) -> Result<Text> {
    let mut all = Text { text: String::new(), left_out: 0, counts: Vec::new() };
    let Some(shelf) = Shelf::of(machine, turn)? else { return Ok(all) };
    // What was there before is brought over at the Turn's end, and what is there now is kept by nobody until then.
    let scratch = if record.after.is_none() { Some(Scratch::make(&machine.env)?) } else { None };
    let mut store = shelf.store;
    if let Some(scratch) = &scratch {
        let apart = store.apart(scratch.path());
        hold(&apart, &shelf.root, record)?;
        store = apart.beside_all(&shelf.root, &machine.env)?;
    }
    for change in &record.changes {
        if all.text.len() > TEXT_MAX_BYTES {
            all.left_out += 1;
            all.counts.push(None);
            continue;
        }
        let (body, counted) = body(&store, change);
        let mut head = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(head, "diff --git a/{0} b/{0}", change.path);
        let mode = |side: &Option<Side>| side.as_ref().map(|side| mode(side.form()));
        match (mode(&change.before), mode(&change.after)) {
            (None, Some(new)) => drop(writeln!(head, "new file mode {new}")),
            (Some(old), None) => drop(writeln!(head, "deleted file mode {old}")),
            (Some(old), Some(new)) if old != new => drop(write!(head, "old mode {old}\nnew mode {new}\n")),
            (Some(_), Some(_)) | (None, None) => {}
        }
        if change.shared {
            head.push_str("# shared: it may be another Turn's\n");
        }
        all.text.push_str(&head);
        all.text.push_str(&body);
        all.counts.push(counted);
    }
    Ok(all)
}

/// Puts what changed paths hold now where it can be compared; what moved again meanwhile is not shown.
fn hold(store: &Store, root: &Path, record: &Record) -> Result<()> {
    let mut files = Vec::new();
    for change in &record.changes {
        let Some(side) = change.after.as_ref().filter(|side| side.content().is_some()) else { continue };
        let path = change.bytes();
        match side.form() {
            Form::Link => {
                if let Ok(target) = read_link(root.join(as_path(&path))) {
                    store.bytes(target.as_os_str().as_bytes(), true)?;
                }
            }
            Form::File | Form::Program => files.push(path),
            Form::Large | Form::Repository | Form::Other => {}
        }
    }
    let mut looker = Looker::below(root);
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let files: Vec<&[u8]> =
        files.into_iter().filter(|path| looker.look(path).is_some_and(|found| found.is_file())).collect();
    if store.files(root, &files, true).is_err() {
        // One of them went away, or cannot be read; that says nothing of the others.
        for path in files {
            let _ = store.files(root, &[path], true);
        }
    }
    Ok(())
}

const fn mode(form: Form) -> &'static str {
    match form {
        Form::Program => "100755",
        Form::Link => "120000",
        Form::Repository => "160000",
        Form::File | Form::Large | Form::Other => "100644",
    }
}

fn body(store: &Store, change: &Change) -> (String, Option<(usize, usize)>) {
    let path = &change.path;
    if let Some(why) = &change.lost {
        return (format!("# not shown: {why}\n"), None);
    }
    let content = |side: &Option<Side>| side.as_ref().and_then(Side::content);
    match (content(&change.before), content(&change.after)) {
        (Some(old), Some(new)) if old == new => (String::new(), Some((0, 0))),
        (Some(old), Some(new)) => match store.difference(&old, &new, TEXT_MAX_BYTES) {
            Some(said) => hunks(path, &String::from_utf8_lossy(&said)),
            None => ("# not shown: it is too long, or kept no longer\n".to_owned(), None),
        },
        (Some(oid), None) => whole(path, store.read(&oid), '-'),
        (None, Some(oid)) => whole(path, store.read(&oid), '+'),
        (None, None) => (String::new(), None),
    }
}

/// What follows git's own head, which names contents where people want paths.
fn hunks(path: &str, said: &str) -> (String, Option<(usize, usize)>) {
    let Some(at) = said.find("\n@@ ") else {
        return (format!("Binary files a/{path} and b/{path} differ\n"), None);
    };
    let hunks = said.split_at(at + 1).1;
    let count = |sign: char| hunks.lines().filter(|line| line.starts_with(sign)).count();
    (format!("--- a/{path}\n+++ b/{path}\n{hunks}"), Some((count('+'), count('-'))))
}

/// A content that came, or went, whole.
fn whole(path: &str, content: Option<Vec<u8>>, sign: char) -> (String, Option<(usize, usize)>) {
    let Some(content) = content else { return ("# not shown: it is kept no longer\n".to_owned(), None) };
    let (old, new) = if sign == '+' {
        ("/dev/null".to_owned(), format!("b/{path}"))
    } else {
        (format!("a/{path}"), "/dev/null".to_owned())
    };
    if content.iter().take(LOOKED_AT_BYTES).any(|byte| *byte == 0) {
        return (format!("Binary files {old} and {new} differ\n"), None);
    }
    let content = String::from_utf8_lossy(&content);
    let count = content.split_inclusive('\n').count();
    let counted = if sign == '+' { (count, 0) } else { (0, count) };
    if count == 0 {
        return (String::new(), Some(counted));
    }
    let span = if count == 1 { "1".to_owned() } else { format!("1,{count}") };
    let span = if sign == '+' { format!("-0,0 +{span}") } else { format!("-{span} +0,0") };
    let mut text = format!("--- {old}\n+++ {new}\n@@ {span} @@\n");
    for line in content.split_inclusive('\n') {
        text.push(sign);
        text.push_str(line);
    }
    if !content.ends_with('\n') {
        text.push_str("\n\\ No newline at end of file\n");
    }
    (text, Some(counted))
}
