//! Returns and handoffs at the command line: who gives, who decides, who takes over, and how each refusal ends.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test whose place cannot be made fails")]

use serde_json::{Value, json};

use crate::desk::Desk;

/// A desk whose second Todo returns to the first, and an agent `peer` that owns it; its token, and evidence.
fn peers() -> (Desk, String, String) {
    let desk = Desk::with_work();
    desk.ok(&["agent", "add", "peer"]);
    desk.ok(&["todo", "update", "ship-it.2", "--coordinates", "ship-it.1"]);
    let owned = desk.ok(&["todo", "claim", "ship-it.2", "--as", "agent:peer"]);
    let own = owned["own_id"].as_str().unwrap().to_owned();
    let added = desk.ok(&["evidence", "add", "it was measured", "--kind", "note", "--as", "agent:peer"]);
    let evidence = added["evidence"]["evidence_id"].as_str().unwrap().to_owned();
    (desk, own, evidence)
}

fn give<'w>(summary: &'w str, evidence: &'w str, more: &[&'w str]) -> Vec<&'w str> {
    let words = ["peer", "return", "ship-it.2", summary, "--evidence", evidence, "--as", "agent:peer"];
    [&words[..], more].concat()
}

fn returned(desk: &Desk, own: &str, evidence: &str) -> String {
    let answer = desk.ok(&give("two of three hold", evidence, &["--own", own]));
    assert_eq!(answer["return"]["state"], "returned");
    answer["return"]["return_id"].as_str().unwrap().to_owned()
}

fn revision(desk: &Desk, todo: &str) -> String {
    desk.ok(&["handoff", "show", todo])["handoff"]["revision"].as_str().unwrap().to_owned()
}

fn metric(desk: &Desk) -> Value {
    let metrics = desk.ok(&["metrics"]);
    let items = metrics["metrics"]["items"].as_array().or_else(|| metrics["items"].as_array()).unwrap();
    let found = items.iter().find(|metric| metric["metric"] == "handoff").unwrap();
    json!([found["numerator"], found["denominator"]])
}

#[test]
fn a_peer_returns_and_its_coordinator_decides() {
    let (desk, own, evidence) = peers();
    let id = returned(&desk, &own, &evidence);
    let page = desk.ok(&["todo", "show", "ship-it.1"]);
    assert_eq!(page["todo"]["returns"][0]["return_id"], *id);
    assert_eq!(page["todo"]["returns"][0]["from"], "ship-it.2");
    assert_eq!(desk.ok(&["todo", "show", "ship-it.2"])["todo"]["coordinates"], "ship-it.1");
    let listed = desk.ok(&["peer", "list", "--open", "--todo", "ship-it.1"]);
    assert_eq!(listed["items"][0]["summary"], "two of three hold");
    assert_eq!(desk.ok(&["peer", "list", "--todo", "ship-it.2"])["items"], json!([]));
    let told = desk.call(&["peer", "show", &id[14..]]).out;
    assert!(told.contains("two of three hold") && told.contains("ship-it.2"), "{told}");
    // Whoever does not own the coordinator is told what is missing.
    desk.refused(&["peer", "adopt", &id, "--as", "agent:coder"], "own_required", 2);
    desk.refused(&["peer", "adopt", &id, "--as", "agent:peer", "--own", &own], "ownership_superseded", 4);
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let coordinator = claimed["own_id"].as_str().unwrap();
    let decide = |words: &[&'static str]| -> Vec<String> {
        let words = [&["peer"], words, &["--as", "agent:coder", "--own"]].concat();
        words.into_iter().map(str::to_owned).chain([coordinator.to_owned(), id.clone()]).collect()
    };
    let adopt = decide(&["adopt"]);
    let adopt: Vec<&str> = adopt.iter().map(String::as_str).collect();
    assert_eq!(desk.ok(&adopt)["return"]["state"], "adopted");
    desk.refused(&adopt, "invalid_transition", 4);
    let reject = decide(&["reject", "--reason", "not shown"]);
    desk.refused(&reject.iter().map(String::as_str).collect::<Vec<_>>(), "invalid_transition", 4);
    assert_eq!(desk.ok(&["peer", "list", "--open"])["items"], json!([]));
    let log = desk.ok(&["log", "--todo", "ship-it.2"]);
    assert_eq!(log["items"][0]["kind"], "peer.adopted");
    assert_eq!(log["items"][1]["text"], "ship-it.2 returned to ship-it.1 (two of three hold)");
    let exported = desk.ok(&["goal", "export", "ship-it"]).to_string();
    assert!(exported.contains(&id), "it is handed on with the Goal");
}

