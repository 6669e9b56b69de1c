//! Driver, guardian and host of a Turn, each killed or stopped at every point of the guardian's way, in every pair.
//!
//! Afterwards the Turn is recovered. Then there is one settlement and one spend, no accepted result is lost, no process
//! is left, and no second host ever ran while the first might have lived.

use std::{fs, path::PathBuf, process::Child};

use loopx_core::failpoint::Point;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::place::{Answer, Place, answer, until, until_let_go};
use crate::desk::skipped;

/// The points at which a guardian can be killed or stopped.
pub(super) fn points() -> impl Iterator<Item = &'static str> {
    Point::ALL.iter().map(|point| point.as_str()).filter(|name| name.starts_with("guard."))
}

/// A place whose host leaves proof that it ran alone, and the words that run it.
///
/// The host has a lock for itself while it lives; a second one beside it would find it taken.
pub(super) fn ready(work: &str) -> Place {
    let place = Place::new("test -f answer && ! test -e ../twice");
    place.host(&format!("exec 9>../alone; flock -n 9 || touch ../twice; {work}"));
    place
}

fn locks(place: &Place) -> PathBuf {
    place.root().join("home/profiles/default/locks")
}

/// The process of the guardian at work, as its lock names it.
pub(super) fn guardian(place: &Place) -> Option<Pid> {
    let files = fs::read_dir(locks(place)).ok()?.flatten();
    let file =
        files.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|kind| kind == "guard"))?;
    let noted: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    let pid = noted.pointer("/process/pid")?.as_i64().and_then(|pid| i32::try_from(pid).ok())?;
    Pid::from_raw(pid)
}

/// The letter of a process's state; none when it is gone or not yet collected.
pub(super) fn state(pid: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit(") ").next()?.chars().next().filter(|state| *state != 'Z')
}

pub(super) fn is_stopped(pid: Pid) -> bool {
    state(pid) == Some('T')
}

pub(super) fn kill(pid: Pid) {
    // It may have gone by itself.
    let _ = kill_process(pid, Signal::KILL);
}

pub(super) fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What must hold when all is over.
pub(super) fn over(place: &Place, what: &str) {
    let turns = place.turns();
    let settled = turns.iter().filter(|turn| turn["state"] == "settled").count();
    assert_eq!(settled, 1, "{what}: {turns:?}");
    let slot = |turn: &Value| {
        let shown = place.call("user:ana", &["turn", "show", turn["turn_id"].as_str().unwrap()]).ok();
        shown.text("/turn/slot").to_owned()
    };
    let slots: Vec<String> = turns.iter().map(slot).collect();
    assert_eq!(slots.iter().filter(|slot| *slot == "spent").count(), 1, "{what}: one spend: {slots:?}");
    assert!(!slots.iter().any(|slot| slot == "reserved"), "{what}: {slots:?}");
    assert_eq!(place.todo_state(), "done", "{what}");
    assert!(!place.root().join("twice").exists(), "{what}: two hosts at once");
    until("no process is left", || place.survivors().is_empty());
    place.call("user:ana", &["turn", "recover", "--prove"]).ok();
    let left = |folder: PathBuf| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let turns =
        |names: Vec<String>| names.into_iter().filter(|name| name.contains("trn_")).collect::<Vec<_>>();
    assert!(turns(left(locks(place))).is_empty(), "{what}: {:?}", left(locks(place)));
    assert!(left(place.root().join("home/profiles/default/spool")).is_empty(), "{what}");
}

fn recover(place: &Place) -> Answer {
    let turn_id = place.turn_id();
    place.call("user:ana", &["turn", "recover", &turn_id, "--resume"])
}

/// Brings a Turn on as a person would: the same run again, and once, where nobody can tell what happened, a new one.
pub(super) fn brought_on(place: &Place, what: &str) {
    let again = place.call("user:ana", &place.run("op"));
    if again.code() == "turn_unresolved" {
        let turn_id = place.turn_id();
        let gone = ["turn", "abandon", &turn_id, "--reason", "looked at it"];
        place.call("proven:ana", &gone).ok();
        place.call("user:ana", &place.run("second")).ok();
        return;
    }
    if again.text("/error/details/turn/state") == "stopped" {
        // It never got as far as an attempt.
        assert_eq!(place.runs(), 0, "{what}: {}", again.json);
        place.call("user:ana", &place.run("second")).ok();
        return;
    }
    assert_eq!(again.exit, Some(0), "{what}: {}", again.json);
}

