//! Owns what is true of the budget: a slot is reserved at admission, and spent or given back by the Turn's end.

use super::{
    super::Asked,
    play::{code, refused, result, verdict},
    world::{World, text},
};
use crate::{
    error::Code,
    kernel::{Action, Command, GoalCommand, Outcome, TurnCommand, turn::Found},
    model::*,
};

fn slot(world: &World, owned: &Outcome) -> Slot {
    world.turn(owned.turn_id.unwrap()).slot
}

#[test]
fn a_full_budget_refuses_and_says_when_it_frees() {
    for of_agent in [true, false] {
        let mut world = World::new();
        world.limit(of_agent.then_some("a"), Some(1)).unwrap();
        let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
        let owned = world.claim("a", &todo).unwrap();
        world.done("a", &owned).unwrap();
        let refused = world.claim("a", &other).unwrap_err();
        assert_eq!(refused.code().as_str(), "quota_exhausted");
        let frees = Timestamp::from_ms(refused.details()["frees_at_ms"].as_i64().unwrap());
        let next = world.next("a", None).unwrap();
        assert_eq!(
            (next.rule, next.action),
            (6, Action::Wait { why: "quota", until: Some(frees), turn_id: None })
        );
        assert_eq!(world.claim("b", &other).is_ok(), of_agent, "another agent has its own");
        if !of_agent {
            let wait = frees.since(world.now());
            world.pass(Duration::from_ms(wait.as_ms() - 1));
            assert_eq!(code(&world.claim_as("a", super::play::attached(&other))), "quota_exhausted");
            world.pass(Duration::from_ms(1));
            world.claim("a", &other).unwrap();
        }
    }
}

#[test]
fn a_raised_or_lifted_limit_admits_again_and_a_window_has_bounds() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    world.limit(None, Some(0)).unwrap();
    assert_eq!(refused(world.claim("a", &todo)), "quota_exhausted");
    world.limit(None, Some(1)).unwrap();
    let owned = world.claim("a", &todo).unwrap();
    world.done("a", &owned).unwrap();
    let other = world.todo("other", |_| {});
    assert_eq!(refused(world.claim("a", &other)), "quota_exhausted");
    world.limit(None, None).unwrap();
    world.claim("a", &other).unwrap();
    for (window_ms, expected) in
        [(299_999, "invalid_argument"), (300_000, "ok"), (31 * 86_400_000 + 1, "invalid_argument")]
    {
        let limit = Some(Limit::of_turns(1, Duration::from_ms(window_ms)));
        let set = crate::kernel::QuotaCommand::Set { agent_id: None, limit };
        assert_eq!(code(&world.user(Command::Quota(set))), expected);
    }
    assert_eq!(code(&world.limit(Some("nobody"), Some(1))), "not_found");
}

#[test]
fn every_end_spends_or_gives_back() {
    let rows = [
        ("settled", Slot::Spent),
        ("refused", Slot::Spent),
        ("fenced", Slot::Spent),
        ("released", Slot::Returned),
        ("stopped", Slot::Returned),
        ("lapsed", Slot::Returned),
        ("host failed", Slot::Returned),
        ("nothing happened", Slot::Returned),
        ("waits", Slot::Returned),
        ("abandoned", Slot::Returned),
        ("closed", Slot::Returned),
        ("looked", Slot::Returned),
        ("saw", Slot::Spent),
    ];
    for (end, expected) in rows {
        let mut world = World::new();
        let looks = matches!(end, "looked" | "saw");
        let todo =
            world.todo("it", |new| new.kind = if looks { TodoKind::Monitor } else { TodoKind::Advance });
        world.limit(None, Some(1)).unwrap();
        let hosted = matches!(end, "fenced" | "host failed" | "nothing happened");
        let owned = if hosted { world.running("a", &todo) } else { world.claim("a", &todo).unwrap() };
        assert_eq!(slot(&world, &owned), Slot::Reserved);
        let turn_id = owned.turn_id.unwrap();
        match end {
            "settled" => drop(world.done("a", &owned).unwrap()),
            "refused" => {
                world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
                world.verdict("a", &owned, VerdictOutcome::Failed).unwrap();
            }
            "fenced" | "lapsed" => {
                world.pass(Duration::from_mins(60));
                world.prove(turn_id, false).unwrap();
            }
            "released" => {
                let release =
                    crate::kernel::ClaimCommand::Release { todo_id: todo.clone(), own_id: owned.own_id };
                world.agent("a", Command::Claim(release)).unwrap();
            }
            "stopped" => drop(world.stop(turn_id).unwrap()),
            "host failed" => drop(world.host_end("a", &owned, Some(HostFailure::Timeout), true).unwrap()),
            "nothing happened" => {
                world.lose("a", &owned, true).unwrap();
                world.recover("a", &owned, Found::Nothing(HostFailure::Crashed)).unwrap();
            }
            "waits" => drop(world.candidate("a", &owned, ResultKind::Wait).unwrap()),
            "abandoned" => drop(world.turn_cmd(TurnCommand::Abandon { turn_id, reason: text("x") }).unwrap()),
            "closed" => drop(world.close(CloseKind::Abandoned, Some("x")).unwrap()),
            "looked" => drop(world.candidate("a", &owned, ResultKind::LookUnchanged).unwrap()),
            _ => drop(world.candidate("a", &owned, ResultKind::LookChanged).unwrap()),
        }
        assert_eq!(slot(&world, &owned), expected, "{end}");
        // The World compares the meter with the slots of all Turns after each call.
    }
}

