//! Two machines, two endpoints, two drivers: at most one acts.
//!
//! The second machine is a home of its own with another machine's name, locks, private store and work trees, over the
//! same ledger.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    guardians::{state, stopped_guardians},
    midrun::{Working, hint, recover, told},
    place::{Answer, Place, answer, until},
};

/// Past the end of an attempt of 30 minutes and its grace, and before the end of an ownership of 45.
const AFTER_DEADLINE: &str = "boot=1862000,wall=1862000";
/// Before that.
const BEFORE_DEADLINE: &str = "boot=1858000,wall=1858000";
/// Past the end of the ownership too.
const AFTER_EXPIRY: &str = "boot=2762000,wall=2762000";

/// Another machine that shares the ledger of a place.
struct Other<'p> {
    place: &'p Place,
    home: PathBuf,
}

impl<'p> Other<'p> {
    fn beside(place: &'p Place) -> Self {
        let home = place.root().join("other");
        let (mine, theirs) = (place.root().join("home/profiles/default"), home.join("profiles/default"));
        fs::create_dir_all(&theirs).unwrap();
        for name in ["tokens.json", "user.token"] {
            fs::copy(mine.join(name), theirs.join(name)).unwrap();
        }
        let record = fs::read_to_string(mine.join("profile.json")).unwrap();
        let mut record: serde_json::Value = serde_json::from_str(&record).unwrap();
        record["machine_seed"] = "5eed".repeat(8).into();
        fs::write(theirs.join("profile.json"), record.to_string()).unwrap();
        symlink(mine.join("authority.db"), theirs.join("authority.db")).unwrap();
        Self { place, home }
    }

    fn call(&self, actor: &str, words: &[&str]) -> Answer {
        self.later(actor, words, "")
    }

    /// A call at another time.
    fn later(&self, actor: &str, words: &[&str], clock: &str) -> Answer {
        let mut env = vec![("LOOPX_HOME", self.home.to_str().unwrap())];
        if !clock.is_empty() {
            env.push(("LOOPX_FAILPOINT_CLOCK", clock));
        }
        self.place.call_with(actor, words, &env)
    }
}

/// A Turn whose driver on the first machine was killed; its host lives on.
fn orphaned() -> (Place, String) {
    let mut work = Working::at(Place::new("exit 0"));
    work.run.kill().unwrap();
    work.run.wait().unwrap();
    let turn_id = work.turn_id.clone();
    (work.into_place(), turn_id)
}

#[test]
fn another_machine_recovers_nothing_and_is_told_until_when() {
    let (place, turn_id) = orphaned();
    let other = Other::beside(&place);
    let head = place.head();
    for words in [
        &["turn", "recover", &turn_id, "--prove"][..],
        &["turn", "recover", &turn_id, "--resume"],
        &["turn", "abandon", &turn_id, "--reason", "no"],
    ] {
        for clock in ["", BEFORE_DEADLINE] {
            let refused = other.later("proven:ana", words, clock);
            assert_eq!(
                (refused.exit, refused.code()),
                (Some(4), "executor_active"),
                "{words:?} {}",
                refused.json
            );
            let until = refused.json.pointer("/error/details/until_ms").and_then(serde_json::Value::as_u64);
            let shown = place.call("user:ana", &["turn", "show", &turn_id]).ok();
            let deadline = shown.json.pointer("/turn/attempts/0/deadline_at_ms").unwrap().as_u64();
            assert_eq!(until, deadline.map(|at| at + 60_000), "{words:?}");
        }
    }
    assert_eq!(
        other.call("user:ana", &["turn", "recover", "--prove"]).ok().json["items"],
        serde_json::json!([])
    );
    let refused = other.later("agent:b", &["todo", "claim", "g.1"], BEFORE_DEADLINE);
    assert_eq!((refused.exit, refused.code()), (Some(4), "already_claimed"), "{}", refused.json);
    assert_eq!(place.head(), head, "it wrote nothing");
    assert!(!place.survivors().is_empty(), "it ended nothing");
    // On the machine of the attempt the tree is ended first, at once.
    place.call("proven:ana", &["turn", "abandon", &turn_id, "--reason", "no"]).ok();
    assert!(place.survivors().is_empty());
    assert_eq!(place.turns()[0]["state"], "stopped");
    other.call("agent:b", &["todo", "claim", "g.1"]).ok();
}

