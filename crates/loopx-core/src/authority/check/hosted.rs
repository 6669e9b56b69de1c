//! Owns what is true of a hosted Turn: attempts, losses, recovery, a tree that moves, a requirement that changes.

use super::{
    play::{MACHINE, code, refused, result, verdict},
    world::{World, agent, text},
};
use crate::{
    kernel::{
        Action, Asker, Change, Outcome, Seen, Step, TodoCommand, TurnCommand, decide_next, turn::Found,
    },
    model::*,
};

/// Whether another attempt may follow each failure.
const FAILURES: [(HostFailure, bool); 13] = [
    (HostFailure::AuthRequired, false),
    (HostFailure::SessionUnavailable, false),
    (HostFailure::WorkspaceDenied, false),
    (HostFailure::Timeout, false),
    (HostFailure::IdleTimeout, false),
    (HostFailure::TransportLost, true),
    (HostFailure::OutputTooLarge, false),
    (HostFailure::ResultMissing, false),
    (HostFailure::ResultInvalid, false),
    (HostFailure::ProviderCapacity, true),
    (HostFailure::RateLimited, true),
    (HostFailure::IncompatibleVersion, false),
    (HostFailure::Crashed, true),
];

#[test]
fn a_host_is_tried_three_times_at_most_and_only_where_that_can_help() {
    for (failure, again) in FAILURES {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        let owned = world.running("a", &todo);
        for attempt in 1..=3 {
            world.host_end("a", &owned, Some(failure), true).unwrap();
            let over = !again || attempt == 3;
            assert_eq!(
                world.turn_state(&owned),
                if over { "failed" } else { "dispatched" },
                "{failure:?} {attempt}"
            );
            if over {
                break;
            }
            assert_eq!(
                refused(world.candidate("a", &owned, ResultKind::ValidatedProgress)),
                "invalid_transition"
            );
            world.dispatch("a", &owned).unwrap();
        }
        let turn = world.turn(owned.turn_id.unwrap());
        assert_eq!(turn.attempts.len(), if again { 3 } else { 1 });
        assert_eq!(turn.state, TurnState::Failed { how: FailedBy::Host(failure) });
        // What a host failed is not a result to repair.
        assert!(matches!(world.next("a", None).unwrap().action, Action::Run { .. }));
    }
}

#[test]
fn an_ownership_outlives_the_deadline_of_its_attempt() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.hosted("a", &todo).unwrap();
    world.pass(Duration::from_mins(44));
    world.dispatch("a", &owned).unwrap();
    let until = |world: &World| world.row(&todo).ownership.unwrap().expires_at;
    let deadline = world.turn(owned.turn_id.unwrap()).attempts[0].deadline_at.unwrap();
    assert!(until(&world) >= deadline.plus(Duration::from_secs(60)));
    world.pass(Duration::from_mins(20));
    let renew = crate::kernel::ClaimCommand::Renew { todo_id: todo.clone(), own_id: owned.own_id };
    world.agent("a", crate::kernel::Command::Claim(renew)).unwrap();
    assert!(until(&world) >= deadline.plus(Duration::from_secs(60)));
}

#[test]
fn a_wish_to_stop_waits_for_the_driver_or_for_a_proof() {
    for by_proof in [true, false] {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        let owned = world.running("a", &todo);
        let turn_id = owned.turn_id.unwrap();
        world.stop(turn_id).unwrap();
        let events = world.envelopes().len();
        world.stop(turn_id).unwrap();
        assert_eq!(world.envelopes().len(), events, "one wish is enough");
        assert_eq!(refused(world.dispatch("a", &owned)), "invalid_transition");
        if by_proof {
            world.prove(turn_id, true).unwrap();
        } else {
            world.host_end("a", &owned, None, false).unwrap();
        }
        assert_eq!(world.turn(turn_id).state, TurnState::Stopped { why: Stopped::Stop });
    }
}

