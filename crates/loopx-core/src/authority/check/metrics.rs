//! Owns that the metrics count what happened: histories whose counts are known.

use super::{
    play::{code, result},
    world::{World, agent, text, user, validator},
};
use crate::{
    kernel::{AttentionCommand, Command, GateCommand, NewTodo, SeenRow, turn::Found},
    model::*,
    projection::{self, Count, Metric, Metrics},
};

const WEEK: Duration = Duration::from_mins(7 * 24 * 60);

fn measured(world: &mut World, window: Duration) -> Metrics {
    let goal = world.goal.clone();
    world.authority.look(|view, terms| projection::metrics(view, terms, Some(&goal), window)).unwrap()
}

fn metric(world: &mut World, name: &str) -> Metric {
    measured(world, WEEK).items.into_iter().find(|metric| metric.metric == name).unwrap()
}

/// How many, and of how many.
fn share(world: &mut World, name: &str) -> (Count, Option<Count>) {
    let metric = metric(world, name);
    (metric.numerator, metric.denominator)
}

const fn of(numerator: u64, denominator: u64) -> (Count, Option<Count>) {
    (Count::Known(numerator), Some(Count::Known(denominator)))
}

#[test]
fn what_never_happened_is_none_of_none_and_what_cannot_be_told_is_unknown() {
    let mut world = World::new();
    for name in ["recovery", "duplicate_avoided", "handoff", "blocked_to_seen"] {
        assert_eq!(share(&mut world, name), of(0, 0), "{name}");
        assert_eq!(metric(&mut world, name).per_mille, None, "{name}");
    }
    for name in ["gates_preserved", "stale_found"] {
        let metric = metric(&mut world, name);
        assert_eq!((metric.numerator, metric.because), (Count::Unknown, Some("no such fact recorded yet")));
    }
    for metric in measured(&mut world, WEEK).items {
        assert!(metric.definition.len() > 40, "{metric:?}");
    }
}

#[test]
fn recovered_are_the_interrupted_turns_that_settled() {
    let mut world = World::new();
    let todo = |world: &mut World| world.todo("it", |_| {});
    // one crashes and is tried again
    let crashed = todo(&mut world);
    let owned = world.running("a", &crashed);
    world.host_end("a", &owned, Some(HostFailure::Crashed), true).unwrap();
    assert_eq!(share(&mut world, "recovery"), of(0, 1), "it is still open");
    world.dispatch("a", &owned).unwrap();
    world.done("a", &owned).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
    assert_eq!(share(&mut world, "recovery"), of(1, 1));
    // one is lost, and its result is found
    let lost = todo(&mut world);
    let owned = world.running("a", &lost);
    world.lose("a", &owned, true).unwrap();
    let found = Found::Result(Box::new(result(ResultKind::ValidatedCompletion)));
    world.recover("a", &owned, found).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Passed).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
    // one crashes for good, and one goes well
    let failed = todo(&mut world);
    let owned = world.running("a", &failed);
    world.host_end("a", &owned, Some(HostFailure::Crashed), false).unwrap();
    assert_eq!(world.turn_state(&owned), "failed");
    let well = todo(&mut world);
    let owned = world.running("b", &well);
    world.done("b", &owned).unwrap();
    // one fails in a way that is no loss
    let timed_out = todo(&mut world);
    let owned = world.running("b", &timed_out);
    world.host_end("b", &owned, Some(HostFailure::Timeout), true).unwrap();
    assert_eq!(share(&mut world, "recovery"), of(2, 3));
    assert_eq!(metric(&mut world, "recovery").per_mille, Some(666));
    assert_eq!(share(&mut world, "duplicate_avoided"), of(1, 2));
}

#[test]
fn a_gate_is_seen_when_a_person_first_acts_on_it() {
    let mut world = World::new();
    let todos: Vec<TodoId> = (0..4).map(|_| world.todo("it", |_| {})).collect();
    let [first, second, _third] = [0, 1, 2].map(|n: usize| world.gate(GateKind::Decision, &todos[n]));
    let owned = world.claim("a", &todos[3]).unwrap();
    assert!(owned.own_id.is_some());
    let blocks = Blocks::Todos([todos[3].clone()].into());
    let agents = world.gate_as(agent("a"), GateKind::Decision, blocks).unwrap();
    world.pass(Duration::from_mins(1));
    let until = world.now().plus(Duration::from_mins(60));
    world.resolve(first, Answer::Defer { until }).unwrap();
    world.pass(Duration::from_mins(4));
    for gate_id in [first, second] {
        world.resolve(gate_id, Answer::Answer { text: text("this") }).unwrap();
    }
    assert_eq!(share(&mut world, "blocked_to_seen"), of(2, 4));
    // what its opener takes back needed nobody
    world.agent("a", Command::Gate(GateCommand::Withdraw { gate_id: agents })).unwrap();
    assert_eq!(share(&mut world, "blocked_to_seen"), of(2, 3));
    let seen = metric(&mut world, "blocked_to_seen");
    assert_eq!((seen.median_ms, seen.p95_ms), (Some(60_000), Some(300_000)));
}

