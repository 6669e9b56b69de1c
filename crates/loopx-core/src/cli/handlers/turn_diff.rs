//! Owns the answer of `turn diff`: which paths a Turn changed, and their text.
//!
//! Knows nothing of how a snapshot is taken. What stands in files is printed as any text is: nothing in it steers a
//! terminal.

use serde_json::{Value, json};

use super::{desk::Desk, names, schema, turn_trace, workbench::Workbench};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Error, Result},
    model::{Turn, TurnState},
    turn::{self, Change, Fate, Machine, Record, Undone},
};

/// `turn diff`.
pub(in crate::cli) fn diff(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let turn_id = names::turn(&mut desk, args.needed("id")?)?;
    let row = names::turn_row(&mut desk, turn_id)?;
    let mut bench = Workbench::of(context, &desk)?;
    let machine = bench.machine.clone();
    let (record, absent) = shown(&machine, &row)?;
    let (Some(record), None) = (&record, &absent) else {
        let why = absent.unwrap_or_default();
        let document = Document::new().line(format!("no snapshots of the Turn {turn_id}: {why}"));
        return Rendered::new(
            schema::TURN_DIFF,
            &json!({"turn_id": turn_id, "absent": why, "items": []}),
            document,
        );
    };
    let mut items: Vec<Value> = record.changes.iter().map(object).collect();
    let mut document = Document::new();
    let undoable = args.switch("stat").then(|| turn::would_undo(&mut bench.site(&mut desk), &row));
    let so_far = record.after.is_none();
    if so_far && args.switch("name-only") {
        context.note(&up_to_now(&row));
    } else if so_far {
        document = document.line(up_to_now(&row));
    }
    if record.changes.is_empty() {
        let yet = if so_far { " yet" } else { "" };
        document = document.line(format!("the Turn {turn_id} changed nothing{yet}"));
    } else if args.switch("name-only") {
        document = document.lines(record.changes.iter().map(|change| change.path.clone()));
    } else {
        let said = turn::text(&machine, &row, record)?;
        if let Some(undoable) = &undoable {
            let rows = record
                .changes
                .iter()
                .zip(&said.counts)
                .map(|(change, count)| cells(change, *count, fate(undoable, change)));
            document = document.table(&["PATH", "CHANGE", "LINES", "UNDO"], rows.collect());
            let refused = undoable.as_ref().err();
            document =
                document.lines(refused.map(|error| format!("`turn undo` is refused: {}", error.message())));
        } else {
            document = document.verbatim(said.text.replace('\r', "\u{240d}"));
            if said.left_out > 0 {
                document = document.line(format!("{} more paths: --name-only", said.left_out));
            }
            document = document.lines(turn_trace::not_undone(record));
        }
    }
    for (item, change) in items.iter_mut().zip(&record.changes) {
        if let (Value::Object(fields), Some(undoable)) = (item, &undoable) {
            let word = fate(undoable, change).map_or(REFUSED, Fate::word);
            fields.insert("undo".to_owned(), word.into());
        }
    }
    let body = json!({
        "turn_id": turn_id, "before_at_ms": record.before.at_ms,
        "after_at_ms": record.after.as_ref().map(|after| after.at_ms), "so_far": so_far, "state": row.state.as_str(),
        "peers": record.peers, "items": items, "left_out": record.left_out,
    });
    Rendered::new(schema::TURN_DIFF, &body, document)
}

/// What there is to show of a Turn, and why there is nothing; of one that has its last snapshot still before it, what it
/// changed up to now.
fn shown(machine: &Machine, turn: &Turn) -> Result<(Option<Record>, Option<String>)> {
    let Some(record) = turn::recorded(machine, turn)? else {
        return Ok((None, Some(turn::why_none(machine, turn).to_owned())));
    };
    if record.after.is_none() && record.before.absent.is_none() {
        return Ok(match turn::so_far(machine, turn, &record) {
            Ok(record) => (Some(record), None),
            Err(error) => (Some(record), Some(error.message().to_owned())),
        });
    }
    let absent = record.absent().map(str::to_owned);
    Ok((Some(record), absent))
}

/// Says that what follows is not the whole of it.
fn up_to_now(turn: &Turn) -> String {
    let id = turn.turn_id;
    match turn.state {
        TurnState::Admitted | TurnState::Dispatched => {
            format!("the Turn {id} is still running: this is the difference up to now")
        }
        _ if turn.is_terminal() => {
            format!(
                "the Turn {id} has ended, and its last snapshot is not taken yet: this is the difference up to now"
            )
        }
        // wildcard: every other state waits for its end
        _ => format!(
            "the Turn {id} is {} and has not ended: this is the difference up to now",
            turn.state.as_str()
        ),
    }
}

/// What programs are told of a path.
pub(super) fn object(change: &Change) -> Value {
    json!({
        "path": change.path, "change": change.kind, "shared": change.shared,
        "restorable": change.is_restorable(), "reason": change.lost,
    })
}

/// What programs are told of each path while an undo of the whole is refused.
const REFUSED: &str = "refused";

/// What an undo would do at a path; none where it is refused as a whole.
fn fate<'u>(undoable: &'u Result<Undone, Error>, change: &Change) -> Option<&'u Fate> {
    let paths = &undoable.as_ref().ok()?.paths;
    paths.iter().find(|(one, _)| one.path == change.path).map(|(_, fate)| fate)
}

fn cells(change: &Change, count: Option<(usize, usize)>, fate: Option<&Fate>) -> Vec<String> {
    let lines = count.map_or_else(|| "-".to_owned(), |(came, went)| format!("+{came} -{went}"));
    let undo = match fate {
        None => "no".to_owned(),
        Some(Fate::Restored) => "yes".to_owned(),
        Some(Fate::Already) => "no: it was so already".to_owned(),
        Some(Fate::Shared) => "no: shared".to_owned(),
        Some(Fate::Left(why)) => format!("no: {why}"),
    };
    vec![change.path.clone(), change.kind.letter().to_owned(), lines, undo]
}
