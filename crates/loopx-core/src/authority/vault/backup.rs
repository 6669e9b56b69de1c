//! Owns the backup of a profile: a verified copy of its ledger, and on request of its bodies.
//!
//! Knows no table. Invariant: the ledger is copied before the bodies, so that no fact of a backup misses its body.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    copy::{Kept, Target, check_taken, keep},
    held::{Held, look_through},
};
use crate::{
    authority::{
        Authority,
        clock::{Clock as _, SystemClock},
        profile::{Env, Place, Profile},
        sqlite::{self, LEDGER, Reader},
    },
    error::{Code, Error, Result},
    model::Timestamp,
    private,
};

/// What a backup is to be.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'w> {
    /// Its file; else one in the profile's own folder.
    pub path: Option<&'w Path>,
    /// Whether what lies there may be replaced.
    pub replace: bool,
    /// Whether bodies are copied too, beside it.
    pub private: bool,
}

/// A backup.
#[derive(Debug)]
pub struct Backup {
    /// The copy of the ledger.
    pub kept: Kept,
    /// What it holds.
    pub held: Held,
    /// The copy of the bodies, where that was wanted and there are any.
    pub private: Option<Kept>,
}

/// Copies the ledger of a profile, looks through the copy, and only then gives it its name.
///
/// Who writes goes on meanwhile: the copy is one state, and each of its chains is the beginning of the ledger's.
/// Errors: `invalid_argument` for a path where no backup may lie; `orphaned_goal_state`, `disk_full`, `schema_*`,
/// `store_*`; then nothing lies there.
pub fn backup(profile: &Profile, env: &Env, wanted: Wanted<'_>, say: &mut dyn FnMut(&str)) -> Result<Backup> {
    let place = profile.place();
    let at = Timestamp::from_ms(SystemClock::new().read()?.wall_ms);
    let beside = wanted.path.map(beside);
    if let Some(path) = wanted.path {
        check_path(path, place.dir(), &place.backups())?;
        let bodies = beside.as_deref().filter(|_| wanted.private);
        // Before anything is copied: a ledger without the bodies that were asked for is no backup.
        [Some(path), bodies].into_iter().flatten().try_for_each(|path| check_taken(path, wanted.replace))?;
    }
    // Another authority's ledger is told before it is copied.
    let mut live = Authority::open(profile, env)?;
    live.read(|view| view.meta())?;
    say("copying the ledger");
    let (kept, held) =
        keep(&place.authority_db(), &LEDGER, target(place, at, wanted.path, wanted.replace, ""), |path| {
            say("looking through the copy");
            let held = sqlite::read_still(path, look_through)?;
            live.read(|view| held.check_behind(view))?;
            Ok(held)
        })?;
    let bodies = place.private_db();
    let mut copied = None;
    if wanted.private && Reader::schema_of(&bodies, &private::SCHEMA)?.is_some() {
        say("copying the private store");
        let pages = |path: &Path| Reader::open_still(path, &private::SCHEMA)?.check_pages();
        copied = Some(
            keep(
                &bodies,
                &private::SCHEMA,
                target(place, at, beside.as_deref(), wanted.replace, "-private"),
                pages,
            )?
            .0,
        );
    }
    Ok(Backup { kept, held, private: copied })
}

/// Where a copy goes: where it was told to, else into the profile's own folder.
fn target<'t>(
    place: &'t Place,
    at: Timestamp,
    path: Option<&'t Path>,
    replace: bool,
    what: &'static str,
) -> Target<'t> {
    match path {
        Some(path) => Target::At(path, replace),
        None => Target::Dated(place, at, what),
    }
}

/// Where the bodies go that belong to a backup: `x.db` has `x-private.db` beside it.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push("-private");
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// Refuses a place in which a backup could take that of a profile's own file: all of a profile but its backups.
fn check_path(path: &Path, own: &Path, backups: &Path) -> Result<()> {
    let refused = |message: &'static str| {
        Error::new(Code::InvalidArgument, message)
            .hint("backup --help")
            .detail("argument", "path")
            .internal(path.display())
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.file_name().is_none() {
        return Err(refused("a backup is a file, and this names none"));
    }
    let folder = fs::canonicalize(folder).map_err(|e| refused("its folder is not there").internal(e))?;
    let is_backups = fs::canonicalize(backups).is_ok_and(|backups| folder == backups);
    let profile = folder.ancestors().find(|dir| dir.join("profile.json").symlink_metadata().is_ok());
    match profile {
        Some(profile) if !is_backups => {
            let is_own = fs::canonicalize(own).is_ok_and(|own| own == profile);
            Err(refused(if is_own {
                "of the profile's own folder only `backups` takes a backup"
            } else {
                "this lies among the files of another profile"
            }))
        }
        Some(_) | None => Ok(()),
    }
}
