//! What is done to the databases as wholes, through the binary.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::desk::{Desk, files, has, skipped};

/// Makes the ledger of a desk one of the schema before.
fn as_before(desk: &Desk) {
    let ledger = rusqlite::Connection::open(desk.profile().join("authority.db")).unwrap();
    let newer = ["nouns", "amounts", "settings"].map(|table| format!("DROP TABLE {table};")).concat();
    ledger.execute_batch(&format!("BEGIN; {newer} PRAGMA user_version=1; COMMIT")).unwrap();
}

/// All files of a home but the indexes of logs, which readers mark.
fn still(desk: &Desk) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
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
    assert!(kept.contains("/backups/") && Path::new(&kept).is_file(), "{kept}");
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
    assert!(Path::new(aside).is_file() && done["receipt"]["operation_id"] == "r", "{done}");
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
        let _ = fs::remove_file(desk.profile().join(format!("authority.db{end}")));
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

#[test]
fn a_backup_takes_the_place_of_regular_files_alone_whatever_is_forced() {
    let desk = Desk::with_work();
    let to = desk.path("copies");
    fs::create_dir(&to).unwrap();
    let at = |name: &str| to.join(name);
    fs::write(at("mine.txt"), "mine").unwrap();
    for (kind, name) in [
        ("folder", "a"),
        ("full folder", "b"),
        ("pipe", "c"),
        ("socket", "d"),
        ("link", "e"),
        ("dangling", "f"),
    ] {
        // the ledger's own name, and that of the bodies beside it
        for taken in [format!("{name}.db"), format!("{name}x-private.db")] {
            let path = at(&taken);
            match kind {
                "folder" => fs::create_dir(&path).unwrap(),
                "full folder" => fs::create_dir_all(path.join("below")).unwrap(),
                "pipe" => put_pipe(&path),
                "socket" => drop(UnixListener::bind(&path).unwrap()),
                "link" => symlink(at("mine.txt"), &path).unwrap(),
                _ => symlink(at("nowhere"), &path).unwrap(), // wildcard: the last of the list
            }
            let named = at(&taken.replace("x-private", "x"));
            let before = seen(&to);
            for force in [&["--force"][..], &[]] {
                let words = [&["backup", named.to_str().unwrap(), "--include", "private"], force].concat();
                let refused = desk.refused(&words, "invalid_argument", 2);
                let message = refused["message"].as_str().unwrap();
                assert!(message.contains("regular file"), "{kind}: {refused}");
                assert_eq!(seen(&to), before, "{kind}: something was touched");
            }
        }
    }
    assert_eq!(fs::read_to_string(at("mine.txt")).unwrap(), "mine");
    // and a token is written into a new file alone
    for name in ["a.db", "c.db", "d.db", "e.db", "f.db", "mine.txt"] {
        let before = seen(&to);
        let out = at(name);
        let words = [
            "token",
            "issue",
            "--actor",
            "agent:coder",
            "--out",
            out.to_str().unwrap(),
            "--token-file",
            &desk.token_file(),
        ];
        desk.refused(&words, "invalid_argument", 2);
        assert_eq!(seen(&to), before, "{name}");
    }
}

fn put_pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// What lies in a folder: each name, its kind, and where a link leads.
fn seen(folder: &Path) -> Vec<(PathBuf, fs::FileType, Option<PathBuf>)> {
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.path(), entry.file_type().unwrap(), fs::read_link(entry.path()).ok()))
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

#[test]
fn a_damaged_backup_is_refused_before_anything_is_made_or_asked() {
    let desk = Desk::with_work();
    let mine = desk.path("mine.db").to_str().unwrap().to_owned();
    desk.ok(&["backup", &mine]);
    let file = rusqlite::Connection::open(&mine).unwrap();
    assert_eq!(
        file.execute("UPDATE todos SET body=replace(body, 'two', 'ten') WHERE title='two'", []).unwrap(),
        1
    );
    drop(file);
    for words in [
        &["restore", &mine, "--dry-run"][..],
        &["restore", &mine],
        &["restore", &mine, "--token-file", &desk.token_file()],
    ] {
        let before = still(&desk);
        let refused = desk.refused(words, "store_corrupt", 7);
        assert_eq!(refused["details"]["row"], "todo ship-it.2", "{refused}");
        assert_eq!(refused["hint"], "loopx-core doctor");
        assert!(still(&desk) == before, "{words:?}: something was written");
    }
    // where there is no profile none is made
    let other = Desk::empty();
    other.refused(&["restore", &mine], "store_corrupt", 7);
    assert!(!other.profile().exists());
}

/// Somebody who is not root.
const NOBODY: u32 = 65_534;

