//! Owns the handlers of `quota`: what is limited, reported, taken back and shown.

use serde_json::{Value, json};

use super::{
    caller::caller,
    desk::Desk,
    given, names, quota_show, schema,
    submit::{Wish, operation_id, submit, with_proof_hint, written},
};
use crate::{
    authority::Asked,
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Command, QuotaCommand, check_currency},
    model::{AgentId, Assurance, Caps, Currency, Duration, Limit, Meter, Usage},
    projection,
};

/// `quota show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    quota_show::show(context, args)
}

/// `quota set`: a limit, a ceiling, or both, each its own commit.
pub(in crate::cli) fn set(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let (limit, ceiling) = (wished_limit(args)?, wished_ceiling(args)?);
    let given = limit.is_some() || args.switch("none");
    match (given, ceiling) {
        (true, Some(_)) => {
            Err(Error::new(Code::InvalidArgument, "a limit and a ceiling are set one after the other")
                .hint("quota set --help"))
        }
        (false, None) => {
            Err(Error::new(Code::InvalidArgument, "nothing is said to be limited").hint("quota set --help"))
        }
        (true, None) if args.switch("authority") => set_all(context, args, &mut desk, limit),
        (true, None) if args.text("todo").is_some() => {
            Err(Error::new(Code::InvalidArgument, "a Todo has a ceiling, and no limit")
                .hint("quota set --help"))
        }
        (true, None) => set_limit(context, args, &mut desk, limit),
        (false, Some(_)) if args.switch("authority") => {
            Err(Error::new(Code::InvalidArgument, "a ceiling is of a Goal, an agent or a Todo")
                .hint("quota set --help"))
        }
        (false, Some(ceiling)) => set_ceiling(context, args, &mut desk, ceiling),
    }
}

fn set_limit(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    limit: Option<Limit>,
) -> Result<Rendered> {
    let goal = names::goal(desk, None)?;
    let agent_id: Option<AgentId> = args.text("agent").map(names::agent).transpose()?;
    let command = Command::Quota(QuotaCommand::Set { agent_id: agent_id.clone(), limit });
    let done = submit(context, args, desk, Wish::new(goal.clone(), command))?;
    let whose = agent_id.as_ref().map_or_else(|| goal.to_string(), |agent| format!("{agent} in {goal}"));
    let said = limit.as_ref().map_or_else(|| "no limit any more".to_owned(), projection::limited);
    let object = json!({"goal_id": goal, "agent_id": agent_id, "limit": limit});
    written(schema::QUOTA, "quota", &object, &done, &[], Document::new().line(format!("{whose}: {said}")))
}

fn set_ceiling(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    ceiling: Caps,
) -> Result<Rendered> {
    let todo_id = args.text("todo").map(|word| names::todo(desk, word)).transpose()?;
    let agent_id: Option<AgentId> = args.text("agent").map(names::agent).transpose()?;
    let goal = match &todo_id {
        Some(todo) => todo.goal().clone(),
        None => names::goal(desk, None)?,
    };
    let row = names::goal_row(desk, &goal)?;
    let counts_in = row.currency;
    if let Some(given) = args.text("ceiling-cost").map(cost).transpose()?.and_then(|(_, given)| given) {
        // A ceiling is an amount alone: what it is named in has to be what the Goal counts in.
        check_currency(&row, given)?;
        if counts_in.is_none() {
            let message = format!("nothing says yet in which currency the costs of {goal} are counted");
            return Err(Error::new(Code::CurrencyMismatch, message)
                .hint("quota set --help")
                .detail("argument", "--ceiling-cost"));
        }
    }
    let command =
        Command::Quota(QuotaCommand::Cap { agent_id: agent_id.clone(), todo_id: todo_id.clone(), ceiling });
    let done = submit(context, args, desk, Wish::new(goal.clone(), command))?;
    let said = if ceiling.is_open() {
        "no ceiling any more".to_owned()
    } else {
        format!("an attempt may use {}", projection::amounts(&ceiling, counts_in))
    };
    let object = json!({"goal_id": goal, "agent_id": agent_id, "todo_id": todo_id, "ceiling": ceiling});
    written(schema::QUOTA, "quota", &object, &done, &[], Document::new().line(said))
}

/// The limit of all Goals together: the ledger's own, and so none of a Goal's operations.
fn set_all(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    limit: Option<Limit>,
) -> Result<Rendered> {
    let caller = caller(context, args, desk)?;
    let id = operation_id(args)?;
    let mut asked = Asked { operation_id: id.clone(), actor: caller.actor, provenance: caller.provenance };
    let known = desk.authority.receipt(&id)?.is_some();
    if !known && asked.actor.is_user() && asked.provenance.assurance != Assurance::Proven {
        let question = format!("{}: limit all Goals together as {}?", context.program, asked.actor);
        if context.confirm(&question)? == Some(true) {
            asked.provenance.assurance = Assurance::Proven;
        }
    }
    let receipt = desk.authority.set_limit(&asked, limit);
    let receipt = receipt.map_err(|error| with_proof_hint(context, args, desk, &asked.actor, error))?;
    let said = limit.as_ref().map_or_else(|| "no limit any more".to_owned(), projection::limited);
    let replayed = receipt.is_replayed();
    let body = json!({"receipt": receipt, "quota": {"authority": true, "limit": limit}});
    let document = Document::new().line(format!("all Goals together: {said}"));
    Ok(Rendered::new(schema::QUOTA, &body, document)?.operation(&id, replayed))
}

