//! Owns the table of a Todo's moves over a live Turn: it is stopped in the same commit, or refuses the move.

use super::{
    play::{code, result, verdict},
    todo_table::play,
    world::{World, text, validator},
};
use crate::{
    kernel::{Event, Outcome, TodoCommand, TurnEvent},
    model::*,
};

const TURNS: [&str; 8] =
    ["attached", "admitted", "hosted", "candidate", "held", "lost", "lost and gone", "inconclusive"];

/// A world whose Todo has a Turn in a state.
fn with_turn(turn: &str) -> (World, TodoId, TodoId, Outcome) {
    let mut world = World::empty();
    world.start(|goal| {
        if turn != "held" {
            goal.validators = vec![validator()];
        }
    });
    let todo = world.todo("it", |_| {});
    let other = world.todo("other", |_| {});
    let completion = result(ResultKind::ValidatedCompletion);
    let owned = match turn {
        "admitted" => world.hosted("a", &todo).unwrap(),
        "hosted" | "candidate" | "lost" | "lost and gone" | "inconclusive" => world.running("a", &todo),
        _ => world.claim("a", &todo).unwrap(),
    };
    match turn {
        "candidate" => drop(world.result_of("a", &owned, completion).unwrap()),
        "held" => {
            world.result_of("a", &owned, completion).unwrap();
            world.judged("a", &owned, verdict(VerdictOutcome::Unchecked), false).unwrap();
        }
        "lost" => drop(world.lose("a", &owned, false).unwrap()),
        "lost and gone" => drop(world.lose("a", &owned, true).unwrap()),
        "inconclusive" => {
            world.result_of("a", &owned, completion).unwrap();
            world.judged("a", &owned, verdict(VerdictOutcome::Inconclusive), false).unwrap();
        }
        _ => {}
    }
    (world, todo, other, owned)
}

