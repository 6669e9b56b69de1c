//! The verbs of an attached owner: what the validators say, replays, the moved tree, acceptance.

use std::fs;

use super::bench::{Bench, check, limited, text};
use crate::{error::Code, kernel::Outcome, model::*, turn};

#[test]
fn done_passes_fails_or_cannot_tell() {
    for (script, state) in [
        ("exit 0", TurnState::Settled),
        ("exit 3", TurnState::Settled),
        ("echo broken >&2; exit 1", TurnState::Failed { how: FailedBy::Validate }),
        ("exit 127", TurnState::Unresolved { why: Unresolved::Inconclusive, executor_gone: true }),
        ("kill -9 $$", TurnState::Unresolved { why: Unresolved::Inconclusive, executor_gone: true }),
    ] {
        let mut bench = Bench::new(Some(script));
        let todo_id = bench.todo(|_| {});
        let (own_id, turn_id) = bench.claim(&todo_id);
        let wish = bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion);
        let done = bench.finish(&wish).unwrap();
        assert_eq!(done.turn().state, state, "{script}");
        assert_eq!(bench.todo_row(&todo_id).is_done(), script == "exit 0", "{script}");
        if script.starts_with("echo") {
            let end = bench.todo_row(&todo_id).last_end.unwrap();
            assert_eq!((end.repair, end.note.unwrap().as_str()), (true, "sh -c …: exit 1: broken"));
        }
        // given again, the same receipt, and nothing is written
        let events = bench.events();
        let again = bench.finish(&wish).unwrap();
        assert_eq!(again.receipt.accepted_revision(), done.receipt.accepted_revision(), "{script}");
        assert!(again.receipt.is_replayed());
        assert_eq!((bench.events(), bench.row(turn_id).state), (events, state));
    }
}

#[test]
fn another_claim_under_the_same_id_conflicts() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (own_id, _) = bench.claim(&todo_id);
    let wish = bench.wish(&todo_id, own_id, ResultKind::ValidatedProgress);
    bench.finish(&wish).unwrap();
    let other = turn::Wish { kind: ResultKind::ValidatedCompletion, ..wish };
    assert_eq!(bench.finish(&other).unwrap_err().code(), Code::OperationConflict);
}

#[test]
fn who_does_not_own_is_told_why_and_nothing_runs() {
    let mut bench = Bench::new(Some("touch ran"));
    let todo_id = bench.todo(|_| {});
    let (own_id, _) = bench.claim(&todo_id);
    let none = turn::Wish { own_id: None, ..bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion) };
    assert_eq!(bench.finish(&none).unwrap_err().code(), Code::OwnRequired);
    let other = turn::Wish {
        actor: text("agent:b"),
        ..bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion)
    };
    assert_eq!(bench.finish(&other).unwrap_err().code(), Code::OwnershipSuperseded);
    assert!(!bench.tree().join("ran").exists());
    let wish = bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion);
    bench.finish(&wish).unwrap();
    let late = bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion);
    assert_eq!(bench.finish(&late).unwrap_err().code(), Code::TodoAlreadyDone);
}

#[test]
fn a_verb_cut_off_between_its_commits_goes_on_where_it_was() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (own_id, turn_id) = bench.claim(&todo_id);
    // the validator's program is away: the candidate was recorded and the verdict is not there
    let wish = bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion);
    let around = bench.site().around(turn_id).unwrap();
    let step = turn::attached::candidate_step(&mut bench.site(), &wish, &around).unwrap();
    let id = wish.operation_id.step("candidate").unwrap();
    bench
        .authority
        .submit_step(&super::bench::AnyTurn(step.turn_id()), turn::attached::operation(&wish, id, step))
        .unwrap();
    assert_eq!(bench.row(turn_id).state, TurnState::Candidate);
    // a file changed meanwhile: what was seen is no part of what was asked
    fs::write(bench.tree().join("later"), "x").unwrap();
    let done = bench.finish(&wish).unwrap();
    assert_eq!(done.turn().state, TurnState::Settled);
    assert!(!done.receipt.is_replayed());
}

#[test]
fn progress_may_go_on_and_release_lets_go() {
    let mut bench = Bench::new(Some("exit 3"));
    let todo_id = bench.todo(|_| {});
    let (own_id, _) = bench.claim(&todo_id);
    let wish = turn::Wish { goes_on: true, ..bench.wish(&todo_id, own_id, ResultKind::ValidatedProgress) };
    let done = bench.finish(&wish).unwrap();
    let outcome: Outcome = done.receipt.outcome().unwrap();
    assert_eq!(done.turn().state, TurnState::Settled);
    assert_ne!(outcome.own_id.unwrap(), own_id);
    assert_eq!(bench.todo_row(&todo_id).turn_id, outcome.next_turn_id);
}

