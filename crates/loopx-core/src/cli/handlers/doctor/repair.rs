//! Owns `doctor --repair`: what would be cut is said, a proven person asks for it, and what was cut is named.

use serde::Serialize;

use super::{
    super::{
        caller::caller, desk::Desk, schema, submit::operation_id, submit::with_proof_hint, ticking::Ticking,
    },
    prove,
};
use crate::{
    authority::{Asked, AuditProgress, Mended, Repair},
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    model::Receipt,
};

/// What a repair would do, or did.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<&'a Receipt>,
    repaired: bool,
    mended: &'a [Mended],
    /// Where what is cut is kept, in the profile's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<&'a str>,
}

/// `doctor --repair`.
pub(super) fn repair(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::unchecked(context, args)?;
    let caller = caller(context, args, &mut desk)?;
    if !caller.actor.is_user() || caller.provenance.contained.is_some() {
        return Err(Error::new(Code::UserOnly, "only a person may repair the ledger"));
    }
    let mut asked =
        Asked { operation_id: operation_id(args)?, actor: caller.actor, provenance: caller.provenance };
    let id = asked.operation_id.clone();
    let is_known = desk.authority.receipt(&id)?.is_some();
    if !is_known {
        let plan = looked(context, |sees| desk.authority.plan_repair(sees))?;
        if args.switch("dry-run") || plan.mended.is_empty() {
            return told(&plan, context.program);
        }
        prove(context, &mut asked, &question(&plan))?;
    }
    let folder = desk.profile.place().dir().to_owned();
    let done = looked(context, |sees| desk.authority.repair(&asked, &folder, sees));
    let done = done.map_err(|error| with_proof_hint(context, args, &desk, &asked.actor, error))?;
    let is_replayed = done.receipt.as_ref().is_some_and(Receipt::is_replayed);
    let rendered = told(&done, context.program)?;
    Ok(if done.receipt.is_some() { rendered.operation(&id, is_replayed) } else { rendered })
}

fn looked<T>(
    context: &mut Context<'_, '_>,
    job: impl FnOnce(&mut dyn FnMut(AuditProgress<'_>)) -> Result<T>,
) -> Result<T> {
    let mut ticking = Ticking::of(context);
    job(&mut |progress| {
        ticking.sees(|| {
            let of = progress.goal_id.map_or("the ledger", |goal| goal.as_str());
            format!("{of}: {} of {} events", progress.seen, progress.of)
        });
    })
}

fn name(mended: &Mended) -> String {
    mended.cut.goal_id.as_ref().map_or_else(|| "(the ledger)".to_owned(), ToString::to_string)
}

fn question(plan: &Repair) -> String {
    let cuts: Vec<_> = plan
        .mended
        .iter()
        .map(|mended| format!("{} after event {} of {}", name(mended), mended.cut.kept, mended.cut.had))
        .collect();
    format!("cut {}", cuts.join(", "))
}

fn told(repair: &Repair, program: &str) -> Result<Rendered> {
    let has_any = !repair.mended.is_empty();
    let answer = Answer {
        receipt: repair.receipt.as_ref(),
        repaired: repair.receipt.is_some(),
        mended: &repair.mended,
        archive: has_any.then_some(&*repair.archive),
    };
    let rows = repair.mended.iter().map(|mended| {
        vec![name(mended), mended.cut.kept.to_string(), mended.cut.had.to_string(), mended.flaw.text.clone()]
    });
    let mut document = Document::new();
    if has_any {
        document = document.log(&["CHAIN", "KEPT", "OF", "FOUND"], rows.collect());
    }
    document = match (&repair.receipt, has_any) {
        (Some(_), _) if repair.archive.is_empty() => document.line("repaired before"),
        (Some(_), _) => document
            .line(format!("what was cut is kept in {} in the profile's folder", repair.archive))
            .line("live ownerships have ended; their Turns are unresolved")
            .line(format!("`{program} status` says what waits for you")),
        (None, true) => document
            .line(format!("would cut this, and keep it in {} in the profile's folder", repair.archive)),
        (None, false) => document.line("nothing is to be repaired"),
    };
    Rendered::new(schema::DOCTOR, &answer, document)
}
