//! Each process of a Turn stopped at each point of its way, the others killed beside it, and all of it brought on.
//!
//! A process that is stopped lives: nobody acts over it, however late it is. What is brought on afterwards ends as if
//! nothing had happened, or says that nobody can tell.

use std::{fs, process::Child};

use loopx_core::failpoint::Point;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    guardians::{brought_on, end, guardian, is_stopped, kill, over, points, ready, state, stopped_guardians},
    place::{Place, answer, until, until_let_go},
};
use crate::desk::skipped;

/// Two hours later than it is.
const LATER: [(&str, &str); 1] = [("LOOPX_FAILPOINT_CLOCK", "boot=7200000,wall=7200000")];

/// The points of a driver whose host does not crash.
fn drivers_points() -> impl Iterator<Item = &'static str> {
    Point::ALL
        .iter()
        .map(|point| point.as_str())
        .filter(|name| name.starts_with("turn.") && *name != "turn.attempt_ended")
}

fn stopped_at(place: &Place, point: &str) -> (Child, Pid) {
    let spec = format!("{point}=stop");
    let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", &spec)]);
    let pid = Pid::from_child(&run);
    until(point, || is_stopped(pid));
    (run, pid)
}

fn wake(pid: Pid) {
    // It may have gone by itself.
    let _ = kill_process(pid, Signal::CONT);
}

#[test]
fn v04_a_driver_stopped_at_each_point_until_it_is_long_late_is_never_recovered_over() {
    for point in drivers_points() {
        let place = ready("touch answer");
        let (run, pid) = stopped_at(&place, point);
        if !place.turns().iter().any(|turn| turn["state"] == "settled") {
            let (turn_id, head) = (place.turn_id(), place.head());
            for words in [
                &["turn", "recover", &turn_id, "--prove"][..],
                &["turn", "recover", &turn_id, "--resume"],
                &["turn", "abandon", &turn_id, "--reason", "late"],
                &["turn", "run", "--agent", "b", "--host", "sh host.sh", "--todo", "g.1"],
            ] {
                let actor = if words[1] == "abandon" { "proven:ana" } else { "user:ana" };
                let late = place.call_with(actor, words, &LATER);
                // A driver that admitted and dispatched nothing yet lets a person give up, and no one else.
                let by_person = words[1] == "abandon" && late.exit == Some(0);
                assert!(late.exit == Some(4) || by_person, "{point} {words:?}: {}", late.json);
                if by_person {
                    break;
                }
                assert_eq!(place.head(), head, "{point} {words:?}");
            }
        }
        kill_process(pid, Signal::CONT).unwrap();
        let ended = answer(&run.wait_with_output().unwrap());
        if place.turns().iter().any(|turn| turn["state"] == "settled") {
            assert_eq!((ended.exit, place.runs()), (Some(0), 1), "{point}: {}", ended.json);
            over(&place, point);
        } else {
            // A person gave it up meanwhile, and then nothing of it counts.
            assert_eq!(place.turns()[0]["state"], "stopped", "{point}: {}", ended.json);
            until("no process is left", || place.survivors().is_empty());
        }
    }
}

#[test]
fn v04_a_guardian_killed_beside_a_stopped_driver_costs_an_attempt_at_most() {
    for point in drivers_points() {
        for driver_dies in [false, true] {
            let place = ready("touch answer");
            let (run, pid) = stopped_at(&place, point);
            if let Some(guardian) = guardian(&place) {
                kill(guardian);
                until("the guardian is gone", || state(guardian).is_none());
            }
            if driver_dies {
                end(run);
                brought_on(&place, point);
            } else {
                kill_process(pid, Signal::CONT).unwrap();
                answer(&run.wait_with_output().unwrap()).ok();
            }
            over(&place, point);
            assert_eq!(place.runs(), 1, "{point}");
        }
    }
}

#[test]
fn v04_driver_and_host_killed_beside_a_stopped_guardian_leave_one_settlement() {
    for point in points() {
        for (driver_dies, host_dies) in [(true, false), (false, true), (true, true)] {
            let place = ready("touch answer");
            let spec = format!("{point}=stop");
            let mut run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", &spec)]);
            until(point, || !stopped_guardians(&place).is_empty());
            if host_dies {
                let hosts = place.survivors();
                hosts.iter().filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)).for_each(kill);
            }
            if driver_dies {
                run.kill().unwrap();
                run.wait().unwrap();
                stopped_guardians(&place).into_iter().for_each(wake);
            } else {
                // Each attempt's guardian stops there.
                until(point, || {
                    stopped_guardians(&place).into_iter().for_each(wake);
                    run.try_wait().unwrap().is_some()
                });
            }
            let what = format!("{point}, driver {driver_dies}, host {host_dies}");
            if !run.wait().unwrap().success() {
                brought_on(&place, &what);
            }
            over(&place, &what);
        }
    }
}

