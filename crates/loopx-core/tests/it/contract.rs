//! The work contract that `heartbeat-prompt` carries: all of it first, then what changed for whoever says what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use serde_json::Value;

use crate::desk::Desk;

/// A contract as a program gets it.
fn told(desk: &Desk, words: &[&str]) -> Value {
    let answer = desk.ok(&[&["heartbeat-prompt", "--agent", "coder"], words].concat());
    answer["contract"].clone()
}

fn basis(contract: &Value) -> &str {
    contract["basis"].as_str().unwrap()
}

fn form(contract: &Value) -> (&str, Option<&str>) {
    (contract["form"].as_str().unwrap(), contract["reason"].as_str())
}

/// The packet that a caller has after an answer, from the one that it had.
fn applied(held: &Value, contract: &Value) -> Value {
    match form(contract).0 {
        "full" => contract["packet"].clone(),
        "unchanged" => held.clone(),
        "delta" => {
            let mut packet = held.clone();
            for (name, value) in contract["changes"].as_object().unwrap() {
                packet[name] = value.clone();
            }
            packet
        }
        other => panic!("{other}"),
    }
}

/// That the packet a caller has now is the one that anybody is told who asks for all of it, byte by byte.
fn is_whole(desk: &Desk, packet: &Value, contract: &Value, words: &[&str]) {
    let all = told(desk, words);
    assert_eq!(form(&all), ("full", Some("initial")));
    assert_eq!(packet.to_string(), all["packet"].to_string());
    assert_eq!((&contract["digest"], &contract["basis"]), (&all["digest"], &all["basis"]));
}

fn gate(desk: &Desk, question: &str) -> String {
    let opened = desk.ok(&["gate", "open", question, "--blocks", "ship-it.3"]);
    opened["gate"]["gate_id"].as_str().unwrap().to_owned()
}

