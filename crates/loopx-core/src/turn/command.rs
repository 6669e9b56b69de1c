//! Owns the generic command host: a program of any kind, one JSON object in, one out.
//!
//! Knows the wire and nothing else of who speaks it. Source: the Turn's "generic command host".

use std::ffi::OsString;

use super::{
    host::{Host, Hosting, Job, Judged},
    wire::{Failure, is_complete, parse_result},
};
use crate::{
    error::{Code, Error, Result},
    model::{Digest, HostFailure},
    process::{Ended, NotStarted, Outcome, ResultRule, Spec},
};

/// How long a program may go on after its result.
const LINGER_MS: u64 = 2000;

/// The generic command host.
#[derive(Debug)]
pub struct CommandHost {
    hosting: Hosting,
}

impl CommandHost {
    /// The name that attempts carry.
    pub const NAME: &'static str = "command";

    /// Takes a command.
    ///
    /// Errors: `invalid_argument` without a program.
    pub fn new(hosting: Hosting) -> Result<Self> {
        if hosting.argv.first().is_none_or(String::is_empty) {
            return Err(
                Error::new(Code::InvalidArgument, "the host names no program").detail("argument", "--host")
            );
        }
        Ok(Self { hosting })
    }
}

impl Host for CommandHost {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn hosting(&self) -> &Hosting {
        &self.hosting
    }

    fn spec(&self, job: &Job<'_>) -> Spec {
        let argv = self.hosting.argv.iter().map(OsString::from).collect();
        let mut spec = Spec::new(argv, self.hosting.folder.clone());
        spec.env.clone_from(&job.env);
        spec.stdin.clone_from(&job.request);
        spec.wall_ms = self.hosting.wall_ms;
        spec.containment = Some(job.token.clone());
        spec.result = Some(ResultRule { is_complete, linger_ms: LINGER_MS });
        spec
    }

    fn is_complete(&self, stdout: &[u8]) -> bool {
        is_complete(stdout)
    }

    fn judge(&self, outcome: &Outcome, turn_key: &Digest) -> Judged {
        let failed = |failure, retry| Judged::Failed { failure, retry, note: None };
        match outcome.ended {
            // Whoever printed a whole result keeps it, however it ended afterwards.
            _ if outcome.result_complete && outcome.ended != Ended::OutputTooLarge => {
                self.reread(&outcome.stdout, turn_key)
            }
            Ended::Exited(0) => self.reread(&outcome.stdout, turn_key),
            Ended::Exited(_) | Ended::Signalled(_) | Ended::ExitUnknown | Ended::Abandoned => {
                failed(HostFailure::Crashed, true)
            }
            Ended::WallDeadline | Ended::Lingered => failed(HostFailure::Timeout, false),
            Ended::IdleDeadline => failed(HostFailure::IdleTimeout, false),
            Ended::OutputTooLarge => failed(HostFailure::OutputTooLarge, false),
            Ended::Stopped => Judged::Stopped,
            Ended::NotStarted(NotStarted::FolderUnavailable) => failed(HostFailure::WorkspaceDenied, false),
            Ended::NotStarted(why) => Judged::Failed {
                failure: HostFailure::Crashed,
                retry: matches!(why, NotStarted::Other(_)),
                note: not_started(why).parse().ok(),
            },
        }
    }

    fn reread(&self, spooled: &[u8], turn_key: &Digest) -> Judged {
        match parse_result(spooled, turn_key) {
            Ok(result) => Judged::Result(Box::new(result)),
            Err(Failure { class, reason, .. }) => Judged::Failed {
                failure: class,
                retry: class.is_retried(),
                note: reason.to_string().parse().ok(),
            },
        }
    }
}

const fn not_started(why: NotStarted) -> &'static str {
    match why {
        NotStarted::Missing => "the host program is missing",
        NotStarted::NotExecutable => "the host program cannot be executed",
        NotStarted::FolderUnavailable | NotStarted::Other(_) => "the host program could not be started",
    }
}
