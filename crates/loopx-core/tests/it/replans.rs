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

/// The replan of the whole Goal, claimed by the name that the agent is told: its id and its token.
fn gap_claimed(desk: &Desk, number: u32) -> (String, String) {
    let plan = planned(desk);
    assert_eq!((&plan["action"], &plan["rule"]), (&"replan".into(), &7.into()), "{plan}");
    let name = format!("replan:acceptance_gap:ship-it/{number}");
    assert_eq!(plan["replan"], name.as_str());
    let claimed = desk.ok(&["todo", "claim", &name, "--as", "agent:coder"]);
    let replan = claimed["todo"]["todo_id"].as_str().unwrap().to_owned();
    assert_eq!(replan, format!("ship-it.{number}"));
    (replan, claimed["own_id"].as_str().unwrap().to_owned())
}

#[test]
fn a_goal_whose_criterion_nothing_shows_is_planned_on_by_the_agent_that_is_told_so() {
    let desk = Desk::with_work();
    for id in ["ship-it.1", "ship-it.2", "ship-it.3"] {
        desk.ok(&["todo", "cancel", id, "--reason", "not wanted"]);
    }
    // It is no Todo yet, and each who asks is told of it as of any replan.
    let next = desk.ok(&["next", "--agent", "coder"]);
    assert_eq!((&next["action"], &next["todo"]), (&"replan".into(), &serde_json::Value::Null), "{next}");
    let told = desk.ok(&["heartbeat-prompt", "--agent", "coder"]);
    assert_eq!((&told["action"], &told["contract"]), (&"replan".into(), &serde_json::Value::Null), "{told}");
    let why = desk.call(&["why", "ship-it"]).out;
    assert!(why.contains("criterion 1 of ship-it is not shown yet: it is shipped"), "{why}");
    let refused = desk.refused(&["turn", "run", "--agent", "coder", "--host", "true"], "not_ready", 1);
    assert_eq!(refused["hint"], "loopx-core todo claim replan:acceptance_gap:ship-it/4 --as agent:coder");
    let (replan, own) = gap_claimed(&desk, 4);
    desk.refused(&["goal", "close", "--achieved"], "unauthenticated", 6);
    let done = ["todo", "done", &replan, "--as", "agent:coder", "--own", &own];
    desk.refused(&done, "validation_failed", 1);
    let claimed = desk.ok(&["next", "--claim", "--agent", "coder"]);
    assert_eq!((&claimed["action"], &claimed["todo_id"]), (&"replan".into(), &replan.as_str().into()));
    desk.ok(&["todo", "add", "what is missing", "--as", "agent:coder"]);
    let own = claimed["own_id"].as_str().unwrap();
    desk.ok(&["todo", "done", &replan, "--as", "agent:coder", "--own", own]);
    assert_eq!(desk.ok(&["todo", "show", &replan])["todo"]["state"], "done");
    let plan = planned(&desk);
    assert_eq!((&plan["action"], &plan["todo_id"]), (&"run".into(), &"ship-it.5".into()), "{plan}");
    // A person's word on the criterion leaves nothing to plan.
    desk.ok(&["todo", "cancel", "ship-it.5", "--reason", "not wanted"]);
    let (replan, own) = gap_claimed(&desk, 6);
    desk.ok(&["evidence", "add", "https://example.org/x", "--kind", "url", "--criterion", "1"]);
    desk.ok(&["todo", "done", &replan, "--as", "agent:coder", "--own", &own]);
    assert_eq!(planned(&desk)["asks"][0]["why"], "ready_to_close");
}

#[test]
fn a_goal_that_awaits_a_monitor_waits_for_it_and_for_nothing_else() {
    let desk = Desk::with_work();
    for id in ["ship-it.1", "ship-it.2", "ship-it.3"] {
        desk.ok(&["todo", "cancel", id, "--reason", "not wanted"]);
    }
    desk.ok(&["todo", "add", "watch the queue", "--kind", "monitor", "--every", "1h"]);
    let claimed = desk.ok(&["todo", "claim", "ship-it.4", "--as", "agent:coder"]);
    let look = ["todo", "look", "ship-it.4", "--as", "agent:coder", "--own"];
    desk.ok(&[&look[..], &[claimed["own_id"].as_str().unwrap(), "--unchanged"]].concat());
    let (replan, own) = gap_claimed(&desk, 5);
    let done = ["todo", "done", &replan, "--as", "agent:coder", "--own", &own, "--awaits"];
    desk.refused(&[&done[..], &["ship-it.1"]].concat(), "invalid_argument", 2);
    desk.ok(&[&done[..], &["ship-it.4"]].concat());
    assert_eq!(desk.ok(&["todo", "show", &replan])["todo"]["state"], "done");
    let plan = planned(&desk);
    assert_eq!((&plan["action"], &plan["rule"]), (&"wait".into(), &11.into()), "{plan}");
    assert!(plan["until_ms"].is_i64(), "{plan}");
    let status = desk.ok(&["status"]);
    assert_eq!(status["goals"][0]["waiting_on"], "time", "{status}");
    assert_eq!(status["goals"][0]["because"], "criterion 1 awaits what ship-it.4 sees");
    assert_eq!(desk.ok(&["goal", "show"])["goal"]["awaits"], "ship-it.4");
    // Once it ends, there is nothing to wait for.
    desk.ok(&["todo", "cancel", "ship-it.4", "--reason", "not wanted"]);
    assert_eq!(planned(&desk)["replan"], "replan:acceptance_gap:ship-it/6");
}
