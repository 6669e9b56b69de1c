//! What is meant outside is told before it is sent, read back when nobody answered, and in the way until it is known.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use serde_json::Value;

use crate::desk::Desk;

const DIGEST: &str = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
const CODER: [&str; 2] = ["--as", "agent:coder"];

/// Words, as the agent.
fn coder<'w>(words: &[&'w str]) -> Vec<&'w str> {
    words.iter().copied().chain(CODER).collect()
}

/// What shows something, by its id.
fn evidence(desk: &Desk) -> String {
    let added = desk.ok(&["evidence", "add", "it was asked", "--kind", "note"]);
    added["evidence"]["evidence_id"].as_str().unwrap().to_owned()
}

/// An intent of the agent's work on the first Todo; the ownership, and the answer.
fn intended(desk: &Desk) -> (String, Value) {
    let owned = desk.ok(&coder(&["todo", "claim", "ship-it.1"]));
    let own = owned["own_id"].as_str().unwrap().to_owned();
    let answer = desk.ok(&coder(&intent(&own, DIGEST)));
    (own, answer)
}

fn intent<'w>(own: &'w str, digest: &'w str) -> Vec<&'w str> {
    let what = ["effect", "intend", "ship-it.1", "publish 1.4", "--key", "release-1.4", "--digest", digest];
    [&what[..], &["--blocks-todo", "ship-it.2", "--own", own]].concat()
}

fn id(answer: &Value) -> String {
    answer["effect"]["effect_id"].as_str().unwrap().to_owned()
}

#[test]
fn v09_what_was_sent_and_not_answered_is_read_back_before_anybody_goes_on() {
    let desk = Desk::with_work();
    let (own, answer) = intended(&desk);
    let effect = id(&answer);
    assert_eq!(
        (&answer["effect"]["state"], &answer["effect"]["created"]),
        (&"intended".into(), &true.into())
    );
    let sent = desk.ok(&coder(&["effect", "confirm", &effect, "--dispatched"]));
    assert_eq!(sent["effect"]["state"], "dispatched");
    // It is sent once: whoever comes to send it again is told no, and the same intent is the same effect.
    desk.refused(&coder(&["effect", "confirm", &effect, "--dispatched"]), "invalid_transition", 4);
    let again = desk.ok(&coder(&intent(&own, DIGEST)));
    assert_eq!((id(&again), &again["effect"]["created"]), (effect.clone(), &false.into()));
    let other = DIGEST.replace('2', "3");
    desk.refused(&coder(&intent(&own, &other)), "operation_conflict", 4);
    desk.ok(&coder(&["todo", "release", "ship-it.1", "--own", &own]));
    for todo in ["ship-it.1", "ship-it.2"] {
        let refused = desk.refused(&coder(&["todo", "claim", todo]), "effect_unresolved", 5);
        assert_eq!(refused["details"]["effect_id"], *effect);
        let page = desk.ok(&["todo", "show", todo]);
        assert_eq!(page["todo"]["effects"][0]["effect_id"], *effect);
    }
    let plan = &desk.ok(&["turn", "plan", "--agent", "coder"])["plan"];
    assert_eq!((&plan["action"], &plan["effect_id"]), (&"reconcile".into(), &effect.clone().into()));
    assert_eq!(plan["command"], format!("effect reconcile {effect}"));
    let shown = evidence(&desk);
    let told = desk.ok(&coder(&["effect", "reconcile", &effect, "--confirmed", "--evidence", &shown]));
    assert_eq!(told["effect"]["state"], "confirmed");
    desk.ok(&coder(&["todo", "claim", "ship-it.2"]));
    let log = desk.ok(&["log", "--todo", "ship-it.2", "--all"]);
    let lines: Vec<_> =
        log["items"].as_array().unwrap().iter().filter(|row| row["effect_id"] == *effect).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[0]["text"], "effect confirmed (publish 1.4)");
    let exported = desk.ok(&["goal", "export", "ship-it"]);
    assert_eq!(exported["nouns"]["effect"][0]["state"], "confirmed");
}

