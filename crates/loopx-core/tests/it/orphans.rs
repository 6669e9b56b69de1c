//! Fault G5: state that nobody registered, and a register without its state, are neither read as new nor written to.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use crate::desk::{Desk, files};

/// Verbs of each sort that need the ledger.
const VERBS: &[&[&str]] = &[
    &["status"],
    &["find", "one"],
    &["log"],
    &["gate", "list"],
    &["todo", "list"],
    &["todo", "show", "ship-it.1"],
    &["goal", "show"],
    &["evidence", "list"],
    &["turn", "list"],
    &["agent", "list"],
    &["todo", "add", "more"],
    &["todo", "claim", "ship-it.1", "--as", "agent:coder"],
    &["agent", "add", "other"],
    &["gate", "open", "Which?", "--blocks", "ship-it.1"],
    &["init"],
    &["init", "--dry-run"],
    &["init", "--goal", "Ship it"],
    &["init", "--goal", "Something else"],
];

/// Everything in the home and the folder, but what a reading SQLite may leave beside its file.
fn state(desk: &Desk) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut all = files(&desk.path("home"));
    all.extend(files(&desk.folder()));
    all.retain(|path, bytes| {
        let name = path.to_string_lossy();
        !(name.ends_with("-shm") || name.ends_with("-wal") && bytes.is_empty())
    });
    all
}

/// Each verb is refused with the code, its hint runs in this very state, and no byte changes.
fn all_refused(desk: &Desk, verbs: &[&[&str]], code: &str) {
    let before = state(desk);
    for words in verbs {
        let error = desk.refused(words, code, 7);
        let hint = error["hint"].as_str().unwrap().strip_prefix("loopx-core ").unwrap().to_owned();
        let words: Vec<_> = hint.split(' ').collect();
        let shown = desk.call(&words);
        assert!(shown.exit <= 1 && shown.out.contains(code), "{hint}: {shown:?}");
        let after = state(desk);
        assert!(after.keys().eq(before.keys()), "{words:?}: {:?}", after.keys());
        assert!(after == before, "{words:?} changes a byte");
    }
}

/// A second home with an authority of its own, and its profile's folder.
fn other() -> (Desk, std::path::PathBuf) {
    let other = Desk::with_work();
    let profile = other.profile();
    (other, profile)
}

#[test]
fn fault_g05_a_folder_bound_to_a_goal_the_ledger_lacks_is_orphaned() {
    let desk = Desk::with_work();
    let binding = desk.folder().join(".loopx/project.toml");
    std::fs::write(&binding, "profile = \"default\"\ngoal = \"lost\"\n").unwrap();
    let own: Vec<&[&str]> = VERBS.iter().copied().filter(|words| !words.contains(&"ship-it.1")).collect();
    let mut all = own;
    all.push(&["goal", "start", "Lost"]);
    all.push(&["todo", "claim", "lost.1", "--as", "agent:coder"]);
    all_refused(&desk, &all, "orphaned_goal_state");
    // What is named is there, and what looks round is answered.
    assert_eq!(desk.ok(&["todo", "list", "--goal", "ship-it"])["items"].as_array().unwrap().len(), 3);
    assert_eq!(desk.ok(&["goal", "list"])["items"].as_array().unwrap().len(), 1);
    let shown = desk.call(&["doctor"]);
    assert!(shown.exit == 1 && shown.out.contains("init --rebind"), "{shown:?}");
    // The way out is said by hand, and forgets only the binding.
    desk.ok(&["init", "--rebind"]);
    assert_eq!(std::fs::read_to_string(&binding).unwrap(), "profile = \"default\"\n");
    assert_eq!(desk.ok(&["init", "--goal", "Ship it"])["created"], false);
    assert_eq!(desk.call(&["doctor"]).exit, 0);
}

#[test]
fn fault_g05_a_bound_folder_under_another_home_is_orphaned() {
    let desk = Desk::with_work().var("HOME", "/nonexistent/loopx");
    all_refused(&desk, VERBS, "orphaned_goal_state");
    let shown = desk.call(&["doctor"]);
    assert!(!shown.out.contains("loopx-core init\n") && shown.exit == 1, "{shown:?}");
    // A folder that is not bound begins as ever.
    std::fs::remove_dir_all(desk.folder().join(".loopx")).unwrap();
    desk.refused(&["status"], "not_found", 2);
}

#[test]
fn fault_g05_a_ledger_without_its_profile_s_file_is_orphaned() {
    let desk = Desk::with_work();
    std::fs::remove_file(desk.profile().join("profile.json")).unwrap();
    all_refused(&desk, VERBS, "orphaned_goal_state");
    // Nor does anything else of it pass for a fresh home.
    for name in ["authority.db", "authority.db-wal", "authority.db-shm"] {
        std::fs::remove_file(desk.profile().join(name)).unwrap();
    }
    std::fs::remove_dir_all(desk.folder().join(".loopx")).unwrap();
    all_refused(&desk, VERBS, "orphaned_goal_state");
}

#[test]
fn fault_g05_a_profile_without_its_ledger_is_no_fresh_one() {
    let desk = Desk::with_work();
    for name in ["authority.db", "authority.db-wal", "authority.db-shm", "tokens.json", "user.token"] {
        std::fs::remove_file(desk.profile().join(name)).unwrap();
    }
    all_refused(&desk, VERBS, "store_corrupt");
    std::fs::write(desk.profile().join("authority.db"), "").unwrap();
    all_refused(&desk, VERBS, "store_corrupt");
}

#[test]
fn fault_g05_the_ledger_of_another_authority_is_refused() {
    let desk = Desk::with_work();
    let (_other, theirs) = other();
    for name in ["authority.db", "authority.db-wal"] {
        std::fs::copy(theirs.join(name), desk.profile().join(name)).unwrap();
    }
    let _ = std::fs::remove_file(desk.profile().join("authority.db-shm"));
    all_refused(&desk, VERBS, "orphaned_goal_state");
    desk.refused(&["goal", "list"], "orphaned_goal_state", 7);
}

#[test]
fn fault_g05_a_fresh_home_is_as_ever() {
    let desk = Desk::empty();
    for words in [&["status"][..], &["todo", "list"], &["todo", "add", "x"]] {
        let error = desk.refused(words, "not_found", 2);
        assert_eq!(error["hint"], "loopx-core init");
    }
    // A home in which `init` was killed after its first file is completed.
    desk.ok(&["init"]);
    let record = desk.profile().join("profile.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let mut half: serde_json::Value = serde_json::from_str(&text).unwrap();
    half.as_object_mut().unwrap().remove("authority_id").unwrap();
    for (path, _) in files(&desk.profile()) {
        std::fs::remove_file(path).unwrap();
    }
    std::fs::write(&record, half.to_string()).unwrap();
    desk.refused(&["status"], "not_found", 2);
    desk.ok(&["init", "--goal", "Ship it"]);
    assert_eq!(desk.ok(&["goal", "list"])["items"].as_array().unwrap().len(), 1);
}

#[test]
fn regress_a_folder_with_a_goal_is_not_bound_to_a_profile_that_lacks_it() {
    let desk = Desk::with_work();
    let binding = desk.folder().join(".loopx/project.toml");
    let before = state(&desk);
    let refused = desk.refused(&["--profile", "other", "init"], "profile_mismatch", 4);
    assert!(refused["hint"].as_str().unwrap().contains("--profile other init --rebind"), "{refused}");
    assert!(state(&desk) == before, "nothing is made");
    desk.ok(&["--profile", "other", "init", "--rebind"]);
    assert_eq!(std::fs::read_to_string(binding).unwrap(), "profile = \"other\"\n");
}
