//! Owns running the validators of a Turn's result, and what their ends mean.
//!
//! Knows nothing of how the result was made, nor of what becomes of it. Invariant: a [`Finding`] other than
//! `unchecked` is only made by having run every program it speaks for. Source: the Turn's table of moves.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use super::{spool, watch::Phase};
use crate::{
    boundary,
    model::{Digest, Duration, Label, ShortText, Timestamp, Validator, Verdict, VerdictOutcome, gathered},
    process::{Capture, Control, Ended, Keeper, Outcome, Overflow, Spec, Tick, Token},
};

/// What is kept of each stream of a validator.
const OUTPUT_MAX_BYTES: usize = 64 * 1024;
/// What is kept of all validators of an examination.
const ALL_OUTPUT_MAX_BYTES: usize = 8 * OUTPUT_MAX_BYTES;
/// How long a validator has between TERM and KILL.
const GRACE_MS: u64 = 2000;
/// The most of a line that a verdict quotes, in bytes.
const QUOTE_MAX_BYTES: usize = 240;
/// The longest name of a validator.
const NAME_MAX_BYTES: usize = 100;

/// What the validators said.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    outcome: VerdictOutcome,
    validator: Option<Label>,
    exit: Option<i32>,
    note: Option<ShortText>,
    took_ms: u64,
    /// What they printed, unscreened, each part under the name and the end of its validator.
    pub(super) output: Vec<u8>,
}

impl Finding {
    /// There is nothing to validate with.
    const fn unchecked() -> Self {
        let outcome = VerdictOutcome::Unchecked;
        Self { outcome, validator: None, exit: None, note: None, took_ms: 0, output: Vec::new() }
    }

    /// The verdict, as it is submitted.
    pub(super) fn verdict(&self, tree: Option<Digest>) -> Verdict {
        Verdict {
            outcome: self.outcome,
            validator: self.validator.clone(),
            exit: self.exit,
            note: self.note.clone(),
            took_ms: Duration::from_ms(self.took_ms),
            tree,
            at: Timestamp::default(),
        }
    }
}

/// One validator's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Passed,
    Progress,
    Failed,
    Inconclusive,
}

/// Runs validators in order until one refuses or cannot say; none when `stopped` said to stop.
///
/// They work in `folder`, below `keeper`, with the environment recorded with them and nothing else, marked with `token`.
pub(super) fn run(
    keeper: &mut Keeper,
    validators: &[Validator],
    folder: &Path,
    token: &Token,
    stopped: &mut dyn FnMut(Phase) -> bool,
) -> Option<Finding> {
    let mut finding = Finding::unchecked();
    for (place, validator) in validators.iter().enumerate() {
        let (number, of, wall_ms) = (place + 1, validators.len(), validator.timeout_ms.as_ms());
        let outcome = one(keeper, validator, folder, token, &mut |elapsed_ms| {
            stopped(Phase::Validating { number, of, elapsed_ms, wall_ms })
        });
        if outcome.ended == Ended::Stopped {
            return None;
        }
        let said = judge(&outcome, validator.progress_exit);
        finding.took_ms = finding.took_ms.saturating_add(outcome.wall_ms);
        let (name, ended) = (name(validator), ended(validator, &outcome));
        finding.keep(spool::proof_part(&name, &ended, &outcome));
        let decides = match (said, finding.outcome) {
            (Said::Passed, VerdictOutcome::Progress) => false,
            (Said::Passed | Said::Progress | Said::Failed | Said::Inconclusive, _) => true,
        };
        if decides {
            finding.outcome = match said {
                Said::Passed => VerdictOutcome::Passed,
                Said::Progress => VerdictOutcome::Progress,
                Said::Failed => VerdictOutcome::Failed,
                Said::Inconclusive => VerdictOutcome::Inconclusive,
            };
            finding.validator = name.parse().ok();
            finding.exit = match outcome.ended {
                Ended::Exited(code) => Some(code),
                _ => None, // wildcard: no other end has a status
            };
            finding.note = (said != Said::Passed).then(|| note(&name, &ended, &outcome)).flatten();
        }
        if matches!(said, Said::Failed | Said::Inconclusive) {
            break;
        }
    }
    Some(finding)
}

