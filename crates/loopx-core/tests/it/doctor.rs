//! What `doctor` looks at: both databases, the folder of locks; and that it changes nothing.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::desk::{Desk, files};

/// The finding of a check, whether or not all are good.
fn finding(desk: &Desk, check: &str) -> Value {
    let shown = desk.json(&["doctor"]).json();
    let all = shown.get("findings").unwrap_or(&shown["error"]["details"]["findings"]).clone();
    let mut found = all.as_array().unwrap().iter().filter(|finding| finding["check"] == check);
    found.next().unwrap_or_else(|| panic!("{check}: {shown}")).clone()
}

#[test]
fn doctor_shows_the_schema_of_both_databases_and_what_this_binary_takes() {
    let desk = Desk::with_work();
    for check in ["ledger", "private"] {
        let found = finding(&desk, check);
        assert_eq!(found["standing"], "good", "{found}");
        assert_eq!(found["schema"]["found"], found["schema"]["writes"], "{found}");
        assert!(
            found["schema"]["reads_from"].is_i64()
                && found["text"].as_str().unwrap().contains("this release reads")
        );
    }
    assert!(desk.call(&["doctor"]).out.contains(" of 1 Goal fit each other"));
}

#[test]
fn doctor_finds_a_damaged_private_store() {
    let desk = Desk::with_work();
    let path = desk.profile().join("private.db");
    for name in ["private.db-wal", "private.db-shm"] {
        let _ = std::fs::remove_file(desk.profile().join(name));
    }
    std::fs::write(&path, "no database at all, and longer than the header of one".repeat(9)).unwrap();
    let found = finding(&desk, "private");
    assert!(
        found["standing"] == "bad" && found["text"].as_str().unwrap().contains("store_corrupt"),
        "{found}"
    );
    assert_eq!(desk.call(&["doctor"]).exit, 1);
}

