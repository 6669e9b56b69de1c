//! Owns the lists of nouns beside the plan: those of a Todo, or of a Goal, a page at a time.
//!
//! Knows nothing of what each says.

use super::{desk::Desk, names, show};
use crate::{
    authority::NounFilter,
    cli::{Args, Context, Rendered},
    error::Result,
    model::{OneNoun, Timestamp},
    projection::{self, Slice},
};

/// How a kind of noun is listed.
pub(super) struct List<'l, T> {
    /// The name of the answer's form.
    pub(super) schema: &'static str,
    /// The heads of the columns.
    pub(super) head: &'l [&'l str],
    /// The cells of one.
    pub(super) row: fn(&T, Timestamp) -> Vec<String>,
    /// What is said where there is none: of the Todo or Goal, whether only open ones were asked for, and by whom.
    pub(super) nothing: fn(&str, bool, &str) -> String,
}

/// The nouns of a Todo or a Goal, only the open ones where that is asked.
pub(super) fn listed<T: OneNoun>(
    context: &mut Context<'_, '_>,
    args: &Args,
    open: bool,
    list: &List<'_, T>,
) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let todo = args.text("todo").map(|word| names::todo(&mut desk, word)).transpose()?;
    let goal = match &todo {
        Some(todo) => todo.goal().clone(),
        None => names::goal(&mut desk, None)?,
    };
    names::goal_row(&mut desk, &goal)?;
    let filter = NounFilter { kind: T::KIND, goal: &goal, todo: todo.as_ref(), open };
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let (page, now) = desk.look(|view, terms| Ok((projection::nouns(view, &filter, slice)?, terms.now)))?;
    let of = todo.as_ref().map_or_else(|| goal.to_string(), ToString::to_string);
    show::listed_whole(
        list.schema,
        &page,
        list.head,
        |row| row.for_owner().get().map(|noun| (list.row)(noun, now)).unwrap_or_default(),
        &(list.nothing)(&of, open, context.program),
    )
}
