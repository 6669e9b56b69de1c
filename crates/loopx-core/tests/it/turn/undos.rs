//! An undo stopped and killed at each of its points: who is kept out meanwhile, and what stands when it is given again.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::{fs::MetadataExt as _, process::ExitStatusExt as _},
    path::PathBuf,
    process::Child,
};

use loopx_core::failpoint::Point;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    place::{Answer, Place, answer, until},
    snapshots::{git, items, pairs, place, run, undo},
};

const POINTS: [Point; 5] =
    [Point::UndoNoted, Point::UndoBegun, Point::UndoPathPlaced, Point::UndoPlaced, Point::UndoEnded];

fn is_stopped(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
}

fn stopped(place: &Place, turn: &str, point: Point) -> (Child, Pid) {
    let spec = format!("{}=stop", point.as_str());
    let undoing = place.start("user:ana", &["turn", "undo", turn], &[("LOOPX_FAILPOINT", &spec)]);
    let pid = Pid::from_child(&undoing);
    until("the undo is stopped", || is_stopped(pid));
    (undoing, pid)
}

fn killed(place: &Place, words: &[&str], spec: &str) {
    let output = place.command("user:ana", words, &[("LOOPX_FAILPOINT", spec)]).output().unwrap();
    assert_eq!(output.status.signal(), Some(Signal::KILL.as_raw()), "{spec}: {}", answer(&output).json);
}

/// The files of a Turn's snapshots with this ending.
fn file(place: &Place, turn: &str, ending: &str) -> PathBuf {
    let shelves = place.root().join("home/profiles/default/snapshots");
    let mut found = fs::read_dir(shelves).unwrap().flatten().map(|entry| entry.path().join("loopx"));
    let found = found.find(|dir| dir.join(format!("{turn}.json")).exists()).unwrap();
    found.join(format!("{turn}.{ending}"))
}

fn undos(place: &Place, turn: &str) -> Vec<(String, bool)> {
    let shown = place.call("user:ana", &["turn", "show", turn]).ok();
    let undos = shown.json.pointer("/snapshot/undos").unwrap().as_array().unwrap().clone();
    undos
        .iter()
        .map(|undo| (undo["direction"].as_str().unwrap().to_owned(), undo.get("ended_at_ms").is_some()))
        .collect()
}

fn hint(refused: &Answer) -> Vec<String> {
    refused.text("/error/hint").split(' ').skip(1).map(str::to_owned).collect()
}

#[test]
fn nobody_is_admitted_to_a_tree_while_an_undo_is_stopped_in_it() {
    all_are_kept_out(false);
}

#[test]
fn nobody_is_admitted_to_a_tree_while_an_undo_is_stopped_in_it_whose_lock_is_taken_away() {
    all_are_kept_out(true);
}

fn all_are_kept_out(taken_away: bool) {
    for point in POINTS {
        let place = place(&[("a", b"1\n"), ("b", b"1\n")], "echo 2 > a; echo 2 > b");
        let turn = run(&place);
        let runs = place.runs();
        let other = place.call("user:ana", &["todo", "add", "two"]).ok().text("/todo/todo_id").to_owned();
        let elsewhere = place.root().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let (undoing, pid) = stopped(&place, &turn, point);
        let head = place.head();
        let named = ["turn", "run", "--todo", &other, "--agent", "a", "--host", "sh host.sh"];
        let chosen = ["turn", "run", "--agent", "a", "--host", "sh host.sh"];
        for (actor, words) in [
            ("user:ana", &named[..]),
            ("user:ana", &chosen[..]),
            ("agent:b", &["todo", "claim", &other]),
            ("user:ana", &["turn", "undo", &turn]),
            ("user:ana", &["turn", "undo", &turn, "--redo"]),
        ] {
            if taken_away {
                // Whoever was refused before may have made it again.
                let _ = fs::remove_dir_all(place.root().join("home/profiles/default/locks"));
            }
            let refused = place.call(actor, words);
            let what = format!("{point:?} {words:?}: {}", refused.json);
            assert_eq!((refused.exit, refused.code()), (Some(4), "write_scope_conflict"), "{what}");
            assert!(refused.text("/error/message").contains(&turn), "{what}");
            let hint = hint(&refused);
            place.call("user:ana", &hint.iter().map(String::as_str).collect::<Vec<_>>()).ok();
        }
        assert_eq!((place.head(), place.runs()), (head, runs), "{point:?}: a refusal wrote, or a host ran");
        // another tree is nobody's business
        let folder = elsewhere.to_str().unwrap();
        let claimed = place.call("agent:b", &["todo", "claim", &other, "--workspace", folder]).ok();
        place.call("agent:b", &["todo", "release", &other, "--own", claimed.text("/own_id")]).ok();
        kill_process(pid, Signal::CONT).unwrap();
        let undone = answer(&undoing.wait_with_output().unwrap()).ok();
        assert_eq!(undone.json["restored"], 2, "{point:?}");
        place.call("user:ana", &named).ok();
        assert_eq!(place.runs(), runs + 1);
    }
}

