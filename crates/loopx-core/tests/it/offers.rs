//! What a write names as the next command is accepted in the state that the write left, and a hint survives a shell.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use crate::desk::{Desk, Ended};

/// What stands for a word of the person's own, and a word in its place.
const PLACEHOLDERS: &[(&str, &str)] =
    &[("<TITLE>", "'another thing'"), ("<TEXT>", "'as it is'"), ("<AGENT>", "writer")];

/// The commands that an answer names: what follows the program's name, between backquotes or to the line's end.
fn named(out: &str) -> Vec<String> {
    let commands = out.lines().flat_map(|line| {
        line.match_indices("loopx-core ").map(|(place, found)| {
            let rest = &line[place + found.len()..];
            let is_quoted = line[..place].ends_with('`');
            let end = if is_quoted { rest.find('`').unwrap() } else { rest.len() };
            rest[..end].to_owned()
        })
    });
    commands.collect()
}

/// Runs a line in a shell, as a person would who pastes it; the placeholders are filled in.
fn pasted(desk: &Desk, line: &str) -> Ended {
    let filled = PLACEHOLDERS.iter().fold(line.to_owned(), |line, (name, value)| line.replace(name, value));
    let line = format!("{} {filled}", env!("CARGO_BIN_EXE_loopx-core"));
    let output = desk.command("sh").args(["-c", &line]).output().unwrap();
    Ended {
        exit: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The command of an error's hint.
fn hinted(ended: &Ended) -> String {
    let hint = ended.err.lines().find_map(|line| line.strip_prefix("hint: loopx-core "));
    hint.unwrap_or_else(|| panic!("{ended:?}")).to_owned()
}

/// Calls that lead to a state, a write in it, and what the write names.
type Row =
    (&'static str, &'static [&'static [&'static str]], &'static [&'static str], &'static [&'static str]);

const GOAL: &[&str] = &["init", "--goal", "Ship it"];
const CODER: &[&str] = &["agent", "add", "coder"];
const ADD: &[&str] = &["todo", "add", "one"];
const CLOSE: &[&str] = &["goal", "close", "--abandoned", "--reason", "enough"];

const ROWS: &[Row] = &[
    ("a new folder", &[], &["init"], &["init --goal <TITLE>"]),
    ("a new Goal", &[], GOAL, &["todo add <TITLE>"]),
    ("a Goal again", &[GOAL], GOAL, &["todo add <TITLE>"]),
    ("a closed Goal", &[GOAL, CLOSE], &["init"], &["init --goal <TITLE>", "goal reopen ship-it"]),
    ("a closed Goal by its title", &[GOAL, CLOSE], GOAL, &["init --goal <TITLE>", "goal reopen ship-it"]),
    ("a stopped Goal", &[GOAL, &["goal", "stop"]], &["init"], &["todo add <TITLE>"]),
    ("a second Goal", &[GOAL], &["goal", "start", "Second"], &["todo add <TITLE> --goal second"]),
    ("nobody to take a Todo", &[GOAL], ADD, &["agent add <AGENT> --goal ship-it"]),
    ("somebody to take it", &[GOAL, CODER], ADD, &["todo claim ship-it.1 --as agent:coder"]),
    ("a stopped Goal's Todo", &[GOAL, CODER, &["goal", "stop"]], ADD, &["goal resume ship-it"]),
    ("a Todo on hold", &[GOAL, CODER], &["todo", "add", "one", "--hold"], &[]),
    ("a Todo that waits", &[GOAL, CODER, ADD], &["todo", "add", "two", "--depends-on", "1"], &[]),
    ("a Todo behind a question", &[GOAL, CODER, &["gate", "open", "Which?", "--blocks", "goal"]], ADD, &[]),
    ("a Todo that no agent can do", &[GOAL, CODER], &["todo", "add", "one", "--capability", "browser"], &[]),
    ("a person's Todo", &[GOAL, CODER], &["todo", "add", "one", "--kind", "action"], &[]),
    ("an agent without work", &[GOAL], CODER, &["turn plan --agent coder --goal ship-it"]),
    ("an agent with work", &[GOAL, ADD], CODER, &["todo claim ship-it.1 --as agent:coder"]),
    (
        "an agent of a stopped Goal",
        &[GOAL, ADD, &["goal", "stop"]],
        CODER,
        &["turn plan --agent coder --goal ship-it"],
    ),
    (
        "an approval",
        &[GOAL, ADD],
        &["gate", "open", "May it?", "--kind", "approval", "--blocks", "1"],
        &["gate resolve GATE --approve"],
    ),
    (
        "a decision",
        &[GOAL, ADD],
        &["gate", "open", "Which?", "--blocks", "1"],
        &["gate resolve GATE --answer <TEXT>"],
    ),
    (
        "a choice",
        &[GOAL, ADD],
        &["gate", "open", "Which?", "--blocks", "1", "--option", "the $1 'one'"],
        &["gate resolve GATE --answer '$1'"],
    ),
];

#[test]
fn what_a_write_names_as_the_next_command_is_accepted() {
    for (name, before, write, wanted) in ROWS {
        let desk = Desk::empty();
        for words in *before {
            if words[0] == "goal" && words[1] == "close" {
                desk.proven(words);
            } else {
                desk.ok(words);
            }
        }
        let ended = desk.call(write);
        assert_eq!(ended.exit, 0, "{name}: {ended:?}");
        let commands = named(&ended.out);
        assert_eq!(commands.len(), wanted.len(), "{name}: {ended:?}");
        for (command, wanted) in commands.iter().zip(*wanted) {
            // An id is minted, and a shell's quotes are its own business.
            let is_gate = wanted.contains("GATE") && command.starts_with("gate resolve ");
            assert!(is_gate || command == wanted, "{name}: {command}");
            let ran = pasted(&desk, command);
            let proof = ran.exit == 6 && ran.err.contains(" --token-file ");
            let ran = if proof { pasted(&desk, &hinted(&ran)) } else { ran };
            assert_eq!(ran.exit, 0, "{name}: {command}: {ran:?}");
        }
    }
}

