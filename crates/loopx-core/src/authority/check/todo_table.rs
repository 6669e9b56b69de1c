//! Owns the table of a Todo's moves: every state against every command, where no Turn is in the way.

use super::{
    play::{attached, code},
    world::{World, text},
};
use crate::{
    error::Result,
    kernel::{AgentCommand, Change, ClaimCommand, Command, GoalCommand, TodoCommand, TurnCommand},
    model::*,
};

const STATES: [&str; 6] = ["open", "deferred", "awake", "blocked", "done", "cancelled"];

/// A world with a Todo in a state, and one beside it.
fn stage(state: &str) -> (World, TodoId, TodoId) {
    let mut world = World::empty();
    world.start(|_| {});
    let other = world.todo("other", |_| {});
    let soon = Timestamp::from_ms(1_800_000_000_000 + 60_000);
    let todo = world.todo("it", |new| match state {
        "deferred" => new.wake = Some(Wake::After(soon.plus(Duration::from_mins(600)))),
        "awake" => new.wake = Some(Wake::After(soon)),
        "blocked" => new.blocked = Some(text("no key")),
        _ => {}
    });
    world.todo_cmd(TodoCommand::Link { todo_id: todo.clone(), depends_on: other.clone() }).unwrap();
    world.todo_cmd(complete(&other)).unwrap();
    world.pass(Duration::from_mins(5));
    match state {
        "done" => drop(world.todo_cmd(complete(&todo)).unwrap()),
        "cancelled" => drop(world.todo_cmd(cancel(&todo)).unwrap()),
        _ => {}
    }
    (world, todo, other)
}

fn complete(todo_id: &TodoId) -> TodoCommand {
    TodoCommand::Complete { todo_id: todo_id.clone(), continuation: Continuation::ActiveGoal, waive: None }
}

fn cancel(todo_id: &TodoId) -> TodoCommand {
    TodoCommand::Cancel { todo_id: todo_id.clone(), reason: text("not needed"), superseded_by: None }
}

pub(super) fn play(world: &mut World, verb: &str, todo: &TodoId, other: &TodoId) -> Result<Receipt> {
    let todo_id = todo.clone();
    let later = Timestamp::from_ms(1_800_100_000_000);
    let command = match verb {
        "update" => TodoCommand::Update {
            todo_id,
            change: Box::new(Change { title: Some(text("new")), ..Change::default() }),
        },
        "link" => TodoCommand::Link { todo_id, depends_on: other.clone() },
        "unlink" => TodoCommand::Unlink { todo_id, depends_on: other.clone() },
        "defer" => TodoCommand::Defer { todo_id, own_id: None, wake: Wake::After(later) },
        "block" => TodoCommand::Block { todo_id, own_id: None, reason: text("why") },
        "unblock" => TodoCommand::Unblock { todo_id },
        "hold" => TodoCommand::Hold { todo_id },
        "unhold" => TodoCommand::Unhold { todo_id },
        "resolve" => TodoCommand::Resolve { todo_id, evidence: Vec::new() },
        "cancel" => cancel(todo),
        "reopen" => TodoCommand::Reopen { todo_id },
        "complete" => complete(todo),
        "transfer" => {
            return world.user(Command::Claim(ClaimCommand::Transfer {
                todo_id,
                own_id: None,
                to: text("b"),
            }));
        }
        "force" => {
            return world.user(Command::Claim(ClaimCommand::ForceRelease { todo_id, reason: text("why") }));
        }
        "claim" => return world.claim_as("a", attached(todo)),
        "renew" => {
            return world.agent("a", Command::Claim(ClaimCommand::Renew { todo_id, own_id: None }));
        }
        "release" => {
            return world.agent("a", Command::Claim(ClaimCommand::Release { todo_id, own_id: None }));
        }
        "stop" => return world.stop(world.row(todo).turn_id.unwrap()),
        "accept" => {
            return world.turn_cmd(TurnCommand::Accept { turn_id: world.row(todo).turn_id.unwrap() });
        }
        "abandon" => {
            let turn_id = world.row(todo).turn_id.unwrap();
            return world.turn_cmd(TurnCommand::Abandon { turn_id, reason: text("gone") });
        }
        "retire" => return world.user(Command::Agent(AgentCommand::Retire { agent_id: text("a") })),
        "achieved" => return world.close(CloseKind::Achieved, None),
        "abandoned" => return world.close(CloseKind::Abandoned, Some("given up")),
        "stop goal" => return world.goal_cmd(GoalCommand::Stop),
        _ => panic!("{verb}"),
    };
    world.todo_cmd(command)
}

