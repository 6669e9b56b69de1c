//! Faults of the file itself: permissions, damage, foreign versions, replacement.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::fs::{FileExt as _, PermissionsExt as _, chown},
};

use super::*;
use crate::process::tests::skipped;

/// Turns a header mark of the file to another number, as another release would have.
fn mark(db: &Path, pragma: &str, value: i32) {
    let conn = rusqlite::Connection::open(db).unwrap();
    conn.pragma_update(None, pragma, value).unwrap();
}

#[test]
fn fault_c2_older_and_newer_schemas_are_refused_by_both_versions_names() {
    let disk = Disk::new();
    let db = disk.db();
    for (version, expected, names) in [
        (1, Code::SchemaNeedsMigration, ["schema 1", "needs 2"]),
        (4, Code::SchemaTooNew, ["schema 4", "knows 3"]),
    ] {
        mark(&db, "user_version", version);
        for refused in [Writer::open(&db, &SCHEMA).unwrap_err(), Reader::open(&db, &SCHEMA).unwrap_err()] {
            assert_eq!(refused.code(), expected);
            assert!(names.iter().all(|name| refused.message().contains(name)), "{refused}");
        }
        assert_eq!(code(Writer::open_or_create(&db, &SCHEMA)), expected);
    }
    // the release before is read and written, and stays what it is
    mark(&db, "user_version", 2);
    write_once(&db, "old schema", 1).unwrap();
    assert_eq!(Writer::open(&db, &SCHEMA).unwrap().schema_version().unwrap(), 2);
}

#[test]
fn fault_c2_a_migration_under_an_open_connection_is_seen() {
    let disk = Disk::new();
    let mut writer = Writer::open(&disk.db(), &SCHEMA).unwrap();
    let mut reader = Reader::open(&disk.db(), &SCHEMA).unwrap();
    mark(&disk.db(), "user_version", 4);
    assert_eq!(code(writer.begin_immediate()), Code::SchemaTooNew);
    assert_eq!(code(reader.snapshot()), Code::SchemaTooNew);
    mark(&disk.db(), "user_version", 3);
    write(&mut writer, "back", 1).unwrap();
    assert!(reader.snapshot().is_ok());
}

#[test]
fn a_foreign_or_missing_file_is_refused() {
    let disk = Disk::empty();
    for refused in
        [Writer::open(&disk.db(), &SCHEMA).unwrap_err(), Reader::open(&disk.db(), &SCHEMA).unwrap_err()]
    {
        assert_eq!((refused.code(), refused.hint_args()), (Code::NotFound, Some("init")));
    }
    assert!(!disk.db().exists());
    let disk = Disk::new();
    mark(&disk.db(), "application_id", 0x1234);
    assert_eq!(code(Writer::open(&disk.db(), &SCHEMA)), Code::StoreCorrupt);
    assert_eq!(code(Reader::open(&disk.db(), &SCHEMA)), Code::StoreCorrupt);
    assert_eq!(code(Writer::open_or_create(&disk.db(), &SCHEMA)), Code::StoreCorrupt);
    fs::write(
        disk.db(),
        "this is no database, and it is longer than a header would be by some hundred bytes ".repeat(20),
    )
    .unwrap();
    assert_eq!(code(Writer::open(&disk.db(), &SCHEMA)), Code::StoreCorrupt);
    assert_eq!(code(Reader::open(&disk.db(), &SCHEMA)), Code::StoreCorrupt);
}

#[test]
fn a_corrupt_page_is_store_corrupt() {
    let disk = Disk::new();
    write_once(&disk.db(), "large", 2 * 1024 * 1024).unwrap();
    for _ in 0..100 {
        write_once(&disk.db(), "row", 500).unwrap();
    }
    write_once(&disk.db(), "large", 2 * 1024 * 1024).unwrap();
    assert_eq!(fs::metadata(disk.beside("-wal")).unwrap().len(), 0);
    let file = fs::OpenOptions::new().write(true).open(disk.db()).unwrap();
    // The table's root.
    file.write_all_at(&[0xa5; 4096], 4096).unwrap();
    drop(file);
    let refused = count(&disk.db()).unwrap_err();
    assert_eq!(refused.code(), Code::StoreCorrupt);
    assert!(!refused.message().contains('/') && !refused.message().contains("SELECT"));
    assert_eq!(code(write_once(&disk.db(), "more", 1)), Code::StoreCorrupt);
}

