//! Owns what taking the next work does, rule by rule: what it admits, what it asks, and what writes nothing.

use super::{
    play::{code, refused},
    world::{World, text},
};
use crate::{
    kernel::{
        Depth, Outcome,
        claim::{Next, Sighted},
    },
    model::*,
};

/// How many events there are, so that what wrote nothing is seen.
fn length(world: &mut World) -> usize {
    world.envelopes().len()
}

fn taken(world: &mut World, name: &str) -> Outcome {
    let receipt = world.take(name, None).unwrap();
    assert!(receipt.negative().is_none(), "{receipt:?}");
    receipt.outcome().unwrap()
}

#[test]
fn what_is_decided_is_admitted_in_the_same_commit() {
    let mut world = World::new();
    let (first, urgent) =
        (world.todo("first", |_| {}), world.todo("urgent", |new| new.priority = Priority::P0));
    let owned = taken(&mut world, "a");
    assert_eq!(owned.todo_ids, std::slice::from_ref(&urgent));
    let row = world.row(&urgent);
    let own = row.ownership.unwrap();
    assert_eq!(
        (Some(own.own_id), Some(own.turn_id), Some(own.expires_at)),
        (owned.own_id, owned.turn_id, owned.expires_at_ms)
    );
    assert_eq!(taken(&mut world, "b").todo_ids, [first]);
    world.done("a", &owned).unwrap();
    assert!(world.row(&urgent).is_done());
}

#[test]
fn a_presented_turn_is_returned_and_nothing_is_admitted() {
    let mut world = World::new();
    world.todo("it", |_| {});
    world.todo("other", |_| {});
    let owned = taken(&mut world, "a");
    let before = length(&mut world);
    let again: Outcome = world.take("a", owned.own_id).unwrap().outcome().unwrap();
    assert_eq!((again.own_id, again.turn_id), (owned.own_id, owned.turn_id));
    assert_eq!(length(&mut world), before, "no event");
    assert_eq!(refused(world.take("a", None)), "not_ready", "it executes where its token is");
    world.pass(Duration::from_mins(46));
    let again: Outcome = world.take("a", owned.own_id).unwrap().outcome().unwrap();
    assert_eq!(again.turn_id, owned.turn_id, "run out, and nobody came");
}

#[test]
fn a_lapsed_turn_of_its_own_is_ended_before_a_slot_is_reserved() {
    let mut world = World::new();
    world.limit(Some("a"), Some(1)).unwrap();
    let todo = world.todo("it", |_| {});
    let first = taken(&mut world, "a");
    world.pass(Duration::from_mins(46));
    let next = taken(&mut world, "a");
    assert_eq!(next.todo_ids, [todo]);
    assert_ne!(next.turn_id, first.turn_id);
    assert_eq!(world.turn_state(&first), "stopped");
}

#[test]
fn what_is_no_work_writes_nothing() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let before = length(&mut world);
    world.hold(&todo).unwrap();
    let held = length(&mut world);
    assert_eq!(held, before + 1);
    let asked = world.take("a", None).unwrap_err();
    assert_eq!((asked.code().as_str(), asked.details()["rule"].as_u64()), ("not_ready", Some(9)));
    assert_eq!(length(&mut world), held);
    assert_eq!(refused(world.take("stranger", None)), "not_found");
    world.close(CloseKind::Abandoned, Some("no")).unwrap();
    assert_eq!(refused(world.take("a", None)), "goal_closed");
}

#[test]
fn another_owner_is_waited_for_and_never_already_claimed() {
    let mut world = World::new();
    world.todo("it", |_| {});
    let owned = taken(&mut world, "a");
    let error = world.take("b", None).unwrap_err();
    assert_eq!(
        (error.code().as_str(), error.details()["why"].as_str()),
        ("not_ready", Some("owned_by_peers"))
    );
    assert_eq!(error.details()["until_ms"].as_i64(), owned.expires_at_ms.map(Timestamp::as_ms));
}