#[test]
fn progress_that_may_not_go_on_by_its_budget_only_settles() {
    let mut bench = Bench::new(Some("exit 3"));
    let todo_id = bench.todo(|_| {});
    let (own_id, _) = bench.claim(&todo_id);
    bench.user(limited(1)).unwrap();
    let wish = turn::Wish { goes_on: true, ..bench.wish(&todo_id, own_id, ResultKind::ValidatedProgress) };
    let done = bench.finish(&wish).unwrap();
    let outcome: Outcome = done.receipt.outcome().unwrap();
    assert_eq!((&done.turn().state, done.turn().slot), (&TurnState::Settled, Slot::Spent));
    assert_eq!((outcome.own_id, outcome.next_turn_id), (None, None));
    assert!(bench.todo_row(&todo_id).ownership.is_none());
}

#[test]
fn a_monitor_is_looked_at_without_a_validator() {
    let mut bench = Bench::new(Some("touch ran"));
    let todo_id = bench.todo(|new| {
        new.kind = TodoKind::Monitor;
        new.every_ms = Some(Duration::from_secs(60));
    });
    let (own_id, turn_id) = bench.claim(&todo_id);
    let wish = bench.wish(&todo_id, own_id, ResultKind::LookUnchanged);
    assert_eq!(bench.finish(&wish).unwrap().turn().state, TurnState::Settled);
    assert_eq!(bench.row(turn_id).slot, Slot::Returned);
    assert!(!bench.tree().join("ran").exists());
}

#[test]
fn an_unchecked_completion_waits_for_a_person_and_the_answer_settles_it() {
    let mut bench = Bench::new(None);
    let todo_id = bench.todo(|_| {});
    let (own_id, turn_id) = bench.claim(&todo_id);
    let wish = bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion);
    let done = bench.finish(&wish).unwrap();
    assert!(done.around.causes.contains(&Cause::Acceptance));
    let gate_id = done.turn().acceptance_gate.unwrap();
    let receipt = bench.answer(gate_id, Answer::Approve);
    let proved = turn::prove_after(&mut bench.site(), &receipt).unwrap();
    assert_eq!(proved.len(), 1);
    assert_eq!(bench.row(turn_id).state, TurnState::Settled);
    assert!(bench.todo_row(&todo_id).is_done());
}

#[test]
fn a_tree_that_moves_under_its_validators_is_validated_once_more_and_then_held() {
    let counting = "echo . >> ../runs; echo $$ >> tracked";
    let mut bench = Bench::new(Some(counting)).with_git();
    bench.shell("echo mine >> tracked");
    let todo_id = bench.todo(|_| {});
    let (own_id, turn_id) = bench.claim(&todo_id);
    let wish = bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion);
    let done = bench.finish(&wish).unwrap();
    assert_eq!(done.turn().state, TurnState::Held { tree_busy: true });
    let runs = fs::read_to_string(bench.tree().join("../runs")).unwrap();
    assert_eq!((runs.lines().count(), bench.row(turn_id).moved), (2, 2));
    // nobody else works there any more: a proof hands it back to be validated again
    let id = bench.id();
    let proved = turn::prove(&mut bench.site(), turn_id, &id).unwrap();
    assert_eq!(proved.turn().state, TurnState::Candidate);
}

#[test]
fn a_path_that_somebody_else_changes_is_no_move() {
    let mut bench = Bench::new(Some("echo x >> elsewhere")).with_git();
    bench.shell("echo mine >> tracked");
    let todo_id = bench.todo(|_| {});
    let (own_id, _) = bench.claim(&todo_id);
    let wish = bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion);
    assert_eq!(bench.finish(&wish).unwrap().turn().state, TurnState::Settled);
}

#[test]
fn a_summary_with_a_credential_is_refused_before_anything_is_written() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|new| new.validators = vec![check("exit 0")]);
    let (own_id, _) = bench.claim(&todo_id);
    let summary = Some("token ghp_0123456789abcdefghijABCDEFGHIJ012345".to_owned());
    let wish = turn::Wish { summary, ..bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion) };
    let events = bench.events();
    assert_eq!(bench.finish(&wish).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(bench.events(), events);
}
