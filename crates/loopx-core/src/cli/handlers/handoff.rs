//! Owns the handlers of `handoff`.

use serde_json::json;

use super::{
    desk::Desk,
    given, names,
    reader::Reader,
    schema,
    show::{self, Facts},
    submit::{Wish, submit, written},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Command, HandoffCommand, NextAction, NextStep, OpenEffect, OpenGate, Packet},
    model::{Timestamp, VerdictOutcome},
    projection::{self, HandoffPage},
};

/// `handoff show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::todo(&mut desk, args.needed("id")?)?;
    let (row, now) = desk.look(|view, terms| Ok((projection::handoff(view, terms, &id)?, terms.now)))?;
    let page = row.for_owner();
    let reader = Reader::of(context, args, &desk);
    let is_driven = match &page.owner {
        Some(owner) => names::turn_row(&mut desk, owner.turn_id)?.is_driven(),
        None => false,
    };
    let onward = onward(page, is_driven, now, &reader);
    let document = document(page, now);
    let document = match onward {
        Some(item) => document.items(vec![item]),
        None => document,
    };
    Rendered::new(schema::HANDOFF, &json!({"handoff": row}), document)
}

/// How an agent takes it over, or why none can now, with the commands that lead on.
fn onward(page: &HandoffPage, is_driven: bool, now: Timestamp, reader: &Reader) -> Option<Item> {
    let id = &page.todo_id;
    if matches!(page.packet.next_action.step, NextStep::Over) {
        return None;
    }
    let Some(owner) = &page.owner else {
        let accept = format!("handoff accept {id} --revision {} --as agent:AGENT", page.revision);
        return Some(("An agent takes it over:".to_owned(), vec![reader.command(&accept)]));
    };
    let by = &owner.agent_id;
    let until = match (owner.frozen, owner.expired) {
        (true, _) => "until its Turn has come to its end".to_owned(),
        (false, true) => format!("and its time ran out {}", show::when(owner.expires_at_ms, now)),
        (false, false) => {
            format!("until {}, {}", show::utc(owner.expires_at_ms), show::when(owner.expires_at_ms, now))
        }
    };
    let said = format!("{by} owns it {until}; no other agent takes it over before that has ended.");
    let look = reader.command(&format!("turn show {}", names::short(&owner.turn_id)));
    // A host is stopped first, and what holds a result, or left it unknown, is a question of its own.
    if is_driven || owner.frozen {
        return Some((said, vec![look]));
    }
    let back = reader.command(&format!("todo release {id} --force --reason TEXT"));
    Some((said, vec![look, format!("a person takes it back: {back}")]))
}

/// What is said, and the lines that are typed for it.
type Item = (String, Vec<String>);

fn document(page: &HandoffPage, now: Timestamp) -> Document {
    let Packet { objective, boundary, todo, last_validated, next_action, required_reads, .. } = &page.packet;
    let proved = last_validated.as_ref().map(|standing| {
        let what = standing.summary.as_ref().map_or_else(|| "a result".to_owned(), ToString::to_string);
        let how = match standing.verdict.as_ref().map(|verdict| verdict.outcome) {
            Some(VerdictOutcome::Passed | VerdictOutcome::Progress) => "proved",
            Some(VerdictOutcome::Unchecked | VerdictOutcome::Failed | VerdictOutcome::Inconclusive)
            | None => "accepted",
        };
        format!("{what} ({how}, {} of {})", names::short(&standing.turn_id), standing.agent_id)
    });
    let facts = Facts::default()
        .add("Todo", &todo.todo_id)
        .add("objective", objective)
        .list("may write in", &boundary.write_scopes)
        .list("needs approval", &boundary.needs_approval)
        .maybe("alone in the tree", boundary.exclusive_workspace.then_some("yes"))
        .add("kind", todo.kind.as_str())
        .add("state", todo.state.as_str())
        .maybe("on hold", todo.hold.then_some("yes"))
        .add("priority", todo.priority.as_str())
        .list("depends on", &todo.depends_on)
        .list("capabilities", &todo.requires.capabilities)
        .list("write scopes", &todo.requires.write_scopes)
        .list("validators", todo.validators.iter().map(|validator| show::typed(&validator.argv)))
        .maybe("returns to", todo.coordinates.as_ref())
        .maybe("last validated", proved)
        .add("next", next(next_action))
        .list("required reads", required_reads)
        .maybe(
            "kept for",
            page.reserved.as_ref().map(|kept| format!("{}, {}", kept.agent_id, show::when(kept.until, now))),
        )
        .maybe(
            "taken over",
            page.accepted.as_ref().map(|taken| format!("{} by {}", show::when(taken.at, now), taken.by)),
        )
        .add("revision", page.revision);
    let mut document = Document::new().heading(todo.title.as_str()).with(facts.block());
    if let Some(detail) = &todo.detail {
        document = document.verbatim(detail.as_str());
    }
    let gates = &page.packet.open_gates;
    if !gates.is_empty() {
        let row = |gate: &OpenGate| {
            vec![names::short(&gate.gate_id), gate.kind.as_str().to_owned(), gate.question.to_string()]
        };
        document = document.log(&["GATE", "KIND", "QUESTION"], gates.iter().map(row).collect());
    }
    let effects = &page.packet.unresolved_effects;
    if !effects.is_empty() {
        let row = |effect: &OpenEffect| {
            let state = projection::plain(effect.state).to_owned();
            vec![names::short(&effect.effect_id), state, effect.what.to_string()]
        };
        document = document.log(&["EFFECT", "STATE", "WHAT"], effects.iter().map(row).collect());
    }
    document
}

fn next(next: &NextAction) -> String {
    let what = match next.step {
        NextStep::Begin => "begin; nothing was proved yet",
        NextStep::Repair => "repair",
        NextStep::GoOn => "go on",
        NextStep::Over => "nothing; it is over",
    };
    next.said.as_ref().map_or_else(|| what.to_owned(), |said| format!("{what}: {said}"))
}

/// `handoff accept`.
pub(in crate::cli) fn accept(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::todo(&mut desk, args.needed("id")?)?;
    let goal = id.goal().clone();
    let revision =
        given::needed(args, "revision").map_err(|error: Error| error.hint(format!("handoff show {id}")))?;
    let command = Command::Handoff(HandoffCommand::Accept { todo_id: id.clone(), revision });
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), command))?;
    let handoff_id = done.outcome.handoff_id.ok_or_else(|| Error::from(Code::Internal))?;
    let claim = Reader::of(context, args, &desk).command(&format!("todo claim {id}"));
    let document = Document::new()
        .line(format!("{id} is taken over; handoff {handoff_id}"))
        .line(format!("to own it: {claim}"));
    let object = json!({"handoff_id": handoff_id, "todo_id": id, "goal_id": goal, "revision": revision});
    written(schema::HANDOFF, "handoff", &object, &done, &[], document)
}
