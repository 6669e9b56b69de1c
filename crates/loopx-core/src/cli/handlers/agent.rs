//! Owns the handlers of `agent`.

use serde_json::{Value, json};

use super::{
    desk::Desk,
    given, names, offer, schema,
    show::{self, Facts},
    submit::{Wish, submit, written},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::Result,
    kernel::{AgentCommand, Command},
    model::AgentId,
    projection::{self, Slice},
};

/// `agent add`.
pub(in crate::cli) fn add(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal(&mut desk, None)?;
    let agent_id: AgentId = given::needed(args, "id")?;
    let command =
        AgentCommand::Add { agent_id: agent_id.clone(), capabilities: given::set(args, "capability")? };
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), Command::Agent(command)))?;
    let created = done.outcome.created == Some(true);
    let said = if created { "registered" } else { "was registered already" };
    let document = Document::new()
        .line(format!("agent {agent_id} {said} in {goal}"))
        .lines(offer::for_agent(context, &mut desk, &goal, &agent_id));
    let object = json!({"agent_id": agent_id, "goal_id": goal, "created": created});
    written(schema::AGENT, "agent", &object, &done, &[("created", Value::Bool(created))], document)
}

/// `agent retire`.
pub(in crate::cli) fn retire(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal(&mut desk, None)?;
    let agent_id: AgentId = given::needed(args, "id")?;
    let command = Command::Agent(AgentCommand::Retire { agent_id: agent_id.clone() });
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), command))?;
    let document = Document::new().line(format!("agent {agent_id} retired in {goal}"));
    written(schema::AGENT, "agent", &json!({"agent_id": agent_id, "goal_id": goal}), &done, &[], document)
}

/// `agent list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal(&mut desk, None)?;
    names::goal_row(&mut desk, &goal)?;
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let page = desk.look(|view, _| projection::agents(view, &goal, args.switch("retired"), slice))?;
    let now = desk.look(|_, terms| Ok(terms.now))?;
    show::listed(
        schema::AGENT_LIST,
        &page,
        &["AGENT", "STATE", "SINCE", "CAPABILITIES"],
        |row| {
            let capabilities: Vec<_> = row.capabilities.iter().map(ToString::to_string).collect();
            let since = show::when(row.registered_at_ms, now);
            vec![row.agent_id.to_string(), row.state.to_owned(), since, capabilities.join(" ")]
        },
        &format!("{goal} has no agent; `{} agent add <AGENT>` registers one.", context.program),
    )
}

/// `agent show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal(&mut desk, None)?;
    let agent_id = names::agent(args.needed("id")?)?;
    let (page, now) = desk.look(|view, terms| Ok((projection::agent(view, &goal, &agent_id)?, terms.now)))?;
    let facts = Facts::default()
        .add("goal", &goal)
        .add("state", page.row.state)
        .add("registered", show::when(page.row.registered_at_ms, now))
        .maybe("retired", page.row.retired_at_ms.map(|at| show::when(at, now)))
        .list("capabilities", &page.row.capabilities);
    let mut document = Document::new().heading(agent_id.as_str()).with(facts.block());
    if !page.turns.is_empty() {
        let rows = page.turns.iter().map(|turn| show::turn(turn, now)).collect();
        document = document.log(show::TURN_HEAD, rows);
    }
    Rendered::new(schema::AGENT, &json!({"agent": page}), document)
}
