//! What a person is told around held results and questions: what is in the way and what ends it, what is asked, who is
//! needed, what was approved, what a recovery would do, and which path was written out of bounds.

use std::fs;

use serde_json::Value;

use super::{
    midrun::{Working, hint, literally, told},
    place::{Place, REPORT, until},
    words::{flat, said},
};

/// A run of `host.sh` on some Todo.
fn run(place: &Place, todo: &str) -> super::place::Answer {
    place.call("user:ana", &["turn", "run", "--todo", todo, "--agent", "a", "--host", "sh host.sh"])
}

/// The newest Turn of some Todo.
fn turn_of(place: &Place, todo: &str) -> Value {
    place.call("user:ana", &["turn", "list", "--todo", todo]).ok().json["items"][0].clone()
}

fn id(turn: &Value) -> String {
    turn["turn_id"].as_str().unwrap().to_owned()
}

/// The commands that status names, the first one first.
fn attention(place: &Place) -> Vec<(String, String)> {
    let status = place.call("proven:ana", &["status"]).ok();
    let rows = status.json["goals"][0]["attention"].as_array().cloned().unwrap();
    rows.iter()
        .map(|row| (row["text"].as_str().unwrap().to_owned(), row["command"].as_str().unwrap().to_owned()))
        .collect()
}

/// A result that was approved after its work tree had changed, so that it is a candidate again.
fn approved() -> Place {
    let place = Place::bare().with_git();
    place.host("");
    let held = run(&place, "g.1");
    fs::write(place.tree().join("tracked"), "another").unwrap();
    literally(&place, &hint(&held)).ok();
    assert_eq!(turn_of(&place, "g.1")["state"], "candidate");
    place
}

#[test]
fn what_keeps_an_agent_from_its_held_result_is_named_with_the_command_that_ends_it() {
    // given two held results of one agent, whose tree changes before both are approved
    let place = Place::bare().with_git();
    place.host("");
    place.call("user:ana", &["todo", "add", "and this"]).ok();
    let first = hint(&run(&place, "g.1"));
    let second = hint(&run(&place, "g.2"));
    fs::write(place.tree().join("tracked"), "another").unwrap();
    literally(&place, &second).ok();
    literally(&place, &first).ok();
    let (a, b) = (turn_of(&place, "g.1"), turn_of(&place, "g.2"));
    assert_eq!((a["state"].as_str(), b["state"].as_str()), (Some("held"), Some("candidate")));
    // then nothing that is named for the one is what just failed, and all of it leads to the other
    let (a, b) = (id(&a), id(&b));
    let way = format!("turn recover {b} --resume");
    for verb in ["--prove", "--resume"] {
        let refused = place.call("user:ana", &["turn", "recover", &a, verb]);
        assert_eq!(told(&refused), (Some(6), "held", vec!["agent_busy"]), "{verb} {}", refused.json);
        assert_eq!(hint(&refused), way, "{verb} {}", refused.json);
        assert!(refused.text("/error/message").contains(&b), "{}", refused.json);
    }
    let rows = attention(&place);
    assert!(!rows.iter().any(|(_, command)| command.contains(&a)), "{rows:?}");
    assert!(rows.iter().any(|(_, command)| *command == way), "{rows:?}");
    let shown = said(&place, "user:ana", &["turn", "show", &a, "--goal", "g"]);
    assert!(shown.contains(&format!("next: loopx-core {way}\n")), "{shown}");
    // and it does
    literally(&place, &way).ok();
    assert_eq!(turn_of(&place, "g.2")["state"], "settled");
    let state = turn_of(&place, "g.1")["state"].clone();
    assert_eq!(state, "candidate", "what was in the way is gone");
    literally(&place, &format!("turn recover {a} --resume")).ok();
    assert_eq!(turn_of(&place, "g.1")["state"], "settled");
}

