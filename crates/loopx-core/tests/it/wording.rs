//! What sentences say to somebody who reads them for the first time: whom a Todo waits for, what an answer may be, who
//! stopped a Turn, where a program was looked for.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use crate::{desk::Desk, turn::place::REPORT};

fn told(desk: &Desk, words: &[&str]) -> String {
    let ended = desk.call(words);
    format!("{}{}", ended.out, ended.err)
}

#[test]
fn a_todo_waits_for_a_number_of_others_not_for_a_todo_of_that_number() {
    let desk = Desk::with_work();
    desk.ok(&["todo", "link", "ship-it.2", "--depends-on", "ship-it.3"]);
    for words in [&["todo", "list"][..], &["todo", "show", "2"]] {
        let text = told(&desk, words);
        assert!(text.contains("open, waits for 1 other"), "{text}");
    }
    desk.ok(&["todo", "link", "ship-it.2", "--depends-on", "ship-it.1"]);
    let text = told(&desk, &["todo", "list"]);
    assert!(text.contains("open, waits for 2 others"), "{text}");
}

#[test]
fn an_answer_that_is_no_option_is_told_the_options_and_one_that_is() {
    let desk = Desk::with_work();
    let gate =
        desk.ok(&["gate", "open", "Which?", "--blocks", "ship-it.1", "--option", "v one", "--option", "v2"])
            ["gate"]["gate_id"]
            .as_str()
            .unwrap()
            .to_owned();
    let token = desk.token_file();
    let text = told(&desk, &["gate", "resolve", &gate, "--answer", "v9", "--token-file", &token]);
    assert!(text.contains(&format!("the answer is not an option of {gate}: `v one`, `v2`")), "{text}");
    assert!(text.contains(&format!("gate resolve {gate} --answer 'v one'")), "{text}");
}

#[test]
fn what_an_agent_should_do_is_a_sentence_while_another_works() {
    let desk = Desk::with_work();
    desk.ok(&["todo", "cancel", "ship-it.2", "--reason", "no"]);
    desk.ok(&["todo", "cancel", "ship-it.3", "--reason", "no"]);
    desk.ok(&["agent", "add", "other"]);
    desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:other"]);
    let text = told(&desk, &["status", "--agent", "coder"]);
    assert!(
        text.lines().any(|line| line.trim_start().starts_with("the agent should") && line.ends_with(" wait")),
        "{text}"
    );
    assert!(
        text.lines().any(|line| line.trim_start().starts_with("an agent may go on") && line.ends_with(" no")),
        "{text}"
    );
    let text = told(&desk, &["status"]);
    assert!(text.contains("agent: an agent works") && text.contains("yes, who works already"), "{text}");
}

#[test]
fn the_history_says_who_stopped_a_turn_and_a_second_stop_finds_it_stopped() {
    let desk = Desk::with_work();
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let turn = claimed["turn"]["turn_id"].as_str().or(claimed["turn_id"].as_str()).unwrap().to_owned();
    desk.ok(&["turn", "stop", &turn]);
    let log = told(&desk, &["log"]);
    assert!(log.contains("Turn stopped, user:ana asked for it"), "{log}");
    let again = told(&desk, &["turn", "stop", &turn]);
    assert!(again.contains(&format!("the Turn {turn} is stopped already")), "{again}");
}

#[test]
fn the_history_says_once_that_a_host_crashed() {
    let desk = Desk::with_work();
    desk.ok(&["config", "set", "turn.attempts", "1"]);
    let ended = desk.call(&["turn", "run", "--agent", "coder", "--host", "false"]);
    let log = told(&desk, &["log"]);
    assert!(log.contains("Turn failed, the host crashed\n"), "{ended:?}\n{log}");
    assert!(!log.contains("crashed: "), "{log}");
}

#[test]
fn the_history_says_of_a_broken_boundary_where_it_was_broken() {
    // given a Goal with a scope, and a host that writes its request beside it
    let desk = Desk::empty();
    assert!(desk.command("git").args(["init", "--quiet", "."]).status().unwrap().success());
    desk.ok(&["init"]);
    desk.ok(&["goal", "start", "Ship it", "--id", "ship-it", "--scope", "src"]);
    desk.ok(&["init", "--goal", "ship-it"]);
    desk.ok(&["agent", "add", "coder"]);
    desk.ok(&["todo", "add", "one", "--validator", "true"]);
    let host = desk.path("host.sh");
    std::fs::write(&host, format!("cat > request.json\n{REPORT}\n")).unwrap();
    // when it has run
    let host = format!("sh {}", host.display());
    let ended = desk.call(&["turn", "run", "--agent", "coder", "--host", &host]);
    // then the history names the path, and blames no validator
    let log = told(&desk, &["log"]);
    let line = log.lines().find(|line| line.contains("Turn failed")).unwrap_or_else(|| panic!("{ended:?}"));
    assert!(
        line.ends_with("Turn failed, boundary_violation: wrote request.json outside its scopes"),
        "{line}"
    );
    assert!(!line.contains("validator"), "{line}");
}

