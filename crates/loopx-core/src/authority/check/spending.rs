//! Owns what is true of tokens, cost and time: reserved at admission, measured by reports, counted at the Turn's end.

use super::{
    play::{attached, code, refused, result},
    world::{World, text},
};
use crate::{
    error::Result,
    kernel::{Action, ClaimCommand, Command, Found, Outcome, QuotaCommand, Step, TurnCommand},
    model::*,
};

fn limit(change: impl FnOnce(&mut Limit)) -> Limit {
    let mut limit = Limit { turns: None, ..Limit::of_turns(0, Duration::from_mins(24 * 60)) };
    change(&mut limit);
    limit
}

fn tokens(tokens: u64) -> Limit {
    limit(|limit| limit.tokens = Some(tokens))
}

fn report(seq: u64, tokens: u64) -> Usage {
    Usage { seq, tokens_in: Some(tokens), tokens_out: None, cost_micros: None, currency: None, wall_ms: None }
}

impl World {
    fn budget(&mut self, agent: Option<&str>, limit: Limit) -> Result<Receipt> {
        self.user(Command::Quota(QuotaCommand::Set { agent_id: agent.map(text), limit: Some(limit) }))
    }

    fn cap(&mut self, agent: Option<&str>, todo: Option<&TodoId>, tokens: u64) -> Result<Receipt> {
        let ceiling = Caps { tokens: Some(tokens), ..Caps::default() };
        let (agent_id, todo_id) = (agent.map(text), todo.cloned());
        self.user(Command::Quota(QuotaCommand::Cap { agent_id, todo_id, ceiling }))
    }

    fn used(&mut self, name: &str, owned: &Outcome, meter: Meter, usage: Usage) -> Result<Outcome> {
        let command = QuotaCommand::Usage {
            turn_id: owned.turn_id.unwrap(),
            own_id: owned.own_id,
            attempt: None,
            meter,
            usage: Box::new(usage),
        };
        self.agent(name, Command::Quota(command))?.outcome()
    }

    fn let_go(&mut self, name: &str, owned: &Outcome) {
        let todo_id = owned.todo_ids[0].clone();
        let release = ClaimCommand::Release { todo_id, own_id: owned.own_id };
        self.agent(name, Command::Claim(release)).unwrap();
    }

    fn spend(&self, owned: &Outcome) -> Spend {
        *self.turn(owned.turn_id.unwrap()).spend.unwrap_or_default()
    }

    /// What the Goal's meters hold of tokens.
    fn metered(&self) -> u64 {
        let of_goal = |scope: &MeterScope| matches!(scope, MeterScope::Goal(_));
        self.ledger.amounts().iter().filter(|((scope, _), _)| of_goal(scope)).map(|(_, sum)| sum.tokens).sum()
    }
}

#[test]
fn an_admission_reserves_its_ceiling_for_each_attempt_it_may_have() {
    let mut world = World::new();
    world.budget(None, tokens(1000)).unwrap();
    world.cap(None, None, 100).unwrap();
    let (one, two) = (world.todo("one", |_| {}), world.todo("two", |_| {}));
    let attached = world.claim("a", &one).unwrap();
    assert_eq!((world.spend(&attached).counted.tokens, world.metered()), (100, 100));
    let hosted = world.hosted("b", &two).unwrap();
    assert_eq!((world.spend(&hosted).counted.tokens, world.metered()), (300, 400));
    // What never ran has used nothing.
    let stop = TurnCommand::Stop { turn_id: hosted.turn_id.unwrap(), own_id: None, reason: None };
    world.user(Command::Turn(stop)).unwrap();
    assert_eq!(world.metered(), 100);
}

