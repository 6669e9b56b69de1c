//! What `turn undo` gives back beside bytes: modes, kinds, places; what it says when it cannot; and its trace.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use super::{
    place::{Answer, Place, answer, until, until_let_go},
    snapshots::{all, diff, git, items, pairs, place, run, undo},
};

fn mode(place: &Place, name: &str) -> u32 {
    place.tree().join(name).symlink_metadata().unwrap().permissions().mode() & 0o7777
}

fn set_mode(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.tree().join(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// A command of a person whose umask is this.
fn under_umask(place: &Place, umask: &str, words: &[&str]) -> Answer {
    let inner = place.command("user:ana", words, &[]);
    #[expect(clippy::disallowed_methods, reason = "a umask is set by a shell")]
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]).arg(inner.get_program());
    shell.args(inner.get_args()).env_clear().current_dir(place.tree());
    shell.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    answer(&shell.output().unwrap())
}

/// What a person reads.
fn plain(place: &Place, words: &[&str]) -> String {
    let Output { stdout, stderr, .. } =
        place.plain("user:ana", &[words, &["--goal", "g"]].concat()).output().unwrap();
    String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap()
}

#[test]
fn undo_gives_modes_back_as_a_checkout_under_the_callers_umask() {
    for (umask, file, program, folder) in
        [("022", 0o644, 0o755, 0o755), ("027", 0o640, 0o750, 0o750), ("077", 0o600, 0o700, 0o700)]
    {
        let place = place(
            &[("gone/in/f", b"f\n"), ("gone/p", b"p\n"), ("private", b"1\n")],
            "rm -r gone; echo 2 > private",
        );
        set_mode(&place, "gone/p", 0o755);
        set_mode(&place, "private", 0o604);
        let turn = run(&place);
        let undone = under_umask(&place, umask, &["turn", "undo", &turn]).ok();
        assert_eq!(undone.json["restored"], 3, "{}", undone.json);
        let found = ["gone", "gone/in", "gone/in/f", "gone/p"].map(|name| mode(&place, name));
        assert_eq!(found, [folder, folder, file, program], "umask {umask}: {found:?}");
        assert_eq!(mode(&place, "private"), 0o604, "who could read a file that is there still can");
        assert_eq!(fs::read(place.tree().join("private")).unwrap(), b"1\n");
        assert_eq!(diff(&place, &turn).json["items"].as_array().map(Vec::len), Some(3));
    }
}

#[test]
fn undo_flips_who_may_execute_and_nothing_else_of_a_mode() {
    let place = place(
        &[("was", b"1\n"), ("becomes", b"1\n"), ("odd", b"1\n")],
        "chmod a-x was; chmod a+x becomes; echo 2 > odd",
    );
    for (name, mode) in [("was", 0o750), ("becomes", 0o640), ("odd", 0o711)] {
        set_mode(&place, name, mode);
    }
    let turn = run(&place);
    assert_eq!((mode(&place, "was"), mode(&place, "becomes")), (0o640, 0o751));
    assert_eq!(undo(&place, &turn).json["restored"], 3);
    assert_eq!((mode(&place, "was"), mode(&place, "becomes"), mode(&place, "odd")), (0o750, 0o640, 0o711));
    place.call("user:ana", &["turn", "undo", &turn, "--redo"]).ok();
    assert_eq!((mode(&place, "was"), mode(&place, "becomes"), mode(&place, "odd")), (0o640, 0o750, 0o711));
}

