//! Owns where a profile's state lies and its identity file.
//!
//! Knows nothing of what the databases hold, and reads no environment: the edge passes it in as `Env`.
//! Source: the architecture's "State on disk".

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use crate::{
    error::{Code, Error, Result},
    failpoint,
    model::AuthorityId,
};

pub(crate) mod file;
pub mod filesystem;
pub(super) mod machine;
pub(crate) mod owner;
mod record;
mod run_dir;

pub use filesystem::HostFilesystem;
use filesystem::{Filesystem, Kind};
use record::Record;

/// The profile that is meant when none is named.
pub const DEFAULT_PROFILE: &str = "default";

/// What of the process's environment decides where state lies.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// `LOOPX_HOME`.
    pub loopx_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`.
    pub xdg_data_home: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`.
    pub xdg_runtime_dir: Option<PathBuf>,
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// The profile's name, from a flag or `LOOPX_PROFILE`.
    pub profile: Option<String>,
    /// Whether a person said that the filesystem is good enough.
    pub allow_filesystem: bool,
}

impl Env {
    /// The folder of all profiles: `LOOPX_HOME`, else below the platform's data folder; none where no variable leads
    /// to one.
    ///
    /// Errors: `invalid_argument` for a relative `LOOPX_HOME`.
    pub fn root(&self) -> Result<Option<PathBuf>> {
        if let Some(home) = &self.loopx_home {
            if home.is_absolute() {
                return Ok(Some(home.clone()));
            }
            return Err(Error::new(Code::InvalidArgument, "LOOPX_HOME is not an absolute path")
                .detail("variable", "LOOPX_HOME")
                .internal(home.display()));
        }
        // A relative value is to be ignored, says the XDG specification.
        let absolute = |path: &Option<PathBuf>| path.clone().filter(|path| path.is_absolute());
        let below = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
        let data = absolute(&self.xdg_data_home).or_else(|| Some(absolute(&self.home)?.join(below)));
        Ok(data.map(|data| data.join("loopx")))
    }
}

/// The paths of one profile; nothing of it need exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    name: String,
    dir: PathBuf,
}

impl Place {
    /// Finds the profile's folder: `LOOPX_HOME`, else the platform's data folder.
    ///
    /// Errors: `invalid_id` for a profile's name, `invalid_argument` for a relative or missing home.
    pub fn resolve(env: &Env) -> Result<Self> {
        let name = env.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        if !is_profile_name(name) {
            return Err(Error::new(
                Code::InvalidId,
                "a profile's name is lower-case letters, digits and dashes, at most 48",
            ));
        }
        let root = env.root()?.ok_or_else(|| {
            Error::new(Code::InvalidArgument, "no home folder is known: set LOOPX_HOME")
                .detail("variable", "LOOPX_HOME")
        })?;
        Ok(Self { name: name.to_owned(), dir: root.join("profiles").join(name) })
    }

    /// The profile's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The profile's own folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The identity file.
    pub fn profile_json(&self) -> PathBuf {
        self.dir.join("profile.json")
    }

    /// The ledger.
    pub fn authority_db(&self) -> PathBuf {
        self.dir.join("authority.db")
    }

    /// The owner-local store.
    pub fn private_db(&self) -> PathBuf {
        self.dir.join("private.db")
    }

    /// The file of tokens.
    pub fn tokens_json(&self) -> PathBuf {
        self.dir.join("tokens.json")
    }

    /// Copies of the databases.
    pub fn backups(&self) -> PathBuf {
        self.dir.join("backups")
    }

    /// The links to work trees.
    pub fn trees(&self) -> PathBuf {
        self.dir.join("trees")
    }

    /// Snapshots of work trees.
    pub fn snapshots(&self) -> PathBuf {
        self.dir.join("snapshots")
    }

    /// What hosts said, until it is kept elsewhere.
    pub fn spool(&self) -> PathBuf {
        self.dir.join("spool")
    }

    /// Lock files.
    ///
    /// Invariant: a lock's path depends on nothing but the profile's folder, so that every process meets it.
    pub fn locks(&self) -> PathBuf {
        self.dir.join("locks")
    }

