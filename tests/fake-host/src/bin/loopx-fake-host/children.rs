//! Owns the processes that a personality leaves behind: each is this program again, under a name of its own.
//!
//! Knows nothing of the wire. There is no fork without exec here: a child is started, and changes itself then.

use std::{
    io,
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::setsid;

use super::{LEFT_BEHIND_MAX, Options, odd, personality::Personality};

/// How many children a swarm keeps.
const SWARM: usize = 8;
/// How long one child of a swarm lives before it has started the next.
const SWARM_LIFE: Duration = Duration::from_millis(200);
/// How many generations a swarm has at most, so that it ends by itself.
const GENERATIONS_MAX: u32 = 300;

/// A process that is left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Child {
    /// Only lives.
    Idle,
    /// Makes a session of its own and lives.
    OwnSession,
    /// Makes a session of its own, starts a daemon in it and goes.
    Parting(Deed),
    /// Lives without parent, session and environment.
    Daemon(Deed),
    /// Writes a file after a while.
    Writer,
    /// Starts another one like itself in a session of its own and goes.
    Swarming(u32),
}

/// What a daemon does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Live,
    Write,
}

impl Child {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "child:idle" => Self::Idle,
            "child:own-session" => Self::OwnSession,
            "child:parting" => Self::Parting(Deed::Live),
            "child:parting-writer" => Self::Parting(Deed::Write),
            "child:daemon" => Self::Daemon(Deed::Live),
            "child:daemon-writer" => Self::Daemon(Deed::Write),
            "child:writer" => Self::Writer,
            _ => Self::Swarming(name.strip_prefix("child:swarm:")?.parse().ok()?),
        })
    }

    fn name(self) -> String {
        match self {
            Self::Idle => "child:idle".to_owned(),
            Self::OwnSession => "child:own-session".to_owned(),
            Self::Parting(Deed::Live) => "child:parting".to_owned(),
            Self::Parting(Deed::Write) => "child:parting-writer".to_owned(),
            Self::Daemon(Deed::Live) => "child:daemon".to_owned(),
            Self::Daemon(Deed::Write) => "child:daemon-writer".to_owned(),
            Self::Writer => "child:writer".to_owned(),
            Self::Swarming(generation) => format!("child:swarm:{generation}"),
        }
    }
}

/// Starts what a personality leaves behind.
pub(super) fn leave(personality: Personality, options: &Options) -> io::Result<()> {
    match personality {
        Personality::Fork => start(Child::Idle, options, Streams::Ours).map(drop),
        Personality::Setsid => start(Child::OwnSession, options, Streams::None).map(drop),
        Personality::WriteLate => start(Child::Writer, options, Streams::None).map(drop),
        Personality::DoubleFork | Personality::DoubleForkThenHang => part(Deed::Live, options),
        Personality::WriteLateDaemon => part(Deed::Write, options),
        Personality::Swarm => {
            (0..SWARM).try_for_each(|_| start(Child::Swarming(0), options, Streams::None).map(drop))
        }
        _ => Ok(()),
    }
}

/// Starts the one that starts the daemon, and waits until it has gone: from then on the daemon has no parent of ours.
fn part(deed: Deed, options: &Options) -> io::Result<()> {
    let mut parting = start(Child::Parting(deed), options, Streams::None)?;
    parting.wait().map(drop)
}

/// Lives the life of a child.
pub(super) fn live(child: Child, options: &Options) -> io::Result<()> {
    match child {
        Child::Idle | Child::Daemon(Deed::Live) => odd::stall(),
        Child::OwnSession => {
            setsid()?;
            odd::stall();
        }
        Child::Parting(deed) => {
            setsid()?;
            start(Child::Daemon(deed), options, Streams::NothingAtAll)?;
        }
        Child::Writer | Child::Daemon(Deed::Write) => {
            odd::pause(options.after);
            std::fs::write(&options.late, "too late\n")?;
            odd::pause(LEFT_BEHIND_MAX.saturating_sub(options.after));
        }
        Child::Swarming(generation) => {
            // Started as the leader of a group, which may not make a session; its child can.
            let _ = setsid();
            odd::pause(SWARM_LIFE);
            if generation < GENERATIONS_MAX {
                start(Child::Swarming(generation + 1), options, Streams::None)?;
            }
        }
    }
    Ok(())
}

/// What a child has of its parent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Streams {
    /// Its output and its environment.
    Ours,
    /// Its environment.
    None,
    /// Neither.
    NothingAtAll,
}

fn start(child: Child, options: &Options, streams: Streams) -> io::Result<std::process::Child> {
    #[expect(clippy::disallowed_methods, reason = "leaving children is what this program is for")]
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(child.name());
    command.args(["--work", &options.work, "--late", &options.late, "--mark", &options.mark]);
    command.args(["--after-ms", &options.after.as_millis().to_string()]);
    command.stdin(Stdio::null());
    if streams != Streams::Ours {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    if streams == Streams::NothingAtAll {
        command.env_clear();
    }
    command.spawn()
}
