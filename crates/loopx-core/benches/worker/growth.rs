//! Owns what one process pays at a Goal's size for a claim, an admission and a status.
//!
//! Knows nothing of the other size. Words: `home=`, `run=`, `from=` (the first open Todo), `count=`; it gives back
//! what it took, so that the same ledger can be measured again.

use std::collections::BTreeSet;

use loopx_core::{
    authority::Authority,
    kernel::{ClaimCommand, Command, Outcome as Receipted, TurnCommand},
    projection,
    sdk::Operation,
};
use serde_json::{Value, json};

use super::stage::{Operations, Outcome, Words, answer, goal, now_ns, parsed, person, share, todo_id};

pub(crate) fn run(words: &Words) -> Outcome<()> {
    let (from, count): (u32, u32) = (words.get("from")?, words.get("count")?);
    let mut worker = Worker { authority: words.authority()?, operations: Operations::new()?, from, count };
    // The first pass fills the caches of the process: warm is what is asked for.
    worker.claims()?;
    let claims = worker.claims()?;
    worker.admissions()?;
    let admissions = worker.admissions()?;
    worker.statuses()?;
    let statuses = worker.statuses()?;
    answer(&json!({ "claim": claims, "admission": admissions, "status": statuses }))
}

fn spread(mut took_ns: Vec<u64>) -> Value {
    took_ns.sort_unstable();
    let total: u64 = took_ns.iter().sum();
    let mean = total / u64::try_from(took_ns.len()).unwrap_or(u64::MAX).max(1);
    json!({ "p50_ns": share(&took_ns, 50), "p99_ns": share(&took_ns, 99), "mean_ns": mean })
}

struct Worker {
    authority: Authority,
    operations: Operations,
    from: u32,
    count: u32,
}

impl Worker {
    /// Submits, and says what that took and which Turn it made.
    fn timed(&mut self, operation: Operation<Command>) -> Outcome<(u64, Receipted)> {
        let began_ns = now_ns();
        let receipt = self.authority.submit(operation)?;
        let took_ns = now_ns() - began_ns;
        Ok((took_ns, receipt.outcome()?))
    }

    fn claims(&mut self) -> Outcome<Value> {
        let mut all_ns = Vec::new();
        for agent in 1..=self.count {
            let claim = self.operations.claim(self.from + agent - 1, agent)?;
            all_ns.push(self.timed(claim)?.0);
        }
        for agent in 1..=self.count {
            let todo_id = todo_id(self.from + agent - 1)?;
            let free = ClaimCommand::ForceRelease { todo_id, reason: parsed("measured")? };
            self.timed_by_person(Command::Claim(free))?;
        }
        Ok(spread(all_ns))
    }

    fn admissions(&mut self) -> Outcome<Value> {
        let (mut all_ns, mut turns) = (Vec::new(), Vec::new());
        for agent in 1..=self.count {
            let admission = self.operations.admission(self.from + agent - 1, agent)?;
            let (took_ns, outcome) = self.timed(admission)?;
            all_ns.push(took_ns);
            turns.extend(outcome.turn_id);
        }
        for turn_id in turns {
            self.timed_by_person(Command::Turn(TurnCommand::Stop { turn_id, own_id: None, reason: None }))?;
        }
        Ok(spread(all_ns))
    }

    fn timed_by_person(&mut self, command: Command) -> Outcome<()> {
        let operation = self.operations.of(person()?, command)?;
        self.timed(operation)?;
        Ok(())
    }

    fn statuses(&mut self) -> Outcome<Value> {
        let goal = goal()?;
        let mut all_ns = Vec::new();
        for _ in 0..self.count {
            let began_ns = now_ns();
            let status = self.authority.look(|view, terms| {
                let eyes =
                    projection::Eyes { machine_id: None, driver: &|_| None, tried: &|_| Ok(BTreeSet::new()) };
                projection::status(view, terms, projection::Which::One(&goal), None, &eyes)
            })?;
            std::hint::black_box(status);
            all_ns.push(now_ns() - began_ns);
        }
        Ok(spread(all_ns))
    }
}
