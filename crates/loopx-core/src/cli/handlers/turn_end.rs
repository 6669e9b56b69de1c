//! Owns how the place where a verb left its Turn is answered: an answer, or the error of a class.
//!
//! Knows no rule; every answer and every error carries the receipt and the Turn.

use serde_json::{Value, json};

use super::{reader::Reader, schema, submit::Written, turn_output};
use crate::{
    cli::{Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Outcome, recover_command},
    model::json_value,
    model::{FailedBy, HostFailure, OperationId, Stopped, Todo, Turn, TurnState},
    projection::{TurnRow, mend, plain, question},
    turn::{self, Done, Proved},
};

/// Answers a verb that left a Turn somewhere.
///
/// Errors: `validation_failed`, `held`, `turn_unresolved`, `gate_opened` where a person is needed, `not_ready` for what was
/// stopped on a wish, the class of a host's failure; with the receipt.
pub(super) fn answer(done: &Done, verb: &OperationId, reader: &Reader) -> Result<Rendered> {
    let turn = done.turn();
    if let Some(error) = recorded(done)? {
        return Err(with(done, verb, error));
    }
    let lines = Document::new();
    match &turn.state {
        TurnState::Settled => rendered(done, Some(verb), settled(done, reader)?),
        TurnState::Stopped { why } => stopped(done, verb, *why),
        TurnState::Admitted | TurnState::Dispatched => {
            let text = format!("the Turn {} is {}; nothing runs it now", turn.turn_id, turn.state.as_str());
            rendered(
                done,
                Some(verb),
                lines.line(text).line(format!("go on: {}", reader.command(&recover_command(turn.turn_id)))),
            )
        }
        TurnState::Candidate => {
            let text = format!("the Turn {} has a result that nobody has proved yet", turn.turn_id);
            rendered(
                done,
                Some(verb),
                lines
                    .line(text)
                    .line(format!("prove it: {}", reader.command(&recover_command(turn.turn_id)))),
            )
        }
        TurnState::Held { .. } => Err(with(done, verb, turn::held(&done.around))),
        TurnState::Unresolved { .. } => Err(with(done, verb, unresolved(done))),
        TurnState::Failed { how } => Err(with(done, verb, failed(done, *how))),
        TurnState::Fenced => Err(with(
            done,
            verb,
            Error::new(
                Code::OwnershipSuperseded,
                format!("another ownership took over from the Turn {}", turn.turn_id),
            ),
        )),
    }
}

/// The error that the same verb ended with before, where its Turn has moved since.
///
/// A repetition ends as its first time did: what it is asked for is what its receipt says, not where the Turn is now.
fn recorded(done: &Done) -> Result<Option<Error>> {
    let turn = done.turn();
    let outcome: Outcome = done.receipt.outcome()?;
    let Some(was) = outcome.turn_state.filter(|was| done.receipt.is_replayed() && was != turn.state.as_str())
    else {
        return Ok(None);
    };
    let code = match was.as_str() {
        held if held == Code::Held.as_str() => Code::Held,
        "unresolved" => Code::TurnUnresolved,
        _ => return Ok(None), // wildcard: whoever was cut off before its end is told where its Turn is
    };
    let text = format!(
        "the Turn {} was {was} when this was recorded; it is {} now",
        turn.turn_id,
        turn.state.as_str()
    );
    Ok(Some(Error::new(code, text).hint(format!("turn show {}", turn.turn_id))))
}

/// What programs are told of a Turn.
pub(super) fn object(done: &Done) -> Result<Value> {
    let turn = done.turn();
    let mut object = json_value(&TurnRow::of(turn))?;
    if let Value::Object(fields) = &mut object {
        fields.insert("attempts".to_owned(), turn.attempts.len().into());
        let stuck = matches!(turn.state, TurnState::Held { .. } | TurnState::Unresolved { .. });
        if stuck && !done.around.causes.is_empty() {
            fields.insert("causes".to_owned(), serde_json::to_value(&done.around.causes).unwrap_or_default());
        }
        if let Some(note) = note(done) {
            fields.insert("note".to_owned(), note.into());
        }
        if !done.left.is_empty() {
            let left: Vec<_> =
                done.left.iter().map(|one| json!({"pid": one.pid, "name": one.name})).collect();
            fields.insert("left".to_owned(), left.into());
        }
    }
    Ok(object)
}

/// Why, in short: what a validator, or a host's end, said.
pub(super) fn note(done: &Done) -> Option<String> {
    let verdict = done.turn().verdict.as_ref().and_then(|verdict| verdict.note.as_ref());
    let last = done.around.todo.as_ref().and_then(|todo| todo.last_end.as_ref());
    let last = last.filter(|end| end.turn_id == done.turn().turn_id).and_then(|end| end.note.as_ref());
    verdict.or(last).map(ToString::to_string)
}