#[test]
fn a_claim_names_how_it_is_finished() {
    let desk = Desk::empty();
    for words in [GOAL, CODER, &["todo", "add", "one", "--validator", "true"]] {
        desk.ok(words);
    }
    let claimed = desk.call(&["todo", "claim", "1", "--as", "agent:coder"]);
    let commands = named(&claimed.out);
    assert_eq!(commands.len(), 1, "{claimed:?}");
    assert_eq!(pasted(&desk, &commands[0]).exit, 0, "{claimed:?}");
}

#[test]
fn a_hint_is_read_back_by_a_shell_whatever_the_home_is_called() {
    for name in ["plain", "two words", "it's \"so\"", "$HOME `id` *", "-x;y&z", "日本"] {
        for variable in ["HOME", "XDG_DATA_HOME", "LOOPX_HOME"] {
            let desk = Desk::empty();
            let home = desk.path("tmp").join(name);
            std::fs::create_dir(&home).unwrap();
            let desk = desk.var(variable, home.to_str().unwrap());
            for words in [GOAL, CODER, ADD] {
                desk.ok(words);
            }
            let ended = desk.call(&["goal", "update", "--objective", "it's $HOME, \"quoted\""]);
            assert_eq!(ended.exit, 6, "{variable}={name}: {ended:?}");
            let ran = pasted(&desk, &hinted(&ended));
            assert_eq!(ran.exit, 0, "{variable}={name}: {ended:?} {ran:?}");
            let goal = desk.ok(&["goal", "show"])["goal"]["objective"].clone();
            assert_eq!(goal, "it's $HOME, \"quoted\"");
            // The place itself is not shown.
            assert!(name == "plain" || !ended.err.contains(name), "{ended:?}");
        }
    }
}

#[test]
fn an_answer_that_a_gate_does_not_take_is_told_which_it_takes() {
    let desk = Desk::with_work();
    let open = |words: &[&str]| {
        let all = [&["gate", "open", "Go?", "--blocks", "ship-it.1"], words].concat();
        desk.ok(&all)["gate"]["gate_id"].as_str().unwrap().to_owned()
    };
    let (approval, decision) =
        (open(&["--kind", "approval"]), open(&["--option", "left", "--option", "right"]));
    let token = desk.token_file();
    let resolve = |gate: &str, words: &[&str]| {
        let words = [&["gate", "resolve", gate], words, &["--token-file", &token]].concat();
        desk.refused(&words, "invalid_transition", 4)
    };
    let error = resolve(&approval, &["--answer", "yes"]);
    let message = error["message"].as_str().unwrap();
    assert!(message.ends_with("is approved, denied or deferred; it takes no other answer"), "{message}");
    assert!(error["hint"].as_str().unwrap().ends_with(" --approve"), "{error}");
    for switch in ["--approve", "--deny"] {
        let error = resolve(&decision, &[switch]);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.ends_with("is answered or deferred; there is nothing to approve or deny"),
            "{message}"
        );
        assert!(error["hint"].as_str().unwrap().ends_with(" --answer left"), "{error}");
    }
}

#[test]
fn a_moment_that_a_program_reads_is_named_with_its_unit() {
    let desk = Desk::with_work();
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let own = claimed["own_id"].as_str().unwrap();
    desk.json(&["todo", "done", "ship-it.1", "--as", "agent:coder", "--own", own]);
    std::fs::write(desk.folder().join("a.txt"), "it works").unwrap();
    desk.ok(&["evidence", "add", "a.txt", "--kind", "file", "--criterion", "1"]);
    desk.ok(&["gate", "open", "Which?", "--blocks", "ship-it.2"]);
    desk.ok(&["todo", "add", "look", "--kind", "monitor", "--every", "1h"]);
    desk.ok(&["todo", "defer", "ship-it.3", "--wake", "after:2h"]);
    let turn = claimed["turn_id"].as_str().unwrap();
    let mut seen = 0;
    for words in [
        &["status", "--agent", "coder"][..],
        &["goal", "show"],
        &["goal", "list"],
        &["todo", "list"],
        &["todo", "show", "ship-it.1"],
        &["todo", "show", "ship-it.3"],
        &["todo", "show", "ship-it.4"],
        &["turn", "show", turn],
        &["turn", "list", "--state", "held"],
        &["turn", "plan", "--agent", "coder"],
        &["evidence", "list"],
        &["gate", "list"],
        &["agent", "list"],
        &["token", "list"],
        &["log"],
        &["todo", "add", "more"],
    ] {
        moments(&desk.ok(words), words, &mut seen);
    }
    assert!(seen > 30, "{seen}");
}

/// Checks the name of each number that can only be a moment. `after` is a word of `wake`, not a field of ours.
fn moments(value: &serde_json::Value, words: &[&str], seen: &mut u32) {
    match value {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            if value.as_i64().is_some_and(|number| number > 1_000_000_000_000) {
                *seen += 1;
                assert!(name.ends_with("_ms") || name == "after", "{words:?}: {name}");
            }
            moments(value, words, seen);
        }),
        serde_json::Value::Array(items) => items.iter().for_each(|item| moments(item, words, seen)),
        _ => {}
    }
}