#[test]
fn v04_a_guardian_killed_at_each_point_leaves_one_settlement() {
    for point in points() {
        let place = ready("touch answer");
        let spec = format!("{point}=stop");
        let mut run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", &spec)]);
        // The first is killed at the point, those of later attempts go on past it.
        let mut killed = None;
        until(point, || {
            for pid in stopped_guardians(&place) {
                if killed.is_none() {
                    kill(pid);
                }
                killed.get_or_insert(pid);
                let _ = kill_process(pid, Signal::CONT);
            }
            run.try_wait().unwrap().is_some()
        });
        assert!(killed.is_some(), "{point}");
        if !run.wait().unwrap().success() {
            brought_on(&place, point);
        }
        over(&place, point);
    }
}

#[test]
fn v04_driver_and_guardian_killed_together_at_each_point_leave_one_settlement() {
    for point in points() {
        let place = ready("touch answer");
        let spec = format!("{point}=stop");
        let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", &spec)]);
        until(point, || guardian(&place).is_some_and(is_stopped));
        let guardian = guardian(&place).unwrap();
        end(run);
        kill(guardian);
        brought_on(&place, point);
        over(&place, point);
    }
}

/// Guardians of this place that are stopped: those that hold one of its lock files open.
pub(super) fn stopped_guardians(place: &Place) -> Vec<Pid> {
    let locks = locks(place);
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let holds = |pid: Pid| {
        let descriptors =
            fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).into_iter().flatten().flatten();
        descriptors
            .filter_map(|descriptor| fs::read_link(descriptor.path()).ok())
            .any(|file| file.starts_with(&locks) && file.extension().is_some_and(|kind| kind == "guard"))
    };
    pids.filter(|pid| is_stopped(*pid) && holds(*pid)).collect()
}

#[test]
fn a_guardian_stopped_at_each_point_is_waited_for_while_its_driver_lives() {
    for point in points() {
        let place = ready("touch answer");
        let spec = format!("{point}=stop");
        let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", &spec)]);
        until(point, || !stopped_guardians(&place).is_empty());
        let turn_id = place.turn_id();
        let refused = place.call("user:ana", &["turn", "recover", &turn_id, "--resume"]);
        assert_eq!(refused.code(), "executor_active", "{point}: {}", refused.json);
        for pid in stopped_guardians(&place) {
            kill_process(pid, Signal::CONT).unwrap();
        }
        answer(&run.wait_with_output().unwrap()).ok();
        assert_eq!(place.runs(), 1, "{point}");
        over(&place, point);
    }
}

#[test]
fn a_stopped_guardian_whose_driver_died_is_never_recovered_over_but_can_be_ended() {
    let place = ready(&until_let_go("touch answer"));
    let run = place.start("user:ana", &place.run("op"), &[]);
    until("the host began", || place.root().join("began").exists());
    let pid = guardian(&place).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    until("it is stopped", || is_stopped(pid));
    end(run);
    let head = place.head();
    let turn_id = place.turn_id();
    let proved = place.call("user:ana", &["turn", "recover", &turn_id, "--prove"]);
    assert_eq!((proved.exit, proved.code()), (Some(4), "executor_active"), "{}", proved.json);
    assert_eq!(place.head(), head);
    // A person's wish ends the guardian too, stopped or not.
    let stopped = place.call("user:ana", &["turn", "stop", &turn_id]).ok();
    assert_eq!(stopped.text("/turn/state"), "stopped", "{}", stopped.json);
    until("no process is left", || place.survivors().is_empty() && state(pid).is_none());
}

#[test]
fn a_host_killed_under_its_guardian_is_started_again_once_it_is_proved_gone() {
    for driver_dies in [false, true] {
        let place = ready(
            "if [ ! -e ../began ]; then echo $$ > ../pid; mv ../pid ../began; while :; do sleep 0.02; done; fi; \
             touch answer",
        );
        let run = place.start("user:ana", &place.run("op"), &[]);
        let began = place.root().join("began");
        until("the host began", || began.exists());
        let host = fs::read_to_string(&began).unwrap().trim().parse().ok().and_then(Pid::from_raw).unwrap();
        if driver_dies {
            end(run);
            kill(host);
            recover(&place).ok();
        } else {
            kill(host);
            answer(&run.wait_with_output().unwrap()).ok();
        }
        assert_eq!(place.runs(), 2);
        over(&place, "a killed host");
    }
}

