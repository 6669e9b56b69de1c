//! Tests of the bell within one process; those across processes are in `process_tests`.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::*;
use crate::authority::profile::{NewProfile, Place, filesystem::HostFilesystem};

struct Room {
    home: tempfile::TempDir,
    env: Env,
    profile: Profile,
}

/// A profile whose run folder lies below `base`.
fn room(base: &Path) -> Room {
    let home = tempfile::tempdir_in(base).unwrap();
    let env = Env {
        loopx_home: Some(home.path().join("h")),
        xdg_runtime_dir: Some(home.path().to_owned()),
        ..Env::default()
    };
    let new = NewProfile { profile_id: "prf_0123456789".into(), created_at_ms: 0 };
    let place = Place::resolve(&env).unwrap();
    let (profile, _) = Profile::open_or_create(&place, &env, &HostFilesystem, &new).unwrap();
    Room { home, env, profile }
}

/// Waits in a thread for `flag`, lets `act` set it and ring, and says how long the waiter took after that.
fn woken_by(room: &Room, before: impl Fn(&Room)) -> Duration {
    let flag = AtomicBool::new(false);
    let asked = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut waiter = Waiter::new(&room.profile);
            let waited = waiter.wait(Duration::from_secs(20), || {
                asked.store(true, Ordering::SeqCst);
                Ok(flag.load(Ordering::SeqCst))
            });
            (waited.unwrap(), crate::authority::clock::monotonic())
        });
        while !asked.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        before(room);
        let mut bell = Doorbell::new(&room.profile, &room.env);
        flag.store(true, Ordering::SeqCst);
        let rung = crate::authority::clock::monotonic();
        assert!(bell.ring());
        let (waited, woken) = waiting.join().unwrap();
        assert_eq!(waited, Waited::Changed);
        woken.saturating_duration_since(rung)
    })
}

/// On disk and in memory, where the machine has both.
fn bases() -> Vec<PathBuf> {
    ["/tmp", "/dev/shm"].iter().map(PathBuf::from).filter(|base| base.is_dir()).collect()
}

#[test]
fn a_ring_wakes_a_waiter_long_before_the_safety_poll() {
    for base in bases() {
        let took = woken_by(&room(&base), |_| {});
        assert!(took < SAFETY_POLL / 2, "{}: {took:?}", base.display());
    }
}

#[test]
fn a_bell_that_is_gone_is_made_again_by_who_waits() {
    for base in bases() {
        let room = room(&base);
        let run_dir = room.profile.run_dir().unwrap();
        let path = bell_path(&run_dir);
        // The waiter may make the folder again while it is taken away, so it gets another name first.
        let remove = |gone: &Path| {
            let aside = base.join(format!("{}-aside", room.home.path().file_name().unwrap().display()));
            fs::rename(gone, &aside).unwrap();
            if aside.is_dir() { fs::remove_dir_all(aside) } else { fs::remove_file(aside) }.unwrap();
            let deadline = Deadline::after(SAFETY_POLL * 2);
            while !path.exists() {
                assert!(!deadline.left().is_zero(), "nobody made the bell again");
                thread::yield_now();
            }
        };
        for gone in [path.as_path(), &run_dir, run_dir.parent().unwrap()] {
            let took = woken_by(&room, |_| remove(gone));
            assert!(took < SAFETY_POLL / 2, "{}: {took:?}", gone.display());
        }
    }
}

#[test]
fn a_writer_s_old_hand_finds_the_new_bell() {
    for base in bases() {
        let room = room(&base);
        let path = bell_path(&room.profile.run_dir().unwrap());
        let mut bell = Doorbell::new(&room.profile, &room.env);
        assert!(bell.ring());
        fs::remove_file(&path).unwrap();
        assert!(bell.ring());
        assert!(path.is_file());
        assert!(bell.is_current(bell.held.as_ref().unwrap()));
    }
}

#[test]
fn a_wait_ends_at_its_deadline_and_asks_at_least_once() {
    let room = room(Path::new("/tmp"));
    let mut asked = 0;
    let mut waiter = Waiter::new(&room.profile);
    let mut ask = || {
        asked += 1;
        Ok(false)
    };
    assert_eq!(waiter.wait(Duration::ZERO, &mut ask).unwrap(), Waited::TimedOut);
    assert_eq!(waiter.wait(Duration::from_millis(150), &mut ask).unwrap(), Waited::TimedOut);
    assert!((2..=4).contains(&asked), "busy polling: {asked} questions");
    assert_eq!(
        waiter.wait(Duration::ZERO, || Err(Code::StoreBusy.into())).unwrap_err().code(),
        Code::StoreBusy
    );
}

#[test]
fn a_commit_without_a_ring_is_seen_by_the_safety_poll() {
    let room = room(Path::new("/tmp"));
    let mut asked = 0;
    let mut waiter = Waiter::new(&room.profile);
    let waited = waiter.wait(Duration::from_secs(10), || {
        asked += 1;
        Ok(asked == 2)
    });
    assert_eq!(waited.unwrap(), Waited::Changed);
}
