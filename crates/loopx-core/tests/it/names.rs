//! Ids and Goals at the edge: exact, a unique start, what the folder means; and what names nothing.

use serde_json::json;

use crate::desk::Desk;

#[test]
fn fault_a14_init_five_times_is_one_goal() {
    let desk = Desk::empty();
    let words = ["init", "--goal", "Ship it", "--acceptance", "it is shipped"];
    let first = desk.ok(&words);
    assert_eq!((&first["created"], &first["goal"]["goal_id"]), (&json!(true), &json!("ship-it")));
    let events = desk.events();
    for _ in 0..4 {
        let again = desk.ok(&words);
        assert_eq!((&again["created"], &again["goal"]["goal_id"]), (&json!(false), &json!("ship-it")));
    }
    assert_eq!(desk.ok(&["init"])["goal"]["goal_id"], "ship-it", "the folder stays bound");
    assert_eq!(desk.events(), events);
    assert_eq!(desk.ok(&["goal", "list"])["items"].as_array().unwrap().len(), 1);
    assert_eq!(desk.ok(&["token", "list"])["items"].as_array().unwrap().len(), 1);
    // Another objective with the same slug is another Goal.
    assert_eq!(desk.ok(&["init", "--goal", "Ship it!"])["goal"]["goal_id"], "ship-it-2");
}

#[test]
fn fault_a14_unknown_ids_fail_and_append_nothing() {
    let desk = Desk::with_work();
    let events = desk.events();
    let token = desk.token_file();
    for (id, code) in [
        ("gate_00000000000000000000000000", "not_found"),
        ("ship-it.1", "invalid_id"),
        ("trn_00000000000000000000000000", "invalid_id"),
        ("", "invalid_id"),
        (" ", "invalid_id"),
        ("gate_", "invalid_id"),
    ] {
        desk.refused(&["gate", "resolve", id, "--approve", "--token-file", &token], code, 2);
        desk.refused(&["gate", "show", id], code, 2);
    }
    for id in ["ship-it.99", "nowhere.1"] {
        desk.refused(&["todo", "hold", id], "not_found", 2);
        desk.refused(&["todo", "show", id], "not_found", 2);
    }
    for id in ["", "7", "ship-it", "ship-it.0", "ship-it.01", "SHIP.1"] {
        desk.refused(&["todo", "show", id], "invalid_id", 2);
    }
    desk.refused(&["goal", "show", "nowhere"], "not_found", 2);
    desk.refused(&["agent", "show", "nobody"], "not_found", 2);
    desk.refused(&["evidence", "show", "evd_00000000000000000000000000"], "not_found", 2);
    assert_eq!(desk.events(), events);
}

#[test]
fn people_may_write_the_start_of_an_id_and_programs_may_not() {
    let desk = Desk::with_work();
    let open = |text: &str| {
        let gate = desk.ok(&["gate", "open", text, "--blocks", "ship-it.1"])["gate"]["gate_id"].clone();
        gate.as_str().unwrap().to_owned()
    };
    let gates: Vec<_> = (0..40).map(|n| open(&n.to_string())).collect();
    let tail = &gates[0]["gate_".len() + 10..];
    assert!(desk.call(&["gate", "show", &tail[..10]]).out.contains(&gates[0]));
    assert!(desk.call(&["gate", "show", &format!("gate_{}", &tail[..10])]).out.contains(&gates[0]));
    desk.refused(&["gate", "show", &tail[..10]], "invalid_id", 2);
    // Forty tails over thirty-two letters: two of them start alike.
    let starts: Vec<_> = gates.iter().map(|gate| &gate["gate_".len() + 10..][..1]).collect();
    let twice = starts.iter().find(|start| starts.iter().filter(|other| other == start).count() > 1).unwrap();
    let several = desk.call(&["gate", "show", twice]);
    assert_eq!((several.exit, several.err.contains("several gate ids start with")), (2, true), "{several:?}");
    assert!(desk.call(&["todo", "show", "2"]).out.contains("ship-it.2"));
    assert!(desk.call(&["todo", "show", "#2"]).out.contains("ship-it.2"));
}

#[test]
fn the_goal_is_the_named_one_the_folder_s_or_the_only_one() {
    let desk = Desk::with_work();
    let other = desk.path("other");
    std::fs::create_dir(&other).unwrap();
    let there = |words: &[&str]| {
        let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
        let output = command.args(words).current_dir(&other).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    assert!(there(&["todo", "list", "--json"]).1.contains("ship-it.1"), "the only one");
    desk.ok(&["goal", "start", "Another thing"]);
    let (exit, text) = there(&["todo", "list", "--json"]);
    assert!(exit == 2 && text.contains("no Goal is named"), "{text}");
    assert_eq!(there(&["todo", "list", "--goal", "another-thing"]).0, 0);
    assert!(desk.ok(&["todo", "list"])["items"][0]["todo_id"] == "ship-it.1", "the folder's");
    desk.refused(&["goal", "start", "Another thing"], "goal_exists", 4);
    desk.refused(&["goal", "start", "…"], "invalid_argument", 2);
}