/// One row a command: what becomes of the Turn in each of [`TURNS`], or the code the command is refused with.
const OVER_TURNS: [(&str, [&str; 8]); 19] = [
    (
        "cancel",
        [
            "stopped",
            "turn_running",
            "turn_running",
            "turn_running",
            "stopped",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
    (
        "defer",
        [
            "stopped",
            "turn_running",
            "turn_running",
            "turn_running",
            "stopped",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
    (
        "block",
        [
            "stopped",
            "turn_running",
            "turn_running",
            "turn_running",
            "stopped",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
    (
        "force",
        [
            "stopped",
            "turn_running",
            "turn_running",
            "turn_running",
            "stopped",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
    (
        "transfer",
        [
            "stopped",
            "turn_running",
            "turn_running",
            "turn_running",
            "stopped",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
    (
        "retire",
        [
            "stopped",
            "turn_running",
            "turn_running",
            "turn_running",
            "stopped",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
    (
        "complete",
        [
            "turn_running",
            "turn_running",
            "turn_running",
            "turn_running",
            "turn_running",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
    (
        "reopen",
        [
            "invalid_transition",
            "invalid_transition",
            "invalid_transition",
            "invalid_transition",
            "invalid_transition",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
    (
        "achieved",
        [
            "turn_running",
            "turn_running",
            "turn_running",
            "turn_running",
            "held",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
    (
        "abandoned",
        [
            "stopped",
            "turn_running",
            "turn_running",
            "turn_running",
            "stopped",
            "turn_running",
            "stopped",
            "stopped",
        ],
    ),
    (
        "stop",
        [
            "stopped",
            "stopped",
            "dispatched",
            "candidate",
            "stopped",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
    ("accept", ["invalid_transition"; 8]),
    (
        "abandon",
        [
            "stopped",
            "stopped",
            "executor_active",
            "stopped",
            "stopped",
            "executor_active",
            "stopped",
            "stopped",
        ],
    ),
    (
        "update",
        [
            "dispatched",
            "admitted",
            "dispatched",
            "candidate",
            "held",
            "unresolved",
            "unresolved",
            "unresolved",
        ],
    ),
    (
        "link",
        [
            "dispatched",
            "admitted",
            "dispatched",
            "candidate",
            "held",
            "unresolved",
            "unresolved",
            "unresolved",
        ],
    ),
    (
        "hold",
        [
            "dispatched",
            "admitted",
            "dispatched",
            "candidate",
            "held",
            "unresolved",
            "unresolved",
            "unresolved",
        ],
    ),
    ("unblock", ["invalid_transition"; 8]),
    (
        "stop goal",
        [
            "dispatched",
            "admitted",
            "dispatched",
            "candidate",
            "held",
            "unresolved",
            "unresolved",
            "unresolved",
        ],
    ),
    (
        "claim",
        [
            "already_claimed",
            "already_claimed",
            "already_claimed",
            "already_claimed",
            "held",
            "turn_unresolved",
            "turn_unresolved",
            "turn_unresolved",
        ],
    ),
];

#[test]
fn a_live_turn_is_stopped_in_the_same_commit_or_refuses() {
    for (verb, expected) in OVER_TURNS {
        for (turn, expected) in TURNS.into_iter().zip(expected) {
            let (mut world, todo, other, owned) = with_turn(turn);
            // The validators of the world would refuse a completion before the Turn does.
            let answer = if verb == "complete" {
                let waive = Some(text("by hand"));
                let continuation = Continuation::ActiveGoal;
                world.todo_cmd(TodoCommand::Complete { todo_id: todo.clone(), continuation, waive })
            } else {
                play(&mut world, verb, &todo, &other)
            };
            let found = match code(&answer) {
                "ok" => world.turn_state(&owned),
                refused => refused,
            };
            assert_eq!(found, expected, "{verb} over {turn}: {answer:?}");
            if expected == "stopped" {
                let row = world.row(&todo);
                assert!(row.ownership.is_none() && row.turn_id.is_none(), "{verb} over {turn}");
                assert_eq!(row.last_own_id, owned.own_id, "{verb} over {turn}");
                assert_eq!(world.turn(owned.turn_id.unwrap()).slot, Slot::Returned);
            }
        }
    }
}

#[test]
fn a_lapsed_turn_is_in_nobodys_way() {
    for verb in ["cancel", "defer", "block", "force", "transfer", "retire", "complete"] {
        for turn in ["attached", "admitted", "hosted"] {
            let (mut world, todo, other, owned) = with_turn(turn);
            world.pass(Duration::from_mins(60));
            let answer = if verb == "complete" {
                let (continuation, waive) = (Continuation::ActiveGoal, Some(text("by hand")));
                world.todo_cmd(TodoCommand::Complete { todo_id: todo.clone(), continuation, waive })
            } else {
                play(&mut world, verb, &todo, &other)
            };
            assert_eq!(code(&answer), "ok", "{verb} over a lapsed {turn}: {answer:?}");
            let expected = if turn == "hosted" { "fenced" } else { "stopped" };
            assert_eq!(world.turn_state(&owned), expected, "{verb} over a lapsed {turn}");
        }
    }
}

/// Whoever was shut out can read why, whatever the Turn was that made way.
#[test]
fn the_reason_of_a_forced_release_stands_in_the_event_that_ends_the_turn() {
    for (turn, wait_mins) in [("attached", 0), ("held", 0), ("hosted", 60)] {
        let (mut world, todo, other, owned) = with_turn(turn);
        world.pass(Duration::from_mins(wait_mins));
        let before = world.envelopes().len();
        play(&mut world, "force", &todo, &other).unwrap();
        let ended: Vec<_> = world.envelopes().split_off(before);
        let notes = ended.iter().filter_map(|envelope| match &envelope.body {
            Event::Turn(TurnEvent::Ended { turn_id, note, .. }) if Some(*turn_id) == owned.turn_id => {
                Some(note.clone())
            }
            _ => None,
        });
        assert_eq!(notes.collect::<Vec<_>>(), [Some(text("why"))], "{turn}");
    }
}
