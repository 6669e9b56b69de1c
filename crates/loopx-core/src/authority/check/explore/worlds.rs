//! Owns the worlds that are explored: what is in each, and what is done in it.
//!
//! Knows nothing of how they are explored.

use super::{
    action::{self, Driver, GateVerb, GoalVerb, Owner, TodoVerb, TurnVerb},
    node::Node,
    outside::Fate,
    proposed::{Proposed, Word},
    scope::{EVERYWHERE, STILL, Scope},
};
use crate::{
    authority::check::world::text,
    kernel::{Command, EvidenceCommand, GoalChange, GoalCommand, Told},
    model::*,
};

pub(super) const COMPLETES: Owner = Owner::Result(ResultKind::ValidatedCompletion);
pub(super) const PASSES: Owner = Owner::Verdict(VerdictOutcome::Passed);
pub(super) const FAILS: Owner = Owner::Verdict(VerdictOutcome::Failed);

/// How long an ownership keeps others out. Where a budget has the same window, moments fall together.
const LEASE: Duration = crate::kernel::claim::TTL_DEFAULT;

/// Agents that come by themselves, through two endpoints, with a gate and two Turns a day.
pub(super) const ATTACHED: Scope = Scope {
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
pub(super) const HOSTED: Scope = Scope {
    name: "whole: hosted, crash, recovery",
    depth: EVERYWHERE,
    floor: 1900,
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
pub(super) const PLANNED: Scope = Scope {
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
pub(super) const PEOPLE: Scope = Scope {
    name: "whole: what a person does",
    depth: EVERYWHERE,
    floor: 900,
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
pub(super) const ACCEPTED: Scope = Scope {
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

/// One Todo that is handed on, put off and blocked by its owners.
pub(super) const HANDED: Scope = Scope {
    name: "whole: handed on, put off",
    depth: EVERYWHERE,
    floor: 50,
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
pub(super) const BUSY: Scope = Scope {
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
pub(super) const PROPOSED: Scope = Scope {
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
fn reject(node: &mut Node) {
    let add = EvidenceCommand::Add {
        todo_id: Some(action::todo_id(1)),
        criterion: None,
        kind: EvidenceKind::Note,
        pointer: text("notes.md"),
        digest: None,
        privacy: Privacy::Public,
        verdict: Some(EvidenceVerdict::Rejected),
    };
    node.user(Command::Evidence(add)).unwrap();
}

/// Something outside that is meant, sent and lost, while others wait to build on it.
pub(super) const OUTSIDE: Scope = Scope {
    name: "effects",
    depth: 6,
    floor: 100,
    todos: &[|_| {}, |_| {}],
    owners: &[Owner::Intend, COMPLETES, PASSES, Owner::Release],
    fates: Fate::ALL,
    goal_verbs: &[GoalVerb::Waive],
    before: Node::show_two,
    ..STILL
};

/// Driven and attached Turns under a budget that one attempt fits in more often than three do.
pub(super) const METERED: Scope = Scope {
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

/// A coordinator and a peer that returns to it, whose drivers are lost at any moment.
pub(super) const PEERS: Scope = Scope {
    name: "peers",
    depth: 7,
    floor: 100,
    todos: &[|_| {}, |new| new.coordinates = Some(action::todo_id(1))],
    executors: &[Executor::Hosted],
    owners: &[COMPLETES, PASSES],
    drivers: &[Driver::Dispatch, Driver::Lose { gone: true }, Driver::RecoverAgain, Driver::RecoverNothing],
    returns: true,
    before: Node::show_two,
    ..STILL
};

/// A coordinator and a peer, each of which lapses, is taken by the other agent, and ends at any moment.
pub(super) const WHOLE_PEERS: Scope = Scope {
    name: "whole: peers",
    depth: EVERYWHERE,
    floor: 100,
    executors: &[Executor::Attached],
    drivers: &[],
    todo_verbs: &[TodoVerb::ForceRelease],
    ..PEERS
};

/// A driven Turn that means something to happen outside, and whose driver is lost before that is known.
pub(super) const WHOLE_DRIVEN_EFFECTS: Scope = Scope {
    name: "whole: driven effects",
    depth: EVERYWHERE,
    floor: 100,
    seats: &["a@a.cli"],
    executors: &[Executor::Hosted],
    owners: &[Owner::Intend, COMPLETES, PASSES],
    drivers: &[
        Driver::Dispatch,
        Driver::Lose { gone: true },
        Driver::RecoverNothing,
        Driver::RecoverAgain,
        Driver::RecoverResult,
    ],
    fates: &[
        Fate::Dispatch,
        Fate::Confirm { failed: false },
        Fate::Tell(Told::Confirmed),
        Fate::Tell(Told::Absent),
        Fate::Tell(Told::Unknown),
        Fate::WriteOff,
    ],
    before: Node::show_two,
    ..STILL
};

/// All that two agents with two endpoints each do with one Todo, behind a gate, with two Turns.
pub(super) const WHOLE_SEATS: Scope = Scope {
    name: "whole: one Todo, gate, quota",
    depth: EVERYWHERE,
    floor: 250,
    window: LEASE,
    seats: &["a@a.cli", "a@other", "b@b.cli", "b@other"],
    todos: &[|_| {}],
    ..ATTACHED
};

/// Two agents with two endpoints each and two Todos, of which one is behind a gate, with two Turns.
pub(super) const WHOLE_ATTACHED: Scope = Scope {
    name: "whole: two Todos, gate, quota",
    depth: EVERYWHERE,
    floor: 350,
    window: LEASE,
    seats: &["a@a.cli", "a@other", "b@b.cli", "b@other"],
    owners: &[COMPLETES, PASSES],
    gate_verbs: &[GateVerb::Approve, GateVerb::Withdraw],
    ..ATTACHED
};

/// Work that waits for other work, which is cancelled, taken up again, and let go.
pub(super) const WHOLE_DEPENDENCY: Scope = Scope {
    name: "whole: dependency",
    depth: EVERYWHERE,
    floor: 200,
    seats: &["a@a.cli"],
    todos: &[|_| {}, |new| new.depends_on = [action::todo_id(1)].into()],
    owners: &[COMPLETES, PASSES, Owner::Drop],
    ..PLANNED
};

/// A monitor beside other work, until its plan has to change.
pub(super) const WHOLE_MONITOR: Scope = Scope {
    name: "whole: monitor",
    depth: EVERYWHERE,
    floor: 100,
    seats: &["a@a.cli"],
    todos: &[
        |_| {},
        |new| {
            new.kind = TodoKind::Monitor;
            new.every_ms = Some(LEASE);
            new.unchanged_limit = Some(2);
        },
    ],
    owners: &[
        COMPLETES,
        Owner::Result(ResultKind::LookUnchanged),
        Owner::Result(ResultKind::LookChanged),
        PASSES,
        Owner::Drop,
    ],
    todo_verbs: &[TodoVerb::Cancel, TodoVerb::Reopen],
    ..STILL
};

/// One result that a person has to accept.
pub(super) const WHOLE_ACCEPTED: Scope =
    Scope { name: "whole: acceptance", depth: EVERYWHERE, floor: 300, todos: &[|_| {}], ..ACCEPTED };

/// One agent with a Turn that waits for its other.
pub(super) const WHOLE_BUSY: Scope = Scope {
    name: "whole: busy with another",
    depth: EVERYWHERE,
    floor: 500,
    owners: &[COMPLETES, Owner::Verdict(VerdictOutcome::Inconclusive)],
    executors: &[Executor::Hosted],
    drivers: &[Driver::Dispatch, Driver::Lose { gone: true }, Driver::RecoverNothing, Driver::RecoverAgain],
    todo_verbs: &[],
    turn_verbs: &[],
    goal_verbs: &[],
    ..BUSY
};

/// One agent that proposes while it replans.
pub(super) const WHOLE_PROPOSED: Scope = Scope {
    name: "whole: proposals, replans",
    depth: EVERYWHERE,
    floor: 100,
    seats: &["a@a.cli"],
    proposed: &[Proposed { number: 1, verb: TodoVerb::Cancel, believes: true }],
    ..PROPOSED
};

/// One effect of one Todo.
pub(super) const WHOLE_OUTSIDE: Scope =
    Scope { name: "whole: effects", depth: EVERYWHERE, floor: 400, todos: &[|_| {}], ..OUTSIDE };

/// Two Todos under a budget that three attempts just fit in.
pub(super) const WHOLE_METERED: Scope = Scope {
    name: "whole: metered",
    depth: EVERYWHERE,
    floor: 100,
    seats: &["a@a.cli"],
    tokens: Some((30, 10)),
    window: LEASE,
    owners: &[COMPLETES, PASSES],
    todo_verbs: &[],
    ..METERED
};

/// A Goal with a criterion that no work shows, and a monitor that it can await.
pub(super) const GAP: Scope = Scope {
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
fn want(node: &mut Node) {
    let criterion = Criterion { text: "it works".parse().unwrap(), check: None, state: CriterionState::Open };
    let change = GoalChange { acceptance: Some(vec![criterion]), ..GoalChange::default() };
    node.user(Command::Goal(GoalCommand::Update(Box::new(change)))).unwrap();
}
