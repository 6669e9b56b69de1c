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
    let undone = turn::undo(&mut bench.site(&mut desk), &row, direction, dry)?;
    let items: Vec<Value> = undone.paths.iter().map(|(change, fate)| object(change, fate)).collect();
    let count = undone.paths.iter().filter(|(_, fate)| *fate == Fate::Restored).count();
    let paths = if count == 1 { "1 path".to_owned() } else { format!("{count} paths") };
    let said = match (dry, direction) {
        (true, Direction::Undo) => format!("would put back {paths}"),
        (true, Direction::Redo) => format!("would do {paths} again"),
        (false, Direction::Undo) => format!("put back {paths}"),
        (false, Direction::Redo) => format!("did {paths} again"),
    };
    let rows: Vec<Vec<String>> = undone.paths.iter().map(|(change, fate)| cells(change, fate)).collect();
    let mut document = Document::new().line(said);
    if !rows.is_empty() {
        document = document.table(&["PATH", "CHANGE", "WHAT BECAME OF IT"], rows);
    }
    if !dry && count > 0 && direction == Direction::Undo {
        document = document.line(format!("take this back: {} turn undo {turn_id} --redo", context.program));
    }
    let body = json!({"turn_id": turn_id, "dry_run": dry, "redo": direction == Direction::Redo, "restored": count, "items": items});
    Rendered::new(schema::TURN_UNDO, &body, document)
}

fn word(fate: &Fate) -> &'static str {
    match fate {
        Fate::Restored => "restored",
        Fate::Already => "already",
        Fate::Shared => "shared",
        Fate::Left(_) => "left",
    }
}

fn object(change: &Change, fate: &Fate) -> Value {
    let mut object = turn_diff::object(change);
    if let Value::Object(fields) = &mut object {
        fields.insert("fate".to_owned(), word(fate).into());
        if let Fate::Left(why) = fate {
            fields.insert("reason".to_owned(), why.as_str().into());
        }
    }
    object
}

fn cells(change: &Change, fate: &Fate) -> Vec<String> {
    let fate = match fate {
        Fate::Left(why) => format!("left: {why}"),
        Fate::Shared => "left: it may be another Turn's".to_owned(),
        Fate::Already => "it was so already".to_owned(),
        Fate::Restored => "put back".to_owned(),
    };
    vec![change.path.clone(), change.kind.letter().to_owned(), fate]
}
