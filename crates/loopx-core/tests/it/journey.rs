//! A day's work by the command line: what people read, and what programs get.

use serde_json::json;

use crate::desk::Desk;

/// Lines of text with everything that differs between two runs taken out.
fn steady(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n', '`', ',']).map(|word| {
        let id = word.trim_end_matches([' ', '\n', '`', ',', '.']);
        let tail = &word[id.len()..];
        let minted = ["own_", "gate_", "evd_", "trn_", "op_"].iter().find(|prefix| id.starts_with(**prefix));
        match minted {
            Some(prefix) if id.len() > 20 => format!("{prefix}ID{tail}"),
            _ => word.to_owned(),
        }
    });
    words.collect()
}

#[test]
fn a_new_user_is_led_from_nothing_to_a_claim() {
    let desk = Desk::empty();
    let first = desk.call(&["status"]);
    assert_eq!(
        (first.exit, first.err.as_str()),
        (2, "error: profile `default` does not exist yet\nhint: loopx-core init\n")
    );

    let made = desk.call(&["init", "--goal", "Ship it", "--acceptance", "it is shipped"]);
    assert_eq!(made.exit, 0, "{made:?}");
    assert!(made.out.contains("made the profile default\n"), "{made:?}");
    assert!(made.out.ends_with("next: `loopx-core todo add <TITLE>`\n"), "{made:?}");

    let status = desk.call(&["status"]);
    assert!(status.out.starts_with("ship-it: Ship it\n"), "{status:?}");
    assert!(status.out.contains("waits for           user: it has no Todo yet\n"), "{status:?}");
    assert!(status.out.contains("\nnext: loopx-core todo add <TITLE> --goal ship-it\n"), "{status:?}");

    let added = desk.call(&["todo", "add", "Fix the login test", "--priority", "P1"]);
    assert!(added.out.starts_with("added ship-it.1\n"), "{added:?}");
    assert!(desk.call(&["status"]).out.contains("no agent is registered"));
    desk.call(&["agent", "add", "coder"]);
    let status = desk.call(&["status"]);
    assert!(status.out.contains("agent: coder can take ship-it.1\n"), "{status:?}");
    assert!(status.out.contains("\nnext: loopx-core todo claim ship-it.1 --as agent:coder\n"), "{status:?}");
    let why = desk.call(&["why"]);
    assert!(why.out.starts_with("ship-it waits for agent: coder can take ship-it.1\n"), "{why:?}");

    let claimed = desk.call(&["todo", "claim", "1", "--as", "agent:coder"]);
    assert_eq!(
        steady(&claimed.out),
        "ship-it.1 is yours\nown_id own_ID\nwhen it is finished: `loopx-core todo done ship-it.1 --as agent:coder --own own_ID`\n"
    );
    assert_eq!(steady(&claimed.err), "operation op_ID\n");
    let list = desk.call(&["todo", "list"]);
    assert!(list.out.contains("ship-it.1  P1    owned  coder, 44m left  Fix the login test"), "{}", list.out);
    assert!(desk.call(&["status"]).out.contains("agent: an agent works"));
}

#[test]
fn a_write_prints_its_receipt_and_its_noun() {
    let desk = Desk::with_work();
    let added = desk.ok(&["todo", "add", "four", "--op-id", "my-op"]);
    assert_eq!(added["schema_version"], "loopx_todo_v1");
    assert_eq!(added["receipt"]["operation_id"], "my-op");
    assert_eq!(added["receipt"]["actor"], "user:ana");
    assert_eq!(added["todo"], json!({"todo_id": "ship-it.4", "goal_id": "ship-it"}));
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    assert!(claimed["own_id"].as_str().unwrap().starts_with("own_"));
    assert_eq!(claimed["own_id"], claimed["todo"]["own_id"]);
    assert!(claimed["expires_at_ms"].as_i64() > claimed["receipt"]["at_ms"].as_i64());
    let listed = desk.ok(&["todo", "list"]);
    assert_eq!(listed["schema_version"], "loopx_todo_list_v1");
    assert_eq!(listed["items"].as_array().unwrap().len(), 4);
    assert_eq!(listed.get("next_cursor"), None);
    // The token of an ownership is printed to the one who claimed, and never again.
    let own = claimed["own_id"].as_str().unwrap();
    for words in [
        &["todo", "show", "ship-it.1"][..],
        &["todo", "list"],
        &["status"],
        &["log"],
        &["agent", "show", "coder"],
    ] {
        assert!(!desk.json(words).out.contains(own), "{words:?}");
    }
}