#[test]
fn v05_initial_the_first_answer_is_the_whole_contract_with_its_basis() {
    let desk = Desk::with_work();
    desk.ok(&["todo", "update", "ship-it.1", "--detail", "in every detail"]);
    desk.proven(&[
        "goal",
        "update",
        "ship-it",
        "--stop-condition",
        "it rains",
        "--non-goal",
        "a boat",
        "--non-goal",
        "a raft",
    ]);
    let first = told(&desk, &[]);
    assert_eq!(form(&first), ("full", Some("initial")));
    let packet = &first["packet"];
    assert_eq!(packet["schema_version"], "loopx_turn_envelope_v0");
    assert_eq!((&packet["todo"]["todo_id"], &packet["todo"]["title"]), (&"ship-it.1".into(), &"one".into()));
    assert_eq!(packet["todo"]["detail"], "in every detail");
    assert_eq!(packet["boundary"]["objective"], "Ship it");
    assert_eq!(packet["boundary"]["acceptance"][0], "it is shipped");
    assert_eq!(
        (packet["effective_action"].as_str(), packet["execution_policy"]["wall_ms"].as_u64()),
        (Some("run"), Some(45 * 60_000))
    );
    assert_eq!(packet["action_signature"]["matches"], true);
    // For people, and for the agent that reads it.
    let text = desk.call(&["heartbeat-prompt", "--agent", "coder"]).out;
    for said in [
        "In full: in every detail",
        "It is reached when: it is shipped",
        "Stop when: it rains",
        "Not wanted:\n- a boat\n- a raft\n",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let next = format!("next time: loopx-core heartbeat-prompt --agent coder --basis {}", basis(&first));
    assert!(text.ends_with(&format!("{next}\n")), "{text}");
}

#[test]
fn v05_unchanged_who_holds_it_is_told_so_in_a_line() {
    let desk = Desk::with_work();
    let first = told(&desk, &[]);
    let again = told(&desk, &["--basis", basis(&first)]);
    assert_eq!(form(&again), ("unchanged", None));
    assert!(again.get("packet").is_none() && again.get("changes").is_none(), "{again}");
    is_whole(&desk, &first["packet"], &again, &[]);
    // What happens beside the work is no change of it.
    desk.ok(&["todo", "add", "four"]);
    assert_eq!(form(&told(&desk, &["--basis", basis(&first)])).0, "unchanged");
    let text = desk.call(&["heartbeat-prompt", "--agent", "coder", "--basis", basis(&first)]).out;
    assert!(text.contains("holds word for word") && !text.contains("It is reached when"), "{text}");
}

#[test]
fn what_changed_alone_is_told_and_comes_to_the_whole() {
    let desk = Desk::with_work();
    desk.proven(&["quota", "set", "--turns", "5"]);
    let first = told(&desk, &[]);
    // Its own claim moves the budget; the Todo, taken, is told to whoever presents it.
    let claimed = desk.ok(&["next", "--claim", "--agent", "coder"]);
    let own = ["--own", claimed["own_id"].as_str().unwrap()];
    let second = told(&desk, &[&own[..], &["--basis", basis(&first)]].concat());
    assert_eq!(form(&second), ("delta", None));
    assert_eq!(second["on"], first["digest"]);
    let changed: Vec<&String> = second["changes"].as_object().unwrap().keys().collect();
    assert_eq!(changed, ["action_signature", "quota_left"]);
    let held = applied(&first["packet"], &second);
    is_whole(&desk, &held, &second, &own);
    let question = "Which colour?";
    gate(&desk, question);
    let third = told(&desk, &[&own[..], &["--basis", basis(&second)]].concat());
    assert!(third["changes"]["gates"]["blocking"][0]["question"] == question, "{third}");
    is_whole(&desk, &applied(&held, &third), &third, &own);
    let all = [&["heartbeat-prompt", "--agent", "coder"], &own[..], &["--basis", basis(&second)]].concat();
    let text = desk.call(&all).out;
    assert!(
        text.contains(question)
            && text.contains("the rest of it holds")
            && !text.contains("It is reached when"),
        "{text}"
    );
    assert!(
        text.contains("go on with the Todo that you hold")
            && text.contains("You hold it.")
            && !text.contains("Run this first"),
        "{text}"
    );
}

#[test]
fn v05_revised_a_requirement_or_a_goal_of_another_revision_is_told_whole() {
    let desk = Desk::with_work();
    let first = told(&desk, &[]);
    desk.ok(&["todo", "update", "ship-it.1", "--detail", "only so"]);
    let second = told(&desk, &["--basis", basis(&first)]);
    assert_eq!(form(&second), ("full", Some("revised")));
    assert_eq!(second["packet"]["todo"]["detail"], "only so");
    desk.proven(&["goal", "update", "ship-it", "--objective", "Ship it well"]);
    let third = told(&desk, &["--basis", basis(&second)]);
    assert_eq!(form(&third), ("full", Some("revised")));
    assert_eq!(third["packet"]["boundary"]["objective"], "Ship it well");
    // The basis of before is as stale as it was.
    assert_eq!(form(&told(&desk, &["--basis", basis(&first)])).1, Some("revised"));
    let text = desk.call(&["heartbeat-prompt", "--agent", "coder", "--basis", basis(&second)]).out;
    assert!(
        text.contains("What you were told before holds no more.") && text.contains("Ship it well"),
        "{text}"
    );
}

#[test]
fn v05_compacted_another_session_or_a_forgotten_context_is_told_all_again() {
    let desk = Desk::with_work();
    let first = told(&desk, &["--generation", "3"]);
    let held = ["--basis", basis(&first)];
    assert_eq!(form(&told(&desk, &[&held[..], &["--generation", "3"]].concat())).0, "unchanged");
    let text = desk.call(&["heartbeat-prompt", "--agent", "coder", "--generation", "3"]).out;
    assert!(text.contains(&format!("--agent coder --generation 3 --basis {}", basis(&first))), "{text}");
    let asked = |words: &[&str]| told(&desk, &[&held[..], words].concat());
    for (words, reason) in [
        (&["--generation", "3", "--doubt", "compacted"][..], "compacted"),
        (&["--generation", "4"], "generation"),
        (&[], "generation"),
    ] {
        let again = asked(words);
        assert_eq!(form(&again), ("full", Some(reason)), "{words:?}");
        assert_eq!(again["packet"], first["packet"]);
    }
    assert_eq!(form(&told(&desk, &["--doubt", "compacted"])), ("full", Some("compacted")));
    desk.refused(&["heartbeat-prompt", "--agent", "coder", "--doubt", "tired"], "invalid_argument", 2);
}

#[test]
fn v05_lost_acknowledgement_what_was_sent_in_vain_is_never_built_upon() {
    let desk = Desk::with_work();
    let first = told(&desk, &[]);
    gate(&desk, "Which colour?");
    let lost = told(&desk, &["--basis", basis(&first)]);
    assert_eq!(form(&lost).0, "delta");
    gate(&desk, "Which size?");
    // It never came: who holds the first still says so.
    let third = told(&desk, &["--basis", basis(&first)]);
    assert_eq!((form(&third).0, &third["on"]), ("delta", &first["digest"]));
    let packet = applied(&first["packet"], &third);
    assert_eq!(packet["gates"]["blocking"].as_array().unwrap().len(), 2);
    is_whole(&desk, &packet, &third, &[]);
    // Nobody knows whether it came: all of it.
    let again = told(&desk, &["--basis", basis(&lost), "--doubt", "acknowledgement_lost"]);
    assert_eq!(form(&again), ("full", Some("acknowledgement_lost")));
    assert_eq!(again["packet"], packet);
}

#[test]
fn what_is_held_of_other_work_is_no_error_and_what_is_no_basis_is_one() {
    let desk = Desk::with_work();
    let first = told(&desk, &[]);
    // Another agent's, another Todo's, another Goal's.
    desk.ok(&["agent", "add", "tester"]);
    let other = desk.ok(&["heartbeat-prompt", "--agent", "tester", "--basis", basis(&first)]);
    assert_eq!(form(&other["contract"]), ("full", Some("agent")));
    desk.ok(&["todo", "hold", "ship-it.1"]);
    let other = told(&desk, &["--basis", basis(&first)]);
    assert_eq!(
        (form(&other), &other["packet"]["todo"]["todo_id"]),
        (("full", Some("todo")), &"ship-it.2".into())
    );
    desk.ok(&["goal", "start", "Sail it", "--id", "sail-it"]);
    desk.ok(&["agent", "add", "coder", "--goal", "sail-it"]);
    desk.ok(&["todo", "add", "five", "--goal", "sail-it"]);
    let other = told(&desk, &["--goal", "sail-it", "--basis", basis(&first)]);
    assert_eq!(form(&other), ("full", Some("goal")));
    // Another release's.
    assert_eq!(form(&told(&desk, &["--basis", "wcb9_0123"])), ("full", Some("other_form")));
    let long = "0".repeat(4000);
    let cut = &basis(&first)[..basis(&first).len() - 1];
    for bad in ["", "nothing", "wcb0_", cut, &format!("wcb0_{long}"), &format!("wcb1_{long}")] {
        let error =
            desk.refused(&["heartbeat-prompt", "--agent", "coder", "--basis", bad], "invalid_argument", 2);
        assert_eq!(error["details"]["argument"], "basis", "{bad}");
        assert_eq!(error["hint"], "loopx-core heartbeat-prompt --agent coder", "{bad}");
    }
    // Also where there is no work to be told of.
    desk.ok(&["goal", "stop", "ship-it"]);
    let words = ["heartbeat-prompt", "--agent", "coder", "--goal", "ship-it", "--basis"];
    desk.refused(&[&words[..], &["nothing"]].concat(), "invalid_argument", 2);
    assert_eq!(desk.ok(&[&words[..], &[basis(&first)]].concat())["contract"], Value::Null);
}

#[test]
fn another_life_of_the_ledger_holds_nothing_of_the_one_before() {
    let desk = Desk::with_work();
    let first = told(&desk, &[]);
    desk.ok(&["backup", "copy"]);
    desk.proven(&["restore", "copy"]);
    let again = told(&desk, &["--basis", basis(&first)]);
    assert_eq!(form(&again), ("full", Some("incarnation")));
    assert_eq!(again["packet"]["boundary"], first["packet"]["boundary"]);
}

#[test]
fn what_is_required_and_does_not_fit_is_refused_and_what_is_not_is_referred_to() {
    let desk = Desk::with_work();
    let long = |letter: &str| letter.repeat(500);
    let mut words = vec!["goal".to_owned(), "update".to_owned(), "ship-it".to_owned()];
    for _ in 0..32 {
        words.extend(["--non-goal".to_owned(), long("n")]);
    }
    desk.proven(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let cut = told(&desk, &[]);
    assert_eq!(cut["packet"]["action_signature"]["matches"], false);
    let not_wanted = cut["packet"]["boundary"]["non_goals"].as_array().unwrap();
    assert!(
        not_wanted.last().unwrap().as_str().unwrap().ends_with("which `goal show ship-it` shows"),
        "{cut}"
    );
    assert!(cut["packet"].to_string().len() <= 16 * 1024);
    let prompt = desk.ok(&["heartbeat-prompt", "--agent", "coder"])["prompt"].as_str().unwrap().len();
    assert!((15 * 1024..20 * 1024).contains(&prompt), "{prompt}");
    assert_eq!(form(&told(&desk, &["--basis", basis(&cut)])).0, "unchanged", "what is cut is cut the same");
    let mut words = vec!["goal".to_owned(), "update".to_owned(), "ship-it".to_owned()];
    for _ in 0..32 {
        words.extend(["--source".to_owned(), long("r")]);
    }
    desk.proven(&words.iter().map(String::as_str).collect::<Vec<_>>());
    desk.refused(&["heartbeat-prompt", "--agent", "coder"], "required_context_too_large", 2);
}
