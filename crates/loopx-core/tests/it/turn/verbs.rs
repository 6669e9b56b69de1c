//! Every verb of a Turn as a person or an agent types it.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::place::{Place, answer, until, until_let_go};

#[test]
fn an_agent_claims_works_and_is_done() {
    let place = Place::new("test -f answer || { echo 'no answer yet'; exit 1; }");
    let claimed = place.call("agent:a", &["todo", "claim", "g.1"]).ok();
    let own = claimed.text("/own_id").to_owned();
    let refused = place.call("agent:a", &["todo", "done", "g.1", "--own", &own, "--op-id", "first"]);
    assert_eq!((refused.exit, refused.code()), (Some(1), "validation_failed"));
    assert_eq!(refused.text("/error/details/turn/state"), "failed");
    assert!(refused.text("/error/message").contains("no answer yet"), "{}", refused.json);
    // the same again is the same no
    let again = place.call("agent:a", &["todo", "done", "g.1", "--own", &own, "--op-id", "first"]);
    assert_eq!(
        (again.exit, again.json.pointer("/error/details/receipt/replayed")),
        (Some(1), Some(&true.into()))
    );
    let own = place.own("agent:a");
    fs::write(place.tree().join("answer"), "42").unwrap();
    let done = place.call("agent:a", &["todo", "done", "g.1", "--own", &own, "--summary", "answered"]).ok();
    assert_eq!((done.text("/schema_version"), done.text("/turn/state")), ("loopx_turn_v1", "settled"));
    assert_eq!(place.todo_state(), "done");
    let late = place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
    assert_eq!((late.exit, late.code()), (Some(4), "todo_already_done"));
}

#[test]
fn progress_goes_on_under_a_new_token() {
    let place = Place::new("exit 0");
    let own = place.own("agent:a");
    let next = place.call("agent:a", &["todo", "progress", "g.1", "--own", &own, "--continue"]).ok();
    let token = next.text("/own_id").to_owned();
    assert!(!token.is_empty() && token != own);
    let old = place.call("agent:a", &["todo", "progress", "g.1", "--own", &own]);
    assert_eq!((old.exit, old.code()), (Some(4), "ownership_superseded"));
    place.call("agent:a", &["todo", "progress", "g.1", "--own", &token]).ok();
    assert_eq!(place.turns().iter().filter(|turn| turn["state"] == "settled").count(), 2);
}

#[test]
fn without_a_validator_a_person_is_asked_and_the_answer_settles() {
    let place = Place::bare();
    let own = place.own("agent:a");
    let held = place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
    assert_eq!((held.exit, held.code()), (Some(6), "held"), "{}", held.json);
    let gates = place.call("user:ana", &["gate", "list"]).ok();
    let gate = gates.text("/items/0/gate_id").to_owned();
    assert_eq!(held.text("/error/hint"), format!("loopx-core gate resolve {gate} --approve"));
    place.call("proven:ana", &["gate", "resolve", &gate, "--approve"]).ok();
    assert_eq!(place.turns()[0]["state"], "settled", "the answer settles it, without another command");
    assert_eq!(place.todo_state(), "done");
}

#[test]
fn a_hold_that_is_taken_away_settles_what_it_held() {
    let place = Place::new("exit 0");
    place.host("touch ../began; while [ ! -f ../go ]; do sleep 0.02; done");
    let run = place.start("user:ana", &place.run("r1"), &[]);
    until("the host began", || place.root().join("began").exists());
    place.call("user:ana", &["todo", "hold", "g.1"]).ok();
    fs::write(place.root().join("go"), "").unwrap();
    let held = answer(&run.wait_with_output().unwrap());
    assert_eq!((held.exit, held.code()), (Some(6), "held"));
    place.call("user:ana", &["todo", "unhold", "g.1"]).ok();
    assert_eq!(place.turns()[0]["state"], "settled");
}

