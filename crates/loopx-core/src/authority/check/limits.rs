//! Owns the bounds of what is written: bytes, lists, and the graph of dependencies.

use super::{
    play::code,
    world::{World, text, user, validator},
};
use crate::{
    kernel::{
        Change, Command, Facts, GoalChange, GoalCommand, Input, Minted, NewTodo, Read, Terms, TodoCommand,
        decide, reads,
    },
    model::*,
};

fn long(bytes: usize) -> String {
    "x".repeat(bytes)
}

fn add(world: &mut World, change: impl FnOnce(&mut NewTodo)) -> &'static str {
    let mut new = NewTodo::titled(text("x"), TodoKind::Advance);
    change(&mut new);
    code(&world.todo_cmd(TodoCommand::Add(Box::new(new))))
}

#[test]
fn texts_are_measured_in_bytes() {
    assert!("é".repeat(120).parse::<Title>().is_ok());
    for (over, parses) in [
        ("é".repeat(121).parse::<Title>().err(), "title"),
        (long(4097).parse::<Text>().err(), "detail"),
        (long(513).parse::<ShortText>().err(), "question"),
        (long(121).parse::<Label>().err(), "label"),
    ] {
        assert_eq!(over.unwrap().code().as_str(), "payload_too_large", "{parses}");
    }
}

#[test]
fn a_todos_lists_and_its_own_part_are_bounded() {
    let mut world = World::new();
    let labels = |n: usize| (0..n).map(|n| text(&format!("k{n}"))).collect();
    assert_eq!(add(&mut world, |new| new.requires.capabilities = labels(32)), "ok");
    assert_eq!(add(&mut world, |new| new.requires.capabilities = labels(33)), "invalid_argument");
    assert_eq!(add(&mut world, |new| new.requires.effects = labels(33)), "invalid_argument");
    assert_eq!(add(&mut world, |new| new.validators = vec![validator(); 8]), "ok");
    assert_eq!(add(&mut world, |new| new.validators = vec![validator(); 9]), "invalid_argument");
    let excluded = (0..33).map(|n| text(&format!("a{n}"))).collect();
    assert_eq!(add(&mut world, |new| new.excluded_agents = excluded), "invalid_argument");
    let big = || vec![Validator { argv: vec!["/bin/sh".into(), long(2200).into()], ..validator() }];
    assert_eq!(add(&mut world, |new| new.detail = Some(text(&long(4096)))), "ok");
    assert_eq!(add(&mut world, |new| new.validators = big()), "ok");
    let both = |new: &mut NewTodo| (new.detail, new.validators) = (Some(text(&long(4096))), big());
    assert_eq!(add(&mut world, both), "payload_too_large");
    // What stays counts as well as what is changed.
    let todo = world.todo("it", |new| new.detail = Some(text(&long(4096))));
    let change = Box::new(Change { validators: Some(big()), ..Change::default() });
    let update = TodoCommand::Update { todo_id: todo, change };
    assert_eq!(code(&world.todo_cmd(update)), "payload_too_large");
    assert_eq!(
        add(&mut world, |new| (new.wake, new.blocked) =
            (Some(Wake::After(Timestamp::from_ms(1))), Some(text("x")))),
        "invalid_argument"
    );
}

#[test]
fn a_validator_is_a_program_within_bounds() {
    type Change = fn(&mut Validator);
    const NO: &str = "invalid_argument";
    let rows: [(&str, Change, &str); 13] = [
        ("none", |v| v.argv = Vec::new(), NO),
        ("blank", |v| v.argv = vec!["".into()], NO),
        ("nul", |v| v.argv = vec!["a\0".into()], NO),
        ("33 arguments", |v| v.argv = vec!["a".into(); 33], NO),
        ("4097 bytes", |v| v.argv = vec![long(4097).into()], NO),
        ("progress with 0", |v| v.progress_exit = Some(0), NO),
        ("no time", |v| v.timeout_ms = Duration::from_ms(999), NO),
        ("over a day", |v| v.timeout_ms = Duration::from_ms(86_400_001), NO),
        ("much environment", |v| v.env = vec![("A".into(), long(8192).into())], NO),
        ("33 environment entries", |v| v.env = vec![("A".into(), "b".into()); 33], NO),
        (
            "32 of each",
            |v| (v.argv, v.env) = (vec!["a".into(); 32], vec![("A".into(), "b".into()); 32]),
            "ok",
        ),
        (
            "4096 and 8192 bytes",
            |v| (v.argv, v.env) = (vec![long(4096).into()], vec![("A".into(), long(8191).into())]),
            "payload_too_large",
        ),
        ("fit", |_| {}, "ok"),
    ];
    let mut world = World::new();
    for (what, change, expected) in rows {
        let mut validator = validator();
        change(&mut validator);
        assert_eq!(add(&mut world, |new| new.validators = vec![validator]), expected, "{what}");
    }
}