#[test]
fn v04_a_driver_killed_while_its_validator_runs_leaves_one_verdict() {
    let place = Place::new("touch ../checks; until [ -e ../go ]; do sleep 0.02; done; test -f answer");
    place.host("touch answer");
    let run = place.start("user:ana", &place.run("op"), &[]);
    until("the validator runs", || place.root().join("checks").exists());
    let validators = place.survivors();
    assert!(!validators.is_empty());
    end(run);
    let again = place.start("user:ana", &place.run("op"), &[]);
    let pids: Vec<Pid> =
        validators.iter().filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)).collect();
    until("what it left is ended", || pids.iter().all(|pid| state(*pid).is_none()));
    fs::write(place.root().join("go"), "").unwrap();
    answer(&again.wait_with_output().unwrap()).ok();
    assert_eq!(place.runs(), 1);
    assert_eq!(place.events("turn.validated").len(), 1);
    over(&place, "a killed driver of a validator");
}

#[test]
fn fault_e06_a_validator_s_whole_tree_ends_with_its_driver_and_without_any_recovery() {
    for attached in [false, true] {
        // One that ignores TERM, in a session of its own, without a mark.
        let lost =
            "trap '' TERM; echo $$ > ../lost.new; mv ../lost.new ../lost; while :; do sleep 0.05; done";
        let place = Place::new(&format!(
            "setsid -f env -i sh -c \"{}\" < /dev/null > /dev/null 2>&1; sleep 50 & until [ -s ../lost ]; \
             do sleep 0.02; done; touch ../checks; while :; do sleep 0.05; done",
            lost.replace('$', "\\$")
        ));
        place.host("touch answer");
        let run = if attached {
            let own = place.own("agent:b");
            place.start("agent:b", &["todo", "done", "g.1", "--own", &own], &[])
        } else {
            place.start("user:ana", &place.run("op"), &[])
        };
        until("the validator runs", || place.root().join("checks").exists());
        let lost = fs::read_to_string(place.root().join("lost")).unwrap();
        let lost = lost.trim().parse().ok().and_then(Pid::from_raw).unwrap();
        let marked = place.survivors();
        assert!(marked.len() >= 2 && state(lost).is_some(), "{marked:?}");
        end(run);
        until("all of it is gone", || place.survivors().is_empty() && state(lost).is_none());
    }
}

#[test]
fn fault_e06_a_host_that_nobody_drives_is_ended_within_its_time() {
    let place = ready(&until_let_go("touch answer"));
    let run = place.start("user:ana", &place.run("op"), &[]);
    until("the host began", || place.root().join("began").exists());
    let pid = guardian(&place).unwrap();
    end(run);
    // 30 s after its driver's death; a test waits twenty seconds for a thing.
    let mut waits = 0;
    while state(pid).is_some() {
        let began = std::panic::catch_unwind(|| until("its guardian gives up", || state(pid).is_none()));
        waits += usize::from(began.is_err());
        assert!(waits <= 2, "the guardian goes on");
    }
    assert!(waits >= 1, "too soon");
    assert!(place.survivors().is_empty());
    // Nothing changed, so it is started anew.
    fs::write(place.root().join("go"), "").unwrap();
    brought_on(&place, "orphaned");
    over(&place, "orphaned");
}

#[test]
fn a_guardian_that_its_driver_left_stopped_before_the_dispatch_is_ended_by_the_next_driver() {
    let place = ready("touch answer");
    let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", "guard.locked=stop")]);
    until("it is stopped", || !stopped_guardians(&place).is_empty());
    let left = guardian(&place).unwrap();
    end(run);
    brought_on(&place, "left stopped");
    assert_eq!((state(left), place.runs()), (None, 1));
    over(&place, "left stopped");
}

#[test]
fn a_guardian_that_was_ended_before_it_began_starts_nothing() {
    let place = ready("touch answer");
    let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", "guard.go=stop")]);
    until("it is stopped", || !stopped_guardians(&place).is_empty());
    end(run);
    let turn_id = place.turn_id();
    let stopped = place.call("user:ana", &["turn", "stop", &turn_id]).ok();
    assert_eq!(stopped.text("/turn/state"), "stopped", "{}", stopped.json);
    assert_eq!(place.runs(), 0);
    assert!(place.survivors().is_empty() && stopped_guardians(&place).is_empty());
}

