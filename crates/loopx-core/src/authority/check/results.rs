//! Owns what a result, a verdict and an end leave in the rows, and who is in whose way.

use super::{
    play::{attached, code, refused, result, verdict},
    world::{World, agent, text, validator},
};
use crate::{
    error::Result,
    kernel::{
        Action, ClaimCommand, Command, GoalCommand, Outcome, Step, TodoCommand, TurnCommand, claim::Claim,
    },
    model::*,
};

const TREES: [&str; 2] = ["0123456789abcdef", "fedcba9876543210"];

fn waiting(world: &mut World, owned: &Outcome, wake: Option<Wake>) -> Result<Receipt> {
    let step = Step::Candidate {
        turn_id: owned.turn_id.unwrap(),
        own_id: owned.own_id,
        candidate: Box::new(result(ResultKind::Wait)),
        wake,
        held_by: None,
        awake_ms: None,
    };
    world.step(agent("a"), step)
}

fn proved_with(world: &mut World, owned: &Outcome, tree: &[u8]) -> Result<Receipt> {
    let tree = Some(Digest::of(tree));
    world.step(Actor::System, Step::Prove { turn_id: owned.turn_id.unwrap(), executor_gone: false, tree })
}

/// Owns a Todo of a tree, with a result that moved twice under its validators.
fn tree_busy(world: &mut World, name: &str, todo: &TodoId) -> Outcome {
    let claim = Claim { workspace: Some(text(TREES[0])), ..attached(todo) };
    let owned: Outcome = world.claim_as(name, claim).unwrap().outcome().unwrap();
    world.candidate(name, &owned, ResultKind::ValidatedProgress).unwrap();
    for _ in 0..2 {
        world.judged(name, &owned, verdict(VerdictOutcome::Passed), true).unwrap();
    }
    assert_eq!(world.turn(owned.turn_id.unwrap()).state, TurnState::Held { tree_busy: true });
    owned
}

#[test]
fn a_wait_names_what_wakes_it_and_never_itself() {
    let mut world = World::new();
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    let owned = world.claim("a", &todo).unwrap();
    assert_eq!(code(&waiting(&mut world, &owned, Some(Wake::TodoDone(todo.clone())))), "invalid_argument");
    waiting(&mut world, &owned, Some(Wake::TodoDone(other.clone()))).unwrap();
    assert_eq!(world.row(&todo).state, TodoState::Deferred { wake: Wake::TodoDone(other) });
    assert_eq!(world.turn(owned.turn_id.unwrap()).state, TurnState::Stopped { why: Stopped::Wait });
    world.todo_cmd(TodoCommand::Unblock { todo_id: todo.clone() }).unwrap();
    let owned = world.claim("a", &todo).unwrap();
    waiting(&mut world, &owned, None).unwrap();
    let soon = world.now().plus(Duration::from_mins(15));
    assert_eq!(world.row(&todo).state, TodoState::Deferred { wake: Wake::After(soon) });
}

#[test]
fn an_end_is_dated_and_closes_the_attempt_and_every_step_moves_the_todo() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let claimed = world.row(&todo).revision;
    let release = ClaimCommand::Release { todo_id: todo.clone(), own_id: owned.own_id };
    world.agent("a", Command::Claim(release)).unwrap();
    let turn = world.turn(owned.turn_id.unwrap());
    let now = world.now();
    assert_eq!((turn.ended_at, turn.attempts[0].end.as_ref().map(|end| end.at)), (Some(now), Some(now)));
    assert!(world.row(&todo).revision > claimed);
    let owned = world.claim("a", &todo).unwrap();
    let claimed = world.row(&todo).revision;
    world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
    assert!(world.row(&todo).revision > claimed);
}

#[test]
fn what_is_to_be_repaired_outlives_a_stop_and_no_other_end() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let repairs = |world: &mut World| matches!(world.next("a", None).unwrap().action, Action::Repair { .. });
    let fail = |world: &mut World| {
        let owned = world.claim("a", &text("g.1")).unwrap();
        world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
        world.verdict("a", &owned, VerdictOutcome::Failed).unwrap();
    };
    fail(&mut world);
    assert!(repairs(&mut world));
    let owned = world.claim("a", &todo).unwrap();
    world.stop(owned.turn_id.unwrap()).unwrap();
    assert!(repairs(&mut world), "a stop says nothing about the work");
    let hosted = world.running("a", &todo);
    world.host_end("a", &hosted, Some(HostFailure::AuthRequired), false).unwrap();
    assert!(!repairs(&mut world), "its last Turn failed at its host");
    // Another one, as the plan of the first has to change by now.
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    fail(&mut world);
    let owned = world.claim("a", &todo).unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert!(!repairs(&mut world));
}

