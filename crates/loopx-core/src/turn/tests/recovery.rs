//! Recovery, row by row of the table: what is found after a crash, and what becomes of it.
//!
//! The crash is made by submitting the steps that a driver had submitted when it died.

use std::fs;

use super::bench::{Bench, result, text};
use crate::{
    authority::conformance::StillClock,
    error::Code,
    kernel::{ClaimCommand, Command, Outcome, Step, claim::Claim},
    model::*,
    private::Kind,
    turn::{self, DriverLock, Site},
};

/// A hosted Turn that was admitted, and whose driver is gone.
fn admitted(bench: &mut Bench, todo_id: &TodoId, ttl_ms: Option<Duration>) -> (TurnId, OwnId) {
    let claim = Claim {
        todo_id: todo_id.clone(),
        replan: None,
        executor_of: Some((text("a"), text("a.cli"))),
        executor: Executor::Hosted,
        machine_id: Some(bench.machine.machine_id.clone()),
        ttl_ms,
        workspace: Some(bench.workspace.clone()),
    };
    let receipt = bench.user(Command::Claim(ClaimCommand::Claim(Box::new(claim)))).unwrap();
    let outcome: Outcome = receipt.outcome().unwrap();
    (outcome.turn_id.unwrap(), outcome.own_id.unwrap())
}

/// The same, dispatched; its host never said anything.
fn dispatched(bench: &mut Bench, todo_id: &TodoId, script: &str) -> (TurnId, OwnId) {
    let (turn_id, own_id) = admitted(bench, todo_id, None);
    let host = bench.host(script, |_| {});
    let kept = turn::host::KeptHost::of(&host).encode().unwrap();
    let body = Site::body(Kind::Hosting, turn_id.to_string(), turn_id, kept).unwrap();
    bench.private.put_all(&[body]).unwrap();
    let tree = turn::tree::whole(&bench.tree(), &bench.machine.env);
    let attempt = Attempt {
        number: 0,
        host: text("command"),
        host_version: None,
        machine_id: Some(bench.machine.machine_id.clone()),
        boot_id: bench.machine.boot_id().cloned(),
        pid_namespace: bench.machine.pid_namespace().cloned(),
        containment: Some(text(&format!("{turn_id}.1"))),
        guarantee: None,
        dispatched_at: Timestamp::default(),
        deadline_at: None,
        tree,
        end: None,
    };
    let wall_ms = Duration::from_secs(60);
    let step = Step::Dispatch { turn_id, own_id, attempt: Box::new(attempt), wall_ms };
    bench.step("agent:a", step).unwrap();
    (turn_id, own_id)
}

fn resume(bench: &mut Bench, turn_id: TurnId) -> crate::error::Result<turn::Done> {
    let id = bench.id();
    turn::resume(&mut bench.site(), turn_id, &id, None, &|| false)
}

fn prove(bench: &mut Bench, turn_id: TurnId) -> crate::error::Result<turn::Done> {
    let id = bench.id();
    turn::prove(&mut bench.site(), turn_id, &id)
}

/// The first command that leads on from where a Turn is.
fn way_out(bench: &mut Bench, turn_id: TurnId) -> String {
    bench.site().around(turn_id).unwrap().asks.swap_remove(0).command
}

fn spool(bench: &mut Bench, turn_id: TurnId, kind: &str) {
    spool_with(bench, turn_id, kind, "");
}

/// The same with more keys.
fn spool_with(bench: &mut Bench, turn_id: TurnId, kind: &str, more: &str) {
    let key = bench.row(turn_id).turn_key.to_string();
    let said = result(kind)
        .replace("printf '", "")
        .replace("%s", &key)
        .replace("}' \"$LOOPX_TURN_KEY\"", &format!("{more}}}"));
    let body = Site::body(Kind::Result, format!("{turn_id}.1"), turn_id, said.into_bytes()).unwrap();
    bench.private.put_all(&[body]).unwrap();
}

#[test]
fn dispatched_with_a_kept_result_becomes_the_candidate_and_settles() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = dispatched(&mut bench, &todo_id, "touch ran");
    spool(&mut bench, turn_id, "validated_completion");
    let done = resume(&mut bench, turn_id).unwrap();
    assert_eq!((&done.turn().state, done.turn().attempts.len()), (&TurnState::Settled, 1));
    assert!(!bench.tree().join("ran").exists(), "nothing was started beside the result");
}

#[test]
fn regress_a_result_is_not_lost_to_a_proof_that_came_first() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = dispatched(&mut bench, &todo_id, "touch ran");
    spool(&mut bench, turn_id, "validated_completion");
    prove(&mut bench, turn_id).unwrap();
    assert!(bench.row(turn_id).open_attempt().is_none());
    assert_eq!(resume(&mut bench, turn_id).unwrap().turn().state, TurnState::Settled);
}