#[test]
fn doctor_says_that_the_locks_are_gone_and_the_next_write_makes_them_again() {
    let desk = Desk::with_work();
    let locks = desk.profile().join("locks");
    assert_eq!(finding(&desk, "locks")["standing"], "good");
    std::fs::set_permissions(&locks, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(finding(&desk, "locks")["standing"], "doubtful");
    desk.ok(&["todo", "add", "narrows"]);
    assert_eq!(finding(&desk, "locks")["standing"], "good");
    for words in [
        &["todo", "add", "again"][..],
        &["token", "issue", "--actor", "agent:coder"],
        &["agent", "add", "other"],
    ] {
        std::fs::remove_dir_all(&locks).unwrap();
        let before = files(&desk.path("home"));
        assert_eq!(finding(&desk, "locks")["standing"], "doubtful");
        desk.ok(&["status"]);
        assert!(
            !locks.exists() && files(&desk.path("home")).keys().eq(before.keys()),
            "a read makes nothing"
        );
        desk.proven(words);
        let mode = std::fs::metadata(&locks).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{words:?}");
    }
    std::fs::remove_dir_all(&locks).unwrap();
    std::fs::write(&locks, "").unwrap();
    assert_eq!(finding(&desk, "locks")["standing"], "bad");
}

/// A desk whose ledger was written on the wrong wall: a year ahead, in another boot.
#[cfg(feature = "failpoints")]
fn after_a_jump() -> Desk {
    let desk = Desk::with_work().var("LOOPX_FAILPOINT_CLOCK", "wall=31536000000,boot_id=before");
    desk.ok(&["todo", "add", "in the future"]);
    desk.var("LOOPX_FAILPOINT_CLOCK", "")
}

#[cfg(feature = "failpoints")]
#[test]
fn a_jump_of_the_clock_is_shown_with_its_command_and_accepted_under_an_operation() {
    let desk = after_a_jump();
    // given a wall that is behind the ledger after a boot
    let status = desk.ok(&["status"]);
    assert_eq!(status["clock_jump"], true, "{status}");
    let row = status["goals"][0]["attention"][0].clone();
    let command = desk.by_token("doctor --accept-clock");
    assert_eq!((&row["kind"], &row["command"]), (&"clock_jump".into(), &command.into()));
    desk.refused(&["doctor", "--accept-clock"], "unauthenticated", 6);
    // when a proven person accepts it
    let accepted = desk.proven(&["doctor", "--accept-clock", "--op-id", "mine"]);
    assert_eq!((&accepted["accepted"], &accepted["receipt"]["replayed"]), (&true.into(), &false.into()));
    assert_eq!(accepted["receipt"]["actor"], "user:ana");
    // then it is over, its receipt is found again, and the chain of the ledger's own events is looked at
    assert_eq!(desk.ok(&["status"])["clock_jump"], false);
    let again = desk.ok(&["doctor", "--accept-clock", "--op-id", "mine"]);
    assert_eq!(again["receipt"]["replayed"], true, "{again}");
    desk.refused(&["todo", "add", "x", "--op-id", "mine"], "operation_conflict", 4);
    assert_eq!(finding(&desk, "clock")["standing"], "doubtful", "the wall is still behind");
    assert!(
        finding(&desk, "chains")["text"].as_str().unwrap().starts_with("7 events"),
        "{}",
        finding(&desk, "chains")
    );
    assert!(desk.ok(&["doctor", "--accept-clock"])["receipt"].is_null(), "nothing is left to accept");
}

#[test]
fn regress_doctor_names_a_work_tree_that_moved_and_the_way_out_leads_on() {
    let desk = Desk::with_work();
    desk.ok(&["todo", "update", "ship-it.1", "--validator", "true"]);
    let claim = ["todo", "claim", "ship-it.1", "--as", "agent:coder"];
    let own = desk.ok(&claim)["own_id"].as_str().unwrap().to_owned();
    assert_eq!(finding(&desk, "trees")["standing"], "good");
    let (here, moved) = (desk.folder(), desk.path("moved"));
    std::fs::rename(&here, &moved).unwrap();
    let there = |words: &[&str]| {
        let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
        let output = command.args(words).arg("--json").current_dir(&moved).output().unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), json)
    };
    // Nothing is written over a tree that is not there.
    let done = ["todo", "done", "ship-it.1", "--as", "agent:coder", "--own", &own];
    let (exit, refused) = there(&done);
    assert_eq!((exit, &refused["error"]["code"]), (Some(1), &"not_ready".into()), "{refused}");
    assert_eq!(refused["error"]["hint"], "loopx-core doctor");
    let (_, shown) = there(&["doctor"]);
    let all = shown["findings"].as_array().unwrap();
    let found = all.iter().find(|finding| finding["check"] == "trees").unwrap();
    assert_eq!(found["standing"], "doubtful");
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("`folder`, where ship-it.1 is worked on, is not where it was"), "{text}");
    // Put back, it can go on as if nothing had been.
    std::fs::rename(&moved, &here).unwrap();
    assert_eq!(finding(&desk, "trees")["standing"], "good");
    std::fs::rename(&here, &moved).unwrap();
    // Given up, it is claimed anew where the folder is now.
    let way: Vec<&str> = found["command"].as_str().unwrap().split(' ').collect();
    assert_eq!(there(&way).0, Some(0), "{way:?}");
    let (_, claimed) = there(&claim);
    let own = claimed["own_id"].as_str().unwrap_or_else(|| panic!("{claimed}")).to_owned();
    let (exit, done) = there(&["todo", "done", "ship-it.1", "--as", "agent:coder", "--own", &own]);
    assert_eq!(exit, Some(0), "{done}");
}

#[test]
fn regress_our_own_folders_are_nothing_strange() {
    let desk = Desk::with_work();
    for name in ["snapshots", "spool", "trees"] {
        std::fs::create_dir_all(desk.profile().join(name)).unwrap();
    }
    assert_eq!(finding(&desk, "files")["standing"], "good");
    std::fs::create_dir(desk.profile().join("stranger")).unwrap();
    assert_eq!(finding(&desk, "files")["standing"], "doubtful");
}

#[test]
fn doctor_says_that_a_row_is_not_what_its_events_come_to_and_the_command_mends_it() {
    let desk = Desk::with_work();
    assert_eq!(finding(&desk, "rows")["standing"], "good");
    let ledger = rusqlite::Connection::open(desk.profile().join("authority.db")).unwrap();
    let change = "UPDATE todos SET body=replace(body, 'two', 'ten') WHERE title='two'";
    assert_eq!(ledger.execute(change, []).unwrap(), 1);
    let found = finding(&desk, "rows");
    assert_eq!(found["standing"], "bad", "{found}");
    assert!(found["text"].as_str().unwrap().contains("todo ship-it.2"), "{found}");
    assert_eq!(found["command"], "doctor --repair --dry-run");
    assert_eq!(desk.call(&["doctor"]).exit, 1);
    desk.proven(&["doctor", "--repair"]);
    assert_eq!(finding(&desk, "rows")["standing"], "good");
}
