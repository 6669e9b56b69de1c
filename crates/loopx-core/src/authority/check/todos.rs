//! Owns what is true of a live Todo beside its table of moves: dependencies, wakes, monitors, an agent's rights.

use super::{
    play::{code, refused},
    world::{World, agent, text, user, validator},
};
use crate::{
    kernel::{Change, Command, EvidenceCommand, Input, NewTodo, Outcome, Reason, TodoCommand},
    model::*,
};

fn trusting() -> World {
    let mut world = World::empty();
    world.start(|goal| goal.unvalidated = Unvalidated::Trust);
    world
}

fn link(todo: &TodoId, dep: &TodoId) -> TodoCommand {
    TodoCommand::Link { todo_id: todo.clone(), depends_on: dep.clone() }
}

fn cancel(todo: &TodoId) -> TodoCommand {
    TodoCommand::Cancel { todo_id: todo.clone(), reason: text("no"), superseded_by: None }
}

pub(super) fn complete(todo: &TodoId) -> TodoCommand {
    TodoCommand::Complete { todo_id: todo.clone(), continuation: Continuation::ActiveGoal, waive: None }
}

fn reopen(todo: &TodoId) -> TodoCommand {
    TodoCommand::Reopen { todo_id: todo.clone() }
}

#[test]
fn a_dependency_is_satisfied_by_done_alone() {
    let mut world = trusting();
    let dep = world.todo("dep", |_| {});
    let todo = world.todo("it", |new| new.depends_on = [dep.clone()].into());
    assert_eq!(refused(world.claim("a", &todo)), "not_claimable");
    assert_eq!(world.reason("a", &todo), Reason::Deps);
    let later = Wake::After(Timestamp::from_ms(1_900_000_000_000));
    world.todo_cmd(TodoCommand::Defer { todo_id: dep.clone(), own_id: None, wake: later }).unwrap();
    assert_eq!(world.reason("a", &todo), Reason::Deps, "deferred is not done");
    world.todo_cmd(cancel(&dep)).unwrap();
    assert_eq!(world.reason("a", &todo).name(), "replan", "a cancelled one is waited for no more");
    world.todo_cmd(reopen(&dep)).unwrap();
    assert_eq!(world.reason("a", &todo), Reason::Deps);
    world.todo_cmd(complete(&dep)).unwrap();
    assert_eq!(world.reason("a", &todo), Reason::Claimable);
}

#[test]
fn nobody_waits_for_himself() {
    let mut world = trusting();
    let ids: Vec<_> = (0..4).map(|n| world.todo(&format!("t{n}"), |_| {})).collect();
    assert_eq!(code(&world.todo_cmd(link(&ids[0], &ids[0]))), "dependency_cycle");
    world.todo_cmd(link(&ids[0], &ids[1])).unwrap();
    world.todo_cmd(link(&ids[1], &ids[2])).unwrap();
    assert_eq!(code(&world.todo_cmd(link(&ids[2], &ids[0]))), "dependency_cycle");
    // Through a cancelled one the way is open; bringing that back would close the circle.
    world.todo_cmd(cancel(&ids[1])).unwrap();
    world.todo_cmd(link(&ids[2], &ids[0])).unwrap();
    let refused = world.todo_cmd(reopen(&ids[1])).unwrap_err();
    assert_eq!(refused.code().as_str(), "dependency_cycle");
    world.todo_cmd(TodoCommand::Unlink { todo_id: ids[2].clone(), depends_on: ids[0].clone() }).unwrap();
    world.todo_cmd(reopen(&ids[1])).unwrap();
    let unknown = link(&ids[0], &text("g.99"));
    assert_eq!(code(&world.todo_cmd(unknown)), "not_found");
    assert_eq!(code(&world.todo_cmd(link(&ids[0], &text("h.1")))), "invalid_argument");
    assert_eq!(
        code(&world.todo_cmd(TodoCommand::Unlink { todo_id: ids[3].clone(), depends_on: ids[0].clone() })),
        "not_found"
    );
}

