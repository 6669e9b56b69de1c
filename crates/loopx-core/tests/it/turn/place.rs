//! Owns a scratch place for these tests: a profile, a work tree with a check, a Goal `g`, an agent `a`, a Todo `g.1`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

/// What a host prints.
pub(crate) const REPORT: &str = r#"printf '{"schema_version":"loopx_turn_result_v0","turn_key":"%s","result_kind":"validated_completion","summary":"it is done","classification":"work","next_action":"none","recommended_action":"none","completed_phases":[],"delivery_batch_scale":"implementation","delivery_outcome":"outcome_progress","path_delta_mode":""}' "$LOOPX_TURN_KEY""#;

pub(crate) struct Place {
    dir: tempfile::TempDir,
}

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) exit: Option<i32>,
    pub(crate) json: Value,
}

impl Answer {
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.json.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn code(&self) -> &str {
        self.text("/error/code")
    }

    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.exit, Some(0), "{}", self.json);
        self
    }
}

impl Place {
    /// A Goal that is proved by a line of shell.
    pub(crate) fn new(check: &str) -> Self {
        Self::with(check, &["--validator", "sh check.sh"])
    }

    /// A Goal without a validator.
    pub(crate) fn bare() -> Self {
        Self::with("", &[])
    }

    /// A Goal that is proved by these.
    pub(crate) fn with(check: &str, validators: &[&str]) -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(place.tree()).unwrap();
        place.script("check.sh", check);
        place.call("user:ana", &["init"]).ok();
        let words = [&["goal", "start", "ship it", "--id", "g"], validators].concat();
        place.call("user:ana", &words).ok();
        place.call("user:ana", &["agent", "add", "a"]).ok();
        place.call("user:ana", &["agent", "add", "b"]).ok();
        place.call("user:ana", &["todo", "add", "mend it"]).ok();
        place
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        fs::write(self.tree().join(name), text).unwrap();
    }

    /// Makes the work tree a git repository with one commit, in which a file has changed since.
    pub(crate) fn with_git(self) -> Self {
        let script = "git init -q && echo 1 > tracked && git add . \
                      && git -c user.name=a -c user.email=a@b commit -qm one && echo 2 >> tracked";
        #[expect(clippy::disallowed_methods, reason = "a test prepares its own place")]
        let mut shell = Command::new("sh");
        let done = shell.args(["-c", script]).current_dir(self.tree()).status().unwrap();
        assert!(done.success());
        self
    }

    /// A host that counts its runs beside the tree, does what it is told, and reports.
    pub(crate) fn host(&self, work: &str) {
        self.script("host.sh", &format!("cat > /dev/null\necho . >> ../runs\n{work}\n{REPORT}\n"));
    }

    pub(crate) fn runs(&self) -> usize {
        fs::read_to_string(self.root().join("runs")).map_or(0, |text| text.lines().count())
    }

    pub(crate) fn command(&self, actor: &str, words: &[&str], env: &[(&str, &str)]) -> Command {
        let mut command = self.plain(actor, words);
        command
            .args(["--json", "--goal", "g"].iter().take(if words.first() == Some(&"init") { 1 } else { 3 }))
            .envs(env.iter().copied());
        command
    }

    /// A command that answers a person.
    pub(crate) fn plain(&self, actor: &str, words: &[&str]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "a test looks at the binary from outside")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_loopx-core"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LOOPX_HOME", self.root().join("home"))
            .env("XDG_RUNTIME_DIR", self.root())
            .current_dir(self.tree())
            .args(words)
            .stdin(Stdio::null());
        match actor.strip_prefix("proven:") {
            // The first user's token, which `init` left.
            Some(_) => command.env("LOOPX_TOKEN", self.token()),
            None => command.env("LOOPX_ACTOR", actor),
        };
        command
    }

    fn token(&self) -> String {
        let path = self.root().join("home/profiles/default/user.token");
        fs::read_to_string(path).unwrap().trim().to_owned()
    }

    pub(crate) fn call(&self, actor: &str, words: &[&str]) -> Answer {
        self.call_with(actor, words, &[])
    }

    pub(crate) fn call_with(&self, actor: &str, words: &[&str], env: &[(&str, &str)]) -> Answer {
        answer(&self.command(actor, words, env).output().unwrap())
    }

    pub(crate) fn start(&self, actor: &str, words: &[&str], env: &[(&str, &str)]) -> Child {
        self.command(actor, words, env).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The run of `host.sh` on the Todo, under an id.
    #[expect(clippy::unused_self, reason = "it reads like the other verbs of a place")]
    pub(crate) fn run<'w>(&self, id: &'w str) -> Vec<&'w str> {
        vec!["turn", "run", "--todo", "g.1", "--agent", "a", "--host", "sh host.sh", "--op-id", id]
    }

    /// Claims the Todo; the token of its owner.
    pub(crate) fn own(&self, actor: &str) -> String {
        self.call(actor, &["todo", "claim", "g.1"]).ok().text("/own_id").to_owned()
    }

    /// Where the Todo stands.
    pub(crate) fn todo_state(&self) -> String {
        self.call("user:ana", &["todo", "show", "g.1"]).ok().text("/todo/state").to_owned()
    }

    /// The Turns of the Todo, newest first.
    pub(crate) fn turns(&self) -> Vec<Value> {
        let listed = self.call("user:ana", &["turn", "list", "--todo", "g.1"]).ok();
        listed.json["items"].as_array().cloned().unwrap_or_default()
    }

    /// The id of the newest Turn.
    pub(crate) fn turn_id(&self) -> String {
        self.turns()[0]["turn_id"].as_str().unwrap().to_owned()
    }

    /// The number of the Goal's last event.
    pub(crate) fn head(&self) -> u64 {
        let log = self.call("user:ana", &["log", "--limit", "1"]).ok();
        log.json.pointer("/items/0/seq").and_then(Value::as_u64).unwrap()
    }

    /// Every event of the Goal of one kind.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let log = self.call("user:ana", &["log", "--limit", "1000"]).ok();
        let items = log.json["items"].as_array().cloned().unwrap_or_default();
        items.into_iter().filter(|event| event["kind"] == kind).collect()
    }

    /// Processes that carry the mark of any Turn of this place's ledger.
    pub(crate) fn survivors(&self) -> Vec<String> {
        let marks: Vec<String> = self
            .turns()
            .iter()
            .map(|turn| format!("LOOPX_CONTAINMENT={}", turn["turn_id"].as_str().unwrap()))
            .collect();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            let text = String::from_utf8_lossy(&environ);
            if text.split('\0').any(|one| marks.iter().any(|mark| one.starts_with(mark.as_str()))) {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        found
    }
}

pub(crate) fn answer(output: &Output) -> Answer {
    let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    Answer { exit: output.status.code(), json }
}

/// A host's work that says it began, and goes on once the file `go` is beside the tree.
pub(crate) fn until_let_go(work: &str) -> String {
    format!("touch ../began; until [ -e ../go ]; do sleep 0.02; done; {work}")
}

/// How long something may take to come true.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    #[expect(clippy::disallowed_methods, reason = "a test measures its own wait")]
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        #[expect(clippy::disallowed_methods, reason = "between two looks at a condition with a deadline")]
        std::thread::sleep(LOOK_EVERY);
    }
}
