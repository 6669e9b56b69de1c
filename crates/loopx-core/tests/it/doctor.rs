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
    assert_eq!((&row["kind"], &row["command"]), (&"clock_jump".into(), &"doctor --accept-clock".into()));
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
