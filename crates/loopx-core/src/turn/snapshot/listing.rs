//! Owns which paths of a work tree a snapshot is about: tracked ones, and untracked ones that nobody ignores.
//!
//! Knows nothing of their content. Invariant: no path that leads through a symbolic link, into another repository or to
//! a part named `.git` is ever looked at.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{OsStr, OsString},
    fs::Metadata,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::picture::Oid;
use crate::{
    error::{Code, Error, Result},
    process::Ended,
    turn::{tree, workspace::repository_root},
};

/// The most that git may list, in bytes.
const LISTING_MAX_BYTES: usize = 128 * 1024 * 1024;

/// What git says of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Listed {
    /// The index holds it with this content.
    Tracked(Oid),
    /// Nobody ignores it.
    Untracked,
    /// Another repository: a submodule, or one that lies below.
    Repository,
}

/// All paths of a work tree, from its root.
pub(super) type Listing = BTreeMap<Vec<u8>, Listed>;

/// Asks git which paths there are, as bytes to [`parse`] or to compare. It writes nothing, and runs no hook, no monitor and no filter.
///
/// Errors: `not_ready` with the reason, in words that name no place.
pub(super) fn list(root: &Path, env: &BTreeMap<OsString, OsString>) -> Result<Vec<u8>> {
    let words = [
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.untrackedCache=false",
        "ls-files",
        "-z",
        "-t",
        "--stage",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let outcome = tree::git(root, &tree::quiet(env), &words.map(OsString::from), &[], LISTING_MAX_BYTES);
    if outcome.ended != Ended::Exited(0) {
        return Err(failed("git could not list the work tree", outcome.ended));
    }
    Ok(outcome.stdout)
}

/// What of a folder a commit would hold, by its path below the folder, in order.
#[derive(Debug, Default)]
pub struct Committable {
    /// Files and links.
    pub files: Vec<(PathBuf, Metadata)>,
    /// Other repositories below it, which are not looked into.
    pub repositories: Vec<PathBuf>,
}

/// Asks git what of a folder a commit would hold: what is tracked, and what is not and nobody ignores. The folder is
/// named by its real path; none where it lies in no work tree.
///
/// Errors: `not_ready`.
pub fn committable(folder: &Path, env: &BTreeMap<OsString, OsString>) -> Result<Option<Committable>> {
    let Some(root) = repository_root(folder) else { return Ok(None) };
    let below = folder.strip_prefix(root).unwrap_or(Path::new(""));
    let (mut found, mut looker) = (Committable::default(), Looker::below(root));
    for (bytes, listed) in parse(&list(root, env)?)? {
        let path = as_path(&bytes);
        let Ok(path) = path.strip_prefix(below) else { continue };
        let Some(meta) = looker.look(&bytes) else { continue };
        match listed {
            Listed::Repository => found.repositories.push(path.to_owned()),
            Listed::Tracked(_) | Listed::Untracked if meta.is_dir() => {}
            Listed::Tracked(_) | Listed::Untracked => found.files.push((path.to_owned(), meta)),
        }
    }
    Ok(Some(found))
}

/// Reads what git listed.
///
/// Errors: `not_ready`.
pub(super) fn parse(listing: &[u8]) -> Result<Listing> {
    paths(listing).ok_or_else(|| Error::new(Code::NotReady, "git's listing cannot be read"))
}

/// A git that did not do what it was asked for.
pub(super) fn failed(what: &str, ended: Ended) -> Error {
    Error::new(Code::NotReady, format!("{what}: {ended}"))
}

fn paths(listing: &[u8]) -> Option<Listing> {
    let mut found = Listing::new();
    for record in listing.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        if let Some(path) = record.strip_prefix(b"? ") {
            let (path, listed) = match path.strip_suffix(b"/") {
                Some(folder) => (folder, Listed::Repository),
                None => (path, Listed::Untracked),
            };
            found.insert(path.to_vec(), listed);
            continue;
        }
        let at = record.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = record.split_at_checked(at)?;
        let mut words = head.split(|byte| *byte == b' ').skip(1);
        let (mode, oid) = (words.next()?, words.next()?);
        let listed = match mode {
            b"160000" => Listed::Repository,
            _ => Listed::Tracked(Oid::parse(oid)?),
        };
        found.insert(path.strip_prefix(b"\t")?.to_vec(), listed);
    }
    Some(found)
}

/// Whether every part of a path can be a name in a work tree.
pub(super) fn is_plain(path: &[u8]) -> bool {
    let is_name = |part: &[u8]| {
        !part.is_empty() && part != b"." && part != b".." && !part.eq_ignore_ascii_case(b".git")
    };
    path.split(|byte| *byte == b'/').all(is_name)
}

/// Looks at paths below a root without following a link.
#[derive(Debug)]
pub(super) struct Looker<'r> {
    root: &'r Path,
    folders: HashMap<Vec<u8>, bool>,
}

impl<'r> Looker<'r> {
    /// Looks below a root.
    pub(super) fn below(root: &'r Path) -> Self {
        Self { root, folders: HashMap::new() }
    }

    /// What lies at a path; none where nothing does, or where the way there leads through a link.
    pub(super) fn look(&mut self, path: &[u8]) -> Option<Metadata> {
        if !is_plain(path) || !self.is_reached(path) {
            return None;
        }
        self.root.join(as_path(path)).symlink_metadata().ok()
    }

    fn is_reached(&mut self, path: &[u8]) -> bool {
        let Some(at) = path.iter().rposition(|byte| *byte == b'/') else { return true };
        let Some((folder, _)) = path.split_at_checked(at) else { return false };
        if let Some(known) = self.folders.get(folder) {
            return *known;
        }
        let is_folder = self.is_reached(folder)
            && self.root.join(as_path(folder)).symlink_metadata().is_ok_and(|found| found.is_dir());
        self.folders.insert(folder.to_vec(), is_folder);
        is_folder
    }
}

/// Bytes as a path.
pub(super) fn as_path(path: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(path))
}
