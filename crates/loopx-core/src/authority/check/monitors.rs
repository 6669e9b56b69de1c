//! Owns what a monitor is: when it is due, what ends its claim, and when an agent comes to it.

use super::{
    play::{code, refused, result},
    world::{World, text, validator},
};
use crate::{
    kernel::{Action, Decided, NewTodo, Outcome, Reason},
    model::*,
};

const HOUR: Duration = Duration::from_mins(60);

fn watch(world: &mut World, change: impl FnOnce(&mut NewTodo)) -> TodoId {
    world.todo("watch", |new| {
        new.kind = TodoKind::Monitor;
        change(new);
    })
}

fn look(world: &mut World, name: &str, todo_id: &TodoId, kind: ResultKind) -> Outcome {
    let owned = world.claim(name, todo_id).unwrap();
    world.candidate(name, &owned, kind).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
    owned
}

fn taken(decided: &Decided) -> &TodoId {
    match &decided.action {
        Action::Run { todo_id, .. } => todo_id,
        other => panic!("{other:?}"),
    }
}

fn next(world: &mut World, name: &str) -> TodoId {
    taken(&world.next(name, None).unwrap()).clone()
}

fn monitor(world: &World, todo_id: &TodoId) -> Monitor {
    world.row(todo_id).monitor.unwrap()
}

#[test]
fn a_monitor_is_looked_at_every_hour_and_twenty_looks_may_be_in_vain_unless_said() {
    let mut world = World::new();
    let todo = watch(&mut world, |_| {});
    let row = monitor(&world, &todo);
    assert_eq!((row.every_ms, row.unchanged_limit, row.looked_at), (HOUR, 20, None));
    let other = watch(&mut world, |new| {
        (new.every_ms, new.unchanged_limit) = (Some(Duration::from_secs(60)), Some(3));
    });
    let row = monitor(&world, &other);
    assert_eq!((row.every_ms, row.unchanged_limit), (Duration::from_secs(60), 3));
}

#[test]
fn a_monitor_is_due_at_once_and_then_exactly_after_its_time() {
    let mut world = World::new();
    let todo = watch(&mut world, |new| new.every_ms = Some(Duration::from_mins(5)));
    assert_eq!(world.reason("a", &todo), Reason::Claimable, "nobody has looked yet");
    look(&mut world, "a", &todo, ResultKind::LookUnchanged);
    let due = monitor(&world, &todo).looked_at.unwrap().plus(Duration::from_mins(5));
    assert_eq!(world.reason("a", &todo), Reason::Time(Some(due)));
    let left = due.since(world.now());
    world.pass(Duration::from_ms(left.as_ms() - 1));
    assert_eq!(refused(world.claim("b", &todo)), "not_claimable");
    world.pass(Duration::from_ms(1));
    assert_eq!(world.reason("b", &todo), Reason::Claimable);
    look(&mut world, "b", &todo, ResultKind::LookChanged);
    let again = monitor(&world, &todo).looked_at.unwrap().plus(Duration::from_mins(5));
    assert_eq!(
        world.reason("a", &todo),
        Reason::Time(Some(again)),
        "a look that saw something reschedules too"
    );
}

#[test]
fn looks_in_vain_are_counted_in_a_row() {
    let mut world = World::new();
    let todo = watch(&mut world, |_| {});
    for (kind, unchanged) in [
        (ResultKind::LookUnchanged, 1),
        (ResultKind::LookUnchanged, 2),
        (ResultKind::LookChanged, 0),
        (ResultKind::LookUnchanged, 1),
    ] {
        look(&mut world, "a", &todo, kind);
        assert_eq!(monitor(&world, &todo).unchanged, unchanged, "{kind:?}");
        world.pass(HOUR);
    }
}

