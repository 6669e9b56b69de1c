//! Replans at the command line: how an agent learns of one, claims it by its name, and ends it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test whose place cannot be made fails")]

use crate::desk::Desk;

fn planned(desk: &Desk) -> serde_json::Value {
    desk.ok(&["turn", "plan", "--agent", "coder"])["plan"].clone()
}

#[test]
fn a_cancelled_dependency_is_replanned_by_the_agent_that_is_told_so() {
    let desk = Desk::with_work();
    desk.ok(&["todo", "link", "ship-it.2", "--depends-on", "ship-it.1"]);
    for other in ["ship-it.1", "ship-it.3"] {
        desk.ok(&["todo", "cancel", other, "--reason", "not wanted"]);
    }
    let plan = planned(&desk);
    assert_eq!((&plan["action"], &plan["rule"]), (&"replan".into(), &7.into()), "{plan}");
    let name = plan["replan"].as_str().unwrap().to_owned();
    assert_eq!(name, "replan:dependency_cancelled:ship-it.2/1");
    let refused = desk.refused(&["todo", "claim", "ship-it.2", "--as", "agent:coder"], "not_claimable", 4);
    assert_eq!(refused["details"]["replan"], name.as_str());
    // Before it is taken it is no Todo, and nothing is to be known of it.
    let told = desk.ok(&["heartbeat-prompt", "--agent", "coder"]);
    assert_eq!((&told["action"], &told["contract"]), (&"replan".into(), &serde_json::Value::Null), "{told}");
    let claimed = desk.ok(&["todo", "claim", &name, "--as", "agent:coder"]);
    let replan = claimed["todo"]["todo_id"].as_str().unwrap().to_owned();
    assert_eq!(desk.ok(&["todo", "show", &replan])["todo"]["kind"], "replan");
    let nothing =
        ["todo", "done", &replan, "--as", "agent:coder", "--own", claimed["own_id"].as_str().unwrap()];
    desk.refused(&nothing, "validation_failed", 1);
    let status = desk.call(&["status"]).out;
    assert!(!status.contains("scopes"), "it wrote nothing: {status}");
    let claimed = desk.ok(&["todo", "claim", &replan, "--as", "agent:coder"]);
    desk.ok(&["todo", "unlink", "ship-it.2", "--depends-on", "ship-it.1", "--as", "agent:coder"]);
    let own = claimed["own_id"].as_str().unwrap();
    let told = desk.ok(&["heartbeat-prompt", "--agent", "coder", "--own", own]);
    assert_eq!(told["contract"]["packet"]["effective_action"], "replan", "{told}");
    desk.ok(&["todo", "done", &replan, "--as", "agent:coder", "--own", own]);
    assert_eq!(desk.ok(&["todo", "show", &replan])["todo"]["state"], "done");
    let plan = planned(&desk);
    assert_eq!((&plan["action"], &plan["todo_id"]), (&"run".into(), &"ship-it.2".into()), "{plan}");
}

#[test]
fn a_replan_that_proposes_waits_for_a_person_and_his_word_ends_it() {
    let desk = Desk::with_work();
    desk.ok(&[
        "evidence",
        "add",
        "https://example.org/x",
        "--kind",
        "url",
        "--todo",
        "ship-it.1",
        "--verdict",
        "rejected",
    ]);
    let name = "replan:evidence_rejected:ship-it.1/1";
    let claimed = desk.ok(&["todo", "claim", name, "--as", "agent:coder"]);
    let replan = claimed["todo"]["todo_id"].as_str().unwrap().to_owned();
    let own = claimed["own_id"].as_str().unwrap();
    let words = ["todo", "hold", "ship-it.1"];
    let add = ["proposal", "add", "--reason", "a person has to look", "--as", "agent:coder", "--"];
    let added = desk.ok(&[&add[..], &words].concat());
    let id = added["proposal"]["proposal_id"].as_str().unwrap();
    assert_eq!(desk.ok(&["proposal", "list", "--todo", &replan])["items"][0]["proposal_id"], id);
    desk.refused(&["todo", "done", &replan, "--as", "agent:coder", "--own", own], "held", 6);
    desk.proven(&["proposal", "confirm", id]);
    assert_eq!(desk.ok(&["todo", "show", &replan])["todo"]["state"], "done");
    assert_eq!(desk.ok(&["todo", "show", "ship-it.1"])["todo"]["hold"], true);
}
