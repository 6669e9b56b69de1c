//! Owns the handlers of `proposal`.
//!
//! What is proposed is read by the handler of its own words, which is stopped before it writes.

use std::ffi::OsString;

use serde_json::json;

use super::{
    caller::{Caller, caller},
    desk::Desk,
    given, names,
    nouns::{self, List},
    proposed,
    reader::Reader,
    schema,
    show::{self, Facts},
    submit::{Wish, Written, operation_id, submit, submit_as, written},
};
use crate::{
    boundary,
    cli::{
        Args, Block, Context, Document, Origin, Rendered,
        context::Noted,
        parse::{self, Route},
    },
    error::{Code, Error, Result},
    kernel::{Command, ProposalCommand},
    model::{
        Assurance, NounKey, NounKind, Proposal, ProposalId, ProposalKind, ProposalState, Provenance,
        Timestamp, from_json, json_value,
    },
    projection,
};

/// The handlers that can be stopped where they ask: for one write, with nothing done before. What of that may be proposed
/// the kernel says.
const STOPPABLE: &[&str] = &[
    "goal update",
    "goal stop",
    "goal resume",
    "todo add",
    "todo update",
    "todo release",
    "todo link",
    "todo unlink",
    "todo defer",
    "todo block",
    "todo unblock",
    "todo hold",
    "todo unhold",
    "todo resolve",
    "todo cancel",
    "todo reopen",
    "gate open",
    "gate resolve",
    "gate withdraw",
    "agent add",
    "agent retire",
    "evidence add",
];

/// How long the reason of a proposal may be.
const REASON_MAX_BYTES: usize = 512;

/// `proposal add`.
pub(in crate::cli) fn add(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let Wish { goal_id, command, expected } = meant(context, args)?;
    let mut desk = Desk::open(context, args)?;
    let command = ProposalCommand::Add {
        kind: if args.switch("dream") { ProposalKind::Dream } else { ProposalKind::Change },
        command: Box::new(command),
        expected,
        reason: boundary::said("reason", args.needed("reason")?, REASON_MAX_BYTES)?,
    };
    let done = submit(context, args, &mut desk, Wish::new(goal_id, Command::Proposal(command)))?;
    let id = done.outcome.proposal_id.ok_or_else(|| Error::from(Code::Internal))?;
    let document = Document::new().line(format!("proposed; proposal {id}")).line(format!(
        "a person answers: {} proposal confirm {}",
        context.program,
        names::short(&id)
    ));
    answer(id, &done, document)
}

/// What the words after `--` ask for.
///
/// Errors: those of their parser and their handler; `invalid_argument` for a command that cannot be proposed.
fn meant(context: &mut Context<'_, '_>, args: &Args) -> Result<Wish> {
    let words: Vec<OsString> = args.texts("command").map(OsString::from).collect();
    let Route::Verb(chain, rest) = parse::route(context.preset.commands, words)? else {
        return Err(Error::new(Code::InvalidArgument, "only a command that writes can be proposed")
            .hint("proposal add --help"));
    };
    // What the whole call is about holds for what it proposes.
    let around = ["goal", "profile"].into_iter().filter(|flag| args.origin(flag) == Some(Origin::Flag));
    let around = around.filter_map(|flag| Some(OsString::from(format!("--{flag}={}", args.text(flag)?))));
    let inner = parse::parse(&chain, around.chain(rest).collect(), context.env)?;
    let path = inner.path();
    let handler = context.preset.handler(path).filter(|_| STOPPABLE.contains(&path));
    let Some(handler) = handler else {
        return Err(Error::new(Code::InvalidArgument, format!("`{path}` cannot be proposed"))
            .hint("proposal add --help")
            .detail("verb", path));
    };
    context.noting = Some(Noted::default());
    let answered = handler(context, &inner);
    match (context.noting.take().and_then(|noted| noted.0), answered) {
        (Some(wish), _) => Ok(wish),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Err(Error::new(Code::Internal, format!("`{path}` asks for no write"))),
    }
}

fn answer(id: ProposalId, done: &Written, document: Document) -> Result<Rendered> {
    let goal = done.receipt.goal_id();
    written(schema::PROPOSAL, "proposal", &json!({"proposal_id": id, "goal_id": goal}), done, &[], document)
}

/// `proposal confirm`: one commit, or where what was expected is no longer so another that says it is stale.
pub(in crate::cli) fn confirm(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::proposal(&mut desk, args.needed("id")?)?;
    let proposal = names::proposal_row(&mut desk, id)?;
    let goal = proposal.goal_id.clone();
    let command: Command = from_json(proposal.command.to_string().as_bytes()).map_err(|e| {
        Error::new(Code::StoreCorrupt, format!("the command of {id} is none")).hint("doctor").internal(e)
    })?;
    let waits = proposal.is_open();
    let command =
        ProposalCommand::Confirm { proposal_id: id, command: Box::new(command), expected: proposal.expected };
    let operation = operation_id(args)?;
    let asks = caller(context, args, &mut desk)?;
    let wish = Wish::new(goal.clone(), Command::Proposal(command));
    let done = match submit_as(context, args, &mut desk, asks.clone(), operation.clone(), wish) {
        Ok(done) => done,
        Err(stale) if stale.code() == Code::StaleRevision && waits => {
            let lapse = Wish::new(goal, Command::Proposal(ProposalCommand::Lapse { proposal_id: id }));
            // Who had proved less was refused before the revisions were looked at.
            let provenance = Provenance { assurance: Assurance::Proven, ..asks.provenance };
            let asks = Caller { provenance, ..asks };
            submit_as(context, args, &mut desk, asks, operation.step("stale")?, lapse)?;
            return Err(stale.hint(format!("proposal show {id}")));
        }
        Err(error) => return Err(error),
    };
    let made: Vec<_> = done.outcome.todo_ids.iter().map(ToString::to_string).collect();
    let about = if made.is_empty() { String::new() } else { format!(": {}", made.join(", ")) };
    answer(id, &done, Document::new().line(format!("confirmed `{}`{about}", proposal.verb)))
}

