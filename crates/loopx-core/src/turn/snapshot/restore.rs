//! Owns putting bytes at a path of a work tree, and taking them away, one folder at a time from the root.
//!
//! Knows no snapshot. Invariant: it never follows a symbolic link, and a file is replaced whole or not at all. Of a mode
//! only who may execute is known; the rest is the present file's, or what a checkout by the same caller would give.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write as _},
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, fsync, mkdirat, open, openat, renameat, statat, symlinkat, unlinkat},
    io::Errno,
};

use super::{listing::is_plain, picture::Form};
use crate::model::Digest;

/// What the name beside a file begins with while its new content is written.
const UNFINISHED: &str = ".loopx-undo-";

/// The name beside a file: the same for the same path, so that a run that follows a kill finds what that has left, and
/// nobody's else.
fn unfinished(path: &[u8]) -> String {
    let digest = Digest::of_parts(&[b"undo", path]).to_string();
    format!("{UNFINISHED}{}", digest.chars().filter(char::is_ascii_hexdigit).take(16).collect::<String>())
}

/// The folders of a work tree that something was put into, or taken away from, by their paths from its root.
#[derive(Debug, Default)]
pub(super) struct Folders(BTreeSet<Vec<u8>>);

impl Folders {
    /// Notes the folder of a path.
    fn note(&mut self, path: &[u8]) {
        self.0.insert(above(path).unwrap_or_default().to_owned());
    }

    /// Notes every folder on the way to a path, where nobody knows any more which of them was made or taken away.
    pub(super) fn note_all(&mut self, path: &[u8]) {
        let mut path = Some(path);
        while let Some(below) = path {
            self.note(below);
            path = above(below);
        }
    }

    /// Writes each of them through to the disk, once; what is in one that is not there any more is told by those above it.
    pub(super) fn sync(self, root: &Path) -> io::Result<()> {
        for path in self.0 {
            let mut at = open(root, FOLDER, Mode::empty());
            for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
                at = at.and_then(|at| openat(&at, OsStr::from_bytes(part), FOLDER, Mode::empty()));
            }
            match at.and_then(fsync) {
                // Nor is what somebody has put in its place; and some file systems have no such thing.
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

/// The path of the folder of a path; none right below the root.
fn above(path: &[u8]) -> Option<&[u8]> {
    path.iter().rposition(|byte| *byte == b'/').map(|end| path.split_at(end).0)
}

/// How a folder is opened: never through a link.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The folder of a path, opened without following a link, and the path's last part; one that is missing is made where its
/// making can be noted.
fn folder(root: &Path, path: &[u8], mut makes: Option<&mut Folders>) -> io::Result<(OwnedFd, OsString)> {
    if !is_plain(path) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut at = open(root, FOLDER, Mode::empty())?;
    let mut way = Vec::new();
    let mut parts = path.split(|byte| *byte == b'/').map(OsStr::from_bytes).peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return Ok((at, part.to_owned()));
        }
        way.extend_from_slice(part.as_bytes());
        at = match (openat(&at, part, FOLDER, Mode::empty()), &mut makes) {
            (Err(Errno::NOENT), Some(made)) => {
                // The system takes away what the caller's umask does, as it does for a checkout.
                mkdirat(&at, part, Mode::from_raw_mode(0o777))?;
                made.note(&way);
                openat(&at, part, FOLDER, Mode::empty())?
            }
            (opened, _) => opened?,
        };
        way.push(b'/');
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// Puts a content at a path, in the place of what lies there.
///
/// Errors: where the way there leads through a link or something that is no folder, or a folder lies there.
pub(super) fn put(
    root: &Path,
    path: &[u8],
    form: Form,
    content: &[u8],
    folders: &mut Folders,
) -> io::Result<()> {
    let (folder, name) = folder(root, path, Some(folders))?;
    let beside = unfinished(path);
    // What a run that was killed has left is no use to anybody.
    match unlinkat(&folder, &*beside, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(e) => return Err(e.into()),
    }
    let written = if form == Form::Link {
        symlinkat(OsStr::from_bytes(content), &folder, &*beside).map_err(io::Error::from)
    } else {
        file(&folder, &beside, &name, form, content)
    };
    let placed = written.and_then(|()| Ok(renameat(&folder, &*beside, &folder, &name)?));
    folders.note(path);
    if placed.is_err() {
        // The failure to report is the first.
        let _ = unlinkat(&folder, &*beside, AtFlags::empty());
    }
    placed
}

fn file(folder: &OwnedFd, beside: &str, name: &OsStr, form: Form, content: &[u8]) -> io::Result<()> {
    let is_program = form == Form::Program;
    let old = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|old| old.st_mode);
    let old = old.filter(|mode| rustix::fs::FileType::from_raw_mode(*mode).is_file());
    // What nobody else may read is not open to them while it is written; of what is gone the umask decides.
    let first = match (old, is_program) {
        (Some(_), _) => 0o600,
        (None, true) => 0o777,
        (None, false) => 0o666,
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, beside, flags, Mode::from_raw_mode(first))?);
    file.write_all(content)?;
    if let Some(old) = old {
        file.set_permissions(std::fs::Permissions::from_mode(kept_mode(old, is_program)))?;
    }
    file.sync_data()
}

/// The mode of a file that is there, with only who may execute it changed: whoever may read it, or nobody.
fn kept_mode(old: u32, is_program: bool) -> u32 {
    let old = old & 0o777;
    match (is_program, old & 0o100 != 0) {
        (true, true) | (false, false) => old,
        (true, false) => old | 0o100 | (old & 0o444) >> 2,
        (false, true) => old & 0o666,
    }
}

/// Takes away what lies at a path, and the folders that are empty then.
///
/// Errors: as [`put`].
pub(super) fn take_away(root: &Path, path: &[u8], folders: &mut Folders) -> io::Result<()> {
    let (at, name) = folder(root, path, None)?;
    unlinkat(&at, &name, AtFlags::empty())?;
    folders.note(path);
    let mut path = path;
    while let Some(above) = above(path) {
        path = above;
        let (at, name) = folder(root, path, None)?;
        // One that holds something stays.
        if unlinkat(&at, &name, AtFlags::REMOVEDIR).is_err() {
            break;
        }
        folders.note(path);
    }
    Ok(())
}
