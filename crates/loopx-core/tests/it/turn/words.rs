//! What a person is told around Turns: how a lost token is got over, who refused what, what is under way, and which command
//! comes next. What is printed as a command is run as it is printed.

use std::fs;

use super::{
    place::{Place, REPORT, until, until_let_go},
    snapshots::git,
};
use crate::desk::Desk;

/// What a call tells a person, on both streams.
pub(super) fn said(place: &Place, actor: &str, words: &[&str]) -> String {
    let output = place.plain(actor, words).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// A text whose lines are not told apart, as a narrow place would break them anyhow.
pub(super) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

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

#[test]
fn a_proof_that_is_only_tried_looks_at_all_goals_as_the_proof_does() {
    let place = Place::new("exit 0");
    place.call("user:ana", &["goal", "start", "another", "--id", "h"]).ok();
    for goal in ["g", "h"] {
        place.plain("user:ana", &["agent", "add", "c", "--goal", goal]).output().unwrap();
        place.plain("user:ana", &["todo", "add", "it", "--goal", goal]).output().unwrap();
    }
    let tried = || said(&place, "user:ana", &["turn", "recover", "--prove", "--dry-run"]);
    assert!(tried().contains("nothing on this machine waits for a proof"), "{}", tried());
    place.own("agent:a");
    let claimed =
        place.plain("agent:c", &["todo", "claim", "h.1", "--goal", "h", "--json"]).output().unwrap();
    assert!(claimed.status.success(), "{claimed:?}");
    let text = tried();
    assert!(text.contains("g.1") && text.contains("h.1"), "{text}");
    let one = said(&place, "user:ana", &["turn", "recover", "--prove", "--dry-run", "--goal", "h"]);
    assert!(!one.contains("g.1") && one.contains("h.1"), "{one}");
}

#[test]
fn what_a_validator_said_is_shown_and_not_the_words_that_it_refused() {
    let place = Place::new("echo tests are red >&2; exit 1");
    place.host("true");
    place.call("user:ana", &place.run("op"));
    for words in [&["status", "--goal", "g"][..], &["turn", "list", "--todo", "g.1", "--goal", "g"]] {
        let text = flat(&said(&place, "user:ana", words));
        assert!(text.contains("sh check.sh: exit 1: tests are red"), "{words:?} {text}");
        assert!(!text.contains("it is done"), "the agent's words stand: {words:?} {text}");
    }
}

#[test]
fn a_turn_whose_driver_is_gone_is_listed_as_status_has_it() {
    let place = Place::new("exit 0");
    place.host(&until_let_go("true"));
    let mut driver = place.start("user:ana", &place.run("op"), &[]);
    until("the host works", || place.root().join("began").exists());
    let list = || flat(&said(&place, "user:ana", &["turn", "list", "--goal", "g"]));
    let words = "what drove the Turn on g.1 is gone";
    assert!(list().contains("dispatched") && !list().contains(words), "{}", list());
    driver.kill().unwrap();
    driver.wait().unwrap();
    assert!(said(&place, "user:ana", &["status", "--goal", "g"]).contains(words));
    assert!(list().contains(words), "{}", list());
    let listed = place.call("user:ana", &["turn", "list"]).ok();
    assert_eq!(listed.text("/items/0/left"), words);
    fs::write(place.root().join("go"), "").unwrap();
    place.call("user:ana", &["turn", "recover", &place.turn_id(), "--resume"]).ok();
}

#[test]
fn a_list_without_a_turn_under_way_names_what_is_worth_a_look() {
    let place = Place::new("exit 1");
    let list = || said(&place, "user:ana", &["turn", "list", "--goal", "g"]);
    let next = |text: &str| named(text, "next: loopx-core ");
    let runs = |command: &str| {
        let words: Vec<&str> = command.split(' ').collect();
        let text = said(&place, "user:ana", &words);
        assert!(!text.contains("error:") && !text.contains("no such Turn"), "{command}: {text}");
        text
    };
    assert_eq!(next(&list()), "status --goal g");
    runs(&next(&list()));
    place.host("true");
    place.call("user:ana", &place.run("op"));
    assert_eq!(next(&list()), format!("turn show {} --output", place.turn_id()));
    assert!(list().contains("the last one is failed, refused by its validators"), "{}", list());
    assert!(runs(&next(&list())).contains("sh check.sh"));
    place.script("check.sh", "exit 0");
    place.call("user:ana", &place.run("again")).ok();
    assert_eq!(next(&list()), "turn list --state settled --goal g");
    assert!(runs(&next(&list())).contains("g.1"));
}

#[test]
fn a_host_that_printed_nothing_is_told_from_one_whose_words_are_not_here() {
    let place = Place::new("exit 0");
    place.script("host.sh", "cat > /dev/null");
    place.call("user:ana", &place.run("op"));
    let shown = said(&place, "user:ana", &["turn", "show", &place.turn_id(), "--output", "--goal", "g"]);
    assert!(shown.contains("it printed nothing\n"), "{shown}");
    assert!(!shown.contains("nothing was kept"), "{shown}");
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id(), "--output"]).ok();
    assert_eq!(shown.text("/output/0/ending/ended"), "exit 0");
    // so is a validator that says nothing
    let silent = Place::new("exit 0");
    silent.host("true");
    silent.call("user:ana", &silent.run("op")).ok();
    let shown = said(&silent, "user:ana", &["turn", "show", &silent.turn_id(), "--output", "--goal", "g"]);
    assert!(shown.contains("they printed nothing\n"), "{shown}");
    // what was kept and is gone leaves no guess
    for name in ["private.db", "private.db-wal", "private.db-shm"] {
        let _ = fs::remove_file(place.root().join("home/profiles/default").join(name));
    }
    let shown = said(&place, "user:ana", &["turn", "show", &place.turn_id(), "--output", "--goal", "g"]);
    assert!(shown.contains("what it printed is not kept here"), "{shown}");
    assert!(!shown.contains("it printed nothing"), "{shown}");
}