#[test]
fn what_validators_refuse_or_accept_is_evidence_that_the_receipt_names() {
    for (said, expected) in [
        (VerdictOutcome::Failed, EvidenceVerdict::Rejected),
        (VerdictOutcome::Passed, EvidenceVerdict::Accepted),
    ] {
        let mut world = World::new();
        let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
        world.evidence(super::world::user(), Some(&other), None);
        let owned = world.claim("a", &todo).unwrap();
        let mut pointing = result(ResultKind::ValidatedCompletion);
        pointing.evidence = vec![
            Pointer {
                kind: EvidenceKind::Commit,
                pointer: text("abc"),
                digest: None,
                privacy: Privacy::Public,
            };
            2
        ];
        world.result_of("a", &owned, pointing).unwrap();
        let outcome = world.verdict("a", &owned, said).unwrap();
        assert_eq!(outcome.evidence_ids.len(), 2, "its own, and nobody else's");
        for id in &outcome.evidence_ids {
            let row = &world.ledger.rows().evidence[id];
            assert_eq!((row.verdict, row.exit, row.turn_id), (expected, Some(0), owned.turn_id));
        }
        if let TodoState::Done { completion } = world.row(&todo).state {
            let ids = |ids: &[EvidenceId]| ids.iter().copied().collect::<std::collections::BTreeSet<_>>();
            assert_eq!(ids(&completion.evidence), ids(&outcome.evidence_ids));
        }
    }
}

#[test]
fn a_result_again_begins_anew() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let id = owned.turn_id.unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
    let moved = Verdict { tree: Some(Digest::of(b"two")), ..verdict(VerdictOutcome::Passed) };
    world.judged("a", &owned, moved, true).unwrap();
    assert_eq!((world.turn(id).moved, world.turn(id).candidate.unwrap().tree), (1, Some(Digest::of(b"two"))));
    world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
    assert_eq!(world.turn(id).moved, 0);
    world.judged("a", &owned, verdict(VerdictOutcome::Passed), true).unwrap();
    assert_eq!(world.turn_state(&owned), "candidate", "the first time of this result");
    // A verdict is of the result it was given for.
    world.hold(&todo).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert!(world.turn(id).verdict.is_some());
    world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
    assert_eq!(world.turn(id).verdict, None);
}

#[test]
fn a_still_tree_is_waited_for_in_its_own_work_tree_alone() {
    let mut world = World::new();
    let (todo, near, far) = (world.todo("it", |_| {}), world.todo("near", |_| {}), world.todo("far", |_| {}));
    let owned = tree_busy(&mut world, "a", &todo);
    let elsewhere = Claim { workspace: Some(text(TREES[1])), ..attached(&far) };
    world.claim_as("b", elsewhere).unwrap();
    world.register("c", &[]);
    let here = Claim { workspace: Some(text(TREES[0])), ..attached(&near) };
    let working: Outcome = world.claim_as("c", here).unwrap().outcome().unwrap();
    assert_eq!(refused(world.prove(owned.turn_id.unwrap(), false)), "held", "somebody works there");
    world.stop(working.turn_id.unwrap()).unwrap();
    world.prove(owned.turn_id.unwrap(), false).unwrap();
    let turn = world.turn(owned.turn_id.unwrap());
    assert_eq!(
        (turn.state, turn.moved, turn.verdict),
        (TurnState::Candidate, 0, None),
        "to be validated once more"
    );
}

#[test]
fn a_still_tree_is_waited_for_whichever_goal_its_other_owner_works_for() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = tree_busy(&mut world, "a", &todo);
    let turn_id = owned.turn_id.unwrap();
    // when an owner of another Goal works in the same tree, and says not what it writes
    world.goal = text("h");
    world.start(|_| {});
    let other = world.todo("other", |_| {});
    let here = Claim { workspace: Some(text(TREES[0])), ..attached(&other) };
    let working: Outcome = world.claim_as("b", here).unwrap().outcome().unwrap();
    world.goal = text("g");
    assert_eq!(refused(world.prove(turn_id, false)), "held");
    // then it is proved when that one has ended
    world.goal = text("h");
    world.stop(working.turn_id.unwrap()).unwrap();
    world.goal = text("g");
    world.prove(turn_id, false).unwrap();
    assert_eq!(world.turn(turn_id).state, TurnState::Candidate);
}

