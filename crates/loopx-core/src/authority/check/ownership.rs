//! Owns what is true of owning: tokens, expiry, renewal, handing over, fences, and one executor an agent.

use super::{
    play::{attached, code, refused, result, verdict},
    world::{World, agent, text, validator},
};
use crate::{
    error::Result,
    kernel::{Action, ClaimCommand, Command, Outcome, Step, TodoCommand, TurnCommand, claim::Claim},
    model::*,
};

fn renew(world: &mut World, name: &str, todo_id: &TodoId, own_id: Option<OwnId>) -> Result<Receipt> {
    world.agent(name, Command::Claim(ClaimCommand::Renew { todo_id: todo_id.clone(), own_id }))
}

/// Every door through which an owner writes, by name.
const DOORS: [&str; 8] = ["renew", "release", "transfer", "defer", "block", "result", "verdict", "stop"];

fn through(
    world: &mut World,
    door: &str,
    actor: &str,
    owned: &Outcome,
    own_id: Option<OwnId>,
) -> Result<Receipt> {
    let (todo_id, turn_id) = (owned.todo_ids[0].clone(), owned.turn_id.unwrap());
    let later = Wake::After(Timestamp::from_ms(1_900_000_000_000));
    match door {
        "renew" => renew(world, actor, &todo_id, own_id),
        "release" => world.agent(actor, Command::Claim(ClaimCommand::Release { todo_id, own_id })),
        "transfer" => {
            world.agent(actor, Command::Claim(ClaimCommand::Transfer { todo_id, own_id, to: text("b") }))
        }
        "defer" => world.agent_todo(actor, TodoCommand::Defer { todo_id, own_id, wake: later }),
        "block" => world.agent_todo(actor, TodoCommand::Block { todo_id, own_id, reason: text("why") }),
        "stop" => world.agent(actor, Command::Turn(TurnCommand::Stop { turn_id, own_id, reason: None })),
        "result" => {
            let candidate = Box::new(result(ResultKind::ValidatedProgress));
            world.step(
                agent(actor),
                Step::Candidate { turn_id, own_id, candidate, wake: None, held_by: None, awake_ms: None },
            )
        }
        "verdict" => {
            let verdict = Box::new(verdict(VerdictOutcome::Passed));
            let own_id = own_id.unwrap_or(OwnId::from_bytes([9; 16]));
            world.step(agent(actor), Step::Verdict { turn_id, own_id, verdict, moved: false, goes_on: false })
        }
        _ => panic!("{door}"),
    }
}

#[test]
fn a_token_is_absent_foreign_or_of_another_endpoint_at_every_door() {
    for door in DOORS {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        let owned = world.claim("a", &todo).unwrap();
        world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
        let foreign = Some(OwnId::from_bytes([9; 16]));
        if door != "verdict" {
            assert_eq!(code(&through(&mut world, door, "a", &owned, None)), "own_required", "{door}");
        }
        let refused = through(&mut world, door, "a", &owned, foreign).unwrap_err();
        assert_eq!(refused.code().as_str(), "ownership_superseded", "{door}");
        assert_eq!(refused.details()["holder"], "agent:a@a.cli", "{door}");
        for other in ["b", "a@other"] {
            assert_eq!(
                code(&through(&mut world, door, other, &owned, owned.own_id)),
                "ownership_superseded",
                "{door} {other}"
            );
        }
    }
}

#[test]
fn a_superseded_owner_writes_through_no_door() {
    for door in DOORS {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        let owned = world.claim("a", &todo).unwrap();
        world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
        world.pass(Duration::from_mins(46));
        world.claim("b", &todo).unwrap();
        let late = through(&mut world, door, "a", &owned, owned.own_id).unwrap_err();
        // A Turn that has ended cannot be stopped, whoever asks.
        let expected = if door == "stop" { "invalid_transition" } else { "ownership_superseded" };
        assert_eq!(late.code().as_str(), expected, "{door}");
    }
}

#[test]
fn the_last_token_of_a_free_todo_says_what_became_of_it() {
    for (ends, expected) in [("done", "todo_already_done"), ("released", "ownership_expired")] {
        for door in ["renew", "release", "transfer", "defer", "block", "result"] {
            let mut world = World::new();
            let todo = world.todo("it", |_| {});
            let owned = world.claim("a", &todo).unwrap();
            match ends {
                "done" => drop(world.done("a", &owned).unwrap()),
                _ => drop(through(&mut world, "release", "a", &owned, owned.own_id).unwrap()),
            }
            let found = code(&through(&mut world, door, "a", &owned, owned.own_id));
            // What a done Todo's own state refuses is said first where there is no token to look at.
            let expected = if ends == "done" && matches!(door, "defer" | "block") {
                "invalid_transition"
            } else {
                expected
            };
            assert_eq!(found, expected, "{door} after {ends}");
        }
    }
}

