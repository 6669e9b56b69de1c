//! The trust verbs as a person meets them: an audit, a damaged chain and its repair, exports and proofs.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use serde_json::{Value, json};

use crate::desk::{Desk, files};

/// The key of an event of the first Goal.
fn event(seq: u64) -> i64 {
    (1 << 32) + i64::try_from(seq).unwrap()
}

/// Changes one thing in the ledger's file.
fn change(desk: &Desk, sql: &str) {
    let file = rusqlite::Connection::open(desk.profile().join("authority.db")).unwrap();
    assert_eq!(file.execute(sql, []).unwrap(), 1, "{sql}");
}

fn damaged(seq: u64) -> Desk {
    let desk = Desk::with_work();
    change(&desk, &format!("UPDATE events SET payload=x'7b' WHERE id={}", event(seq)));
    desk
}

/// A desk with a Turn that settled, and its proof in a file.
fn proved() -> (Desk, Value) {
    let desk = Desk::with_work();
    desk.ok(&["todo", "add", "proved", "--validator", "true"]);
    let claimed = desk.ok(&["todo", "claim", "ship-it.4", "--as", "agent:coder"]);
    let own = claimed["own_id"].as_str().unwrap().to_owned();
    desk.ok(&["todo", "add", "another in between"]);
    desk.ok(&["todo", "done", "ship-it.4", "--own", &own, "--as", "agent:coder"]);
    desk.ok(&["todo", "add", "another after it"]);
    let proof = desk.ok(&["audit", "export", "--todo", "ship-it.4"]);
    (desk, proof)
}

fn write(desk: &Desk, text: &str) -> String {
    std::fs::write(desk.folder().join("proof.json"), text).unwrap();
    "proof.json".to_owned()
}

#[test]
fn an_audit_says_that_all_holds_and_names_what_does_not() {
    let desk = Desk::with_work();
    let all = desk.ok(&["audit", "verify"]);
    let goal = &all["items"][1];
    assert_eq!((&goal["goal_id"], &goal["folded"]), (&json!("ship-it"), &json!(true)), "{all}");
    assert_eq!(goal["events"], desk.events());
    let walked = desk.ok(&["audit", "verify", "--goal", "ship-it", "--chain-only"]);
    assert_eq!(walked["items"][0]["folded"], false);
    desk.refused(&["audit", "verify", "--goal", "nowhere"], "not_found", 2);
    change(&desk, &format!("UPDATE events SET hash=zeroblob(32) WHERE id={}", event(3)));
    let failed = desk.refused(&["audit", "verify", "--chain-only"], "check_failed", 1);
    assert_eq!(failed["details"]["audited"][1]["flaw"]["seq"], 3, "{failed}");
    let shown = desk.call(&["audit", "verify"]);
    assert!(shown.exit == 1 && shown.out.contains("event 3: the record does not follow"), "{shown:?}");
}

#[test]
fn fault_b12_a_damaged_chain_leaves_what_is_before_it_readable_and_is_found() {
    for seq in [1, 3, 5] {
        let desk = damaged(seq);
        // What SQLite keeps beside a file while somebody looks at it comes and goes.
        let kept = |desk: &Desk| {
            let mut all = files(&desk.path("home"));
            all.retain(|path, _| {
                let name = path.to_string_lossy();
                !name.ends_with("-shm") && !name.ends_with("-wal")
            });
            all
        };
        let before = kept(&desk);
        // then rows still answer, and so does what holds of the chain, with a finding
        for words in [&["status"][..], &["goal", "show"], &["todo", "list"], &["gate", "list"]] {
            desk.ok(words);
        }
        let log = desk.ok(&["log"]);
        let newest = log["items"][0]["seq"].as_u64().unwrap_or(0);
        assert_eq!((newest, &log["finding"]["seq"]), (seq - 1, &json!(seq)), "{log}");
        let export = desk.ok(&["goal", "export"]);
        assert_eq!(export["events"].as_array().unwrap().len() as u64, seq - 1);
        assert_eq!(export["finding"]["seq"], seq);
        assert_eq!(desk.ok(&["audit", "export"])["finding"]["seq"], seq);
        assert!(desk.call(&["log"]).err.contains(&format!("event {seq}:")));
        let doctor = desk.call(&["doctor"]);
        assert!(doctor.exit == 1 && doctor.out.contains(&format!("breaks at {seq}")), "{doctor:?}");
        assert!(doctor.out.contains("doctor --repair --dry-run"), "{doctor:?}");
        let planned = desk.ok(&["doctor", "--repair", "--dry-run"]);
        assert_eq!((&planned["repaired"], &planned["mended"][0]["kept"]), (&json!(false), &json!(seq - 1)));
        assert!(kept(&desk) == before, "a look changed a file");
        // and a repair mends it
        desk.refused(&["doctor", "--repair"], "unauthenticated", 6);
        let done = desk.proven(&["doctor", "--repair", "--op-id", "mend"]);
        let archive = desk.profile().join(done["archive"].as_str().unwrap());
        assert!(archive.is_file() && done["repaired"] == true, "{done}");
        // Of a chain that is damaged from its first event on, no Goal is left, and that is said.
        if seq == 1 {
            desk.refused(&["audit", "verify"], "orphaned_goal_state", 7);
        } else {
            desk.ok(&["audit", "verify"]);
        }
        assert_eq!(desk.proven(&["doctor", "--repair", "--op-id", "mend"])["receipt"]["replayed"], true);
    }
}

