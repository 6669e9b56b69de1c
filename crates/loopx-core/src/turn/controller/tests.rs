//! The controller's table, row by row, and against a second reading of it.

use proptest::prelude::*;

use super::*;
use crate::model::{FailedBy, HostFailure};

const LAST: u8 = 1;

fn turn_id(n: u8) -> TurnId {
    TurnId::from_bytes([n; 16])
}

fn todo(n: u32) -> TodoId {
    format!("g.{n}").parse().unwrap()
}

fn mark(turn: u8, revision: u64, digest: u8) -> Mark {
    Mark { turn_id: turn_id(turn), revision, digest: Digest::from_bytes([digest; 32]) }
}

fn named() -> Mark {
    mark(LAST, 7, 1)
}

fn ask(why: &'static str) -> Ask {
    Ask { why, about: "g".to_owned(), command: "goal show g".to_owned(), question: None }
}

fn run(n: u32) -> Next {
    Next::Run { todo_id: todo(n), turn_id: None }
}

fn repair(n: u32) -> Next {
    Next::Repair { todo_id: todo(n), failure: None }
}

/// The Turn that the last receipt is of.
const BROKEN: Broken = Broken::Turn(TurnId::from_bytes([LAST; 16]));
const RECONCILE: Next = Next::Reconcile { turn_id: TurnId::from_bytes([9; 16]) };
const WAIT: Next = Next::Wait { why: "time", until: None };

fn asks() -> Next {
    Next::AskUser { asks: vec![ask("gate")], ready_to_close: false }
}

fn ready() -> Next {
    Next::AskUser { asks: vec![ask(Ask::READY_TO_CLOSE)], ready_to_close: true }
}

fn completed(continuation: Continuation) -> Ended {
    Ended::Completion { todo_id: todo(1), continuation }
}

fn declared(n: u32) -> Continuation {
    Continuation::Successor { todo_ids: vec![todo(n)] }
}

const FULL: Budget =
    Budget { turns: Left::Some(3), wall_ms: Left::Some(1000), cost_micros: Left::Unbounded, alike: 0 };

fn spent(meter: Meter) -> Budget {
    match meter {
        Meter::Turns => Budget { turns: Left::Some(0), ..FULL },
        Meter::Wall => Budget { wall_ms: Left::Some(0), ..FULL },
        Meter::Cost => Budget { cost_micros: Left::Unknown, ..FULL },
    }
}

/// What is decided to be repaired.
fn refused(n: u32) -> Broken {
    Broken::Todo { todo_id: todo(n), failure: None }
}

fn run_now(n: u32) -> Disposition {
    Disposition::RunNow { todo_id: todo(n), turn_id: None }
}

/// Given how the last Turn ended, when something is decided, then this follows.
fn follows(ended: Option<Ended>, next: Next, budget: &Budget) -> Disposition {
    let last = ended.is_some().then(named);
    let after = ended.map(|ended| Past { mark: named(), ended });
    disposition(last.as_ref(), &Fresh { after, next }, budget)
}

/// Every kind of decision.
fn decisions() -> [Next; 10] {
    [
        run(1),
        repair(1),
        Next::Replan,
        RECONCILE,
        WAIT,
        asks(),
        ready(),
        Next::Stopped,
        Next::Closed,
        Next::Interrupted,
    ]
}

/// Every kind of end.
fn ends() -> Vec<Ended> {
    vec![
        completed(Continuation::ActiveGoal),
        completed(Continuation::NoFollowup),
        completed(declared(2)),
        Ended::Progress,
        Ended::RepairRequired,
        Ended::ReplanRequired,
        Ended::Stopped(Stopped::Stop),
        Ended::Stopped(Stopped::Wait),
        Ended::Failed(FailedBy::Validate),
        Ended::Failed(FailedBy::Host(HostFailure::Crashed)),
        Ended::Fenced,
        Ended::Unresolved,
        Ended::Held,
        Ended::AtWork,
    ]
}

#[test]
fn row_01_what_is_not_the_predecessor_is_refused_whatever_is_decided() {
    for (given, refusal) in [
        (mark(2, 7, 1), Refusal::Stale),
        (mark(2, 9, 2), Refusal::Stale),
        (mark(LAST, 6, 1), Refusal::OutOfOrder),
        (mark(LAST, 8, 1), Refusal::OutOfOrder),
        (mark(LAST, 7, 2), Refusal::Forged),
    ] {
        for next in decisions() {
            for ended in ends() {
                let after = Some(Past { mark: named(), ended });
                let fresh = Fresh { after, next: next.clone() };
                assert_eq!(disposition(Some(&given), &fresh, &FULL), Disposition::Refused(refusal.clone()));
            }
        }
    }
    // given a receipt where no Turn ever was
    for next in decisions() {
        let fresh = Fresh { after: None, next };
        assert_eq!(disposition(Some(&named()), &fresh, &FULL), Disposition::Refused(Refusal::Forged));
    }
}

