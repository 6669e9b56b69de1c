//! One folder has one name: however it is spelled, whoever works in one git work tree meets there.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
};

use super::place::{Place, answer};

/// A git work tree with a folder `sub`, and a link to that.
fn git_place() -> Place {
    let place = Place::new("exit 0");
    fs::create_dir_all(place.tree().join(".git")).unwrap();
    fs::create_dir_all(place.tree().join("sub/deep")).unwrap();
    symlink("sub", place.tree().join("link")).unwrap();
    place
}

fn add(place: &Place, scope: &str) -> String {
    let added = place.call("user:ana", &["todo", "add", "it", "--scope", scope]).ok();
    added.text("/todo/todo_id").to_owned()
}

#[test]
fn a_folder_of_a_tree_and_the_tree_conflict_where_they_meet() {
    // what the first owner claims from where, and what the second does
    let table = [
        (("a.rs", "sub"), ("sub/a.rs", "."), true),
        (("a.rs", "link"), ("a.rs", "sub"), true),
        (("a.rs", "./sub/../sub/"), ("sub/a.rs", "."), true),
        (("a.rs", "sub/deep"), ("deep", "sub"), true),
        ((".", "sub"), ("sub/b.rs", "."), true),
        (("a.rs", "sub"), ("a.rs", "."), false),
        ((".", "sub"), ("other", "."), false),
        (("a.rs", "sub"), ("a.rs", "sub/deep"), false),
    ];
    for ((mine, my_folder), (theirs, their_folder), conflict) in table {
        let place = git_place();
        let (first, second) = (add(&place, mine), add(&place, theirs));
        place.call("agent:a", &["todo", "claim", &first, "--workspace", my_folder]).ok();
        let answer = place.call("agent:b", &["todo", "claim", &second, "--workspace", their_folder]);
        let expected = if conflict { "write_scope_conflict" } else { "" };
        assert_eq!(
            answer.code(),
            expected,
            "{mine} in {my_folder}, {theirs} in {their_folder}: {}",
            answer.json
        );
    }
}

#[test]
fn a_goal_that_is_bound_to_a_folder_meets_the_tree_too() {
    let place = git_place();
    let words = ["goal", "start", "below", "--id", "h", "--workspace", "sub", "--json"];
    assert!(place.plain("user:ana", &words).output().unwrap().status.success());
    for words in [["agent", "add", "a", "--goal", "h"], ["todo", "add", "--scope=a.rs", "it", "--goal=h"]] {
        assert!(place.plain("user:ana", &words).output().unwrap().status.success(), "{words:?}");
    }
    let mine = add(&place, "sub/a.rs");
    place.call("agent:b", &["todo", "claim", &mine]).ok();
    let refused = place.call("agent:a", &["todo", "claim", "h.1"]);
    assert_eq!(refused.code(), "write_scope_conflict", "{}", refused.json);
}

#[test]
fn a_run_in_a_folder_works_there_and_the_ledger_knows_no_path() {
    let place = git_place();
    place.host("pwd > ../../where");
    fs::copy(place.tree().join("host.sh"), place.tree().join("sub/host.sh")).unwrap();
    fs::write(place.tree().join("sub/check.sh"), "test \"$(basename \"$PWD\")\" = sub").unwrap();
    let run: Vec<&str> = place.run("r1").into_iter().chain(["--workspace", "link"]).collect();
    let done = place.call("user:ana", &run);
    assert_eq!(done.text("/turn/state"), "settled", "{}", done.json);
    let real = place.tree().canonicalize().unwrap();
    let sub = real.join("sub");
    let told = fs::read_to_string(place.root().join("where")).unwrap();
    assert_eq!(told.trim_end(), sub.to_str().unwrap());
    let path = real.to_str().unwrap().as_bytes().to_vec();
    for name in ["authority.db", "authority.db-wal"] {
        let file = place.root().join("home/profiles/default").join(name);
        let bytes = fs::read(file).unwrap_or_default();
        assert!(
            !bytes.windows(path.len()).any(|part| part == path),
            "{name} holds the path of the work tree"
        );
    }
}

#[test]
fn regress_a_folder_whose_name_is_no_text_is_worked_in() {
    let place = Place::new("exit 0");
    let folder = place.root().join(OsStr::from_bytes(b"w\xff"));
    if fs::create_dir(&folder).is_err() {
        return; // this file system takes text alone
    }
    place.host("true");
    for name in ["host.sh", "check.sh"] {
        fs::copy(place.tree().join(name), folder.join(name)).unwrap();
    }
    let mut run = place.command("user:ana", &place.run("r1"), &[]);
    let done = answer(&run.arg("--workspace").arg(&folder).output().unwrap());
    assert_eq!(done.text("/turn/state"), "settled", "{}", done.json);
}
