//! Backups that are made while others write, and what a restore leaves: of the ledger, of who had it open, of a kill.

use super::*;
use crate::{
    authority::{
        Asked, Cause, OwnEvent, own_chain,
        sqlite::{LEDGER, beside},
        vault::{self, Wanted},
    },
    error::Error,
    kernel::ClaimCommand,
};

/// Where the backup of a home lies.
fn backup_of(home: &Path) -> PathBuf {
    home.join("backup.db")
}

fn asked(id: &str) -> Asked {
    Asked {
        operation_id: id.parse().unwrap(),
        actor: "user:ana".parse().unwrap(),
        provenance: Provenance { door: Door::Library, assurance: Assurance::Proven, contained: None },
    }
}

fn back_up(home: &Path, to: &Path) -> Result<vault::Backup> {
    let wanted = Wanted { path: Some(to), ..Wanted::default() };
    vault::backup(&roles::profile(home)?, &roles::env(home), wanted, &mut |_| {})
}

fn restore_from(home: &Path, from: &Path, id: &str) -> Result<vault::Restored> {
    let profile = roles::profile(home)?;
    vault::restore(&profile, &roles::env(home), from, &asked(id), &mut || Ok(()), &mut |_| {})
}

/// What a child in the role does.
pub(in super::super) fn restore(home: &Path) -> Result<()> {
    restore_from(home, &backup_of(home), "restore").map(drop)
}

fn ledger_of(home: &Path) -> PathBuf {
    home.join("profiles/default/authority.db")
}

/// A home with three Todos, one of them claimed, and a backup of that; since then one Todo more, and one more claimed.
pub(in super::super) fn with_backup() -> Disk {
    let disk = Disk::empty();
    fill_with_backup(disk.dir.path());
    disk
}

/// Makes such a ledger and its backup in a home.
pub(in super::super) fn fill_with_backup(home: &Path) {
    let mut ledger = founded(home);
    add_agent(&mut ledger, "a");
    add_agent(&mut ledger, "b");
    add_todos(&mut ledger, "todos", 3);
    ledger.submit(claim("claim-1", "agent:a", 1)).unwrap();
    back_up(home, &backup_of(home)).unwrap();
    submit_once(home).unwrap();
    ledger.submit(claim("claim-2", "agent:b", 2)).unwrap();
}

/// The same, with a ledger that cannot be read.
pub(in super::super) fn with_damage() -> Disk {
    let disk = with_backup();
    damage(disk.dir.path());
    disk
}

fn damage(home: &Path) {
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(beside(&ledger_of(home), end));
    }
    fs::write(ledger_of(home), "this was a ledger, and it is longer than the header of one ".repeat(90))
        .unwrap();
}

/// Whether another life has begun.
pub(in super::super) fn is_restored(home: &Path) -> bool {
    let Ok(mut ledger) = authority(home) else { return false };
    matches!(
        ledger.read(|view| own_chain(view)),
        Ok((1, Some(event))) if matches!(event.body, OwnEvent::Incarnated { .. })
    )
}

fn own_id(ledger: &mut Authority, claimed: &str) -> OwnId {
    let receipt = ledger.receipt(&claimed.parse().unwrap()).unwrap().unwrap();
    receipt.outcome::<Outcome>().unwrap().own_id.unwrap()
}

fn renew(id: &str, actor: &str, n: u32, own_id: OwnId) -> Operation<Wish> {
    let todo_id = TodoId::new(goal(), n);
    operation(id, actor, Wish::Claim(ClaimCommand::Renew { todo_id, own_id: Some(own_id) }))
}

