//! Real processes at one ledger: who wins, what a replay returns, what a kill, a full disk and damage leave.

use super::*;
use crate::{
    authority::{Authority, TodoFilter, TurnFilter, vault},
    kernel::{
        AgentCommand, BatchItem, ClaimCommand, Command as Wish, GoalCommand, NewGoal, NewTodo, Outcome,
        TodoCommand, claim::Claim,
    },
    model::*,
    private::PrivateStore,
};

mod faults;
mod growth;
mod migrations;
mod races;
mod replay;
mod restores;
mod schemas;

pub(super) use migrations::{fill_before, migrate, of_before, schema};
pub(super) use restores::{fill_with_backup, is_restored, restore, with_backup, with_damage};

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
    Operation::embedded(id.parse().unwrap(), actor.parse().unwrap(), goal(), command)
}

/// Founds a ledger with a Goal and no agent.
pub(super) fn founded(home: &Path) -> Authority {
    let mut authority = Authority::create(&roles::profile(home).unwrap(), &roles::env(home)).unwrap();
    let start = NewGoal::wanting("ship it".parse().unwrap());
    let start = Wish::Goal(GoalCommand::Start(Box::new(start)));
    authority.submit(operation("start", "user:ana", start)).unwrap();
    authority
}

/// The ledger's own chain holds, and an end that somebody cuts off is noticed; a copy of such a ledger is none.
fn own_end_is_known(home: &Path) {
    let flaw = || authority(home).unwrap().audit(None, true, &mut |_| {}).unwrap().remove(0).flaw;
    assert_eq!(flaw(), None);
    let file = rusqlite::Connection::open(home.join("profiles/default/authority.db")).unwrap();
    let last: i64 =
        file.query_row("SELECT max(id) FROM events WHERE id<(1<<32)", [], |row| row.get(0)).unwrap();
    file.execute("DELETE FROM events WHERE id=?1", [last]).unwrap();
    assert_eq!(flaw().unwrap().seq, u64::try_from(last).ok());
    let wanted = vault::Wanted { path: Some(&home.join("cut.db")), ..vault::Wanted::default() };
    let refused = vault::backup(&roles::profile(home).unwrap(), &roles::env(home), wanted, &mut |_| {});
    assert_eq!(refused.map(drop).unwrap_err().code(), Code::StoreCorrupt);
}

/// How many Todos the Goal has.
pub(super) fn todos(home: &Path) -> i64 {
    let goal = goal();
    let filter = TodoFilter { goal: &goal, live: false, bucket: None };
    let found = authority(home).unwrap().read(|view| view.todos(&filter, 0, usize::MAX)).unwrap();
    i64::try_from(found.len()).unwrap()
}

/// Adds a Todo, always under the same id.
pub(super) fn submit_once(home: &Path) -> Result<()> {
    let new = NewTodo::titled("work".parse().unwrap(), TodoKind::Advance);
    let add = Wish::Todo(TodoCommand::Add(Box::new(new)));
    authority(home)?.submit(operation("add", "user:ana", add)).map(drop)
}

/// Adds Todos, all in one commit.
fn add_todos(authority: &mut Authority, id: &str, n: u32) {
    let add = |n| BatchItem::Add {
        new: Box::new(NewTodo::titled(format!("work {n}").parse().unwrap(), TodoKind::Advance)),
        after_items: [].into(),
    };
    authority.submit(operation(id, "user:ana", Wish::Batch((0..n).map(add).collect()))).unwrap();
}

fn add_agent(authority: &mut Authority, name: &str) {
    let add = AgentCommand::Add { agent_id: name.parse().unwrap(), capabilities: [].into() };
    authority.submit(operation(&format!("agent-{name}"), "user:ana", Wish::Agent(add))).unwrap();
}

/// A claim of the Goal's n-th Todo.
fn claim(id: &str, actor: &str, n: u32) -> Operation<Wish> {
    let claim = Claim::attached(TodoId::new(goal(), n));
    operation(id, actor, Wish::Claim(ClaimCommand::Claim(Box::new(claim))))
}

/// A claim of whatever is next.
fn take(id: &str, actor: &str, _: u32) -> Operation<Wish> {
    operation(id, actor, Wish::Claim(ClaimCommand::Next(Box::default())))
}

/// What a child in a role of this folder does; a role is a word and what it is told.
pub(super) fn role(role: &str, home: &Path) -> Result<()> {
    let words: Vec<&str> = role.split(' ').collect();
    match *words {
        ["race", actor] => races::race(home, actor, claim),
        ["take", actor] => races::race(home, actor, take),
        ["claim", actor, number] => {
            let id = variable("LOOPX_TEST_OP").unwrap_or_else(|| "claim".to_owned());
            let receipt = authority(home)?.submit(claim(&id, actor, number.parse().unwrap()))?;
            println!("@{}", replay::said(&receipt));
            Ok(())
        }
        _ => panic!("no role {role}"),
    }
}
