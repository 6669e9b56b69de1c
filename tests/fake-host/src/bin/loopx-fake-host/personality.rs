//! Owns the personalities: their names, what each is for, and what each does.
//!
//! Knows nothing of how a Turn has to end under them; the README says it, and the tests of LoopX check it.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Options, children, odd, words};

/// Declares the personalities once: the variant, its name, and what it does.
macro_rules! personalities {
    ($($variant:ident $name:literal $does:literal;)*) => {
        /// One way to behave.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Personality {
            $($variant,)*
        }

        impl Personality {
            const ALL: &'static [(Self, &'static str, &'static str)] = &[$((Self::$variant, $name, $does),)*];
        }
    };
}

personalities! {
    Good "good" "does its work, prints one result, exits 0";
    Progress "progress" "does its work, and says that it is a part of it";
    NeedsUser "needs-user" "does nothing, and says that a person has to act";
    Wait "wait" "does nothing, and says that it has to wait";
    Lie "lie" "does nothing, and says that it is done";
    HangAfterResult "hang-after-result" "works, prints its result, and never exits";
    IgnoreTerm "ignore-term" "works, prints its result, never exits, and takes no TERM";
    Stall "stall" "is silent for ever";
    StallIgnoringTerm "stall-ignoring-term" "is silent for ever and takes no TERM";
    StopItself "stop-itself" "stops itself with SIGSTOP before it has done anything";
    CloseAndStall "close-and-stall" "closes stdout and stderr and goes on";
    ExitZero "exit-zero" "exits 0 without a result";
    ExitNonzero "exit-nonzero" "exits 7 without a result";
    ExitSignal "exit-signal" "kills itself without a result";
    HalfThenDies "half-then-dies" "prints half of its result and kills itself";
    HalfThenExits "half-then-exits" "prints half of its result and exits 0";
    ResultExitOne "result-exit-one" "works, prints its result, and exits 1";
    ResultThenDies "result-then-dies" "works, prints its result, and kills itself";
    TwoResults "two-results" "prints two results that contradict each other";
    KeyTwice "key-twice" "prints one result that has a key twice";
    OtherTurn "other-turn" "prints a result that names another Turn";
    OtherVersion "other-version" "prints a result of a version that does not exist";
    UnknownKey "unknown-key" "prints a result with a key that nobody reads";
    MissingKey "missing-key" "prints a result without its summary";
    WrongKind "wrong-kind" "prints a result of a kind that does not exist";
    WrongType "wrong-type" "prints a result whose summary is a number";
    LongText "long-text" "prints a result whose summary is too long";
    Credential "credential" "prints a result with a credential in its summary";
    InvalidUtf8 "invalid-utf8" "prints a result that is no UTF-8";
    NoJson "no-json" "prints a sentence";
    Chatty "chatty" "works, and prints a log line before its result";
    Drip "drip" "works, and prints its result byte by byte";
    Oversize "oversize" "prints one sound result of 70 KiB";
    FloodStdout "flood-stdout" "prints for ever";
    FloodStderr "flood-stderr" "works, prints 64 MiB to stderr, then its result";
    Fork "fork" "works, and leaves a child that holds its output open";
    Setsid "setsid" "works, and leaves a child in a session of its own";
    DoubleFork "double-fork" "works, and leaves a daemon: own session, no parent, no output, no environment";
    DoubleForkThenHang "double-fork-then-hang" "as double-fork, and never exits";
    Swarm "swarm" "works, and leaves eight children that start others until they are ended";
    WriteAfterResult "write-after-result" "prints its result, and does its work only then";
    WriteLate "write-late" "works, and leaves a child that writes into the tree later";
    WriteLateDaemon "write-late-daemon" "as write-late, by a daemon as in double-fork";
    ReportsRateLimit "reports-rate-limited" "reports that its provider slows it down";
    ReportsAuth "reports-auth-required" "reports that it is not signed in";
    ReportsNonsense "reports-nonsense" "reports a failure of a class that does not exist";
}

impl Personality {
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, its, _)| *its == name).map(|(personality, ..)| *personality)
    }
}

/// The help page.
pub(super) fn help() -> String {
    let mut text = "A host with one bad habit, for LoopX's generic command host.\n\n\
        Usage: loopx-fake-host PERSONALITY [--work FILE] [--late FILE] [--after-ms N] [--mark TEXT]\n       \
        loopx-fake-host --list\n\n\
        It reads one request from stdin and behaves as its name says.\n\n\
        --work FILE    the file that its work is, below the working folder (answer)\n\
        --late FILE    the file that is written too late (late)\n\
        --after-ms N   how long after the result that is (5000)\n\
        --mark TEXT    stands in the command line of every process of this run, and means nothing else\n\n\
        Personalities:\n"
        .to_owned();
    for (_, name, does) in Personality::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<24}{does}");
    }
    text + "\nWhatever it leaves behind ends by itself after two minutes.\n"
}

/// The names, one a line.
pub(super) fn list() -> String {
    Personality::ALL.iter().fold(String::new(), |all, (_, name, _)| all + name + "\n")
}