#[test]
fn a_torn_log_keeps_what_was_whole() {
    let disk = Disk::new();
    for n in 0..3 {
        write_once(&disk.db(), &format!("row {n}"), 100).unwrap();
    }
    let whole = fs::metadata(disk.beside("-wal")).unwrap().len();
    write_once(&disk.db(), "torn", 100).unwrap();
    let wal = fs::read(disk.beside("-wal")).unwrap();
    assert!(wal.len() as u64 > whole, "the last row is in the log");
    // when the last frame is cut, or damaged, and the index is lost with the machine
    let mut damaged = wal.clone();
    *damaged.last_mut().unwrap() ^= 0xff;
    for torn in [&wal[..wal.len() - 1000], &damaged[..]] {
        fs::remove_file(disk.beside("-shm")).unwrap();
        fs::write(disk.beside("-wal"), torn).unwrap();
        assert_eq!(count(&disk.db()).unwrap(), 3);
    }
    write_once(&disk.db(), "after", 100).unwrap();
    assert_eq!(count(&disk.db()).unwrap(), 4);
}

#[test]
fn a_file_replaced_under_a_writer_stops_it() {
    let (disk, other) = (Disk::new(), Disk::new());
    let mut writer = Writer::open(&disk.db(), &SCHEMA).unwrap();
    let mut reader = Reader::open(&disk.db(), &SCHEMA).unwrap();
    // when the file is replaced between BEGIN and COMMIT
    let tx = writer.begin_immediate().unwrap();
    insert(&tx, "lost", 1).unwrap();
    fs::rename(other.db(), disk.db()).unwrap();
    assert_eq!(code(tx.commit()), Code::StoreCorrupt);
    // then nothing goes on with the old one
    assert_eq!(code(writer.begin_immediate()), Code::StoreCorrupt);
    assert_eq!(code(reader.snapshot()), Code::StoreCorrupt);
    assert_eq!(code(reader.data_version()), Code::StoreCorrupt);
    fs::remove_file(disk.db()).unwrap();
    assert_eq!(code(writer.begin_immediate()), Code::StoreCorrupt);
}

/// Gives a folder and what is in it to a user without rights.
fn give_away(disk: &Disk) {
    chown(disk.dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in fs::read_dir(disk.dir.path()).unwrap() {
        chown(entry.unwrap().path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

fn as_nobody(role: &str, disk: &Disk) -> String {
    let mut child = start(role, &disk.db(), &Start { uid: Some(NOBODY), ..Start::default() });
    child.next().unwrap_or_else(|| "nothing".to_owned())
}

/// Permissions bind everybody but root, and only root can become somebody else.
fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skipped("only root can drop to another user");
    }
    root
}

#[test]
fn a_folder_that_cannot_be_written_is_read_or_refused() {
    if !is_root() {
        return;
    }
    let disk = Disk::new();
    write_once(&disk.db(), "row", 1).unwrap();
    give_away(&disk);
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(disk.dir.path(), 0o555);
    // with the log's index beside it a reader needs to make nothing
    assert_eq!(as_nobody("read", &disk), "1");
    // without it the log cannot be read, and what is in it must not be passed over
    fs::remove_file(disk.beside("-shm")).unwrap();
    assert_eq!(as_nobody("read", &disk), "store_unreadable");
    assert_eq!(as_nobody("write", &disk), "store_unreadable");
    // nor is a file without a log, while others may be writing it
    write_once(&disk.db(), "large", 1024 * 1024).unwrap();
    fs::remove_file(disk.beside("-shm")).unwrap();
    fs::remove_file(disk.beside("-wal")).unwrap();
    assert_eq!(as_nobody("read", &disk), "store_unreadable");
    assert_eq!(as_nobody("write", &disk), "store_unreadable");
    assert_eq!(as_nobody("create", &disk), "store_unreadable");
    // a folder nobody may enter
    mode(disk.dir.path(), 0o000);
    assert_eq!(as_nobody("read", &disk), "store_unreadable");
    mode(disk.dir.path(), 0o700);
    assert_eq!(as_nobody("write", &disk), "ok");
    // a file that may be read only
    mode(&disk.db(), 0o400);
    assert_eq!(as_nobody("write", &disk), "store_unreadable");
    // another user's file
    mode(&disk.db(), 0o600);
    chown(disk.db(), Some(0), Some(0)).unwrap();
    assert_eq!(as_nobody("read", &disk), "store_unreadable");
}

#[test]
fn a_read_changes_no_byte() {
    let disk = Disk::new();
    write_once(&disk.db(), "row", 1).unwrap();
    let files = || -> BTreeMap<OsString, Vec<u8>> {
        let listed = fs::read_dir(disk.dir.path()).unwrap().map(Result::unwrap);
        // The log's index is shared memory, in which readers leave their marks.
        let kept = listed.filter(|entry| !entry.path().to_string_lossy().ends_with("-shm"));
        kept.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect()
    };
    let before = files();
    let names: Vec<_> = before.keys().map(|name| name.to_str().unwrap()).collect();
    assert_eq!(names, ["t.db", "t.db-gate", "t.db-wal"]);
    assert!(!before[OsStr::new("t.db-wal")].is_empty());
    let mut reader = start("read", &disk.db(), &Start::default());
    reader.said("1");
    assert!(reader.end().success());
    assert!(files() == before, "nothing but what the writer left");
}
