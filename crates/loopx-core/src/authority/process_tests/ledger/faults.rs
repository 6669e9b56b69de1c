//! What a kill, a full disk and damage leave of a real write.

use super::*;
use crate::authority::{EventFilter, Head, View, chain};

/// The ledger's file in a home.
fn db(home: &Path) -> PathBuf {
    roles::profile(home).unwrap().place().authority_db()
}

/// The bytes of the file and of its log.
pub(super) fn bytes(home: &Path) -> [Vec<u8>; 2] {
    let db = db(home);
    let mut log = db.clone().into_os_string();
    log.push("-wal");
    [fs::read(db).unwrap(), fs::read(log).unwrap_or_default()]
}

/// The chain of the Goal holds, and ends where its head says.
pub(super) fn check_chain(view: &mut dyn View) -> Result<()> {
    let goal = goal();
    let records = view.events(&EventFilter { goal: &goal, after: 0 }, usize::MAX)?;
    assert_eq!(chain::verify(Head::START, &records)?, view.head(&goal)?.unwrap());
    Ok(())
}

/// A home with an agent and a Todo it may claim.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut authority = founded(home.path());
    add_agent(&mut authority, "a");
    add_todos(&mut authority, "todos", 1);
    home
}

#[cfg(feature = "failpoints")]
#[test]
fn fault_a03_a_claim_killed_at_each_point_of_a_write_happened_or_did_not() {
    use std::os::unix::process::ExitStatusExt as _;

    for (point, happened) in [
        ("store.before_commit", false),
        ("store.after_commit", true),
        ("ledger.before_bell", true),
        ("ledger.after_bell", true),
    ] {
        let home = home();
        let spec: OsString = format!("{point}=kill").into();
        let set: [(&str, &OsStr); 1] = [("LOOPX_FAILPOINT", &spec)];
        let killed = start("claim agent:a 1", home.path(), &Start { set: &set, ..Start::default() }).end();
        assert_eq!(killed.signal(), Some(rustix::process::Signal::KILL.as_raw()), "{point}");
        let todo = TodoId::new(goal(), 1);
        let mut after = authority(home.path()).unwrap();
        let state = |authority: &mut Authority| {
            authority
                .read(|view| {
                    check_chain(view)?;
                    let filter = TodoFilter { goal: todo.goal(), live: false, bucket: None };
                    let row = view.todos(&filter, 0, 1)?.remove(0);
                    Ok((row.ownership, view.receipt(&"claim".parse()?)?.is_some()))
                })
                .unwrap()
        };
        let (own, receipt) = state(&mut after);
        assert_eq!((own.is_some(), receipt), (happened, happened), "{point}");
        // when it is sent again, its receipt names the ownership that stands
        let again = after.submit(claim("claim", "agent:a", 1)).unwrap();
        assert_eq!(again.is_replayed(), happened, "{point}");
        let (own, receipt) = state(&mut after);
        assert!(receipt, "{point}");
        assert_eq!(again.outcome::<Outcome>().unwrap().own_id, own.map(|own| own.own_id), "{point}");
    }
}

#[test]
fn a_full_disk_refuses_a_submit_and_loses_nothing() {
    let home = home();
    let profile = roles::profile(home.path()).unwrap();
    let mut ledger = crate::authority::SqliteLedger::create(&profile, &roles::env(home.path())).unwrap();
    ledger.limit_pages(1).unwrap();
    let mut authority = Authority::new(Box::new(ledger));
    let before = authority.read(|view| crate::authority::conformance::whole(view)).unwrap();
    // Todos without end; the file may not grow.
    let item = |n: u32| {
        let mut new = NewTodo::titled(format!("work {n}").parse().unwrap(), TodoKind::Advance);
        new.detail = Some("x".repeat(2000).parse().unwrap());
        BatchItem::Add { new: Box::new(new), after_items: [].into() }
    };
    let flood = operation("flood", "user:ana", Wish::Batch((0..200).map(item).collect()));
    assert_eq!(authority.submit(flood.clone()).unwrap_err().code(), Code::DiskFull);
    assert_eq!(authority.read(|view| crate::authority::conformance::whole(view)).unwrap(), before);
    // when there is space again the same wish is granted, once
    let mut other = super::authority(home.path()).unwrap();
    assert!(!other.submit(flood.clone()).unwrap().is_replayed());
    assert!(authority.submit(flood).unwrap().is_replayed());
    other.read(check_chain).unwrap();
}

