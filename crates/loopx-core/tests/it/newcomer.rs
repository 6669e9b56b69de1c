//! What somebody meets in the first hour: hints that run as they stand, words instead of codes, no empty question.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use crate::desk::{Desk, Ended};

/// Runs the command of an error's hint in a shell, as a person would.
fn hinted(desk: &Desk, ended: &Ended) -> Ended {
    let line = ended.err.lines().find_map(|line| line.strip_prefix("hint: loopx-core "));
    let line = line.unwrap_or_else(|| panic!("{ended:?}"));
    let output = desk
        .command("sh")
        .args(["-c", &format!("{} {line}", env!("CARGO_BIN_EXE_loopx-core"))])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ended { exit: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
}

#[test]
fn a_question_about_what_has_ended_waits_for_nobody() {
    let desk = Desk::with_work();
    let open = |blocks: &[&str]| {
        let mut words = vec!["gate", "open", "Which one?"];
        words.extend(blocks.iter().flat_map(|id| ["--blocks", id]));
        desk.ok(&words)["gate"]["gate_id"].as_str().unwrap().to_owned()
    };
    let (both, whole) = (open(&["ship-it.1", "ship-it.2"]), open(&["goal"]));
    let listed = || {
        let items = desk.ok(&["gate", "list"])["items"].clone();
        items
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["gate_id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    desk.ok(&["todo", "cancel", "ship-it.1", "--reason", "no"]);
    assert_eq!(listed(), [both.clone(), whole.clone()], "one of two is open still");
    desk.ok(&["todo", "cancel", "ship-it.2", "--reason", "no"]);
    assert_eq!(listed(), std::slice::from_ref(&whole));
    let status = desk.ok(&["status"])["goals"][0].clone();
    assert_eq!(status["gates"].as_array().unwrap().len(), 1);
    assert!(!status["attention"].to_string().contains(&both), "{status}");
    let shown = desk.ok(&["gate", "show", &both])["gate"].clone();
    assert_eq!((shown["state"].as_str(), shown["blocking"].as_bool()), (Some("open"), Some(false)));
    let text = desk.call(&["gate", "show", &both]).out;
    assert!(text.contains("nothing now: ship-it.1 ship-it.2 ended"), "{text}");
    assert_eq!(desk.ok(&["gate", "list", "--state", "open"])["items"].as_array().unwrap().len(), 2);
    // What comes back is blocked again.
    desk.ok(&["todo", "reopen", "ship-it.2"]);
    assert_eq!(listed(), [both, whole]);
}

#[test]
fn a_program_is_told_that_an_id_is_given_whole() {
    let desk = Desk::with_work();
    let gate = desk.ok(&["gate", "open", "?", "--blocks", "ship-it.1"])["gate"]["gate_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let short = &gate[gate.len() - 16..gate.len() - 8];
    let token = desk.ok(&["token", "list"])["items"][0]["token_id"].as_str().unwrap().to_owned();
    let start = &token[token.len() - 16..token.len() - 8];
    for (words, whole) in [
        (["gate", "show", short], Some(gate.as_str())),
        (["todo", "show", "1"], Some("ship-it.1")),
        (["todo", "show", "#2"], Some("ship-it.2")),
        (["todo", "show", "77"], None),
        (["token", "revoke", start], Some(&token)),
        (["turn", "show", short], None),
    ] {
        let error = desk.refused(&words, "invalid_id", 2);
        let message = error["message"].as_str().unwrap();
        let taken = "with --json no shorter one is taken";
        match whole {
            Some(id) => assert!(message.ends_with(&format!("{taken}; the whole one is {id}")), "{message}"),
            None => assert!(message.ends_with(taken), "{message}"),
        }
        assert_eq!(error["details"]["id"].as_str(), whole);
    }
}

#[test]
fn a_refusal_names_the_validator_with_its_arguments_and_an_owner_is_named() {
    let desk = Desk::with_work();
    desk.ok(&["todo", "add", "proved", "--validator", "test -s out.txt"]);
    let own = desk.ok(&["todo", "claim", "ship-it.4", "--as", "agent:coder"])["own_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let list = desk.call(&["todo", "list"]).out;
    let line = list.lines().find(|line| line.starts_with("ship-it.4")).unwrap();
    assert!(line.contains("owned") && line.contains("coder") && !line.contains("open"), "{line}");
    assert!(desk.call(&["todo", "show", "4"]).out.contains("state       owned"));
    let ended = desk.call(&["todo", "done", "ship-it.4", "--as", "agent:coder", "--own", &own]);
    assert!(ended.err.contains("test -s out.txt: exit 1"), "{ended:?}");
    assert!(desk.call(&["status"]).out.contains("refused by its validators"));
    let turns = desk.call(&["turn", "list"]).out;
    assert!(
        turns.starts_with("No Turn of ship-it is under way; the last one is failed")
            && turns.contains("--output\n"),
        "{turns}"
    );
    let failed = desk.call(&["turn", "list", "--state", "failed"]).out;
    assert!(failed.contains("failed, refused by its validators"), "{failed}");
}

#[test]
fn nobody_named_and_nothing_proven_are_answered_by_a_call_that_works() {
    let desk = Desk::with_work().var("LOOPX_ACTOR", "").var("USER", "ana");
    for words in [
        &["todo", "add", "it's \"quoted\" $HOME"][..],
        &["todo", "hold", "1"],
        &["todo", "claim", "2"],
        &["agent", "add", "other"],
    ] {
        let ended = desk.call(words);
        assert_eq!(ended.exit, 2, "{words:?}: {ended:?}");
        assert_eq!(hinted(&desk, &ended).exit, 0, "{words:?}: {ended:?}");
    }
    let titles = desk.ok(&["todo", "list"]).to_string();
    assert!(titles.contains("it's \\\"quoted\\\" $HOME"), "{titles}");

    let desk = desk.var("LOOPX_ACTOR", "user:ana");
    let gate = desk.ok(&["gate", "open", "Which?", "--blocks", "ship-it.3"])["gate"]["gate_id"]
        .as_str()
        .unwrap()
        .to_owned();
    for words in [
        &["gate", "resolve", &gate, "--answer", "this one"][..],
        &["token", "issue", "--actor", "agent:coder"],
        &["goal", "update", "--objective", "Ship it well"],
    ] {
        let ended = desk.call(words);
        assert!(ended.exit == 6 && ended.err.contains(" --token-file ~/"), "{words:?}: {ended:?}");
        assert_eq!(hinted(&desk, &ended).exit, 0, "{words:?}: {ended:?}");
    }
    // A token that proves somebody else is not offered.
    let ended = desk.call(&["goal", "stop", "--as", "user:ana"]);
    assert_eq!(ended.exit, 0, "{ended:?}");
    let ended = desk.call(&["goal", "resume", "--as", "user:bo"]);
    assert!(ended.exit == 6 && !ended.err.contains("--token-file ~"), "{ended:?}");
}

#[test]
fn a_slip_is_answered_with_what_was_meant() {
    let desk = Desk::with_work();
    for (words, wanted) in [
        (&["stauts"][..], "did you mean `status`?"),
        (&["todo", "lst"], "did you mean `list`?"),
        (&["todo", "add", "x", "--prio", "P1"], "did you mean `--priority`?"),
    ] {
        let ended = desk.call(words);
        assert!(ended.exit == 2 && ended.err.contains(wanted), "{ended:?}");
    }
}

#[test]
fn status_says_nothing_twice_and_labels_every_command() {
    let desk = Desk::with_work();
    desk.ok(&["todo", "add", "yours", "--kind", "action"]);
    desk.ok(&["todo", "add", "yours", "--kind", "action"]);
    desk.ok(&["gate", "open", "Which?", "--blocks", "goal"]);
    desk.ok(&["todo", "hold", "ship-it.2"]);
    desk.ok(&["todo", "block", "ship-it.3", "--reason", "no disk"]);
    for columns in ["80", "120", ""] {
        let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
        if !columns.is_empty() {
            command.env("COLUMNS", columns);
        }
        let out = String::from_utf8(command.arg("status").output().unwrap().stdout).unwrap();
        let mut lines: Vec<_> = out.lines().filter(|line| !line.is_empty()).collect();
        let first =
            lines.iter().position(|line| line.starts_with("next: ")).unwrap_or_else(|| panic!("{out}"));
        assert!(
            lines[first].contains("loopx-core gate resolve ") && lines[first].ends_with("user.token"),
            "{out}"
        );
        let all = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), all, "{out}");
    }
}

#[test]
fn fault_d07_a_hint_means_the_profile_that_was_named() {
    let desk = Desk::with_work();
    let lost = desk.refused(&["--profile", "p5", "todo", "list"], "not_found", 2);
    let hint = lost["hint"].as_str().unwrap();
    assert!(hint.ends_with(" --profile p5 init"), "{hint}");
    let lost = desk.refused(&["todo", "list", "--goal", "nope"], "not_found", 2);
    assert!(!lost["hint"].as_str().unwrap().contains("--profile"), "{lost}");
}

#[test]
fn an_init_that_is_repeated_by_its_operation_finds_its_receipt() {
    let desk = Desk::empty();
    let words = ["init", "--goal", "Ship it", "--op-id", "begin"];
    let first = desk.ok(&words);
    assert_eq!((&first["created"], &first["receipt"]["replayed"]), (&true.into(), &false.into()));
    let again = desk.ok(&words);
    assert_eq!((&again["created"], &again["receipt"]["replayed"]), (&false.into(), &true.into()));
    assert_eq!(again["receipt"]["digest"], first["receipt"]["digest"]);
    assert_eq!(again["goal"]["goal_id"], "ship-it");
    // without it the Goal is found, and there is nothing to show a receipt of
    assert!(desk.ok(&["init", "--goal", "Ship it"])["receipt"].is_null());
    desk.refused(&["init", "--goal", "Another", "--op-id", "begin"], "operation_conflict", 4);
    assert_eq!(desk.ok(&["goal", "list"])["items"].as_array().unwrap().len(), 1);
}

#[test]
fn an_init_with_the_name_of_a_goal_binds_to_it() {
    let desk = Desk::with_work();
    desk.ok(&["goal", "start", "Something else", "--id", "calc"]);
    let bound = desk.ok(&["init", "--goal", "calc"]);
    assert_eq!((&bound["goal"]["goal_id"], &bound["created"]), (&"calc".into(), &false.into()), "{bound}");
    assert_eq!(desk.ok(&["goal", "list"])["items"].as_array().map(Vec::len), Some(2));
    // and the folder says what it was bound to before
    let back = desk.call(&["init", "--goal", "ship-it"]);
    assert!(back.out.contains("it was bound to the Goal calc before"), "{}", back.out);
}

#[test]
fn regress_whoever_claims_as_a_person_is_shown_the_call_of_an_agent() {
    let desk = Desk::with_work();
    let refused = desk.call(&["todo", "claim", "2"]);
    assert!(refused.exit == 6 && refused.err.contains("user:ana may not use `todo claim`"), "{refused:?}");
    assert!(refused.err.contains("hint: loopx-core todo claim 2 --as agent:coder"), "{refused:?}");
    let claimed = hinted(&desk, &refused);
    assert_eq!(claimed.exit, 0, "{claimed:?}");
    let own = claimed.out.lines().find_map(|line| line.strip_prefix("own_id ")).unwrap().to_owned();
    // An ownership that has ended is taken up again by the call that is shown.
    let agent = ["--as", "agent:coder"];
    let words = |words: &[&str]| [words, &["--own", &own], &agent[..]].concat().join(" ");
    let call = |line: &str| desk.call(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(call(&words(&["todo", "release", "2"])).exit, 0);
    let late = call(&words(&["todo", "renew", "2"]));
    assert!(
        late.exit == 4 && late.err.contains("hint: loopx-core todo claim ship-it.2 --as agent:coder"),
        "{late:?}"
    );
    assert_eq!(hinted(&desk, &late).exit, 0, "{late:?}");
    // A name that the call itself gives is not replaced in it.
    let named = desk.call(&["todo", "claim", "3", "--as", "user:bo"]);
    assert!(named.exit == 6 && named.err.contains("hint: loopx-core agent list"), "{named:?}");
}

#[test]
fn regress_an_option_after_the_end_of_options_is_told_where_it_belongs() {
    let desk = Desk::with_work();
    let refused = desk.call(&["status", "--", "--json"]);
    assert_eq!(refused.exit, 2);
    assert!(
        refused.err.contains("after `--` nothing is an option, so `--json` goes before it"),
        "{refused:?}"
    );
    assert!(!refused.err.contains("did you mean"), "{refused:?}");
}

#[test]
fn regress_a_history_in_a_narrow_window_keeps_what_happened() {
    let desk = Desk::with_work().var("COLUMNS", "60");
    let title = "a title that is much longer than what is left of a narrow window beside the time";
    desk.ok(&["todo", "add", title]);
    let log = desk.call(&["log"]).out;
    assert!(log.lines().all(|line| line.chars().count() <= 60), "{log}");
    assert!(!log.contains('…'), "{log}");
    let words: Vec<&str> = log.split_whitespace().collect();
    assert!(title.split(' ').all(|word| words.contains(&word)), "{log}");
    // In a narrower one it stands below its row.
    let narrow = desk.var("COLUMNS", "40").call(&["log"]).out;
    assert!(narrow.lines().all(|line| line.chars().count() <= 40) || !narrow.contains('…'), "{narrow}");
}
