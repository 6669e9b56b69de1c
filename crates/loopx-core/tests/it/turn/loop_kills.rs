//! `loop run` killed at every named point, in its first and in its second Turn, and started again as it was.
//!
//! Then everything is done that was to be done, no Turn ran or settled twice, and no process is left.

use std::{collections::BTreeSet, fs, os::unix::process::ExitStatusExt as _};

use loopx_core::{
    authority::{
        Authority,
        profile::{self, HostFilesystem, Profile},
    },
    failpoint::Point,
    kernel::{Command, QuotaCommand},
    sdk::{Actor, Duration, Limit, Operation},
};
use rustix::process::{Pid, Signal, kill_process};

use super::place::{Answer, Place, REPORT, answer, until};

const LOOP: &[&str] = &["loop", "run", "--agent", "a", "--host", "sh host.sh", "--wall", "2m"];

/// Two Todos; the first takes two Turns. The host notes the Turn that it ran for.
fn place() -> Place {
    let place = Place::new("true");
    let progress = REPORT.replace("validated_completion", "validated_progress");
    place.script(
        "host.sh",
        &format!(
            "cat > /dev/null\necho $LOOPX_TURN_KEY >> ../runs\n\
             if [ $(sort -u ../runs | wc -l) -le 1 ]; then {progress}; else {REPORT}; fi\n"
        ),
    );
    place.call("user:ana", &["todo", "add", "and this"]).ok();
    place
}

fn points() -> impl Iterator<Item = &'static str> {
    let of_a_run = |name: &&str| name.starts_with("turn.") && *name != "turn.attempt_ended";
    Point::ALL.iter().map(|point| point.as_str()).filter(of_a_run)
}

fn go(place: &Place, more: &[&str], env: &[(&str, &str)]) -> (Option<i32>, Answer) {
    let output = place.command("user:ana", &[LOOP, more].concat(), env).output().unwrap();
    (output.status.signal(), answer(&output))
}

/// What must hold once all of it is over.
fn over(place: &Place, what: &str) {
    for todo in ["g.1", "g.2"] {
        let shown = place.call("user:ana", &["todo", "show", todo]).ok();
        assert_eq!(shown.text("/todo/state"), "done", "{what}");
    }
    let events = place.events("turn.ended");
    let text = |event: &serde_json::Value| event["text"].as_str().unwrap().to_owned();
    let settled = events.iter().filter(|event| text(event).starts_with("Turn settled"));
    assert_eq!(settled.count(), 3, "{what}: {:?}", events.iter().map(text).collect::<Vec<_>>());
    let runs = fs::read_to_string(place.root().join("runs")).unwrap();
    let distinct: BTreeSet<_> = runs.lines().collect();
    assert_eq!((runs.lines().count(), distinct.len()), (3, 3), "{what}: no Turn ran twice");
    assert!(place.survivors().is_empty(), "{what}");
}

#[test]
fn a_loop_that_is_killed_goes_on_when_it_is_started_again() {
    for point in points() {
        // The second Turn is admitted with the settlement of the first.
        let visits = if point == "turn.admitted" { 2 } else { 3 };
        for visit in 1..=visits {
            let place = place();
            // the same flags, with an id of its own or without
            let more: &[&str] = if visit == 2 { &["--op-id", "op"] } else { &[] };
            let spec = format!("{point}=kill@{visit}");
            let (signal, first) = go(&place, more, &[("LOOPX_FAILPOINT", &spec)]);
            assert_eq!(signal, Some(Signal::KILL.as_raw()), "{spec}: {}", first.json);
            let (_, again) = go(&place, more, &[]);
            assert_eq!(again.exit, Some(11), "{spec}: {}", again.json);
            over(&place, &spec);
            // once more, it finds nothing to do
            let head = place.head();
            let (_, last) = go(&place, more, &[]);
            assert_eq!((last.exit, place.head()), (Some(11), head), "{spec}: {}", last.json);
            if visit == 2 {
                let turns = last.json["loop"]["turns"].as_array().unwrap();
                assert_eq!(turns.len(), 3, "{spec}: with its id, a loop counts all that it ran: {turns:?}");
            }
        }
    }
}

#[test]
fn a_loop_killed_before_and_after_any_commit_goes_on_when_it_is_started_again() {
    for point in ["store.before_commit", "store.after_commit"] {
        for visit in 1..60 {
            let place = place();
            let spec = format!("{point}=kill@{visit}");
            let (signal, first) = go(&place, &[], &[("LOOPX_FAILPOINT", &spec)]);
            if signal.is_none() {
                assert_eq!(first.exit, Some(11), "{spec}: {}", first.json);
                assert!(visit > 10, "{point} was reached {} times", visit - 1);
                break;
            }
            let (_, again) = go(&place, &[], &[]);
            assert_eq!(again.exit, Some(11), "{spec}: {}", again.json);
            over(&place, &spec);
        }
    }
}

#[test]
fn the_turns_of_an_earlier_start_count_under_the_same_id() {
    let place = place();
    let more = ["--op-id", "op", "--turns", "2"];
    let (signal, _) = go(&place, &more, &[("LOOPX_FAILPOINT", "turn.candidate=kill@2")]);
    assert_eq!(signal, Some(Signal::KILL.as_raw()));
    // the two that were begun come to their end, and no third is
    let (_, again) = go(&place, &more, &[]);
    assert_eq!((again.exit, again.code()), (Some(1), "not_ready"), "{}", again.json);
    assert_eq!(again.json.pointer("/error/details/loop/used/turns"), Some(&2.into()));
    assert_eq!(fs::read_to_string(place.root().join("runs")).unwrap().lines().count(), 2);
}

