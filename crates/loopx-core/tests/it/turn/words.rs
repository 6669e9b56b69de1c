//! What a person is told around Turns: how a lost token is got over, who refused what, what is under way, and which command
//! comes next. What is printed as a command is run as it is printed.

use crate::desk::Desk;

/// The command that a text names after some words.
fn named(text: &str, before: &str) -> String {
    let found = text.lines().find_map(|line| line.split_once(before).map(|(_, rest)| rest));
    found.unwrap_or_else(|| panic!("no `{before}` in {text}")).to_owned()
}

/// Runs a printed command in a shell; what it printed, and whether it was accepted.
fn pasted(desk: &Desk, line: &str) -> (bool, String) {
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_loopx-core"));
    let output = desk.command("sh").args(["-c", &line]).output().unwrap();
    (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn a_token_that_was_lost_is_answered_with_a_stop_that_runs_as_it_is_printed() {
    for (standing, flag) in
        [("user:ana", &["--as", "agent:coder"][..]), ("agent:coder", &[]), ("", &["--as", "agent:coder"])]
    {
        for verb in [
            &["done", "ship-it.1"][..],
            &["renew", "ship-it.1"],
            &["defer", "ship-it.1", "--wake", "after:1h"],
        ] {
            for token in [&[][..], &["--own"]] {
                let desk = Desk::with_work();
                desk.ok(&["agent", "add", "other"]);
                desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
                let claimed = desk.ok(&["todo", "claim", "ship-it.2", "--as", "agent:other"]);
                let desk = desk.var("LOOPX_ACTOR", standing);
                let mut words = [&["todo"], verb, flag, token].concat();
                words.extend(token.iter().map(|_| claimed["own_id"].as_str().unwrap()));
                // when it is presented wrongly, or not at all
                let refused = desk.call(&words);
                assert_eq!(refused.exit, if token.is_empty() { 2 } else { 4 }, "{words:?} {refused:?}");
                assert!(refused.err.contains("a person stops its Turn"), "{refused:?}");
                // then what is named frees the Todo
                let hint = named(&refused.err, "hint: loopx-core ");
                assert!(hint.starts_with("turn stop trn_"), "{hint}");
                let (is_done, text) = pasted(&desk, &hint);
                assert!(is_done, "{words:?}: {hint}: {text}");
                let desk = desk.var("LOOPX_ACTOR", "agent:coder");
                desk.ok(&["todo", "claim", "ship-it.1"]);
            }
        }
    }
}

#[test]
fn a_token_of_what_another_agent_owns_is_no_reason_to_stop_its_turn() {
    let desk = Desk::with_work();
    desk.ok(&["agent", "add", "other"]);
    desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let refused = desk.call(&["todo", "renew", "ship-it.1", "--as", "agent:other"]);
    assert!(!refused.err.contains("turn stop"), "{refused:?}");
}
