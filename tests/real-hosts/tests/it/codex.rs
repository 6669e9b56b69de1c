//! A real agent program: `codex exec` inside the example adapter, against a model on this machine.
//!
//! These tests need the codex that `cargo xtask test --provision` installs; the lane that runs them is left out by name
//! where it is missing.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hosts::{Answer, Place, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{ADAPTER, LOOPX, model::Model};

/// Passes once the script greets the world.
const CHECK: &str = "test \"$(sh greet.sh)\" = 'hello world'";
/// What the agent sees of it: a script, and a test of it that fails.
const SCRIPT: &str = "echo helo wrld\n";
const TEST: &str = "test \"$(sh greet.sh)\" = 'hello world' && echo passed || { echo failed; exit 1; }\n";
const TITLE: &str = "Mend greet.sh so that test.sh passes";

/// Where npm put codex: its script, beside which the adapter finds the program.
fn codex() -> PathBuf {
    let codex =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/hosts/codex/node_modules/.bin/codex");
    assert!(codex.is_file(), "codex is not here; `cargo xtask test --provision` installs it");
    codex
}

fn mending(place: &Place) -> String {
    fs::write(place.tree().join("greet.sh"), SCRIPT).unwrap();
    fs::write(place.tree().join("test.sh"), TEST).unwrap();
    place.todo(TITLE)
}

fn host(model: &Model) -> String {
    format!("{ADAPTER} --codex {} --codex-home {}", codex().display(), model.home())
}

fn run<'w>(todo_id: &'w str, host: &'w str, attempts: &'w str) -> Vec<&'w str> {
    let words = ["turn", "run", "--todo", todo_id, "--agent", "a", "--host", host, "--op-id", "op"];
    [&words[..], &["--attempts", attempts]].concat()
}

fn call(command: &str) -> Value {
    json!({ "call": { "name": "exec_command", "args": { "cmd": command } } })
}

fn plan(steps: &[Value]) -> Value {
    json!([{ "match": TITLE, "steps": steps }])
}

/// What the tool does that codex is killed in: it waits, and leaves a process that codex itself does not end.
const WAITS: &str = "{ setsid sh -c 'trap \"\" TERM HUP; touch ../began; sleep 301' & sleep 300; }";

/// Looks, mends, looks again, and says so. The mending waits for ever the first time.
fn mends() -> Value {
    plan(&[
        call("sh test.sh; cat greet.sh"),
        call(&format!("[ -e ../began ] || {WAITS}; echo 'echo hello world' > greet.sh")),
        call("sh test.sh"),
        json!({ "say": "The script greets the world now: {{last}}\nLOOPX {\"kind\":\"done\",\"summary\":\"greet.sh greets the world\",\"next\":\"nothing\"}" }),
    ])
}

/// The same, but the mending waits until it is let go on.
fn mends_when_told() -> Value {
    plan(&[
        call("touch ../began; while [ ! -e ../go ]; do sleep 0.05; done; echo 'echo hello world' > greet.sh"),
        json!({ "say": "LOOPX {\"kind\":\"done\",\"summary\":\"greet.sh greets the world\"}" }),
    ])
}

fn ended(place: &Place, todo_id: &str) -> (String, String) {
    let turn = place.turn(todo_id);
    let text = |key: &str| turn[key].as_str().unwrap_or_default().to_owned();
    (text("state"), text("why"))
}

/// Processes of the place but the model, which is this test's.
fn living(place: &Place, model: &Model) -> Vec<String> {
    let own = format!("{} ", model.pid());
    place.living().into_iter().filter(|line| !line.starts_with(&own)).collect()
}

/// Signals every process of the place whose command line holds this word.
fn signal_all(place: &Place, word: &str, signal: Signal) {
    for line in place.living().iter().filter(|line| line.contains(word)) {
        let pid = line.split(' ').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw).unwrap();
        // It may have ended by itself meanwhile.
        let _ = kill_process(pid, signal);
    }
}

