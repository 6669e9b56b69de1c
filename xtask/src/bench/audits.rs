//! Owns the bars of an audit: a chain beside reading and hashing its records, and a fold beside storing the same rows.

use std::io;

use serde_json::Value;

use super::{
    fixtures::{PAST, shelved},
    numbers::{Pairs, float, median},
    report::{Limit, Row},
    stage::{Stage, answer, count},
};

const ROUNDS: usize = 15;

/// What an audit of the chain alone has to reach, in events a second, where it is more than twice the least.
const EVENTS_A_SECOND: f64 = 200_000.0;

pub(super) fn audit(stage: &mut Stage<'_>) -> io::Result<Vec<Row>> {
    let home = shelved(stage, PAST)?;
    let copy = stage.folder("audit")?.join("copy.db");
    let words = [("rounds", ROUNDS.to_string()), ("copy", copy.to_string_lossy().into_owned())];
    let told = answer(stage.worker("audit", &home, &words)?)?;
    let (events, rows) = (float(count(&told, "events")?), float(count(&told, "rows")?));
    let took = |key: &str| -> Vec<f64> {
        let all = told.get(key).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_u64).map(|ns| float(ns) / 1e6).collect()
    };
    let pairs = |ours: &str, theirs: &str| Pairs { ours: took(ours), theirs: took(theirs) };
    let (chain, fold) = (pairs("chain_ns", "hash_ns"), pairs("fold_ns", "insert_ns"));
    let rate = events / median(&chain.ours) * 1e3;
    // Either is enough: what is fast is fast, whatever is read and hashed beside it.
    let limit = if rate >= EVENTS_A_SECOND { Limit::Free } else { Limit::AtMost(2.0) };
    Ok(vec![
        Row::pairs("audit verify --chain-only / SHA-256 and reads", &chain, limit)
            .with("events", events)
            .with("events_a_second", rate),
        Row::pairs("audit verify / insert of the same rows", &fold, Limit::AtMost(3.0)).with("rows", rows),
    ])
}