/// The limit that the flags name; none where they name none.
fn wished_limit(args: &Args) -> Result<Option<Limit>> {
    let cost = args.text("cost").map(cost).transpose()?;
    if cost.is_some_and(|(_, currency)| currency.is_none()) {
        return Err(Error::new(Code::InvalidArgument, "a limit of cost names its currency, as 12.50USD")
            .detail("argument", "--cost"));
    }
    let limit = Limit {
        turns: args.number("turns").and_then(|turns| u32::try_from(turns).ok()),
        tokens: args.number("tokens"),
        cost_micros: cost.map(|(micros, _)| micros),
        currency: cost.and_then(|(_, currency)| currency),
        wall_ms: args.millis("wall"),
        window_ms: Duration::from_ms(args.millis("window").unwrap_or_default()),
    };
    Ok((limit.turns.is_some() || !limit.caps().is_open()).then_some(limit))
}

/// The ceiling that the flags name; none where they name none.
fn wished_ceiling(args: &Args) -> Result<Option<Caps>> {
    let ceiling = Caps {
        tokens: args.number("ceiling-tokens"),
        cost_micros: args.text("ceiling-cost").map(cost).transpose()?.map(|(micros, _)| micros),
        wall_ms: args.millis("ceiling-wall"),
    };
    Ok((!ceiling.is_open() || args.switch("no-ceiling")).then_some(ceiling))
}

/// Reads `12.50USD` as millionths and a currency; the currency may be left out.
fn cost(text: &str) -> Result<(u64, Option<Currency>)> {
    let bad = || {
        Error::new(
            Code::InvalidArgument,
            "a cost is a number with at most six places and a currency, as 12.50USD",
        )
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end).ok_or_else(bad)?;
    let (whole, places) = number.split_once('.').unwrap_or((number, ""));
    let fits = !whole.is_empty() && whole.len() <= 9 && places.len() <= 6 && !places.contains('.');
    if !fits || (number.contains('.') && places.is_empty()) {
        return Err(bad());
    }
    let micros: u64 = format!("{whole}{places:0<6}").parse().map_err(|_| bad())?;
    let unit = unit.trim();
    Ok((micros, if unit.is_empty() { None } else { Some(unit.parse()?) }))
}

/// `quota usage`.
pub(in crate::cli) fn usage(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let turn_id = names::turn(&mut desk, args.needed("turn")?)?;
    let goal = names::turn_row(&mut desk, turn_id)?.goal_id;
    let cost = args.text("cost").map(cost).transpose()?;
    let seq = args.number("seq").unwrap_or_default();
    let usage = Usage {
        seq,
        tokens_in: args.number("tokens-in"),
        tokens_out: args.number("tokens-out"),
        cost_micros: cost.map(|(micros, _)| micros),
        currency: cost.and_then(|(_, currency)| currency).map(|unit| unit.to_string().parse()).transpose()?,
        wall_ms: args.millis("wall"),
    };
    let meter: Meter = given::word(args.needed("meter")?)?;
    let command = QuotaCommand::Usage {
        turn_id,
        own_id: given::parsed(args, "own")?,
        attempt: args.number("attempt").and_then(|number| u8::try_from(number).ok()),
        meter,
        usage: Box::new(usage),
    };
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), Command::Quota(command)))?;
    let created = done.outcome.created == Some(true);
    let said = if created { "counted" } else { "was counted before" };
    let object = json!({"goal_id": goal, "turn_id": turn_id, "created": created});
    let document = Document::new().line(format!("report {seq} {said}"));
    written(schema::QUOTA, "quota", &object, &done, &[("created", Value::Bool(created))], document)
}

/// `quota void`.
pub(in crate::cli) fn void(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let turn_id = names::turn(&mut desk, args.needed("turn")?)?;
    let goal = names::turn_row(&mut desk, turn_id)?.goal_id;
    let command = QuotaCommand::Void { turn_id, reason: given::needed(args, "reason")? };
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), Command::Quota(command)))?;
    let document = Document::new().line(format!("what {} spent counts no more", names::short(&turn_id)));
    written(schema::QUOTA, "quota", &json!({"goal_id": goal, "turn_id": turn_id}), &done, &[], document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_read_to_the_millionth_and_nothing_else_is() {
        let read = |text: &str| cost(text).map(|(micros, unit)| (micros, unit.map(|unit| unit.to_string())));
        assert_eq!(read("12.50USD").unwrap(), (12_500_000, Some("USD".to_owned())));
        assert_eq!(read("0.000001").unwrap(), (1, None));
        assert_eq!(read("7 EUR").unwrap(), (7_000_000, Some("EUR".to_owned())));
        for bad in ["", ".5", "1.", "1.1234567", "1,5", "-1", "USD", "1usd", "1.2.3", "9999999999", "1US"] {
            assert_eq!(read(bad).unwrap_err().code(), Code::InvalidArgument, "{bad:?}");
        }
    }
}
