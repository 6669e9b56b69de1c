//! Owns the handlers of what is done to the databases as wholes.

use serde_json::{Value, json};

use super::{
    caller::caller,
    desk::{Desk, around},
    schema,
    submit::{operation_id, with_proof_hint},
    token::check_person,
};
use crate::{
    authority::{
        Asked,
        vault::{self, Backup, Held, Kept, Migration, Step, Wanted},
    },
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    model::{Assurance, Receipt, json_value},
};

/// `backup`.
pub(in crate::cli) fn backup(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let desk = Desk::open(context, args)?;
    check_person(context, args)?;
    let path = args.file("path").map(|path| Ok::<_, Error>(context.folder()?.join(path))).transpose()?;
    let private = args.text("include") == Some("private");
    let wanted = Wanted { path: path.as_deref(), replace: args.switch("force"), private };
    let (_, _, env) = around(context, args)?;
    let mut say = |line: &str| context.note(line);
    let Backup { kept: copy, held, private } = vault::backup(&desk.profile, &env, wanted, &mut say)?;
    let mut document = Document::new().line(format!("kept in {}", copy.path.display())).line(format!(
        "{}; digest {}",
        holds(&held),
        copy.digest
    ));
    document = match &private {
        Some(bodies) => document.line(format!("bodies are kept in {}", bodies.path.display())),
        None => document.line("bodies are not in it; `--include private` copies them too"),
    };
    let mut row = kept(&copy);
    if let Some(row) = row.as_object_mut() {
        row.insert("holds".to_owned(), json_value(&held)?);
        row.insert("private".to_owned(), private.as_ref().map(kept).unwrap_or_default());
    }
    Rendered::new(schema::BACKUP, &json!({"backup": row}), document)
}

/// `2 Goals with 40 events, schema 2, of the ledger aut_…`.
pub(super) fn holds(held: &Held) -> String {
    let Held { goals, events, schema, authority_id, .. } = held;
    let plural = if *goals == 1 { "" } else { "s" };
    format!("{goals} Goal{plural} with {events} events, schema {schema}, of {authority_id}")
}

/// `migrate`.
pub(in crate::cli) fn migrate(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let steps = vault::pending(desk.profile.place())?;
    let is_known = is_known(&mut desk, args)?;
    if !is_known && (steps.is_empty() || args.switch("dry-run")) {
        let document = if steps.is_empty() {
            Document::new().line("the databases have the newest schema; nothing is to be done")
        } else {
            steps
                .iter()
                .fold(Document::new(), |document, step| document.line(format!("would bring {}", said(step))))
        };
        let rows: Vec<Value> = steps.iter().map(|step| row(step, None)).collect();
        let body = json!({"receipt": null, "migration": {"migrated": false, "databases": rows}});
        return Rendered::new(schema::MIGRATE, &body, document);
    }
    let asked = asked(context, args, &mut desk, is_known, "bring the databases to the newest schema")?;
    let (_, _, env) = around(context, args)?;
    let mut say = |line: &str| context.note(line);
    let migrated = vault::migrate(&desk.profile, &env, &asked, &mut say);
    let Migration { receipt, done } =
        migrated.map_err(|error| with_proof_hint(context, args, &desk, &asked.actor, error))?;
    let mut document = Document::new();
    for migrated in &done {
        let kept = migrated.kept.path.display();
        document = document.line(format!("brought {}; as it was it is kept in {kept}", said(&migrated.step)));
    }
    if done.is_empty() {
        document = document.line("the databases have the newest schema");
    }
    let rows: Vec<Value> = done.iter().map(|done| row(&done.step, Some(&done.kept))).collect();
    let body = json!({"receipt": receipt, "migration": {"migrated": !done.is_empty(), "databases": rows}});
    let replayed = receipt.is_some_and(|receipt: Receipt| receipt.is_replayed());
    Ok(Rendered::new(schema::MIGRATE, &body, document)?.operation(&asked.operation_id, replayed))
}

/// `the ledger from schema 1 to 2`.
fn said(step: &Step) -> String {
    let name = if step.database == "private" { "the private store" } else { "the ledger" };
    format!("{name} from schema {} to {}", step.from, step.to)
}

fn row(step: &Step, copy: Option<&Kept>) -> Value {
    let mut row = json!({"database": step.database, "from": step.from, "to": step.to});
    if let (Some(row), Some(copy)) = (row.as_object_mut(), copy) {
        row.insert("kept".to_owned(), kept(copy));
    }
    row
}

fn kept(copy: &Kept) -> Value {
    json!({"path": copy.path.to_string_lossy(), "bytes": copy.bytes, "digest": copy.digest})
}

/// Whether the id of this call was used before.
fn is_known(desk: &mut Desk, args: &Args) -> Result<bool> {
    if args.text("op-id").is_none() {
        return Ok(false);
    }
    match desk.authority.receipt(&operation_id(args)?) {
        // A ledger that is too old to be read here has not heard of it.
        Err(error) if error.code() == Code::SchemaNeedsMigration => Ok(false),
        found => Ok(found?.is_some()),
    }
}

/// Who asks for a change of the ledger itself; on a terminal, whether that person says yes to `what`.
///
/// Errors: `user_only`, `unauthenticated`; as [`caller`].
fn asked(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    is_known: bool,
    what: &str,
) -> Result<Asked> {
    let caller = caller(context, args, desk)?;
    let mut asked =
        Asked { operation_id: operation_id(args)?, actor: caller.actor, provenance: caller.provenance };
    if is_known || !asked.actor.is_user() || asked.provenance.contained.is_some() {
        return Ok(asked);
    }
    if asked.provenance.assurance != Assurance::Proven {
        match context.confirm(&format!("{}: {what}, as {}?", context.program, asked.actor))? {
            Some(true) => asked.provenance.assurance = Assurance::Proven,
            Some(false) => {
                return Err(Error::new(
                    Code::Unauthenticated,
                    format!("`{}` was not agreed to", args.path()),
                ));
            }
            None => {}
        }
    }
    Ok(asked)
}
