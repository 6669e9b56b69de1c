//! What is printed can be run as it stands by whoever it is printed for, and fits the width it is printed in.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use crate::desk::Desk;

const GATE: &[&str] = &["gate", "open", "May it?", "--kind", "approval", "--blocks", "ship-it.1"];

/// What a call prints in so many columns.
fn wide(desk: &Desk, columns: u16, words: &[&str]) -> String {
    let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
    let output = command.args(words).env("COLUMNS", columns.to_string()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The command that a text names after some words.
fn named(text: &str, before: &str) -> String {
    let found = text.lines().find_map(|line| line.strip_prefix(before));
    found.unwrap_or_else(|| panic!("no `{before}` in {text}")).to_owned()
}

/// Runs a line in a shell; whether it was accepted.
fn pasted(desk: &Desk, line: &str) -> bool {
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_loopx-core"));
    desk.command("sh").args(["-c", &line]).output().unwrap().status.success()
}

#[test]
fn a_persons_command_off_a_terminal_runs_as_it_is_printed() {
    for (at, before) in
        [(0, "a person answers: loopx-core "), (1, "next: loopx-core "), (2, "next: loopx-core ")]
    {
        let desk = Desk::with_work();
        desk.ok(&["todo", "cancel", "ship-it.2", "--reason", "no"]);
        desk.ok(&["todo", "cancel", "ship-it.3", "--reason", "no"]);
        let said = [
            desk.call(GATE).out,
            desk.call(&["status"]).out,
            desk.call(&["turn", "plan", "--agent", "coder"]).out,
        ];
        let command = named(&said[at], before);
        assert!(command.contains("--approve --token-file ~/"), "{command}");
        assert!(pasted(&desk, &command), "{command}");
        let state = desk.ok(&["gate", "list", "--state", "approved"])["items"].as_array().unwrap().len();
        assert_eq!(state, 1, "{command}");
    }
}

#[test]
fn an_agent_is_told_that_a_persons_command_is_not_its_own() {
    let desk = Desk::with_work();
    desk.call(GATE);
    let agent = desk.var("LOOPX_ACTOR", "agent:coder");
    let text = agent.call(&["status"]).out;
    assert!(text.contains("--approve  # a person's: on a terminal, or with --token-file FILE"), "{text}");
    assert!(!text.contains("user.token"), "{text}");
}

#[test]
fn who_was_named_by_a_flag_is_named_again_in_what_leads_on() {
    let desk = Desk::with_work().var("LOOPX_ACTOR", "");
    let ended =
        desk.call(&["turn", "run", "--agent", "coder", "--host", "true", "--todo", "9", "--as", "user:bob"]);
    assert!(!ended.err.contains("todo list --as"), "a look asks nobody: {ended:?}");
    let looped = ["loop", "run", "--agent", "coder", "--host", "false", "--turns", "1", "--as", "user:bob"];
    let ended = desk.call(&[&looped[..], &["--no-wait", "--op-id", "first"]].concat());
    let again = named(&ended.err, "afterwards: loopx-core ");
    assert_eq!(again, "loop run --agent coder --host false --turns 1 --as user:bob --no-wait");
    // What a refusal names asks for an actor too, and it is the same one.
    for id in ["ship-it.1", "ship-it.2", "ship-it.3"] {
        desk.ok(&["todo", "cancel", id, "--reason", "no", "--as", "user:bob"]);
    }
    desk.ok(&["todo", "add", "later", "--blocked", "no key", "--as", "user:bob"]);
    let run = ["turn", "run", "--agent", "coder", "--host", "true", "--as", "user:bob"];
    let hint = named(&desk.call(&run).err, "hint: loopx-core ");
    assert_eq!(hint, "todo unblock ship-it.4 --as user:bob");
}

#[test]
fn nothing_essential_is_lost_in_a_narrow_place() {
    let desk = Desk::with_work();
    desk.ok(&["config", "set", "turn.attempts", "1"]);
    desk.call(&["turn", "run", "--todo", "1", "--agent", "coder", "--host", "false"]);
    let listed = desk.ok(&["turn", "list", "--state", "failed"]);
    let id = listed["items"][0]["turn_id"].as_str().unwrap().to_owned();
    let show = ["turn", "show", id.as_str()];
    let rows: [(&[&str], &[&str]); 3] = [
        (
            &["doctor"],
            &["its pages fit each other; schema 1; this release reads and writes 1", "where it was"],
        ),
        (&["turn", "list", "--state", "failed"], &["failed, the host crashed", "ship-it.1", "coder"]),
        (&show, &["ship-it.1 claimed by coder, Turn 1", "attempt 1 started with command", "/dispatch.1"]),
    ];
    for columns in [60, 80, 120, 200] {
        for (words, kept) in rows {
            let text = wide(&desk, columns, words);
            let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for part in kept {
                assert!(joined.contains(part), "{columns} {words:?} has no `{part}`: {text}");
            }
            for line in text.lines() {
                // A command is never broken.
                let fits = line.chars().count() <= usize::from(columns) || line.contains("loopx-core ");
                assert!(fits, "{columns} {words:?}: {line}\n{text}");
            }
        }
    }
}