#[test]
fn row_02_after_a_completion_that_nothing_follows_a_closed_or_finished_goal_is_the_end() {
    for next in [Next::Closed, ready()] {
        for budget in [FULL, spent(Meter::Turns)] {
            let end = follows(Some(completed(Continuation::NoFollowup)), next.clone(), &budget);
            assert_eq!(end, Disposition::Terminal);
        }
    }
}

#[test]
fn row_03_what_is_asked_of_a_person_comes_before_all_else() {
    let asked = Disposition::UserActionRequired(vec![ask("gate")]);
    for ended in ends() {
        for budget in [FULL, spent(Meter::Wall)] {
            assert_eq!(follows(Some(ended.clone()), asks(), &budget), asked, "{ended:?}");
        }
    }
    assert_eq!(follows(None, asks(), &FULL), asked);
    let close = Disposition::UserActionRequired(vec![ask(Ask::READY_TO_CLOSE)]);
    assert_eq!(follows(Some(completed(Continuation::ActiveGoal)), ready(), &FULL), close);
}

#[test]
fn row_04_what_failed_or_was_fenced_is_to_be_repaired_whatever_is_decided() {
    for ended in [
        Ended::Failed(FailedBy::Validate),
        Ended::Failed(FailedBy::Host(HostFailure::Timeout)),
        Ended::Fenced,
    ] {
        for next in [RECONCILE, WAIT, Next::Stopped, Next::Closed, Next::Interrupted] {
            let then = follows(Some(ended.clone()), next.clone(), &FULL);
            assert_eq!(then, Disposition::Repair { broken: BROKEN, work: None }, "{next:?}");
        }
        // by one more Turn where one is decided
        for next in [run(1), repair(1)] {
            let then = |budget: &Budget| follows(Some(ended.clone()), next.clone(), budget);
            let one_more = Disposition::Repair { broken: BROKEN, work: Some(todo(1)) };
            let no_more = Disposition::Repair { broken: BROKEN, work: None };
            assert_eq!(then(&FULL), one_more);
            // but not without budget, and not for the same failure again and again
            assert_eq!(then(&spent(Meter::Turns)), no_more);
            assert_eq!(then(&Budget { alike: 2, ..FULL }), one_more);
            assert_eq!(then(&Budget { alike: 3, ..FULL }), no_more);
        }
    }
}

#[test]
fn row_05_what_is_unresolved_is_to_be_reconciled_whatever_is_decided() {
    for next in [run(2), repair(2), WAIT, Next::Stopped, Next::Closed, Next::Interrupted] {
        for budget in [FULL, spent(Meter::Turns)] {
            let then = follows(Some(Ended::Unresolved), next.clone(), &budget);
            assert_eq!(then, Disposition::Reconcile { look: None }, "{next:?}");
        }
    }
    let look = Disposition::Reconcile { look: Some(turn_id(9)) };
    assert_eq!(follows(Some(Ended::Unresolved), RECONCILE, &FULL), look);
}

#[test]
fn row_06_progress_with_budget_left_goes_on() {
    assert_eq!(follows(Some(Ended::Progress), run(1), &FULL), run_now(1));
    assert_eq!(follows(Some(Ended::Progress), run(2), &FULL), run_now(2));
    // with the Turn that its settlement admitted
    let admitted = Next::Run { todo_id: todo(1), turn_id: Some(turn_id(2)) };
    let then = follows(Some(Ended::Progress), admitted, &FULL);
    assert_eq!(then, Disposition::RunNow { todo_id: todo(1), turn_id: Some(turn_id(2)) });
}

#[test]
fn row_07_progress_with_the_budget_spent_is_a_matter_of_the_plan_whatever_is_decided() {
    for meter in [Meter::Turns, Meter::Wall, Meter::Cost] {
        for next in [run(1), repair(1), RECONCILE, WAIT, Next::Stopped, Next::Closed, Next::Interrupted] {
            let then = follows(Some(Ended::Progress), next, &spent(meter));
            assert_eq!(then, Disposition::Replan(ReplanWhy::Budget(meter)));
        }
    }
    let none = Budget { cost_micros: Left::Some(0), ..FULL };
    let then = follows(Some(Ended::Progress), run(1), &none);
    assert_eq!(then, Disposition::Replan(ReplanWhy::Budget(Meter::Cost)));
}

