//! Owns which program is started as codex, and with which arguments.
//!
//! Knows nothing of what it prints. The program that npm installs is a script around the real one: killed, it leaves
//! the real one running. So the real one is started.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

use loopx_core::sdk::turn_host::{Request, SessionAction};

use super::{options::Options, session::Session};

/// The program itself, where this is npm's script around it.
pub(super) fn native(codex: &Path) -> Result<PathBuf, String> {
    let found = find(codex).ok_or_else(|| format!("there is no program {}", codex.display()))?;
    let found = fs::canonicalize(&found).map_err(|error| format!("{}: {error}", found.display()))?;
    let mut start = [0_u8; 2];
    let is_script =
        File::open(&found).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!";
    let is_wrapper = found.extension().is_some_and(|ending| ending == "js");
    if !(is_script && is_wrapper) {
        return Ok(found);
    }
    inside(&found).ok_or_else(|| format!("{} is npm's script, and has no program beside it", found.display()))
}

fn find(codex: &Path) -> Option<PathBuf> {
    if codex.components().count() > 1 {
        return codex.is_file().then(|| codex.to_owned());
    }
    let path = std::env::vars_os().find(|(name, _)| name == "PATH")?.1;
    std::env::split_paths(&path).map(|folder| folder.join(codex)).find(|file| file.is_file())
}

/// `…/codex/bin/codex.js` stands beside, or around, a package of this platform with `vendor/<target>/bin/codex`.
fn inside(script: &Path) -> Option<PathBuf> {
    let package = script.parent()?.parent()?;
    let scope = package.parent()?;
    let nested = package.join("node_modules").join(scope.file_name()?);
    let packages =
        [scope, nested.as_path()].into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let vendors = packages.flatten().map(|entry| entry.path().join("vendor"));
    let targets = vendors.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    targets.map(|target| target.path().join("bin/codex")).find(|file| file.is_file())
}

/// The whole command: one run that prints events, with the prompt from stdin.
pub(super) fn command(
    codex: &Path,
    options: &Options,
    request: &Request,
    session: Option<&Session>,
) -> Vec<OsString> {
    let mut argv = vec![codex.into(), "exec".into()];
    argv.extend(options.more.iter().cloned());
    if session.is_some() {
        argv.push("resume".into());
    }
    argv.extend(["--json".into(), "--skip-git-repo-check".into()]);
    if request.session.action == SessionAction::None {
        argv.push("--ephemeral".into());
    }
    argv.extend(session.map(|session| session.thread_id.clone().into()));
    argv.push("-".into());
    argv
}
