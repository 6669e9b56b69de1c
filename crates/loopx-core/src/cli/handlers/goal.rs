//! Owns the handlers of `goal` that start, move and show one. What changes a Goal's terms stands in `goal_terms`.

use std::path::PathBuf;

use serde_json::json;

use super::{
    caller::caller,
    desk::{Desk, tree_of},
    given, goal_terms, names, schema,
    show::{self, Facts},
    submit::{Wish, operation_id, submit, submit_as, written},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Command, EvidenceCommand, GoalCommand},
    model::{
        CloseKind, EffectId, EvidenceKind, Expected, GoalId, GoalState, OperationId, Privacy, ShortText,
        Text, Timestamp, Workspace, gathered,
    },
    process::Launcher,
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
    let (workspace, real) = work_tree(context, desk, given)?;
    desk.trees().note(&workspace, &real)?;
    Ok(workspace)
}

/// Whether a Goal's work tree is not where it was, or was never on this machine, and this one, which the Goal is bound
/// to, was not seen yet.
///
/// Errors: `store_*`.
pub(in crate::cli) fn was_moved(desk: &mut Desk, goal_id: &GoalId, tree: &std::path::Path) -> Result<bool> {
    let (here, _) = turn::identify(&desk.profile.machine_id()?.parse()?, tree)?;
    if desk.trees().knows(&here)? {
        return Ok(false);
    }
    let Some(workspace) = names::goal_row(desk, goal_id)?.workspace else { return Ok(false) };
    Ok(desk.trees().folder(&workspace)?.is_none_or(|was| !was.is_dir()))
}

/// Names a work tree, and says where it lies; nothing is written.
pub(in crate::cli) fn work_tree(
    context: &Context<'_, '_>,
    desk: &Desk,
    given: Option<&std::path::Path>,
) -> Result<(Workspace, PathBuf)> {
    let folder = context.folder()?;
    let tree = match given {
        Some(path) => folder.join(path),
        None => tree_of(folder, desk.project.as_ref()).unwrap_or_else(|| folder.to_owned()),
    };
    turn::identify(&desk.profile.machine_id()?.parse()?, &tree)
}

/// `goal start`.
pub(in crate::cli) fn start(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let objective: Text = given::needed(args, "objective")?;
    let goal: GoalId = match args.text("id") {
        Some(id) => id.parse()?,
        None => slug(objective.as_str()).ok_or_else(no_slug)?.parse()?,
    };
    if desk.project.as_ref().is_some_and(|project| project.goal.as_deref() == Some(goal.as_str())) {
        // Either it is there, and is refused as such, or a new one would pass for the one that is missing.
        desk.check_bound(args)?;
    }
    let mut new = goal_terms::new_goal(context, args, &desk, objective)?;
    new.workspace = Some(workspace(context, &desk, args.file("workspace"))?);
    let command = Command::Goal(GoalCommand::Start(Box::new(new)));
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), command))?;
    let program = context.program;
    let document = Document::new()
        .line(format!("started {goal}"))
        .line(format!("add work with `{program} todo add <TITLE> --goal {goal}`"));
    written(schema::GOAL, "goal", &json!({"goal_id": goal, "created": true}), &done, &[], document)
}