#[test]
fn row_08_after_a_completion_only_its_declared_successor_is_run() {
    let then = |n| follows(Some(completed(declared(2))), run(n), &FULL);
    assert_eq!(then(2), run_now(2));
    for n in [1, 3] {
        assert_eq!(then(n), Disposition::Refused(Refusal::NoSuccessor(todo(n))));
    }
}

#[test]
fn row_09_after_a_completion_another_todo_is_run_and_the_same_refused() {
    for continuation in [Continuation::ActiveGoal, Continuation::NoFollowup] {
        let then = |n| follows(Some(completed(continuation.clone())), run(n), &FULL);
        assert_eq!(then(2), run_now(2));
        assert_eq!(then(1), Disposition::Refused(Refusal::SameTodo(todo(1))));
    }
}

#[test]
fn row_10_a_loop_that_begins_runs_what_is_decided() {
    assert_eq!(follows(None, run(1), &FULL), run_now(1));
    // whatever went before: a receipt that nobody holds is compared with nothing
    let after = Some(Past { mark: named(), ended: Ended::Failed(FailedBy::Validate) });
    assert_eq!(disposition(None, &Fresh { after, next: run(1) }, &FULL), run_now(1));
    for meter in [Meter::Turns, Meter::Wall, Meter::Cost] {
        assert_eq!(follows(None, run(1), &spent(meter)), Disposition::Stop(StopWhy::Budget(meter)));
    }
}

#[test]
fn row_11_a_decided_repair_or_reconciliation_is_made_and_a_wish_to_replan_heard() {
    let ends =
        [None, Some(completed(Continuation::ActiveGoal)), Some(Ended::RepairRequired), Some(Ended::Held)];
    for ended in ends {
        let then = |next| follows(ended.clone(), next, &FULL);
        let one_more = Disposition::Repair { broken: refused(2), work: Some(todo(2)) };
        assert_eq!(then(repair(2)), one_more);
        // and where none can be, it is said of what was decided, whatever the last Turn did
        let spent = follows(ended.clone(), repair(2), &spent(Meter::Turns));
        assert_eq!(spent, Disposition::Repair { broken: refused(2), work: None });
        assert_eq!(then(RECONCILE), Disposition::Reconcile { look: Some(turn_id(9)) });
        assert_eq!(then(Next::Replan), Disposition::Replan(ReplanWhy::Decided));
    }
    for next in [run(1), repair(1), RECONCILE, WAIT, Next::Closed] {
        let then = follows(Some(Ended::ReplanRequired), next, &FULL);
        assert_eq!(then, Disposition::Replan(ReplanWhy::Asked));
    }
}

#[test]
fn row_12_what_waits_is_waited_for() {
    let waits = Disposition::Wait { why: "time", until: None };
    for ended in [None, Some(completed(declared(2))), Some(Ended::Progress), Some(Ended::Held)] {
        assert_eq!(follows(ended, WAIT, &FULL), waits);
    }
}

#[test]
fn row_13_a_closed_goal_ends_and_a_wish_to_stop_stops() {
    for ended in [None, Some(completed(Continuation::ActiveGoal)), Some(Ended::Progress)] {
        let then = |next| follows(ended.clone(), next, &FULL);
        assert_eq!(then(Next::Closed), Disposition::Terminal);
        assert_eq!(then(Next::Interrupted), Disposition::Stop(StopWhy::Interrupted));
        assert_eq!(then(Next::Stopped), Disposition::Stop(StopWhy::GoalStopped));
    }
    for next in [run(1), run(2), repair(1), WAIT] {
        let then = follows(Some(Ended::Stopped(Stopped::Stop)), next, &FULL);
        assert_eq!(then, Disposition::Stop(StopWhy::TurnStopped));
    }
    // what ended a Turn for another reason is no wish that the loop stop
    for why in [Stopped::Wait, Stopped::UserAction, Stopped::Lapsed] {
        assert_eq!(follows(Some(Ended::Stopped(why)), run(1), &FULL), run_now(1));
    }
}

