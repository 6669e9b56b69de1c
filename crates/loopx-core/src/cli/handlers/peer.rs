//! Owns the handlers of `peer`.

use serde_json::json;

use super::{
    desk::Desk,
    given, names,
    nouns::{self, List},
    schema,
    show::{self, Facts},
    submit::{Wish, Written, submit, written},
};
use crate::{
    boundary,
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Command, Given, PeerCommand},
    model::{NounKey, NounKind, PeerReturn, ReturnId, ReturnState, ShortText, Timestamp},
    projection,
};

/// `peer return`.
pub(in crate::cli) fn give(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let todo_id = names::todo(&mut desk, args.needed("id")?)?;
    let evidence: Result<Vec<_>> =
        args.texts("evidence").map(|word| names::evidence_for(&mut desk, word, &todo_id)).collect();
    let goal = todo_id.goal().clone();
    let given = Given {
        todo_id,
        own_id: given::parsed(args, "own")?,
        turn_id: args.text("turn").map(|word| names::turn(&mut desk, word)).transpose()?,
        evidence: evidence?,
        summary: boundary::said("summary", args.needed("summary")?, boundary::SAID_MAX_BYTES)?,
    };
    let command = Command::Peer(PeerCommand::Return(Box::new(given)));
    let done = submit(context, args, &mut desk, Wish::new(goal, command))?;
    let id = done.outcome.return_id.ok_or_else(|| Error::from(Code::Internal))?;
    let to = done.outcome.todo_ids.first().map(ToString::to_string).unwrap_or_default();
    // Whoever returned it is not who takes it in.
    let adopt = format!("{} peer adopt {}", context.program, names::short(&id));
    let document = Document::new()
        .line(format!("returned to {to}; return {id}"))
        .line(format!("the owner of {to} takes it in: {adopt} --as agent:<AGENT> --own <OWN_ID>"))
        .line(format!("or a person: {adopt}"));
    answer(id, &done, document)
}

fn reason(args: &Args) -> Result<Option<ShortText>> {
    let said = |text| boundary::said("reason", text, boundary::SAID_MAX_BYTES);
    args.text("reason").map(said).transpose()
}

/// `peer adopt`.
pub(in crate::cli) fn adopt(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    decide(context, args, |args, _, given| {
        Ok(PeerCommand::Adopt {
            return_id: given.return_id,
            todo_id: given.todo_id,
            own_id: given::parsed(args, "own")?,
            reason: reason(args)?,
        })
    })
}

/// `peer reject`.
pub(in crate::cli) fn reject(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    decide(context, args, |args, desk, given| {
        Ok(PeerCommand::Reject {
            return_id: given.return_id,
            todo_id: given.todo_id,
            own_id: given::parsed(args, "own")?,
            reason: reason(args)?.ok_or_else(|| Error::from(Code::Internal))?,
            superseded_by: args.text("superseded-by").map(|word| names::returned(desk, word)).transpose()?,
        })
    })
}

fn decide(
    context: &mut Context<'_, '_>,
    args: &Args,
    command: impl FnOnce(&Args, &mut Desk, PeerReturn) -> Result<PeerCommand>,
) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::returned(&mut desk, args.needed("id")?)?;
    let key = NounKey { kind: NounKind::PeerReturn, id: *id.as_bytes() };
    let given = desk
        .look(|view, terms| projection::noun(view, terms, key)?.for_owner().get::<PeerReturn>().cloned())?;
    let goal = given.goal_id.clone();
    let command = Command::Peer(command(args, &mut desk, given)?);
    let done = submit(context, args, &mut desk, Wish::new(goal, command))?;
    let state = done.outcome.return_state.as_deref().unwrap_or_default();
    answer(id, &done, Document::new().line(format!("return {} {state}", names::short(&id))))
}

fn answer(id: ReturnId, done: &Written, document: Document) -> Result<Rendered> {
    let object = json!({
        "return_id": id,
        "goal_id": done.receipt.goal_id(),
        "todo_id": done.outcome.todo_ids.first(),
        "state": done.outcome.return_state,
    });
    written(schema::PEER, "return", &object, done, &[], document)
}

/// `peer list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let list = List {
        schema: schema::PEER_LIST,
        head: show::RETURN_HEAD,
        row: show::returned,
        nothing: |of, open, program| {
            let first = if open { "No return waits for a word" } else { "Nothing was returned yet" };
            format!(
                "{first} in {of}; a Todo that was added with `--coordinates` gives one by `{program} peer return`."
            )
        },
    };
    nouns::listed(context, args, args.switch("open"), &list)
}

/// `peer show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::returned(&mut desk, args.needed("id")?)?;
    let key = NounKey { kind: NounKind::PeerReturn, id: *id.as_bytes() };
    let (row, now) = desk.look(|view, terms| Ok((projection::noun(view, terms, key)?, terms.now)))?;
    let given: &PeerReturn = row.for_owner().get()?;
    let document = page(given, now);
    Rendered::new(schema::PEER, &json!({"return": row}), document)
}

fn page(given: &PeerReturn, now: Timestamp) -> Document {
    let (by, reason, instead) = match &given.state {
        ReturnState::Returned => (None, None, None),
        ReturnState::Adopted { by, at, reason } => (Some((by, *at)), reason.as_ref(), None),
        ReturnState::Rejected { by, at, reason } => (Some((by, *at)), Some(reason), None),
        ReturnState::Superseded { by, at, reason, superseded_by } => {
            (Some((by, *at)), Some(reason), Some(superseded_by))
        }
    };
    let facts = Facts::default()
        .add("return", given.return_id)
        .add("state", given.state.as_str())
        .maybe("decided", by.map(|(by, at)| format!("{} by {by}", show::when(at, now))))
        .maybe("because", reason)
        .maybe("in its place", instead.map(names::short))
        .add("from", &given.from)
        .add("to", &given.todo_id)
        .add("Turn", names::short(&given.turn_id))
        .list("shown by", given.evidence.iter().map(names::short))
        .add("returned", format!("{} by {}", show::when(given.at, now), given.by));
    Document::new().heading(given.summary.as_str()).with(facts.block())
}