#[test]
fn scopes_that_bind_nothing_say_so_where_they_are_given() {
    // given a Goal without scopes: its Todo's refuse nothing, and the answer, the change and the page say so
    let desk = Desk::with_work();
    let said = "bind nothing: the Goal lists no scopes";
    for words in [
        &["todo", "add", "x", "--scope", "src"][..],
        &["todo", "update", "4", "--scope", "lib"],
        &["todo", "show", "4"],
    ] {
        let text = told(&desk, words);
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{words:?} {text}");
    }
    // and where there is none, or the Goal has its own, nothing is said
    assert!(!told(&desk, &["todo", "add", "y"]).contains("bind"));
    desk.ok(&["goal", "start", "Bound", "--id", "bound", "--scope", "src"]);
    let text = told(&desk, &["todo", "add", "x", "--scope", "src/a", "--goal", "bound"]);
    assert!(text.contains("added bound.1") && !text.contains("bind"), "{text}");
}

#[test]
fn a_host_that_failed_is_told_with_where_how_often_and_what_to_do() {
    let desk = Desk::with_work();
    desk.ok(&["config", "set", "turn.attempts", "2"]);
    for (host, wanted) in [
        ("false", "error: the host crashed on ship-it.1 in each of 2 attempts; look at how it ended"),
        (
            "true",
            "error: the host ended without a result on ship-it.1; let it print one result before it ends",
        ),
    ] {
        let text = told(&desk, &["turn", "run", "--todo", "1", "--agent", "coder", "--host", host]);
        assert!(text.contains(wanted) && text.contains("hint: loopx-core turn show trn_"), "{text}");
        assert!(!text.contains("exit 1"), "what it ended with is the owner's alone: {text}");
    }
}

#[test]
fn a_goal_that_was_never_begun_is_asked_what_there_is_to_do_and_never_told_to_be_done() {
    let desk = Desk::empty();
    desk.ok(&["init", "--goal", "Ship it"]);
    desk.ok(&["agent", "add", "coder"]);
    for words in [&["status"][..], &["turn", "plan", "--agent", "coder"]] {
        let text = told(&desk, words);
        assert!(text.contains("next: loopx-core todo add <TITLE> --goal ship-it"), "{text}");
        assert!(!text.contains("can be closed"), "{text}");
    }
    // once something was done, whether it is reached is a person's to say
    desk.ok(&["todo", "add", "one"]);
    desk.ok(&["todo", "done", "ship-it.1"]);
    let text = told(&desk, &["status"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("ship-it has no criterion: whether it is reached is yours to say"), "{text}");
    assert!(text.contains("next: loopx-core goal close ship-it --achieved"), "{text}");
}

#[test]
fn an_empty_list_names_the_program_that_adds_to_it() {
    let desk = Desk::empty();
    desk.ok(&["init", "--goal", "Ship it"]);
    for (words, wanted) in [
        (&["todo", "list"][..], "`loopx-core todo add <TITLE>` adds one"),
        (&["agent", "list"], "`loopx-core agent add <AGENT>` registers one"),
    ] {
        let text = told(&desk, words);
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn a_host_program_that_is_not_there_is_said_with_where_it_was_looked_for() {
    let desk = Desk::with_work();
    for (host, wanted) in [
        ("nosuch", "cannot be executed, in the folders of PATH"),
        ("./nosuch", "cannot be executed, seen from this folder"),
    ] {
        let text = told(&desk, &["turn", "run", "--agent", "coder", "--host", host]);
        assert!(text.contains(wanted) && text.contains("loopx-core turn run --help"), "{text}");
    }
}

#[test]
fn a_criterion_that_is_not_shown_is_named_with_its_text() {
    let desk = Desk::with_work();
    for id in ["ship-it.1", "ship-it.2", "ship-it.3"] {
        desk.ok(&["todo", "cancel", id, "--reason", "no"]);
    }
    let text = told(&desk, &["status"]);
    assert!(text.contains("criterion 1 of ship-it is not shown yet: it is shipped"), "{text}");
}

#[test]
fn what_is_no_evidence_is_answered_with_how_evidence_is_added() {
    let desk = Desk::with_work();
    let own = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"])["own_id"]
        .as_str()
        .unwrap()
        .to_owned();
    for evidence in ["out.txt", "docs"] {
        let words =
            ["todo", "done", "ship-it.1", "--as", "agent:coder", "--own", &own, "--evidence", evidence];
        let text = told(&desk, &words);
        assert!(text.contains("evidence add <POINTER> --kind file --todo ship-it.1"), "{text}");
    }
}

#[test]
fn a_binding_that_is_no_toml_is_named_with_the_cause() {
    let desk = Desk::with_work();
    let file = desk.folder().join(".loopx/project.toml");
    std::fs::write(file, "goal = \"a\"\n\ngoal = \"b\"\n").unwrap();
    let text = told(&desk, &["status"]);
    assert!(text.contains(".loopx/project.toml is not valid TOML at line 3: duplicate key"), "{text}");
    assert!(text.contains("hint: loopx-core init --help"), "{text}");
}
