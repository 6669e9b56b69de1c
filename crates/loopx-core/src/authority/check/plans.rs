//! Owns what a change of the plan leaves in a Todo's row: its fields, its revisions, what it waits for.

use super::{
    play::code,
    world::{World, text, user, validator},
};
use crate::{
    kernel::{Change, ClaimCommand, Command, NewTodo, TodoCommand},
    model::*,
};

fn cancel(todo_id: &TodoId, superseded_by: Option<&str>) -> TodoCommand {
    TodoCommand::Cancel {
        todo_id: todo_id.clone(),
        reason: text("no"),
        superseded_by: superseded_by.map(text),
    }
}

fn complete(todo_id: &TodoId) -> TodoCommand {
    let waive = Some(text("seen"));
    TodoCommand::Complete { todo_id: todo_id.clone(), continuation: Continuation::ActiveGoal, waive }
}

fn defer(todo_id: &TodoId, wake: Wake) -> TodoCommand {
    TodoCommand::Defer { todo_id: todo_id.clone(), own_id: None, wake }
}

#[test]
fn a_change_of_a_todo_is_what_it_then_has() {
    let mut world = World::new();
    let todo = world.todo("it", |new| new.detail = Some(text("old")));
    let before = world.row(&todo);
    let change = Change {
        title: Some(text("new")),
        detail: Some(text("all of it")),
        priority: Some(Priority::P0),
        requires: Some(RequiresChange { publish: Some(true), ..RequiresChange::default() }),
        excluded_agents: Some([text("b")].into()),
        validators: Some(vec![validator(); 2]),
        coordinates: None,
    };
    world.todo_cmd(TodoCommand::Update { todo_id: todo.clone(), change: Box::new(change) }).unwrap();
    let row = world.row(&todo);
    assert_eq!((row.title.as_str(), row.priority, row.requires.publish), ("new", Priority::P0, true));
    assert_eq!((row.excluded_agents, row.validators.len()), ([text("b")].into(), 2));
    assert_eq!(world.ledger.rows().texts[&todo].detail.as_str(), "all of it");
    assert_eq!(row.requirement_revision, before.requirement_revision + 1);
    // What is not given stays.
    let titled = Change { title: Some(text("newer")), ..Change::default() };
    world.todo_cmd(TodoCommand::Update { todo_id: todo.clone(), change: Box::new(titled) }).unwrap();
    let after = world.row(&todo);
    assert_eq!((after.priority, after.validators.len(), after.excluded_agents.len()), (Priority::P0, 2, 1));
    assert_eq!(world.ledger.rows().texts[&todo].detail.as_str(), "all of it");
}

#[test]
fn a_link_changes_the_requirement_once_and_counts_what_was_cancelled() {
    let mut world = World::new();
    let (todo, gone) = (world.todo("it", |_| {}), world.todo("gone", |_| {}));
    world.todo_cmd(cancel(&gone, None)).unwrap();
    let requirement = world.row(&todo).requirement_revision;
    let link = TodoCommand::Link { todo_id: todo.clone(), depends_on: gone.clone() };
    world.todo_cmd(link.clone()).unwrap();
    let row = world.row(&todo);
    assert_eq!((row.counters.unmet, row.counters.cancelled_deps), (1, 1));
    assert_eq!(row.requirement_revision, requirement + 1);
    let before = world.envelopes().len();
    world.todo_cmd(link).unwrap();
    assert_eq!(world.kinds_after(before), [] as [String; 0], "the same link again");
    world.todo_cmd(TodoCommand::Unlink { todo_id: todo.clone(), depends_on: gone.clone() }).unwrap();
    let row = world.row(&todo);
    assert_eq!((row.counters.unmet, row.counters.cancelled_deps), (0, 0));
    assert_eq!(row.requirement_revision, requirement + 2);
    // A new Todo counts the same.
    let late = world.todo("late", |new| new.depends_on = [gone.clone()].into());
    assert_eq!((world.row(&late).counters.unmet, world.row(&late).counters.cancelled_deps), (1, 1));
    let requirement = world.row(&gone).requirement_revision;
    world.todo_cmd(TodoCommand::Reopen { todo_id: gone.clone() }).unwrap();
    assert_eq!(world.row(&gone).requirement_revision, requirement + 1, "what comes back is looked at anew");
    assert_eq!((world.row(&late).counters.unmet, world.row(&late).counters.cancelled_deps), (1, 0));
}

