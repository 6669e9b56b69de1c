//! Owns the cases of the suite that store decisions made by hand, to see the order in which they are applied.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{Commit, Head, Meters, StoredReceipt, Tx, View, last_terms},
    Room,
    stage::{Stage, text},
    whole,
};
use crate::{
    error::{Code, Result},
    kernel::{Delta, Depth, Facts, Read, Rows, Target, Terms, Writes},
    model::*,
};

/// A receipt that says little.
pub(super) fn receipt(goal: &GoalId) -> StoredReceipt {
    StoredReceipt {
        digest: Digest::ZERO,
        actor: Actor::System,
        provenance: Provenance { door: Door::Library, assurance: Assurance::Stated, contained: None },
        goal_id: Some(goal.clone()),
        at: Timestamp::from_ms(1),
        seq: 1,
        negative: Some(Code::GateOpened.as_str().into()),
        outcome: serde_json::json!({"note": "\u{4e2d}", "n": [1, 2]}),
        cut: None,
    }
}

/// An otherwise empty decision about a Goal.
pub(super) fn commit<'a>(
    view: &mut dyn View,
    goal: &'a GoalId,
    operation_id: &'a OperationId,
    receipt: &'a StoredReceipt,
) -> Commit<'a> {
    let meta = view.meta().unwrap().unwrap();
    let head = view.head(goal).unwrap().unwrap_or(Head::START);
    Commit {
        goal_id: goal,
        head,
        records: Vec::new(),
        operation_id,
        receipt,
        writes: Writes::default(),
        stamp: meta.stamp,
        since: 1,
    }
}

/// Stores changes and rows in one decision.
fn store(tx: &mut dyn Tx, goal: &GoalId, operation: &str, deltas: Vec<Delta>, rows: &[Todo]) -> Result<()> {
    let operation_id = text(operation);
    let receipt = receipt(goal);
    let mut commit = commit(tx, goal, &operation_id, &receipt);
    commit.writes.deltas = deltas;
    commit.writes.rows.todos = rows.iter().map(|row| (row.todo_id.clone(), row.clone())).collect();
    tx.store(commit)
}

fn todo(view: &mut dyn View, id: &TodoId) -> Todo {
    let rows = whole(view).unwrap().rows;
    rows.todos[id].clone()
}

pub(super) fn changes_come_first_and_rows_win(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    let goal = stage.goal.clone();
    let dep = stage.todo("dep", TodoKind::Advance, |_| {});
    let one = stage.todo("one", TodoKind::Advance, |new| new.depends_on = [dep.clone()].into());
    let two = stage.todo("two", TodoKind::Advance, |new| new.depends_on = [dep.clone()].into());
    room.open()
        .write(&mut |tx| {
            let mut row = todo(tx, &one);
            row.counters.unmet = 7;
            row.counters.blocking_gates = 2;
            let by = |unmet, cancelled| Delta::Dependency { dep: dep.clone(), unmet, cancelled };
            // A Todo that the same decision adds is not reached by its changes.
            let mut three = row.clone();
            three.todo_id = TodoId::new(goal.clone(), 9);
            three.counters = Counters { unmet: 1, ..Counters::default() };
            let gated = Delta::Gated { todos: vec![one.clone(), two.clone()], by: 3 };
            store(tx, &goal, "raw-1", vec![by(4, 1), by(-2, 0), gated], &[row, three])?;
            assert_eq!(todo(tx, &one).counters.unmet, 7, "a row that is written whole wins");
            assert_eq!(todo(tx, &one).counters.blocking_gates, 2);
            let two = todo(tx, &two).counters;
            assert_eq!((two.unmet, two.cancelled_deps, two.blocking_gates), (3, 1, 3));
            assert_eq!(todo(tx, &TodoId::new(goal.clone(), 9)).counters.unmet, 1);
            // Nothing goes below zero.
            let down = Delta::Gated { todos: vec![one.clone()], by: -9 };
            store(tx, &goal, "raw-2", vec![by(-9, -9), down], &[])?;
            let one = todo(tx, &one).counters;
            assert_eq!((one.unmet, one.cancelled_deps, one.blocking_gates), (0, 0, 0));
            Ok(())
        })
        .unwrap();
    let stored = room.open().read(&mut |view| {
        let receipt = view.receipt(&text("raw-1"))?.unwrap();
        assert_eq!(receipt.negative.as_deref(), Some(Code::GateOpened.as_str()));
        assert_eq!(receipt.outcome["note"], "\u{4e2d}");
        Ok(())
    });
    stored.unwrap();
}

fn done() -> TodoState {
    let completion = Completion {
        at: Timestamp::from_ms(1),
        by: Actor::System,
        turn_id: None,
        continuation: Continuation::ActiveGoal,
        waived: None,
        evidence: Vec::new(),
    };
    TodoState::Done { completion }
}

