//! Several runs at once that were not told what to work on.

use std::fs;

use super::place::{Answer, Place, answer, until};

/// A host that stays until it is let go, so that all runs meet.
const STAYS: &str = "echo $LOOPX_ACTOR >> ../began; while [ ! -f ../go ]; do sleep 0.02; done";
const AGENTS: [&str; 4] = ["a", "b", "c", "d"];

fn begun(place: &Place) -> usize {
    fs::read_to_string(place.root().join("began")).map_or(0, |text| text.lines().count())
}

/// Four runs of four agents at once; what they answer once `together` of them are at work.
fn run_all(place: &Place, together: usize) -> Vec<Answer> {
    place.host(STAYS);
    for agent in ["c", "d"] {
        place.call("user:ana", &["agent", "add", agent]).ok();
    }
    let runs: Vec<_> = AGENTS
        .iter()
        .map(|agent| {
            let words = ["turn", "run", "--agent", agent, "--host", "sh host.sh"];
            place.start("user:ana", &words, &[])
        })
        .collect();
    until("the hosts began", || begun(place) == together);
    fs::write(place.root().join("go"), "").unwrap();
    runs.into_iter().map(|run| answer(&run.wait_with_output().unwrap())).collect()
}

#[test]
fn four_runs_of_four_agents_take_four_todos() {
    for _ in 0..4 {
        let place = Place::new("exit 0");
        for title in ["two", "three", "four"] {
            place.call("user:ana", &["todo", "add", title]).ok();
        }
        let answers = run_all(&place, 4);
        let mut todos: Vec<_> = answers
            .iter()
            .map(|answer| {
                assert_eq!(answer.exit, Some(0), "{}", answer.json);
                answer.text("/turn/todo_id").to_owned()
            })
            .collect();
        todos.sort();
        assert_eq!(todos, ["g.1", "g.2", "g.3", "g.4"]);
    }
}

#[test]
fn four_runs_for_one_todo_are_one_run_and_three_that_wait() {
    let place = Place::new("exit 0");
    let answers = run_all(&place, 1);
    let (ran, waits): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.exit == Some(0));
    assert_eq!((ran.len(), waits.len()), (1, 3), "{answers:?}");
    for wait in waits {
        // Who came while the first was at work waits for it; who came later finds nothing left.
        assert_eq!((wait.exit, wait.code()), (Some(1), "not_ready"), "{}", wait.json);
    }
    assert_eq!((place.runs(), place.turns().len()), (1, 1));
}

#[test]
fn what_a_person_named_is_refused_as_it_is() {
    let place = Place::new("exit 0");
    place.host(STAYS);
    place.call("user:ana", &["todo", "add", "two"]).ok();
    let run = place.start("user:ana", &place.run("r1"), &[]);
    until("the host began", || begun(&place) == 1);
    let words = ["turn", "run", "--todo", "g.1", "--agent", "b", "--host", "sh host.sh"];
    let refused = place.call("user:ana", &words);
    assert_eq!((refused.exit, refused.code()), (Some(4), "already_claimed"));
    fs::write(place.root().join("go"), "").unwrap();
    answer(&run.wait_with_output().unwrap()).ok();
}
