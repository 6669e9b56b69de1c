//! What happens around a hosted Turn while its host works: each change, where it leaves the Turn, and the way out.
//!
//! The host is a real process that waits for a file; the change comes from another process meanwhile.

use std::{fs, process::Child};

use serde_json::Value;

use super::place::{Answer, Place, answer, until};

/// A host that waits until it is let go, each time it is started.
const WAITS: &str = "echo . >> ../began; while [ ! -f ../go ]; do sleep 0.02; done";

/// A hosted Turn whose host is at work.
pub(super) struct Working {
    pub(super) place: Place,
    pub(super) run: Child,
    pub(super) turn_id: String,
}

impl Working {
    pub(super) fn at(place: Place) -> Self {
        Self::with(place, &[])
    }

    pub(super) fn with(place: Place, more: &[&str]) -> Self {
        place.host(WAITS);
        let words = [&place.run("r1"), more].concat();
        let run = place.start("user:ana", &words, &[]);
        until("the host began", || place.root().join("began").exists());
        let turn_id = place.turn_id();
        Self { place, run, turn_id }
    }

    /// Lets the host end; what the run answered, and its place.
    pub(super) fn over(self) -> (Place, Answer) {
        fs::write(self.place.root().join("go"), "").unwrap();
        (self.place, answer(&self.run.wait_with_output().unwrap()))
    }

    /// The place alone; its run is over already.
    #[cfg(feature = "tier")]
    pub(super) fn into_place(self) -> Place {
        self.place
    }

    /// A write from elsewhere that is accepted.
    fn write(&self, actor: &str, words: &[&str]) -> Answer {
        self.place.call(actor, words).ok()
    }
}

/// Where the run left its Turn: its exit, its code, and what holds it.
pub(super) fn told(answer: &Answer) -> (Option<i32>, &str, Vec<&str>) {
    let causes = answer.json.pointer("/error/details/causes").and_then(Value::as_array);
    let causes = causes.map(|all| all.iter().filter_map(Value::as_str).collect()).unwrap_or_default();
    (answer.exit, answer.code(), causes)
}

/// The command that a refusal names, as it stands there.
pub(super) fn hint(answer: &Answer) -> String {
    answer.text("/error/hint").trim_start_matches("loopx-core ").to_owned()
}

/// The way out, as an error, `turn show` and `status` name it alike; done literally.
fn go_out(place: &Place, held: &Answer) -> Answer {
    let command = hint(held);
    let turn_id = place.turn_id();
    let shown = place.plain("proven:ana", &["turn", "show", &turn_id]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(&format!("next: loopx-core {command}\n")), "{command}: {shown}");
    let status = place.call("proven:ana", &["status"]).ok();
    assert_eq!(status.text("/goals/0/first/command"), command, "{}", status.json);
    literally(place, &command)
}

/// A command as a person types what they are shown.
pub(super) fn literally(place: &Place, command: &str) -> Answer {
    let words: Vec<&str> = command.split(' ').collect();
    place.call("proven:ana", &words)
}

/// What became of the slot of the newest Turn.
fn slot(place: &Place) -> String {
    place.call("user:ana", &["turn", "show", &place.turn_id()]).ok().text("/turn/slot").to_owned()
}