#[test]
fn a_tree_that_moves_twice_holds_the_result_until_nobody_works_there() {
    let mut world = World::empty();
    world.start(|goal| {
        goal.validators = vec![super::world::validator()];
        goal.workspace = Some(text("0123456789abcdef"));
    });
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    let owned = world.running("a", &todo);
    let busy = world.claim("b", &other).unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.judged("a", &owned, verdict(VerdictOutcome::Passed), true).unwrap();
    assert_eq!(world.turn_state(&owned), "candidate", "once more");
    world.judged("a", &owned, verdict(VerdictOutcome::Passed), true).unwrap();
    assert_eq!(world.turn(owned.turn_id.unwrap()).state, TurnState::Held { tree_busy: true });
    let turn_id = owned.turn_id.unwrap();
    let refused = world.prove(turn_id, false).unwrap_err();
    assert_eq!(refused.details()["causes"], serde_json::json!(["tree_busy"]));
    world.done("b", &busy).unwrap();
    world.prove(turn_id, false).unwrap();
    assert_eq!(world.turn_state(&owned), "candidate");
    world.judged("a", &owned, verdict(VerdictOutcome::Passed), false).unwrap();
    assert!(world.row(&todo).is_done());
}

#[test]
fn a_held_result_settles_only_over_the_tree_its_validators_saw() {
    for (now, expected) in [(Some(b"seen"), "settled"), (Some(b"else"), "candidate"), (None, "candidate")] {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        let owned = world.running("a", &todo);
        world.hold(&todo).unwrap();
        world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
        let seen = Verdict { tree: Some(Digest::of(b"seen")), ..verdict(VerdictOutcome::Passed) };
        world.judged("a", &owned, seen, false).unwrap();
        world.todo_cmd(TodoCommand::Unhold { todo_id: todo.clone() }).unwrap();
        let tree = now.map(|bytes| Digest::of(bytes));
        let prove = Step::Prove { turn_id: owned.turn_id.unwrap(), executor_gone: false, tree };
        world.step(Actor::System, prove).unwrap();
        assert_eq!(world.turn_state(&owned), expected, "{now:?}");
    }
}

/// A hosted result that was made for a requirement which moved on.
fn outdated() -> (World, TodoId, Outcome) {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.running("a", &todo);
    world.retitle(&todo, "another").unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert_eq!(world.turn_state(&owned), "held");
    (world, todo, owned)
}

#[test]
fn a_changed_requirement_holds_until_it_is_accepted_or_worked_on_again() {
    let (mut world, todo, owned) = outdated();
    let turn_id = owned.turn_id.unwrap();
    let refused = world.prove(turn_id, false).unwrap_err();
    assert_eq!(refused.details()["causes"], serde_json::json!(["requirement"]), "a proof never lifts it");
    world.turn_cmd(TurnCommand::Accept { turn_id }).unwrap();
    assert_eq!(world.turn_state(&owned), "candidate");
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert!(world.row(&todo).is_done());
    let (mut world, todo, owned) = outdated();
    world.dispatch("a", &owned).unwrap();
    assert_eq!(world.turn(owned.turn_id.unwrap()).attempts.len(), 2);
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert!(world.row(&todo).is_done());
    // An attached owner reads the Todo as it is.
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let change = Change { title: Some(text("another")), ..Change::default() };
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.todo_cmd(TodoCommand::Update { todo_id: todo.clone(), change: Box::new(change) }).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert_eq!(world.turn_state(&owned), "held");
    world.done("a", &owned).unwrap();
    assert!(world.row(&todo).is_done());
}

