//! Owns what every worker starts from: its arguments, its profile, its operations, its clocks, its answer.
//!
//! Knows nothing of what is measured. A worker prints one JSON object; the harness that started it is xtask's.

use std::{
    collections::BTreeMap,
    error::Error,
    io::{self, BufRead as _, Write as _},
    path::PathBuf,
    str::FromStr,
};

use loopx_core::{
    authority::{
        Authority,
        profile::{Env, NewProfile, Place, Profile, filesystem::HostFilesystem},
    },
    kernel::{ClaimCommand, Command, claim::Claim},
    sdk::{Actor, AgentId, EndpointId, Executor, GoalId, MachineId, Operation, TodoId},
};
use rustix::time::{ClockId, clock_gettime};

/// What a worker's step returns.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// The one Goal of a fixture.
pub(crate) const GOAL: &str = "bench";

/// The words `key=value` of a command line.
#[derive(Debug)]
pub(crate) struct Words(BTreeMap<String, String>);

impl Words {
    /// Takes them; one without `=` is a key with an empty value.
    pub(crate) fn of(words: impl Iterator<Item = String>) -> Self {
        let split = |word: String| match word.split_once('=') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (word, String::new()),
        };
        Self(words.map(split).collect())
    }

    /// Whether a word was given.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The value of a word that must be given.
    pub(crate) fn get<T: FromStr<Err: Error + 'static>>(&self, key: &str) -> Outcome<T> {
        let value = self.0.get(key).ok_or_else(|| format!("`{key}=` is missing"))?;
        Ok(value.parse().map_err(|e| format!("`{key}={value}`: {e}"))?)
    }

    /// The value of a word, or what stands for it.
    pub(crate) fn get_or<T: FromStr<Err: Error + 'static>>(&self, key: &str, or: T) -> Outcome<T> {
        if self.has(key) { self.get(key) } else { Ok(or) }
    }

    /// Where the profile lies.
    pub(crate) fn env(&self) -> Outcome<Env> {
        let home: PathBuf = self.get("home")?;
        // The runtime folder is the harness's, so that a bell is rung where the product would ring it.
        Ok(Env { loopx_home: Some(home), xdg_runtime_dir: Some(self.get("run")?), ..Env::default() })
    }

    /// The ledger in `home=`, with `run=` for its bell.
    pub(crate) fn authority(&self) -> Outcome<Authority> {
        let env = self.env()?;
        let profile = Profile::open(&Place::resolve(&env)?, &env, &HostFilesystem)?;
        Ok(Authority::open(&profile, &env)?)
    }

    /// The ledger's file.
    pub(crate) fn ledger_path(&self) -> Outcome<PathBuf> {
        Ok(Place::resolve(&self.env()?)?.authority_db())
    }

    /// Makes the profile and the ledger of `home=`.
    pub(crate) fn create(&self) -> Outcome<Authority> {
        let env = self.env()?;
        let new = NewProfile { profile_id: "prf_00000000000000000000000000".to_owned(), created_at_ms: 0 };
        let (profile, _) = Profile::open_or_create(&Place::resolve(&env)?, &env, &HostFilesystem, &new)?;
        Ok(Authority::create(&profile, &env)?)
    }
}

/// Parses a text that stands in this code.
pub(crate) fn parsed<T: FromStr<Err: Error + 'static>>(text: &str) -> Outcome<T> {
    Ok(text.parse()?)
}

/// The Goal's id.
pub(crate) fn goal() -> Outcome<GoalId> {
    parsed(GOAL)
}

/// The Todo with a number.
pub(crate) fn todo_id(number: u32) -> Outcome<TodoId> {
    parsed(&format!("{GOAL}.{number}"))
}

/// The agent with a number.
pub(crate) fn agent_id(number: u32) -> Outcome<AgentId> {
    parsed(&format!("a{number}"))
}

/// The person who prepares.
pub(crate) fn person() -> Outcome<Actor> {
    parsed("user:bench")
}

/// Makes operations with ids that no other process makes.
#[derive(Debug)]
pub(crate) struct Operations {
    goal: GoalId,
    prefix: String,
    made: u64,
}

impl Operations {
    /// Starts to count.
    pub(crate) fn new() -> Outcome<Self> {
        Ok(Self { goal: goal()?, prefix: format!("{:x}-{}", now_ns(), std::process::id()), made: 0 })
    }

    /// The next operation.
    pub(crate) fn of(&mut self, actor: Actor, command: Command) -> Outcome<Operation<Command>> {
        self.made += 1;
        let id = parsed(&format!("{}-{}", self.prefix, self.made))?;
        Ok(Operation::embedded(id, actor, self.goal.clone(), command))
    }

    /// A claim by the agent that has the Todo's number among agents.
    pub(crate) fn claim(&mut self, todo: u32, agent: u32) -> Outcome<Operation<Command>> {
        let actor = parsed(&format!("agent:a{agent}"))?;
        self.of(actor, Command::Claim(ClaimCommand::Claim(Box::new(attached(todo_id(todo)?)))))
    }

    /// The admission of a hosted Turn, as its driver asks for it.
    pub(crate) fn admission(&mut self, todo: u32, agent: u32) -> Outcome<Operation<Command>> {
        let agent = agent_id(agent)?;
        let endpoint: EndpointId = parsed(&format!("{agent}.cli"))?;
        let claim = Claim {
            executor: Executor::Hosted,
            executor_of: Some((agent, endpoint)),
            machine_id: Some(parsed::<MachineId>("beac4")?),
            ..attached(todo_id(todo)?)
        };
        self.of(person()?, Command::Claim(ClaimCommand::Claim(Box::new(claim))))
    }
}

fn attached(todo_id: TodoId) -> Claim {
    Claim::attached(todo_id)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let (seconds, rest) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or_default() * 1_000_000_000 + rest.unwrap_or_default()
}

/// The machine's monotonic clock, the same for every process, in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// The processor time this process has used, in nanoseconds.
pub(crate) fn cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

/// The value below which a share of a sorted list lies; 0 of an empty list.
pub(crate) fn share(sorted: &[u64], percent: usize) -> u64 {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

/// Says that preparations are over, and waits for the harness, if `barrier` was given.
pub(crate) fn meet(words: &Words) -> Outcome<()> {
    if words.has("barrier") {
        writeln!(io::stdout(), "ready")?;
        io::stdin().lock().read_line(&mut String::new())?;
    }
    Ok(())
}

/// Prints the answer.
pub(crate) fn answer(value: &serde_json::Value) -> Outcome<()> {
    Ok(writeln!(io::stdout(), "{value}")?)
}
