//! Owns the table of a Turn's moves: every state against every step of a driver, an owner, a proof.

use super::{
    play::{code, result, verdict},
    world::World,
};
use crate::{
    error::Result,
    kernel::{Outcome, turn::Found},
    model::*,
};

const STATES: [&str; 15] = [
    "admitted",
    "dispatched",
    "attempt over",
    "third attempt over",
    "wished",
    "candidate",
    "held",
    "requirement",
    "lost",
    "lost and gone",
    "inconclusive",
    "settled",
    "stopped",
    "failed",
    "fenced",
];

/// A hosted Turn of the agent `a` in a state.
fn stage(state: &str) -> (World, TodoId, Outcome) {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.hosted("a", &todo).unwrap();
    if state == "admitted" {
        return (world, todo, owned);
    }
    world.dispatch("a", &owned).unwrap();
    let completion = || result(ResultKind::ValidatedCompletion);
    match state {
        "attempt over" => drop(world.host_end("a", &owned, Some(HostFailure::Crashed), true).unwrap()),
        "third attempt over" => {
            for _ in 0..2 {
                world.host_end("a", &owned, Some(HostFailure::Crashed), true).unwrap();
                world.dispatch("a", &owned).unwrap();
            }
            world.prove(owned.turn_id.unwrap(), true).unwrap();
        }
        "wished" => drop(world.stop(owned.turn_id.unwrap()).unwrap()),
        "candidate" => drop(world.result_of("a", &owned, completion()).unwrap()),
        "held" => {
            world.hold(&todo).unwrap();
            world.result_of("a", &owned, completion()).unwrap();
            world.judged("a", &owned, verdict(VerdictOutcome::Passed), false).unwrap();
        }
        "requirement" => {
            world.retitle(&todo, "another").unwrap();
            world.result_of("a", &owned, completion()).unwrap();
            world.judged("a", &owned, verdict(VerdictOutcome::Passed), false).unwrap();
        }
        "lost" => drop(world.lose("a", &owned, false).unwrap()),
        "lost and gone" => drop(world.lose("a", &owned, true).unwrap()),
        "inconclusive" => {
            world.result_of("a", &owned, completion()).unwrap();
            world.judged("a", &owned, verdict(VerdictOutcome::Inconclusive), false).unwrap();
        }
        "settled" => {
            world.result_of("a", &owned, result(ResultKind::ValidatedProgress)).unwrap();
            world.judged("a", &owned, verdict(VerdictOutcome::Passed), false).unwrap();
        }
        "stopped" => drop(world.host_end("a", &owned, None, false).unwrap()),
        "failed" => drop(world.host_end("a", &owned, Some(HostFailure::Timeout), false).unwrap()),
        "fenced" => {
            world.pass(Duration::from_mins(60));
            world.claim("b", &todo).unwrap();
        }
        _ => {}
    }
    (world, todo, owned)
}

fn play(world: &mut World, step: &str, owned: &Outcome) -> Result<Receipt> {
    let turn_id = owned.turn_id.unwrap();
    match step {
        "dispatch" => world.dispatched("a", owned),
        "result" => world.result_of("a", owned, result(ResultKind::ValidatedProgress)),
        "passed" => world.judged("a", owned, verdict(VerdictOutcome::Passed), false),
        "progress" => world.judged("a", owned, verdict(VerdictOutcome::Progress), false),
        "refused" => world.judged("a", owned, verdict(VerdictOutcome::Failed), false),
        "unclear" => world.judged("a", owned, verdict(VerdictOutcome::Inconclusive), false),
        "unchecked" => world.judged("a", owned, verdict(VerdictOutcome::Unchecked), false),
        "moved" => world.judged("a", owned, verdict(VerdictOutcome::Passed), true),
        "crashed" => world.host_end("a", owned, Some(HostFailure::Crashed), true),
        "no retry" => world.host_end("a", owned, Some(HostFailure::Crashed), false),
        "ended" => world.host_end("a", owned, None, false),
        "gone" => world.prove(turn_id, true),
        "look" => world.prove(turn_id, false),
        "lose" => world.lose("a", owned, false),
        "found" => world.recover("a", owned, Found::Result(Box::new(result(ResultKind::ValidatedProgress)))),
        "again" => world.recover("a", owned, Found::Again),
        "nothing" => world.recover("a", owned, Found::Nothing(HostFailure::Crashed)),
        _ => panic!("{step}"),
    }
}

/// Short for the code of a move that the table does not know.
const NO: &str = "invalid_transition";
/// Short for the code of a token whose ownership has ended.
const OVER: &str = "ownership_expired";
/// Short for the code of a token that another replaced.
const LATE: &str = "ownership_superseded";
/// Short for the code of a proof without anything to prove.
const YET: &str = "not_ready";

