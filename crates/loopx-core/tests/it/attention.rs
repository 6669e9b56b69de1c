//! What needs somebody: the list, and the fact that a person saw a row of it.

use crate::desk::Desk;

#[test]
fn a_row_is_listed_seen_once_and_listed_as_seen() {
    let desk = Desk::with_work();
    let opened = desk.ok(&["gate", "open", "Which?", "--blocks", "ship-it.1"]);
    let gate = opened["gate"]["gate_id"].as_str().unwrap();
    let rows = |desk: &Desk| desk.ok(&["attention", "list"])["items"].as_array().unwrap().clone();
    let listed = rows(&desk);
    assert_eq!((listed[0]["kind"].as_str(), listed[0]["about"].as_str()), (Some("gate"), Some(gate)));
    assert_eq!((listed[0]["rank"].as_str(), listed[0]["version"].as_str()), (Some("gate"), Some("1")));
    assert!(listed.iter().all(|row| row["command"].is_string() && row["goal_id"] == "ship-it"));
    let before = desk.events();
    let shown = format!("{gate}@1");
    let noted = desk.ok(&["attention", "seen", &shown]);
    assert_eq!((noted["created"].as_bool(), desk.events()), (Some(true), before + 1));
    assert_eq!(rows(&desk)[0]["seen"]["by"], "user:ana");
    assert_eq!(desk.ok(&["attention", "seen", gate])["created"], false);
    assert_eq!(desk.events(), before + 1);
    // what a person may write: the start of an id, and the number of a Todo
    let short = gate.rsplit('_').next().unwrap().get(10..18).unwrap();
    assert_eq!(desk.call(&["attention", "seen", short, "ship-it", "2"]).exit, 0);
    let text = desk.call(&["attention", "list"]).out;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Questions") && text.contains("seen by user:ana"), "{text}");
    let log = desk.ok(&["log"]);
    assert_eq!(log["items"][0]["kind"], "attention.seen");
    assert!(log["items"][0]["text"].as_str().unwrap().starts_with("seen: "));
    let metrics = desk.ok(&["metrics"]);
    let metric = metrics["items"].as_array().unwrap().iter().find(|item| item["metric"] == "blocked_to_seen");
    assert_eq!(
        (metric.unwrap()["numerator"].as_u64(), metric.unwrap()["denominator"].as_u64()),
        (Some(1), Some(1))
    );
}

#[test]
fn what_an_agent_proposed_is_listed_with_its_command_and_seen_by_a_short_id() {
    let desk = Desk::with_work();
    let cancel = ["todo", "cancel", "ship-it.1", "--reason", "done by 2"];
    let add = ["proposal", "add", "--reason", "it is needed", "--as", "agent:coder"];
    let dream = desk.ok(&[&add[..], &["--dream", "--"], &cancel].concat());
    let change = desk.ok(&[&add[..], &["--"], &cancel].concat());
    let id = change["proposal"]["proposal_id"].as_str().unwrap();
    let listed = desk.ok(&["attention", "list"]);
    let rows = listed["items"].as_array().unwrap();
    let row = rows.iter().find(|row| row["kind"] == "proposal").unwrap();
    assert_eq!(
        (&row["about"], &row["version"], &listed["more"]),
        (&id.into(), &"open".into(), &false.into())
    );
    assert_eq!(row["command"], desk.by_token(&format!("proposal confirm {id}")));
    assert!(row["text"].as_str().unwrap().contains("agent:coder@coder.cli proposes `todo cancel`"), "{row}");
    assert!(!listed.to_string().contains(dream["proposal"]["proposal_id"].as_str().unwrap()), "a dream");
    let short = id.rsplit('_').next().unwrap().get(10..18).unwrap();
    assert_eq!(desk.call(&["attention", "seen", short]).exit, 0);
    assert!(desk.call(&["attention", "list"]).out.contains("seen by user:ana"));
    // A program writes whole ids, and is told which one it meant.
    let start = format!("prp_{short}");
    let refused = desk.refused(&["attention", "seen", &start], "invalid_id", 2);
    assert_eq!(refused["details"]["id"], id);
}

#[test]
fn what_cannot_be_seen_is_refused_typed() {
    let desk = Desk::with_work();
    let opened = desk.ok(&["gate", "open", "Which?", "--blocks", "ship-it.1"]);
    let gate = opened["gate"]["gate_id"].as_str().unwrap();
    let absent = "gate_00000000000000000000000000";
    desk.refused(&["attention", "seen", absent], "not_found", 2);
    desk.refused(&["attention", "seen", "ship-it.9"], "not_found", 2);
    desk.refused(&["attention", "seen", "nothing"], "not_found", 2);
    desk.refused(&["attention", "seen", "gate_1"], "invalid_id", 2);
    let other = format!("{gate}@7");
    let stale = desk.refused(&["attention", "seen", &other], "stale_revision", 4);
    assert_eq!(stale["details"]["version"], "1");
    desk.refused(&["attention", "seen", gate, "--as", "agent:coder"], "user_only", 6);
    desk.ok(&["goal", "start", "Other", "--id", "other"]);
    desk.refused(&["attention", "seen", gate, "other"], "invalid_argument", 2);
    desk.proven(&["gate", "resolve", gate, "--answer", "this"]);
    desk.refused(&["attention", "seen", gate], "invalid_transition", 4);
    desk.refused(&["attention", "list", "--cursor", "x"], "invalid_argument", 2);
    desk.refused(&["attention", "list", "--goal", "none"], "not_found", 2);
    let word = desk.call(&["attention", "seen", "zzzz"]);
    assert!(word.exit == 2 && word.err.contains("attention list"), "{word:?}");
}

#[test]
fn a_repeated_call_returns_its_receipt_though_the_row_is_gone() {
    let desk = Desk::with_work();
    let opened = desk.ok(&["gate", "open", "Which?", "--blocks", "ship-it.1"]);
    let gate = opened["gate"]["gate_id"].as_str().unwrap();
    let call = ["attention", "seen", gate, "--op-id", "saw-1"];
    let first = desk.ok(&call);
    desk.proven(&["gate", "resolve", gate, "--answer", "this"]);
    let again = desk.ok(&call);
    assert_eq!(first["receipt"]["accepted_revision"], again["receipt"]["accepted_revision"]);
}
