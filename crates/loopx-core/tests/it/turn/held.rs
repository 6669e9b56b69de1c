//! What holds a validated result: every cause alone and in pairs, of a hosted and of an attached Turn, lifted by each
//! verb that may; trees that move; a result that goes on; who may accept, stop and give up.

use std::fs;

use serde_json::Value;

use super::{
    midrun::{Working, hint, literally, recover, told},
    place::{Answer, Place},
};

/// How a Turn comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Host,
    Agent,
}

/// What can hold a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Requirement,
    Gate,
    GoalGate,
    Hold,
    Deps,
    Acceptance,
}

impl Why {
    fn cause(self) -> &'static str {
        match self {
            Self::Requirement => "requirement",
            Self::Gate | Self::GoalGate => "gate",
            Self::Hold => "hold",
            Self::Deps => "deps",
            Self::Acceptance => "acceptance",
        }
    }

    /// Comes about while the Turn's executor works.
    fn comes(self, place: &Place) {
        let write = |words: &[&str]| place.call("proven:ana", words).ok();
        match self {
            Self::Requirement => write(&["todo", "update", "g.1", "--title", "mend it well"]),
            Self::Gate => write(&["gate", "open", "Which?", "--option", "one", "--blocks", "g.1"]),
            Self::GoalGate => write(&["gate", "open", "May we?", "--kind", "approval", "--blocks", "goal"]),
            Self::Hold => write(&["todo", "hold", "g.1"]),
            Self::Deps => write(&["todo", "reopen", "g.2"]),
            Self::Acceptance => return,
        };
    }
}

/// A place whose Todo depends on one that is done, with or without something that proves it.
fn place(whys: &[Why]) -> Place {
    let place = if whys.contains(&Why::Acceptance) { Place::bare() } else { Place::new("exit 0") };
    place.call("user:ana", &["todo", "add", "first"]).ok();
    place.call("user:ana", &["todo", "link", "g.1", "--depends-on", "g.2"]).ok();
    place.call("proven:ana", &["todo", "done", "g.2"]).exit.filter(|exit| *exit == 0).unwrap_or_else(|| {
        place.call("proven:ana", &["todo", "done", "g.2", "--waive", "seen"]).ok();
        0
    });
    place
}

/// A result that some causes hold, however it came; what its verb answered.
fn held(by: By, whys: &[Why]) -> (Place, Answer) {
    let place = place(whys);
    match by {
        By::Host => {
            let work = Working::with(place, &["--attempts", "1"]);
            for why in whys {
                why.comes(&work.place);
            }
            work.over()
        }
        By::Agent => {
            let own = place.own("agent:a");
            // What an agent says stands for the text as it is then, so that moves after its word.
            for why in whys.iter().filter(|why| **why != Why::Requirement) {
                why.comes(&place);
            }
            if whys.contains(&Why::Requirement) {
                let added = ["gate", "open", "Ready?", "--kind", "approval", "--blocks", "g.1"];
                let gate = place.call("user:ana", &added).ok().text("/gate/gate_id").to_owned();
                place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
                Why::Requirement.comes(&place);
                place.call("proven:ana", &["gate", "resolve", &gate, "--approve"]).ok();
                let turn_id = place.turn_id();
                let answer = place.call("user:ana", &["turn", "recover", &turn_id, "--prove"]);
                return (place, answer);
            }
            let answer = place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
            (place, answer)
        }
    }
}

/// The causes that `turn show` tells.
fn causes(place: &Place) -> Vec<String> {
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
    let all = shown.json.pointer("/turn/causes").and_then(Value::as_array).cloned().unwrap_or_default();
    all.iter().filter_map(|cause| cause.as_str().map(str::to_owned)).collect()
}

/// Follows what status names first until the Turn has ended; how many commands that took.
fn follow(place: &Place, what: &str) -> usize {
    for step in 0..8 {
        let state = place.turns()[0]["state"].as_str().unwrap().to_owned();
        if !["held", "candidate"].contains(&state.as_str()) {
            return step;
        }
        let shown = place.plain("proven:ana", &["turn", "show", &place.turn_id()]).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        let next = shown.lines().find_map(|line| line.strip_prefix("next: loopx-core "));
        // What another's work ends needs nobody.
        let command = next.unwrap_or("todo done g.2 --waive seen").to_owned();
        assert!(next.is_some() || causes(place) == ["deps"], "{what}: {shown}");
        let status = place.call("proven:ana", &["status"]).ok();
        let all = status.json.pointer("/goals/0/attention").and_then(Value::as_array).unwrap();
        assert!(
            next.is_none() || all.iter().any(|row| row["command"] == command),
            "{what}: {command} {all:?}"
        );
        let head = place.head();
        let done = literally(place, &command);
        assert!(place.head() > head, "{what}: `{command}` led nowhere: {}", done.json);
    }
    panic!("{what}: {} {:?}", place.turns()[0], causes(place));
}

