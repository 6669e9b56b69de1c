//! Owns the restore of a ledger: an earlier state takes its place, and another life begins with it.
//!
//! Knows no table. A ledger that can be read keeps its file, so that whoever has it open goes on; one that cannot, or
//! is gone, gets a new file. Invariant: what is replaced is kept, and nothing is replaced before the backup was looked
//! through.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    copy::{Kept, Target, keep, measured},
    held::{Held, audited},
};
use crate::{
    authority::{
        Asked, Authority, Cause, Cut, Head, Meta, Tx, View,
        clock::{Clock as _, SystemClock},
        doorbell::Doorbell,
        incarnation::{Birth, begin},
        own,
        profile::{
            Env, Place, Profile,
            file::{self, Unfinished, Whose, unwritable},
            make_private_dir,
        },
        sqlite::{self, LEDGER, beside},
    },
    error::{Code, Error, Result},
    failpoint,
    model::{AuthorityId, Digest, GoalId, Receipt, Timestamp},
};

/// How many Goals are read at once.
const STEP: usize = 256;

/// What a restore did.
#[derive(Debug)]
pub struct Restored {
    /// What the ledger returned.
    pub receipt: Receipt,
    /// The file in which the ledger is kept as it was; none where there was none, or a replay made nothing.
    pub aside: Option<PathBuf>,
}

/// Audits a backup: whether it is whole, as this release makes it, what its own events come to, and of the authority
/// that is expected.
///
/// Changes nothing, and makes no file. Errors: `invalid_argument` for what is no finished backup, `store_corrupt` with
/// the first event or row that is wrong, `schema_too_new`, `orphaned_goal_state` for another authority's, `store_*`.
pub fn look_into(expects: Option<AuthorityId>, ledger: &Path, path: &Path) -> Result<Held> {
    check_file(path, ledger)?;
    let held = sqlite::read_foreign(path, audited).map_err(damaged)?;
    match expects {
        Some(ours) if ours != held.authority_id => Err(foreign(&held, ours)),
        Some(_) | None => Ok(held),
    }
}

/// What helps whoever gave a damaged copy: to hear whether what it was to replace is any better.
fn damaged(error: Error) -> Error {
    if error.code() == Code::StoreCorrupt && error.hint_args().is_none() {
        error.hint("doctor")
    } else {
        error
    }
}

/// Refuses what is no file of its own: the ledger itself, and a database that somebody is writing.
fn check_file(path: &Path, ledger: &Path) -> Result<()> {
    let refused = |message: &'static str| {
        Error::new(Code::InvalidArgument, message)
            .hint("restore --help")
            .detail("argument", "path")
            .internal(path.display())
    };
    let found = match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            return Err(Error::new(Code::StoreUnreadable, "the backup does not let this user in").internal(e));
        }
        found => found.map_err(|e| refused("there is no such backup").internal(e))?,
    };
    if !found.is_file() {
        return Err(refused("a backup is a regular file, and this is none"));
    }
    let same = |other: fs::Metadata| (other.dev(), other.ino()) == (found.dev(), found.ino());
    if fs::metadata(ledger).is_ok_and(same) {
        return Err(refused("this is the ledger itself, and no backup of it"));
    }
    let has = |suffix: &str| fs::metadata(beside(path, suffix)).is_ok_and(|log| log.len() > 0);
    if has("-wal") || has("-journal") {
        return Err(refused(
            "a log lies beside it: it is a database in use; `backup` makes a whole copy of one",
        ));
    }
    Ok(())
}