#[test]
fn what_cannot_be_returned_or_decided_is_refused_and_does_nothing() {
    let (desk, own, evidence) = peers();
    desk.refused(&give("x", &evidence, &[]), "own_required", 2);
    let claimed = desk.ok(&["todo", "claim", "ship-it.3", "--as", "agent:coder"]);
    let others = claimed["own_id"].as_str().unwrap();
    let events = desk.events();
    desk.refused(&give("x", &evidence, &["--own", others]), "ownership_superseded", 4);
    let long = "x".repeat(401);
    desk.refused(&give(&long, &evidence, &["--own", &own]), "payload_too_large", 2);
    let secret = format!("the key is {}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    desk.refused(&give(&secret, &evidence, &["--own", &own]), "invalid_argument", 2);
    let no_such = "evd_00000000000000000000000000";
    desk.refused(&give("x", no_such, &["--own", &own]), "not_found", 2);
    let by_user = ["peer", "return", "ship-it.2", "x", "--evidence", &evidence];
    desk.refused(&by_user, "actor_not_allowed", 6);
    let no_coordinator =
        ["peer", "return", "ship-it.3", "x", "--evidence", &evidence, "--as", "agent:coder", "--own", others];
    desk.refused(&no_coordinator, "invalid_argument", 2);
    let nobody = "ret_00000000000000000000000000";
    for verb in [&["peer", "show", nobody][..], &["peer", "adopt", nobody]] {
        desk.refused(verb, "not_found", 2);
    }
    for coordinator in ["ship-it.2", "ship-it.9"] {
        let code = if coordinator == "ship-it.2" { "invalid_argument" } else { "not_found" };
        desk.refused(&["todo", "update", "ship-it.2", "--coordinates", coordinator], code, 2);
    }
    assert_eq!(desk.events(), events);
    // A place on this machine is taken out of what is kept.
    let place = format!("see /{}/ana/notes.txt", "home");
    let answer = desk.ok(&give(&place, &evidence, &["--own", &own]));
    let id = answer["return"]["return_id"].as_str().unwrap();
    assert_eq!(desk.ok(&["peer", "show", id])["return"]["summary"], "see [path]");
    desk.ok(&["todo", "update", "ship-it.2", "--clear", "coordinates"]);
    assert_eq!(desk.ok(&["todo", "show", "ship-it.2"])["todo"].get("coordinates"), None);
    desk.refused(&give("x", &evidence, &["--own", &own]), "invalid_argument", 2);
    desk.ok(&["todo", "cancel", "ship-it.1", "--reason", "no"]);
    desk.refused(&["todo", "update", "ship-it.2", "--coordinates", "ship-it.1"], "invalid_transition", 4);
    desk.ok(&["peer", "reject", id, "--reason", "nobody puts it together"]);
    desk.proven(&["goal", "close", "ship-it", "--abandoned", "--reason", "no"]);
    desk.refused(&give("x", &evidence, &[]), "goal_closed", 6);
    desk.refused(&["peer", "adopt", id], "goal_closed", 6);
}

#[test]
fn a_handoff_is_read_accepted_and_settled_by_its_acceptor() {
    let (desk, own, _) = peers();
    assert_eq!(metric(&desk), json!([0, 0]));
    let gate = desk.ok(&["gate", "open", "Which?", "--blocks", "ship-it.2"]);
    let gate = gate["gate"]["gate_id"].as_str().unwrap().to_owned();
    desk.ok(&["todo", "transfer", "ship-it.2", "--to", "coder", "--own", &own, "--as", "agent:peer"]);
    let shown = desk.ok(&["handoff", "show", "ship-it.2"])["handoff"].clone();
    assert_eq!(shown["packet"]["objective"], "Ship it");
    assert_eq!(shown["packet"]["todo"]["coordinates"], "ship-it.1");
    assert_eq!(shown["packet"]["open_gates"][0]["gate_id"], *gate);
    assert_eq!(shown["packet"]["next_action"]["step"], "begin");
    assert_eq!(shown["reserved"]["agent_id"], "coder");
    let text = desk.call(&["handoff", "show", "ship-it.2"]).out;
    assert!(text.contains(shown["revision"].as_str().unwrap()) && text.contains("Which?"), "{text}");
    let stale = shown["revision"].as_str().unwrap().to_owned();
    let accept = |agent: &'static str, revision: &str| {
        ["handoff", "accept", "ship-it.2", "--as", agent, "--revision", revision].map(str::to_owned)
    };
    let words = |words: &[String; 7]| -> Vec<String> { words.to_vec() };
    let refused = |agent, revision: &str, code: &str, exit| {
        let line = words(&accept(agent, revision));
        desk.refused(&line.iter().map(String::as_str).collect::<Vec<_>>(), code, exit)
    };
    desk.proven(&["gate", "resolve", &gate, "--answer", "this"]);
    let events = desk.events();
    let error = refused("agent:coder", &stale, "stale_revision", 4);
    assert_eq!(error["details"]["found"], revision(&desk, "ship-it.2"));
    let now = revision(&desk, "ship-it.2");
    refused("agent:peer", &now, "already_claimed", 4);
    refused("user:ana", &now, "actor_not_allowed", 6);
    refused("agent:stranger", &now, "not_found", 2);
    refused("agent:coder", "short", "invalid_id", 2);
    assert_eq!(desk.events(), events, "nothing was written");
    let line = words(&accept("agent:coder", &now));
    let accepted = desk.ok(&line.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(accepted["handoff"]["revision"], *now);
    assert_eq!(desk.events(), events + 1);
    assert_eq!(
        desk.ok(&["handoff", "show", "ship-it.2"])["handoff"]["accepted"]["by"],
        "agent:coder@coder.cli"
    );
    assert_eq!(metric(&desk), json!([0, 1]));
    let owned = desk.ok(&["todo", "claim", "ship-it.2", "--as", "agent:coder"]);
    let own = owned["own_id"].as_str().unwrap();
    desk.json(&["todo", "done", "ship-it.2", "--own", own, "--as", "agent:coder"]);
    let listed = desk.ok(&["gate", "list"]);
    let gate = listed["items"][0]["gate_id"].as_str().unwrap().to_owned();
    desk.proven(&["gate", "resolve", &gate, "--approve"]);
    assert_eq!(desk.ok(&["todo", "show", "ship-it.2"])["todo"]["state"], "done");
    assert_eq!(metric(&desk), json!([1, 1]));
    let late = revision(&desk, "ship-it.2");
    refused("agent:coder", &late, "todo_already_done", 4);
}