#[test]
fn a_restore_begins_another_life_that_knows_no_ownership_of_the_one_before() {
    let disk = with_backup();
    let home = disk.dir.path();
    // given whoever has the ledger open, for reading and for writing
    let mut open = authority(home).unwrap();
    let before = open.read(|view| Ok(view.meta()?.unwrap())).unwrap();
    let owned = ["claim-1", "claim-2"].map(|id| own_id(&mut open, id));
    open.submit(renew("renews", "agent:b", 2, owned[1])).unwrap();
    // when an earlier state is put in its place
    let done = restore_from(home, &backup_of(home), "restore").unwrap();
    // then they go on with it, in another life that names the one it came from, and what it was cut by
    let (meta, (count, last)) = open.read(|view| Ok((view.meta()?.unwrap(), own_chain(view)?))).unwrap();
    assert_ne!(meta.incarnation, before.incarnation);
    assert!(meta.authority_id == before.authority_id && meta.stamp.now_ms >= before.stamp.now_ms);
    let OwnEvent::Incarnated { cause: Cause::Restore, parent, incarnation, cuts, archive } =
        last.unwrap().body
    else {
        panic!("another event")
    };
    assert_eq!((count, parent, incarnation), (1, before.incarnation, meta.incarnation));
    assert!(cuts.len() == 1 && cuts[0].goal_id == Some(goal()) && cuts[0].had > cuts[0].kept, "{cuts:?}");
    // and the ledger as it was lies where the answer and the event say
    let aside = done.aside.unwrap();
    assert!(aside.ends_with(archive.unwrap().as_str()) && aside.starts_with(home), "{aside:?}");
    let kept = vault::look_into(Some(meta.authority_id), Path::new("/nowhere"), &aside).unwrap();
    let held = vault::look_into(Some(meta.authority_id), Path::new("/nowhere"), &backup_of(home)).unwrap();
    assert!(kept.events > held.events && kept.incarnation == before.incarnation);
    assert_eq!(todos(home), 3);
    // and no ownership of then is one, at any door: not the one in the backup, not the one that was lost
    for (n, actor, own, expected) in [
        (1, "agent:a", owned[0], Code::OwnershipExpired),
        (2, "agent:b", owned[1], Code::OwnershipSuperseded),
    ] {
        let refused = open.submit(renew(&format!("late-{n}"), actor, n, own)).unwrap_err();
        assert_eq!(refused.code(), expected, "{refused}");
    }
    assert_eq!(code(open.submit(claim("again-1", "agent:b", 1))), Code::TurnUnresolved);
    // and what was lost is not done again under its id, whatever is asked under it
    for lost in [claim("claim-2", "agent:b", 2), claim("claim-2", "agent:a", 3)] {
        assert_eq!(code(open.submit(lost)), Code::OperationConflict);
    }
    assert_eq!(code(open.receipt(&"add".parse().unwrap())), Code::OperationConflict);
    // and who claims anew owns by another name
    open.submit(claim("anew-2", "agent:b", 2)).unwrap();
    assert_ne!(own_id(&mut open, "anew-2"), owned[1]);
    assert_eq!(code(open.submit(renew("later", "agent:b", 2, owned[1]))), Code::OwnershipSuperseded);
    // and the same restore again is the same receipt; another one puts even this aside
    let again = restore_from(home, &backup_of(home), "restore").unwrap();
    assert!(again.receipt.is_replayed() && again.aside.is_none());
    restore_from(home, &aside, "back").unwrap();
    assert_eq!(todos(home), 4);
    let third = open.read(|view| Ok(view.meta()?.unwrap())).unwrap();
    assert!(![before.incarnation, meta.incarnation].contains(&third.incarnation));
    open.submit(claim("third", "agent:a", 3)).unwrap();
    own_end_is_known(home);
}

#[test]
fn who_writes_and_reads_meanwhile_meets_one_state_or_the_other() {
    let disk = with_backup();
    let home = disk.dir.path().to_owned();
    let writers: Vec<_> = (0..2)
        .map(|who| {
            let home = home.clone();
            std::thread::spawn(move || {
                let mut ledger = authority(&home).unwrap();
                for n in 0..30 {
                    let new = NewTodo::titled("more".parse().unwrap(), TodoKind::Advance);
                    let add = Wish::Todo(TodoCommand::Add(Box::new(new)));
                    let done = ledger.submit(operation(&format!("w{who}-{n}"), "user:ana", add));
                    assert!(done.as_ref().map_or_else(|e| e.code() == Code::StoreBusy, |_| true), "{done:?}");
                    let whole = ledger.read(|view| Ok((view.head(&goal())?, own_chain(view)?))).unwrap();
                    assert!(whole.0.is_some());
                }
            })
        })
        .collect();
    // backups while others write are each a beginning of the ledger's own history
    let mut events = 0;
    for n in 0..4 {
        let made = back_up(&home, &home.join(format!("b{n}.db"))).unwrap();
        assert!(made.held.events >= events);
        events = made.held.events;
    }
    restore_from(&home, &home.join("b0.db"), "restore").unwrap();
    for writer in writers {
        writer.join().unwrap();
    }
    let made = back_up(&home, &home.join("last.db")).unwrap();
    assert!(made.held.events > 0 && !beside(&made.kept.path, "-wal").exists());
}

