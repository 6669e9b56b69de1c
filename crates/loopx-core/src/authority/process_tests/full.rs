//! A disk without space, and a filesystem that nobody can write.

use super::*;
use crate::process::tests::skipped;

#[test]
fn a_full_file_is_disk_full_and_loses_nothing() {
    let disk = Disk::new();
    let mut writer = Writer::open(&disk.db(), &SCHEMA).unwrap();
    write(&mut writer, "kept", 100).unwrap();
    let limit = |writer: &mut Writer, pages: u32| {
        let tx = writer.begin_immediate().unwrap();
        tx.query_row(&format!("PRAGMA max_page_count={pages}"), [], |_| Ok(())).unwrap();
        tx.commit().unwrap();
    };
    limit(&mut writer, 3);
    let refused = write(&mut writer, "too much", 64 * 1024).unwrap_err();
    assert_eq!(refused.code(), Code::DiskFull);
    assert!(refused.code().retryable());
    assert_eq!(count(&disk.db()).unwrap(), 1);
    // when there is space again the same connection goes on
    limit(&mut writer, 1_000_000);
    write(&mut writer, "fits", 64 * 1024).unwrap();
    assert_eq!(count(&disk.db()).unwrap(), 2);
}

/// A small filesystem in memory, gone with the value.
struct Mount {
    dir: tempfile::TempDir,
}

impl Mount {
    /// `None`, said aloud, where mounting is not permitted.
    fn new(kib: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let options = format!("size={kib}k,mode=0700");
        let mount = Self { dir };
        if mount.run("mount", &["-t", "tmpfs", "-o", &options, "tmpfs"]) {
            return Some(mount);
        }
        skipped("mounting is not permitted");
        None
    }

    fn run(&self, program: &str, args: &[&str]) -> bool {
        command(program)
            .args(args)
            .arg(self.dir.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    fn read_only(&self) {
        assert!(self.run("mount", &["-o", "remount,ro"]));
    }

    fn enlarge(&self) {
        assert!(self.run("mount", &["-o", "remount,size=4m"]));
    }

    fn writable(&self) {
        assert!(self.run("mount", &["-o", "remount,rw"]));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.run("umount", &[]);
    }
}

#[test]
fn a_full_filesystem_is_disk_full_and_loses_nothing() {
    let Some(mount) = Mount::new(512) else { return };
    let db = mount.file("t.db");
    drop(Writer::open_or_create(&db, &SCHEMA).unwrap());
    let mut written = 0;
    let refused = loop {
        match write_once(&db, "row", 16 * 1024) {
            Ok(()) => written += 1,
            Err(e) => break e,
        }
        assert!(written < 100, "the filesystem does not fill");
    };
    assert_eq!(refused.code(), Code::DiskFull, "{refused:?}");
    assert_eq!(count(&db).unwrap(), written);
    // when it is full to the last byte, so that not even the log's index can grow, it is still typed
    fs::write(mount.file("ballast"), vec![1_u8; 512 * 1024]).unwrap_err();
    assert_eq!(code(write_once(&db, "row", 16 * 1024)), Code::DiskFull);
    let other = mount.file("other.db");
    assert_eq!(code(Writer::open_or_create(&other, &SCHEMA)), Code::DiskFull);
    // when there is space again all is there, and what was begun can be finished
    mount.enlarge();
    assert_eq!(count(&db).unwrap(), written);
    drop(Writer::open_or_create(&other, &SCHEMA).unwrap());
    assert_eq!(count(&other).unwrap(), 0);
}

#[test]
fn a_restore_that_finds_no_space_leaves_all_as_it_was() {
    let Some(mount) = Mount::new(1536) else { return };
    let home = mount.file("home");
    ledger::fill_with_backup(&home);
    let mut ballast = 1536 * 1024;
    while ballast > 0 && fs::write(mount.file("ballast"), vec![1_u8; ballast]).is_err() {
        ballast -= 4096;
    }
    assert_eq!(code(ledger::restore(&home)), Code::DiskFull);
    assert!(!ledger::is_restored(&home) && ledger::todos(&home) == 4);
    let left = fs::read_dir(home.join("profiles/default/backups")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "nothing half-written lies there");
    mount.enlarge();
    ledger::restore(&home).unwrap();
    assert!(ledger::is_restored(&home) && ledger::todos(&home) == 3);
}

#[test]
fn a_migration_that_finds_no_space_leaves_all_as_it_was() {
    let Some(mount) = Mount::new(1024) else { return };
    let home = mount.file("home");
    ledger::fill_before(&home);
    // given no space for the copy, and then none for the log
    let mut ballast = 1024 * 1024;
    while ballast > 0 && fs::write(mount.file("ballast"), vec![1_u8; ballast]).is_err() {
        ballast -= 4096;
    }
    assert_eq!(code(ledger::migrate(&home)), Code::DiskFull);
    assert_eq!((ledger::schema(&home), ledger::todos(&home)), (1, 3));
    let backups = home.join("profiles/default/backups");
    let left = fs::read_dir(&backups).map_or(0, Iterator::count);
    assert_eq!(left, 0, "nothing half-written lies there");
    // when there is space again, it ends
    mount.enlarge();
    ledger::migrate(&home).unwrap();
    assert_eq!((ledger::schema(&home), ledger::todos(&home)), (2, 3));
}

#[test]
fn a_read_only_mount_is_read_or_refused() {
    let Some(mount) = Mount::new(4096) else { return };
    let db = mount.file("t.db");
    drop(Writer::open_or_create(&db, &SCHEMA).unwrap());
    write_once(&db, "row", 1).unwrap();
    // with its log and the log's index
    mount.read_only();
    assert_eq!(count(&db).unwrap(), 1);
    assert_eq!(code(write_once(&db, "late", 1)), Code::StoreUnreadable);
    // with a log and no index: what is in the log must not be passed over
    mount.writable();
    fs::remove_file(mount.file("t.db-shm")).unwrap();
    mount.read_only();
    assert_eq!(code(count(&db)), Code::StoreUnreadable);
    // with no log at all
    mount.writable();
    write_once(&db, "large", 1024 * 1024).unwrap();
    assert_eq!(fs::metadata(mount.file("t.db-wal")).unwrap().len(), 0);
    fs::remove_file(mount.file("t.db-wal")).unwrap();
    fs::remove_file(mount.file("t.db-shm")).unwrap();
    mount.read_only();
    assert_eq!(count(&db).unwrap(), 2);
    assert!(!mount.file("t.db-wal").exists());
}
