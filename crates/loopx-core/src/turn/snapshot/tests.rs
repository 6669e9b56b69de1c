//! Owns what is claimed of the parts alone: the form of paths and of a picture's file.

use super::{
    picture::{self, Entry, Form, Oid, Picture, Stat},
    record::{decode, encode},
};

#[test]
fn a_path_of_any_bytes_comes_back_as_it_was() {
    for path in [&b"plain"[..], b"a b/c\n", b"50%41", b"w\xff\xfe/%", "\u{202e}x".as_bytes()] {
        assert_eq!(decode(&encode(path)), path, "{}", encode(path));
    }
    assert_eq!(encode(b"w\xff%"), "w%ff%25");
}

#[test]
fn a_picture_is_read_as_written_and_a_damaged_one_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("picture");
    let oid = Oid::parse(b"0123456789012345678901234567890123456789");
    let entry = |form, oid| Entry { form, oid, stored: true, stat: Stat::default() };
    let picture: Picture =
        [(b"a\tb\n".to_vec(), entry(Form::File, oid)), (b"\xff".to_vec(), entry(Form::Large, None))].into();
    let bytes = picture::encode(&picture, None);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(picture::read(&path), Some(picture));
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(picture::read(&path), None);
}
