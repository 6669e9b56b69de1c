//! The example adapter as a process, with a script in codex's place: how it ends, and that nothing is left of it.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use hosts::{Place, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{ADAPTER, LOOPX};

const REQUEST: &[u8] = include_bytes!("../../../../docs/wire/request.json");

/// A script in codex's place.
fn codex(place: &Place, name: &str, script: &str) -> PathBuf {
    let path = place.root().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn start(place: &Place, codex: &Path, request: &[u8]) -> Child {
    #[expect(clippy::disallowed_methods, reason = "a test looks at the binary from outside")]
    let mut command = Command::new(ADAPTER);
    let mark = place.root().file_name().unwrap().to_str().unwrap().replace('.', "-");
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LOOPX_CONTAINMENT", format!("adapter{mark}"))
        .current_dir(place.tree())
        .arg("--codex")
        .arg(codex)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(request).unwrap();
    child
}

fn printed(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The example request, without the session that it goes on with.
fn request() -> Vec<u8> {
    let mut request: Value = serde_json::from_slice(REQUEST).unwrap();
    request["session"] = serde_json::json!({ "action": "none" });
    request.to_string().into_bytes()
}

const STARTED: &str = r#"echo '{"type":"thread.started","thread_id":"t-1"}'; echo '{"type":"turn.started"}'"#;
const COMPLETED: &str = r#"echo '{"type":"item.completed","item":{"type":"agent_message","text":"LOOPX {\"kind\":\"done\",\"summary\":\"ok\"}"}}'; echo '{"type":"turn.completed","usage":{"input_tokens":7,"output_tokens":3}}'"#;

/// A tool in a session of its own that takes no TERM, and a codex that waits for it.
const WORKING: &str =
    "(setsid sh -c 'trap \"\" TERM; touch ../began; sleep 300' >/dev/null 2>&1 &) ; sleep 300";

#[test]
fn a_run_of_codex_becomes_one_object() {
    let place = Place::new(LOOPX, "true");
    let good = codex(&place, "good", &format!("cat >/dev/null; {STARTED}; {COMPLETED}"));
    let result = printed(start(&place, &good, &request()));
    assert_eq!((&result["result_kind"], &result["summary"]), (&"validated_completion".into(), &"ok".into()));
    assert_eq!((&result["usage"][0]["tokens_in"], &result["usage"][0]["tokens_out"]), (&7.into(), &3.into()));
    assert!(result.get("session_handle").is_none(), "no session was asked for");
    // the words of an end without the end, and the end without its words
    let cut = codex(&place, "cut", STARTED);
    assert_eq!(printed(start(&place, &cut, &request()))["failure_class"], "result_missing");
    let torn = codex(&place, "torn", &format!("{STARTED}; {COMPLETED}; exit 1"));
    assert_eq!(printed(start(&place, &torn, &request()))["failure_class"], "crashed");
    // one that hangs after its final event keeps it
    let hung = codex(&place, "hung", &format!("{STARTED}; {COMPLETED}; {WORKING}"));
    assert_eq!(printed(start(&place, &hung, &request()))["result_kind"], "validated_completion");
    assert_eq!(place.living(), Vec::<String>::new());
    let missing = place.root().join("nowhere");
    assert_eq!(printed(start(&place, &missing, &request()))["failure_class"], "incompatible_version");
    // a session that was not made here
    assert_eq!(printed(start(&place, &good, REQUEST))["failure_class"], "session_unavailable");
}

#[test]
fn a_truncated_request_starts_nothing() {
    let place = Place::new(LOOPX, "true");
    let good = codex(&place, "good", "touch ../started");
    let whole = request();
    let ended = start(&place, &good, &whole[..whole.len() - 2]).wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(2), 0));
    assert!(!place.root().join("started").exists());
}

#[test]
fn npm_s_script_is_passed_over_for_the_program_beside_it() {
    let place = Place::new(LOOPX, "true");
    let script = codex(&place, "node_modules/@openai/codex/bin/codex.js", "touch ../wrapper");
    let native = format!("touch ../native; {STARTED}; {COMPLETED}");
    codex(&place, "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", &native);
    let link = place.root().join("codex");
    std::os::unix::fs::symlink(&script, &link).unwrap();
    assert_eq!(printed(start(&place, &link, &request()))["summary"], "ok");
    assert!(place.root().join("native").exists() && !place.root().join("wrapper").exists());
}

#[test]
fn fault_e05_term_int_and_a_parent_that_is_gone_end_the_adapter_with_all_below_it() {
    for end in ["term", "int", "gone"] {
        let place = Place::new(LOOPX, "true");
        let working = codex(&place, "working", &format!("cat >/dev/null; {STARTED}; {WORKING}"));
        let mut child = start(&place, &working, &request());
        until("a tool runs", || place.root().join("began").exists());
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        match end {
            "term" => kill_process(pid, Signal::TERM).unwrap(),
            "int" => kill_process(pid, Signal::INT).unwrap(),
            _ => drop(child.stdout.take()),
        }
        until(end, || child.try_wait().unwrap().is_some());
        assert_eq!(place.living(), Vec::<String>::new(), "{end}");
    }
}

/// The page on adapters shows a whole one: it works as it stands.
#[test]
fn the_adapter_of_the_page_settles_a_turn() {
    let page = include_str!("../../../../docs/adapters.md");
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let place = Place::new(LOOPX, "grep -qx 42 answer");
    fs::write(place.tree().join("host.sh"), script).unwrap();
    let todo_id = place.todo("write the answer");
    let words = ["turn", "run", "--todo", &todo_id, "--agent", "a", "--host", "sh host.sh"];
    assert_eq!(place.call(&words).ok().text("/turn/state"), "settled");
}
