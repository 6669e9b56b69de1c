//! Owns the bytes of `profile.json`: its fields, and how it is read and replaced whole.
//!
//! Knows nothing of how its values are chosen.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{NewProfile, make_private_dir, unreadable};
use crate::{
    authority::random,
    error::{Code, Error, Result},
    model::AuthorityId,
};

/// The schema of `profile.json`.
const SCHEMA_VERSION: &str = "loopx_profile_v1";
/// A file of ours is some hundred bytes; more is not one of ours.
const FILE_MAX_BYTES: u64 = 16 * 1024;

/// What `profile.json` holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    schema_version: String,
    pub(super) profile_id: String,
    pub(super) created_at_ms: i64,
    pub(super) run_dir: PathBuf,
    /// Random text that stands in for a machine id where the platform has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) machine_seed: Option<String>,
    /// Whose ledger lies beside this file, once it was founded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) authority_id: Option<AuthorityId>,
}

impl Record {
    pub(super) fn new(new: &NewProfile, run_dir: PathBuf, machine_seed: Option<String>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            profile_id: new.profile_id.clone(),
            created_at_ms: new.created_at_ms,
            run_dir,
            machine_seed,
            authority_id: None,
        }
    }
}

/// Only as much of the file as tells whether the rest can be read.
#[derive(Deserialize)]
struct Version {
    schema_version: String,
}

/// Reads the file; `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<Record>> {
    let mut text = String::new();
    match File::open(path) {
        Ok(file) => {
            file.take(FILE_MAX_BYTES).read_to_string(&mut text).map_err(|e| unreadable(path, &e))?;
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(unreadable(path, &e)),
    }
    let damaged =
        |e: serde_json::Error| Error::new(Code::StoreCorrupt, "the profile's file cannot be read").internal(e);
    let version: Version = serde_json::from_str(&text).map_err(damaged)?;
    if version.schema_version != SCHEMA_VERSION {
        return Err(Error::new(
            Code::UnsupportedVersion,
            format!("the profile's file is `{}`, this release reads `{SCHEMA_VERSION}`", version.schema_version),
        ));
    }
    serde_json::from_str(&text).map(Some).map_err(damaged)
}

/// Puts the first file in place, durably; says `false` where another process was first, and leaves its file.
pub(super) fn publish(path: &Path, record: &Record) -> Result<bool> {
    let temp = write_temp(path, &encoded(record)?)?;
    // A link, unlike a rename, fails where the name is taken.
    let linked = fs::hard_link(&temp, path);
    fs::remove_file(&temp).map_err(|e| unreadable(&temp, &e))?;
    match linked {
        Ok(()) => sync_dir(path).map(|()| true),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(unreadable(path, &e)),
    }
}

/// Changes the file, durably, where `change` says that it changed it; a file that is gone stays gone.
///
/// `lock` keeps two changes from losing each other. A reader meets the old or the new file, whole.
pub(super) fn amend(
    path: &Path,
    lock: &Path,
    change: impl FnOnce(&mut Record) -> Result<bool>,
) -> Result<()> {
    if let Some(folder) = lock.parent() {
        make_private_dir(folder)?;
    }
    let held = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(lock);
    let held = held.map_err(|e| unreadable(lock, &e))?;
    held.lock().map_err(|e| unreadable(lock, &e))?;
    let Some(mut record) = read(path)? else { return Ok(()) };
    if change(&mut record)? { replace_whole(path, &encoded(&record)?) } else { Ok(()) }
}

/// Replaces a file that only its owner may read, durably: a reader meets the old or the new one, whole.
///
/// Errors: `disk_full`, `store_*`.
pub(crate) fn replace_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let temp = write_temp(path, bytes)?;
    fs::rename(&temp, path).map_err(|e| unreadable(path, &e))?;
    sync_dir(path)
}

fn encoded(record: &Record) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(record).map_err(|e| Error::from(Code::Internal).internal(e))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn write_temp(path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    let unique = random::number()?;
    let temp = path.with_extension(format!("tmp-{unique:016x}"));
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|e| {
        // The failure to report is the write's; a left temporary file harms nobody.
        let _ = fs::remove_file(&temp);
        unreadable(&temp, &e)
    })?;
    Ok(temp)
}

/// Makes a new name in the file's folder survive a power cut.
fn sync_dir(path: &Path) -> Result<()> {
    let Some(dir) = path.parent() else { return Ok(()) };
    File::open(dir).and_then(|d| d.sync_all()).map_err(|e| unreadable(dir, &e))
}
