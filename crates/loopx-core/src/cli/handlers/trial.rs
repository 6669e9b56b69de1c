//! Owns `try`: a governed task from end to end in a scratch folder, told in plain words.
//!
//! Knows no rule and writes no fact itself: every step is a command of this binary, as a person would type it. The one
//! that is killed in the middle runs as a process of its own.

use std::{ffi::OsString, fs, path::PathBuf, time::Duration as Wait};

use serde_json::{Value, json};

use super::{init, schema};
use crate::{
    authority::{clock::Deadline, profile, random},
    cli::{Args, Block, Context, Document, Env, Rendered, Stdio, Var},
    error::{Code, Error, Result},
    model::gathered,
    process::{self, Capture, Control, Ended, Overflow, Spec},
    turn::wire::ResultSchema,
};

/// What the check says, and what it wants.
const CHECK: &str = "#!/bin/sh\n# The check that decides: greeting.txt has to say hello.\n\
    [ -f greeting.txt ] || { echo 'greeting.txt is missing'; exit 1; }\n\
    grep -q '^hello, world$' greeting.txt || { echo 'greeting.txt does not say hello'; exit 1; }\n";
/// A host that says it is done, and did nothing.
const LIAR: &str = "#!/bin/sh\n# A host that says it is done, and did nothing.\ncat > /dev/null\n";
/// A host that does the work; the first time it takes so long that its driver is killed meanwhile.
const WORKER: &str = "#!/bin/sh\n# A host that does the work. The first time it hangs, so that its driver can be killed.\n\
    cat > /dev/null\nif [ ! -e ../started ]; then : > ../started; sleep 60; fi\necho 'hello, world' > greeting.txt\n";
/// A host for the second Todo.
const ANNOUNCER: &str =
    "#!/bin/sh\n# A host for the second Todo.\ncat > /dev/null\necho 'greeted' > announcement.txt\n";
/// What every host prints: one JSON object, the wire's result.
fn report() -> Result<String> {
    let schema =
        serde_json::to_string(&ResultSchema::V0).map_err(|e| Error::from(Code::Internal).internal(e))?;
    Ok(format!(
        "printf '{{\"schema_version\":{schema},\"turn_key\":\"%s\",\"result_kind\":\"validated_completion\",\
         \"summary\":\"done\",\"classification\":\"trial\",\"next_action\":\"none\",\
         \"recommended_action\":\"none\",\"completed_phases\":[],\"delivery_batch_scale\":\"implementation\",\
         \"delivery_outcome\":\"outcome_progress\",\"path_delta_mode\":\"\"}}' \"$LOOPX_TURN_KEY\"\n"
    ))
}

/// `try`.
pub(in crate::cli) fn trial(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let scratch = Scratch::make(context.env, args.switch("keep"))?;
    let mut trial = Trial { context, scratch: &scratch, steps: Vec::new(), last: Value::Null, token: None };
    trial.prepare()?;
    trial.refused()?;
    let turn_id = trial.killed_and_recovered()?;
    trial.gated()?;
    trial.repeated()?;
    let events = trial.audited()?;
    let steps = trial.steps;
    told(context.program, &scratch, &steps, &turn_id, events)
}

/// One step as it is told.
struct Told {
    title: &'static str,
    lines: Vec<String>,
}

struct Trial<'t, 'a, 's> {
    context: &'t Context<'a, 's>,
    scratch: &'t Scratch,
    steps: Vec<Told>,
    last: Value,
    token: Option<String>,
}