impl Finding {
    fn keep(&mut self, part: Vec<u8>) {
        let room = ALL_OUTPUT_MAX_BYTES.saturating_sub(self.output.len());
        self.output.extend(part.into_iter().take(room));
    }
}

fn one(
    keeper: &mut Keeper,
    validator: &Validator,
    folder: &Path,
    token: &Token,
    stopped: &mut dyn FnMut(u64) -> bool,
) -> Outcome {
    let argv = validator.argv.iter().map(|word| OsString::from(&**word)).collect();
    let mut spec = Spec::new(argv, folder.to_owned());
    let variables = validator.env.iter();
    spec.env = gathered(variables.map(|(name, value)| (OsString::from(&**name), OsString::from(&**value))));
    spec.stdout = Capture { max_bytes: OUTPUT_MAX_BYTES, overflow: Overflow::KeepTail };
    spec.stderr = spec.stdout;
    spec.wall_ms = validator.timeout_ms.as_ms();
    spec.grace_ms = GRACE_MS;
    spec.containment = Some(token.clone());
    keeper.run(&spec, &mut |tick: Tick| {
        if stopped(tick.elapsed_ms) { Control::Stop } else { Control::Continue }
    })
}

/// Maps an end to what it means.
fn judge(outcome: &Outcome, progress_exit: Option<u8>) -> Said {
    if !outcome.survivors.is_empty() {
        return Said::Inconclusive;
    }
    // What a shell says of a program that it cannot start is never a program's own word.
    let is_progress =
        |code| !matches!(code, 126 | 127) && progress_exit.is_some_and(|exit| i32::from(exit) == code);
    match outcome.ended {
        Ended::Exited(0) => Said::Passed,
        Ended::Exited(code) if is_progress(code) => Said::Progress,
        Ended::Exited(code) if !matches!(code, 126 | 127) => Said::Failed,
        Ended::Exited(_)
        | Ended::Signalled(_)
        | Ended::ExitUnknown
        | Ended::Lingered
        | Ended::WallDeadline
        | Ended::IdleDeadline
        | Ended::OutputTooLarge
        | Ended::Stopped
        | Ended::Abandoned
        | Ended::NotStarted(_) => Said::Inconclusive,
    }
}

/// The command without where its program lies, and without the folders of an absolute path: `cargo test numbers`.
fn name(validator: &Validator) -> String {
    named(&validator.argv)
}

/// As [`name`], of any command.
pub(super) fn named<W: AsRef<str>>(argv: &[W]) -> String {
    let base = |word: &str| {
        let name = Path::new(word).file_name().map_or(word.as_bytes(), OsStr::as_bytes);
        String::from_utf8_lossy(name).into_owned()
    };
    let words = argv.iter().map(AsRef::as_ref).enumerate().map(|(at, word)| match word {
        word if at == 0 || word.starts_with('/') => base(word),
        // A script is not a name.
        word if word.contains(char::is_whitespace) => "…".to_owned(),
        word => word.to_string(),
    });
    let name = words.collect::<Vec<_>>().join(" ");
    let name = if name.len() > NAME_MAX_BYTES { format!("{}…", cut(&name, NAME_MAX_BYTES)) } else { name };
    boundary::screen(&name).map_or_else(|_| "a command".to_owned(), |screened| screened.text)
}

/// How a validator ended, in words.
fn ended(validator: &Validator, outcome: &Outcome) -> String {
    match outcome.ended {
        _ if !outcome.survivors.is_empty() => "left processes that cannot be ended".to_owned(),
        Ended::Exited(126) => "exit 126: something it needs cannot be executed".to_owned(),
        Ended::Exited(127) => "exit 127: something it needs is missing".to_owned(),
        Ended::WallDeadline => format!("no answer within {} ms", validator.timeout_ms.as_ms()),
        ended => ended.to_string(), // wildcard: the end says it itself
    }
}

/// Why, in one short line: which validator, how it ended, and the last line it printed.
fn note(name: &str, ended: &str, outcome: &Outcome) -> Option<ShortText> {
    let said = last_line(&outcome.stderr).or_else(|| last_line(&outcome.stdout));
    let quoted = said.and_then(|line| boundary::screen(&line).ok()).map(|screened| screened.text);
    let text = match quoted.as_deref().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => format!("{name}: {ended}: {}", cut(line, QUOTE_MAX_BYTES)),
        None => format!("{name}: {ended}"),
    };
    cut(&text, 512).parse().ok()
}

fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// The first part of a text, of at most `max` bytes.
pub(super) fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

    fn shell(script: &str, progress_exit: Option<u8>) -> Validator {
        Validator {
            argv: ["/bin/sh", "-c", script].map(Into::into).to_vec(),
            progress_exit,
            timeout_ms: Duration::from_secs(20),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        }
    }

    fn run_all(validators: &[Validator]) -> Finding {
        let dir = tempfile::tempdir().unwrap();
        let token = Token::parse(&format!(
            "test.{}",
            dir.path().file_name().unwrap().to_str().unwrap().replace('.', "x")
        ))
        .unwrap();
        let finding = run(&mut Keeper::of(None), validators, dir.path(), &token, &mut |_| false).unwrap();
        assert!(process::alive_by_token(&token).unwrap().is_empty());
        finding
    }

    fn verdict(validators: &[Validator]) -> (VerdictOutcome, Option<i32>, String) {
        let finding = run_all(validators);
        let note = finding.note.map(|note| note.as_str().to_owned()).unwrap_or_default();
        (finding.outcome, finding.exit, note)
    }

    #[test]
    fn every_end_has_its_meaning() {
        use VerdictOutcome::{Failed, Inconclusive, Passed, Progress, Unchecked};
        assert_eq!(verdict(&[]).0, Unchecked);
        assert_eq!(verdict(&[shell("exit 0", None)]), (Passed, Some(0), String::new()));
        assert_eq!(verdict(&[shell("exit 3", Some(3)), shell("exit 0", None)]).0, Progress);
        let failed =
            verdict(&[shell("exit 0", None), shell("echo one; echo 'two at /home/ana/x' >&2; exit 3", None)]); // loopx:allow private_path
        assert_eq!(failed, (Failed, Some(3), "sh -c …: exit 3: two at [path]".to_owned()));
        for (script, what) in [
            ("exit 126", "exit 126: something it needs cannot be executed"),
            ("exit 127", "exit 127: something it needs is missing"),
            ("kill -9 $$", "killed by signal 9"),
        ] {
            let (outcome, _, note) = verdict(&[shell(script, Some(126))]);
            assert_eq!((outcome, note), (Inconclusive, format!("sh -c …: {what}")));
        }
        let missing = Validator { argv: vec!["/nowhere/check".into()], ..shell("", None) };
        assert_eq!(verdict(&[missing]), (Inconclusive, None, "check: the program is missing".to_owned()));
        let slow = Validator { timeout_ms: Duration::from_ms(50), ..shell("sleep 60", None) };
        assert_eq!(verdict(&[slow]), (Inconclusive, None, "sh -c …: no answer within 50 ms".to_owned()));
    }

    #[test]
    fn a_refusal_ends_the_row_and_a_credential_is_not_quoted() {
        let (outcome, exit, note) = verdict(&[
            shell("echo ghp_0123456789abcdefghijABCDEFGHIJ012345 >&2; exit 1", None),
            shell("exit 127", None),
        ]);
        assert_eq!((outcome, exit, note.as_str()), (VerdictOutcome::Failed, Some(1), "sh -c …: exit 1"));
    }

    #[test]
    fn nothing_of_the_environment_is_inherited() {
        let only = "env | grep -v '^PWD=\\|^_=\\|^SHLVL=\\|^OLDPWD=' | cut -d= -f1 | sort | tr '\\n' ' '";
        let finding = run_all(&[shell(only, None)]);
        assert_eq!(String::from_utf8_lossy(&finding.output), "[sh -c …: exit 0]\nLOOPX_CONTAINMENT PATH \n");
    }

    #[test]
    fn a_stop_ends_what_runs_and_is_no_verdict() {
        let dir = tempfile::tempdir().unwrap();
        let token = Token::parse("test.stopped").unwrap();
        let stopped =
            run(&mut Keeper::of(None), &[shell("sleep 60", None)], dir.path(), &token, &mut |_| true);
        assert!(stopped.is_none());
        assert!(process::alive_by_token(&token).unwrap().is_empty());
    }
}