#[test]
fn a_guardian_that_wakes_after_its_attempt_was_given_up_elsewhere_starts_nothing() {
    let place = Place::new("test -f answer");
    place.host("touch answer");
    let mut run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", "guard.go=stop")]);
    until("the guardian is stopped", || !stopped_guardians(&place).is_empty());
    run.kill().unwrap();
    run.wait().unwrap();
    let turn_id = place.turn_id();
    let other = Other::beside(&place);
    let give_up = ["turn", "abandon", &turn_id, "--reason", "it burnt"];
    other.later("proven:ana", &give_up, AFTER_DEADLINE).ok();
    let guardian = stopped_guardians(&place)[0];
    kill_process(guardian, Signal::CONT).unwrap();
    until("it has ended", || state(guardian).is_none());
    assert_eq!(place.runs(), 0);
    assert!(place.survivors().is_empty());
}

#[test]
fn past_the_deadline_another_machine_may_give_it_up_and_the_first_writes_nothing_more() {
    let (place, turn_id) = orphaned();
    let other = Other::beside(&place);
    let given_up = other
        .later("proven:ana", &["turn", "abandon", &turn_id, "--reason", "it burnt"], AFTER_DEADLINE)
        .ok();
    assert_eq!(given_up.text("/turn/state"), "stopped");
    let claimed = other.later("agent:b", &["todo", "claim", "g.1"], AFTER_DEADLINE).ok();
    late_first_machine(&place, &turn_id, AFTER_DEADLINE);
    let own = claimed.text("/own_id").to_owned();
    let done = other.later("agent:b", &["todo", "done", "g.1", "--own", &own], AFTER_DEADLINE).ok();
    assert_eq!(done.text("/turn/state"), "settled");
    assert_eq!(place.events("turn.ended").len(), 2);
}

#[test]
fn past_the_expiry_another_machine_takes_it_over_and_the_first_writes_nothing_more() {
    let (place, turn_id) = orphaned();
    let other = Other::beside(&place);
    let claimed = other.later("agent:b", &["todo", "claim", "g.1"], AFTER_EXPIRY).ok();
    let own = claimed.text("/own_id").to_owned();
    let turns = place.turns();
    assert_eq!((turns.len(), &turns[1]["state"]), (2, &"fenced".into()));
    let shown = place.call("user:ana", &["turn", "show", claimed.text("/turn_id")]).ok();
    assert_eq!(shown.json["turn"]["epoch"], 2);
    late_first_machine(&place, &turn_id, AFTER_EXPIRY);
    other.later("agent:b", &["todo", "done", "g.1", "--own", &own], AFTER_EXPIRY).ok();
    assert_eq!(place.events("turn.ended").len(), 2, "one fenced, one settled");
}

/// The host of the first machine ends; nothing that this machine does then counts, or writes.
fn late_first_machine(place: &Place, turn_id: &str, clock: &str) {
    let head = place.head();
    fs::write(place.root().join("go"), "").unwrap();
    for words in [&["turn", "recover", turn_id, "--resume"][..], &["turn", "recover", turn_id, "--prove"]] {
        let refused = place.call_with("user:ana", words, &[("LOOPX_FAILPOINT_CLOCK", clock)]);
        assert_eq!((refused.exit, refused.code()), (Some(4), "invalid_transition"), "{}", refused.json);
    }
    let again = place.call_with("user:ana", &place.run("r1"), &[("LOOPX_FAILPOINT_CLOCK", clock)]);
    assert_ne!(again.text("/turn/state"), "settled", "{}", again.json);
    assert_eq!(place.head(), head, "the late machine wrote");
    assert_eq!(place.runs(), 1);
}

