//! Tests of the owner-local store.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn body(kind: Kind, id: &str, text: &str, at: i64) -> Body {
    Body { kind, id: id.into(), owner_turn: Some("trn_1".into()), created_at_ms: at, bytes: text.into() }
}

#[test]
fn bodies_come_back_by_kind_and_id() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("private.db");
    let mut store = PrivateStore::at(&path);
    let bodies = [body(Kind::Result, "r1", "one", 10), body(Kind::Diagnostics, "r1", "two", 11)];
    // given nothing was put, no file appears
    assert_eq!(store.latest(Kind::Result, "r1").unwrap(), None);
    store.put_all(&[]).unwrap();
    assert!(!path.exists());
    // when two are put, twice
    store.put_all(&bodies).unwrap();
    store.put_all(&bodies).unwrap();
    drop(store);
    // then another process finds each, and only the owner can read the file
    let mut store = PrivateStore::at(&path);
    for body in &bodies {
        assert_eq!(store.latest(body.kind, &body.id).unwrap().as_ref(), Some(body));
    }
    for name in ["private.db", "private.db-wal", "private.db-shm"] {
        let mode = std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn another_content_under_the_same_id_replaces_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = PrivateStore::at(&dir.path().join("private.db"));
    let (first, second) = (body(Kind::Result, "r1", "one", 10), body(Kind::Result, "r1", "other", 11));
    let mut latest = |put: &Body| {
        store.put_all(std::slice::from_ref(put)).unwrap();
        store.latest(Kind::Result, "r1").unwrap()
    };
    assert_eq!(latest(&first), Some(first.clone()));
    assert_eq!(latest(&second), Some(second));
    // what is kept again is the latest again
    assert_eq!(latest(&first), Some(first));
}

#[test]
fn too_much_is_refused_and_nothing_of_the_batch_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("private.db");
    let mut store = PrivateStore::at(&path);
    for kind in Kind::ALL {
        let mut large = body(*kind, "x", "", 0);
        large.bytes = vec![0; kind.max_bytes() + 1];
        let refused = store.put_all(&[body(Kind::Result, "good", "one", 0), large.clone()]).unwrap_err();
        assert_eq!(refused.code(), Code::PayloadTooLarge);
        assert!(!path.exists());
        large.bytes.pop();
        PrivateStore::at(&dir.path().join(kind.as_str())).put_all(&[large]).unwrap();
    }
    for bad in ["", "a\0b", &"i".repeat(161)] {
        assert_eq!(store.put_all(&[body(Kind::Result, bad, "", 0)]).unwrap_err().code(), Code::InvalidId);
    }
}

#[test]
fn a_changed_body_is_not_handed_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("private.db");
    let mut store = PrivateStore::at(&path);
    store.put_all(&[body(Kind::Result, "r1", "one", 10)]).unwrap();
    drop(store);
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute("UPDATE bodies SET bytes=x'00'", []).unwrap();
    drop(conn);
    assert_eq!(PrivateStore::at(&path).latest(Kind::Result, "r1").unwrap_err().code(), Code::StoreCorrupt);
}

#[test]
fn debug_shows_no_content() {
    let text = format!("{:?}", body(Kind::Hosting, "h", "secret-handle", 1));
    assert!(!text.contains("secret-handle") && text.contains("13 bytes"), "{text}");
}

#[test]
fn the_last_body_of_an_id_is_found_without_its_digest() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = PrivateStore::at(&dir.path().join("private.db"));
    assert_eq!(store.latest(Kind::Tried, "f").unwrap(), None);
    let bodies = [
        body(Kind::Tried, "f", "old", 10),
        body(Kind::Tried, "f", "new", 11),
        body(Kind::Hosting, "f", "x", 12),
    ];
    store.put_all(&bodies).unwrap();
    assert_eq!(store.latest(Kind::Tried, "f").unwrap().as_ref(), Some(&bodies[1]));
    assert_eq!(store.latest(Kind::Tried, "g").unwrap(), None);
}

#[test]
fn regress_a_half_made_store_holds_nothing_and_the_next_write_completes_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("private.db");
    std::fs::write(&path, "").unwrap();
    let mut store = PrivateStore::at(&path);
    assert!(store.latest(Kind::Result, "r1").unwrap().is_none());
    store.put_all(&[body(Kind::Result, "r1", "it", 1)]).unwrap();
    assert_eq!(store.latest(Kind::Result, "r1").unwrap().unwrap().bytes, b"it");
}

fn owned(turn: &str, kind: Kind, id: &str, text: &str, at: i64) -> Body {
    Body { owner_turn: Some(turn.into()), ..body(kind, id, text, at) }
}

