//! A ledger of the schema before on its way to the newest: killed, failed, raced, and seen by who has it open.

use super::{
    schemas::{BEFORE, judge, make_before},
    *,
};
use crate::authority::{
    Asked, OwnEvent, own_chain,
    sqlite::{self, LEDGER},
    vault,
};

/// A home whose ledger has the schema before, and three Todos.
pub(in super::super) fn of_before() -> Disk {
    let disk = Disk::empty();
    fill_before(disk.dir.path());
    disk
}

/// Makes a ledger of the schema before in a home, with three Todos.
pub(in super::super) fn fill_before(home: &Path) {
    make_before(home);
    let mut ledger = founded(home);
    add_agent(&mut ledger, "a");
    add_todos(&mut ledger, "todos", 3);
}

fn asked() -> Asked {
    let id = variable("LOOPX_TEST_OP").unwrap_or_else(|| "migrate".to_owned());
    Asked {
        operation_id: id.parse().unwrap(),
        actor: "user:ana".parse().unwrap(),
        provenance: Provenance { door: Door::Library, assurance: Assurance::Proven, contained: None },
    }
}

/// Brings the ledger of a home to the newest schema.
pub(in super::super) fn migrate(home: &Path) -> Result<()> {
    vault::migrate(&roles::profile(home)?, &roles::env(home), &asked(), &mut |_| {}).map(drop)
}

/// The schema of the ledger of a home.
pub(in super::super) fn schema(home: &Path) -> i32 {
    let path = roles::profile(home).unwrap().place().authority_db();
    Reader::schema_of(&path, &LEDGER).unwrap().unwrap()
}

/// The copies of a home's databases that have a name.
pub(in super::super) fn copies(home: &Path) -> Vec<PathBuf> {
    let place = roles::profile(home).unwrap().place().backups();
    let Ok(found) = fs::read_dir(place) else { return Vec::new() };
    let all = found.map(|entry| entry.unwrap().path());
    let mut named: Vec<_> =
        all.filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.')).collect();
    named.sort();
    named
}

/// What happened to the ledger itself.
fn own(home: &Path) -> (u64, Option<OwnEvent>) {
    let (count, last) = authority(home).unwrap().read(|view| own_chain(view)).unwrap();
    (count, last.map(|event| event.body))
}

/// How the tables and the indexes of a file are made.
fn tables(db: &Path, schema: &Schema) -> Vec<(String, String)> {
    let mut reader = Reader::open(db, schema).unwrap();
    let snapshot = reader.snapshot().unwrap();
    let mut statement =
        snapshot.prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(std::result::Result::unwrap).collect()
}

#[test]
fn fault_c3_from_each_schema_there_was_a_file_gets_the_tables_of_a_new_one() {
    for schema in [SCHEMA, LEDGER] {
        let disk = Disk::empty();
        drop(Writer::open_or_create(&disk.db(), &schema).unwrap());
        let newest = tables(&disk.db(), &schema);
        for from in schema.first..schema.newest {
            let disk = Disk::empty();
            let steps = usize::try_from(from - schema.first).unwrap();
            let old = Schema { oldest: from, newest: from, steps: &schema.steps[..steps], ..schema };
            drop(Writer::open_or_create(&disk.db(), &old).unwrap());
            assert_ne!(tables(&disk.db(), &old), newest, "{from}");
            // what fails before, or beside, leaves the file as it was
            let full = || Err::<(), _>(crate::error::Error::from(Code::DiskFull));
            assert_eq!(code(sqlite::migrate(&disk.db(), &schema, full, |_, _, ()| Ok(()))), Code::DiskFull);
            let refused = sqlite::migrate(&disk.db(), &schema, || Ok(()), |_, _, ()| full());
            assert_eq!(code(refused), Code::DiskFull);
            assert_eq!(Writer::open(&disk.db(), &old).unwrap().schema_version().unwrap(), from);
            // and given again it ends it, once
            let done = sqlite::migrate(&disk.db(), &schema, || Ok(()), |_, _, ()| Ok(())).unwrap();
            assert_eq!(done, Some((from, ())));
            assert_eq!(tables(&disk.db(), &schema), newest, "{from}");
            assert_eq!(sqlite::migrate(&disk.db(), &schema, || Ok(()), |_, _, ()| Ok(())).unwrap(), None);
        }
    }
}