#[test]
fn pages_follow_each_other() {
    let desk = Desk::with_work();
    for nouns in [&["todo", "list"][..], &["log"]] {
        let all = desk.ok(&[nouns, &["--limit", "1000"]].concat())["items"].as_array().unwrap().clone();
        let mut seen = Vec::new();
        let mut cursor = String::new();
        loop {
            let mut words = [nouns, &["--limit", "2"]].concat();
            if !cursor.is_empty() {
                words.extend(["--cursor", &cursor]);
            }
            let page = desk.ok(&words);
            seen.extend(page["items"].as_array().unwrap().clone());
            match page.get("next_cursor") {
                Some(next) => cursor = next.as_str().unwrap().to_owned(),
                None => break,
            }
        }
        assert_eq!(seen, all, "{nouns:?}");
    }
    desk.refused(&["todo", "list", "--cursor", "x"], "invalid_argument", 2);
    desk.refused(&["log", "--cursor", "-"], "invalid_argument", 2);
}

#[test]
fn a_goal_is_worked_through_to_its_end() {
    let desk = Desk::with_work();
    let gate =
        desk.ok(&["gate", "open", "Which one?", "--option", "a", "--option", "b", "--blocks", "ship-it.2"]);
    let gate = gate["gate"]["gate_id"].as_str().unwrap().to_owned();
    desk.refused(&["todo", "claim", "ship-it.2", "--as", "agent:coder"], "gate_blocked", 6);
    let status = desk.ok(&["status"]);
    assert_eq!(status["goals"][0]["gates"][0]["gate_id"], gate.as_str());
    desk.refused(&["gate", "resolve", &gate, "--answer", "a"], "unauthenticated", 6);
    desk.proven(&["gate", "resolve", &gate, "--answer", "a"]);
    desk.refused(
        &["gate", "resolve", &gate, "--answer", "a", "--token-file", &desk.token_file()],
        "invalid_transition",
        4,
    );
    assert_eq!(desk.ok(&["gate", "show", &gate])["gate"]["state"], "answered");

    desk.ok(&["todo", "done", "ship-it.1"]);
    desk.ok(&["todo", "cancel", "ship-it.2", "--reason", "not needed"]);
    desk.refused(
        &["goal", "close", "--achieved", "--token-file", &desk.token_file()],
        "invalid_transition",
        4,
    );
    desk.ok(&["todo", "done", "ship-it.3", "--no-followup"]);
    desk.refused(&["goal", "close", "--achieved", "--token-file", &desk.token_file()], "not_ready", 1);
    desk.ok(&["evidence", "add", "out.txt", "--kind", "check", "--criterion", "1"]);
    let ready = desk.ok(&["status"]);
    assert_eq!(ready["goals"][0]["first"]["command"], desk.by_token("goal close ship-it --achieved"));
    desk.proven(&["goal", "close", "--achieved"]);
    desk.refused(&["todo", "add", "late"], "goal_closed", 6);
    assert_eq!(desk.ok(&["status"])["closed"], 1);
    desk.proven(&["goal", "reopen"]);
    assert_eq!(desk.ok(&["goal", "show"])["goal"]["state"], "active");
}

