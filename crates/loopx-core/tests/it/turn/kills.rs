//! LoopX killed at every named point of a Turn, and between any two of its commits.
//!
//! After each kill the same command is given again. Then there is exactly one settlement and one spend, no accepted
//! result is lost, no process is left, and once more the same command returns the receipt.

use std::{collections::BTreeSet, fs, os::unix::process::ExitStatusExt as _};

use loopx_core::failpoint::Point;
use rustix::process::{Pid, Signal, kill_process};

use super::place::{Answer, Place, answer, until};

/// The verb whose way leads past a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `turn run`.
    Run,
    /// `turn run` with a host that crashes once.
    Crash,
    /// `todo done` of an attached owner.
    Done,
    /// `turn recover --resume` of what a kill left.
    Recover,
}

fn way(point: Point) -> Option<Way> {
    let name = point.as_str();
    match name.split_once('.')? {
        ("turn", "attempt_ended") => Some(Way::Crash),
        ("turn", _) => Some(Way::Run),
        ("owner", _) => Some(Way::Done),
        ("recover", _) => Some(Way::Recover),
        _ => None,
    }
}

fn points() -> impl Iterator<Item = (Point, Way)> {
    Point::ALL.iter().filter_map(|&point| Some((point, way(point)?)))
}

/// A place in which a way can be gone, and the words that go it.
fn ready(way: Way) -> (Place, &'static str, Vec<String>) {
    let place = Place::new("test -f answer");
    let own = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect::<Vec<_>>();
    match way {
        Way::Run => {
            place.host("touch answer");
            let words = own(place.run("op"));
            (place, "user:ana", words)
        }
        Way::Crash => {
            place.host("if [ ! -f ../once ]; then touch ../once; exit 9; fi; touch answer");
            let words = own(place.run("op"));
            (place, "user:ana", words)
        }
        Way::Done => {
            let claimed = place.call("agent:a", &["todo", "claim", "g.1"]).ok();
            fs::write(place.tree().join("answer"), "").unwrap();
            let words = own(vec!["todo", "done", "g.1", "--own", claimed.text("/own_id"), "--op-id", "op"]);
            (place, "agent:a", words)
        }
        Way::Recover => {
            place.host("touch answer");
            killed(&place, "user:ana", &own(place.run("first")), "turn.dispatched=kill");
            let words = own(vec!["turn", "recover", &place.turn_id(), "--resume", "--op-id", "op"]);
            (place, "user:ana", words)
        }
    }
}

fn go(place: &Place, actor: &str, words: &[String], env: &[(&str, &str)]) -> (Option<i32>, Answer) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = place.command(actor, &words, env).output().unwrap();
    (output.status.signal(), answer(&output))
}

fn killed(place: &Place, actor: &str, words: &[String], spec: &str) {
    let (signal, answer) = go(place, actor, words, &[("LOOPX_FAILPOINT", spec)]);
    assert_eq!(signal, Some(Signal::KILL.as_raw()), "{spec}: {}", answer.json);
}

/// What must hold once a Turn is over, however it came to its end.
fn over(place: &Place, actor: &str, words: &[String], what: &str) {
    let states: Vec<String> =
        place.turns().iter().map(|turn| turn["state"].as_str().unwrap().to_owned()).collect();
    assert_eq!(states.iter().filter(|state| *state == "settled").count(), 1, "{what}: {states:?}");
    let settlements = place
        .events("turn.ended")
        .into_iter()
        .filter(|event| event["text"].as_str().is_some_and(|text| text.starts_with("Turn settled")));
    assert_eq!(settlements.count(), 1, "{what}: one settlement, one spend");
    let todo = place.call("user:ana", &["todo", "show", "g.1"]).ok();
    assert_eq!(todo.text("/todo/state"), "done", "{what}");
    assert!(place.survivors().is_empty(), "{what}");
    let head = place.head();
    let (_, again) = go(place, actor, words, &[]);
    assert_eq!(again.exit, Some(0), "{what}: {}", again.json);
    assert_eq!(again.json.pointer("/receipt/replayed"), Some(&true.into()), "{what}");
    assert_eq!(place.head(), head, "{what}: a replay wrote");
    // A driver that died before its admission, or whose Turn a person ended, leaves a file that a proof clears.
    place.call("user:ana", &["turn", "recover", "--prove"]).ok();
    let locks = fs::read_dir(place.root().join("home/profiles/default/locks")).unwrap().flatten();
    let locks: Vec<_> = locks
        .map(|entry| entry.file_name())
        .filter(|name| name.to_string_lossy().starts_with("turn-"))
        .collect();
    assert!(locks.is_empty(), "{what}: {locks:?}");
}