#[test]
fn a_file_that_is_no_backup_of_this_ledger_changes_nothing() {
    let disk = with_backup();
    let home = disk.dir.path();
    let good = fs::read(backup_of(home)).unwrap();
    let with = |name: &str, change: &dyn Fn(&Path)| {
        let path = home.join(name);
        fs::write(&path, &good).unwrap();
        change(&path);
        path
    };
    let sql = |text: &'static str| {
        move |path: &Path| rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap()
    };
    let other = Disk::empty();
    drop(founded(other.dir.path()));
    let foreign = home.join("foreign.db");
    back_up(other.dir.path(), &foreign).unwrap();
    let files: Vec<(PathBuf, Code)> = vec![
        (with("cut.db", &|path| fs::write(path, &good[..good.len() / 2]).unwrap()), Code::StoreCorrupt),
        (with("empty.db", &|path| fs::write(path, "").unwrap()), Code::StoreCorrupt),
        (with("plain.db", &sql("PRAGMA application_id=0; PRAGMA user_version=0")), Code::StoreCorrupt),
        (with("text.db", &|path| fs::write(path, "words ".repeat(2000)).unwrap()), Code::StoreCorrupt),
        (with("program.db", &sql("PRAGMA application_id=7")), Code::StoreCorrupt),
        (with("newer.db", &sql("PRAGMA user_version=9")), Code::SchemaTooNew),
        (
            with(
                "trigger.db",
                &sql("CREATE TRIGGER t AFTER INSERT ON receipts BEGIN DELETE FROM events; END"),
            ),
            Code::StoreCorrupt,
        ),
        (with("column.db", &sql("ALTER TABLE todos ADD COLUMN more TEXT")), Code::StoreCorrupt),
        (
            with(
                "chain.db",
                &sql("UPDATE events SET payload=zeroblob(9) WHERE id=(SELECT max(id) FROM events)"),
            ),
            Code::StoreCorrupt,
        ),
        (with("head.db", &sql("UPDATE goals SET head_seq=head_seq-1")), Code::StoreCorrupt),
        (with("log.db", &|path| fs::write(beside(path, "-wal"), "a log").unwrap()), Code::InvalidArgument),
        (foreign, Code::OrphanedGoalState),
        (ledger_of(home), Code::InvalidArgument),
        (home.to_owned(), Code::InvalidArgument),
        (home.join("nothing.db"), Code::InvalidArgument),
    ];
    for (path, expected) in files {
        let refused = restore_from(home, &path, "restore").unwrap_err();
        assert_eq!(refused.code(), expected, "{}: {refused:?}", path.display());
        assert!(!is_restored(home) && migrations::copies(home).is_empty(), "{}", path.display());
    }
    assert_eq!(todos(home), 4);
    assert!(!beside(&backup_of(home), "-shm").exists(), "nothing is made beside a backup");
}