#[test]
fn what_a_todo_waited_for_is_forgotten_when_it_waits_no_more() {
    let woken = |world: &World, todo: &TodoId| {
        let counters = world.row(todo).counters;
        (counters.woken_at.is_some(), counters.wake_lost)
    };
    for ends in ["block", "unblock", "defer", "complete", "cancel"] {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        let other = world.todo("other", |_| {});
        for answer in [Answer::Approve, Answer::Deny { reason: None }] {
            if !world.row(&todo).is_live() {
                world.todo_cmd(TodoCommand::Reopen { todo_id: todo.clone() }).unwrap();
            }
            if matches!(world.row(&todo).state, TodoState::Blocked { .. }) {
                world.todo_cmd(TodoCommand::Unblock { todo_id: todo.clone() }).unwrap();
            }
            let gate_id = world.gate(GateKind::Approval, &other);
            world.todo_cmd(defer(&todo, Wake::Gate(gate_id))).unwrap();
            let lost = matches!(answer, Answer::Deny { .. });
            world.resolve(gate_id, answer).unwrap();
            assert_eq!(woken(&world, &todo), (!lost, lost), "{ends}");
            let command = match ends {
                "block" => TodoCommand::Block { todo_id: todo.clone(), own_id: None, reason: text("why") },
                "unblock" => TodoCommand::Unblock { todo_id: todo.clone() },
                "defer" => defer(&todo, Wake::TodoDone(other.clone())),
                "complete" => complete(&todo),
                _ => cancel(&todo, None),
            };
            let answer = world.todo_cmd(command);
            if lost && matches!(ends, "block" | "complete") {
                assert_eq!(code(&answer), "invalid_transition", "{ends} of what still waits");
                continue;
            }
            assert_eq!((code(&answer), woken(&world, &todo)), ("ok", (false, false)), "{ends}");
        }
    }
}

#[test]
fn a_reopened_todo_wakes_nobody_until_it_is_done_again() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let waits = world.todo("after it", |new| new.wake = Some(Wake::TodoDone(text("g.1"))));
    world.todo_cmd(complete(&todo)).unwrap();
    assert_eq!(world.reason("a", &waits).name(), "claimable");
    world.todo_cmd(TodoCommand::Reopen { todo_id: todo.clone() }).unwrap();
    assert_eq!(world.reason("a", &waits).name(), "time");
    world.todo_cmd(cancel(&todo, None)).unwrap();
    assert!(world.row(&waits).counters.wake_lost);
    world.todo_cmd(TodoCommand::Reopen { todo_id: todo }).unwrap();
    assert!(!world.row(&waits).counters.wake_lost);
}

#[test]
fn what_has_ended_is_reserved_for_nobody() {
    for ends in [complete, |id: &TodoId| cancel(id, None)] {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        let to = ClaimCommand::Transfer { todo_id: todo.clone(), own_id: None, to: text("b") };
        world.user(Command::Claim(to)).unwrap();
        assert!(world.row(&todo).reserved.is_some());
        world.todo_cmd(ends(&todo)).unwrap();
        assert!(world.row(&todo).reserved.is_none());
        world.todo_cmd(TodoCommand::Reopen { todo_id: todo.clone() }).unwrap();
        assert_eq!(world.reason("a", &todo).name(), "claimable");
    }
}

#[test]
fn an_agents_plan_stands_still_while_its_goal_is_stopped() {
    let mut world = World::new();
    for title in ["mine", "mine too"] {
        let add = TodoCommand::Add(Box::new(NewTodo::titled(text(title), TodoKind::Advance)));
        world.agent_todo("a", add).unwrap();
    }
    let (mine, too): (TodoId, TodoId) = (text("g.1"), text("g.2"));
    world.goal_cmd(crate::kernel::GoalCommand::Stop).unwrap();
    let link = || TodoCommand::Link { todo_id: mine.clone(), depends_on: too.clone() };
    assert_eq!(code(&world.agent_todo("a", link())), "goal_stopped");
    assert_eq!(code(&world.agent_todo("a", cancel(&mine, None))), "goal_stopped");
    assert_eq!(code(&world.todo_cmd(link())), "ok");
    assert_eq!(code(&world.todo_cmd(cancel(&mine, None))), "ok");
}

#[test]
fn what_takes_a_cancelled_todos_place_is_another_todo_of_its_goal() {
    let mut world = World::new();
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    assert_eq!(code(&world.todo_cmd(cancel(&todo, Some("g.1")))), "invalid_argument", "its own place");
    assert_eq!(code(&world.todo_cmd(cancel(&todo, Some("g.99")))), "not_found");
    assert_eq!(code(&world.todo_cmd(cancel(&todo, Some("h.1")))), "invalid_argument");
    assert_eq!(code(&world.todo_cmd(cancel(&todo, Some("g.2")))), "ok");
    let state = world.row(&todo).state;
    assert!(matches!(state, TodoState::Cancelled { superseded_by: Some(by), .. } if by == other));
}

#[test]
fn a_blocker_that_was_put_off_is_resolved_once_its_time_has_come_and_by_bounded_evidence() {
    let mut world = World::new();
    let blocker = world.todo("in the way", |new| new.kind = TodoKind::Blocker);
    let evidence = world.evidence(user(), Some(&blocker), None);
    let resolve = |n: usize| TodoCommand::Resolve { todo_id: blocker.clone(), evidence: vec![evidence; n] };
    assert_eq!(code(&world.todo_cmd(resolve(33))), "invalid_argument");
    let soon = world.now().plus(Duration::from_mins(1));
    world.todo_cmd(defer(&blocker, Wake::After(soon))).unwrap();
    world.pass(Duration::from_mins(2));
    let before = world.envelopes().len();
    world.todo_cmd(resolve(32)).unwrap();
    assert_eq!(world.kinds_after(before), ["todo.woken", "todo.completed"]);
}
