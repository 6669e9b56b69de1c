//! Owns the ledgers that measurements start from: made once, kept beside the binaries, copied for each use.
//!
//! Knows nothing of what is measured on them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::stage::{Stage, answer};

/// What a fixture holds: one Goal; Todos, the first of them done; agents `a1` to `aN`; Turns that are past.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fixture {
    /// Names its folder.
    pub(super) name: &'static str,
    /// All Todos.
    pub(super) todos: u32,
    /// Those of the lowest numbers that are done.
    pub(super) done: u32,
    /// Registered agents.
    pub(super) agents: u32,
    /// Turns that were admitted and given back.
    pub(super) turns: u32,
    /// Those of the highest numbers that wait for the first.
    pub(super) blocked: u32,
}

/// What people have: the reads are measured on it.
pub(super) const USUAL: Fixture =
    Fixture { name: "usual", todos: 10_000, done: 0, agents: 10, turns: 0, blocked: 0 };
/// As many, of which ten can be taken.
pub(super) const BLOCKED: Fixture =
    Fixture { name: "blocked", todos: 10_000, done: 0, agents: 10, turns: 0, blocked: 9_990 };
/// As many Todos, and an agent for each claim of a process of its own.
pub(super) const ONE_SHOT: Fixture =
    Fixture { name: "one-shot", todos: 10_000, done: 0, agents: 1_500, turns: 0, blocked: 0 };
/// An agent a Todo, enough for every process of a window.
pub(super) const CROWD: Fixture =
    Fixture { name: "crowd", todos: 16_000, done: 0, agents: 16_000, turns: 0, blocked: 0 };
/// The small side of growth.
pub(super) const SMALL: Fixture =
    Fixture { name: "thousand", todos: 1_000, done: 0, agents: 200, turns: 0, blocked: 0 };
/// The large side of growth.
pub(super) const LARGE: Fixture =
    Fixture { name: "million", todos: 1_000_000, done: 990_000, agents: 200, turns: 0, blocked: 0 };

/// A ledger that has seen many Turns.
pub(super) const PAST: Fixture =
    Fixture { name: "past", todos: 100, done: 0, agents: 10, turns: 10_000, blocked: 0 };

/// The folder of finished fixtures.
#[derive(Debug)]
pub(super) struct Shelf(PathBuf);

impl Shelf {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }
}

/// The ledger's file in a home.
pub(super) fn ledger(home: &Path) -> PathBuf {
    home.join("profiles/default/authority.db")
}

/// The home of a fixture, made if it is missing or if this release would make it otherwise.
pub(super) fn shelved(stage: &mut Stage<'_>, fixture: Fixture) -> io::Result<PathBuf> {
    let shelf = stage.shelf().0.clone();
    let home = shelf.join(fixture.name);
    if home.exists() {
        if is_alike(stage, &home)? {
            return Ok(home);
        }
        fs::remove_dir_all(&home)?;
    }
    stage.say(&format!("   makes the fixture `{}`", fixture.name))?;
    // Renamed when it is whole, so that an interrupted run leaves none that looks whole.
    let unfinished = shelf.join("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(&unfinished)?;
    answer(stage.worker("fixture", &unfinished, &words(fixture))?)?;
    fs::rename(&unfinished, &home)?;
    Ok(home)
}

fn words(fixture: Fixture) -> [(&'static str, String); 5] {
    let Fixture { todos, done, agents, turns, blocked, .. } = fixture;
    [("todos", todos), ("done", done), ("agents", agents), ("turns", turns), ("blocked", blocked)]
        .map(|(key, number)| (key, number.to_string()))
}

/// Whether the tables are those that this release makes.
fn is_alike(stage: &Stage<'_>, home: &Path) -> io::Result<bool> {
    let tiny = stage.folder("alike")?;
    let mut command = stage.worker(
        "fixture",
        &tiny,
        &words(Fixture { name: "tiny", todos: 1, done: 0, agents: 1, turns: 0, blocked: 0 }),
    )?;
    command.arg(format!("compare={}", ledger(home).display()));
    let answer = answer(command)?;
    Ok(answer.get("like").and_then(serde_json::Value::as_bool) == Some(true))
}

/// A copy of a fixture that may be written.
pub(super) fn copied(stage: &mut Stage<'_>, fixture: Fixture, name: &str) -> io::Result<PathBuf> {
    let from = shelved(stage, fixture)?;
    let to = stage.folder(name)?;
    copy(&from, &to)?;
    Ok(to)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::DirBuilder::new().create(&to)?;
            fs::set_permissions(&to, entry.metadata()?.permissions())?;
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to)?;
            // Written now, so that the first commits do not pay for the copy.
            fs::File::open(&to)?.sync_all()?;
        }
    }
    Ok(())
}

/// The key of a Todo's row: its Goal's number, which is 1 here, and its own.
pub(super) fn row_id(number: u32) -> String {
    ((1_i64 << 32) | i64::from(number)).to_string()
}
