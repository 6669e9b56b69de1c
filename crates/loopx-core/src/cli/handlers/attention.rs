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
    model::{About, Effect, EffectId, GateId, GoalId, NounKey, OneNoun as _, ProposalId, Timestamp, TurnId},
    projection::{self, AttentionPage, AttentionRow, Rank, Slice},
};

/// `attention list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal_given(args)?;
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let (page, now) = with_eyes(&mut desk, |view, terms, eyes| {
        Ok((projection::attention(view, terms, goal.as_ref(), eyes, slice)?, terms.now))
    })?;
    let reader = Reader::of(context, args, &desk);
    let rendered =
        Rendered::new(schema::ATTENTION_LIST, &reader.told(&page)?, document(&page, now, &reader))?;
    Ok(show::more(rendered, page.page.next_cursor.as_deref()))
}

fn document(page: &AttentionPage, now: Timestamp, reader: &Reader) -> Document {
    let mut document = Document::new();
    if page.page.items.is_empty() {
        document = document.para("Nothing needs anybody.");
    }
    let mut rows = page.page.items.iter().map(OwnerView::for_owner).peekable();
    while let Some(rank) = rows.peek().map(|item| item.row.rank) {
        let mut items = Vec::new();
        while let Some(item) = rows.next_if(|item| item.row.rank == rank) {
            // An id of the plan says already which Goal it is of.
            let other = item.goal_id.as_ref().filter(|goal| !item.row.text.contains(goal.as_str()));
            let goal = other.map(|goal| format!("{goal}: ")).unwrap_or_default();
            let command = names::commanded(&item.row.command);
            let lines = std::iter::once(reader.command(&command)).chain(reader.refusal(&command));
            items.push((format!("{goal}{}{}", item.row.text, aside(item, now)), lines.collect()));
        }
        document = document.with(Block::Heading(2, title(rank).to_owned())).items(items);
    }
    if page.page.items.iter().any(|item| item.for_owner().version.is_some()) {
        let seen = reader.command("attention seen ID@VERSION");
        document = document.para(format!("`{seen}` notes that you have seen a row as it stands here."));
    }
    if page.more {
        document = document.para("There are more Goals than were looked at; `--goal` looks at one.");
    }
    document
}

/// What names a row as it stands, since when it waits, and who has seen it.
fn aside(item: &AttentionRow, now: Timestamp) -> String {
    let named = item.version.as_ref().map(|version| format!("{}@{version}", names::shown(&item.row.about)));
    let since = item.row.since_ms.map(|at| format!("since {}", show::utc(at)));
    let seen = item
        .seen
        .as_ref()
        .map(|saw| format!("seen by {} {}", show::actor(&saw.by), show::when(saw.at_ms, now)));
    let said: Vec<_> = named.into_iter().chain(since).chain(seen).collect();
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}

const fn title(rank: Rank) -> &'static str {
    match rank {
        Rank::Lost => "Not known, or left behind",
        Rank::Gate => "Questions",
        Rank::Person => "A person's",
        Rank::Replan => "Plans that have to change",
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
    let error = match word.parse::<About>() {
        Ok(About::Goal(goal)) => {
            // What is short can be a slug all the same; a program writes whole ids.
            if desk.exact || desk.look(|view, _| Ok(view.head(&goal)?.is_some()))? {
                return Ok(About::Goal(goal));
            }
            nothing(word)
        }
        Ok(about) => return Ok(about),
        Err(error) => error,
    };
    let number = word.strip_prefix('#').unwrap_or(word);
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return names::todo(desk, word).map(About::Todo);
    }
    let prefixes = [GateId::PREFIX, EffectId::PREFIX, TurnId::PREFIX, ProposalId::PREFIX];
    match names::started(desk, word, &prefixes, "attention", error) {
        Ok(id) => id.parse(),
        Err(error) if error.code() == Code::NotFound => Err(nothing(word)),
        Err(error) => Err(error),
    }
}

fn nothing(word: &str) -> Error {
    Error::new(Code::NotFound, format!("nothing is called {}", echo(word)))
        .hint("attention list")
        .detail("id", echo(word))
}

/// The Goal of what is named.
fn goal_of(desk: &mut Desk, about: &About) -> Result<GoalId> {
    let found = match about {
        About::Goal(id) => Ok(id.clone()),
        About::Todo(id) => Ok(id.goal().clone()),
        About::Gate(id) => names::gate_row(desk, *id).map(|gate| gate.goal_id),
        About::Turn(id) => names::turn_row(desk, *id).map(|turn| turn.goal_id),
        About::Proposal(id) => names::proposal_row(desk, *id).map(|proposal| proposal.goal_id),
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
