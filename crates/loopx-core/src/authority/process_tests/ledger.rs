//! Real processes at one ledger: who wins, what a replay returns, what a kill leaves.

use super::*;
use crate::{
    authority::{Authority, TodoFilter},
    kernel::{Command as Wish, GoalCommand, NewGoal, NewTodo, TodoCommand},
    model::*,
};

/// The Goal of these tests.
pub(super) fn goal() -> GoalId {
    "g".parse().unwrap()
}

/// The ledger of a home, as a process of its own opens it.
pub(super) fn authority(home: &Path) -> Result<Authority> {
    Authority::open(&roles::profile(home)?, &roles::env(home))
}

/// An operation of a person with proof, or of an agent.
pub(super) fn operation(id: &str, actor: &str, command: Wish) -> Operation<Wish> {
    let actor: Actor = actor.parse().unwrap();
    let assurance = if actor.is_user() {
        Assurance::Proven
    } else {
        Assurance::Stated
    };
    Operation {
        operation_id: id.parse().unwrap(),
        provenance: Provenance {
            door: Door::Library,
            assurance,
            contained: None,
        },
        actor,
        goal_id: goal(),
        command,
        expected: Expected::default(),
    }
}

/// Founds a ledger with a Goal and no agent.
pub(super) fn founded(home: &Path) -> Authority {
    let mut authority = Authority::create(&roles::profile(home).unwrap(), &roles::env(home)).unwrap();
    let start = NewGoal {
        objective: "ship it".parse().unwrap(),
        acceptance: Vec::new(),
        non_goals: Vec::new(),
        boundary: Boundary::default(),
        stop_conditions: Vec::new(),
        validators: Vec::new(),
        authority_sources: Vec::new(),
        origin: None,
        workspace: None,
        unvalidated: Unvalidated::Ask,
    };
    let start = Wish::Goal(GoalCommand::Start(Box::new(start)));
    authority.submit(operation("start", "user:ana", start)).unwrap();
    authority
}

/// How many Todos the Goal has.
pub(super) fn todos(home: &Path) -> i64 {
    let goal = goal();
    let filter = TodoFilter {
        goal: &goal,
        live: false,
        bucket: None,
    };
    let found = authority(home)
        .unwrap()
        .read(|view| view.todos(&filter, 0, usize::MAX))
        .unwrap();
    i64::try_from(found.len()).unwrap()
}

/// Adds a Todo, always under the same id.
pub(super) fn submit_once(home: &Path) -> Result<()> {
    let new = NewTodo::titled("work".parse().unwrap(), TodoKind::Advance);
    let add = Wish::Todo(TodoCommand::Add(Box::new(new)));
    authority(home)?
        .submit(operation("add", "user:ana", add))
        .map(drop)
}
