//! Owns what `profile.json` holds, and that two changes of it do not lose each other.
//!
//! Knows nothing of how its values are chosen.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{NewProfile, file, make_private_dir};
use crate::{
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
    let Some(text) = file::read_ours(path, FILE_MAX_BYTES)? else { return Ok(None) };
    let damaged = |e: serde_json::Error| {
        Error::new(Code::StoreCorrupt, "the profile's file cannot be read").internal(e)
    };
    let version: Version = serde_json::from_str(&text).map_err(damaged)?;
    if version.schema_version != SCHEMA_VERSION {
        return Err(Error::new(
            Code::UnsupportedVersion,
            format!(
                "the profile's file is `{}`, this release reads `{SCHEMA_VERSION}`",
                version.schema_version
            ),
        ));
    }
    serde_json::from_str(&text).map(Some).map_err(damaged)
}

/// Puts the first file in place, durably; says `false` where another process was first, and leaves its file.
pub(super) fn publish(path: &Path, record: &Record) -> Result<bool> {
    file::publish(path, &encoded(record)?)
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
    let _held = file::lock(lock, "another process changes the profile's file")?;
    let Some(mut record) = read(path)? else { return Ok(()) };
    if change(&mut record)? { file::replace(path, &encoded(&record)?, 0o600) } else { Ok(()) }
}

fn encoded(record: &Record) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(record).map_err(|e| Error::from(Code::Internal).internal(e))?;
    bytes.push(b'\n');
    Ok(bytes)
}