#[test]
fn a_restore_of_a_damaged_copy_is_refused_with_its_first_bad_event_or_row_and_changes_nothing() {
    let disk = with_backup();
    let home = disk.dir.path();
    let good = fs::read(backup_of(home)).unwrap();
    // each holds as a file, and most of them hold as chains; the last number is that of the first bad event
    let copies = [
        ("changed", "UPDATE events SET payload=zeroblob(9) WHERE id=(1<<32)+2", Some(2)),
        ("torn", "DELETE FROM events WHERE id=(SELECT max(id) FROM events)", None),
        ("missing", "DELETE FROM events WHERE id=(1<<32)+3", Some(3)),
        ("unlisted", "DELETE FROM goals", Some(1)),
        ("row", "UPDATE todos SET body=replace(body, 'work 1', 'work 7') WHERE id=(1<<32)+2", None),
        ("lost row", "DELETE FROM turns", None),
        (
            "row too many",
            "INSERT INTO agents SELECT goal, 'zoe', replace(body, '\"a\"', '\"zoe\"') FROM agents WHERE agent='a'",
            None,
        ),
        ("unreadable row", "UPDATE turns SET body='no'", None),
        ("count", "UPDATE counts SET n=n+1", None),
        ("meter", "UPDATE meters SET slots=slots+1", None),
        ("column", "UPDATE todos SET bucket='done'", None),
        ("receipt", "DELETE FROM receipts WHERE operation_id='claim-1'", None),
    ];
    let before = still(home);
    for (name, sql, seq) in copies {
        let copy = home.join("copy.db");
        fs::write(&copy, &good).unwrap();
        let file = rusqlite::Connection::open(&copy).unwrap();
        assert!(file.execute(sql, []).unwrap() > 0, "{name}");
        drop(file);
        let known = vault::look_into(None, Path::new("/nowhere"), &copy).map(drop);
        for refused in [known, restore_from(home, &copy, "restore").map(drop)] {
            let refused = refused.expect_err(name);
            assert_eq!(
                (refused.code(), refused.hint_args()),
                (Code::StoreCorrupt, Some("doctor")),
                "{name}: {refused:?}"
            );
            let of = refused.details();
            assert!(of.contains_key("seq") || of.contains_key("row"), "{name}: {refused:?}");
            assert!(
                seq.is_none() || of.get("seq") == seq.map(serde_json::Value::from).as_ref(),
                "{name}: {refused:?}"
            );
        }
        fs::remove_file(&copy).unwrap();
        assert!(still(home) == before, "{name}: something was written");
    }
    assert!(!is_restored(home) && todos(home) == 4);
}

