//! Owns the bar of snapshots: what one of a clean work tree adds to a claim, beside `git status` on that tree.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    numbers::{median, ms},
    report::{Limit, Row},
    stage::{Stage, answer, output, timed},
};
use crate::process::{self, Moment};

const FILES: usize = 10_000;
const ROUNDS: usize = 20;

pub(super) fn snapshot(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let bar = "snapshot of a clean tree, 10,000 files";
    if !process::exists("git", &["--version"]) {
        return Ok(vec![Row::skipped(bar, "git is missing")]);
    }
    let (tree, plain) = (Place::make(stage, "snapshot")?, Place::make(stage, "no-snapshot")?);
    tree.fill(stage)?;
    let (mut with, mut without, mut status) = (Vec::new(), Vec::new(), Vec::new());
    // The first rounds read what was never read before.
    for round in 0..ROUNDS + 3 {
        let (ours, base, theirs) = (tree.claim(stage)?, plain.claim(stage)?, tree.status(stage)?);
        if round >= 3 {
            with.push(ours);
            without.push(base);
            status.push(theirs);
        }
    }
    let (claim, base, status) = (median(&with), median(&without), median(&status));
    let row = Row::of(bar, (claim - base) / status, "x of git status", Limit::AtMost(1.5));
    Ok(vec![row.with("claim_ms", claim).with("claim_without_ms", base).with("git_status_ms", status)])
}

/// A profile, a Goal bound to a folder, an agent, and one Todo.
struct Place {
    home: PathBuf,
    folder: PathBuf,
}

impl Place {
    fn make(stage: &Stage<'_>, name: &str) -> io::Result<Self> {
        let place = Self { home: stage.folder(name)?, folder: stage.bare_folder(name)? };
        if name == "snapshot" {
            place.git(stage, &["init", "-q"])?;
        }
        for words in
            [&["init", "--goal", "Bench"][..], &["agent", "add", "a1"], &["todo", "add", "Do nothing"]]
        {
            output(place.command(stage, words)?)?;
        }
        Ok(place)
    }

    fn git(&self, stage: &Stage<'_>, words: &[&str]) -> io::Result<Vec<u8>> {
        output(git(stage, &self.home, &self.folder, words))
    }

    /// Fills the tree with files that were left alone for a while.
    fn fill(&self, stage: &Stage<'_>) -> io::Result<()> {
        for number in 0..FILES {
            let folder = self.folder.join(format!("d{}", number % 100));
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(format!("f{number}")), format!("file {number}\n"))?;
        }
        self.git(stage, &["add", "-A"])?;
        self.git(stage, &["commit", "-qm", "all"])?;
        Ok(())
    }

    fn command(&self, stage: &Stage<'_>, words: &[&str]) -> io::Result<Command> {
        let mut command = stage.program("loopx", &self.home)?;
        command.args(words).current_dir(&self.folder);
        Ok(command)
    }

    /// Times a claim, and gives it back.
    fn claim(&self, stage: &Stage<'_>) -> io::Result<f64> {
        let list = answer(self.command(stage, &["todo", "list", "--json"])?)?;
        let id = text(&list, "/items/0/todo_id");
        let claim = self.command(stage, &["todo", "claim", id, "--as", "agent:a1", "--json"])?;
        let began = Moment::now();
        let claimed = output(claim)?;
        let took = began.elapsed();
        let claimed = serde_json::from_slice(&claimed).map_err(io::Error::other)?;
        let words = ["todo", "release", id, "--as", "agent:a1", "--own", text(&claimed, "/own_id")];
        output(self.command(stage, &words)?)?;
        Ok(ms(took))
    }

    fn status(&self, stage: &Stage<'_>) -> io::Result<f64> {
        Ok(ms(timed(git(stage, &self.home, &self.folder, &["status", "--porcelain"]), &[0])?))
    }
}

fn text<'v>(value: &'v serde_json::Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default()
}

fn git(stage: &Stage<'_>, home: &Path, folder: &Path, words: &[&str]) -> Command {
    let mut command = stage.foreign("git", home);
    command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words).current_dir(folder);
    command
}