#[test]
fn expiry_lets_others_in_and_does_not_shut_the_owner_out() {
    for door in ["renew", "release", "transfer", "defer", "block", "result"] {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        let owned = world.claim("a", &todo).unwrap();
        world.pass(Duration::from_mins(46));
        let events = world.envelopes().len();
        assert_eq!(code(&through(&mut world, door, "a", &owned, owned.own_id)), "ok", "{door}");
        assert_eq!(world.kinds_after(events)[0], "claim.rearmed", "{door}");
    }
}

#[test]
fn scopes_taken_while_it_was_expired_end_the_turn_and_keep_its_candidate() {
    for door in ["renew", "release", "transfer", "defer", "block", "result", "verdict", "stop"] {
        let mut world = World::empty();
        world.start(|goal| {
            goal.workspace = Some(text("0123456789abcdef"));
            goal.validators = vec![validator()];
        });
        let scoped = |new: &mut crate::kernel::NewTodo| new.requires.write_scopes = [text("src")].into();
        let (todo, rival) = (world.todo("it", scoped), world.todo("rival", scoped));
        let owned = world.claim("a", &todo).unwrap();
        world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
        world.pass(Duration::from_mins(46));
        world.claim("b", &rival).unwrap();
        assert_eq!(
            code(&through(&mut world, door, "a", &owned, owned.own_id)),
            "ownership_expired",
            "{door}"
        );
        let turn = world.turn(owned.turn_id.unwrap());
        assert_eq!(turn.state, TurnState::Stopped { why: Stopped::ScopesTaken }, "{door}");
        assert!(turn.candidate.is_some(), "{door}");
        let row = world.row(&todo);
        assert_eq!((row.state, row.ownership), (TodoState::Open, None), "{door}");
    }
}

#[test]
fn a_renewal_within_a_quarter_writes_no_event_and_refused_or_replayed_ones_renew_nothing() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let until = |world: &World| world.row(&todo).ownership.unwrap().expires_at;
    let first = until(&world);
    let events = world.envelopes().len();
    world.pass(Duration::from_mins(11));
    assert_eq!(code(&renew(&mut world, "a", &todo, owned.own_id)), "ok");
    assert_eq!((until(&world), world.envelopes().len()), (first, events));
    world.pass(Duration::from_mins(1));
    let operation = world.operation(
        agent("a"),
        Command::Claim(ClaimCommand::Renew { todo_id: todo.clone(), own_id: owned.own_id }),
    );
    assert_eq!(code(&world.submit(operation.clone())), "ok");
    let renewed = until(&world);
    assert_eq!(renewed, first.plus(Duration::from_mins(12)));
    world.pass(Duration::from_mins(20));
    assert!(world.submit(operation).unwrap().is_replayed());
    assert_eq!(code(&renew(&mut world, "b", &todo, owned.own_id)), "ownership_superseded");
    assert_eq!(until(&world), renewed);
    // A result renews as well.
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    assert_eq!(until(&world), first.plus(Duration::from_mins(32)));
}

#[test]
fn frozen_time_never_counts() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    world.hold(&todo).unwrap();
    world.todo_cmd(TodoCommand::Unhold { todo_id: todo.clone() }).unwrap();
    let owned = world.claim("a", &todo).unwrap();
    world.hold(&todo).unwrap();
    world.done("a", &owned).unwrap();
    assert_eq!(world.turn_state(&owned), "held");
    world.pass(Duration::from_mins(24 * 60));
    assert_eq!(refused(world.claim("b", &todo)), "not_claimable");
    world.todo_cmd(TodoCommand::Unhold { todo_id: todo.clone() }).unwrap();
    assert_eq!(refused(world.claim("b", &todo)), "held");
    // Another result under the same token leaves held, and has its whole time again.
    world.candidate("a", &owned, ResultKind::ValidatedProgress).unwrap();
    let own = world.row(&todo).ownership.unwrap();
    assert_eq!(own.expires_at.since(world.now()), own.ttl_ms);
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
}