#[test]
fn a_kill_at_each_point_of_a_turn_ends_honestly() {
    for (point, way) in points() {
        let (place, actor, words) = ready(way);
        killed(&place, actor, &words, &format!("{}=kill", point.as_str()));
        let what = point.as_str();
        let (_, again) = go(&place, actor, &words, &[]);
        // A recovery that was cut off is itself recovered under a new id where its Turn has ended meanwhile.
        assert_eq!(again.exit, Some(0), "{what}: {}", again.json);
        if way != Way::Recover {
            over(&place, actor, &words, what);
        }
        let ran = match point {
            Point::TurnAttemptEnded => 2,
            _ if way == Way::Done => 0,
            _ => 1,
        };
        assert_eq!(place.runs(), ran, "{what}: how often the host ran");
    }
}

#[test]
fn a_kill_before_and_after_every_commit_ends_honestly() {
    for (way, point) in [
        (Way::Run, "store.before_commit"),
        (Way::Run, "store.after_commit"),
        (Way::Run, "private.before_commit"),
        (Way::Run, "private.after_commit"),
        (Way::Crash, "store.after_commit"),
        (Way::Done, "store.before_commit"),
        (Way::Done, "store.after_commit"),
    ] {
        for visit in 1..40 {
            let (place, actor, words) = ready(way);
            let spec = format!("{point}=kill@{visit}");
            let (signal, first) = go(&place, actor, &words, &[("LOOPX_FAILPOINT", &spec)]);
            if signal.is_none() {
                assert_eq!(first.exit, Some(0), "{spec}: {}", first.json);
                assert!(visit > 2, "{way:?} {point} was reached {} times", visit - 1);
                break;
            }
            let what = format!("{way:?} {spec}");
            let (_, again) = go(&place, actor, &words, &[]);
            assert_eq!(again.exit, Some(0), "{what}: {}", again.json);
            over(&place, actor, &words, &what);
        }
    }
}

#[test]
fn progress_that_goes_on_and_is_killed_anywhere_goes_on_once() {
    let points = ["owner.candidate", "owner.judged", "owner.verdict"].map(str::to_owned).to_vec();
    let commits = ["store.before_commit", "store.after_commit"]
        .iter()
        .flat_map(|point| (1..=3).map(move |visit| format!("{point}=kill@{visit}")));
    let mut killed_at = 0;
    for spec in points.into_iter().map(|point| point + "=kill").chain(commits) {
        let place = Place::new("exit 0");
        let own = place.own("agent:a");
        let words = ["todo", "progress", "g.1", "--own", &own, "--continue", "--op-id", "op"];
        let words: Vec<String> = words.map(str::to_owned).to_vec();
        let (signal, first) = go(&place, "agent:a", &words, &[("LOOPX_FAILPOINT", &spec)]);
        killed_at += usize::from(signal.is_some());
        assert!(signal.is_some() || first.exit == Some(0), "{spec}: {}", first.json);
        let (_, again) = go(&place, "agent:a", &words, &[]);
        assert_eq!(again.exit, Some(0), "{spec}: {}", again.json);
        let token = again.text("/own_id").to_owned();
        assert!(!token.is_empty() && token != own, "{spec}: {}", again.json);
        let turns = place.turns();
        let states: Vec<_> = turns.iter().map(|turn| turn["state"].as_str().unwrap()).collect();
        assert_eq!(states, ["dispatched", "settled"], "{spec}");
        assert_eq!((place.events("turn.ended").len(), place.events("claim.claimed").len()), (1, 2), "{spec}");
        let head = place.head();
        let (_, third) = go(&place, "agent:a", &words, &[]);
        assert_eq!((third.text("/own_id"), place.head()), (token.as_str(), head), "{spec}");
        place.call("agent:a", &["todo", "done", "g.1", "--own", &token]).ok();
        assert_eq!(place.todo_state(), "done", "{spec}");
        assert!(place.survivors().is_empty(), "{spec}");
    }
    assert!(killed_at >= 7, "{killed_at}");
}

