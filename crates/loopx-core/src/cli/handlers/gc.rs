//! Owns the handler of `gc`.

use serde_json::json;

use super::{desk::Desk, schema, token::check_person, workbench::Workbench};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::Result,
    turn::{self, Collected, Part, Rules},
};

/// `gc`.
pub(in crate::cli) fn gc(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    check_person(context, args)?;
    let dry_run = args.switch("dry-run");
    let mut bench = Workbench::of(context, &desk)?;
    let age_ms = desk.settings.millis("retention.bodies")?;
    let rules = Rules::new(age_ms, bench.machine.keep, dry_run)?;
    let found = turn::collect(&mut bench.site(&mut desk), &rules)?;
    let body = json!({"gc": {
        "removed": !dry_run,
        "bodies": found.bodies,
        "orphans": found.orphans,
        "spools": found.spools,
        "snapshots": found.snapshots,
        "in_use": found.in_use,
        "no_room": found.no_room,
    }});
    Rendered::new(schema::GC, &body, document(&found, dry_run))
}

fn document(found: &Collected, dry_run: bool) -> Document {
    let Collected { bodies, orphans, spools, snapshots, in_use, no_room } = *found;
    let parts = [
        ("bodies of Turns that ended", bodies),
        ("bodies that no fact points at", orphans),
        ("what attempts left", spools),
        ("Turns with snapshots", snapshots),
    ];
    let rows: Vec<_> = parts
        .iter()
        .filter(|(_, part)| *part != Part::default())
        .map(|(name, part)| vec![(*name).to_owned(), part.count.to_string(), size(part.bytes)])
        .collect();
    let mut document = Document::new();
    if rows.is_empty() {
        document = document.line(if dry_run { "nothing would go" } else { "nothing was to go" });
    } else {
        document = document.table(&[if dry_run { "WOULD GO" } else { "GONE" }, "COUNT", "SIZE"], rows);
    }
    if in_use > 0 {
        document = document.line(format!("left, since somebody is at work on it: {in_use}"));
    }
    if no_room > 0 {
        let text = format!("left, since the disk has no room even to write that it is gone: {no_room}");
        document = document.line(format!("{text}; make some, and give `gc` again"));
    }
    document
}

/// A size in the greatest unit of which there is at least one.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = bytes.saturating_mul(10) / unit;
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}
