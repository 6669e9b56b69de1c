//! `gc`: what is kept no longer goes, whatever happens meanwhile, and nothing else does.
#![expect(clippy::disallowed_methods, reason = "a test makes things as old as it needs them")]

use std::{
    fs::{self, File},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use serde_json::Value;

use super::{
    midrun::Working,
    place::{Answer, Place, answer},
};
#[cfg(all(feature = "failpoints", feature = "tier"))]
use super::{snapshots, sweeps::Small};
use crate::desk::files;

/// All that ended.
const ALL: [&str; 3] = ["gc", "--older-than", "0s"];

fn gc(place: &Place, words: &[&str]) -> Answer {
    place.call("user:ana", words).ok()
}

fn count(answer: &Answer, part: &str) -> u64 {
    answer.json["gc"][part]["count"].as_u64().unwrap()
}

/// A place with a Turn that settled, whose host said something that was not its result.
fn settled() -> (Place, String) {
    let place = Place::new("true");
    place.host("echo a word of its own >&2");
    place.call("user:ana", &place.run("op")).ok();
    let turn_id = place.turn_id();
    (place, turn_id)
}

fn output(place: &Place, turn_id: &str) -> Value {
    place.call("user:ana", &["turn", "show", turn_id, "--output"]).ok().json["output"].clone()
}

fn profile(place: &Place) -> PathBuf {
    place.root().join("home/profiles/default")
}

#[test]
fn what_ended_goes_and_its_digest_and_all_that_is_checked_by_it_stay() {
    let (place, turn_id) = settled();
    let proof = place.plain("user:ana", &["audit", "export", "--turn", &turn_id]).output().unwrap();
    fs::write(place.root().join("proof.json"), &proof.stdout).unwrap();
    assert!(output(&place, &turn_id)[0]["diagnostics"].as_str().unwrap().contains("a word of its own"));
    // the settings keep it for a month
    assert_eq!(count(&gc(&place, &["gc"]), "bodies"), 0);
    // a preview changes nothing
    let before = files(&profile(&place));
    let plan = gc(&place, &[&ALL[..], &["--dry-run"]].concat());
    assert_eq!(plan.json["gc"]["removed"], false);
    let bodies = plan.json["gc"]["bodies"].clone();
    assert!(bodies["count"].as_u64().unwrap() >= 3 && bodies["bytes"].as_u64().unwrap() > 100, "{bodies}");
    let after = files(&profile(&place));
    let is_shared = |path: &std::path::Path| path.to_string_lossy().ends_with("-shm");
    assert!(after.iter().all(|(path, bytes)| is_shared(path) || before.get(path) == Some(bytes)));
    assert_eq!(before.len(), after.len());
    // then what was said would go goes
    let head = place.head();
    let done = gc(&place, &ALL);
    assert_eq!((&done.json["gc"]["bodies"], &done.json["gc"]["removed"]), (&bodies, &true.into()));
    let shown = output(&place, &turn_id);
    assert_eq!((&shown[0]["purged"], &shown[0]["kept"]), (&true.into(), &false.into()), "{shown}");
    let text = place.plain("user:ana", &["turn", "show", &turn_id, "--output"]).output().unwrap();
    assert!(String::from_utf8(text.stdout).unwrap().contains("`gc` has purged it"));
    // and no fact has moved
    assert_eq!(place.head(), head);
    place.call("user:ana", &["audit", "verify"]).ok();
    let proof = place.root().join("proof.json");
    place.call("user:ana", &["verify", proof.to_str().unwrap(), "--against-ledger"]).ok();
    place.call("user:ana", &["doctor"]).ok();
    place.call("user:ana", &["turn", "show", &turn_id]).ok();
    // again there is nothing
    let again = gc(&place, &ALL);
    assert_eq!(["bodies", "orphans", "spools", "snapshots"].map(|part| count(&again, part)), [0; 4]);
    // the same call returns the same receipt, and starts nothing
    let replayed = place.call("user:ana", &place.run("op")).ok();
    assert_eq!((replayed.text("/turn/turn_id"), place.runs()), (turn_id.as_str(), 1));
}

#[test]
fn nothing_goes_of_what_goes_on_nor_what_an_open_todo_still_needs() {
    // a result that waits for a person
    let place = Place::bare();
    place.host("echo said >&2");
    place.call("user:ana", &place.run("op"));
    let held = place.turn_id();
    assert_eq!(place.turns()[0]["state"], "held");
    assert_eq!(count(&gc(&place, &ALL), "bodies"), 0);
    assert!(output(&place, &held)[0]["diagnostics"].as_str().unwrap().contains("said"));
    // one that was refused, which the next Turn repairs
    let place = Place::new("false");
    place.host("echo said >&2");
    place.call("user:ana", &place.run("one"));
    let refused = place.turn_id();
    assert_eq!(place.turns()[0]["state"], "failed");
    assert_eq!(count(&gc(&place, &ALL), "bodies"), 0);
    place.call("user:ana", &place.run("two"));
    assert!(count(&gc(&place, &ALL), "bodies") > 0, "the one before it is needed no more");
    assert_eq!(output(&place, &refused)[0]["purged"], true);
    assert!(output(&place, &place.turn_id())[0]["diagnostics"].as_str().unwrap().contains("said"));
    // one at work, with what its host says meanwhile
    let working = Working::at(Place::new("true"));
    let spool = || fs::read_dir(profile(&working.place).join("spool")).unwrap().count();
    let before = (files(&profile(&working.place).join("spool")), spool());
    let done = gc(&working.place, &ALL);
    assert_eq!(["bodies", "orphans", "spools"].map(|part| count(&done, part)), [0; 3]);
    assert_eq!((files(&profile(&working.place).join("spool")), spool()), before);
    let (place, over) = working.over();
    over.ok();
    assert_eq!(place.turns()[0]["state"], "settled");
}

/// A body of a Turn that the ledger does not have.
fn orphan(place: &Place, id: &str, turn: &str, at_ms: i64) {
    let file = rusqlite::Connection::open(profile(place).join("private.db")).unwrap();
    file.execute(
        "INSERT INTO bodies VALUES('result', ?1, zeroblob(32), ?2, ?3, x'0102')",
        rusqlite::params![id, turn, at_ms],
    )
    .unwrap();
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

/// What a host left of an attempt, as old as is said.
fn remnant(place: &Place, name: &str, age: Duration) -> PathBuf {
    let folder = profile(place).join("spool").join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("stdout"), "left").unwrap();
    File::open(&folder).unwrap().set_modified(SystemTime::now() - age).unwrap();
    folder
}

#[test]
fn what_no_fact_points_at_goes_once_it_is_old() {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let (place, turn_id) = settled();
    let [young, old] = ["trn_00000000000000000000000001", "trn_00000000000000000000000002"];
    orphan(&place, "young", young, now_ms() - DAY_MS / 2);
    orphan(&place, "old", old, now_ms() - 2 * DAY_MS);
    let ended = remnant(&place, &format!("{turn_id}.1"), Duration::ZERO);
    let fresh = remnant(&place, &format!("{young}.1"), Duration::from_secs(3600));
    let stale = remnant(&place, &format!("{old}.1"), Duration::from_secs(3 * 24 * 3600));
    let others = remnant(&place, "notes", Duration::from_secs(30 * 24 * 3600));
    let plan = gc(&place, &["gc", "--dry-run"]);
    assert_eq!((count(&plan, "orphans"), count(&plan, "spools")), (1, 2));
    assert!(ended.exists() && stale.exists());
    let done = gc(&place, &["gc"]);
    assert_eq!((count(&done, "orphans"), count(&done, "spools")), (1, 2));
    assert_eq!([ended, fresh, stale, others].map(|path| path.exists()), [false, true, false, true]);
    let left: Vec<String> = {
        let file = rusqlite::Connection::open(profile(&place).join("private.db")).unwrap();
        let mut ids = file.prepare("SELECT id FROM bodies WHERE id IN ('young', 'old')").unwrap();
        ids.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(left, ["young"]);
}

#[cfg(all(feature = "failpoints", feature = "tier"))]
#[test]
fn on_a_full_disk_all_that_can_go_goes_and_what_is_left_is_told() {
    let (place, _) = settled();
    let home = place.root().join("home");
    let aside = place.root().join("aside");
    let copy = |from: &std::path::Path, to: &std::path::Path| {
        let mut command = std::process::Command::new("cp");
        assert!(command.arg("-a").arg(from.join(".")).arg(to).status().unwrap().success());
    };
    // given all of it on a small disk, with bodies of two sizes, and what an attempt left
    fs::create_dir(&aside).unwrap();
    copy(&home, &aside);
    let Some(small) = Small::with(home.clone(), "size=8m,mode=0700") else { return };
    copy(&aside, &home);
    let name = |n: u32| format!("trn_0000000000000000000000000{n}");
    for n in 1..=6 {
        orphan(&place, &format!("r{n}"), &name(n), 1);
    }
    let file = rusqlite::Connection::open(profile(&place).join("private.db")).unwrap();
    let large = "UPDATE bodies SET bytes=zeroblob(400000) WHERE id IN ('r1', 'r4', 'r5')";
    assert_eq!(file.execute(large, []).unwrap(), 3);
    file.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(file);
    let left = remnant(&place, &format!("{}.1", name(7)), Duration::from_secs(10 * 24 * 60 * 60));
    fs::write(left.join("stdout"), vec![0_u8; 256 * 1024]).unwrap();
    File::open(&left).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let filler = home.join("filler");
    fs::write(&filler, vec![0_u8; 16 << 20]).unwrap_err();
    // when it is collected
    let found = gc(&place, &["gc"]);
    // then names went, which made room, and with it what fits into that
    assert!(!left.exists(), "{}", found.json);
    assert_eq!(["spools", "orphans"].map(|part| count(&found, part)), [1, 3], "{}", found.json);
    assert_eq!(found.json["gc"]["no_room"], 3, "{}", found.json);
    let told = place.plain("user:ana", &["gc"]).output().unwrap();
    assert!(String::from_utf8(told.stdout).unwrap().contains("give `gc` again"));
    // and with room the rest
    fs::remove_file(filler).unwrap();
    let found = gc(&place, &["gc"]);
    assert_eq!((count(&found, "orphans"), &found.json["gc"]["no_room"]), (3, &0.into()), "{}", found.json);
    drop(small);
}

#[test]
fn only_a_person_collects() {
    let (place, _) = settled();
    let refused = place.call("user:ana", &["gc", "--as", "agent:a"]);
    assert_eq!((refused.exit, refused.code()), (Some(6), "user_only"));
    let wrong = place.call("user:ana", &["gc", "--older-than", "soon"]);
    assert_eq!((wrong.exit, wrong.code()), (Some(2), "invalid_argument"));
    let explained = place.call("user:ana", &["config", "explain", "retention.bodies"]).ok();
    assert!(explained.json.to_string().contains("30d"), "{}", explained.json);
}

#[test]
fn a_turn_that_runs_beside_it_loses_nothing() {
    let place = Place::new("true");
    place.host("for i in 1 2 3 4 5 6 7 8; do echo $i >&2; sleep 0.05; done");
    let mut rounds = 0;
    for id in ["one", "two", "three"] {
        let number = place.call("user:ana", &["todo", "add", id]).ok().text("/todo/todo_id").to_owned();
        let words = ["turn", "run", "--todo", &number, "--agent", "a", "--host", "sh host.sh", "--op-id", id];
        let mut run = place.start("user:ana", &words, &[]);
        while run.try_wait().unwrap().is_none() {
            gc(&place, &ALL);
            rounds += 1;
        }
        let ended = answer(&run.wait_with_output().unwrap());
        assert_eq!((ended.exit, ended.text("/turn/state")), (Some(0), "settled"), "{}", ended.json);
    }
    assert!(rounds > 3, "{rounds}");
    gc(&place, &ALL);
    place.call("user:ana", &["doctor"]).ok();
    place.call("user:ana", &["audit", "verify"]).ok();
}

/// Settings by which snapshots are kept for an hour, and a clock that is later.
#[cfg(all(feature = "failpoints", feature = "tier"))]
const LATER: [(&str, &str); 1] = [("LOOPX_FAILPOINT_CLOCK", "boot=172800000,wall=172800000")];

#[cfg(all(feature = "failpoints", feature = "tier"))]
#[test]
fn snapshots_go_as_the_settings_say_and_no_file_of_the_users_does() {
    let place = snapshots::place(&[("a", b"1\n")], "echo 2 > a; echo 3 > b");
    let turn = snapshots::run(&place);
    assert_eq!(snapshots::items(&snapshots::diff(&place, &turn), "kind").len(), 2);
    assert_eq!(count(&gc(&place, &["gc"]), "snapshots"), 0);
    place.call("user:ana", &["config", "set", "snapshot.age", "1h"]).ok();
    let tree = files(&place.tree());
    let plan = place.call_with("user:ana", &["gc", "--dry-run"], &LATER).ok();
    assert_eq!(count(&plan, "snapshots"), 1);
    assert_eq!(snapshots::items(&snapshots::diff(&place, &turn), "kind").len(), 2);
    // killed after the records, before what they named
    let died = place.call_with("user:ana", &["gc"], &[LATER[0], ("LOOPX_FAILPOINT", "gc.forgotten=kill")]);
    assert_eq!(died.exit, None);
    let contents = || {
        let all = files(&profile(&place).join("snapshots"));
        all.into_keys().filter(|path| path.to_string_lossy().contains("/objects/")).count()
    };
    let left = contents();
    assert!(left > 0);
    assert_eq!(snapshots::diff(&place, &turn).text("/absent"), "none was taken, or it is kept no longer");
    let done = place.call_with("user:ana", &["gc"], &LATER).ok();
    assert!(done.json["gc"]["snapshots"]["bytes"].as_u64().unwrap() > 0);
    assert!(contents() < left);
    assert_eq!(files(&place.tree()), tree);
    // and the next Turn has snapshots again
    fs::write(place.tree().join("a"), "1\n").unwrap();
    place.call("user:ana", &["todo", "add", "more"]).ok();
    let words = ["turn", "run", "--todo", "g.2", "--agent", "a", "--host", "sh host.sh"];
    place.call("user:ana", &words).ok();
    let listed = place.call("user:ana", &["turn", "list", "--todo", "g.2"]).ok();
    let next = listed.text("/items/0/turn_id").to_owned();
    assert!(snapshots::items(&snapshots::diff(&place, &next), "kind").contains_key("a"));
}

#[cfg(all(feature = "failpoints", feature = "tier"))]
#[test]
fn killed_anywhere_and_given_again_it_ends() {
    for point in ["gc.bodies", "gc.spool", "store.before_commit", "store.after_commit"] {
        let (place, turn_id) = settled();
        let left = [1, 2].map(|n| remnant(&place, &format!("{turn_id}.{n}"), Duration::ZERO));
        let spec = format!("{point}=kill");
        let died = place.call_with("user:ana", &ALL, &[("LOOPX_FAILPOINT", &spec)]);
        assert_eq!(died.exit, None, "{point}");
        place.call("user:ana", &["turn", "show", &turn_id, "--output"]).ok();
        gc(&place, &ALL);
        assert_eq!(output(&place, &turn_id)[0]["purged"], true, "{point}");
        assert!(left.iter().all(|folder| !folder.exists()), "{point}");
        let again = gc(&place, &ALL);
        assert_eq!(["bodies", "orphans", "spools"].map(|part| count(&again, part)), [0; 3], "{point}");
        place.call("user:ana", &["doctor"]).ok();
        place.call("user:ana", &["audit", "verify"]).ok();
    }
}
