//! `loop run` through the binary: several Todos, repairs, waits, people, budgets, signals, kills.

use std::{
    fs,
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::place::{Answer, Place, answer, until};

/// A report of another kind than a completion.
fn report(kind: &str, more: &str) -> String {
    format!(
        r#"printf '{{"schema_version":"loopx_turn_result_v0","turn_key":"%s","result_kind":"{kind}","summary":"as far as it goes","classification":"work","next_action":"go on","recommended_action":"go on","completed_phases":[],"delivery_batch_scale":"implementation","delivery_outcome":"outcome_progress","path_delta_mode":""{more}}}' "$LOOPX_TURN_KEY""#
    )
}

/// A host that counts its runs, does what it is told, and prints what is given instead of a completion.
fn host(place: &Place, work: &str, prints: &str) {
    place.script("host.sh", &format!("cat > /dev/null\necho . >> ../runs\n{work}\n{prints}\n"));
}

const LOOP: &[&str] = &["loop", "run", "--agent", "a", "--host", "sh host.sh"];

/// A loop of these tests never waits for long, unless it says so.
pub(super) fn words<'w>(more: &[&'w str]) -> Vec<&'w str> {
    let bound: &[&str] = if more.contains(&"--wall") { &[] } else { &["--wall", "2m"] };
    [LOOP, more, bound].concat()
}

pub(super) fn looped(place: &Place, more: &[&str]) -> Answer {
    place.call("user:ana", &words(more))
}

/// Starts a loop whose stderr can be read while it runs.
pub(super) fn start(place: &Place, more: &[&str]) -> Child {
    start_with(place, more, &[])
}

fn start_with(place: &Place, more: &[&str], env: &[(&str, &str)]) -> Child {
    let told = fs::File::create(place.root().join("told")).unwrap();
    place.command("user:ana", &words(more), env).stdout(Stdio::piped()).stderr(told).spawn().unwrap()
}

/// What the loop has said so far.
pub(super) fn told(place: &Place) -> String {
    fs::read_to_string(place.root().join("told")).unwrap_or_default()
}

pub(super) fn states(answer: &Answer) -> Vec<String> {
    let account =
        answer.json.pointer("/loop").or_else(|| answer.json.pointer("/error/details/loop")).unwrap();
    let turns = account["turns"].as_array().unwrap();
    turns
        .iter()
        .map(|turn| format!("{} {}", turn["todo_id"].as_str().unwrap(), turn["state"].as_str().unwrap()))
        .collect()
}

pub(super) fn account<'a>(answer: &'a Answer, name: &str) -> &'a Value {
    let at = |start: &str| answer.json.pointer(&format!("{start}/{name}"));
    at("/loop").or_else(|| at("/error/details/loop")).unwrap_or(&Value::Null)
}

pub(super) fn add(place: &Place, title: &str) {
    place.call("user:ana", &["todo", "add", title]).ok();
}

