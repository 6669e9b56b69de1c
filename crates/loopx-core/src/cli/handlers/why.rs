//! Owns the handler of `why`: the one reason of a Goal, a Todo, a gate, a Turn or an agent, and what would change it.

use super::{
    decided, desk::Desk, names, next::Asking, reader::Reader, schema, show, status::with_eyes,
    workbench::Workbench,
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result, echo, shell_line},
    kernel::Action,
    model::{GateId, GoalId, Timestamp, TodoId, TurnId, TurnState},
    projection::{self, Because, Listed, TurnRow, Which, plain, should},
};

/// What is asked about.
enum About {
    Goal(GoalId),
    Todo(TodoId),
    Gate(GateId),
    Turn(TurnId),
    Agent,
    Everything,
}

/// `why`.
pub(in crate::cli) fn why(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let agent = args.text("agent").map(names::agent).transpose()?;
    let items = match about(&mut desk, args)? {
        About::Todo(id) => with_eyes(&mut desk, |view, terms, eyes| {
            projection::why_todo(view, terms, &id, agent.as_ref(), eyes)
        })?,
        About::Gate(id) => vec![desk.look(|view, terms| projection::why_gate(view, terms, id))?],
        About::Turn(id) => vec![of_turn(context, &mut desk, id)?],
        About::Agent => vec![of_agent(context, args, &mut desk)?],
        About::Goal(id) => with_eyes(&mut desk, |view, terms, eyes| {
            projection::why_goals(view, terms, Which::One(&id), eyes)
        })?,
        About::Everything => {
            let bound = desk.bound_goal();
            let which = Which::All { first: bound.as_ref() };
            with_eyes(&mut desk, |view, terms, eyes| projection::why_goals(view, terms, which, eyes))?
        }
    };
    let now = desk.look(|_, terms| Ok(terms.now))?;
    let reader = Reader::of(context, args, &desk);
    let document = document(&items, now, &reader, context.program);
    Rendered::new(schema::WHY, &reader.told(&Listed { items, next_cursor: None })?, document)
}

/// What a word means: a Todo, a gate or a Turn by its id, else a Goal; without one, what `--goal` or `--agent` names.
///
/// Errors: `not_found`, `ambiguous_id`.
fn about(desk: &mut Desk, args: &Args) -> Result<About> {
    let Some(word) = args.text("id") else {
        return Ok(match names::goal_given(args)? {
            _ if args.text("agent").is_some() => About::Agent,
            Some(goal) => About::Goal(goal),
            None => About::Everything,
        });
    };
    if word.starts_with(TurnId::PREFIX) {
        return names::turn(desk, word).map(About::Turn);
    }
    if word.starts_with(GateId::PREFIX) {
        return names::gate(desk, word).map(About::Gate);
    }
    if word.parse::<TodoId>().is_ok() || word.strip_prefix('#').unwrap_or(word).parse::<u32>().is_ok() {
        return names::todo(desk, word).map(About::Todo);
    }
    if let Ok(goal) = word.parse::<GoalId>()
        && desk.look(|view, _| Ok(view.head(&goal)?.is_some()))?
    {
        return Ok(About::Goal(goal));
    }
    // What lists show of a minted id is the start of its tail.
    if !desk.exact {
        match names::gate(desk, word) {
            Ok(id) => return Ok(About::Gate(id)),
            Err(error) if error.code() == Code::AmbiguousId => return Err(error),
            Err(_) => {}
        }
        match names::turn(desk, word) {
            Ok(id) => return Ok(About::Turn(id)),
            Err(error) if error.code() == Code::AmbiguousId => return Err(error),
            Err(_) => {}
        }
    }
    let error = Error::new(Code::NotFound, format!("there is no Goal, Todo, gate or Turn {}", echo(word)));
    Err(error.hint(shell_line(["find", word]).unwrap_or_else(|| "goal list".to_owned())))
}

/// Why a Turn stands where it does.
fn of_turn(context: &Context<'_, '_>, desk: &mut Desk, turn_id: TurnId) -> Result<Because> {
    names::turn_row(desk, turn_id)?;
    let around = Workbench::of(context, desk)?.site(desk).around(turn_id)?;
    let row = TurnRow::of(&around.turn);
    let causes: Vec<_> =
        around.causes.iter().map(|cause| plain(&projection::word(cause)).to_owned()).collect();
    let on = around.turn.todo_id().map(|id| format!(" on {id}")).unwrap_or_default();
    let text = match (&around.turn.state, row.why.as_deref()) {
        (TurnState::Unresolved { .. }, _) => {
            desk.look(|view, terms| projection::left_of(view, terms, turn_id))?
        }
        (TurnState::Held { .. }, _) if !causes.is_empty() => {
            format!("the Turn{on} is {}: {}", row.state, causes.join(", "))
        }
        (_, Some(why)) => format!("the Turn{on} is {}: {}", row.state, plain(why)),
        (_, None) => format!("the Turn{on} is {}", row.state),
    };
    Ok(Because {
        about: turn_id.to_string(),
        kind: "turn",
        agent_id: Some(around.turn.agent_id.clone()),
        reason: row.state.to_owned(),
        text,
        command: Some(around.onward().unwrap_or_else(|| format!("turn show {turn_id}"))),
        until_ms: None,
    })
}

/// Why an agent does what it does, over all Goals.
fn of_agent(context: &Context<'_, '_>, args: &Args, desk: &mut Desk) -> Result<Because> {
    let asking = Asking::of(context, args, desk)?;
    let (goal, decided) = asking.decide(context, args, desk)?;
    let (why, _) = decided::explain(desk, &decided)?;
    let asked = asking.asked(&goal);
    let command = decided::commands(desk, &asked, &decided)?.into_iter().next();
    let agent = &asking.agent;
    let on = decided.action.todo_id().map(|id| format!(" {id}")).unwrap_or_default();
    let does = format!("{agent} should {}{on}", should(decided.action.name()));
    Ok(Because {
        about: agent.to_string(),
        kind: "agent",
        agent_id: Some(agent.clone()),
        reason: decided.action.name().to_owned(),
        text: why.map_or_else(|| does.clone(), |why| format!("{does}: {why}")),
        command,
        until_ms: match decided.action {
            Action::Wait { until, .. } => until,
            _ => None, // what is no wait names no moment
        },
    })
}

fn document(items: &[Because], now: Timestamp, reader: &Reader, program: &str) -> Document {
    let mut document = Document::new();
    for one in items {
        let until = one.until_ms.map(|at| format!(", {}", show::when(at, now))).unwrap_or_default();
        let agent = one.agent_id.as_ref().filter(|_| one.kind == "todo");
        let whose = agent.map(|agent| format!("for {agent}: ")).unwrap_or_default();
        let goal = if one.kind == "goal" {
            format!("{} waits for {}: ", one.about, one.reason)
        } else {
            String::new()
        };
        document = document.line(format!("{goal}{whose}{}{until}", one.text));
        let command = one.command.as_ref().map(|command| names::commanded(command));
        document = document.lines(command.as_ref().map(|command| format!("    {}", reader.command(command))));
        document = document.lines(command.as_ref().and_then(|command| reader.refusal(command)));
    }
    if items.is_empty() {
        document = document.para(format!("No Goal is open; `{program} init --goal <TITLE>` starts one."));
    }
    document
}
