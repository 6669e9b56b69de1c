//! Owns what the terms of a Goal and of a Todo may be when they are written, and what a change leaves.

use super::{
    play::code,
    world::{World, text, user, validator},
};
use crate::{
    kernel::{Change, Command, GoalChange, GoalCommand, NewGoal, NewTodo, TodoCommand},
    model::*,
};

fn goal(change: impl FnOnce(&mut NewGoal)) -> &'static str {
    let mut world = World::empty();
    let mut new = NewGoal::wanting(text("ship it"));
    change(&mut new);
    code(&world.goal_cmd(GoalCommand::Start(Box::new(new))))
}

fn criterion(what: &str) -> Criterion {
    Criterion { text: text(what), check: None, state: CriterionState::Open }
}

#[test]
fn a_goal_starts_within_its_bounds() {
    let lines = |n: usize| (0..n).map(|n| text(&format!("line {n}"))).collect::<Vec<ShortText>>();
    let bad = || Validator { argv: Vec::new(), ..validator() };
    assert_eq!(goal(|_| {}), "ok");
    assert_eq!(goal(|new| new.objective = text(&"x".repeat(4096))), "ok");
    let over = |new: &mut NewGoal| {
        new.objective = text(&"x".repeat(4096));
        new.stop_conditions = vec![text("y")];
    };
    assert_eq!(goal(over), "payload_too_large");
    assert_eq!(goal(|new| new.validators = vec![bad()]), "invalid_argument");
    assert_eq!(goal(|new| new.non_goals = lines(32)), "ok");
    assert_eq!(goal(|new| new.non_goals = lines(33)), "invalid_argument");
    assert_eq!(goal(|new| new.authority_sources = lines(33)), "invalid_argument");
    assert_eq!(goal(|new| new.stop_conditions = lines(32)), "ok");
    assert_eq!(goal(|new| new.stop_conditions = lines(33)), "invalid_argument");
    let waived = CriterionState::Waived { reason: text("no") };
    let shown = |new: &mut NewGoal| {
        new.acceptance = vec![Criterion { state: waived, ..criterion("it runs") }];
    };
    assert_eq!(goal(shown), "invalid_argument", "nothing is shown before the start");
    let unsound = |new: &mut NewGoal| {
        new.acceptance = vec![Criterion { check: Some(bad()), ..criterion("it runs") }];
    };
    assert_eq!(goal(unsound), "invalid_argument", "a check is a validator");
}

/// The digest of an operation depends on it: what is not said is not encoded.
#[test]
fn what_a_new_goal_does_not_say_is_left_out_of_its_encoding() {
    let encoded = serde_json::to_value(NewGoal::wanting(text("ship it"))).unwrap();
    assert_eq!(encoded, serde_json::json!({ "objective": "ship it" }));
}

#[test]
fn a_change_of_the_goal_is_what_it_then_has() {
    let mut world = World::new();
    let lines = |what: &str| Some(vec![text::<ShortText>(what)]);
    let change = GoalChange {
        non_goals: lines("no rewrite"),
        stop_conditions: lines("no key"),
        authority_sources: lines("docs/spec.md"),
        workspace: Some(text("0123456789abcdef")),
        ..GoalChange::default()
    };
    let before = world.ledger.rows().goals[&world.goal].clone();
    world.goal_cmd(GoalCommand::Update(Box::new(change.clone()))).unwrap();
    let row = world.ledger.rows().goals[&world.goal].clone();
    assert_eq!(Some(&row.non_goals), change.non_goals.as_ref());
    assert_eq!(Some(&row.stop_conditions), change.stop_conditions.as_ref());
    assert_eq!(Some(&row.authority_sources), change.authority_sources.as_ref());
    assert_eq!(row.workspace, change.workspace);
    assert_eq!(row.revision, before.revision, "none of them is what the work is measured by");
    // What is not given stays.
    let other = GoalChange { objective: Some(text("ship it all")), ..GoalChange::default() };
    world.goal_cmd(GoalCommand::Update(Box::new(other))).unwrap();
    let after = world.ledger.rows().goals[&world.goal].clone();
    assert_eq!((after.workspace, after.non_goals), (row.workspace, row.non_goals));
    let bad = GoalChange { validators: Some(vec![validator(); 9]), ..GoalChange::default() };
    assert_eq!(code(&world.goal_cmd(GoalCommand::Update(Box::new(bad)))), "invalid_argument");
}

