//! Owns the handlers of `quota should-run` and `heartbeat-prompt`: one decision, for a shell loop and for a host.
//!
//! Knows no rule; both say what `next` says.

use serde_json::json;

use super::{
    contract_text, decided,
    desk::Desk,
    given, names,
    next::Asking,
    reader::{Reader, template},
    schema, show,
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Error, Result},
    kernel::{Action, Decided},
    model::{GoalId, TodoId, json_value},
    projection::{should, with_units},
    turn::{
        self, ContractInquiry,
        context::{self, Contract, Held, Packet},
    },
};

/// How long a prompt without a work contract is at most.
const PROMPT_MAX_BYTES: usize = 16 * 1024;
/// How long it is before the work contract begins, which has a bound of its own.
const BEFORE_MAX_BYTES: usize = 4 * 1024;
/// How many of a person's commands a prompt names.
const COMMANDS: usize = 6;

/// `quota should-run`.
pub(in crate::cli) fn should_run(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let asking = Asking::of(context, args, &mut desk)?;
    let (goal, decided) = asking.decide(context, args, &mut desk)?;
    let action = &decided.action;
    let mut line = action.name().to_owned();
    if let Some(todo_id) = action.todo_id() {
        line = format!("{line} {todo_id}");
    }
    let (why, commands) = decided::explain(&mut desk, &decided)?;
    if let Some(why) = why {
        line = format!("{line}: {why}");
    }
    if let (Action::AskUser { .. }, Some(command)) = (action, commands.first()) {
        line = format!("{line}; {}", Reader::of(context, args, &desk).command(command));
    }
    let until = match action {
        Action::Wait { until, .. } => *until,
        _ => None, // what is no wait names no moment
    };
    if let Some(until) = until {
        line = format!("{line}, until {}", show::rfc3339(until));
    }
    let body = json!({
        "should_run": decided.obligation.must_attempt_work,
        "agent_id": asking.agent,
        "goal_id": goal,
        "decision": with_units(json_value(&decided)?),
    });
    let body = Reader::of(context, args, &desk).told(&body)?;
    let exit = decided::exit(action);
    Ok(Rendered::new(schema::SHOULD_RUN, &body, Document::new().line(line))?.exit(exit))
}

