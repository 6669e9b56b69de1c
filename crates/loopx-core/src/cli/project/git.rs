//! Owns what is read of git's own files: where a work tree's repository and its common folder are.

use std::path::{Path, PathBuf};

use crate::cli::config::read_limited;

/// The common folder of the repository that a folder is the top of, if it is.
pub(super) fn common_folder(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    if dot_git.is_dir() {
        return is_repository(&dot_git).then_some(dot_git);
    }
    let text = read_limited(&dot_git).ok()??;
    let named = text.strip_prefix("gitdir:")?.trim();
    let git_dir = top.join(named);
    match read_limited(&git_dir.join("commondir")) {
        Ok(Some(common)) => Some(git_dir.join(common.trim())),
        // A submodule has a repository of its own, and no common folder beside it.
        Ok(None) => is_repository(&git_dir).then_some(git_dir),
        Err(_) => None,
    }
}

/// The main work tree of the worktree that a folder is the top of, if it is one.
pub(super) fn main_tree_of_worktree(top: &Path) -> Option<PathBuf> {
    if !top.join(".git").is_file() {
        return None;
    }
    let common = common_folder(top)?.canonicalize().ok()?;
    // A bare repository has no work tree; a submodule's repository lies below its parent's `.git`.
    let main = if common.file_name()? == ".git" { common.parent()? } else { return None };
    Some(main.to_owned())
}

fn is_repository(folder: &Path) -> bool {
    folder.join("HEAD").is_file()
}
