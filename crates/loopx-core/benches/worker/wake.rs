//! Owns the two ends of a wake-up: a process that waits for commits, and one that makes them.
//!
//! Knows nothing of the bell between them. Words: `home=`, `run=`, and `role=wait` with `commits=`, `role=commit`
//! with `commits=` and `gap_ms=`, or `role=idle` with `wait_ms=`; `barrier`.

use std::{collections::BTreeMap, time::Duration};

use loopx_core::{
    authority::Authority,
    kernel::{AgentCommand, Command},
};
use rustix::{event, fs::Timespec};
use serde_json::json;

use super::stage::{Operations, Outcome, Words, answer, cpu_ns, goal, meet, now_ns, parsed, person};

/// Longer than any commit takes to be heard of.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn run(words: &Words) -> Outcome<()> {
    let authority = words.authority()?;
    match words.get::<String>("role")?.as_str() {
        "wait" => wait(words, authority),
        "commit" => commit(words, authority),
        "idle" => idle(words, authority),
        other => Err(format!("no role `{other}`").into()),
    }
}

fn revision(authority: &mut Authority) -> Outcome<u64> {
    let goal = goal()?;
    Ok(authority.read(|view| Ok(view.head(&goal)?.map_or(0, |head| head.seq)))?)
}

/// Notes when each revision is first seen.
fn wait(words: &Words, mut authority: Authority) -> Outcome<()> {
    let goal = goal()?;
    let mut seen = revision(&mut authority)?;
    let until = seen + words.get::<u64>("commits")?;
    meet(words)?;
    let mut when_ns = BTreeMap::new();
    while seen < until {
        let woken = authority.wait(PATIENCE, |view| {
            let now = view.head(&goal)?.map_or(0, |head| head.seq);
            let moved = now > seen;
            seen = seen.max(now);
            Ok(moved)
        })?;
        if !woken {
            return Err(format!("no commit was heard of after revision {seen}").into());
        }
        when_ns.insert(seen, now_ns());
    }
    answer(&json!({ "seen_ns": when_ns }))
}

/// Notes when each commit had returned, with a pause after each.
fn commit(words: &Words, mut authority: Authority) -> Outcome<()> {
    let mut operations = Operations::new()?;
    let gap = Duration::from_millis(words.get("gap_ms")?);
    let commits: u64 = words.get("commits")?;
    meet(words)?;
    let mut when_ns = BTreeMap::new();
    for commit in 0..commits {
        let agent = parsed(&format!("w{:x}-{commit}", now_ns()))?;
        let add = Command::Agent(AgentCommand::Add { agent_id: agent, capabilities: [].into() });
        let receipt = authority.submit(operations.of(person()?, add)?)?;
        when_ns.insert(receipt.accepted_revision(), now_ns());
        event::poll(&mut [], Some(&Timespec::try_from(gap)?))?;
    }
    answer(&json!({ "committed_ns": when_ns }))
}

/// Waits for what never comes, and says what that cost.
fn idle(words: &Words, mut authority: Authority) -> Outcome<()> {
    let wait = Duration::from_millis(words.get("wait_ms")?);
    // The first look opens the file and the bell, which is not what waiting costs.
    authority.wait(Duration::ZERO, |_| Ok(false))?;
    let (started_ns, started_cpu_ns) = (now_ns(), cpu_ns());
    authority.wait(wait, |_| Ok(false))?;
    answer(&json!({ "wall_ns": now_ns() - started_ns, "cpu_ns": cpu_ns() - started_cpu_ns }))
}