#[test]
fn regress_a_guardian_without_its_lock_dies_with_its_driver_even_stopped() {
    let place = ready("touch answer");
    // The driver stops at its first commit, when its guardian has no order yet.
    let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", "turn.admitted=stop")]);
    let pid = Pid::from_child(&run);
    until("the driver is stopped", || is_stopped(pid));
    let listed = fs::read_to_string(format!("/proc/{0}/task/{0}/children", pid.as_raw_nonzero())).unwrap();
    let guardians: Vec<Pid> =
        listed.split_ascii_whitespace().filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw)).collect();
    assert_eq!(guardians.len(), 1);
    kill_process(guardians[0], Signal::STOP).unwrap();
    until("its guardian is stopped", || is_stopped(guardians[0]));
    end(run);
    until("it is gone", || state(guardians[0]).is_none());
    brought_on(&place, "a guardian without its lock");
    over(&place, "a guardian without its lock");
}

/// A small filesystem in memory at a folder, gone with the value.
pub(super) struct Small(std::path::PathBuf);

impl Small {
    /// `None`, said aloud, where mounting is not permitted.
    fn at(folder: std::path::PathBuf) -> Option<Self> {
        Self::with(folder, "size=64k,mode=0700")
    }

    pub(super) fn with(folder: std::path::PathBuf, options: &str) -> Option<Self> {
        fs::create_dir_all(&folder).unwrap();
        let small = Self(folder);
        if small.run("mount", &["-t", "tmpfs", "-o", options, "tmpfs"]) {
            return Some(small);
        }
        skipped("mounting is not permitted");
        None
    }

    fn run(&self, program: &str, words: &[&str]) -> bool {
        #[expect(clippy::disallowed_methods, reason = "a test prepares its own place")]
        let mut command = std::process::Command::new(program);
        command
            .args(words)
            .arg(&self.0)
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        self.run("umount", &["-l"]);
    }
}

/// The file that fills a small filesystem.
fn filled(small: &Small) -> std::path::PathBuf {
    let filler = small.0.join("filler");
    // As much as goes in; the last write says that it is full.
    fs::write(&filler, vec![0_u8; 1 << 20]).unwrap_err();
    filler
}

fn spool(place: &Place) -> std::path::PathBuf {
    place.root().join("home/profiles/default/spool")
}

/// Runs a host into a full disk; its driver, unless that was killed before, and what fills the disk.
fn full(place: &Place, small: &Small, env: &[(&str, &str)], driver_dies: bool) -> (Option<Child>, Pid) {
    let run = place.start("user:ana", &place.run("op"), env);
    until("the host began", || place.root().join("began").exists());
    let guardian = guardian(place).unwrap();
    filled(small);
    let run = if driver_dies {
        end(run);
        None
    } else {
        Some(run)
    };
    fs::write(place.root().join("go"), "").unwrap();
    (run, guardian)
}

#[test]
fn a_result_that_meets_a_full_disk_is_handed_to_the_driver_that_lives() {
    let place = ready(&until_let_go("touch answer"));
    let Some(small) = Small::at(spool(&place)) else { return };
    let (run, guardian) = full(&place, &small, &[], false);
    // Nobody makes room.
    answer(&run.unwrap().wait_with_output().unwrap()).ok();
    assert_eq!((place.runs(), state(guardian)), (1, None));
    drop(small);
    over(&place, "a full disk");
}

#[test]
fn a_result_that_meets_a_full_disk_without_a_driver_is_kept_once_there_is_room() {
    let place = ready(&until_let_go("touch answer"));
    let Some(small) = Small::at(spool(&place)) else { return };
    let (_, guardian) = full(&place, &small, &[], true);
    until("the host has ended", || place.survivors().is_empty());
    assert!(state(guardian).is_some(), "it waits for room");
    fs::remove_file(small.0.join("filler")).unwrap();
    brought_on(&place, "room again");
    assert_eq!(place.runs(), 1);
    drop(small);
    over(&place, "room again");
}

