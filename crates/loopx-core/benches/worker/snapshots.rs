//! Owns snapshots of a clean work tree, in turn with `git status` on it.
//!
//! Knows nothing of how they are compared. Words: `home=`, `run=`, `tree=` with the root of a git work tree, `rounds=`.

use std::{
    path::{Path, PathBuf},
    process::{Command as Program, Stdio},
};

use loopx_core::{
    authority::profile::{Place, Profile, filesystem::HostFilesystem},
    kernel::{
        AgentCommand, ClaimCommand, Command, GoalCommand, NewGoal, NewTodo, Outcome as Done, TodoCommand,
        claim::Claim,
    },
    private::PrivateStore,
    registry::Composition,
    sdk::{Actor, TodoKind},
    turn::{self, Machine, Site},
};
use serde_json::json;

use super::stage::{Operations, Outcome, Words, answer, now_ns, parsed, person, todo_id};

/// What changed less than two seconds ago is read again by both; so long is waited by working, in nanoseconds.
const SETTLED_NS: u64 = 3_000_000_000;

pub(crate) fn run(words: &Words) -> Outcome<()> {
    let (rounds, tree): (usize, PathBuf) = (words.get("rounds")?, words.get("tree")?);
    let mut authority = words.create()?;
    let mut operations = Operations::new()?;
    for command in [
        Command::Goal(GoalCommand::Start(Box::new(NewGoal::wanting(parsed(
            "Measure what a snapshot costs",
        )?)))),
        Command::Agent(AgentCommand::Add { agent_id: parsed("a")?, capabilities: [].into() }),
        Command::Todo(TodoCommand::Add(Box::new(NewTodo::titled(parsed("Do nothing")?, TodoKind::Advance)))),
    ] {
        authority.submit(operations.of(person()?, command)?)?;
    }
    let env = words.env()?;
    let profile = Profile::open(&Place::resolve(&env)?, &env, &HostFilesystem)?;
    let path = std::env::vars_os().filter(|(name, _)| name == "PATH");
    let machine = Machine::of(&profile, None, path)?;
    let (workspace, folder) = turn::identify(&machine.machine_id, &tree)?;
    machine.trees.note(&workspace, &folder)?;
    let mut private = PrivateStore::at(&profile.place().private_db());
    let hosts = Composition::linked()?;
    let (mut before_ns, mut after_ns, mut status_ns) = (Vec::new(), Vec::new(), Vec::new());
    let begun_ns = now_ns();
    let agent: Actor = parsed("agent:a")?;
    while before_ns.len() < rounds {
        let claim = Claim { workspace: Some(workspace.clone()), ..Claim::attached(todo_id(1)?) };
        let claim = Command::Claim(ClaimCommand::Claim(Box::new(claim)));
        let done: Done = authority.submit(operations.of(agent.clone(), claim)?)?.outcome()?;
        let (Some(turn_id), Some(own_id)) = (done.turn_id, done.own_id) else {
            return Err("a claim gave no Turn".into());
        };
        let around =
            Site { authority: &mut authority, private: &mut private, machine: &machine, hosts: &hosts }
                .around(turn_id)?;
        let before = timed(|| {
            Site { authority: &mut authority, private: &mut private, machine: &machine, hosts: &hosts }
                .snapshot_before(&around);
            Ok(())
        })?;
        let release = ClaimCommand::Release { todo_id: todo_id(1)?, own_id: Some(own_id) };
        authority.submit(operations.of(agent.clone(), Command::Claim(release))?)?;
        let after = timed(|| {
            Site { authority: &mut authority, private: &mut private, machine: &machine, hosts: &hosts }
                .snapshots_of_ended();
            Ok(())
        })?;
        let theirs = timed(|| status(&folder))?;
        let record = turn::recorded(&machine, &around.turn)?.ok_or("there is no record of a Turn")?;
        if let Some(why) = record.absent() {
            return Err(format!("a snapshot was not taken: {why}").into());
        }
        if now_ns() - begun_ns > SETTLED_NS {
            before_ns.push(before);
            after_ns.push(after);
            status_ns.push(theirs);
        }
    }
    answer(&json!({ "before_ns": before_ns, "after_ns": after_ns, "status_ns": status_ns }))
}

fn timed(what: impl FnOnce() -> Outcome<()>) -> Outcome<u64> {
    let began_ns = now_ns();
    what()?;
    Ok(now_ns() - began_ns)
}

#[expect(clippy::disallowed_methods, reason = "what is compared with is started as a person would")]
fn status(folder: &Path) -> Outcome<()> {
    let mut git = Program::new("git");
    git.args(["status", "--porcelain"]).current_dir(folder).stdin(Stdio::null());
    let told = git.output()?;
    if told.status.success() && told.stdout.is_empty() {
        Ok(())
    } else {
        Err("the work tree is not clean".into())
    }
}
