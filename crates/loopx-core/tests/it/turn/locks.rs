//! The folder of locks taken away while a Turn is driven: nobody acts beside who holds one, whatever became of its name.

use std::{fs, path::PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    guardians::{end, guardian, is_stopped, over, ready, state},
    place::{Place, answer, until, until_let_go},
};

fn locks(place: &Place) -> PathBuf {
    place.root().join("home/profiles/default/locks")
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
    fs::remove_dir_all(locks(&place)).unwrap();
    let refused = place.call("user:ana", &["turn", "recover", &turn_id, "--prove"]);
    assert_eq!((refused.exit, refused.code()), (Some(4), "executor_active"), "{}", refused.json);
    let again = place.start("user:ana", &["turn", "recover", &turn_id, "--resume"], &[]);
    kill_process(guardian, Signal::CONT).unwrap();
    until("the guardian has its lock again", || super::guardians::guardian(&place) == Some(guardian));
    fs::write(place.root().join("go"), "").unwrap();
    answer(&again.wait_with_output().unwrap()).ok();
    assert_eq!((place.runs(), state(guardian)), (1, None));
    over(&place, "a guardian's lock taken away");
}
