//! Owns the tests that no door reads, writes or waits at the ledger of another authority.

use std::{fs, path::Path, time::Duration};

use super::{
    Asked, Authority,
    profile::{Env, HostFilesystem, NewProfile, Place, Profile},
};
use crate::{
    error::{Code, Result},
    kernel::{Command, GoalCommand, NewGoal},
    model::{Assurance, Door, Expected, Operation, Provenance},
};

type Try<'t> = &'t dyn Fn(&mut Authority) -> Result<()>;

fn profile(home: &Path) -> (Env, Profile) {
    let env = Env { loopx_home: Some(home.to_owned()), ..Env::default() };
    let place = Place::resolve(&env).unwrap();
    let new = NewProfile { profile_id: "prf_x".into(), created_at_ms: 1 };
    let (profile, _) = Profile::open_or_create(&place, &env, &HostFilesystem, &new).unwrap();
    (env, profile)
}

fn asked() -> Asked {
    let provenance = Provenance { door: Door::Library, assurance: Assurance::Proven, contained: None };
    Asked { operation_id: "clock".parse().unwrap(), actor: "user:ana".parse().unwrap(), provenance }
}

fn start() -> Operation<Command> {
    let new = NewGoal::wanting("it".parse().unwrap());
    Operation {
        operation_id: "start".parse().unwrap(),
        actor: "user:ana".parse().unwrap(),
        provenance: Provenance { door: Door::Library, assurance: Assurance::Stated, contained: None },
        goal_id: "it".parse().unwrap(),
        command: Command::Goal(GoalCommand::Start(Box::new(new))),
        expected: Expected::default(),
    }
}

#[test]
fn fault_g05_no_door_takes_the_ledger_of_another_authority() {
    let dir = tempfile::tempdir().unwrap();
    // given two profiles, each founded and with the same operation in its ledger
    let made = ["a", "b"].map(|name| {
        let (env, profile) = profile(&dir.path().join(name));
        let mut authority = Authority::create(&profile, &env).unwrap();
        authority.submit(start()).unwrap();
        (env, profile)
    });
    let [(env, profile), (_, theirs)] = made;
    // when the ledger of one lies in the place of the other's
    let _ = fs::remove_file(profile.place().dir().join("authority.db-shm"));
    for name in ["authority.db", "authority.db-wal"] {
        fs::copy(theirs.place().dir().join(name), profile.place().dir().join(name)).unwrap();
    }
    // the note of the authority is in the file by now
    let place = Place::resolve(&env).unwrap();
    let profile = Profile::open(&place, &env, &HostFilesystem).unwrap();
    // then each door refuses it by itself, the replay of what that ledger knows too
    let doors: [(&str, Try<'_>); 8] = [
        ("read", &|authority| authority.read(|view| view.meta()).map(drop)),
        ("read_first", &|authority| authority.read_first(|view| view.meta()).map(drop)),
        ("look", &|authority| authority.look(|_, _| Ok(())).map(drop)),
        ("receipt", &|authority| authority.receipt(&"start".parse().unwrap()).map(drop)),
        ("present", &|authority| authority.present().map(drop)),
        ("wait", &|authority| authority.wait(Duration::ZERO, |_| Ok(true)).map(drop)),
        ("accept_clock", &|authority| authority.accept_clock(&asked()).map(drop)),
        ("submit", &|authority| authority.submit(start()).map(drop)),
    ];
    for (name, door) in doors {
        let mut authority = Authority::open(&profile, &env).unwrap();
        let refused = door(&mut authority).unwrap_err();
        assert_eq!(refused.code(), Code::OrphanedGoalState, "{name}");
    }
}