/// A desk that belongs to somebody else than root, and how that user calls the binary in it; none where nobody can
/// become that.
struct Theirs {
    desk: Desk,
    binary: PathBuf,
}

impl Theirs {
    fn new() -> Option<Self> {
        let desk = Desk::empty();
        if !has(&desk, "setpriv") {
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            skipped("only root can become somebody else");
            return None;
        }
        fs::set_permissions(desk.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["home", "folder", "run", "tmp"] {
            chown(desk.path(name), Some(NOBODY), Some(NOBODY)).unwrap();
            fs::set_permissions(desk.path(name), fs::Permissions::from_mode(0o700)).unwrap();
        }
        let binary = desk.path("loopx-core");
        fs::copy(env!("CARGO_BIN_EXE_loopx-core"), &binary).unwrap();
        Some(Self { desk, binary })
    }

    /// A call of theirs that has to be accepted.
    fn ok(&self, words: &[&str]) -> serde_json::Value {
        let mut command = self.desk.command("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&self.binary).args(words);
        let output = command.arg("--json").output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// All that is not theirs below their home and their run folder.
    fn foreign(&self) -> Vec<PathBuf> {
        let (mut all, mut folders) = (Vec::new(), vec![self.desk.path("home"), self.desk.path("run")]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let found = fs::symlink_metadata(entry.path()).unwrap();
                if (found.uid(), found.gid()) != (NOBODY, NOBODY) {
                    all.push(entry.path());
                }
                if found.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        all
    }

    /// They go on, whatever root has done.
    fn goes_on(&self, n: u32) {
        assert_eq!(self.foreign(), Vec::<PathBuf>::new());
        self.ok(&["todo", "add", &format!("more {n}")]);
        self.ok(&["config", "set", "list.page", &(n + 7).to_string()]);
        let token = self.desk.token_file();
        self.ok(&["token", "issue", "--actor", "agent:coder", "--token-file", &token]);
        self.ok(&["status"]);
        self.ok(&["backup"]);
    }
}

#[test]
fn what_root_restores_or_writes_in_the_profile_of_another_stays_that_users() {
    let Some(theirs) = Theirs::new() else { return };
    let desk = &theirs.desk;
    theirs.ok(&["init", "--goal", "Ship it"]);
    theirs.ok(&["todo", "add", "one"]);
    let copy = theirs.ok(&["backup"])["backup"]["path"].as_str().unwrap().to_owned();
    let run = |path: &Path| fs::read_to_string(path).unwrap();
    let before = run(&desk.profile().join("profile.json"));
    // given folders and locks that root is the first to need
    for name in ["backups", "locks"] {
        fs::rename(desk.profile().join(name), desk.path("tmp").join(name)).unwrap();
    }
    let copy = copy.replace(desk.profile().to_str().unwrap(), desk.path("tmp").to_str().unwrap());
    let kept = desk.proven(&["restore", &copy])["restore"]["aside"].as_str().unwrap().to_owned();
    assert!(Path::new(&kept).is_file());
    assert_eq!(run(&desk.profile().join("profile.json")), before, "the bell stays where it is");
    theirs.goes_on(1);
    // a ledger that cannot be read is made anew, as open as the one before
    let ledger = desk.profile().join("authority.db");
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(desk.profile().join(format!("authority.db{end}")));
    }
    fs::write(&ledger, "words ".repeat(2000)).unwrap();
    fs::set_permissions(&ledger, fs::Permissions::from_mode(0o640)).unwrap();
    desk.proven(&["restore", &copy]);
    for end in ["", "-wal", "-shm"] {
        let found = fs::metadata(desk.profile().join(format!("authority.db{end}")));
        assert!(
            found.as_ref().is_ok_and(|found| found.mode() & 0o777 == 0o640) || !end.is_empty(),
            "{end}: {found:?}"
        );
    }
    theirs.goes_on(2);
    // gone, it begins as theirs
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(desk.profile().join(format!("authority.db{end}")));
    }
    desk.proven(&["restore", &copy]);
    theirs.goes_on(3);
    // every other verb that root gives
    desk.ok(&["config", "set", "list.page", "9"]);
    desk.proven(&["token", "issue", "--actor", "agent:coder"]);
    desk.ok(&["backup", "--include", "private"]);
    desk.ok(&["gc"]);
    desk.ok(&["todo", "add", "two"]);
    desk.ok(&["agent", "add", "coder"]);
    desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    theirs.goes_on(4);
    // a copy that root makes for another place is root's alone
    let mine = desk.folder().join("mine.db");
    desk.ok(&["backup", mine.to_str().unwrap()]);
    assert_eq!(fs::metadata(mine).unwrap().uid(), 0);
}