#[test]
fn regress_what_ends_the_work_that_another_waits_for_lets_that_go_on() {
    let ends: [(&str, &[&str]); 4] = [
        ("user:ana", &["todo", "cancel", "g.2", "--reason", "no"]),
        ("user:ana", &["todo", "defer", "g.2", "--wake", "after:1h"]),
        ("user:ana", &["todo", "block", "g.2", "--reason", "no"]),
        ("proven:ana", &["agent", "retire", "b"]),
    ];
    for (actor, words) in ends {
        // The validators move what the Turn changed under themselves, so the result is held until nobody else works there.
        let place = Place::new("echo $$ >> tracked").with_git();
        place.call("user:ana", &["todo", "add", "beside it"]).ok();
        let own = place.own("agent:a");
        place.call("agent:b", &["todo", "claim", "g.2"]).ok();
        fs::write(place.tree().join("tracked"), "worked on").unwrap();
        let held = place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
        let causes = held.json.pointer("/error/details/causes").cloned();
        assert_eq!((held.code(), causes), ("held", Some(serde_json::json!(["tree_busy"]))), "{}", held.json);
        place.call(actor, words).ok();
        assert_eq!(place.turns()[0]["state"], "candidate", "{words:?}");
    }
}

#[test]
fn fault_h02_of_two_recoverers_one_recovers() {
    let place = Place::new("exit 0");
    place.host(&until_let_go("true"));
    let mut run = place.start("user:ana", &place.run("r1"), &[]);
    until("the host began", || place.root().join("began").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    let turn_id = place.turn_id();
    let words = ["turn", "recover", turn_id.as_str(), "--resume"];
    let both = [place.start("user:ana", &words, &[]), place.start("user:ana", &words, &[])];
    fs::write(place.root().join("go"), "").unwrap();
    let answers = both.map(|one| answer(&one.wait_with_output().unwrap()));
    let codes: Vec<_> = answers
        .iter()
        .filter(|answer| answer.exit != Some(0))
        .map(|answer| answer.code().to_owned())
        .collect();
    assert_eq!(codes.len(), 1, "{answers:?}");
    assert!(["executor_active", "invalid_transition"].contains(&codes[0].as_str()), "{codes:?}");
    assert_eq!((place.runs(), place.turns()[0]["state"].as_str()), (1, Some("settled")));
}

#[test]
fn a_run_plans_works_lists_and_shows() {
    let place = Place::new("test -f answer");
    place.host("touch answer");
    let plan = place.call("user:ana", &["turn", "plan", "--agent", "a"]).ok();
    assert_eq!((plan.text("/plan/action"), plan.text("/plan/todo_id")), ("run", "g.1"));
    let before = place.head();
    let run = place.run("r1");
    let dry: Vec<&str> = run.iter().copied().chain(["--dry-run"]).collect();
    place.call("user:ana", &dry).ok();
    assert_eq!(place.head(), before, "a plan writes nothing");
    let done = place.call("user:ana", &run).ok();
    assert_eq!(done.text("/turn/state"), "settled");
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
    assert_eq!(shown.json.pointer("/turn/attempts/0/number"), Some(&1.into()));
    assert_eq!(shown.text("/turn/verdict/outcome"), "passed");
    assert_eq!(shown.text("/private/0/kind"), "result");
    assert!(shown.json.pointer("/turn/own_id").is_none());
    let none = place.call("user:ana", &["turn", "run", "--agent", "a", "--host", "sh host.sh"]);
    assert_eq!((none.exit, none.code()), (Some(1), "not_ready"));
    assert_eq!(place.runs(), 1);
}

#[test]
fn what_cannot_start_is_refused_before_anything_is_admitted() {
    let place = Place::new("exit 0");
    let before = place.head();
    let missing = place.call("user:ana", &["turn", "run", "--agent", "a", "--host", "./nowhere"]);
    assert_eq!((missing.exit, missing.code()), (Some(3), "host_unavailable"));
    assert_eq!(place.head(), before);
}

#[test]
fn below_a_turn_nothing_is_claimed_completed_or_started() {
    let place = Place::new("exit 0");
    let exe = env!("CARGO_BIN_EXE_loopx-core");
    place.host(&format!(
        "export LOOPX_HOME LOOPX_PROFILE; for verb in 'todo claim g.1' 'todo done g.1' 'turn run --agent a --host true' 'gate resolve x'; do {exe} $verb --json --goal g >> ../said 2>&1; echo >> ../said; done"
    ));
    place.call("user:ana", &place.run("r1")).ok();
    let said = fs::read_to_string(place.root().join("said")).unwrap();
    let codes: Vec<String> = said
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .map(|json| json.pointer("/error/code").and_then(|code| code.as_str()).unwrap_or("done").to_owned())
        .collect();
    assert!(codes.len() >= 3 && codes.iter().all(|code| code != "done"), "{said}");
}

#[test]
fn a_stop_from_another_process_ends_host_and_turn() {
    let place = Place::new("exit 0");
    place.host("touch ../began; sleep 300");
    let run = place.start("user:ana", &place.run("r1"), &[]);
    until("the host began", || place.root().join("began").exists());
    let stopped = place.call("user:ana", &["turn", "stop", &place.turn_id()]).ok();
    assert_eq!(stopped.text("/turn/state"), "stopped");
    let ended = answer(&run.wait_with_output().unwrap());
    assert_eq!((ended.exit, ended.code()), (Some(1), "not_ready"), "{}", ended.json);
    assert_eq!(ended.text("/error/details/turn/why"), "stop");
    let receipt = ended.text("/error/details/receipt/operation_id");
    assert!(receipt.starts_with("r1/"), "the receipt is part of the no: {receipt}");
    assert_eq!(ended.text("/error/details/operation_id"), "r1");
    assert!(place.survivors().is_empty());
}

#[test]
fn ctrl_c_ends_the_group_and_the_turn() {
    let place = Place::new("exit 0");
    place.host("touch ../began; setsid sleep 300 & sleep 300");
    let run = place.start("user:ana", &place.run("r1"), &[]);
    until("the host began", || place.root().join("began").exists());
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let ended = answer(&run.wait_with_output().unwrap());
    assert_eq!((ended.exit, ended.text("/error/details/turn/state")), (Some(1), "stopped"));
    assert!(place.survivors().is_empty());
    // The history names whoever was at the run, not the agent that worked.
    let said = place.plain("user:ana", &["log", "--goal", "g"]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("Turn stopped, user:ana asked for it: interrupted"), "{said}");
    let shown = place.call("user:ana", &["status"]).ok();
    let last = shown.text("/goals/0/last_run/text");
    assert_eq!(last, "g.1 stopped: user:ana asked for it (interrupted)");
}

#[test]
fn an_approved_result_whose_proof_is_to_be_renewed_is_called_that_everywhere() {
    // given a held result, whose tree changes before a person accepts it
    let place = Place::bare().with_git();
    place.host("");
    let held = place.call("user:ana", &place.run("r1"));
    assert_eq!(held.code(), "held", "{}", held.json);
    fs::write(place.tree().join("tracked"), "another").unwrap();
    let approve = held.text("/error/hint").trim_start_matches("loopx-core ").to_owned();
    place.call("proven:ana", &approve.split(' ').collect::<Vec<_>>()).ok();
    assert_eq!(place.turns()[0]["state"], "candidate");
    // then status, for all and for the agent, the plan and a run say the same of it, with one command
    let (said, command) = (
        "the result on g.1 was approved, and its proof is to be renewed",
        format!("turn recover {} --resume", place.turn_id()),
    );
    for words in [&["status"][..], &["status", "--agent", "a"]] {
        let status = place.call("user:ana", words).ok();
        assert_eq!(status.text("/goals/0/first/text"), said, "{words:?} {}", status.json);
        assert_eq!(status.text("/goals/0/first/command"), command, "{words:?}");
        assert_eq!(status.text("/goals/0/waiting_on"), "user", "{words:?}");
        assert_eq!(status.text("/goals/0/because"), said, "{words:?}");
    }
    let plan = place.plain("user:ana", &["turn", "plan", "--agent", "a", "--goal", "g"]).output().unwrap();
    assert!(String::from_utf8(plan.stdout).unwrap().contains(said));
    let run = place.call("user:ana", &["turn", "run", "--agent", "a", "--host", "sh host.sh"]);
    assert_eq!(run.code(), "reconciliation_required", "{}", run.json);
    assert!(run.text("/error/message").ends_with(said), "{}", run.json);
}

#[test]
fn what_is_named_first_is_accepted_after_a_driver_died() {
    // given a Turn whose driver is killed, and another Todo that its agent could take
    let place = Place::new("exit 0");
    place.host("touch ../began; while [ ! -f ../go ]; do sleep 0.05; done");
    place.call("user:ana", &["todo", "add", "and this"]).ok();
    place.call("proven:ana", &["agent", "retire", "b"]).ok();
    let mut run = place.start("user:ana", &place.run("r1"), &[]);
    until("the host began", || place.root().join("began").exists());
    kill_process(Pid::from_child(&run), Signal::KILL).unwrap();
    run.wait().unwrap();
    // then what status names first is what the plan names, and it is accepted; a claim, which is not, is not offered
    let status = place.call("user:ana", &["status"]).ok();
    let all = status.json["goals"][0]["attention"].to_string();
    assert!(!all.contains("todo claim"), "{all}");
    let first = status.text("/goals/0/first/command").to_owned();
    assert_eq!(first, format!("turn recover {} --resume", place.turn_id()));
    let plan = place.call("user:ana", &["turn", "plan", "--agent", "a"]).ok();
    assert_eq!(plan.text("/plan/command"), first, "{}", plan.json);
    fs::write(place.root().join("go"), "").unwrap();
    let done = place.call("user:ana", &first.split(' ').collect::<Vec<_>>()).ok();
    assert_eq!(done.text("/turn/state"), "settled", "{}", done.json);
    let status = place.call("user:ana", &["status"]).ok();
    assert_eq!(status.text("/goals/0/first/command"), "todo claim g.2 --as agent:a");
}

#[test]
fn every_end_that_is_not_zero_is_one_error_object_with_the_code_of_its_class() {
    // how a Turn can end that ran, and how it is proved
    let table = [
        ("exit 1", "true", 1, "validation_failed"),
        ("exit 127", "true", 5, "turn_unresolved"),
        ("exit 0", "exit 3", 3, "host_unavailable"),
        ("exit 0", "exit 0", 3, "host_unavailable"),
    ];
    for (check, work, exit, code) in table {
        let place = Place::new(check);
        place.host(work);
        let run: Vec<&str> = place.run("r1").into_iter().chain(["--attempts", "1"]).collect();
        let ended = place.call("user:ana", &run);
        let told = (ended.exit, ended.text("/schema_version"), ended.code());
        assert_eq!(told, (Some(exit), "loopx_error_v1", code), "{check} {work}");
        assert!(ended.text("/error/details/receipt/operation_id").starts_with("r1/"), "{}", ended.json);
        assert_eq!(ended.text("/error/details/operation_id"), "r1");
    }
    // a no that was written is printed inside the error, for a run as for a claim
    let place = Place::new("exit 0");
    place.call("proven:ana", &["goal", "update", "g", "--needs-approval", "path:src"]).ok();
    place.call("user:ana", &["todo", "add", "two", "--scope", "src"]).ok();
    place.host("true");
    let words = ["turn", "run", "--todo", "g.2", "--agent", "a", "--host", "sh host.sh"];
    let asked = place.call("user:ana", &words);
    assert_eq!((asked.exit, asked.code()), (Some(6), "gate_opened"), "{}", asked.json);
    assert!(asked.text("/error/hint").starts_with("loopx-core gate show gate_"), "{}", asked.json);
    assert!(!asked.text("/error/details/receipt/operation_id").is_empty());
}

#[test]
fn v04_interrupted_restarted_proved_and_read_back_once() {
    let place = Place::new("test -f answer");
    place.host(&until_let_go("touch answer"));
    let mut run = place.start("user:ana", &place.run("r1"), &[]);
    until("the host began", || place.root().join("began").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(!place.survivors().is_empty(), "the host outlives its driver");
    // nobody else takes it meanwhile, and the agent is told what to do
    let next = place.call("user:ana", &["turn", "run", "--agent", "a", "--host", "sh host.sh"]);
    assert_eq!(next.code(), "reconciliation_required", "{}", next.json);
    // what recovers takes the host over from its guardian; nothing is started beside it
    let turn_id = place.turn_id();
    let recovery = place.start("user:ana", &["turn", "recover", &turn_id, "--resume"], &[]);
    fs::write(place.root().join("go"), "").unwrap();
    let done = answer(&recovery.wait_with_output().unwrap()).ok();
    assert_eq!((done.text("/turn/state"), done.json.pointer("/turn/attempts")), ("settled", Some(&1.into())));
    assert_eq!(place.runs(), 1);
    assert!(place.survivors().is_empty());
    let again = place.call("user:ana", &place.run("r1"));
    assert_eq!((again.exit, again.json.pointer("/receipt/replayed")), (Some(0), Some(&true.into())));
}

#[test]
fn a_proof_of_all_frees_what_a_crash_left_with_a_wish() {
    let place = Place::new("exit 0");
    place.host("touch ../began; sleep 300");
    let mut run = place.start("user:ana", &place.run("r1"), &[]);
    until("the host began", || place.root().join("began").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    // what drove it is gone, and the doctor says so
    let found = place.call("user:ana", &["doctor"]);
    let findings = found.json["findings"].as_array().unwrap();
    let turns = findings.iter().find(|finding| finding["check"] == "turns").unwrap();
    assert_eq!(turns["standing"], "doubtful", "{turns}");
    assert_eq!(turns["command"], format!("turn recover {} --resume", place.turn_id()));
    let proved = place.call("user:ana", &["turn", "recover", "--prove"]).ok();
    // its guardian is not, so nobody ends it unasked
    assert_eq!(proved.json["items"].as_array().map(Vec::len), Some(0), "{}", proved.json);
    assert!(!place.survivors().is_empty());
    let words = ["turn", "stop", &place.turn_id(), "--reason", "too slow"];
    let stopped = place.call("user:ana", &words).ok();
    assert_eq!(stopped.text("/turn/state"), "stopped");
    assert!(place.survivors().is_empty());
    // why is kept, and told
    for verb in ["log", "status"] {
        let told = place.call("user:ana", &[verb]).ok();
        assert!(told.json.to_string().contains("too slow"), "{verb}: {}", told.json);
    }
}

#[test]
fn an_unresolved_turn_is_given_up_by_a_proven_person_alone() {
    let place = Place::new("exit 127");
    place.host("true");
    let lost = place.call("user:ana", &place.run("r1"));
    assert_eq!((lost.exit, lost.code()), (Some(5), "turn_unresolved"));
    let turn_id = place.turn_id();
    // a claim says what can help from here, and no longer what was tried in vain
    let hint = || {
        let refused = place.call("agent:b", &["todo", "claim", "g.1"]);
        assert_eq!((refused.exit, refused.code()), (Some(5), "turn_unresolved"));
        refused.text("/error/hint").to_owned()
    };
    assert_eq!(hint(), format!("loopx-core turn recover {turn_id} --resume"));
    let again = place.call("user:ana", &["turn", "recover", &turn_id, "--resume"]);
    assert_eq!((again.exit, again.code()), (Some(5), "turn_unresolved"));
    assert!(!again.text("/error/details/receipt/operation_id").is_empty());
    assert_eq!(hint(), format!("loopx-core turn abandon {turn_id} --reason TEXT"));
    let words = ["turn", "abandon", turn_id.as_str(), "--reason", "the tool is gone"];
    assert_eq!(place.call("user:ana", &words).code(), "unauthenticated");
    assert_eq!(place.call("proven:ana", &words).ok().text("/turn/state"), "stopped");
}

#[test]
fn a_trial_runs_whole_and_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let place = Place::new("exit 0");
    let mut command = place.command("user:ana", &["init"], &[("TMPDIR", scratch.path().to_str().unwrap())]);
    #[expect(clippy::disallowed_methods, reason = "a test looks at the binary from outside")]
    let mut trial = std::process::Command::new(env!("CARGO_BIN_EXE_loopx-core"));
    trial.env_clear().env("PATH", "/usr/bin:/bin").env("TMPDIR", scratch.path()).args(["try", "--json"]);
    drop(command.output().unwrap());
    let told = answer(&trial.output().unwrap()).ok();
    assert_eq!(told.json["steps"].as_array().map(Vec::len), Some(5));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn regress_a_run_given_at_the_same_time_by_others_never_conflicts() {
    for _ in 0..4 {
        let place = Place::new("test -f answer");
        place.host("touch answer");
        let run = place.run("same");
        let children: Vec<_> = (0..4).map(|_| place.start("user:ana", &run, &[])).collect();
        let answers: Vec<_> =
            children.into_iter().map(|child| answer(&child.wait_with_output().unwrap())).collect();
        // Whoever comes while the first one is at work is told so, and may come again.
        for other in &answers {
            let waits = other.exit == Some(4) && matches!(other.code(), "executor_active" | "turn_running");
            assert!(other.exit == Some(0) || waits, "{}", other.json);
        }
        let again = place.call("user:ana", &run).ok();
        assert_eq!(again.text("/turn/state"), "settled");
        assert_eq!((place.runs(), place.turns().len()), (1, 1));
    }
}

#[test]
fn regress_the_id_that_a_run_prints_is_the_one_to_repeat() {
    let place = Place::new("test -f answer");
    place.host("touch answer");
    let run = ["turn", "run", "--todo", "g.1", "--agent", "a", "--host", "sh host.sh"];
    let first = place.call("user:ana", &run).ok();
    let id = first.text("/operation_id");
    let repeated: Vec<&str> = run.iter().copied().chain(["--op-id", id]).collect();
    let again = place.call("user:ana", &repeated).ok();
    assert_eq!(again.text("/operation_id"), id);
    assert_eq!(again.text("/receipt/operation_id"), first.text("/receipt/operation_id"));
    assert_eq!((place.runs(), place.turns().len()), (1, 1));
}
