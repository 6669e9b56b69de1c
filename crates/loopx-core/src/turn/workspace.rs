//! Owns which folder of this machine a workspace id stands for, and that all spellings of a folder are one.
//!
//! Knows nothing of who writes there. Invariant: the ledger holds the id; the path is in the owner's profile alone. A
//! folder of a git work tree is named by the tree's root and its place below that, so that whoever works in one tree
//! meets.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::{Path, PathBuf},
};

use crate::{
    authority::profile::{file, make_private_dir, unreadable},
    error::{Code, Error, Result},
    model::{Digest, MachineId, Workspace},
};

/// Names a folder of a machine, the same for every process there: the hash of the machine and the real path of the root
/// of its git work tree, and its place below that; outside of git, of the folder itself. Gives its real path too.
///
/// Errors: `invalid_argument` when it is no folder, or its place has a name that no scope could have.
pub fn identify(machine_id: &MachineId, folder: &Path) -> Result<(Workspace, PathBuf)> {
    let refused = || Error::new(Code::InvalidArgument, "the work tree is no folder that can be entered");
    let real = folder.canonicalize().map_err(|e| refused().internal(e))?;
    if !real.is_dir() {
        return Err(refused().internal(real.display()));
    }
    let root = repository_root(&real).unwrap_or(&real);
    let digest =
        Digest::of_parts(&[b"loopx workspace", machine_id.as_str().as_bytes(), root.as_os_str().as_bytes()]);
    let tree = digest.to_string().get(..32).unwrap_or_default().to_owned();
    let below = real.strip_prefix(root).unwrap_or(Path::new(""));
    let id = match below.to_str() {
        Some("") => tree.parse(),
        Some(below) => format!("{tree}/{below}").parse(),
        None => Err(Error::from(Code::InvalidId)),
    };
    let id = id.map_err(|e: Error| {
        let why = "the folder's place in its work tree has a name that no scope can have; give its root as --workspace";
        Error::new(Code::InvalidArgument, why).detail("argument", "--workspace").internal(e)
    })?;
    Ok((id, real))
}

/// Where the work trees lie that this machine knows: one folder of the profile has a link to each, under the name of
/// its workspace.
///
/// Every claim looks here, so a look is one call of the system and opens no database.
#[derive(Debug, Clone)]
pub struct Trees {
    links: PathBuf,
}

impl Trees {
    /// Names the folder of the links; nothing is opened.
    pub fn at(links: PathBuf) -> Self {
        Self { links }
    }

    /// Remembers where the work tree of a workspace lies, before a fact names it; `folder` is the workspace's own.
    ///
    /// Errors: `store_*`, `disk_full`.
    pub fn note(&self, workspace: &Workspace, folder: &Path) -> Result<()> {
        if self.root(workspace)?.is_some() {
            return Ok(());
        }
        let depth = workspace.below().map_or(0, |below| below.as_str().split('/').count());
        let Some(root) = folder.ancestors().nth(depth) else { return Err(Error::from(Code::Internal)) };
        make_private_dir(&self.links)?;
        let link = self.link(workspace);
        match symlink(root, &link) {
            // The name holds the path, so whoever was first has noted the same.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            linked => linked.map_err(|e| unreadable(&link, &e))?,
        }
        // The new folder's own name has to survive a power cut as well.
        let synced = file::sync_folder(&link).and_then(|()| file::sync_folder(&self.links));
        synced.map_err(|e| unreadable(&self.links, &e))
    }

    /// Where a workspace lies; none where this machine does not know.
    ///
    /// Errors: `store_unreadable`.
    pub fn folder(&self, workspace: &Workspace) -> Result<Option<PathBuf>> {
        Ok(self.root(workspace)?.map(|root| match workspace.below() {
            Some(below) => root.join(below.as_str()),
            None => root,
        }))
    }

