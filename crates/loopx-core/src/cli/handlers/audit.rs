//! Owns the handlers of `audit`: what is checked, and how the answer is told.
//!
//! Changes nothing.

use serde_json::json;

use super::{desk::Desk, names, schema, ticking::Ticking};
use crate::{
    authority::{Audited, Flaw},
    cli::{Args, Context, Document, Format, Rendered},
    error::{Code, Error, Result},
    model::json_value,
};

/// What the ledger's own chain is called beside the Goals.
const OWN: &str = "(the ledger)";

/// `audit verify`.
pub(in crate::cli) fn verify(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal_given(args)?;
    let chain_only = args.switch("chain-only");
    let format = context.look.format;
    let mut ticking = Ticking::of(context);
    let audited = desk.authority.audit(goal.as_ref(), chain_only, &mut |progress| {
        ticking.sees(|| {
            let of = progress.goal_id.map_or(OWN, |goal| goal.as_str());
            format!("{of}: {} of {} events", progress.seen, progress.of)
        });
    });
    drop(ticking);
    let audited = audited?;
    let flaws: Vec<&Flaw> = audited.iter().filter_map(|audited| audited.flaw.as_ref()).collect();
    if let (Some(first), Format::Json) = (flaws.first(), format) {
        return Err(failed(first, flaws.len(), audited.len()).detail("audited", json_value(&audited)?));
    }
    let failed = !flaws.is_empty();
    let rows = audited.iter().map(|audited| {
        let found = match &audited.flaw {
            Some(flaw) => flaw.text.clone(),
            None if audited.folded => "holds, and the rows are what it comes to".to_owned(),
            None => "holds".to_owned(),
        };
        vec![name(audited), audited.events.to_string(), found]
    });
    let mut document = Document::new().log(&["CHAIN", "EVENTS", "FOUND"], rows.collect());
    if failed {
        let program = context.program;
        document = document.line(format!("`{program} doctor` says what helps"));
    }
    let rendered = Rendered::new(schema::AUDIT, &json!({"items": audited}), document)?;
    Ok(if failed { rendered.exit(Code::CheckFailed.class().exit()) } else { rendered })
}

fn name(audited: &Audited) -> String {
    audited.goal_id.as_ref().map_or_else(|| OWN.to_owned(), ToString::to_string)
}

fn failed(first: &Flaw, flaws: usize, of: usize) -> Error {
    let whose = first.goal_id.as_ref().map_or_else(|| "the ledger itself".to_owned(), ToString::to_string);
    let more = if flaws > 1 { format!("; {flaws} of {of} chains have a flaw") } else { String::new() };
    Error::new(Code::CheckFailed, format!("{whose}: {}{more}", first.text)).hint("doctor")
}
