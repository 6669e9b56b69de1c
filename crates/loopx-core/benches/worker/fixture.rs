//! Owns the making of a ledger that benches start from: one Goal, Todos added and completed by `Batch`, agents.
//!
//! Knows nothing of what is measured on it. Words: `home=`, `run=`, `todos=`, `done=` (of the lowest numbers),
//! `agents=`, `turns=` (claimed and given back by these agents), `blocked=` (of the highest numbers, until the first Todo
//! is done); or `compare=` with the folder of an older one, to say whether this release would make it alike.

use std::{io::Write as _, path::Path};

use loopx_core::{
    authority::Authority,
    kernel::{
        AgentCommand, BatchItem, BatchRef, ClaimCommand, Command, GoalCommand, NewGoal, NewTodo,
        Outcome as Receipted,
    },
    sdk::{Priority, TodoKind},
};
use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use super::stage::{Operations, Outcome, Words, agent_id, answer, now_ns, parsed, person, todo_id};

/// Items a batch, which is as many as one may have.
const BATCH: u32 = 10_000;

pub(crate) fn run(words: &Words) -> Outcome<()> {
    let (todos, done, agents) = (words.get("todos")?, words.get("done")?, words.get("agents")?);
    let mut maker = Maker { authority: words.create()?, operations: Operations::new()?, longest_ns: 0 };
    maker.start()?;
    let blocked: u32 = words.get_or("blocked", 0)?;
    for from in (1..=todos).step_by(BATCH as usize) {
        maker.add(from..=todos.min(from + BATCH - 1), todos.saturating_sub(blocked))?;
    }
    for from in (1..=done).step_by(BATCH as usize) {
        maker.complete(from..=done.min(from + BATCH - 1))?;
    }
    for number in 1..=agents {
        let add = AgentCommand::Add { agent_id: agent_id(number)?, capabilities: [].into() };
        maker.submit(Command::Agent(add))?;
    }
    for past in 0..words.get_or("turns", 0)? {
        maker.past_turn(1 + past % todos, 1 + past % agents)?;
    }
    let longest_ns = maker.longest_ns;
    // Closed first: the log is emptied by the last writer.
    drop(maker);
    let path = words.ledger_path()?;
    let like = if words.has("compare") {
        let other: std::path::PathBuf = words.get("compare")?;
        Some(schema(&path)? == schema(&other)?)
    } else {
        None
    };
    answer(&json!({ "todos": todos, "done": done, "longest_batch_ns": longest_ns, "like": like }))
}

/// The tables and indexes of a file, as it has them.
fn schema(path: &Path) -> Outcome<Vec<String>> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut statement = conn.prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

struct Maker {
    authority: Authority,
    operations: Operations,
    longest_ns: u64,
}

impl Maker {
    fn submit(&mut self, command: Command) -> Outcome<()> {
        let operation = self.operations.of(person()?, command)?;
        self.authority.submit(operation)?;
        Ok(())
    }

    fn start(&mut self) -> Outcome<()> {
        self.submit(Command::Goal(GoalCommand::Start(Box::new(NewGoal::wanting(parsed(
            "Measure what LoopX costs",
        )?)))))
    }

    /// One Turn of an agent on a Todo, which is free again after it.
    fn past_turn(&mut self, todo: u32, agent: u32) -> Outcome<()> {
        let claimed = self.operations.claim(todo, agent)?;
        let actor = claimed.actor.clone();
        let own_id = self.authority.submit(claimed)?.outcome::<Receipted>()?.own_id;
        let release = ClaimCommand::Release { todo_id: todo_id(todo)?, own_id };
        let released = self.operations.of(actor, Command::Claim(release))?;
        self.authority.submit(released)?;
        Ok(())
    }

    fn batch(&mut self, items: Vec<BatchItem>) -> Outcome<()> {
        let started_ns = now_ns();
        self.submit(Command::Batch(items))?;
        let took_ns = now_ns() - started_ns;
        self.longest_ns = self.longest_ns.max(took_ns);
        Ok(writeln!(std::io::stderr(), "a batch in {} ms", took_ns / 1_000_000)?)
    }

    /// Adds Todos; those above a number wait for the first one.
    fn add(&mut self, numbers: impl Iterator<Item = u32>, free_to: u32) -> Outcome<()> {
        let item = |number: u32| -> Outcome<BatchItem> {
            let title = parsed(&format!("Todo {number}: port one more module and prove it with its tests"))?;
            let mut new = NewTodo::titled(title, TodoKind::Advance);
            let priorities = Priority::ALL.iter().cycle();
            new.priority = priorities.copied().nth(usize::try_from(number % 5)?).unwrap_or_default();
            if number > free_to {
                new.depends_on = [todo_id(1)?].into();
            }
            Ok(BatchItem::Add { new: Box::new(new), after_items: [].into() })
        };
        let items = numbers.map(item).collect::<Outcome<_>>()?;
        self.batch(items)
    }

    fn complete(&mut self, numbers: impl Iterator<Item = u32>) -> Outcome<()> {
        let item = |number| Ok(BatchItem::Complete { todo: BatchRef::Todo(todo_id(number)?) });
        let items = numbers.map(item).collect::<Outcome<_>>()?;
        self.batch(items)
    }
}
