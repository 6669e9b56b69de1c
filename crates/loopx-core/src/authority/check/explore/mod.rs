//! Owns the exploration of the rules: every state that small worlds can come to, each held to every promise.
//!
//! The states are those of the real kernel over the real ledger in memory, written by the one way that writes. A random
//! walk goes far; this goes everywhere near. What is broken is told with a shortest way to it.

mod action;
mod bugs;
mod follow;
mod key;
mod node;
mod outside;
mod proposed;
mod scope;
mod search;
mod standing;
mod step;

use action::{Driver, GateVerb, GoalVerb, Owner, TodoVerb, TurnVerb};
use outside::Fate;
use proposed::{Proposed, Word};
use scope::{STILL, Scope};
use search::Search;

use crate::{
    kernel::{Command, EvidenceCommand, GoalChange, GoalCommand},
    model::*,
};

const COMPLETES: Owner = Owner::Result(ResultKind::ValidatedCompletion);
const PASSES: Owner = Owner::Verdict(VerdictOutcome::Passed);
const FAILS: Owner = Owner::Verdict(VerdictOutcome::Failed);

/// Agents that come by themselves, through two endpoints, with a gate and two Turns a day.
const ATTACHED: Scope = Scope {
    name: "attached, gate, quota",
    depth: 6,
    floor: 1200,
    seats: &["a@a.cli", "a@other", "b@b.cli"],
    turns: Some(2),
    todos: &[|_| {}, |_| {}],
    owners: &[Owner::Renew, Owner::Release, COMPLETES, PASSES, FAILS],
    opens: &[(GateKind::Approval, Some(1))],
    gate_verbs: &[GateVerb::Approve, GateVerb::Deny, GateVerb::Withdraw],
    ..STILL
};

/// Driven Turns, whose drivers and hosts die, one after the other.
const HOSTED: Scope = Scope {
    name: "hosted, crash, recovery",
    depth: 9,
    floor: 250,
    executors: &[Executor::Hosted],
    owners: &[Owner::Renew, COMPLETES, PASSES, FAILS, Owner::Verdict(VerdictOutcome::Inconclusive)],
    drivers: &[
        Driver::Dispatch,
        Driver::Crashed { retry: true },
        Driver::Crashed { retry: false },
        Driver::Ended,
        Driver::Lose { gone: true },
        Driver::Lose { gone: false },
        Driver::Prove { gone: true },
        Driver::Prove { gone: false },
        Driver::RecoverNothing,
        Driver::RecoverAgain,
        Driver::RecoverResult,
    ],
    turn_verbs: &[TurnVerb::Stop, TurnVerb::Abandon],
    ..STILL
};

/// Work that waits for other work, beside a monitor.
const PLANNED: Scope = Scope {
    name: "dependency, monitor",
    depth: 6,
    floor: 1000,
    todos: &[|_| {}, |new| new.depends_on = [action::todo_id(1)].into(), |new| new.kind = TodoKind::Monitor],
    owners: &[
        COMPLETES,
        Owner::Result(ResultKind::LookUnchanged),
        Owner::Result(ResultKind::LookChanged),
        PASSES,
        Owner::Release,
        Owner::Drop,
    ],
    todo_verbs: &[TodoVerb::Cancel, TodoVerb::Reopen, TodoVerb::Unlink],
    ..STILL
};

/// A person who changes everything under an owner.
const PEOPLE: Scope = Scope {
    name: "what a person does",
    depth: 7,
    floor: 880,
    owners: &[COMPLETES, PASSES, Owner::Drop],
    todo_verbs: &[
        TodoVerb::Hold,
        TodoVerb::Unhold,
        TodoVerb::Cancel,
        TodoVerb::Reopen,
        TodoVerb::Done,
        TodoVerb::Retitle,
        TodoVerb::ForceRelease,
    ],
    turn_verbs: &[TurnVerb::Stop, TurnVerb::Accept, TurnVerb::Abandon],
    opens: &[(GateKind::Decision, Some(1)), (GateKind::Approval, None)],
    gate_verbs: &[GateVerb::Approve, GateVerb::Deny, GateVerb::Answer, GateVerb::Withdraw, GateVerb::Reopen],
    goal_verbs: &[GoalVerb::Stop, GoalVerb::Resume, GoalVerb::Achieve, GoalVerb::Abandon, GoalVerb::Reopen],
    ..STILL
};