/// The states of all Turns of the Goal, oldest first.
fn turns(place: &Place) -> Vec<String> {
    let listed = place
        .call(
            "user:ana",
            &[
                "turn",
                "list",
                "--state",
                "settled",
                "--state",
                "failed",
                "--state",
                "stopped",
                "--state",
                "held",
                "--state",
                "unresolved",
                "--state",
                "admitted",
                "--state",
                "dispatched",
                "--state",
                "candidate",
                "--state",
                "fenced",
            ],
        )
        .ok();
    let items = listed.json["items"].as_array().unwrap();
    items
        .iter()
        .rev()
        .map(|turn| format!("{} {}", turn["todo_id"].as_str().unwrap(), turn["state"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_loop_works_off_what_is_there_and_asks_for_the_close() {
    // given two Todos
    let place = Place::new("true");
    place.host("");
    add(&place, "and this");
    // when a loop runs
    let ended = looped(&place, &[]);
    // then both are done, in order, each by one run of the host, and a person is asked to close the Goal
    assert_eq!(ended.exit, Some(11), "{}", ended.json);
    assert_eq!(ended.text("/schema_version"), "loopx_loop_v1");
    assert_eq!(states(&ended), ["g.1 settled", "g.2 settled"]);
    assert_eq!(ended.text("/loop/disposition"), "user_action_required");
    assert!(ended.text("/loop/next").starts_with("goal close g --achieved"), "{}", ended.json);
    assert_eq!((place.runs(), turns(&place).len()), (2, 2));
    // and the command it names does what it says, after which a loop is at its end
    place.call("proven:ana", &["goal", "close", "g", "--achieved"]).ok();
    let again = looped(&place, &[]).ok();
    assert_eq!((again.text("/loop/disposition"), place.runs()), ("terminal", 2));
}

#[test]
fn nothing_follows_a_completion_that_says_so() {
    let place = Place::new("true");
    host(&place, "", &report("validated_completion", r#","continuation":{"kind":"no_followup"}"#));
    let ended = looped(&place, &[]).ok();
    assert_eq!((ended.text("/loop/disposition"), place.runs()), ("terminal", 1));
}

#[test]
fn progress_goes_on_in_the_commit_that_settles_it() {
    // given a host that needs three runs for one Todo
    let place = Place::new("true");
    let third = format!(
        "if [ $(wc -l < ../runs) -ge 3 ]; then {}; else {}; fi",
        super::place::REPORT,
        report("validated_progress", "")
    );
    host(&place, "", &third);
    // when a loop runs
    let ended = looped(&place, &[]);
    // then three Turns of one ownership brought it to its end
    assert_eq!(states(&ended), ["g.1 settled", "g.1 settled", "g.1 settled"], "{}", ended.json);
    let log = place.call("user:ana", &["log", "--limit", "1000"]).ok();
    let by = |kind: &str| -> Vec<String> {
        let items = log.json["items"].as_array().unwrap().iter();
        items
            .filter(|event| event["kind"] == kind)
            .map(|event| event["operation_id"].as_str().unwrap().to_owned())
            .collect()
    };
    let (claimed, ended) = (by("claim.claimed"), by("turn.ended"));
    assert_eq!(claimed[..2], ended[1..], "the second and the third were admitted with a settlement");
    let epochs: Vec<_> = place.turns().iter().map(|turn| turn["epoch"].clone()).collect();
    assert!(epochs.windows(2).all(|pair| pair[0] == pair[1]), "{epochs:?}");
}

#[test]
fn progress_without_end_is_a_matter_of_the_plan() {
    let place = Place::new("true");
    host(&place, "", &report("validated_progress", ""));
    let ended = looped(&place, &["--turns", "3"]);
    assert_eq!((ended.exit, ended.code()), (Some(1), "not_ready"), "{}", ended.json);
    assert_eq!(account(&ended, "disposition"), "replan");
    assert_eq!(states(&ended), vec!["g.1 settled"; 3]);
    assert_eq!(account(&ended, "used/turns"), 3);
    // nothing is left admitted, and its slot is free
    assert_eq!(turns(&place).len(), 3);
    assert_eq!(place.todo_state(), "open");
}

#[test]
fn a_budget_of_turns_bounds_completions_too() {
    let place = Place::new("true");
    place.host("");
    add(&place, "and this");
    let ended = looped(&place, &["--turns", "1"]);
    assert_eq!((ended.exit, ended.code()), (Some(1), "not_ready"), "{}", ended.json);
    assert_eq!((account(&ended, "disposition"), place.runs()), (&Value::from("stop"), 1));
    // what is left is named
    assert_eq!(account(&ended, "open/0/todo_id"), "g.2");
    assert_eq!(account(&ended, "open/0/waits_for"), "claimable");
}

#[test]
fn a_budget_of_cost_counts_what_hosts_report_and_never_takes_unknown_for_nothing() {
    let place = Place::new("true");
    let usage = r#","usage":[{"seq":0,"cost_micros":600,"currency":"USD"}]"#;
    host(&place, "", &report("validated_progress", usage));
    let ended = looped(&place, &["--cost", "1000"]);
    assert_eq!((account(&ended, "disposition"), place.runs()), (&Value::from("replan"), 2), "{}", ended.json);
    assert_eq!(account(&ended, "used/cost_micros"), 1200);
    host(&place, "", &report("validated_progress", ""));
    let ended = looped(&place, &["--cost", "1000"]);
    assert_eq!((account(&ended, "disposition"), place.runs()), (&Value::from("replan"), 3), "{}", ended.json);
    assert_eq!(account(&ended, "used/cost_micros"), "unknown");
}

#[test]
fn a_refused_result_is_repaired_by_the_next_turn() {
    let place = Place::new("test -f answer");
    place.host("if [ $(wc -l < ../runs) -ge 2 ]; then touch answer; fi");
    let ended = looped(&place, &[]);
    assert_eq!(states(&ended), ["g.1 failed", "g.1 settled"], "{}", ended.json);
}

#[test]
fn two_failures_end_a_loop_with_the_reason_for_the_plan_has_to_change() {
    for (work, prints, exit, code) in
        [("", super::place::REPORT, 1, "validation_failed"), ("", "echo what", 3, "host_unavailable")]
    {
        let place = Place::new("test -f answer");
        host(&place, work, prints);
        let ended = looped(&place, &[]);
        assert_eq!((ended.exit, ended.code()), (Some(exit), code), "{}", ended.json);
        assert_eq!(account(&ended, "disposition"), "repair");
        assert_eq!((states(&ended), place.runs()), (vec!["g.1 failed".to_owned(); 2], 2));
        assert!(ended.text("/error/message").contains("its plan has to change"), "{}", ended.json);
        assert_eq!(account(&ended, "open")[0]["waits_for"], "replan", "{}", ended.json);
        assert!(ended.text("/error/hint").contains("turn show"), "{}", ended.json);
    }
}

#[test]
fn a_host_that_needs_a_person_ends_a_loop_with_the_question() {
    let place = Place::new("true");
    host(&place, "", &report("user_action_required", ""));
    let ended = looped(&place, &[]);
    assert_eq!((ended.exit, place.runs()), (Some(11), 1), "{}", ended.json);
    assert!(ended.text("/loop/next").starts_with("gate resolve gate_"), "{}", ended.json);
    // answered, the loop goes on
    let gate = place.call("user:ana", &["gate", "list"]).ok().text("/items/0/gate_id").to_owned();
    place.call("proven:ana", &["gate", "resolve", &gate, "--answer", "yes"]).ok();
    place.host("");
    let ended = looped(&place, &[]);
    assert_eq!(states(&ended), ["g.1 settled"], "{}", ended.json);
}

#[test]
fn a_plan_that_does_not_hold_ends_a_loop() {
    let place = Place::new("true");
    host(&place, "", &report("replan_required", ""));
    let ended = looped(&place, &[]);
    assert_eq!(
        (ended.exit, account(&ended, "disposition")),
        (Some(1), &Value::from("replan")),
        "{}",
        ended.json
    );
    assert_eq!(place.runs(), 1);
}

#[test]
fn a_dry_run_and_a_host_that_is_not_there_begin_nothing() {
    let place = Place::new("true");
    place.host("");
    let plan = looped(&place, &["--dry-run"]).ok();
    assert_eq!((plan.text("/schema_version"), plan.text("/plan/action")), ("loopx_turn_plan_v1", "run"));
    let head = place.head();
    let missing = place.call("user:ana", &["loop", "run", "--agent", "a", "--host", "./nowhere"]);
    assert_eq!((missing.exit, missing.code()), (Some(3), "host_unavailable"), "{}", missing.json);
    assert_eq!((place.head(), place.runs()), (head, 0));
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

#[test]
fn the_first_signal_lets_a_turn_end_and_the_second_stops_it() {
    for (signals, state, exits) in [(1, "settled", 1), (2, "stopped", 1)] {
        // given a loop whose host works until it is let go
        let place = Place::new("true");
        place.host("touch ../began; while [ ! -f ../go ]; do sleep 0.05; done");
        add(&place, "and this");
        let child = start(&place, &[]);
        until("the host works", || place.root().join("began").exists());
        // when it gets its signals
        kill_process(pid(&child), Signal::INT).unwrap();
        if signals == 1 {
            // it says so, and then the host comes to its end
            until("it says so", || told(&place).contains("the loop ends when this Turn is over"));
            fs::write(place.root().join("go"), "").unwrap();
        } else {
            kill_process(pid(&child), Signal::TERM).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let said = told(&place);
        let ended = answer(&output);
        // then the Turn ended so, nothing else was begun, and the account says what is left
        assert_eq!((ended.exit, ended.code()), (Some(exits), "not_ready"), "{}\n{said}", ended.json);
        assert_eq!((states(&ended), place.runs()), (vec![format!("g.1 {state}")], 1), "{said}");
        assert_eq!(account(&ended, "disposition"), "stop");
        assert!(
            said.contains("LEFT  WAITS FOR  TITLE\n") && said.contains("\ng.2   an agent   and this\n"),
            "{said}"
        );
        assert!(place.survivors().is_empty());
        // Who stopped it is said, and the call that goes on is the same one.
        if signals == 2 {
            let log = place.plain("user:ana", &["log", "--goal", "g"]).output().unwrap();
            let log = String::from_utf8(log.stdout).unwrap();
            assert!(log.contains("Turn stopped, user:ana asked for it: interrupted"), "{log}");
        }
        let again = "loop run --agent a --host 'sh host.sh' --wall 2m --json --goal g";
        assert_eq!(ended.text("/error/hint"), format!("loopx-core {again}"));
    }
}

#[test]
fn a_loop_that_is_cut_short_gives_the_same_account() {
    // given a loop that has done one Todo and waits for the other
    let place = Place::new("true");
    place.host("");
    add(&place, "and this");
    place.call("user:ana", &["todo", "defer", "g.2", "--wake", "after:1d"]).ok();
    let child = start(&place, &[]);
    until("it waits", || told(&place).contains("waiting: "));
    // when its agent is retired, so that no decision is left to it
    place.call("proven:ana", &["agent", "retire", "a"]).ok();
    let ended = answer(&child.wait_with_output().unwrap());
    // then the account has what was done, what is left, what was used, and the call that goes on
    assert_eq!(account(&ended, "disposition"), "error", "{}", ended.json);
    assert_eq!(states(&ended), ["g.1 settled"]);
    let said = told(&place);
    for part in [
        "TURN",
        "settled",
        "used: 1 of 10 Turns, ",
        "afterwards: loopx-core loop run --agent a --host 'sh host.sh'",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_signal_between_turns_ends_a_loop_at_once() {
    // given a loop that waits for a moment a day ahead
    let place = Place::new("true");
    place.host("");
    place.call("user:ana", &["todo", "defer", "g.1", "--wake", "after:1d"]).ok();
    let child = start(&place, &["--wall", "2m"]);
    until("it waits", || told(&place).contains("waiting: "));
    // when it is asked to end
    kill_process(pid(&child), Signal::TERM).unwrap();
    let ended = answer(&child.wait_with_output().unwrap());
    // then it has begun nothing
    assert_eq!(
        (ended.code(), account(&ended, "disposition")),
        ("not_ready", &Value::from("stop")),
        "{}",
        ended.json
    );
    assert_eq!(place.runs(), 0);
}

#[test]
fn a_loop_waits_for_what_only_time_or_others_bring() {
    // given nothing but what waits
    let place = Place::new("true");
    place.host("");
    place.call("user:ana", &["todo", "defer", "g.1", "--wake", "after:1d"]).ok();
    // when a loop may not wait, it says for what
    let ended = looped(&place, &["--no-wait"]);
    assert_eq!((ended.exit, ended.text("/loop/disposition")), (Some(10), "wait"), "{}", ended.json);
    assert!(ended.json.pointer("/loop/until_ms").is_some(), "{}", ended.json);
    // when its time is over first, too
    let ended = looped(&place, &["--wall", "1s"]);
    assert_eq!((ended.exit, place.runs()), (Some(10), 0), "{}", ended.json);
    // and when it waits, a Todo that comes wakes it
    let child = start(&place, &["--turns", "1"]);
    until("it waits", || told(&place).contains("waiting: "));
    add(&place, "now this");
    let ended = answer(&child.wait_with_output().unwrap());
    assert_eq!(states(&ended), ["g.2 settled"], "{}", ended.json);
}

/// A host that works until it is let go, and shows that it works.
fn held_host(place: &Place) {
    place.host("touch ../began; while [ ! -f ../go ]; do sleep 0.05; done");
}

fn let_go(place: &Place) {
    fs::write(place.root().join("go"), "").unwrap();
}

fn began(place: &Place) {
    until("the host works", || place.root().join("began").exists());
}

#[test]
fn a_gate_that_opens_while_a_host_works_keeps_its_result_and_ends_the_loop_with_the_question() {
    let place = Place::new("true");
    held_host(&place);
    add(&place, "and this");
    let child = start(&place, &[]);
    began(&place);
    // when a person asks something that blocks the whole Goal
    let asked =
        place.call("user:ana", &["gate", "open", "go on?", "--kind", "decision", "--blocks", "goal"]).ok();
    let gate = asked.text("/gate/gate_id").to_owned();
    let_go(&place);
    let ended = answer(&child.wait_with_output().unwrap());
    // then the proven result is kept, and the question is named
    assert_eq!((ended.exit, states(&ended)), (Some(11), vec!["g.1 held".to_owned()]), "{}", ended.json);
    assert!(ended.text("/loop/next").contains(&gate), "{}", ended.json);
    // answered, the result counts, and the loop goes on with what is left
    place.call("proven:ana", &["gate", "resolve", &gate, "--answer", "yes"]).ok();
    let again = looped(&place, &[]);
    assert_eq!((states(&again), place.runs()), (vec!["g.2 settled".to_owned()], 2), "{}", again.json);
    assert_eq!(place.todo_state(), "done");
}

#[test]
fn a_goal_that_stops_or_closes_ends_a_loop() {
    // stopped while a host works: what is admitted comes to its end, and nothing new is
    let place = Place::new("true");
    held_host(&place);
    add(&place, "and this");
    let child = start(&place, &[]);
    began(&place);
    place.call("user:ana", &["goal", "stop", "g"]).ok();
    let_go(&place);
    let ended = answer(&child.wait_with_output().unwrap());
    assert_eq!((ended.exit, ended.code()), (Some(6), "goal_stopped"), "{}", ended.json);
    assert_eq!(states(&ended), ["g.1 settled"]);
    assert_eq!(ended.text("/error/hint"), "loopx-core goal resume g");
    // closed while a loop waits
    let place = Place::new("true");
    place.host("");
    place.call("user:ana", &["todo", "defer", "g.1", "--wake", "after:1d"]).ok();
    let child = start(&place, &["--wall", "2m"]);
    until("it waits", || told(&place).contains("waiting: "));
    place.call("proven:ana", &["goal", "close", "g", "--abandoned", "--reason", "no more"]).ok();
    let ended = answer(&child.wait_with_output().unwrap()).ok();
    assert_eq!((ended.text("/loop/disposition"), place.runs()), ("terminal", 0));
}

#[test]
fn a_turn_that_is_stopped_from_outside_ends_its_loop() {
    let place = Place::new("true");
    held_host(&place);
    let child = start(&place, &[]);
    began(&place);
    let turn_id = place.turn_id();
    place.call("user:ana", &["turn", "stop", &turn_id]).ok();
    let ended = answer(&child.wait_with_output().unwrap());
    assert_eq!((ended.exit, states(&ended)), (Some(1), vec!["g.1 stopped".to_owned()]), "{}", ended.json);
    assert_eq!(account(&ended, "disposition"), "stop");
    assert!(place.survivors().is_empty());
}

#[test]
fn what_others_took_is_waited_for() {
    let place = Place::new("true");
    held_host(&place);
    add(&place, "and this");
    let child = start(&place, &["--no-wait"]);
    began(&place);
    let own = place.call("agent:b", &["todo", "claim", "g.2"]).ok().text("/own_id").to_owned();
    let_go(&place);
    let ended = answer(&child.wait_with_output().unwrap());
    assert_eq!((ended.exit, states(&ended)), (Some(10), vec!["g.1 settled".to_owned()]), "{}", ended.json);
    assert_eq!(ended.json.pointer("/loop/open/0/waits_for"), Some(&"peer".into()), "{}", ended.json);
    // given back, it is taken by the loop that waits for it
    let child = start(&place, &[]);
    until("it waits", || told(&place).contains("waiting: other agents own what is left"));
    place.call("agent:b", &["todo", "release", "g.2", "--own", &own]).ok();
    let ended = answer(&child.wait_with_output().unwrap());
    assert_eq!(states(&ended), ["g.2 settled"], "{}", ended.json);
}

#[test]
fn two_loops_of_two_agents_share_the_work_and_do_each_part_once() {
    let place = Place::new("true");
    place.host("sleep 0.1");
    for n in 2..=6 {
        add(&place, &format!("part {n}"));
    }
    let of = |agent| {
        place.start(
            "user:ana",
            &["loop", "run", "--agent", agent, "--host", "sh host.sh", "--wall", "2m"],
            &[],
        )
    };
    let ended = [of("a"), of("b")].map(|child| answer(&child.wait_with_output().unwrap()));
    let mut done: Vec<_> = ended.iter().flat_map(states).collect();
    done.sort();
    let each: Vec<_> = (1..=6).map(|n| format!("g.{n} settled")).collect();
    assert_eq!((done, place.runs()), (each, 6), "{ended:?}");
    assert!(ended.iter().all(|one| one.exit == Some(11)), "{ended:?}");
}

#[test]
fn two_loops_of_one_agent_are_one_at_a_time() {
    let place = Place::new("true");
    place.host("sleep 0.1");
    for n in 2..=4 {
        add(&place, &format!("part {n}"));
    }
    let ended = [start(&place, &[]), place.start("user:ana", &words(&[]), &[])]
        .map(|child| answer(&child.wait_with_output().unwrap()));
    let mut done: Vec<_> = ended.iter().flat_map(states).collect();
    done.sort();
    let each: Vec<_> = (1..=4).map(|n| format!("g.{n} settled")).collect();
    assert_eq!((done, place.runs()), (each, 4), "{ended:?}");
}

#[test]
fn a_successor_that_was_declared_comes_next_and_another_is_refused() {
    let place = Place::new("true");
    add(&place, "the one that follows");
    place.call("user:ana", &["todo", "add", "another", "--priority", "P0"]).ok();
    place.call("user:ana", &["todo", "hold", "g.3"]).ok();
    let successor = r#","continuation":{"kind":"successor","todo_ids":["g.2"]}"#;
    let first = format!(
        "if [ $(wc -l < ../runs) -eq 1 ]; then {}; else {}; fi",
        report("validated_completion", successor),
        super::place::REPORT
    );
    host(
        &place,
        "if [ $(wc -l < ../runs) -eq 1 ]; then touch ../began; while [ ! -f ../go ]; do sleep 0.05; done; fi",
        &first,
    );
    let child = start(&place, &[]);
    began(&place);
    // when something else becomes more urgent meanwhile
    place.call("user:ana", &["todo", "unhold", "g.3"]).ok();
    let_go(&place);
    let ended = answer(&child.wait_with_output().unwrap());
    // then receipt and decision do not belong together, and nobody guesses
    assert_eq!((ended.exit, ended.code()), (Some(4), "stale_revision"), "{}", ended.json);
    assert_eq!((account(&ended, "refusal"), place.runs()), (&Value::from("no_successor"), 1));
    // started anew, a loop holds no receipt, and takes what is decided
    let again = looped(&place, &[]);
    assert_eq!(states(&again), ["g.3 settled", "g.2 settled"], "{}", again.json);
}

#[test]
fn what_runs_below_a_turn_starts_no_loop() {
    let place = Place::new("true");
    let below = format!(
        "{} loop run --agent b --goal g --host 'sh host.sh' --json > ../below; echo $? >> ../below",
        env!("CARGO_BIN_EXE_loopx-core")
    );
    place.host(&below);
    looped(&place, &["--turns", "1"]);
    let said = fs::read_to_string(place.root().join("below")).unwrap();
    assert!(said.contains("actor_not_allowed") && said.ends_with("6\n"), "{said}");
    assert_eq!(place.runs(), 1);
}

#[test]
fn an_approval_that_a_loop_asks_for_is_gone_on_from_under_the_same_id() {
    // given a Todo that needs an approval which nobody gave
    let place = Place::new("true");
    place.host("");
    place.call("proven:ana", &["goal", "update", "g", "--needs-approval", "path:src"]).ok();
    place.call("user:ana", &["todo", "cancel", "g.1", "--reason", "not this"]).ok();
    place.call("user:ana", &["todo", "add", "this", "--scope", "src"]).ok();
    // when a loop meets it, the question is asked
    let asked = looped(&place, &["--op-id", "op"]);
    assert_eq!(
        (asked.exit, asked.text("/loop/disposition")),
        (Some(11), "user_action_required"),
        "{}",
        asked.json
    );
    assert_eq!(asked.text("/loop/next"), "todo claim g.2 --as agent:a");
    // the command that it names opens the gate
    assert_eq!(place.call("agent:a", &["todo", "claim", "g.2"]).code(), "gate_opened");
    let gate = place.call("user:ana", &["gate", "list"]).ok().text("/items/0/gate_id").to_owned();
    place.call("proven:ana", &["gate", "resolve", &gate, "--approve"]).ok();
    // answered, the same call goes on
    let ended = looped(&place, &["--op-id", "op"]);
    assert_eq!((states(&ended), place.runs()), (vec!["g.2 settled".to_owned()], 1), "{}", ended.json);
}

#[test]
fn regress_a_result_that_waits_for_a_person_is_in_no_other_todos_way() {
    // The first Todo has no validator, so its result is held; the second is proved and goes on.
    let place = Place::bare();
    place.call("user:ana", &["todo", "add", "two", "--validator", "true"]).ok();
    host(&place, "true", super::place::REPORT);
    let ended = looped(&place, &["--turns", "3"]);
    assert_eq!(states(&ended), ["g.1 held", "g.2 settled"], "{}", ended.json);
}
