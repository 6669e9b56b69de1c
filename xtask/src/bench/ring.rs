//! Owns the bars of waiting: how late a waiter in another process hears of a commit, and what waiting costs.

use std::{collections::BTreeMap, io};

use serde_json::Value;

use super::{
    fixtures::{SMALL, copied},
    numbers::{float, median, share},
    report::{Limit, Row},
    stage::{Stage, Together, answer, count},
};

const COMMITS: u64 = 300;
/// How often the cost of waiting is measured: a waiter does so little that one stall of the machine shows.
const IDLE_ROUNDS: usize = 3;

pub(super) fn wake(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let home = copied(stage, SMALL, "wake")?;
    let commits = ("commits", COMMITS.to_string());
    let waiter = stage.worker("wake", &home, &[("role", "wait".into()), commits.clone()])?;
    let writer =
        stage.worker("wake", &home, &[("role", "commit".into()), commits, ("gap_ms", "15".into())])?;
    // The waiter first: it must not miss the first commit.
    let answers = Together::start(vec![waiter, writer])?.go()?;
    let [waited, wrote] = answers.as_slice() else {
        return Err(io::Error::other("two workers gave no two answers"));
    };
    let late = lateness_ms(waited, wrote)?;
    let mut shares = Vec::new();
    for _ in 0..IDLE_ROUNDS {
        let words = [("role", "idle".into()), ("wait_ms", "10000".into())];
        let idle = answer(stage.worker("wake", &home, &words)?)?;
        shares.push(float(count(&idle, "cpu_ns")?) / float(count(&idle, "wall_ns")?) * 100.0);
    }
    let share_of_core = median(&shares);
    Ok(vec![
        Row::of("wake after a commit, p99", share(&late, 99), "ms", Limit::AtMost(5.0))
            .with("p50_ms", share(&late, 50))
            .with("longest_ms", share(&late, 100)),
        Row::of("idle waiter", share_of_core, "% of a core", Limit::AtMost(0.2)),
    ])
}

/// How long after each commit had returned it was seen.
fn lateness_ms(waited: &Value, wrote: &Value) -> io::Result<Vec<f64>> {
    let moments = |answer: &Value, key: &str| -> io::Result<BTreeMap<u64, u64>> {
        let found = answer.get(key).and_then(Value::as_object).into_iter().flatten();
        found
            .map(|(revision, at)| {
                let revision = revision.parse().map_err(io::Error::other)?;
                Ok((revision, at.as_u64().ok_or_else(|| io::Error::other("a moment is no number"))?))
            })
            .collect()
    };
    let seen = moments(waited, "seen_ns")?;
    let late = |(revision, committed): (u64, u64)| {
        // One that was overtaken was seen with the next.
        let (_, seen) = seen.range(revision..).next()?;
        // The waiter may be faster than the writer's return.
        Some(float(seen.saturating_sub(committed)) / 1e6)
    };
    let all: Vec<f64> = moments(wrote, "committed_ns")?.into_iter().filter_map(late).collect();
    if all.len() as u64 == COMMITS { Ok(all) } else { Err(io::Error::other("a commit was never seen")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_commit_that_was_never_seen_is_no_measurement() {
        let wrote = json!({ "committed_ns": { "7": 1_000_000 } });
        assert!(super::lateness_ms(&json!({ "seen_ns": { "6": 2_000_000 } }), &wrote).is_err());
    }
}
