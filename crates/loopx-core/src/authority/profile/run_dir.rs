//! Owns the folder of the doorbell and of sockets: which one, and that nobody else can write there.
//!
//! Knows nothing of what lies in it. Nothing in it is truth: a run folder that is gone is made again.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, lchown},
    path::{Path, PathBuf},
};

use super::{Env, Place, is_closed, owner};
use crate::error::{Code, Error, Result};

/// The longest path of a run folder, in bytes: a socket's path ends at 104 on some platforms, and a socket's
/// name wants its share.
const PATH_MAX_BYTES: usize = 80;
/// Characters of the profile's id, from its random end, that name its folder.
const SHORT_ID_LEN: usize = 10;

/// Chooses the run folder and makes it.
///
/// Errors: `store_unavailable` when no candidate can be trusted.
pub(super) fn resolve(place: &Place, env: &Env, profile_id: &str) -> Result<PathBuf> {
    let owner = owner::of(place.dir());
    if owner != rustix::process::geteuid().as_raw() {
        // Folders of this user's own are of no use to whom the profile belongs.
        return first_usable(vec![beside(place)], owner);
    }
    first_usable(candidates(place, env, profile_id, Path::new("/tmp")), owner)
}

/// All places in order of preference. The last one lies beside the ledger: where even that cannot be written,
/// there is no writer who would ring.
fn candidates(place: &Place, env: &Env, profile_id: &str, tmp: &Path) -> Vec<PathBuf> {
    let short = short_id(profile_id);
    let mut all = Vec::new();
    if let Some(base) = env.xdg_runtime_dir.as_ref().filter(|base| base.is_absolute()) {
        all.push(base.join("loopx").join(&short));
    }
    all.push(tmp.join(format!("loopx-{}", rustix::process::geteuid().as_raw())).join(&short));
    all.push(beside(place));
    all
}

fn beside(place: &Place) -> PathBuf {
    place.dir().join("run")
}

fn first_usable(candidates: Vec<PathBuf>, owner: u32) -> Result<PathBuf> {
    let mut refusals = Vec::new();
    for dir in candidates {
        match ensure(&dir, owner) {
            Ok(()) => return Ok(dir),
            Err(e) => refusals.push(e.internal_text().unwrap_or_default().to_owned()),
        }
    }
    Err(Error::new(Code::StoreUnavailable, "no folder for the doorbell can be used")
        .internal(refusals.join("; ")))
}

/// Makes the folder and the one above it where they are missing, and checks both, for the user to whom they shall belong.
pub(super) fn ensure(dir: &Path, owner: u32) -> Result<()> {
    let refuse = |why: &str| {
        Error::new(Code::StoreUnavailable, "the folder of the doorbell cannot be used")
            .internal(format_args!("{}: {why}", dir.display()))
    };
    if dir.as_os_str().len() > PATH_MAX_BYTES {
        return Err(refuse("its path is too long for a socket"));
    }
    // It is stored as text.
    if dir.to_str().is_none() {
        return Err(refuse("its path is not text"));
    }
    if !dir.is_absolute() {
        return Err(refuse("its path is relative"));
    }
    let above = dir.parent().ok_or_else(|| refuse("it is a root"))?;
    for folder in [above, dir] {
        make(folder, owner).map_err(|e| refuse(&e.to_string()))?;
        check(folder, owner).map_err(|why| refuse(&why))?;
    }
    Ok(())
}

fn make(folder: &Path, owner: u32) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Ok(()) if owner != rustix::process::geteuid().as_raw() => lchown(folder, Some(owner), None),
        made => made,
    }
}

/// Invariant: passes only a folder, not a link to one, that is its owner's and that nobody else can enter.
fn check(folder: &Path, owner: u32) -> Result<(), String> {
    let meta = fs::symlink_metadata(folder).map_err(|e| e.to_string())?;
    if !meta.is_dir() {
        return Err("not a folder".to_owned());
    }
    if meta.uid() != owner {
        return Err("it belongs to another user".to_owned());
    }
    if !is_closed(&meta) {
        return Err("others can enter it".to_owned());
    }
    Ok(())
}

fn short_id(profile_id: &str) -> String {
    let kept: Vec<char> = profile_id.chars().rev().take(SHORT_ID_LEN).collect();
    kept.into_iter()
        .rev()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn me() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn place(root: &Path) -> Place {
        let env = Env { loopx_home: Some(root.to_owned()), ..Env::default() };
        let place = Place::resolve(&env).unwrap();
        crate::authority::profile::make_private_dir(place.dir()).unwrap();
        place
    }

    #[test]
    fn the_runtime_dir_wins_and_tmp_follows() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let xdg = root.path().join("x");
        fs::create_dir(&xdg).unwrap();
        let env = Env { xdg_runtime_dir: Some(xdg.clone()), ..Env::default() };
        let tmp = root.path();
        let chosen = first_usable(candidates(&place, &env, "prf_0123456789ABCDEFGH", tmp), me()).unwrap();
        assert_eq!(chosen, xdg.join("loopx/89abcdefgh"));
        assert_eq!(fs::metadata(&chosen).unwrap().mode() & 0o777, 0o700);
        let without =
            first_usable(candidates(&place, &Env::default(), "prf_0123456789ABCDEFGH", tmp), me()).unwrap();
        assert_eq!(without.file_name(), chosen.file_name());
        assert!(without.starts_with(tmp.join(format!("loopx-{}", rustix::process::geteuid().as_raw()))));
    }

    #[test]
    fn a_folder_somebody_else_prepared_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let uid = rustix::process::geteuid().as_raw();
        let tmp = root.path().join("t");
        fs::create_dir(&tmp).unwrap();
        let squat = tmp.join(format!("loopx-{uid}"));
        let beside = place.dir().join("run");
        // given a folder that others may enter
        fs::create_dir(&squat).unwrap();
        fs::set_permissions(&squat, fs::Permissions::from_mode(0o777)).unwrap();
        let chosen = || first_usable(candidates(&place, &Env::default(), "prf_a", &tmp), me()).unwrap();
        assert_eq!(chosen(), beside);
        // given a link to a folder that is ours
        fs::remove_dir(&squat).unwrap();
        let elsewhere = root.path().join("elsewhere");
        fs::DirBuilder::new().mode(0o700).create(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &squat).unwrap();
        assert_eq!(chosen(), beside);
        // given a plain file
        fs::remove_file(&squat).unwrap();
        fs::write(&squat, "").unwrap();
        assert_eq!(chosen(), beside);
        // given another user's folder
        fs::remove_file(&squat).unwrap();
        fs::DirBuilder::new().mode(0o700).create(&squat).unwrap();
        if uid == 0 {
            std::os::unix::fs::chown(&squat, Some(65_534), None).unwrap();
            assert_eq!(chosen(), beside);
        }
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let long = root.path().join("x".repeat(80));
        fs::create_dir(&long).unwrap();
        let env = Env { xdg_runtime_dir: Some(long.clone()), ..Env::default() };
        let chosen = first_usable(candidates(&place, &env, "prf_a", root.path()), me()).unwrap();
        assert!(!chosen.starts_with(&long));
        assert!(chosen.as_os_str().len() <= PATH_MAX_BYTES);
    }
}