    /// Whether something lies here that only a profile which was made can have left.
    fn has_state(&self) -> Result<bool> {
        for path in [self.authority_db(), self.private_db(), self.tokens_json()] {
            if path.try_exists().map_err(|e| unreadable(&path, &e))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What stands where the identity file is missing: nothing at all, or state that nobody registered.
    fn without_identity(&self) -> Result<Error> {
        let name = &self.name;
        Ok(if self.has_state()? {
            let message =
                format!("the profile `{name}` has state, and the file that says whose it is has gone");
            Error::new(Code::OrphanedGoalState, message).hint("doctor").internal(self.dir.display())
        } else {
            Error::new(Code::NotFound, format!("profile `{name}` does not exist yet")).hint("init")
        })
    }
}

/// A name that is a file name on every platform and sorts as it reads.
fn is_profile_name(name: &str) -> bool {
    name.len() <= 48
        && !name.starts_with('-')
        && !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// What the edge mints for a profile that does not exist yet.
#[derive(Debug, Clone)]
pub struct NewProfile {
    /// `prf_…`.
    pub profile_id: String,
    /// Wall time, in milliseconds since the Unix epoch.
    pub created_at_ms: i64,
}

/// A profile that exists.
#[derive(Debug, Clone)]
pub struct Profile {
    place: Place,
    record: Record,
    filesystem: Kind,
}

impl Profile {
    /// Opens an existing profile and writes nothing.
    ///
    /// Errors: `not_found` before `init`, `orphaned_goal_state` where only the identity file is missing,
    /// `network_filesystem`, `unsupported_version`, `store_unreadable`, `store_corrupt`.
    pub fn open(place: &Place, env: &Env, probe: &dyn Filesystem) -> Result<Self> {
        let Some(record) = record::read(&place.profile_json())? else {
            return Err(place.without_identity()?);
        };
        let filesystem = filesystem::check(probe, &place.dir, env.allow_filesystem)?;
        Ok(Self { place: place.clone(), record, filesystem })
    }

    /// Opens the profile, and makes it first where there is none. Says whether it was made by this call.
    ///
    /// Of several processes that do this at once one makes it and all get the same profile. Errors: as `open`.
    pub fn open_or_create(
        place: &Place,
        env: &Env,
        probe: &dyn Filesystem,
        new: &NewProfile,
    ) -> Result<(Self, bool)> {
        // Looked at before anything is written: what is refused leaves nothing.
        let standing = place.dir.ancestors().find(|dir| dir.exists()).unwrap_or(&place.dir);
        let filesystem = filesystem::check(probe, standing, env.allow_filesystem)?;
        let path = place.profile_json();
        if record::read(&path)?.is_none() {
            let refusal = place.without_identity()?;
            // State is made after the identity: whoever is seen at work has published it by now.
            if refusal.code() != Code::NotFound && record::read(&path)?.is_none() {
                return Err(refusal);
            }
        }
        make_private_dir(&place.dir)?;
        make_private_dir(&place.locks())?;
        let mut created = false;
        let record = if let Some(record) = record::read(&path)? {
            record
        } else {
            let run_dir = run_dir::resolve(place, env, &new.profile_id)?;
            let made = Record::new(new, run_dir, machine::seed_if_needed()?);
            failpoint::reach!(ProfileBeforePublish);
            created = record::publish(&path, &made)?;
            failpoint::reach!(ProfileAfterPublish);
            record::read(&path)?.ok_or_else(|| gone(place))?
        };
        Ok((Self { place: place.clone(), record, filesystem }, created))
    }

    /// The paths.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// `prf_…`, this service's local identity.
    pub fn profile_id(&self) -> &str {
        &self.record.profile_id
    }

    /// Whose ledger this profile has; none before that was founded.
    pub fn authority_id(&self) -> Option<AuthorityId> {
        self.record.authority_id
    }

    /// Notes whose ledger was founded here. What is noted stays: another one is refused by whoever meets it.
    pub(crate) fn note_authority(&self, id: AuthorityId) -> Result<()> {
        if self.record.authority_id.is_some() {
            return Ok(());
        }
        self.amend(|record| {
            let is_new = record.authority_id.is_none();
            record.authority_id.get_or_insert(id);
            Ok(is_new)
        })
    }

    /// Refuses where this profile had a ledger and its file is gone or empty.
    ///
    /// Errors: `store_corrupt`, `store_unreadable`.
    pub(crate) fn check_ledger(&self) -> Result<()> {
        if self.record.authority_id.is_none() {
            return Ok(());
        }
        let path = self.place.authority_db();
        match fs::metadata(&path) {
            // What is no file has a length too; who opens it says what is wrong.
            Ok(found) if found.len() > 0 || !found.is_file() => Ok(()),
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(unreadable(&path, &e)),
            Ok(_) | Err(_) => {
                let message =
                    format!("the profile `{}` had a ledger, and its file is gone or empty", self.place.name);
                Err(Error::new(Code::StoreCorrupt, message).hint("doctor").internal(path.display()))
            }
        }
    }

    /// Makes the folder of lock files again where it is gone, and narrows it where others can enter. For writers.
    ///
    /// Errors: `disk_full`, `store_*`.
    pub fn mend_locks(&self) -> Result<()> {
        make_private_dir(&self.place.locks())
    }

    fn amend(&self, change: impl FnOnce(&mut Record) -> Result<bool>) -> Result<()> {
        record::amend(&self.place.profile_json(), &self.place.locks().join("profile.lock"), change)
    }

    /// What the state lies on; anything but `Local` deserves a warning.
    pub fn filesystem(&self) -> Kind {
        self.filesystem
    }

    /// Names this machine to everybody who shares the authority, without naming it to anybody else.
    pub fn machine_id(&self) -> Result<String> {
        machine::machine_id(&self.record)
    }

    /// The folder of the doorbell and of sockets, as the profile's file has it now.
    ///
    /// Errors: as `open`; `store_unavailable` when the folder is gone and cannot be made again, or when
    /// somebody else could write there.
    pub fn run_dir(&self) -> Result<PathBuf> {
        let record = record::read(&self.place.profile_json())?.ok_or_else(|| gone(&self.place))?;
        run_dir::ensure(&record.run_dir, owner::of(&self.place.dir))?;
        Ok(record.run_dir)
    }

    /// That folder, as it was when the profile was opened; it may be gone, and nothing is made.
    pub fn known_run_dir(&self) -> &Path {
        &self.record.run_dir
    }

    /// As `run_dir`, but a folder that cannot be used any more is replaced, for everybody, by one that can.
    ///
    /// For writers alone: it writes the profile's file.
    pub fn run_dir_or_move(&self, env: &Env) -> Result<PathBuf> {
        let record = record::read(&self.place.profile_json())?.ok_or_else(|| gone(&self.place))?;
        let owner = owner::of(&self.place.dir);
        if run_dir::ensure(&record.run_dir, owner).is_ok() {
            return Ok(record.run_dir);
        }
        self.amend(|record| {
            // Another writer may have moved it meanwhile.
            if run_dir::ensure(&record.run_dir, owner).is_ok() {
                return Ok(false);
            }
            record.run_dir = run_dir::resolve(&self.place, env, &record.profile_id)?;
            Ok(true)
        })?;
        self.run_dir()
    }
}

fn gone(place: &Place) -> Error {
    Error::new(Code::StoreUnreadable, format!("the file of profile `{}` has gone", place.name))
        .internal(place.dir.display())
}

/// Makes a folder of ours that nobody else can enter, or checks and narrows the one that is there.
pub(crate) fn make_private_dir(dir: &Path) -> Result<()> {
    owner::make_dirs(dir).map_err(|e| unreadable(dir, &e))?;
    let meta = fs::metadata(dir).map_err(|e| unreadable(dir, &e))?;
    if is_closed(&meta) {
        return Ok(());
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::new(Code::StoreUnreadable, "the state folder belongs to another user")
            .internal(dir.display()));
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(|e| unreadable(dir, &e))
}

/// Whether nobody but the owner, and root, can enter.
fn is_closed(meta: &fs::Metadata) -> bool {
    const OTHERS: u32 = 0o077;
    meta.mode() & OTHERS == 0
}

/// The refusal of something else in the place of a folder of ours, on the way to a path; none where that is not why.
pub(crate) fn misplaced(path: &Path, e: &io::Error) -> Option<Error> {
    if !matches!(e.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) {
        return None;
    }
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    let name = there.file_name().unwrap_or_default().to_string_lossy();
    let message = format!("something other than a folder is in the place of `{name}`: move it away");
    let error = Error::new(Code::StoreUnreadable, message).hint("doctor");
    (!there.is_dir()).then(|| error.internal(format_args!("{}: {e}", path.display())))
}

/// Types a failure of the host's filesystem.
pub(crate) fn unreadable(path: &Path, e: &io::Error) -> Error {
    if let Some(error) = misplaced(path, e) {
        return error;
    }
    let (code, message) = match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (Code::DiskFull, "no space is left for the state folder")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            (Code::StoreUnreadable, "the state folder does not let this user in")
        }
        _ => (Code::StoreUnavailable, "the state folder cannot be reached"),
    };
    Error::new(code, message).internal(format_args!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests;