/// Puts a backup in the place of the ledger, and begins another life of it, in one step.
///
/// Live ownerships end and live Turns become unresolved. What happened since the backup is not done again under its
/// operation ids. `at_rest` is asked while nobody can write: its refusal is returned. Killed on the way, it happened or
/// did not. Errors: as [`look_into`]; those of `at_rest`; `user_only`, `unauthenticated`, `operation_conflict`,
/// `store_busy`, `disk_full`, `store_*`; then nothing was replaced.
pub fn restore(
    profile: &Profile,
    env: &Env,
    path: &Path,
    asked: &Asked,
    at_rest: &mut dyn FnMut() -> Result<()>,
    say: &mut dyn FnMut(&str),
) -> Result<Restored> {
    say("looking through the backup");
    let place = profile.place();
    let held = look_into(profile.authority_id(), &place.authority_db(), path)?;
    let (_, file) = measured(path)?;
    let digest = Digest::of_value(&json!({"actor": asked.actor, "own": "restore", "file": file}))?;
    let known = Authority::open(profile, env)
        .and_then(|mut ledger| ledger.read(|view| Ok((own::replayed(view, asked, digest)?, view.meta()?))));
    let is_sound = match known {
        Ok((Some(receipt), _)) => return Ok(Restored { receipt, aside: None }),
        Ok((None, Some(meta))) if meta.authority_id != held.authority_id => {
            return Err(foreign(&held, meta.authority_id));
        }
        Ok((None, found)) => found.is_some(),
        Err(error) if is_unusable(&error) => false,
        Err(error) => return Err(error),
    };
    // Where nothing was, nothing is lost: it begins as with `init`.
    if profile.authority_id().is_some() || place.authority_db().exists() || !asked.actor.is_user() {
        own::authorize(asked, "restore the ledger")?;
    }
    let mut job = Job { profile, path, asked, digest, held, at_rest, say };
    let restored = if is_sound {
        match job.in_place() {
            // A page that no small read meets.
            Err(error) if is_unusable(&error) => job.anew()?,
            restored => restored?,
        }
    } else {
        job.anew()?
    };
    profile.note_authority(job.held.authority_id)?;
    failpoint::reach!(LedgerBeforeBell);
    Doorbell::new(profile, env).ring();
    failpoint::reach!(LedgerAfterBell);
    Ok(restored)
}

/// Whether this release can do nothing with what is there: damaged, gone, another authority's in this one's place, or
/// of a schema that it does not know.
fn is_unusable(error: &Error) -> bool {
    use Code as C;
    let codes =
        [C::StoreCorrupt, C::OrphanedGoalState, C::NotFound, C::SchemaTooNew, C::SchemaNeedsMigration];
    codes.contains(&error.code())
}

/// The refusal of a backup whose authority is not the ledger's.
fn foreign(held: &Held, ours: AuthorityId) -> Error {
    let message = "the backup is another authority's: nothing of it belongs into this profile";
    Error::new(Code::OrphanedGoalState, message)
        .hint("doctor")
        .detail("found", held.authority_id.to_string())
        .detail("expected", ours.to_string())
}

struct Job<'j> {
    profile: &'j Profile,
    path: &'j Path,
    asked: &'j Asked,
    digest: Digest,
    held: Held,
    at_rest: &'j mut dyn FnMut() -> Result<()>,
    say: &'j mut dyn FnMut(&str),
}

/// What the ledger was when it was replaced.
struct Ended {
    kept: Kept,
    cuts: Vec<Cut>,
}

impl Job<'_> {
    /// Exchanges the content of the ledger's file.
    fn in_place(&mut self) -> Result<Restored> {
        let Self { profile, path, asked, digest, held, at_rest, say } = self;
        let place = profile.place();
        let ledger = place.authority_db();
        let before = |view: &mut dyn View| {
            at_rest()?;
            say("keeping the ledger as it is");
            let target = Target::Dated(place, wall()?, "-aside");
            let (kept, ()) = keep(&ledger, &LEDGER, target, |_| Ok(()))?;
            let cuts = cuts(view, held)?;
            say("putting the backup in its place");
            Ok(Ended { kept, cuts })
        };
        let mut receipt = None;
        let birth = |tx: &mut dyn Tx, ended: &Meta, was: &Ended| {
            let cuts = was.cuts.clone();
            receipt = Some(born(tx, held, asked, *digest, Some(ended), (cuts, Some(&was.kept.path)))?);
            Ok(())
        };
        let ended = sqlite::exchange(&ledger, path, before, birth)?;
        let receipt = receipt.ok_or_else(|| Error::from(Code::Internal))?;
        Ok(Restored { receipt, aside: Some(ended.kept.path) })
    }

    /// Puts a new file where there is none, or none that can be used.
    fn anew(&mut self) -> Result<Restored> {
        let Self { profile, path, asked, digest, held, at_rest, say } = self;
        let place = profile.place();
        let ledger = place.authority_db();
        make_private_dir(&place.locks())?;
        let _alone = file::lock(&place.locks().join("restore.lock"), "another process restores the ledger")?;
        at_rest()?;
        say("making the ledger anew");
        let unfinished = Unfinished::beside(&ledger, Whose::Folders)?;
        sqlite::copy_still(path, unfinished.path())?;
        let mut receipt = None;
        // What cannot be read cannot tell what is cut.
        sqlite::write_alone(unfinished.path(), |tx| {
            receipt = Some(born(tx, held, asked, *digest, None, (Vec::new(), None))?);
            Ok(())
        })?;
        failpoint::reach!(RestoreMade);
        unfinished.take_mode(&ledger)?;
        let aside = set_aside(place)?;
        failpoint::reach!(RestoreAside);
        if !unfinished.finish(&ledger, false)? {
            return Err(Error::new(Code::StoreBusy, "another process made a ledger meanwhile"));
        }
        let receipt = receipt.ok_or_else(|| Error::from(Code::Internal))?;
        Ok(Restored { receipt, aside })
    }
}

