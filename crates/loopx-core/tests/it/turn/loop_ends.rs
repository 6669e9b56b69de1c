//! What `loop run` says at its end: of which Turn, what counts, who moved what, and what waits for a person.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{
    loops::{self, account, add, looped, start, states, words},
    place::{Place, answer, until},
};

/// What a person is told by a call.
struct Told {
    exit: Option<i32>,
    out: String,
    err: String,
}

fn told(place: &Place, words: &[&str]) -> Told {
    let output = place.plain("user:ana", &[words, &["--goal", "g"]].concat()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Told { exit: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Three Todos of one agent: the host asks a gate of each of the first two while it works on it, and what it does for the
/// third is refused.
fn asking() -> Place {
    let place = Place::new("true").with_git();
    add(&place, "and this");
    place.call("user:ana", &["todo", "add", "the third", "--validator", "test -f ../mended"]).ok();
    place.host(&format!(
        "n=$(wc -l < ../runs)\necho . > made.$n\n\
         if [ $n -le 2 ]; then {} gate open 'May it?' --kind approval --blocks g.$n --goal g > ../asked.$n 2>&1; fi",
        env!("CARGO_BIN_EXE_loopx-core")
    ));
    place
}

/// The gates that wait, oldest first.
fn gates(place: &Place) -> Vec<String> {
    let listed = place.call("user:ana", &["gate", "list"]).ok();
    let items = listed.json["items"].as_array().unwrap();
    let mut ids: Vec<_> = items.iter().map(|gate| gate["gate_id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// The first two results are held, the third was refused; then both gates are answered, the later one first.
fn answered() -> Place {
    let place = asking();
    let ended = looped(&place, &["--turns", "3"]);
    assert_eq!(states(&ended), ["g.1 held", "g.2 held", "g.3 failed"], "{}", ended.json);
    for gate in gates(&place).iter().rev() {
        place.call("proven:ana", &["gate", "resolve", gate, "--approve"]).ok();
    }
    place
}

/// Whether each Turn was only brought on.
fn brought_on(account: &Value) -> Vec<bool> {
    account["turns"].as_array().unwrap().iter().map(|turn| turn["brought_on"] == true).collect()
}

#[test]
fn regress_what_a_loop_brings_on_is_no_turn_of_its_own_and_did_not_fail() {
    // given two held results that were freed, and a third one that was refused
    let place = answered();
    // when a loop of one Turn runs
    let ended = looped(&place, &["--turns", "1", "--no-wait"]);
    // then it brings both on, and its one Turn is the repair, which is what it speaks of
    let of_loop = account(&ended, "turns");
    let mut all = states(&ended);
    assert_eq!(all.pop().as_deref(), Some("g.3 failed"), "{of_loop}");
    all.sort();
    assert_eq!(all, ["g.1 settled", "g.2 settled"], "{}", ended.json);
    assert_eq!((ended.exit, ended.code()), (Some(1), "validation_failed"), "{}", ended.json);
    assert!(ended.text("/error/message").contains("the last Turn, on g.3, failed"), "{}", ended.json);
    let failed = of_loop[2]["turn_id"].as_str().unwrap();
    assert!(ended.text("/error/hint").contains(failed), "{}", ended.json);
    assert_eq!(account(&ended, "disposition"), "repair");
    assert_eq!(account(&ended, "settled"), 2);
    assert_eq!((account(&ended, "used/turns"), account(&ended, "budget/turns")), (&1.into(), &1.into()));
    assert_eq!(brought_on(ended.json.pointer("/error/details/loop").unwrap()), [true, true, false]);
    // it was the second in a row on g.3, so that the plan has to change before another
    let ended = looped(&place, &["--turns", "1", "--no-wait"]);
    assert_eq!((ended.exit, states(&ended)), (Some(1), Vec::new()), "{}", ended.json);
    assert_eq!(account(&ended, "disposition"), "replan");
    assert_eq!(place.runs(), 4);
}

#[test]
fn regress_a_loop_speaks_of_others_only_where_there_were_some() {
    // given nobody but the loop
    let place = answered();
    let ended = told(&place, &words(&["--turns", "1", "--no-wait"]));
    assert!(!ended.err.contains("others have moved"), "{}", ended.err);
    assert_eq!(ended.err.matches("settled, brought on").count(), 2, "{}", ended.err);
    assert!(ended.err.contains("used: 1 of 1 Turn and 2 brought on"), "{}", ended.err);
    // given somebody who takes up other work for the same agent, while a loop waits and cannot look
    let place = Place::new("true");
    place.host("");
    add(&place, "and this");
    place.call("user:ana", &["todo", "defer", "g.2", "--wake", "after:1d"]).ok();
    let child = start(&place, &[]);
    until("it waits", || loops::told(&place).contains("waiting: "));
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    place.call("user:ana", &["todo", "unblock", "g.2"]).ok();
    let own = place.call("agent:a", &["todo", "claim", "g.2"]).ok().text("/own_id").to_owned();
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    until("it says so", || loops::told(&place).contains("others have moved this agent's work"));
    // then it takes it from there
    place.call("agent:a", &["todo", "release", "g.2", "--own", &own]).ok();
    let ended = answer(&child.wait_with_output().unwrap());
    assert_eq!(states(&ended), ["g.1 settled", "g.2 settled"], "{}", ended.json);
}

#[test]
fn regress_what_is_to_be_repaired_is_said_of_its_todo_and_not_of_a_turn_that_settled() {
    // given a Todo whose result was refused, and a more urgent one
    let place = Place::new("true");
    place.host("");
    place.call("proven:ana", &["todo", "update", "g.1", "--validator", "test -f ../mended"]).ok();
    assert_eq!(place.call("user:ana", &place.run("r1")).code(), "validation_failed");
    place.call("user:ana", &["todo", "add", "and this", "--priority", "P0"]).ok();
    // when a loop of one Turn runs
    let ended = looped(&place, &["--turns", "1"]);
    // then that one is done, and the other is named as what it is
    assert_eq!((ended.exit, ended.code()), (Some(1), "not_ready"), "{}", ended.json);
    assert_eq!(
        (account(&ended, "disposition"), states(&ended)),
        (&"repair".into(), vec!["g.2 settled".to_owned()])
    );
    let said = ended.text("/error/message");
    assert!(said.starts_with("the budget of 1 Turn is spent; g.1 is to be repaired next"), "{said}");
    assert!(!said.contains("the last Turn"), "{said}");
    assert!(ended.text("/error/hint").contains("loop run --agent a --host 'sh host.sh'"), "{}", ended.json);
}

#[test]
fn regress_a_dry_run_names_the_run_with_the_flags_that_it_was_given() {
    let place = Place::new("true");
    place.host("");
    let looped = ["loop", "run", "--agent", "a", "--host", "sh host.sh", "--deadline", "5m", "--turns", "3"];
    for words in [&looped[..], &["turn", "run", "--agent", "a", "--host", "sh host.sh", "--deadline", "5m"]] {
        let plan = told(&place, &[words, &["--dry-run"]].concat());
        let next = "next: loopx-core turn run --todo g.1 --agent a --host 'sh host.sh' --deadline 5m\n";
        assert!(plan.exit == Some(0) && plan.out.contains(next), "{}{}", plan.out, plan.err);
    }
    // where none was given, there is a place for one
    let plan = told(&place, &["turn", "plan", "--agent", "a"]);
    assert!(plan.out.contains("turn run --todo g.1 --agent a --host <COMMAND>\n"), "{}", plan.out);
}

#[test]
fn regress_a_loop_whose_results_are_held_names_the_gates_with_their_commands() {
    // given a loop whose two Turns are both held, and that may begin no third one
    let place = asking();
    let ended = told(&place, &words(&["--turns", "2"]));
    assert_eq!(ended.exit, Some(1), "{}", ended.err);
    assert!(ended.err.contains("the budget of 2 Turns is spent"), "{}", ended.err);
    // then what waits for a person is named as `status` names it
    let status = told(&place, &["status"]).out;
    let commands: Vec<_> = status
        .lines()
        .filter_map(|line| line.split_once("loopx-core gate resolve "))
        .map(|(_, rest)| rest)
        .collect();
    assert_eq!(commands.len(), 2, "{status}");
    for command in commands {
        assert!(
            ended.err.contains(&format!("    loopx-core gate resolve {command}\n")),
            "{command}: {}",
            ended.err
        );
    }
    // and to a program, with their whole ids
    let again = looped(&place, &["--turns", "1"]);
    assert_eq!(states(&again), ["g.3 failed"], "{}", again.json);
    let asks = account(&again, "asks").as_array().cloned().unwrap_or_default();
    let said: Vec<_> = asks.iter().map(|ask| ask["command"].as_str().unwrap().to_owned()).collect();
    let expected: Vec<_> =
        gates(&place).iter().map(|gate| format!("gate resolve {gate} --approve")).collect();
    assert_eq!(said, expected, "{}", again.json);
}