/// `heartbeat-prompt`.
pub(in crate::cli) fn prompt(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let asking = Asking::of(context, args, &mut desk)?;
    let held = held(args, &asking)?;
    let (goal_id, decided) = asking.decide(context, args, &mut desk)?;
    let goal = names::goal_row(&mut desk, &goal_id)?;
    let (agent, program) = (&asking.agent, context.program);
    // What is only derived is no Todo yet: there is nothing to know of it before it is taken.
    let todo_id = decided.action.todo_id().filter(|_| decided.action.replan().is_none());
    let contract = match todo_id {
        Some(todo_id) => Some(contract(args, &mut desk, &asking, todo_id, &held)?),
        None => None,
    };
    let mut lines = vec![
        format!(
            "You are the agent {agent}. LoopX keeps the Goal {goal_id}, and says what is to be done now."
        ),
        if is_held(&asking, &decided) {
            "You should go on with the Todo that you hold.".to_owned()
        } else {
            format!("You should {}.", should(decided.action.name()))
        },
    ];
    lines.extend(decided::explain(&mut desk, &decided)?.0.map(|why| format!("Why: {why}.")));
    if let Some((_, packet)) = &contract {
        let todo = &packet.envelope.todo;
        lines.push(format!("Todo {} ({}): {}", todo.todo_id, todo.priority.as_str(), todo.title));
    }
    lines.push(String::new());
    lines.extend(what_to_run(context, &mut desk, &asking, &goal_id, &decided)?);
    lines.push(String::new());
    let own = asking.own_id.filter(|_| is_held(&asking, &decided)).map(|own_id| format!(" --own {own_id}"));
    let own = own.unwrap_or_default();
    lines.push(format!(
        "Stop, and work on nothing else, when {program} next --agent {agent}{own} exits with another code than 0:"
    ));
    lines.push("10 wait, 11 a person has to act, 12 the Goal is closed.".to_owned());
    if contract.is_none() {
        lines.extend(goal.stop_conditions.iter().map(|stop| format!("Stop when: {stop}")));
        lines.push(format!("The Goal: {}", goal.objective));
    }
    let mut text = bounded(&lines, if contract.is_some() { BEFORE_MAX_BYTES } else { PROMPT_MAX_BYTES });
    if let Some((contract, packet)) = &contract {
        for line in contract_text::lines(contract, packet) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    let answer = contract.as_ref().map(|(contract, packet)| contract.answer(packet)).transpose()?;
    let body = json!({
        "prompt": text,
        "agent_id": agent,
        "goal_id": goal_id,
        "action": decided.action.name(),
        "contract": answer,
    });
    let again = contract.map(|(contract, packet)| {
        let goal = asking.goal.as_ref().map(|goal| format!(" --goal {goal}"));
        let own = asking.own_id.map(|own_id| format!(" --own {own_id}"));
        let generation = (packet.generation > 0).then(|| format!(" --generation {}", packet.generation));
        let more: String = [goal, own, generation].into_iter().flatten().collect();
        format!("next time: {program} heartbeat-prompt --agent {agent}{more} --basis {}", contract.basis)
    });
    Rendered::new(schema::HEARTBEAT, &body, Document::new().verbatim(text).lines(again))
}

/// What the caller says that its agent holds of the work contract.
///
/// Errors: `invalid_argument` for what is no basis.
fn held(args: &Args, asking: &Asking) -> Result<Held> {
    let own = asking.own_id.map(|own_id| format!(" --own {own_id}")).unwrap_or_default();
    let hinted = |error: Error| error.hint(format!("heartbeat-prompt --agent {}{own}", asking.agent));
    Ok(Held {
        basis: given::parsed(args, "basis").map_err(hinted)?,
        doubt: args.text("doubt").map(given::word).transpose()?,
    })
}

/// What is to be known of a Todo, and how much of it has to be said.
fn contract(
    args: &Args,
    desk: &mut Desk,
    asking: &Asking,
    todo_id: &TodoId,
    held: &Held,
) -> Result<(Contract, Packet)> {
    let inquiry = ContractInquiry {
        todo_id,
        agent_id: &asking.agent,
        own_id: asking.own_id,
        ttl_ms: desk.settings.millis("ownership.ttl")?,
        generation: args.number("generation").unwrap_or_default(),
    };
    let packet = desk.look(|view, terms| turn::packet(view, terms, &inquiry))?;
    Ok((context::contract(&packet, held)?, packet))
}

/// Whether the agent presents the Turn that it should go on with.
fn is_held(asking: &Asking, decided: &Decided) -> bool {
    matches!(decided.action, Action::Run { turn_id: Some(_), .. }) && asking.own_id.is_some()
}

/// The commands of a decision, with what each is for.
fn what_to_run(
    context: &Context<'_, '_>,
    desk: &mut Desk,
    asking: &Asking,
    goal_id: &GoalId,
    decided: &Decided,
) -> Result<Vec<String>> {
    let (agent, program) = (&asking.agent, context.program);
    let commands = decided::commands(desk, &asking.asked(goal_id), decided)?;
    let commands = commands.iter().take(COMMANDS).map(|command| format!("  {program} {}", template(command)));
    let is_held = is_held(asking, decided);
    let is_agents = decided.obligation.must_attempt_work;
    let mut lines = vec![match &decided.action {
        _ if is_held => "You hold it. When the work is finished, and once only:".to_owned(),
        _ if is_agents => "Run this first; do nothing on the Todo before it has succeeded:".to_owned(),
        Action::Wait { .. } => {
            "Do no work now, and end this turn. What it waits for is seen with:".to_owned()
        }
        _ => "Do no work now. Tell the person which of these is his to run, and end this turn:".to_owned(), // what is left is a person's
    }];
    lines.extend(commands);
    if is_agents && !is_held {
        lines.push(String::new());
        lines.push("It prints an `own_id`. Present it when the work is finished, and once only:".to_owned());
        lines.push(format!("  {program} todo done <TODO> --as agent:{agent} --own <OWN_ID>"));
    }
    if is_agents {
        lines.push("Where you cannot go on: `todo release` with the same words gives it back, `gate open` asks a person.".to_owned());
    }
    Ok(lines)
}

/// The lines that fit: what to do first; what does not fit is shown by `next`.
fn bounded(lines: &[String], max_bytes: usize) -> String {
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() + 1 > max_bytes {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}
