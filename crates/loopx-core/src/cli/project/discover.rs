//! Owns the search for a folder's binding: upwards, and from a git worktree through its common folder.

use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;

use super::{FILE, FOLDER, git};
use crate::{
    cli::config::{Key, not_toml, read_limited},
    error::{Code, Error, Result},
};

/// A folder that is bound to a profile, and perhaps to a Goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The folder that holds `.loopx`.
    pub root: PathBuf,
    /// The profile, where the file names one.
    pub profile: Option<String>,
    /// The Goal's slug, where the file names one.
    pub goal: Option<String>,
}

/// Finds the binding that holds in a folder; the nearest one wins.
///
/// Errors: `unknown_field`, `invalid_argument`, `invalid_id` for a file that cannot be taken,
/// `store_unreadable` for one that cannot be read.
pub fn discover(folder: &Path) -> Result<Option<Project>> {
    for root in folder.ancestors() {
        if let Some(project) = read(root)? {
            return Ok(Some(project));
        }
        // The main work tree stands for its worktrees, wherever those lie.
        if let Some(main) = git::main_tree_of_worktree(root)
            && let Some(project) = read(&main)?
        {
            return Ok(Some(project));
        }
    }
    Ok(None)
}

/// Reads the binding in one folder.
pub(super) fn read(root: &Path) -> Result<Option<Project>> {
    // A folder above that may not be looked into binds nothing; one that is seen has to be readable.
    if root.join(FOLDER).symlink_metadata().is_err() {
        return Ok(None);
    }
    let Some(text) = read_limited(&root.join(FOLDER).join(FILE))? else { return Ok(None) };
    let name = format!("{FOLDER}/{FILE}");
    let document: DocumentMut =
        text.parse().map_err(|error| not_toml(&name, &text, &error).hint("init --help"))?;
    let mut project = Project { root: root.to_owned(), profile: None, goal: None };
    for (name, item) in document.iter() {
        let place = match name {
            "profile" => &mut project.profile,
            "goal" => &mut project.goal,
            other => {
                let shown = crate::error::echo(other);
                return Err(Error::new(
                    Code::UnknownField,
                    format!("{FOLDER}/{FILE} has a field nobody reads: `{shown}`"),
                )
                .hint("init --help")
                .detail("field", shown));
            }
        };
        let value = item.as_str().ok_or_else(|| {
            Error::new(Code::InvalidArgument, format!("`{name}` in {FOLDER}/{FILE} is not text"))
                .hint("init --help")
                .detail("field", name)
        })?;
        Key::named(name)?.check(value)?;
        *place = Some(value.to_owned());
    }
    Ok(Some(project))
}
