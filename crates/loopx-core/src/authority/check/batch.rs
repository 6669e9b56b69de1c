//! Owns what is true of a batch: every kind of item, all or nothing, its bounds and its speed.

use super::{
    super::clock::monotonic,
    play::code,
    world::{World, text, user, validator},
};
use crate::{
    error::Result,
    kernel::{
        BatchItem as Item, BatchRef as Ref, Change, Command, EvidenceCommand, Facts, Input, Minted, NewGate,
        NewTodo, Outcome, READ_ROUNDS, Terms, decide, reads,
    },
    model::*,
};

fn add(title: &str) -> Item {
    Item::Add { new: Box::new(NewTodo::titled(text(title), TodoKind::Advance)), after_items: [].into() }
}

fn evidence(todo_id: &str) -> Item {
    Item::Evidence(EvidenceCommand::Add {
        todo_id: Some(text(todo_id)),
        criterion: None,
        kind: EvidenceKind::Note,
        pointer: text("x"),
        digest: None,
        privacy: Privacy::Public,
        verdict: None,
    })
}

fn gate(todo_id: &str) -> Item {
    Item::Gate(Box::new(NewGate {
        kind: GateKind::Decision,
        question: text("?"),
        options: Vec::new(),
        blocks: Blocks::Todos([text(todo_id)].into()),
        scope: None,
        standing_until: None,
    }))
}

fn submit(world: &mut World, items: Vec<Item>) -> Result<Receipt> {
    world.user(Command::Batch(items))
}

#[test]
fn every_kind_of_item_is_one_commit_and_may_name_earlier_ones() {
    let mut world = World::empty();
    world.start(|_| {});
    let (old, done, dropped) =
        (world.todo("old", |_| {}), world.todo("done", |_| {}), world.todo("dropped", |_| {}));
    let change = Box::new(Change { title: Some(text("renamed")), ..Change::default() });
    let receipt = submit(
        &mut world,
        vec![
            add("first"),
            Item::Add {
                new: Box::new(NewTodo::titled(text("second"), TodoKind::Advance)),
                after_items: [0].into(),
            },
            Item::Update { todo: Ref::Item(0), change },
            Item::Link { todo: Ref::Todo(old.clone()), depends_on: Ref::Item(1) },
            Item::Unlink { todo: Ref::Item(1), depends_on: Ref::Item(0) },
            Item::Complete { todo: Ref::Todo(done.clone()) },
            Item::Cancel { todo: Ref::Todo(dropped.clone()), reason: text("x") },
            Item::Cancel { todo: Ref::Item(0), reason: text("x") },
            evidence("g.1"),
            gate("g.1"),
        ],
    )
    .unwrap();
    let outcome: Outcome = receipt.outcome().unwrap();
    assert_eq!(outcome.todo_ids, [text::<TodoId>("g.4"), text("g.5")]);
    assert!(outcome.gate_id.is_some() && outcome.evidence_ids.len() == 1);
    assert_eq!(world.row(&text("g.4")).title.as_str(), "renamed");
    assert_eq!(world.row(&old).depends_on, [text("g.5")].into());
    assert!(world.row(&text("g.5")).depends_on.is_empty() && world.row(&done).is_done());
    assert_eq!(world.row(&old).counters.blocking_gates, 1);
}