#[test]
fn a_ceiling_is_the_todos_else_the_agents_else_the_goals_else_a_share_of_what_is_left() {
    let mut world = World::new();
    world.budget(None, tokens(1000)).unwrap();
    let todos: Vec<_> = ["1", "2", "3", "4"].iter().map(|n| world.todo(n, |_| {})).collect();
    let ceiling = |world: &mut World, todo: &TodoId| {
        let owned = world.claim("a", todo).unwrap();
        let ceiling = world.spend(&owned).ceiling.tokens.unwrap();
        world.let_go("a", &owned);
        // An attached agent that told nothing counts at its ceiling, until a person takes that back.
        let void = QuotaCommand::Void { turn_id: owned.turn_id.unwrap(), reason: text("a test") };
        world.user(Command::Quota(void)).unwrap();
        ceiling
    };
    // Nobody said: a fourth of what is left, or as many Turns as are.
    assert_eq!(ceiling(&mut world, &todos[0]), 250);
    world.budget(None, limit(|limit| (limit.tokens, limit.turns) = (Some(1000), Some(10)))).unwrap();
    assert_eq!(ceiling(&mut world, &todos[0]), 100);
    world.cap(None, None, 70).unwrap();
    assert_eq!(ceiling(&mut world, &todos[1]), 70);
    world.cap(Some("a"), None, 60).unwrap();
    assert_eq!(ceiling(&mut world, &todos[2]), 60);
    world.cap(None, Some(&todos[3]), 50).unwrap();
    assert_eq!(ceiling(&mut world, &todos[3]), 50);
    let both = QuotaCommand::Cap {
        agent_id: Some(text("a")),
        todo_id: Some(todos[0].clone()),
        ceiling: Caps::default(),
    };
    assert_eq!(code(&world.user(Command::Quota(both))), "invalid_argument");
}

#[test]
fn fault_g06_a_reservation_that_does_not_fit_refuses_and_a_raise_admits() {
    let mut world = World::new();
    world.budget(None, tokens(100)).unwrap();
    world.cap(None, None, 60).unwrap();
    let (one, two) = (world.todo("one", |_| {}), world.todo("two", |_| {}));
    world.claim("a", &one).unwrap();
    let refusal = world.claim("b", &two).unwrap_err();
    assert_eq!(refusal.code().as_str(), "quota_exhausted");
    assert_eq!(
        (refusal.details()["dimension"].as_str(), &refusal.details()["needed"]),
        (Some("tokens"), &60.into())
    );
    let frees = Timestamp::from_ms(refusal.details()["frees_at_ms"].as_i64().unwrap());
    let next = world.next("b", None).unwrap();
    assert_eq!(
        (next.rule, next.action),
        (6, Action::Wait { why: "quota", until: Some(frees), turn_id: None })
    );
    world.budget(None, tokens(200)).unwrap();
    world.claim("b", &two).unwrap();
}

#[test]
fn what_is_too_little_to_share_out_asks_for_a_ceiling() {
    let mut world = World::new();
    world.budget(None, tokens(2)).unwrap();
    let todo = world.todo("one", |_| {});
    assert_eq!(refused(world.claim("a", &todo)), "ceiling_required");
    let next = world.next("a", None).unwrap();
    let Action::AskUser { asks } = &next.action else { panic!("{next:?}") };
    assert_eq!((next.rule, asks[0].why), (6, "ceiling_required"));
    assert_eq!(asks[0].command, "quota set --goal g --ceiling-tokens 2");
    // A ceiling that is more than all there may be is no way out either.
    world.cap(None, None, 3).unwrap();
    assert_eq!(refused(world.claim("a", &todo)), "ceiling_required");
    world.cap(None, None, 1).unwrap();
    world.claim("a", &todo).unwrap();
}

