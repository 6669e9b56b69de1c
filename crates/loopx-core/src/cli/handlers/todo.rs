//! Owns the handlers of `todo` that make, list and change one. What moves the plan stands in `todo_plan`, what an
//! owner does in `todo_owned`.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    desk::Desk,
    given, names, offer, schema, show,
    submit::{Wish, Written, operation_id, submit, written},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Change, Command, Coordinator, NewTodo, TodoCommand},
    model::{
        AgentId, Duration, Expected, GoalId, Requires, RequiresChange, ScopePath, Text, TodoId, gathered,
    },
    projection::{self, Slice, TodoQuery},
};

/// `todo add`.
pub(in crate::cli) fn add(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal(&mut desk, None)?;
    let wake = given::wake(&mut desk, args, &operation_id(args)?)?;
    let new = NewTodo {
        detail: given::parsed(args, "detail")?,
        priority: given::word(args.needed("priority")?)?,
        depends_on: gathered(names::todos(&mut desk, args, "depends-on")?),
        wake,
        blocked: given::parsed(args, "blocked")?,
        requires: Requires {
            capabilities: given::set(args, "capability")?,
            write_scopes: given::set(args, "scope")?,
            effects: given::set(args, "effect")?,
            publish: args.switch("publish"),
        },
        excluded_agents: given::set(args, "exclude")?,
        validators: given::validators(context, args, &desk)?,
        every_ms: args.millis("every").map(Duration::from_ms),
        unchanged_limit: args.number("unchanged-limit").and_then(|limit| u32::try_from(limit).ok()),
        reviews: args.text("reviews").map(|word| names::todo(&mut desk, word)).transpose()?,
        coordinates: args.text("coordinates").map(|word| names::todo(&mut desk, word)).transpose()?,
        hold: args.switch("hold"),
        ..NewTodo::titled(given::needed(args, "title")?, given::word(args.needed("kind")?)?)
    };
    let unbound = unbound(&mut desk, &goal, Some(&new.requires.write_scopes));
    let kind = new.kind;
    let command = Command::Todo(TodoCommand::Add(Box::new(new)));
    let done = submit(context, args, &mut desk, Wish::new(goal, command))?;
    let id = done.outcome.todo_ids.first().cloned().ok_or_else(|| Error::from(Code::Internal))?;
    let next = if kind.is_executable() { offer::for_todo(context, &mut desk, &id) } else { None };
    answer(&id, &done, Document::new().line(format!("added {id}")).lines(unbound).lines(next))
}

/// Says of scopes that bind nothing that they do not; a look that fails costs the line alone.
fn unbound(desk: &mut Desk, goal: &GoalId, scopes: Option<&BTreeSet<ScopePath>>) -> Option<String> {
    let goal = names::goal_row(desk, goal).ok()?;
    show::unbound(&goal, scopes?).map(|what| format!("its scopes bind {what}"))
}

/// The answer of a write about one Todo.
pub(super) fn answer(id: &TodoId, done: &Written, document: Document) -> Result<Rendered> {
    let mut object = json!({"todo_id": id, "goal_id": id.goal()});
    if let (Some(fields), false) = (object.as_object_mut(), done.outcome.affected.is_empty()) {
        fields.insert("affected".to_owned(), json!(done.outcome.affected));
        let count = done.outcome.affected_count.unwrap_or(done.outcome.affected.len() as u64);
        fields.insert("affected_count".to_owned(), count.into());
    }
    written(schema::TODO, "todo", &object, done, &[], document)
}

/// What a command believes of a Todo's revision.
pub(super) fn expected(args: &Args, id: &TodoId) -> Expected {
    let todos = args.number("expect").map(|revision| (id.clone(), revision)).into_iter().collect();
    Expected { todos, ..Expected::default() }
}

/// Submits a command about one Todo.
pub(super) fn submit_on(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    id: &TodoId,
    command: Command,
) -> Result<Written> {
    let expected = if args.command().args.iter().any(|arg| arg.id == "expect") {
        expected(args, id)
    } else {
        Expected::default()
    };
    submit(context, args, desk, Wish { goal_id: id.goal().clone(), command, expected })
}

/// `todo update`.
pub(in crate::cli) fn update(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::todo(&mut desk, args.needed("id")?)?;
    let change = change(context, args, &mut desk)?;
    let scopes = change.requires.as_ref().and_then(|requires| requires.write_scopes.as_ref());
    let unbound = unbound(&mut desk, id.goal(), scopes);
    let command = Command::Todo(TodoCommand::Update { todo_id: id.clone(), change: Box::new(change) });
    let done = submit_on(context, args, &mut desk, &id, command)?;
    answer(&id, &done, Document::new().line(format!("changed {id}")).lines(unbound))
}

/// What is given, and nothing of the row: whoever else changes it meanwhile loses nothing, and a repetition asks for the
/// same.
fn change(context: &Context<'_, '_>, args: &Args, desk: &mut Desk) -> Result<Change> {
    let cleared: Vec<&str> = args.texts("clear").collect();
    if let Some(both) = cleared.iter().find(|list| !args.values(list).is_empty()) {
        return Err(Error::new(Code::InvalidArgument, format!("`--{both}` is given and cleared"))
            .hint("todo update --help")
            .detail("argument", "--clear"));
    }
    let touched = |id: &str| !args.values(id).is_empty() || cleared.contains(&id);
    let requires = RequiresChange {
        capabilities: touched("capability").then(|| given::set(args, "capability")).transpose()?,
        write_scopes: touched("scope").then(|| given::set(args, "scope")).transpose()?,
        effects: touched("effect").then(|| given::set(args, "effect")).transpose()?,
        publish: args.text("publish").map(|word| word == "yes"),
    };
    let excluded = touched("exclude").then(|| given::set::<AgentId>(args, "exclude")).transpose()?;
    let validators = touched("validator").then(|| given::validators(context, args, desk)).transpose()?;
    let detail: Option<Text> = given::parsed(args, "detail")?;
    let coordinator = args.text("coordinates").map(|word| names::todo(desk, word)).transpose()?;
    let nobody = cleared.contains(&"coordinates").then_some(Coordinator::Nobody);
    Ok(Change {
        title: given::parsed(args, "title")?,
        detail,
        priority: args.text("priority").map(given::word).transpose()?,
        requires: Some(requires).filter(|requires| *requires != RequiresChange::default()),
        excluded_agents: excluded,
        validators,
        coordinates: coordinator.map(Coordinator::Todo).or(nobody),
    })
}

/// `todo list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal(&mut desk, None)?;
    let agent = args.text("agent").map(names::agent).transpose()?;
    let query = TodoQuery {
        goal: &goal,
        states: gathered(args.texts("state")),
        kinds: gathered(args.texts("kind")),
        priorities: gathered(args.texts("priority")),
        agent: agent.as_ref(),
    };
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let (page, now) = desk.look(|view, terms| {
        projection::known(view, &goal)?;
        Ok((projection::todos(view, terms, &query, slice)?, terms.now))
    })?;
    let empty = if query.states.is_empty() {
        format!("{goal} has no open Todo; `{} todo add <TITLE>` adds one.", context.program)
    } else {
        format!("{goal} has no such Todo.")
    };
    show::listed(schema::TODO_LIST, &page, show::TODO_HEAD, |row| show::todo(row, now), &empty)
}