/// One row a step: the state it leads to from each of [`STATES`], or the code it is refused with.
#[rustfmt::skip]
const MOVES: [(&str, [&str; 15]); 17] = [
    //           admitted      dispatched    over          third over    wished      candidate     held   requirement   lost          gone          inconclusive  settled stopped failed fenced
    ("dispatch", ["dispatched", NO,           "dispatched", NO,           NO,         NO,           NO,    "dispatched", NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("result",   [NO,           "candidate",  NO,           "candidate",          NO,         NO,           NO,    NO,           NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("passed",   [NO,           NO,           NO,           NO,           NO,         "settled",    NO,    NO,           NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("progress", [NO,           NO,           NO,           NO,           NO,         "settled",    NO,    NO,           NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("refused",  [NO,           NO,           NO,           NO,           NO,         "failed",     NO,    NO,           NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("unclear",  [NO,           NO,           NO,           NO,           NO,         "unresolved", NO,    NO,           NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("unchecked",[NO,           NO,           NO,           NO,           NO,         "stale_revision", NO, NO,          NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("moved",    [NO,           NO,           NO,           NO,           NO,         "candidate",  NO,    NO,           NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("crashed",  [NO,           "dispatched", "dispatched", "failed",     "stopped",  NO,           NO,    NO,           NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("no retry", [NO,           "failed",     "failed",     "failed",     "stopped",  NO,           NO,    NO,           NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("ended",    [NO,           "stopped",    "stopped",    "stopped",    "stopped",  NO,           NO,    NO,           NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("gone",     ["admitted",   "dispatched", "dispatched", "dispatched", "stopped",  "candidate",  "held","held",       "unresolved", "unresolved", "unresolved", NO,   NO,   NO,   NO]),
    ("look",     [YET,          YET,          YET,          YET,          YET,        YET,          "held","held",       YET,          YET,          YET,          NO,   NO,   NO,   NO]),
    ("lose",     [NO,           "unresolved", "unresolved", "unresolved", "unresolved", NO,         NO,    NO,           NO,           NO,           NO,           OVER, OVER, OVER, LATE]),
    ("found",    [NO,           NO,           NO,           NO,           NO,         NO,           NO,    NO,           "candidate",  "candidate",  "candidate",  OVER, OVER, OVER, LATE]),
    ("again",    [NO,           NO,           NO,           NO,           NO,         NO,           NO,    NO,           NO,           NO,           "candidate",  OVER, OVER, OVER, LATE]),
    ("nothing",  [NO,           NO,           NO,           NO,           NO,         NO,           NO,    NO,           YET,          "failed",     "failed",     NO,   NO,   NO,   NO]),
];

#[test]
fn every_state_of_a_hosted_turn_meets_every_step() {
    for (step, expected) in MOVES {
        for (state, expected) in STATES.into_iter().zip(expected) {
            let (mut world, _, owned) = stage(state);
            let answer = play(&mut world, step, &owned);
            let found = match code(&answer) {
                "ok" => world.turn_state(&owned),
                refused => refused,
            };
            assert_eq!(found, expected, "{step} on {state}: {answer:?}");
        }
    }
}

/// The same for an attached Turn, whose owner may give another result while it is not settled.
#[rustfmt::skip]
const ATTACHED: [(&str, [&str; 5]); 12] = [
    //           dispatched    candidate     held         inconclusive  settled
    ("dispatch", [NO,           NO,           NO,          NO,           OVER]),
    ("result",   ["candidate",  "candidate",  "candidate", NO,           OVER]),
    ("passed",   [NO,           "settled",    NO,          NO,           OVER]),
    ("refused",  [NO,           "failed",     NO,          NO,           OVER]),
    ("unclear",  [NO,           "unresolved", NO,          NO,           OVER]),
    ("crashed",  [NO,           NO,           NO,          NO,           OVER]),
    ("gone",     [YET,          YET,          "held",      "unresolved", NO]),
    ("look",     [YET,          YET,          "held",      YET,          NO]),
    ("lose",     [NO,           NO,           NO,          NO,           OVER]),
    ("found",    [NO,           NO,           NO,          "candidate",  OVER]),
    ("again",    [NO,           NO,           NO,          "candidate",  OVER]),
    ("nothing",  [NO,           NO,           NO,          "failed",     NO]),
];

#[test]
fn every_state_of_an_attached_turn_meets_every_step() {
    for (step, expected) in ATTACHED {
        for (state, expected) in
            ["dispatched", "candidate", "held", "inconclusive", "settled"].into_iter().zip(expected)
        {
            let mut world = World::new();
            let todo = world.todo("it", |_| {});
            let owned = world.claim("a", &todo).unwrap();
            if state == "held" {
                world.hold(&todo).unwrap();
            }
            let kind = if state == "settled" {
                ResultKind::ValidatedProgress
            } else {
                ResultKind::ValidatedCompletion
            };
            if state != "dispatched" {
                world.candidate("a", &owned, kind).unwrap();
            }
            match state {
                "held" | "settled" => drop(world.verdict("a", &owned, VerdictOutcome::Passed).unwrap()),
                "inconclusive" => drop(world.verdict("a", &owned, VerdictOutcome::Inconclusive).unwrap()),
                _ => {}
            }
            let answer = play(&mut world, step, &owned);
            let found = match code(&answer) {
                "ok" => world.turn_state(&owned),
                refused => refused,
            };
            assert_eq!(found, expected, "{step} on attached {state}: {answer:?}");
        }
    }
}

/// What each kind of result becomes, by what the validators said: the Turn's end, the Todo's state.
#[rustfmt::skip]
const RESULTS: [(ResultKind, Option<VerdictOutcome>, &str, &str, Slot); 12] = [
    (ResultKind::ValidatedCompletion, Some(VerdictOutcome::Passed),   "settled", "done",     Slot::Spent),
    (ResultKind::ValidatedCompletion, Some(VerdictOutcome::Progress), "settled", "open",     Slot::Spent),
    (ResultKind::ValidatedCompletion, Some(VerdictOutcome::Failed),   "failed",  "open",     Slot::Spent),
    (ResultKind::ValidatedProgress,   Some(VerdictOutcome::Passed),   "settled", "open",     Slot::Spent),
    (ResultKind::ValidatedProgress,   Some(VerdictOutcome::Progress), "settled", "open",     Slot::Spent),
    (ResultKind::ValidatedProgress,   Some(VerdictOutcome::Failed),   "failed",  "open",     Slot::Spent),
    (ResultKind::RepairRequired,      Some(VerdictOutcome::Passed),   "settled", "open",     Slot::Spent),
    (ResultKind::ReplanRequired,      Some(VerdictOutcome::Passed),   "settled", "open",     Slot::Spent),
    (ResultKind::ReplanRequired,      Some(VerdictOutcome::Failed),   "failed",  "open",     Slot::Spent),
    (ResultKind::RepairRequired,      Some(VerdictOutcome::Failed),   "failed",  "open",     Slot::Spent),
    (ResultKind::UserActionRequired,  None,                           "stopped", "open",     Slot::Returned),
    (ResultKind::Wait,                None,                           "stopped", "deferred", Slot::Returned),
];

#[test]
fn every_kind_of_result_ends_as_its_row_says() {
    for hosted in [false, true] {
        for (kind, said, end, state, slot) in RESULTS {
            let mut world = World::new();
            let todo = world.todo("it", |_| {});
            let owned = if hosted { world.running("a", &todo) } else { world.claim("a", &todo).unwrap() };
            world.result_of("a", &owned, result(kind)).unwrap();
            if let Some(said) = said {
                world.judged("a", &owned, verdict(said), false).unwrap();
            }
            assert_eq!(world.turn_state(&owned), end, "{kind:?} {said:?}");
            assert_eq!(world.row(&todo).state.as_str(), state, "{kind:?} {said:?}");
            assert_eq!(world.turn(owned.turn_id.unwrap()).slot, slot, "{kind:?} {said:?}");
            let repairs = kind == ResultKind::RepairRequired || end == "failed";
            let repair = world.row(&todo).last_end.is_some_and(|last| last.repair);
            assert_eq!(repair, repairs, "{kind:?} {said:?}");
        }
    }
}

#[test]
fn a_monitor_is_looked_at_by_any_result_but_a_completion() {
    let rows = [
        (ResultKind::LookUnchanged, Slot::Returned, 1),
        (ResultKind::Wait, Slot::Returned, 1),
        (ResultKind::LookChanged, Slot::Spent, 0),
        (ResultKind::ValidatedProgress, Slot::Spent, 0),
    ];
    for (kind, slot, unchanged) in rows {
        let mut world = World::new();
        let todo = world.todo("watch", |new| new.kind = TodoKind::Monitor);
        let owned = world.claim("a", &todo).unwrap();
        assert_eq!(code(&world.result_of("a", &owned, result(ResultKind::ValidatedCompletion))), NO);
        world.candidate("a", &owned, kind).unwrap();
        assert_eq!(world.turn_state(&owned), "settled", "{kind:?}");
        assert_eq!(world.turn(owned.turn_id.unwrap()).slot, slot, "{kind:?}");
        let monitor = world.row(&todo).monitor.unwrap();
        assert!(monitor.looked_at.is_some());
        assert_eq!(monitor.unchanged, unchanged, "{kind:?}");
        assert_eq!(world.row(&todo).state, TodoState::Open);
        assert_eq!(
            code(&world.claim_as("b", super::play::attached(&todo))),
            "not_claimable",
            "a look is not due twice"
        );
    }
    let mut world = World::new();
    let todo = world.todo("work", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    assert_eq!(code(&world.result_of("a", &owned, result(ResultKind::LookChanged))), NO);
}