pub(super) fn links_follow_the_rows(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    let goal = stage.goal.clone();
    let ids: Vec<_> = (0..4).map(|_| stage.todo("x", TodoKind::Advance, |_| {})).collect();
    let dependants = |view: &mut dyn View, of: &TodoId| -> BTreeSet<u32> {
        let meta = view.meta().unwrap().unwrap();
        let mut facts = Facts::new(Terms {
            authority_id: meta.authority_id,
            incarnation: meta.incarnation,
            now: Timestamp::default(),
            clock_jump: false,
            strict: false,
            schema: 2,
        });
        let read = Read::DoneDependants(of.clone());
        view.load(&[read.clone()].into(), &mut facts).unwrap();
        assert_eq!(facts.rows().todos.len(), 0, "a list loads no row");
        let listed = facts.listed(&read).unwrap();
        assert_eq!(listed.count, listed.ids.len() as u64);
        listed.ids.iter().map(TodoId::number).collect()
    };
    let plans: [(&[usize], [&[u32]; 3]); 4] = [
        (&[1, 2], [&[], &[1], &[1]]),
        (&[2], [&[], &[], &[1]]),
        (&[1], [&[], &[1], &[]]),
        (&[], [&[], &[], &[]]),
    ];
    for (n, (deps, expected)) in plans.into_iter().enumerate() {
        room.open()
            .write(&mut |tx| {
                let mut row = todo(tx, &ids[0]);
                row.depends_on = deps.iter().map(|at| ids[*at].clone()).collect();
                row.state = done();
                store(tx, &goal, &format!("raw-{n}"), Vec::new(), &[row])?;
                for (of, numbers) in ids.iter().zip(expected) {
                    assert!(dependants(tx, of).iter().eq(numbers), "{n}: {of}");
                }
                Ok(())
            })
            .unwrap();
    }
}

pub(super) fn a_wake_reaches_who_waits_for_it(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    let goal = stage.goal.clone();
    let first = stage.todo("first", TodoKind::Advance, |_| {});
    let waits = stage.todo("waits", TodoKind::Advance, |new| new.wake = Some(Wake::TodoDone(first.clone())));
    let other = stage.todo("other", TodoKind::Advance, |new| new.wake = Some(Wake::TodoDone(waits.clone())));
    let at = Timestamp::from_ms(1_700_000_000_000);
    let wake = |woken_at, lost| Delta::Wake { target: Target::Todo(first.clone()), woken_at, lost };
    let ready = |view: &mut dyn View| -> BTreeSet<u32> {
        let meta = view.meta().unwrap().unwrap();
        let mut facts = Facts::new(Terms {
            authority_id: meta.authority_id,
            incarnation: meta.incarnation,
            now: Timestamp::from_ms(meta.stamp.now_ms),
            clock_jump: false,
            strict: false,
            schema: 2,
        });
        view.load(&[Read::Ready(text("g"), text("a"), Depth::Whole)].into(), &mut facts).unwrap();
        facts.rows().todos.keys().map(TodoId::number).collect()
    };
    room.open()
        .write(&mut |tx| {
            assert_eq!(ready(tx), [1].into());
            store(tx, &goal, "raw-1", vec![wake(Some(at), false)], &[])?;
            assert_eq!(todo(tx, &waits).counters.woken_at, Some(at));
            assert_eq!(todo(tx, &other).counters, Counters::default());
            assert_eq!(ready(tx), [1, 2].into(), "awake, and so ready");
            store(tx, &goal, "raw-2", vec![wake(None, true)], &[])?;
            assert!(todo(tx, &waits).counters.wake_lost);
            assert_eq!(ready(tx), [1].into());
            Ok(())
        })
        .unwrap();
}

/// The slots that meters hold.
fn slots(meters: &Meters) -> BTreeMap<(MeterScope, Bucket), u64> {
    meters.iter().map(|(key, held)| (key.clone(), held.slots)).collect()
}

pub(super) fn a_meter_holds_what_was_put_in(room: &dyn Room) {
    let stage = Stage::set(room.open());
    let goal = stage.goal.clone();
    let scopes = [MeterScope::Goal(goal.clone()), MeterScope::Agent(goal.clone(), text("a"))];
    let put = |scope: &MeterScope, bucket, by| Delta::Meter {
        scope: scope.clone(),
        bucket: Bucket::from_number(bucket),
        by,
    };
    room.open()
        .write(&mut |tx| {
            for (n, scope) in scopes.iter().enumerate() {
                let deltas = vec![
                    put(scope, 5, 2),
                    put(scope, 5, 1),
                    put(scope, 7, 4),
                    put(scope, 8, 1),
                    put(scope, 8, -1),
                ];
                store(tx, &goal, &format!("raw-{n}"), deltas, &[])?;
            }
            let expected: BTreeMap<_, _> = scopes
                .iter()
                .flat_map(|scope| {
                    [(5, 3), (7, 4)].map(|(at, n)| ((scope.clone(), Bucket::from_number(at)), n))
                })
                .collect();
            assert_eq!(slots(&whole(tx)?.meters), expected);
            let deltas = vec![put(&scopes[0], 5, -9), put(&scopes[0], 1, -1), put(&scopes[1], 7, -1)];
            store(tx, &goal, "raw-9", deltas, &[])?;
            let left: Vec<u64> = slots(&whole(tx)?.meters).into_values().collect();
            assert_eq!(left, [4, 3, 3], "no meter goes below zero, and an empty one is none");
            Ok(())
        })
        .unwrap();
}