fn rendered(done: &Done, verb: Option<&OperationId>, document: Document) -> Result<Rendered> {
    let outcome: Outcome = done.receipt.outcome()?;
    let value = |value: serde_json::Result<Value>| value.map_err(|e| Error::from(Code::Internal).internal(e));
    let mut more = Vec::new();
    if let (Some(_), Some(own_id)) = (outcome.next_turn_id, outcome.own_id) {
        more.push(("own_id", value(serde_json::to_value(own_id))?));
        more.push(("next_turn_id", value(serde_json::to_value(outcome.next_turn_id))?));
        more.push(("expires_at_ms", value(serde_json::to_value(outcome.expires_at_ms))?));
    }
    let written = Written { receipt: done.receipt.clone(), outcome, verb: verb.cloned() };
    super::submit::written(schema::TURN, "turn", &object(done)?, &written, &more, document)
}

fn settled(done: &Done, reader: &Reader) -> Result<Document> {
    let turn = done.turn();
    let outcome: Outcome = done.receipt.outcome()?;
    let todo = done.around.todo.as_ref();
    let id = todo.map(|todo| todo.todo_id.to_string()).unwrap_or_default();
    let is_done = todo.is_some_and(Todo::is_done);
    let said = turn.verdict.as_ref().and_then(|verdict| verdict.validator.as_ref());
    let proof = said.map_or_else(String::new, |name| format!(", proved by `{name}`"));
    let mut document = Document::new().line(if is_done {
        format!("{id} is done{proof}")
    } else {
        format!("{id} moved on{proof}")
    });
    if let (Some(_), Some(own_id)) = (outcome.next_turn_id, outcome.own_id) {
        document = document.line("the next Turn is yours").line(format!("own_id {own_id}"));
    }
    Ok(document.line(format!("look: {}", reader.command(&format!("turn show {}", turn.turn_id)))))
}

/// That a Turn is over on a wish, and what became of what ran for it.
pub(super) fn over(turn: &Turn) -> String {
    let (id, state) = (turn.turn_id, turn.state.as_str());
    if turn.is_driven() {
        return format!("the Turn {id} is {state}, and all that it started is ended");
    }
    // Whoever works by itself was not started from here, so it cannot be ended from here either.
    format!(
        "the Turn {id} is {state}; nothing was started for it from here: what {} still runs goes on, and no result of \
         it is taken any more",
        turn.agent_id
    )
}

fn stopped(done: &Done, verb: &OperationId, why: Stopped) -> Result<Rendered> {
    let turn = done.turn();
    let id = turn.todo_id().map(ToString::to_string).unwrap_or_default();
    let mut document = match why {
        // Nothing was proved, and nothing goes on before a person has answered: a negative result.
        Stopped::UserAction => return Err(with(done, verb, needs_person(done, &id))),
        Stopped::Wait => {
            Document::new().line(format!("{id} waits, and is claimable again when that is over"))
        }
        // What was asked for did not come about: a negative result, as a refused one is.
        Stopped::Stop => {
            return Err(with(
                done,
                verb,
                Error::new(Code::NotReady, over(turn)).hint(turn_output::command(turn.turn_id)),
            ));
        }
        _ => Document::new().line(format!(
            "the Turn {} was stopped ({})",
            turn.turn_id,
            plain(&crate::projection::word(&why))
        )), // wildcard: one sentence for all others
    };
    for process in &done.left {
        document = document
            .line(format!("left: process {} ({}), which could not be ended", process.pid, process.name));
    }
    rendered(done, Some(verb), document)
}

/// That an executor asked a person instead: the gate, the question, and the command that answers it.
fn needs_person(done: &Done, todo: &str) -> Error {
    let said = match done.around.asks.first() {
        Some(ask) => {
            let question = question(ask).map(|question| format!(": {question}")).unwrap_or_default();
            format!("{todo} needs a person; the gate {} was opened{question}", ask.about)
        }
        None => format!("{todo} needed a person, whose gate is not open any more"),
    };
    let error = Error::new(Code::GateOpened, said).hint(first_ask(done));
    match done.around.asks.first() {
        Some(ask) => error.detail("gate_id", ask.about.clone()).detail("question", ask.question.clone()),
        None => error,
    }
}

/// What leads on from where the Turn is.
fn first_ask(done: &Done) -> String {
    done.around.onward().unwrap_or_else(|| format!("turn show {}", done.turn().turn_id))
}

fn unresolved(done: &Done) -> Error {
    let turn = done.turn();
    let note = turn.verdict.as_ref().and_then(|verdict| verdict.note.as_ref());
    let why = note.map_or_else(
        || {
            "its executor was lost: what it did, and whether something of it lives on, cannot be told"
                .to_owned()
        },
        ToString::to_string,
    );
    Error::new(Code::TurnUnresolved, format!("the Turn {} is unresolved: {why}", turn.turn_id))
        .hint(first_ask(done))
}

