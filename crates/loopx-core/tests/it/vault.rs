//! What is done to the databases as wholes, through the binary.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use crate::desk::{Desk, files};

/// Makes the ledger of a desk one of the schema before.
fn as_before(desk: &Desk) {
    let ledger = rusqlite::Connection::open(desk.profile().join("authority.db")).unwrap();
    let newer = ["nouns", "amounts", "settings"].map(|table| format!("DROP TABLE {table};")).concat();
    ledger.execute_batch(&format!("BEGIN; {newer} PRAGMA user_version=1; COMMIT")).unwrap();
}

/// All files of a home but the indexes of logs, which readers mark.
fn still(desk: &Desk) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut all = files(&desk.path("home"));
    all.retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
    all
}

/// What `doctor` finds of the ledger.
fn ledger(desk: &Desk) -> serde_json::Value {
    let shown = desk.ok(&["doctor"]);
    let found = shown["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "ledger");
    found.unwrap().clone()
}

#[test]
fn fault_c2_what_needs_the_newest_schema_names_the_command_that_brings_it() {
    let desk = Desk::with_work();
    as_before(&desk);
    let judge = ["reward", "add", "well done", "--good", "--todo", "ship-it.1"];
    let refused = desk.refused(&judge, "schema_needs_migration", 7);
    assert_eq!(refused["hint"], "loopx-core migrate");
    let found = ledger(&desk);
    assert_eq!((&found["standing"], &found["command"]), (&"doubtful".into(), &"migrate".into()), "{found}");
    assert!(found["text"].as_str().unwrap().contains("schema 1; this release reads 1 to 2"), "{found}");
    // a look changes nothing, and a stated person neither
    let before = files(&desk.path("home"));
    let plan = desk.ok(&["migrate", "--dry-run"]);
    assert_eq!(
        plan["migration"]["databases"][0],
        serde_json::json!({"database": "ledger", "from": 1, "to": 2})
    );
    assert_eq!(plan["migration"]["migrated"], false);
    assert!(files(&desk.path("home")).keys().eq(before.keys()));
    desk.refused(&["migrate"], "unauthenticated", 6);
    desk.refused(&["migrate", "--as", "agent:coder"], "user_only", 6);
    assert_eq!(ledger(&desk)["schema"]["found"], 1);
    // the hint of a stated person's call is that person's call with proof
    let hinted = desk.call(&["migrate"]);
    assert!(hinted.err.contains("migrate --token-file"), "{hinted:?}");
    // a proven one's call does it, and says on stderr what is at work
    let token = desk.token_file();
    let done = desk.json(&["migrate", "--token-file", &token, "--op-id", "m"]);
    assert!(done.err.contains("copying the ledger"), "{done:?}");
    let done = done.json();
    assert_eq!(done["receipt"]["operation_id"], "m", "{done}");
    let kept = done["migration"]["databases"][0]["kept"]["path"].as_str().unwrap().to_owned();
    assert!(kept.contains("/backups/") && std::path::Path::new(&kept).is_file(), "{kept}");
    desk.ok(&judge);
    assert_eq!((&ledger(&desk)["standing"], &ledger(&desk)["schema"]["found"]), (&"good".into(), &2.into()));
    // again it is the same receipt, and without its id there is nothing to do, for anybody
    let again = desk.ok(&["migrate", "--op-id", "m"]);
    assert_eq!(again["receipt"]["replayed"], true);
    let before = still(&desk);
    let nothing = desk.ok(&["migrate"]);
    assert!(nothing["receipt"].is_null() && nothing["migration"]["migrated"] == false, "{nothing}");
    assert!(still(&desk) == before, "nothing is written");
}

/// The status of a Todo.
fn todo(desk: &Desk, id: &str) -> serde_json::Value {
    desk.ok(&["todo", "show", id])["todo"].clone()
}

#[test]
fn a_backup_is_made_restored_and_told_of() {
    let desk = Desk::with_work();
    let made = desk.ok(&["backup"]);
    let path = made["backup"]["path"].as_str().unwrap().to_owned();
    assert!(path.contains("/backups/") && made["backup"]["digest"].is_string(), "{made}");
    let holds = &made["backup"]["holds"];
    assert_eq!((&holds["goals"], &holds["schema"]), (&1.into(), &2.into()), "{made}");
    assert!(made["backup"]["private"].is_null());
    // an agent makes none, and nobody replaces a file unasked
    desk.refused(&["backup", "--as", "agent:coder"], "user_only", 6);
    let mine = desk.path("mine.db").to_str().unwrap().to_owned();
    desk.ok(&["backup", &mine, "--include", "private"]);
    assert!(desk.path("mine-private.db").is_file());
    desk.refused(&["backup", &mine], "invalid_argument", 2);
    desk.ok(&["backup", &mine, "--force"]);
    desk.refused(
        &["backup", desk.profile().join("authority.db").to_str().unwrap(), "--force"],
        "invalid_argument",
        2,
    );
    // since then something is claimed
    let own = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder", "--op-id", "c"]);
    let own = own["own_id"].as_str().unwrap().to_owned();
    desk.ok(&["todo", "add", "four"]);
    // a look, and a stated person, change nothing
    let before = files(&desk.path("home"));
    let plan = desk.ok(&["restore", &mine, "--dry-run"]);
    assert!(plan["restore"]["restored"] == false && plan["restore"]["holds"]["goals"] == 1, "{plan}");
    desk.refused(&["restore", &mine], "unauthenticated", 6);
    desk.refused(&["restore", &mine, "--as", "agent:coder"], "user_only", 6);
    assert!(files(&desk.path("home")).keys().eq(before.keys()));
    assert!(desk.call(&["restore", &mine]).err.contains("--token-file"), "the hint proves who asks");
    // a proven one restores it
    let done = desk.proven(&["restore", &mine, "--op-id", "r"]);
    let aside = done["restore"]["aside"].as_str().unwrap();
    assert!(std::path::Path::new(aside).is_file() && done["receipt"]["operation_id"] == "r", "{done}");
    desk.refused(&["todo", "show", "ship-it.4"], "not_found", 2);
    assert!(todo(&desk, "ship-it.1")["ownership"].is_null());
    let late = ["todo", "renew", "ship-it.1", "--as", "agent:coder", "--own", &own];
    desk.refused(&late, "ownership_superseded", 4);
    let again = ["todo", "claim", "ship-it.1", "--as", "agent:coder", "--op-id", "c"];
    desk.refused(&again, "operation_conflict", 4);
    desk.ok(&again[..5]);
    assert!(desk.ok(&["doctor"])["findings"].is_array(), "nothing is wrong with it");
    let replayed = desk.proven(&["restore", &mine, "--op-id", "r"]);
    assert_eq!(replayed["receipt"]["replayed"], true);
}

#[test]
fn a_backup_begins_a_profile_where_there_is_none_and_mends_one_that_is_damaged() {
    let desk = Desk::with_work();
    let mine = desk.path("mine.db").to_str().unwrap().to_owned();
    desk.ok(&["backup", &mine]);
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(desk.profile().join(format!("authority.db{end}")));
    }
    desk.refused(&["todo", "list"], "store_corrupt", 7);
    desk.refused(&["restore", &mine], "unauthenticated", 6);
    desk.proven(&["restore", &mine]);
    assert_eq!(desk.ok(&["todo", "list"])["items"].as_array().unwrap().len(), 3);
    // on another machine
    let other = Desk::empty();
    other.ok(&["restore", &mine]);
    assert_eq!(other.ok(&["todo", "list", "--goal", "ship-it"])["items"].as_array().unwrap().len(), 3);
    // whose own authority takes no other's
    let third = Desk::with_work();
    let before = files(&third.profile());
    third.refused(&["restore", &mine, "--dry-run"], "orphaned_goal_state", 7);
    third.refused(&["restore", &mine], "orphaned_goal_state", 7);
    assert!(files(&third.profile()).keys().eq(before.keys()));
}
