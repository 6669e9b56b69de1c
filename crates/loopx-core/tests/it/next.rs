//! What an agent is told to do: `next`, `why`, `quota should-run`, `heartbeat-prompt`, by one process and by many at once.
#![allow(clippy::unwrap_used, reason = "a test whose place cannot be made fails")]

use std::{collections::BTreeSet, process::Stdio};

use serde_json::Value;

use crate::desk::{Desk, Ended};

fn next(desk: &Desk, more: &[&str]) -> (i32, Value) {
    let ended = desk.json(&[&["next"], more].concat());
    (ended.exit, ended.json())
}

/// A desk with one Todo, and agents that may take it.
fn one_todo(agents: usize) -> Desk {
    let desk = Desk::empty();
    desk.ok(&["init", "--goal", "Ship it"]);
    for n in 0..agents {
        desk.ok(&["agent", "add", &format!("a{n}")]);
    }
    desk.ok(&["todo", "add", "one"]);
    desk
}

#[test]
fn an_agents_whole_loop_is_three_commands() {
    let desk = Desk::empty();
    desk.ok(&["init", "--goal", "Ship it"]);
    desk.ok(&["agent", "add", "coder"]);
    desk.ok(&["todo", "add", "one", "--validator", "true"]);
    let (exit, read) = next(&desk, &["--agent", "coder"]);
    assert_eq!(
        (exit, read["action"].as_str(), read["todo"]["todo_id"].as_str()),
        (0, Some("run"), Some("ship-it.1"))
    );
    assert_eq!(read["obligation"]["must_attempt_work"], true);
    assert!(read.get("own_id").is_none() && read.get("trace").is_none());
    let (exit, taken) = next(&desk, &["--claim", "--as", "agent:coder"]);
    let own = taken["own_id"].as_str().unwrap();
    assert_eq!(
        (exit, taken["action"].as_str(), &taken["receipt"]["replayed"]),
        (0, Some("run"), &Value::Bool(false))
    );
    assert!(taken["expires_at"].as_str().unwrap().ends_with('Z') && taken["turn_id"].as_str().is_some());
    let (exit, again) = next(&desk, &["--claim", "--as", "agent:coder", "--own", own]);
    assert_eq!((exit, &again["own_id"], &again["turn_id"]), (0, &taken["own_id"], &taken["turn_id"]));
    assert!(again.get("receipt").is_none(), "nothing was admitted");
    desk.ok(&["todo", "done", "ship-it.1", "--own", own, "--as", "agent:coder"]);
    assert_eq!(desk.ok(&["todo", "show", "ship-it.1"])["todo"]["state"], "done");
}

#[test]
fn every_answer_has_its_exit_code_and_should_run_has_the_same() {
    let desk = Desk::empty();
    desk.ok(&["init", "--goal", "Ship it"]);
    desk.ok(&["agent", "add", "coder"]);
    let asked = |expected: (i32, &str), why: &str| {
        let (exit, read) = next(&desk, &["--agent", "coder"]);
        assert_eq!((exit, read["action"].as_str().unwrap()), expected, "{why}");
        let should = desk.json(&["quota", "should-run", "--agent", "coder"]);
        assert_eq!((should.exit, should.json()["should_run"] == true), (exit, exit == 0), "{why}");
        if exit != 0 {
            let before = desk.events();
            let (claimed, _) = next(&desk, &["--claim", "--agent", "coder"]);
            assert_eq!((claimed, desk.events()), (exit, before), "{why}: taken, and nothing written");
        }
    };
    asked((11, "ask_user"), "there is no Todo");
    desk.ok(&["todo", "add", "one"]);
    asked((0, "run"), "there is work");
    desk.ok(&["goal", "stop", "ship-it"]);
    asked((10, "wait"), "it is stopped");
    desk.proven(&["goal", "resume", "ship-it"]);
    desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    asked((10, "wait"), "it works elsewhere");
    desk.proven(&["goal", "close", "ship-it", "--abandoned", "--reason", "enough"]);
    asked((12, "closed"), "it is closed");
    assert_eq!(desk.json(&["next", "--agent", "stranger"]).exit, 2);
    desk.refused(&["next"], "missing_actor", 2);
}

