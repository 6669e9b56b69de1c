//! Owns what `turn show` says of the work tree of a Turn: whether it was recorded, what differs, and who undid it when.
//!
//! Knows nothing of how a snapshot is taken. An undo moves no fact, so this is its only trace.

use serde_json::{Value, json};

use super::{
    names,
    reader::Reader,
    show::{self, Facts},
};
use crate::{
    error::Result,
    model::{Timestamp, Turn},
    projection,
    turn::{self, Direction, Machine, Record, Undo},
};

/// What is kept of the work tree before and after a Turn, for programs and in words.
pub(super) fn snapshot(
    machine: &Machine,
    turn: &Turn,
    now: Timestamp,
    reader: &Reader,
) -> Result<(Value, Facts)> {
    let none = |why: &str| (json!({"absent": why}), Facts::default().add("snapshot", format!("none, {why}")));
    let diff = reader.command(&format!("turn diff {}", names::short(&turn.turn_id)));
    let Some(record) = turn::recorded(machine, turn)? else { return Ok(none(turn::why_none(machine, turn))) };
    if record.after.is_none() && record.before.absent.is_none() && !turn.is_terminal() {
        return Ok(none(&format!("the Turn has not ended; up to now: {diff}")));
    }
    if let Some(why) = record.absent() {
        return Ok(none(why));
    }
    let changed = record.changes.len();
    let shown = if changed == 0 { String::new() } else { format!(": {diff}") };
    let is_undoing = turn::is_undoing(&machine.locks, turn);
    let mut facts = Facts::default()
        .add("snapshot", format!("{} changed{shown}", paths(changed)))
        .maybe("beside another", not_undone(&record));
    let last = record.undos.len().saturating_sub(1);
    for (at, undo) in record.undos.iter().enumerate() {
        let (name, text) = told(undo, changed, at == last, is_undoing, now);
        facts = facts.add(name, text).maybe("to end it", way_out(undo, at == last, is_undoing, turn, reader));
    }
    let undos = projection::with_units(serde_json::to_value(&record.undos).unwrap_or_default());
    let object = json!({
        "changed": changed, "peers": record.peers, "before_at_ms": record.before.at_ms, "undos": undos,
    });
    Ok((object, facts))
}

/// Why nothing, or not all, of a Turn that was not alone in its work tree can be undone.
pub(super) fn not_undone(record: &Record) -> Option<String> {
    let shared = record.changes.iter().filter(|change| change.shared).count();
    if record.is_nobodys() {
        let why = "it declared no scopes and another Turn was live in its work tree, so whose a change is cannot be told";
        return Some(format!("cannot be undone: {why}"));
    }
    (shared > 0).then(|| {
        let rest = record.changes.len();
        format!("not undone: {shared} of {}, which may be another Turn's", paths(rest))
    })
}

fn paths(count: usize) -> String {
    if count == 1 { "1 path".to_owned() } else { format!("{count} paths") }
}

/// One undo: what it is called, and what became of it.
fn told(
    undo: &Undo,
    changed: usize,
    is_last: bool,
    is_undoing: bool,
    now: Timestamp,
) -> (&'static str, String) {
    let Undo { by, at_ms, ended_at_ms, .. } = undo;
    let when = |ms: i64| show::when(Timestamp::from_ms(ms), now);
    let is_part = undo.paths < changed;
    let (done, doing) = match (undo.direction, is_part) {
        (Direction::Undo, false) => ("undone", "undo"),
        (Direction::Undo, true) => ("undone in part", "undo"),
        (Direction::Redo, false) => ("done again", "redo"),
        (Direction::Redo, true) => ("done again in part", "redo"),
    };
    let done_paths = if is_part { format!("{} of {}", undo.paths, paths(changed)) } else { paths(changed) };
    match ended_at_ms {
        Some(at_ms) => (done, format!("by {by}, {}, {done_paths}", when(*at_ms))),
        None if is_last && is_undoing => (doing, format!("{by} is at it, since {}", when(*at_ms))),
        None => (doing, format!("{by} began it {} and it was cut off", when(*at_ms))),
    }
}

/// What ends an undo that was cut off; none of one that needs nothing more.
fn way_out(undo: &Undo, is_last: bool, is_undoing: bool, turn: &Turn, reader: &Reader) -> Option<String> {
    let is_open = undo.ended_at_ms.is_none() && is_last && !is_undoing;
    let flag = match undo.direction {
        Direction::Undo => "",
        Direction::Redo => " --redo",
    };
    is_open.then(|| reader.command(&format!("turn undo {}{flag}", names::short(&turn.turn_id))))
}