pub(super) fn an_amount_that_no_column_holds_stays_the_greatest(room: &dyn Room) {
    let stage = Stage::set(room.open());
    let goal = stage.goal.clone();
    let scope = MeterScope::Goal(goal.clone());
    let all = |n: u64| Amounts { tokens: n, cost_micros: n, wall_ms: n };
    let moved = |bucket, before: u64, after: u64| Delta::Amounts {
        scope: scope.clone(),
        bucket: Bucket::from_number(bucket),
        before: all(before),
        after: all(after),
    };
    let (most, near) = (Amounts::MAX, Amounts::MAX - 5);
    let used = |tx: &mut dyn Tx| {
        let read = Read::Used(scope.clone(), Bucket::from_number(0));
        let mut facts = Facts::new(last_terms(tx).unwrap());
        tx.load(&[read].into(), &mut facts).unwrap();
        facts.used(&scope, Bucket::from_number(0)).unwrap().amounts
    };
    room.open()
        .write(&mut |tx| {
            // what is put in at once, added, moved, and taken away again
            type Moves<'m> = &'m [(i64, u64, u64)];
            let steps: [(Moves<'_>, u64); 5] = [
                (&[(5, 0, u64::MAX)], most),
                (&[(5, u64::MAX, near)], near),
                (&[(5, 0, 9)], most),
                (&[(7, 0, most)], most),
                (&[(5, most, 0), (7, most, 3)], 3),
            ];
            for (n, (deltas, expected)) in steps.into_iter().enumerate() {
                let deltas = deltas.iter().map(|(at, before, after)| moved(*at, *before, *after)).collect();
                store(tx, &goal, &format!("raw-{n}"), deltas, &[])?;
                assert_eq!(used(tx), all(expected), "{n}");
            }
            let held: Vec<_> = whole(tx)?.meters.into_values().map(|held| held.amounts).collect();
            assert_eq!(held, [all(3)]);
            Ok(())
        })
        .unwrap();
}

pub(super) fn a_goal_is_put_in_the_place_of_what_lies_there(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    stage.play();
    let goal = stage.goal.clone();
    let before = stage.authority.read(whole).unwrap();
    assert!(stage.authority.audit(None, false, &mut |_| {}).unwrap().iter().all(|one| one.flaw.is_none()));
    let (head, meters) = (before.heads[&goal], before.meters.clone());
    // Its own rows change nothing.
    room.open().write(&mut |tx| tx.rebuild(&goal, head, &before.rows, &meters)).unwrap();
    assert_eq!(stage.authority.read(whole).unwrap(), before);
    let chains = stage.authority.read(|view| view.chains(None, 9)).unwrap();
    assert_eq!(chains, before.heads.clone().into_iter().collect::<Vec<_>>());
    assert_eq!(stage.authority.read(|view| view.meters(&goal)).unwrap(), before.meters);
    // Fewer are what is left.
    let rows = Rows {
        todos: BTreeMap::new(),
        texts: BTreeMap::new(),
        gates: BTreeMap::new(),
        ..before.rows.clone()
    };
    let rows = Rows { turns: BTreeMap::new(), evidence: BTreeMap::new(), nouns: BTreeMap::new(), ..rows };
    let second = Head { seq: 2, hash: before.events[&goal][1].hash };
    room.open().write(&mut |tx| tx.rebuild(&goal, second, &rows, &BTreeMap::new())).unwrap();
    let after = stage.authority.read(whole).unwrap();
    assert_eq!((&after.rows, after.heads[&goal], after.events[&goal].len()), (&rows, second, 2));
    assert!(after.meters.is_empty() && after.counts[&goal].values().all(|count| *count == 0));
    // What an operation returned can be marked, and is found page by page.
    let all = stage.authority.read(|view| view.receipts(None, usize::MAX)).unwrap();
    let (id, receipt) = all[0].clone();
    let cut = StoredReceipt { cut: Some(IncarnationId::from_bytes([7; 16])), ..receipt.unwrap() };
    room.open().write(&mut |tx| tx.put_receipt(&id, &cut)).unwrap();
    assert_eq!(stage.authority.receipt(&id).unwrap_err().code(), Code::OperationConflict);
    let later = stage.authority.read(|view| view.receipts(Some(&id), usize::MAX)).unwrap();
    assert_eq!(later, all[1..]);
    // Without an event there is no Goal.
    room.open().write(&mut |tx| tx.rebuild(&goal, Head::START, &rows, &BTreeMap::new())).unwrap();
    assert_eq!(stage.authority.read(|view| view.head(&goal)).unwrap(), None);
    assert!(stage.authority.read(whole).unwrap().rows.goals.is_empty());
}