#[test]
fn what_is_purged_is_gone_and_told_from_what_never_was_and_from_what_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("private.db");
    let mut store = PrivateStore::at(&path);
    assert_eq!(store.owners("", 9).unwrap(), [], "no file appears");
    assert!(!store.is_purged(Kind::Result, "r1").unwrap() && !path.exists());
    let secret = "a word that nobody else may read";
    store
        .put_all(&[
            owned("trn_1", Kind::Result, "r1", secret, 10),
            owned("trn_1", Kind::Diagnostics, "r1", "more", 12),
            owned("trn_2", Kind::Result, "r2", "stays", 11),
            owned("trn_2", Kind::Ending, "empty", "", 11),
        ])
        .unwrap();
    let owner = |turn: &str, newest_ms, count, bytes: usize| Owner {
        turn: turn.into(),
        newest_ms,
        count,
        bytes: u64::try_from(bytes).unwrap(),
    };
    let both = [owner("trn_1", 12, 2, secret.len() + 4), owner("trn_2", 11, 1, 5)];
    assert_eq!(store.owners("", 9).unwrap(), both);
    assert_eq!(store.owners("trn_1", 9).unwrap(), both[1..]);
    store.purge(&[("trn_1".into(), Purge::Content)]).unwrap();
    assert_eq!(store.latest(Kind::Result, "r1").unwrap(), None);
    assert!(store.is_purged(Kind::Result, "r1").unwrap());
    for (kind, id) in [(Kind::Result, "r2"), (Kind::Ending, "empty"), (Kind::Result, "never")] {
        assert!(!store.is_purged(kind, id).unwrap(), "{id}");
    }
    assert_eq!(store.owners("", 9).unwrap(), both[1..], "nothing is left of it to go");
    // its digest stands, and what it held is nowhere in the file
    drop(store);
    let file = rusqlite::Connection::open(&path).unwrap();
    let digest: [u8; 32] = file
        .query_row("SELECT digest FROM bodies WHERE id='r1' AND kind='result'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(digest, body(Kind::Result, "r1", secret, 0).digest());
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
    // what is damaged is not taken for purged
    file.execute("UPDATE bodies SET bytes=x'00' WHERE id='r1' AND kind='result'", []).unwrap();
    drop(file);
    let mut store = PrivateStore::at(&path);
    assert_eq!(store.latest(Kind::Result, "r1").unwrap_err().code(), Code::StoreCorrupt);
    assert!(!store.is_purged(Kind::Result, "r1").unwrap());
    // and kept again, it is back
    let again = owned("trn_1", Kind::Diagnostics, "r1", "more", 20);
    store.put_all(std::slice::from_ref(&again)).unwrap();
    assert_eq!(store.latest(Kind::Diagnostics, "r1").unwrap(), Some(again));
}

#[test]
fn of_what_no_fact_points_at_nothing_goes_that_came_since() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = PrivateStore::at(&dir.path().join("private.db"));
    let (old, new) =
        (owned("trn_1", Kind::Result, "r1", "old", 10), owned("trn_1", Kind::Result, "r2", "new", 20));
    store.put_all(&[old, new.clone()]).unwrap();
    store.purge(&[("trn_1".into(), Purge::Whole { until_ms: 10 })]).unwrap();
    assert_eq!(store.latest(Kind::Result, "r1").unwrap(), None);
    assert!(!store.is_purged(Kind::Result, "r1").unwrap(), "it was garbage");
    assert_eq!(store.latest(Kind::Result, "r2").unwrap(), Some(new));
}

#[test]
fn a_file_of_which_most_is_free_gets_smaller_and_keeps_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("private.db");
    let mut store = PrivateStore::at(&path);
    let large = "x".repeat(900_000);
    for n in 0..8 {
        store.put_all(&[owned("trn_1", Kind::Diagnostics, &format!("d{n}"), &large, n)]).unwrap();
    }
    let [first, second] = ["one", "other"].map(|text| owned("trn_2", Kind::Result, "r", text, 9));
    store.put_all(&[second, first.clone()]).unwrap();
    assert!(!store.shrink().unwrap(), "nothing is free");
    store.purge(&[("trn_1".into(), Purge::Content)]).unwrap();
    let before = std::fs::metadata(&path).unwrap().len();
    assert!(store.shrink().unwrap());
    assert_eq!(store.latest(Kind::Result, "r").unwrap(), Some(first), "the last is the last");
    drop(store);
    let file = rusqlite::Connection::open(&path).unwrap();
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < before / 4);
}
