//! A process that is killed, stopped or failed at each named point.
#![cfg(feature = "failpoints")]

use std::{collections::BTreeSet, os::unix::process::ExitStatusExt as _};

use rustix::process::Signal;

use super::*;
use crate::{
    authority::clock::{Clock as _, SystemClock},
    failpoint::Point,
    private::PrivateStore,
};

/// Which role visits a point; none for the points of a Turn, which the tests of the binary sweep.
fn role(point: Point) -> Option<&'static str> {
    Some(match point {
        Point::ProfileBeforePublish | Point::ProfileAfterPublish => "profile",
        Point::StoreBeforeSchema => "create",
        Point::StoreBeforeCommit | Point::StoreAfterCommit => "write",
        Point::LedgerBeforeBell | Point::LedgerAfterBell => "submit",
        Point::PrivateBeforeCommit | Point::PrivateAfterCommit => "body",
        Point::MigrateKept | Point::MigrateRaised => "migrate",
        Point::RestoreKept | Point::RestoreTaken => "restore",
        Point::RestoreMade | Point::RestoreAside => "restore anew",
        Point::TurnAdmitted
        | Point::TurnDescribed
        | Point::TurnDispatched
        | Point::TurnHostEnded
        | Point::TurnSpooled
        | Point::TurnCandidate
        | Point::TurnJudged
        | Point::TurnVerdict
        | Point::TurnAttemptEnded
        | Point::OwnerCandidate
        | Point::OwnerJudged
        | Point::OwnerVerdict
        | Point::GuardLocked
        | Point::GuardReady
        | Point::GuardLetGo
        | Point::GuardStarted
        | Point::GuardEnded
        | Point::GuardSpooled
        | Point::LeafMove
        | Point::SpoolFull
        | Point::UndoNoted
        | Point::UndoBegun
        | Point::UndoPathPlaced
        | Point::UndoPlaced
        | Point::UndoEnded
        | Point::GcBodies
        | Point::GcSpool
        | Point::GcForgotten
        | Point::RepairArchived
        | Point::RecoverSwept => return None,
    })
}

/// The points of storage, each with its role.
fn points() -> impl Iterator<Item = (Point, &'static str)> {
    Point::ALL.iter().filter_map(|&point| role(point).map(|role| (point, role)))
}

/// Where a role works: a ledger to write to exists, all else is made by the role.
fn place(role: &str) -> (Disk, PathBuf) {
    match role {
        "write" => {
            let disk = Disk::new();
            let db = disk.db();
            (disk, db)
        }
        "profile" => {
            let disk = Disk::empty();
            let home = disk.dir.path().to_owned();
            (disk, home)
        }
        "submit" => {
            let disk = Disk::empty();
            let home = disk.dir.path().to_owned();
            drop(ledger::founded(&home));
            (disk, home)
        }
        "migrate" | "restore" | "restore anew" => {
            let disk = match role {
                "migrate" => ledger::of_before(),
                "restore" => ledger::with_backup(),
                _ => ledger::with_damage(),
            };
            let home = disk.dir.path().to_owned();
            (disk, home)
        }
        _ => {
            let disk = Disk::empty();
            let db = disk.db();
            (disk, db)
        }
    }
}

fn run(role: &str, at: &Path, runtime: &Path, set: &[(&str, &OsStr)]) -> Role {
    let mut all = set.to_vec();
    all.push(("XDG_RUNTIME_DIR", runtime.as_os_str()));
    start(role, at, &Start { set: &all, ..Start::default() })
}

/// What a role leaves: how many of its facts can be found.
fn found(role: &str, at: &Path) -> i64 {
    match role {
        "write" => count(at).unwrap(),
        "submit" => ledger::todos(at),
        "migrate" => i64::from(ledger::schema(at) - 1),
        "restore" | "restore anew" => i64::from(ledger::is_restored(at)),
        "create" => count(at).map_or_else(|e| i64::from(e.code() != Code::NotFound), |_| 1),
        "body" => i64::from(
            PrivateStore::at(at)
                .latest(roles::body().kind, &roles::body().id)
                .is_ok_and(|body| body.is_some()),
        ),
        _ => i64::from(at.join("profiles/default/profile.json").exists()),
    }
}

#[test]
fn a_kill_at_each_point_leaves_the_state_before_or_after() {
    for (point, role) in points() {
        let (disk, at) = place(role);
        let spec = format!("{}=kill", point.as_str());
        let killed = run(role, &at, disk.dir.path(), &[("LOOPX_FAILPOINT", spec.as_ref())]).end();
        assert_eq!(killed.signal(), Some(Signal::KILL.as_raw()), "{point:?}");
        let after = matches!(
            point,
            Point::StoreAfterCommit
                | Point::LedgerBeforeBell
                | Point::LedgerAfterBell
                | Point::PrivateAfterCommit
                | Point::ProfileAfterPublish
        );
        assert_eq!(found(role, &at), i64::from(after), "{point:?}");
        // when the same is done again, it is done
        run(role, &at, disk.dir.path(), &[]).said("ok");
        let rows = if role == "write" { 1 + i64::from(after) } else { 1 };
        assert_eq!(found(role, &at), rows, "{point:?}");
    }
}