#[test]
fn a_criterion_is_waived_by_its_number_and_another_check_is_another_criterion() {
    let mut world = World::empty();
    world.start(|goal| goal.acceptance = vec![criterion("it runs")]);
    let waive = |number: u8| GoalChange { waive: vec![(number, text("seen"))], ..GoalChange::default() };
    for (number, expected) in [(0, "invalid_argument"), (2, "invalid_argument")] {
        let answer = world.goal_cmd(GoalCommand::Update(Box::new(waive(number))));
        assert_eq!(code(&answer), expected, "{number}");
    }
    let (before, revision) = (world.envelopes().len(), world.ledger.rows().goals[&world.goal].revision);
    world.goal_cmd(GoalCommand::Update(Box::new(waive(1)))).unwrap();
    assert_eq!(world.kinds_after(before), ["goal.criterion_waived"], "nothing else was changed");
    assert!(world.ledger.rows().goals[&world.goal].revision > revision);
    let checked = Criterion { check: Some(validator()), ..criterion("it runs") };
    let change = GoalChange { acceptance: Some(vec![checked]), ..GoalChange::default() };
    world.goal_cmd(GoalCommand::Update(Box::new(change))).unwrap();
    assert!(world.ledger.rows().goals[&world.goal].acceptance[0].state.is_open());
}

#[test]
fn resuming_what_runs_and_stopping_what_is_stopped_is_no_event() {
    let mut world = World::new();
    let before = world.envelopes().len();
    world.goal_cmd(GoalCommand::Resume).unwrap();
    assert_eq!(world.kinds_after(before), [] as [String; 0]);
    world.goal_cmd(GoalCommand::Stop).unwrap();
    world.goal_cmd(GoalCommand::Stop).unwrap();
    assert_eq!(world.kinds_after(before), ["goal.stopped"]);
}

#[test]
fn a_new_todo_names_what_is_there_and_fits_its_kind() {
    let mut world = World::new();
    let gone = world.todo("gone", |_| {});
    let cancel = TodoCommand::Cancel { todo_id: gone.clone(), reason: text("no"), superseded_by: None };
    world.todo_cmd(cancel).unwrap();
    let mut add = |change: &dyn Fn(&mut NewTodo)| {
        let mut new = NewTodo::titled(text("x"), TodoKind::Advance);
        change(&mut new);
        code(&world.todo_cmd(TodoCommand::Add(Box::new(new))))
    };
    assert_eq!(add(&|new| new.depends_on = [text("g.99")].into()), "not_found");
    assert_eq!(add(&|new| new.depends_on = [text("h.1")].into()), "invalid_argument");
    assert_eq!(add(&|new| new.reviews = Some(text("g.99"))), "not_found");
    assert_eq!(add(&|new| new.coordinates = Some(text("g.99"))), "not_found");
    assert_eq!(
        add(&|new| new.wake = Some(Wake::TodoDone(gone.clone()))),
        "invalid_argument",
        "it never wakes"
    );
    assert_eq!(add(&|new| new.every_ms = Some(Duration::from_secs(60))), "invalid_argument");
    assert_eq!(add(&|new| new.unchanged_limit = Some(3)), "invalid_argument");
}

#[test]
fn an_agents_change_meets_the_stop_and_names_no_validator() {
    let mut world = World::new();
    let add = TodoCommand::Add(Box::new(NewTodo::titled(text("mine"), TodoKind::Advance)));
    world.agent_todo("a", add).unwrap();
    let update = |change: Change| TodoCommand::Update { todo_id: text("g.1"), change: Box::new(change) };
    let titled = || Change { title: Some(text("new")), ..Change::default() };
    assert_eq!(
        code(&world.agent_todo("a", update(Change::default()))),
        "invalid_argument",
        "nothing is given"
    );
    let proving = Change { validators: Some(vec![validator()]), ..Change::default() };
    assert_eq!(code(&world.agent_todo("a", update(proving.clone()))), "user_only");
    assert_eq!(code(&world.todo_cmd(update(proving))), "ok");
    assert_eq!(code(&world.agent_todo("a", update(titled()))), "ok");
    world.goal_cmd(GoalCommand::Stop).unwrap();
    assert_eq!(code(&world.agent_todo("a", update(titled()))), "goal_stopped");
    assert_eq!(code(&world.todo_cmd(update(titled()))), "ok", "a person's plan goes on");
}

#[test]
fn a_persons_completion_names_live_successors_too() {
    let mut world = World::empty();
    world.start(|_| {});
    let (todo, next, gone) =
        (world.todo("it", |_| {}), world.todo("next", |_| {}), world.todo("gone", |_| {}));
    let cancel = TodoCommand::Cancel { todo_id: gone.clone(), reason: text("no"), superseded_by: None };
    world.todo_cmd(cancel).unwrap();
    let mut complete = |todo_ids: Vec<TodoId>| {
        let continuation = Continuation::Successor { todo_ids };
        let command = TodoCommand::Complete { todo_id: todo.clone(), continuation, waive: None };
        let operation = world.operation(user(), Command::Todo(command));
        code(&world.submit(operation))
    };
    assert_eq!(complete(vec![]), "invalid_argument");
    assert_eq!(complete(vec![todo.clone()]), "invalid_argument", "itself");
    assert_eq!(complete(vec![gone]), "invalid_argument", "cancelled");
    assert_eq!(complete(vec![next.clone(); 33]), "invalid_argument", "33");
    assert_eq!(complete(vec![next]), "ok");
}