#[test]
fn only_a_look_ends_a_claim_of_a_monitor_as_looked_at() {
    let mut world = World::new();
    let todo = watch(&mut world, |_| {});
    let owned = world.claim("a", &todo).unwrap();
    assert_eq!(
        code(&world.result_of("a", &owned, result(ResultKind::ValidatedCompletion))),
        "invalid_transition"
    );
    // let go of, or run out: nobody has looked, so it is due still
    let release = crate::kernel::ClaimCommand::Release { todo_id: todo.clone(), own_id: owned.own_id };
    world.agent("a", crate::kernel::Command::Claim(release)).unwrap();
    assert_eq!((monitor(&world, &todo).looked_at, world.reason("b", &todo)), (None, Reason::Claimable));
    world.claim("a", &todo).unwrap();
    world.pass(HOUR);
    let owned = look(&mut world, "b", &todo, ResultKind::LookUnchanged);
    assert_eq!(world.turn(owned.turn_id.unwrap()).slot, Slot::Returned);
    assert_eq!(monitor(&world, &todo).unchanged, 1);
}

#[test]
fn a_look_brings_evidence_that_nothing_has_accepted() {
    let mut world = World::new();
    let todo = watch(&mut world, |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let pointer = Pointer {
        kind: EvidenceKind::Url,
        pointer: text("https://example.org/queue"),
        digest: None,
        privacy: Privacy::Public,
    };
    let saw = Candidate { evidence: vec![pointer], ..result(ResultKind::LookChanged) };
    world.result_of("a", &owned, saw).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
    let rows = world.ledger.rows();
    let kept: Vec<_> = rows.evidence.values().collect();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].verdict, kept[0].todo_id.as_ref()), (EvidenceVerdict::Unchecked, Some(&todo)));
}

#[test]
fn of_one_priority_a_due_monitor_comes_before_other_work_and_priority_before_both() {
    let mut world = World::new();
    let work = world.todo("work", |_| {});
    let todo = watch(&mut world, |_| {});
    assert_eq!(next(&mut world, "a"), todo, "whatever its number");
    let urgent = world.todo("urgent", |new| new.priority = Priority::P1);
    assert_eq!(next(&mut world, "a"), urgent);
    let never = watch(&mut world, |_| {});
    look(&mut world, "a", &todo, ResultKind::LookUnchanged);
    world.pass(HOUR);
    let owned = world.claim("a", &urgent).unwrap();
    world.done("a", &owned).unwrap();
    assert_eq!(next(&mut world, "a"), never, "what nobody looked at is least recently looked at");
    look(&mut world, "a", &never, ResultKind::LookUnchanged);
    assert_eq!(next(&mut world, "a"), work);
}

#[test]
fn one_monitor_at_most_comes_between_two_other_turns_and_any_number_where_nothing_else_is() {
    let mut world = World::new();
    let monitors = [0, 1, 2].map(|_| watch(&mut world, |new| new.priority = Priority::P0));
    let works = [0, 1].map(|_| world.todo("work", |new| new.priority = Priority::P4));
    let mut took = Vec::new();
    for _ in 0..5 {
        let todo_id = next(&mut world, "a");
        let looks = monitors.contains(&todo_id);
        took.push(looks);
        if looks {
            look(&mut world, "a", &todo_id, ResultKind::LookUnchanged);
        } else {
            let owned = world.claim("a", &todo_id).unwrap();
            world.done("a", &owned).unwrap();
        }
    }
    assert_eq!(took, [true, false, true, false, true], "however urgent the looks are");
    assert!(works.iter().all(|work| world.row(work).is_done()));
    world.pass(HOUR);
    for expected in &monitors {
        assert_eq!(next(&mut world, "a"), *expected, "nothing else is left");
        look(&mut world, "a", expected, ResultKind::LookUnchanged);
    }
}

#[test]
fn an_unchanged_look_gives_its_slot_back_and_a_changed_one_spends_it() {
    let mut world = World::empty();
    world.start(|goal| goal.validators = vec![validator()]);
    world.limit(None, Some(1)).unwrap();
    let [first, second] = [0, 1].map(|_| watch(&mut world, |_| {}));
    look(&mut world, "a", &first, ResultKind::LookUnchanged);
    look(&mut world, "a", &second, ResultKind::LookChanged);
    world.pass(HOUR);
    assert_eq!(refused(world.claim("a", &first)), "quota_exhausted");
}