#[test]
fn a_reopened_todo_takes_its_dependants_back() {
    let mut world = World::new();
    let dep = world.todo("dep", |_| {});
    let waits = |new: &mut NewTodo| new.depends_on = [text("g.1")].into();
    let (done, running, open) =
        (world.todo("done", waits), world.todo("running", waits), world.todo("open", waits));
    let waive = Some(text("seen"));
    let finish = |id: &TodoId| TodoCommand::Complete {
        todo_id: id.clone(),
        continuation: Continuation::ActiveGoal,
        waive: waive.clone(),
    };
    world.todo_cmd(finish(&dep)).unwrap();
    world.todo_cmd(finish(&done)).unwrap();
    let owned = world.claim("a", &running).unwrap();
    let reopened: Outcome = world.todo_cmd(reopen(&dep)).unwrap().outcome().unwrap();
    assert_eq!(reopened.affected, std::slice::from_ref(&done), "those that are done are listed");
    assert_eq!(world.row(&open).counters.unmet, 1);
    assert_eq!(world.row(&dep).state, TodoState::Open);
    world.done("a", &owned).unwrap();
    assert_eq!(world.turn_state(&owned), "held", "those that execute are held at settlement");
    world.todo_cmd(finish(&dep)).unwrap();
    world.prove(owned.turn_id.unwrap(), false).unwrap();
    assert!(world.row(&running).is_done());
}

#[test]
fn a_reopen_loads_none_of_its_dependants_and_lists_the_first_that_are_done() {
    let mut world = World::new();
    let dep = world.todo("dep", |_| {});
    let finish = |id: &TodoId| TodoCommand::Complete {
        todo_id: id.clone(),
        continuation: Continuation::ActiveGoal,
        waive: Some(text("seen")),
    };
    world.todo_cmd(finish(&dep)).unwrap();
    let waits = |new: &mut NewTodo| new.depends_on = [text("g.1")].into();
    let done: Vec<_> = (0..40).map(|n| world.todo(&format!("done {n}"), waits)).collect();
    let open: Vec<_> = (0..40).map(|n| world.todo(&format!("open {n}"), waits)).collect();
    for id in &done {
        world.todo_cmd(finish(id)).unwrap();
    }
    let operation = world.operation(user(), Input::Command(Command::Todo(reopen(&dep))));
    assert_eq!(world.loads(&operation).todos.len(), 1, "counters move by a delta");
    let reopened: Outcome = world.todo_cmd(reopen(&dep)).unwrap().outcome().unwrap();
    assert_eq!((reopened.affected.as_slice(), reopened.affected_count), (&done[..32], Some(40)));
    assert!(open.iter().all(|id| world.row(id).counters.unmet == 1));
}

#[test]
fn an_id_is_never_used_again_and_epochs_go_on() {
    let mut world = trusting();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap();
    world.todo_cmd(reopen(&todo)).unwrap();
    world.todo_cmd(cancel(&todo)).unwrap();
    assert_eq!(world.todo("next", |_| {}).to_string(), "g.2");
    world.todo_cmd(reopen(&todo)).unwrap();
    world.claim("b", &todo).unwrap();
    let row = world.row(&todo);
    assert_eq!((row.epoch, row.turn_no), (2, 2));
}

#[test]
fn every_wake_comes_is_lost_and_is_put_off_again() {
    for by in ["todo", "gate"] {
        let mut world = trusting();
        let target = world.todo("target", |_| {});
        let gate = world.gate(GateKind::Approval, &target);
        let wake = if by == "todo" { Wake::TodoDone(target.clone()) } else { Wake::Gate(gate) };
        let todo = world.todo("it", |new| new.wake = Some(wake.clone()));
        assert_eq!(world.reason("a", &todo), Reason::Time(None), "{by}");
        if by == "todo" {
            world.todo_cmd(cancel(&target)).unwrap();
        } else {
            world.resolve(gate, Answer::Deny { reason: None }).unwrap();
        }
        assert_eq!(world.reason("a", &todo).name(), "replan", "{by} lost");
        let defer =
            |wake: &Wake| TodoCommand::Defer { todo_id: todo.clone(), own_id: None, wake: wake.clone() };
        assert_eq!(code(&world.todo_cmd(defer(&wake))), "invalid_argument", "{by} can never come");
        let soon = Wake::After(world.now().plus(Duration::from_mins(5)));
        world.todo_cmd(defer(&soon)).unwrap();
        world.pass(Duration::from_mins(5));
        assert_eq!(world.reason("a", &todo), Reason::Claimable, "{by}");
        // Put off again, for what can come after all.
        if by == "todo" {
            world.todo_cmd(reopen(&target)).unwrap();
        } else {
            let again = crate::kernel::GateCommand::Reopen { gate_id: gate };
            world.user(Command::Gate(again)).unwrap();
        }
        world.todo_cmd(defer(&wake)).unwrap();
        assert_eq!(world.reason("a", &todo), Reason::Time(None), "{by}");
        if by == "gate" {
            world.resolve(gate, Answer::Approve).unwrap();
        } else {
            world.todo_cmd(complete(&target)).unwrap();
        }
        let events = world.envelopes().len();
        world.claim("a", &todo).unwrap();
        assert_eq!(world.kinds_after(events), ["todo.woken", "claim.claimed"], "{by}");
    }
}

