//! Owns runs below a process of ours, which ends all of them once whoever asked for them is gone.
//!
//! Knows nothing of what runs. Without such a process a tree outlives the death of who runs it: what the system ends then
//! is a child, and never the child's own children.

use std::{ffi::OsString, io};

use serde::{Deserialize, Serialize};

use super::{
    channel::Channel,
    clock::boot_ms,
    exec::wake_with_parent,
    guarded::{Charge, Companion, Launcher},
    recover::end_by_token,
    run::{nothing, run, run_below},
    spec::{Capture, Containment, Control, Ended, NotStarted, Outcome, Spec, Tick, Token},
};

/// The word that makes a binary of ours a keeper of runs.
pub const KEEP_WORD: &str = "__keep";

/// How often either listens to the other, in milliseconds.
const TICK_MS: u64 = 100;
/// How many processes are started for one run, where none of them takes it.
const STARTS_MAX: u8 = 2;
/// How often one that has nothing to keep looks whether it is to end, in milliseconds.
const IDLE_MS: u64 = 1000;
/// What a keeper may take beyond the time and the grace of its run: to start, and to end what does not want to.
const MORE_MS: u64 = 20_000;

/// What is to be run. Names of files are no text, and in JSON no text is a key.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    argv: Vec<OsString>,
    cwd: OsString,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    stdout: Capture,
    stderr: Capture,
    wall_ms: u64,
    idle_ms: Option<u64>,
    grace_ms: u64,
    token: Option<String>,
}

/// What a keeper is told.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    /// Run this.
    Run(Box<Job>),
    /// End what runs.
    Stop,
}

/// What it says.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    /// The run is its own from now on.
    Taken,
    /// How the run ended.
    Ended(Box<Outcome>),
}

impl Job {
    fn of(spec: &Spec) -> Self {
        Self {
            argv: spec.argv.clone(),
            cwd: spec.cwd.clone().into_os_string(),
            env: spec.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            stdin: spec.stdin.clone(),
            stdout: spec.stdout,
            stderr: spec.stderr,
            wall_ms: spec.wall_ms,
            idle_ms: spec.idle_ms,
            grace_ms: spec.grace_ms,
            token: spec.containment.as_ref().map(ToString::to_string),
        }
    }

    fn spec(self) -> Spec {
        let containment = self.token.and_then(|token| Token::parse(&token).ok());
        Spec {
            env: self.env.into_iter().collect(),
            stdin: self.stdin,
            stdout: self.stdout,
            stderr: self.stderr,
            wall_ms: self.wall_ms,
            idle_ms: self.idle_ms,
            grace_ms: self.grace_ms,
            tick_ms: TICK_MS,
            containment,
            ..Spec::new(self.argv, self.cwd.into())
        }
    }
}

/// Below what programs are run that end with this process: a process of ours, started when it is first needed.
///
/// Should this process die, all that such a program started is ended at once.
#[derive(Debug)]
pub struct Keeper {
    launcher: Option<Launcher>,
    companion: Option<Companion>,
    /// One that is about to end.
    parting: Option<Companion>,
}

impl Keeper {
    /// One that is started by a `launcher`; without one, or where none can be started, programs are run as by [`run`].
    pub fn of(launcher: Option<&Launcher>) -> Self {
        Self { launcher: launcher.cloned(), companion: None, parting: None }
    }

    /// Has a process that is ready to keep already in the place of one that would have to be started.
    pub fn take_on(&mut self, companion: Companion) {
        self.companion = Some(companion);
    }

    /// Lets its process end while something else is done; it is waited for when this is dropped. A later run has another.
    pub fn rest(&mut self) {
        self.parting = self.companion.take();
        self.parting.iter().for_each(Companion::close);
    }

    /// As [`run`], of a program without a [`Spec::result`]: such a one is a guardian's.
    pub fn run(&mut self, spec: &Spec, tick: &mut dyn FnMut(Tick) -> Control) -> Outcome {
        for _ in 0..STARTS_MAX {
            let Some(mut companion) = self.ready() else { break };
            match kept(&mut companion, spec, tick) {
                Kept::Ended(outcome) => {
                    self.companion = Some(companion).filter(|_| outcome.survivors.is_empty());
                    return *outcome;
                }
                Kept::NotTaken => companion.kill(),
                Kept::Lost => {
                    companion.kill();
                    return lost(spec);
                }
            }
        }
        run(spec, tick)
    }

    /// The process that is there, or a new one.
    fn ready(&mut self) -> Option<Companion> {
        let there = self.companion.take().and_then(|mut there| (!there.has_ended()).then_some(there));
        there.or_else(|| Companion::start(self.launcher.as_ref()?, KEEP_WORD).ok())
    }
}

/// What became of a run that was ordered.
enum Kept {
    Ended(Box<Outcome>),
    /// Its keeper is gone and had not begun it: nothing ran.
    NotTaken,
    /// Its keeper is gone, or says nothing in its time.
    Lost,
}

