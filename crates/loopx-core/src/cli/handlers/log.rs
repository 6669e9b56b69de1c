//! Owns the handlers of `log` and `find`.

use super::{desk::Desk, names, schema, show};
use crate::{
    boundary::OwnerView,
    cli::{Args, Context, Document, Rendered, When},
    error::Result,
    model::{Duration, Timestamp},
    projection::{self, Listed, LogQuery, LogRow, Slice},
};

/// `log`.
pub(in crate::cli) fn log(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let todo = args.text("todo").map(|word| names::todo(&mut desk, word)).transpose()?;
    let goal = match &todo {
        Some(todo) => {
            names::todo_row(&mut desk, todo)?;
            todo.goal().clone()
        }
        None => names::goal(&mut desk, None)?,
    };
    let since = args.when("since");
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let history = desk.look(|view, terms| {
        let since = since.map(|when| match when {
            When::At(ms) => Timestamp::from_ms(ms),
            When::Span(ms) => terms.now.minus(Duration::from_ms(ms)),
        });
        projection::log(view, terms, &LogQuery { goal: &goal, todo: todo.as_ref(), since }, slice)
    })?;
    let cells = |row: &OwnerView<LogRow>| {
        let row = row.for_owner();
        vec![row.seq.to_string(), show::utc(row.at_ms), who(row), row.text.clone()]
    };
    let page = &history.page;
    let document = if page.items.is_empty() {
        Document::new().para("Nothing happened yet.")
    } else {
        // What happened is what a history is read for.
        Document::new().log(&["EVENT", "WHEN", "WHO", "WHAT"], page.items.iter().map(cells).collect())
    };
    let mut rendered =
        show::more(Rendered::new(schema::LOG, &history, document)?, page.next_cursor.as_deref());
    if let Some(flaw) = &history.finding {
        let program = context.program;
        rendered = rendered
            .note(format!("{}: what follows is not shown; `{program} doctor` says what helps", flaw.text));
    }
    Ok(rendered)
}

/// Whose word a row is: a validator's is not the agent's that it judged.
fn who(row: &LogRow) -> String {
    row.said_by.map_or_else(|| show::actor(&row.actor), str::to_owned)
}

/// `find`.
pub(in crate::cli) fn find(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal_given(args)?;
    let text = args.needed("text")?;
    let limit = desk.page(args)?.unwrap_or(projection::PAGE_MAX);
    let items = desk.look(|view, _| projection::find(view, text, goal.as_ref(), limit))?;
    let shown = crate::error::echo(text).into_owned();
    let is_full = items.len() >= limit;
    let rendered = show::listed(
        schema::FIND,
        &Listed { items, next_cursor: None },
        &["ID", "NOUN", "TITLE"],
        |row| vec![row.id.clone(), row.noun.to_owned(), row.title.clone()],
        &format!("Nothing holds `{shown}`."),
    )?;
    Ok(if is_full {
        rendered.note(format!("the first {limit}; a longer text finds fewer"))
    } else {
        rendered
    })
}
