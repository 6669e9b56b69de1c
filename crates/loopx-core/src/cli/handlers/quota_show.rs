//! Owns how a budget is shown to people, to programs, and as CSV.

use serde_json::json;

use super::{desk::Desk, names, reader::Reader, schema, show};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    model::{Dimension, Duration, Timestamp},
    projection::{self, Budget, BudgetRow, SpendBy},
};

/// The longest window that is looked through.
const WINDOW_MAX_MS: u64 = 31 * 24 * 60 * 60 * 1000;

/// How many cells a bar has.
const BAR: u64 = 10;

/// `quota show`.
pub(super) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal_given(args)?;
    if let Some(by) = args.text("csv") {
        return csv(args, &mut desk, goal.as_ref(), by);
    }
    let (budget, now) =
        desk.look(|view, terms| Ok((projection::budget(view, terms, goal.as_ref())?, terms.now)))?;
    Rendered::new(
        schema::QUOTA_SHOW,
        &json!({"quota": budget}),
        document(&Reader::of(context, args, &desk), context.program, &budget, now),
    )
}

fn document(reader: &Reader, program: &str, budget: &Budget, now: Timestamp) -> Document {
    if budget.rows.is_empty() {
        return Document::new().para("There is no Goal yet, and nothing is limited.");
    }
    let rows = budget.rows.iter().map(|row| line(row, now)).collect();
    let head = ["WHOSE", "WHAT", "USED", "OF", "LEFT", "RESERVED", "UNKNOWN", "WINDOW"];
    let mut document = Document::new().table(&head, rows);
    for row in budget.rows.iter().filter(|row| !row.meters.is_empty()) {
        let meters =
            row.meters.iter().map(|(meter, amount)| format!("{meter} says {}", amount_of(row, *amount)));
        let said: Vec<_> = meters.collect();
        document = document.line(format!("{}, {}: {}", whose(row), row.dimension, said.join(", ")));
    }
    let mut raised = std::collections::BTreeSet::new();
    for (row, command) in budget.rows.iter().filter_map(|row| Some((row, row.command.as_ref()?))) {
        if raised.insert(command) {
            let text = format!("{}: a limit of zero lets nothing run, and no time frees it", whose(row));
            document = document.line(format!("{text}; `{}` raises it", reader.command(command)));
        }
    }
    for row in &budget.ceilings {
        let agent = row.agent_id.as_ref().map(|agent| format!(" of {agent}")).unwrap_or_default();
        document = document.line(format!("an attempt{agent} in {} may use {}", row.goal_id, row.text));
    }
    if budget.rows.iter().all(|row| row.limit.is_none()) {
        document =
            document.line(format!("nothing is limited; `{program} quota set --help` says how to limit it"));
    }
    document
}

fn whose(row: &BudgetRow) -> String {
    match (&row.goal_id, &row.agent_id) {
        (Some(goal), Some(agent)) => format!("{agent} in {goal}"),
        (Some(goal), None) => goal.to_string(),
        (None, _) => "all Goals".to_owned(),
    }
}

fn amount_of(row: &BudgetRow, amount: u64) -> String {
    let dimension = Dimension::ALL.into_iter().find(|dimension| dimension.as_str() == row.dimension);
    let currency = row.currency.as_ref().and_then(|text| text.parse().ok());
    match dimension {
        Some(Dimension::Wall) => projection::span(amount),
        Some(Dimension::Tokens) | None => amount.to_string(),
        Some(Dimension::Cost) => projection::amount_of(Dimension::Cost, amount, currency),
    }
}

fn line(row: &BudgetRow, now: Timestamp) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let used = row.spent.saturating_add(row.reserved);
    let bar = row.limit.map_or_else(String::new, |limit| format!("{} ", bar(used, limit)));
    let left = row.left.map(|left| match row.frees_at_ms {
        Some(at) => format!("0, some {}", show::when(at, now)),
        None => amount_of(row, left),
    });
    let some = |amount: u64, text: String| if amount == 0 { "-".to_owned() } else { text };
    vec![
        whose(row),
        row.dimension.to_owned(),
        format!("{bar}{}", amount_of(row, row.spent)),
        or_dash(row.limit.map(|limit| amount_of(row, limit))),
        or_dash(left),
        some(row.reserved, amount_of(row, row.reserved)),
        some(row.unknown_turns, format!("{} Turns", row.unknown_turns)),
        projection::span(row.window_ms.as_ms()),
    ]
}

/// How full something is, at a glance; what is not empty shows.
fn bar(used: u64, limit: u64) -> String {
    let full = if limit == 0 { BAR } else { used.saturating_mul(BAR).div_ceil(limit).min(BAR) };
    let cells = |n: u64, cell: &str| cell.repeat(usize::try_from(n).unwrap_or_default());
    format!("[{}{}]", cells(full, "#"), cells(BAR - full, "."))
}

fn csv(args: &Args, desk: &mut Desk, goal: Option<&crate::model::GoalId>, by: &str) -> Result<Rendered> {
    let by = match by {
        "goal" => SpendBy::Goal,
        "agent" => SpendBy::Agent,
        _ => SpendBy::Day, // the table offers no other word
    };
    let window = args.millis("window").unwrap_or_default();
    if !(300_000..=WINDOW_MAX_MS).contains(&window) {
        return Err(Error::new(Code::InvalidArgument, "a window is 5 minutes to 31 days")
            .detail("argument", "--window"));
    }
    let window = Duration::from_ms(window);
    let rows = desk.look(|view, terms| projection::spending(view, terms, goal, window, by))?;
    let key = match by {
        SpendBy::Goal => "goal",
        SpendBy::Agent => "goal,agent",
        SpendBy::Day => "day",
    };
    let head = "turns_spent,turns_returned,turns_reserved,tokens,tokens_unknown_turns,cost_micros,currency,\
                cost_unknown_turns,wall_ms,wall_unknown_turns";
    let mut lines = vec![format!("{key},{head}")];
    let mut items = Vec::new();
    for ((one, two, currency), row) in &rows {
        let keys = if by == SpendBy::Agent { format!("{one},{two}") } else { one.clone() };
        let known =
            |dimension| row.measured.of(dimension).map_or_else(String::new, |amount| amount.to_string());
        let [tokens, cost, wall] = Dimension::ALL.map(known);
        let [no_tokens, no_cost, no_wall] = row.unknown;
        let counts = format!("{},{},{}", row.spent, row.returned, row.reserved);
        lines.push(format!(
            "{keys},{counts},{tokens},{no_tokens},{cost},{currency},{no_cost},{wall},{no_wall}"
        ));
        items.push(json!({
            "key": [one, two], "turns_spent": row.spent, "turns_returned": row.returned,
            "turns_reserved": row.reserved, "measured": row.measured, "currency": currency,
            "unknown_turns": {"tokens": no_tokens, "cost": no_cost, "wall": no_wall},
        }));
    }
    Rendered::new(schema::QUOTA_SPENDING, &json!({"items": items}), Document::new().lines(lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_what_is_not_empty_and_never_more_than_full() {
        assert_eq!(bar(0, 10), "[..........]");
        assert_eq!(bar(1, 1000), "[#.........]");
        assert_eq!(bar(10, 10), "[##########]");
        assert_eq!(bar(30, 10), "[##########]");
        assert_eq!(bar(0, 0), "[##########]");
    }
}