#[test]
fn a_driver_that_was_stopped_wakes_after_a_takeover_elsewhere_and_writes_nothing() {
    let place = Place::new("exit 0");
    place.host("true");
    let run = place.start("user:ana", &place.run("r1"), &[("LOOPX_FAILPOINT", "turn.spooled=stop")]);
    let pid = Pid::from_child(&run);
    until("the driver is stopped", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    });
    // Here its lock is held, however late it is; elsewhere nobody sees that.
    let here = [("LOOPX_FAILPOINT_CLOCK", AFTER_DEADLINE)];
    let turn_id = place.turn_id();
    let refused = place.call_with("proven:ana", &["turn", "abandon", &turn_id, "--reason", "no"], &here);
    assert_eq!((refused.exit, refused.code()), (Some(4), "executor_active"), "{}", refused.json);
    let (here, head) = ([("LOOPX_FAILPOINT_CLOCK", AFTER_EXPIRY)], place.head());
    for (actor, words) in [
        ("agent:b", &["todo", "claim", "g.1"][..]),
        ("proven:ana", &["todo", "release", "g.1", "--force", "--reason", "no"]),
        ("proven:ana", &["todo", "transfer", "g.1", "--to", "b"]),
        ("proven:ana", &["todo", "cancel", "g.1", "--reason", "no"]),
        ("proven:ana", &["todo", "block", "g.1", "--reason", "no"]),
        ("proven:ana", &["todo", "done", "g.1", "--waive", "no"]),
    ] {
        let refused = place.call_with(actor, words, &here);
        assert_eq!(
            (refused.exit, refused.code()),
            (Some(4), "executor_active"),
            "{words:?} {}",
            refused.json
        );
        assert_eq!((hint(&refused), place.head()), (format!("turn stop {turn_id}"), head), "{words:?}");
    }
    let other = Other::beside(&place);
    let claimed = other.later("agent:b", &["todo", "claim", "g.1"], AFTER_EXPIRY).ok();
    let head = place.head();
    kill_process(pid, Signal::CONT).unwrap();
    let woken = answer(&run.wait_with_output().unwrap());
    assert_eq!((woken.exit, woken.code()), (Some(4), "ownership_superseded"), "{}", woken.json);
    assert_eq!(place.head(), head);
    let own = claimed.text("/own_id");
    other.later("agent:b", &["todo", "done", "g.1", "--own", own], AFTER_EXPIRY).ok();
}

#[test]
fn a_held_result_is_settled_on_the_machine_of_its_tree_and_may_be_given_up_on_any() {
    for gives_up in [false, true] {
        let work = Working::at(Place::new("exit 0").with_git());
        work.place.call("user:ana", &["todo", "hold", "g.1"]).ok();
        let (place, held) = work.over();
        assert_eq!(told(&held), (Some(6), "held", vec!["hold"]));
        let (other, turn_id) = (Other::beside(&place), place.turn_id());
        if gives_up {
            other.call("proven:ana", &["turn", "abandon", &turn_id, "--reason", "no"]).ok();
            assert_eq!(place.turns()[0]["state"], "stopped");
            continue;
        }
        // The write that frees it is accepted anywhere; the proof is made where the tree is.
        other.call("user:ana", &["todo", "unhold", "g.1"]).ok();
        assert_eq!(place.turns()[0]["state"], "held");
        let refused = other.call("user:ana", &["turn", "recover", &turn_id, "--prove"]);
        assert_eq!((refused.exit, refused.code()), (Some(4), "executor_active"), "{}", refused.json);
        let status = place.call("user:ana", &["status"]).ok();
        assert_eq!(status.text("/goals/0/first/command"), format!("turn recover {turn_id} --prove"));
        place.call("user:ana", &["turn", "recover", "--prove"]).ok();
        assert_eq!(place.turns()[0]["state"], "settled");
        assert_eq!(place.events("turn.ended").len(), 1);
    }
}