#[test]
fn nothing_is_refused_for_budget_at_settlement() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    world.limit(None, Some(0)).unwrap();
    world.limit(Some("a"), Some(0)).unwrap();
    world.done("a", &owned).unwrap();
    assert!(world.row(&todo).is_done());
}

#[test]
fn a_run_out_turn_that_holds_the_slot_is_ended_by_the_claim() {
    let mut world = World::new();
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    world.limit(None, Some(1)).unwrap();
    let lapsed = world.claim("a", &todo).unwrap();
    assert!(matches!(world.next("b", None).unwrap().action, Action::Wait { why: "quota", .. }));
    world.pass(Duration::from_mins(46));
    // Its own agent frees it by any claim; another only by a claim of that Todo.
    assert!(matches!(world.next("b", None).unwrap().action, Action::Run { todo_id, .. } if todo_id == todo));
    assert!(matches!(world.next("a", None).unwrap().action, Action::Run { .. }));
    world.claim("a", &other).unwrap();
    assert_eq!(slot(&world, &lapsed), Slot::Returned);
}

#[test]
fn a_held_or_unresolved_turn_that_holds_the_slot_is_a_persons_to_free() {
    for what in ["held", "lost"] {
        let mut world = World::new();
        let todo = world.todo("it", |_| {});
        world.todo("other", |_| {});
        world.limit(None, Some(1)).unwrap();
        let owned = world.running("a", &todo);
        if what == "held" {
            world.hold(&todo).unwrap();
            world.result_of("a", &owned, result(ResultKind::ValidatedProgress)).unwrap();
            world.judged("a", &owned, verdict(VerdictOutcome::Passed), false).unwrap();
        } else {
            world.lose("a", &owned, true).unwrap();
        }
        let next = world.next("b", None).unwrap();
        let Action::AskUser { asks } = next.action else { panic!("{what}: {next:?}") };
        let expected = match what {
            "held" => format!("todo unhold {todo}"),
            _ => format!("turn abandon {} --reason TEXT", owned.turn_id.unwrap()),
        };
        assert_eq!((next.rule, asks[0].command.clone()), (6, expected));
    }
}

#[test]
fn a_stopped_goal_is_said_before_its_budget() {
    let mut world = World::new();
    world.todo("it", |_| {});
    world.limit(None, Some(0)).unwrap();
    world.goal_cmd(GoalCommand::Stop).unwrap();
    assert_eq!(world.next("a", None).unwrap().rule, 4);
}

impl World {
    /// Limits all Goals together, as a proven person.
    fn try_limit_all(&mut self, limit: Limit) -> crate::error::Result<Receipt> {
        let provenance = Provenance { door: Door::Library, assurance: Assurance::Proven, contained: None };
        let operation_id = text(&format!(
            "all-{}",
            Digest::of_value(&serde_json::json!(limit))?.to_string().replace(':', "-")
        ));
        let asked = Asked { operation_id, actor: super::world::user(), provenance };
        self.authority.set_limit(&asked, Some(limit))
    }

    fn limit_all(&mut self, limit: Limit) {
        self.try_limit_all(limit).unwrap();
    }
}

