//! What a call touches, as the system sees it.
#![cfg(target_os = "linux")]

use crate::desk::{Desk, has, skipped};

/// The system calls of one call, or none where nothing can be traced.
#[expect(clippy::unwrap_used, reason = "a tracer that is there and does not start fails the test")]
fn traced(desk: &Desk, words: &[&str]) -> Option<String> {
    let trace = desk.path("trace");
    let mut strace = desk.command("strace");
    strace.args(["-f", "-o"]).arg(&trace).arg(env!("CARGO_BIN_EXE_loopx-core")).args(words).output().unwrap();
    match std::fs::read_to_string(&trace) {
        Ok(text) if text.contains("exit_group") => Some(text),
        _ => {
            skipped("strace cannot trace here");
            None
        }
    }
}

fn calls(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.split_whitespace().nth(1)).collect()
}

#[test]
fn help_listing_and_an_unknown_command_open_no_database_no_socket_and_start_nothing() {
    let desk = Desk::empty();
    if !has(&desk, "strace") {
        return;
    }
    let all = [
        &["--help"][..],
        &["--version"],
        &["todo", "--help"],
        &["stauts"],
        &["todo", "add"],
        &["todo", "claim", "--help"],
        &["man"],
        &["completions", "bash"],
    ];
    for words in all {
        let Some(text) = traced(&desk, words) else { return };
        let calls = calls(&text);
        assert_eq!(calls.iter().filter(|call| call.starts_with("execve(")).count(), 1, "{words:?}");
        for call in
            ["socket(", "connect(", "fork(", "vfork(", "clone(", "clone3(", "mkdir(", "rename(", "unlink("]
        {
            assert!(!calls.iter().any(|made| made.starts_with(call)), "{words:?} calls {call}");
        }
        assert!(!text.contains(".db") && !text.contains(".toml"), "{words:?}");
        assert!(!desk.profile().exists());
    }
}

#[test]
fn a_read_starts_nothing_and_opens_the_ledger_for_reading_alone() {
    let desk = Desk::with_work();
    if !has(&desk, "strace") {
        return;
    }
    let all = [
        &["status"][..],
        &["todo", "list"],
        &["log"],
        &["doctor"],
        &["find", "one"],
        &["next", "--agent", "coder"],
        &["why"],
        &["why", "ship-it.1"],
        &["metrics"],
    ];
    for words in all {
        let Some(text) = traced(&desk, words) else { return };
        let calls = calls(&text);
        assert_eq!(calls.iter().filter(|call| call.starts_with("execve(")).count(), 1, "{words:?}");
        for call in ["socket(", "fork(", "vfork(", "mkdir(", "rename(", "unlink(", "fsync(", "fdatasync("] {
            assert!(!calls.iter().any(|made| made.starts_with(call)), "{words:?} calls {call}");
        }
        let ledger = text.lines().filter(|line| line.contains("authority.db\"") && line.contains("openat("));
        assert!(
            ledger.clone().count() > 0 && ledger.clone().all(|line| line.contains("O_RDONLY")),
            "{words:?}: {text}"
        );
    }
}