#[test]
fn an_owner_keeps_hands_over_and_gives_back() {
    let desk = Desk::with_work();
    desk.ok(&["agent", "add", "reviewer"]);
    let own = |words: &[&str]| desk.ok(words)["own_id"].as_str().unwrap().to_owned();
    let first = own(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let error = desk.refused(&["todo", "claim", "ship-it.1", "--as", "agent:reviewer"], "already_claimed", 4);
    assert!(error["message"].as_str().unwrap().contains("coder"), "{error}");
    desk.refused(&["todo", "renew", "ship-it.1", "--as", "agent:coder"], "own_required", 2);
    desk.ok(&["todo", "renew", "ship-it.1", "--as", "agent:coder", "--own", &first]);
    desk.ok(&["todo", "transfer", "ship-it.1", "--to", "reviewer", "--as", "agent:coder", "--own", &first]);
    desk.refused(
        &["todo", "renew", "ship-it.1", "--as", "agent:coder", "--own", &first],
        "ownership_expired",
        4,
    );
    let second = own(&["todo", "claim", "ship-it.1", "--as", "agent:reviewer"]);
    desk.refused(
        &["todo", "release", "ship-it.1", "--as", "agent:coder", "--own", &first],
        "ownership_superseded",
        4,
    );
    desk.ok(&["todo", "release", "ship-it.1", "--as", "agent:reviewer", "--own", &second]);
    own(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    desk.refused(&["todo", "release", "ship-it.1", "--force", "--reason", "gone"], "unauthenticated", 6);
    desk.proven(&["todo", "release", "ship-it.1", "--force", "--reason", "gone"]);
}

#[test]
fn the_plan_is_moved() {
    let desk = Desk::with_work();
    desk.ok(&["todo", "link", "ship-it.3", "--depends-on", "ship-it.1", "--depends-on", "ship-it.2"]);
    desk.refused(&["todo", "link", "ship-it.1", "--depends-on", "ship-it.3"], "dependency_cycle", 4);
    desk.ok(&["todo", "unlink", "ship-it.3", "--depends-on", "ship-it.2"]);
    assert_eq!(desk.ok(&["todo", "show", "ship-it.3"])["todo"]["depends_on"], json!(["ship-it.1"]));
    desk.ok(&["todo", "defer", "ship-it.2", "--wake", "todo_done:ship-it.1"]);
    desk.ok(&["todo", "block", "ship-it.1", "--reason", "no account"]);
    desk.refused(&["todo", "hold", "ship-it.1", "--expect", "1"], "stale_revision", 4);
    desk.ok(&["todo", "unblock", "ship-it.1"]);
    desk.ok(&["todo", "hold", "ship-it.1"]);
    desk.ok(&["todo", "unhold", "ship-it.1"]);
    desk.ok(&["todo", "update", "ship-it.1", "--title", "one more", "--priority", "P0"]);
    let row = desk.ok(&["todo", "show", "ship-it.1"]);
    assert_eq!(
        (row["todo"]["title"].as_str(), row["todo"]["priority"].as_str()),
        (Some("one more"), Some("P0"))
    );
    desk.ok(&["todo", "add", "a wall", "--kind", "blocker"]);
    desk.ok(&["todo", "resolve", "ship-it.4"]);
    desk.ok(&["todo", "reopen", "ship-it.4"]);
    let waits = desk.ok(&["todo", "list", "--state", "deferred"]);
    assert_eq!(waits["items"][0]["todo_id"], "ship-it.2");
}

#[test]
fn an_honest_retry_with_a_length_of_time_gets_its_receipt() {
    let desk = Desk::with_work();
    let words = ["todo", "defer", "ship-it.1", "--wake", "after:2h", "--op-id", "later"];
    let first = desk.ok(&words);
    let again = desk.ok(&words);
    assert_eq!(
        (&again["receipt"]["digest"], &again["receipt"]["replayed"]),
        (&first["receipt"]["digest"], &json!(true))
    );
    desk.refused(&["todo", "hold", "ship-it.1", "--op-id", "later"], "operation_conflict", 4);
    desk.refused(&[&words[..], &["--as", "user:bob"]].concat(), "operation_conflict", 4);
}

#[test]
fn a_validator_is_recorded_with_the_path_of_its_program() {
    let desk = Desk::with_work();
    desk.ok(&[
        "todo",
        "add",
        "proved",
        "--validator",
        "sh -c 'exit 0'",
        "--timeout",
        "5s",
        "--progress-exit",
        "3",
    ]);
    let validator = desk.ok(&["todo", "show", "ship-it.4"])["todo"]["validators"][0].clone();
    assert!(validator["argv"][0].as_str().unwrap().starts_with('/'), "{validator}");
    assert_eq!(
        (&validator["argv"][2], &validator["timeout_ms"], &validator["progress_exit"]),
        (&json!("exit 0"), &json!(5000), &json!(3))
    );
    let error = desk.refused(&["todo", "add", "x", "--validator", "no-such-program"], "not_found", 2);
    assert_eq!(error["details"]["program"], "no-such-program");
    desk.refused(&["todo", "add", "x", "--validator", "sh", "--env", "LOOPX_TOKEN"], "invalid_argument", 2);
}

#[test]
fn a_criterion_is_waived_by_a_proven_person() {
    let desk = Desk::with_work();
    let words = ["goal", "update", "--criterion", "1", "--waive", "measured by hand"];
    desk.refused(&words, "unauthenticated", 6);
    desk.proven(&words);
    assert_eq!(desk.ok(&["goal", "list"])["items"][0]["criteria_met"], 1);
    desk.refused(
        &["goal", "update", "--criterion", "9", "--waive", "x", "--token-file", &desk.token_file()],
        "invalid_argument",
        2,
    );
}

#[test]
fn an_export_holds_the_whole_chain() {
    let desk = Desk::with_work();
    let export = desk.ok(&["goal", "export"]);
    let events = export["events"].as_array().unwrap();
    assert_eq!(events.len() as u64, desk.events());
    assert_eq!(export["receipts"].as_array().unwrap().len(), 5);
    assert_eq!(export["todos"].as_array().unwrap().len(), 3);
    let findings = desk.ok(&["doctor"])["findings"].clone();
    let chains = findings.as_array().unwrap().iter().find(|finding| finding["check"] == "chains").unwrap();
    assert_eq!(chains["text"], format!("{} events of 1 Goal fit each other", events.len()));
}

#[test]
fn an_export_hands_no_ownership_token_on_and_its_chain_can_still_be_followed() {
    let desk = Desk::with_work();
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let own_id = claimed["own_id"].as_str().unwrap().to_owned();
    for words in
        [&["goal", "export"][..], &["log"], &["turn", "list"], &["todo", "show", "ship-it.1"], &["status"]]
    {
        let shown = desk.ok(words).to_string();
        assert!(!shown.contains(&own_id), "{words:?}: {shown}");
    }
    let export = desk.ok(&["goal", "export"]);
    let events = export["events"].as_array().unwrap();
    let payload = &events.last().unwrap()["payload"];
    assert_eq!(payload["body"]["claim"]["claimed"]["ownership"]["own_id"], export["turns"][0]["own_id"]);
    assert_eq!(events.last().unwrap()["hash"], desk.ok(&["goal", "show", "ship-it"])["goal"]["head_hash"]);
}

#[test]
fn a_goal_is_only_closed_as_achieved_when_its_checks_pass() {
    let desk = Desk::empty();
    desk.ok(&["init"]);
    desk.ok(&["goal", "start", "Ship it", "--acceptance", "it is there", "--check", "1=test -f shipped.txt"]);
    let close = ["goal", "close", "ship-it", "--achieved", "--token-file", &desk.token_file()];
    let refused = desk.refused(&close, "check_failed", 1);
    assert_eq!(refused["details"]["criteria"], serde_json::json!([1]));
    assert_eq!(
        desk.ok(&["goal", "list"])["items"][0]["criteria_met"],
        0,
        "a check that failed shows nothing"
    );
    std::fs::write(desk.folder().join("shipped.txt"), "").unwrap();
    desk.ok(&close);
    let again = ["goal", "stop", "ship-it"];
    desk.refused(&again, "goal_closed", 6);
}