#[test]
fn an_approval_that_nobody_was_asked_for_is_asked_for_once() {
    let mut world = World::empty();
    world.start(|goal| goal.boundary.needs_approval = [Key::Publish].into());
    let todo = world.todo("publish it", |new| new.requires.publish = true);
    let other = world.todo("publish that", |new| new.requires.publish = true);
    let receipt = world.take("a", None).unwrap();
    assert_eq!(code(&Ok(receipt.clone())), "gate_opened");
    let outcome: Outcome = receipt.outcome().unwrap();
    assert_eq!(outcome.todo_ids, [todo.clone(), other]);
    assert_eq!(world.ledger.rows().gates.len(), 2, "one a Todo and key");
    let before = length(&mut world);
    assert_eq!(refused(world.take("a", None)), "not_ready", "they were asked");
    assert_eq!(length(&mut world), before);
    world.resolve(outcome.gate_id.unwrap(), Answer::Approve).unwrap();
    assert_eq!(taken(&mut world, "a").todo_ids, [todo]);
}

#[test]
fn what_can_be_taken_comes_before_a_question() {
    let mut world = World::empty();
    world.start(|goal| goal.boundary.needs_approval = [Key::Publish].into());
    world.todo("publish it", |new| new.requires.publish = true);
    let plain = world.todo("plain", |new| new.priority = Priority::P4);
    assert_eq!(taken(&mut world, "a").todo_ids, [plain]);
    assert!(world.ledger.rows().gates.is_empty());
}

#[test]
fn a_short_page_decides_the_same_or_refuses() {
    let short = || Next { sighted: Sighted { depth: Depth::First, ..Sighted::default() }, ..Next::default() };
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let taken: Outcome = world.take_as("a", short()).unwrap().outcome().unwrap();
    assert_eq!(taken.todo_ids, [todo]);
    let error = world.take_as("b", short()).unwrap_err();
    assert_eq!((error.code().as_str(), error.details()["why"].as_str()), ("not_ready", Some("changed")));
}

#[test]
fn what_its_edge_saw_is_in_no_digest_and_a_repeat_returns_the_receipt() {
    let mut world = World::new();
    world.todo("it", |_| {});
    world.todo("other", |_| {});
    let command = |sighted| {
        crate::kernel::Command::Claim(crate::kernel::ClaimCommand::Next(Box::new(Next {
            sighted,
            ..Next::default()
        })))
    };
    let seen = Sighted { machine_id: Some(text("abc123")), depth: Depth::First, ..Sighted::default() };
    let first = world.operation(super::world::agent("a"), command(Sighted::default()));
    let again = Operation { command: command(seen), ..first.clone() };
    assert_eq!(first.digest().unwrap(), again.digest().unwrap());
    let receipt = world.submit(first).unwrap();
    let repeated = world.submit(again).unwrap();
    assert!(repeated.is_replayed());
    assert_eq!(repeated.outcome::<Outcome>().unwrap(), receipt.outcome::<Outcome>().unwrap());
}

#[test]
fn a_person_takes_nothing() {
    let mut world = World::new();
    world.todo("it", |_| {});
    let command = crate::kernel::ClaimCommand::Next(Box::default());
    assert_eq!(refused(world.user(crate::kernel::Command::Claim(command))), "actor_not_allowed");
}

#[test]
fn fault_a07_a_lease_that_is_renewed_is_never_offered_again() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned: Outcome = world
        .take_as("a", Next { ttl_ms: Some(Duration::from_mins(2)), ..Next::default() })
        .unwrap()
        .outcome()
        .unwrap();
    for minute in 0..30 {
        world.pass(Duration::from_mins(1));
        let renew = crate::kernel::ClaimCommand::Renew { todo_id: todo.clone(), own_id: owned.own_id };
        world.agent("a", crate::kernel::Command::Claim(renew)).unwrap();
        let decided = world.next("b", None).unwrap();
        assert_eq!((decided.rule, decided.action.name()), (8, "wait"), "minute {minute}");
        assert_eq!(refused(world.take("b", None)), "not_ready", "minute {minute}");
        assert_eq!(world.row(&todo).turn_id, owned.turn_id);
    }
}
