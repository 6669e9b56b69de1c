//! What a child of these tests does.

use std::io::BufRead as _;

use super::*;
use crate::{
    authority::{
        clock::{self, Clock as _},
        doorbell::{Doorbell, Waited, Waiter},
        profile::{Env, NewProfile, Place, Profile, filesystem::HostFilesystem},
    },
    private::{Body, Kind, PrivateStore},
};

/// The entry of a child. Run as an ordinary test it has no role, and shows that none is left in the
/// environment by another test.
#[test]
fn child() {
    let Some(role) = variable("LOOPX_TEST_ROLE") else {
        assert_eq!(variable("LOOPX_TEST_AT"), None);
        return;
    };
    let at = PathBuf::from(variable("LOOPX_TEST_AT").unwrap());
    let done = match role.as_str() {
        "create" => Writer::open_or_create(&at, &SCHEMA).map(drop),
        "write" => write_once(&at, "child", 10),
        "write 200" => write_many(&at, 200, 100),
        "write 400 long" => write_many(&at, 400, 3000),
        "hold" => hold(&at),
        "read" => count(&at).map(|n| println!("@{n}")),
        "profile" => profile(&at).map(drop),
        "clock" => clock::SystemClock::new().read().map(|now| println!("@{now:?}")),
        "ring" => ring(&at),
        "wait" => wait(&at),
        "submit" => ledger::submit_once(&at),
        "migrate" => ledger::migrate(&at),
        "restore" | "restore anew" => ledger::restore(&at),
        "body" => PrivateStore::at(&at).put_all(&[body()]),
        other => ledger::role(other, &at),
    };
    match done {
        Ok(()) => println!("@ok"),
        Err(e) => println!("@{}", e.code()),
    }
}

pub(super) fn body() -> Body {
    Body {
        kind: Kind::Result,
        id: "r1".into(),
        owner_turn: None,
        created_at_ms: 1,
        bytes: b"the body".to_vec(),
    }
}

/// Waits for the parent's word; none comes any more when the parent hangs up.
pub(super) fn told() -> bool {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).unwrap() > 0
}

fn write_many(db: &Path, times: u32, pad: u32) -> Result<()> {
    let mut writer = Writer::open(db, &SCHEMA)?;
    println!("@ready");
    told();
    let who = std::process::id().to_string();
    let mut longest = std::time::Duration::ZERO;
    for _ in 0..times {
        let begun = clock::monotonic();
        write(&mut writer, &who, pad)?;
        longest = longest.max(clock::monotonic().saturating_duration_since(begun));
    }
    println!("@{}", longest.as_millis());
    Ok(())
}

fn hold(db: &Path) -> Result<()> {
    let mut writer = Writer::open(db, &SCHEMA)?;
    let tx = writer.begin_immediate()?;
    insert(&tx, "holder", 10)?;
    println!("@held");
    told();
    tx.commit()
}

/// The environment as a process has it, but for the home that the test gave.
pub(super) fn env(home: &Path) -> Env {
    Env {
        loopx_home: Some(home.to_owned()),
        xdg_runtime_dir: variable("XDG_RUNTIME_DIR").map(PathBuf::from),
        ..Env::default()
    }
}

pub(super) fn profile(home: &Path) -> Result<Profile> {
    let env = env(home);
    let new = NewProfile { profile_id: format!("prf_{:022}", std::process::id()), created_at_ms: 1 };
    let place = Place::resolve(&env)?;
    let (profile, _) = Profile::open_or_create(&place, &env, &HostFilesystem, &new)?;
    Ok(profile)
}

fn ring(home: &Path) -> Result<()> {
    let profile = profile(home)?;
    println!("@{}", profile.run_dir()?.display());
    let mut bell = Doorbell::new(&profile, &env(home));
    told();
    assert!(bell.ring());
    Ok(())
}

/// Says the time of each change it sees, until the parent hangs up or says nothing for long.
fn wait(home: &Path) -> Result<()> {
    let profile = profile(home)?;
    let mut reader = Reader::open(&profile.place().authority_db(), &SCHEMA)?;
    let mut seen = reader.data_version()?;
    let mut waiter = Waiter::new(&profile);
    println!("@ready");
    loop {
        let waited = waiter.wait(std::time::Duration::from_secs(10), || {
            let now = reader.data_version()?;
            Ok(std::mem::replace(&mut seen, now) != now)
        })?;
        if waited == Waited::TimedOut {
            return Ok(());
        }
        println!("@{}", now_us());
    }
}

/// A clock that all processes share.
pub(super) fn now_us() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1000
}
