//! Owns the answer of `turn diff`: which paths a Turn changed, and their text.
//!
//! Knows nothing of how a snapshot is taken. What stands in files is printed as any text is: nothing in it steers a
//! terminal.

use serde_json::{Value, json};

use super::{desk::Desk, names, schema, workbench::Workbench};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::Result,
    turn::{self, Change},
};

/// `turn diff`.
pub(in crate::cli) fn diff(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let turn_id = names::turn(&mut desk, args.needed("id")?)?;
    let row = names::turn_row(&mut desk, turn_id)?;
    let machine = Workbench::of(context, &desk)?.machine;
    let record = turn::recorded(&machine, &row)?;
    let absent = match &record {
        Some(record) => record.absent(),
        None => Some(turn::why_none(&machine, &row)),
    };
    let (Some(record), None) = (&record, absent) else {
        let why = absent.unwrap_or_default();
        let document = Document::new().line(format!("no snapshots of the Turn {turn_id}: {why}"));
        return Rendered::new(
            schema::TURN_DIFF,
            &json!({"turn_id": turn_id, "absent": why, "items": []}),
            document,
        );
    };
    let items: Vec<Value> = record.changes.iter().map(object).collect();
    let mut document = Document::new();
    if record.changes.is_empty() {
        document = document.line(format!("the Turn {turn_id} changed nothing"));
    } else if args.switch("name-only") {
        document = document.lines(record.changes.iter().map(|change| change.path.clone()));
    } else {
        let said = turn::text(&machine, &row, record)?;
        if args.switch("stat") {
            let rows = record.changes.iter().zip(&said.counts).map(|(change, count)| cells(change, *count));
            document = document.table(&["PATH", "CHANGE", "LINES", "UNDO"], rows.collect());
        } else {
            document = document.verbatim(said.text.replace('\r', "\u{240d}"));
            if said.left_out > 0 {
                document = document.line(format!("{} more paths: --name-only", said.left_out));
            }
        }
    }
    let body = json!({
        "turn_id": turn_id, "before_at_ms": record.before.at_ms,
        "after_at_ms": record.after.as_ref().map(|after| after.at_ms),
        "peers": record.peers, "items": items, "left_out": record.left_out,
    });
    Rendered::new(schema::TURN_DIFF, &body, document)
}

/// What programs are told of a path.
pub(super) fn object(change: &Change) -> Value {
    json!({
        "path": change.path, "change": change.kind, "shared": change.shared,
        "restorable": change.is_restorable(), "reason": change.lost,
    })
}

fn cells(change: &Change, count: Option<(usize, usize)>) -> Vec<String> {
    let lines = count.map_or_else(|| "-".to_owned(), |(came, went)| format!("+{came} -{went}"));
    let undo = match &change.lost {
        _ if change.shared => "no: shared".to_owned(),
        Some(why) => format!("no: {why}"),
        None => "yes".to_owned(),
    };
    vec![change.path.clone(), change.kind.letter().to_owned(), lines, undo]
}