fn settled_once(place: &Place, what: &str) {
    let turns = place.turns();
    assert_eq!(turns.len(), 1, "{what}");
    assert_eq!(turns[0]["state"], "settled", "{what}");
    assert_eq!(place.todo_state(), "done", "{what}");
    let mine = |event: &&Value| event["turn_id"] == turns[0]["turn_id"];
    assert_eq!(
        place.events("turn.ended").iter().filter(mine).count(),
        1,
        "{what}: one settlement, one spend"
    );
    assert!(place.survivors().is_empty(), "{what}");
}

/// All causes alone, and any two of them.
fn sets() -> Vec<Vec<Why>> {
    let all = [Why::Requirement, Why::Gate, Why::GoalGate, Why::Hold, Why::Deps, Why::Acceptance];
    let mut sets: Vec<Vec<Why>> = all.iter().map(|why| vec![*why]).collect();
    for (at, one) in all.iter().enumerate() {
        sets.extend(all.get(at + 1..).unwrap_or_default().iter().map(|two| vec![*one, *two]));
    }
    sets
}

fn each_set_is_told_and_its_ways_out_lead_on(by: By) {
    for whys in sets() {
        let what = format!("{by:?} {whys:?}");
        let (place, answer) = held(by, &whys);
        assert_eq!((answer.exit, answer.code()), (Some(6), "held"), "{what}: {}", answer.json);
        let mut expected: Vec<_> = whys.iter().map(|why| why.cause()).collect();
        let order = ["requirement", "gate", "acceptance", "hold", "deps"];
        expected.sort_by_key(|cause| order.iter().position(|one| one == cause));
        expected.dedup();
        assert_eq!(causes(&place), expected, "{what}");
        // Time lifts nothing, and no proof does while one of them stands.
        let head = place.head();
        for words in
            [vec!["turn", "recover", &place.turn_id(), "--prove"], vec!["turn", "recover", "--prove"]]
        {
            place.call("user:ana", &words);
        }
        assert_eq!(place.head(), head, "{what}: a proof lifted something");
        follow(&place, &what);
        settled_once(&place, &what);
        let runs = usize::from(by == By::Host);
        assert_eq!(place.runs(), runs, "{what}: no host is started for it");
    }
}

#[test]
fn every_cause_alone_and_in_pairs_holds_a_hosted_result_and_its_ways_out_lead_on() {
    each_set_is_told_and_its_ways_out_lead_on(By::Host);
}

#[test]
fn every_cause_alone_and_in_pairs_holds_an_attached_result_and_its_ways_out_lead_on() {
    each_set_is_told_and_its_ways_out_lead_on(By::Agent);
}

