//! What a refusal repeats of what was typed: little of it, and nothing that hides.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use crate::desk::Desk;

/// Every place where a word of the caller's comes back in a refusal.
const PLACES: &[&[&str]] = &[
    &["token", "revoke", "WORD"],
    &["todo", "show", "WORD"],
    &["gate", "show", "WORD"],
    &["turn", "show", "WORD"],
    &["evidence", "show", "WORD"],
    &["goal", "show", "WORD"],
    &["agent", "show", "WORD"],
    &["todo", "list", "--goal", "WORD"],
    &["todo", "list", "--cursor", "WORD"],
    &["gate", "list", "--cursor", "WORD"],
    &["todo", "list", "--state", "WORD"],
    &["todo", "add", "x", "--as", "WORD"],
    &["todo", "add", "x", "--op-id", "WORD WORD"],
    &["todo", "add", "x", "--depends-on", "WORD"],
    &["todo", "add", "x", "--validator", "WORD"],
    &["todo", "add", "x", "--scope", "/WORD"],
    &["todo", "add", "x", "--capability", "WORD!"],
    &["todo", "defer", "ship-it.1", "--wake", "gate:WORD"],
    &["turn", "run", "--agent", "coder", "--host", "WORD"],
    &["evidence", "add", "/WORD", "--kind", "file"],
    &["config", "get", "WORD"],
    &["config", "set", "list.page", "WORD"],
    &["status", "--profile", "WORD"],
    &["WORD"],
    &["todo", "WORD"],
    &["status", "--WORD"],
    &["completions", "WORD"],
    &["man", "WORD"],
];

#[test]
fn regress_a_huge_argument_is_clipped_wherever_it_comes_back() {
    let desk = Desk::with_work();
    for word in ["x".repeat(60_000), "a\u{1b}[31mb".repeat(5000), "7".repeat(60_000)] {
        for place in PLACES {
            let words: Vec<_> = place.iter().map(|part| part.replace("WORD", &word)).collect();
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            for ended in [desk.call(&words), desk.json(&words)] {
                assert_ne!(ended.exit, 0, "{place:?}");
                let said = ended.err + &ended.out;
                assert!(
                    said.len() < 4000,
                    "{place:?}: {} bytes: {}",
                    said.len(),
                    said.get(..300).unwrap_or_default()
                );
            }
        }
    }
}

#[test]
fn regress_a_control_character_comes_back_as_its_escape() {
    let desk = Desk::with_work();
    for place in PLACES {
        let words: Vec<_> = place.iter().map(|part| part.replace("WORD", "a\u{1b}[2Jb\u{7}c")).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let error = desk.json(&words).json()["error"].clone();
        let message = error["message"].as_str().unwrap();
        assert!(!error.to_string().contains("\\u001b") && !message.contains('\u{7}'), "{place:?}: {error}");
        // What is repeated is repeated whole.
        assert!(!message.contains("[2J") || message.contains("a\\u{1b}[2Jb\\u{7}c"), "{place:?}: {message}");
    }
}

#[test]
fn evidence_that_points_out_of_the_work_tree_is_refused() {
    let desk = Desk::with_work();
    let events = desk.events();
    for pointer in ["../../x", "/etc/passwd", "C:\\x", "~/x", "file:///x", "a/../../x"] {
        for kind in ["file", "url", "commit", "check"] {
            let error = desk.refused(&["evidence", "add", pointer, "--kind", kind], "invalid_argument", 2);
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("a relative path inside the work tree, a URL or a commit"), "{message}");
        }
    }
    assert_eq!(desk.events(), events);
    std::fs::create_dir(desk.folder().join("a")).unwrap();
    std::fs::write(desk.folder().join("a/b.txt"), "b").unwrap();
    for (pointer, kind) in [
        ("a/b.txt", "file"),
        ("https://example.org/../x", "url"),
        ("9f2c1e0", "commit"),
        ("../ is above", "note"),
    ] {
        desk.ok(&["evidence", "add", pointer, "--kind", kind]);
    }
}
