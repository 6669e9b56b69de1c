//! What a person is told of what a Turn changed: what an undo would do, did, and left; and that looking writes nothing.

use std::{fs, os::unix::fs::symlink};

use super::{
    place::until_let_go,
    snapshots::{all, items, pairs, place as tree_with, run, run_beside_another},
    words::{flat, said},
};

#[test]
fn the_stat_of_a_turn_says_what_an_undo_would_do_now() {
    let place =
        tree_with(&[("a", b"1\n"), ("b", b"1\n"), ("c", b"1\n")], "echo 2 > a; echo 2 > b; echo 2 > c");
    let turn = run(&place);
    let stat = || said(&place, "user:ana", &["turn", "diff", &turn, "--stat", "--goal", "g"]);
    let undo = || items(&place.call("user:ana", &["turn", "diff", &turn, "--stat"]).ok(), "undo");
    assert_eq!(undo(), pairs(&[("a", "restored"), ("b", "restored"), ("c", "restored")]));
    // one moved on, one was put back by hand
    fs::write(place.tree().join("a"), "mine\n").unwrap();
    fs::write(place.tree().join("b"), "1\n").unwrap();
    let fates = items(&place.call("user:ana", &["turn", "undo", &turn, "--dry-run"]).ok(), "fate");
    assert_eq!(undo(), fates);
    let text = stat();
    let line = |path: &str| text.lines().find(|line| line.starts_with(path)).unwrap().to_owned();
    assert!(line("a ").ends_with("no: it holds something else by now"), "{text}");
    assert!(line("b ").ends_with("no: it was so already"), "{text}");
    assert!(line("c ").ends_with("yes"), "{text}");
    // nothing of it is left to put back
    for path in ["b", "c"] {
        fs::write(place.tree().join(path), "mine\n").unwrap();
    }
    assert_eq!(undo(), pairs(&[("a", "left"), ("b", "left"), ("c", "left")]));
    // and where an undo is refused as a whole, why
    let other = place.call("user:ana", &["todo", "add", "two"]).ok().text("/todo/todo_id").to_owned();
    place.call("agent:b", &["todo", "claim", &other]).ok();
    let refused = place.call("user:ana", &["turn", "undo", &turn, "--dry-run"]);
    let text = flat(&stat());
    assert!(text.contains(refused.text("/error/message")), "{text}");
    assert!(!text.contains("yes"), "{text}");
    assert_eq!(undo(), pairs(&[("a", "refused"), ("b", "refused"), ("c", "refused")]));
}

#[test]
fn an_undo_in_part_says_how_many_of_how_many_and_what_stayed() {
    let place = tree_with(&[("a", b"1\n"), ("b", b"1\n")], "echo 2 > a; echo 2 > b");
    let turn = run(&place);
    fs::write(place.tree().join("a"), "mine\n").unwrap();
    let dry = said(&place, "user:ana", &["turn", "undo", &turn, "--dry-run", "--goal", "g"]);
    assert_eq!(dry.lines().next().unwrap(), "would put back 1 of 2 paths; a stays", "{dry}");
    let text = said(&place, "user:ana", &["turn", "undo", &turn, "--goal", "g"]);
    assert_eq!(text.lines().next().unwrap(), "put back 1 of 2 paths; a stays", "{text}");
    let again = said(&place, "user:ana", &["turn", "undo", &turn, "--goal", "g"]);
    assert_eq!(
        again.lines().next().unwrap(),
        "nothing more to do: 1 of 2 paths undone already; a stays",
        "{again}"
    );
    let shown = flat(&said(&place, "user:ana", &["turn", "show", &turn, "--goal", "g"]));
    assert!(shown.contains("undone in part by user:ana, now, 1 of 2 paths"), "{shown}");
    // what is whole is said as whole
    let whole = tree_with(&[("a", b"1\n")], "echo 2 > a; echo 2 > b");
    let turn = run(&whole);
    let text = said(&whole, "user:ana", &["turn", "undo", &turn, "--goal", "g"]);
    assert_eq!(text.lines().next().unwrap(), "put back 2 paths", "{text}");
    let shown = flat(&said(&whole, "user:ana", &["turn", "show", &turn, "--goal", "g"]));
    assert!(shown.contains("undone by user:ana, now, 2 paths"), "{shown}");
}

#[test]
fn a_turn_that_lost_its_undo_to_another_says_so_where_it_is_looked_at() {
    let place = tree_with(&[("a", b"1\n")], &until_let_go("echo 2 > a"));
    run_beside_another(&place);
    let turn = place.turn_id();
    for verb in ["show", "diff"] {
        let text = flat(&said(&place, "user:ana", &["turn", verb, &turn, "--goal", "g"]));
        assert!(
            text.contains("cannot be undone: it declared no scopes and another Turn was live"),
            "{verb} {text}"
        );
    }
}

#[test]
fn a_difference_up_to_now_is_shown_and_nothing_is_written_for_it() {
    let place = tree_with(&[("a", b"1\n"), ("b", b"1\n"), ("l", b"1\n")], "");
    place.own("agent:a");
    let turn = place.turn_id();
    let tree = place.tree();
    fs::write(tree.join("a"), "2\n").unwrap();
    fs::write(tree.join("new"), "n\n").unwrap();
    // the user's repository has that content: it is not to be touched either
    fs::write(tree.join("copy"), "kept\n").unwrap();
    fs::remove_file(tree.join("b")).unwrap();
    fs::remove_file(tree.join("l")).unwrap();
    symlink("kept", tree.join("l")).unwrap();
    let scratch = place.root().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let written = || {
        let mut found = all(&place.root().join("home"));
        found.extend(all(&tree));
        found.retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
        found
    };
    let before = written();
    for (flags, wanted) in [
        (&[][..], &["-1", "+2", "+n", "new mode 120000", "+kept", "deleted file"][..]),
        (&["--stat"], &["a M +1 -1 no", "new A +1 -0 no", "only what has ended is taken back"]),
        (&["--name-only"], &["new"]),
    ] {
        let words = [&["turn", "diff", turn.as_str(), "--goal", "g"], flags].concat();
        let output = place.plain("user:ana", &words).env("TMPDIR", &scratch).output().unwrap();
        let text = flat(&String::from_utf8(output.stdout).unwrap());
        assert!(wanted.iter().all(|part| text.contains(part)), "{flags:?} {text}");
        assert!(written() == before, "{flags:?} wrote");
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "{flags:?} left something");
    }
}