#[test]
fn regress_a_wait_that_is_found_later_keeps_its_wake() {
    let mut bench = Bench::new(Some("exit 0"));
    let (todo_id, other) = (bench.todo(|_| {}), bench.todo(|_| {}));
    let (turn_id, _) = dispatched(&mut bench, &todo_id, "touch ran");
    spool_with(&mut bench, turn_id, "wait", r#","wake":"todo_done:g.2""#);
    prove(&mut bench, turn_id).unwrap();
    assert_eq!(resume(&mut bench, turn_id).unwrap().turn().state, TurnState::Stopped { why: Stopped::Wait });
    assert_eq!(bench.todo_row(&todo_id).state, TodoState::Deferred { wake: Wake::TodoDone(other) });
}

#[test]
fn regress_a_result_found_later_that_does_not_fit_ends_the_turn() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|new| new.kind = TodoKind::Monitor);
    let (turn_id, _) = dispatched(&mut bench, &todo_id, "touch ran");
    spool(&mut bench, turn_id, "validated_completion");
    prove(&mut bench, turn_id).unwrap();
    let state = resume(&mut bench, turn_id).unwrap().turn().state.clone();
    assert_eq!(state, TurnState::Failed { how: FailedBy::Host(HostFailure::ResultInvalid) });
}

#[test]
fn dispatched_without_a_result_is_tried_again_only_where_nothing_can_have_changed() {
    let script = result("validated_completion");
    let mut bench = Bench::new(Some("exit 0")).with_git();
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = dispatched(&mut bench, &todo_id, &script);
    let done = resume(&mut bench, turn_id).unwrap();
    assert_eq!((&done.turn().state, done.turn().attempts.len()), (&TurnState::Settled, 2));
    // a changed tree, and a folder too large to be compared: nobody can tell
    for large in [false, true] {
        let mut bench = Bench::new(Some("exit 0"));
        if large {
            bench.shell("i=0; while [ $i -le 1000 ]; do : > f$i; i=$((i+1)); done");
        }
        let todo_id = bench.todo(|_| {});
        let (turn_id, _) = dispatched(&mut bench, &todo_id, &script);
        fs::write(bench.tree().join("half"), "").unwrap();
        let done = resume(&mut bench, turn_id).unwrap();
        assert_eq!(done.turn().state, TurnState::Unresolved { why: Unresolved::Lost, executor_gone: true });
        // what was looked into in vain is a person's
        assert_eq!(way_out(&mut bench, turn_id), format!("turn abandon {turn_id} --reason TEXT"));
        assert_eq!(resume(&mut bench, turn_id).unwrap_err().code(), Code::TurnUnresolved);
        // put back, it can be told
        fs::remove_file(bench.tree().join("half")).unwrap();
        match resume(&mut bench, turn_id) {
            Ok(done) => assert!(
                !large
                    && done.turn().state == TurnState::Failed { how: FailedBy::Host(HostFailure::Crashed) }
            ),
            Err(error) => assert!(large && error.code() == Code::TurnUnresolved),
        }
    }
}

#[test]
fn what_survived_the_driver_is_ended_first() {
    let mut bench = Bench::new(Some("exit 0")).with_git();
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = dispatched(&mut bench, &todo_id, "exit 0");
    let token = turn::site::attempt_token(turn_id, 1).unwrap();
    // It carries its mark once it has begun its own program, for which the shell waits.
    bench.shell(&format!(
        "LOOPX_CONTAINMENT={token} setsid sleep 300 >/dev/null 2>&1 < /dev/null & n=0
         until tr '\\0' '\\n' < /proc/$!/environ | grep -q '^LOOPX_CONTAINMENT=' || [ $n -ge 1000 ]; do
             n=$((n+1)); sleep 0.01
         done"
    ));
    assert_eq!(crate::process::alive_by_token(&token).unwrap().len(), 1);
    prove(&mut bench, turn_id).unwrap();
    assert!(crate::process::alive_by_token(&token).unwrap().is_empty());
    assert!(bench.row(turn_id).attempts[0].end.is_some());
}

#[test]
fn admitted_is_dispatched_or_stopped_when_it_has_lapsed() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = admitted(&mut bench, &todo_id, None);
    let host = bench.host(&result("validated_progress"), |_| {});
    let id = bench.id();
    let done = turn::resume(&mut bench.site(), turn_id, &id, Some(&host), &|| false).unwrap();
    assert_eq!(done.turn().state, TurnState::Settled);
    let clock = StillClock::new();
    let mut bench = Bench::at(Some("exit 0"), Box::new(clock.clone()));
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = admitted(&mut bench, &todo_id, Some(Duration::from_secs(1)));
    clock.pass(1000);
    assert_eq!(
        resume(&mut bench, turn_id).unwrap().turn().state,
        TurnState::Stopped { why: Stopped::Lapsed }
    );
}