fn say(text: &impl ToString) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.to_string().as_bytes())?;
    stdout.flush()
}

fn work(options: &Options) -> io::Result<()> {
    File::create(&options.work)?.write_all(b"42\n")
}

/// What those print that do no work and exit 0.
fn words_of(personality: Personality, turn_key: &str) -> Option<Vec<u8>> {
    let kind = |kind: &str| words::result(turn_key, kind).to_string();
    let with = |changes: Value| words::with(turn_key, changes).to_string();
    let text = match personality {
        Personality::NeedsUser => kind("user_action_required"),
        Personality::Wait => kind("wait"),
        Personality::Lie => kind("validated_completion"),
        Personality::ExitZero => String::new(),
        Personality::HalfThenExits => words::half(turn_key),
        Personality::KeyTwice => words::key_twice(turn_key),
        Personality::OtherTurn => words::of_another_turn().to_string(),
        Personality::OtherVersion => with(json!({ "schema_version": "loopx_turn_result_v9" })),
        Personality::UnknownKey => with(json!({ "mood": "good" })),
        Personality::MissingKey => words::without(turn_key, "summary").to_string(),
        Personality::WrongKind => with(json!({ "result_kind": "accepted" })),
        Personality::WrongType => with(json!({ "summary": 7 })),
        Personality::LongText => with(json!({ "summary": "a".repeat(401) })),
        Personality::Credential => with(words::credential()),
        Personality::InvalidUtf8 => return Some(words::invalid_utf8(turn_key)),
        Personality::NoJson => "it went well\n".to_owned(),
        Personality::Oversize => words::oversize(turn_key),
        Personality::ReportsRateLimit => words::failure(turn_key, "rate_limited").to_string(),
        Personality::ReportsAuth => words::failure(turn_key, "auth_required").to_string(),
        Personality::ReportsNonsense => words::failure(turn_key, "bored").to_string(),
        _ => return None,
    };
    Some(text.into_bytes())
}

/// Behaves like this one.
pub(super) fn play(personality: Personality, turn_key: &str, options: &Options) -> io::Result<ExitCode> {
    if let Some(words) = words_of(personality, turn_key) {
        io::stdout().write_all(&words)?;
        return Ok(ExitCode::SUCCESS);
    }
    let completion = words::result(turn_key, "validated_completion");
    let done = || work(options).and_then(|()| say(&completion));
    match personality {
        Personality::Progress => {
            work(options)?;
            say(&words::result(turn_key, "validated_progress"))?;
        }
        Personality::HangAfterResult => {
            done()?;
            odd::stall();
        }
        Personality::IgnoreTerm => {
            odd::ignore_term()?;
            done()?;
            odd::stall();
        }
        Personality::Stall => odd::stall(),
        Personality::StallIgnoringTerm => {
            odd::ignore_term()?;
            odd::stall();
        }
        Personality::StopItself => {
            odd::signal_myself(Signal::STOP)?;
            odd::stall();
        }
        Personality::CloseAndStall => {
            odd::close_output()?;
            odd::stall();
        }
        Personality::ExitNonzero => return Ok(ExitCode::from(7)),
        Personality::ExitSignal => odd::signal_myself(Signal::KILL)?,
        Personality::HalfThenDies => {
            say(&words::half(turn_key))?;
            odd::signal_myself(Signal::KILL)?;
        }
        Personality::ResultExitOne => {
            done()?;
            return Ok(ExitCode::FAILURE);
        }
        Personality::ResultThenDies => {
            done()?;
            odd::signal_myself(Signal::KILL)?;
        }
        Personality::TwoResults => {
            done()?;
            say(&words::result(turn_key, "user_action_required"))?;
        }
        Personality::Chatty => {
            say(&"starting\n")?;
            done()?;
        }
        Personality::Drip => {
            work(options)?;
            odd::drip(&completion.to_string())?;
        }
        Personality::FloodStdout => odd::flood(&mut io::stdout(), u64::MAX),
        Personality::FloodStderr => {
            odd::flood(&mut io::stderr(), 64 * 1024 * 1024);
            done()?;
        }
        Personality::WriteAfterResult => {
            say(&completion)?;
            odd::pause(Duration::from_millis(300));
            work(options)?;
        }
        _ => {
            children::leave(personality, options)?;
            done()?;
            if personality == Personality::DoubleForkThenHang {
                odd::stall();
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::{Personality, help, list};

    #[test]
    fn every_personality_has_one_name_and_stands_in_help_and_readme() {
        let readme = include_str!("../../../README.md");
        let mut names: Vec<&str> = Personality::ALL.iter().map(|(_, name, _)| *name).collect();
        for (personality, name, _) in Personality::ALL {
            assert_eq!(Personality::named(name), Some(*personality));
            assert!(
                help().contains(&format!("  {name} ")) && list().contains(&format!("{name}\n")),
                "{name}"
            );
            assert!(readme.contains(&format!("| `{name}` |")), "{name} is not in the README");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Personality::ALL.len());
    }
}
