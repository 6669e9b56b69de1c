//! Owns what `turn show` says of the work tree of a Turn: whether it was recorded, what differs, and who undid it when.
//!
//! Knows nothing of how a snapshot is taken. An undo moves no fact, so this is its only trace.

use serde_json::{Value, json};

use super::{names, reader::Reader, show};
use crate::{
    error::Result,
    model::{Timestamp, Turn},
    projection,
    turn::{self, Direction, Machine, Undo},
};

/// What is kept of the work tree before and after a Turn, for programs and in words.
pub(super) fn snapshot(
    machine: &Machine,
    turn: &Turn,
    now: Timestamp,
    reader: &Reader,
) -> Result<(Value, Vec<String>)> {
    let none = |why: &str| (json!({"absent": why}), vec![format!("snapshot: none, {why}")]);
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
    let mut lines = vec![format!("snapshot: {} changed{shown}", paths(changed))];
    let last = record.undos.len().saturating_sub(1);
    let shown = record.undos.iter().enumerate();
    lines.extend(shown.map(|(at, undo)| line(undo, at == last, is_undoing, turn, now, reader)));
    let undos = projection::with_units(serde_json::to_value(&record.undos).unwrap_or_default());
    let object = json!({
        "changed": changed, "peers": record.peers, "before_at_ms": record.before.at_ms, "undos": undos,
    });
    Ok((object, lines))
}

fn paths(count: usize) -> String {
    if count == 1 { "1 path".to_owned() } else { format!("{count} paths") }
}

fn line(
    undo: &Undo,
    is_last: bool,
    is_undoing: bool,
    turn: &Turn,
    now: Timestamp,
    reader: &Reader,
) -> String {
    let Undo { by, at_ms, ended_at_ms, .. } = undo;
    let when = |ms: i64| show::when(Timestamp::from_ms(ms), now);
    let (done, doing, flag) = match undo.direction {
        Direction::Undo => ("undone", "undo", ""),
        Direction::Redo => ("done again", "redo", " --redo"),
    };
    match ended_at_ms {
        Some(at_ms) => format!("{done}: by {by}, {}, {}", when(*at_ms), paths(undo.paths)),
        None if !is_last => format!("{doing}: {by} began it {} and it was cut off", when(*at_ms)),
        None if is_undoing => format!("{doing}: {by} is at it, since {}", when(*at_ms)),
        None => format!(
            "{doing}: {by} began it {} and it was cut off; to end it: {}",
            when(*at_ms),
            reader.command(&format!("turn undo {}{flag}", names::short(&turn.turn_id)))
        ),
    }
}