#[test]
fn regress_what_was_admitted_without_a_host_is_given_back() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = admitted(&mut bench, &todo_id, None);
    let done = resume(&mut bench, turn_id).unwrap();
    assert_eq!(done.turn().state, TurnState::Stopped { why: Stopped::Stop });
    assert_eq!(done.turn().slot, Slot::Returned);
    assert!(bench.todo_row(&todo_id).ownership.is_none());
}

#[test]
fn a_stop_wish_that_met_no_driver_is_kept_by_a_proof() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = dispatched(&mut bench, &todo_id, "exit 0");
    bench
        .user(Command::Turn(crate::kernel::TurnCommand::Stop { turn_id, own_id: None, reason: None }))
        .unwrap();
    assert_eq!(bench.row(turn_id).state, TurnState::Dispatched);
    assert_eq!(prove(&mut bench, turn_id).unwrap().turn().state, TurnState::Stopped { why: Stopped::Stop });
}

#[test]
fn a_living_driver_is_never_recovered_over() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = dispatched(&mut bench, &todo_id, "exit 0");
    let lock = DriverLock::take(bench.locks(), turn_id).unwrap();
    let events = bench.events();
    assert_eq!(prove(&mut bench, turn_id).unwrap_err().code(), Code::ExecutorActive);
    assert_eq!(resume(&mut bench, turn_id).unwrap_err().code(), Code::ExecutorActive);
    assert!(turn::prove_all(&mut bench.site(), None).unwrap().is_empty());
    assert_eq!(bench.events(), events);
    // no step is taken without its lock, nor with another's
    assert!(turn::lock::Driverless::of(&bench.row(turn_id)).is_err());
    let other = DriverLock::take(bench.locks(), TurnId::from_bytes([9; 16])).unwrap();
    let step = Step::Prove { turn_id, executor_gone: true, tree: None };
    let operation = bench.operation(Actor::System, step);
    assert_eq!(bench.authority.submit_step(&other, operation).unwrap_err().code(), Code::Internal);
    drop(lock);
    assert!(prove(&mut bench, turn_id).is_ok());
}

#[test]
fn another_machine_recovers_nothing() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = dispatched(&mut bench, &todo_id, "exit 0");
    bench.machine.machine_id = text("fff");
    assert_eq!(prove(&mut bench, turn_id).unwrap_err().code(), Code::ExecutorActive);
    assert_eq!(resume(&mut bench, turn_id).unwrap_err().code(), Code::ExecutorActive);
}

#[test]
fn an_inconclusive_verdict_is_found_again_once_its_validator_is_back() {
    let mut bench = Bench::new(Some("test -f ../tool || exit 127"));
    let todo_id = bench.todo(|_| {});
    let done = bench.run(&todo_id, &result("validated_completion")).unwrap();
    let lost = TurnState::Unresolved { why: Unresolved::Inconclusive, executor_gone: true };
    assert_eq!(done.turn().state, lost);
    let turn_id = done.turn().turn_id;
    let tried = |bench: &mut Bench| {
        let turns = [bench.row(turn_id)];
        turn::tried(&mut bench.private, &turns).unwrap().contains(&turn_id)
    };
    assert!(!tried(&mut bench));
    let (look, give_up) =
        (format!("turn recover {turn_id} --resume"), format!("turn abandon {turn_id} --reason TEXT"));
    assert_eq!(way_out(&mut bench, turn_id), look);
    let here = std::mem::replace(&mut bench.machine.machine_id, text("fff"));
    assert_eq!(way_out(&mut bench, turn_id), give_up, "another machine cannot look");
    bench.machine.machine_id = here;
    // Looked into twice in vain, it stands as before, and nobody is sent again.
    for _ in 0..2 {
        assert_eq!(resume(&mut bench, turn_id).unwrap().turn().state, lost);
        assert!(tried(&mut bench));
    }
    fs::write(bench.tree().join("../tool"), "").unwrap();
    assert_eq!(resume(&mut bench, turn_id).unwrap().turn().state, TurnState::Settled);
    assert!(bench.todo_row(&todo_id).is_done());
}

#[test]
fn a_held_hosted_turn_is_settled_by_the_answer_without_a_host() {
    let mut bench = Bench::new(None);
    let todo_id = bench.todo(|_| {});
    let done = bench.run(&todo_id, &result("validated_completion")).unwrap();
    let gate_id = done.turn().acceptance_gate.unwrap();
    let receipt = bench.answer(gate_id, Answer::Approve);
    assert_eq!(turn::prove_after(&mut bench.site(), &receipt).unwrap().len(), 1);
    assert_eq!(bench.row(done.turn().turn_id).state, TurnState::Settled);
    assert_eq!(fs::read_dir(bench.locks()).unwrap().count(), 0);
}