/// One row a command: the state it leads to from each of [`STATES`], or the code it is refused with.
const MOVES: [(&str, [&str; 6]); 17] = [
    ("update", ["open", "deferred", "deferred", "blocked", "invalid_transition", "invalid_transition"]),
    ("link", ["open", "deferred", "deferred", "blocked", "invalid_transition", "invalid_transition"]),
    ("unlink", ["open", "deferred", "deferred", "blocked", "invalid_transition", "invalid_transition"]),
    (
        "defer",
        [
            "deferred",
            "deferred",
            "deferred",
            "invalid_transition",
            "invalid_transition",
            "invalid_transition",
        ],
    ),
    (
        "block",
        [
            "blocked",
            "invalid_transition",
            "blocked",
            "invalid_transition",
            "invalid_transition",
            "invalid_transition",
        ],
    ),
    ("unblock", ["invalid_transition", "open", "open", "open", "invalid_transition", "invalid_transition"]),
    ("hold", ["open", "deferred", "deferred", "blocked", "invalid_transition", "invalid_transition"]),
    ("unhold", ["open", "deferred", "deferred", "blocked", "invalid_transition", "invalid_transition"]),
    ("resolve", ["invalid_transition"; 6]),
    (
        "cancel",
        ["cancelled", "cancelled", "cancelled", "cancelled", "invalid_transition", "invalid_transition"],
    ),
    (
        "reopen",
        [
            "invalid_transition",
            "invalid_transition",
            "invalid_transition",
            "invalid_transition",
            "open",
            "open",
        ],
    ),
    (
        "complete",
        [
            "done",
            "invalid_transition",
            "done",
            "invalid_transition",
            "todo_already_done",
            "invalid_transition",
        ],
    ),
    ("transfer", ["open", "deferred", "deferred", "blocked", "invalid_transition", "invalid_transition"]),
    ("force", ["invalid_transition"; 6]),
    ("claim", ["open", "not_claimable", "open", "not_claimable", "todo_already_done", "not_claimable"]),
    ("renew", ["own_required"; 6]),
    ("release", ["own_required"; 6]),
];

#[test]
fn every_state_of_a_todo_meets_every_command() {
    for (verb, expected) in MOVES {
        for (state, expected) in STATES.into_iter().zip(expected) {
            let (mut world, todo, other) = stage(state);
            let answer = play(&mut world, verb, &todo, &other);
            let found = match code(&answer) {
                "ok" => world.row(&todo).state.as_str(),
                refused => refused,
            };
            assert_eq!(found, expected, "{verb} from {state}: {answer:?}");
        }
    }
}

#[test]
fn a_blocker_is_resolved_from_any_live_state_and_by_no_other_verb() {
    let rows = [("open", "done"), ("deferred", "done"), ("awake", "done"), ("blocked", "done")];
    for (state, expected) in rows {
        let mut world = World::empty();
        world.start(|_| {});
        let todo = world.todo("wall", |new| {
            new.kind = TodoKind::Blocker;
            match state {
                "deferred" => new.wake = Some(Wake::After(Timestamp::from_ms(1_900_000_000_000))),
                "awake" => new.wake = Some(Wake::After(Timestamp::from_ms(1))),
                "blocked" => new.blocked = Some(text("why")),
                _ => {}
            }
        });
        assert_eq!(code(&play(&mut world, "complete", &todo, &todo)), "invalid_transition");
        assert_eq!(code(&world.claim_as("a", attached(&todo))), "not_claimable");
        assert_eq!(code(&play(&mut world, "resolve", &todo, &todo)), "ok");
        assert_eq!(world.row(&todo).state.as_str(), expected);
        assert_eq!(code(&play(&mut world, "resolve", &todo, &todo)), "invalid_transition");
    }
}
