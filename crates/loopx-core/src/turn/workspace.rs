//! Owns which folder of this machine a workspace id stands for.
//!
//! Knows nothing of who writes there. Invariant: the ledger holds the id, only the private store the path.

use std::{
    ffi::OsStr,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use crate::{
    authority::clock::{Clock as _, SystemClock},
    error::{Code, Error, Result},
    model::{Digest, MachineId, Workspace},
    private::{Body, Kind, PrivateStore},
};

/// Names a folder of a machine, the same for every process there: the hash of the machine and the real path.
///
/// Errors: `invalid_argument` when it is no folder.
pub fn identify(machine_id: &MachineId, folder: &Path) -> Result<(Workspace, PathBuf)> {
    let refused = || Error::new(Code::InvalidArgument, "the work tree is no folder that can be entered");
    let real = folder.canonicalize().map_err(|e| refused().internal(e))?;
    if !real.is_dir() {
        return Err(refused().internal(real.display()));
    }
    let digest =
        Digest::of_parts(&[b"loopx workspace", machine_id.as_str().as_bytes(), real.as_os_str().as_bytes()]);
    let id = digest.to_string().get(..32).unwrap_or_default().parse()?;
    Ok((id, real))
}

/// Remembers where a workspace lies, before a fact names it.
///
/// Errors: `store_*`, `disk_full`.
pub fn remember(private: &mut PrivateStore, workspace: &Workspace, folder: &Path) -> Result<()> {
    if private.latest(Kind::Folder, workspace.as_str())?.is_some() {
        return Ok(());
    }
    let body = Body {
        kind: Kind::Folder,
        id: workspace.as_str().to_owned(),
        owner_turn: None,
        created_at_ms: SystemClock::new().read()?.wall_ms,
        bytes: folder.as_os_str().as_bytes().to_vec(),
    };
    private.put_all(&[body])
}

/// Where a workspace lies; none where this machine does not know.
///
/// Errors: `store_*`.
pub fn folder(private: &mut PrivateStore, workspace: &Workspace) -> Result<Option<PathBuf>> {
    let body = private.latest(Kind::Folder, workspace.as_str())?;
    Ok(body.map(|body| PathBuf::from(std::ffi::OsString::from_vec(body.bytes))))
}

/// The root of the git work tree that a folder lies in, if it lies in one.
pub(super) fn repository_root(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|dir| dir.join(OsStr::new(".git")).symlink_metadata().is_ok())
}
