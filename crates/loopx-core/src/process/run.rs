//! Owns one run from start to proved end: starting, reading, deadlines, and the order in which they win.
//!
//! Knows nothing of what runs, nor how a tree is found and ended.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::fd::{AsFd, OwnedFd},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{Access, access},
    io::Errno,
};

use super::{
    capture::Stream,
    clock::{awake_ms, between, boot_ms, timeout},
    exec::Go,
    guarded::Charge,
    program,
    spec::{Containment, Control, Ended, NotStarted, Outcome, Process, Spec, TOKEN_VARIABLE, Tick},
    spool::Spool,
    stdin,
    tree::{Ending, Exit, Place, Stage, Tree},
};

/// How long a pipe may stay open after the program itself has exited, before what holds it is ended.
const DRAIN_MS: u64 = 250;
/// After how long a program is moved into its control group, in milliseconds. A move keeps the kernel busy for several,
/// and what has ended by then has no need of it.
const CONFINED_AFTER_MS: u64 = 50;
/// How often is looked whether a tree is in its control group yet, in milliseconds: that takes some ten.
const MOVING_MS: u64 = 5;
/// How often the leader is looked at where no descriptor announces its end.
const UNANNOUNCED_MS: u64 = 20;

/// Runs one program within its bounds and ends all that descends from it.
///
/// `tick` is called at once and then every [`Spec::tick_ms`], also while the tree is being ended; it renews leases
/// and tells the wish to stop. It must return quickly: nothing is read meanwhile. Nothing here fails by an error:
/// a program that does not start is an [`Ended::NotStarted`].
pub fn run(spec: &Spec, tick: &mut dyn FnMut(Tick) -> Control) -> Outcome {
    watched(spec, launch(spec), tick)
}

/// As [`run`], of a program whose process is prepared: what it prints goes to `spool` as it comes, too, and whatever
/// descends from it and loses its parent is this process's.
pub fn run_guarded(
    spec: &Spec,
    charge: Charge,
    spool: &Spool,
    tick: &mut dyn FnMut(Tick) -> Control,
) -> Outcome {
    watched(spec, release(spec, charge, Some(spool)), tick)
}

/// As [`run_guarded`], without a spool.
pub(super) fn run_below(spec: &Spec, charge: Charge, tick: &mut dyn FnMut(Tick) -> Control) -> Outcome {
    watched(spec, release(spec, charge, None), tick)
}

fn watched(
    spec: &Spec,
    launched: Result<Launched, NotStarted>,
    tick: &mut dyn FnMut(Tick) -> Control,
) -> Outcome {
    let (started_ms, awake_from_ms) = (boot_ms(), awake_ms());
    match launched {
        Ok(Launched { tree, stdout, stderr }) => Run {
            spec,
            tree,
            stdout,
            stderr,
            started_ms,
            awake_from_ms,
            heard_ms: started_ms,
            tick_at_ms: started_ms,
            result_at_ms: None,
            cause: None,
            phase: Phase::Running,
        }
        .drive(tick),
        Err(kind) => nothing(kind),
    }
}

struct Launched {
    tree: Tree,
    stdout: Stream,
    stderr: Stream,
}

pub(super) fn nothing(kind: NotStarted) -> Outcome {
    Outcome {
        ended: Ended::NotStarted(kind),
        stdout: Vec::new(),
        stderr: Vec::new(),
        stdout_seen_bytes: 0,
        stderr_seen_bytes: 0,
        result_complete: false,
        wall_ms: 0,
        awake_ms: Some(0),
        outlived: Vec::new(),
        survivors: Vec::new(),
        containment: Containment::Group,
    }
}

fn launch(spec: &Spec) -> Result<Launched, NotStarted> {
    let (name, arguments) = spec.argv.split_first().ok_or(NotStarted::Missing)?;
    let path = findable(spec)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that spawns what is not LoopX's own"
    )]
    let mut command = Command::new(path);
    command
        .arg0(name)
        .args(arguments)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(environment(spec))
        .stdin(stdin::feed(&spec.stdin).map_err(refused)?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn().map_err(refused)?;
    let stdout = Stream::open(child.stdout.take().map(OwnedFd::from), spec.stdout, None);
    let stderr = Stream::open(child.stderr.take().map(OwnedFd::from), spec.stderr, None);
    let tree = Tree::below(child, spec.containment.as_ref()).ok_or(NotStarted::Other(None))?;
    Ok(Launched { tree, stdout, stderr })
}