fn kept(companion: &mut Companion, spec: &Spec, tick: &mut dyn FnMut(Tick) -> Control) -> Kept {
    let channel = &mut companion.channel;
    let started_ms = boot_ms();
    let until_ms = started_ms.saturating_add(spec.wall_ms).saturating_add(spec.grace_ms + MORE_MS);
    // A keeper that is stopped amid what it says must not stop us.
    let told = channel.within(Some(MORE_MS)).and_then(|()| channel.send(&Word::Run(Box::new(Job::of(spec)))));
    let (mut is_taken, mut is_stopped) = (false, false);
    let mut is_heard = told.is_ok();
    while is_heard && boot_ms() < until_ms {
        let elapsed_ms = boot_ms().saturating_sub(started_ms);
        if tick(Tick::of(elapsed_ms, is_stopped)) != Control::Continue && !is_stopped {
            is_stopped = true;
            // One that is gone is heard of below.
            let _ = channel.send(&Word::Stop);
        }
        if channel.is_due(spec.tick_ms) {
            match channel.receive() {
                Ok(Some(Said::Taken)) => is_taken = true,
                Ok(Some(Said::Ended(outcome))) => return Kept::Ended(outcome),
                Ok(None) | Err(_) => is_heard = false,
            }
        }
    }
    if is_heard || is_taken { Kept::Lost } else { Kept::NotTaken }
}

/// What a run comes to whose keeper is gone: what it left is ended, and how it ended nobody knows.
fn lost(spec: &Spec) -> Outcome {
    let swept = spec.containment.as_ref().and_then(|token| end_by_token(token, None, spec.grace_ms).ok());
    let (outlived, survivors) = swept.map_or_else(Default::default, |swept| (swept.found, swept.survivors));
    let ended = Ended::ExitUnknown;
    Outcome {
        ended,
        outlived,
        survivors,
        containment: Containment::Token,
        awake_ms: None,
        ..nothing(NotStarted::Other(None))
    }
}

/// Keeps runs, as the process at the other end of stdin orders; an exit code. It is the whole `main` of a process.
pub fn keep() -> u8 {
    // Without a session of its own, the end of a terminal would end it with whom it outlives.
    let _ = rustix::process::setsid();
    let Ok(mut channel) = Channel::inherited() else { return 2 };
    keep_on(&mut channel, &|| false);
    0
}

/// Keeps one run after another until the other end of `channel` is gone, or `is_over` says so.
///
/// The first is made ready before it is asked for. On the main thread, as whatever starts processes of ours.
pub fn keep_on(channel: &mut Channel, is_over: &dyn Fn() -> bool) {
    let prepare = || Charge::prepare(&Launcher::this_binary(), None);
    let mut ready = prepare().ok();
    // Whoever ordered a run may be stopped for long, and how it ended is known nowhere else.
    let mut goes_on = channel.sends_within(None).is_ok();
    // A stopped one would stay for ever, since nobody else knows of it.
    let _ = wake_with_parent();
    while goes_on && !is_over() {
        if !channel.is_due(IDLE_MS) {
            continue;
        }
        match channel.receive::<Word>() {
            Ok(Some(Word::Run(job))) => {
                let outcome = channel.send(&Said::Taken).map(|()| {
                    match ready.take().map_or_else(prepare, Ok).and_then(Charge::ready) {
                        Ok(charge) => {
                            run_below(&job.spec(), charge, &mut |tick| wish(channel, is_over, tick))
                        }
                        Err(error) => nothing(NotStarted::Other(error.raw_os_error())),
                    }
                });
                // Nobody may be there to hear it; then nothing of it is left either.
                let told = outcome.and_then(|outcome| {
                    let is_clean = outcome.survivors.is_empty();
                    channel.send(&Said::Ended(Box::new(outcome))).map(|()| is_clean)
                });
                goes_on = told.unwrap_or(false);
            }
            // The run that it meant has ended.
            Ok(Some(Word::Stop)) => {}
            // So has the guardian that this was, to whom it was said.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
            Ok(None) | Err(_) => goes_on = false,
        }
    }
    ready.iter_mut().for_each(Charge::give_up);
}

/// What whoever ordered a run wants of it now.
fn wish(channel: &mut Channel, is_over: &dyn Fn() -> bool, tick: Tick) -> Control {
    match () {
        () if tick.ending => Control::Continue,
        () if is_over() => Control::Abandon,
        () if !channel.is_due(0) => Control::Continue,
        () => match channel.receive::<Word>() {
            Ok(Some(Word::Stop)) => Control::Stop,
            Ok(Some(Word::Run(_)) | None) | Err(_) => Control::Abandon,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    use super::*;

    /// What a run comes to below a keeper that is this script, and whether its program began.
    fn below(folder: &Path, script: &str) -> (Outcome, bool) {
        let keeper = folder.join("keeper");
        fs::write(&keeper, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&keeper, fs::Permissions::from_mode(0o700)).unwrap();
        let argv = ["/bin/sh", "-c", "touch began"].map(OsString::from).to_vec();
        let spec = Spec { wall_ms: 20_000, ..Spec::new(argv, folder.to_owned()) };
        let outcome = Keeper::of(Some(&Launcher::of(keeper))).run(&spec, &mut |_| Control::Continue);
        (outcome, folder.join("began").exists())
    }

    #[test]
    fn what_no_keeper_took_runs_all_the_same_and_what_one_took_never_twice() {
        let dir = tempfile::tempdir().unwrap();
        let hears = "dd bs=1 count=1 > /dev/null 2>&1";
        let (outcome, began) = below(dir.path(), &format!("{hears}; printf '\\0\\0\\0\\7\"Taken\"' >&0"));
        assert_eq!((outcome.ended, began), (Ended::ExitUnknown, false));
        let (outcome, began) = below(dir.path(), hears);
        assert_eq!((outcome.ended, began), (Ended::Exited(0), true));
    }
}
