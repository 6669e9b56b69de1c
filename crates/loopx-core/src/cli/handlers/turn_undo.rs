//! Owns the handler of `turn undo`, and how it says what became of each path.
//!
//! Knows no rule of what may be put back. It is a person's verb, and moves no fact: what is undone lies in the work tree
//! alone.

use serde_json::{Value, json};

use super::{caller::caller, desk::Desk, names, schema, turn_diff, workbench::Workbench};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    model::Assurance,
    turn::{self, Change, Direction, Fate},
};

/// `turn undo`.
pub(in crate::cli) fn undo(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let turn_id = names::turn(&mut desk, args.needed("id")?)?;
    let row = names::turn_row(&mut desk, turn_id)?;
    let dry = args.switch("dry-run");
    let who = caller(context, args, &mut desk)?;
    if !who.actor.is_user() || who.provenance.contained.is_some() {
        return Err(Error::new(Code::UserOnly, "only a person takes back what a Turn changed")
            .hint(format!("turn diff {turn_id}")));
    }
    if !dry && desk.is_strict() && who.provenance.assurance == Assurance::Stated {
        let question = format!("{}: {} {turn_id}, as {}?", context.program, args.path(), who.actor);
        if context.confirm(&question)? != Some(true) {
            return Err(Error::new(Code::Unauthenticated, "who asks is not proved").hint("token list"));
        }
    }
    let direction = if args.switch("redo") { Direction::Redo } else { Direction::Undo };
    let mut bench = Workbench::of(context, &desk)?;
    let undone = turn::undo(&mut bench.site(&mut desk), &row, direction, &who.actor, dry)?;
    let items: Vec<Value> = undone.paths.iter().map(|(change, fate)| object(change, fate)).collect();
    let is = |wanted: Fate| undone.paths.iter().filter(|(_, fate)| *fate == wanted).count();
    let (count, already) = (is(Fate::Restored), is(Fate::Already));
    let mut document = Document::new().line(said(direction, dry, count, undone.paths.len(), already));
    let rows: Vec<Vec<String>> =
        undone.paths.iter().map(|(change, fate)| cells(change, fate, direction, dry)).collect();
    if !rows.is_empty() {
        document = document.table(&["PATH", "CHANGE", "WHAT BECAME OF IT"], rows);
    }
    if !dry && count > 0 && direction == Direction::Undo {
        document = document.line(format!("take this back: {} turn undo {turn_id} --redo", context.program));
    }
    let body = json!({"turn_id": turn_id, "dry_run": dry, "redo": direction == Direction::Redo, "restored": count, "items": items});
    Rendered::new(schema::TURN_UNDO, &body, document)
}

/// What was done, or would be, in a line.
fn said(direction: Direction, dry: bool, count: usize, of: usize, already: usize) -> String {
    let paths = |count: usize| if count == 1 { "1 path".to_owned() } else { format!("{count} paths") };
    if of == 0 {
        return "the Turn changed nothing".to_owned();
    }
    let is_undo = direction == Direction::Undo;
    if count == 0 {
        let what = if is_undo { "undone" } else { "done again" };
        return match of - already {
            0 => format!("nothing to do: it is {what} already"),
            left => format!("nothing more to do: {already} {what} already, {left} left"),
        };
    }
    match (dry, is_undo) {
        (true, true) => format!("would put back {}", paths(count)),
        (true, false) => format!("would do {} again", paths(count)),
        (false, true) => format!("put back {}", paths(count)),
        (false, false) => format!("did {} again", paths(count)),
    }
}

fn object(change: &Change, fate: &Fate) -> Value {
    let mut object = turn_diff::object(change);
    if let Value::Object(fields) = &mut object {
        fields.insert("fate".to_owned(), fate.word().into());
        if let Fate::Left(why) = fate {
            fields.insert("reason".to_owned(), why.as_str().into());
        }
    }
    object
}

fn cells(change: &Change, fate: &Fate, direction: Direction, dry: bool) -> Vec<String> {
    let fate = match (fate, direction, dry) {
        (Fate::Left(why), ..) => format!("left: {why}"),
        (Fate::Shared, ..) => "left: it may be another Turn's".to_owned(),
        (Fate::Already, ..) => "it was so already".to_owned(),
        (Fate::Restored, Direction::Undo, false) => "put back".to_owned(),
        (Fate::Restored, Direction::Redo, false) => "done again".to_owned(),
        (Fate::Restored, Direction::Undo, true) => "would be put back".to_owned(),
        (Fate::Restored, Direction::Redo, true) => "would be done again".to_owned(),
    };
    vec![change.path.clone(), change.kind.letter().to_owned(), fate]
}