/// The table read a second time, from its last row up: a later row counts where no earlier one does.
fn second_reading(last: Option<&Mark>, fresh: &Fresh, budget: &Budget) -> &'static str {
    let ended = last.and(fresh.after.as_ref()).map(|past| &past.ended);
    let is_spent = budget.turns == Left::Some(0)
        || budget.wall_ms == Left::Some(0)
        || matches!(budget.cost_micros, Left::Some(0) | Left::Unknown);
    let target = match &fresh.next {
        Next::Run { todo_id, .. } => Some(todo_id),
        _ => None,
    };
    let run = if is_spent { "stop" } else { "run_now" };
    let mut says = match &fresh.next {
        Next::Closed => "terminal",
        Next::Stopped | Next::Interrupted => "stop",
        Next::Wait { .. } => "wait",
        Next::Repair { .. } => "repair",
        Next::Replan => "replan",
        Next::Reconcile { .. } => "reconcile",
        Next::Run { .. } => run,
        Next::AskUser { .. } => "user_action_required",
    };
    if let Some(ended) = ended {
        match ended {
            Ended::ReplanRequired => says = "replan",
            Ended::Stopped(Stopped::Stop) => says = "stop",
            Ended::Completion { todo_id, continuation } => {
                if let Some(target) = target {
                    says = match continuation {
                        Continuation::Successor { todo_ids } if todo_ids.contains(target) => run,
                        Continuation::Successor { .. } => "refused",
                        _ if target == todo_id => "refused",
                        _ => run,
                    };
                }
            }
            Ended::Progress if is_spent => says = "replan",
            Ended::Unresolved => says = "reconcile",
            Ended::Failed(_) | Ended::Fenced => says = "repair",
            _ => {}
        }
    }
    if matches!(fresh.next, Next::AskUser { .. }) {
        says = "user_action_required";
    }
    let nothing = matches!(ended, Some(Ended::Completion { continuation: Continuation::NoFollowup, .. }));
    if nothing && matches!(fresh.next, Next::Closed | Next::AskUser { ready_to_close: true, .. }) {
        says = "terminal";
    }
    if last.is_some() && last != fresh.after.as_ref().map(|past| &past.mark) {
        says = "refused";
    }
    says
}

fn any_left() -> impl Strategy<Value = Left> {
    prop_oneof![
        Just(Left::Unbounded),
        Just(Left::Some(0)),
        (1..9_u64).prop_map(Left::Some),
        Just(Left::Unknown)
    ]
}

fn any_mark() -> impl Strategy<Value = Mark> {
    (1..3_u8, 6..8_u64, 1..3_u8).prop_map(|(turn, revision, digest)| mark(turn, revision, digest))
}

fn any_next() -> impl Strategy<Value = Next> {
    (proptest::sample::select(decisions().to_vec()), 1..4_u32).prop_map(|(next, n)| match next {
        Next::Run { .. } => run(n),
        Next::Repair { .. } => repair(n),
        other => other,
    })
}

proptest! {
    #[test]
    fn the_first_row_that_matches_decides_alone(
        last in proptest::option::of(any_mark()),
        after in proptest::option::of((any_mark(), proptest::sample::select(ends()))),
        next in any_next(),
        (turns, wall_ms, cost_micros) in (
            (0..3_u64).prop_map(Left::Some),
            (0..3_u64).prop_map(Left::Some),
            any_left(),
        ),
        alike in 0..5_u8,
    ) {
        let fresh = Fresh { after: after.map(|(mark, ended)| Past { mark, ended }), next };
        let budget = Budget { turns, wall_ms, cost_micros, alike };
        let then = disposition(last.as_ref(), &fresh, &budget);
        prop_assert_eq!(then.name(), second_reading(last.as_ref(), &fresh, &budget), "{:?}", then);
        // No Turn is begun without budget, nor anything but what is decided.
        let begun = match &then {
            Disposition::RunNow { todo_id, .. } | Disposition::Repair { work: Some(todo_id), .. } => {
                Some(todo_id)
            },
            _ => None,
        };
        if let Some(todo_id) = begun {
            prop_assert_eq!(budget.spent(), None);
            let decided = match &fresh.next {
                Next::Run { todo_id, .. } | Next::Repair { todo_id, .. } => Some(todo_id),
                _ => None,
            };
            prop_assert_eq!(Some(todo_id), decided);
        }
        // A wish to end begins nothing.
        if fresh.next == Next::Interrupted {
            let waits = matches!(then, Disposition::Wait { .. });
            prop_assert!(begun.is_none() && !waits);
        }
    }
}