#[test]
fn an_open_attempt_is_abandoned_only_when_its_end_is_known_or_long_past() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.running("a", &todo);
    let turn_id = owned.turn_id.unwrap();
    let abandon = |world: &mut World| world.turn_cmd(TurnCommand::Abandon { turn_id, reason: text("gone") });
    let refused = abandon(&mut world).unwrap_err();
    assert_eq!(refused.code().as_str(), "executor_active");
    let until = Timestamp::from_ms(refused.details()["until_ms"].as_i64().unwrap());
    let left = until.since(world.now());
    assert_eq!(left, Duration::from_mins(31));
    world.pass(Duration::from_ms(left.as_ms() - 1));
    assert_eq!(code(&abandon(&mut world)), "executor_active");
    world.pass(Duration::from_ms(1));
    assert_eq!(code(&abandon(&mut world)), "ok");
    assert_eq!(code(&abandon(&mut world)), "invalid_transition");
    assert_eq!(refused_by_driver(&mut world, &owned), "ownership_expired");
    let again = world.running("a", &todo);
    world.prove(again.turn_id.unwrap(), true).unwrap();
    let abandon = TurnCommand::Abandon { turn_id: again.turn_id.unwrap(), reason: text("gone") };
    assert_eq!(code(&world.turn_cmd(abandon)), "ok");
}

#[test]
fn rule_2_of_two_turns_that_their_drivers_left_the_one_that_executes_is_recovered_first() {
    let mut world = World::new();
    let (first, second) = (world.todo("first", |_| {}), world.todo("second", |_| {}));
    let lapsed = world.running("a", &first);
    world.candidate("a", &lapsed, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &lapsed, VerdictOutcome::Inconclusive).unwrap();
    let executes = world.hosted("a", &second).unwrap();
    world.pass(Duration::from_mins(46));
    world.recover("a", &lapsed, Found::Again).unwrap();
    world.pass(Duration::from_mins(46));
    world.dispatch("a", &executes).unwrap();
    assert_eq!(world.turn_state(&lapsed), "candidate", "and it ran out");
    assert_eq!(refused(world.verdict("a", &lapsed, VerdictOutcome::Passed)), "executor_active");
    let (machine, goal): (MachineId, _) = (text(MACHINE), world.goal.clone());
    let gone = [&lapsed, &executes].map(|owned| (owned.turn_id.unwrap(), Seen::Gone));
    let next = world.ask(
        "a",
        None,
        |asker| asker.seen.extend(gone),
        |facts, asker| decide_next(facts, &goal, &Asker { machine_id: Some(&machine), ..asker.clone() }),
    );
    let command = match next.unwrap().action {
        Action::Reconcile { command, .. } => command,
        other => panic!("{other:?}"),
    };
    assert_eq!(command, format!("turn recover {} --resume", executes.turn_id.unwrap()));
}

fn refused_by_driver(world: &mut World, owned: &Outcome) -> &'static str {
    refused(world.candidate("a", owned, ResultKind::ValidatedProgress))
}

#[test]
fn a_recovery_leads_out_by_what_it_found() {
    let rows = [
        (Found::Result(Box::new(result(ResultKind::ValidatedCompletion))), "candidate"),
        (Found::Nothing(HostFailure::Crashed), "failed"),
    ];
    for (found, expected) in rows {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        let owned = world.running("a", &todo);
        world.lose("a", &owned, true).unwrap();
        world.recover("a", &owned, found).unwrap();
        assert_eq!(world.turn_state(&owned), expected);
    }
    // Who executes something else meanwhile cannot take it back into hand.
    let mut world = World::new();
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    let owned = world.running("a", &todo);
    world.lose("a", &owned, true).unwrap();
    world.claim("a", &other).unwrap();
    assert_eq!(code(&world.recover("a", &owned, Found::Again)), "executor_active");
    assert_eq!(code(&world.recover("b", &owned, Found::Again)), "ownership_superseded");
}