#[test]
fn undo_puts_binary_files_back_byte_by_byte_and_the_diff_says_that_they_are() {
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let place = place(
        &[("blob", &bytes), ("lost", &bytes)],
        "printf '\\000\\377' > blob; rm lost; printf '\\000' > new",
    );
    let turn = run(&place);
    let text = plain(&place, &["turn", "diff", &turn]);
    for line in [
        "Binary files a/blob and b/blob differ",
        "Binary files a/lost and /dev/null differ",
        "/dev/null and b/new",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    assert_eq!(undo(&place, &turn).json["restored"], 3);
    let read = |name: &str| fs::read(place.tree().join(name)).unwrap();
    assert!(read("blob") == bytes && read("lost") == bytes && !place.tree().join("new").exists());
}

#[test]
fn undo_of_files_folders_and_links_in_each_others_place_and_back_again() {
    let work = "rm -r file_to_folder; mkdir file_to_folder; echo 2 > file_to_folder/x; \
                rm -r folder_to_file; echo 2 > folder_to_file; \
                rm -r folder_to_link; ln -s kept folder_to_link; \
                rm link_to_folder; mkdir link_to_folder; echo 2 > link_to_folder/x; \
                rm link_to_file; echo 2 > link_to_file; rm file_to_link; ln -s gone file_to_link; \
                rm link_moved; ln -s elsewhere link_moved";
    let files: [(&str, &[u8]); 4] = [
        ("file_to_folder", b"1\n"),
        ("folder_to_file/x", b"1\n"),
        ("folder_to_link/a/b", b"1\n"),
        ("file_to_link", b"1\n"),
    ];
    let place = place(&files, work);
    let tree = place.tree();
    for name in ["link_to_folder", "link_to_file", "link_moved"] {
        symlink("kept", tree.join(name)).unwrap();
    }
    let seen = || -> Vec<(PathBuf, Option<PathBuf>, Vec<u8>)> {
        let found = all(&tree).into_iter().filter(|(path, _)| !path.starts_with(tree.join(".git")));
        found.map(|(path, (content, _))| (path.clone(), fs::read_link(&path).ok(), content)).collect()
    };
    let before = seen();
    let turn = run(&place);
    let after = seen();
    assert_ne!(before, after);
    let undone = undo(&place, &turn);
    assert_eq!(seen(), before, "{}", undone.json);
    place.call("user:ana", &["turn", "undo", &turn, "--redo"]).ok();
    assert_eq!(seen(), after);
    undo(&place, &turn);
    assert_eq!(seen(), before);
}

#[test]
fn undo_touches_neither_a_staged_index_nor_ignored_files_nor_an_empty_folder() {
    let place = place(
        &[("a", b"1\n"), ("staged", b"1\n"), ("sub/only", b"1\n")],
        "echo 2 > a; rm sub/only; echo 2 > ignored; echo n > staged",
    );
    let tree = place.tree();
    fs::write(tree.join("staged"), "mine\n").unwrap();
    fs::write(tree.join("fresh"), "mine\n").unwrap();
    git(&tree, &["add", "staged", "fresh"]);
    fs::write(tree.join("ignored"), "1\n").unwrap();
    fs::create_dir(tree.join("empty")).unwrap();
    let git_before = all(&tree.join(".git"));
    let turn = run(&place);
    assert_eq!(undo(&place, &turn).json["restored"], 3);
    assert_eq!(all(&tree.join(".git")), git_before, "the user's repository was written to");
    let read = |name: &str| fs::read_to_string(tree.join(name)).unwrap();
    assert_eq!((read("a"), read("staged"), read("fresh")), ("1\n".into(), "mine\n".into(), "mine\n".into()));
    assert_eq!((read("ignored"), read("sub/only")), ("2\n".into(), "1\n".into()));
    assert!(tree.join("empty").is_dir());
}

#[test]
fn undo_of_a_project_below_the_root_names_paths_from_the_root() {
    let place = place(&[("a", b"1\n"), ("sub/b", b"1\n")], "");
    let tree = place.tree();
    for (name, text) in
        [("check.sh", "exit 0".to_owned()), ("host.sh", fs::read_to_string(tree.join("host.sh")).unwrap())]
    {
        let text = text.replace("../runs", "../../runs") + "\n";
        fs::write(tree.join("sub").join(name), text).unwrap();
    }
    let host = fs::read_to_string(tree.join("sub/host.sh")).unwrap();
    fs::write(
        tree.join("sub/host.sh"),
        host.replace("\n\n", "\necho 2 > b; echo 2 > ../a; mkdir new; echo 2 > new/c\n"),
    )
    .unwrap();
    let ran = place.call("user:ana", &[place.run("op"), vec!["--workspace", "sub"]].concat());
    assert_eq!(ran.exit, Some(0), "{}", ran.json);
    let turn = place.turn_id();
    let expected = [("a", "modified"), ("sub/b", "modified"), ("sub/new/c", "added")];
    assert_eq!(items(&diff(&place, &turn), "change"), pairs(&expected));
    let mut from_below = place.command("user:ana", &["turn", "undo", &turn], &[]);
    let undone = answer(&from_below.current_dir(tree.join("sub")).output().unwrap()).ok();
    assert_eq!(undone.json["restored"], 3, "{}", undone.json);
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    assert!(!tree.join("sub/new").exists());
}

#[test]
fn undo_that_can_put_nothing_back_is_refused_and_one_that_can_put_some_back_is_not() {
    let place = place(&[("a", b"1\n"), ("b", b"1\n")], "echo 2 > a; echo 2 > b; echo 2 > large");
    fs::File::create(place.tree().join("large")).unwrap().set_len(30 * 1024 * 1024).unwrap();
    let turn = run(&place);
    for name in ["a", "b"] {
        fs::write(place.tree().join(name), "mine\n").unwrap();
    }
    let record = record(&place, &turn);
    let before = fs::read(&record).unwrap();
    for words in [
        vec!["turn", "undo", &turn],
        vec!["turn", "undo", &turn, "--dry-run"],
        vec!["turn", "undo", &turn, "--redo"],
    ] {
        let refused = place.call("user:ana", &words);
        assert_eq!((refused.exit, refused.code()), (Some(1), "not_ready"), "{}", refused.json);
        let message = refused.text("/error/message");
        assert!(message.contains("a: it holds something else by now"), "{message}");
        assert!(message.contains("large: it is larger than what is kept"), "{message}");
        assert_eq!(refused.text("/error/details/why"), "nothing_restorable");
        assert_eq!(refused.json.pointer("/error/details/items").unwrap().as_array().unwrap().len(), 3);
        let hint: Vec<&str> = refused.text("/error/hint").split(' ').skip(1).collect();
        place.call("user:ana", &hint).ok();
    }
    assert_eq!(fs::read(&record).unwrap(), before, "a refusal wrote");
    fs::write(place.tree().join("b"), "2\n").unwrap();
    let partly = undo(&place, &turn);
    assert_eq!(items(&partly, "fate"), pairs(&[("a", "left"), ("b", "restored"), ("large", "left")]));
    // given again it is no failure either, and says what is left
    let again = undo(&place, &turn);
    assert_eq!((again.json["restored"].as_u64(), items(&again, "fate")["b"].as_str()), (Some(0), "already"));
    let said = plain(&place, &["turn", "undo", &turn]);
    assert!(said.contains("nothing more to do: 1 of 3 paths undone already; a, large stay"), "{said}");
}

/// Where a Turn's snapshots are remembered.
fn record(place: &Place, turn: &str) -> PathBuf {
    let shelves = place.root().join("home/profiles/default/snapshots");
    let mut found = fs::read_dir(shelves).unwrap().flatten().map(|entry| entry.path().join("loopx"));
    found.find_map(|dir| Some(dir.join(format!("{turn}.json"))).filter(|path| path.exists())).unwrap()
}

#[test]
fn undo_and_redo_leave_their_trace_with_the_turn_and_none_in_the_log() {
    let place = place(&[("a", b"1\n")], "echo 2 > a");
    let turn = run(&place);
    let head = place.head();
    assert!(!plain(&place, &["turn", "show", &turn]).contains("undone"));
    undo(&place, &turn);
    // one that finds all done leaves no second one
    undo(&place, &turn);
    place.call("user:bo", &["turn", "undo", &turn, "--redo"]).ok();
    let shown = place.call("user:ana", &["turn", "show", &turn]).ok();
    let undos = shown.json.pointer("/snapshot/undos").unwrap().as_array().unwrap();
    let told: Vec<(&str, &str, Option<u64>)> = undos
        .iter()
        .map(|undo| {
            (undo["direction"].as_str().unwrap(), undo["by"].as_str().unwrap(), undo["paths"].as_u64())
        })
        .collect();
    assert_eq!(told, [("undo", "user:ana", Some(1)), ("redo", "user:bo", Some(1))], "{}", shown.json);
    assert!(
        undos.iter().all(|undo| undo["at_ms"].as_i64() <= undo["ended_at_ms"].as_i64()),
        "{}",
        shown.json
    );
    let said = plain(&place, &["turn", "show", &turn]);
    assert!(
        said.contains("undone      by user:ana, ") && said.contains("done again  by user:bo, "),
        "{said}"
    );
    assert_eq!(place.head(), head, "an undo moves no fact");
}

#[test]
fn a_redo_says_done_again_and_a_dry_run_what_would_be() {
    let place = place(&[("a", b"1\n")], "echo 2 > a");
    let turn = run(&place);
    let says = |more: &[&str], wanted: &str, never: &str| {
        let said = plain(&place, &[&["turn", "undo", turn.as_str()], more].concat());
        assert!(said.contains(wanted) && !said.contains(never), "{more:?}: {said}");
    };
    says(&["--dry-run"], "would be put back", "done again");
    says(&[], "put back 1 path", "done again");
    says(&["--redo", "--dry-run"], "would be done again", "put back");
    says(&["--redo"], "done again", "put back");
    says(&["--redo"], "it is done again already", "put back");
}

#[test]
fn the_diff_of_a_running_turn_says_so_and_shows_what_differs_up_to_now() {
    let place =
        place(&[("a", b"1\n"), ("b", b"1\n")], &format!("echo 2 > a; {}", until_let_go("echo 2 > b")));
    let mut running = place.start("user:ana", &place.run("op"), &[]);
    until("the host works", || place.root().join("began").exists());
    let turn = place.turn_id();
    let shown = diff(&place, &turn);
    assert_eq!(items(&shown, "change"), pairs(&[("a", "modified")]), "{}", shown.json);
    assert_eq!((&shown.json["so_far"], shown.text("/state")), (&true.into(), "dispatched"));
    let said = plain(&place, &["turn", "diff", &turn]);
    assert!(
        said.starts_with(&format!("the Turn {turn} is still running: this is the difference up to now")),
        "{said}"
    );
    assert!(said.contains("-1\n+2\n"), "{said}");
    let names =
        place.plain("user:ana", &["turn", "diff", &turn, "--name-only", "--goal", "g"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&names.stdout), "a\n");
    assert!(String::from_utf8_lossy(&names.stderr).contains("still running"));
    fs::write(place.root().join("go"), "").unwrap();
    running.wait().unwrap();
    let over = diff(&place, &turn);
    assert_eq!((items(&over, "change").len(), &over.json["so_far"]), (2, &false.into()), "{}", over.json);
    assert!(!plain(&place, &["turn", "diff", &turn]).contains("up to now"));
    assert_eq!(undo(&place, &turn).json["restored"], 2);
}

#[test]
fn a_held_turn_keeps_its_tree_from_an_undo_and_the_refusal_says_what_ends_it() {
    let place = place(&[("a", b"1\n"), ("b", b"1\n")], "echo 2 > a");
    let turn = run(&place);
    let other = place.call("user:ana", &["todo", "add", "two"]).ok().text("/todo/todo_id").to_owned();
    let claimed = place.call("agent:b", &["todo", "claim", &other]).ok();
    fs::write(place.tree().join("b"), "2\n").unwrap();
    place.call("user:ana", &["todo", "hold", &other]).ok();
    place.call("agent:b", &["todo", "done", &other, "--own", claimed.text("/own_id")]);
    let held = claimed.text("/turn_id");
    let state = place.call("user:ana", &["turn", "show", held]).ok();
    assert_eq!(state.text("/turn/state"), "held", "{}", state.json);
    for more in [&[][..], &["--dry-run"]] {
        let refused = place.call("user:ana", &[&["turn", "undo", turn.as_str()], more].concat());
        assert_eq!((refused.exit, refused.code()), (Some(4), "executor_active"), "{}", refused.json);
        let message = refused.text("/error/message");
        assert!(message.contains(held) && message.contains("is held in the same work tree"), "{message}");
        assert_eq!(fs::read(place.tree().join("a")).unwrap(), b"2\n");
        if more.is_empty() {
            continue;
        }
        let hint: Vec<&str> = refused.text("/error/hint").split(' ').skip(1).collect();
        place.call("user:ana", &hint).ok();
    }
    let state = place.call("user:ana", &["turn", "show", held]).ok();
    assert_eq!(state.text("/turn/state"), "settled", "{}", state.json);
    assert_eq!(undo(&place, &turn).json["restored"], 1);
}

/// The contents that are kept for a work tree, by size.
fn kept(place: &Place, turn: &str) -> usize {
    let store = record(place, turn).parent().and_then(Path::parent).unwrap().join("objects");
    all(&store).len()
}

#[test]
fn contents_go_with_the_last_turn_that_names_them() {
    let place = place(&[("a", b"1\n"), ("b", b"b\n")], "");
    place.call("user:ana", &["config", "set", "snapshot.turns", "1"]).ok();
    let mut counts = Vec::new();
    let mut turns = Vec::new();
    for number in 0..6 {
        let own = place.own("agent:a");
        fs::write(place.tree().join("a"), format!("secret {number}\n")).unwrap();
        turns.push(place.turn_id());
        place.call("agent:a", &["todo", "release", "g.1", "--own", &own]).ok();
        counts.push(kept(&place, turns.last().unwrap()));
    }
    // what the newest one was before and after
    assert!(counts.iter().all(|count| *count <= counts[0]), "{counts:?}");
    assert_eq!(undo(&place, &turns[5]).json["restored"], 1);
    assert_eq!(fs::read(place.tree().join("a")).unwrap(), b"secret 4\n");
}
