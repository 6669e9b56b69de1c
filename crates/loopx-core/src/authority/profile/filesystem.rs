//! Owns the question whether a filesystem keeps the promises a ledger needs.
//!
//! Knows nothing of what is stored there. A network filesystem's locks and write order cannot be relied on by
//! a write-ahead log with shared memory.

use std::{fmt, path::Path};

use super::unreadable;
use crate::error::{Code, Error, Result};

/// How far a filesystem can be trusted with the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A disk or memory of this machine.
    Local,
    /// Another program answers for it (FUSE, virtiofs), or the platform does not say: works, with a warning.
    Doubtful,
    /// Another machine answers for it.
    Network(&'static str),
}

/// Tells what a path lies on; a test gives its own.
pub trait Filesystem: fmt::Debug {
    /// Looks at an existing path.
    fn kind(&self, path: &Path) -> Result<Kind>;
}

/// Asks the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostFilesystem;

/// (magic number of `statfs`, name); from the kernel's `linux/magic.h` and the filesystems' own sources.
const NETWORK: [(u32, &str); 8] = [
    (0x0000_6969, "nfs"),
    (0x0000_517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "kafs"),
];
/// FUSE, and virtiofs with it.
const FUSE: u32 = 0x6573_5546;

fn kind_of(magic: u32) -> Kind {
    match NETWORK.iter().find(|(known, _)| *known == magic) {
        Some((_, name)) => Kind::Network(name),
        None if magic == FUSE => Kind::Doubtful,
        None => Kind::Local,
    }
}

impl Filesystem for HostFilesystem {
    fn kind(&self, path: &Path) -> Result<Kind> {
        #[cfg(feature = "failpoints")]
        if let Some(name) = crate::failpoint::injected_filesystem() {
            return Ok(match NETWORK.iter().find(|(_, known)| *known == name) {
                Some((magic, _)) => kind_of(*magic),
                None if name == "fuse" => kind_of(FUSE),
                None => Kind::Local,
            });
        }
        host_kind(path)
    }
}

#[cfg(target_os = "linux")]
fn host_kind(path: &Path) -> Result<Kind> {
    let stat = rustix::fs::statfs(path).map_err(|e| unreadable(path, &e.into()))?;
    // The number has 32 bits; the field's width and sign differ between machines.
    let magic = i128::from(stat.f_type).rem_euclid(1 << 32);
    Ok(u32::try_from(magic).map_or(Kind::Local, kind_of))
}

#[cfg(not(target_os = "linux"))]
fn host_kind(_path: &Path) -> Result<Kind> {
    Ok(Kind::Doubtful)
}

/// Refuses a network filesystem unless a person allowed it.
pub(super) fn check(probe: &dyn Filesystem, dir: &Path, allowed: bool) -> Result<Kind> {
    let kind = probe.kind(dir)?;
    match kind {
        Kind::Network(name) if !allowed => Err(Error::new(
            Code::NetworkFilesystem,
            format!("the state folder lies on {name}, where the ledger can be damaged; --allow-filesystem takes the risk"),
        )
        .detail("filesystem", name)
        .internal(dir.display())),
        Kind::Network(_) | Kind::Doubtful | Kind::Local => Ok(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(Kind);

    impl Filesystem for Fixed {
        fn kind(&self, _: &Path) -> Result<Kind> {
            Ok(self.0)
        }
    }

    #[test]
    fn each_magic_number_is_judged() {
        for (magic, name) in NETWORK {
            assert_eq!(kind_of(magic), Kind::Network(name));
        }
        assert_eq!(kind_of(FUSE), Kind::Doubtful);
        for local in [0xef53_u32, 0x0102_1994, 0x9123_683e, 0x5846_5342, 0x794c_7630] {
            assert_eq!(kind_of(local), Kind::Local);
        }
    }

    #[test]
    fn network_filesystem_is_refused_unless_allowed() {
        let dir = Path::new("/somewhere");
        let refused = check(&Fixed(Kind::Network("nfs")), dir, false).unwrap_err();
        assert_eq!(refused.code(), Code::NetworkFilesystem);
        assert!(!refused.message().contains("/somewhere"));
        assert_eq!(check(&Fixed(Kind::Network("nfs")), dir, true).unwrap(), Kind::Network("nfs"));
        assert_eq!(check(&Fixed(Kind::Doubtful), dir, false).unwrap(), Kind::Doubtful);
    }

    #[test]
    fn this_machine_s_temporary_folder_can_be_asked() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!matches!(HostFilesystem.kind(dir.path()).unwrap(), Kind::Network(_)));
        assert!(HostFilesystem.kind(&dir.path().join("missing")).is_err());
    }
}
