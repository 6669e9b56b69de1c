//! Owns what `init` writes: the binding, and one line in git's own list of what it ignores here.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
};

use toml_edit::{DocumentMut, value};

use super::{
    FILE, FOLDER,
    discover::{Project, read},
    git,
};
use crate::{
    authority::profile::file::{replace, unwritable},
    cli::config::read_limited,
    error::Result,
};

/// What [`bind`] changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Whether the folder had no such binding before.
    pub created: bool,
    /// Whether git's list was extended.
    pub excluded: bool,
}

/// Binds a folder; again with the same values it changes nothing.
///
/// Errors: `disk_full`, `store_unavailable`; for an unreadable old binding as `discover`.
pub fn bind(project: &Project) -> Result<Bound> {
    let created = read(&project.root)?.as_ref() != Some(project);
    if created {
        let mut document = DocumentMut::new();
        if let Some(profile) = &project.profile {
            document.insert("profile", value(profile));
        }
        if let Some(goal) = &project.goal {
            document.insert("goal", value(goal));
        }
        let folder = project.root.join(FOLDER);
        fs::create_dir_all(&folder).map_err(|e| unwritable(&folder, &e))?;
        replace(&folder.join(FILE), document.to_string().as_bytes(), 0o644)?;
    }
    Ok(Bound { created, excluded: exclude(&project.root)? })
}

/// Adds our folder to the `info/exclude` of the repository around a folder, once.
fn exclude(root: &Path) -> Result<bool> {
    let Some(common) = root.ancestors().find_map(git::common_folder) else { return Ok(false) };
    let path = common.join("info").join("exclude");
    let old = read_limited(&path)?.unwrap_or_default();
    let line = format!("{FOLDER}/");
    if old.lines().any(|known| known.trim_end() == line) {
        return Ok(false);
    }
    fs::create_dir_all(common.join("info")).map_err(|e| unwritable(&path, &e))?;
    let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    // Appended, not replaced: the file is the user's, with its own links and permissions.
    let file = OpenOptions::new().append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(format!("{gap}{line}\n").as_bytes()))
        .map_err(|e| unwritable(&path, &e))?;
    Ok(true)
}
