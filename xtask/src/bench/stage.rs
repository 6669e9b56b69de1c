//! Owns what all groups measure on: the built programs, a scratch folder, and how a program is started and timed.
//!
//! Knows no bar.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use serde_json::Value;

use super::{fixtures::Shelf, programs::Programs};
use crate::process::{self, Limits, Moment};

/// Everything a group needs.
pub(super) struct Stage<'o> {
    programs: Programs,
    limits: Limits,
    shelf: Shelf,
    scratch: PathBuf,
    run: PathBuf,
    out: &'o mut dyn Write,
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // What is left of a bench is rubbish in a build folder; the fixtures stay, they are what took long.
        let _ = fs::remove_dir_all(&self.scratch);
        let _ = fs::remove_dir_all(&self.run);
    }
}

impl<'o> Stage<'o> {
    /// Builds the programs and makes the folders.
    pub(super) fn set(root: &Path, limits: &Limits, fresh: bool, out: &'o mut dyn Write) -> io::Result<Self> {
        writeln!(out, "-- build")?;
        out.flush()?;
        let programs = Programs::build(root, limits)?;
        // Beside the binaries: on the disk that was meant for large files, and never in the repository.
        let folder = programs.path("loopx")?.ancestors().nth(2).unwrap_or(root).join("bench");
        if fresh && folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let scratch = folder.join("scratch");
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(&scratch)?;
        let run = std::env::temp_dir().join(format!("loopx-bench-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&run)?;
        let shelf = Shelf::new(folder.join("fixtures"));
        Ok(Self { programs, limits: limits.clone(), shelf, scratch, run, out })
    }

    /// Where large files go.
    pub(super) fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// The cached fixtures.
    pub(super) fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Tells whoever waits how far it is.
    pub(super) fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    /// A new, empty folder.
    pub(super) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.scratch.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A new, empty folder that lies in no repository, as the scratch folder may.
    pub(super) fn bare_folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.run.join(name);
        fs::create_dir(&folder)?;
        Ok(folder)
    }

    /// A program that was built; both sides of a pair get the same environment.
    ///
    /// Errors: also once the run is over, so that no group goes on after an interrupt.
    pub(super) fn program(&self, name: &str, home: &Path) -> io::Result<Command> {
        if let Some(reason) = self.limits.over() {
            return Err(io::Error::other(reason));
        }
        let mut command = self.foreign(&self.programs.path(name)?.to_string_lossy(), home);
        command.env("LOOPX_ACTOR", "user:bench");
        Ok(command)
    }

    /// A program that was not built here.
    pub(super) fn foreign(&self, name: &str, home: &Path) -> Command {
        let mut command = process::program(name);
        command
            .current_dir(&self.scratch)
            .env("LOOPX_HOME", home)
            .env("XDG_RUNTIME_DIR", &self.run)
            .env("HOME", &self.scratch);
        for name in ["LOOPX_PROFILE", "LOOPX_ACTOR", "LOOPX_TOKEN", "LOOPX_OWN", "LOOPX_CONTAINMENT"] {
            command.env_remove(name);
        }
        command
    }

    /// The size of a built program.
    pub(super) fn size(&self, name: &str) -> io::Result<u64> {
        Ok(fs::metadata(self.programs.path(name)?)?.len())
    }

    /// The worker in a role on a fixture, with its words `key=value`.
    pub(super) fn worker(&self, role: &str, home: &Path, words: &[(&str, String)]) -> io::Result<Command> {
        let mut command = self.program("worker", home)?;
        command.arg(role).arg(format!("home={}", home.display())).arg(format!("run={}", self.run.display()));
        command.args(words.iter().map(|(key, value)| format!("{key}={value}")));
        Ok(command)
    }
}

fn failed(command: &Command, status: ExitStatus, said: &[u8]) -> io::Error {
    let said = String::from_utf8_lossy(said);
    io::Error::other(format!("{} {status}: {}", shown(command), said.trim()))
}

/// A command as a person would name it: the program's own name and its arguments.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// How long a whole process takes; its output goes nowhere. It must end with one of `exits`.
pub(super) fn timed(mut command: Command, exits: &[i32]) -> io::Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let began = Moment::now();
    let output = command.spawn()?.wait_with_output()?;
    let took = began.elapsed();
    match output.status.code() {
        Some(code) if exits.contains(&code) => Ok(took),
        _ => Err(failed(&command, output.status, &output.stderr)),
    }
}

/// What a process that must succeed prints.
pub(super) fn output(mut command: Command) -> io::Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    // Under `--json` an error is on standard output.
    Err(failed(&command, output.status, &[output.stderr, output.stdout].concat()))
}

/// The one JSON object that a worker prints.
pub(super) fn answer(command: Command) -> io::Result<Value> {
    serde_json::from_slice(&output(command)?).map_err(io::Error::other)
}

/// A count of a worker's answer.
pub(super) fn count(answer: &Value, key: &str) -> io::Result<u64> {
    let found = key.split('.').try_fold(answer, |at, part| at.get(part)).and_then(Value::as_u64);
    found.ok_or_else(|| io::Error::other(format!("a worker's answer has no `{key}`: {answer}")))
}

/// Workers that start together: all are prepared first, then told to go.
pub(super) struct Together(Vec<(String, Child)>);

impl Together {
    /// Starts them and waits until all are ready.
    pub(super) fn start(commands: Vec<Command>) -> io::Result<Self> {
        let mut children = Self(Vec::new());
        for mut command in commands {
            command.arg("barrier").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            children.0.push((shown(&command), command.spawn()?));
        }
        for (name, child) in &mut children.0 {
            let mut line = [0; b"ready\n".len()];
            let stdout = child.stdout.as_mut().ok_or_else(|| io::Error::other("no pipe"))?;
            io::Read::read_exact(stdout, &mut line)
                .map_err(|e| io::Error::other(format!("{name} was never ready: {e}")))?;
        }
        Ok(children)
    }

    /// Lets all go, and takes their answers.
    pub(super) fn go(mut self) -> io::Result<Vec<Value>> {
        for (_, child) in &mut self.0 {
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(b"go\n")?;
            }
        }
        let mut answers = Vec::new();
        for (name, child) in std::mem::take(&mut self.0) {
            let output = child.wait_with_output()?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(io::Error::other(format!("{name} {}: {}", output.status, said.trim())));
            }
            answers.push(serde_json::from_slice(&output.stdout).map_err(io::Error::other)?);
        }
        Ok(answers)
    }
}

impl Drop for Together {
    fn drop(&mut self) {
        for (_, child) in &mut self.0 {
            // One that has ended is what is wanted.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
