//! Snapshots of a work tree around a Turn, through the binary: what `turn diff` shows and `turn undo` puts back.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::Path,
    process::Command,
};

use serde_json::Value;

use super::place::{Answer, Place, until, until_let_go};

pub(super) fn git(folder: &Path, words: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "a test prepares its own place")]
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]).args(words);
    let output = git.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A place whose tree is a repository with one commit of `files`, and whose host does some work.
pub(super) fn place(files: &[(&str, &[u8])], work: &str) -> Place {
    let place = Place::new("exit 0");
    git(&place.tree(), &["init", "-q"]);
    fs::write(place.tree().join(".git/info/exclude"), "host.sh\ncheck.sh\nignored\n.loopx/\n").unwrap();
    for (name, content) in files {
        let path = place.tree().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    fs::write(place.tree().join("kept"), "kept\n").unwrap();
    git(&place.tree(), &["add", "-A"]);
    git(&place.tree(), &["commit", "-qm", "one"]);
    place.host(work);
    place
}

/// Runs the Turn, whatever its end; its id.
pub(super) fn run(place: &Place) -> String {
    place.call("user:ana", &place.run("op"));
    place.turn_id()
}

pub(super) fn diff(place: &Place, turn: &str) -> Answer {
    place.call("user:ana", &["turn", "diff", turn]).ok()
}

pub(super) fn undo(place: &Place, turn: &str) -> Answer {
    place.call("user:ana", &["turn", "undo", turn]).ok()
}

/// The changed paths, each with one of its fields.
pub(super) fn items(answer: &Answer, field: &str) -> BTreeMap<String, String> {
    let items = answer.json["items"].as_array().cloned().unwrap_or_default();
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    items.iter().map(|item| (item["path"].as_str().unwrap().to_owned(), shown(&item[field]))).collect()
}

pub(super) fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
}

/// Everything below a folder with its content and time.
pub(super) fn all(folder: &Path) -> BTreeMap<std::path::PathBuf, (Vec<u8>, Option<std::time::SystemTime>)> {
    let (mut found, mut left) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(at).unwrap().flatten() {
            let path = entry.path();
            let meta = path.symlink_metadata().unwrap();
            if meta.is_dir() {
                left.push(path.clone());
            } else {
                found.insert(path.clone(), (fs::read(&path).unwrap_or_default(), meta.modified().ok()));
            }
        }
    }
    found
}

fn holds(folder: &Path, word: &[u8]) -> bool {
    all(folder).values().any(|(content, _)| content.windows(word.len()).any(|part| part == word))
}