/// What must hold once the interrupted task is done, however it was gone on with.
fn done_once(place: &Place, model: &Model, todo_id: &str, again: &[&str]) {
    assert_eq!(ended(place, todo_id), ("settled".into(), String::new()));
    assert_eq!(living(place, model), Vec::<String>::new());
    assert_eq!(place.locks(), Vec::<String>::new());
    // one Turn, two attempts, one dispatch each, one settlement, one slot
    let turn = place.turn(todo_id);
    assert_eq!(place.turns(todo_id).len(), 1);
    assert_eq!(turn["attempts"].as_array().unwrap().len(), 2, "{turn}");
    assert_eq!((place.events("turn.dispatched").len(), place.events("turn.ended").len()), (2, 1));
    assert_eq!(turn["slot"], "spent");
    // the evidence was validated by the check, not by codex
    assert_eq!((&turn["verdict"]["outcome"], &turn["verdict"]["exit"]), (&"passed".into(), &0.into()));
    assert_eq!(place.todo_row(todo_id)["state"], "done");
    // the result is read back: its words, and what the attempt that counted used
    assert_eq!(turn["candidate"]["summary"], "greet.sh greets the world");
    assert_eq!(turn["candidate"]["usage"][0]["tokens_in"], 4 * 101, "{turn}");
    // what LoopX said reached the model
    let asked = model.asked();
    let first = asked[0]["body"].to_string();
    assert!(
        first.contains(TITLE) && first.contains("ship it") && first.contains("Your work will be judged by"),
        "{first}"
    );
    // the same command once more runs nothing and answers the same
    let replayed = place.call(again).ok();
    assert_eq!(replayed.json.pointer("/receipt/replayed"), Some(&true.into()), "{}", replayed.json);
    assert_eq!((model.asked().len(), place.events("turn.ended").len()), (asked.len(), 1));
}

#[test]
fn v04_a_real_task_by_codex_killed_in_a_tool_call_is_done_once_after_a_restart() {
    for restart in ["the same command", "recover --resume"] {
        let place = Place::new(LOOPX, CHECK);
        let model = Model::start(&place, &mends());
        let todo_id = mending(&place);
        let host = host(&model);
        let words = run(&todo_id, &host, "3");
        let mut driver = place.start(&words);
        until("codex runs its tool", || place.root().join("began").exists());
        // A stopped adapter cannot end what it runs when its parent goes: that is left to LoopX alone.
        signal_all(&place, &format!("{ADAPTER} "), Signal::STOP);
        driver.kill().unwrap();
        driver.wait().unwrap();
        signal_all(&place, "__guard", Signal::KILL);
        signal_all(&place, &format!("{ADAPTER} "), Signal::KILL);
        let orphans = living(&place, &model);
        assert!(orphans.iter().any(|line| line.contains("sleep 301")), "{orphans:?}");
        let answer: Answer = if restart == "the same command" {
            place.call(&words)
        } else {
            let turn_id = place.turn(&todo_id)["turn_id"].as_str().unwrap().to_owned();
            place.call(&["turn", "recover", &turn_id, "--resume"])
        };
        let answer = answer.ok();
        assert_eq!(answer.text("/turn/state"), "settled", "{restart}: {}", answer.json);
        // Given again, the first command finds its Turn ended.
        done_once(&place, &model, &todo_id, &words);
    }
}

/// codex itself killed, under a driver that lives: it is started again.
#[test]
fn codex_killed_under_its_driver_is_started_again_with_nothing_left_of_it() {
    let place = Place::new(LOOPX, CHECK);
    let model = Model::start(&place, &mends());
    let todo_id = mending(&place);
    let host = host(&model);
    let words = run(&todo_id, &host, "2");
    let driver = place.start(&words);
    until("codex runs its tool", || place.root().join("began").exists());
    signal_all(&place, "/bin/codex exec", Signal::KILL);
    let answer = Answer::of(&driver.wait_with_output().unwrap()).ok();
    assert_eq!(answer.text("/turn/state"), "settled", "{}", answer.json);
    done_once(&place, &model, &todo_id, &words);
}

