//! Owns whose it is what root makes among somebody else's files: theirs, who could not use it otherwise.
//!
//! Knows nothing of what is made. Invariant: nothing is given away that this process has not made itself just now.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, fchown},
    path::Path,
};

use rustix::fs::OFlags;

/// The user who has to be able to use what this one makes below a folder.
pub(super) fn of(folder: &Path) -> u32 {
    let me = rustix::process::geteuid();
    let theirs = || fs::metadata(folder).ok().map(|found| found.uid());
    if me.is_root() { theirs().unwrap_or(me.as_raw()) } else { me.as_raw() }
}

/// Gives a file that was just made to whom its folder belongs.
pub(crate) fn give(made: &File, path: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let Some(found) = path.parent().and_then(|folder| fs::metadata(folder).ok()) else { return };
    if found.uid() != 0 {
        // A filesystem that keeps no owners has none to give to.
        let _ = fchown(made, Some(found.uid()), Some(found.gid()));
    }
}

/// Makes a folder that nobody else can enter, and those above it, where they are missing; each belongs to whom the one
/// above it does.
pub(crate) fn make_dirs(folder: &Path) -> io::Result<()> {
    let build = || fs::DirBuilder::new().mode(0o700).create(folder);
    let made = match (build(), folder.parent()) {
        (Err(e), Some(above)) if e.kind() == io::ErrorKind::NotFound => {
            make_dirs(above)?;
            build()
        }
        (made, _) => made,
    };
    match made {
        Ok(()) => {
            let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits();
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(i32::try_from(flags).unwrap_or_default());
            if let Ok(made) = options.open(folder) {
                give(&made, folder);
            }
            Ok(())
        }
        Err(_) if folder.is_dir() => Ok(()),
        Err(e) => Err(e),
    }
}
