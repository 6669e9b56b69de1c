//! Owns the handler of `restore`, which works where no ledger can be read.
//!
//! Opens no ledger by itself: what lies in its place may be what a backup is to take.

use serde_json::json;

use super::{
    desk::{around, wall},
    schema,
    submit::{operation_id, with_proof_hint_in},
    token::check_person,
    vault::holds,
};
use crate::{
    authority::{
        Asked,
        profile::{Env, HostFilesystem, NewProfile, Place, Profile},
        random,
        vault::{self, Restored},
    },
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    model::{Assurance, Door, ProfileId, Provenance, json_value, uuid_v7},
    turn,
};

/// `restore`.
pub(in crate::cli) fn restore(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let (_, _, env) = around(context, args)?;
    let place = Place::resolve(&env)?;
    let path = args.file("path").ok_or_else(|| Error::from(Code::Internal))?;
    let path = context.folder()?.join(path);
    let known = match Profile::open(&place, &env, &HostFilesystem) {
        Err(error) if error.code() == Code::NotFound => None,
        opened => Some(opened?),
    };
    let authority_id = known.as_ref().and_then(Profile::authority_id);
    // Whoever asks, a file that cannot be restored is told before anything is made or agreed to.
    let held = vault::look_into(authority_id, &place.authority_db(), &path)?;
    if args.switch("dry-run") {
        let body = json!({"receipt": null, "restore": {"restored": false, "holds": json_value(&held)?}});
        let document = Document::new().line(format!("could be restored: {}", holds(&held)));
        return Rendered::new(schema::RESTORE, &body, document);
    }
    let asked = asked(context, args, known.is_some())?;
    let profile = match known {
        Some(profile) => profile,
        None => made(&place, &env)?,
    };
    let locks = place.locks();
    let mut at_rest = || match turn::at_work(&locks) {
        None => Ok(()),
        Some(turn_id) => Err(Error::new(
            Code::TurnRunning,
            format!("the Turn {turn_id} is at work: a restore would take its ledger away from under it"),
        )
        .hint(format!("turn stop {turn_id}"))
        .detail("turn_id", turn_id.to_string())),
    };
    let mut say = |line: &str| context.note(line);
    let restored = vault::restore(&profile, &env, &path, &asked, &mut at_rest, &mut say);
    let Restored { receipt, aside } =
        restored.map_err(|error| with_proof_hint_in(context, args, &place, &asked.actor, error))?;
    let replayed = receipt.is_replayed();
    let mut document = Document::new().line(format!("restored: {}", holds(&held)));
    if let Some(aside) = &aside {
        document = document.line(format!("the ledger as it was is kept in {}", aside.display()));
    }
    document = document.line("what ran when the backup was made has to be looked at: see `status`");
    let aside = aside.map(|path| path.to_string_lossy().into_owned());
    let body = json!({
        "receipt": receipt,
        "restore": {"restored": true, "holds": json_value(&held)?, "aside": aside},
    });
    Ok(Rendered::new(schema::RESTORE, &body, document)?.operation(&asked.operation_id, replayed))
}

/// A profile that is to get its ledger from a backup.
fn made(place: &Place, env: &Env) -> Result<Profile> {
    let now = wall()?;
    let id = ProfileId::from_bytes(uuid_v7(now, random::bytes()?));
    let new = NewProfile { profile_id: id.to_string(), created_at_ms: now.as_ms() };
    Ok(Profile::open_or_create(place, env, &HostFilesystem, &new)?.0)
}

/// Who asks: whom a token names, else whom the call does; a person who is asked says yes on a terminal.
///
/// Errors: as [`check_person`].
fn asked(context: &mut Context<'_, '_>, args: &Args, asks: bool) -> Result<Asked> {
    let (actor, mut assurance) = check_person(context, args)?;
    if asks && assurance != Assurance::Proven {
        let question = format!("{}: put the backup in the ledger's place, as {actor}?", context.program);
        match context.confirm(&question)? {
            Some(true) => assurance = Assurance::Proven,
            Some(false) => return Err(Error::new(Code::Unauthenticated, "`restore` was not agreed to")),
            None => {}
        }
    }
    let provenance = Provenance { door: Door::Cli, assurance, contained: None };
    Ok(Asked { operation_id: operation_id(args)?, actor, provenance })
}
