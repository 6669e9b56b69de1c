//! Owns a home and a folder of their own for one test, and the calls of the binary in them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test whose place cannot be made fails"
)]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// A new home and a new folder, gone with the test.
pub(crate) struct Desk {
    dir: tempfile::TempDir,
    vars: Vec<(String, String)>,
}

/// What a call printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// The one JSON object on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The code of an error object.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Desk {
    /// An empty home and an empty folder; whoever calls is the user `ana`.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "folder", "run", "tmp"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let vars = vec![
            ("HOME".to_owned(), path("home")),
            ("XDG_RUNTIME_DIR".to_owned(), path("run")),
            ("LOOPX_ACTOR".to_owned(), "user:ana".to_owned()),
        ];
        Self { dir, vars }
    }

    /// A desk with a Goal `ship-it`, one criterion, the agent `coder` and three Todos.
    pub(crate) fn with_work() -> Self {
        let desk = Self::empty();
        desk.ok(&["init", "--goal", "Ship it", "--acceptance", "it is shipped"]);
        desk.ok(&["agent", "add", "coder"]);
        for title in ["one", "two", "three"] {
            desk.ok(&["todo", "add", title]);
        }
        desk
    }

    /// Another value of a variable, or none for an empty one.
    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.retain(|(known, _)| known != name);
        if !value.is_empty() {
            self.vars.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The folder that calls are made in.
    pub(crate) fn folder(&self) -> PathBuf {
        self.path("folder")
    }

    /// The folder of the profile.
    pub(crate) fn profile(&self) -> PathBuf {
        self.path("home/.local/share/loopx/profiles/default")
    }

    /// The first user's token.
    pub(crate) fn token_file(&self) -> String {
        self.profile().join("user.token").to_str().unwrap().to_owned()
    }

    /// A command in this desk, with an environment of its own.
    pub(crate) fn command(&self, program: &str) -> Command {
        #[expect(clippy::disallowed_methods, reason = "a test looks at the binary from outside")]
        let mut command = Command::new(program);
        #[expect(clippy::disallowed_methods, reason = "a test finds the programs it needs")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).stdin(Stdio::null()).current_dir(self.folder());
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The binary, called with words.
    pub(crate) fn call(&self, words: &[&str]) -> Ended {
        ended(&self.command(env!("CARGO_BIN_EXE_loopx-core")).args(words).output().unwrap())
    }

    /// The binary with `--json`, which stands before the words that are another command's.
    pub(crate) fn json(&self, words: &[&str]) -> Ended {
        let mut all = words.to_vec();
        let end = all.iter().position(|word| *word == "--").unwrap_or(all.len());
        all.insert(end, "--json");
        self.call(&all)
    }

    /// A call that has to be accepted; its JSON.
    pub(crate) fn ok(&self, words: &[&str]) -> Value {
        let ended = self.json(words);
        assert_eq!(ended.exit, 0, "{words:?}: {ended:?}");
        ended.json()
    }

    /// A call that has to be accepted, by the proven user.
    pub(crate) fn proven(&self, words: &[&str]) -> Value {
        let token = self.token_file();
        let mut all = words.to_vec();
        all.extend(["--token-file", &token]);
        self.ok(&all)
    }

    /// A person's command as a program is told it, which nobody can ask for a `yes`.
    pub(crate) fn by_token(&self, command: &str) -> String {
        format!("{command} --token-file {}", self.token_file())
    }

    /// A call that has to be refused with a code, the exit code of its class, and a hint that the parser takes.
    pub(crate) fn refused(&self, words: &[&str], code: &str, exit: i32) -> Value {
        let ended = self.json(words);
        assert_eq!((ended.code().as_str(), ended.exit), (code, exit), "{words:?}: {ended:?}");
        let error = ended.json()["error"].clone();
        self.check_hint(&error);
        error
    }

    /// Every hint is a command that the parser accepts. It is called where there is no place for a ledger, so
    /// that it gets past the parser and no further.
    pub(crate) fn check_hint(&self, error: &Value) {
        let Some(hint) = error["hint"].as_str() else {
            return;
        };
        let line = hint.strip_prefix("loopx-core ").unwrap_or_else(|| panic!("{hint}"));
        // A hint is for a shell: it may be quoted, and name a file by `~`.
        let mut command = self.command("sh");
        let output = command
            .args(["-c", &format!("{} {line}", env!("CARGO_BIN_EXE_loopx-core"))])
            .env_remove("HOME")
            .current_dir("/")
            .output()
            .unwrap();
        let ended = ended(&output);
        let parsed = ["no home folder is known", "is not part of this build"];
        let said = format!("{}{}", ended.out, ended.err);
        assert!(ended.exit == 0 || parsed.iter().any(|text| said.contains(text)), "{hint}: {ended:?}");
    }

    /// The number of events of `ship-it`.
    pub(crate) fn events(&self) -> u64 {
        self.ok(&["goal", "show", "ship-it"])["goal"]["head_seq"].as_u64().unwrap()
    }
}

fn ended(output: &Output) -> Ended {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ended { exit: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Whether a program is there; a test that needs another one says that it is skipped.
pub(crate) fn has(desk: &Desk, program: &str) -> bool {
    desk.command(program).arg("--version").output().is_ok() || skipped(&format!("no {program}"))
}

/// Says that a test is left out, and tells `cargo xtask test`, which counts it as skipped; no, always.
pub(crate) fn skipped(why: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test is told where to say that it is left out")]
    let list = std::env::var_os("LOOPX_TESTS_SKIPPED");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("skipped: {test}: {why}");
    if let Some(list) = list {
        let mut list = fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
        list.write_all(format!("{test}: {why}\n").as_bytes()).unwrap();
    }
    false
}

/// The content of all files below a folder, by their paths.
pub(crate) fn files(below: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut open = vec![below.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.is_file() {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}