#[test]
fn of_two_endpoints_of_one_agent_one_acts() {
    let place = Place::new("exit 0");
    place.call("user:ana", &["todo", "add", "another"]).ok();
    let claims: Vec<_> = ["one", "two"]
        .iter()
        .zip(["g.1", "g.2"])
        .map(|(endpoint, todo)| place.start(&format!("agent:a@{endpoint}"), &["todo", "claim", todo], &[]))
        .collect();
    let answers: Vec<_> =
        claims.into_iter().map(|child| answer(&child.wait_with_output().unwrap())).collect();
    let (won, lost): (Vec<_>, Vec<_>) = ["one", "two"]
        .iter()
        .zip(["g.1", "g.2"])
        .zip(&answers)
        .partition(|(_, answer)| answer.exit == Some(0));
    assert_eq!((won.len(), lost.len()), (1, 1), "{answers:?}");
    assert_eq!((lost[0].1.exit, lost[0].1.code()), (Some(4), "executor_active"));
    // Neither does the other end what the first has begun, though it knows the token.
    let ((winner, todo), owned) = &won[0];
    let ((loser, _), _) = &lost[0];
    let own = owned.text("/own_id");
    let head = place.head();
    for words in [vec!["todo", "done", todo, "--own", own], vec!["todo", "renew", todo, "--own", own]] {
        let refused = place.call(&format!("agent:a@{loser}"), &words);
        assert_eq!((refused.exit, refused.code()), (Some(4), "ownership_superseded"), "{words:?}");
    }
    assert_eq!(place.head(), head);
    place.call(&format!("agent:a@{winner}"), &["todo", "done", todo, "--own", own]).ok();
}

#[test]
fn fault_h02_of_many_drivers_of_one_turn_one_acts_and_it_settles_once() {
    for _ in 0..4 {
        let mut work = Working::at(Place::new("echo . >> ../proved"));
        work.run.kill().unwrap();
        work.run.wait().unwrap();
        let turn_id = work.turn_id.clone();
        let place = work.into_place();
        fs::write(place.root().join("go"), "").unwrap();
        let resume = ["turn", "recover", turn_id.as_str(), "--resume"];
        let prove = ["turn", "recover", turn_id.as_str(), "--prove"];
        let run = place.run("r1");
        let children: Vec<_> = [&resume[..], &run, &resume, &prove, &run]
            .iter()
            .map(|words| place.start("user:ana", words, &[]))
            .collect();
        for child in children {
            let one = answer(&child.wait_with_output().unwrap());
            let waits = ["executor_active", "invalid_transition", "turn_running"].contains(&one.code());
            assert!(one.exit == Some(0) || one.exit == Some(4) && waits, "{}", one.json);
        }
        let again = place.call("user:ana", &run).ok();
        assert_eq!(again.text("/turn/state"), "settled");
        // The host goes on under its guardian, so nobody starts another.
        assert_eq!((place.runs(), place.turns().len(), place.events("turn.ended").len()), (1, 1, 1));
        assert_eq!(fs::read_to_string(place.root().join("proved")).unwrap().lines().count(), 1);
        assert!(place.survivors().is_empty());
    }
}

#[test]
fn regress_two_proofs_of_one_attached_result_do_not_end_each_others_validators() {
    let place = Place::new("echo . >> ../began; while [ ! -f ../go ]; do sleep 0.02; done");
    let own = place.own("agent:a");
    let done = place.start("agent:a", &["todo", "done", "g.1", "--own", &own, "--op-id", "d"], &[]);
    until("the validator runs", || place.root().join("began").exists());
    let turn_id = place.turn_id();
    for (actor, words) in [
        ("user:ana", vec!["turn", "recover", &turn_id, "--resume"]),
        ("agent:a", vec!["todo", "done", "g.1", "--own", &own]),
        ("agent:a", vec!["todo", "done", "g.1", "--own", &own, "--op-id", "d"]),
        ("proven:ana", vec!["turn", "abandon", &turn_id, "--reason", "no"]),
    ] {
        let refused = place.call(actor, &words);
        assert_eq!(
            (refused.exit, refused.code()),
            (Some(4), "executor_active"),
            "{words:?} {}",
            refused.json
        );
    }
    let status = place.call("user:ana", &["status"]).ok();
    assert!(!status.json.to_string().contains(&recover(&turn_id)), "somebody proves it: {}", status.json);
    fs::write(place.root().join("go"), "").unwrap();
    let ended = answer(&done.wait_with_output().unwrap()).ok();
    assert_eq!(ended.text("/turn/state"), "settled");
    assert_eq!(fs::read_to_string(place.root().join("began")).unwrap().lines().count(), 1);
    assert_eq!(hint(&ended), "");
}
