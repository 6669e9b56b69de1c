//! Proposals at the command line: what an agent asks for, what a person's word does, and how each refusal ends.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test whose place cannot be made fails")]

use crate::desk::Desk;

fn propose(desk: &Desk, words: &[&str]) -> String {
    let add = ["proposal", "add", "--reason", "it is needed", "--as", "agent:coder", "--"];
    let added = desk.ok(&[&add, words].concat());
    added["proposal"]["proposal_id"].as_str().unwrap().to_owned()
}

fn state(desk: &Desk, id: &str) -> String {
    let shown = desk.ok(&["proposal", "show", id]);
    let state = &shown["proposal"]["state"];
    let word = state.as_object().and_then(|state| state.keys().next().cloned());
    word.unwrap_or_else(|| state.as_str().unwrap().to_owned())
}

#[test]
fn a_person_confirms_exactly_what_was_proposed() {
    let desk = Desk::with_work();
    let id = propose(&desk, &["todo", "cancel", "ship-it.1", "--reason", "done by 2"]);
    assert_eq!(desk.ok(&["todo", "show", "ship-it.1"])["todo"]["state"], "open");
    let listed = desk.ok(&["proposal", "list"]);
    assert_eq!(listed["items"][0]["verb"], "todo cancel");
    assert_eq!(listed["items"][0]["command"]["todo"]["cancel"]["reason"], "done by 2");
    desk.refused(&["proposal", "confirm", &id], "unauthenticated", 6);
    desk.refused(&["proposal", "confirm", &id, "--as", "agent:coder"], "user_only", 6);
    let confirmed = desk.proven(&["proposal", "confirm", &id]);
    assert_eq!(confirmed["receipt"]["outcome"]["todo_ids"][0], "ship-it.1");
    assert_eq!(confirmed["receipt"]["outcome"]["proposal_id"], id.as_str());
    assert_eq!(desk.ok(&["todo", "show", "ship-it.1"])["todo"]["state"], "cancelled");
    assert_eq!(desk.ok(&["proposal", "list"])["items"].as_array().unwrap().len(), 0);
    assert_eq!(state(&desk, &id), "confirmed");
}

#[test]
fn what_is_stale_is_refused_and_said_to_be_stale_by_a_commit_of_its_own() {
    let desk = Desk::with_work();
    let cancel = ["todo", "cancel", "ship-it.1", "--reason", "x", "--expect", "1"];
    let id = propose(&desk, &cancel);
    desk.ok(&["todo", "update", "ship-it.1", "--title", "another"]);
    let token = desk.token_file();
    let confirm = ["proposal", "confirm", &id, "--token-file", &token];
    let events = desk.events();
    desk.refused(&confirm, "stale_revision", 4);
    assert_eq!((desk.events(), state(&desk, &id).as_str()), (events + 1, "stale"));
    // Again it says the same, and writes nothing.
    desk.refused(&confirm, "stale_revision", 4);
    assert_eq!(desk.events(), events + 1);
}

#[test]
fn a_proposal_is_put_off_rejected_and_taken_back() {
    let desk = Desk::with_work();
    let [one, two] = [(); 2].map(|()| propose(&desk, &["todo", "hold", "ship-it.1"]));
    desk.proven(&["proposal", "defer", &one, "--until", "2d"]);
    assert_eq!(state(&desk, &one), "deferred");
    desk.ok(&["proposal", "withdraw", &one, "--as", "agent:coder"]);
    desk.proven(&["proposal", "reject", &two, "--reason", "not now"]);
    assert_eq!((state(&desk, &one), state(&desk, &two)), ("withdrawn".to_owned(), "rejected".to_owned()));
    let token = desk.token_file();
    desk.refused(&["proposal", "reject", &two, "--token-file", &token], "invalid_transition", 4);
    assert_eq!(desk.ok(&["proposal", "list", "--ended"])["items"].as_array().unwrap().len(), 2);
    let nobody = "prp_00000000000000000000000000";
    desk.refused(&["proposal", "show", nobody], "not_found", 2);
}

#[test]
fn what_cannot_be_proposed_is_refused_and_does_nothing() {
    let desk = Desk::with_work();
    let events = desk.events();
    let add = |actor: &str, words: &[&str], code: &str, exit: i32| {
        let add = ["proposal", "add", "--reason", "x", "--as", actor, "--"];
        desk.refused(&[&add, words].concat(), code, exit);
    };
    add("agent:coder", &["todo", "claim", "ship-it.1"], "invalid_argument", 2);
    let because = |reason: &str| -> Vec<String> {
        let words =
            ["proposal", "add", "--reason", reason, "--as", "agent:coder", "--", "todo", "hold", "ship-it.1"];
        words.map(str::to_owned).to_vec()
    };
    let secret = because(&format!("the key is {}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"));
    desk.refused(&secret.iter().map(String::as_str).collect::<Vec<_>>(), "invalid_argument", 2);
    let long = because(&"x".repeat(513));
    desk.refused(&long.iter().map(String::as_str).collect::<Vec<_>>(), "payload_too_large", 2);
    add("agent:coder", &["turn", "run"], "invalid_argument", 2);
    add("agent:coder", &["proposal", "list"], "invalid_argument", 2);
    add("agent:coder", &["no", "such"], "invalid_argument", 2);
    add("agent:coder", &["todo", "cancel", "ship-it.1"], "invalid_argument", 2);
    add("agent:coder", &["--help"], "invalid_argument", 2);
    add("user:ana", &["todo", "hold", "ship-it.1"], "actor_not_allowed", 6);
    add("agent:stranger", &["todo", "hold", "ship-it.1"], "not_found", 2);
    assert_eq!(desk.events(), events);
}

#[test]
fn every_command_that_may_be_proposed_is_noted_and_not_written() {
    let desk = Desk::with_work();
    let gate = desk.ok(&["gate", "open", "May it?", "--kind", "approval", "--blocks", "ship-it.2"]);
    let gate = gate["gate"]["gate_id"].as_str().unwrap().to_owned();
    let lines: [&[&str]; 22] = [
        &["goal", "update", "--objective", "more"],
        &["goal", "stop"],
        &["goal", "resume"],
        &["todo", "add", "another"],
        &["todo", "update", "ship-it.1", "--title", "other"],
        &["todo", "release", "ship-it.1", "--force", "--reason", "x"],
        &["todo", "link", "ship-it.1", "--depends-on", "ship-it.2"],
        &["todo", "unlink", "ship-it.1", "--depends-on", "ship-it.2"],
        &["todo", "defer", "ship-it.1", "--wake", "after:2h"],
        &["todo", "block", "ship-it.1", "--reason", "x"],
        &["todo", "unblock", "ship-it.1"],
        &["todo", "hold", "ship-it.1"],
        &["todo", "unhold", "ship-it.1"],
        &["todo", "resolve", "ship-it.1"],
        &["todo", "cancel", "ship-it.1", "--reason", "x"],
        &["todo", "reopen", "ship-it.1"],
        &["gate", "open", "Which?", "--blocks", "ship-it.1"],
        &["gate", "resolve", &gate, "--approve"],
        &["gate", "withdraw", &gate],
        &["agent", "add", "other"],
        &["agent", "retire", "coder"],
        &["evidence", "add", "https://example.org/x", "--kind", "url"],
    ];
    for line in lines {
        let events = desk.events();
        let id = propose(&desk, line);
        assert_eq!(desk.events(), events + 1, "{line:?} wrote more than the proposal");
        assert_eq!(state(&desk, &id), "open", "{line:?}");
    }
}
