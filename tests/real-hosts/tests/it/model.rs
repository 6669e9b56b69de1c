//! Owns a model server beside a place, and the settings with which codex asks it.

use std::{
    fs,
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
};

use hosts::{Place, until};
use serde_json::Value;

use crate::FAKE_MODEL;

/// A running model; it ends with this value.
pub(crate) struct Model {
    child: Child,
    lifeline: Option<ChildStdin>,
    log: PathBuf,
    home: PathBuf,
}

impl Model {
    /// Starts a model that plays a plan, and makes a home in which codex asks nobody else.
    pub(crate) fn start(place: &Place, plan: &Value) -> Self {
        let file = |name: &str| place.root().join(name);
        fs::write(file("plan.json"), plan.to_string()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test starts what it talks to")]
        let mut command = Command::new(FAKE_MODEL);
        command.arg("--plan").arg(file("plan.json"));
        command.arg("--port-file").arg(file("port"));
        command.arg("--log").arg(file("model.jsonl"));
        let mut child = command.env_clear().current_dir("/").stdin(Stdio::piped()).spawn().unwrap();
        let lifeline = child.stdin.take();
        until("the model listens", || file("port").exists());
        let port = fs::read_to_string(file("port")).unwrap();
        let home = file("codex-home");
        fs::create_dir(&home).unwrap();
        let settings = include_str!("../../../kits/codex.toml").replace("@PORT@", &port);
        fs::write(home.join("config.toml"), settings).unwrap();
        Self { child, lifeline, log: file("model.jsonl"), home }
    }

    /// Where codex keeps its settings and sessions.
    pub(crate) fn home(&self) -> &str {
        self.home.to_str().unwrap()
    }

    /// Its process id: it is this test's own, and no part of what is looked for.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let all = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|asked| !asked["step"].is_null()).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // It ends when its lifeline is cut; a kill is for one that does not.
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