#[test]
fn a_loop_waits_for_an_undo_says_so_and_goes_on() {
    let place = place(&[("a", b"1\n")], "echo 2 > a");
    let turn = run(&place);
    place.call("user:ana", &["todo", "add", "two"]).ok();
    let (undoing, pid) = stopped(&place, &turn, Point::UndoBegun);
    let words = ["loop", "run", "--agent", "a", "--host", "sh host.sh", "--turns", "1"];
    let mut looping = place.start("user:ana", &words, &[]);
    let mut said = String::new();
    let mut stderr = BufReader::new(looping.stderr.take().unwrap());
    while !said.contains("waiting: an undo of the Turn") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "the loop ended: {said}");
    }
    assert_eq!(place.runs(), 1, "a host ran beneath an undo");
    kill_process(pid, Signal::CONT).unwrap();
    answer(&undoing.wait_with_output().unwrap()).ok();
    stderr.read_to_string(&mut said).unwrap();
    looping.wait().unwrap();
    assert_eq!(place.runs(), 2, "{said}");
}

#[test]
fn an_undo_killed_at_each_point_ends_when_it_is_given_again_and_keeps_what_was_there_before() {
    for point in POINTS {
        let place = place(&[("a", b"1\n"), ("b", b"1\n"), ("c", b"1\n")], "echo 2 > a; echo 2 > b; rm c");
        let turn = run(&place);
        let spec = format!("{}=kill", point.as_str());
        killed(&place, &["turn", "undo", &turn], &spec);
        let before = file(&place, &turn, "undo.before");
        let first = (fs::metadata(&before).unwrap().ino(), fs::read(&before).unwrap());
        let is_begun = !matches!(point, Point::UndoNoted | Point::UndoEnded);
        if is_begun {
            // a person works on meanwhile: what was there before the undo is what is kept
            fs::write(place.tree().join("mine"), "mine\n").unwrap();
            killed(&place, &["turn", "undo", &turn], "undo.begun=kill");
            assert_eq!(undos(&place, &turn), [("undo".to_owned(), false)], "{point:?}");
            let text = place.plain("user:ana", &["turn", "show", &turn, "--goal", "g"]).output().unwrap();
            let text = String::from_utf8(text.stdout).unwrap();
            assert!(text.contains("it was cut off\n"), "{text}");
            assert!(text.contains("to end it  loopx-core turn undo"), "{text}");
        }
        undo(&place, &turn);
        if is_begun {
            let now = (fs::metadata(&before).unwrap().ino(), fs::read(&before).unwrap());
            assert!(now == first, "{point:?}: what was recorded before the undo was overwritten");
            fs::remove_file(place.tree().join("mine")).unwrap();
        }
        assert_eq!(git(&place.tree(), &["status", "--porcelain"]), "", "{point:?}");
        assert_eq!(undos(&place, &turn), [("undo".to_owned(), true)], "{point:?}");
        // a killed undo keeps nobody out
        let redone = place.call("user:ana", &["turn", "undo", &turn, "--redo"]).ok();
        assert_eq!(redone.json["restored"], 3, "{point:?}");
    }
}

#[test]
fn an_undo_that_was_cut_off_is_ended_or_answered_before_another_of_its_tree() {
    for answers in [&[][..], &["--redo"]] {
        let place = place(&[("a", b"1\n"), ("b", b"1\n"), ("c", b"1\n")], "echo 2 > a; echo 2 > b");
        let first = run(&place);
        let other = place.call("user:ana", &["todo", "add", "two"]).ok().text("/todo/todo_id").to_owned();
        let claimed = place.call("agent:b", &["todo", "claim", &other]).ok();
        fs::write(place.tree().join("c"), "2\n").unwrap();
        place.call("agent:b", &["todo", "release", &other, "--own", claimed.text("/own_id")]).ok();
        let second = claimed.text("/turn_id");
        killed(&place, &["turn", "undo", &first], "undo.path_placed=kill");
        let read = |name: &str| fs::read_to_string(place.tree().join(name)).unwrap();
        assert_eq!((read("a"), read("b")), ("1\n".to_owned(), "2\n".to_owned()));
        for words in [&["turn", "undo", second][..], &["turn", "undo", second, "--dry-run"]] {
            let refused = place.call("user:ana", words);
            assert_eq!(
                (refused.exit, refused.code()),
                (Some(5), "reconciliation_required"),
                "{}",
                refused.json
            );
            assert_eq!(hint(&refused), ["turn", "undo", &first]);
        }
        assert!(!file(&place, second, "undo.before").exists());
        // a Turn is admitted: an undo that nobody is at keeps nobody out
        let again = place.call("agent:b", &["todo", "claim", &other]).ok();
        place.call("agent:b", &["todo", "release", &other, "--own", again.text("/own_id")]).ok();
        place.call("user:ana", &[&["turn", "undo", first.as_str()], answers].concat()).ok();
        let whole = if answers.is_empty() { "1\n" } else { "2\n" };
        assert_eq!((read("a"), read("b")), (whole.to_owned(), whole.to_owned()));
        assert_eq!(items(&undo(&place, second), "fate"), pairs(&[("c", "restored")]));
    }
}