/// One settlement, one slot spent, one gate at most open, nothing left running.
fn settled_once(place: &Place, runs: usize) {
    let turns = place.turns();
    let states: Vec<_> = turns.iter().map(|turn| turn["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["settled"]);
    assert_eq!(slot(place), "spent");
    let ends = place.events("turn.ended");
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!(place.todo_state(), "done");
    assert_eq!(place.runs(), runs, "how often the host ran");
    assert!(place.survivors().is_empty());
    // The same run again writes nothing, and starts nothing.
    let head = place.head();
    place.call("user:ana", &place.run("r1"));
    assert_eq!((place.head(), place.runs()), (head, runs));
}

#[test]
fn fault_g01_a_gate_opened_meanwhile_holds_the_proven_result_until_it_is_answered() {
    for blocks in ["g.1", "goal"] {
        let work = Working::at(Place::new("exit 0"));
        work.write("user:ana", &["gate", "open", "Which?", "--option", "one", "--blocks", blocks]);
        let (place, held) = work.over();
        assert_eq!(told(&held), (Some(6), "held", vec!["gate"]), "{blocks}: {}", held.json);
        let verdict = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
        assert_eq!(verdict.text("/turn/verdict/outcome"), "passed");
        assert!(hint(&held).starts_with("gate resolve gate_"), "{}", held.json);
        go_out(&place, &held).ok();
        settled_once(&place, 1);
    }
}

#[test]
fn a_denied_gate_stops_the_held_result_and_keeps_it_as_evidence() {
    let work = Working::at(Place::new("exit 0"));
    let gate = work.write("user:ana", &["gate", "open", "May it?", "--kind", "approval", "--blocks", "g.1"]);
    let gate = gate.text("/gate/gate_id").to_owned();
    let (place, held) = work.over();
    assert_eq!(told(&held), (Some(6), "held", vec!["gate"]));
    place.call("proven:ana", &["gate", "resolve", &gate, "--deny"]).ok();
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
    assert_eq!((shown.text("/turn/state"), shown.text("/turn/why")), ("stopped", "denied"));
    assert_eq!(shown.text("/turn/candidate/summary"), "it is done");
    assert_eq!(slot(&place), "returned");
}

#[test]
fn a_requirement_changed_meanwhile_gets_one_more_attempt_with_the_new_text() {
    for words in
        [["todo", "update", "g.1", "--title", "mend it well"], ["todo", "update", "g.1", "--priority", "P0"]]
    {
        let work = Working::at(Place::new("exit 0"));
        work.write("user:ana", &words);
        let (place, done) = work.over();
        assert_eq!(done.exit, Some(0), "{words:?} {}", done.json);
        settled_once(&place, 2);
    }
}

#[test]
fn a_requirement_changed_under_the_last_attempt_is_a_persons_to_accept() {
    let work = Working::with(Place::new("exit 0"), &["--attempts", "1"]);
    work.write("user:ana", &["todo", "update", "g.1", "--title", "mend it well"]);
    let (place, held) = work.over();
    assert_eq!(told(&held), (Some(6), "held", vec!["requirement"]), "{}", held.json);
    let turn_id = place.turn_id();
    assert_eq!(hint(&held), format!("turn accept {turn_id}"));
    // A proof never lifts it, a look from an agent neither.
    let head = place.head();
    for words in [vec!["turn", "recover", &turn_id, "--prove"], vec!["turn", "recover", "--prove"]] {
        place.call("user:ana", &words);
        assert_eq!((place.head(), place.turns()[0]["state"].as_str()), (head, Some("held")), "{words:?}");
    }
    for (actor, code) in [("agent:a", "user_only"), ("user:ana", "unauthenticated")] {
        let refused = place.call(actor, &["turn", "accept", &turn_id]);
        assert_eq!(refused.code(), code, "{}", refused.json);
    }
    let accepted = go_out(&place, &held).ok();
    assert_eq!(accepted.text("/turn/state"), "candidate", "{}", accepted.json);
    // What it names then proves the result anew, and ends the Turn.
    assert_eq!(place.call("user:ana", &["status"]).ok().text("/goals/0/first/command"), recover(&turn_id));
    literally(&place, &recover(&turn_id)).ok();
    settled_once(&place, 1);
}

pub(super) fn recover(turn_id: &str) -> String {
    format!("turn recover {turn_id} --resume")
}

#[test]
fn validators_changed_meanwhile_prove_the_result_that_comes() {
    // of the Todo: that is another requirement, which the next attempt is given
    let work = Working::at(Place::new("exit 0"));
    work.place.script("other.sh", "echo . >> ../proved");
    let words = ["todo", "update", "g.1", "--validator", "sh other.sh"];
    work.write("proven:ana", &words);
    let (place, done) = work.over();
    assert_eq!(done.exit, Some(0), "{}", done.json);
    settled_once(&place, 2);
    assert_eq!(fs::read_to_string(place.root().join("proved")).unwrap().lines().count(), 2);
    // of the Goal: they count as they are when the result comes
    let work = Working::at(Place::new("exit 1"));
    work.place.script("other.sh", "echo . >> ../proved");
    work.write("proven:ana", &["goal", "update", "g", "--validator", "sh other.sh"]);
    let (place, done) = work.over();
    assert_eq!(done.exit, Some(0), "{}", done.json);
    settled_once(&place, 1);
    assert_eq!(fs::read_to_string(place.root().join("proved")).unwrap().lines().count(), 1);
    // none any more: nobody but a person can say that it is done
    let work = Working::at(Place::new("exit 1"));
    work.write("proven:ana", &["goal", "update", "g", "--clear", "validator"]);
    let (place, held) = work.over();
    assert_eq!(told(&held), (Some(6), "held", vec!["acceptance"]), "{}", held.json);
    go_out(&place, &held).ok();
    settled_once(&place, 1);
}

#[test]
fn a_hold_meanwhile_holds_the_proven_result_until_it_is_lifted() {
    let work = Working::at(Place::new("exit 0"));
    work.write("user:ana", &["todo", "hold", "g.1"]);
    let (place, held) = work.over();
    assert_eq!(told(&held), (Some(6), "held", vec!["hold"]));
    assert_eq!(hint(&held), "todo unhold g.1");
    go_out(&place, &held).ok();
    settled_once(&place, 1);
}

#[test]
fn a_dependency_that_is_reopened_meanwhile_holds_until_it_is_done_again() {
    let place = Place::new("exit 0");
    place.call("user:ana", &["todo", "add", "first"]).ok();
    place.call("user:ana", &["todo", "link", "g.1", "--depends-on", "g.2"]).ok();
    place.call("proven:ana", &["todo", "done", "g.2", "--waive", "seen"]).ok();
    let work = Working::at(place);
    work.write("user:ana", &["todo", "reopen", "g.2"]);
    let (place, held) = work.over();
    assert_eq!(told(&held), (Some(6), "held", vec!["deps"]), "{}", held.json);
    place.call("proven:ana", &["todo", "done", "g.2", "--waive", "seen"]).ok();
    settled_once(&place, 1);
}

#[test]
fn a_dependency_added_meanwhile_is_another_requirement_and_holds_while_it_is_open() {
    let place = Place::new("exit 0");
    place.call("user:ana", &["todo", "add", "first"]).ok();
    let work = Working::at(place);
    work.write("user:ana", &["todo", "link", "g.1", "--depends-on", "g.2"]);
    let (place, held) = work.over();
    assert_eq!(told(&held), (Some(6), "held", vec!["requirement", "deps"]), "{}", held.json);
    place.call("proven:ana", &["todo", "done", "g.2", "--waive", "seen"]).ok();
    let turn_id = place.turn_id();
    assert_eq!(
        place.call("user:ana", &["turn", "show", &turn_id]).ok().json["turn"]["causes"][0],
        "requirement"
    );
    // Another attempt is given what is wanted now, and is proved.
    literally(&place, &recover(&turn_id)).ok();
    settled_once(&place, 2);
}

#[test]
fn an_unrelated_todo_added_meanwhile_changes_nothing() {
    let work = Working::at(Place::new("exit 0"));
    work.write("user:ana", &["todo", "add", "something else"]);
    let (place, done) = work.over();
    assert_eq!(done.exit, Some(0), "{}", done.json);
    settled_once(&place, 1);
}

#[test]
fn a_goal_stopped_meanwhile_lets_what_it_admitted_settle_and_admits_nothing() {
    let work = Working::at(Place::new("exit 0"));
    work.write("user:ana", &["todo", "add", "another"]);
    work.write("user:ana", &["goal", "stop", "g"]);
    let (place, done) = work.over();
    assert_eq!(done.exit, Some(0), "{}", done.json);
    let next = place.call("agent:a", &["todo", "claim", "g.2"]);
    assert_eq!((next.exit, next.code()), (Some(6), "goal_stopped"));
    settled_once(&place, 1);
}

#[test]
fn what_would_take_the_todo_away_is_refused_while_a_host_works_on_it() {
    let work = Working::at(Place::new("exit 0"));
    let head = work.place.head();
    for words in [
        &["todo", "cancel", "g.1", "--reason", "no"][..],
        &["todo", "defer", "g.1", "--wake", "after:1h"],
        &["todo", "block", "g.1", "--reason", "no"],
        &["todo", "release", "g.1", "--force", "--reason", "no"],
        &["todo", "transfer", "g.1", "--to", "b"],
        &["todo", "done", "g.1", "--waive", "no"],
        &["agent", "retire", "a"],
        &["goal", "close", "g", "--abandoned", "--reason", "no"],
        &["goal", "close", "g", "--achieved"],
    ] {
        let refused = work.place.call("proven:ana", words);
        assert_eq!((refused.exit, refused.code()), (Some(4), "turn_running"), "{words:?} {}", refused.json);
        assert_eq!(hint(&refused), format!("turn stop {}", work.turn_id), "{words:?}");
    }
    // Nor is it given up while its executor may live.
    let refused = work.place.call("proven:ana", &["turn", "abandon", &work.turn_id, "--reason", "no"]);
    assert_eq!((refused.exit, refused.code()), (Some(4), "executor_active"), "{}", refused.json);
    assert_eq!(hint(&refused), format!("turn stop {}", work.turn_id));
    assert_eq!(work.place.head(), head);
    let (place, done) = work.over();
    assert_eq!(done.exit, Some(0), "{}", done.json);
    settled_once(&place, 1);
}

#[test]
fn the_way_out_of_a_refusal_stops_the_host_and_then_the_command_succeeds() {
    for words in [
        &["todo", "cancel", "g.1", "--reason", "no"][..],
        &["agent", "retire", "a"],
        &["todo", "release", "g.1", "--force", "--reason", "no"],
        &["goal", "close", "g", "--abandoned", "--reason", "no"],
    ] {
        let work = Working::at(Place::new("exit 0"));
        let refused = work.place.call("proven:ana", words);
        literally(&work.place, &hint(&refused)).ok();
        let (place, stopped) = work.over();
        assert_eq!((stopped.exit, stopped.code()), (Some(1), "not_ready"), "{words:?} {}", stopped.json);
        assert_eq!(slot(&place), "returned");
        let after = place.call("proven:ana", words);
        // What is free already has nobody to be taken from.
        assert!(after.exit == Some(0) || words[1] == "release", "{words:?} {}", after.json);
        assert!(place.survivors().is_empty());
        assert_eq!(place.events("turn.ended").len(), 1);
    }
}

#[test]
fn two_things_that_hold_are_both_told_and_lifted_one_by_one() {
    let work = Working::at(Place::new("exit 0"));
    let gate = work.write("user:ana", &["gate", "open", "Which?", "--option", "one", "--blocks", "g.1"]);
    let gate = gate.text("/gate/gate_id").to_owned();
    work.write("user:ana", &["todo", "hold", "g.1"]);
    let (place, held) = work.over();
    assert_eq!(told(&held), (Some(6), "held", vec!["gate", "hold"]));
    go_out(&place, &held).ok();
    assert_eq!(place.turns()[0]["state"], "held", "a gate still stands");
    let next = place.call("user:ana", &["status"]).ok().text("/goals/0/first/command").to_owned();
    assert!(next.starts_with(&format!("gate resolve {gate}")), "{next}");
    literally(&place, &next).ok();
    settled_once(&place, 1);
}
