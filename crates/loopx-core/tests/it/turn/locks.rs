//! The folder of locks taken away while a Turn is driven: nobody acts beside who holds one, whatever became of its name.

use std::{fs, path::PathBuf, process::Child};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    guardians::{end, guardian, is_stopped, over, ready, state},
    place::{Place, answer, until, until_let_go},
    sweeps::Small,
};

fn locks(place: &Place) -> PathBuf {
    place.root().join("home/profiles/default/locks")
}

/// Removes the locks, which whoever holds one may take again at any moment: first they are moved, all at once.
fn take_away(place: &Place) {
    let aside = place.root().join("taken-away");
    fs::rename(locks(place), &aside).unwrap();
    fs::remove_dir_all(aside).unwrap();
}

/// Everybody who could drive the Turn or give it away, each right after the locks were taken away.
fn all_are_refused(place: &Place, turn_id: &str) {
    for words in [
        place.run("op"),
        vec!["turn", "recover", turn_id, "--resume"],
        vec!["turn", "recover", turn_id, "--prove"],
    ] {
        let _ = fs::remove_dir_all(locks(place));
        let refused = place.call("user:ana", &words);
        assert_eq!(
            (refused.exit, refused.code()),
            (Some(4), "executor_active"),
            "{words:?} {}",
            refused.json
        );
    }
    let _ = fs::remove_dir_all(locks(place));
    place.call("user:ana", &["turn", "recover", "--prove"]).ok();
    let refused = place.call("user:ana", &["turn", "recover", turn_id, "--resume"]);
    assert_eq!(refused.code(), "executor_active", "a sweep of all makes no room: {}", refused.json);
    assert!(!place.survivors().is_empty(), "the host works on");
}

#[test]
fn locks_that_are_taken_away_mid_run_let_no_second_driver_act() {
    for stopped in [false, true] {
        let place = ready(&until_let_go("touch answer"));
        let run = place.start("user:ana", &place.run("op"), &[]);
        until("the host began", || place.root().join("began").exists());
        let (driver, turn_id) = (Pid::from_child(&run), place.turn_id());
        if stopped {
            kill_process(driver, Signal::STOP).unwrap();
            until("the driver is stopped", || is_stopped(driver));
        }
        all_are_refused(&place, &turn_id);
        kill_process(driver, Signal::CONT).unwrap();
        let held = |kind: &str| {
            let files = fs::read_dir(locks(&place)).into_iter().flatten().flatten();
            files.map(|file| file.path()).any(|file| {
                file.extension().is_some_and(|one| one == kind)
                    && fs::metadata(&file).is_ok_and(|file| file.len() > 0)
                    && file.to_string_lossy().contains("trn_")
            })
        };
        until("both have taken their locks again", || held("lock") && held("guard"));
        fs::write(place.root().join("go"), "").unwrap();
        answer(&run.wait_with_output().unwrap()).ok();
        assert_eq!(place.runs(), 1, "stopped {stopped}");
        over(&place, "locks taken away");
    }
}

#[test]
fn a_guardian_whose_lock_is_taken_away_is_waited_for_without_its_driver_too() {
    let place = ready(&until_let_go("touch answer"));
    let run = place.start("user:ana", &place.run("op"), &[]);
    until("the host began", || place.root().join("began").exists());
    let (turn_id, guardian) = (place.turn_id(), guardian(&place).unwrap());
    kill_process(guardian, Signal::STOP).unwrap();
    until("its guardian is stopped", || is_stopped(guardian));
    end(run);
    take_away(&place);
    for made_again in [false, true] {
        if made_again {
            fs::write(locks(&place).join(format!("turn-{turn_id}.1.guard")), "").unwrap();
        }
        let refused = place.call("user:ana", &["turn", "recover", &turn_id, "--prove"]);
        assert_eq!((refused.exit, refused.code()), (Some(4), "executor_active"), "{}", refused.json);
    }
    let again = place.start("user:ana", &["turn", "recover", &turn_id, "--resume"], &[]);
    kill_process(guardian, Signal::CONT).unwrap();
    until("the guardian has its lock again", || super::guardians::guardian(&place) == Some(guardian));
    fs::write(place.root().join("go"), "").unwrap();
    answer(&again.wait_with_output().unwrap()).ok();
    assert_eq!((place.runs(), state(guardian)), (1, None));
    over(&place, "a guardian's lock taken away");
}

/// The lock files of Turns.
fn of_turns(place: &Place) -> Vec<PathBuf> {
    let files = fs::read_dir(locks(place)).into_iter().flatten().flatten().map(|file| file.path());
    files
        .filter(|file| file.file_name().is_some_and(|name| name.to_string_lossy().contains("trn_")))
        .collect()
}

/// A driver that is stopped while its host works, and whose locks were taken away.
fn stopped_without_its_lock(place: &Place) -> Child {
    let run = place.start("user:ana", &place.run("op"), &[]);
    until("the host began", || place.root().join("began").exists());
    let driver = Pid::from_child(&run);
    kill_process(driver, Signal::STOP).unwrap();
    until("the driver is stopped", || is_stopped(driver));
    take_away(place);
    run
}

