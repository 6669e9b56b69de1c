//! Owns putting bytes at a path of a work tree, and taking them away, one folder at a time from the root.
//!
//! Knows no snapshot. Invariant: it never follows a symbolic link, and a file is replaced whole or not at all. Of a mode
//! only who may execute is known; the rest is the present file's, or what a checkout by the same caller would give.

use std::{
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
    fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, renameat, statat, symlinkat, unlinkat},
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

/// The folder of a path, opened without following a link, and the path's last part.
fn folder(root: &Path, path: &[u8], makes: bool) -> io::Result<(OwnedFd, OsString)> {
    if !is_plain(path) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = open(root, flags, Mode::empty())?;
    let mut parts = path.split(|byte| *byte == b'/').map(OsStr::from_bytes).peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return Ok((at, part.to_owned()));
        }
        at = match openat(&at, part, flags, Mode::empty()) {
            Err(Errno::NOENT) if makes => {
                // The system takes away what the caller's umask does, as it does for a checkout.
                mkdirat(&at, part, Mode::from_raw_mode(0o777))?;
                openat(&at, part, flags, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// Puts a content at a path, in the place of what lies there.
///
/// Errors: where the way there leads through a link or something that is no folder, or a folder lies there.
pub(super) fn put(root: &Path, path: &[u8], form: Form, content: &[u8]) -> io::Result<()> {
    let (folder, name) = folder(root, path, true)?;
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
pub(super) fn take_away(root: &Path, path: &[u8]) -> io::Result<()> {
    let (at, name) = folder(root, path, false)?;
    unlinkat(&at, &name, AtFlags::empty())?;
    let mut path = path;
    while let Some(end) = path.iter().rposition(|byte| *byte == b'/') {
        path = path.split_at(end).0;
        let (at, name) = folder(root, path, false)?;
        // One that holds something stays.
        if unlinkat(&at, &name, AtFlags::REMOVEDIR).is_err() {
            break;
        }
    }
    Ok(())
}
