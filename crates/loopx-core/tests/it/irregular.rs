//! Something else in the place of a file of ours: nobody waits for it, and the refusal says what is wrong.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::desk::{Desk, Ended, has, skipped};

const VERBS: &[&[&str]] = &[
    &["status"],
    &["todo", "add", "more"],
    &["todo", "claim", "ship-it.1", "--as", "agent:coder"],
    &["config", "set", "list.page", "7"],
    &["token", "issue", "--actor", "agent:coder"],
    &["doctor"],
];

/// Calls the binary, for twenty seconds at most.
fn bounded(desk: &Desk, words: &[&str]) -> Ended {
    let token = desk.token_file();
    let mut command = desk.command("timeout");
    command.args(["20", env!("CARGO_BIN_EXE_loopx-core")]).args(words).arg("--json");
    if words.first() == Some(&"token") {
        command.args(["--token-file", &token]);
    }
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ended { exit: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Every file that a profile at work has, and its doorbell.
fn files_of(desk: &Desk) -> Vec<PathBuf> {
    let profile = desk.profile();
    let names = [
        "profile.json",
        "profile.toml",
        "authority.db",
        "authority.db-gate",
        "authority.db-turn",
        "tokens.json",
        "locks/tokens.lock",
        "locks/config.lock",
        "locks/profile.lock",
    ];
    let mut all: Vec<_> = names.iter().map(|name| profile.join(name)).collect();
    let record: serde_json::Value = serde_json::from_str(&fs::read_to_string(&all[0]).unwrap()).unwrap();
    all.push(Path::new(record["run_dir"].as_str().unwrap()).join("bell"));
    all
}

fn put_pipe(desk: &Desk, path: &Path) {
    assert!(desk.command("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_pipe_or_a_folder_in_the_place_of_a_file_is_met_at_once_and_typed() {
    let desk = Desk::with_work();
    if !(has(&desk, "timeout") && has(&desk, "mkfifo")) {
        return;
    }
    for path in files_of(&desk) {
        let kept = fs::read(&path).ok();
        for is_pipe in [true, false] {
            let _ = fs::remove_file(&path);
            if is_pipe {
                put_pipe(&desk, &path);
            } else {
                fs::create_dir(&path).unwrap();
            }
            for words in VERBS {
                let ended = bounded(&desk, words);
                let code = ended.code();
                let strange = "store_unreadable";
                let good =
                    ended.exit == 0 || code == strange || code == "already_claimed" || code == "check_failed";
                assert!(good, "{} {words:?}: {ended:?}", path.display());
                assert!(
                    words[0] != "doctor" || ended.out.contains("regular file"),
                    "{}: {ended:?}",
                    path.display()
                );
            }
            if is_pipe {
                fs::remove_file(&path).unwrap();
            } else {
                fs::remove_dir(&path).unwrap();
            }
        }
        if let Some(bytes) = kept {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(desk.call(&["status"]).exit, 0, "{}", path.display());
    }
}

/// What a profile keeps, and what somebody puts in its place.
const PLACES: &[(&str, &str)] = &[
    ("trees", "file"),
    ("trees/*", "folder"),
    ("trees/*", "file"),
    ("private.db", "folder"),
    ("tokens.json", "folder"),
    ("locks", "file"),
    ("spool", "file"),
    ("snapshots", "file"),
    ("backups", "file"),
];

#[test]
fn a_folder_for_a_file_a_file_for_a_folder_and_either_for_a_link_is_named_with_a_hint_that_works() {
    let desk = Desk::empty();
    if !has(&desk, "timeout") {
        return;
    }
    assert!(desk.command("git").args(["init", "-q", "."]).status().unwrap().success());
    desk.ok(&["init", "--goal", "Ship it", "--acceptance", "it is shipped"]);
    desk.ok(&["agent", "add", "coder"]);
    for title in ["one", "two", "three"] {
        desk.ok(&["todo", "add", title]);
    }
    let own = desk.ok(&["todo", "claim", "ship-it.3", "--as", "agent:coder"]);
    let own = own["own_id"].as_str().unwrap().to_owned();
    desk.ok(&["agent", "add", "other"]);
    let verbs: &[&[&str]] = &[
        &["status"],
        &["todo", "add", "more"],
        &["todo", "renew", "ship-it.3", "--as", "agent:coder", "--own", &own],
        &["next", "--agent", "other"],
        &["todo", "claim", "ship-it.1", "--as", "agent:other"],
        &["turn", "run", "--agent", "other", "--host", "true", "--attempts", "1"],
        &["config", "set", "list.page", "7"],
        &["token", "issue", "--actor", "agent:coder"],
        &["turn", "list"],
        &["gc"],
        &["backup", "--include", "private"],
        &["migrate", "--dry-run"],
        &["audit", "verify"],
    ];
    let kept = desk.path("kept");
    let profile = desk.profile();
    let copied = |from: &Path, to: &Path| {
        let _ = fs::remove_dir_all(to);
        assert!(desk.command("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    };
    copied(&profile, &kept);
    for (place, kind) in PLACES {
        for words in verbs {
            let _ = fs::remove_dir_all(&profile);
            copied(&kept, &profile);
            let path = match place.strip_suffix("/*") {
                Some(folder) => fs::read_dir(profile.join(folder)).unwrap().next().unwrap().unwrap().path(),
                None => profile.join(place),
            };
            if path.is_dir() && !path.is_symlink() {
                fs::remove_dir_all(&path).unwrap();
            } else {
                let _ = fs::remove_file(&path);
            }
            if *kind == "folder" {
                fs::create_dir(&path).unwrap();
            } else {
                fs::write(&path, "mine").unwrap();
            }
            let name = path.file_name().unwrap().to_str().unwrap();
            let ended = bounded(&desk, words);
            let said = format!("{place} as a {kind}, {words:?}: {ended:?}");
            assert!(!ended.err.contains("panicked"), "{said}");
            if ended.out.contains("\"error\"") {
                let error = ended.json()["error"].clone();
                let ours = error["code"] == "store_unreadable";
                // A claim and a run may end as they do in a sound place: nobody proves anything here.
                let sound = [
                    "already_claimed",
                    "result_invalid",
                    "host_unavailable",
                    "quota_exhausted",
                    "not_claimable",
                ];
                assert!(ours || sound.iter().any(|code| error["code"] == *code), "{said}");
                if ours {
                    let live = bounded(&desk, &["turn", "list", "--agent", "other"]);
                    assert!(!live.out.contains("trn_"), "{said}: a Turn is left: {live:?}");
                    assert!(error["message"].as_str().unwrap().contains(name), "{said}");
                    assert_eq!(error["hint"], "loopx-core doctor", "{said}");
                    let doctor = bounded(&desk, &["doctor"]);
                    assert!(
                        doctor.out.contains(name) && doctor.out.contains("place of"),
                        "{said}: {doctor:?}"
                    );
                }
            }
            if *kind == "folder" {
                assert!(path.is_dir() && fs::read_dir(&path).unwrap().next().is_none(), "{said}");
            } else {
                assert_eq!(fs::read_to_string(&path).unwrap(), "mine", "{said}");
            }
        }
    }
}

#[test]
fn a_file_that_this_user_may_not_read_is_said_to_lack_permission() {
    let desk = Desk::with_work();
    if !has(&desk, "setpriv") {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        skipped("only root can become somebody else");
        return;
    }
    // given folders that everybody may pass through, and files of ours alone
    let mut folder = desk.profile();
    loop {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        if folder == desk.path("") || !folder.pop() {
            break;
        }
    }
    fs::write(desk.profile().join("profile.toml"), "").unwrap();
    fs::set_permissions(desk.profile().join("profile.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    let binary = desk.path("folder/loopx-core");
    fs::copy(env!("CARGO_BIN_EXE_loopx-core"), &binary).unwrap();
    let call = |words: &[&str]| {
        let mut command = desk.command("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&binary)
            .args(words)
            .arg("--json");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    for name in ["profile.toml", "profile.json"] {
        for words in [&["status"][..], &["todo", "add", "x"]] {
            let said = call(words);
            let expected = format!("{name} cannot be read: this user has no permission");
            assert!(said.contains("store_unreadable") && said.contains(&expected), "{words:?}: {said}");
        }
        fs::set_permissions(desk.profile().join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
}
