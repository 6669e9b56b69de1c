//! Owns the handlers of `todo` that move the plan: links, waiting, blocking, ending without doing.

use super::{
    desk::Desk,
    given, names,
    submit::{Written, operation_id},
    todo::{answer, submit_on},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{BatchItem, BatchRef, Command, TodoCommand},
    model::TodoId,
};

/// `todo link`.
pub(in crate::cli) fn link(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let item = |todo, depends_on| BatchItem::Link { todo, depends_on };
    each(
        context,
        args,
        "now waits for",
        |todo_id, depends_on| TodoCommand::Link { todo_id, depends_on },
        item,
    )
}

/// `todo unlink`.
pub(in crate::cli) fn unlink(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let item = |todo, depends_on| BatchItem::Unlink { todo, depends_on };
    each(
        context,
        args,
        "no longer waits for",
        |todo_id, depends_on| TodoCommand::Unlink { todo_id, depends_on },
        item,
    )
}

/// Submits one command for one `--depends-on`, and a person's batch, all or nothing, for several.
fn each(
    context: &mut Context<'_, '_>,
    args: &Args,
    said: &str,
    single: impl Fn(TodoId, TodoId) -> TodoCommand,
    item: impl Fn(BatchRef, BatchRef) -> BatchItem,
) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::todo(&mut desk, args.needed("id")?)?;
    let others = names::todos(&mut desk, args, "depends-on")?;
    let command = match others.as_slice() {
        [other] => Command::Todo(single(id.clone(), other.clone())),
        several => {
            let of = |other: &TodoId| item(BatchRef::Todo(id.clone()), BatchRef::Todo(other.clone()));
            Command::Batch(several.iter().map(of).collect())
        }
    };
    let done = submit_on(context, args, &mut desk, &id, command)?;
    let names: Vec<_> = others.iter().map(ToString::to_string).collect();
    answer(&id, &done, Document::new().line(format!("{id} {said} {}", names.join(", "))))
}

/// `todo defer`.
pub(in crate::cli) fn defer(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let operation = operation_id(args)?;
    one(context, args, "put off", |args, desk, todo_id| {
        let wake = given::wake(desk, args, &operation)?.ok_or_else(|| Error::from(Code::Internal))?;
        Ok(TodoCommand::Defer { todo_id, own_id: given::parsed(args, "own")?, wake })
    })
}

/// `todo block`.
pub(in crate::cli) fn block(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    one(context, args, "blocked", |args, _, todo_id| {
        let own_id = given::parsed(args, "own")?;
        Ok(TodoCommand::Block { todo_id, own_id, reason: given::needed(args, "reason")? })
    })
}

/// `todo unblock`.
pub(in crate::cli) fn unblock(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    one(context, args, "can go on", |_, _, todo_id| Ok(TodoCommand::Unblock { todo_id }))
}

/// `todo hold`.
pub(in crate::cli) fn hold(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    one(context, args, "on hold", |_, _, todo_id| Ok(TodoCommand::Hold { todo_id }))
}

/// `todo unhold`.
pub(in crate::cli) fn unhold(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    one(context, args, "off hold", |_, _, todo_id| Ok(TodoCommand::Unhold { todo_id }))
}

/// `todo resolve`.
pub(in crate::cli) fn resolve(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    one(context, args, "resolved", |args, desk, todo_id| {
        let evidence: Result<Vec<_>> =
            args.texts("evidence").map(|word| names::evidence_for(desk, word, &todo_id)).collect();
        Ok(TodoCommand::Resolve { todo_id, evidence: evidence? })
    })
}

/// `todo cancel`.
pub(in crate::cli) fn cancel(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    one(context, args, "cancelled", |args, desk, todo_id| {
        let superseded_by = args.text("superseded-by").map(|word| names::todo(desk, word)).transpose()?;
        Ok(TodoCommand::Cancel { todo_id, reason: given::needed(args, "reason")?, superseded_by })
    })
}

/// `todo reopen`.
pub(in crate::cli) fn reopen(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    one(context, args, "open again", |_, _, todo_id| Ok(TodoCommand::Reopen { todo_id }))
}

fn one(
    context: &mut Context<'_, '_>,
    args: &Args,
    said: &str,
    command: impl FnOnce(&Args, &mut Desk, TodoId) -> Result<TodoCommand>,
) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::todo(&mut desk, args.needed("id")?)?;
    let command = Command::Todo(command(args, &mut desk, id.clone())?);
    let done = submit_on(context, args, &mut desk, &id, command)?;
    answer(&id, &done, moved(&id, said, &done))
}

/// What a person should know of a move: Todos that were done already although they depend on this one.
fn moved(id: &TodoId, said: &str, done: &Written) -> Document {
    let document = Document::new().line(format!("{id} {said}"));
    let affected: Vec<_> = done.outcome.affected.iter().map(ToString::to_string).collect();
    if affected.is_empty() {
        return document;
    }
    let more =
        done.outcome.affected_count.map_or_else(String::new, |count| format!(" and others, {count} in all"));
    document.line(format!("done already, though they depend on it: {}{more}", affected.join(", ")))
}