#[cfg(feature = "failpoints")]
#[test]
fn a_repair_that_is_killed_happened_or_did_not() {
    for (point, happened) in
        [("repair.archived", false), ("store.before_commit", false), ("store.after_commit", true)]
    {
        let desk = damaged(3);
        let token = desk.token_file();
        let words = ["doctor", "--repair", "--op-id", "mend", "--token-file", &token];
        let killed = desk
            .command(env!("CARGO_BIN_EXE_loopx-core"))
            .args(words)
            .env("LOOPX_FAILPOINT", format!("{point}=kill"))
            .output()
            .unwrap();
        assert_eq!(killed.status.code(), None, "{point}: {killed:?}");
        let verified = desk.json(&["audit", "verify"]).exit == 0;
        assert_eq!(verified, happened, "{point}");
        let again = desk.ok(&words);
        assert_eq!(again["receipt"]["replayed"], happened, "{point}");
        desk.ok(&["audit", "verify"]);
        let kept = files(&desk.profile());
        assert_eq!(
            kept.keys().filter(|path| path.to_string_lossy().contains("repair-")).count(),
            1,
            "{point}"
        );
    }
}

#[test]
fn an_exported_chain_is_verified_offline_line_by_line() {
    let desk = Desk::with_work();
    let all = desk.call(&["audit", "export"]).out;
    let file = write(&desk, &all);
    let checked = desk.ok(&["verify", &file]);
    assert_eq!((&checked["holds"], &checked["authentic"]), (&json!(true), &json!(false)), "{checked}");
    let head = checked["chain"]["head"]["hash"].as_str().unwrap().to_owned();
    assert_eq!(desk.ok(&["verify", &file, "--against", &head])["authentic"], true);
    desk.refused(&["verify", &file, "--against", &"0".repeat(64)], "check_failed", 1);
    write(&desk, &desk.call(&["audit", "export", "--since", "2"]).out);
    assert_eq!(desk.ok(&["verify", &file, "--against", &head])["chain"]["events"], desk.events() - 2);
    desk.refused(&["audit", "export", "--since", "99"], "invalid_argument", 2);
    let lines: Vec<&str> = all.lines().collect();
    let without = |at: usize| {
        let kept: Vec<_> =
            lines.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, line)| *line).collect();
        kept.join("\n")
    };
    for (what, text) in [
        ("a line is gone", without(2)),
        ("the tail is gone", without(lines.len() - 1)),
        ("two are swapped", [&[lines[0], lines[2], lines[1]][..], &lines[3..]].concat().join("\n")),
        ("a digest", all.replacen("\"payload_digest\":\"", "\"payload_digest\":\"0", 1)),
    ] {
        write(&desk, &text);
        assert!(desk.json(&["verify", &file]).exit != 0, "{what}");
    }
}

#[test]
fn a_proof_is_checked_without_a_profile_and_against_what_is_trusted() {
    let (desk, proof) = proved();
    assert_eq!(proof["validators"][0]["outcome"], "passed", "{proof}");
    assert_eq!(proof["incarnation"].as_str().unwrap().len(), 30);
    let others =
        proof["events"].as_array().unwrap().iter().filter(|event| event["payload"].is_null()).count();
    assert!(others > 0, "what is of another Todo is a digest alone");
    let file = write(&desk, &proof.to_string());
    let nowhere = Desk::empty();
    std::fs::write(nowhere.folder().join("proof.json"), proof.to_string()).unwrap();
    let checked = nowhere.ok(&["verify", "proof.json"]);
    assert_eq!((&checked["holds"], &checked["proof"]["todo_id"]), (&json!(true), &json!("ship-it.4")));
    assert!(!nowhere.profile().exists());
    // against a head that was noted at the end of the Turn, or later
    for hash in [&checked["proof"]["settled"], &proof["head"]["hash"]] {
        assert_eq!(
            nowhere.ok(&["verify", "proof.json", "--against", hash.as_str().unwrap()])["authentic"],
            true
        );
    }
    let first = proof["events"][0]["hash"].as_str().unwrap();
    nowhere.refused(&["verify", "proof.json", "--against", first], "check_failed", 1);
    assert_eq!(desk.ok(&["verify", &file, "--against-ledger"])["authentic"], true);
    let stranger = Desk::with_work();
    std::fs::write(stranger.folder().join("proof.json"), proof.to_string()).unwrap();
    stranger.refused(&["verify", "proof.json", "--against-ledger"], "check_failed", 1);
    // the text form is the same object
    let shown = desk.call(&["audit", "export", "--todo", "ship-it.4"]).out;
    write(&desk, &shown);
    desk.ok(&["verify", &file]);
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let turn = claimed["turn_id"].as_str().unwrap();
    desk.refused(&["audit", "export", "--turn", turn], "not_ready", 1);
}