#[test]
fn a_repeated_op_id_returns_what_was_taken_before() {
    let desk = Desk::with_work();
    let call = ["--claim", "--as", "agent:coder", "--op-id", "same"];
    let (_, first) = next(&desk, &call);
    let (exit, again) = next(&desk, &call);
    assert_eq!((exit, &again["own_id"], &again["turn_id"]), (0, &first["own_id"], &first["turn_id"]));
    assert_eq!(again["receipt"]["replayed"], true);
    let other = ["next", "--claim", "--as", "agent:coder", "--op-id", "same", "--ttl", "5m"];
    desk.refused(&other, "operation_conflict", 4);
}

#[test]
fn an_approval_nobody_gave_is_asked_for_and_a_person_is_named() {
    let desk = Desk::empty();
    desk.ok(&["init"]);
    desk.ok(&["goal", "start", "Ship it", "--needs-approval", "publish"]);
    desk.ok(&["agent", "add", "coder"]);
    desk.ok(&["todo", "add", "publish it", "--publish"]);
    let (exit, read) = next(&desk, &["--agent", "coder"]);
    assert_eq!((exit, read["action"].as_str()), (11, Some("ask_user")));
    let (exit, asked) = next(&desk, &["--claim", "--agent", "coder", "--op-id", "ask"]);
    assert_eq!((exit, asked["receipt"]["negative"].as_str()), (11, Some("gate_opened")));
    let command = asked["asks"][0]["command"].as_str().unwrap();
    assert!(
        command.starts_with("gate resolve gate_") && command.ends_with(&desk.by_token("--approve")),
        "{command}"
    );
    let (_, again) = next(&desk, &["--claim", "--agent", "coder", "--op-id", "ask"]);
    assert_eq!((&again["gate_id"], &again["asks"]), (&asked["gate_id"], &asked["asks"]));
    let (exit, _) = next(&desk, &["--claim", "--agent", "coder"]);
    assert_eq!((exit, desk.ok(&["gate", "list"])["items"].as_array().unwrap().len()), (11, 1));
    let (command, _) = command.split_once(" --token-file").unwrap();
    desk.proven(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(next(&desk, &["--claim", "--agent", "coder"]).0, 0);
}

#[test]
fn over_several_goals_the_best_work_comes_first_and_a_goal_narrows() {
    let desk = Desk::empty();
    desk.ok(&["init", "--goal", "Bound"]);
    for (goal, priority) in [("alpha", "P2"), ("beta", "P1"), ("gamma", "P0")] {
        desk.ok(&["goal", "start", goal]);
        desk.ok(&["todo", "add", "work", "--priority", priority, "--goal", goal]);
        if goal != "gamma" {
            desk.ok(&["agent", "add", "coder", "--goal", goal]);
        }
    }
    let todo =
        |more: &[&str]| next(&desk, &[&["--agent", "coder"], more].concat()).1["todo"]["todo_id"].clone();
    assert_eq!(todo(&[]), "beta.1", "of the Goals that it is registered with");
    assert_eq!(todo(&["--goal", "alpha"]), "alpha.1");
    assert_eq!(next(&desk, &["--claim", "--agent", "coder"]).1["todo"]["todo_id"], "beta.1");
    // What it executes in one Goal comes before work in another.
    let (exit, waits) = next(&desk, &["--agent", "coder"]);
    assert_eq!((exit, waits["rule"].as_u64(), waits["goal_id"].as_str()), (10, Some(2), Some("beta")));
    assert_eq!(next(&desk, &["--claim", "--agent", "coder", "--goal", "alpha"]).0, 0);
}

#[test]
fn what_a_decision_looked_at_is_shown_where_it_is_asked_for() {
    let desk = Desk::with_work();
    let (_, told) = next(&desk, &["--agent", "coder", "--explain"]);
    let rules: Vec<_> =
        told["trace"].as_array().unwrap().iter().map(|one| one["rule"].as_u64().unwrap()).collect();
    assert_eq!(rules, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(told["trace"][6]["held"], true);
    let text = desk.call(&["next", "--agent", "coder", "--explain"]).out;
    assert!(text.contains("can something be taken?") && text.contains("next: "), "{text}");
}

#[test]
fn what_a_person_reads_names_the_command() {
    let desk = Desk::with_work();
    let text = desk.call(&["next", "--agent", "coder"]).out;
    assert!(
        text.contains("ship-it.1: one") && text.contains("next: loopx-core next --claim --agent coder"),
        "{text}"
    );
    let line = desk.call(&["quota", "should-run", "--agent", "coder"]).out;
    assert_eq!(line, "run ship-it.1\n");
}

#[test]
fn a_prompt_says_what_to_do_how_to_report_and_when_to_stop() {
    let desk = Desk::with_work();
    let prompt = |desk: &Desk| {
        desk.ok(&["heartbeat-prompt", "--agent", "coder"])["prompt"].as_str().unwrap().to_owned()
    };
    let work = prompt(&desk);
    for said in [
        "next --claim --agent coder",
        "todo done",
        "--own",
        "exits with another code than 0",
        "The Goal: Ship it",
    ] {
        assert!(work.contains(said), "{said}: {work}");
    }
    desk.ok(&["goal", "stop", "ship-it"]);
    let waits = prompt(&desk);
    assert!(waits.contains("Do no work now") && !waits.contains("--claim"), "{waits}");
    assert!(work.len() <= 16 * 1024);
}

#[test]
fn why_says_one_reason_of_each_and_the_command_that_changes_it() {
    let desk = Desk::with_work();
    desk.ok(&["agent", "add", "tester"]);
    let why = |words: &[&str]| desk.ok(&[&["why"], words].concat())["items"].clone();
    let one = |words: &[&str]| {
        let items = why(words);
        assert_eq!(items.as_array().unwrap().len(), 1, "{items}");
        (
            items[0]["reason"].as_str().unwrap().to_owned(),
            items[0]["command"].as_str().unwrap_or_default().to_owned(),
        )
    };
    assert_eq!(
        one(&["ship-it.1"]),
        ("claimable".to_owned(), "todo claim ship-it.1 --as agent:coder".to_owned())
    );
    desk.ok(&["todo", "link", "ship-it.2", "--depends-on", "ship-it.1"]);
    assert_eq!(one(&["ship-it.2"]), ("deps".to_owned(), "why ship-it.1".to_owned()));
    desk.ok(&["todo", "hold", "ship-it.3"]);
    assert_eq!(one(&["ship-it.3"]), ("user".to_owned(), "todo unhold ship-it.3".to_owned()));
    let taken = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let items = why(&["ship-it.1"]);
    let reasons: Vec<_> =
        items.as_array().unwrap().iter().map(|one| one["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["mine", "peer"], "for each agent its own");
    assert_eq!(one(&["ship-it.1", "--agent", "tester"]).0, "peer");
    assert_eq!(one(&["--agent", "coder"]).0, "wait");
    let turn = taken["turn_id"].as_str().unwrap();
    assert_eq!(one(&[turn]).0, "dispatched");
    let gate = desk.ok(&["gate", "open", "Which?", "--blocks", "ship-it.2"]);
    let gate = gate["gate"]["gate_id"].as_str().unwrap();
    let (reason, command) = one(&[gate]);
    assert!(reason == "open" && command.starts_with(&format!("gate resolve {gate}")), "{command}");
    assert_eq!(one(&["ship-it"]).0, "agent");
    assert_eq!(one(&[]).0, "agent", "an agent works");
    desk.ok(&["goal", "stop", "ship-it"]);
    assert_eq!(one(&["ship-it.3"]), ("goal_stopped".to_owned(), desk.by_token("goal resume ship-it")));
    desk.refused(&["why", "nothing"], "not_found", 2);
    let text = desk.call(&["why"]).out;
    assert!(text.contains("ship-it waits for") && text.contains("goal resume ship-it"), "{text}");
}

#[test]
fn fault_a09_taking_what_is_next_with_nobody_named_is_missing_actor() {
    let desk = Desk::with_work().var("LOOPX_ACTOR", "");
    desk.refused(&["next", "--claim"], "missing_actor", 2);
}

/// Some processes at once, each as another agent.
fn at_once(desk: &Desk, agents: usize) -> Vec<(usize, Ended)> {
    let start = |n: usize| {
        let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
        command.args(["next", "--claim", "--agent", &format!("a{n}"), "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..agents).map(|n| (n, start(n))).collect();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    children
        .into_iter()
        .map(|(n, child)| {
            let output = child.wait_with_output().unwrap();
            let exit = output.status.code().unwrap_or(-1);
            (n, Ended { exit, out: text(output.stdout), err: text(output.stderr) })
        })
        .collect()
}

#[test]
fn fault_a01_of_two_binaries_that_take_one_todo_one_gets_it_and_the_other_waits_for_it() {
    let desk = one_todo(2);
    for round in 0..20 {
        let found = at_once(&desk, 2);
        let won: Vec<_> = found.iter().filter(|(_, ended)| ended.exit == 0).collect();
        assert_eq!(won.len(), 1, "round {round}: {found:?}");
        let lost = found.iter().find(|(_, ended)| ended.exit != 0).unwrap();
        let said = lost.1.json();
        assert_eq!(
            (lost.1.exit, said["why"].as_str()),
            (10, Some("owned_by_peers")),
            "round {round}: {said}"
        );
        let own = won[0].1.json()["own_id"].as_str().unwrap().to_owned();
        desk.ok(&["todo", "release", "ship-it.1", "--own", &own, "--as", &format!("agent:a{}", won[0].0)]);
    }
}

#[test]
fn fault_a06_of_eight_binaries_that_take_eight_todos_each_gets_another_one() {
    let desk = one_todo(8);
    for n in 1..8 {
        desk.ok(&["todo", "add", &format!("more {n}")]);
    }
    let found = at_once(&desk, 8);
    let taken: BTreeSet<_> = found
        .iter()
        .map(|(_, ended)| {
            assert_eq!(ended.exit, 0, "{ended:?}");
            ended.json()["todo"]["todo_id"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(taken.len(), 8, "{taken:?}");
}

#[test]
fn fault_a02_what_was_listed_before_it_was_claimed_has_one_owner() {
    let desk = one_todo(6);
    // Each has read that it can be taken, and only then claims it.
    let listed: Vec<_> = (0..6).map(|n| next(&desk, &["--agent", &format!("a{n}")]).1).collect();
    assert!(listed.iter().all(|read| read["todo"]["todo_id"] == "ship-it.1"));
    let claim = |n: usize| {
        let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
        command.args(["todo", "claim", "ship-it.1", "--as", &format!("agent:a{n}"), "--json"]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..6).map(claim).collect();
    let exits: Vec<_> =
        children.into_iter().map(|child| child.wait_with_output().unwrap().status.code()).collect();
    assert_eq!(exits.iter().filter(|exit| **exit == Some(0)).count(), 1, "{exits:?}");
    assert_eq!(exits.iter().filter(|exit| **exit == Some(4)).count(), 5, "{exits:?}");
    let turns = desk.ok(&["turn", "list"]);
    assert_eq!(turns["items"].as_array().unwrap().len(), 1, "no phantom of a loser");
}
