//! Owns the answer of `turn show --output`: what a Turn's hosts and validators printed, and how they ended.
//!
//! It is the one door to these texts. They are the owner's, and lie on this machine alone.

use serde_json::{Map, Value, json};

use super::{desk::Desk, names, schema, show};
use crate::{
    cli::{Document, Rendered, parse::show_duration_ms},
    error::Result,
    model::{Attempt, Turn, TurnId, Verdict},
    private::PrivateStore,
    projection::{plain, word},
    turn::{self, Kept, Speaker},
};

/// The arguments that show it, for a hint.
pub(super) fn command(turn_id: TurnId) -> String {
    format!("turn show {turn_id} --output")
}

/// Shows what was kept of a Turn, and says where nothing was.
pub(super) fn show(desk: &mut Desk, turn_id: TurnId) -> Result<Rendered> {
    let turn = names::turn_row(desk, turn_id)?;
    let mut private = PrivateStore::at(&desk.profile.place().private_db());
    let kept = turn::kept(&mut private, &turn)?;
    let mut document = Document::new();
    if kept.for_owner().is_empty() {
        document = document.line(format!("no host and no validator ran for the Turn {turn_id}"));
    }
    let mut items = Vec::new();
    // Where its attempts left something, its validators would have too.
    let is_here = kept.for_owner().iter().any(|one| one.ending.is_some());
    for one in kept.for_owner() {
        document = of_one(document, &turn, one, is_here);
        items.push(object(one));
    }
    Rendered::new(schema::TURN_OUTPUT, &json!({"turn_id": turn_id, "output": items}), document)
}

fn of_one(document: Document, turn: &Turn, kept: &Kept, is_here: bool) -> Document {
    let (title, facts, silence) = match kept.speaker {
        Speaker::Attempt(number) => {
            let attempt = turn.attempts.iter().find(|attempt| attempt.number == number);
            (format!("Attempt {number}"), of_attempt(attempt, kept), silent_attempt(attempt, kept))
        }
        Speaker::Validators => {
            let facts = turn.verdict.as_ref().map(of_verdict).unwrap_or_default();
            ("Validators".to_owned(), facts, if is_here { "they printed nothing" } else { THEIRS_IS_GONE })
        }
    };
    let mut document = document.heading(title).with(facts.block());
    if kept.stdout.is_none() && kept.diagnostics.is_none() {
        return document.line(if kept.purged { PURGED } else { silence });
    }
    let streams = match kept.speaker {
        Speaker::Attempt(_) => [("stdout", &kept.stdout), ("stderr", &kept.diagnostics)],
        Speaker::Validators => [("stdout", &None), ("stdout and stderr", &kept.diagnostics)],
    };
    for (name, text) in streams {
        if let Some(text) = text {
            document = document.line(format!("{name}:")).verbatim(readable(text));
        }
    }
    document
}

const PURGED: &str = "what was printed is kept no longer: `gc` has purged it, and left its digest";
const ITS_IS_GONE: &str = "what it printed is not kept here: it is kept no longer, or it ran on another machine, or nobody heard it";
const THEIRS_IS_GONE: &str = "what they printed is not kept here: they printed nothing, or it is kept no longer, or they ran on another machine";

/// Why there is nothing to show of a host.
fn silent_attempt(attempt: Option<&Attempt>, kept: &Kept) -> &'static str {
    let is_over = attempt.is_none_or(|attempt| attempt.end.is_some());
    match &kept.ending {
        None if !is_over => "it has not ended yet; what it prints is kept when it has",
        None => ITS_IS_GONE,
        Some(ending) if ending.unheard => ITS_IS_GONE,
        Some(ending) if ending.is_silent() => "it printed nothing",
        Some(_) => "it printed its result, which was taken, and nothing else",
    }
}

fn of_attempt(attempt: Option<&Attempt>, kept: &Kept) -> show::Facts {
    let end = attempt.and_then(|attempt| attempt.end.as_ref());
    let failure = end.and_then(|end| end.failure).map(|failure| plain(failure.as_str()).to_owned());
    let facts = show::Facts::default()
        .maybe("host", attempt.map(|attempt| &attempt.host))
        .maybe("failure", failure)
        .maybe("ended", kept.ending.as_ref().map(|ending| &ending.ended));
    let Some(ending) = &kept.ending else { return facts };
    let cut = |name: &str, seen_bytes: u64, kept: Option<&Vec<u8>>| {
        let bytes = kept.map_or(0, Vec::len);
        let is_cut = kept.is_some() && u64::try_from(bytes).unwrap_or(u64::MAX) < seen_bytes;
        is_cut.then(|| format!("{bytes} of {seen_bytes} bytes of {name} were kept"))
    };
    facts
        .add("took", show_duration_ms(ending.wall_ms))
        .list("had to be ended too", &ending.outlived)
        .maybe("cut", cut("stdout", ending.stdout_seen_bytes, kept.stdout.as_ref()))
        .maybe("cut", cut("stderr", ending.stderr_seen_bytes, kept.diagnostics.as_ref()))
}

fn of_verdict(verdict: &Verdict) -> show::Facts {
    show::Facts::default()
        .add("outcome", word(&verdict.outcome))
        .maybe("validator", verdict.validator.as_ref())
        .maybe("exit", verdict.exit)
        .maybe("why", verdict.note.as_ref())
}

/// Bytes as text with plain line ends; what could steer a terminal is escaped where it is printed.
fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n")
}

fn object(kept: &Kept) -> Value {
    let mut fields = Map::new();
    match kept.speaker {
        Speaker::Attempt(number) => fields.insert("attempt".to_owned(), number.into()),
        Speaker::Validators => fields.insert("validators".to_owned(), true.into()),
    };
    fields.insert("kept".to_owned(), (!kept.is_empty()).into());
    if kept.purged {
        fields.insert("purged".to_owned(), true.into());
    }
    fields.extend(kept.ending.as_ref().map(|ending| ("ending".to_owned(), json!(ending))));
    fields.extend(kept.stdout.as_ref().map(|text| ("stdout".to_owned(), readable(text).into())));
    fields.extend(kept.diagnostics.as_ref().map(|text| ("diagnostics".to_owned(), readable(text).into())));
    Value::Object(fields)
}
