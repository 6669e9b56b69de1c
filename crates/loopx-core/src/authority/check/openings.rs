//! Owns what a gate must look like to be opened, and whose answers reach how far.

use super::{
    play::{code, refused, result, verdict},
    world::{World, agent, text, user, validator},
};
use crate::{
    kernel::{Command, GateCommand, NewGate, NewTodo, TodoCommand},
    model::*,
};

fn new_gate(blocks: Blocks) -> NewGate {
    NewGate {
        kind: GateKind::Decision,
        question: text("which?"),
        options: Vec::new(),
        blocks,
        scope: None,
        standing_until: None,
    }
}

fn open(world: &mut World, new: NewGate) -> &'static str {
    code(&world.user(Command::Gate(GateCommand::Open(Box::new(new)))))
}

fn on(ids: impl IntoIterator<Item = TodoId>) -> Blocks {
    Blocks::Todos(ids.into_iter().collect())
}

#[test]
fn a_gate_has_bounds_and_only_an_approval_stands() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let labels = |n: usize| (0..n).map(|n| text(&format!("o{n}"))).collect::<Vec<_>>();
    let now = world.now();
    let standing = |kind, scope: Option<&str>, until| NewGate {
        kind,
        scope: scope.map(text),
        standing_until: Some(until),
        ..new_gate(on([todo.clone()]))
    };
    let soon = now.plus(Duration::from_secs(1));
    let decision = || new_gate(on([todo.clone()]));
    for (what, new, expected) in [
        ("33 options", NewGate { options: labels(33), ..decision() }, "invalid_argument"),
        ("32 options", NewGate { options: labels(32), ..decision() }, "ok"),
        (
            "an approval's options",
            NewGate { kind: GateKind::Access, options: labels(1), ..decision() },
            "invalid_argument",
        ),
        ("standing without a scope", standing(GateKind::Approval, None, soon), "invalid_argument"),
        ("a standing decision", standing(GateKind::Decision, Some("publish"), soon), "invalid_argument"),
        ("standing until now", standing(GateKind::Approval, Some("publish"), now), "invalid_argument"),
        ("standing", standing(GateKind::Approval, Some("publish"), soon), "ok"),
        ("no Todo", new_gate(on([])), "invalid_argument"),
        ("a Todo that is not there", new_gate(on([text("g.99")])), "not_found"),
        ("another Goal's Todo", new_gate(on([text("h.1")])), "invalid_argument"),
    ] {
        assert_eq!(open(&mut world, new), expected, "{what}");
    }
    let many: Vec<TodoId> = (0..33).map(|n| world.todo(&format!("t{n}"), |_| {})).collect();
    assert_eq!(open(&mut world, new_gate(on(many.clone()))), "invalid_argument", "33 Todos");
    assert_eq!(open(&mut world, new_gate(on(many.into_iter().skip(1)))), "ok", "32 Todos");
    let cancel = TodoCommand::Cancel { todo_id: todo.clone(), reason: text("no"), superseded_by: None };
    world.todo_cmd(cancel).unwrap();
    assert_eq!(open(&mut world, new_gate(on([todo]))), "invalid_transition", "what has ended");
}

#[test]
fn an_agent_opens_a_gate_on_what_it_made_without_owning_it() {
    let mut world = World::new();
    let add = TodoCommand::Add(Box::new(NewTodo::titled(text("mine"), TodoKind::Advance)));
    world.agent_todo("a", add).unwrap();
    let made = on([text("g.1")]);
    assert!(world.gate_as(agent("a"), GateKind::Decision, made.clone()).is_ok());
    assert_eq!(refused(world.gate_as(agent("b"), GateKind::Decision, made)), "actor_not_allowed");
}

#[test]
fn a_gate_of_another_goal_is_not_there() {
    let mut world = World::new();
    world.goal = text("h");
    world.start(|_| {});
    let todo = world.todo("theirs", |_| {});
    let gate_id = world.gate(GateKind::Approval, &todo);
    world.goal = text("g");
    assert_eq!(code(&world.resolve(gate_id, Answer::Approve)), "not_found");
    assert_eq!(code(&world.user(Command::Gate(GateCommand::Withdraw { gate_id }))), "not_found");
    let wake = Wake::Gate(gate_id);
    let add = |wake| {
        let mut new = NewTodo::titled(text("later"), TodoKind::Advance);
        new.wake = Some(wake);
        TodoCommand::Add(Box::new(new))
    };
    assert_eq!(code(&world.todo_cmd(add(wake))), "not_found", "nothing of another Goal wakes");
}