#[test]
fn a_stopped_loop_is_waited_for_and_never_overtaken() {
    // given a loop that is stopped in the middle of its first Turn
    let place = place();
    let words = [LOOP, &["--turns", "1"]].concat();
    let first = place.start("user:ana", &words, &[("LOOPX_FAILPOINT", "turn.spooled=stop")]);
    let pid = Pid::from_child(&first);
    until("it is stopped", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    });
    let head = place.head();
    // when another of the same agent is started, then it waits, and says for what
    let (_, second) = go(&place, &["--no-wait"], &[]);
    assert_eq!((second.exit, second.text("/loop/disposition")), (Some(10), "wait"), "{}", second.json);
    assert_eq!(place.head(), head);
    // when the first wakes, it ends its Turn
    kill_process(pid, Signal::CONT).unwrap();
    let ended = answer(&first.wait_with_output().unwrap());
    assert_eq!(ended.json.pointer("/error/details/loop/settled"), Some(&1.into()), "{}", ended.json);
}

/// Lets the Goal have so many Turns.
pub(super) fn limit(place: &Place, turns: u32) {
    let env = profile::Env { loopx_home: Some(place.root().join("home")), ..profile::Env::default() };
    let profile = Profile::open(&profile::Place::resolve(&env).unwrap(), &env, &HostFilesystem).unwrap();
    let mut authority = Authority::open(&profile, &env).unwrap();
    let ana: Actor = "user:ana".parse().unwrap();
    let set = QuotaCommand::Set {
        agent_id: None,
        limit: Some(Limit::of_turns(turns, Duration::from_mins(24 * 60))),
    };
    let id = format!("limit-{turns}").parse().unwrap();
    authority.submit(Operation::embedded(id, ana, "g".parse().unwrap(), Command::Quota(set))).unwrap();
}

#[test]
fn a_quota_that_runs_out_is_waited_for_and_a_raised_one_wakes() {
    // given a Goal that may have two Turns, and needs three
    let place = place();
    limit(&place, 2);
    // when a loop runs that may not wait, then it ends with what it waits for, and admitted nothing that it gave up
    let (_, ended) = go(&place, &["--no-wait"], &[]);
    assert_eq!((ended.exit, ended.text("/loop/disposition")), (Some(10), "wait"), "{}", ended.json);
    assert!(ended.text("/loop/why").contains("the budget of Turns is used up"), "{}", ended.json);
    assert!(ended.json.pointer("/loop/until_ms").is_some(), "{}", ended.json);
    assert_eq!(ended.json.pointer("/loop/settled"), Some(&2.into()));
    // and one that waits goes on once there is more
    let told = fs::File::create(place.root().join("told")).unwrap();
    let mut command = place.command("user:ana", LOOP, &[]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(told).spawn().unwrap();
    until("it waits", || fs::read_to_string(place.root().join("told")).unwrap().contains("waiting: "));
    limit(&place, 9);
    let ended = answer(&child.wait_with_output().unwrap());
    assert_eq!(ended.exit, Some(11), "{}", ended.json);
    over(&place, "quota");
}

#[test]
fn regress_what_a_loop_only_brought_on_uses_none_of_its_ids() {
    // given a Turn that another verb began, and that was killed
    let place = place();
    let run = ["turn", "run", "--agent", "a", "--host", "sh host.sh"];
    let killed =
        place.command("user:ana", &run, &[("LOOPX_FAILPOINT", "turn.candidate=kill")]).output().unwrap();
    assert_eq!(killed.status.signal(), Some(Signal::KILL.as_raw()));
    // when a loop brings it on, begins one of its own, and is killed too
    let more = ["--op-id", "op"];
    let (signal, _) = go(&place, &more, &[("LOOPX_FAILPOINT", "turn.candidate=kill@1")]);
    assert_eq!(signal, Some(Signal::KILL.as_raw()));
    // then the same loop goes on to the end
    let (_, again) = go(&place, &more, &[]);
    assert_eq!(again.exit, Some(11), "{}", again.json);
    over(&place, "brought on");
    let head = place.head();
    let (_, last) = go(&place, &more, &[]);
    assert_eq!((last.exit, place.head()), (Some(11), head), "{}", last.json);
}

#[test]
fn regress_what_follows_a_turn_that_a_loop_only_brought_on_counts_under_its_id() {
    // given a Turn that another verb began, that was killed, and that brings progress alone
    let place = place();
    let run = ["turn", "run", "--agent", "a", "--host", "sh host.sh"];
    let killed =
        place.command("user:ana", &run, &[("LOOPX_FAILPOINT", "turn.candidate=kill")]).output().unwrap();
    assert_eq!(killed.status.signal(), Some(Signal::KILL.as_raw()));
    // when a loop of one Turn brings it on, then it begins one more, whose host is the second to run
    let more = ["--op-id", "op", "--turns", "1"];
    let runs = || fs::read_to_string(place.root().join("runs")).unwrap().lines().count();
    let used = |ended: &Answer| ended.json.pointer("/error/details/loop/used/turns").cloned();
    let (_, first) = go(&place, &more, &[]);
    assert_eq!((used(&first), runs()), (Some(1.into()), 2), "{}", first.json);
    // and under the same id no other
    let (_, again) = go(&place, &more, &[]);
    assert_eq!((used(&again), runs()), (Some(1.into()), 2), "{}", again.json);
}
