//! Owns the handler of `turn plan`, and how a run without a Todo finds what to work on.
//!
//! Knows no rule: the decision is the kernel's.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    decided::explain,
    desk::{Desk, tree_of},
    goal, names,
    reader::Reader,
    schema, show,
    status::with_eyes,
    workbench::Workbench,
};
use crate::{
    authority::TurnFilter,
    cli::{
        Args, Block, Context, Document, Origin, Rendered, Value as Given, parse::show_duration_ms,
        render::is_printable,
    },
    error::{Code, Error, Result, shell_line},
    kernel::{
        Action, Decided, Facts, READ_ROUNDS, UnresolvedBy,
        claim::{self, Claim, admissible_reads},
        validators,
    },
    model::json_value,
    model::{AgentId, EndpointId, Executor, GoalId, OwnId, Todo, TodoId, TurnId, Workspace},
    private::PrivateStore,
    projection::{self, Inquiry, left_of, plain, question, should, with_units},
    turn::{self, Commit},
};

/// `turn plan`.
pub(in crate::cli) fn plan(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let agent = names::agent(args.needed("agent")?)?;
    let endpoint = agent.default_endpoint();
    if let Some(word) = args.text("todo") {
        let todo_id = names::todo(&mut desk, word)?;
        let todo = admissible(context, &mut desk, &todo_id, &agent, &endpoint)?;
        let body = json!({"todo_id": todo_id, "reason": "claimable"});
        let plan = Plan { action: "run", todo: Some(&todo), body, why: None, commands: Vec::new() };
        return shown(&mut desk, context, args, &agent, plan);
    }
    let goal = names::goal(&mut desk, None)?;
    let tree = given_tree(context, args, &desk)?;
    let asking = Asking { workspace: tree.as_ref(), ..Asking::new(&goal, &agent, &endpoint) };
    planned(context, args, &mut desk, &asking)
}

/// For whom a decision is asked, and what it presents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking<'a> {
    /// The Goal.
    pub(super) goal: &'a GoalId,
    /// The agent.
    pub(super) agent: &'a AgentId,
    /// Through which endpoint it would execute.
    pub(super) endpoint: &'a EndpointId,
    /// Who would run it.
    pub(super) executor: Executor,
    /// The token of the Turn that it has the right to drive.
    pub(super) own_id: Option<OwnId>,
    /// Where it would work; else in the work tree of the present folder.
    pub(super) workspace: Option<&'a Workspace>,
}

impl<'a> Asking<'a> {
    /// A driver, who presents nothing.
    pub(super) const fn new(goal: &'a GoalId, agent: &'a AgentId, endpoint: &'a EndpointId) -> Self {
        Self { goal, agent, endpoint, executor: Executor::Hosted, own_id: None, workspace: None }
    }
}

/// What an agent should do next in a Goal, as an answer.
pub(super) fn planned(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    asking: &Asking<'_>,
) -> Result<Rendered> {
    let decided = decide(context, desk, asking)?;
    let todo = match &decided.action {
        Action::Replan { replan: Some(of), .. } => {
            of.covered().map(|todo_id| names::todo_row(desk, todo_id)).transpose()?
        }
        Action::Run { todo_id, .. } | Action::Repair { todo_id, .. } | Action::Replan { todo_id, .. } => {
            Some(names::todo_row(desk, todo_id)?)
        }
        Action::Reconcile { .. } | Action::Wait { .. } | Action::AskUser { .. } | Action::Closed => None,
    };
    let body = json_value(&decided)?;
    let body = with_units(body);
    let (why, commands) = explain(desk, &decided)?;
    let plan = Plan { action: decided.action.name(), todo: todo.as_ref(), body, why, commands };
    shown(desk, context, args, asking.agent, plan)
}