#[test]
fn each_question_that_holds_a_result_stands_beside_the_command_that_answers_it() {
    let work = Working::at(Place::new("exit 0"));
    for question in ["May the door open?", "May the window open?"] {
        let words = ["gate", "open", question, "--kind", "approval", "--blocks", "g.1"];
        work.place.call("user:ana", &words).ok();
    }
    let (place, held) = work.over();
    let message = held.text("/error/message");
    assert!(message.contains("May the door open?") && message.contains("May the window open?"), "{message}");
    assert!(message.contains("--deny"), "{message}");
    let gates = place.call("user:ana", &["gate", "list"]).ok();
    let rows = attention(&place);
    for gate in gates.json["items"].as_array().unwrap() {
        let (id, question) = (gate["gate_id"].as_str().unwrap(), gate["question"].as_str().unwrap());
        let answers = format!("gate resolve {id} --approve");
        let row = rows.iter().find(|(_, command)| *command == answers);
        assert!(row.is_some_and(|(text, _)| text.contains(question)), "{question}: {rows:?}");
    }
    for words in [&["status"][..], &["turn", "show", &place.turn_id()]] {
        let text = flat(&said(&place, "proven:ana", &[words, &["--goal", "g"]].concat()));
        assert!(text.contains("May the door open?"), "{text}");
        assert!(text.contains("to say no: loopx-core gate resolve "), "{text}");
        assert!(text.contains(" --deny"), "{text}");
    }
}

#[test]
fn whether_a_result_is_accepted_is_asked_with_the_question() {
    let place = Place::bare();
    place.host("");
    let held = run(&place, "g.1");
    let question = "Is g.1 done? No validator can tell.";
    assert!(held.text("/error/message").contains(question), "{}", held.json);
    let (text, command) = attention(&place).remove(0);
    assert!(text.contains(question) && command.ends_with(" --approve"), "{text}: {command}");
    // who plans is told it too
    place.call("proven:ana", &["agent", "retire", "b"]).ok();
    let plan = flat(&said(&place, "user:ana", &["turn", "plan", "--agent", "a", "--goal", "g"]));
    assert!(plan.contains(question), "{plan}");
}

#[test]
fn a_host_that_needs_a_person_ends_its_run_with_the_question_and_what_answers_it() {
    let place = Place::new("exit 0");
    let report = REPORT
        .replace("validated_completion", "user_action_required")
        .replace("\"next_action\":\"none\"", "\"next_action\":\"Which key is it?\"");
    place.script("host.sh", &format!("cat > /dev/null\necho . >> ../runs\n{report}\n"));
    let ended = place.call("user:ana", &place.run("r1"));
    assert_eq!((ended.exit, ended.code()), (Some(6), "gate_opened"), "{}", ended.json);
    let gate = place.call("user:ana", &["gate", "list"]).ok().text("/items/0/gate_id").to_owned();
    let message = ended.text("/error/message").to_owned();
    assert!(message.contains("Which key is it?") && message.contains(&gate), "{message}");
    assert_eq!(hint(&ended), format!("gate resolve {gate} --answer TEXT"));
    assert_eq!(ended.text("/error/details/turn/state"), "stopped");
    assert!(ended.text("/error/details/receipt/operation_id").starts_with("r1/"), "{}", ended.json);
    let shown = said(&place, "proven:ana", &["turn", "show", &place.turn_id(), "--goal", "g"]);
    assert!(shown.contains("Which key is it?"), "{shown}");
    assert!(shown.contains(&format!("next: loopx-core gate resolve {gate} --answer <TEXT>")), "{shown}");
    // given again it ends as it did; once answered, with what comes next
    let again = place.call("user:ana", &place.run("r1"));
    assert_eq!((again.exit, again.code(), hint(&again)), (Some(6), "gate_opened", hint(&ended)));
    place.call("proven:ana", &["gate", "resolve", &gate, "--answer", "the small one"]).ok();
    let again = place.call("user:ana", &place.run("r1"));
    assert_eq!((again.exit, again.code()), (Some(6), "gate_opened"), "{}", again.json);
    assert!(hint(&again).starts_with("turn show "), "{}", again.json);
    assert_eq!(place.runs(), 1);
}

#[test]
fn an_approved_result_that_is_to_be_proved_anew_comes_first_and_is_called_that() {
    let place = approved();
    // another agent could take other work
    place.call("user:ana", &["todo", "add", "and this"]).ok();
    let words = "the result on g.1 was approved, and its proof is to be renewed";
    let command = format!("turn recover {} --resume", id(&turn_of(&place, "g.1")));
    let status = place.call("user:ana", &["status"]).ok();
    assert_eq!(status.text("/goals/0/first/command"), command, "{}", status.json);
    assert_eq!(status.text("/goals/0/because"), words);
    let text = flat(&said(&place, "user:ana", &["status", "--goal", "g"]));
    assert!(!text.contains("waits for repair") && !text.contains("nobody proves it"), "{text}");
    let list = flat(&said(&place, "user:ana", &["turn", "list", "--goal", "g"]));
    assert!(list.contains(words), "{list}");
    literally(&place, &command).ok();
    assert_eq!(turn_of(&place, "g.1")["state"], "settled");
}

