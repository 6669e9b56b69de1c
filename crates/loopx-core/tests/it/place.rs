//! Where state lies: the same ledger and bell for every process, and help without any place at all.

use std::os::unix::fs::PermissionsExt as _;

use crate::desk::{Desk, has, skipped};

#[test]
fn another_runtime_folder_meets_the_same_ledger_and_the_same_bell() {
    let desk = Desk::with_work();
    let record = || std::fs::read_to_string(desk.profile().join("profile.json")).unwrap();
    let before = record();
    let bells = || {
        let all = crate::desk::files(&desk.path(""));
        all.into_keys().filter(|path| path.ends_with("bell")).collect::<Vec<_>>()
    };
    assert_eq!(bells().len(), 1);
    for vars in [vec![], vec![("XDG_RUNTIME_DIR", desk.path("tmp"))], vec![("TMPDIR", desk.path("tmp"))]] {
        let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
        command.env_remove("XDG_RUNTIME_DIR").envs(vars);
        let output = command.args(["todo", "add", "more", "--json"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(bells().len(), 1, "nobody made another bell");
    }
    assert_eq!(record(), before, "nobody moved it");
    assert_eq!(desk.ok(&["todo", "list"])["items"].as_array().unwrap().len(), 6);
}

#[test]
fn help_works_without_a_home_and_with_one_that_cannot_be_read() {
    let desk = Desk::empty();
    let nowhere = Desk::empty().var("HOME", "");
    assert_eq!(nowhere.call(&["todo", "add", "--help"]).exit, 0);
    nowhere.refused(&["status"], "invalid_argument", 2);
    if !has(&desk, "setpriv") {
        return;
    }
    for name in ["", "folder"] {
        std::fs::set_permissions(desk.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(desk.path("home"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let drop = ["--reuid=65534", "--regid=65534", "--clear-groups", "--", env!("CARGO_BIN_EXE_loopx-core")];
    let call = |words: &[&str]| desk.command("setpriv").args(drop).args(words).output().unwrap();
    let help = call(&["--help"]);
    if help.status.code() != Some(0) {
        skipped("privileges cannot be dropped here");
        return;
    }
    let status = call(&["status", "--json"]);
    let text = String::from_utf8(status.stdout).unwrap();
    assert!(status.status.code() == Some(7) && text.contains("store_unreadable"), "{text}");
}

#[test]
fn init_binds_the_folder_and_touches_nothing_else_of_it() {
    let desk = Desk::empty();
    let git = desk.folder().join(".git");
    std::fs::create_dir_all(git.join("info")).unwrap();
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let planned = desk.ok(&["init", "--goal", "Ship it", "--dry-run"]);
    assert_eq!(planned["goal"]["goal_id"], "ship-it");
    assert!(!desk.profile().exists() && !desk.folder().join(".loopx").exists(), "a dry run makes nothing");
    desk.ok(&["init", "--goal", "Ship it"]);
    let names: Vec<_> =
        std::fs::read_dir(desk.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let bound = std::fs::read_to_string(desk.folder().join(".loopx/project.toml")).unwrap();
    assert_eq!(bound, "profile = \"default\"\ngoal = \"ship-it\"\n");
    assert_eq!(std::fs::read_to_string(git.join("info/exclude")).unwrap(), ".loopx/\n");
}

/// Fault D7: the way back that an error shows must not put an empty ledger in the place of a lost one.
#[test]
fn regress_fault_d07_init_makes_no_empty_ledger_where_one_was() {
    let desk = Desk::with_work();
    let file = desk.profile().join("authority.db");
    for name in ["authority.db", "authority.db-wal", "authority.db-shm"] {
        let _ = std::fs::remove_file(file.with_file_name(name));
    }
    desk.refused(&["status"], "store_corrupt", 7);
    desk.refused(&["init"], "store_corrupt", 7);
    desk.refused(&["init", "--goal", "Ship it"], "store_corrupt", 7);
    assert!(!file.exists());
    std::fs::write(&file, "").unwrap();
    desk.refused(&["init", "--goal", "Ship it"], "store_corrupt", 7);
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 0);
}