#[test]
fn what_is_held_by_a_changed_requirement_when_its_driver_dies_is_tried_again_by_a_recovery() {
    let place = Place::new("exit 0");
    place.host("if [ ! -f ../go ]; then touch ../began; fi; while [ ! -f ../go ]; do sleep 0.02; done");
    let run = place.run("r1");
    let run = place.start("user:ana", &run, &[("LOOPX_FAILPOINT", "turn.verdict=kill")]);
    until("the host began", || place.root().join("began").exists());
    place.call("user:ana", &["todo", "update", "g.1", "--title", "mend it well"]).ok();
    fs::write(place.root().join("go"), "").unwrap();
    assert_eq!(run.wait_with_output().unwrap().status.signal(), Some(Signal::KILL.as_raw()));
    let turn_id = place.turn_id();
    assert_eq!((place.turns()[0]["state"].as_str(), place.runs()), (Some("held"), 1));
    // A proof never lifts it.
    let head = place.head();
    let refused = place.call("user:ana", &["turn", "recover", &turn_id, "--prove"]);
    assert_eq!((refused.exit, refused.code(), place.head()), (Some(6), "held", head));
    let words = ["turn", "recover", turn_id.as_str(), "--resume", "--op-id", "again"];
    let output = place.command("user:ana", &words, &[]).output().unwrap();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(said.contains("the host was started again: sh host.sh"), "{said}");
    answer(&output).ok();
    assert_eq!((place.turns()[0]["state"].as_str(), place.runs()), (Some("settled"), 2));
    let head = place.head();
    let again = place.call("user:ana", &words).ok();
    assert_eq!(
        (again.json.pointer("/receipt/replayed"), place.head(), place.runs()),
        (Some(&true.into()), head, 2)
    );
}

#[test]
fn every_point_of_a_turn_is_reached() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let path = log.path().to_str().unwrap();
    for way in [Way::Run, Way::Crash, Way::Done, Way::Recover] {
        let (place, actor, words) = ready(way);
        let (_, answer) = go(&place, actor, &words, &[("LOOPX_FAILPOINT_LOG", path)]);
        assert_eq!(answer.exit, Some(0), "{way:?}: {}", answer.json);
    }
    let reached = fs::read_to_string(path).unwrap();
    let reached: BTreeSet<&str> = reached.lines().collect();
    let missing: Vec<&str> =
        points().map(|(point, _)| point.as_str()).filter(|name| !reached.contains(name)).collect();
    assert!(missing.is_empty(), "never reached: {missing:?}");
}

#[test]
fn a_claim_first_proves_what_a_killed_answer_left_behind() {
    let place = Place::bare();
    let own = place.own("agent:a");
    let held = place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
    assert_eq!(held.code(), "held", "{}", held.json);
    let gate = place.call("user:ana", &["gate", "list"]).ok().text("/items/0/gate_id").to_owned();
    let words = ["gate", "resolve", &gate, "--approve"].map(str::to_owned);
    killed(&place, "proven:ana", &words, "ledger.after_bell=kill");
    assert_eq!(place.turns()[0]["state"], "held", "the kill came before the proof");
    let late = place.call("agent:b", &["todo", "claim", "g.1"]);
    assert_eq!((late.exit, late.code()), (Some(4), "todo_already_done"), "{}", late.json);
    assert_eq!(place.turns()[0]["state"], "settled");
}