    /// The work trees that are not where they were noted, by name, with the last part of their path; at most `max`.
    ///
    /// Errors: `store_unreadable`.
    pub fn gone(&self, max: usize) -> Result<Vec<(Workspace, String)>> {
        let entries = match fs::read_dir(&self.links) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(unreadable(&self.links, &e)),
        };
        let gone = entries.flatten().filter_map(|entry| {
            let root = fs::read_link(entry.path()).ok().filter(|root| !root.is_dir())?;
            let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned();
            Some((entry.file_name().to_str()?.parse().ok()?, name))
        });
        let mut gone: Vec<_> = gone.take(max).collect();
        gone.sort();
        Ok(gone)
    }

    /// Whether this machine has noted the place of a workspace.
    ///
    /// Errors: `store_unreadable`.
    pub fn knows(&self, workspace: &Workspace) -> Result<bool> {
        Ok(self.root(workspace)?.is_some())
    }

    fn root(&self, workspace: &Workspace) -> Result<Option<PathBuf>> {
        let link = self.link(workspace);
        match fs::read_link(&link) {
            Ok(root) => Ok(Some(root)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
                let name = workspace.tree();
                let message = format!(
                    "something else lies in the place of `trees/{name}`, the link to a work tree: move it away"
                );
                Err(Error::new(Code::StoreUnreadable, message).hint("doctor").internal(link.display()))
            }
            Err(e) => Err(unreadable(&link, &e)),
        }
    }

    fn link(&self, workspace: &Workspace) -> PathBuf {
        self.links.join(workspace.tree().as_str())
    }
}

/// The root of the git work tree that a folder lies in, if it lies in one.
pub(super) fn repository_root(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|dir| dir.join(OsStr::new(".git")).symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn name(folder: &Path) -> String {
        let machine: MachineId = "abc123".parse().unwrap();
        identify(&machine, folder).unwrap().0.to_string()
    }

    #[test]
    fn all_spellings_of_a_folder_are_one_and_lie_in_their_tree() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("tree");
        fs::create_dir_all(root.join("a b/deep")).unwrap();
        symlink(root.join("a b"), dir.path().join("link")).unwrap();
        // given a plain folder, its name is its own
        let plain = name(&root.join("a b"));
        assert!(!plain.contains('/') && plain != name(&root));
        assert_eq!(plain, name(&dir.path().join("link")));
        // when it lies in a git work tree, its name is the tree's and its place there
        fs::create_dir(root.join(".git")).unwrap();
        let tree = name(&root);
        assert!(!tree.contains('/'));
        for spelling in [root.join("a b"), root.join("a b/deep/.."), dir.path().join("link")] {
            assert_eq!(name(&spelling), format!("{tree}/a b"));
        }
        // a work tree inside of another, as of a submodule, is its own
        fs::write(root.join("a b/.git"), "gitdir: elsewhere").unwrap();
        assert!(!name(&root.join("a b")).contains('/'));
    }

    #[test]
    fn where_a_tree_lies_tells_where_its_folders_do() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("tree");
        fs::create_dir_all(root.join("one/two")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        let machine: MachineId = "abc123".parse().unwrap();
        let trees = Trees::at(dir.path().join("profile/trees"));
        let (below, real) = identify(&machine, &root.join("one/two")).unwrap();
        assert_eq!(trees.folder(&below).unwrap(), None);
        trees.note(&below, &real).unwrap();
        let (whole, real) = identify(&machine, &root).unwrap();
        trees.note(&whole, &real).unwrap();
        assert_eq!(trees.folder(&whole).unwrap(), Some(root.clone()));
        assert_eq!(trees.folder(&below).unwrap(), Some(root.join("one/two")));
        // what is no link tells nothing, and is not taken for one
        let (plain, real) = identify(&machine, dir.path()).unwrap();
        fs::write(dir.path().join("profile/trees").join(plain.as_str()), "x").unwrap();
        assert_eq!(trees.folder(&plain).unwrap_err().code(), Code::StoreUnreadable);
        assert_eq!(trees.note(&plain, &real).unwrap_err().code(), Code::StoreUnreadable);
    }

    #[test]
    fn a_place_that_no_scope_can_name_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a\\b")).unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        let refused = identify(&"abc123".parse().unwrap(), &dir.path().join("a\\b")).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
    }
}