/// What is limited to zero, each by itself.
fn zeros() -> Vec<(&'static str, Limit)> {
    let day = Duration::from_mins(24 * 60);
    let none = Limit { turns: None, ..Limit::of_turns(0, day) };
    vec![
        ("turns", Limit::of_turns(0, day)),
        ("tokens", Limit { tokens: Some(0), turns: Some(9), ..none }),
        ("cost", Limit { cost_micros: Some(0), currency: Some("USD".parse().unwrap()), ..none }),
        ("wall", Limit { wall_ms: Some(0), tokens: Some(5000), ..none }),
    ]
}

#[test]
fn a_limit_of_zero_is_a_persons_to_raise_and_nothing_that_time_frees() {
    for (dimension, limit) in zeros() {
        for of in ["goal", "agent", "authority"] {
            let mut world = World::new();
            let todo = world.todo("it", |_| {});
            let set = |world: &mut World, limit: Limit| match of {
                "authority" => world.limit_all(limit),
                of => {
                    let agent_id = (of == "agent").then(|| text("a"));
                    let set = crate::kernel::QuotaCommand::Set { agent_id, limit: Some(limit) };
                    world.user(Command::Quota(set)).unwrap();
                }
            };
            set(&mut world, limit);
            let refused = world.claim("a", &todo).unwrap_err();
            assert_eq!(refused.code(), Code::QuotaExhausted, "{dimension} {of}: {refused:?}");
            assert_eq!(refused.details().get("dimension"), Some(&dimension.into()));
            assert!(!refused.details().contains_key("frees_at_ms"), "{refused:?}");
            let command = refused.hint_args().unwrap().to_owned();
            assert!(command.starts_with("quota set ") && !command.contains(" 0 "), "{command}");
            super::hints::check(&command);
            // The rules that are found again from the rows know no limit of all Goals.
            let asked = |world: &mut World| {
                let next = world.next("a", None).unwrap();
                let Action::AskUser { asks } = next.action else { panic!("{dimension} {of}: {next:?}") };
                assert_eq!((next.rule, asks.len(), asks[0].why), (6, 1, "limit_zero"));
                assert_eq!(asks[0].command, command);
            };
            if of != "authority" {
                asked(&mut world);
                // a whole window later it is no other
                world.pass(Duration::from_mins(25 * 60));
                asked(&mut world);
            }
            // raised, it is taken
            let raised = Limit {
                turns: limit.turns.map(|turns| turns.max(1)),
                tokens: limit.tokens.map(|tokens| tokens.max(100_000)),
                cost_micros: limit.cost_micros.map(|_| 1_000_000),
                wall_ms: limit.wall_ms.map(|_| 3_600_000),
                ..limit
            };
            set(&mut world, raised);
            world.claim("a", &todo).unwrap();
        }
    }
}

#[test]
fn a_limit_of_zero_is_said_before_one_that_time_frees_and_before_who_holds_a_slot() {
    let mut world = World::new();
    let (todo, _) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    world.limit(None, Some(1)).unwrap();
    let owned = world.running("a", &todo);
    world.lose("a", &owned, true).unwrap();
    world.limit(Some("b"), Some(0)).unwrap();
    let next = world.next("b", None).unwrap();
    let Action::AskUser { asks } = next.action else { panic!("{next:?}") };
    assert_eq!(asks[0].why, "limit_zero");
    assert_eq!(asks[0].command, "quota set --goal g --agent b --turns 1 --window 1d");
}

#[test]
fn a_limit_in_another_currency_is_refused_whichever_of_the_two_comes_second() {
    let cost = |currency: &str| Limit {
        cost_micros: Some(1_000_000),
        currency: Some(currency.parse().unwrap()),
        turns: None,
        ..Limit::of_turns(0, Duration::from_mins(24 * 60))
    };
    let set = |limit| Command::Quota(crate::kernel::QuotaCommand::Set { agent_id: None, limit: Some(limit) });
    let mut world = World::new();
    world.limit_all(cost("USD"));
    let refused = world.user(set(cost("EUR"))).unwrap_err();
    assert_eq!((refused.code(), refused.hint_args()), (Code::CurrencyMismatch, Some("quota show --goal g")));
    world.user(set(cost("USD"))).unwrap();
    let mut world = World::new();
    world.user(set(cost("EUR"))).unwrap();
    let refused = world.try_limit_all(cost("USD")).unwrap_err();
    assert_eq!((refused.code(), refused.hint_args()), (Code::CurrencyMismatch, Some("quota show --goal g")));
    world.limit_all(cost("EUR"));
}
