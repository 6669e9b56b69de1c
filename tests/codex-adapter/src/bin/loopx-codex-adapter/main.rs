//! The `loopx-codex-adapter` binary: one request of LoopX in, one run of `codex exec`, one object out.
//!
//! It is the example of how an adapter is written, and names nothing of LoopX but `loopx_core::sdk`. What codex says is
//! handed on as a proposal; nothing here decides whether it is true.

mod answer;
mod events;
mod options;
mod program;
mod prompt;
mod session;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use loopx_core::sdk::{
    HostFailure,
    turn_host::{Relay, RelayEnd, Relayed, Report, Request, SessionAction, read_request},
};
use options::Options;
use session::Session;

/// How long codex may go on after its final event, in milliseconds.
const LINGER_MS: u64 = 2000;

fn main() -> ExitCode {
    match adapt() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // LoopX keeps stderr for the owner; where nobody reads it there is nobody to tell.
            let _ = writeln!(io::stderr(), "loopx-codex-adapter: {error}");
            ExitCode::from(2)
        }
    }
}

fn adapt() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse(std::env::args_os().skip(1))?;
    let request = read_request(&mut io::stdin().lock())?;
    let printed = work(&options, &request)?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(&printed)?;
    Ok(stdout.flush()?)
}

/// Works on a request: the object to print.
fn work(options: &Options, request: &Request) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let failed = |class, why: &str| Ok(Report::new(request, class).note(why).encode()?);
    let codex = match program::native(&options.codex) {
        Ok(codex) => codex,
        Err(why) => return failed(HostFailure::IncompatibleVersion, &why),
    };
    let before = match Session::to_resume(request) {
        Ok(before) => before,
        Err(why) => return failed(HostFailure::SessionUnavailable, &why),
    };
    let policy = &request.turn_envelope.execution_policy;
    let mut variables: Vec<_> = std::env::vars_os().collect();
    variables.extend(options.codex_home.iter().map(|home| ("CODEX_HOME".into(), home.into())));
    let relayed =
        Relay::new(program::command(&codex, options, request, before.as_ref()), std::env::current_dir()?)
            .variables(variables)
            .input(prompt::of(request).into_bytes())
            .wall_ms(policy.wall_ms.as_ms())
            .idle_ms(policy.idle_ms.map(loopx_core::sdk::Duration::as_ms))
            .done_when(events::is_over, LINGER_MS)
            .with_stdout()?
            .run()?;
    io::stderr().write_all(&relayed.stderr)?;
    tell_of_what_was_left(&relayed)?;
    if let Some(class) = stopped(relayed.ended) {
        return failed(class, &relayed.ended.to_string());
    }
    let seen = events::read(&relayed.stdout);
    match answer::of(request, &relayed, &seen) {
        answer::Answer::Failed(class, why) => failed(class, &why),
        answer::Answer::Worked(candidate) => {
            let keeps = request.session.action != SessionAction::None;
            let session = Session::after(request, before.as_ref(), &seen).filter(|_| keeps);
            let candidate = candidate.usage(&session::usage(before.as_ref(), &seen, relayed.wall_ms))?;
            let candidate = match &session {
                Some(session) => candidate.session(&session.handle()),
                None => candidate,
            };
            match candidate.encode() {
                Ok(printed) => Ok(printed),
                Err(failure) => failed(failure.class, &failure.reason.to_string()),
            }
        }
    }
}

/// What an end means that was not codex's own.
fn stopped(ended: RelayEnd) -> Option<HostFailure> {
    match ended {
        RelayEnd::WallDeadline => Some(HostFailure::Timeout),
        RelayEnd::IdleDeadline => Some(HostFailure::IdleTimeout),
        RelayEnd::OutputTooLarge => Some(HostFailure::OutputTooLarge),
        RelayEnd::FolderUnavailable => Some(HostFailure::WorkspaceDenied),
        RelayEnd::Missing | RelayEnd::NotExecutable => Some(HostFailure::IncompatibleVersion),
        // LoopX ended us, or is gone, and then nobody reads what is printed now; or the system could not start it.
        RelayEnd::Stopped(_) | RelayEnd::NotStarted(_) | RelayEnd::Unknown => Some(HostFailure::Crashed),
        RelayEnd::Exited(_) | RelayEnd::Signalled(_) | RelayEnd::Lingered => None,
    }
}

fn tell_of_what_was_left(relayed: &Relayed) -> io::Result<()> {
    for (left, what) in
        [(&relayed.outlived, "was ended after codex"), (&relayed.survivors, "could not be ended")]
    {
        for process in left {
            writeln!(io::stderr(), "loopx-codex-adapter: {} ({}) {what}", process.name, process.pid)?;
        }
    }
    Ok(())
}
