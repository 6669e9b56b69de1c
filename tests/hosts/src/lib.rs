//! Owns a scratch place for tests of LoopX with its hosts: a profile, a work tree, a Goal `g` with a check, an agent
//! `a`, and what a person can see of them through the command line.
//!
//! It is given the LoopX that it calls. It knows no host.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "what a test's place cannot do fails the test"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

/// How long something may take to come true.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A scratch place.
#[derive(Debug)]
pub struct Place {
    loopx: &'static str,
    dir: tempfile::TempDir,
}

/// What a command answered.
#[derive(Debug)]
pub struct Answer {
    /// Its exit status; none of a command that a signal ended.
    pub exit: Option<i32>,
    /// What it printed on stdout.
    pub json: Value,
}

impl Answer {
    /// Reads what a command printed.
    pub fn of(output: &Output) -> Self {
        let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        Self { exit: output.status.code(), json }
    }

    /// A text of the answer; empty where there is none.
    pub fn text(&self, pointer: &str) -> &str {
        self.json.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// Itself, if the command succeeded.
    #[allow(clippy::return_self_not_must_use, reason = "that it succeeded is often all that is asked")]
    pub fn ok(self) -> Self {
        assert_eq!(self.exit, Some(0), "{}", self.json);
        self
    }
}

impl Place {
    /// A Goal that is proved by this line of shell, run in the work tree; all through this LoopX.
    pub fn new(loopx: &'static str, check: &str) -> Self {
        let place = Self { loopx, dir: tempfile::tempdir().unwrap() };
        fs::create_dir(place.tree()).unwrap();
        fs::write(place.root().join("check.sh"), check).unwrap();
        let validator = format!("sh {}", place.root().join("check.sh").display());
        place.call(&["init"]).ok();
        place.call(&["goal", "start", "ship it", "--id", "g", "--validator", &validator]).ok();
        place.call(&["agent", "add", "a", "--goal", "g"]).ok();
        place
    }

    /// The folder of all of it.
    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// The work tree.
    pub fn tree(&self) -> PathBuf {
        self.root().join("work")
    }

    /// A command as the user `ana`, ready to be run.
    pub fn command(&self, words: &[&str]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "a test looks at the binary from outside")]
        let mut command = Command::new(self.loopx);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LOOPX_HOME", self.root().join("home"))
            .env("LOOPX_ACTOR", "user:ana")
            .env("XDG_RUNTIME_DIR", self.root())
            .current_dir(self.tree())
            .args(words)
            .arg("--json")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command.
    pub fn call(&self, words: &[&str]) -> Answer {
        Answer::of(&self.command(words).output().unwrap())
    }

    /// Starts a command.
    pub fn start(&self, words: &[&str]) -> Child {
        self.command(words).spawn().unwrap()
    }

    /// Adds a Todo; its id.
    pub fn todo(&self, title: &str) -> String {
        let added = self.call(&["todo", "add", title, "--goal", "g"]).ok();
        added.text("/todo/todo_id").to_owned()
    }

    /// The Turns of a Todo, newest first.
    pub fn turns(&self, todo_id: &str) -> Vec<Value> {
        let listed = self.call(&["turn", "list", "--goal", "g", "--todo", todo_id]).ok();
        listed.json["items"].as_array().cloned().unwrap_or_default()
    }

    /// The newest Turn of a Todo, whole.
    pub fn turn(&self, todo_id: &str) -> Value {
        let turns = self.turns(todo_id);
        let turn_id = turns[0]["turn_id"].as_str().unwrap();
        self.call(&["turn", "show", turn_id]).ok().json["turn"].take()
    }

    /// What was kept of the newest Turn's first attempt.
    pub fn kept(&self, todo_id: &str) -> Value {
        let turns = self.turns(todo_id);
        let turn_id = turns[0]["turn_id"].as_str().unwrap();
        self.call(&["turn", "show", turn_id, "--output"]).ok().json["output"][0].take()
    }

    /// A Todo.
    pub fn todo_row(&self, todo_id: &str) -> Value {
        self.call(&["todo", "show", todo_id]).ok().json["todo"].take()
    }

    /// Every event of the Goal of one kind.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let log = self.call(&["log", "--goal", "g", "--limit", "1000"]).ok();
        let items = log.json["items"].as_array().cloned().unwrap_or_default();
        items.into_iter().filter(|event| event["kind"] == kind).collect()
    }

    /// The file of locks of Turns that are left.
    pub fn locks(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root().join("home/profiles/default/locks")).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("turn-")).collect()
    }

    /// Whether the guardian at work has said that all of its host is in a group, or works without one.
    pub fn is_held(&self) -> bool {
        let folder = self.root().join("home/profiles/default/locks");
        let is_guard = |name: &String| Path::new(name).extension().is_some_and(|kind| kind == "guard");
        let guard = self.locks().into_iter().find(is_guard);
        let noted = guard.and_then(|name| fs::read_to_string(folder.join(name)).ok()).unwrap_or_default();
        noted.contains("confined") || noted.contains("began") && !noted.contains("leaf")
    }

    /// Living processes that this place started: by their working folder, their command line, their environment or what
    /// they have open, for each of them can be left behind by one who hides.
    pub fn living(&self) -> Vec<String> {
        let root = self.root().to_str().unwrap().as_bytes();
        let holds = |bytes: &[u8]| bytes.windows(root.len()).any(|part| part == root);
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let of = |what: &str| fs::read(entry.path().join(what)).unwrap_or_default();
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            let has_open = || {
                let open = fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
                open.filter_map(|open| fs::read_link(open.path()).ok())
                    .any(|file| file.starts_with(self.root()))
            };
            let ours = folder.starts_with(self.root())
                || holds(&of("cmdline"))
                || holds(&of("environ"))
                || has_open();
            if ours && pid != std::process::id() {
                found.push(format!("{pid} {}", String::from_utf8_lossy(&of("cmdline")).replace('\0', " ")));
            }
        }
        found
    }
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    #[expect(clippy::disallowed_methods, reason = "a test measures its own wait")]
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        #[expect(clippy::disallowed_methods, reason = "between two looks at a condition with a deadline")]
        std::thread::sleep(LOOK_EVERY);
    }
}