/// `proposal reject`.
pub(in crate::cli) fn reject(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    one(context, args, "rejected", |args, _, proposal_id| {
        Ok(ProposalCommand::Reject { proposal_id, reason: given::parsed(args, "reason")? })
    })
}

/// `proposal defer`.
pub(in crate::cli) fn defer(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    one(context, args, "put off", |args, desk, proposal_id| {
        let when = args.when("until").ok_or_else(|| Error::from(Code::Internal))?;
        Ok(ProposalCommand::Defer { proposal_id, until: given::moment(desk, &operation_id(args)?, when)? })
    })
}

/// `proposal withdraw`.
pub(in crate::cli) fn withdraw(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    one(context, args, "withdrawn", |_, _, proposal_id| Ok(ProposalCommand::Withdraw { proposal_id }))
}

fn one(
    context: &mut Context<'_, '_>,
    args: &Args,
    said: &str,
    command: impl FnOnce(&Args, &mut Desk, ProposalId) -> Result<ProposalCommand>,
) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::proposal(&mut desk, args.needed("id")?)?;
    let goal = names::proposal_row(&mut desk, id)?.goal_id;
    let command = Command::Proposal(command(args, &mut desk, id)?);
    let done = submit(context, args, &mut desk, Wish::new(goal, command))?;
    answer(id, &done, Document::new().line(format!("proposal {} {said}", names::short(&id))))
}

/// `proposal list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let open = !args.switch("ended");
    let list = List {
        schema: schema::PROPOSAL_LIST,
        head: &["PROPOSAL", "KIND", "STATE", "COMMAND", "BY", "WHEN", "WHY"],
        row: line,
        nothing: |of, open, program| {
            let first = if open { "No proposal waits for a person" } else { "Nothing was proposed yet" };
            format!("{first} in {of}; `{program} proposal add --reason <TEXT> -- <COMMAND>` makes one.")
        },
    };
    nouns::listed(context, args, open, &list)
}

fn line(proposal: &Proposal, now: Timestamp) -> Vec<String> {
    vec![
        names::short(&proposal.proposal_id),
        proposal.kind.as_str().to_owned(),
        proposal.state.as_str().to_owned(),
        proposal.verb.to_string(),
        show::actor(&proposal.by),
        show::when(proposal.at, now),
        proposal.reason.to_string(),
    ]
}

/// `proposal show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::proposal(&mut desk, args.needed("id")?)?;
    let key = NounKey { kind: NounKind::Proposal, id: *id.as_bytes() };
    let (row, now) = desk.look(|view, terms| Ok((projection::noun(view, terms, key)?, terms.now)))?;
    let proposal: &Proposal = row.for_owner().get()?;
    let says = proposed::terms(&json_value(&proposal.command)?);
    let (until, answered, why) = match &proposal.state {
        ProposalState::Open => (None, None, None),
        ProposalState::Deferred { until } => (Some(show::when(*until, now)), None, None),
        ProposalState::Confirmed { by, at } => {
            (None, Some(format!("{} by {by}", show::when(*at, now))), None)
        }
        ProposalState::Rejected { by, at, reason } => {
            (None, Some(format!("{} by {by}", show::when(*at, now))), reason.as_ref())
        }
        ProposalState::Stale { at } | ProposalState::Withdrawn { at } => {
            (None, Some(show::when(*at, now)), None)
        }
    };
    let facts = Facts::default()
        .add("proposal", proposal.proposal_id)
        .add("kind", proposal.kind.as_str())
        .add("state", proposal.state.as_str())
        .maybe("until", until.as_ref())
        .add("command", format!("`{}`", proposal.verb))
        .list("expects", proposed::expects(&proposal.expected))
        .maybe("at work on", proposal.todo_id.as_ref())
        .add("proposed", format!("{} by {}", show::when(proposal.at, now), proposal.by))
        .maybe("answered", answered.as_ref())
        .maybe("because", why);
    let mut document = Document::new().heading(proposal.reason.as_str()).with(facts.block());
    if !says.is_empty() {
        document = document.with(Block::Heading(2, format!("`{}` with", proposal.verb))).terms(says);
    }
    if proposal.is_open() {
        document = document.code(answers(&names::short(&id), &Reader::of(context, args, &desk)));
    }
    Rendered::new(schema::PROPOSAL, &json!({"proposal": row.for_owner()}), document)
}

/// How a person answers a proposal, and how its author takes it back.
fn answers(id: &str, reader: &Reader) -> Vec<String> {
    let confirm = format!("proposal confirm {id}");
    let refusal = reader.refusal(&confirm);
    let defer = reader.command(&format!("proposal defer {id} --until 1d"));
    let said = [format!("a person confirms: {}", reader.command(&confirm))].into_iter().chain(refusal);
    said.chain([format!("to put it off: {defer}")]).collect()
}
