//! Owns the handlers of `goal` that start, move and show one. What changes a Goal's terms stands in `goal_terms`.

use serde_json::{Value, json};

use super::{
    desk::{Desk, tree_of},
    given, goal_terms, names, schema,
    show::{self, Facts},
    submit::{Wish, submit, written},
};
use crate::{
    cli::{Args, Block, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Command, GoalCommand},
    model::{CloseKind, CriterionState, Expected, Goal, GoalId, GoalState, Text, Workspace},
    private::PrivateStore,
    projection::{self, GoalPage, Slice},
    turn,
};

/// A slug for an objective: lower case, runs of other characters become `-`, at most 48 bytes.
pub(in crate::cli) fn slug(objective: &str) -> Option<String> {
    let mut slug = String::new();
    for c in objective.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(SLUG_MAX_BYTES);
    let slug = slug.trim_end_matches('-');
    (!slug.is_empty()).then(|| slug.to_owned())
}

const SLUG_MAX_BYTES: usize = 48;

/// The `n`-th slug of an objective: the first as it is, then `-2`, `-3`, … within the same 48 bytes.
pub(in crate::cli) fn nth_slug(slug: &str, n: u32) -> String {
    if n < 2 {
        return slug.to_owned();
    }
    let tail = format!("-{n}");
    let head = slug.get(..slug.len().min(SLUG_MAX_BYTES - tail.len())).unwrap_or(slug);
    format!("{}{tail}", head.trim_end_matches('-'))
}

/// The error of an objective that no slug can be made of.
pub(in crate::cli) fn no_slug() -> Error {
    Error::new(Code::InvalidArgument, "the objective holds no letter or digit to make a slug of")
        .hint("goal start OBJECTIVE --id SLUG")
        .detail("argument", "--id")
}

/// Names the work tree a Goal's work is done in, and remembers where it lies.
pub(in crate::cli) fn workspace(
    context: &Context<'_, '_>,
    desk: &Desk,
    given: Option<&std::path::Path>,
) -> Result<Workspace> {
    let folder = context.folder()?;
    let tree = match given {
        Some(path) => folder.join(path),
        None => tree_of(folder, desk.project.as_ref()).unwrap_or_else(|| folder.to_owned()),
    };
    let (workspace, real) = turn::identify(&desk.profile.machine_id()?.parse()?, &tree)?;
    let mut private = PrivateStore::at(&desk.profile.place().private_db());
    turn::remember(&mut private, &workspace, &real)?;
    Ok(workspace)
}

/// `goal start`.
pub(in crate::cli) fn start(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let objective: Text = given::needed(args, "objective")?;
    let goal: GoalId = match args.text("id") {
        Some(id) => id.parse()?,
        None => slug(objective.as_str()).ok_or_else(no_slug)?.parse()?,
    };
    let mut new = goal_terms::new_goal(context, args, &desk, objective)?;
    new.workspace = Some(workspace(context, &desk, args.file("workspace"))?);
    let command = Command::Goal(GoalCommand::Start(Box::new(new)));
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), command))?;
    let program = context.program;
    let document = Document::new()
        .line(format!("started {goal}"))
        .line(format!("add work with `{program} todo add TITLE --goal {goal}`"));
    written(schema::GOAL, "goal", &json!({"goal_id": goal, "created": true}), &done, &[], document)
}

/// `goal update`.
pub(in crate::cli) fn update(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::goal(&mut desk, args.text("id"))?;
    let goal = names::goal_row(&mut desk, &id)?;
    let command = goal_terms::change(context, args, &desk, &goal)?;
    let expected = Expected { goal: args.number("expect"), ..Expected::default() };
    let wish = Wish { goal_id: id.clone(), command: Command::Goal(command), expected };
    let done = submit(context, args, &mut desk, wish)?;
    let document = Document::new().line(format!("changed {id}"));
    written(schema::GOAL, "goal", &json!({"goal_id": id}), &done, &[], document)
}

/// `goal stop`.
pub(in crate::cli) fn stop(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    moved(context, args, GoalCommand::Stop, "stopped; what is admitted goes on")
}

/// `goal resume`.
pub(in crate::cli) fn resume(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    moved(context, args, GoalCommand::Resume, "goes on")
}

/// `goal reopen`.
pub(in crate::cli) fn reopen(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    moved(context, args, GoalCommand::Reopen, "is active again")
}

/// `goal close`.
pub(in crate::cli) fn close(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let (kind, said) = if args.switch("abandoned") {
        (CloseKind::Abandoned, "closed as abandoned")
    } else {
        (CloseKind::Achieved, "closed as achieved")
    };
    let reason = given::parsed(args, "reason")?;
    moved(context, args, GoalCommand::Close { kind, reason, waive: Vec::new() }, said)
}

fn moved(context: &mut Context<'_, '_>, args: &Args, command: GoalCommand, said: &str) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::goal(&mut desk, args.text("id"))?;
    let done = submit(context, args, &mut desk, Wish::new(id.clone(), Command::Goal(command)))?;
    let document = Document::new().line(format!("{id} {said}"));
    written(schema::GOAL, "goal", &json!({"goal_id": id}), &done, &[], document)
}