/// An edit of a proof.
type Change = Box<dyn Fn(&mut Value)>;

#[test]
fn a_proof_that_was_changed_is_refused_at_the_first_thing_that_does_not_agree() {
    let (desk, proof) = proved();
    let events = proof["events"].as_array().unwrap().len();
    let last = events - 1;
    let set = |path: String, value: Value| -> Change {
        Box::new(move |proof| *proof.pointer_mut(&path).unwrap_or_else(|| panic!("{path}")) = value.clone())
    };
    let payload = proof["events"][last]["payload"].as_str().unwrap().to_owned();
    let changes: Vec<(&str, Change)> = vec![
        (
            "a payload",
            set(format!("/events/{last}/payload"), json!(payload.replacen("agent:coder", "agent:other", 1))),
        ),
        (
            "a payload is gone",
            Box::new(move |proof| {
                proof["events"][0].as_object_mut().unwrap().remove("payload");
            }),
        ),
        ("a hash", set("/events/1/hash".into(), json!("0".repeat(64)))),
        ("a digest", set("/events/1/payload_digest".into(), json!("0".repeat(64)))),
        ("a number", set("/events/1/seq".into(), json!(99))),
        ("two are swapped", Box::new(|proof| proof["events"].as_array_mut().unwrap().swap(1, 2))),
        (
            "the tail is cut",
            Box::new(|proof| {
                proof["events"].as_array_mut().unwrap().pop();
            }),
        ),
        (
            "the head is cut",
            Box::new(|proof| {
                proof["events"].as_array_mut().unwrap().remove(0);
            }),
        ),
        ("the rest", set("/rest".into(), json!([]))),
        ("the head", set("/head/seq".into(), json!(1))),
        ("the link before", set("/before/hash".into(), json!("1".repeat(64)))),
        ("a receipt's outcome", set("/receipts/0/outcome".into(), json!({}))),
        ("a receipt's actor", set("/receipts/0/actor".into(), json!("user:eve"))),
        ("a receipt's number", set("/receipts/0/seq".into(), json!(1))),
        (
            "a receipt is gone",
            Box::new(|proof| {
                proof["receipts"].as_array_mut().unwrap().remove(0);
            }),
        ),
        ("a verdict", set("/validators/0/outcome".into(), json!("failed"))),
        ("the validators", set("/validators".into(), json!([]))),
        ("a tree", set("/trees".into(), json!({"before": "2".repeat(64)}))),
        ("the Todo", set("/todo_id".into(), json!("ship-it.1"))),
        ("the seal", set("/seal".into(), json!("3".repeat(64)))),
    ];
    for (what, change) in changes {
        let mut changed = proof.clone();
        change(&mut changed);
        let file = write(&desk, &changed.to_string());
        let refused = desk.json(&["verify", &file]);
        assert_eq!((refused.exit, refused.code().as_str()), (1, "check_failed"), "{what}: {refused:?}");
    }
}

#[test]
fn what_is_no_proof_is_refused_with_a_type() {
    let (desk, proof) = proved();
    let text = proof.to_string();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let deep = format!("{{\"schema_version\":\"loopx_proof_v1\",\"events\":{}", "[".repeat(100_000));
    for (what, text, code) in [
        ("truncated", text[..text.len() / 2].to_owned(), "invalid_argument"),
        ("nothing", String::new(), "invalid_argument"),
        ("no object", "[]".to_owned(), "invalid_argument"),
        ("deep", deep, "invalid_argument"),
        ("two of a key", with("\"trees\":", "\"trees\":{},\"trees\":"), "invalid_argument"),
        ("an unknown field", with("\"trees\":", "\"more\":1,\"trees\":"), "unknown_field"),
        ("an unknown field below", with("\"before\":{", "\"before\":{\"more\":1,"), "unknown_field"),
        ("a wrong type", with("\"rest\":[", "\"rest\":[7,"), "invalid_argument"),
        ("another form", with("loopx_proof_v1", "loopx_proof_v9"), "unsupported_version"),
    ] {
        let file = write(&desk, &text);
        let refused = desk.json(&["verify", &file]);
        assert_eq!((refused.exit, refused.code().as_str()), (2, code), "{what}: {refused:?}");
    }
    let huge = std::fs::File::create(desk.folder().join("proof.json")).unwrap();
    huge.set_len(65 * 1024 * 1024).unwrap();
    desk.refused(&["verify", "proof.json"], "payload_too_large", 2);
    desk.refused(&["verify", "nowhere.json"], "not_found", 2);
    desk.refused(&["verify", "."], "invalid_argument", 2);
}
