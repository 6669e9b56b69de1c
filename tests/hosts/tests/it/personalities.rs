//! The real binary with the fake host: each personality ends as the Turn's page says, and leaves no process.

use std::fs;

use hosts::{Answer, Place, until};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    FAKE_HOST, LOOPX,
    matrix::{Part, ROWS, Row, row},
};

/// A check that passes once the work is there.
const CHECK: &str = "test -f answer";
/// The deadline of those that are ended by it, and of nobody else.
const DEADLINE: &str = "3s";

fn run(place: &Place, todo_id: &str, row: Row, attempts: &str) -> Answer {
    let _ = fs::remove_file(place.tree().join("answer"));
    let mark = place.root().to_str().unwrap();
    let host = format!("{FAKE_HOST} {} --mark {mark}", row.personality);
    let deadline = if row.part == Part::Quick { "60s" } else { DEADLINE };
    let words = ["turn", "run", "--todo", todo_id, "--agent", "a", "--host", &host];
    place.call(&[&words[..], &["--attempts", attempts, "--deadline", deadline]].concat())
}

/// Runs one Turn under a personality and holds its end against the table.
fn ends_as_said(place: &Place, row: Row) {
    let todo_id = place.todo(row.personality);
    let ended = run(place, &todo_id, row, "1");
    let what = format!("{}: {}", row.personality, ended.json);
    assert_eq!(ended.exit, Some(row.exit), "{what}");
    let turn = place.turn(&todo_id);
    let text = |key: &str| turn[key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (text("state"), text("why"), text("slot")),
        (row.state.into(), row.why.into(), row.slot.into()),
        "{what}"
    );
    let todo = place.todo_row(&todo_id);
    assert_eq!(todo["state"], row.todo, "{what}");
    assert!(todo.get("owner").is_none(), "{what}: the ownership has ended");
    let kept = place.kept(&todo_id);
    assert_eq!(kept["ending"]["ended"].as_str().unwrap_or_default(), row.ended, "{what}");
    if row.part != Part::Hidden {
        let outlived = kept["ending"]["outlived"].as_array().map_or(0, Vec::len);
        assert_eq!(outlived > 0, row.outlived, "{what}: {kept}");
    }
    assert_eq!(place.living(), Vec::<String>::new(), "{what}");
    assert_eq!(place.locks(), Vec::<String>::new(), "{what}");
    let late = place.tree().join("late");
    assert!(!late.exists(), "{what}: written after the end");
}

fn part(part: Part) -> impl Iterator<Item = Row> {
    ROWS.iter().copied().filter(move |row| row.part == part)
}

#[test]
fn every_personality_of_the_fake_host_has_a_row() {
    #[expect(clippy::disallowed_methods, reason = "a test looks at the binary from outside")]
    let listed = std::process::Command::new(FAKE_HOST).arg("--list").output().unwrap();
    let mut names: Vec<String> =
        String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect();
    let mut rows: Vec<&str> = ROWS.iter().map(|row| row.personality).collect();
    names.sort_unstable();
    rows.sort_unstable();
    assert_eq!(names, rows);
}

#[test]
fn quick_personalities_end_as_the_turn_says() {
    let place = Place::new(LOOPX, CHECK);
    for row in part(Part::Quick) {
        ends_as_said(&place, row);
    }
    // A host's words about a failure of its own never leave this machine's private store.
    let log = place.call(&["log", "--goal", "g", "--limit", "1000"]).ok().json.to_string();
    assert!(!log.contains("the fake provider said no") && !log.contains("ghp_"), "{log}");
}

#[test]
fn fault_e01_personalities_that_do_not_end_are_ended() {
    let place = Place::new(LOOPX, CHECK);
    for row in part(Part::Slow) {
        ends_as_said(&place, row);
    }
}

#[test]
fn fault_e03_a_daemon_without_parent_and_environment_is_ended_too() {
    let place = Place::new(LOOPX, CHECK);
    for row in part(Part::Hidden) {
        ends_as_said(&place, row);
    }
}