#[test]
fn every_command_that_an_effect_leads_on_with_is_accepted_in_turn() {
    let desk = Desk::with_work();
    let (own, answer) = intended(&desk);
    let effect = id(&answer);
    desk.ok(&coder(&["effect", "confirm", &effect, "--dispatched"]));
    desk.ok(&coder(&["todo", "release", "ship-it.1", "--own", &own]));
    for todo in ["ship-it.2", "ship-it.3"] {
        desk.ok(&["todo", "cancel", todo, "--reason", "not now"]);
    }
    let first = |desk: &Desk| {
        let status = desk.ok(&["status", "--goal", "ship-it"]);
        let goal = &status["goals"][0];
        (goal["waiting_on"].as_str().unwrap().to_owned(), goal["attention"][0].clone())
    };
    let (on, row) = first(&desk);
    assert_eq!((on.as_str(), row["kind"].as_str()), ("external", Some("effect_unresolved")), "{row}");
    assert_eq!(row["command"], format!("effect reconcile {effect}"));
    // As it is named it says that the readback told nothing; then a person is asked, once.
    desk.ok(&coder(&["effect", "reconcile", &effect]));
    let (on, row) = first(&desk);
    assert_eq!(on, "external");
    let command = format!("effect write-off {effect} --reason TEXT --evidence EVIDENCE");
    assert_eq!(row["command"], desk.by_token(&command));
    let shown = evidence(&desk);
    let off = ["effect", "write-off", &effect, "--reason", "the provider is gone", "--evidence", &shown];
    desk.refused(&coder(&off), "user_only", 6);
    desk.refused(&off, "unauthenticated", 6);
    desk.proven(&off);
    desk.ok(&["todo", "cancel", "ship-it.1", "--reason", "not now"]);
    desk.proven(&["goal", "update", "--criterion", "1", "--waive", "it is not wanted"]);
    let close = ["goal", "close", "ship-it", "--achieved"];
    let token = desk.token_file();
    let proof = ["--token-file", &token];
    let refused = desk.refused(&[&close[..], &proof].concat(), "effect_unresolved", 5);
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.ends_with(&format!("goal close ship-it --achieved --waive {effect}=REASON")), "{hint}");
    let waive = format!("{effect}=we live with it");
    desk.proven(&[&close[..], &["--waive", &waive]].concat());
    let page = desk.ok(&["effect", "show", &effect]);
    assert_eq!(page["effect"]["state"]["written_off"]["waived"], "we live with it");
}

#[test]
fn that_something_stopped_is_a_fact_of_its_own() {
    let desk = Desk::with_work();
    let (_, answer) = intended(&desk);
    let effect = id(&answer);
    let (asked, seen) = (evidence(&desk), evidence(&desk));
    let stop = |shown| coder(&["effect", "stop", &effect, "--evidence", shown]);
    let stopped = |shown| coder(&["effect", "stop", &effect, "--confirmed", "--evidence", shown]);
    desk.refused(&stop(&asked), "invalid_transition", 4);
    desk.ok(&coder(&["effect", "confirm", &effect, "--dispatched"]));
    desk.refused(&stopped(&asked), "invalid_transition", 4);
    desk.ok(&stop(&asked));
    desk.refused(&stopped(&asked), "invalid_argument", 2);
    let stopped = desk.ok(&stopped(&seen));
    assert_eq!(stopped["effect"]["state"], "dispatched", "what it did is still not known");
    let open = desk.ok(&["effect", "list", "--open"]);
    assert_eq!(open["items"][0]["stop_confirmed"]["evidence"][0], *seen);
    let listed = desk.call(&["effect", "list"]);
    assert!(
        listed.out.contains("dispatched, stopped") && listed.out.contains("publish 1.4"),
        "{}",
        listed.out
    );
}

#[test]
fn what_an_effect_needs_is_said_when_it_is_missing() {
    let desk = Desk::with_work();
    let (own, answer) = intended(&desk);
    let effect = id(&answer);
    desk.refused(&coder(&["effect", "confirm", &effect]), "invalid_transition", 4);
    desk.ok(&coder(&["effect", "confirm", &effect, "--dispatched"]));
    let refused = desk.refused(&coder(&["effect", "confirm", &effect]), "invalid_argument", 2);
    assert!(refused["hint"].as_str().unwrap().contains("evidence add POINTER"), "{refused}");
    let mut other = intent(&own, DIGEST);
    other[5] = "two words";
    desk.refused(&coder(&other), "invalid_id", 2);
    desk.refused(&coder(&intent("own_01jb0000000000000000000000", DIGEST)), "ownership_superseded", 4);
    desk.refused(&["effect", "show", "eff_01jb0000000000000000000000"], "not_found", 2);
    desk.refused(&["goal", "close", "--achieved", "--waive", &effect], "invalid_argument", 2);
}