#[test]
fn a_transfer_reserves_for_ten_minutes_and_the_named_agent_runs_next() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    assert_eq!(code(&through(&mut world, "transfer", "a", &owned, owned.own_id)), "ok");
    assert_eq!(world.turn(owned.turn_id.unwrap()).state, TurnState::Stopped { why: Stopped::Transferred });
    let Action::Wait { why, until: Some(until), .. } = world.next("a", None).unwrap().action else {
        panic!()
    };
    assert_eq!((why, until.since(world.now())), ("owned_by_peers", Duration::from_mins(10)));
    assert_eq!(refused(world.claim("a", &todo)), "already_claimed");
    assert!(matches!(world.next("b", None).unwrap().action, Action::Run { .. }));
    world.pass(Duration::from_mins(10));
    assert!(matches!(world.next("a", None).unwrap().action, Action::Run { .. }));
    let second = world.claim("b", &todo).unwrap();
    assert_eq!(world.row(&todo).epoch, 2);
    assert!(world.row(&todo).reserved.is_none());
    let unknown = ClaimCommand::Transfer { todo_id: todo.clone(), own_id: second.own_id, to: text("nobody") };
    assert_eq!(code(&world.agent("b", Command::Claim(unknown))), "not_found");
}

#[test]
fn a_run_out_attached_turn_lapses_and_a_dispatched_hosted_one_is_fenced() {
    for (kind, expected, slot) in [
        ("attached", "stopped", Slot::Returned),
        ("admitted", "stopped", Slot::Returned),
        ("hosted", "fenced", Slot::Spent),
    ] {
        for rival in [true, false] {
            let mut world = World::new();
            let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
            let owned = match kind {
                "attached" => world.claim("a", &todo).unwrap(),
                "admitted" => world.hosted("a", &todo).unwrap(),
                _ => world.running("a", &todo),
            };
            assert_eq!(refused(world.claim("b", &todo)), "already_claimed");
            world.pass(Duration::from_mins(44));
            assert_eq!(refused(world.claim("b", &todo)), "already_claimed");
            world.pass(Duration::from_mins(1));
            // By a claim of its Todo, or by one of its own agent.
            let claimed = if rival { world.claim("b", &todo) } else { world.claim("a", &other) };
            claimed.unwrap();
            assert_eq!(world.turn_state(&owned), expected, "{kind} rival={rival}");
            assert_eq!(world.turn(owned.turn_id.unwrap()).slot, slot, "{kind} rival={rival}");
        }
    }
}

#[test]
fn an_agent_has_one_executor_and_may_work_on_beside_what_is_held() {
    let mut world = World::new();
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    let owned = world.claim("a", &todo).unwrap();
    for actor in ["a", "a@second"] {
        let refused = world.claim(actor, &other).unwrap_err();
        assert_eq!(refused.code().as_str(), "executor_active", "{actor}");
        assert_eq!(refused.details()["endpoint"], "a.cli");
    }
    assert_eq!(refused(world.hosted("a", &other)), "executor_active");
    world.hold(&todo).unwrap();
    world.done("a", &owned).unwrap();
    let second = world.claim("a@second", &other).unwrap();
    // What is held returns to its candidate only when its agent has nothing else in hand.
    world.todo_cmd(TodoCommand::Unhold { todo_id: todo.clone() }).unwrap();
    let change = crate::kernel::Change { title: Some(text("new")), ..Default::default() };
    world.todo_cmd(TodoCommand::Update { todo_id: todo.clone(), change: Box::new(change) }).unwrap();
    let accept = TurnCommand::Accept { turn_id: owned.turn_id.unwrap() };
    assert_eq!(code(&world.turn_cmd(accept.clone())), "executor_active");
    world.done("a@second", &second).unwrap();
    assert_eq!(code(&world.turn_cmd(accept)), "ok");
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert!(world.row(&todo).is_done());
}

#[test]
fn a_lost_executor_counts_until_it_is_proved_gone_or_its_deadline_has_long_passed() {
    for proved in [true, false] {
        let mut world = World::new();
        let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
        let owned = world.running("a", &todo);
        world.lose("a", &owned, false).unwrap();
        assert_eq!(refused(world.claim("a", &other)), "executor_active");
        if proved {
            world.prove(owned.turn_id.unwrap(), true).unwrap();
        } else {
            world.pass(Duration::from_mins(30));
            assert_eq!(refused(world.claim("a", &other)), "executor_active");
            world.pass(Duration::from_mins(1));
        }
        world.claim("a", &other).unwrap();
        // Nobody may claim what is not resolved, expired or not.
        world.pass(Duration::from_mins(600));
        assert_eq!(refused(world.claim("b", &todo)), "turn_unresolved");
    }
}

