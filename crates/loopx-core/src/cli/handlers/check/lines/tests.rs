//! Owns the tests of reading lines: encodings, ends of lines, and lines of any length.

use super::*;
use crate::boundary::inspect;

/// The lines of a text that is read as a file, and what the file is.
fn lines(bytes: &[u8]) -> (Shape, Vec<(u64, String)>) {
    let mut found = Vec::new();
    let shape = read(bytes, 1 << 30, &mut |piece| found.push((piece.line, piece.text.to_owned()))).unwrap();
    (shape, found)
}

fn utf16(text: &str, is_little: bool) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(|unit| if is_little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
}

#[test]
fn lines_are_numbered_whatever_ends_them() {
    let expected =
        |lines: &[&str]| (1..).zip(lines.iter().map(|line| (*line).to_owned())).collect::<Vec<_>>();
    let table: [(&[u8], &[&str]); 6] = [
        (b"", &[]),
        (b"a", &["a"]),
        (b"a\nb\n", &["a", "b"]),
        (b"a\r\n\r\nb", &["a", "", "b"]),
        (b"\n\n", &["", ""]),
        (b"a\xff\nb", &["a\u{fffd}", "b"]),
    ];
    for (bytes, wanted) in table {
        assert_eq!(lines(bytes), (Shape::Text, expected(wanted)), "{bytes:?}");
    }
}

#[test]
fn utf_16_is_read_where_it_says_so_also_across_steps() {
    let text = "Grüße 👩 x\r\n".repeat(20_000) + "end";
    for is_little in [true, false] {
        let (shape, found) = lines(&utf16(&text, is_little));
        assert_eq!((shape, found.len()), (Shape::Text, 20_001));
        assert!(found.iter().take(20_000).all(|(_, line)| line == "Grüße 👩 x"));
        assert_eq!(found.last().unwrap(), &(20_001, "end".to_owned()));
    }
    let (shape, found) = lines(&[0xff, 0xfe, b'a', 0, 0x00, 0xd8, b'b', 0, b'c']);
    assert_eq!((shape, found), (Shape::Text, vec![(1, "a\u{fffd}b".to_owned())]));
}

#[test]
fn a_nul_at_the_beginning_is_binary_and_later_it_is_a_character() {
    assert_eq!(lines(b"a\0b\n"), (Shape::Binary, Vec::new()));
    let mut late = vec![b'x'; SNIFF_BYTES];
    late.extend(b"\n\0y");
    let (shape, found) = lines(&late);
    assert_eq!((shape, found.last().unwrap().1.as_str()), (Shape::Text, "\0y"));
}

#[test]
fn more_than_is_read_is_said() {
    let shape = |max| read(&b"abc"[..], max, &mut |_| {}).unwrap();
    assert_eq!((shape(2), shape(3)), (Shape::Large, Shape::Text));
}

/// Where something is found in a text that is read as a file.
fn columns(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let read = read(text.as_bytes(), 1 << 30, &mut |piece| {
        assert!(piece.text.len() <= PIECE_BYTES);
        let leaks =
            inspect(piece.text).into_iter().filter(|leaked| piece.judged.contains(&leaked.after_chars));
        found.extend(leaks.map(|leaked| piece.after_chars + leaked.after_chars));
    });
    assert_eq!(read.unwrap(), Shape::Text);
    found
}

#[test]
fn what_stands_in_a_long_line_is_found_once_wherever_the_line_is_cut() {
    let token = format!("{}_{}", "ghp", "k3Jd82mXq0Zr7Lw5Ty9Pn4Bv6Hc1Gf8Sa2Ue");
    let cut = PIECE_BYTES - SEEN_BYTES;
    for (filler, width) in [(".", 1), ("é", 2)] {
        for at in [0, cut - 41, cut - 20, cut, PIECE_BYTES - 20, 2 * cut - 20] {
            let before = filler.repeat(at / width);
            let line = format!("{before} {token} {}", filler.repeat(PIECE_BYTES));
            assert_eq!(columns(&line), [before.chars().count() + 1], "{filler} at {at}");
        }
    }
    let all = format!("{token} ").repeat(12_000);
    let expected: Vec<_> = (0..12_000).map(|n| n * (token.len() + 1)).collect();
    assert_eq!(columns(&all), expected);
}