/// Begins the life that follows; its time goes on from the later of both lives.
fn born(
    tx: &mut dyn Tx,
    held: &Held,
    asked: &Asked,
    digest: Digest,
    ended: Option<&Meta>,
    (cuts, aside): (Vec<Cut>, Option<&PathBuf>),
) -> Result<Receipt> {
    // Whoever can write the backup may have done so since it was looked through.
    if audited(tx, held.schema).map_err(damaged)? != *held {
        return Err(Error::new(Code::StoreCorrupt, "the backup was changed while it was read"));
    }
    let meta = tx.meta()?.ok_or_else(|| Error::from(Code::Internal))?;
    let later = ended.filter(|ended| ended.stamp.now_ms >= meta.stamp.now_ms);
    let meta = Meta { stamp: later.map_or(meta.stamp.clone(), |ended| ended.stamp.clone()), ..meta };
    let name =
        aside.and_then(|path| path.file_name()).map(|name| format!("backups/{}", name.to_string_lossy()));
    let archive = name.map(|name| name.parse()).transpose()?;
    let birth = Birth { asked, digest, cause: Cause::Restore, cuts, archive };
    let receipt = begin(tx, birth, &meta, &SystemClock::new().read()?)?;
    Ok(receipt.into_receipt(asked.operation_id.clone(), false))
}

/// Which chains of the ledger say more than the backup, or something else.
fn cuts(view: &mut dyn View, held: &Held) -> Result<Vec<Cut>> {
    let cut = |goal_id: Option<GoalId>, kept: Head, had: Head| {
        (kept != had).then_some(Cut { goal_id, kept: kept.seq.min(had.seq), had: had.seq })
    };
    let own = view.own_head()?.unwrap_or(Head::START);
    let mut cuts: Vec<Cut> = cut(None, held.own, own).into_iter().collect();
    let mut after: Option<GoalId> = None;
    loop {
        let page = view.chains(after.as_ref(), STEP)?;
        let Some((last, _)) = page.last() else { return Ok(cuts) };
        after = Some(last.clone());
        for (goal, had) in page {
            let kept = held.heads.get(&goal).copied().unwrap_or(Head::START);
            cuts.extend(cut(Some(goal), kept, had));
        }
    }
}

/// Moves what lies in the ledger's place, and its logs, away; says where it lies then.
fn set_aside(place: &Place) -> Result<Option<PathBuf>> {
    let ledger = place.authority_db();
    make_private_dir(&place.backups())?;
    let to = free(place)?;
    let mut moved = None;
    // The file first: a log without its file says nothing, a file without its log is an earlier state.
    for suffix in ["", "-wal", "-shm"] {
        match fs::rename(beside(&ledger, suffix), beside(&to, suffix)) {
            Ok(()) => moved = Some(to.clone()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(unwritable(&ledger, &e)),
        }
    }
    file::sync_folder(&ledger).and_then(|()| file::sync_folder(&to)).map_err(|e| unwritable(&to, &e))?;
    Ok(moved)
}

/// A name among the backups that nothing has.
fn free(place: &Place) -> Result<PathBuf> {
    let at = wall()?;
    let names = (1..).filter_map(|n| Target::Dated(place, at, "-aside").path(n));
    let is_free =
        |path: &PathBuf| ["", "-wal"].iter().all(|end| beside(path, end).symlink_metadata().is_err());
    names.into_iter().find(is_free).ok_or_else(|| Code::Internal.into())
}

/// The wall clock, for a file's name.
fn wall() -> Result<Timestamp> {
    Ok(Timestamp::from_ms(SystemClock::new().read()?.wall_ms))
}