/// Lets a prepared process become the program; nothing is left of it where it cannot.
fn release(spec: &Spec, mut charge: Charge, spool: Option<&Spool>) -> Result<Launched, NotStarted> {
    // Opened before it begins, so that nobody can put something else in their place.
    let (out, err) = spool.map(Spool::sinks).unzip();
    let begun = findable(spec).and_then(|program| {
        let go = Go {
            program: program.into(),
            argv: spec.argv.clone(),
            cwd: spec.cwd.clone().into(),
            env: environment(spec).into_iter().collect(),
            stdin: spec.stdin.clone(),
        };
        charge.go(&go).map_err(refused)
    });
    if let Err(why) = begun {
        charge.give_up();
        return Err(why);
    }
    let Charge { mut child, leaf, .. } = charge;
    let stdout = Stream::open(child.stdout.take().map(OwnedFd::from), spec.stdout, out);
    let stderr = Stream::open(child.stderr.take().map(OwnedFd::from), spec.stderr, err);
    let tree = Tree::guarded(child, spec.containment.as_ref(), leaf).ok_or(NotStarted::Other(None))?;
    Ok(Launched { tree, stdout, stderr })
}

/// Where the program is, once what can be told beforehand is told.
fn findable(spec: &Spec) -> Result<PathBuf, NotStarted> {
    let name = spec.argv.first().ok_or(NotStarted::Missing)?;
    if !spec.cwd.is_dir() || access(&spec.cwd, Access::EXEC_OK).is_err() {
        return Err(NotStarted::FolderUnavailable);
    }
    program::find(name, &spec.cwd, &spec.env)
}

fn environment(spec: &Spec) -> BTreeMap<OsString, OsString> {
    let mut env = spec.env.clone();
    if let Some(token) = &spec.containment {
        env.insert(TOKEN_VARIABLE.into(), token.as_str().into());
    }
    env
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn refused(error: io::Error) -> NotStarted {
    match error.raw_os_error() {
        Some(errno) if errno == Errno::NOEXEC.raw_os_error() => NotStarted::NotExecutable,
        errno => NotStarted::Other(errno),
    }
}

#[derive(Debug)]
enum Phase {
    Running,
    /// The program has exited; its pipes are read to the end, if that comes by this time.
    Draining(u64),
    Ending(Ending),
}

struct Run<'a> {
    spec: &'a Spec,
    tree: Tree,
    stdout: Stream,
    stderr: Stream,
    started_ms: u64,
    /// The same moment, by the clock that stands still while the machine sleeps.
    awake_from_ms: Option<u64>,
    heard_ms: u64,
    tick_at_ms: u64,
    result_at_ms: Option<u64>,
    /// Why we ended it; none if it ended by itself.
    cause: Option<Ended>,
    phase: Phase,
}

