//! A write whose answer cannot be printed: what stands is named, and shown again when it is asked for.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]
#![cfg(target_os = "linux")]

use std::process::Stdio;

use crate::desk::Desk;

/// Exit code and stderr of a call whose stdout is a full disk.
fn on_a_full_disk(desk: &Desk, words: &[&str]) -> (i32, String) {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
    let ended = command.args(words).stdout(full).output().unwrap();
    (ended.status.code().unwrap(), String::from_utf8(ended.stderr).unwrap())
}

/// Runs the command of the hint.
fn hinted(desk: &Desk, err: &str) -> serde_json::Value {
    let line = err.lines().find_map(|line| line.strip_prefix("hint: loopx-core ")).unwrap();
    let output = desk
        .command("sh")
        .args(["-c", &format!("{} {line} --json", env!("CARGO_BIN_EXE_loopx-core"))])
        .output();
    serde_json::from_slice(&output.unwrap().stdout).unwrap()
}

#[test]
fn regress_a_write_that_cannot_be_printed_names_its_operation_and_how_to_see_it() {
    let desk = Desk::with_work();
    for words in [
        &["todo", "add", "it's a title"][..],
        &["todo", "add", "named", "--op-id", "mine-1"],
        &["todo", "add", "for a program", "--json"],
        &["todo", "claim", "ship-it.1", "--as", "agent:coder"],
    ] {
        let events = desk.events();
        let (exit, err) = on_a_full_disk(&desk, words);
        assert_eq!(exit, 7, "{err}");
        assert!(desk.events() > events, "{words:?}");
        let shown = hinted(&desk, &err.replace(" --json", ""));
        let id = shown["receipt"]["operation_id"].as_str().unwrap();
        assert!(
            err.contains(&format!("the operation {id} was written")) && shown["receipt"]["replayed"] == true,
            "{err}"
        );
        assert!(!words.contains(&"mine-1") || id == "mine-1");
    }
    // A read has nothing to name.
    let (exit, err) = on_a_full_disk(&desk, &["status"]);
    assert_eq!((exit, err.as_str()), (7, "error: the answer could not be written to stdout\n"));
}

#[test]
fn regress_a_refused_result_that_cannot_be_printed_names_its_operation_too() {
    let desk = Desk::with_work();
    desk.ok(&["todo", "add", "never", "--validator", "false"]);
    let own = desk.ok(&["todo", "claim", "ship-it.4", "--as", "agent:coder"])["own_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let words = ["todo", "done", "ship-it.4", "--as", "agent:coder", "--own", &own, "--json"];
    let (exit, err) = on_a_full_disk(&desk, &words);
    assert!(exit == 7 && err.contains("was written; repeated with its id"), "{exit} {err}");
    assert_eq!(hinted(&desk, &err.replace(" --json", ""))["error"]["code"], "validation_failed");
}

#[test]
fn a_write_into_a_closed_pipe_is_a_quiet_exit() {
    let desk = Desk::with_work();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
    let ended =
        command.args(["todo", "add", "x", "--json"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.len()), (Some(0), 0));
    assert_eq!(desk.ok(&["todo", "list"])["items"].as_array().unwrap().len(), 4);
}