#[test]
fn what_can_be_tried_again_is_tried_three_times_and_gives_the_slot_back() {
    let place = Place::new(LOOPX, CHECK);
    for (personality, attempts) in
        [("exit-signal", 3), ("reports-rate-limited", 3), ("reports-auth-required", 1), ("chatty", 1)]
    {
        let todo_id = place.todo(personality);
        let row = row(personality);
        let ended = run(&place, &todo_id, row, "3");
        let turn = place.turn(&todo_id);
        assert_eq!(turn["attempts"].as_array().unwrap().len(), attempts, "{personality}: {}", ended.json);
        assert_eq!((&turn["why"], &turn["slot"]), (&row.why.into(), &"returned".into()), "{personality}");
        assert_eq!(place.living(), Vec::<String>::new(), "{personality}");
    }
}

/// The processes of a place that run this program; a driver's own command line names its host too.
fn running(place: &Place, program: &str) -> Vec<Pid> {
    let lines = place.living();
    let words = lines.iter().map(|line| line.split(' ').collect::<Vec<_>>());
    let of_program = words.filter(|words| words[1] == program || words.contains(&program));
    let is_driver = |words: &[&str]| words.contains(&"run") && program == FAKE_HOST;
    of_program
        .filter(|words| !is_driver(words))
        .filter_map(|words| Pid::from_raw(words[0].parse().ok()?))
        .collect()
}

/// A supervisor that dies uncleanly leaves its host to whoever comes next, who ends it before anything else.
#[test]
fn fault_e06_a_killed_driver_leaves_nothing_that_its_successor_does_not_end() {
    for (personality, and_guardian) in [
        ("stall-ignoring-term", false),
        ("stall-ignoring-term", true),
        ("hang-after-result", true),
        ("double-fork-then-hang", false),
    ] {
        let place = Place::new(LOOPX, CHECK);
        let todo_id = place.todo(personality);
        let mark = place.root().to_str().unwrap();
        let host = format!("{FAKE_HOST} {personality} --mark {mark}");
        let mut driver = place.start(&[
            "turn",
            "run",
            "--todo",
            &todo_id,
            "--agent",
            "a",
            "--host",
            &host,
            "--attempts",
            "1",
        ]);
        let processes = if personality == "double-fork-then-hang" { 2 } else { 1 };
        until("the host runs", || running(&place, FAKE_HOST).len() == processes);
        // What is killed before that leaves nobody who can tell.
        until("its guardian holds it", || place.is_held());
        driver.kill().unwrap();
        driver.wait().unwrap();
        let guardians = running(&place, "__guard");
        assert_eq!(guardians.len(), 1, "{personality}: {:?}", place.living());
        let turn_id = place.turn(&todo_id)["turn_id"].as_str().unwrap().to_owned();
        if and_guardian {
            kill_process(guardians[0], Signal::KILL).unwrap();
            place.call(&["turn", "recover", &turn_id, "--prove"]).ok();
        } else {
            // A guardian goes on without its driver; whoever stops the Turn has it end its host.
            place.call(&["turn", "stop", &turn_id]);
        }
        assert_eq!(place.living(), Vec::<String>::new(), "{personality} {and_guardian}");
        let turn = place.turn(&todo_id);
        assert_eq!(turn["attempts"].as_array().unwrap().len(), 1, "{personality}: {turn}");
        assert!(place.todo_row(&todo_id)["state"] != "done", "{personality}: a proof launches nothing");
    }
}

/// After many Turns of every kind, as many processes run as before the first.
#[test]
fn fault_e08_e09_two_hundred_turns_of_all_kinds_leave_the_process_count_as_it_was() {
    // Those that take seconds each are left to the tests above.
    let mixed: Vec<Row> = part(Part::Quick).chain(part(Part::Hidden)).collect();
    let place = Place::new(LOOPX, CHECK);
    assert_eq!(place.living(), Vec::<String>::new());
    let mut ends = std::collections::BTreeMap::<&str, u32>::new();
    for row in mixed.iter().filter(|row| row.personality != "double-fork-then-hang").cycle().take(200) {
        let todo_id = place.todo(row.personality);
        let ended = run(&place, &todo_id, *row, "1");
        assert_eq!(ended.exit, Some(row.exit), "{}: {}", row.personality, ended.json);
        *ends.entry(row.state).or_default() += 1;
    }
    assert_eq!(ends.values().sum::<u32>(), 200);
    assert!(["settled", "failed", "stopped"].iter().all(|state| ends[state] > 3), "{ends:?}");
    assert_eq!(place.living(), Vec::<String>::new());
    assert_eq!(place.locks(), Vec::<String>::new());
    let children = fs::read_to_string("/proc/thread-self/children").unwrap();
    assert!(children.trim().is_empty(), "{LOOPX} left {children}");
}
