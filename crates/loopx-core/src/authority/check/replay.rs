//! Owns what is true of operation ids and expected revisions: a receipt is kept for ever.

use super::{
    play::code,
    world::{World, agent, text, user},
};
use crate::{
    kernel::{ClaimCommand, Command, GoalCommand, TodoCommand},
    model::*,
};

#[test]
fn the_same_operation_gets_its_receipt_after_any_later_history() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let claim = world
        .operation(agent("a"), Command::Claim(ClaimCommand::Claim(Box::new(super::play::attached(&todo)))));
    let first = world.submit(claim.clone()).unwrap();
    let owned = first.outcome().unwrap();
    world.done("a", &owned).unwrap();
    world.close(CloseKind::Achieved, None).unwrap();
    world.pass(Duration::from_mins(60 * 24 * 400));
    let rows = world.ledger.rows();
    // Where it came from is recorded, and no part of what was asked.
    let mut again = claim.clone();
    again.provenance.door = Door::Mcp;
    let replay = world.submit(again).unwrap();
    assert!(replay.is_replayed() && !first.is_replayed());
    assert_eq!(
        (replay.at(), replay.digest(), replay.accepted_revision()),
        (first.at(), first.digest(), first.accepted_revision())
    );
    assert_eq!(replay.outcome::<serde_json::Value>().unwrap(), first.outcome::<serde_json::Value>().unwrap());
    assert_eq!(world.ledger.rows(), rows);
}

#[test]
fn another_operation_under_a_used_id_conflicts() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let used = world.operation(user(), Command::Todo(TodoCommand::Hold { todo_id: todo.clone() }));
    world.submit(used.clone()).unwrap();
    let mut others = vec![used.clone(), used.clone(), used.clone(), used.clone()];
    others[0].actor = text("user:ben");
    others[1].command = Command::Todo(TodoCommand::Unhold { todo_id: todo.clone() });
    others[2].expected.goal = Some(1);
    others[3].goal_id = text("h");
    for other in others {
        assert_eq!(code(&world.submit(other)), "operation_conflict");
    }
}

#[test]
fn a_refused_operation_leaves_its_id_free() {
    let mut world = World::new();
    let todo = world.todo("it", |new| new.hold = true);
    let claim = world
        .operation(agent("a"), Command::Claim(ClaimCommand::Claim(Box::new(super::play::attached(&todo)))));
    assert_eq!(code(&world.submit(claim.clone())), "not_claimable");
    world.todo_cmd(TodoCommand::Unhold { todo_id: todo }).unwrap();
    assert_eq!(code(&world.submit(claim)), "ok");
}

#[test]
fn a_negative_end_is_replayed_as_one() {
    let mut world = World::empty();
    world.start(|goal| goal.boundary.needs_approval = [Key::Publish].into());
    let todo = world.todo("it", |new| new.requires.publish = true);
    let claim = world
        .operation(agent("a"), Command::Claim(ClaimCommand::Claim(Box::new(super::play::attached(&todo)))));
    assert_eq!(code(&world.submit(claim.clone())), "gate_opened");
    let replay = world.submit(claim);
    assert!(replay.as_ref().unwrap().is_replayed());
    assert_eq!(code(&replay), "gate_opened");
}

#[test]
fn what_the_caller_believed_must_still_be_so() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let gate = world.gate(GateKind::Decision, &todo);
    let todo_revision = world.row(&todo).revision;
    let goal_revision = world.ledger.rows().goals[&world.goal].revision;
    let rows = [
        (Expected { goal: Some(goal_revision), ..Expected::default() }, "ok"),
        (Expected { goal: Some(goal_revision + 1), ..Expected::default() }, "stale_revision"),
        (Expected { todos: [(todo.clone(), todo_revision)].into(), ..Expected::default() }, "ok"),
        (
            Expected { todos: [(todo.clone(), todo_revision + 1)].into(), ..Expected::default() },
            "stale_revision",
        ),
        (Expected { todos: [(text("g.9"), 1)].into(), ..Expected::default() }, "stale_revision"),
        (Expected { gate: Some((gate, 1)), ..Expected::default() }, "ok"),
        (Expected { gate: Some((gate, 2)), ..Expected::default() }, "stale_revision"),
    ];
    for (expected, found) in rows {
        let mut operation =
            world.operation(user(), Command::Todo(TodoCommand::Unhold { todo_id: todo.clone() }));
        operation.expected = expected.clone();
        assert_eq!(code(&world.submit(operation)), found, "{expected:?}");
    }
    // Any write of a row moves its revision.
    world.hold(&todo).unwrap();
    assert_eq!(world.row(&todo).revision, todo_revision + 1);
    let missing = world.operation(user(), Command::Goal(GoalCommand::Stop));
    let missing = Operation { goal_id: text("nowhere"), ..missing };
    assert_eq!(code(&world.submit(missing)), "not_found");
}