#[test]
fn a_goals_terms_fit_into_four_kib_together() {
    let mut world = World::new();
    let mut update = |change: GoalChange| code(&world.goal_cmd(GoalCommand::Update(Box::new(change))));
    let criterion = |n: usize| Criterion { text: text(&long(n)), check: None, state: CriterionState::Open };
    assert_eq!(update(GoalChange { objective: Some(text(&long(4096))), ..GoalChange::default() }), "ok");
    assert_eq!(
        update(GoalChange { stop_conditions: Some(vec![text("x")]), ..GoalChange::default() }),
        "payload_too_large"
    );
    assert_eq!(update(GoalChange { objective: Some(text(&long(3000))), ..GoalChange::default() }), "ok");
    assert_eq!(
        update(GoalChange { acceptance: Some(vec![criterion(500); 2]), ..GoalChange::default() }),
        "ok"
    );
    let checked = Criterion {
        check: Some(Validator { argv: vec![long(100).into()], ..validator() }),
        ..criterion(500)
    };
    assert_eq!(
        update(GoalChange { acceptance: Some(vec![checked; 2]), ..GoalChange::default() }),
        "payload_too_large"
    );
    let keys = BoundaryChange {
        needs_approval: Some([text(&format!("capability:{}", long(110)))].into()),
        ..BoundaryChange::default()
    };
    assert_eq!(update(GoalChange { boundary: Some(keys), ..GoalChange::default() }), "payload_too_large");
    assert_eq!(
        update(GoalChange { acceptance: Some(vec![criterion(1); 33]), ..GoalChange::default() }),
        "invalid_argument"
    );
    assert_eq!(
        update(GoalChange { non_goals: Some(vec![text("x"); 33]), ..GoalChange::default() }),
        "invalid_argument"
    );
}

#[test]
fn a_todo_waits_for_at_most_sixty_four_others() {
    let mut world = World::empty();
    world.start(|_| {});
    let items = (0..66).map(|n| crate::kernel::BatchItem::Add {
        new: Box::new(NewTodo::titled(text(&format!("t{n}")), TodoKind::Advance)),
        after_items: [].into(),
    });
    world.user(Command::Batch(items.collect())).unwrap();
    let deps = |n: u32| (1..=n).map(|n| TodoId::new(text("g"), n)).collect();
    assert_eq!(add(&mut world, |new| new.depends_on = deps(65)), "invalid_argument");
    assert_eq!(add(&mut world, |new| new.depends_on = deps(64)), "ok");
    let link = TodoCommand::Link { todo_id: text("g.67"), depends_on: text("g.65") };
    assert_eq!(code(&world.todo_cmd(link)), "invalid_argument");
}

#[test]
fn a_graph_larger_than_the_walk_is_refused_unless_nothing_has_to_be_walked() {
    let mut world = World::empty();
    world.start(|_| {});
    let terms = Terms {
        authority_id: AuthorityId::from_bytes([1; 16]),
        incarnation: IncarnationId::from_bytes([2; 16]),
        now: Timestamp::from_ms(1_800_000_000_000),
        clock_jump: false,
        strict: false,
        schema: 2,
    };
    world.todo("it", |_| {});
    let rows = world.ledger.rows();
    let template = rows.todos.values().next().unwrap().clone();
    for (length, expected) in [(10_000_u32, "ok"), (10_001, "dependency_graph_too_large")] {
        let mut facts = Facts::new(terms.clone());
        facts.load(rows.clone());
        let mut chain = crate::kernel::Rows::default();
        for n in 2..length + 2 {
            let mut todo = template.clone();
            todo.todo_id = TodoId::new(text("g"), n);
            todo.depends_on = if n == 2 { [].into() } else { [TodoId::new(text("g"), n - 1)].into() };
            chain.todos.insert(todo.todo_id.clone(), todo);
        }
        facts.load(chain);
        let link = TodoCommand::Link { todo_id: text("g.1"), depends_on: TodoId::new(text("g"), length + 1) };
        let operation =
            Operation::embedded(text("op"), user(), text("g"), Input::Command(Command::Todo(link)));
        let asked = reads(&operation, &facts);
        assert!(asked.iter().any(|read| matches!(read, Read::Ancestors(_))));
        for read in asked {
            facts.note(read);
        }
        let now = facts.now();
        let found = decide(facts, &operation, &mut Minted::new([0; 32], now));
        assert_eq!(found.map_or_else(|error| error.code().as_str(), |_| "ok"), expected, "{length}");
    }
}
