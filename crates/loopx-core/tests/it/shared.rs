//! One work tree, several Goals: who works there unannounced is seen from each of them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test whose place cannot be made fails")]

use crate::desk::Desk;

#[test]
fn owners_of_two_goals_in_one_tree_that_do_not_say_what_they_write_are_warned_of() {
    let desk = Desk::with_work();
    desk.ok(&["goal", "start", "Another", "--id", "another"]);
    desk.ok(&["agent", "add", "other", "--goal", "another"]);
    desk.ok(&["todo", "add", "theirs", "--goal", "another"]);
    desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder", "--workspace", "."]);
    let warned = |goal: &str| {
        let status = desk.ok(&["status", "--goal", goal]);
        status["goals"][0]["warnings"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((warned("ship-it"), warned("another")), (0, 0));
    desk.ok(&["todo", "claim", "another.1", "--as", "agent:other", "--workspace", "."]);
    assert_eq!((warned("ship-it"), warned("another")), (1, 1));
    let text = desk.call(&["status"]).out;
    assert!(text.contains("ship-it.1 and another.1 are worked on in one work tree"), "{text}");
}

#[test]
fn regress_a_todo_whose_scopes_somebody_holds_is_not_listed_as_plain_open() {
    let desk = Desk::with_work();
    for id in ["ship-it.1", "ship-it.2"] {
        desk.ok(&["todo", "update", id, "--scope", "src"]);
    }
    desk.ok(&["agent", "add", "other"]);
    let owned = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let listed = desk.ok(&["todo", "list"]);
    let held = |listed: &serde_json::Value| {
        let items = listed["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["scopes_held_by"].as_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(held(&listed), ["", "ship-it.1", ""]);
    assert!(desk.call(&["todo", "list"]).out.contains("open, ship-it.1 writes there"));
    assert_eq!(desk.ok(&["todo", "show", "ship-it.2"])["todo"]["scopes_held_by"], "ship-it.1");
    // It is what a claim would say.
    desk.refused(&["todo", "claim", "ship-it.2", "--as", "agent:other"], "write_scope_conflict", 4);
    let own = owned["own_id"].as_str().unwrap();
    desk.ok(&["todo", "release", "ship-it.1", "--as", "agent:coder", "--own", own]);
    assert_eq!(held(&desk.ok(&["todo", "list"])), ["", "", ""]);
}