#[test]
fn an_approved_result_that_has_to_be_proved_again_names_the_command_that_does_it() {
    let place = Place::bare();
    git(&place.tree(), &["init", "-q"]);
    place.host("echo 2 > a");
    place.call("user:ana", &place.run("op"));
    let turn = place.turn_id();
    let asked = place.call("user:ana", &["gate", "list"]).ok();
    let gate = asked.text("/items/0/gate_id").to_owned();
    fs::write(place.tree().join("a"), "mine\n").unwrap();
    let text = said(&place, "proven:ana", &["gate", "resolve", &gate, "--approve", "--goal", "g"]);
    let command = format!("turn recover {turn} --resume");
    assert_eq!(named(&text, "next: loopx-core "), command, "{text}");
    let status = said(&place, "user:ana", &["status", "--goal", "g"]);
    // the same one, by the short form of its id
    let short = named(&status, "next: loopx-core ");
    assert!(short.starts_with("turn recover ") && short.ends_with(" --resume"), "{status}");
    let words: Vec<&str> = short.split(' ').collect();
    let done = said(&place, "user:ana", &words);
    assert_eq!(place.turns()[0]["state"], "settled", "{done}");
}

#[test]
fn a_folders_own_goal_stands_first() {
    let desk = Desk::with_work();
    desk.ok(&["goal", "start", "Another", "--id", "another"]);
    let text = desk.call(&["status"]).out;
    assert!(text.find("ship-it: Ship it").unwrap() < text.find("another: Another").unwrap(), "{text}");
    assert_eq!(desk.ok(&["status"])["goals"][0]["goal_id"], "ship-it");
}

#[test]
fn a_loop_says_how_many_attempts_a_turn_took() {
    let place = Place::new("exit 0");
    place.script(
        "host.sh",
        &format!("cat > /dev/null\n[ -e ../once ] || {{ touch ../once; kill -9 $$; }}\n{REPORT}\n"),
    );
    let words =
        ["loop", "run", "--agent", "a", "--host", "sh host.sh", "--turns", "1", "--no-wait", "--goal", "g"];
    let text = said(&place, "user:ana", &words);
    assert!(text.contains("g.1 is done, after 2 attempts"), "{text}");
}

#[test]
fn a_command_that_waits_for_words_of_ones_own_is_seen_to_be_a_template() {
    let desk = Desk::empty();
    desk.ok(&["init"]);
    let text = desk.call(&["status"]).out;
    assert!(text.contains("`loopx-core init --goal <TITLE>`"), "{text}");
    desk.ok(&["init", "--goal", "Ship it", "--acceptance", "it is shipped"]);
    let status = desk.call(&["status"]).out;
    assert!(status.contains("next: loopx-core todo add <TITLE> --goal ship-it"), "{status}");
    // pasted as it stands it does nothing
    let (is_done, text) = pasted(&desk, &named(&status, "next: loopx-core "));
    assert!(!is_done, "{text}");
    assert_eq!(desk.ok(&["todo", "list", "--all"])["items"].as_array().unwrap().len(), 0);
    // in a refusal too
    let token = desk.token_file();
    let refused = desk.call(&["goal", "close", "ship-it", "--achieved", "--token-file", &token]);
    let hint = named(&refused.err, "hint: loopx-core ");
    assert!(hint.starts_with("evidence add <POINTER> --kind note"), "{hint}");
}
