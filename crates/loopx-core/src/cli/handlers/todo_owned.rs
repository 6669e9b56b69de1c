//! Owns the handlers of `todo` that begin, keep, hand over and end an ownership without a result, and what a
//! person completes. What an agent completes runs validators, and stands with the Turn.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    desk::{Desk, tree_of},
    given, goal, names, schema,
    submit::{Written, written},
    todo::{answer, submit_on},
    workbench::Workbench,
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{ClaimCommand, Command, TodoCommand, claim::Claim},
    model::{Continuation, Duration, GoalId, ReplanRef, TodoId, TurnId, Workspace},
};

/// `todo claim`.
pub(in crate::cli) fn claim(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let word = args.needed("id")?;
    let replan: Option<ReplanRef> =
        Some(word).filter(|word| word.starts_with(ReplanRef::PREFIX)).map(str::parse).transpose()?;
    let id = match &replan {
        Some(replan) => replan.claimed(),
        None => names::todo(&mut desk, word)?,
    };
    let command = Claim {
        replan,
        ttl_ms: Some(Duration::from_ms(desk.settings.millis("ownership.ttl")?)),
        workspace: elsewhere(context, args, &mut desk, &id)?,
        ..Claim::attached(id.clone())
    };
    let command = Command::Claim(ClaimCommand::Claim(Box::new(command)));
    let done = submit_on(context, args, &mut desk, &id, command)?;
    // A replan is a Todo of its own from now on.
    let id = done.outcome.todo_ids.first().cloned().unwrap_or(id);
    let Some(own_id) = done.outcome.own_id else { return Err(Error::from(Code::Internal)) };
    if let Some(turn_id) = done.outcome.turn_id {
        begun(context, &mut desk, turn_id);
    }
    let program = context.program;
    let document =
        Document::new().line(format!("{id} is yours")).line(format!("own_id {own_id}")).line(format!(
            "when it is finished: `{program} todo done {id} --as {} --own {own_id}`",
            super::show::actor(done.receipt.actor())
        ));
    owned(&id, &done, document)
}

/// The work tree a claim writes in, where that is not the Goal's own; where it lies is remembered.
fn elsewhere(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    id: &TodoId,
) -> Result<Option<Workspace>> {
    let tree = tree_elsewhere(context, args.file("workspace"), desk, Some(id.goal()))?;
    tree.map(|tree| goal::workspace(context, desk, Some(&tree))).transpose()
}

/// Where the work tree lies that a claim in a Goal would write in, where that is not the Goal's own.
pub(super) fn tree_elsewhere(
    context: &Context<'_, '_>,
    given: Option<&Path>,
    desk: &mut Desk,
    goal: Option<&GoalId>,
) -> Result<Option<PathBuf>> {
    if let Some(path) = given {
        return Ok(Some(path.to_owned()));
    }
    let Some(folder) = context.env.folder() else { return Ok(None) };
    let Some(tree) = tree_of(folder, desk.project.as_ref()) else { return Ok(None) };
    // The folder that `init` bound is the Goal's, unless it was moved since.
    let is_bound = desk.project.as_ref().is_some_and(|project| project.root == tree);
    let is_goals = match goal.filter(|_| is_bound) {
        Some(goal) => !goal::was_moved(desk, goal, &tree)?,
        None => is_bound,
    };
    Ok((!is_goals).then_some(tree))
}

/// Keeps what the work tree of a Turn holds that has just begun.
pub(super) fn begun(context: &Context<'_, '_>, desk: &mut Desk, turn_id: TurnId) {
    let taken = Workbench::of(context, desk).and_then(|mut bench| {
        let around = bench.site(desk).around(turn_id)?;
        bench.site(desk).opened(&around);
        Ok(())
    });
    // The claim stands, and its owner needs the `own_id`.
    if let Err(error) = taken {
        tracing::warn!(turn = %turn_id, %error, "no snapshot before the Turn");
    }
}

/// The answer of a verb that tells an owner what it holds.
fn owned(id: &TodoId, done: &Written, document: Document) -> Result<Rendered> {
    let outcome = &done.outcome;
    let object = json!({
        "todo_id": id,
        "goal_id": id.goal(),
        "own_id": outcome.own_id,
        "turn_id": outcome.turn_id,
        "expires_at_ms": outcome.expires_at_ms,
    });
    let value = |value: serde_json::Result<Value>| value.map_err(|e| Error::from(Code::Internal).internal(e));
    let more = [
        ("own_id", value(serde_json::to_value(outcome.own_id))?),
        ("turn_id", value(serde_json::to_value(outcome.turn_id))?),
        ("expires_at_ms", value(serde_json::to_value(outcome.expires_at_ms))?),
    ];
    written(schema::TODO, "todo", &object, done, &more, document)
}

/// `todo renew`.
pub(in crate::cli) fn renew(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::todo(&mut desk, args.needed("id")?)?;
    let command = ClaimCommand::Renew { todo_id: id.clone(), own_id: given::parsed(args, "own")? };
    let done = submit_on(context, args, &mut desk, &id, Command::Claim(command))?;
    let until = done.outcome.expires_at_ms.map(super::show::utc).unwrap_or_default();
    owned(&id, &done, Document::new().line(format!("{id} is yours until {until}")))
}

/// `todo release`.
pub(in crate::cli) fn release(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::todo(&mut desk, args.needed("id")?)?;
    let todo_id = id.clone();
    let (command, said) = if args.switch("force") {
        (ClaimCommand::ForceRelease { todo_id, reason: given::needed(args, "reason")? }, "taken back")
    } else {
        (ClaimCommand::Release { todo_id, own_id: given::parsed(args, "own")? }, "given back")
    };
    let done = submit_on(context, args, &mut desk, &id, Command::Claim(command))?;
    answer(&id, &done, Document::new().line(format!("{id} {said}")))
}

/// `todo transfer`.
pub(in crate::cli) fn transfer(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::todo(&mut desk, args.needed("id")?)?;
    let to = names::agent(args.needed("to")?)?;
    let command =
        ClaimCommand::Transfer { todo_id: id.clone(), own_id: given::parsed(args, "own")?, to: to.clone() };
    let done = submit_on(context, args, &mut desk, &id, Command::Claim(command))?;
    let document = Document::new().line(format!("{id} waits ten minutes for {to}"));
    answer(&id, &done, document)
}

/// A person completes a Todo.
pub(in crate::cli) fn complete(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    id: &TodoId,
) -> Result<Rendered> {
    let continuation = continuation(desk, args)?;
    let command =
        TodoCommand::Complete { todo_id: id.clone(), continuation, waive: given::parsed(args, "waive")? };
    let done = submit_on(context, args, desk, id, Command::Todo(command))?;
    answer(id, &done, Document::new().line(format!("{id} is done")))
}

/// What a completion says of what follows.
pub(in crate::cli) fn continuation(desk: &mut Desk, args: &Args) -> Result<Continuation> {
    if args.switch("no-followup") {
        return Ok(Continuation::NoFollowup);
    }
    if let Some(word) = args.text("awaits") {
        return Ok(Continuation::Awaits { monitor: names::todo(desk, word)? });
    }
    let todo_ids = names::todos(desk, args, "successor")?;
    Ok(if todo_ids.is_empty() { Continuation::ActiveGoal } else { Continuation::Successor { todo_ids } })
}