#[test]
fn fault_g06_reports_that_are_late_doubled_out_of_order_or_missing_count_once() {
    let mut world = World::new();
    world.budget(None, tokens(1000)).unwrap();
    world.cap(None, None, 100).unwrap();
    let todo = world.todo("one", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    for (seq, amount, counted) in [(1, 30, true), (0, 10, true), (1, 30, false), (0, 10, false)] {
        let outcome = world.used("a", &owned, Meter::Host, report(seq, amount)).unwrap();
        assert_eq!(outcome.created, Some(counted), "{seq}");
    }
    assert_eq!(world.spend(&owned).measured(Dimension::Tokens), Some(40));
    assert_eq!(world.metered(), 100, "what is reserved covers it");
    world.done("a", &owned).unwrap();
    assert_eq!(world.metered(), 40, "what was measured is what counts");
    // Late: after the end, by the token of the ownership that has ended.
    world.used("a", &owned, Meter::Host, report(2, 5)).unwrap();
    assert_eq!(world.metered(), 45);
    let mut other = owned.clone();
    other.own_id = Some(OwnId::from_bytes([9; 16]));
    assert_eq!(refused(world.used("a", &other, Meter::Host, report(3, 1))), "ownership_superseded");
    other.own_id = None;
    assert_eq!(refused(world.used("a", &other, Meter::Host, report(3, 1))), "own_required");
    assert_eq!(refused(world.used("a", &owned, Meter::Driver, report(3, 1))), "invalid_argument");
}

#[test]
fn what_no_meter_told_of_counts_at_its_ceiling_and_never_as_nothing() {
    let mut world = World::new();
    world.budget(None, tokens(1000)).unwrap();
    world.cap(None, None, 100).unwrap();
    let todo = world.todo("one", |_| {});
    let owned = world.running("a", &todo);
    assert_eq!(world.metered(), 300);
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    let spend = world.spend(&owned);
    assert_eq!((spend.measured(Dimension::Tokens), spend.counted.tokens, world.metered()), (None, 100, 100));
}

#[test]
fn what_a_host_reports_with_its_result_is_counted_with_it() {
    let mut world = World::new();
    world.budget(None, tokens(1000)).unwrap();
    let todo = world.todo("one", |_| {});
    let owned = world.running("a", &todo);
    let usage = vec![report(0, 30), report(1, 12)];
    let candidate = Candidate { usage, ..result(ResultKind::ValidatedCompletion) };
    world.result_of("a", &owned, candidate).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert_eq!(world.metered(), 42);
}

#[test]
fn fault_g08_of_two_meters_the_larger_counts_and_both_are_kept() {
    let mut world = World::new();
    world.budget(None, tokens(1000)).unwrap();
    world.cap(None, None, 10).unwrap();
    let todo = world.todo("one", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    world.used("a", &owned, Meter::Host, report(0, 5)).unwrap();
    world.used("a", &owned, Meter::Account, report(0, 360)).unwrap();
    let spend = world.spend(&owned);
    let said: Vec<_> = spend.measured.iter().map(|(meter, caps)| (*meter, caps.tokens)).collect();
    assert_eq!(said, [(Meter::Host, Some(5)), (Meter::Account, Some(360))]);
    assert_eq!((spend.counted.tokens, world.metered()), (360, 360));
}

fn wall(wall_ms: u64) -> Limit {
    limit(|limit| limit.wall_ms = Some(wall_ms))
}

impl World {
    fn cap_wall(&mut self, wall_ms: u64) {
        let ceiling = Caps { wall_ms: Some(wall_ms), ..Caps::default() };
        self.user(Command::Quota(QuotaCommand::Cap { agent_id: None, todo_id: None, ceiling })).unwrap();
    }

    /// What the Goal's meters hold of time.
    fn metered_wall(&self) -> u64 {
        let of_goal = |scope: &MeterScope| matches!(scope, MeterScope::Goal(_));
        self.ledger
            .amounts()
            .iter()
            .filter(|((scope, _), _)| of_goal(scope))
            .map(|(_, sum)| sum.wall_ms)
            .sum()
    }

    /// A result of a host, with what it measured itself and what its driver's clock says.
    fn result_after(&mut self, owned: &Outcome, host_ms: Option<u64>, awake_ms: Option<u64>) {
        let usage = host_ms.map(|ms| Usage { wall_ms: Some(ms), tokens_in: None, ..report(0, 0) });
        let usage = usage.into_iter().collect();
        let candidate = Candidate { usage, ..result(ResultKind::ValidatedCompletion) };
        let (turn_id, own_id) = (owned.turn_id.unwrap(), owned.own_id);
        let candidate = Box::new(candidate);
        let step = Step::Candidate { turn_id, own_id, candidate, wake: None, held_by: None, awake_ms };
        self.step(super::world::agent("a"), step).unwrap();
    }

    /// An attempt that fell, after as long as its driver's clock says.
    fn fell_after(&mut self, owned: &Outcome, awake_ms: Option<u64>) {
        let (turn_id, own_id) = (owned.turn_id.unwrap(), owned.own_id.unwrap());
        let (failure, retry) = (Some(HostFailure::Crashed), true);
        let step = Step::End { turn_id, own_id, failure, retry, note: None, held_by: None, awake_ms };
        self.step(super::world::agent("a"), step).unwrap();
    }
}

#[test]
fn fault_g08_the_drivers_clock_is_a_meter_beside_the_hosts_and_the_larger_counts() {
    for (host, driver, counted) in [
        (Some(5000), Some(7000), 7000),
        (Some(9000), Some(7000), 9000),
        (None, Some(7000), 7000),
        (None, None, 20_000),
    ] {
        let mut world = World::new();
        world.budget(None, wall(100_000)).unwrap();
        world.cap_wall(20_000);
        let todo = world.todo("one", |_| {});
        let owned = world.running("a", &todo);
        assert_eq!(world.metered_wall(), 60_000, "reserved");
        world.result_after(&owned, host, driver);
        world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
        let spend = world.spend(&owned);
        let said = |meter| spend.measured.get(&meter).and_then(|caps| caps.wall_ms);
        assert_eq!((said(Meter::Host), said(Meter::Driver)), (host, driver));
        assert_eq!((spend.counted.wall_ms, world.metered_wall()), (counted, counted), "{host:?} {driver:?}");
    }
}

#[test]
fn fault_g06_what_a_drivers_clock_said_of_an_attempt_counts_once_whoever_says_it_again() {
    let mut world = World::new();
    world.budget(None, wall(100_000)).unwrap();
    world.cap_wall(20_000);
    let todo = world.todo("one", |_| {});
    let owned = world.running("a", &todo);
    let (turn_id, own_id) = (owned.turn_id.unwrap(), owned.own_id.unwrap());
    let awake_ms = Some(7000);
    let lose = Step::Lose { turn_id, own_id, executor_gone: true, held_by: None, awake_ms };
    world.step(super::world::agent("a"), lose).unwrap();
    assert_eq!(world.spend(&owned).measured(Dimension::Wall), awake_ms);
    let found = Found::Nothing(HostFailure::Crashed);
    let recover = Step::Recover { turn_id, own_id, found, wake: None, held_by: None, awake_ms };
    world.step(super::world::agent("a"), recover).unwrap();
    assert_eq!((world.spend(&owned).measured(Dimension::Wall), world.metered_wall()), (awake_ms, 7000));
}

#[test]
fn an_attempt_that_no_meter_saw_counts_at_its_ceiling_beside_those_that_one_did() {
    for (first, second, counted) in [
        (Some(7000), Some(2000), 9000),
        (None, Some(2000), 22_000),
        (Some(7000), None, 27_000),
        (None, None, 40_000),
    ] {
        let mut world = World::new();
        world.budget(None, wall(100_000)).unwrap();
        world.cap_wall(20_000);
        let todo = world.todo("one", |_| {});
        let owned = world.running("a", &todo);
        world.fell_after(&owned, first);
        world.dispatch("a", &owned).unwrap();
        world.result_after(&owned, None, second);
        world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
        assert_eq!(world.metered_wall(), counted, "{first:?} {second:?}");
    }
}

#[test]
fn fault_g06_an_overrun_is_at_most_one_ceiling_a_turn_and_blocks_the_next() {
    let mut world = World::new();
    world.register("c", &[]);
    world.budget(None, tokens(300)).unwrap();
    world.cap(None, None, 100).unwrap();
    let todos: Vec<_> = ["1", "2", "3", "4"].iter().map(|n| world.todo(n, |_| {})).collect();
    let owned: Vec<_> =
        ["a", "b", "c"].iter().zip(&todos).map(|(name, todo)| world.claim(name, todo).unwrap()).collect();
    // Each uses twice what it may: nobody is admitted beside them, and what they used is kept.
    for (name, owned) in ["a", "b", "c"].iter().zip(&owned) {
        world.used(name, owned, Meter::Host, report(0, 200)).unwrap();
        world.done(name, owned).unwrap();
    }
    assert_eq!(world.metered(), 600);
    assert_eq!(refused(world.claim("a", &todos[3])), "quota_exhausted");
    world.budget(None, tokens(700)).unwrap();
    world.claim("a", &todos[3]).unwrap();
}

#[test]
fn a_cost_is_counted_in_one_currency_and_another_is_unknown() {
    let mut world = World::new();
    let usd = |cost| {
        limit(|limit| (limit.cost_micros, limit.currency) = (Some(cost), Some("USD".parse().unwrap())))
    };
    world.budget(None, usd(1_000_000)).unwrap();
    let eur = limit(|limit| (limit.cost_micros, limit.currency) = (Some(1), Some("EUR".parse().unwrap())));
    assert_eq!(code(&world.budget(Some("a"), eur)), "currency_mismatch");
    assert_eq!(code(&world.budget(None, limit(|limit| limit.cost_micros = Some(1)))), "invalid_argument");
    assert_eq!(code(&world.budget(None, limit(|_| {}))), "invalid_argument");
    let todo = world.todo("one", |_| {});
    let owned = world.running("a", &todo);
    let cost = |seq, unit: &str| Usage {
        cost_micros: Some(70),
        currency: Some(text(unit)),
        tokens_in: None,
        ..report(seq, 0)
    };
    assert_eq!(refused(world.used("a", &owned, Meter::Host, cost(0, "EUR"))), "currency_mismatch");
    // A host is not refused its result for that; what it cost is not known.
    let candidate = Candidate { usage: vec![cost(0, "EUR")], ..result(ResultKind::ValidatedCompletion) };
    world.result_of("a", &owned, candidate).unwrap();
    assert_eq!(world.spend(&owned).measured(Dimension::Cost), None);
    world.used("a", &owned, Meter::Host, cost(1, "USD")).unwrap();
    assert_eq!(world.spend(&owned).measured(Dimension::Cost), Some(70));
}

#[test]
fn a_spend_that_is_taken_back_counts_no_more_and_only_once() {
    let mut world = World::new();
    world.budget(None, limit(|limit| (limit.tokens, limit.turns) = (Some(1000), Some(1)))).unwrap();
    let (one, two) = (world.todo("one", |_| {}), world.todo("two", |_| {}));
    let owned = world.claim("a", &one).unwrap();
    let turn_id = owned.turn_id.unwrap();
    let void = || Command::Quota(QuotaCommand::Void { turn_id, reason: text("refunded") });
    assert_eq!(code(&world.user(void())), "invalid_transition");
    world.used("a", &owned, Meter::Host, report(0, 40)).unwrap();
    world.done("a", &owned).unwrap();
    assert_eq!(refused(world.claim("a", &two)), "quota_exhausted");
    assert_eq!(code(&world.agent("a", void())), "user_only");
    world.user(void()).unwrap();
    assert_eq!(code(&world.user(void())), "invalid_transition");
    assert_eq!(world.metered(), 0);
    // A report that comes after it is kept, and counts nothing.
    world.used("a", &owned, Meter::Host, report(1, 5)).unwrap();
    assert_eq!((world.metered(), world.spend(&owned).measured(Dimension::Tokens)), (0, Some(45)));
    world.claim("a", &two).unwrap();
}

#[test]
fn no_report_however_large_fails_and_both_ledgers_count_it_alike() {
    use super::kept::Kept;
    let edges = [0, 1, Usage::AMOUNT_MAX, Usage::AMOUNT_MAX + 1, Amounts::MAX, u64::MAX];
    let mut world = World::over(Kept::twin());
    world.start(|goal| goal.validators = vec![super::world::validator()]);
    let mut turns = Vec::new();
    for (n, one) in edges.into_iter().enumerate() {
        let todo = world.todo(&format!("todo {n}"), |_| {});
        let owned = world.claim("a", &todo).unwrap();
        for (seq, other) in edges.into_iter().enumerate() {
            let usage = Usage {
                seq: u64::try_from(seq).unwrap(),
                tokens_in: Some(one),
                tokens_out: Some(other),
                cost_micros: Some(one),
                currency: Some(text("USD")),
                wall_ms: Some(other),
            };
            assert!(world.used("a", &owned, Meter::Host, usage).unwrap().created == Some(true));
        }
        // an overrun is recorded, and the Turn ends like any other
        world.done("a", &owned).unwrap();
        let spend = world.spend(&owned);
        let most = Usage::AMOUNT_MAX * 12;
        assert!(Dimension::ALL.into_iter().all(|dimension| spend.counted.of(dimension) <= most), "{spend:?}");
        turns.push(owned.turn_id.unwrap());
    }
    let todo = world.todo("one more", |_| {});
    world.budget(None, tokens(1000)).unwrap();
    assert_eq!(refused(world.claim("a", &todo)), "quota_exhausted");
    for turn_id in turns {
        world.user(Command::Quota(QuotaCommand::Void { turn_id, reason: text("a test") })).unwrap();
    }
    assert_eq!(world.metered(), 0);
}

#[test]
fn a_todo_that_does_not_fit_keeps_no_other_from_being_taken() {
    let mut world = World::new();
    world.budget(None, tokens(100)).unwrap();
    world.cap(None, None, 20).unwrap();
    let big = world.todo("big", |new| new.priority = Priority::P0);
    world.cap(None, Some(&big), 100).unwrap();
    let small = world.todo("small", |_| {});
    let owned = world.claim("a", &small).unwrap();
    world.used("a", &owned, Meter::Host, report(0, 20)).unwrap();
    world.done("a", &owned).unwrap();
    // Nothing but what does not fit is left: its wait is the answer, not that all is done.
    let next = world.next("a", None).unwrap();
    assert_eq!(next.rule, 6, "{next:?}");
    let other = world.todo("other", |_| {});
    let next = world.next("a", None).unwrap();
    assert_eq!(next.action, Action::Run { todo_id: other, turn_id: None });
    assert_eq!(code(&world.claim_as("a", attached(&big))), "quota_exhausted");
}

#[test]
fn all_goals_together_have_a_limit_of_their_own() {
    use crate::authority::Asked;
    let mut world = World::new();
    let asked = |id: &str, actor: &str| Asked {
        operation_id: text(id),
        actor: text(actor),
        provenance: Provenance { door: Door::Cli, assurance: Assurance::Proven, contained: None },
    };
    let set = |world: &mut World, id: &str, limit| world.authority.set_limit(&asked(id, "user:ana"), limit);
    let two = Some(Limit::of_turns(2, Duration::from_mins(60)));
    assert_eq!(refused(world.authority.set_limit(&asked("x", "agent:a"), two)), "user_only");
    let first = set(&mut world, "limit", two).unwrap();
    assert!(!first.is_replayed() && set(&mut world, "limit", two).unwrap().is_replayed());
    assert_eq!(refused(set(&mut world, "limit", None)), "operation_conflict");
    let (one, other) = (world.todo("one", |_| {}), world.todo("two", |_| {}));
    let owned = world.claim("a", &one).unwrap();
    world.done("a", &owned).unwrap();
    // Another Goal's Turn counts on it too.
    world.goal = text("h");
    world.start(|goal| goal.validators = vec![super::world::validator()]);
    let there = world.todo("there", |_| {});
    world.claim("b", &there).unwrap();
    world.goal = text("g");
    assert_eq!(refused(world.claim("a", &other)), "quota_exhausted");
    set(&mut world, "lift", None).unwrap();
    world.claim("a", &other).unwrap();
}
