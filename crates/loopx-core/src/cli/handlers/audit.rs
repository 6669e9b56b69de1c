//! Owns the handlers of `audit`: what is checked, and how the answer is told.
//!
//! Changes nothing.

use serde_json::json;

use super::{desk::Desk, names, schema, show::Facts, ticking::Ticking};
use crate::{
    authority::{Audited, Flaw, TurnFilter, profile::file},
    cli::{Args, Context, Document, Format, Rendered},
    error::{Code, Error, Result},
    model::{Digest, json_value},
    projection::{self, ChainExport, PROOF_MAX_BYTES, PROOF_SCHEMA},
};

/// What the ledger's own chain is called beside the Goals.
const OWN: &str = "(the ledger)";

/// `audit verify`.
pub(in crate::cli) fn verify(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal_given(args)?;
    let chain_only = args.switch("chain-only");
    let format = context.look.format;
    let mut ticking = Ticking::of(context);
    let audited = desk.authority.audit(goal.as_ref(), chain_only, &mut |progress| {
        ticking.sees(|| {
            let of = progress.goal_id.map_or(OWN, |goal| goal.as_str());
            format!("{of}: {} of {} events", progress.seen, progress.of)
        });
    });
    drop(ticking);
    let audited = audited?;
    let flaws: Vec<&Flaw> = audited.iter().filter_map(|audited| audited.flaw.as_ref()).collect();
    if let (Some(first), Format::Json) = (flaws.first(), format) {
        return Err(failed(first, flaws.len(), audited.len()).detail("audited", json_value(&audited)?));
    }
    let failed = !flaws.is_empty();
    let rows = audited.iter().map(|audited| {
        let found = match &audited.flaw {
            Some(flaw) => flaw.text.clone(),
            None if audited.folded => "holds, and the rows are what it comes to".to_owned(),
            None => "holds".to_owned(),
        };
        vec![name(audited), audited.events.to_string(), found]
    });
    let mut document = Document::new().log(&["CHAIN", "EVENTS", "FOUND"], rows.collect());
    if failed {
        let program = context.program;
        document = document.line(format!("`{program} doctor` says what helps"));
    }
    let rendered = Rendered::new(schema::AUDIT, &json!({"items": audited}), document)?;
    Ok(if failed { rendered.exit(Code::CheckFailed.class().exit()) } else { rendered })
}

fn name(audited: &Audited) -> String {
    audited.goal_id.as_ref().map_or_else(|| OWN.to_owned(), ToString::to_string)
}

fn failed(first: &Flaw, flaws: usize, of: usize) -> Error {
    let whose = first.goal_id.as_ref().map_or_else(|| "the ledger itself".to_owned(), ToString::to_string);
    let more = if flaws > 1 { format!("; {flaws} of {of} chains have a flaw") } else { String::new() };
    Error::new(Code::CheckFailed, format!("{whose}: {}{more}", first.text)).hint("doctor")
}

/// `audit export`.
pub(in crate::cli) fn export(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let turn_id = match (args.text("turn"), args.text("todo")) {
        (Some(word), _) => names::turn(&mut desk, word)?,
        (None, Some(word)) => {
            let todo_id = names::todo(&mut desk, word)?;
            names::todo_row(&mut desk, &todo_id)?;
            let ended = desk.look(|view, _| {
                let filter =
                    TurnFilter { goal: todo_id.goal(), todo: Some(&todo_id), agent: None, live: false };
                Ok(view.turns(&filter, None, TURNS_MAX)?.into_iter().find(crate::model::Turn::is_terminal))
            })?;
            let none = || {
                Error::new(Code::NotReady, format!("no Turn on {todo_id} has ended"))
                    .hint(format!("turn list --todo {todo_id}"))
            };
            ended.ok_or_else(none)?.turn_id
        }
        (None, None) => return chain(context, args, &mut desk),
    };
    let proof = desk.look(|view, terms| projection::prove(view, terms, turn_id))?;
    let document = Document::new().verbatim(line(PROOF_SCHEMA, &json_value(&proof)?));
    Rendered::new(PROOF_SCHEMA, &proof, document)
}

/// How many Turns of a Todo are looked at for the last that ended.
const TURNS_MAX: usize = 64;