/// What `next` says on this machine or another, by what the edge saw.
#[test]
fn next_waits_for_or_reconciles_what_executes() {
    let rows = [
        ("running", true, None, "wait turn_running"),
        ("running", true, Some(Seen::Alive), "wait turn_running"),
        ("running", true, Some(Seen::Gone), "reconcile"),
        ("running", false, None, "wait turn_elsewhere"),
        ("expired", true, None, "run"),
        ("expired", true, Some(Seen::Alive), "wait turn_running"),
        ("expired", true, Some(Seen::Gone), "reconcile"),
        ("expired", false, None, "run"),
        ("lost", true, None, "wait turn_running"),
        ("lost", true, Some(Seen::Gone), "reconcile"),
        ("lost", false, None, "wait turn_elsewhere"),
        ("lost and gone", true, None, "reconcile"),
        ("lost and gone", false, None, "run"),
    ];
    for (state, here, seen, expected) in rows {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        world.todo("other", |_| {});
        let owned = world.running("a", &todo);
        match state {
            "expired" => world.pass(Duration::from_mins(60)),
            "lost" => drop(world.lose("a", &owned, false).unwrap()),
            "lost and gone" => drop(world.lose("a", &owned, true).unwrap()),
            _ => {}
        }
        let machine: MachineId = text(if here { MACHINE } else { "bbbbbbbbbbbbbbbb" });
        let goal = world.goal.clone();
        let deadline = world.turn(owned.turn_id.unwrap()).attempts[0].deadline_at.unwrap();
        let next = world
            .ask(
                "a",
                None,
                |asker| asker.seen.extend(seen.map(|seen| (owned.turn_id.unwrap(), seen))),
                |facts, asker| {
                    let mut asker = asker.clone();
                    asker.machine_id = Some(&machine);
                    decide_next(facts, &goal, &asker)
                },
            )
            .unwrap();
        let found = match &next.action {
            Action::Wait { why, until, .. } => {
                let grace = if here { Duration::default() } else { Duration::from_secs(60) };
                // Whoever lives past its time is waited for without one.
                let expected = (state != "expired").then(|| deadline.plus(grace));
                assert_eq!(*until, expected, "{state} here={here}");
                format!("wait {why}")
            }
            Action::Reconcile { command, .. } => {
                assert_eq!(*command, format!("turn recover {} --resume", owned.turn_id.unwrap()));
                "reconcile".to_owned()
            }
            other => other.name().to_owned(),
        };
        assert_eq!(found, expected, "{state} here={here} seen={seen:?}");
    }
}

#[test]
fn a_person_runs_a_hosted_turn_for_an_agent_it_names() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let claim = |executor_of| crate::kernel::claim::Claim {
        executor: Executor::Hosted,
        machine_id: Some(text(MACHINE)),
        executor_of,
        ..super::play::attached(&todo)
    };
    let run = |claim| crate::kernel::Command::Claim(crate::kernel::ClaimCommand::Claim(Box::new(claim)));
    assert_eq!(code(&world.user(run(claim(None)))), "invalid_argument");
    let own: Outcome = world.user(run(claim(Some((text("a"), text("a.cli")))))).unwrap().outcome().unwrap();
    world.dispatch("a", &own).unwrap();
    let Actor::Agent(who, _) = agent("a") else { panic!() };
    assert_eq!(world.turn(own.turn_id.unwrap()).agent_id, who);
}

#[test]
fn a_guarantee_that_did_not_hold_is_put_right_where_its_turn_is_lost_and_where_it_is_recovered() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.running("a", &todo);
    let (turn_id, own_id) = (owned.turn_id.unwrap(), owned.own_id.unwrap());
    let recorded = |world: &World| world.ledger.rows().turns[&turn_id].attempts[0].guarantee;
    let held_by = Some(Guarantee::SubReaper);
    world
        .step(agent("a"), Step::Lose { turn_id, own_id, executor_gone: true, held_by, awake_ms: None })
        .unwrap();
    assert_eq!(recorded(&world), held_by);
    let (found, held_by) =
        (Found::Result(Box::new(result(ResultKind::ValidatedProgress))), Some(Guarantee::GroupOnly));
    world
        .step(agent("a"), Step::Recover { turn_id, own_id, found, wake: None, held_by, awake_ms: None })
        .unwrap();
    assert_eq!(recorded(&world), held_by);
}