#[test]
fn a_wake_names_another_todo_of_this_goal() {
    let mut world = trusting();
    let todo = world.todo("it", |_| {});
    for (wake, expected) in [
        (Wake::TodoDone(todo.clone()), "invalid_argument"),
        (Wake::TodoDone(text("g.9")), "not_found"),
        (Wake::TodoDone(text("h.1")), "invalid_argument"),
        (Wake::Gate(GateId::from_bytes([5; 16])), "not_found"),
    ] {
        let defer = TodoCommand::Defer { todo_id: todo.clone(), own_id: None, wake };
        assert_eq!(code(&world.todo_cmd(defer)), expected);
    }
    // A wake that came before it was named is one that has come.
    world.todo_cmd(complete(&todo)).unwrap();
    let after = world.todo("after", |new| new.wake = Some(Wake::TodoDone(text("g.1"))));
    assert_eq!(world.reason("a", &after), Reason::Claimable);
}

#[test]
fn a_pause_is_beside_the_state_and_holds_at_settlement() {
    let mut world = World::new();
    let todo = world.todo("it", |new| new.hold = true);
    assert_eq!(refused(world.claim("a", &todo)), "not_claimable");
    world.todo_cmd(TodoCommand::Unhold { todo_id: todo.clone() }).unwrap();
    let owned = world.claim("a", &todo).unwrap();
    let events = world.envelopes().len();
    world.hold(&todo).unwrap();
    world.hold(&todo).unwrap();
    assert_eq!(world.kinds_after(events), ["todo.paused"]);
    world.done("a", &owned).unwrap();
    assert_eq!(world.turn_state(&owned), "held");
    assert_eq!(code(&world.prove(owned.turn_id.unwrap(), false)), "held");
    world.todo_cmd(TodoCommand::Unhold { todo_id: todo.clone() }).unwrap();
    world.prove(owned.turn_id.unwrap(), false).unwrap();
    assert!(world.row(&todo).is_done());
}

#[test]
fn a_look_past_a_blocking_gate_is_held_like_any_result() {
    let mut world = World::new();
    let todo = world.todo("watch", |new| new.kind = TodoKind::Monitor);
    let owned = world.claim("a", &todo).unwrap();
    let gate = world.gate(GateKind::Decision, &todo);
    world.candidate("a", &owned, ResultKind::LookUnchanged).unwrap();
    assert_eq!(world.turn_state(&owned), "held");
    world.resolve(gate, Answer::Answer { text: text("go on") }).unwrap();
    world.prove(owned.turn_id.unwrap(), false).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
    assert_eq!(world.turn(owned.turn_id.unwrap()).slot, Slot::Returned);
}

#[test]
fn a_monitor_has_bounds_and_only_a_monitor_has_them() {
    let mut world = World::new();
    let mut add = |change: &dyn Fn(&mut NewTodo)| {
        let mut new = NewTodo::titled(text("x"), TodoKind::Monitor);
        change(&mut new);
        code(&world.todo_cmd(TodoCommand::Add(Box::new(new))))
    };
    assert_eq!(add(&|new| new.every_ms = Some(Duration::from_ms(59_999))), "invalid_argument");
    assert_eq!(add(&|new| new.every_ms = Some(Duration::from_secs(60))), "ok");
    assert_eq!(add(&|new| new.unchanged_limit = Some(0)), "invalid_argument");
    assert_eq!(
        add(&|new| (new.kind, new.unchanged_limit) = (TodoKind::Advance, Some(3))),
        "invalid_argument"
    );
    assert_eq!(add(&|new| new.kind = TodoKind::Replan), "invalid_argument");
}

