//! Owns a folder for what is looked at once: nobody else enters it, and it is gone with its value, unless its
//! process is killed.
//!
//! Knows nothing of what is put there.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use crate::{
    authority::{profile::make_private_dir, random},
    error::Result,
};

/// The folder.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Makes it where an environment has its temporary files.
    ///
    /// Errors: `disk_full`, `store_*`.
    pub(super) fn make(env: &BTreeMap<OsString, OsString>) -> Result<Self> {
        let parent = env.get(OsStr::new("TMPDIR")).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let mark: [u8; 8] = random::bytes()?;
        let name = mark.iter().fold("loopx-diff-".to_owned(), |name, byte| name + &format!("{byte:02x}"));
        let folder = Self(parent.join(name));
        make_private_dir(&folder.0)?;
        Ok(folder)
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is of no use to anybody, and nobody else reads it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