impl Trial<'_, '_, '_> {
    /// 1: a Goal, its check, an agent, a Todo.
    fn prepare(&mut self) -> Result<()> {
        let report = report()?;
        for (name, text) in [
            ("check.sh", CHECK.to_owned()),
            ("liar.sh", LIAR.to_owned() + &report),
            ("worker.sh", WORKER.to_owned() + &report),
            ("announcer.sh", ANNOUNCER.to_owned() + &report),
        ] {
            self.scratch.write(name, &text)?;
        }
        self.must(&["init"])?;
        self.token = self.scratch.first_token();
        self.must(&["goal", "start", "Greet the world", "--id", "greet", "--validator", "sh check.sh"])?;
        self.must(&["agent", "add", "tinker", "--goal", "greet"])?;
        self.must(&["todo", "add", "Make the failing check pass", "--goal", "greet"])?;
        self.tell(
            "A Goal, and a check that decides",
            vec![
                "The Goal is `greet`. Its validator is `sh check.sh`, and it fails: greeting.txt is missing."
                    .to_owned(),
                "The Todo is `greet.1`, \"Make the failing check pass\". The agent `tinker` may take it."
                    .to_owned(),
            ],
        );
        Ok(())
    }

    /// 2: a host that lies.
    fn refused(&mut self) -> Result<()> {
        let exit = self.call(&run("liar.sh", "greet.1", "try-liar"));
        self.expect(
            exit == Code::ValidationFailed.class().exit() && self.code() == Code::ValidationFailed.as_str(),
        )?;
        let said = self.text(&["error", "message"]);
        self.call(&words(&["todo", "show", "greet.1"]));
        self.expect(self.text(&["todo", "state"]) == "open")?;
        self.tell(
            "A wrong result is refused",
            vec![
                "The host `liar.sh` reported \"done\" and had done nothing. LoopX ran the check itself:"
                    .to_owned(),
                format!("  {said}"),
                "`greet.1` is still open; the next Turn is told what was wrong.".to_owned(),
            ],
        );
        Ok(())
    }

    /// 3: the driver is killed while its host works, then the host, and the Turn is brought to its end.
    fn killed_and_recovered(&mut self) -> Result<String> {
        let ended = self.run_and_kill()?;
        self.expect(ended == Ended::Signalled(rustix::process::Signal::KILL.as_raw()))?;
        self.must(&["turn", "list", "--goal", "greet"])?;
        let turn_id =
            self.last.pointer("/items/0/turn_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let state = self.text(&["items", "0", "state"]);
        self.expect(state == "dispatched" && !turn_id.is_empty())?;
        let token = process::Token::parse(&format!("{turn_id}.1"))?;
        self.expect(!process::end_by_token(&token, None, 0)?.found.is_empty())?;
        self.must(&["turn", "recover", &turn_id, "--resume"])?;
        self.expect(self.text(&["turn", "state"]) == "settled")?;
        self.expect(process::alive_by_token(&token)?.is_empty())?;
        self.must(&["turn", "show", &turn_id])?;
        let attempts = self.last.pointer("/turn/attempts").and_then(Value::as_array).map_or(0, Vec::len);
        self.expect(attempts == 2)?;
        self.tell("A kill in the middle, and a recovery", vec![
            "The host `worker.sh` was at work when LoopX itself was killed with SIGKILL, and then the host.".to_owned(),
            format!("The ledger still said what was going on: Turn {turn_id}, dispatched, no result."),
            format!("The host's guardian had outlived LoopX and kept how the host ended. `turn recover --resume` took that in, \
                     and started attempt {attempts}. The check passed; one commit made it true: `greet.1` is done."),
        ]);
        Ok(turn_id)
    }

    /// 4: a gate that a person answers.
    fn gated(&mut self) -> Result<()> {
        self.must(&[
            "todo",
            "add",
            "Announce it",
            "--goal",
            "greet",
            "--validator",
            "test -s announcement.txt",
        ])?;
        let ask = ["gate", "open", "May the world know?", "--kind", "approval", "--blocks", "greet.2"];
        self.must(&ask)?;
        let gate_id = self.text(&["gate", "gate_id"]);
        let exit = self.call(&run("announcer.sh", "greet.2", "try-early"));
        self.expect(exit == Code::GateBlocked.class().exit() && self.code() == Code::GateBlocked.as_str())?;
        self.must(&["gate", "resolve", &gate_id, "--approve"])?;
        self.must_all(&run("announcer.sh", "greet.2", "try-announce"))?;
        self.expect(self.text(&["turn", "state"]) == "settled")?;
        self.tell("A gate waits for a person", vec![
            "`greet.2`, \"Announce it\", was blocked by a gate: \"May the world know?\" A run was refused: gate_blocked.".to_owned(),
            "A person, proven by a token, approved it. Now the run was admitted, proved by its own check, and settled.".to_owned(),
        ]);
        Ok(())
    }

    /// 5: the same command again.
    fn repeated(&mut self) -> Result<()> {
        let first = self.text(&["receipt", "operation_id"]);
        let revision = self.last.pointer("/receipt/accepted_revision").cloned();
        self.must_all(&run("announcer.sh", "greet.2", "try-announce"))?;
        let replayed = self.last.pointer("/receipt/replayed") == Some(&Value::Bool(true));
        self.expect(replayed && self.last.pointer("/receipt/accepted_revision").cloned() == revision)?;
        self.tell("The same command again", vec![
            format!("A lost answer is no reason to fear a retry: the same command, with the same --op-id, returned the \
                     receipt it had returned before ({first}). No host ran, nothing was written, nothing was spent twice."),
        ]);
        Ok(())
    }

    /// How many events there are; each is a link of one chain.
    fn audited(&mut self) -> Result<usize> {
        self.must(&["log", "--goal", "greet", "--limit", "1000"])?;
        Ok(self.last.pointer("/items").and_then(Value::as_array).map_or(0, Vec::len))
    }

    fn tell(&mut self, title: &'static str, lines: Vec<String>) {
        self.steps.push(Told { title, lines });
    }

    /// The environment of the commands of this trial.
    fn env(&self) -> Vec<(OsString, OsString)> {
        let mut pairs = vec![
            (OsString::from(Var::LoopxHome.name()), self.scratch.home().into_os_string()),
            (OsString::from(Var::LoopxActor.name()), OsString::from("user:you")),
            (OsString::from(Var::XdgRuntimeDir.name()), self.scratch.root.join("run").into_os_string()),
        ];
        let path = self
            .context
            .env
            .get(Var::Path)
            .map_or_else(|| OsString::from("/usr/bin:/bin"), std::ffi::OsStr::to_owned);
        pairs.push((OsString::from(Var::Path.name()), path));
        pairs.extend(
            self.token.clone().map(|token| (OsString::from(Var::LoopxToken.name()), OsString::from(token))),
        );
        pairs
    }

    /// Runs a command of this binary, here, and keeps what it answered; gives its exit code.
    fn call(&mut self, argv: &[OsString]) -> u8 {
        let mut argv = argv.to_vec();
        argv.push("--json".into());
        let mut pairs = self.env();
        // A token names its own actor.
        if self.token.is_some() {
            pairs.retain(|(name, _)| name != Var::LoopxActor.name());
        }
        let env = Env::from_pairs(pairs).in_folder(self.scratch.tree());
        let (mut input, mut out, mut err) = (std::io::empty(), Vec::new(), Vec::new());
        let exit = {
            let mut stdio = Stdio {
                input: &mut input,
                out: &mut out,
                err: &mut err,
                input_is_terminal: false,
                out_is_terminal: false,
                err_is_terminal: false,
            };
            crate::cli::main(self.context.program, self.context.preset, &argv, &env, &mut stdio)
        };
        self.last = serde_json::from_slice(&out).unwrap_or_default();
        exit
    }

    fn must(&mut self, argv: &[&str]) -> Result<()> {
        self.must_all(&words(argv))
    }

    fn must_all(&mut self, argv: &[OsString]) -> Result<()> {
        let exit = self.call(argv);
        self.expect(exit == 0)
    }

    /// Fails the trial where something was not as promised.
    fn expect(&self, holds: bool) -> Result<()> {
        if holds {
            return Ok(());
        }
        let step = self.steps.len() + 1;
        Err(Error::new(Code::CheckFailed, format!("step {step} did not go as it must"))
            .detail("step", step)
            .detail("answer", self.last.clone())
            .hint("try --keep"))
    }

    /// Starts a run as a process of its own and kills it once its host is at work.
    fn run_and_kill(&self) -> Result<Ended> {
        let own = std::env::current_exe().map_err(|e| {
            Error::new(Code::CheckFailed, "this program does not know where it lies").internal(e)
        })?;
        let mut argv = vec![own.into_os_string()];
        argv.extend(run("worker.sh", "greet.1", "try-worker"));
        let mut spec = Spec::new(argv, self.scratch.tree());
        spec.env = gathered(self.env().into_iter().filter(|(name, _)| name != Var::LoopxToken.name()));
        spec.stdout = Capture { max_bytes: 64 * 1024, overflow: Overflow::KeepTail };
        spec.wall_ms = 10_000;
        spec.tick_ms = 10;
        let started = self.scratch.root.join("started");
        let outcome = process::run(&spec, &mut |tick| {
            if started.exists()
                && !tick.ending
                && let Some(pid) = rustix::process::Pid::from_raw(tick.pid)
            {
                // Gone already is as good as killed; the end tells.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            Control::Continue
        });
        Ok(outcome.ended)
    }

    fn code(&self) -> String {
        self.text(&["error", "code"])
    }

    fn text(&self, path: &[&str]) -> String {
        let pointer = path.iter().fold(String::new(), |all, part| all + "/" + part);
        self.last.pointer(&pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

fn words(argv: &[&str]) -> Vec<OsString> {
    argv.iter().map(OsString::from).collect()
}

/// A run of a host of this trial.
fn run(host: &str, todo: &str, op: &str) -> Vec<OsString> {
    let host = format!("sh {host}");
    words(&["turn", "run", "--todo", todo, "--agent", "tinker", "--host", &host, "--op-id", op])
}

/// A folder that nobody else enters, gone at the end unless it is kept.
#[derive(Debug)]
struct Scratch {
    root: PathBuf,
    keep: bool,
}

impl Scratch {
    fn make(env: &Env, keep: bool) -> Result<Self> {
        let parent = env.get(Var::Tmpdir).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let mark: [u8; 6] = random::bytes()?;
        let name = mark.iter().fold("loopx-try-".to_owned(), |name, byte| name + &format!("{byte:02x}"));
        let failed = |e| Error::new(Code::CheckFailed, "no scratch folder can be made").internal(e);
        let root = parent.canonicalize().map_err(failed)?.join(name);
        profile::make_private_dir(&root)?;
        for part in ["home", "work", "run"] {
            profile::make_private_dir(&root.join(part))?;
        }
        Ok(Self { root, keep })
    }

    fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    fn tree(&self) -> PathBuf {
        self.root.join("work")
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        fs::write(self.tree().join(name), text)
            .map_err(|e| Error::new(Code::CheckFailed, "the scratch folder takes no file").internal(e))
    }

    /// The token that `init` left for the first user.
    fn first_token(&self) -> Option<String> {
        const MAX_BYTES: u64 = 4096;
        let env = profile::Env { loopx_home: Some(self.home()), ..profile::Env::default() };
        let place = profile::Place::resolve(&env).ok()?;
        let text = profile::file::read(&place.dir().join(init::TOKEN_FILE), MAX_BYTES).ok()??;
        Some(text.trim().to_owned())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        // A host that was just killed may still be letting go of the folder.
        let deadline = Deadline::after(Wait::from_secs(1));
        while fs::remove_dir_all(&self.root).is_err() && self.root.exists() && !deadline.left().is_zero() {
            process::pause(20);
        }
    }
}

fn told(program: &str, scratch: &Scratch, steps: &[Told], turn_id: &str, events: usize) -> Result<Rendered> {
    let mut document = Document::new().para(
        "One small governed task, from end to end. No model, no network; nothing of yours was touched.",
    );
    for (at, step) in steps.iter().enumerate() {
        document = document.heading(format!("{}. {}", at + 1, step.title));
        for line in &step.lines {
            document = match line.strip_prefix("  ") {
                Some(quoted) => document.with(Block::Code(vec![quoted.to_owned()])),
                None => document.para(line),
            };
        }
    }
    document = document.heading("Where to look").para(format!(
        "All of it is in one ledger: {events} events, each chained to the one before. An agent's words never \
                       became a fact; only a check's pass, or a person's answer, did."
    ));
    document = if scratch.keep {
        document.code(vec![
            format!("export LOOPX_HOME={}", scratch.home().display()),
            format!("cd {}", scratch.tree().display()),
            format!("{program} status"),
            format!("{program} log --goal greet"),
            format!("{program} turn show {turn_id}"),
        ])
    } else {
        document.code(vec![
            format!("{program} try --keep      # the same, and the folder stays for you to look around in"),
            format!("{program} init            # start in a folder of your own"),
        ])
    };
    let shown: Vec<_> = steps.iter().map(|step| json!({"title": step.title, "lines": step.lines})).collect();
    let kept = scratch.keep.then(|| scratch.root.display().to_string());
    Rendered::new(
        schema::TRIAL,
        &json!({"steps": shown, "events": events, "turn_id": turn_id, "kept": kept}),
        document,
    )
}