#[test]
fn an_error_at_each_point_is_returned_and_the_process_lives() {
    for (point, role) in points() {
        let (disk, at) = place(role);
        let spec = format!("{}=error:disk_full", point.as_str());
        let mut failed = run(role, &at, disk.dir.path(), &[("LOOPX_FAILPOINT", spec.as_ref())]);
        failed.said("disk_full");
        assert!(failed.end().success());
        run(role, &at, disk.dir.path(), &[]).said("ok");
    }
}

#[test]
fn each_point_of_the_table_is_reached() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let roles: BTreeSet<&str> = points().map(|(_, role)| role).collect();
    for role in roles {
        let (disk, at) = place(role);
        run(role, &at, disk.dir.path(), &[("LOOPX_FAILPOINT_LOG", log.path().as_os_str())]).said("ok");
    }
    let reached = fs::read_to_string(log.path()).unwrap();
    let reached: BTreeSet<&str> = reached.lines().collect();
    let all: BTreeSet<&str> = points().map(|(point, _)| point.as_str()).collect();
    assert_eq!(reached, all);
}

#[test]
fn a_point_acts_at_the_visit_that_was_asked_for() {
    let disk = Disk::new();
    let set: [(&str, &OsStr); 1] = [("LOOPX_FAILPOINT", "store.before_commit=error:disk_full@3".as_ref())];
    let mut writer = run("write 200", &disk.db(), disk.dir.path(), &set);
    writer.said("ready");
    writer.go();
    writer.said("disk_full");
    assert_eq!(count(&disk.db()).unwrap(), 2);
}

#[test]
fn a_writer_stopped_before_its_commit_commits_when_it_wakes() {
    let disk = Disk::new();
    let set: [(&str, &OsStr); 1] = [("LOOPX_FAILPOINT", "store.before_commit=stop".as_ref())];
    let mut writer = run("write", &disk.db(), disk.dir.path(), &set);
    let pid = rustix::process::Pid::from_child(&writer.child);
    let stopped = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::UNTRACED).unwrap();
    assert!(stopped.is_some_and(|(_, status)| status.stopped()));
    assert_eq!(code(write_once(&disk.db(), "late", 1)), Code::StoreBusy);
    writer.signal(Signal::CONT);
    writer.said("ok");
    assert_eq!(count(&disk.db()).unwrap(), 1);
}

#[test]
fn a_request_that_cannot_be_read_fails_loudly() {
    let disk = Disk::new();
    let set: [(&str, &OsStr); 1] = [("LOOPX_FAILPOINT", "nowhere=kill".as_ref())];
    run("write", &disk.db(), disk.dir.path(), &set).said("invalid_argument");
}

#[test]
fn a_pretended_network_filesystem_is_refused_and_nothing_is_made() {
    let home = tempfile::tempdir().unwrap();
    let runtime = tempfile::tempdir().unwrap();
    for name in ["nfs", "cifs", "9p", "ceph", "afs"] {
        let set: [(&str, &OsStr); 1] = [("LOOPX_FAILPOINT_FILESYSTEM", name.as_ref())];
        run("profile", home.path(), runtime.path(), &set).said("network_filesystem");
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    let set: [(&str, &OsStr); 1] = [("LOOPX_FAILPOINT_FILESYSTEM", "fuse".as_ref())];
    run("profile", home.path(), runtime.path(), &set).said("ok");
}

#[test]
fn a_pretended_reboot_is_read_from_the_clock() {
    let at = tempfile::tempdir().unwrap();
    let set: [(&str, &OsStr); 1] =
        [("LOOPX_FAILPOINT_CLOCK", "boot_id=other,boot=-9223372036854775807,wall=86400000".as_ref())];
    let before_ms = SystemClock::new().read().unwrap().wall_ms;
    let said = run("clock", at.path(), at.path(), &set).next().unwrap();
    assert!(said.contains("boot_id: \"other\"") && said.contains("boot_ms: -"), "{said}");
    let wall_ms: i64 = said.rsplit_once("wall_ms: ").unwrap().1.trim_end_matches(" }").parse().unwrap();
    assert!((86_400_000..86_460_000).contains(&(wall_ms - before_ms)), "{said}");
    let set: [(&str, &OsStr); 1] = [("LOOPX_FAILPOINT_CLOCK", "tomorrow".as_ref())];
    run("clock", at.path(), at.path(), &set).said("invalid_argument");
}
