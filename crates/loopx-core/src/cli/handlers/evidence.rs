//! Owns the handlers of `evidence`.

use std::path::Path;

use serde_json::json;

use super::{
    desk::{Desk, tree_of},
    evidence_file, given, names, schema,
    show::{self, Facts},
    submit::{Wish, operation_id, submit, written},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Command, EvidenceCommand, Outcome},
    model::{Digest, Evidence, EvidenceKind, ShortText, gathered},
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
    let kind = given::word(args.needed("kind")?)?;
    let (pointer, digest) = pointed(context, args, &mut desk, kind)?;
    let command = EvidenceCommand::Add {
        todo_id,
        criterion: args.number("criterion").and_then(|number| u8::try_from(number).ok()),
        kind,
        pointer,
        digest,
        privacy: given::word(args.needed("privacy")?)?,
        verdict: args.text("verdict").map(given::word).transpose()?,
    };
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), Command::Evidence(command)))?;
    let id = done.outcome.evidence_ids.first().copied().ok_or_else(|| Error::from(Code::Internal))?;
    let document = Document::new().line(format!("recorded; evidence {id}"));
    written(schema::EVIDENCE, "evidence", &json!({"evidence_id": id, "goal_id": goal}), &done, &[], document)
}

/// What it points at, and the digest of that: of a file the place in the work tree, looked at now; of a repeated
/// operation what was seen then, since the file may have changed or gone.
fn pointed(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    kind: EvidenceKind,
) -> Result<(ShortText, Option<Digest>)> {
    let (pointer, digest) = (given::needed::<ShortText>(args, "pointer")?, given::parsed(args, "digest")?);
    if kind != EvidenceKind::File {
        return Ok((pointer, digest));
    }
    let real = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let here = real(context.folder()?);
    let root = tree_of(&here, desk.project.as_ref()).map_or_else(|| here.clone(), |root| real(&root));
    if let Some(before) = recorded(args, desk)? {
        let path = evidence_file::place(&root, &here, pointer.as_str())?;
        return Ok((path.parse()?, digest.or(before.digest)));
    }
    let found = evidence_file::look(&root, &here, pointer.as_str(), digest)?;
    Ok((found.path.parse()?, Some(found.digest)))
}

/// The piece that an operation of this id recorded before.
fn recorded(args: &Args, desk: &mut Desk) -> Result<Option<Evidence>> {
    if args.text("op-id").is_none() {
        return Ok(None);
    }
    let Some(receipt) = desk.authority.receipt(&operation_id(args)?)? else { return Ok(None) };
    let Some(id) = receipt.outcome::<Outcome>()?.evidence_ids.first().copied() else { return Ok(None) };
    Ok(Some(desk.look(|view, terms| projection::evidence(view, terms, &id))?.for_owner().clone()))
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
    let query = EvidenceQuery { goal: &goal, todo: todo.as_ref(), verdicts: gathered(args.texts("verdict")) };
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let (page, now) =
        desk.look(|view, terms| Ok((projection::evidences(view, &query, slice)?, terms.now)))?;
    let of = todo.as_ref().map_or_else(|| goal.to_string(), ToString::to_string);
    let is_any = args.texts("verdict").next().is_none();
    show::listed_whole(
        schema::EVIDENCE_LIST,
        &page,
        &["EVIDENCE", "KIND", "VERDICT", "FOR", "ADDED", "POINTER"],
        |row| {
            let EvidenceRow(piece) = row.for_owner();
            vec![
                names::short(&piece.evidence_id),
                projection::word(&piece.kind),
                projection::word(&piece.verdict),
                about(piece),
                show::when(piece.at, now),
                piece.pointer.to_string(),
            ]
        },
        &if is_any {
            format!(
                "{of} has no evidence yet; `{} evidence add <POINTER> --kind <KIND>` adds some.",
                context.program
            )
        } else {
            format!("{of} has no evidence with such a verdict.")
        },
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
    let piece = piece.for_owner();
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
    Rendered::new(schema::EVIDENCE, &json!({"evidence": EvidenceRow(piece.clone())}), document)
}