#[test]
fn a_row_that_does_not_parse_is_store_corrupt_and_its_key_is_internal() {
    for (table, key, read) in [
        ("UPDATE todos SET body='{'", "todos 4294967297", 0),
        ("UPDATE todos SET body=replace(body, '\"g.1\"', '\"g.7\"')", "todos 4294967297 holds g.7", 0),
        ("UPDATE goal_bodies SET body=CAST(x'ff' AS TEXT)", "goal_bodies g", 1),
        ("UPDATE agents SET body='{\"extra\":1}'", "agents g a", 2),
        ("UPDATE receipts SET body='[]' WHERE operation_id='todos'", "receipts todos", 3),
        ("UPDATE counts SET n=-1", "column 1", 4),
    ] {
        let home = home();
        {
            let conn = rusqlite::Connection::open(db(home.path())).unwrap();
            conn.execute_batch(&format!("PRAGMA ignore_check_constraints=1; {table}")).unwrap();
        }
        let goal = goal();
        let broken = authority(home.path()).unwrap().read(|view| match read {
            0 => view.todos(&TodoFilter { goal: &goal, live: false, bucket: None }, 0, 9).map(drop),
            1 => view.goals(None, 9).map(drop),
            2 => view.agents(&goal).map(drop),
            3 => view.receipt(&"todos".parse()?).map(drop),
            _ => view.counts(&goal).map(drop),
        });
        let broken = broken.unwrap_err();
        assert_eq!(broken.code(), Code::StoreCorrupt, "{table}");
        assert!(!broken.message().contains("g.7") && !broken.message().contains("todos"), "{broken:?}");
        let internal = broken.internal_text().unwrap_or_default();
        assert!(internal.contains(key), "{table}: {internal}");
    }
}

#[test]
fn a_damaged_page_refuses_a_submit_typed() {
    let home = home();
    let path = db(home.path());
    {
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }
    // Every page but the first, whose header would be refused at the opening.
    let mut content = fs::read(&path).unwrap();
    content[4096..].fill(0x5a);
    fs::write(&path, content).unwrap();
    let refused = authority(home.path()).unwrap().submit(claim("claim", "agent:a", 1)).unwrap_err();
    assert_eq!(refused.code(), Code::StoreCorrupt);
    let refused = authority(home.path()).unwrap().read(|view| view.goals(None, 1)).unwrap_err();
    assert_eq!(refused.code(), Code::StoreCorrupt);
}

#[test]
fn a_read_and_a_wait_make_nothing_and_write_nothing() {
    let home = tempfile::tempdir().unwrap();
    let profile = roles::profile(home.path()).unwrap();
    let env = roles::env(home.path());
    let names = || {
        let dir = fs::read_dir(profile.place().dir()).unwrap();
        dir.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    // before there is a ledger
    let before = names();
    assert_eq!(Authority::open(&profile, &env).unwrap_err().code(), Code::NotFound);
    assert_eq!(names(), before);
    // and when there is one
    let mut authority = founded(home.path());
    add_todos(&mut authority, "todos", 3);
    let before = bytes(home.path());
    let mut reader = Authority::open(&profile, &env).unwrap();
    reader.read(|view| crate::authority::conformance::whole(view)).unwrap();
    assert!(!reader.wait(std::time::Duration::from_millis(5), |_| Ok(false)).unwrap());
    drop(reader);
    assert!(bytes(home.path()) == before, "a read wrote");
}