#[test]
fn an_undo_that_was_cut_off_and_can_do_no_more_is_over() {
    let place = place(&[("a", b"1\n"), ("c", b"1\n")], "echo 2 > a");
    let first = run(&place);
    killed(&place, &["turn", "undo", &first], "undo.begun=kill");
    fs::write(place.tree().join("a"), "mine\n").unwrap();
    let refused = place.call("user:ana", &["turn", "undo", &first]);
    assert_eq!((refused.exit, refused.code()), (Some(1), "not_ready"), "{}", refused.json);
    assert_eq!(undos(&place, &first), [("undo".to_owned(), true)]);
}

#[test]
fn an_undo_that_meets_an_error_at_a_point_says_it_and_is_ended_by_the_next() {
    for point in POINTS {
        let place = place(&[("a", b"1\n"), ("b", b"1\n")], "echo 2 > a; echo 2 > b");
        let turn = run(&place);
        let spec = format!("{}=error:disk_full", point.as_str());
        let failed = place.call_with("user:ana", &["turn", "undo", &turn], &[("LOOPX_FAILPOINT", &spec)]);
        assert_eq!(failed.code(), "disk_full", "{point:?}: {}", failed.json);
        undo(&place, &turn);
        assert_eq!(git(&place.tree(), &["status", "--porcelain"]), "", "{point:?}");
        let left = fs::read_dir(place.root().join("home/profiles/default/locks")).unwrap().flatten();
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("undo-")).count();
        assert_eq!(left, 0, "{point:?}: an undo in order leaves no lock");
    }
}

#[test]
fn an_undo_whose_lock_another_has_by_now_goes_no_further_and_writes_no_end() {
    let place = place(&[("a", b"1\n"), ("b", b"1\n")], "echo 2 > a; echo 2 > b");
    let turn = run(&place);
    let (undoing, pid) = stopped(&place, &turn, Point::UndoPathPlaced);
    let locks = fs::read_dir(place.root().join("home/profiles/default/locks")).unwrap().flatten();
    let lock = locks.map(|entry| entry.path());
    let lock = lock.filter(|path| path.to_string_lossy().contains("/undo-")).last().unwrap();
    // as one of another pid namespace would, which sees nobody have it open
    fs::remove_file(&lock).unwrap();
    fs::write(&lock, "trn_other").unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    let refused = answer(&undoing.wait_with_output().unwrap());
    assert_eq!((refused.exit, refused.code()), (Some(4), "write_scope_conflict"), "{}", refused.json);
    assert_eq!(fs::read_to_string(place.tree().join("b")).unwrap(), "2\n");
    assert_eq!(undos(&place, &turn), [("undo".to_owned(), false)]);
    undo(&place, &turn);
    assert_eq!(git(&place.tree(), &["status", "--porcelain"]), "");
}

#[test]
fn an_undo_whose_lock_was_away_for_a_while_finds_who_was_admitted_meanwhile() {
    let place = place(&[("a", b"1\n"), ("b", b"1\n")], "echo 2 > a; echo 2 > b");
    let turn = run(&place);
    let other = place.call("user:ana", &["todo", "add", "two"]).ok().text("/todo/todo_id").to_owned();
    let (undoing, pid) = stopped(&place, &turn, Point::UndoNoted);
    let profile = place.root().join("home/profiles/default");
    fs::remove_dir_all(profile.join("locks")).unwrap();
    // as one of another pid namespace would be, which sees nobody have it open
    let marks = fs::read_dir(profile.join("snapshots")).unwrap().flatten().map(|entry| entry.path());
    let mark = marks.filter(|path| path.extension().is_some_and(|one| one == "undoing")).last().unwrap();
    fs::remove_file(mark).unwrap();
    place.call("agent:b", &["todo", "claim", &other]).ok();
    kill_process(pid, Signal::CONT).unwrap();
    let refused = answer(&undoing.wait_with_output().unwrap());
    assert_eq!((refused.exit, refused.code()), (Some(4), "executor_active"), "{}", refused.json);
    assert_eq!(fs::read_to_string(place.tree().join("a")).unwrap(), "2\n");
}