#[test]
fn a_held_result_of_a_busy_agent_stays_until_it_is_free() {
    let mut world = World::new();
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    let owned = world.running("a", &todo);
    world.retitle(&todo, "another").unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    let turn_id = owned.turn_id.unwrap();
    let busy = world.claim("a", &other).unwrap();
    assert_eq!(code(&world.dispatched("a", &owned)), "executor_active");
    assert_eq!(code(&world.turn_cmd(TurnCommand::Accept { turn_id })), "executor_active");
    world.stop(busy.turn_id.unwrap()).unwrap();
    assert_eq!(code(&world.turn_cmd(TurnCommand::Accept { turn_id })), "ok");
    assert_eq!(
        code(&world.turn_cmd(TurnCommand::Accept { turn_id })),
        "invalid_transition",
        "it is held no more"
    );
    // A tree that is not the validated one sends it back, once its agent is free.
    let third = world.todo("third", |_| {});
    let held = world.claim("b", &third).unwrap();
    world.hold(&third).unwrap();
    world.done("b", &held).unwrap();
    world.todo_cmd(TodoCommand::Unhold { todo_id: third }).unwrap();
    let working = world.claim("b", &other).unwrap();
    assert_eq!(refused(proved_with(&mut world, &held, b"moved")), "held");
    world.stop(working.turn_id.unwrap()).unwrap();
    proved_with(&mut world, &held, b"moved").unwrap();
    assert_eq!(world.turn_state(&held), "candidate");
}

#[test]
fn a_wish_to_stop_is_met_by_the_next_step() {
    let mut world = World::new();
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    let owned = world.running("a", &first);
    world.host_end("a", &owned, Some(HostFailure::Crashed), true).unwrap();
    world.stop(owned.turn_id.unwrap()).unwrap();
    assert_eq!(
        code(&world.dispatched("a", &owned)),
        "invalid_transition",
        "no attempt follows a wish to stop"
    );
    let owned = world.running("b", &second);
    world.candidate("b", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.stop(owned.turn_id.unwrap()).unwrap();
    assert_eq!(world.turn_state(&owned), "candidate", "its driver ends it");
    world.verdict("b", &owned, VerdictOutcome::Passed).unwrap();
    assert_eq!(world.turn(owned.turn_id.unwrap()).state, TurnState::Stopped { why: Stopped::Stop });
    assert!(!world.row(&second).is_done());
}

#[test]
fn a_requirement_that_moved_under_the_last_attempt_gets_no_fourth() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.running("a", &todo);
    for _ in 0..2 {
        world.host_end("a", &owned, Some(HostFailure::Crashed), true).unwrap();
        world.dispatch("a", &owned).unwrap();
    }
    world.retitle(&todo, "another").unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert_eq!(world.turn_state(&owned), "held");
    assert_eq!(code(&world.dispatched("a", &owned)), "invalid_transition");
}

#[test]
fn an_attempt_anew_has_neither_result_nor_verdict() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.running("a", &todo);
    world.retitle(&todo, "another").unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    world.dispatch("a", &owned).unwrap();
    let turn = world.turn(owned.turn_id.unwrap());
    assert_eq!((turn.candidate, turn.verdict, turn.attempts.len()), (None, None, 2));
}

#[test]
fn an_executor_of_an_earlier_life_is_proved_gone_once() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.running("a", &todo);
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    let operation = world.operation(Actor::System, Command::Goal(GoalCommand::Incarnate));
    world.submit(operation).unwrap();
    let turn_id = owned.turn_id.unwrap();
    let gone = |world: &World| {
        matches!(world.turn(turn_id).state, TurnState::Unresolved { executor_gone: true, .. })
    };
    assert!(!gone(&world));
    assert_eq!(refused(world.prove(turn_id, false)), "not_ready");
    world.prove(turn_id, true).unwrap();
    assert!(gone(&world));
    let before = world.envelopes().len();
    world.prove(turn_id, true).unwrap();
    assert_eq!(world.kinds_after(before), [] as [String; 0]);
}

#[test]
fn a_turn_of_another_goal_is_not_there() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    world.goal = text("h");
    world.start(|_| {});
    assert_eq!(code(&world.stop(owned.turn_id.unwrap())), "not_found");
}

#[test]
fn a_review_that_a_person_accepted_accepts_what_it_reviewed() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", |_| {});
    let review = world.todo("review", |new| new.reviews = Some(text("g.1")));
    let owned = world.ask_acceptance("a", &todo);
    let reviewed = world.ask_acceptance("b", &review);
    world.resolve(reviewed.gate_id.unwrap(), Answer::Approve).unwrap();
    world.prove(reviewed.turn_id.unwrap(), false).unwrap();
    assert_eq!(world.ledger.rows().gates[&owned.gate_id.unwrap()].state.as_str(), "approved");
}

#[test]
fn who_goes_on_is_told_until_when() {
    let mut world = World::empty();
    world.start(|goal| goal.validators = vec![validator()]);
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let onwards = Candidate { goes_on: true, ..result(ResultKind::ValidatedProgress) };
    world.result_of("a", &owned, onwards).unwrap();
    let outcome = world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    let own = world.row(&todo).ownership.unwrap();
    assert_eq!((outcome.own_id, outcome.expires_at_ms), (Some(own.own_id), Some(own.expires_at)));
    assert_eq!(outcome.next_turn_id, Some(own.turn_id));
}