/// `goal update`.
pub(in crate::cli) fn update(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::goal(&mut desk, args.text("id"))?;
    let command = goal_terms::change(context, args, &desk)?;
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

/// `goal close`. Closing as achieved first runs the checks of criteria that nothing shows yet.
pub(in crate::cli) fn close(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let (kind, said) = if args.switch("abandoned") {
        (CloseKind::Abandoned, "closed as abandoned")
    } else {
        (CloseKind::Achieved, "closed as achieved")
    };
    let reason = given::parsed(args, "reason")?;
    let mut desk = Desk::open(context, args)?;
    let id = names::goal(&mut desk, args.text("id"))?;
    let operation_id = operation_id(args)?;
    if kind == CloseKind::Achieved {
        show_criteria(context, args, &mut desk, &id, &operation_id)?;
    }
    let caller = caller(context, args, &mut desk)?;
    let waive_effects = waived(&mut desk, args)?;
    let close = GoalCommand::Close { kind, reason, waive: Vec::new(), waive_effects };
    let wish = Wish::new(id.clone(), Command::Goal(close));
    let done = submit_as(context, args, &mut desk, caller, operation_id, wish)?;
    let document = Document::new().line(format!("{id} {said}"));
    written(schema::GOAL, "goal", &json!({"goal_id": id}), &done, &[], document)
}

/// The effects that `--waive` lets go, each with its reason.
fn waived(desk: &mut Desk, args: &Args) -> Result<Vec<(EffectId, ShortText)>> {
    let words: Vec<_> = args.texts("waive").collect();
    let one = |word: &str| {
        let (effect, reason) = word.split_once('=').ok_or_else(|| {
            Error::new(Code::InvalidArgument, "an effect is let go with a reason: `EFFECT=REASON`")
                .hint("goal close --help")
                .detail("argument", "--waive")
        })?;
        Ok((names::effect(desk, effect)?, reason.parse()?))
    };
    words.into_iter().map(one).collect()
}

/// Runs the checks of open criteria in the Goal's work tree, and records each that passes as evidence.
///
/// Errors: `check_failed` naming each that does not; `not_ready` where this machine does not know the work tree.
fn show_criteria(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    id: &GoalId,
    operation_id: &OperationId,
) -> Result<()> {
    let goal = names::goal_row(desk, id)?;
    let open = goal.acceptance.iter().any(|criterion| criterion.check.is_some() && criterion.state.is_open());
    if !open || matches!(goal.state, GoalState::Closed { .. }) {
        return Ok(());
    }
    let asker = caller(context, args, desk)?;
    if !asker.actor.is_user() {
        // The close itself says why not; no program is run for who may not close.
        return Ok(());
    }
    let known =
        goal.workspace.as_ref().map(|workspace| desk.trees().folder(workspace)).transpose()?.flatten();
    let folder = known.ok_or_else(|| {
        Error::new(
            Code::NotReady,
            format!("this machine does not know the work tree of {id}, where its checks run"),
        )
        .hint(format!("goal show {id}"))
    })?;
    let checked = turn::check_criteria(&goal, &folder, &Launcher::this_binary())?;
    let failed: Vec<_> = checked.iter().filter(|checked| checked.failure.is_some()).collect();
    if let Some(first) = failed.first() {
        let why = first.failure.as_deref().unwrap_or_default();
        let numbers: Vec<_> = failed.iter().map(|checked| checked.criterion).collect();
        return Err(Error::new(Code::CheckFailed, format!("criterion {} of {id}: {why}", first.criterion))
            .detail("criteria", numbers)
            .hint(format!("goal show {id}")));
    }
    for passed in checked {
        let command = EvidenceCommand::Add {
            todo_id: None,
            criterion: Some(passed.criterion),
            kind: EvidenceKind::Check,
            pointer: passed.check,
            digest: None,
            privacy: Privacy::Public,
            verdict: None,
        };
        let step = operation_id.step(&format!("check-{}", passed.criterion))?;
        submit_as(
            context,
            args,
            desk,
            asker.clone(),
            step,
            Wish::new(id.clone(), Command::Evidence(command)),
        )?;
    }
    Ok(())
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
    let states = gathered(args.texts("state"));
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let page = desk.look(|view, _| projection::goals(view, &states, slice))?;
    show::listed(
        schema::GOAL_LIST,
        &page,
        &["GOAL", "STATE", "LIVE", "DONE", "CRITERIA", "OBJECTIVE"],
        |row| {
            let ended = ["done", "cancelled"];
            let live: u64 =
                row.counts.iter().filter(|(name, _)| !ended.contains(&name.as_str())).map(|(_, n)| n).sum();
            vec![
                row.goal_id.to_string(),
                row.state.to_owned(),
                live.to_string(),
                row.counts.get("done").copied().unwrap_or_default().to_string(),
                format!("{}/{}", row.criteria_met, row.criteria),
                row.objective.clone(),
            ]
        },
        "There is no such Goal; `init --goal <TITLE>` or `goal start <OBJECTIVE>` starts one.",
    )
}

/// `goal show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::goal(&mut desk, args.text("id"))?;
    let (goal, now) = desk.look(|view, terms| Ok((projection::goal(view, terms, &id)?, terms.now)))?;
    let document = page(&goal, now);
    Rendered::new(schema::GOAL, &json!({"goal": goal}), document)
}

fn page(goal: &GoalPage, now: Timestamp) -> Document {
    let counts = goal.row.counts.iter().filter(|(_, n)| **n > 0).map(|(name, n)| format!("{n} {name}"));
    let agents = goal.agents.iter().filter(|agent| agent.state == "registered");
    let closed = goal.row.closed.map(|kind| projection::word(&kind));
    let facts = Facts::default()
        .add("goal", &goal.row.goal_id)
        .add("state", goal.row.state)
        .maybe("closed", closed)
        .maybe("because", goal.close_reason.as_ref())
        .list("Todos", counts)
        .maybe("planned on by", goal.covered_by.as_ref())
        .maybe("awaits", goal.awaits.as_ref())
        .list("agents", agents.map(|agent| &agent.agent_id))
        .list("not wanted", &goal.non_goals)
        .list("write scopes", &goal.boundary.write_scopes)
        .list("needs approval", &goal.boundary.needs_approval)
        .maybe("work tree", goal.boundary.exclusive_workspace.then_some("one Turn at a time"))
        .list("stop when", &goal.stop_conditions)
        .list("validators", goal.validators.iter().map(|validator| show::typed(&validator.argv)))
        .list("read first", &goal.authority_sources)
        .maybe("budget", goal.limit.as_ref().map(projection::limited))
        .add("started", format!("{} by {}", show::when(goal.row.started_at_ms, now), goal.started_by))
        .add("revision", goal.row.revision)
        .add("events", goal.head_seq);
    let document = Document::new().heading(&goal.row.objective).with(facts.block());
    if goal.acceptance.is_empty() {
        return document;
    }
    let rows = goal.acceptance.iter().map(|criterion| {
        let state = match (criterion.evidence_id, &criterion.reason) {
            (Some(evidence), _) => format!("shown by {}", names::short(&evidence)),
            (None, Some(reason)) => format!("waived: {reason}"),
            (None, None) => criterion.state.to_owned(),
        };
        let check = criterion.check.as_ref().map_or_else(|| "-".to_owned(), |check| show::typed(&check.argv));
        vec![criterion.criterion.to_string(), state, check, criterion.text.clone()]
    });
    document.table(&["N", "STATE", "CHECK", "CRITERION"], rows.collect())
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
    let rendered = Rendered::new(schema::GOAL_EXPORT, &export, document)?;
    Ok(match &export.finding {
        Some(flaw) => rendered.note(format!("{}: what follows is left out", flaw.text)),
        None => rendered,
    })
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