impl Run<'_> {
    fn drive(mut self, tick: &mut dyn FnMut(Tick) -> Control) -> Outcome {
        loop {
            let now_ms = boot_ms();
            self.read(now_ms);
            self.tree.note_exit();
            let wish = match self.tick(now_ms, tick) {
                Control::Continue => None,
                Control::Stop => Some(Ended::Stopped),
                Control::Abandon => Some(Ended::Abandoned).filter(|_| self.result_at_ms.is_none()),
            };
            if let Some(survivors) = self.advance(now_ms, wish) {
                return self.finish(survivors);
            }
            self.wait();
        }
    }

    fn read(&mut self, now_ms: u64) {
        let out = self.stdout.pull();
        let err = self.stderr.pull();
        if out || err {
            self.heard_ms = now_ms;
        }
        if out && self.result_at_ms.is_none() {
            let complete = self.spec.result.filter(|rule| (rule.is_complete)(self.stdout.so_far()));
            self.result_at_ms = complete.map(|_| now_ms);
            if complete.is_some() {
                self.stdout.keep_for_good();
            }
        }
    }

    fn tick(&mut self, now_ms: u64, tick: &mut dyn FnMut(Tick) -> Control) -> Control {
        if now_ms < self.tick_at_ms {
            return Control::Continue;
        }
        self.tree.reap();
        let ending = matches!(self.phase, Phase::Ending(_));
        let elapsed_ms = now_ms.saturating_sub(self.started_ms);
        if elapsed_ms >= CONFINED_AFTER_MS && !ending {
            self.tree.confine();
        }
        let is_confined = self.tree.is_confined();
        let every_ms = match self.tree.place() {
            Place::Outside => CONFINED_AFTER_MS.min(self.spec.tick_ms),
            Place::Moving => MOVING_MS,
            Place::Settled => self.spec.tick_ms,
        };
        self.tick_at_ms = now_ms.saturating_add(every_ms.max(1));
        tick(Tick {
            pid: self.tree.pid(),
            elapsed_ms,
            stdout_seen_bytes: self.stdout.seen_bytes(),
            stderr_seen_bytes: self.stderr.seen_bytes(),
            ending,
            result_complete: self.result_at_ms.is_some(),
            is_confined,
        })
    }

    /// Moves to the next phase where one is due; the survivors once everything is over.
    fn advance(&mut self, now_ms: u64, wish: Option<Ended>) -> Option<Vec<Process>> {
        if !matches!(self.phase, Phase::Ending(_)) {
            let exited = self.tree.exit().is_some();
            if !exited {
                self.cause = self.due(now_ms, wish);
            }
            let silent = !self.stdout.is_open() && !self.stderr.is_open();
            if self.spec.alone && exited && silent && self.cause.is_none() && self.tree.ends_alone() {
                return Some(Vec::new());
            }
            self.phase = match self.phase {
                _ if self.cause.is_some() || (exited && (silent || wish.is_some())) => {
                    Phase::Ending(Ending::new(now_ms, self.spec.grace_ms))
                }
                Phase::Draining(until) if now_ms >= until => {
                    Phase::Ending(Ending::new(now_ms, self.spec.grace_ms))
                }
                Phase::Running if exited => Phase::Draining(now_ms.saturating_add(DRAIN_MS)),
                _ => return None,
            };
        }
        let Phase::Ending(ending) = &mut self.phase else { return None };
        match ending.step(&mut self.tree, now_ms) {
            Stage::Again(_) => None,
            Stage::Over(survivors) => Some(survivors),
        }
    }

    /// Why a program that still runs has to be ended now.
    fn due(&self, now_ms: u64, wish: Option<Ended>) -> Option<Ended> {
        let passed = |since_ms: u64, limit_ms: u64| now_ms.saturating_sub(since_ms) >= limit_ms;
        if self.stdout.overflowed() || self.stderr.overflowed() {
            return Some(Ended::OutputTooLarge);
        }
        if wish.is_some() {
            return wish;
        }
        if let (Some(at_ms), Some(rule)) = (self.result_at_ms, self.spec.result) {
            let over = passed(at_ms, rule.linger_ms) || passed(self.started_ms, self.spec.wall_ms);
            return over.then_some(Ended::Lingered);
        }
        if passed(self.started_ms, self.spec.wall_ms) {
            return Some(Ended::WallDeadline);
        }
        self.spec.idle_ms.filter(|idle| passed(self.heard_ms, *idle)).map(|_| Ended::IdleDeadline)
    }

    /// Sleeps until output, the exit, or the next time at which anything can be due.
    fn wait(&self) {
        let started = self.started_ms;
        let mut until_ms = self.tick_at_ms;
        match &self.phase {
            Phase::Running => {
                until_ms = until_ms.min(started.saturating_add(self.spec.wall_ms));
                if let (Some(at_ms), Some(rule)) = (self.result_at_ms, self.spec.result) {
                    until_ms = until_ms.min(at_ms.saturating_add(rule.linger_ms));
                } else if let Some(idle_ms) = self.spec.idle_ms {
                    until_ms = until_ms.min(self.heard_ms.saturating_add(idle_ms));
                }
            }
            Phase::Draining(at_ms) => until_ms = until_ms.min(*at_ms),
            Phase::Ending(ending) => until_ms = until_ms.min(ending.look_at_ms()),
        }
        let exit = self.tree.exit_fd();
        let mut span_ms = until_ms.saturating_sub(boot_ms());
        if exit.is_none() && self.tree.exit().is_none() {
            span_ms = span_ms.min(UNANNOUNCED_MS);
        }
        let watched = [exit, self.stdout.fd(), self.stderr.fd()];
        let mut watched: Vec<PollFd<'_>> =
            watched.iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).collect();
        // An interrupted wait is a shorter one; the loop looks at everything again.
        let _ = poll(&mut watched, Some(&timeout(span_ms)));
    }

    fn finish(mut self, survivors: Vec<Process>) -> Outcome {
        let now_ms = boot_ms();
        // What was written before the end is still in the pipes; a survivor may go on writing, so this is bounded.
        for _ in 0..8 {
            self.read(now_ms);
        }
        self.tree.note_exit();
        self.tree.end_move();
        self.tree.collect();
        let overflowed = self.stdout.overflowed() || self.stderr.overflowed();
        let ended = match (self.cause, self.tree.exit()) {
            (Some(cause), _) => cause,
            (None, _) if overflowed => Ended::OutputTooLarge,
            (None, Some(Exit::Code(code))) => Ended::Exited(code),
            (None, Some(Exit::Signal(signal))) => Ended::Signalled(signal),
            (None, Some(Exit::Unknown) | None) => Ended::ExitUnknown,
        };
        let outlived = match (self.cause, self.phase) {
            (None, Phase::Ending(ending)) => ending.into_found(),
            _ => Vec::new(),
        };
        let containment = self.tree.containment();
        if survivors.is_empty() {
            self.tree.clear();
        }
        self.stdout.keep_for_good();
        let (stdout, stdout_seen_bytes) = self.stdout.close();
        let (stderr, stderr_seen_bytes) = self.stderr.close();
        Outcome {
            ended,
            stdout,
            stderr,
            stdout_seen_bytes,
            stderr_seen_bytes,
            result_complete: self.result_at_ms.is_some(),
            wall_ms: now_ms.saturating_sub(self.started_ms),
            awake_ms: between(self.awake_from_ms, awake_ms()),
            outlived,
            survivors,
            containment,
        }
    }
}