#[test]
fn another_life_of_the_ledger_ends_ownerships_and_only_failed_and_stopped_lead_out() {
    let mut world = World::new();
    let (todo, held) = (world.todo("it", |_| {}), world.todo("held", |_| {}));
    let owned = world.claim("a", &todo).unwrap();
    world.hold(&held).unwrap();
    world.todo_cmd(TodoCommand::Unhold { todo_id: held.clone() }).unwrap();
    let other = world.claim("b", &held).unwrap();
    world.hold(&held).unwrap();
    world.done("b", &other).unwrap();
    let operation = world.operation(Actor::System, Command::Goal(crate::kernel::GoalCommand::Incarnate));
    world.submit(operation).unwrap();
    for (owned, name) in [(&owned, "a"), (&other, "b")] {
        assert_eq!(world.turn_state(owned), "unresolved");
        for door in ["renew", "release", "transfer"] {
            let found = code(&through(&mut world, door, name, owned, owned.own_id));
            assert_eq!(found, "ownership_expired", "{door}");
        }
        assert_eq!(refused(world.candidate(name, owned, ResultKind::ValidatedProgress)), "ownership_expired");
        assert_eq!(refused(world.verdict(name, owned, VerdictOutcome::Passed)), "ownership_expired");
    }
    // Its agent is not kept from other work by it.
    let more = world.todo("more", |_| {});
    world.claim("a", &more).unwrap();
    world.recover("a", &owned, crate::kernel::turn::Found::Nothing(HostFailure::Crashed)).unwrap();
    assert_eq!(world.turn_state(&owned), "failed");
    let reason = text("restored");
    world.turn_cmd(TurnCommand::Abandon { turn_id: other.turn_id.unwrap(), reason }).unwrap();
    assert_eq!(world.turn_state(&other), "stopped");
}

#[test]
fn no_clock_of_the_machine_revives_or_mass_expires() {
    let hour = 60 * 60 * 1000;
    for (what, wall_ms) in [("stepped back", -24 * hour), ("jumped forward", 365 * 24 * hour)] {
        let mut world = World::new();
        let (todo, gone) = (world.todo("it", |_| {}), world.todo("gone", |_| {}));
        let stale = world.claim("b", &gone).unwrap();
        world.pass(Duration::from_mins(40));
        world.claim("a", &todo).unwrap();
        world.step_wall(wall_ms);
        world.pass(Duration::from_mins(6));
        // Only the boot's clock counts: what had run out stays so, what had not is kept.
        assert_eq!(refused(world.claim("b", &todo)), "already_claimed", "{what}");
        world.claim("b", &gone).unwrap();
        assert_eq!(refused(world.done("b", &stale)), "ownership_superseded", "{what}");
    }
}

#[test]
fn a_reboot_keeps_time_and_an_unbelievable_one_expires_nothing() {
    for (what, wall_ms, expired) in [
        ("an hour on", 60 * 60 * 1000, true),
        ("back in time", -1, false),
        ("a year on", 365 * 86_400_000, false),
    ] {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        world.claim("a", &todo).unwrap();
        world.step_wall(wall_ms);
        world.reboot();
        assert_eq!(world.claim("b", &todo).is_ok(), expired, "{what}");
        if !expired {
            // The jump stands from the first commit that met it.
            world.todo("noted", |_| {});
            world.pass(Duration::from_mins(24 * 60));
            assert_eq!(
                refused(world.claim("b", &todo)),
                "already_claimed",
                "{what}: while the clock jumped nothing expires"
            );
        }
    }
}

#[test]
fn a_ttl_is_between_a_second_and_a_day_and_an_endpoint_is_not_its_agent() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    for (ttl_ms, expected) in
        [(999, "invalid_argument"), (86_400_001, "invalid_argument"), (86_400_000, "ok")]
    {
        let claim = Claim { ttl_ms: Some(Duration::from_ms(ttl_ms)), ..attached(&todo) };
        assert_eq!(code(&world.claim_as("a", claim)), expected);
    }
    assert_eq!(refused(world.hosted("b", &todo)), "already_claimed");
    let unnamed = Claim { executor: Executor::Hosted, ..attached(&todo) };
    assert_eq!(code(&world.claim_as("b", unnamed)), "invalid_argument", "a driver names its machine");
}
