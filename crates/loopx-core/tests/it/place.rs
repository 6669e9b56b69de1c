//! Where state lies: the same ledger and bell for every process, and help without any place at all.

use std::os::unix::fs::PermissionsExt as _;

use crate::desk::{Desk, has, skipped};

#[test]
fn another_runtime_folder_meets_the_same_ledger_and_the_same_bell() {
    let desk = Desk::with_work();
    let record = || std::fs::read_to_string(desk.profile().join("profile.json")).unwrap();
    let before = record();
    let run = std::path::PathBuf::from(serde_json::from_str::<serde_json::Value>(&before).unwrap()["run_dir"].as_str().unwrap());
    let rung = || std::fs::metadata(run.join("bell")).unwrap().modified().unwrap();
    let mut last = rung();
    for vars in [vec![], vec![("XDG_RUNTIME_DIR", desk.path("tmp"))], vec![("TMPDIR", desk.path("tmp"))]] {
        let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
        command.env_remove("XDG_RUNTIME_DIR").envs(vars);
        let output = command.args(["todo", "add", "more", "--json"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(rung() > last, "the one bell was rung");
        last = rung();
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
    let names: Vec<_> = std::fs::read_dir(desk.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let bound = std::fs::read_to_string(desk.folder().join(".loopx/project.toml")).unwrap();
    assert_eq!(bound, "profile = \"default\"\ngoal = \"ship-it\"\n");
    assert_eq!(std::fs::read_to_string(git.join("info/exclude")).unwrap(), ".loopx/\n");
}