fn failed(done: &Done, how: FailedBy) -> Error {
    let turn = done.turn();
    let todo = turn.todo_id().map(ToString::to_string).unwrap_or_default();
    let why = note(done);
    let reason = |default: &str| why.clone().unwrap_or_else(|| default.to_owned());
    let code = match how {
        FailedBy::Validate => {
            return Error::new(
                Code::ValidationFailed,
                format!("the result of {todo} was refused: {}", reason("a validator said no")),
            )
            .hint(turn_output::command(turn.turn_id));
        }
        FailedBy::Host(failure) => failure_code(failure),
    };
    let FailedBy::Host(failure) = how else { return Error::from(Code::Internal) };
    // That it printed no result is what the class says.
    let is_more = |why: &String| why != failure.as_str() && failure != HostFailure::ResultMissing;
    let seen = why.filter(is_more).map(|why| format!(": {why}")).unwrap_or_default();
    let tries = match turn.attempts.len() {
        0 | 1 => String::new(),
        n => format!(" in each of {n} attempts"),
    };
    let said = format!("{} on {todo}{tries}{seen}; {}", plain(failure.as_str()), mend(failure.as_str()));
    Error::new(code, said).detail("failure", failure.as_str()).hint(turn_output::command(turn.turn_id))
}

/// The code under which a host's failure is answered.
pub(super) const fn failure_code(failure: HostFailure) -> Code {
    match failure {
        HostFailure::IncompatibleVersion => Code::IncompatibleVersion,
        HostFailure::SessionUnavailable => Code::SessionUnavailable,
        _ => Code::HostUnavailable, // wildcard: a host that failed is one that cannot be used
    }
}

/// Puts the receipt, the Turn and the id to repeat into an error.
fn with(done: &Done, verb: &OperationId, error: Error) -> Error {
    error
        .detail("operation_id", verb.as_str())
        .detail("receipt", json_value(&done.receipt).unwrap_or_default())
        .detail("turn", object(done).unwrap_or_default())
}

/// Answers what a recovery would do.
pub(super) fn would(turn: &Turn, would: &str) -> Result<Rendered> {
    let body = json!({"turn": TurnRow::of(turn), "would": would});
    Rendered::new(schema::TURN, &body, Document::new().line(would))
}

/// What a proof says that found nothing to do.
pub(super) const NOTHING_TO_PROVE: &str = "nothing on this machine waits for a proof";

/// What a proof of all Turns of this machine moved: from where to where, and what leads on.
pub(super) fn proved(all: &[Proved], reader: &Reader) -> Result<Rendered> {
    let mut items = Vec::new();
    let mut rows = Vec::new();
    for Proved { was, done } in all {
        let (turn, said) = (done.turn(), what(was, done.turn()));
        let next = match turn.state {
            TurnState::Held { .. } | TurnState::Unresolved { .. } => Some(first_ask(done)),
            TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate => {
                Some(recover_command(turn.turn_id))
            }
            TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => {
                None
            }
        };
        let mut item = object(done)?;
        if let Value::Object(fields) = &mut item {
            fields.insert("was".to_owned(), was.state.as_str().into());
            fields.insert("proved".to_owned(), said.clone().into());
            fields.extend(next.iter().map(|next| ("next".to_owned(), next.clone().into())));
        }
        items.push(item);
        let todo = turn.todo_id().map(ToString::to_string).unwrap_or_default();
        let next = next.map_or_else(|| "-".to_owned(), |next| reader.command(&next));
        rows.push(vec![turn.turn_id.to_string(), todo, turn.state.as_str().to_owned(), next, said]);
    }
    let document = if rows.is_empty() {
        Document::new().line(NOTHING_TO_PROVE)
    } else {
        Document::new().log(&["TURN", "TODO", "STATE", "NEXT", "PROVED"], rows)
    };
    Rendered::new(schema::TURN_PROVED, &json!({"items": items}), document)
}

/// What a proof found out of a Turn.
fn what(was: &Turn, now: &Turn) -> String {
    match &now.state {
        TurnState::Settled => "nothing holds its result any more".to_owned(),
        TurnState::Stopped { why } => {
            format!("stopped: {}", plain(&crate::projection::word(why)))
        }
        TurnState::Fenced => "its ownership ran out".to_owned(),
        TurnState::Candidate if matches!(was.state, TurnState::Held { .. }) => {
            "its work tree changed since, so it is to be validated again".to_owned()
        }
        TurnState::Admitted => "nothing was started for it".to_owned(),
        TurnState::Dispatched | TurnState::Candidate | TurnState::Unresolved { .. } => {
            "its driver is gone, and nothing that it started is left".to_owned()
        }
        TurnState::Held { .. } | TurnState::Failed { .. } => now.state.as_str().to_owned(),
    }
}

/// Answers a verb that moved a Turn and is no end of it.
pub(super) fn moved(done: &Done, document: Document) -> Result<Rendered> {
    rendered(done, None, document)
}