/// Its driver alone killed: codex goes on under its guardian, and who comes next takes it over and starts no other.
#[test]
fn codex_whose_driver_died_is_taken_over_and_not_started_again() {
    let place = Place::new(LOOPX, CHECK);
    let model = Model::start(&place, &mends_when_told());
    let todo_id = mending(&place);
    let host = host(&model);
    let words = run(&todo_id, &host, "3");
    let mut driver = place.start(&words);
    until("codex runs its tool", || place.root().join("began").exists());
    driver.kill().unwrap();
    driver.wait().unwrap();
    let successor = place.start(&words);
    fs::write(place.root().join("go"), "").unwrap();
    let answer = Answer::of(&successor.wait_with_output().unwrap()).ok();
    assert_eq!(answer.text("/turn/state"), "settled", "{}", answer.json);
    let turn = place.turn(&todo_id);
    assert_eq!(turn["attempts"].as_array().unwrap().len(), 1, "{turn}");
    assert_eq!((place.events("turn.dispatched").len(), place.events("turn.ended").len()), (1, 1));
    assert_eq!(turn["candidate"]["usage"][0]["tokens_in"], 2 * 101, "{turn}");
    assert_eq!(model.asked().len(), 2);
    assert_eq!(living(&place, &model), Vec::<String>::new());
}

#[test]
fn a_stop_in_a_tool_call_ends_codex_and_what_it_left() {
    let place = Place::new(LOOPX, CHECK);
    let model = Model::start(&place, &mends());
    let todo_id = mending(&place);
    let host = host(&model);
    let driver = place.start(&run(&todo_id, &host, "1"));
    until("codex runs its tool", || place.root().join("began").exists());
    let turn_id = place.turn(&todo_id)["turn_id"].as_str().unwrap().to_owned();
    place.call(&["turn", "stop", &turn_id]);
    let ran = Answer::of(&driver.wait_with_output().unwrap());
    assert_eq!(ended(&place, &todo_id), ("stopped".into(), "stop".into()), "{}", ran.json);
    assert_eq!(living(&place, &model), Vec::<String>::new());
    assert_eq!(fs::read_to_string(place.tree().join("greet.sh")).unwrap(), SCRIPT);
}

#[test]
fn codex_that_claims_and_did_nothing_is_refused_by_the_check() {
    let place = Place::new(LOOPX, CHECK);
    let lie = json!({ "say": "LOOPX {\"kind\":\"done\",\"summary\":\"all mended\"}" });
    let model = Model::start(&place, &plan(&[lie]));
    let todo_id = mending(&place);
    let host = host(&model);
    place.call(&run(&todo_id, &host, "1"));
    assert_eq!(ended(&place, &todo_id), ("failed".into(), "validate".into()));
    assert_eq!(living(&place, &model), Vec::<String>::new());
}

#[test]
fn what_the_provider_says_becomes_the_class_of_the_failure() {
    for (step, class) in [
        (json!({ "status": 401 }), "auth_required"),
        (json!({ "status": 429 }), "rate_limited"),
        (json!({ "status": 503 }), "provider_capacity"),
        (json!({ "cut": true }), "transport_lost"),
    ] {
        let place = Place::new(LOOPX, CHECK);
        let model = Model::start(&place, &plan(&[step]));
        let todo_id = mending(&place);
        let host = host(&model);
        let answer = place.call(&run(&todo_id, &host, "1"));
        assert_eq!(ended(&place, &todo_id), ("failed".into(), class.into()), "{}", answer.json);
        assert_eq!(place.turn(&todo_id)["slot"], "returned");
        assert_eq!(living(&place, &model), Vec::<String>::new());
    }
}
