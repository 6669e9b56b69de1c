//! The process below which validators run: one for all of an examination, and what follows when it dies.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::{
    guardians::{is_stopped, kill, over, state},
    place::{Place, answer, until},
};

/// A Goal with two validators that note below what they run, each beside `check`.
fn noting(check: &str) -> Place {
    let place = Place::with(
        &format!("{check}\necho $PPID >> ../parents"),
        &["--validator", "sh check.sh", "--validator", "sh check.sh"],
    );
    place.host("touch answer; echo $PPID >> ../parents");
    place
}

/// Below what each of them ran, in their order.
fn parents(place: &Place) -> Vec<Pid> {
    let noted = fs::read_to_string(place.root().join("parents")).unwrap_or_default();
    noted.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
}

#[test]
fn the_guardian_of_a_host_keeps_the_validators_of_its_turn() {
    let place = noting("");
    place.call("user:ana", &place.run("op")).ok();
    let parents = parents(&place);
    assert!(parents.len() == 3 && parents.iter().all(|pid| *pid == parents[0]), "{parents:?}");
    over(&place, "settled");
}

#[test]
fn one_keeper_serves_all_validators_of_an_attached_result() {
    let place = noting("");
    let own = place.own("agent:a");
    place.call("agent:a", &["todo", "done", "g.1", "--own", &own]).ok();
    let parents = parents(&place);
    assert!(parents.len() == 2 && parents[0] == parents[1], "{parents:?}");
    until("it is gone", || state(parents[0]).is_none());
}

#[test]
fn a_keeper_that_dies_before_it_took_a_validator_is_replaced() {
    for is_stopped_first in [false, true] {
        let place = noting("");
        let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", "turn.candidate=stop")]);
        let driver = Pid::from_child(&run);
        until("the driver stopped before it validates", || is_stopped(driver));
        let guardian = parents(&place)[0];
        if is_stopped_first {
            kill_process(guardian, Signal::STOP).unwrap();
            until("its guardian takes nothing any more", || is_stopped(guardian));
            kill_process(driver, Signal::CONT).unwrap();
            until("its driver has asked it, and waits", || state(driver) == Some('S'));
            kill(guardian);
        } else {
            kill(guardian);
            until("its guardian is gone", || state(guardian).is_none());
            kill_process(driver, Signal::CONT).unwrap();
        }
        let done = answer(&run.wait_with_output().unwrap());
        assert_eq!(done.exit, Some(0), "{}", done.json);
        let parents = parents(&place);
        assert!(parents.len() == 3 && parents[1] == parents[2] && parents[1] != guardian, "{parents:?}");
        over(&place, "replaced");
    }
}

#[test]
fn a_keeper_that_is_stopped_ends_with_its_driver() {
    let place = noting("touch ../checked; sleep 600");
    let mut run = place.start("user:ana", &place.run("op"), &[]);
    until("a validator runs", || place.root().join("checked").exists());
    let keeper = parents(&place)[0];
    kill_process(keeper, Signal::STOP).unwrap();
    until("its keeper is stopped", || is_stopped(keeper));
    run.kill().unwrap();
    run.wait().unwrap();
    until("it ends all the same, with what it kept", || {
        state(keeper).is_none() && place.survivors().is_empty()
    });
}

#[test]
fn a_validator_that_kills_its_keeper_says_nothing_and_is_run_again_on_request() {
    for host in [true, false] {
        let place = noting("if ! [ -e ../once ]; then touch ../once; kill -9 $PPID; sleep 600; fi");
        let first = if host {
            place.call("user:ana", &place.run("op"))
        } else {
            let own = place.own("agent:a");
            place.call("agent:a", &["todo", "done", "g.1", "--own", &own])
        };
        assert_eq!((first.exit, first.code()), (Some(5), "turn_unresolved"), "{}", first.json);
        until("nothing of the first is left", || place.survivors().is_empty());
        let turn_id = place.turn_id();
        place.call("user:ana", &["turn", "recover", &turn_id, "--resume"]).ok();
        over(&place, "run again");
    }
}
