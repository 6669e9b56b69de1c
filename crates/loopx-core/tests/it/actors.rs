//! Who asks: actors, proof, and callers below a Turn.

use crate::desk::Desk;

#[test]
fn fault_a09_nobody_named_is_missing_actor() {
    let desk = Desk::with_work().var("LOOPX_ACTOR", "");
    let before = desk.events();
    for words in [
        &["todo", "claim", "ship-it.1"][..],
        &["todo", "add", "x"],
        &["gate", "withdraw", "gate_00000000000000000000000000"],
    ] {
        let ended = desk.json(words);
        assert!(["missing_actor", "not_found"].contains(&ended.code().as_str()), "{ended:?}");
    }
    desk.refused(&["todo", "claim", "ship-it.1"], "missing_actor", 2);
    let blank = desk.var("LOOPX_ACTOR", "agent:");
    blank.refused(&["todo", "claim", "ship-it.1"], "invalid_argument", 2);
    let named = blank.var("LOOPX_ACTOR", "ana");
    named.refused(&["todo", "claim", "ship-it.1"], "invalid_argument", 2);
    assert_eq!(named.events(), before);
}

#[test]
fn an_actor_of_the_wrong_kind_is_refused() {
    let desk = Desk::with_work();
    desk.refused(&["todo", "claim", "ship-it.1"], "actor_not_allowed", 6);
    desk.refused(&["goal", "stop", "--as", "agent:coder"], "user_only", 6);
    desk.refused(&["todo", "add", "x", "--as", "host:mac"], "actor_not_allowed", 6);
    desk.refused(&["todo", "add", "x", "--as", "system"], "actor_not_allowed", 6);
    desk.refused(&["todo", "claim", "ship-it.1", "--as", "agent:nobody"], "not_found", 2);
}

#[test]
fn a_caller_below_a_turn_is_never_more_than_its_agent() {
    let desk = Desk::with_work();
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let turn = claimed["turn_id"].as_str().unwrap().to_owned();
    let token = desk.token_file();
    std::fs::write(desk.folder().join("out.txt"), "out").unwrap();
    let below = desk.var("LOOPX_CONTAINMENT", &format!("{turn}.1")).var("LOOPX_ACTOR", "");
    let added = below.ok(&["evidence", "add", "out.txt", "--kind", "file", "--todo", "ship-it.1"]);
    assert_eq!(added["receipt"]["actor"], "agent:coder@coder.cli");
    assert_eq!(added["receipt"]["contained"], turn.as_str());
    below.refused(&["goal", "stop", "--as", "user:ana"], "user_only", 6);
    below.refused(&["gate", "open", "x", "--blocks", "ship-it.2"], "actor_not_allowed", 6);
    below.refused(&["todo", "claim", "ship-it.2"], "actor_not_allowed", 6);
    // A token proves nothing below a Turn.
    below.refused(&["goal", "stop", "--token-file", &token], "user_only", 6);
    below.refused(&["token", "issue", "--actor", "user:ana", "--token-file", &token], "user_only", 6);
    let strange = below.var("LOOPX_CONTAINMENT", "something-else");
    strange.refused(&["todo", "add", "x", "--as", "user:ana"], "actor_not_allowed", 6);
}

#[cfg(target_os = "linux")]
#[test]
fn an_ancestor_s_mark_counts_although_the_environment_was_cleared() {
    let desk = Desk::with_work();
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let turn = claimed["turn_id"].as_str().unwrap();
    let home = desk.path("home");
    let line = format!(
        "env -i HOME={} {} goal stop ship-it --as user:ana --json; true",
        home.display(),
        env!("CARGO_BIN_EXE_loopx-core")
    );
    let ended = desk
        .command("sh")
        .args(["-c", &line])
        .env("LOOPX_CONTAINMENT", format!("{turn}.1"))
        .output()
        .unwrap();
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(text.contains("\"code\":\"user_only\""), "{text}");
}

#[test]
fn a_strict_profile_wants_proof_for_every_verb_of_a_person() {
    let desk = Desk::with_work();
    desk.ok(&["config", "set", "actors.assurance", "strict"]);
    desk.refused(&["todo", "add", "x"], "unauthenticated", 6);
    desk.proven(&["todo", "add", "x"]);
    desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
}

#[test]
fn regress_settings_are_a_person_s_and_a_strict_profile_wants_proof_for_them() {
    let desk = Desk::with_work();
    desk.refused(&["config", "set", "list.page", "7", "--as", "agent:coder"], "user_only", 6);
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let turn = claimed["turn_id"].as_str().unwrap().to_owned();
    desk.ok(&["config", "set", "actors.assurance", "strict"]);
    desk.refused(&["config", "set", "actors.assurance", "stated"], "unauthenticated", 6);
    let below = desk.var("LOOPX_CONTAINMENT", &format!("{turn}.1"));
    let token = below.token_file();
    below.refused(&["config", "set", "actors.assurance", "stated", "--token-file", &token], "user_only", 6);
    let outside = below.var("LOOPX_CONTAINMENT", "");
    outside.proven(&["config", "set", "actors.assurance", "stated"]);
}

#[cfg(target_os = "linux")]
#[test]
fn regress_below_one_turn_nobody_is_the_agent_of_another() {
    let desk = Desk::with_work();
    desk.ok(&["agent", "add", "other"]);
    let turn = |n: &str, agent: &str| {
        let claimed = desk.ok(&["todo", "claim", n, "--as", agent]);
        claimed["turn_id"].as_str().unwrap().to_owned()
    };
    let (mine, theirs) = (turn("ship-it.1", "agent:coder"), turn("ship-it.2", "agent:other"));
    std::fs::write(desk.folder().join("out.txt"), "out").unwrap();
    let line = format!(
        "LOOPX_CONTAINMENT={theirs}.1 LOOPX_ACTOR= {} evidence add out.txt --kind file --todo ship-it.1 --json; true",
        env!("CARGO_BIN_EXE_loopx-core")
    );
    let ended = desk
        .command("sh")
        .args(["-c", &line])
        .env("LOOPX_CONTAINMENT", format!("{mine}.1"))
        .output()
        .unwrap();
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(text.contains(&format!("\"contained\":\"{mine}\"")), "{text}");
}
