//! Owns what is true of a Todo's end: reviews, successors, going on, and who may complete what without a proof.

use super::{
    play::{attached, code, refused, result, verdict},
    todos::complete,
    world::{World, text, user, validator},
};
use crate::{
    kernel::{Command, Outcome, TodoCommand},
    model::*,
};

#[test]
fn a_review_approves_when_it_is_accepted_and_never_its_own_author() {
    for (reviewer, proved, expected) in
        [("b", true, "settled"), ("b", false, "held"), ("user", true, "settled")]
    {
        let mut world = World::empty();
        world.start(|_| {});
        let todo = world.todo("it", |_| {});
        let review = world.todo("review", |new| {
            new.reviews = Some(text("g.1"));
            if proved {
                new.validators = vec![validator()];
            }
        });
        let owned = world.ask_acceptance("a", &todo);
        assert_eq!(refused(world.claim("a", &review)), "not_claimable", "the author");
        if reviewer == "user" {
            let waive = Some(text("read it"));
            let done = TodoCommand::Complete {
                todo_id: review.clone(),
                continuation: Continuation::ActiveGoal,
                waive,
            };
            world.todo_cmd(done).unwrap();
        } else {
            let mine = world.claim("b", &review).unwrap();
            world.candidate("b", &mine, ResultKind::ValidatedCompletion).unwrap();
            let said = if proved { VerdictOutcome::Passed } else { VerdictOutcome::Unchecked };
            world.judged("b", &mine, verdict(said), false).unwrap();
        }
        drop(world.prove(owned.turn_id.unwrap(), false));
        assert_eq!(world.turn_state(&owned), expected, "{reviewer} {proved}");
    }
}

#[test]
fn a_completion_names_live_successors_of_its_goal() {
    let mut world = World::new();
    let (todo, next) = (world.todo("it", |_| {}), world.todo("next", |_| {}));
    let owned = world.claim("a", &todo).unwrap();
    let with = |ids: Vec<TodoId>| Candidate {
        continuation: Continuation::Successor { todo_ids: ids },
        ..result(ResultKind::ValidatedCompletion)
    };
    for (ids, expected) in [
        (vec![], "invalid_argument"),
        (vec![todo.clone()], "invalid_argument"),
        (vec![text("g.9")], "not_found"),
        (vec![text("h.1")], "invalid_argument"),
        (vec![next.clone()], "ok"),
    ] {
        assert_eq!(code(&world.result_of("a", &owned, with(ids))), expected);
    }
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    let TodoState::Done { completion } = world.row(&todo).state else { panic!() };
    assert_eq!(completion.continuation, Continuation::Successor { todo_ids: vec![next] });
}

#[test]
fn a_holder_goes_on_only_where_the_rules_allow() {
    for (what, goes_on) in
        [("free", true), ("stopped", false), ("gated", false), ("spent", false), ("not asked", false)]
    {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        world.limit(Some("a"), Some(if what == "spent" { 1 } else { 9 })).unwrap();
        let owned = world.claim("a", &todo).unwrap();
        let candidate = Candidate { goes_on: what != "not asked", ..result(ResultKind::ValidatedProgress) };
        world.result_of("a", &owned, candidate).unwrap();
        match what {
            "stopped" => drop(world.goal_cmd(crate::kernel::GoalCommand::Stop).unwrap()),
            "gated" => drop(world.limit(None, Some(1)).unwrap()),
            _ => {}
        }
        let settled: Outcome =
            world.judged("a", &owned, verdict(VerdictOutcome::Passed), false).unwrap().outcome().unwrap();
        assert_eq!(world.turn_state(&owned), "settled", "{what}: settlement is never refused");
        assert_eq!(settled.next_turn_id.is_some(), goes_on, "{what}");
        let row = world.row(&todo);
        if goes_on {
            let own = row.ownership.unwrap();
            assert_eq!((row.epoch, row.turn_no), (1, 2));
            assert!(own.own_id != owned.own_id.unwrap() && Some(own.own_id) == settled.own_id);
        } else {
            assert!(row.ownership.is_none(), "{what}");
        }
    }
}

#[test]
fn a_proof_on_its_behalf_does_not_go_on_for_a_holder() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    world.hold(&todo).unwrap();
    world
        .result_of("a", &owned, Candidate { goes_on: true, ..result(ResultKind::ValidatedProgress) })
        .unwrap();
    world.judged("a", &owned, verdict(VerdictOutcome::Passed), false).unwrap();
    world.todo_cmd(TodoCommand::Unhold { todo_id: todo.clone() }).unwrap();
    world.prove(owned.turn_id.unwrap(), false).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
    assert!(world.row(&todo).ownership.is_none());
}

#[test]
fn an_unproven_completion_is_asked_about_or_trusted() {
    for (unvalidated, state, verdict) in
        [(Unvalidated::Ask, "held", None), (Unvalidated::Trust, "settled", Some(EvidenceVerdict::Unchecked))]
    {
        let mut world = World::empty();
        world.start(|goal| goal.unvalidated = unvalidated);
        let todo = world.todo("it", |_| {});
        let owned = world.claim("a", &todo).unwrap();
        let pointer =
            Pointer { kind: EvidenceKind::Note, pointer: text("x"), digest: None, privacy: Privacy::Public };
        let candidate = Candidate { evidence: vec![pointer], ..result(ResultKind::ValidatedCompletion) };
        world.result_of("a", &owned, candidate).unwrap();
        world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap();
        assert_eq!(world.turn_state(&owned), state);
        assert_eq!(world.ledger.rows().evidence.values().next().map(|evidence| evidence.verdict), verdict);
        // Progress is recorded either way, and asks nobody.
        let other = world.todo("other", |_| {});
        let owned = world.claim("b", &other).unwrap();
        world.candidate("b", &owned, ResultKind::ValidatedProgress).unwrap();
        world.verdict("b", &owned, VerdictOutcome::Unchecked).unwrap();
        assert_eq!(world.turn_state(&owned), "settled");
    }
}

#[test]
fn a_person_completes_over_validators_only_with_a_waiver() {
    let mut world = World::new();
    let (todo, action) = (world.todo("it", |_| {}), world.todo("by hand", |new| new.kind = TodoKind::Action));
    assert_eq!(code(&world.todo_cmd(complete(&todo))), "validation_failed");
    world.todo_cmd(complete(&action)).unwrap();
    let waived = TodoCommand::Complete {
        todo_id: todo.clone(),
        continuation: Continuation::NoFollowup,
        waive: Some(text("seen")),
    };
    let mut stated = world.operation(user(), Command::Todo(waived.clone()));
    stated.provenance.assurance = Assurance::Stated;
    assert_eq!(code(&world.submit(stated)), "unauthenticated");
    world.todo_cmd(waived).unwrap();
    assert_eq!(code(&world.todo_cmd(complete(&todo))), "todo_already_done");
    assert_eq!(code(&world.claim_as("a", attached(&todo))), "todo_already_done");
}
