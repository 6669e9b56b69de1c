//! Owns the control group that holds all that descends from a guarded program, where this system offers one.
//!
//! Knows nothing of who is guarded. Only version 2 is used, below the caller's own group, wherever that is mounted: what
//! is in a leaf stays in it, whatever it forks, whatever session or parent it takes. Source: the kernel's `cgroup-v2`.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::{
    census,
    clock::{boot_ms, pause},
    guarded::Identity,
};
use crate::{error::Result, failpoint};

/// What the names of our leaves begin with.
const PREFIX: &str = "loopx-";
/// How long what died may keep its group.
const BUSY_MS: u64 = 100;
/// How long is looked for what was started before its parent was moved, in milliseconds; each look moves all that is there.
const CONFINE_MS: u64 = 2000;
/// Where a group's processes are listed, and joined.
const PROCS: &str = "cgroup.procs";

/// A control group of one guarded program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf(PathBuf);

impl Leaf {
    /// The leaf that a process would make; none where this system has no such groups.
    pub fn planned(by: Identity) -> Option<Self> {
        Some(Self(own_group()?.join(format!("{PREFIX}{}-{}", by.pid, by.started))))
    }

    /// Removes empty leaves beside this process's whose makers died before anybody knew of them.
    pub fn clear_abandoned() {
        let maker = |name: &str| -> Option<Identity> {
            let (pid, started) = name.strip_prefix(PREFIX)?.split_once('-')?;
            Some(Identity { pid: pid.parse().ok()?, started: started.parse().ok()? })
        };
        for entry in own_group().and_then(|group| fs::read_dir(group).ok()).into_iter().flatten().flatten() {
            let maker = entry.file_name().to_str().and_then(maker);
            let leaf = Self(entry.path());
            if maker.is_some_and(|maker| !maker.is_alive()) && leaf.members().is_empty() {
                leaf.remove();
            }
        }
    }

    /// Makes it; no, where this process may not.
    pub(super) fn make(&self) -> bool {
        // A name that is taken is another's leaf.
        if fs::create_dir(&self.0).is_err() {
            return false;
        }
        // Whoever is moved leaves the group above, so that has to be ours, too; threads alone are of no use.
        let above = self.0.parent().map(|above| above.join(PROCS));
        let writable = |procs: PathBuf| access(procs, Access::WRITE_OK).is_ok();
        let holds_processes =
            fs::read_to_string(self.0.join("cgroup.type")).is_ok_and(|kind| kind.trim() == "domain");
        let is_ours = holds_processes && writable(self.0.join(PROCS)) && above.is_some_and(writable);
        if !is_ours {
            self.remove();
        }
        is_ours
    }