#[test]
fn a_dry_recovery_says_what_it_would_do_and_does_nothing() {
    let dry = |place: &Place| {
        let words = ["turn", "recover", &place.turn_id(), "--resume", "--dry-run", "--goal", "g"];
        let (head, runs) = (place.head(), place.runs());
        let text = flat(&said(place, "user:ana", &words));
        assert_eq!((place.head(), place.runs()), (head, runs), "{text}");
        assert!(text.lines().count() <= 2 && !text.contains("Commits"), "{text}");
        text
    };
    let cut = |point: &str| {
        let place = Place::new("exit 0").with_git();
        place.host("");
        place.call_with("user:ana", &place.run("r1"), &[("LOOPX_FAILPOINT", &format!("{point}=kill"))]);
        place
    };
    let place = cut("turn.candidate");
    assert!(dry(&place).contains("would run its validators: sh check.sh"), "{}", dry(&place));
    let place = cut("turn.admitted");
    assert!(dry(&place).contains("would give its Todo back: nothing was started"), "{}", dry(&place));
    let place = cut("turn.described");
    assert!(dry(&place).contains("would start the host `sh host.sh`, attempt 1"), "{}", dry(&place));
    let place = cut("turn.dispatched");
    until("its guardian has gone", || !dry(&place).contains("would wait for attempt 1"));
    let text = dry(&place);
    assert!(text.contains("would start the host `sh host.sh` again, attempt 2"), "{text}");
    let place = cut("turn.host_ended");
    let text = dry(&place);
    assert!(
        text.contains("would read the result that attempt 1 left, and run its validators: sh check.sh"),
        "{text}"
    );
    // what is held says what it waits for
    let work = Working::at(Place::new("exit 0"));
    work.place.call("user:ana", &["todo", "hold", "g.1"]).ok();
    let (place, _) = work.over();
    assert!(dry(&place).contains("nothing to do: it is held: a person paused it"), "{}", dry(&place));
    // what changed under its last attempt is a person's; with another attempt it is started again
    let work = Working::with(Place::new("exit 0"), &["--attempts", "1"]);
    work.place.call("user:ana", &["todo", "update", "g.1", "--title", "mend it well"]).ok();
    let (place, _) = work.over();
    assert!(dry(&place).contains("nothing to do: it is held: the Todo changed meanwhile"), "{}", dry(&place));
    // what was approved is proved anew
    let text = dry(&approved());
    assert!(text.contains("would look at its work tree; no validator proves it"), "{text}");
    // and what is over needs nobody
    let place = Place::new("exit 0");
    place.host("");
    place.call("user:ana", &place.run("r1")).ok();
    assert!(dry(&place).contains("nothing to do: it is settled"), "{}", dry(&place));
    // a program gets the same
    let words = ["turn", "recover", &place.turn_id(), "--resume", "--dry-run"];
    let plan = place.call("user:ana", &words).ok();
    assert_eq!(plan.text("/would"), "nothing to do: it is settled", "{}", plan.json);
}

#[test]
fn what_was_written_out_of_bounds_is_named_where_its_end_is_told() {
    let place = Place::new("exit 0").with_git();
    place.call("proven:ana", &["goal", "update", "g", "--scope", "src", "--scope", "docs"]).ok();
    place.call("user:ana", &["todo", "update", "g.1", "--scope", "src"]).ok();
    place.host("mkdir -p docs src; touch docs/stray docs/astray src/a");
    place.call("user:ana", &place.run("r1"));
    for words in [&["status", "--goal", "g"][..], &["turn", "list", "--todo", "g.1", "--goal", "g"]] {
        let text = flat(&said(&place, "user:ana", words));
        assert!(text.contains("wrote outside its scopes: docs/astray, docs/stray"), "{words:?} {text}");
        assert!(!text.contains("it is done"), "{words:?} {text}");
    }
}
