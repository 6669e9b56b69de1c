//! Owns what must be true of the rows after every call, whatever happened.

use std::collections::{BTreeMap, BTreeSet};

use crate::{kernel::Rows, model::*};

/// What is true of any one state.
pub(super) fn rows(rows: &Rows, now: Timestamp) {
    rows.todos.values().for_each(|todo| counters(rows, todo));
    rows.todos.values().for_each(|todo| replans(rows, todo));
    let mut executing: BTreeMap<(&GoalId, &AgentId), &Turn> = BTreeMap::new();
    let mut live = BTreeSet::new();
    for turn in rows.turns.values() {
        if turn.is_terminal() {
            assert_ne!(turn.slot, Slot::Reserved, "an ended Turn keeps its reservation");
            continue;
        }
        let todo = &rows.todos[turn.todo_id().unwrap()];
        assert!(live.insert(turn.todo_id()), "{}: two live Turns", todo.todo_id);
        assert_eq!(todo.turn_id, Some(turn.turn_id), "a live Turn its Todo does not name");
        assert!(todo.is_live(), "{}: ended under a live Turn", todo.todo_id);
        assert_eq!(turn.slot, Slot::Reserved);
        if executes(turn, todo, now) {
            let other = executing.insert((&turn.goal_id, &turn.agent_id), turn);
            assert!(other.is_none(), "{} executes twice: {other:?} and {turn:?}", turn.agent_id);
        }
    }
}

fn executes(turn: &Turn, todo: &Todo, now: Timestamp) -> bool {
    let owned =
        todo.ownership.as_ref().is_some_and(|own| own.turn_id == turn.turn_id && own.expires_at > now);
    let until = turn
        .open_attempt()
        .and_then(|attempt| attempt.deadline_at)
        .map(|at| at.plus(Duration::from_secs(60)));
    match turn.state {
        TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate => owned,
        TurnState::Unresolved { executor_gone, .. } => {
            !executor_gone && until.is_some_and(|until| until > now)
        }
        TurnState::Held { .. }
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => false,
    }
}

/// A Todo is covered by one live replan at most, and each knows the other.
fn replans(rows: &Rows, todo: &Todo) {
    let id = &todo.todo_id;
    if let Some(by) = &todo.replans.by {
        let replan = &rows.todos[by];
        assert!(replan.is_live(), "{id}: covered by {by}, which has ended");
        assert_eq!(replan.covering.as_ref().unwrap().covers(), id, "{by} covers another");
        assert!(crate::kernel::index(todo).ready.is_none(), "{id}: offered while {by} covers it");
    }
    assert_eq!(todo.kind == TodoKind::Replan, todo.covering.is_some(), "{id}");
    if let Some(covering) = todo.covering.as_ref().filter(|_| todo.is_live()) {
        assert_eq!(rows.todos[covering.covers()].replans.by.as_ref(), Some(id), "{id} covers nothing");
    }
    assert!(todo.replans.pending.values().all(|ordinal| *ordinal <= todo.replans.count), "{id}");
    assert!(todo.replans.pending.is_empty() || todo.is_live(), "{id}: ended, and obliged");
}

fn counters(rows: &Rows, todo: &Todo) {
    let id = &todo.todo_id;
    let unmet = todo.depends_on.iter().filter(|dep| !rows.todos[*dep].is_done()).count();
    assert_eq!(todo.counters.unmet as usize, unmet, "{id}: unmet");
    let gone = |dep: &&TodoId| matches!(rows.todos[*dep].state, TodoState::Cancelled { .. });
    assert_eq!(
        todo.counters.cancelled_deps as usize,
        todo.depends_on.iter().filter(gone).count(),
        "{id}: cancelled"
    );
    let blocks = |gate: &&Gate| {
        let names = matches!(&gate.blocks, Blocks::Todos(ids) if ids.contains(id));
        names && gate.is_blocking() && gate.accepts.is_none()
    };
    assert_eq!(
        todo.counters.blocking_gates as usize,
        rows.gates.values().filter(blocks).count(),
        "{id}: gates"
    );
    if let Some(own) = &todo.ownership {
        assert_eq!(todo.turn_id, Some(own.turn_id), "{id}: owned without its Turn");
        assert!(todo.is_live(), "{id}: owned and ended");
        let turn = &rows.turns[&own.turn_id];
        assert_eq!((turn.own_id, &turn.agent_id, &turn.endpoint), (own.own_id, &own.agent_id, &own.endpoint));
        let still = matches!(turn.state, TurnState::Held { .. } | TurnState::Unresolved { .. });
        assert_eq!(own.frozen, still, "{id}: frozen exactly while held or unresolved");
    }
    assert!(todo.state == TodoState::Open || todo.ownership.is_none(), "{id}: owned while {:?}", todo.state);
}

/// What is true of a commit that settled something: nothing held it.
pub(super) fn settled(before: &Rows, after: &Rows) {
    for turn in after.turns.values().filter(|turn| turn.state == TurnState::Settled) {
        if before.turns.get(&turn.turn_id).is_some_and(|turn| turn.state == TurnState::Settled) {
            continue;
        }
        let todo = &after.todos[turn.todo_id().unwrap()];
        let goal = &after.goals[&turn.goal_id];
        let candidate = turn.candidate.as_ref().expect("a settled Turn has a result");
        assert_eq!(todo.counters.blocking_gates + goal.goal_gates, 0, "settled past a blocking gate");
        assert_eq!(
            candidate.requirement_revision, todo.requirement_revision,
            "settled past a moved requirement"
        );
        assert!(!todo.hold && todo.counters.unmet == 0, "settled past a pause or a dependency");
        let looked = matches!(candidate.kind, ResultKind::LookChanged | ResultKind::LookUnchanged);
        let said = turn.verdict.as_ref().map(|verdict| verdict.outcome);
        let passed = matches!(
            said,
            Some(VerdictOutcome::Passed | VerdictOutcome::Progress | VerdictOutcome::Unchecked)
        );
        let replanned = todo.covering.is_some() && candidate.kind == ResultKind::ValidatedCompletion;
        assert!(looked || passed || replanned, "settled without a verdict");
        let approved = turn
            .acceptance_gate
            .is_some_and(|gate| matches!(after.gates[&gate].state, GateState::Approved { .. }));
        let trusted = goal.unvalidated == Unvalidated::Trust || !todo.is_done();
        assert!(said != Some(VerdictOutcome::Unchecked) || approved || trusted, "done, and nobody said so");
    }
}

/// What the meters hold is what the Turns reserved and spent.
pub(super) fn meters(rows: &Rows, meters: &BTreeMap<(MeterScope, Bucket), u64>) {
    let held = rows.turns.values().filter(|turn| turn.slot != Slot::Returned).count() as u64;
    let of_goal = |scope: &MeterScope| matches!(scope, MeterScope::Goal(_));
    let metered: u64 = meters.iter().filter(|((scope, _), _)| of_goal(scope)).map(|(_, slots)| slots).sum();
    assert_eq!(held, metered, "the meter differs from the Turns' slots");
}