/// The files of a home but the indexes of logs, which readers mark.
fn still(home: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() && !path.to_string_lossy().ends_with("-shm") {
                all.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn a_backup_takes_no_file_s_place_unasked_and_lies_among_no_profile_s_files() {
    let disk = with_backup();
    let home = disk.dir.path();
    assert_eq!(code(back_up(home, &backup_of(home))), Code::InvalidArgument);
    let profile = roles::profile(home).unwrap();
    let path = backup_of(home);
    let wanted = Wanted { path: Some(&path), replace: true, private: true };
    let made = vault::backup(&profile, &roles::env(home), wanted, &mut |_| {}).unwrap();
    assert_eq!(Digest::of(&fs::read(&path).unwrap()), made.kept.digest);
    assert!(made.private.is_none(), "there are no bodies");
    let other = Disk::empty();
    drop(founded(other.dir.path()));
    let place = home.join("profiles/default");
    for refused in [
        ledger_of(home),
        place.join("locks/x.db"),
        ledger_of(other.dir.path()),
        other.dir.path().join("profiles/default/x.db"),
        home.join("nowhere/x.db"),
    ] {
        let wanted = Wanted { path: Some(&refused), replace: true, private: false };
        assert_eq!(
            code(vault::backup(&profile, &roles::env(home), wanted, &mut |_| {})),
            Code::InvalidArgument
        );
    }
    assert!(todos(home) == 4 && authority(other.dir.path()).unwrap().present().is_ok());
    // bodies are copied after the facts that name them, into a file beside
    PrivateStore::at(&profile.place().private_db()).put_all(&[roles::body()]).unwrap();
    let made = vault::backup(&profile, &roles::env(home), wanted, &mut |_| {}).unwrap();
    let bodies = made.private.unwrap().path;
    assert_eq!(bodies, home.join("backup-private.db"));
    assert!(PrivateStore::at(&bodies).latest(roles::body().kind, "r1").unwrap().is_some());
}

#[test]
fn a_ledger_that_is_damaged_or_gone_is_made_anew_and_what_lay_there_is_kept() {
    let disk = with_damage();
    let home = disk.dir.path();
    let damaged = fs::read(ledger_of(home)).unwrap();
    assert_eq!(code(authority(home).unwrap().present()), Code::StoreCorrupt);
    let done = restore_from(home, &backup_of(home), "restore").unwrap();
    assert_eq!(fs::read(done.aside.unwrap()).unwrap(), damaged);
    assert!(is_restored(home) && todos(home) == 3);
    authority(home).unwrap().submit(claim("goes-on", "agent:b", 2)).unwrap();
    // gone, with the log of it left
    fs::remove_file(ledger_of(home)).unwrap();
    fs::write(beside(&ledger_of(home), "-wal"), "of a ledger that is gone").unwrap();
    let done = restore_from(home, &backup_of(home), "restore").unwrap();
    assert!(done.aside.is_some() && is_restored(home) && todos(home) == 3);
    // and where nothing ever was it needs no proof, as a beginning does not
    let fresh = Disk::empty();
    let profile = roles::profile(fresh.dir.path()).unwrap();
    let provenance = Provenance { door: Door::Library, assurance: Assurance::Stated, contained: None };
    let stated = Asked { provenance, ..asked("first") };
    let from = backup_of(home);
    let env = roles::env(fresh.dir.path());
    let agent = Asked { actor: "agent:a".parse().unwrap(), ..stated.clone() };
    assert_eq!(
        code(vault::restore(&profile, &env, &from, &agent, &mut || Ok(()), &mut |_| {})),
        Code::UserOnly
    );
    vault::restore(&profile, &env, &from, &stated, &mut || Ok(()), &mut |_| {}).unwrap();
    assert_eq!(todos(fresh.dir.path()), 3);
    let place = roles::profile(fresh.dir.path()).unwrap();
    assert!(place.authority_id().is_some(), "whose it is, is noted");
    let again = Asked { operation_id: "second".parse().unwrap(), ..stated };
    assert_eq!(
        code(vault::restore(&place, &env, &from, &again, &mut || Ok(()), &mut |_| {})),
        Code::Unauthenticated
    );
}

#[test]
fn whoever_is_at_work_or_has_the_lock_is_not_written_under() {
    let disk = with_backup();
    let home = disk.dir.path();
    let profile = roles::profile(home).unwrap();
    let refused = vault::restore(
        &profile,
        &roles::env(home),
        &backup_of(home),
        &asked("restore"),
        &mut || Err(Error::from(Code::TurnRunning)),
        &mut |_| {},
    );
    assert_eq!(code(refused), Code::TurnRunning);
    let mut holder = Writer::open(&ledger_of(home), &LEDGER).unwrap();
    let held = holder.begin_immediate().unwrap();
    assert_eq!(code(restore_from(home, &backup_of(home), "restore")), Code::StoreBusy);
    drop(held);
    assert!(!is_restored(home) && migrations::copies(home).is_empty());
    restore_from(home, &backup_of(home), "restore").unwrap();
}

#[test]
fn the_copy_before_a_migration_leads_back_to_the_release_before() {
    let disk = of_before();
    let home = disk.dir.path();
    migrate(home).unwrap();
    let copy = migrations::copies(home).pop().unwrap();
    restore_from(home, &copy, "back").unwrap();
    assert_eq!((schema(home), todos(home)), (1, 3));
    let before = Writer::open(&ledger_of(home), &schemas::BEFORE).unwrap();
    assert_eq!(before.schema_version().unwrap(), 1);
}

#[cfg(feature = "failpoints")]
#[test]
fn a_restore_killed_at_its_commit_happened_or_did_not() {
    use crate::failpoint::Point;
    for (point, left) in [
        (Point::StoreBeforeCommit, false),
        (Point::StoreAfterCommit, true),
        (Point::LedgerBeforeBell, true),
        (Point::LedgerAfterBell, true),
    ] {
        let disk = with_backup();
        let home = disk.dir.path();
        let spec = format!("{}=kill", point.as_str());
        let set: [(&str, &OsStr); 1] = [("LOOPX_FAILPOINT", spec.as_ref())];
        assert!(!start("restore", home, &Start { set: &set, ..Start::default() }).end().success());
        assert_eq!((is_restored(home), todos(home)), (left, if left { 3 } else { 4 }), "{point:?}");
        restore(home).unwrap();
        assert!(is_restored(home) && todos(home) == 3, "{point:?}");
    }
}
