//! Owns the bar of snapshots: what one of a clean work tree takes, beside `git status` on that tree.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    numbers::{float, median},
    report::{Limit, Row},
    stage::{Stage, answer, output},
};
use crate::process;

const FILES: usize = 10_000;
const ROUNDS: usize = 40;

pub(super) fn snapshot(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let bar = "snapshot of a clean tree, 10,000 files";
    if !process::exists("git", &["--version"]) {
        return Ok(vec![Row::skipped(bar, "git is missing")]);
    }
    let home = stage.folder("snapshot")?;
    let tree = filled(stage, &home)?;
    let words = [("tree", tree.to_string_lossy().into_owned()), ("rounds", ROUNDS.to_string())];
    let told = answer(stage.worker("snapshots", &home, &words)?)?;
    let took = |key: &str| -> f64 {
        let all = told.get(key).and_then(Value::as_array).into_iter().flatten();
        median(&all.filter_map(Value::as_u64).map(|ns| float(ns) / 1e6).collect::<Vec<_>>())
    };
    let (before, after, status) = (took("before_ns"), took("after_ns"), took("status_ns"));
    // Each Turn has one before it and one after it; the slower one counts.
    let row = Row::of(bar, before.max(after) / status, "x of git status", Limit::AtMost(1.5));
    Ok(vec![row.with("before_ms", before).with("after_ms", after).with("git_status_ms", status)])
}

/// Makes a clean work tree.
fn filled(stage: &Stage<'_>, home: &Path) -> io::Result<PathBuf> {
    let tree = stage.bare_folder("snapshot-tree")?;
    let git = |words: &[&str]| {
        let mut command = stage.foreign("git", home);
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words).current_dir(&tree);
        output(command)
    };
    git(&["init", "-q"])?;
    for number in 0..FILES {
        let folder = tree.join(format!("d{}", number % 100));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("f{number}")), format!("file {number}\n"))?;
    }
    git(&["add", "-A"])?;
    git(&["commit", "-qm", "all"])?;
    Ok(tree)
}