#[test]
fn what_a_turn_did_is_shown_undone_and_done_again() {
    let place = place(
        &[("a", b"1\n"), ("sub/b", b"b\n"), ("p", b"x\n")],
        "echo 2 > a; rm sub/b; mkdir -p new; echo n > new/c; chmod +x p",
    );
    let git_before = all(&place.tree().join(".git"));
    let turn = run(&place);
    let shown = diff(&place, &turn);
    let expected = [("a", "modified"), ("sub/b", "deleted"), ("new/c", "added"), ("p", "modified")];
    assert_eq!(items(&shown, "change"), pairs(&expected), "{}", shown.json);
    let text = place.plain("user:ana", &["turn", "diff", &turn, "--goal", "g"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    for line in ["diff --git a/a b/a", "-1", "+2", "+++ /dev/null", "new mode 100755", "+n"] {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
    let show = place.call("user:ana", &["turn", "show", &turn]).ok();
    assert_eq!(show.json.pointer("/snapshot/changed"), Some(&4.into()));

    let dry = place.call("user:ana", &["turn", "undo", &turn, "--dry-run"]).ok();
    assert_eq!(dry.json["restored"], 4);
    assert_eq!(fs::read(place.tree().join("a")).unwrap(), b"2\n");
    assert_eq!(undo(&place, &turn).json["restored"], 4);
    assert_eq!(git(&place.tree(), &["--no-optional-locks", "status", "--porcelain"]), "");
    assert!(!place.tree().join("new").exists());
    assert_eq!(all(&place.tree().join(".git")), git_before, "the user's repository was written to");
    // given again it finds all done, and an undo is itself undone
    assert_eq!(undo(&place, &turn).json["restored"], 0);
    let redone = place.call("user:ana", &["turn", "undo", &turn, "--redo"]).ok();
    assert_eq!(redone.json["restored"], 4);
    assert_eq!(fs::read(place.tree().join("new/c")).unwrap(), b"n\n");
    assert_eq!(place.todo_state(), "done", "an undo moves no fact");
}

#[test]
fn undo_is_a_persons_and_only_of_what_the_turn_left() {
    let place = place(&[("a", b"1\n"), ("b", b"1\n")], "echo 2 > a; echo 2 > b");
    let turn = run(&place);
    let refused = place.call("agent:a", &["turn", "undo", &turn]);
    assert_eq!(refused.code(), "user_only", "{}", refused.json);
    fs::write(place.tree().join("a"), "mine\n").unwrap();
    let undone = undo(&place, &turn);
    assert_eq!(items(&undone, "fate"), pairs(&[("a", "left"), ("b", "restored")]));
    assert_eq!(fs::read(place.tree().join("a")).unwrap(), b"mine\n");
}

#[test]
fn undo_a_secret_of_an_untracked_file_reaches_no_repository_of_the_users() {
    let place = place(&[], "echo other > secret; echo 2 > kept");
    fs::write(place.tree().join("secret"), "hunter2hunter2").unwrap();
    git(place.root(), &["init", "-q", "--bare", "mirror.git"]);
    let turn = run(&place);
    undo(&place, &turn);
    assert_eq!(fs::read(place.tree().join("secret")).unwrap(), b"hunter2hunter2");
    // not even packed: every object of theirs is one of the commit
    let listed = git(&place.tree(), &["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!listed.contains("hunter2"), "{listed}");
    let refs = git(&place.tree(), &["for-each-ref"]);
    git(&place.tree(), &["push", "-q", "--mirror", "../mirror.git"]);
    assert_eq!(git(&place.root().join("mirror.git"), &["for-each-ref"]), refs);
    assert!(!holds(&place.tree().join(".git"), b"hunter2"));
}

#[test]
fn undo_puts_bytes_back_whatever_attributes_and_filters_say() {
    let hostile = b"* text=auto eol=crlf ident filter=evil diff=evil working-tree-encoding=UTF-16\n";
    let place = place(
        &[("crlf", b"a\r\nb\r\n"), ("mixed", b"a\r\nb\n$Id$\n")],
        "printf 'x\\n' > crlf; printf 'y\\r\\n' > mixed",
    );
    let tree = place.tree();
    let ran = place.root().join("ran");
    for name in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.fsmonitor",
    ] {
        git(&tree, &["config", name, &format!("touch {}; cat", ran.display())]);
    }
    git(&tree, &["config", "core.autocrlf", "true"]);
    fs::create_dir_all(tree.join(".git/hooks")).unwrap();
    fs::write(tree.join(".gitattributes"), hostile).unwrap();
    let turn = run(&place);
    assert_eq!(items(&diff(&place, &turn), "change"), pairs(&[("crlf", "modified"), ("mixed", "modified")]));
    undo(&place, &turn);
    assert_eq!(fs::read(tree.join("crlf")).unwrap(), b"a\r\nb\r\n");
    assert_eq!(fs::read(tree.join("mixed")).unwrap(), b"a\r\nb\n$Id$\n");
    assert!(!ran.exists(), "a program that the work tree names was run");
}

#[test]
fn undo_lists_large_files_and_other_repositories_and_never_touches_them() {
    let place = place(&[], "echo x >> large; echo 2 > kept; echo x > nested/f; echo x > sub/f");
    let tree = place.tree();
    fs::File::create(tree.join("large")).unwrap().set_len(30 * 1024 * 1024).unwrap();
    for name in ["nested", "../other"] {
        fs::create_dir_all(tree.join(name)).unwrap();
        git(&tree.join(name), &["init", "-q"]);
        git(&tree.join(name), &["commit", "-q", "--allow-empty", "-m", "x"]);
    }
    git(&tree, &["submodule", "add", "-q", "../other", "sub"]);
    let turn = run(&place);
    let shown = diff(&place, &turn);
    assert_eq!(items(&shown, "restorable"), pairs(&[("kept", "true"), ("large", "false")]), "{}", shown.json);
    assert_eq!(shown.json["left_out"], serde_json::json!(["large", "nested", "sub"]));
    let undone = undo(&place, &turn);
    assert_eq!(items(&undone, "fate"), pairs(&[("kept", "restored"), ("large", "left")]));
    assert_eq!(fs::metadata(tree.join("large")).unwrap().len(), 30 * 1024 * 1024 + 2);
    assert!(tree.join("nested/f").exists() && tree.join("sub/f").exists());
}

#[test]
fn undo_restores_links_as_links_and_follows_none() {
    let place = place(
        &[("d/f", b"1\n"), ("file", b"1\n")],
        "rm link; echo x > link; rm file; ln -s ../outside file; echo 2 > d/f; ln -s ../outside fresh",
    );
    let tree = place.tree();
    symlink("kept", tree.join("link")).unwrap();
    fs::write(place.root().join("outside"), "theirs").unwrap();
    let turn = run(&place);
    // a folder of the way becomes a link to a folder that looks the same
    fs::rename(tree.join("d"), place.root().join("moved")).unwrap();
    symlink("../moved", tree.join("d")).unwrap();
    let undone = undo(&place, &turn);
    let expected = [("d/f", "left"), ("file", "restored"), ("fresh", "restored"), ("link", "restored")];
    assert_eq!(items(&undone, "fate"), pairs(&expected), "{}", undone.json);
    assert_eq!(fs::read_link(tree.join("link")).unwrap(), Path::new("kept"));
    assert!(
        tree.join("file").symlink_metadata().unwrap().is_file()
            && tree.join("fresh").symlink_metadata().is_err()
    );
    assert_eq!(fs::read(place.root().join("outside")).unwrap(), b"theirs");
    assert_eq!(fs::read(place.root().join("moved/f")).unwrap(), b"2\n");
}

#[test]
fn undo_of_a_rename_by_case_alone_and_of_a_folder_for_a_file() {
    let place = place(
        &[("Name", b"1\n"), ("f", b"1\n"), ("g/x", b"1\n")],
        "mv Name name; rm f; mkdir f; echo 1 > f/x; rm -r g; echo 1 > g",
    );
    let turn = run(&place);
    assert_eq!(undo(&place, &turn).json["restored"], 6);
    assert_eq!(git(&place.tree(), &["status", "--porcelain"]), "");
    assert!(place.tree().join("Name").exists() && !place.tree().join("name").exists());
}

#[test]
fn a_folder_without_git_has_no_snapshot_and_says_so() {
    let place = Place::new("exit 0");
    place.host("echo 2 > a");
    let turn = run(&place);
    let why = "its folder is no git work tree, or not on this machine";
    assert_eq!(place.call("user:ana", &["turn", "show", &turn]).ok().text("/snapshot/absent"), why);
    assert_eq!(diff(&place, &turn).text("/absent"), why);
    assert_eq!(place.call("user:ana", &["turn", "undo", &turn]).code(), "not_ready");
    assert!(!place.root().join("home/profiles/default/snapshots").exists());
}

#[test]
fn names_of_any_bytes_are_recorded_shown_and_put_back() {
    let place = place(&[], "for f in *; do case $f in *.sh) ;; *) echo 2 > \"./$f\";; esac; done");
    let names: [&[u8]; 5] = [b"a\nb", b"-rf", b"w\xff", b"\"q\" %41", b"\x1b[31m"];
    for name in names {
        fs::write(place.tree().join(OsStr::from_bytes(name)), "1\n").unwrap();
    }
    let turn = run(&place);
    let shown = diff(&place, &turn);
    assert_eq!(items(&shown, "change").len(), 6, "{}", shown.json);
    let text = place.plain("user:ana", &["turn", "diff", &turn, "--goal", "g"]).output().unwrap().stdout;
    assert!(!text.contains(&0x1b), "a name steers the terminal");
    assert_eq!(undo(&place, &turn).json["restored"], 6);
    for name in names {
        assert_eq!(fs::read(place.tree().join(OsStr::from_bytes(name))).unwrap(), b"1\n");
    }
}

#[test]
fn what_was_there_survives_what_is_done_to_the_users_repository() {
    let place = place(&[("a", b"first\n")], "echo 2 > a");
    let turn = run(&place);
    let tree = place.tree();
    git(&tree, &["rm", "-q", "--cached", "a"]);
    git(&tree, &["commit", "-q", "--amend", "-m", "gone"]);
    git(&tree, &["reflog", "expire", "--expire=now", "--all"]);
    git(&tree, &["gc", "-q", "--prune=now"]);
    assert_eq!(undo(&place, &turn).json["restored"], 1);
    assert_eq!(fs::read(tree.join("a")).unwrap(), b"first\n");
}

#[test]
fn a_path_that_the_turn_made_ignored_is_no_deletion_and_tracked_ones_count_though_ignored() {
    let place = place(
        &[("out/a", b"1\n")],
        "echo 'out/' > .gitignore; echo loose >> .gitignore; echo 2 > out/a; echo x > ignored",
    );
    fs::write(place.tree().join("loose"), "1\n").unwrap();
    let turn = run(&place);
    assert_eq!(
        items(&diff(&place, &turn), "change"),
        pairs(&[(".gitignore", "added"), ("out/a", "modified")])
    );
}

#[test]
fn a_peers_edits_in_the_same_tree_are_shared_and_never_undone() {
    let place = place(&[("a/x", b"1\n"), ("b", b"1\n")], &until_let_go("echo 2 > a/x; echo 2 > b"));
    let call = |actor: &str, words: &[&str]| place.call(actor, words).ok();
    let mine = call("user:ana", &["todo", "add", "one", "--scope", "a"]).text("/todo/todo_id").to_owned();
    let theirs = call("user:ana", &["todo", "add", "two", "--scope", "c"]).text("/todo/todo_id").to_owned();
    let words = ["turn", "run", "--todo", &mine, "--agent", "a", "--host", "sh host.sh"];
    let mut running = place.start("user:ana", &words, &[]);
    until("the host works", || place.root().join("began").exists());
    let claimed = call("agent:b", &["todo", "claim", &theirs]);
    let peer = claimed.text("/turn_id").to_owned();
    fs::write(place.root().join("go"), "").unwrap();
    running.wait().unwrap();
    let listed =
        call("user:ana", &["turn", "list", "--todo", &mine, "--state", "settled", "--state", "failed"]);
    let turn = listed.text("/items/0/turn_id").to_owned();
    assert_eq!(items(&diff(&place, &turn), "shared"), pairs(&[("a/x", "false"), ("b", "true")]));
    // nothing is put back while the other is at work, nor anything of what is still going on
    assert_eq!(place.call("user:ana", &["turn", "undo", &turn]).code(), "executor_active");
    assert_eq!(place.call("user:ana", &["turn", "undo", &peer]).code(), "invalid_transition");
    call("agent:b", &["todo", "release", &theirs, "--own", claimed.text("/own_id")]);
    assert!(diff(&place, &peer).json.get("absent").is_none(), "a release takes the last snapshot");
    assert_eq!(items(&undo(&place, &turn), "fate"), pairs(&[("a/x", "restored"), ("b", "shared")]));
    assert_eq!(fs::read(place.tree().join("b")).unwrap(), b"2\n");
}

/// Runs a Turn to its end in whose tree another agent claims and leaves a Todo meanwhile.
pub(super) fn run_beside_another(place: &Place) {
    let other = place.call("user:ana", &["todo", "add", "two"]).ok().text("/todo/todo_id").to_owned();
    let mut running = place.start("user:ana", &place.run("op"), &[]);
    until("the host works", || place.root().join("began").exists());
    let claimed = place.call("agent:b", &["todo", "claim", &other]).ok();
    place.call("agent:b", &["todo", "release", &other, "--own", claimed.text("/own_id")]).ok();
    fs::write(place.root().join("go"), "").unwrap();
    running.wait().unwrap();
}

#[test]
fn without_declared_scopes_a_shared_tree_is_not_undone() {
    let place = place(&[("a", b"1\n")], &until_let_go("echo 2 > a"));
    run_beside_another(&place);
    let refused = place.call("user:ana", &["turn", "undo", &place.turn_id()]);
    assert_eq!(refused.text("/error/details/why"), "shared", "{}", refused.json);
    assert!(refused.text("/error/message").contains("git worktree"), "{}", refused.json);
}

#[test]
fn an_attached_turn_has_its_snapshots_too() {
    let place = place(&[("a", b"1\n")], "");
    let own = place.own("agent:a");
    fs::write(place.tree().join("a"), "2\n").unwrap();
    place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
    place.call("user:ana", &["turn", "stop", &place.turn_id()]);
    let turn = place.turn_id();
    assert_eq!(items(&diff(&place, &turn), "change"), pairs(&[("a", "modified")]));
    assert_eq!(undo(&place, &turn).json["restored"], 1);
}

#[test]
fn a_snapshot_that_cannot_be_taken_stops_no_turn() {
    let place = place(&[("a", b"1\n")], "echo 2 > a");
    fs::write(place.tree().join(".git/index"), "damaged").unwrap();
    let turn = run(&place);
    assert_eq!(place.runs(), 1);
    let shown = diff(&place, &turn);
    assert!(shown.text("/absent").starts_with("git could not list the work tree"), "{}", shown.json);
}

#[test]
fn only_so_many_turns_are_kept() {
    let place = place(&[("a", b"1\n")], "");
    place.call("user:ana", &["config", "set", "snapshot.turns", "1"]).ok();
    let mut turns = Vec::new();
    for content in ["secret one\n", "secret two\n", "secret three\n"] {
        let own = place.own("agent:a");
        fs::write(place.tree().join("a"), content).unwrap();
        turns.push(place.turn_id());
        place.call("agent:a", &["todo", "release", "g.1", "--own", &own]).ok();
    }
    assert_eq!(diff(&place, &turns[0]).text("/absent"), "none was taken, or it is kept no longer");
    assert_eq!(undo(&place, &turns[2]).json["restored"], 1);
    assert_eq!(fs::read(place.tree().join("a")).unwrap(), b"secret two\n");
}

#[test]
fn undo_that_is_killed_half_way_is_given_again_and_ends() {
    const FILES: usize = 60;
    let names: Vec<String> = (0..FILES).map(|number| format!("f{number:02}")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"1\n"[..])).collect();
    let place = place(&files, "for f in f*; do echo 2 > $f; done");
    let turn = run(&place);
    let put_back = || {
        let is_back = |name: &&String| fs::read(place.tree().join(name)).unwrap() == b"1\n";
        names.iter().filter(is_back).count()
    };
    let mut undoing = place.start("user:ana", &["turn", "undo", &turn], &[]);
    until("some are put back", || put_back() > 3);
    undoing.kill().unwrap();
    undoing.wait().unwrap();
    let half = put_back();
    assert!(half < FILES, "it was over before it was killed");
    assert_eq!(undo(&place, &turn).json["restored"], FILES - half);
    assert_eq!(put_back(), FILES);
    assert_eq!(git(&place.tree(), &["status", "--porcelain"]), "");
}

#[test]
fn a_place_for_snapshots_that_cannot_be_used_stops_no_turn() {
    let place = place(&[("a", b"1\n")], "echo 2 > a");
    fs::write(place.root().join("home/profiles/default/snapshots"), "").unwrap();
    let turn = run(&place);
    assert_eq!(place.todo_state(), "done");
    assert_eq!(diff(&place, &turn).text("/absent"), "none was taken, or it is kept no longer");
}

#[test]
fn a_tracked_file_that_was_gone_and_came_back_is_seen() {
    let place = place(&[("a", b"1\n"), ("b", b"1\n")], "echo 1 > a");
    // The index names it all the time, so git lists the same before and after.
    fs::remove_file(place.tree().join("a")).unwrap();
    let turn = run(&place);
    assert_eq!(items(&diff(&place, &turn), "change"), pairs(&[("a", "added")]));
    assert_eq!(undo(&place, &turn).json["restored"], 1);
    assert!(!place.tree().join("a").exists());
}

#[test]
fn regress_an_undo_takes_no_name_that_is_not_its_own() {
    let place = place(&[("a", b"1"), (".loopx-undo", b"mine")], "echo 2 > a");
    let turn = run(&place);
    undo(&place, &turn);
    let read = |name: &str| fs::read(place.tree().join(name)).unwrap();
    assert_eq!((read("a"), read(".loopx-undo")), (b"1".to_vec(), b"mine".to_vec()));
}

#[test]
fn fault_i01_forgetting_snapshots_touches_no_tree_of_the_users_however_dirty() {
    // given a tree below the folder for temporary files, with all that is uncommitted, and a worktree beside it
    let place = place(&[("a", b"1\n"), ("staged", b"1\n")], "");
    let side = place.root().join("side");
    git(&place.tree(), &["worktree", "add", "-q", "-b", "side", side.to_str().unwrap()]);
    for (path, content) in
        [("a", "2\n"), ("staged", "2\n"), ("untracked/deep/new", "3\n"), ("ignored", "4\n")]
    {
        let path = place.tree().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    git(&place.tree(), &["add", "staged"]);
    fs::write(side.join("a"), "dirty\n").unwrap();
    fs::write(side.join("loose"), "dirty\n").unwrap();
    place.call("user:ana", &["config", "set", "snapshot.turns", "1"]).ok();
    let trees = || (all(&place.tree()), all(&side), git(&place.tree(), &["worktree", "list"]));
    let before = trees();
    // when snapshots are forgotten because there are too many, and because they are too old
    let mut turns = Vec::new();
    for _ in 0..3 {
        let own = place.own("agent:a");
        turns.push(place.turn_id());
        place.call("agent:a", &["todo", "release", "g.1", "--own", &own]).ok();
    }
    assert_eq!(diff(&place, &turns[0]).text("/absent"), "none was taken, or it is kept no longer");
    place.call("user:ana", &["turn", "recover", "--prove"]).ok();
    // then no tree of the user's has lost or changed anything, and none was made
    assert_eq!(trees(), before);
    let mut beside: Vec<_> =
        fs::read_dir(place.root()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    beside.sort();
    // The second is where processes of a run find each other.
    assert_eq!(beside, ["home", "loopx", "side", "work"]);
}
