//! Owns the handlers of `quota should-run` and `heartbeat-prompt`: one decision, for a shell loop and for a host.
//!
//! Knows no rule; both say what `next` says.

use serde_json::json;

use super::{decided, desk::Desk, names, next::Asking, reader::template, schema, show};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::Result,
    kernel::Action,
    model::json_value,
    projection::{should, with_units},
};

/// How long a prompt is at most.
const PROMPT_MAX_BYTES: usize = 16 * 1024;
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
    let (why, _) = decided::explain(&mut desk, &decided)?;
    if let Some(why) = why {
        line = format!("{line}: {why}");
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
    let exit = decided::exit(action);
    Ok(Rendered::new(schema::SHOULD_RUN, &body, Document::new().line(line))?.exit(exit))
}

/// `heartbeat-prompt`.
pub(in crate::cli) fn prompt(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let asking = Asking::of(context, args, &mut desk)?;
    let (goal_id, decided) = asking.decide(context, args, &mut desk)?;
    let goal = names::goal_row(&mut desk, &goal_id)?;
    let action = &decided.action;
    let (agent, program) = (&asking.agent, context.program);
    let (why, _) = decided::explain(&mut desk, &decided)?;
    let asked = asking.asked(&goal_id);
    let commands = decided::commands(&mut desk, &asked, &decided)?;
    let mut lines = vec![
        format!(
            "You are the agent {agent}. LoopX keeps the Goal {goal_id}, and says what is to be done now."
        ),
        format!("You should {}.", should(action.name())),
    ];
    lines.extend(why.map(|why| format!("Why: {why}.")));
    if let Some(todo_id) = action.todo_id() {
        let todo = names::todo_row(&mut desk, todo_id)?;
        lines.push(format!("Todo {todo_id} ({}): {}", todo.priority.as_str(), todo.title));
    }
    let is_agents = decided.obligation.must_attempt_work;
    lines.push(String::new());
    lines.push(match (action, is_agents) {
        (_, true) => "Run this first; do nothing on the Todo before it has succeeded:".to_owned(),
        (Action::Wait { .. }, _) => {
            "Do no work now, and end this turn. What it waits for is seen with:".to_owned()
        }
        (_, _) => {
            "Do no work now. Tell the person which of these is his to run, and end this turn:".to_owned()
        } // what is left is a person's
    });
    lines.extend(commands.iter().take(COMMANDS).map(|command| format!("  {program} {}", template(command))));
    if is_agents {
        lines.push(String::new());
        lines.push("It prints an `own_id`. Present it when the work is finished, and once only:".to_owned());
        lines.push(format!("  {program} todo done <TODO> --as agent:{agent} --own <OWN_ID>"));
        lines.push("Where you cannot go on: `todo release` with the same words gives it back, `gate open` asks a person.".to_owned());
    }
    lines.push(String::new());
    lines.push(format!(
        "Stop, and work on nothing else, when {program} next --agent {agent} exits with another code than 0:"
    ));
    lines.push("10 wait, 11 a person has to act, 12 the Goal is closed.".to_owned());
    lines.extend(goal.stop_conditions.iter().map(|stop| format!("Stop when: {stop}")));
    lines.push(format!("The Goal: {}", goal.objective));
    let text = bounded(&lines);
    let body = json!({"prompt": text, "agent_id": agent, "goal_id": goal_id, "action": action.name()});
    Rendered::new(schema::HEARTBEAT, &body, Document::new().verbatim(text))
}

/// The lines that fit; what does not is shown by `next`, and nothing that is needed stands behind it.
fn bounded(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() + 1 > PROMPT_MAX_BYTES {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}