#[test]
fn a_host_dies_with_its_guardian_and_what_it_changed_decides() {
    for changed in [false, true] {
        let work = if changed { "touch half;" } else { "" };
        let place = Place::new("test -f answer").with_git();
        place.host(&format!(
            "if [ ! -e ../began ]; then {work} touch ../began; while :; do sleep 0.02; done; fi; touch answer"
        ));
        let run = place.start("user:ana", &place.run("op"), &[]);
        until("the host began", || place.root().join("began").exists());
        until("its group holds it", || is_held(&place));
        let has_group = has_group(&place);
        kill(guardian(&place).unwrap());
        let ended = answer(&run.wait_with_output().unwrap());
        until("no process is left", || place.survivors().is_empty());
        if !changed && has_group {
            assert_eq!((ended.exit, place.runs()), (Some(0), 2), "{}", ended.json);
            continue;
        }
        assert_eq!((ended.exit, ended.code()), (Some(5), "turn_unresolved"), "{changed} {}", ended.json);
        assert_eq!(place.runs(), 1);
        let turn_id = place.turn_id();
        let again = recover(&place);
        assert_eq!((again.exit, again.code()), (Some(5), "turn_unresolved"), "{changed} {}", again.json);
        // A person's word leads out of it.
        place.call("proven:ana", &["turn", "abandon", &turn_id, "--reason", "looked at it"]).ok();
        assert_eq!(place.turns()[0]["state"], "stopped");
    }
}

/// Where this host's control group is, as its own shell finds it: outside of its leaf.
const ABOVE: &str = r"$(grep ' cgroup2 ' /proc/self/mountinfo | cut -d' ' -f5 | head -n1)/cgroup.procs";

/// A host that starts something which leaves the tree, kills its guardian, and goes; none where there is no group to leave.
fn escaping(place: &Place, env: &str) -> Option<Pid> {
    let lives = "echo $$ > ../free.new; mv ../free.new ../free; while :; do sleep 0.05; done";
    place.host(&format!(
        "until [ -e ../held ]; do sleep 0.02; done; echo 0 > {ABOVE} && setsid -f {env} sh -c '{lives}' < /dev/null > /dev/null 2>&1; \
         until [ -s ../free ]; do sleep 0.02; done; until [ -e ../go ]; do sleep 0.02; done; kill -9 $PPID; sleep 60"
    ));
    let run = place.start("user:ana", &place.run("op"), &[]);
    until("its guardian holds it", || is_held(place));
    if !has_group(place) {
        end(run);
        skipped("no control group can be made");
        return None;
    }
    fs::write(place.root().join("held"), "").unwrap();
    let free = place.root().join("free");
    until("something is out of the tree", || free.exists());
    let pid = fs::read_to_string(free).unwrap().trim().parse().ok().and_then(Pid::from_raw);
    until("its guardian saw it go", || has_told(place, "escaped"));
    fs::write(place.root().join("go"), "").unwrap();
    let ended = answer(&run.wait_with_output().unwrap());
    assert_eq!((ended.exit, ended.code()), (Some(5), "turn_unresolved"), "{}", ended.json);
    pid
}

/// What the lock of the guardian at work says of it.
fn noted(place: &Place, pointer: &str) -> Option<Value> {
    let files = fs::read_dir(locks(place)).ok()?.flatten();
    let file =
        files.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|kind| kind == "guard"))?;
    let noted: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    noted.pointer(pointer).cloned()
}

/// Whether the guardian of a place says this of its host.
fn has_told(place: &Place, what: &str) -> bool {
    noted(place, "/told").is_some_and(|told| told.as_array().is_some_and(|told| told.contains(&what.into())))
}

/// Whether all of the host is in its group, or works without one.
fn is_held(place: &Place) -> bool {
    has_told(place, "began") && (!has_group(place) || has_told(place, "confined"))
}

/// Whether the guardian of a place has a group for its host.
fn has_group(place: &Place) -> bool {
    noted(place, "/leaf").is_some()
}

#[test]
fn what_leaves_its_group_and_session_with_its_mark_is_found_and_ended() {
    let place = Place::new("test -f answer").with_git();
    let Some(free) = escaping(&place, "") else { return };
    until("it is ended", || state(free).is_none());
    assert_eq!(place.runs(), 1);
}