#[test]
fn nothing_leads_out_of_an_ended_turn() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let turn_id = bench.run(&todo_id, &result("validated_completion")).unwrap().turn().turn_id;
    assert_eq!(resume(&mut bench, turn_id).unwrap_err().code(), Code::InvalidTransition);
    assert_eq!(prove(&mut bench, turn_id).unwrap_err().code(), Code::InvalidTransition);
}

#[test]
fn a_claim_names_what_a_proof_may_lead_out_of_its_way() {
    let mut bench = Bench::new(None);
    let (todo_id, other) = (bench.todo(|_| {}), bench.todo(|_| {}));
    let (own_id, turn_id) = bench.claim(&todo_id);
    let goal = text("g");
    let in_the_way = |bench: &mut Bench, actor: &str, todo_id: &TodoId| {
        let claim = Claim::attached(todo_id.clone());
        let claim = Command::Claim(ClaimCommand::Claim(Box::new(claim)));
        let found = turn::in_the_way(&mut bench.authority, &goal, &claim, &text(actor)).unwrap();
        found.into_iter().map(|turn| turn.turn_id).collect::<Vec<_>>()
    };
    // An attached agent at work is in nobody's way but the rules'.
    assert_eq!(in_the_way(&mut bench, "agent:b", &todo_id), []);
    let wish = bench.wish(&todo_id, own_id, ResultKind::ValidatedCompletion);
    let held = bench.finish(&wish).unwrap();
    assert_eq!(in_the_way(&mut bench, "agent:b", &todo_id), [turn_id]);
    assert_eq!(in_the_way(&mut bench, "agent:a", &other), [turn_id]);
    assert_eq!(in_the_way(&mut bench, "agent:b", &other), []);
    bench.answer(held.turn().acceptance_gate.unwrap(), Answer::Approve);
    let turns = [bench.row(turn_id)];
    assert_eq!(turn::prove_each(&mut bench.site(), &turns).unwrap().len(), 1);
    assert_eq!(bench.row(turn_id).state, TurnState::Settled);
    assert_eq!(turn::prove_each(&mut bench.site(), &turns).unwrap().len(), 0, "what has ended is no failure");
}

#[test]
fn regress_a_recovery_that_is_given_again_returns_what_it_returned() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (turn_id, _) = dispatched(&mut bench, &todo_id, "exit 0");
    let (proof, resumed) = (bench.id(), bench.id());
    let proved = turn::prove(&mut bench.site(), turn_id, &proof).unwrap();
    spool(&mut bench, turn_id, "validated_completion");
    let done = turn::resume(&mut bench.site(), turn_id, &resumed, None, &|| false).unwrap();
    assert_eq!(done.turn().state, TurnState::Settled);
    let events = bench.events();
    // when the Turn has gone on, and has ended
    let proved_again = turn::prove(&mut bench.site(), turn_id, &proof).unwrap();
    let done_again = turn::resume(&mut bench.site(), turn_id, &resumed, None, &|| false).unwrap();
    for (first, again) in [(&proved, &proved_again), (&done, &done_again)] {
        assert_eq!(again.receipt.operation_id(), first.receipt.operation_id());
        assert!(again.receipt.is_replayed());
    }
    assert_eq!(bench.events(), events);
    // then an id that was used for another Turn still is
    let other = bench.todo(|_| {});
    let (other_id, _) = dispatched(&mut bench, &other, "exit 0");
    assert_eq!(turn::prove(&mut bench.site(), other_id, &proof).unwrap_err().code(), Code::OperationConflict);
}

#[test]
fn regress_a_host_is_not_tried_past_what_is_declared_by_whoever_brings_its_turn_on() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (turn_id, own_id) = dispatched(&mut bench, &todo_id, "touch ran");
    let failure = Some(HostFailure::RateLimited);
    let step = Step::End { turn_id, own_id, failure, retry: true, note: None, held_by: None, awake_ms: None };
    bench.step("agent:a", step).unwrap();
    let host = bench.host("touch ran", |hosting| hosting.attempts_max = 1);
    let id = bench.id();
    let done = turn::resume(&mut bench.site(), turn_id, &id, Some(&host), &|| false).unwrap();
    let failed = TurnState::Failed { how: FailedBy::Host(HostFailure::RateLimited) };
    assert_eq!((&done.turn().state, done.turn().attempts.len()), (&failed, 1));
    assert!(!bench.tree().join("ran").exists());
}