fn chain(context: &Context<'_, '_>, args: &Args, desk: &mut Desk) -> Result<Rendered> {
    let goal = names::goal(desk, args.text("goal"))?;
    let since = args.number("since").unwrap_or(0);
    let exported = desk.look(|view, _| projection::export_chain(view, &goal, since))?;
    let mut document = Document::new();
    if context.look.format != Format::Json {
        let ChainExport { goal_id, before, head, items, .. } = &exported;
        let first = json!({"goal_id": goal_id, "before": before, "head": head});
        let mut lines = line(schema::AUDIT_EXPORT, &first);
        for item in items {
            lines.push('\n');
            lines.push_str(&json_value(item)?.to_string());
        }
        document = document.verbatim(lines);
    }
    let rendered = Rendered::new(schema::AUDIT_EXPORT, &exported, document)?;
    Ok(match &exported.finding {
        Some(flaw) => rendered.note(format!("{}: what follows is left out", flaw.text)),
        None => rendered,
    })
}

/// An object in one line, its form first.
fn line(form: &str, body: &serde_json::Value) -> String {
    let body = body.to_string();
    format!("{{\"schema_version\":\"{form}\",{}", body.strip_prefix('{').unwrap_or(&body))
}

/// `verify`.
pub(in crate::cli) fn check(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let given = args.file("bundle").unwrap_or_else(|| std::path::Path::new(""));
    let path = context.folder()?.join(given);
    let text = file::read(&path, PROOF_MAX_BYTES).map_err(|error| match error.code() {
        Code::StoreUnreadable => Error::new(Code::InvalidArgument, "the file cannot be read").internal(error),
        _ => error,
    })?;
    let text = text.ok_or_else(|| {
        Error::new(
            Code::NotFound,
            format!("there is no file {}", crate::error::echo(&given.to_string_lossy())),
        )
        .detail("argument", "BUNDLE")
    })?;
    let trusted: Option<Digest> = args.text("against").map(str::parse).transpose()?;
    if text.starts_with(&format!("{{\"schema_version\":\"{}\"", schema::AUDIT_EXPORT)) {
        return checked_chain(args, &text, trusted);
    }
    let proof = projection::read_proof(&text)?;
    let checked = projection::check_proof(&proof)?;
    if let Some(trusted) = trusted {
        projection::against(&proof, trusted)?;
    }
    if args.switch("against-ledger") {
        let mut desk = Desk::open(context, args)?;
        desk.look(|view, _| projection::against_ledger(view, &proof))?;
    }
    let is_authentic = trusted.is_some() || args.switch("against-ledger");
    let facts = Facts::default()
        .add("Goal", &checked.goal_id)
        .add("Todo", &checked.todo_id)
        .add("Turn", checked.turn_id)
        .add("events", format!("{}, {} of them printed", checked.events, checked.printed))
        .add("receipts", checked.receipts)
        .add("settled", checked.settled)
        .add("head", format!("{} at {}", checked.head.hash, checked.head.seq));
    let document = Document::new().with(facts.block()).para(told(is_authentic));
    Rendered::new(
        schema::VERIFY,
        &json!({"proof": checked, "holds": true, "authentic": is_authentic}),
        document,
    )
}

fn checked_chain(args: &Args, text: &str, trusted: Option<Digest>) -> Result<Rendered> {
    if args.switch("against-ledger") {
        return Err(Error::new(Code::InvalidArgument, "an exported chain is compared with a head alone")
            .detail("argument", "--against-ledger"));
    }
    let (goal_id, events, head) = projection::check_chain(text)?;
    if trusted.is_some_and(|trusted| trusted != head.hash) {
        return Err(Error::new(Code::CheckFailed, "it does not lead to the head that was given"));
    }
    let body = json!({"chain": {"goal_id": goal_id, "events": events, "head": head}, "holds": true,
        "authentic": trusted.is_some()});
    let facts = Facts::default().add("Goal", &goal_id).add("events", events).add("head", head.hash);
    let document = Document::new().with(facts.block()).para(told(trusted.is_some()));
    Rendered::new(schema::VERIFY, &body, document)
}

fn told(is_authentic: bool) -> &'static str {
    if is_authentic {
        "It holds, and is what it was compared with."
    } else {
        "It holds by itself. Compare it with a head that you trust to know that it is authentic."
    }
}
