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
    ledger.execute_batch("BEGIN; DROP TABLE nouns; PRAGMA user_version=1; COMMIT").unwrap();
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
    assert_eq!(done["receipt"]["operation_id"], "m");
    let kept = done["migration"]["databases"][0]["kept"]["path"].as_str().unwrap().to_owned();
    assert!(kept.contains("/backups/") && std::path::Path::new(&kept).is_file(), "{kept}");
    desk.ok(&judge);
    assert_eq!((&ledger(&desk)["standing"], &ledger(&desk)["schema"]["found"]), (&"good".into(), &2.into()));
    // again it is the same receipt, and without its id there is nothing to do, for anybody
    let again = desk.ok(&["migrate", "--op-id", "m"]);
    assert_eq!(again["receipt"]["replayed"], true);
    let before = files(&desk.path("home"));
    let nothing = desk.ok(&["migrate"]);
    assert!(nothing["receipt"].is_null() && nothing["migration"]["migrated"] == false, "{nothing}");
    assert!(files(&desk.path("home")) == before, "nothing is written");
}
