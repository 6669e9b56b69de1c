//! Owns which files `check` looks at.
//!
//! Knows nothing of what stands in them. Invariant: nothing below a `.git` is looked at, and no link is followed but one
//! that was named.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    error::{Code, Error, Result, echo},
    turn,
};

/// Why a file that cannot be read is left out.
pub(super) const UNREADABLE: &str = "it cannot be read";
const REPOSITORY: &str = "another repository";

/// What is looked at.
#[derive(Debug)]
pub(super) struct Scope {
    /// Whether ignored files count.
    pub(super) all: bool,
    /// What git gets of the environment.
    pub(super) env: BTreeMap<OsString, OsString>,
}

/// One file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// From the present folder, or as it was named.
    pub(super) path: PathBuf,
    pub(super) is_link: bool,
    /// Whether it was named itself.
    pub(super) is_named: bool,
    /// Why it is not looked at.
    pub(super) left_out: Option<&'static str>,
}

impl Scope {
    /// The files of a named path, in order.
    ///
    /// Errors: `not_found`; `invalid_argument` for what cannot be read; `not_ready` where git does not answer.
    pub(super) fn entries(&self, here: &Path, named: &Path) -> Result<Vec<Entry>> {
        let real = here.join(named).canonicalize().map_err(|e| unreachable_path(named, &e))?;
        let entry = |path: PathBuf, is_link| Entry { path, is_link, is_named: false, left_out: None };
        if !real.is_dir() {
            return Ok(vec![Entry { is_named: true, ..entry(named.to_owned(), false) }]);
        }
        let listed = if self.all { None } else { turn::committable(&real, &self.env).map_err(with_hint)? };
        let Some(listed) = listed else {
            let mut entries = Vec::new();
            walk(&real, named, &mut entries);
            return Ok(entries);
        };
        let files = listed
            .files
            .into_iter()
            .map(|(path, meta)| entry(named.join(path), meta.file_type().is_symlink()));
        let others = listed
            .repositories
            .into_iter()
            .map(|path| Entry { left_out: Some(REPOSITORY), ..entry(named.join(path), false) });
        Ok(files.chain(others).collect())
    }
}

/// Goes through a folder; `shown` is what it is called.
fn walk(folder: &Path, shown: &Path, entries: &mut Vec<Entry>) {
    let mut open = vec![(folder.to_owned(), shown.to_owned())];
    while let Some((folder, shown)) = open.pop() {
        let left_out =
            |path: PathBuf| Entry { path, is_link: false, is_named: false, left_out: Some(UNREADABLE) };
        let Ok(found) = fs::read_dir(&folder) else {
            entries.push(left_out(shown));
            continue;
        };
        let mut found: Vec<_> = found.flatten().collect();
        found.sort_by_key(fs::DirEntry::file_name);
        for one in &found {
            let (name, path) = (one.file_name(), shown.join(one.file_name()));
            match one.file_type() {
                _ if name.eq_ignore_ascii_case(".git") => {}
                Err(_) => entries.push(left_out(path)),
                Ok(kind) if kind.is_dir() => open.push((one.path(), path)),
                Ok(kind) => {
                    entries.push(Entry { path, is_link: kind.is_symlink(), is_named: false, left_out: None });
                }
            }
        }
    }
}

/// Without git, what it would list can be named all the same.
fn with_hint(error: Error) -> Error {
    error.hint("check --all")
}

fn unreachable_path(named: &Path, e: &io::Error) -> Error {
    let shown = echo(&named.to_string_lossy()).into_owned();
    let (code, what) = match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => (Code::NotFound, "there is no"),
        _ => (Code::InvalidArgument, "nobody can reach"),
    };
    Error::new(code, format!("{what} `{shown}`")).hint("check --help").detail("argument", "path").internal(e)
}
