//! Owns finding the file a program name stands for, in the environment the program will have.
//!
//! Knows nothing of starting it. The lookup is done here and not by the system, so that "missing" and "not
//! executable" are told apart, and no system retries a file without a header through a shell.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::spec::NotStarted;

/// Finds `program`: with a slash relative to `cwd`, without one in `PATH`; empty `PATH` entries are skipped.
pub fn find(program: &OsStr, cwd: &Path, env: &BTreeMap<OsString, OsString>) -> Result<PathBuf, NotStarted> {
    if program.as_bytes().contains(&b'/') {
        let path = cwd.join(program);
        return judge(&path).map(|()| path);
    }
    let mut failure = NotStarted::Missing;
    let folders = env.get(OsStr::new("PATH")).map(|path| std::env::split_paths(path).collect::<Vec<_>>());
    for folder in folders.unwrap_or_default() {
        if program.is_empty() || folder.as_os_str().is_empty() {
            continue;
        }
        let path = cwd.join(folder).join(program);
        match judge(&path) {
            Ok(()) => return Ok(path),
            Err(NotStarted::Missing) => {}
            Err(other) => failure = other,
        }
    }
    Err(failure)
}

fn judge(path: &Path) -> Result<(), NotStarted> {
    match path.metadata() {
        Ok(meta) if meta.is_file() && access(path, Access::EXEC_OK).is_ok() => Ok(()),
        Ok(_) => Err(NotStarted::NotExecutable),
        Err(_) => Err(NotStarted::Missing),
    }
}
