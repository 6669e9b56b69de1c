//! Owns governed Turns of this process, each under a guardian or without one, in turn.
//!
//! Knows nothing of how they are compared. Words: `home=`, `run=`, `host=` with the path of the host, `tree=` with the
//! folder that it works in, `rounds=`.

use std::path::PathBuf;

use loopx_core::{
    authority::profile::{Place, Profile, filesystem::HostFilesystem},
    kernel::{AgentCommand, Command, GoalCommand, NewGoal, NewTodo, TodoCommand},
    private::PrivateStore,
    process::Launcher,
    registry::Composition,
    sdk::{Assurance, Door, Duration, Provenance, TodoKind, TurnState, Validator},
    turn::{self, CommandHost, Hosting, Machine, Site, Start},
};
use serde_json::json;

use super::stage::{Operations, Outcome, Words, answer, goal, now_ns, parsed, person, todo_id};

pub(crate) fn run(words: &Words) -> Outcome<()> {
    let (rounds, tree): (u32, PathBuf) = (words.get("rounds")?, words.get("tree")?);
    let mut authority = words.create()?;
    let mut operations = Operations::new()?;
    let mut goal_of = NewGoal::wanting(parsed("Measure what a guardian costs")?);
    goal_of.validators = vec![Validator {
        argv: vec!["/bin/true".into()],
        progress_exit: None,
        timeout_ms: Duration::from_secs(20),
        env: Vec::new(),
    }];
    let mut prepare = vec![
        Command::Goal(GoalCommand::Start(Box::new(goal_of))),
        Command::Agent(AgentCommand::Add { agent_id: parsed("a")?, capabilities: [].into() }),
    ];
    for number in 0..2 * rounds {
        let title = parsed(&format!("Todo {number}"))?;
        prepare.push(Command::Todo(TodoCommand::Add(Box::new(NewTodo::titled(title, TodoKind::Advance)))));
    }
    for command in prepare {
        authority.submit(operations.of(person()?, command)?)?;
    }
    let env = words.env()?;
    let profile = Profile::open(&Place::resolve(&env)?, &env, &HostFilesystem)?;
    let path = std::env::vars_os().filter(|(name, _)| name == "PATH");
    let mut machine = Machine::of(&profile, Some(Launcher::this_binary()), path)?;
    let guarding = machine.guarding.take();
    let (workspace, folder) = turn::identify(&machine.machine_id, &tree)?;
    machine.trees.note(&workspace, &folder)?;
    let mut private = PrivateStore::at(&profile.place().private_db());
    let hosts = Composition::linked()?;
    let host = CommandHost::new(Hosting {
        argv: vec![words.get("host")?],
        folder,
        wall_ms: 60_000,
        attempts_max: 1,
    })?;
    let (mut guarded_ns, mut alone_ns) = (Vec::new(), Vec::new());
    for number in 1..=2 * rounds {
        let is_guarded = number % 2 == 0;
        machine.guarding = guarding.clone().filter(|_| is_guarded);
        let start = Start {
            operation_id: parsed(&format!("run-{number}"))?,
            actor: person()?,
            provenance: Provenance { door: Door::Library, assurance: Assurance::Stated, contained: None },
            goal_id: goal()?,
            todo_id: todo_id(number)?,
            executor: (parsed("a")?, parsed("a.cli")?),
            workspace: workspace.clone(),
            ttl_ms: None,
        };
        let mut site =
            Site { authority: &mut authority, private: &mut private, machine: &machine, hosts: &hosts };
        let began_ns = now_ns();
        let admitted = turn::admit(&mut site, &start)?;
        let done = turn::drive(&mut site, &start, admitted, &host, &|| false)?;
        let took_ns = now_ns() - began_ns;
        if done.turn().state != TurnState::Settled {
            return Err(format!("the Turn of Todo {number} is {}", done.turn().state.as_str()).into());
        }
        if is_guarded { guarded_ns.push(took_ns) } else { alone_ns.push(took_ns) }
    }
    answer(&json!({ "guarded_ns": guarded_ns, "alone_ns": alone_ns }))
}
