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
    let count = undone.paths.iter().filter(|(_, fate)| *fate == Fate::Restored).count();
    let mut document = Document::new().line(said(direction, dry, &undone.paths));
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

/// How many of the paths that stay are named.
const NAMED_MAX: usize = 3;

/// What was done, or would be, in a line: of how many paths, and which stay as they are.
fn said(direction: Direction, dry: bool, found: &[(Change, Fate)]) -> String {
    let of = found.len();
    if of == 0 {
        return "the Turn changed nothing".to_owned();
    }
    let is = |wanted: Fate| found.iter().filter(|(_, fate)| *fate == wanted).count();
    let (count, already) = (is(Fate::Restored), is(Fate::Already));
    let stays = |fate: &Fate| matches!(fate, Fate::Left(_) | Fate::Shared);
    let stay: Vec<&str> =
        found.iter().filter(|(_, fate)| stays(fate)).map(|(change, _)| change.path.as_str()).collect();
    let named: Vec<&str> = stay.iter().copied().take(NAMED_MAX).collect();
    let rest = match stay.len() {
        0 => String::new(),
        1 => format!("; {} stays", named.join(", ")),
        n if n > NAMED_MAX => format!("; {} and {} more stay", named.join(", "), n - NAMED_MAX),
        _ => format!("; {} stay", named.join(", ")),
    };
    let paths = |count: usize| if count == 1 { "1 path".to_owned() } else { format!("{count} paths") };
    if count > 0 {
        let many = if stay.is_empty() { paths(count) } else { format!("{count} of {}", paths(of)) };
        return match (direction, dry) {
            (Direction::Undo, true) => format!("would put back {many}{rest}"),
            (Direction::Undo, false) => format!("put back {many}{rest}"),
            (Direction::Redo, true) => format!("would do {many} again{rest}"),
            (Direction::Redo, false) => format!("did {many} again{rest}"),
        };
    }
    let done = if direction == Direction::Undo { "undone" } else { "done again" };
    if stay.is_empty() {
        format!("nothing to do: it is {done} already")
    } else {
        format!("nothing more to do: {already} of {} {done} already{rest}", paths(of))
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