/// The Todo that a run works on: the one that is named, else what the agent should do next.
///
/// Errors: `goal_closed`, `reconciliation_required`, `not_ready` when there is nothing to run now.
pub(super) fn todo_of(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    agent: &AgentId,
    endpoint: &EndpointId,
) -> Result<TodoId> {
    if let Some(word) = args.text("todo") {
        return names::todo(desk, word);
    }
    if let Some(todo_id) = admitted_before(args, desk)? {
        return Ok(todo_id);
    }
    let goal = names::goal(desk, None)?;
    let tree = given_tree(context, args, desk)?;
    let asking = Asking { workspace: tree.as_ref(), ..Asking::new(&goal, agent, endpoint) };
    let decided = decide(context, desk, &asking)?;
    match decided.action {
        Action::Run { todo_id, .. }
        | Action::Repair { todo_id, .. }
        | Action::Replan { todo_id, replan: None } => Ok(todo_id),
        // What is only derived becomes a Todo by the claim of an agent.
        Action::Replan { todo_id: _, replan: Some(of) } => {
            Err(Error::new(Code::NotReady, format!("the plan of {} has to change first", of.covers))
                .detail("replan", of.to_string())
                .hint(format!("todo claim {of} --as agent:{agent}")))
        }
        Action::Reconcile { of: UnresolvedBy::Effect(effect_id), command } => Err(Error::new(
            Code::EffectUnresolved,
            format!("first it is read back what the effect {effect_id} of {agent} did"),
        )
        .detail("effect_id", effect_id.to_string())
        .hint(command)),
        Action::Reconcile { of: UnresolvedBy::Turn(turn_id), command } => {
            let left = desk.look(|view, terms| left_of(view, terms, turn_id))?;
            Err(Error::new(Code::ReconciliationRequired, format!("first {agent} ends what it began: {left}"))
                .detail("turn_id", turn_id.to_string())
                .hint(command))
        }
        Action::Wait { why, until, .. } => {
            let error = Error::new(Code::NotReady, format!("{agent} has nothing to do now: {}", plain(why)))
                .detail("why", why)
                .hint(format!("turn plan --agent {agent}"));
            Err(match until {
                Some(until) => error.detail("until_ms", until.as_ms()),
                None => error,
            })
        }
        Action::AskUser { asks } => {
            let question = asks.first().and_then(question).map(|question| format!(": {question}"));
            let said = format!("{agent} can do nothing until a person acts{}", question.unwrap_or_default());
            let error = Error::new(Code::NotReady, said)
                .detail("asks", serde_json::to_value(&asks).unwrap_or_default());
            Err(match asks.first() {
                Some(ask) => error.hint(ask.command.clone()),
                None => error,
            })
        }
        Action::Closed => Err(Error::new(Code::GoalClosed, format!("the Goal {goal} is closed"))
            .hint(format!("goal reopen {goal}"))),
    }
}

/// The Todo that the same run, given before, was admitted to.
fn admitted_before(args: &Args, desk: &mut Desk) -> Result<Option<TodoId>> {
    let Some(id) = args.text("op-id") else { return Ok(None) };
    let id = Commit::Admit.of(&id.parse()?)?;
    let Some(receipt) = desk.authority.receipt(&id)? else { return Ok(None) };
    Ok(receipt.outcome::<crate::kernel::Outcome>()?.todo_ids.into_iter().next())
}

/// The decision for an agent, as the present folder and this machine have it.
pub(super) fn decide(context: &Context<'_, '_>, desk: &mut Desk, asking: &Asking<'_>) -> Result<Decided> {
    let Asking { goal, agent, endpoint, executor, own_id, workspace: given } = *asking;
    let workspace = match given {
        Some(workspace) => Some(workspace.clone()),
        None => workspace(context, desk)?,
    };
    let inquiry = Inquiry { agent, endpoint, executor, own_id, workspace: workspace.as_ref() };
    with_eyes(desk, |view, terms, eyes| projection::decision(view, terms, goal, &inquiry, eyes))
}

/// The unresolved Turns of a Goal that were looked into in vain.
pub(super) fn tried(desk: &mut Desk, goal: &GoalId) -> Result<BTreeSet<TurnId>> {
    let live = TurnFilter { goal, todo: None, agent: None, live: true };
    let turns = desk.look(|view, _| view.turns(&live, None, Facts::PAGE))?;
    turn::tried(&mut PrivateStore::at(&desk.profile.place().private_db()), &turns)
}

/// The Todo, if a run of it would be admitted now.
///
/// Errors: those of the claim that a run makes.
fn admissible(
    context: &Context<'_, '_>,
    desk: &mut Desk,
    todo_id: &TodoId,
    agent: &AgentId,
    endpoint: &EndpointId,
) -> Result<Todo> {
    let claim = Claim {
        executor: Executor::Hosted,
        machine_id: Some(Workbench::of(context, desk)?.machine.machine_id),
        workspace: workspace(context, desk)?,
        ..Claim::attached(todo_id.clone())
    };
    desk.look(|view, terms| {
        let mut facts = Facts::new(terms.clone());
        for _ in 0..READ_ROUNDS {
            view.load(&admissible_reads(&claim, agent, &facts), &mut facts)?;
        }
        claim::admissible(&facts, &claim, agent, endpoint)
    })?;
    names::todo_row(desk, todo_id)
}

