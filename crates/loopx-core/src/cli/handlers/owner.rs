//! Owns the handlers of the verbs by which an owner ends its Turn with a result: `todo done`, `progress`, `look`.
//!
//! A person's `todo done` is no Turn's end; it stands with the other verbs of a Todo.

use super::{
    caller::{caller, check_retired},
    desk::Desk,
    given, names, progress,
    reader::Reader,
    submit::operation_id,
    todo_owned, turn_end,
    workbench::{Workbench, interrupted},
};
use crate::{
    cli::{Args, Context, Rendered},
    error::{Code, Error, Result},
    model::{Continuation, Evidence, Pointer, ResultKind, TodoId},
    projection,
    turn::{self, Wish},
};

/// `todo done`.
pub(in crate::cli) fn done(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    if caller(context, args, &mut desk)?.actor.agent().is_none() {
        let id = names::todo(&mut desk, args.needed("id")?)?;
        if args.text("own").is_some() {
            let message =
                format!("an own_id is an agent's: to finish {id} for it, name it with --as agent:ID");
            return Err(Error::new(Code::ActorNotAllowed, message)
                .detail("argument", "--own")
                .hint(format!("todo show {id}")));
        }
        return todo_owned::complete(context, args, &mut desk, &id);
    }
    if args.text("waive").is_some() {
        return Err(Error::new(Code::UserOnly, "only a person may let a result go unproved")
            .detail("argument", "--waive"));
    }
    let continuation = todo_owned::continuation(&mut desk, args)?;
    finish(context, args, &mut desk, ResultKind::ValidatedCompletion, continuation, false)
}

/// `todo progress`.
pub(in crate::cli) fn progress(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goes_on = args.switch("continue");
    finish(context, args, &mut desk, ResultKind::ValidatedProgress, Continuation::ActiveGoal, goes_on)
}

/// `todo look`.
pub(in crate::cli) fn look(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let kind = if args.switch("changed") { ResultKind::LookChanged } else { ResultKind::LookUnchanged };
    finish(context, args, &mut desk, kind, Continuation::ActiveGoal, false)
}

fn finish(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    kind: ResultKind,
    continuation: Continuation,
    goes_on: bool,
) -> Result<Rendered> {
    let caller = caller(context, args, desk)?;
    let todo_id = names::todo(desk, args.needed("id")?)?;
    check_retired(desk, &caller, todo_id.goal())?;
    let wish = Wish {
        operation_id: operation_id(args)?,
        actor: caller.actor.clone(),
        provenance: caller.provenance,
        goal_id: todo_id.goal().clone(),
        own_id: given::parsed(args, "own")?,
        kind,
        continuation,
        goes_on,
        summary: args.text("summary").map(str::to_owned),
        evidence: pointers(desk, args, &todo_id)?,
        todo_id,
    };
    let mut bench = Workbench::of(context, desk)?;
    // A signal ends the validators before it ends us.
    let stopped = interrupted()?;
    let progress = progress::watch(context, &caller, stopped);
    let done = turn::finish(&mut bench.site(desk), &wish, &progress)?;
    progress.over(done.turn().state.as_str());
    if done.receipt.negative().is_some() {
        return Err(turn::negative(&done.receipt));
    }
    turn::prove_after(&mut bench.site(desk), &done.receipt)?;
    turn_end::answer(&done, &wish.operation_id, &Reader::of(context, args, desk))
}

/// What the evidence that is named points at.
fn pointers(desk: &mut Desk, args: &Args, todo_id: &TodoId) -> Result<Vec<Pointer>> {
    let mut pointers = Vec::new();
    for word in args.texts("evidence") {
        let id = names::evidence_for(desk, word, todo_id)?;
        let found = desk.look(|view, terms| projection::evidence(view, terms, &id))?.for_owner().clone();
        if found.goal_id != *todo_id.goal() {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("the evidence {id} belongs to another Goal"),
            )
            .detail("argument", "--evidence"));
        }
        let Evidence { kind, pointer, digest, privacy, .. } = found;
        pointers.push(Pointer { kind, pointer, digest, privacy });
    }
    Ok(pointers)
}
