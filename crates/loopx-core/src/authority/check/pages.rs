//! Owns the tests of how far a decision looks: what a page leaves out must not change what comes first.
//!
//! Every decision of a `World` is made by the short page and by the whole one, and both must agree.

use super::{
    play::code,
    world::{World, agent, text},
};
use crate::{
    kernel::{
        Action, BatchItem, ClaimCommand, Command, Depth, Facts, Input, NewTodo,
        claim::{Next, Sighted},
    },
    model::*,
};

/// More open Todos than a whole page holds.
fn crowd(world: &mut World) {
    let items = (0..Facts::PAGE + 44).map(|n| BatchItem::Add {
        new: Box::new(NewTodo::titled(text(&format!("todo {n}")), TodoKind::Advance)),
        after_items: [].into(),
    });
    let items = items.collect();
    world.user(Command::Batch(items)).unwrap();
}

fn chosen(world: &mut World) -> TodoId {
    match world.next("a", None).unwrap().action {
        Action::Run { todo_id, .. } => todo_id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn regress_a_monitor_is_found_behind_more_work_than_a_page_holds() {
    let mut world = World::new();
    crowd(&mut world);
    let monitor = world.todo("watch", |new| new.kind = TodoKind::Monitor);
    // A due monitor comes before other work of its priority, looked at before or not; then other work comes first.
    for _ in 0..2 {
        assert_eq!(chosen(&mut world), monitor);
        let owned = world.claim("a", &monitor).unwrap();
        world.candidate("a", &owned, ResultKind::LookUnchanged).unwrap();
        let first = chosen(&mut world);
        assert_eq!(first.number(), 1);
        let owned = world.claim("a", &first).unwrap();
        world.done("a", &owned).unwrap();
        world.user(Command::Todo(crate::kernel::TodoCommand::Reopen { todo_id: first })).unwrap();
        world.pass(Duration::from_secs(24 * 3600));
    }
}

#[test]
fn regress_what_was_put_off_is_found_behind_more_work_than_a_page_holds() {
    let mut world = World::new();
    let now = world.now();
    let early = world.todo("put off", |new| new.wake = Some(Wake::After(now.plus(Duration::from_secs(60)))));
    crowd(&mut world);
    assert_ne!(chosen(&mut world), early);
    world.pass(Duration::from_secs(120));
    assert_eq!(chosen(&mut world), early, "the least number, and awake");
}

#[test]
fn an_urgent_todo_is_found_behind_more_work_than_a_page_holds() {
    let mut world = World::new();
    crowd(&mut world);
    let urgent = world.todo("now", |new| new.priority = Priority::P0);
    assert_eq!(chosen(&mut world), urgent);
    assert_eq!(code(&world.claim_as("a", super::play::attached(&urgent))), "ok");
}

#[test]
fn regress_an_author_never_reviews_its_own_work_done_or_not() {
    let mut world = World::new();
    let work = world.todo("work", |_| {});
    let review = world.todo("review", |new| {
        new.reviews = Some(work.clone());
        new.depends_on = [work.clone()].into();
    });
    let owned = world.claim("a", &work).unwrap();
    world.done("a", &owned).unwrap();
    assert!(world.row(&work).is_done());
    assert_eq!(code(&world.claim_as("a", super::play::attached(&review))), "not_claimable");
    assert_eq!(world.next("a", None).unwrap().rule, 9, "a person is asked");
    let other = world.next("b", None).unwrap();
    assert!(matches!(other.action, Action::Run { todo_id, .. } if todo_id == review));
    world.claim("b", &review).unwrap();
}

#[test]
fn ten_thousand_open_todos_of_which_9990_are_blocked_cost_what_ten_cost() {
    let mut world = World::new();
    let base = world.todo("base", |_| {});
    let add = |n: u32| {
        let mut new = NewTodo::titled(text(&format!("todo {n}")), TodoKind::Advance);
        if n >= 9 {
            new.depends_on = [base.clone()].into();
        }
        BatchItem::Add { new: Box::new(new), after_items: [].into() }
    };
    world.user(Command::Batch((0..9_999).map(add).collect())).unwrap();
    let sighted = Sighted { depth: Depth::First, ..Sighted::default() };
    let next = ClaimCommand::Next(Box::new(Next { sighted, ..Next::default() }));
    let operation = world.operation(agent("a"), Input::Command(Command::Claim(next.clone())));
    let read = world.loads(&operation);
    assert_eq!(read.todos.len(), 10, "the ten that can be taken, and no blocked one");
    assert_eq!(code(&world.agent("a", Command::Claim(next))), "ok");
    assert_eq!(world.row(&base).turn_no, 1);
}
