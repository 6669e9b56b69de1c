//! V07 through the binary: a peer's result outlives its coordinator, whose driver is really killed, and is improved.

use std::{fs, process::Child};

use super::place::{Place, until};

/// A coordinator `g.1` whose host says that it began and waits to be let go, and a peer's Todo `g.2`.
fn coordinated(work: &str) -> (Place, Child) {
    let place = Place::new("exit 0");
    let add = ["todo", "add", "look into it", "--coordinates", "g.1", "--validator", "sh check.sh"];
    place.call("user:ana", &add).ok();
    place.host(&format!("touch ../began; while [ ! -f ../go ]; do sleep 0.02; done; {work}"));
    let run = [&place.run("r1")[..], &["--attempts", "1"]].concat();
    let run = place.start("user:ana", &run, &[]);
    until("the host began", || place.root().join("began").exists());
    (place, run)
}

/// What shows something, by its id.
fn shown(place: &Place, note: &str) -> String {
    let add = ["evidence", "add", note, "--kind", "note", "--todo", "g.2"];
    place.call("agent:b", &add).ok().text("/evidence/evidence_id").to_owned()
}

/// The owner of the peer's Todo returns a first result; its id, and the token.
fn first(place: &Place) -> (String, String) {
    let own = place.call("agent:b", &["todo", "claim", "g.2"]).ok().text("/own_id").to_owned();
    let evidence = shown(place, "two of three were measured");
    let give = ["peer", "return", "g.2", "two of three hold", "--evidence", &evidence, "--own", &own];
    (place.call("agent:b", &give).ok().text("/return/return_id").to_owned(), own)
}

/// Kills the driver, and lets its host come to its end without it.
fn killed(place: &Place, mut run: Child) {
    run.kill().unwrap();
    assert!(!run.wait().unwrap().success());
    fs::write(place.root().join("go"), "").unwrap();
}

fn state(place: &Place, id: &str) -> String {
    let shown = place.call("user:ana", &["peer", "show", id]).ok();
    let state = &shown.json["return"]["state"];
    let word = state.as_object().and_then(|state| state.keys().next().cloned());
    word.unwrap_or_else(|| state.as_str().unwrap().to_owned())
}

#[test]
fn v07_a_return_outlives_its_coordinator_that_was_killed_and_recovered() {
    let (place, run) = coordinated("true");
    let (id, own) = first(&place);
    killed(&place, run);
    place.call("agent:b", &["todo", "done", "g.2", "--own", &own]).ok();
    assert_eq!(state(&place, &id), "returned");
    let recovered = place.call("user:ana", &["turn", "recover", &place.turn_id(), "--resume"]);
    assert_eq!(recovered.exit, Some(0), "{}", recovered.json);
    assert_eq!((place.todo_state().as_str(), place.runs()), ("done", 1), "its result was taken in");
    assert_eq!(state(&place, &id), "returned", "nobody decided meanwhile");
    place.call("user:ana", &["peer", "adopt", &id, "--reason", "it holds"]).ok();
    assert_eq!(state(&place, &id), "adopted");
    let adopted = &place.events("peer.adopted")[0];
    assert_eq!(adopted["text"], "return adopted: it holds (two of three hold)");
    assert_eq!(adopted["todo_ids"], serde_json::json!(["g.1", "g.2"]));
    assert!(place.survivors().is_empty());
}

#[test]
fn v07_a_return_outlives_its_coordinator_that_was_killed_and_whoever_takes_it_up_improves_it() {
    let (place, run) = coordinated("exit 9");
    let (early, own) = first(&place);
    killed(&place, run);
    let recovered = place.call("user:ana", &["turn", "recover", &place.turn_id(), "--resume"]);
    assert_ne!(recovered.exit, Some(0), "its host failed: {}", recovered.json);
    // Whoever takes the coordinator up has a token of its own, and decides.
    let again = place.own("agent:a");
    place.call("agent:a", &["peer", "adopt", &early, "--own", &again]).ok();
    let (known, more) = (shown(&place, "measured again"), shown(&place, "the third was measured"));
    place.call("agent:b", &["todo", "done", "g.2", "--own", &own]).ok();
    let give = ["peer", "return", "g.2", "all three hold", "--evidence", &known, "--evidence", &more];
    assert_eq!(place.call("agent:b", &give).code(), "invalid_argument", "its Turn is over, and to be named");
    let listed = place.call("agent:b", &["turn", "list", "--todo", "g.2"]).ok();
    let turn = listed.text("/items/0/turn_id").to_owned();
    let better = place
        .call("agent:b", &[&give[..], &["--turn", &turn]].concat())
        .ok()
        .text("/return/return_id")
        .to_owned();
    let instead = ["peer", "reject", &early, "--superseded-by", &better, "--reason", "measured since"];
    let stranger = place.call("agent:b", &[&instead[..], &["--own", &own]].concat());
    assert_eq!(stranger.code(), "ownership_superseded", "{}", stranger.json);
    place.call("agent:a", &[&instead[..], &["--own", &again]].concat()).ok();
    place.call("agent:a", &["peer", "adopt", &better, "--own", &again]).ok();
    assert_eq!((state(&place, &early).as_str(), state(&place, &better).as_str()), ("superseded", "adopted"));
    let shown = place.call("user:ana", &["peer", "show", &early]).ok();
    assert_eq!(shown.text("/return/state/superseded/superseded_by"), better);
    place.call("agent:a", &["todo", "done", "g.1", "--own", &again]).ok();
    assert_eq!(place.todo_state(), "done");
    place.call("user:ana", &["audit", "verify"]).ok();
    assert!(place.survivors().is_empty());
}