/// `goal list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let states = args.texts("state").collect();
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let page = desk.look(|view, _| projection::goals(view, &states, slice))?;
    show::listed(
        schema::GOAL_LIST,
        &page,
        &["GOAL", "STATE", "LIVE", "DONE", "CRITERIA", "OBJECTIVE"],
        |row| {
            let ended = ["done", "cancelled"];
            let live: u64 = row.counts.iter().filter(|(name, _)| !ended.contains(&name.as_str())).map(|(_, n)| n).sum();
            vec![
                row.goal_id.to_string(),
                row.state.to_owned(),
                live.to_string(),
                row.counts.get("done").copied().unwrap_or_default().to_string(),
                format!("{}/{}", row.criteria_met, row.criteria),
                row.objective.clone(),
            ]
        },
        "There is no such Goal; `init --goal TITLE` or `goal start OBJECTIVE` starts one.",
    )
}

/// `goal show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::goal(&mut desk, args.text("id"))?;
    let (goal, now) = desk.look(|view, terms| Ok((projection::goal(view, terms, &id)?, terms.now)))?;
    let document = page(&goal, now);
    Rendered::new(schema::GOAL, &json!({"goal": plain(&goal)?}), document)
}

/// The page of a Goal for programs: its state as one word, as lists have it.
fn plain(page: &GoalPage) -> Result<Value> {
    let mut value = serde_json::to_value(page).map_err(|e| Error::from(Code::Internal).internal(e))?;
    if let Some(fields) = value.as_object_mut() {
        let (word, closed) = state(&page.goal);
        fields.insert("state".to_owned(), word.into());
        if let Some(closed) = closed {
            fields.insert("closed".to_owned(), closed);
        }
    }
    Ok(value)
}

fn state(goal: &Goal) -> (&'static str, Option<Value>) {
    match &goal.state {
        GoalState::Active => ("active", None),
        GoalState::Stopped => ("stopped", None),
        GoalState::Closed { kind, reason, at } => {
            ("closed", Some(json!({"kind": kind, "reason": reason, "at_ms": at})))
        }
    }
}

fn page(page: &GoalPage, now: crate::model::Timestamp) -> Document {
    let goal = &page.goal;
    let counts = page.counts.iter().filter(|(_, n)| **n > 0).map(|(name, n)| format!("{n} {name}"));
    let facts = Facts::default()
        .add("goal", &goal.goal_id)
        .add("state", state(goal).0)
        .list("Todos", counts)
        .list("agents", page.agents.iter().filter(|agent| agent.is_registered()).map(|agent| &agent.agent_id))
        .list("not wanted", &goal.non_goals)
        .list("write scopes", &goal.boundary.write_scopes)
        .list("needs approval", &goal.boundary.needs_approval)
        .maybe("work tree", goal.boundary.exclusive_workspace.then_some("one Turn at a time"))
        .list("stop when", &goal.stop_conditions)
        .list("validators", goal.validators.iter().map(|validator| show::typed(&validator.argv)))
        .list("read first", &goal.authority_sources)
        .maybe("budget", goal.limit.map(|limit| format!("{} Turns", limit.turns)))
        .add("started", format!("{} by {}", show::when(goal.started_at, now), goal.started_by))
        .add("revision", goal.revision)
        .add("events", page.head_seq);
    let document = Document::new().heading(goal.objective.as_str()).with(facts.block());
    if goal.acceptance.is_empty() {
        return document;
    }
    let rows = goal.acceptance.iter().enumerate().map(|(place, criterion)| {
        let state = match &criterion.state {
            CriterionState::Open => "open".to_owned(),
            CriterionState::Shown { evidence } => format!("shown by {}", names::short(evidence)),
            CriterionState::Waived { reason } => format!("waived: {reason}"),
        };
        let check = criterion.check.as_ref().map_or_else(|| "-".to_owned(), |check| show::typed(&check.argv));
        vec![(place + 1).to_string(), state, check, criterion.text.to_string()]
    });
    let head = ["N", "STATE", "CHECK", "CRITERION"].map(str::to_owned).to_vec();
    document.with(Block::Table(head, rows.collect()))
}

/// `goal export`.
pub(in crate::cli) fn export(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::goal(&mut desk, args.text("id"))?;
    let export = desk.look(|view, terms| projection::export(view, terms, &id))?;
    let facts = Facts::default()
        .add("goal", &id)
        .add("Todos", export.todos.len())
        .add("Turns", export.turns.len())
        .add("gates", export.gates.len())
        .add("evidence", export.evidence.len())
        .add("events", export.events.len())
        .add("receipts", export.receipts.len());
    let document = Document::new().with(facts.block()).para("`--json` prints all of it.");
    Rendered::new(schema::GOAL_EXPORT, &export, document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_made_of_an_objective() {
        for (objective, wanted) in [
            ("Ship the importer", Some("ship-the-importer")),
            ("  --Ship: it!  ", Some("ship-it")),
            ("Größe 2", Some("gr-e-2")),
            ("日本", None),
            ("...", None),
        ] {
            assert_eq!(slug(objective).as_deref(), wanted, "{objective}");
        }
        let long = slug(&"ab ".repeat(40)).unwrap();
        assert!(long.len() <= 48 && !long.ends_with('-') && long.parse::<GoalId>().is_ok(), "{long}");
        for n in [1, 2, 10, 999] {
            let nth = nth_slug(&long, n);
            assert!(nth.parse::<GoalId>().is_ok() && (n == 1 || nth.ends_with(&format!("-{n}"))), "{nth}");
        }
    }
}
