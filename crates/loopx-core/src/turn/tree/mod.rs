//! Owns what a git work tree looks like at one moment, so that two moments can be compared.
//!
//! Knows nothing of Turns, nor how git is asked. A folder that is no git work tree, or holds more changes than git lists in
//! a moment, has no such picture; what follows from that its asker says. Whether a small plain folder is the same can be told all the same.

mod listing;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs::{File, read_link},
    io::Read as _,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

pub(super) use listing::{git, quiet};

use super::workspace::repository_root;
use crate::model::{Digest, ScopePath, gathered};

/// The most that is read of changed files, in bytes.
const CONTENT_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The most entries a plain folder may have to be compared.
const ENTRIES_MAX: usize = 1000;

/// The digest of all that lies in a folder, git work tree or not; none when that is more than is read in a moment.
///
/// For telling that nothing changed, and for nothing else: build output counts here like anything.
pub(super) fn whole(folder: &Path, env: &BTreeMap<OsString, OsString>) -> Option<Digest> {
    if repository_root(folder).is_some() {
        return Tree::of(folder, env).map(|tree| tree.digest(&BTreeSet::new()));
    }
    let (mut left, mut entries, mut folders) = (CONTENT_MAX_BYTES, BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(place) = folders.pop() {
        for entry in std::fs::read_dir(place).ok()? {
            let path = entry.ok()?.path();
            if path.symlink_metadata().ok()?.is_dir() {
                folders.push(path.clone());
            }
            let found = blob(&path, &mut left)?;
            entries.insert(path, found);
            if entries.len() > ENTRIES_MAX {
                return None;
            }
        }
    }
    let mut parts: Vec<&[u8]> = vec![b"loopx folder"];
    for (path, blob) in &entries {
        parts.extend([path.as_os_str().as_bytes(), blob.as_bytes().as_slice()]);
    }
    Some(Digest::of_parts(&parts))
}

/// A work tree at one moment: the commit it stands on, and what differs from that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    root: PathBuf,
    head: Vec<u8>,
    /// Changed and untracked files, by their path below the root.
    changed: BTreeMap<PathBuf, Digest>,
}

impl Tree {
    /// Looks at a work tree, named by its root; none where it is no git work tree or cannot be read as one.
    pub(super) fn of(root: &Path, env: &BTreeMap<OsString, OsString>) -> Option<Self> {
        if repository_root(root) != Some(root) {
            return None;
        }
        let (head, paths) = listing::changed(root, env)?;
        let mut left = CONTENT_MAX_BYTES;
        let changed = paths.into_iter().map(|path| Some((path.clone(), blob(&root.join(&path), &mut left)?)));
        let mut changed: BTreeMap<_, _> = changed.collect::<Option<_>>()?;
        for path in listing::submodules(root, env)? {
            let inner = Self::of(&root.join(&path), env)?;
            if !inner.changed.is_empty() || changed.contains_key(&path) {
                changed.insert(path, inner.digest(&BTreeSet::new()));
            }
        }
        Some(Self { root: root.to_owned(), head, changed })
    }

    /// The digest of what a Turn with these scopes may have changed; without scopes, of the whole tree.
    pub(super) fn digest(&self, scopes: &BTreeSet<ScopePath>) -> Digest {
        let mut parts: Vec<&[u8]> = vec![b"loopx tree", &self.head];
        for (path, blob) in self.changed.iter().filter(|(path, _)| is_within(path, scopes)) {
            parts.extend([path.as_os_str().as_bytes(), blob.as_bytes().as_slice()]);
        }
        Digest::of_parts(&parts)
    }

    /// The paths that differ from the commit.
    pub(super) fn changed(&self) -> BTreeSet<PathBuf> {
        gathered(self.changed.keys().cloned())
    }

    /// The paths that hold something else than they did `before`, committed meanwhile or not; it is the present that is
    /// looked at. None where that cannot be told, as when the commit of then is lost.
    pub(super) fn since(
        &self,
        before: &Self,
        env: &BTreeMap<OsString, OsString>,
    ) -> Option<BTreeSet<PathBuf>> {
        let committed = if self.head == before.head {
            BTreeSet::new()
        } else {
            listing::committed(&self.root, env, &before.head, &self.head)?
        };
        let mut left = CONTENT_MAX_BYTES;
        let mut differs = |path: &PathBuf| match (before.changed.get(path), self.changed.get(path)) {
            (Some(then), Some(now)) => then != now,
            // What is no longer listed was committed, or put back: only its content tells which.
            (Some(then), None) => blob(&self.root.join(path), &mut left).as_ref() != Some(then),
            (None, Some(_)) => true,
            (None, None) => committed.contains(path),
        };
        let paths: BTreeSet<&PathBuf> =
            gathered(before.changed.keys().chain(self.changed.keys()).chain(&committed));
        Some(gathered(paths.into_iter().filter(|path| differs(path)).cloned()))
    }

    /// The picture as bytes, without where it lies.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        bytes.push(0);
        for (path, blob) in &self.changed {
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(blob.as_bytes());
        }
        bytes
    }

    /// Reads back what [`Self::encode`] wrote, of the tree that lies at `root` now.
    pub(super) fn decode(root: PathBuf, bytes: &[u8]) -> Option<Self> {
        let field = |bytes: &'_ [u8]| bytes.iter().position(|byte| *byte == 0);
        let (head, rest) = bytes.split_at_checked(field(bytes)?)?;
        let (mut rest, mut changed) = (rest.get(1..)?, BTreeMap::new());
        while !rest.is_empty() {
            let (path, after) = rest.split_at_checked(field(rest)?)?;
            let (blob, next) = after.get(1..)?.split_first_chunk::<32>()?;
            changed.insert(PathBuf::from(OsStr::from_bytes(path)), Digest::from_bytes(*blob));
            rest = next;
        }
        Some(Self { root, head: head.to_vec(), changed })
    }
}

/// Whether a path lies within one of some scopes; every path does where there are none.
pub(super) fn is_within(path: &Path, scopes: &BTreeSet<ScopePath>) -> bool {
    scopes.is_empty() || scopes.iter().any(|scope| scope.as_str() == "." || path.starts_with(scope.as_str()))
}

/// The digest of what lies at a path: of its content, or, when more would have to be read than is left, of its size and of
/// when it was changed.
fn blob(path: &Path, left: &mut u64) -> Option<Digest> {
    let Ok(meta) = path.symlink_metadata() else { return Some(Digest::of_parts(&[b"gone"])) };
    if meta.is_symlink() {
        let target = read_link(path).ok()?;
        return Some(Digest::of_parts(&[b"link", target.as_os_str().as_bytes()]));
    }
    if !meta.is_file() {
        return Some(Digest::of_parts(&[b"other"]));
    }
    if meta.len() > *left {
        let (len, at) = (meta.len().to_be_bytes(), [meta.mtime(), meta.mtime_nsec()].map(i64::to_be_bytes));
        return Some(Digest::of_parts(&[b"large", &len, at.as_flattened()]));
    }
    let mut content = Vec::new();
    File::open(path).ok()?.take(left.saturating_add(1)).read_to_end(&mut content).ok()?;
    *left = left.checked_sub(u64::try_from(content.len()).ok()?)?;
    let is_program = meta.permissions().mode() & 0o100 != 0;
    Some(Digest::of_parts(&[if is_program { b"program" } else { b"file" }, &content]))
}

#[cfg(test)]
mod tests;