/// The work tree of the present folder, where a run without `--workspace` would work.
fn workspace(context: &Context<'_, '_>, desk: &Desk) -> Result<Option<Workspace>> {
    let Some(folder) = context.env.folder() else { return Ok(None) };
    let tree = tree_of(folder, desk.project.as_ref());
    tree.map(|tree| Ok(goal::work_tree(context, desk, Some(&tree))?.0)).transpose()
}

/// The work tree that a run is given.
pub(super) fn given_tree(context: &Context<'_, '_>, args: &Args, desk: &Desk) -> Result<Option<Workspace>> {
    let is_run = args.command().args.iter().any(|arg| arg.id == "workspace");
    let given = if is_run { args.file("workspace") } else { None };
    let tree = given.map(|tree| goal::work_tree(context, desk, Some(tree))).transpose()?;
    Ok(tree.map(|(workspace, _)| workspace))
}

/// What a run is to be given beside its Todo and its agent, as this call was given it; a place for a host that was not.
fn flags(args: &Args) -> String {
    const OF_A_RUN: [&str; 5] = ["host", "endpoint", "workspace", "deadline", "attempts"];
    let takes = |id: &&str| args.command().args.iter().any(|arg| arg.id == *id);
    let given = |id: &&str| args.origin(id) == Some(Origin::Flag);
    let shown = |id| Some(format!("--{id} {}", typed(args.values(id).first()?)?));
    let mut flags: Vec<_> = OF_A_RUN.into_iter().filter(takes).filter(given).filter_map(shown).collect();
    if !flags.iter().any(|flag| flag.starts_with("--host ")) {
        flags.insert(0, "--host COMMAND".to_owned());
    }
    flags.join(" ")
}

/// A value as a shell reads it back; none that cannot be shown as it is.
fn typed(value: &Given) -> Option<String> {
    let word = match value {
        Given::Text(text) => text.clone(),
        Given::Number(number) => number.to_string(),
        Given::Millis(millis) => show_duration_ms(*millis),
        Given::Argv(words) => shell_line(words.iter().map(String::as_str))?,
        Given::Path(path) => path.to_str()?.to_owned(),
        Given::On | Given::When(_) | Given::Wake(_) | Given::NumberedArgv(..) => return None,
    };
    shell_line([word.as_str()]).filter(|line| is_printable(line))
}

/// What an agent should do, for programs and in words.
struct Plan<'t> {
    action: &'static str,
    todo: Option<&'t Todo>,
    body: Value,
    why: Option<String>,
    /// What moves it.
    commands: Vec<String>,
}

fn shown(
    desk: &mut Desk,
    context: &Context<'_, '_>,
    args: &Args,
    agent: &AgentId,
    plan: Plan<'_>,
) -> Result<Rendered> {
    let Plan { action, todo, mut body, why, commands } = plan;
    let mut facts = show::Facts::default().add("next", should(action)).maybe("why", why);
    if let Some(todo) = todo {
        let goal = names::goal_row(desk, todo.todo_id.goal())?;
        let validators = validators(&goal, todo);
        let proofs: Vec<_> = validators.iter().map(|validator| show::typed(&validator.argv)).collect();
        let deadline_ms = desk.settings.millis("turn.deadline")?;
        facts = facts
            .add("todo", &todo.todo_id)
            .add("title", &todo.title)
            .add(
                "proved by",
                if proofs.is_empty() { "nothing: a person is asked".to_owned() } else { proofs.join("; ") },
            )
            .list("writes below", &todo.requires.write_scopes)
            .add("ends at the latest after", show_duration_ms(deadline_ms));
        if let Value::Object(fields) = &mut body {
            fields.insert("title".to_owned(), todo.title.as_str().into());
            fields.insert("validators".to_owned(), validators.len().into());
            fields.insert("deadline_ms".to_owned(), deadline_ms.into());
        }
    }
    if let Value::Object(fields) = &mut body {
        fields.insert("action".to_owned(), action.into());
    }
    let mut document = Document::new().with(facts.block());
    // A replan that is not written yet is claimed by its name alone.
    let run = todo.filter(|_| body.get("replan").is_none());
    let run = run.map(|todo| format!("turn run --todo {} --agent {agent} {}", todo.todo_id, flags(args)));
    let reader = Reader::of(context, args, desk);
    let mut commands =
        run.into_iter().chain(commands).map(|command| reader.command(&names::commanded(&command)));
    document = document.lines(commands.next().map(|command| format!("next: {command}")));
    let then: Vec<_> = commands.collect();
    if !then.is_empty() {
        document = document.with(Block::Heading(2, "Then".to_owned())).code(then);
    }
    Rendered::new(schema::TURN_PLAN, &json!({"plan": body}), document)
}