#[test]
fn what_leaves_its_group_without_its_mark_cannot_be_found_and_nothing_is_started_beside_it() {
    let place = Place::new("test -f answer").with_git();
    let Some(free) = escaping(&place, "env -i") else { return };
    assert!(state(free).is_some(), "it got away");
    let turn_id = place.turn_id();
    for words in [place.run("op"), vec!["turn", "recover", &turn_id, "--resume"]] {
        let refused = place.call("user:ana", &words);
        assert_eq!((refused.exit, refused.code()), (Some(5), "turn_unresolved"), "{}", refused.json);
    }
    assert_eq!(place.runs(), 1, "the group that it left is no proof");
    kill(free);
}

#[test]
fn no_guardian_says_that_it_holds_what_runs_away_from_the_move_into_its_group() {
    // Each of a long row starts the next and ends at once; the last one lives on, without a mark.
    let row = "f() { if [ $1 -gt 0 ]; then f $(($1 - 1)) & exit 0; fi; \
               exec env -i sh -c 'echo $$ > ../last.new; mv ../last.new ../last; exec sleep 600'; }; \
               (f 400) < /dev/null > /dev/null 2>&1 &";
    for _ in 0..4 {
        let place = Place::new("test -f answer");
        place.host(&format!("{row}\n{}", until_let_go("touch answer")));
        let run = place.start("user:ana", &place.run("op"), &[]);
        until("the row has ended", || place.root().join("last").exists());
        let last = fs::read_to_string(place.root().join("last")).unwrap().trim().to_owned();
        let guardian = guardian(&place).unwrap().as_raw_nonzero();
        // It moves what it holds in a thread of its own.
        let has_moved = || fs::read_dir(format!("/proc/{guardian}/task")).unwrap().count() == 1;
        until("its guardian has moved what it could", || has_told(&place, "confined") || has_moved());
        if has_told(&place, "confined") && !has_told(&place, "escaped") {
            let group = fs::read_to_string(format!("/proc/{last}/cgroup")).unwrap();
            assert!(group.contains("/loopx-"), "{group}");
        }
        fs::write(place.root().join("go"), "").unwrap();
        assert_eq!(answer(&run.wait_with_output().unwrap()).exit, Some(0));
        until("no process is left", || !fs::exists(format!("/proc/{last}")).unwrap());
    }
}

#[test]
fn a_result_is_there_from_its_last_byte_on() {
    // The host reports and goes on; then driver and guardian are killed.
    let place = Place::new("test -f answer");
    let work = "touch answer".to_owned();
    place.host(&work);
    let script = fs::read_to_string(place.tree().join("host.sh")).unwrap();
    fs::write(
        place.tree().join("host.sh"),
        format!("{script}\ntouch ../said; while :; do sleep 0.02; done\n"),
    )
    .unwrap();
    let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", "guard.ended=kill")]);
    until("it reported", || place.root().join("said").exists());
    let pid = guardian(&place).unwrap();
    let spool = place.root().join("home/profiles/default/spool");
    until("the result is kept", || {
        let folders = fs::read_dir(&spool).into_iter().flatten().flatten();
        folders
            .map(|entry| entry.path().join("stdout"))
            .any(|file| fs::read_to_string(file).is_ok_and(|text| text.ends_with('}')))
    });
    until("its group holds it", || is_held(&place));
    end(run);
    kill(pid);
    recover(&place).ok();
    assert_eq!(place.runs(), 1);
    over(&place, "a kept result");
}

#[test]
fn regress_a_terminal_s_signal_ends_the_turn_and_not_the_guardian_alone() {
    let place = ready(&until_let_go("touch answer"));
    let run = place.start("user:ana", &place.run("op"), &[]);
    until("the host began", || place.root().join("began").exists());
    let pid = guardian(&place).unwrap();
    let session = |pid: Pid| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
        stat.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap().to_owned()
    };
    assert_eq!(session(pid), pid.as_raw_nonzero().to_string());
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let ended = answer(&run.wait_with_output().unwrap());
    assert_eq!(ended.text("/error/details/turn/state"), "stopped", "{}", ended.json);
    until("no process is left", || place.survivors().is_empty() && state(pid).is_none());
}

#[test]
fn what_loses_its_parent_clears_its_environment_and_leaves_its_session_is_ended_all_the_same() {
    let place = Place::new("test -f answer");
    place.host("setsid -f env -i sh -c 'echo $$ > ../lost; while :; do sleep 0.05; done' < /dev/null > /dev/null 2>&1; until [ -s ../lost ]; do sleep 0.02; done; touch answer");
    place.call("user:ana", &place.run("op")).ok();
    let lost = fs::read_to_string(place.root().join("lost")).unwrap();
    let lost = lost.trim().parse().ok().and_then(Pid::from_raw).unwrap();
    assert_eq!(state(lost), None);
}