#[test]
fn an_end_that_nobody_could_keep_names_the_full_disk_and_is_no_crash() {
    for changed in [false, true] {
        let place = Place::new("test -f answer || test -e ../go").with_git();
        place.host(&until_let_go(if changed { "touch half" } else { "" }));
        let Some(small) = Small::at(spool(&place)) else { return };
        // Its guardian gives up at once, instead of a minute later.
        let (_, guardian) = full(&place, &small, &[("LOOPX_FAILPOINT", "spool.full=error:disk_full")], true);
        until("its guardian has given up", || state(guardian).is_none());
        let again = place.call("user:ana", &["turn", "recover", &place.turn_id(), "--resume"]);
        assert_eq!(why(&place), "no space was left to keep what the host said", "{}", again.json);
        if changed {
            assert_eq!((again.exit, again.code(), place.runs()), (Some(5), "turn_unresolved", 1));
        } else {
            assert_eq!((again.exit, place.runs()), (Some(0), 2), "{}", again.json);
            assert_eq!(failure(&place), "transport_lost");
        }
    }
}

/// How the first attempt ended, in words for its owner.
fn why(place: &Place) -> String {
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id(), "--output"]).ok();
    shown.text("/output/0/ending/ended").to_owned()
}

/// What failed of the first attempt.
fn failure(place: &Place) -> String {
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
    shown.text("/turn/attempts/0/end/failure").to_owned()
}

#[test]
fn a_guardian_that_finds_no_room_before_it_starts_a_host_has_started_none() {
    for inodes in [1, 2] {
        let place = ready("touch answer");
        let Some(small) = Small::with(spool(&place), &format!("nr_inodes={inodes},mode=0700")) else {
            return;
        };
        let run = place.start("user:ana", &place.run("op"), &[]);
        until("an attempt was given up", || !place.events("turn.attempt_ended").is_empty());
        drop(small);
        answer(&run.wait_with_output().unwrap()).ok();
        assert_eq!(place.runs(), 1, "only the attempt that found room ran");
        assert_eq!(failure(&place), "transport_lost");
        assert_eq!(why(&place), "the host was never started: no space is left to keep what a host says");
        over(&place, "no room to start");
    }
}

#[test]
fn what_is_never_started_is_tried_as_often_as_was_declared_and_no_more() {
    for attempts in [1, 2] {
        let place = ready("touch answer");
        let Some(small) = Small::with(spool(&place), "nr_inodes=1,mode=0700") else { return };
        let declared = attempts.to_string();
        place.call("user:ana", &[&place.run("op")[..], &["--attempts", &declared]].concat());
        let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
        let tried = shown.json["turn"]["attempts"].as_array().unwrap().len();
        assert_eq!((tried, place.runs()), (attempts, 0), "{}", shown.json);
        assert_eq!(shown.text("/turn/state"), "failed", "{}", shown.json);
        drop(small);
        assert!(place.survivors().is_empty(), "attempts {attempts}");
    }
}

#[test]
fn a_guardian_that_gave_its_host_up_and_finds_no_room_goes_at_once() {
    let place = ready(&until_let_go("touch answer"));
    let Some(small) = Small::at(spool(&place)) else { return };
    let run = place.start("user:ana", &[&place.run("op")[..], &["--attempts", "1"]].concat(), &[]);
    until("the host began", || place.root().join("began").exists());
    let guardian = guardian(&place).unwrap();
    filled(&small);
    kill_process(guardian, Signal::TERM).unwrap();
    answer(&run.wait_with_output().unwrap());
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
    assert_eq!(
        (shown.text("/turn/state"), failure(&place).as_str()),
        ("failed", "crashed"),
        "{}",
        shown.json
    );
    assert_eq!(state(guardian), None);
    drop(small);
    assert!(place.survivors().is_empty());
}

#[test]
fn v04_a_guardian_stopped_at_each_point_until_it_is_long_late_is_ended_by_who_takes_over() {
    for point in points() {
        let place = ready("touch answer");
        let spec = format!("{point}=stop");
        let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", &spec)]);
        until(point, || !stopped_guardians(&place).is_empty());
        let late = guardian(&place).unwrap();
        end(run);
        let claimed = place.call_with("agent:b", &["todo", "claim", "g.1"], &LATER).ok();
        if place.turns()[0]["executor"] == "attached" {
            assert!(place.survivors().is_empty(), "{point}");
        }
        if ["guard.locked", "guard.ready"].contains(&point) {
            // Its attempt was never on record; with its driver gone it ends by itself as soon as it wakes.
            wake(late);
        }
        until(point, || state(late).is_none());
        fs::write(place.tree().join("answer"), "").unwrap();
        let own = claimed.text("/own_id").to_owned();
        place.call_with("agent:b", &["todo", "done", "g.1", "--own", &own], &LATER).ok();
        let settled = place.turns().iter().filter(|turn| turn["state"] == "settled").count();
        assert_eq!(settled, 1, "{point}");
        assert!(place.runs() <= 1 && place.survivors().is_empty(), "{point}");
    }
}

