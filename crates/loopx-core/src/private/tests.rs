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