#[test]
fn an_attempt_says_by_what_it_is_held_together() {
    let guarantee = |place: &Place| {
        let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
        shown.text("/turn/attempts/0/guarantee").to_owned()
    };
    let place = Place::new("test -f answer");
    place.host(&until_let_go("touch answer"));
    let run = place.start("user:ana", &place.run("op"), &[]);
    until("the host began", || place.root().join("began").exists());
    until("its guardian holds it", || is_held(&place));
    let has_group = has_group(&place);
    if !has_group {
        skipped("no control group can be made");
    }
    let held = guarantee(&place);
    fs::write(place.root().join("go"), "").unwrap();
    assert_eq!(answer(&run.wait_with_output().unwrap()).exit, Some(0));
    let expected = if has_group { "cgroup" } else { "sub_reaper" };
    assert_eq!((held.as_str(), guarantee(&place).as_str()), (expected, expected));
}

#[test]
fn a_guarantee_that_did_not_hold_is_not_left_on_record() {
    for fails in [false, true] {
        let place = ready(&until_let_go(if fails { "exit 7" } else { "touch answer" }));
        let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", "leaf.move=stop")]);
        let driver = Pid::from_child(&run).as_raw_nonzero();
        let mut guardians = Vec::new();
        until("each guardian is stopped before it moves its host", || {
            let listed =
                fs::read_to_string(format!("/proc/{driver}/task/{driver}/children")).unwrap_or_default();
            for pid in listed.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
                if is_stopped(pid) {
                    let leaf = leaf_of(pid);
                    guardians.push(leaf.is_some_and(|leaf| fs::remove_dir(leaf).is_ok()));
                    fs::write(place.root().join("go"), "").unwrap();
                    kill_process(pid, Signal::CONT).unwrap();
                }
            }
            if place.root().join("began").exists() && noted(&place, "/told").is_some() && !has_group(&place) {
                fs::write(place.root().join("go"), "").unwrap();
            }
            state(Pid::from_child(&run)).is_none()
        });
        answer(&run.wait_with_output().unwrap());
        if guardians.is_empty() {
            skipped("no control group can be made");
            return;
        }
        assert!(guardians.iter().all(|removed| *removed), "each group was taken away");
        let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
        let attempts = shown.json["turn"]["attempts"].as_array().unwrap().clone();
        assert!(attempts.iter().all(|attempt| attempt["guarantee"] == "sub_reaper"), "{attempts:?}");
        let said = |kind: &str| place.events(kind).len();
        assert_eq!((said("turn.attempt_ended") > 0, said("turn.candidate_recorded") > 0), (fails, !fails));
    }
}

#[test]
fn a_guarantee_that_did_not_hold_is_not_left_on_record_where_nobody_saw_the_end_either() {
    let place = ready(&until_let_go("touch answer"));
    let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", "leaf.move=stop")]);
    let driver = Pid::from_child(&run).as_raw_nonzero();
    let mut removed = None;
    until("the host began, and is not moved", || {
        let listed = fs::read_to_string(format!("/proc/{driver}/task/{driver}/children")).unwrap_or_default();
        let stopped = listed.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        for pid in stopped.filter(|pid| is_stopped(*pid)) {
            removed = leaf_of(pid).map(|leaf| fs::remove_dir(leaf).is_ok());
            kill_process(pid, Signal::CONT).unwrap();
        }
        let has_begun = place.root().join("began").exists() && has_told(&place, "began");
        has_begun && (removed.is_some() || !has_group(&place))
    });
    kill(guardian(&place).unwrap());
    let lost = answer(&run.wait_with_output().unwrap());
    let Some(removed) = removed else {
        skipped("no control group can be made");
        return;
    };
    assert!(removed, "the group was taken away");
    assert_eq!((lost.exit, lost.code()), (Some(5), "turn_unresolved"), "{}", lost.json);
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
    assert_eq!(shown.text("/turn/attempts/0/guarantee"), "sub_reaper", "{}", shown.json);
}

/// The control group that a guardian has made.
fn leaf_of(guardian: Pid) -> Option<PathBuf> {
    let pid = guardian.as_raw_nonzero();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let point = mounts.lines().find(|line| line.contains(" - cgroup2 "))?.split(' ').nth(4)?.to_owned();
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
    let entries = fs::read_dir(PathBuf::from(point).join(own)).ok()?.flatten();
    let prefix = format!("loopx-{pid}-");
    entries
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
}