#[test]
fn v04_a_validator_killed_at_its_work_is_asked_again_and_the_result_is_not_lost() {
    let place = Place::new("if [ ! -e ../asked ]; then touch ../asked; kill -9 $$; fi; test -f answer");
    place.host("touch answer");
    let lost = place.call("user:ana", &place.run("op"));
    assert_eq!((lost.exit, lost.code()), (Some(5), "turn_unresolved"), "{}", lost.json);
    let turn_id = place.turn_id();
    place.call("user:ana", &["turn", "recover", &turn_id, "--resume"]).ok();
    assert_eq!(place.runs(), 1);
    over(&place, "a killed validator");
}

/// Where the guardians of a place keep what hosts say, as the host itself finds it.
const SPOOL: &str = r#""$LOOPX_HOME/profiles/default/spool""#;

#[test]
fn a_host_that_takes_its_spool_away_keeps_its_result() {
    let place = ready(&format!("rm -rf {SPOOL}; touch answer"));
    place.call("user:ana", &place.run("op")).ok();
    assert_eq!(place.runs(), 1);
    over(&place, "a spool that was taken away");
}

#[test]
fn a_spool_that_leads_elsewhere_is_not_written_through() {
    let place = ready(&format!(
        "mkdir ../victim; at=$(echo {SPOOL}/*); rm -r \"$at\"; ln -s \"$PWD/../victim\" \"$at\"; touch answer"
    ));
    place.call("user:ana", &place.run("op"));
    assert_eq!(fs::read_dir(place.root().join("victim")).unwrap().count(), 0);
    assert_eq!(place.runs(), 1);
    assert!(place.survivors().is_empty());
}

#[test]
fn that_there_is_no_spool_proves_nothing_once_a_host_was_let_go() {
    for driver_dies in [false, true] {
        let place = Place::new("test -f answer").with_git();
        place.host(&format!(
            "touch half ../began; {}rm -rf {SPOOL}/*; kill -9 $PPID; sleep 60",
            if driver_dies { "until [ -e ../go ]; do sleep 0.02; done; " } else { "" }
        ));
        let run = place.start("user:ana", &place.run("op"), &[]);
        if driver_dies {
            until("the host began", || place.root().join("began").exists());
            let pid = guardian(&place).unwrap();
            end(run);
            fs::write(place.root().join("go"), "").unwrap();
            until("its guardian is gone", || state(pid).is_none());
            let lost = place.call("user:ana", &place.run("op"));
            assert_eq!((lost.exit, lost.code()), (Some(5), "turn_unresolved"), "{}", lost.json);
        } else {
            let lost = answer(&run.wait_with_output().unwrap());
            assert_eq!((lost.exit, lost.code()), (Some(5), "turn_unresolved"), "{}", lost.json);
        }
        assert_eq!(place.runs(), 1, "driver dies {driver_dies}");
        assert!(place.survivors().is_empty());
    }
}

#[test]
fn without_a_control_group_a_killed_guardian_is_no_proof_that_its_tree_is_empty() {
    let place = Place::new("test -f answer").with_git();
    place.host("kill -9 $PPID; sleep 60");
    let plain = place.command("user:ana", &place.run("op"), &[]);
    #[expect(clippy::disallowed_methods, reason = "a test starts the binary where no group can be made")]
    let mut apart = std::process::Command::new("unshare");
    let script = "umount -R -l /sys/fs/cgroup 2>/dev/null; exec \"$@\"";
    apart.args(["--mount", "sh", "-c", script, "sh"]).arg(plain.get_program()).args(plain.get_args());
    apart.env_clear().current_dir(place.tree()).stdin(std::process::Stdio::null());
    apart.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let lost = answer(&apart.output().unwrap());
    assert_eq!((lost.exit, lost.code()), (Some(5), "turn_unresolved"), "{}", lost.json);
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
    assert_eq!(shown.text("/turn/attempts/0/guarantee"), "sub_reaper", "{}", shown.json);
    assert_eq!(place.runs(), 1, "nothing was tried again beside what may live");
}
