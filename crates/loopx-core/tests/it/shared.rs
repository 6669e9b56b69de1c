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
