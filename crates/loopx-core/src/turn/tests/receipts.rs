//! What a loop's receipt is compared with: the last move of the last Turn, as the ledger has it.

use std::cell::{Cell, RefCell};

use serde_json::json;

use super::bench::{Bench, result, text};
use crate::{
    model::*,
    turn::{
        self, Admitted, DriverLock, Watcher,
        controller::{
            Budget, Disposition, Ended, Fresh, Left, Mark, Next, Refusal, disposition, mark, next_of, past,
        },
    },
};

const FULL: Budget =
    Budget { turns: Left::Some(3), wall_ms: Left::Unbounded, cost_micros: Left::Unbounded, alike: 0 };

fn of(bench: &mut Bench, agent: &str) -> Option<turn::controller::Past> {
    let (goal, agent) = (text("g"), text(agent));
    bench.authority.read(|view| past(view, &goal, &agent)).unwrap()
}

/// What a loop with a receipt would do where another Todo is to be run.
fn with(bench: &mut Bench, last: &Mark) -> Disposition {
    let next = Next::Run { todo_id: text("g.9"), turn_id: None };
    disposition(Some(last), &Fresh { after: of(bench, "a"), next }, &FULL)
}

fn refused(bench: &mut Bench, last: &Mark) -> &'static str {
    match with(bench, last) {
        Disposition::Refused(refusal) => refusal.as_str(),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn the_receipt_of_the_last_move_is_the_predecessor_whatever_else_was_written_since() {
    // given a Turn that is over, and much that was written after it
    let mut bench = Bench::new(Some("true"));
    assert_eq!(of(&mut bench, "a"), None, "before the first Turn there is none");
    let todo = bench.todo(|_| {});
    let done = bench.run(&todo, &result("validated_completion")).unwrap();
    for _ in 0..200 {
        bench.todo(|_| {});
    }
    // when it is looked for, then it is found, as the driver had it and as any later look has it
    let last = mark(&done.receipt).unwrap();
    let found = of(&mut bench, "a").unwrap();
    assert_eq!(found.mark, last);
    assert!(matches!(&found.ended, Ended::Completion { todo_id, .. } if *todo_id == todo));
    let again = bench.authority.receipt(done.receipt.operation_id()).unwrap().unwrap();
    assert!(again.is_replayed() && mark(&again).unwrap() == last);
    assert!(matches!(with(&mut bench, &last), Disposition::RunNow { .. }));
    assert_eq!(of(&mut bench, "b"), None, "another agent has had no Turn");
}

#[test]
fn each_end_of_a_hosted_turn_is_told_by_its_receipt() {
    type Is = fn(&Ended) -> bool;
    let cases: [(&str, &str, Is); 6] = [
        ("validated_progress", "true", |ended| *ended == Ended::Progress),
        ("repair_required", "true", |ended| *ended == Ended::RepairRequired),
        ("replan_required", "true", |ended| *ended == Ended::ReplanRequired),
        ("user_action_required", "true", |ended| *ended == Ended::Stopped(Stopped::UserAction)),
        ("wait", "true", |ended| *ended == Ended::Stopped(Stopped::Wait)),
        ("validated_completion", "false", |ended| *ended == Ended::Failed(FailedBy::Validate)),
    ];
    for (kind, check, is) in cases {
        let mut bench = Bench::new(Some(check));
        let todo = bench.todo(|_| {});
        let done = bench.run(&todo, &result(kind)).unwrap();
        let found = of(&mut bench, "a").unwrap();
        assert_eq!(found.mark, mark(&done.receipt).unwrap(), "{kind}");
        assert!(is(&found.ended), "{kind}: {:?}", found.ended);
    }
    let mut bench = Bench::new(None);
    let todo = bench.todo(|_| {});
    let done = bench.run(&todo, &result("validated_completion")).unwrap();
    let found = of(&mut bench, "a").unwrap();
    assert_eq!((found.mark, found.ended), (mark(&done.receipt).unwrap(), Ended::Held));
    let todo = bench.todo(|_| {});
    let done = bench.run(&todo, "exit 0").unwrap();
    let found = of(&mut bench, "a").unwrap();
    assert_eq!(found.mark, mark(&done.receipt).unwrap());
    assert_eq!(found.ended, Ended::Failed(FailedBy::Host(HostFailure::ResultMissing)));
}

#[test]
fn a_receipt_with_any_other_word_is_refused_as_forged() {
    let mut bench = Bench::new(Some("true"));
    let todo = bench.todo(|_| {});
    let done = bench.run(&todo, &result("validated_progress")).unwrap();
    let forge = |change: &dyn Fn(&mut Receipt)| {
        let mut receipt = done.receipt.clone();
        change(&mut receipt);
        mark(&receipt).unwrap()
    };
    let forged: [(&str, Mark); 8] = [
        ("operation", forge(&|receipt| receipt.operation_id = text("op-of-mine"))),
        ("digest", forge(&|receipt| receipt.digest = Digest::of(b"another"))),
        ("actor", forge(&|receipt| receipt.actor = text("agent:b"))),
        ("door", forge(&|receipt| receipt.provenance.door = Door::Http)),
        ("Goal", forge(&|receipt| receipt.goal_id = Some(text("other")))),
        ("moment", forge(&|receipt| receipt.at = receipt.at.plus(Duration::from_ms(1)))),
        ("negative end", forge(&|receipt| receipt.negative = Some("gate_opened"))),
        ("outcome", forge(&|receipt| receipt.outcome["turn_state"] = json!("failed"))),
    ];
    for (what, last) in forged {
        assert_eq!(refused(&mut bench, &last), "forged", "{what}");
    }
    // a revision that is not its own is another place in the chain
    let last = forge(&|receipt| receipt.accepted_revision += 1);
    assert_eq!(refused(&mut bench, &last), "out_of_order");
    // and one that only says that it was written before is the same one
    let last = forge(&|receipt| receipt.replayed = !receipt.replayed);
    assert!(matches!(with(&mut bench, &last), Disposition::RunNow { .. }));
}

#[test]
fn what_another_authority_agent_or_earlier_turn_was_given_is_refused() {
    let mut bench = Bench::new(Some("true"));
    let todo = bench.todo(|_| {});
    let first = bench.run(&todo, &result("validated_progress")).unwrap();
    // given a receipt of another ledger, of the same verb in a Goal of the same name
    let mut other = Bench::new(Some("true"));
    let its = other.todo(|_| {});
    let foreign = other.run(&its, &result("validated_progress")).unwrap();
    assert_eq!(refused(&mut bench, &mark(&foreign.receipt).unwrap()), "stale");
    // of another agent in this one
    let mut start = bench.start(&todo);
    start.executor = (text("b"), text("b.cli"));
    let host = bench.host(&result("validated_progress"), |_| {});
    let anothers = super::bench::run(&mut bench.site(), &start, &host, &|| false).unwrap();
    assert_eq!(refused(&mut bench, &mark(&anothers.receipt).unwrap()), "stale");
    // its own still stands, until it has another Turn
    let last = mark(&first.receipt).unwrap();
    assert!(matches!(with(&mut bench, &last), Disposition::RunNow { .. }));
    bench.run(&todo, &result("validated_progress")).unwrap();
    assert_eq!(refused(&mut bench, &last), "stale");
}

#[test]
fn what_came_before_the_last_move_of_the_same_turn_is_out_of_order() {
    // given a result that a person has to accept
    let mut bench = Bench::new(None);
    let todo = bench.todo(|_| {});
    let done = bench.run(&todo, &result("validated_completion")).unwrap();
    let (held, turn_id) = (mark(&done.receipt).unwrap(), done.turn().turn_id);
    // when any receipt of an earlier move is presented, then it is refused
    let operation = done.receipt.operation_id().to_string();
    let base = operation.split('/').next().unwrap();
    for step in ["admit", "dispatch.1", "candidate.1"] {
        let id = text(&format!("{base}/{step}"));
        let receipt = bench.authority.receipt(&id).unwrap().unwrap();
        assert_eq!(refused(&mut bench, &mark(&receipt).unwrap()), "out_of_order", "{step}");
    }
    // and so is the one that said held, once it is settled
    let gate = done.turn().acceptance_gate.unwrap();
    let answered = bench.answer(gate, Answer::Approve);
    let settled = turn::prove_after(&mut bench.site(), &answered).unwrap().remove(0);
    assert_eq!(settled.turn().turn_id, turn_id);
    assert_eq!(refused(&mut bench, &held), "out_of_order");
    assert_eq!(of(&mut bench, "a").unwrap().mark, mark(&settled.receipt).unwrap());
    assert!(!matches!(with(&mut bench, &held), Disposition::Refused(Refusal::Forged)));
}

/// A loop that goes on while it may.
struct GoesOn {
    left: Cell<u32>,
    next: RefCell<Option<DriverLock>>,
}

impl Watcher for GoesOn {
    fn wants_stop(&self) -> bool {
        false
    }

    fn goes_on(&self) -> bool {
        self.left.get() > 0
    }

    fn takes_on(&self, next: DriverLock) {
        self.left.set(self.left.get() - 1);
        self.next.replace(Some(next));
    }
}

#[test]
fn progress_settles_and_admits_the_next_turn_with_its_driver_in_one_commit() {
    // given a driver that goes on once
    let mut bench = Bench::new(Some("true"));
    let todo = bench.todo(|_| {});
    let (start, host) = (bench.start(&todo), bench.host(&result("validated_progress"), |_| {}));
    let watch = GoesOn { left: Cell::new(1), next: RefCell::new(None) };
    // when its Turn settles as progress
    let done = super::bench::run(&mut bench.site(), &start, &host, &watch).unwrap();
    // then the next is admitted for the same holder, and its driver has it
    let lock = watch.next.take().unwrap();
    let next = bench.row(lock.turn_id());
    let (last, goal) = (done.turn().clone(), text("g"));
    assert_eq!((next.state.clone(), next.epoch, next.turn_no), (TurnState::Admitted, last.epoch, 2));
    assert_ne!(next.own_id, last.own_id);
    assert_eq!(bench.authority.read(|view| next_of(view, &goal, &last)).unwrap(), Some(next.turn_id));
    let locks = bench.locks().to_owned();
    assert_eq!(DriverLock::seen(&locks, next.turn_id), Some(crate::kernel::Seen::Alive));
    // and the predecessor is still the one that settled
    assert_eq!(of(&mut bench, "a").unwrap().mark, mark(&done.receipt).unwrap());
    // when it is driven, and its driver goes on no more
    let start = bench.start(&todo);
    let admitted = Admitted::next(done.receipt.clone(), lock);
    let done = turn::drive(&mut bench.site(), &start, admitted, &host, &watch).unwrap();
    // then it only settles
    assert_eq!((done.turn().turn_id, done.turn().state.as_str()), (next.turn_id, "settled"));
    assert!(watch.next.take().is_none() && bench.todo_row(&todo).ownership.is_none());
    assert_eq!(of(&mut bench, "a").unwrap().mark, mark(&done.receipt).unwrap());
}

#[test]
fn what_may_not_go_on_only_settles() {
    use crate::kernel::{Command, GoalCommand};
    // given a Goal that is stopped while the host works
    let mut bench = Bench::new(Some("true"));
    let todo = bench.todo(|_| {});
    let start = bench.start(&todo);
    let host = bench.host(&result("validated_progress"), |_| {});
    let watch = GoesOn { left: Cell::new(1), next: RefCell::new(None) };
    let admitted = turn::admit(&mut bench.site(), &start).unwrap();
    bench.user(Command::Goal(GoalCommand::Stop)).unwrap();
    // when its result is progress
    let done = turn::drive(&mut bench.site(), &start, admitted, &host, &watch).unwrap();
    // then that is true, and nothing follows
    assert_eq!(done.turn().state.as_str(), "settled");
    assert!(watch.next.take().is_none() && bench.todo_row(&todo).ownership.is_none());
}
