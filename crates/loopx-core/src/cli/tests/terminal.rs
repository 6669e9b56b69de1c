//! What a person on a terminal is asked, and what the answer proves.

use std::{ffi::OsString, path::Path};

use super::Ended;
use crate::cli::{Env, Preset, Stdio, main};

/// Calls the frame on a terminal where somebody types.
fn typed(env: &Env, typed: &str, words: &[&str]) -> Ended {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut input = typed.as_bytes();
    let mut stdio = Stdio {
        input: &mut input,
        out: &mut out,
        err: &mut err,
        input_is_terminal: true,
        out_is_terminal: false,
        err_is_terminal: true,
    };
    let exit =
        main("loopx", &Preset::CORE, &words.iter().map(OsString::from).collect::<Vec<_>>(), env, &mut stdio);
    Ended { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

#[test]
fn only_a_typed_yes_proves_who_asks() {
    let dir = tempfile::tempdir().unwrap();
    let (home, run) = (dir.path().join("home"), dir.path().join("run"));
    let pairs =
        [("LOOPX_HOME", home.as_path()), ("XDG_RUNTIME_DIR", run.as_path()), ("USER", Path::new("ana"))];
    let env = Env::from_pairs(pairs).in_folder(dir.path());
    assert_eq!(typed(&env, "", &["init", "--goal", "Ship it"]).exit, 0);
    let stop = typed(&env, "", &["goal", "stop", "--json"]);
    assert_eq!(stop.json()["receipt"]["actor"], "user:ana", "on a terminal the login name is enough");
    assert!(!stop.err.contains("(yes/no)"), "a verb that needs no proof asks nothing");
    for (answer, exit, assurance) in [("no\n", 6, ""), ("y\n", 6, ""), ("", 6, ""), ("yes\n", 0, "proven")] {
        let ended = typed(&env, answer, &["goal", "resume", "--json"]);
        assert_eq!(ended.exit, exit, "{answer:?}: {ended:?}");
        assert!(
            ended.err.contains("loopx: goal resume in ship-it, «Ship it», as user:ana? (yes/no)"),
            "{ended:?}"
        );
        if exit == 0 {
            assert_eq!(ended.json()["receipt"]["assurance"], assurance);
        } else {
            assert_eq!(ended.json()["error"]["code"], "unauthenticated");
        }
    }
    // What is answered is said before the yes.
    let opened = typed(
        &env,
        "",
        &["gate", "open", "May it go out?", "--kind", "publication", "--blocks", "goal", "--json"],
    );
    let gate = opened.json()["gate"]["gate_id"].as_str().unwrap().to_owned();
    for (words, asked) in [
        (
            &["--deny"][..],
            "gate resolve: no to «May it go out?» in ship-it, the whole Goal waits for it, as user:ana? (yes/no)",
        ),
        (
            &["--approve"],
            "gate resolve: yes to «May it go out?» in ship-it, the whole Goal waits for it, as user:ana? (yes/no)",
        ),
        (
            &["--defer", "2d"],
            "gate resolve: not now to «May it go out?» in ship-it, the whole Goal waits for it, as user:ana? (yes/no)",
        ),
    ] {
        let ended = typed(&env, "no\n", &[&["gate", "resolve", &gate], words].concat());
        assert!(ended.exit == 6 && ended.err.contains(asked), "{ended:?}");
    }
    let added = typed(&env, "", &["todo", "add", "one", "--json"]);
    assert_eq!(added.exit, 0, "{added:?}");
    // A command that somebody else wrote is shown whole, however long what stands before its point is.
    assert_eq!(typed(&env, "", &["agent", "add", "a"]).exit, 0);
    let propose =
        ["proposal", "add", "--reason", "tidy", "--as", "agent:a", "--json", "--", "todo", "update"];
    let harmless =
        ["ship-it.1", "--title", "A perfectly harmless new title for this", "--validator", "/bin/true"];
    let proposed = typed(&env, "", &[&propose[..], &harmless].concat());
    assert_eq!(proposed.exit, 0, "{proposed:?}");
    let id = proposed.json()["proposal"]["proposal_id"].as_str().unwrap().to_owned();
    let asked = typed(&env, "no\n", &["proposal", "confirm", &id]);
    assert!(
        asked.exit == 6
            && asked.err.contains("\n  change validators 1 argv: /bin/true\n")
            && asked.err.contains("\n  todo id: ship-it.1\n")
            && asked.err.contains("(yes/no)"),
        "{asked:?}"
    );
    let words = [
        "gate",
        "open",
        "May it write?",
        "--kind",
        "approval",
        "--scope",
        "path:src",
        "--blocks",
        "1",
        "--json",
    ];
    let gate = typed(&env, "", &words);
    assert_eq!(gate.exit, 2, "a whole id is wanted: {gate:?}");
    let words = words.map(|word| if word == "1" { "ship-it.1" } else { word });
    let gate = typed(&env, "", &words).json()["gate"]["gate_id"].as_str().unwrap().to_owned();
    let ended = typed(&env, "no\n", &["gate", "resolve", &gate, "--approve"]);
    let asked = "yes to «May it write?» in ship-it, it covers path:src, ship-it.1 waits for it, as user:ana?";
    assert!(ended.err.contains(asked), "{ended:?}");
}