#[test]
fn a_ledger_is_copied_as_it_was_and_brought_on_with_an_event_of_its_own() {
    use std::os::unix::fs::PermissionsExt as _;
    let disk = of_before();
    let home = disk.dir.path();
    let mut open = authority(home).unwrap();
    open.read(|view| view.meta()).unwrap();
    open.submit(operation(
        "another",
        "user:ana",
        Wish::Todo(TodoCommand::Add(Box::new(NewTodo::titled("x".parse().unwrap(), TodoKind::Advance)))),
    ))
    .unwrap();
    let profile = roles::profile(home).unwrap();
    let pending = vault::pending(profile.place()).unwrap();
    assert_eq!(pending, [vault::Step { database: "ledger", from: 1, to: 2 }]);
    // given a stated person, and an agent, nothing is done
    for (actor, assurance, expected) in [
        ("user:ana", Assurance::Stated, Code::Unauthenticated),
        ("agent:a", Assurance::Proven, Code::UserOnly),
    ] {
        let provenance = Provenance { door: Door::Library, assurance, contained: None };
        let asked = Asked { actor: actor.parse().unwrap(), provenance, ..asked() };
        assert_eq!(code(vault::migrate(&profile, &roles::env(home), &asked, &mut |_| {})), expected);
    }
    assert_eq!((schema(home), copies(home)), (1, vec![]));
    // when a proven one asks
    let mut said = Vec::new();
    let done = vault::migrate(&profile, &roles::env(home), &asked(), &mut |line| said.push(line.to_owned()))
        .unwrap();
    assert_eq!(said.len(), 2);
    // then the copy is what the ledger was, and its owner's alone
    let kept = &done.done[0].kept;
    assert_eq!(copies(home), std::slice::from_ref(&kept.path));
    assert_eq!(fs::metadata(&kept.path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(kept.path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    let mut copy = Reader::open_still(&kept.path, &BEFORE).unwrap();
    assert_eq!(copy.schema_version().unwrap(), 1);
    assert_eq!(Digest::of(&fs::read(&kept.path).unwrap()), kept.digest);
    // and the event names both schemas and the copy
    let event = OwnEvent::SchemaMigrated { from: 1, to: 2, kept: kept.digest };
    assert_eq!((schema(home), own(home)), (2, (1, Some(event))));
    assert_eq!(todos(home), 4);
    // and who has it open reads and writes on, what needs the newest schema too
    assert_eq!(open.read(|view| Ok(own_chain(view)?.0)).unwrap(), 1);
    open.submit(operation("judge", "user:ana", judge())).unwrap();
    // and the same again is the same receipt, and another one finds nothing to do
    let receipt = done.receipt.unwrap();
    let again = vault::migrate(&profile, &roles::env(home), &asked(), &mut |_| {}).unwrap();
    let again = again.receipt.unwrap();
    assert!(again.is_replayed() && again.digest() == receipt.digest());
    let other = Asked { operation_id: "other".parse().unwrap(), ..asked() };
    let other = vault::migrate(&profile, &roles::env(home), &other, &mut |_| {}).unwrap();
    assert!(other.receipt.is_none() && other.done.is_empty());
    assert_eq!((own(home).0, copies(home).len()), (1, 1));
    let taken = Asked { operation_id: "judge".parse().unwrap(), ..asked() };
    assert_eq!(
        code(vault::migrate(&profile, &roles::env(home), &taken, &mut |_| {})),
        Code::OperationConflict
    );
    own_end_is_known(home);
}

#[test]
fn of_several_migrations_at_once_one_does_it() {
    let disk = of_before();
    let home = disk.dir.path();
    let ids = ["m1", "m2", "m3", "m4"];
    let started: Vec<Role> = ids
        .iter()
        .map(|id| {
            start("migrate", home, &Start { set: &[("LOOPX_TEST_OP", id.as_ref())], ..Start::default() })
        })
        .collect();
    for mut role in started {
        role.said("ok");
    }
    assert_eq!((schema(home), own(home).0, copies(home).len()), (2, 1, 1));
    let mut ledger = authority(home).unwrap();
    let receipts = ids.iter().filter(|id| ledger.receipt(&id.parse().unwrap()).unwrap().is_some());
    assert_eq!(receipts.count(), 1);
}

#[cfg(feature = "failpoints")]
#[test]
fn fault_c3_a_migration_killed_anywhere_happened_or_did_not_and_again_ends_it() {
    use crate::failpoint::Point;
    let points = [
        (Point::MigrateKept, 1),
        (Point::MigrateRaised, 1),
        (Point::StoreBeforeCommit, 1),
        (Point::StoreAfterCommit, 2),
        (Point::LedgerBeforeBell, 2),
        (Point::LedgerAfterBell, 2),
    ];
    for (point, left) in points {
        let disk = of_before();
        let home = disk.dir.path();
        let spec = format!("{}=kill", point.as_str());
        let set: [(&str, &OsStr); 1] = [("LOOPX_FAILPOINT", spec.as_ref())];
        let killed = start("migrate", home, &Start { set: &set, ..Start::default() }).end();
        assert!(!killed.success(), "{point:?}");
        // both releases can open what is left, or neither half of it
        assert_eq!(schema(home), left, "{point:?}");
        let place = roles::profile(home).unwrap().place().authority_db();
        let before = Writer::open(&place, &BEFORE).map(drop).map_err(|e| e.code());
        assert_eq!(before, if left == 1 { Ok(()) } else { Err(Code::SchemaTooNew) }, "{point:?}");
        assert_eq!((todos(home), own(home).0), (3, u64::from(left == 2)), "{point:?}");
        assert_eq!(copies(home).len(), 1, "{point:?}");
        migrate(home).unwrap();
        assert_eq!((schema(home), todos(home), own(home).0), (2, 3, 1), "{point:?}");
        let mut ledger = authority(home).unwrap();
        assert!(ledger.receipt(&"migrate".parse().unwrap()).unwrap().is_some());
        ledger.submit(operation("judge", "user:ana", judge())).unwrap();
    }
}
