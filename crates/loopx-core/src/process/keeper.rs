//! Owns a run below a process of its own, which ends all of it once whoever asked for it is gone.
//!
//! Knows nothing of what runs. Without such a process a tree outlives the death of who runs it: what the system ends then
//! is a child, and never the child's own children.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use super::{
    channel::Channel,
    clock::boot_ms,
    guarded::{Charge, Companion, Launcher},
    recover::end_by_token,
    run::{nothing, run, run_below},
    spec::{Capture, Containment, Control, Ended, NotStarted, Outcome, Spec, Tick, Token},
};

/// The word that makes a binary of ours the keeper of one run.
pub const KEEP_WORD: &str = "__keep";

/// How often either listens to the other, in milliseconds.
const TICK_MS: u64 = 100;
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

/// What is said after it.
#[derive(Debug, Serialize, Deserialize)]
struct Stop;

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

/// As [`run`], below a keeper: should this process die, all that the program started is ended at once.
///
/// A program that has a [`Spec::result`] is a guardian's. Where no keeper can be started it is run as ever.
pub fn run_kept(launcher: &Launcher, spec: &Spec, tick: &mut dyn FnMut(Tick) -> Control) -> Outcome {
    let Ok(mut keeper) = Companion::start(launcher, KEEP_WORD) else { return run(spec, tick) };
    let started_ms = boot_ms();
    let until_ms = started_ms.saturating_add(spec.wall_ms).saturating_add(spec.grace_ms + MORE_MS);
    let mut told = keeper.channel.send(&Job::of(spec)).is_ok();
    let mut stopped = false;
    while told && boot_ms() < until_ms {
        let elapsed_ms = boot_ms().saturating_sub(started_ms);
        if tick(Tick::of(elapsed_ms, stopped)) != Control::Continue && !stopped {
            stopped = true;
            told = keeper.channel.send(&Stop).is_ok();
        }
        if keeper.channel.is_due(spec.tick_ms) {
            match keeper.channel.receive::<Outcome>() {
                Ok(Some(outcome)) => {
                    keeper.part();
                    return outcome;
                }
                Ok(None) | Err(_) => told = false,
            }
        }
    }
    keeper.kill();
    lost(spec, boot_ms().saturating_sub(started_ms))
}

/// What a run comes to whose keeper is gone: what it left is ended, and how it ended nobody knows.
fn lost(spec: &Spec, wall_ms: u64) -> Outcome {
    let swept = spec.containment.as_ref().and_then(|token| end_by_token(token, None, spec.grace_ms).ok());
    let (outlived, survivors) = swept.map_or_else(Default::default, |swept| (swept.found, swept.survivors));
    let ended = Ended::ExitUnknown;
    Outcome {
        ended,
        wall_ms,
        outlived,
        survivors,
        containment: Containment::Token,
        ..nothing(NotStarted::Other(None))
    }
}

/// Keeps one run, as the process at the other end of stdin orders; an exit code. It is the whole `main` of a process.
pub fn keep() -> u8 {
    // Without a session of its own, the end of a terminal would end it with whom it outlives.
    let _ = rustix::process::setsid();
    let Ok(mut channel) = Channel::inherited() else { return 2 };
    let Ok(charge) = Charge::prepare(&Launcher::this_binary(), None) else { return 2 };
    let Ok(Some(job)) = channel.receive::<Job>() else {
        let mut charge = charge;
        charge.give_up();
        return 0;
    };
    let outcome = run_below(&job.spec(), charge, &mut |tick| {
        if tick.ending || !channel.is_due(0) {
            return Control::Continue;
        }
        match channel.receive::<Stop>() {
            Ok(Some(Stop)) => Control::Stop,
            Ok(None) | Err(_) => Control::Abandon,
        }
    });
    // Nobody may be there to hear it; then nothing of it is left either.
    u8::from(channel.send(&outcome).is_err())
}