#[test]
fn the_question_about_a_result_is_neither_withdrawn_nor_asked_again() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", |_| {});
    let owned = world.ask_acceptance("a", &todo);
    let gate_id = owned.gate_id.unwrap();
    assert_eq!(code(&world.user(Command::Gate(GateCommand::Withdraw { gate_id }))), "invalid_transition");
    world.resolve(gate_id, Answer::Deny { reason: None }).unwrap();
    assert_eq!(code(&world.user(Command::Gate(GateCommand::Reopen { gate_id }))), "invalid_transition");
    // Another denied gate is asked again.
    let plain = world.gate(GateKind::Approval, &todo);
    world.resolve(plain, Answer::Deny { reason: None }).unwrap();
    let before = world.ledger.rows().gates[&plain].revision;
    assert_eq!(code(&world.user(Command::Gate(GateCommand::Reopen { gate_id: plain }))), "ok");
    assert!(world.ledger.rows().gates[&plain].revision > before);
}

#[test]
fn a_denial_stops_only_what_it_holds() {
    let mut world = World::empty();
    world.start(|_| {});
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    let (mine, theirs) = (world.ask_acceptance("a", &first), world.ask_acceptance("b", &second));
    world.resolve(mine.gate_id.unwrap(), Answer::Deny { reason: None }).unwrap();
    assert_eq!((world.turn_state(&mine), world.turn_state(&theirs)), ("stopped", "held"));
    // What executes goes on; its settlement meets the denial.
    let third = world.todo("third", |_| {});
    let owned = world.claim("a", &third).unwrap();
    let gate = world.gate(GateKind::Approval, &third);
    world.resolve(gate, Answer::Deny { reason: None }).unwrap();
    assert_eq!(world.turn_state(&owned), "dispatched");
}

#[test]
fn a_denial_takes_the_question_about_the_result_back_with_it() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", |_| {});
    let owned = world.ask_acceptance("a", &todo);
    let asked = owned.gate_id.unwrap();
    let gate = world.gate(GateKind::Approval, &todo);
    world.resolve(gate, Answer::Deny { reason: None }).unwrap();
    assert_eq!(world.turn_state(&owned), "stopped");
    assert_eq!(world.ledger.rows().gates[&asked].state.as_str(), "withdrawn");
}

#[test]
fn a_gate_asked_again_can_wake_again() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let gate_id = world.gate(GateKind::Approval, &todo);
    let waits = world.todo("later", |new| new.wake = Some(Wake::Gate(gate_id)));
    world.resolve(gate_id, Answer::Deny { reason: None }).unwrap();
    assert!(world.row(&waits).counters.wake_lost);
    world.user(Command::Gate(GateCommand::Reopen { gate_id })).unwrap();
    assert!(!world.row(&waits).counters.wake_lost);
    world.resolve(gate_id, Answer::Approve).unwrap();
    assert_eq!(world.reason("a", &waits).name(), "claimable");
    // What came true before wakes at once.
    let late = world.todo("late", |new| new.wake = Some(Wake::Gate(gate_id)));
    assert_eq!(world.reason("a", &late).name(), "claimable");
}

#[test]
fn nobody_approves_his_own_result_by_a_review_he_took_before() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", |_| {});
    let review = world.todo("review", |new| new.reviews = Some(text("g.1")));
    // Its review is held for a person, so the reviewer may work on, and becomes the author of what it reviews.
    let mut reviewing = world.claim("a", &review).unwrap();
    world.result_of("a", &reviewing, result(ResultKind::ValidatedCompletion)).unwrap();
    let held = world.judged("a", &reviewing, verdict(VerdictOutcome::Unchecked), false).unwrap();
    reviewing.gate_id = held.outcome::<crate::kernel::Outcome>().unwrap().gate_id;
    let owned = world.ask_acceptance("a", &todo);
    world.resolve(reviewing.gate_id.unwrap(), Answer::Approve).unwrap();
    world.prove(reviewing.turn_id.unwrap(), false).unwrap();
    assert_eq!(world.turn_state(&reviewing), "settled");
    assert_eq!(world.ledger.rows().gates[&owned.gate_id.unwrap()].state.as_str(), "open");
}

#[test]
fn a_needed_approval_without_a_work_tree_asks_nobody() {
    let mut world = World::empty();
    world.start(|goal| {
        goal.boundary.needs_approval = [Key::Publish].into();
        goal.validators = vec![validator()];
    });
    let todo = world.todo("it", |new| {
        new.requires.publish = true;
        new.requires.write_scopes = [text("src")].into();
    });
    assert_eq!(refused(world.claim("a", &todo)), "invalid_argument", "no tree is known to write in");
    assert_eq!(
        world.gate_as(user(), GateKind::Decision, Blocks::Goal).map(drop).map_err(|e| e.code()),
        Ok(())
    );
    assert_eq!(world.ledger.rows().gates.len(), 1, "no approval was asked for");
}
