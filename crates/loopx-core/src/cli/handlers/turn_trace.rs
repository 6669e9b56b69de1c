//! Owns what `turn show` says of the work tree of a Turn: whether it was recorded, what differs, and who undid it when.
//!
//! Knows nothing of how a snapshot is taken. An undo moves no fact, so this is its only trace.

use serde_json::{Value, json};

use super::show;
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
    program: &str,
) -> Result<(Value, Vec<String>)> {
    let none = |why: &str| (json!({"absent": why}), vec![format!("snapshot: none, {why}")]);
    let Some(record) = turn::recorded(machine, turn)? else { return Ok(none(turn::why_none(machine, turn))) };
    if record.after.is_none() && record.before.absent.is_none() && !turn.is_terminal() {
        let why =
            format!("the Turn has not ended; `turn diff {}` shows what differs up to now", turn.turn_id);
        return Ok(none(&why));
    }
    if let Some(why) = record.absent() {
        return Ok(none(why));
    }
    let changed = record.changes.len();
    let differs = format!("snapshot: {} changed, `turn diff {}` shows them", paths(changed), turn.turn_id);
    let is_undoing = turn::is_undoing(&machine.locks, turn);
    let mut lines = vec![differs];
    let last = record.undos.len().saturating_sub(1);
    let shown = record.undos.iter().enumerate();
    lines.extend(shown.map(|(at, undo)| line(undo, at == last, is_undoing, turn, now, program)));
    let undos = projection::with_units(serde_json::to_value(&record.undos).unwrap_or_default());
    let object = json!({
        "changed": changed, "peers": record.peers, "before_at_ms": record.before.at_ms, "undos": undos,
    });
    Ok((object, lines))
}

fn paths(count: usize) -> String {
    if count == 1 { "1 path".to_owned() } else { format!("{count} paths") }
}

fn line(undo: &Undo, is_last: bool, is_undoing: bool, turn: &Turn, now: Timestamp, program: &str) -> String {
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
            "{doing}: {by} began it {} and it was cut off; `{program} turn undo {}{flag}` ends it",
            when(*at_ms),
            turn.turn_id
        ),
    }
}