#[test]
fn a_gate_that_was_seen_before_it_was_acted_on_counts_from_when_it_was_seen() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let [posted, acted, reasked] =
        [GateKind::Decision, GateKind::Decision, GateKind::Approval].map(|kind| world.gate(kind, &todo));
    let see = |world: &mut World, gate_id| {
        let rows = vec![SeenRow { about: About::Gate(gate_id), version: None }];
        world.user(Command::Attention(AttentionCommand::Seen { rows })).unwrap();
    };
    world.pass(Duration::from_mins(2));
    see(&mut world, posted);
    assert_eq!(share(&mut world, "blocked_to_seen"), of(1, 3), "seen, and still not answered");
    world.pass(Duration::from_mins(8));
    see(&mut world, posted);
    for gate_id in [posted, acted] {
        world.resolve(gate_id, Answer::Answer { text: text("this") }).unwrap();
    }
    assert_eq!(share(&mut world, "blocked_to_seen"), of(2, 3), "each once");
    let times = metric(&mut world, "blocked_to_seen");
    assert_eq!((times.median_ms, times.p95_ms), (Some(2 * 60_000), Some(10 * 60_000)));
    // what is asked again has to be seen again
    see(&mut world, reasked);
    world.resolve(reasked, Answer::Deny { reason: None }).unwrap();
    world.user(Command::Gate(GateCommand::Reopen { gate_id: reasked })).unwrap();
    assert_eq!(share(&mut world, "blocked_to_seen"), of(3, 4));
    world.pass(Duration::from_mins(1));
    see(&mut world, reasked);
    assert_eq!(share(&mut world, "blocked_to_seen"), of(4, 4));
}

#[test]
fn a_result_that_came_after_its_scopes_were_taken_is_found_stale() {
    let mut world = World::empty();
    world.start(|goal| {
        goal.workspace = Some(text("0123456789abcdef"));
        goal.validators = vec![validator()];
    });
    let scoped = |new: &mut NewTodo| new.requires.write_scopes = [text("src")].into();
    let (todo, rival) = (world.todo("it", scoped), world.todo("rival", scoped));
    let owned = world.claim("a", &todo).unwrap();
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.pass(Duration::from_mins(46));
    world.claim("b", &rival).unwrap();
    let late = world.result_of("a", &owned, result(ResultKind::ValidatedCompletion));
    assert_eq!(code(&late), "ownership_expired");
    let stale = metric(&mut world, "stale_found");
    assert_eq!(stale.parts, ["sessions", "late_results"]);
    assert_eq!((stale.numerator, stale.counts), (Count::Unknown, vec![Count::Unknown, Count::Known(1)]));
}

#[test]
fn what_happened_before_the_window_does_not_count() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let old = world.gate(GateKind::Decision, &todo);
    let events = world.envelopes().len();
    world.pass(Duration::from_mins(8 * 24 * 60));
    world.resolve(old, Answer::Answer { text: text("late") }).unwrap();
    world.gate(GateKind::Decision, &todo);
    assert_eq!(share(&mut world, "blocked_to_seen"), of(0, 1));
    assert_eq!(measured(&mut world, WEEK).events, 2);
    let all = measured(&mut world, Duration::from_mins(9 * 24 * 60));
    assert_eq!((all.goals, all.events), (1, u64::try_from(events + 2).unwrap()));
    world.pass(Duration::from_mins(10));
    assert_eq!(measured(&mut world, Duration::from_mins(1)).events, 0);
}

#[test]
fn all_goals_are_counted_where_none_is_named() {
    let mut world = World::new();
    for slug in ["g2", "g3"] {
        world.goal = text(slug);
        world.start(|_| {});
        let todo = world.todo("it", |_| {});
        world.gate_as(user(), GateKind::Decision, Blocks::Todos([todo].into())).unwrap();
    }
    let all = world.authority.look(|view, terms| projection::metrics(view, terms, None, WEEK)).unwrap();
    assert_eq!(all.goals, 3);
    assert_eq!(all.items.last().unwrap().numerator, Count::Known(0));
    assert_eq!(all.items.last().unwrap().denominator, Some(Count::Known(2)));
    let none: GoalId = text("none");
    let refused = world.authority.look(|view, terms| projection::metrics(view, terms, Some(&none), WEEK));
    assert_eq!(refused.unwrap_err().code().as_str(), "not_found");
}