#[test]
fn an_agent_resolves_a_blocker_with_evidence_of_its_goal() {
    let mut world = World::new();
    let wall = world.todo("wall", |new| new.kind = TodoKind::Blocker);
    let resolve = |evidence: Vec<EvidenceId>| TodoCommand::Resolve { todo_id: text("g.1"), evidence };
    assert_eq!(code(&world.agent_todo("a", resolve(Vec::new()))), "invalid_argument");
    assert_eq!(code(&world.agent_todo("a", resolve(vec![EvidenceId::from_bytes([4; 16])]))), "not_found");
    let rejected = world.evidence(user(), None, Some(EvidenceVerdict::Rejected));
    assert_eq!(code(&world.agent_todo("a", resolve(vec![rejected]))), "invalid_argument");
    let seen = world.evidence(agent("a"), Some(&wall), None);
    world.agent_todo("a", resolve(vec![seen])).unwrap();
    let TodoState::Done { completion } = world.row(&wall).state else { panic!() };
    assert_eq!(completion.evidence, [seen]);
}

#[test]
fn evidence_belongs_to_the_turn_of_who_brings_it() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let (mine, theirs) =
        (world.evidence(agent("a"), Some(&todo), None), world.evidence(agent("b"), Some(&todo), None));
    let rows = world.ledger.rows();
    assert_eq!(rows.evidence[&mine].turn_id, owned.turn_id);
    assert_eq!(rows.evidence[&theirs].turn_id, None);
    let claims = EvidenceCommand::Add {
        todo_id: None,
        criterion: None,
        kind: EvidenceKind::Note,
        pointer: text("x"),
        digest: None,
        privacy: Privacy::Public,
        verdict: Some(EvidenceVerdict::Accepted),
    };
    assert_eq!(code(&world.agent("a", Command::Evidence(claims))), "user_only");
}

#[test]
fn an_agent_changes_what_it_made_while_nobody_else_ever_owned_it() {
    let change = || Box::new(Change { title: Some(text("new")), ..Change::default() });
    for (history, expected) in [
        ("never owned", "ok"),
        ("owned by its maker", "ok"),
        ("let go by its maker", "ok"),
        ("owned by another", "actor_not_allowed"),
        ("let go by another", "actor_not_allowed"),
        ("made by another", "actor_not_allowed"),
    ] {
        let mut world = World::new();
        let maker = if history == "made by another" { "b" } else { "a" };
        let new = NewTodo::titled(text("mine"), TodoKind::Advance);
        let receipt = world.agent_todo(maker, TodoCommand::Add(Box::new(new))).unwrap();
        let todo = receipt.outcome::<Outcome>().unwrap().todo_ids.remove(0);
        let dep = world.todo("dep", |_| {});
        let by = if history.ends_with("maker") { "a" } else { "b" };
        if history.contains("owned by") || history.starts_with("let go") {
            let owned = world.claim(by, &todo).unwrap();
            if history.starts_with("let go") {
                let release =
                    crate::kernel::ClaimCommand::Release { todo_id: todo.clone(), own_id: owned.own_id };
                world.agent(by, Command::Claim(release)).unwrap();
            }
        }
        assert_eq!(
            code(&world.agent_todo("a", TodoCommand::Update { todo_id: todo.clone(), change: change() })),
            expected,
            "{history}"
        );
        assert_eq!(code(&world.agent_todo("a", link(&todo, &dep))), expected, "{history}");
        assert_eq!(code(&world.agent_todo("a", cancel(&todo))), expected, "{history}");
    }
    let mut world = World::new();
    let todo = world.todo("a person's", |_| {});
    assert_eq!(code(&world.agent_todo("a", cancel(&todo))), "actor_not_allowed");
    let mut new = NewTodo::titled(text("proved by itself"), TodoKind::Advance);
    new.validators = vec![validator()];
    assert_eq!(code(&world.agent_todo("a", TodoCommand::Add(Box::new(new)))), "user_only");
    assert_eq!(code(&world.agent_todo("a", TodoCommand::Hold { todo_id: todo.clone() })), "user_only");
}