    /// The leaf at a path that was recorded; none when there is no group of ours.
    pub fn at(path: &Path) -> Option<Self> {
        let named =
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX));
        (named && path.join(PROCS).is_file()).then(|| Self(path.to_owned()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Moves a process into it, and whatever descended from this process before it was in; whether all of them are.
    ///
    /// The first move takes as long as the kernel takes to let nobody fork meanwhile: about 10 ms on an idle machine.
    pub(super) fn confine(&self, leader: i32) -> bool {
        if begins().is_err() || !self.take(leader) {
            return false;
        }
        let until_ms = boot_ms().saturating_add(CONFINE_MS);
        let mut before = None;
        while boot_ms() < until_ms {
            let Ok(below) = census::below(std::process::id()) else { return false };
            let inside = self.members();
            let outside: Vec<i32> = below.alive.iter().copied().filter(|pid| !inside.contains(pid)).collect();
            if outside.is_empty() && below.is_whole(before.as_ref()) {
                return true;
            }
            // One that has ended meanwhile cannot be moved, and need not be.
            for pid in outside {
                self.take(pid);
            }
            before = Some(below);
        }
        false
    }

    fn take(&self, pid: i32) -> bool {
        let procs = fs::OpenOptions::new().write(true).open(self.0.join(PROCS));
        procs.and_then(|mut procs| procs.write_all(pid.to_string().as_bytes())).is_ok()
    }

    /// The process ids in it, and in groups that its members made below it.
    pub(super) fn members(&self) -> Vec<i32> {
        let mut members = Vec::new();
        for group in groups(&self.0) {
            let listed = fs::read_to_string(group.join(PROCS)).unwrap_or_default();
            members.extend(listed.lines().filter_map(|line| line.trim().parse::<i32>().ok()));
        }
        members
    }

    /// Whether something that descends from this process lives outside of it, all of which was in it before: what is born in
    /// a group is in it, so that one set out to leave.
    pub fn has_lost(&self) -> bool {
        let below = census::below(std::process::id());
        let inside = self.members();
        let lives = |pid: &i32| census::any(*pid).is_some_and(|row| !row.dead);
        below.is_ok_and(|below| below.alive.iter().any(|pid| !inside.contains(pid) && lives(pid)))
    }

    /// Kills all of it in one step, where the kernel can; a member that forks meanwhile cannot get away.
    pub(super) fn kill(&self) {
        // Kernels before 5.14 have no such file; then each member is signalled by its pid.
        let kill = fs::OpenOptions::new().write(true).open(self.0.join("cgroup.kill"));
        let _ = kill.and_then(|mut kill| kill.write_all(b"1"));
    }

    /// Removes it, and what was made below it, once nothing is in it.
    pub fn remove(&self) {
        for group in groups(&self.0).into_iter().rev() {
            // What has just died may be in it for a moment. A group that is not empty stays, and the next look finds it.
            let is_busy = || fs::remove_dir(&group).is_err_and(|e| e.kind() == io::ErrorKind::ResourceBusy);
            let until_ms = boot_ms().saturating_add(BUSY_MS);
            while is_busy() && boot_ms() < until_ms {
                pause(1);
            }
        }
    }
}

/// The point at which a program is about to be moved.
#[cfg_attr(not(feature = "failpoints"), expect(clippy::unnecessary_wraps, reason = "a failpoint may fail"))]
fn begins() -> Result<()> {
    failpoint::reach!(LeafMove);
    Ok(())
}

/// A group and all below it, each before what is in it.
fn groups(top: &Path) -> Vec<PathBuf> {
    let (mut found, mut next) = (vec![top.to_owned()], 0);
    while let Some(group) = found.get(next).cloned() {
        next += 1;
        let below = fs::read_dir(group).into_iter().flatten().flatten();
        found.extend(
            below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()),
        );
    }
    found
}

/// The folder of this process's own group, where version 2 is mounted.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    folder_of(&groups, &mounts)
}

fn folder_of(groups: &str, mounts: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        if source.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
        let below = Path::new(own).strip_prefix(&root).ok()?;
        Some(Path::new(&point).join(below))
    })
}

/// A path of mountinfo, in which spaces and the like stand as `\040`.
fn unescaped(field: &str) -> String {
    let mut text = String::new();
    let mut rest = field;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let code = after.get(..3).and_then(|code| u8::from_str_radix(code, 8).ok());
        if let Some(code) = code {
            text.push(char::from(code));
            rest = after.get(3..).unwrap_or_default();
        } else {
            text.push('\\');
            rest = after;
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_wherever_version_2_is_mounted() {
        let hybrid = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let of = |groups: &str, mounts: &str| folder_of(groups, mounts);
        assert_eq!(of("4:memory:/x\n0::/\n", hybrid), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(of("0::/a/b\n", hybrid), Some("/sys/fs/cgroup/unified/a/b".into()));
        let inside = "9 1 0:2 /pod /mnt/c\\040g rw shared:4 - cgroup2 cgroup rw\n";
        assert_eq!(of("0::/pod/x\n", inside), Some("/mnt/c g/x".into()));
        for (groups, mounts) in
            [("0::/elsewhere\n", inside), ("4:memory:/x\n", hybrid), ("0::/\n", ""), ("", hybrid)]
        {
            assert_eq!(of(groups, mounts), None, "{groups:?}");
        }
    }

    #[test]
    fn what_is_no_leaf_of_ours_is_not_taken_for_one() {
        let dir = tempfile::tempdir().unwrap();
        let named = dir.path().join("loopx-1");
        assert_eq!(Leaf::at(&named), None);
        fs::create_dir(&named).unwrap();
        assert_eq!(Leaf::at(&named), None, "no group");
        assert_eq!(Leaf::at(Path::new("/sys/fs/cgroup/unified")), None, "not ours");
    }
}
