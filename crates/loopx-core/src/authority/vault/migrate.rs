//! Owns the way of a profile's databases to the newest schema: a verified copy first, then all or nothing.
//!
//! Knows no table. The private store comes first and the ledger last: its event says that all is done.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    copy::{Kept, Target, keep},
    held::look_through,
};
use crate::{
    authority::{
        Asked, Authority, OwnEvent, Tx,
        clock::{self, Clock as _, SystemClock},
        doorbell::Doorbell,
        own,
        profile::{Env, Place, Profile},
        sqlite::{self, LEDGER, Reader, Schema},
        submit::ours,
    },
    error::{Code, Result},
    failpoint,
    model::{Digest, Receipt, Timestamp},
    private,
};

/// A database, and what leads it to the newest schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Which: `ledger` or `private`.
    pub database: &'static str,
    /// The schema it has.
    pub from: i32,
    /// The schema it gets.
    pub to: i32,
}

/// A database that was brought to the newest schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// How far.
    pub step: Step,
    /// The file in which it is kept as it was.
    pub kept: Kept,
}

/// What a migration did.
#[derive(Debug)]
pub struct Migration {
    /// What the ledger returned; none where that had the newest schema.
    pub receipt: Option<Receipt>,
    /// What was brought on by this call, in order.
    pub done: Vec<Migrated>,
}

/// The databases of a profile, the ledger last.
fn databases(place: &Place) -> [(&'static str, PathBuf, &'static Schema); 2] {
    [("private", place.private_db(), &private::SCHEMA), ("ledger", place.authority_db(), &LEDGER)]
}

/// What [`migrate`] would do, without doing it.
///
/// Errors: `schema_too_new`, `store_*`.
pub fn pending(place: &Place) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for (database, path, schema) in databases(place) {
        let found = Reader::schema_of(&path, schema)?;
        steps.extend(found.filter(|found| *found < schema.newest).map(|from| Step {
            database,
            from,
            to: schema.newest,
        }));
    }
    Ok(steps)
}

/// Brings the databases of a profile to the newest schema, each in one transaction, and each copied before.
///
/// The copy is made while the write lock is held: it is what the database held last. Killed on the way, each has
/// the old schema or the new one, and giving it again ends it; of several at once one does it. `say` is told what is
/// at work. Errors: `user_only`, `unauthenticated`, `operation_conflict`, `orphaned_goal_state`, `not_found` before
/// `init`, `schema_too_new`, `disk_full`, `store_*`.
pub fn migrate(profile: &Profile, env: &Env, asked: &Asked, say: &mut dyn FnMut(&str)) -> Result<Migration> {
    let digest = Digest::of_value(&json!({"actor": asked.actor, "own": "migrate"}))?;
    if let Some(receipt) = known(profile, env, asked, digest)? {
        return Ok(Migration { receipt: Some(receipt), done: Vec::new() });
    }
    own::authorize(asked, "migrate")?;
    let place = profile.place();
    let mut done = Vec::new();
    let (private, ledger) = (place.private_db(), place.authority_db());
    if Reader::schema_of(&private, &private::SCHEMA)?.is_some() {
        let before = || {
            say("copying the private store");
            let pages = |path: &Path| Reader::open_still(path, &private::SCHEMA)?.check_pages();
            Ok(keep(&private, &private::SCHEMA, Target::Dated(place, wall()?, "-private"), pages)?.0)
        };
        let from = sqlite::migrate(&private, &private::SCHEMA, before, |_, _, _| Ok(()))?;
        done.extend(from.map(|(from, kept)| migrated("private", &private::SCHEMA, from, kept)));
    }
    let mut receipt = None;
    let before = || {
        say("copying the ledger");
        let chains = |path: &Path| sqlite::read_still(path, look_through);
        let (kept, _) = keep(&ledger, &LEDGER, Target::Dated(place, wall()?, ""), chains)?;
        say("changing the ledger's tables");
        Ok(kept)
    };
    let beside = |tx: &mut dyn Tx, from, kept: &Kept| {
        let meta = ours(tx.meta()?, profile.authority_id())?;
        let stamp = clock::advance(&meta.stamp, &SystemClock::new().read()?);
        let (to, kept) = (LEDGER.newest, kept.digest);
        let outcome = json!({"schema_migrated": {"from": from, "to": to, "kept": kept}});
        let event = OwnEvent::SchemaMigrated { from, to, kept };
        let stored = own::store(tx, asked, digest, stamp, event, outcome)?;
        receipt = Some(stored.into_receipt(asked.operation_id.clone(), false));
        Ok(())
    };
    let from = sqlite::migrate_ledger(&ledger, before, beside)?;
    done.extend(from.map(|(from, kept)| migrated("ledger", &LEDGER, from, kept)));
    if receipt.is_some() {
        failpoint::reach!(LedgerBeforeBell);
        Doorbell::new(profile, env).ring();
        failpoint::reach!(LedgerAfterBell);
    } else {
        // Another process may have been given the same operation, and been first.
        receipt = known(profile, env, asked, digest)?;
    }
    Ok(Migration { receipt, done })
}

fn migrated(database: &'static str, schema: &Schema, from: i32, kept: Kept) -> Migrated {
    Migrated { step: Step { database, from, to: schema.newest }, kept }
}

/// What the operation returned before; a ledger that is too old to be read here has not heard of it.
fn known(profile: &Profile, env: &Env, asked: &Asked, digest: Digest) -> Result<Option<Receipt>> {
    match Authority::open(profile, env)?.read(|view| own::replayed(view, asked, digest)) {
        Err(error) if error.code() == Code::SchemaNeedsMigration => Ok(None),
        found => found,
    }
}

/// The wall clock, for a file's name.
fn wall() -> Result<Timestamp> {
    Ok(Timestamp::from_ms(SystemClock::new().read()?.wall_ms))
}
