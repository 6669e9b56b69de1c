//! Failures of the field that no part owns alone: lost updates, a torn file of settings, a store that is optional, a
//! copy that forgets, a payload that comes twice.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use std::{collections::BTreeSet, fs, process::Stdio};

use serde_json::Value;

use crate::desk::{Desk, files};

/// Calls of the binary that all wait for one word, and how each ended.
fn at_once(desk: &Desk, calls: &[Vec<&str>]) -> Vec<i32> {
    let mut children = Vec::new();
    for words in calls {
        let mut command = desk.command("sh");
        let script = r#"read -r _; exec "$@" > /dev/null"#;
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_loopx-core")]).args(words);
        children.push(command.stdin(Stdio::piped()).spawn().unwrap());
    }
    for child in &mut children {
        let mut word = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut word, b"go\n").unwrap();
    }
    children.into_iter().map(|mut child| child.wait().unwrap().code().unwrap_or(-1)).collect()
}

#[test]
fn fault_b08_eight_processes_that_change_a_part_of_one_todo_each_lose_none_of_them() {
    let desk = Desk::with_work();
    for round in 0..10 {
        let (title, detail) = (format!("title {round}"), format!("detail {round}"));
        let (scope, capability, effect) =
            (format!("src/{round}"), format!("cap-{round}"), format!("eff-{round}"));
        let (priority, other) = (format!("P{}", round % 5), format!("other {round}"));
        let update = |more: [&'static str; 1]| vec!["todo", "update", "ship-it.1", more[0]];
        let with = |flag: &'static str, value| [update([flag]), vec![value]].concat();
        let calls = [
            with("--title", title.as_str()),
            with("--detail", detail.as_str()),
            with("--priority", priority.as_str()),
            with("--scope", scope.as_str()),
            with("--capability", capability.as_str()),
            with("--effect", effect.as_str()),
            with("--publish", if round % 2 == 0 { "yes" } else { "no" }),
            vec!["todo", "update", "ship-it.2", "--title", other.as_str()],
        ];
        assert_eq!(at_once(&desk, &calls), [0; 8], "round {round}");
        let todo = desk.ok(&["todo", "show", "ship-it.1"])["todo"].clone();
        let requires = &todo["requires"];
        assert_eq!(
            [&todo["title"], &todo["detail"], &todo["priority"]],
            [&Value::from(title), &detail.into(), &priority.into()],
            "{todo}"
        );
        assert_eq!(
            [&requires["write_scopes"], &requires["capabilities"], &requires["effects"]].map(|list| &list[0]),
            [&Value::from(scope), &capability.into(), &effect.into()],
            "{todo}"
        );
        assert_eq!(requires["publish"].as_bool().unwrap_or(false), round % 2 == 0, "{todo}");
        assert_eq!(desk.ok(&["todo", "show", "ship-it.2"])["todo"]["title"], other);
    }
}

#[test]
fn fault_b08_four_processes_that_change_a_part_of_one_goals_terms_each_lose_none_of_them() {
    let desk = Desk::with_work();
    let token = desk.token_file();
    for round in 0..10 {
        let (scope, key) = (format!("src/{round}"), format!("capability:c{round}"));
        let check = format!("1=test {round} = {round}");
        let exclusive = if round % 2 == 0 { "yes" } else { "no" };
        let with =
            |flag, value| vec!["goal", "update", "ship-it", flag, value, "--token-file", token.as_str()];
        let calls = [
            with("--scope", scope.as_str()),
            with("--needs-approval", key.as_str()),
            with("--check", check.as_str()),
            with("--exclusive-workspace", exclusive),
        ];
        assert_eq!(at_once(&desk, &calls), [0; 4], "round {round}");
        let goal = desk.ok(&["goal", "show", "ship-it"])["goal"].clone();
        let boundary = &goal["boundary"];
        assert_eq!(
            (&boundary["write_scopes"][0], &boundary["needs_approval"][0]),
            (&scope.into(), &key.into())
        );
        assert_eq!(boundary["exclusive_workspace"].as_bool().unwrap_or(false), round % 2 == 0, "{goal}");
        assert!(goal["acceptance"][0]["check"].to_string().contains(&format!("\"{round}\"")), "{goal}");
    }
}

#[test]
fn an_update_that_is_given_again_after_somebody_elses_is_the_same_operation() {
    let desk = Desk::with_work();
    let first = ["todo", "update", "ship-it.1", "--capability", "deploy", "--op-id", "one"];
    desk.ok(&first);
    desk.ok(&["todo", "update", "ship-it.1", "--scope", "src"]);
    assert_eq!(desk.ok(&first)["receipt"]["replayed"], true);
    let todo = desk.ok(&["todo", "show", "ship-it.1"])["todo"].clone();
    assert_eq!(todo["requires"], serde_json::json!({"capabilities": ["deploy"], "write_scopes": ["src"]}));
    let terms = ["goal", "update", "ship-it", "--check", "1=true", "--op-id", "two"];
    desk.proven(&terms);
    desk.proven(&["goal", "update", "ship-it", "--scope", "src"]);
    assert_eq!(desk.proven(&terms)["receipt"]["replayed"], true);
    desk.refused(
        &["goal", "update", "ship-it", "--check", "2=true", "--token-file", &desk.token_file()],
        "invalid_argument",
        2,
    );
}

#[test]
fn fault_b09_settings_of_ten_processes_at_once_are_all_kept_and_a_killed_one_tears_nothing() {
    let desk = Desk::with_work();
    let keys = ["ownership.ttl", "validator.timeout", "turn.deadline", "snapshot.age", "retention.bodies"];
    let explained = |key: &str| desk.ok(&["config", "get", key]);
    for round in 0..4 {
        let value = format!("{}h", round + 2);
        let calls: Vec<_> = keys.iter().map(|key| vec!["config", "set", *key, value.as_str()]).collect();
        let twice = [calls.clone(), calls].concat();
        assert_eq!(at_once(&desk, &twice), [0; 10], "round {round}");
        for key in keys {
            let got = explained(key).to_string();
            assert!(got.contains(&format!("{}", (round + 2) * 3600)) || got.contains(&value), "{key}: {got}");
        }
    }
    // when setters are killed in mid-work, what is read is one of the two values, and the next one is kept
    for hour in ["3h", "4h", "5h", "6h", "7h", "8h"] {
        let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
        let mut child =
            command.args(["config", "set", "ownership.ttl", hour]).stdout(Stdio::null()).spawn().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        explained("ownership.ttl");
    }
    desk.ok(&["config", "set", "ownership.ttl", "9h"]);
    assert!(explained("ownership.ttl").to_string().contains("9h"));
}

#[test]
fn fault_b09_a_torn_file_of_settings_is_named_by_every_start_and_nothing_piles_up() {
    let desk = Desk::with_work();
    desk.ok(&["config", "set", "ownership.ttl", "2h"]);
    let all = files(&desk.path("home"));
    let settings = all.iter().find(|(path, _)| path.to_string_lossy().ends_with("profile.toml")).unwrap();
    fs::write(settings.0, "[ownership\nttl = \"2").unwrap();
    let torn: BTreeSet<_> = files(&desk.path("home")).into_keys().collect();
    let calls: Vec<_> = (0..10).map(|_| vec!["status", "--json"]).collect();
    let exits = at_once(&desk, &calls);
    assert!(exits.iter().all(|exit| *exit == exits[0]) && exits[0] != 0, "{exits:?}");
    let refused = desk.json(&["status"]);
    assert!(refused.out.contains("profile.toml"), "{refused:?}");
    desk.check_hint(&refused.json()["error"]);
    let mut after: BTreeSet<_> = files(&desk.path("home")).into_keys().collect();
    after.retain(|path| {
        !path.to_string_lossy().ends_with("-shm") && !path.to_string_lossy().ends_with("-wal")
    });
    assert!(after.is_subset(&torn), "{after:?}");
}

#[test]
fn fault_b16_a_private_store_that_is_locked_keeps_nobody_from_the_work() {
    let desk = Desk::with_work();
    let private = rusqlite::Connection::open(desk.profile().join("private.db")).unwrap();
    private.execute_batch("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    for words in [&["status"][..], &["todo", "list"], &["why"], &["goal", "show", "ship-it"]] {
        desk.ok(words);
    }
    let taken = desk.ok(&["next", "--claim", "--as", "agent:coder"]);
    let (own, todo) = (taken["own_id"].as_str().unwrap(), taken["todo"]["todo_id"].as_str().unwrap());
    desk.ok(&["todo", "renew", todo, "--own", own, "--as", "agent:coder"]);
    desk.ok(&["todo", "release", todo, "--own", own, "--as", "agent:coder"]);
}

#[test]
fn fault_c07_what_is_copied_wiped_and_brought_back_is_the_same_in_every_field_and_link() {
    let desk = Desk::with_work();
    desk.ok(&["todo", "link", "ship-it.2", "--depends-on", "ship-it.1"]);
    desk.ok(&["todo", "update", "ship-it.3", "--detail", "größer — «all of it»\n\ttabs", "--scope", "src"]);
    fs::write(desk.folder().join("out.txt"), "shown").unwrap();
    desk.ok(&["evidence", "add", "out.txt", "--kind", "file", "--todo", "ship-it.1"]);
    desk.ok(&["gate", "open", "Which one?", "--kind", "decision", "--blocks", "ship-it.3"]);
    desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    desk.ok(&[
        "proposal",
        "add",
        "--as",
        "agent:coder",
        "--reason",
        "it is done",
        "--",
        "todo",
        "cancel",
        "ship-it.3",
        "--reason",
        "no",
    ]);
    desk.proven(&["reward", "add", "well done", "--good", "--todo", "ship-it.1"]);
    desk.proven(&["quota", "set", "--turns", "9"]);
    let reads: [&[&str]; 8] = [
        &["goal", "show", "ship-it"],
        &["todo", "show", "ship-it.2"],
        &["todo", "show", "ship-it.3"],
        &["evidence", "list"],
        &["gate", "list"],
        &["proposal", "list"],
        &["reward", "list"],
        &["agent", "list"],
    ];
    let told = |desk: &Desk| reads.map(|words| without_heads(desk.ok(words)));
    let chain = |desk: &Desk| desk.call(&["audit", "export"]).out;
    let before = (told(&desk), chain(&desk));
    let copy = desk.path("copy");
    let copy = copy.to_str().unwrap();
    desk.proven(&["backup", copy]);
    for path in files(&desk.profile()).keys() {
        let name = path.file_name().unwrap().to_string_lossy();
        if name.starts_with("authority.db") || name.starts_with("private.db") {
            fs::remove_file(path).unwrap();
        }
    }
    desk.proven(&["restore", copy]);
    for (was, is) in before.0.iter().zip(told(&desk)) {
        assert_eq!(*was, is);
    }
    // The chain goes on where it stood.
    let events = |chain: &str| -> Vec<String> {
        chain.lines().filter(|line| line.contains("\"payload\":")).map(str::to_owned).collect()
    };
    let (was, is) = (events(&before.1), events(&chain(&desk)));
    assert!(was.len() > 9 && is.starts_with(&was), "{was:?} {is:?}");
}

/// An answer without what a new life of a ledger moves: heads, and the revisions that follow them.
fn without_heads(mut answer: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|key, _| !["head_seq", "head_hash"].contains(&key.as_str()));
                map.values_mut().for_each(strip);
            }
            Value::Array(all) => all.iter_mut().for_each(strip),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    strip(&mut answer);
    answer
}

#[test]
fn fault_g09_the_same_payload_twice_at_once_is_two_facts_and_one_operation_twice_is_one() {
    let desk = Desk::with_work();
    let add = vec!["evidence", "add", "https://example.org/run/7", "--kind", "url", "--todo", "ship-it.1"];
    let before = desk.events();
    assert_eq!(at_once(&desk, &[add.clone(), add.clone(), add.clone()]), [0; 3]);
    let ids = |desk: &Desk| {
        let listed = desk.ok(&["evidence", "list"]);
        let items = listed["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["evidence_id"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!((ids(&desk).len(), desk.events() - before), (3, 3));
    let named = [add, vec!["--op-id", "one"]].concat();
    assert_eq!(at_once(&desk, &[named.clone(), named.clone(), named]), [0; 3]);
    assert_eq!((ids(&desk).len(), desk.events() - before), (4, 4));
}
