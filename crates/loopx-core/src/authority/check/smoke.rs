//! Owns the shortest true path: claimed, proven, done; and refused, repaired, done.

use super::world::{World, text};
use crate::{
    error::Code,
    kernel::{Action, Command, GoalCommand},
    model::{Answer, CloseKind, Duration, ResultKind, TodoState, TurnState, Unvalidated, VerdictOutcome},
};

#[test]
fn a_todo_is_claimed_proven_and_done() {
    let mut world = World::new();
    let todo = world.todo("first", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let refused = world.claim("b", &todo).unwrap_err();
    assert_eq!(refused.code(), Code::AlreadyClaimed);
    assert_eq!(refused.details()["holder"], "agent:a@a.cli");
    world.done("a", &owned).unwrap();
    assert!(world.row(&todo).is_done());
    assert_eq!(world.done("a", &owned).unwrap_err().code(), Code::TodoAlreadyDone);
    let close = GoalCommand::Close {
        kind: CloseKind::Achieved,
        reason: None,
        waive: Vec::new(),
        waive_effects: Vec::new(),
    };
    world.user(Command::Goal(close)).unwrap();
    assert_eq!(world.claim("a", &todo).unwrap_err().code(), Code::GoalClosed);
}

#[test]
fn a_refused_result_is_repaired() {
    let mut world = World::new();
    let todo = world.todo("first", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    let ended = world.verdict("a", &owned, VerdictOutcome::Failed).unwrap();
    assert_eq!(ended.turn_state.as_deref(), Some("failed"));
    assert!(matches!(world.next("a", None).unwrap().action, Action::Repair { .. }));
    let owned = world.claim("a", &todo).unwrap();
    world.done("a", &owned).unwrap();
    assert!(matches!(world.row(&todo).state, TodoState::Done { .. }));
}

#[test]
fn an_unproven_completion_asks_a_person() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("first", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    let held = world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap();
    assert_eq!(held.turn_state.as_deref(), Some("held"));
    let gate = held.gate_id.unwrap();
    world.resolve(gate, Answer::Deny { reason: Some(text("not yet")) }).unwrap();
    assert!(matches!(world.turn(owned.turn_id.unwrap()).state, TurnState::Stopped { .. }));
    assert!(matches!(world.next("a", None).unwrap().action, Action::Repair { .. }));
}

#[test]
fn an_expired_owner_is_superseded_by_a_rival_and_rearmed_without_one() {
    let mut world = World::empty();
    world.start(|goal| goal.unvalidated = Unvalidated::Trust);
    let todo = world.todo("first", |_| {});
    let first = world.claim("a", &todo).unwrap();
    world.pass(Duration::from_mins(46));
    world.candidate("a", &first, ResultKind::ValidatedProgress).unwrap();
    world.pass(Duration::from_mins(46));
    let second = world.claim("b", &todo).unwrap();
    assert_eq!(world.row(&todo).epoch, 2);
    let late = world.candidate("a", &first, ResultKind::ValidatedProgress).unwrap_err();
    assert_eq!(late.code(), Code::OwnershipSuperseded);
    world.candidate("b", &second, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("b", &second, VerdictOutcome::Unchecked).unwrap();
    assert!(world.row(&todo).is_done());
}

#[test]
fn the_same_path_over_a_file() {
    let mut world = World::over(super::kept::Kept::sqlite());
    world.start(|goal| goal.validators = vec![super::world::validator()]);
    let todo = world.todo("first", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    assert_eq!(world.claim("b", &todo).unwrap_err().code(), Code::AlreadyClaimed);
    world.done("a", &owned).unwrap();
    assert!(world.row(&todo).is_done());
}