#[test]
fn a_refusal_names_its_item_and_nothing_of_the_batch_stays() {
    let rows: [(&str, Vec<Item>, u64); 7] = [
        ("not_found", vec![add("a"), Item::Complete { todo: Ref::Todo(text("g.9")) }], 1),
        ("invalid_argument", vec![add("a"), Item::Complete { todo: Ref::Item(1) }], 1),
        ("invalid_argument", vec![add("a"), add("b"), Item::Complete { todo: Ref::Item(7) }], 2),
        (
            "dependency_cycle",
            vec![
                add("a"),
                add("b"),
                Item::Link { todo: Ref::Item(0), depends_on: Ref::Item(1) },
                Item::Link { todo: Ref::Item(1), depends_on: Ref::Item(0) },
            ],
            3,
        ),
        (
            "dependency_cycle",
            vec![
                add("a"),
                Item::Link { todo: Ref::Todo(text("g.1")), depends_on: Ref::Item(0) },
                Item::Link { todo: Ref::Item(0), depends_on: Ref::Todo(text("g.2")) },
            ],
            2,
        ),
        (
            "validation_failed",
            vec![
                Item::Complete { todo: Ref::Todo(text("g.2")) },
                Item::Complete { todo: Ref::Todo(text("g.3")) },
            ],
            1,
        ),
        ("not_found", vec![add("a"), evidence("g.9")], 1),
    ];
    for (expected, items, place) in rows {
        let mut world = World::empty();
        world.start(|_| {});
        let first = world.todo("first", |_| {});
        let second = world.todo("second", |new| new.depends_on = [first.clone()].into());
        world.todo("proved", |new| new.validators = vec![validator()]);
        assert_eq!(second.to_string(), "g.2");
        let error = submit(&mut world, items).unwrap_err();
        assert_eq!(
            (error.code().as_str(), error.details()["item"].as_u64()),
            (expected, Some(place)),
            "{error:?}"
        );
    }
}

#[test]
fn a_batch_has_bounds_and_is_a_persons() {
    let mut world = World::new();
    assert_eq!(code(&submit(&mut world, Vec::new())), "invalid_argument");
    assert_eq!(code(&submit(&mut world, vec![add("x"); 10_001])), "invalid_argument");
    assert_eq!(code(&world.agent("a", Command::Batch(vec![add("x")]))), "user_only");
}

#[test]
fn a_review_that_a_batch_adds_and_completes_approves() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", |_| {});
    let owned = world.ask_acceptance("a", &todo);
    let mut review = NewTodo::titled(text("review"), TodoKind::Action);
    review.reviews = Some(todo.clone());
    submit(
        &mut world,
        vec![
            Item::Add { new: Box::new(review), after_items: [].into() },
            Item::Complete { todo: Ref::Item(0) },
        ],
    )
    .unwrap();
    world.prove(owned.turn_id.unwrap(), false).unwrap();
    assert!(world.row(&todo).is_done());
}

/// A Goal of as many Todos, each tenth asleep until the one before it is done, each other tenth waiting for it.
fn many(n: u32) -> Facts {
    let mut world = World::empty();
    world.start(|_| {});
    world.todo("one", |_| {});
    let mut rows = world.ledger.rows();
    let template = rows.todos.values().next().unwrap().clone();
    for n in 2..=n {
        let (before, mut todo) = (TodoId::new(text("g"), n - 1), template.clone());
        todo.todo_id = TodoId::new(text("g"), n);
        match n % 10 {
            0 => todo.state = TodoState::Deferred { wake: Wake::TodoDone(before) },
            5 => (todo.depends_on, todo.counters.unmet) = ([before].into(), 1),
            _ => {}
        }
        rows.todos.insert(todo.todo_id.clone(), todo);
    }
    let terms = Terms {
        authority_id: AuthorityId::from_bytes([1; 16]),
        incarnation: IncarnationId::from_bytes([2; 16]),
        now: world.now(),
        clock_jump: false,
        strict: false,
        schema: 2,
    };
    let mut facts = Facts::new(terms);
    facts.load(rows);
    facts
}

#[test]
fn ten_thousand_completions_decide_in_a_moment() {
    let mut facts = many(10_000);
    let complete = |n| Item::Complete { todo: Ref::Todo(TodoId::new(text("g"), n)) };
    let operation = Operation::embedded(
        text("op"),
        user(),
        text("g"),
        Input::Command(Command::Batch((1..=10_000).map(complete).collect())),
    );
    let begun = monotonic();
    for _ in 0..READ_ROUNDS {
        for read in reads(&operation, &facts) {
            facts.note(read);
        }
    }
    let mut minted = Minted::new([0; 32], facts.now());
    let decision = decide(facts, &operation, &mut minted).unwrap();
    let took = begun.elapsed();
    assert!(
        decision.writes.rows.todos.len() == 10_000 && decision.writes.rows.todos.values().all(Todo::is_done)
    );
    // Under a second where it is optimised; a build for tests is given ten times as long.
    let bound = if cfg!(debug_assertions) { 10 } else { 1 };
    assert!(took.as_secs() < bound, "{took:?}");
}