#[test]
fn clearing_up_makes_no_lock() {
    let place = ready(&until_let_go("touch answer"));
    let run = stopped_without_its_lock(&place);
    place.call("user:ana", &["turn", "recover", "--prove"]).ok();
    let made: Vec<_> = of_turns(&place)
        .into_iter()
        .filter(|file| file.extension().is_some_and(|one| one == "lock"))
        .collect();
    assert!(made.is_empty(), "{made:?}");
    kill_process(Pid::from_child(&run), Signal::CONT).unwrap();
    fs::write(place.root().join("go"), "").unwrap();
    answer(&run.wait_with_output().unwrap()).ok();
    over(&place, "cleared up");
}

#[test]
fn a_stopped_driver_whose_lock_is_taken_away_is_not_taken_for_gone() {
    let place = ready("touch ../began; until [ -e ../go ]; do echo >> ../beats; sleep 1; done; touch answer");
    let run = stopped_without_its_lock(&place);
    // Its guardian waits half a minute for a driver that is gone.
    for beats in (3..=33).step_by(3) {
        until("the host works on", || {
            fs::metadata(place.root().join("beats")).is_ok_and(|file| file.len() > beats)
        });
    }
    kill_process(Pid::from_child(&run), Signal::CONT).unwrap();
    fs::write(place.root().join("go"), "").unwrap();
    answer(&run.wait_with_output().unwrap()).ok();
    assert_eq!(place.runs(), 1);
    over(&place, "stopped without its lock's file");
}

/// Takes the locks of Turns away, and all room with them; what fills it.
fn filled(place: &Place) -> Vec<PathBuf> {
    let mut fillers = Vec::new();
    loop {
        for file in of_turns(place) {
            let _ = fs::remove_file(file);
        }
        for number in fillers.len().. {
            let filler = locks(place).join(format!("filler-{number}"));
            if fs::write(&filler, "").is_err() {
                break;
            }
            fillers.push(filler);
        }
        if of_turns(place).is_empty() {
            return fillers;
        }
    }
}

#[test]
fn a_full_disk_where_locks_were_taken_away_costs_no_turn() {
    for is_full_at_the_end in [false, true] {
        let beating =
            "touch ../began; until [ -e ../go ]; do echo >> ../beats; sleep 0.02; done; touch answer";
        let place = ready(beating);
        let Some(small) = Small::with(locks(&place), "nr_inodes=24,mode=0700") else { return };
        let run = place.start("user:ana", &place.run("op"), &[]);
        until("the host began", || place.root().join("began").exists());
        let fillers = filled(&place);
        let beats = || fs::metadata(place.root().join("beats")).map_or(0, |beats| beats.len());
        let first = beats();
        until("driver and guardian have looked for their locks several times", || beats() > first + 120);
        let go = || fs::write(place.root().join("go"), "").unwrap();
        if is_full_at_the_end {
            go();
            until("the host has ended", || place.survivors().is_empty());
        }
        for filler in fillers {
            fs::remove_file(filler).unwrap();
        }
        go();
        let done = answer(&run.wait_with_output().unwrap()).ok();
        assert_eq!(place.runs(), 1, "{}", done.json);
        over(&place, "no room for locks");
        drop(small);
    }
}

#[test]
fn locks_that_are_taken_away_while_an_attached_result_is_proved_let_no_second_proof_begin() {
    for stopped in [false, true] {
        let place = Place::new(&until_let_go("echo >> ../asked"));
        let own = place.own("agent:b");
        let done = ["todo", "done", "g.1", "--own", &own];
        let first = place.start("agent:b", &[&done[..], &["--op-id", "one"]].concat(), &[]);
        until("its validator works", || place.root().join("began").exists());
        let (process, turn_id) = (Pid::from_child(&first), place.turn_id());
        if stopped {
            kill_process(process, Signal::STOP).unwrap();
            until("the proof is stopped", || is_stopped(process));
        }
        for (actor, words) in [
            ("agent:b", [&done[..], &["--op-id", "two"]].concat()),
            ("user:ana", vec!["turn", "recover", &turn_id, "--resume"]),
        ] {
            let _ = fs::remove_dir_all(locks(&place));
            let mut second = place.start(actor, &words, &[]);
            until("it is answered without the first", || second.try_wait().unwrap().is_some());
            let refused = answer(&second.wait_with_output().unwrap());
            assert_eq!(
                (refused.exit, refused.code()),
                (Some(4), "executor_active"),
                "{words:?} {}",
                refused.json
            );
            assert!(!place.survivors().is_empty(), "the validator works on");
        }
        let _ = fs::remove_dir_all(locks(&place));
        place.call("user:ana", &["turn", "recover", "--prove"]).ok();
        kill_process(process, Signal::CONT).unwrap();
        fs::write(place.root().join("go"), "").unwrap();
        answer(&first.wait_with_output().unwrap()).ok();
        assert_eq!(fs::read_to_string(place.root().join("asked")).unwrap().lines().count(), 1);
        assert_eq!(place.turns()[0]["state"], "settled");
        assert!(of_turns(&place).is_empty(), "its lock is gone");
    }
}