/// Results that no validator proves, so that a person has to accept them.
const ACCEPTED: Scope = Scope {
    name: "acceptance",
    depth: 6,
    floor: 700,
    proved: false,
    todos: &[|_| {}, |_| {}],
    owners: &[COMPLETES, Owner::GoOn, Owner::Verdict(VerdictOutcome::Unchecked), Owner::Moved],
    drivers: &[Driver::Prove { gone: false }],
    todo_verbs: &[TodoVerb::Retitle],
    turn_verbs: &[TurnVerb::Accept],
    gate_verbs: &[GateVerb::Approve, GateVerb::Deny],
    ..STILL
};

/// One Todo that is handed on, put off and blocked by its owners: a small world, of which every state is looked at.
const HANDED: Scope = Scope {
    name: "handed on, put off",
    depth: 5,
    floor: 25,
    seats: &["a@a.cli", "a@other", "b@b.cli", "b@other"],
    owners: &[
        Owner::Transfer,
        Owner::Defer,
        Owner::Block,
        Owner::Release,
        Owner::Stop,
        COMPLETES,
        PASSES,
        Owner::Result(ResultKind::Wait),
        Owner::Result(ResultKind::UserActionRequired),
    ],
    todo_verbs: &[TodoVerb::Unblock, TodoVerb::ForceRelease, TodoVerb::Done],
    gate_verbs: &[GateVerb::Answer],
    ..STILL
};

/// Driven and attached Turns of one agent, of which one waits for the other.
const BUSY: Scope = Scope {
    name: "busy with another",
    depth: 5,
    floor: 200,
    seats: &["a@a.cli"],
    todos: &[|_| {}, |_| {}],
    executors: &[Executor::Attached, Executor::Hosted],
    owners: &[COMPLETES, PASSES, Owner::Verdict(VerdictOutcome::Inconclusive)],
    drivers: &[
        Driver::Dispatch,
        Driver::Lose { gone: true },
        Driver::Lose { gone: false },
        Driver::Prove { gone: true },
        Driver::Prove { gone: false },
        Driver::RecoverNothing,
        Driver::RecoverAgain,
        Driver::RecoverResult,
    ],
    todo_verbs: &[TodoVerb::Retitle],
    turn_verbs: &[TurnVerb::Accept, TurnVerb::Abandon],
    goal_verbs: &[GoalVerb::Incarnate],
    ..STILL
};

/// Agents that propose what only a person may do, one of them because a plan has to change.
const PROPOSED: Scope = Scope {
    name: "proposals, replans",
    depth: 6,
    floor: 100,
    todos: &[|_| {}],
    owners: &[COMPLETES, PASSES, Owner::Release],
    todo_verbs: &[TodoVerb::Retitle],
    proposed: &[
        Proposed { number: 1, verb: TodoVerb::Cancel, believes: true },
        Proposed { number: 1, verb: TodoVerb::Retitle, believes: false },
    ],
    words: Word::ALL,
    before: reject,
    ..STILL
};

/// A person rejects what was shown of the first Todo, so that its plan has to change.
fn reject(node: &mut node::Node) {
    let add = EvidenceCommand::Add {
        todo_id: Some(action::todo_id(1)),
        criterion: None,
        kind: EvidenceKind::Note,
        pointer: crate::authority::check::world::text("notes.md"),
        digest: None,
        privacy: Privacy::Public,
        verdict: Some(EvidenceVerdict::Rejected),
    };
    node.user(Command::Evidence(add)).unwrap();
}

/// Something outside that is meant, sent and lost, while others wait to build on it.
const OUTSIDE: Scope = Scope {
    name: "effects",
    depth: 6,
    floor: 100,
    todos: &[|_| {}, |_| {}],
    owners: &[Owner::Intend, COMPLETES, PASSES, Owner::Release],
    fates: Fate::ALL,
    goal_verbs: &[GoalVerb::Waive],
    before: node::Node::show_two,
    ..STILL
};

/// Driven and attached Turns under a budget that one attempt fits in more often than three do.
const METERED: Scope = Scope {
    name: "metered, driven and attached",
    depth: 5,
    floor: 400,
    tokens: Some((40, 10)),
    todos: &[|_| {}, |_| {}],
    executors: &[Executor::Attached, Executor::Hosted],
    owners: &[Owner::Release, COMPLETES, PASSES],
    drivers: &[Driver::Dispatch, Driver::Crashed { retry: false }],
    todo_verbs: &[TodoVerb::Hold, TodoVerb::Unhold],
    ..STILL
};