#[test]
fn regress_a_proof_of_all_says_what_it_proved_and_what_leads_on() {
    let place = Place::new("exit 0");
    place.call("user:ana", &["todo", "add", "another"]).ok();
    let own = place.own("agent:a");
    place.call("user:ana", &["todo", "hold", "g.1"]).ok();
    place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
    let words = ["todo", "unhold", "g.1"].map(str::to_owned);
    killed(&place, "user:ana", &words, "ledger.after_bell=kill");
    place.host("sleep 300");
    let run = ["turn", "run", "--todo", "g.2", "--agent", "b", "--host", "sh host.sh"].map(str::to_owned);
    killed(&place, "user:ana", &run, "turn.dispatched=kill");
    let output = place.plain("user:ana", &["turn", "recover", "--prove", "--json"]).output().unwrap();
    let proved = answer(&output).ok();
    let of = |todo: &str| {
        let items = proved.json["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["todo_id"] == todo).unwrap();
        ["was", "state", "proved"].map(|field| item[field].as_str().unwrap().to_owned())
    };
    assert_eq!(of("g.1"), ["held", "settled", "nothing holds its result any more"]);
    let gone = "its driver is gone, and nothing that it started is left";
    assert_eq!(of("g.2"), ["dispatched", "dispatched", gone]);
    let shown = proved.json.to_string();
    assert!(shown.contains(" --resume\""), "{shown}");
}

#[test]
fn v04_a_stopped_owner_that_wakes_after_a_takeover_writes_nothing() {
    let (place, actor, words) = ready(Way::Done);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = place.start(actor, &words, &[("LOOPX_FAILPOINT", "owner.judged=stop")]);
    let pid = Pid::from_child(&done);
    until("the owner is stopped", || is_stopped(pid));
    // an hour later somebody else takes the Todo
    let later = [("LOOPX_FAILPOINT_CLOCK", "boot=7200000,wall=7200000")];
    let claimed = place.call_with("agent:b", &["todo", "claim", "g.1"], &later).ok();
    let head = place.head();
    kill_process(pid, Signal::CONT).unwrap();
    let woken = answer(&done.wait_with_output().unwrap());
    assert_eq!((woken.exit, woken.code()), (Some(4), "ownership_superseded"), "{}", woken.json);
    assert_eq!(place.head(), head);
    let own = claimed.text("/own_id");
    place.call("agent:b", &["todo", "done", "g.1", "--own", own]).ok();
}

#[test]
fn a_stopped_driver_is_never_recovered_over_and_goes_on_when_it_wakes() {
    let (place, actor, words) = ready(Way::Run);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = place.start(actor, &words, &[("LOOPX_FAILPOINT", "turn.spooled=stop")]);
    let pid = Pid::from_child(&run);
    until("the driver is stopped", || is_stopped(pid));
    let (turn_id, head) = (place.turn_id(), place.head());
    for how in ["--prove", "--resume"] {
        let refused = place.call("user:ana", &["turn", "recover", &turn_id, how]);
        assert_eq!((refused.exit, refused.code()), (Some(4), "executor_active"), "{}", refused.json);
    }
    assert_eq!(place.head(), head);
    kill_process(pid, Signal::CONT).unwrap();
    let ended = answer(&run.wait_with_output().unwrap()).ok();
    assert_eq!(ended.text("/turn/state"), "settled");
    assert_eq!(place.runs(), 1);
}

fn is_stopped(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
}

#[test]
fn regress_status_sees_a_driver_that_is_gone() {
    let place = Place::new("test -f answer");
    place.host("touch answer");
    let run: Vec<String> = place.run("first").into_iter().map(str::to_owned).collect();
    killed(&place, "user:ana", &run, "turn.dispatched=kill");
    let recover = format!("turn recover {} --resume", place.turn_id());
    let all = place.call("user:ana", &["status"]).ok();
    assert_eq!(all.text("/goals/0/waiting_on"), "repair");
    assert_eq!(all.text("/goals/0/first/command"), recover);
    assert_eq!(all.json.pointer("/goals/0/may_continue"), Some(&false.into()));
    let one = place.call("user:ana", &["status", "--agent", "a"]).ok();
    assert_eq!(one.text("/goals/0/decision/action"), "reconcile");
    assert_eq!(one.text("/goals/0/decision/command"), recover);
    let words: Vec<&str> = recover.split(' ').collect();
    place.call("user:ana", &words).ok();
    assert_eq!(place.turns()[0]["state"], "settled");
}

#[test]
fn regress_the_validators_of_an_attached_turn_end_with_who_runs_them() {
    let place = Place::new("touch ../began; sleep 300");
    let own = place.own("agent:a");
    let done = ["todo", "done", "g.1", "--own", own.as_str()];
    let began = place.root().join("began");
    for (signal, survives) in [(Signal::TERM, false), (Signal::INT, false), (Signal::KILL, true)] {
        fs::remove_file(&began).ok();
        let mut child = place.start("agent:a", &done, &[]);
        until("the validator runs", || began.exists());
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        if survives {
            // A kill can leave it; the next look ends it before it validates anew.
            let turn = place.turn_id();
            place.call_with("user:ana", &["turn", "abandon", &turn, "--reason", "no"], &[]);
        }
        until("no validator is left", || place.survivors().is_empty());
    }
}
