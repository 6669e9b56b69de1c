//! Owns the handlers of `attention`.

use serde_json::json;

use super::{
    desk::Desk,
    names,
    reader::Reader,
    schema, show,
    status::with_eyes,
    submit::{Wish, submit, written},
};
use crate::{
    boundary::OwnerView,
    cli::{Args, Block, Context, Document, Rendered},
    error::{Code, Error, Result, echo},
    kernel::{AttentionCommand, Command, SeenRow},
    model::{About, Effect, EffectId, GateId, GoalId, NounKey, OneNoun as _, Timestamp, TurnId},
    projection::{self, AttentionRow, Listed, Rank, Slice},
};

/// How many ids an ambiguous start shows.
const SEVERAL: usize = 8;

/// `attention list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal_given(args)?;
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let (page, now) = with_eyes(&mut desk, |view, terms, eyes| {
        Ok((projection::attention(view, terms, goal.as_ref(), eyes, slice)?, terms.now))
    })?;
    let reader = Reader::of(context, args, &desk);
    show::paged(schema::ATTENTION_LIST, &page, document(&page, now, &reader))
}

fn document(page: &Listed<OwnerView<AttentionRow>>, now: Timestamp, reader: &Reader) -> Document {
    let mut document = Document::new();
    if page.items.is_empty() {
        return document.para("Nothing needs anybody.");
    }
    let mut rows = page.items.iter().map(OwnerView::for_owner).peekable();
    while let Some(rank) = rows.peek().map(|item| item.row.rank) {
        let mut lines = Vec::new();
        while let Some(item) = rows.next_if(|item| item.row.rank == rank) {
            lines.push(format!("{}: {}{}", item.goal_id, item.row.text, aside(item, now)));
            lines.push(format!("    {}", reader.command(&names::commanded(&item.row.command))));
        }
        document = document.with(Block::Heading(2, title(rank).to_owned())).code(lines);
    }
    document
}

/// Since when a row waits, and who has seen it.
fn aside(item: &AttentionRow, now: Timestamp) -> String {
    let since = item.row.since_ms.map(|at| format!("since {}", show::utc(at)));
    let seen = item
        .seen
        .as_ref()
        .map(|saw| format!("seen by {} {}", show::actor(&saw.by), show::when(saw.at_ms, now)));
    let said: Vec<_> = since.into_iter().chain(seen).collect();
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}

const fn title(rank: Rank) -> &'static str {
    match rank {
        Rank::Lost => "Not known, or left behind",
        Rank::Gate => "Questions",
        Rank::Person => "A person's",
        Rank::Work => "Work",
    }
}

/// `attention seen`.
pub(in crate::cli) fn seen(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let mut goal: Option<GoalId> = None;
    let mut rows = Vec::new();
    for word in args.texts("id") {
        let (id, version) = match word.split_once('@') {
            Some((id, version)) => (id, Some(version.parse()?)),
            None => (word, None),
        };
        let about = about(&mut desk, id)?;
        let of = goal_of(&mut desk, &about)?;
        if goal.as_ref().is_some_and(|goal| *goal != of) {
            return Err(Error::new(Code::InvalidArgument, "rows of one Goal are seen at once")
                .hint(format!("attention list --goal {of}"))
                .detail("id", about.to_string()));
        }
        goal = Some(of);
        rows.push(SeenRow { about, version });
    }
    let goal = goal.ok_or_else(|| Error::from(Code::Internal).internal("`attention seen` without a row"))?;
    let named: Vec<_> = rows.iter().map(|row| row.about.clone()).collect();
    let command = Command::Attention(AttentionCommand::Seen { rows });
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), command))?;
    let created = done.outcome.created == Some(true);
    let document = Document::new().line(if created { "noted as seen" } else { "was noted as seen already" });
    let object = json!({"goal_id": goal, "rows": named, "created": created});
    written(schema::ATTENTION, "attention", &object, &done, &[("created", created.into())], document)
}

/// What a word names: a whole id, the number of a Todo, the start of a minted id.
///
/// Errors: `invalid_id`, `not_found`, `ambiguous_id`.
fn about(desk: &mut Desk, word: &str) -> Result<About> {
    let exact = word.parse::<About>();
    let is_start = word.len() <= 16 && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let may_be_short = !desk.exact && !word.is_empty() && (is_start || word.starts_with('#'));
    match &exact {
        // What is short can be a slug all the same.
        Ok(About::Goal(goal)) if may_be_short => {
            if desk.look(|view, _| Ok(view.head(goal)?.is_some()))? {
                return exact;
            }
        }
        Ok(_) => return exact,
        Err(_) if !may_be_short => return exact.map_err(|error| error.hint("attention list")),
        Err(_) => {}
    }
    let number = word.strip_prefix('#').unwrap_or(word);
    if number.bytes().all(|byte| byte.is_ascii_digit()) {
        return names::todo(desk, word).map(About::Todo);
    }
    let found = desk.look(|view, _| {
        let mut found = Vec::new();
        for prefix in [GateId::PREFIX, EffectId::PREFIX, TurnId::PREFIX] {
            found.extend(view.tails(prefix, word, SEVERAL)?);
        }
        Ok(found)
    })?;
    match found.as_slice() {
        [only] => only.parse(),
        [] => Err(Error::new(Code::NotFound, format!("nothing is called {}", echo(word)))
            .hint("attention list")
            .detail("id", echo(word))),
        _ => Err(Error::new(Code::AmbiguousId, format!("several ids start with {}", echo(word)))
            .hint("attention list")
            .detail("ids", found)),
    }
}

/// The Goal of what is named.
fn goal_of(desk: &mut Desk, about: &About) -> Result<GoalId> {
    let found = match about {
        About::Goal(id) => Ok(id.clone()),
        About::Todo(id) => Ok(id.goal().clone()),
        About::Gate(id) => names::gate_row(desk, *id).map(|gate| gate.goal_id),
        About::Turn(id) => names::turn_row(desk, *id).map(|turn| turn.goal_id),
        About::Effect(id) => {
            let key = NounKey { kind: Effect::KIND, id: *id.as_bytes() };
            desk.look(|view, terms| {
                let row = projection::noun(view, terms, key)?;
                row.for_owner().get::<Effect>().map(|effect| effect.goal_id.clone())
            })
        }
    };
    found.map_err(|error| if error.code() == Code::NotFound { error.hint("attention list") } else { error })
}
