//! Evidence from outside: what it may point at, and who is shown where it points.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use crate::desk::Desk;

const SECRET: &str = "https://example.org/for-ana-alone";

fn add(desk: &Desk, pointer: &str, more: &[&str]) -> String {
    let added = desk.ok(&[&["evidence", "add", pointer], more].concat());
    added["evidence"]["evidence_id"].as_str().unwrap().to_owned()
}

#[test]
fn the_owner_sees_where_owners_evidence_points_and_an_export_does_not_say_it() {
    let desk = Desk::with_work();
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    // given the owner's evidence, with a digest, and a piece for everybody
    let digest = "a".repeat(64);
    let theirs = ["--kind", "url", "--privacy", "owner", "--digest", &digest, "--todo", "ship-it.1"];
    let id = add(&desk, SECRET, &theirs);
    add(&desk, "https://example.org/for-all", &["--kind", "url"]);
    // and a result that names the owner's
    let own = claimed["own_id"].as_str().unwrap();
    let done = ["todo", "done", "ship-it.1", "--own", own, "--evidence", &id, "--as", "agent:coder"];
    desk.refused(&done, "held", 6);
    let turn = claimed["turn_id"].as_str().unwrap();
    desk.proven(&["gate", "resolve", gate(&desk).as_str(), "--approve"]);
    // then the owner, on the own terminal, sees it everywhere, and that it is the owner's
    for words in [&["evidence", "list"][..], &["evidence", "show", &id], &["log"]] {
        assert!(desk.call(words).out.contains(SECRET), "{words:?}");
        assert!(desk.ok(words).to_string().contains(SECRET), "{words:?}");
    }
    assert!(desk.ok(&["turn", "show", turn]).to_string().contains(SECRET));
    let listed = desk.ok(&["evidence", "list"]);
    let owners = |piece: &&serde_json::Value| piece["privacy"] == "owner";
    assert_eq!(listed["items"].as_array().unwrap().iter().filter(owners).count(), 2, "{listed}");
    // and what is handed on has its kind and digest in each of its places, and never the pointer
    let export = desk.ok(&["goal", "export"]);
    assert!(!export.to_string().contains("ana-alone"), "{export}");
    assert!(export.to_string().contains("for-all"));
    let pieces = export["evidence"].as_array().unwrap();
    assert_eq!(pieces.iter().filter(owners).count(), 2, "{pieces:?}");
    for piece in pieces.iter().filter(owners) {
        let shown = (&piece["pointer"], &piece["kind"], &piece["digest"]);
        assert_eq!(shown, (&"[owner]".into(), &"url".into(), &digest.as_str().into()));
    }
}

/// The gate that asks for the result to be accepted.
fn gate(desk: &Desk) -> String {
    let gates = desk.ok(&["gate", "list"]);
    gates["items"][0]["gate_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_file_is_looked_at_before_it_is_evidence() {
    let desk = Desk::with_work();
    let file = desk.folder().join("out.txt");
    let outside = desk.path("outside.txt");
    for path in [&file, &outside] {
        std::fs::write(path, "abc").unwrap();
    }
    std::os::unix::fs::symlink(&outside, desk.folder().join("link")).unwrap();
    let events = desk.events();
    let other = "0".repeat(64);
    for (words, code) in [
        (&["none.txt"][..], "not_found"),
        (&["link"], "invalid_argument"),
        (&["."], "invalid_argument"),
        (&["out.txt", "--digest", &other], "invalid_argument"),
    ] {
        desk.refused(&[&["evidence", "add"], words, &["--kind", "file"]].concat(), code, 2);
    }
    assert_eq!(desk.events(), events, "what is refused writes nothing");
    // what it holds is recorded, by its place in the tree
    let add = ["evidence", "add", "./out.txt", "--kind", "file", "--op-id", "once"];
    let added = desk.ok(&add);
    let id = added["evidence"]["evidence_id"].as_str().unwrap();
    let shown = desk.ok(&["evidence", "show", id])["evidence"].clone();
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!((&shown["pointer"], &shown["digest"]), (&"out.txt".into(), &abc.into()));
    // and an honest repetition finds its receipt, whatever became of the file
    std::fs::write(&file, "changed").unwrap();
    assert_eq!(desk.ok(&add)["receipt"]["replayed"], true);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(desk.ok(&add)["receipt"]["replayed"], true);
    let another = ["evidence", "add", "none.txt", "--kind", "file", "--op-id", "once"];
    desk.refused(&another, "operation_conflict", 4);
}
