//! Owns the handlers of `evidence`.

use serde_json::json;

use super::{
    desk::Desk,
    given, names, schema,
    show::{self, Facts},
    submit::{Wish, submit, written},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Command, EvidenceCommand},
    model::Evidence,
    projection::{self, EvidenceQuery, EvidenceRow, Slice},
};

/// `evidence add`.
pub(in crate::cli) fn add(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let todo_id = args.text("todo").map(|word| names::todo(&mut desk, word)).transpose()?;
    let goal = match &todo_id {
        Some(todo) => todo.goal().clone(),
        None => names::goal(&mut desk, None)?,
    };
    let command = EvidenceCommand::Add {
        todo_id,
        criterion: args.number("criterion").and_then(|number| u8::try_from(number).ok()),
        kind: given::word(args.needed("kind")?)?,
        pointer: given::needed(args, "pointer")?,
        digest: given::parsed(args, "digest")?,
        privacy: given::word(args.needed("privacy")?)?,
        verdict: args.text("verdict").map(given::word).transpose()?,
    };
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), Command::Evidence(command)))?;
    let id = done.outcome.evidence_ids.first().copied().ok_or_else(|| Error::from(Code::Internal))?;
    let document = Document::new().line(format!("recorded; evidence {id}"));
    written(schema::EVIDENCE, "evidence", &json!({"evidence_id": id, "goal_id": goal}), &done, &[], document)
}

/// `evidence list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let todo = args.text("todo").map(|word| names::todo(&mut desk, word)).transpose()?;
    let goal = match &todo {
        Some(todo) => {
            names::todo_row(&mut desk, todo)?;
            todo.goal().clone()
        }
        None => names::goal(&mut desk, None)?,
    };
    names::goal_row(&mut desk, &goal)?;
    let query = EvidenceQuery { goal: &goal, todo: todo.as_ref(), verdicts: args.texts("verdict").collect() };
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let (page, now) =
        desk.look(|view, terms| Ok((projection::evidences(view, &query, slice)?, terms.now)))?;
    show::listed(
        schema::EVIDENCE_LIST,
        &page,
        &["EVIDENCE", "KIND", "VERDICT", "FOR", "ADDED", "POINTER"],
        |EvidenceRow(piece)| {
            vec![
                names::short(&piece.evidence_id),
                projection::word(&piece.kind),
                projection::word(&piece.verdict),
                about(piece),
                show::when(piece.at, now),
                piece.pointer.to_string(),
            ]
        },
        &format!("{goal} has no such evidence."),
    )
}

/// What a piece is for.
fn about(piece: &Evidence) -> String {
    let todo = piece.todo_id.as_ref().map(ToString::to_string);
    let criterion = piece.criterion.map(|number| format!("criterion {number}"));
    let both: Vec<_> = criterion.into_iter().chain(todo).collect();
    if both.is_empty() { "-".to_owned() } else { both.join(", ") }
}

/// `evidence show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::evidence(&mut desk, args.needed("id")?)?;
    let (piece, now) = desk.look(|view, terms| Ok((projection::evidence(view, terms, &id)?, terms.now)))?;
    let facts = Facts::default()
        .add("evidence", piece.evidence_id)
        .add("goal", &piece.goal_id)
        .add("kind", projection::word(&piece.kind))
        .add("verdict", projection::word(&piece.verdict))
        .maybe("todo", piece.todo_id.as_ref())
        .maybe("turn", piece.turn_id)
        .maybe("criterion", piece.criterion)
        .maybe("digest", piece.digest)
        .add("privacy", projection::word(&piece.privacy))
        .maybe("validator", piece.validator.as_ref())
        .maybe("exit", piece.exit)
        .add("by", &piece.produced_by)
        .add("added", show::when(piece.at, now));
    let document = Document::new().heading(piece.pointer.as_str()).with(facts.block());
    Rendered::new(schema::EVIDENCE, &json!({"evidence": EvidenceRow(piece)}), document)
}