/// A Goal with a criterion that no work shows, and a monitor that it can await.
const GAP: Scope = Scope {
    name: "a gap in the criteria",
    depth: 6,
    floor: 1000,
    todos: &[|_| {}, |new| new.kind = TodoKind::Monitor],
    owners: &[
        COMPLETES,
        PASSES,
        Owner::Release,
        Owner::Drop,
        Owner::Await,
        Owner::Ask,
        Owner::Result(ResultKind::LookUnchanged),
        Owner::Result(ResultKind::LookChanged),
    ],
    todo_verbs: &[TodoVerb::Cancel],
    goal_verbs: &[GoalVerb::LetGo, GoalVerb::Stop, GoalVerb::Resume],
    words: &[Word::Confirm, Word::Reject],
    before: want,
    ..STILL
};

/// A person says what has to be true in the end.
fn want(node: &mut node::Node) {
    let criterion = Criterion { text: "it works".parse().unwrap(), check: None, state: CriterionState::Open };
    let change = GoalChange { acceptance: Some(vec![criterion]), ..GoalChange::default() };
    node.user(Command::Goal(GoalCommand::Update(Box::new(change)))).unwrap();
}

fn explore(scope: &Scope) {
    let found = Search::new(scope).run();
    println!(
        "{}: {} states, {} moves, by depth {:?}, {}",
        scope.name,
        found.states,
        found.moves,
        found.by_depth,
        if found.complete { "complete" } else { "cut" }
    );
    if let Some(trace) = &found.broken {
        panic!("{}\n{}", scope.name, trace.told());
    }
    assert!(found.states >= scope.floor, "{}: {} states are too few", scope.name, found.states);
}

#[test]
fn attached_agents_with_a_gate_and_a_quota() {
    explore(&ATTACHED);
}

#[test]
fn driven_turns_that_crash_and_are_recovered() {
    explore(&HOSTED);
}

#[test]
fn work_that_waits_beside_a_monitor() {
    explore(&PLANNED);
}

#[test]
fn whatever_a_person_does() {
    explore(&PEOPLE);
}

#[test]
fn results_that_a_person_accepts() {
    explore(&ACCEPTED);
}

#[test]
fn work_that_is_handed_on_and_put_off() {
    explore(&HANDED);
}

#[test]
fn an_agent_that_is_busy_with_other_work() {
    explore(&BUSY);
}

#[test]
fn what_agents_propose_and_people_answer() {
    explore(&PROPOSED);
}

#[test]
fn what_happens_outside_and_is_told_of() {
    explore(&OUTSIDE);
}

#[test]
fn driven_and_attached_turns_under_a_budget_of_tokens() {
    explore(&METERED);
}

#[test]
fn a_goal_in_which_nothing_shows_a_criterion() {
    explore(&GAP);
}

/// What is taken for one state goes on as one, or the states are fewer than there are.
fn compare(scope: &Scope, floor: usize) {
    let (compared, otherwise) = Search::new(scope).compare();
    println!("{}: {compared} states compared with a twin", scope.name);
    assert_eq!(otherwise, None, "{}", scope.name);
    assert!(compared >= floor, "{}: {compared} twins are too few", scope.name);
}

#[test]
fn equal_states_of_attached_agents_go_on_equally() {
    compare(&Scope { depth: 4, ..ATTACHED }, 50);
}

#[test]
fn equal_states_of_driven_turns_go_on_equally() {
    compare(&Scope { depth: 6, ..HOSTED }, 50);
}

#[test]
fn equal_states_of_plans_go_on_equally() {
    compare(&Scope { depth: 4, ..PLANNED }, 50);
}

#[test]
fn equal_states_under_a_person_go_on_equally() {
    compare(&Scope { depth: 4, ..PEOPLE }, 50);
}

#[test]
fn equal_states_of_accepted_results_go_on_equally() {
    compare(&Scope { depth: 5, ..ACCEPTED }, 50);
}

#[test]
fn equal_states_of_work_handed_on_go_on_equally() {
    compare(&Scope { depth: 4, ..HANDED }, 15);
}

#[test]
fn equal_states_under_a_budget_of_tokens_go_on_equally() {
    compare(&Scope { depth: 4, ..METERED }, 20);
}

#[test]
fn equal_states_of_a_busy_agent_go_on_equally() {
    compare(&Scope { depth: 5, ..BUSY }, 50);
}

#[test]
fn equal_states_of_proposals_go_on_equally() {
    compare(&Scope { depth: 4, ..PROPOSED }, 50);
}

#[test]
fn equal_states_of_a_gap_go_on_equally() {
    compare(&Scope { depth: 4, ..GAP }, 50);
}

#[test]
fn equal_states_of_effects_go_on_equally() {
    compare(&Scope { depth: 5, ..OUTSIDE }, 50);
}
