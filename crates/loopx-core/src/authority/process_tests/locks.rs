//! Several processes at one lock.

use std::time::Duration;

use rustix::process::Signal;

use super::*;
use crate::authority::clock::monotonic;

fn timed<T>(step: impl FnOnce() -> T) -> (T, Duration) {
    let start = monotonic();
    let result = step();
    (result, monotonic().saturating_duration_since(start))
}

#[test]
fn eight_writers_all_get_their_turn() {
    let disk = Disk::new();
    let mut writers: Vec<Role> = (0..8).map(|_| start("write 200", &disk.db(), &Start::default())).collect();
    for writer in &mut writers {
        writer.said("ready");
    }
    writers.iter_mut().for_each(Role::go);
    let mut longest_ms = Vec::new();
    for mut writer in writers {
        longest_ms.push(writer.next().unwrap().parse::<u64>().unwrap());
        writer.said("ok");
        assert!(writer.end().success());
    }
    println!("longest waits, one a writer, in ms: {longest_ms:?}");
    assert_eq!(count(&disk.db()).unwrap(), 1600);
}

#[test]
fn regress_the_log_begins_anew_while_eight_write() {
    let disk = Disk::new();
    let wal_bytes = || fs::metadata(disk.beside("-wal")).map_or(0, |meta| meta.len());
    // One that keeps the file open, so that no other closes it last and empties the log.
    let _open = Writer::open(&disk.db(), &SCHEMA).unwrap();
    let mut writers: Vec<Role> =
        (0..8).map(|_| start("write 400 long", &disk.db(), &Start::default())).collect();
    for writer in &mut writers {
        writer.said("ready");
    }
    writers.iter_mut().for_each(Role::go);
    // A log that begins anew keeps its length, so what the first of them finds at its end is the longest so far.
    writers[0].next().unwrap();
    let longest = wal_bytes();
    for (n, mut writer) in writers.into_iter().enumerate() {
        if n > 0 {
            writer.next().unwrap();
        }
        writer.said("ok");
        assert!(writer.end().success());
    }
    assert_eq!(count(&disk.db()).unwrap(), 3200);
    // 3,200 commits of three pages or more; it is copied back every 1,000 pages.
    assert!(longest < 2000 * 4120, "the log is {} KiB long", longest / 1024);
}

#[test]
fn eight_first_writers_make_one_schema() {
    for _ in 0..5 {
        let disk = Disk::empty();
        let writers: Vec<Role> = (0..8).map(|_| start("create", &disk.db(), &Start::default())).collect();
        for mut writer in writers {
            writer.said("ok");
        }
        assert_eq!(count(&disk.db()).unwrap(), 0);
    }
}

#[test]
fn fault_b14_a_held_lock_ends_the_wait_typed_and_nothing_is_written() {
    let disk = Disk::new();
    let mut writer = Writer::open(&disk.db(), &SCHEMA).unwrap();
    let mut holder = start("hold", &disk.db(), &Start::default());
    holder.said("held");
    // while it is held, readers read
    assert_eq!(count(&disk.db()).unwrap(), 0);
    let (refused, took) = timed(|| code(write(&mut writer, "late", 1)));
    assert_eq!(refused, Code::StoreBusy);
    assert!(took >= Duration::from_millis(4900) && took < Duration::from_secs(8), "{took:?}");
    // when it is free again the same connection works
    holder.go();
    holder.said("ok");
    assert_eq!(count(&disk.db()).unwrap(), 1);
    write(&mut writer, "now", 1).unwrap();
    assert_eq!(count(&disk.db()).unwrap(), 2);
}

#[test]
fn fault_b14_a_stopped_holder_is_waited_for_and_its_death_frees_the_lock() {
    let disk = Disk::new();
    let mut holder = start("hold", &disk.db(), &Start::default());
    holder.said("held");
    holder.signal(Signal::STOP);
    let (refused, took) = timed(|| code(write_once(&disk.db(), "late", 1)));
    assert_eq!(refused, Code::StoreBusy);
    assert!(took < Duration::from_secs(8), "{took:?}");
    holder.signal(Signal::KILL);
    holder.end();
    write_once(&disk.db(), "now", 1).unwrap();
    assert_eq!(count(&disk.db()).unwrap(), 1);
}

#[test]
fn a_thousand_short_writers_leave_a_short_log() {
    let disk = Disk::new();
    let longest = (0..1000)
        .map(|_| {
            write_once(&disk.db(), "short", 300).unwrap();
            fs::metadata(disk.beside("-wal")).unwrap().len()
        })
        .max();
    assert!(longest.unwrap() <= 1024 * 1024, "{longest:?}");
    assert_eq!(count(&disk.db()).unwrap(), 1000);
}

#[test]
fn a_short_writer_copies_nothing_back() {
    // A checkpoint at each close would cost every short process three fsyncs more.
    let disk = Disk::new();
    let before = fs::read(disk.db()).unwrap();
    for _ in 0..3 {
        let mut writer = start("write", &disk.db(), &Start::default());
        writer.said("ok");
        assert!(writer.end().success());
    }
    assert!(fs::read(disk.db()).unwrap() == before);
    assert_eq!(count(&disk.db()).unwrap(), 3);
}

#[test]
fn a_dropped_transaction_leaves_nothing_and_a_dropped_writer_a_short_log() {
    let disk = Disk::new();
    let mut writer = Writer::open(&disk.db(), &SCHEMA).unwrap();
    write(&mut writer, "large", 2 * 1024 * 1024).unwrap();
    insert(&writer.begin_immediate().unwrap(), "lost", 1).unwrap();
    drop(writer);
    assert_eq!(count(&disk.db()).unwrap(), 1);
    assert_eq!(fs::metadata(disk.beside("-wal")).unwrap().len(), 0);
}

#[test]
fn a_snapshot_stays_as_it_was_while_others_write() {
    let disk = Disk::new();
    write_once(&disk.db(), "first", 1).unwrap();
    let mut reader = Reader::open(&disk.db(), &SCHEMA).unwrap();
    let before = reader.data_version().unwrap();
    let rows = |conn: &rusqlite::Connection| -> i64 {
        conn.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
    };
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(rows(&snapshot), 1);
    let mut writer = start("write", &disk.db(), &Start::default());
    writer.said("ok");
    assert_eq!(rows(&snapshot), 1);
    drop(snapshot);
    assert_ne!(reader.data_version().unwrap(), before);
    assert_eq!(rows(&reader.snapshot().unwrap()), 2);
}