/// What holds a result, what is done about it, and where that leaves the Turn.
type Lift = (&'static [Why], &'static [&'static str], &'static str);

#[test]
fn each_verb_that_may_lift_a_cause_lifts_it_and_what_denies_or_ends_it_stops_the_turn() {
    let table: [Lift; 13] = [
        (&[Why::Gate], &["gate", "resolve", "GATE", "--answer", "one"], "settled"),
        (&[Why::Gate], &["gate", "withdraw", "GATE"], "settled"),
        (&[Why::GoalGate], &["gate", "resolve", "GATE", "--approve"], "settled"),
        (&[Why::GoalGate], &["gate", "resolve", "GATE", "--deny"], "stopped"),
        (&[Why::Acceptance], &["gate", "resolve", "GATE", "--approve"], "settled"),
        (&[Why::Acceptance], &["gate", "resolve", "GATE", "--deny"], "stopped"),
        (&[Why::Hold], &["todo", "unhold", "g.1"], "settled"),
        (&[Why::Deps], &["todo", "done", "g.2", "--waive", "seen"], "settled"),
        (&[Why::Hold], &["turn", "stop", "TURN"], "stopped"),
        (&[Why::Hold], &["turn", "abandon", "TURN", "--reason", "no"], "stopped"),
        (&[Why::Hold], &["todo", "cancel", "g.1", "--reason", "no"], "stopped"),
        (&[Why::Hold], &["todo", "release", "g.1", "--force", "--reason", "no"], "stopped"),
        (&[Why::Hold], &["agent", "retire", "a"], "stopped"),
    ];
    for by in [By::Host, By::Agent] {
        for (whys, verbs, state) in &table {
            let (place, answer) = held(by, whys);
            let what = format!("{by:?} {whys:?} {verbs:?} {}", answer.json);
            let gates = place.call("user:ana", &["gate", "list"]).ok();
            let (gate, turn) = (gates.text("/items/0/gate_id").to_owned(), place.turn_id());
            let words: Vec<&str> = verbs
                .iter()
                .map(|word| match *word {
                    "GATE" => gate.as_str(),
                    "TURN" => turn.as_str(),
                    word => word,
                })
                .collect();
            place.call("proven:ana", &words).ok();
            assert_eq!(place.turns()[0]["state"], *state, "{what}");
            let shown = place.call("user:ana", &["turn", "show", &turn]).ok();
            assert!(shown.json.pointer("/turn/candidate").is_some(), "{what}: the result stays as evidence");
            let slot = if *state == "settled" { "spent" } else { "returned" };
            assert_eq!(shown.text("/turn/slot"), slot, "{what}");
            assert_eq!(place.events("turn.ended").len(), 1, "{what}");
        }
    }
}

#[test]
fn an_owner_says_it_again_for_the_new_text_under_its_own_token() {
    let place = Place::new("echo . >> ../proved");
    let own = place.own("agent:a");
    place.call("user:ana", &["todo", "hold", "g.1"]).ok();
    let first = place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
    assert_eq!(told(&first), (Some(6), "held", vec!["hold"]));
    place.call("user:ana", &["todo", "update", "g.1", "--title", "mend it well"]).ok();
    place.call("user:ana", &["todo", "unhold", "g.1"]).ok();
    assert_eq!(causes(&place), ["requirement"]);
    place.call("agent:a", &["todo", "done", "g.1", "--own", &own]).ok();
    settled_once(&place, "said again");
    assert_eq!(fs::read_to_string(place.root().join("proved")).unwrap().lines().count(), 2, "proved anew");
}

#[test]
fn regress_a_recovery_of_what_waits_for_its_agent_says_so_and_the_way_out_leads_on() {
    for by in [By::Host, By::Agent] {
        let (place, _) = held(by, &[Why::Requirement]);
        let turn_id = place.turn_id();
        place.call("user:ana", &["todo", "add", "another"]).ok();
        let other = place.call("agent:a", &["todo", "claim", "g.3"]).ok();
        let (own, other) = (other.text("/own_id").to_owned(), other.text("/turn_id").to_owned());
        assert_eq!(causes(&place), ["requirement", "agent_busy"]);
        let head = place.head();
        for how in ["--resume", "--prove"] {
            let refused = place.call("user:ana", &["turn", "recover", &turn_id, how]);
            assert_eq!(
                told(&refused),
                (Some(6), "held", vec!["requirement", "agent_busy"]),
                "{how} {}",
                refused.json
            );
        }
        let refused = place.call("user:ana", &["turn", "recover", &turn_id, "--resume"]);
        assert!(
            refused.text("/error/message").contains("its agent works on something else"),
            "{}",
            refused.json
        );
        assert_eq!(hint(&refused), format!("turn show {other}"), "{}", refused.json);
        let refused = place.call("proven:ana", &["turn", "accept", &turn_id]);
        assert_eq!((refused.exit, refused.code()), (Some(4), "executor_active"));
        assert_eq!(hint(&refused), format!("turn show {other}"));
        assert_eq!(place.head(), head);
        place.call("agent:a", &["todo", "release", "g.3", "--own", &own]).ok();
        assert_eq!(causes(&place), ["requirement"]);
        let what = format!("{by:?}");
        follow(&place, &what);
        settled_once(&place, &what);
    }
}

/// A place with git, whose host makes a file, and whose check moves it while `../moves` has lines left.
fn moving(times: usize) -> Place {
    let place = Place::new(
        "echo . >> ../proved; if [ -s ../moves ]; then sed -i 1d ../moves; echo x >> answer; fi; test -f answer",
    )
    .with_git();
    fs::write(place.root().join("moves"), "m\n".repeat(times)).unwrap();
    place
}

fn proofs(place: &Place) -> usize {
    fs::read_to_string(place.root().join("proved")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_tree_that_moved_once_is_proved_once_more_and_settles() {
    for by in [By::Host, By::Agent] {
        let place = moving(1);
        place.host("touch answer");
        if by == By::Host {
            place.call("user:ana", &place.run("r1")).ok();
        } else {
            let own = place.own("agent:a");
            fs::write(place.tree().join("answer"), "").unwrap();
            place.call("agent:a", &["todo", "done", "g.1", "--own", &own]).ok();
        }
        settled_once(&place, "moved once");
        assert_eq!((proofs(&place), place.events("turn.tree_moved").len()), (2, 1), "{by:?}");
    }
}

#[test]
fn a_tree_that_moved_twice_is_tried_again_when_no_other_turn_executes_there_of_whatever_goal() {
    for beside in ["g.2", "other.1"] {
        let place = moving(2);
        place.host("touch answer");
        let goal = beside.split('.').next().unwrap();
        if goal == "other" {
            place.call("user:ana", &["goal", "start", "Another", "--id", "other", "--workspace", "."]).ok();
            place.plain("user:ana", &["agent", "add", "b", "--goal", "other"]).output().unwrap();
            place.plain("user:ana", &["todo", "add", "beside it", "--goal", "other"]).output().unwrap();
        } else {
            place.call("user:ana", &["todo", "add", "beside it"]).ok();
        }
        let claim = place.plain("agent:b", &["todo", "claim", beside, "--json"]).output().unwrap();
        let claim: Value = serde_json::from_slice(&claim.stdout).unwrap();
        let own = claim["own_id"].as_str().unwrap_or_else(|| panic!("{claim}"));
        let other = claim["turn_id"].as_str().unwrap();
        let held = place.call("user:ana", &place.run("r1"));
        assert_eq!(told(&held), (Some(6), "held", vec!["tree_busy"]), "{}", held.json);
        assert_eq!((place.events("turn.tree_moved").len(), proofs(&place)), (2, 2));
        let turn_id = place.turn_id();
        // A proof is refused while who else writes there is at work, so that is what is named.
        assert_eq!(hint(&held), format!("turn show {other}"), "{beside}");
        assert!(held.text("/error/message").contains(other), "{}", held.json);
        let refused = literally(&place, &format!("turn recover {turn_id} --prove"));
        assert_eq!(told(&refused), (Some(6), "held", vec!["tree_busy"]), "{}", refused.json);
        assert_eq!(hint(&refused), hint(&held));
        // Whoever leaves the tree tries it again, from whichever Goal.
        let release = place.plain("agent:b", &["todo", "release", beside, "--own", own]).output().unwrap();
        assert!(release.status.success(), "{}", String::from_utf8_lossy(&release.stderr));
        assert_eq!(place.turns()[0]["state"], "candidate", "{beside}");
        literally(&place, &recover(&turn_id)).ok();
        settled_once(&place, beside);
        assert_eq!((place.runs(), proofs(&place)), (1, 3));
    }
}

#[test]
fn progress_that_goes_on_is_one_commit_in_the_same_epoch_under_a_new_token() {
    let place = Place::new("exit 0");
    let own = place.own("agent:a");
    let next = place.call("agent:a", &["todo", "progress", "g.1", "--own", &own, "--continue"]).ok();
    let token = next.text("/own_id").to_owned();
    let turns = place.turns();
    let shown =
        |turn: &Value| place.call("user:ana", &["turn", "show", turn["turn_id"].as_str().unwrap()]).ok().json;
    let (now, then) = (shown(&turns[0]), shown(&turns[1]));
    assert_eq!((turns.len(), next.text("/next_turn_id")), (2, turns[0]["turn_id"].as_str().unwrap()));
    assert_eq!(now["turn"]["epoch"], then["turn"]["epoch"]);
    assert_eq!((then["turn"]["turn_no"].as_u64(), now["turn"]["turn_no"].as_u64()), (Some(1), Some(2)));
    assert!(token != own && !token.is_empty());
    let operation = |kind: &str| place.events(kind).first().unwrap()["operation_id"].clone();
    assert_eq!(operation("turn.ended"), operation("claim.claimed"), "one commit");
    place.call("agent:a", &["todo", "done", "g.1", "--own", &token]).ok();
    assert_eq!(place.todo_state(), "done");
}

#[test]
fn progress_only_settles_where_the_rules_admit_nothing_more() {
    for words in [&["goal", "stop", "g"][..], &["todo", "update", "g.1", "--exclude", "a"]] {
        let place = Place::new("exit 0");
        let own = place.own("agent:a");
        place.call("user:ana", words).ok();
        let done = place.call("agent:a", &["todo", "progress", "g.1", "--own", &own, "--continue"]).ok();
        assert_eq!(
            (done.text("/turn/state"), done.text("/own_id")),
            ("settled", ""),
            "{words:?} {}",
            done.json
        );
        assert_eq!(place.turns().len(), 1);
        assert_eq!(place.todo_state(), "open");
    }
    // Held meanwhile, the result settles later by itself, and nobody is admitted unasked.
    let place = Place::new("exit 0");
    let own = place.own("agent:a");
    place.call("user:ana", &["todo", "hold", "g.1"]).ok();
    let held = place.call("agent:a", &["todo", "progress", "g.1", "--own", &own, "--continue"]);
    assert_eq!(told(&held), (Some(6), "held", vec!["hold"]));
    place.call("user:ana", &["todo", "unhold", "g.1"]).ok();
    assert_eq!((place.turns().len(), place.turns()[0]["state"].as_str()), (1, Some("settled")));
}

#[test]
fn who_may_accept_stop_and_give_up_is_as_the_table_of_actors_has_it() {
    let (place, _) = held(By::Agent, &[Why::Requirement]);
    let turn_id = place.turn_id();
    let head = place.head();
    for (actor, words, code) in [
        ("agent:a", ["turn", "accept"], "user_only"),
        ("user:ana", ["turn", "accept"], "unauthenticated"),
        ("agent:b", ["turn", "stop"], "own_required"),
        ("agent:a", ["turn", "abandon"], "user_only"),
        ("user:ana", ["turn", "abandon"], "unauthenticated"),
    ] {
        let mut all = words.to_vec();
        all.push(&turn_id);
        if words[1] == "abandon" {
            all.extend(["--reason", "no"]);
        }
        assert_eq!(place.call(actor, &all).code(), code, "{actor} {words:?}");
    }
    assert_eq!(place.head(), head);
}

#[test]
fn regress_a_repetition_ends_as_its_first_time_did_whatever_happened_since() {
    for by in [By::Host, By::Agent] {
        let place = Place::new("exit 0");
        let own = (by == By::Agent).then(|| place.own("agent:a"));
        let done: Vec<&str> = match &own {
            Some(own) => vec!["todo", "done", "g.1", "--own", own, "--op-id", "r1"],
            None => vec![],
        };
        let first = match by {
            By::Host => {
                let work = Working::at(place);
                work.place.call("user:ana", &["todo", "hold", "g.1"]).ok();
                let (place, first) = work.over();
                place.call("user:ana", &["todo", "unhold", "g.1"]).ok();
                let again = place.call("user:ana", &place.run("r1"));
                assert_eq!(again.json.pointer("/error/details/turn/state"), Some(&"settled".into()));
                (first, again)
            }
            By::Agent => {
                place.call("user:ana", &["todo", "hold", "g.1"]).ok();
                let first = place.call("agent:a", &done);
                place.call("user:ana", &["todo", "unhold", "g.1"]).ok();
                (first, place.call("agent:a", &done))
            }
        };
        let (first, again) = first;
        assert_eq!((first.exit, first.code()), (Some(6), "held"), "{by:?}");
        assert_eq!((again.exit, again.code()), (Some(6), "held"), "{by:?} {}", again.json);
        let receipt = |answer: &Answer| answer.text("/error/details/receipt/operation_id").to_owned();
        assert_eq!(receipt(&again), receipt(&first));
        assert!(again.text("/error/message").ends_with("it is settled now"), "{}", again.json);
        assert!(hint(&again).starts_with("turn show "));
    }
}

#[test]
fn regress_a_recovery_given_again_on_what_is_inconclusive_runs_nothing_and_returns_its_receipt() {
    let place = Place::new("echo . >> ../proved; exit 127");
    place.host("true");
    let lost = place.call("user:ana", &place.run("r1"));
    assert_eq!((lost.exit, lost.code(), proofs(&place)), (Some(5), "turn_unresolved", 1));
    let turn_id = place.turn_id();
    let words = ["turn", "recover", turn_id.as_str(), "--resume", "--op-id", "again"];
    let first = place.call("user:ana", &words);
    assert_eq!((first.exit, first.code(), proofs(&place)), (Some(5), "turn_unresolved", 2));
    let head = place.head();
    let receipt = |answer: &Answer| answer.text("/error/details/receipt/operation_id").to_owned();
    for (words, receipt_of) in [(words.to_vec(), &first), (place.run("r1"), &lost)] {
        let again = place.call("user:ana", &words);
        assert_eq!((again.exit, again.code()), (Some(5), "turn_unresolved"), "{}", again.json);
        assert_eq!((receipt(&again), proofs(&place), place.head()), (receipt(receipt_of), 2, head));
        assert_eq!(again.json.pointer("/error/details/receipt/replayed"), Some(&true.into()));
    }
    // Another look is another verb.
    place.call("user:ana", &["turn", "recover", &turn_id, "--resume"]);
    assert_eq!(proofs(&place), 3);
}
