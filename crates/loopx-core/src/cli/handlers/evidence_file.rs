//! Owns what a file that is named as evidence is: where it lies in the work tree, and the digest of what it holds.
//!
//! Knows nothing of what the evidence shows. The kernel sees a relative path and a digest; who looks at the disk is
//! this edge.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{
    authority::profile::file::{self, For},
    error::{Code, Error, Result, echo},
    model::{Digest, EvidenceKind},
};

/// The largest file whose digest is taken, in bytes.
const FILE_MAX_BYTES: u64 = 1024 * 1024 * 1024;
const STEP_BYTES: usize = 64 * 1024;

/// A file of the work tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its path below the root of the work tree.
    pub(super) path: String,
    /// The SHA-256 of what it holds.
    pub(super) digest: Digest,
}

/// Looks at a file of the work tree below `root`, named from the folder `here`; both are real paths.
///
/// Errors: `not_found`; `invalid_argument` for a path that leads out of the tree, what is no readable regular file, and
/// another content than `expected`; `payload_too_large`.
pub(super) fn look(root: &Path, here: &Path, pointer: &str, expected: Option<Digest>) -> Result<Found> {
    let shown = echo(pointer).into_owned();
    let refused = |code: Code, what: &str| {
        Error::new(code, format!("the file `{shown}` {what}"))
            .hint("evidence add --help")
            .detail("argument", "pointer")
    };
    let typed = |e: &io::Error| match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            refused(Code::NotFound, "is not in the work tree").internal(e)
        }
        io::ErrorKind::InvalidInput => refused(Code::InvalidArgument, "is no regular file"),
        _ => refused(Code::InvalidArgument, "cannot be read").internal(e),
    };
    let path = place(root, here, pointer)?;
    // A link is followed, and has to stay inside.
    let real = root.join(&path).canonicalize().map_err(|e| typed(&e))?;
    if !real.starts_with(root) {
        return Err(refused(Code::InvalidArgument, "lies outside the work tree"));
    }
    let file = file::open(&real, For::Reading).map_err(|e| typed(&e))?;
    let digest = digest_of(file, FILE_MAX_BYTES).map_err(|e| typed(&e))?.ok_or_else(|| {
        refused(
            Code::PayloadTooLarge,
            &format!("is larger than {FILE_MAX_BYTES} bytes; point at what describes it"),
        )
    })?;
    if expected.is_some_and(|expected| expected != digest) {
        return Err(refused(Code::InvalidArgument, "has another digest").detail("digest", digest.to_string()));
    }
    Ok(Found { path, digest })
}

/// The path below the root of what is named from a folder of the tree; nothing is looked at.
///
/// Errors: `invalid_argument` for a path that leads out of the tree, and a folder whose name is no text.
pub(super) fn place(root: &Path, here: &Path, pointer: &str) -> Result<String> {
    EvidenceKind::File.check(pointer)?;
    let below = here.strip_prefix(root).unwrap_or(Path::new("")).join(pointer);
    let path: PathBuf = below.components().filter(|part| *part != Component::CurDir).collect();
    path.into_os_string().into_string().map_err(|_| {
        Error::new(Code::InvalidArgument, "the folder's name is no text, so nothing in it can be named")
            .hint("evidence add --help")
            .detail("argument", "pointer")
    })
}

/// The SHA-256 of any file, wherever it lies; none when it is larger than is read.
pub(super) fn digest(path: &Path) -> io::Result<Option<Digest>> {
    digest_of(file::open(path, For::Reading)?, FILE_MAX_BYTES)
}

/// The SHA-256 of a file; none when it is larger than is read.
fn digest_of(file: File, max_bytes: u64) -> io::Result<Option<Digest>> {
    if file.metadata()?.len() > max_bytes {
        return Ok(None);
    }
    // It may grow while it is read.
    let mut reader = file.take(max_bytes.saturating_add(1));
    let (mut hash, mut bytes) = (Sha256::new(), vec![0; STEP_BYTES]);
    loop {
        match reader.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => hash.update(bytes.get(..count).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok((reader.limit() > 0).then(|| Digest::from_bytes(hash.finalize().into())))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_file_is_named_by_its_place_in_the_tree_and_known_by_its_digest() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (root, sub) = (dir.join("tree"), dir.join("tree/sub"));
        fs::create_dir_all(&sub).unwrap();
        fs::write(sub.join("a.txt"), "abc").unwrap();
        symlink(sub.join("a.txt"), root.join("link")).unwrap();
        let abc: Digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".parse().unwrap();
        for (here, pointer, path) in [
            (&root, "sub/a.txt", "sub/a.txt"),
            (&root, ".//sub/./a.txt", "sub/a.txt"),
            (&sub, "a.txt", "sub/a.txt"),
            (&root, "link", "link"),
        ] {
            for expected in [None, Some(abc)] {
                let found = look(&root, here, pointer, expected).unwrap();
                assert_eq!(found, Found { path: path.to_owned(), digest: abc }, "{pointer}");
            }
        }
    }

    #[test]
    fn what_is_missing_outside_changed_or_no_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("tree");
        fs::create_dir_all(root.join("folder")).unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        fs::write(root.join("a.txt"), "abc").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("..", root.join("up")).unwrap();
        let other = Some(Digest::of(b"other"));
        for (pointer, expected, code) in [
            ("none.txt", None, Code::NotFound),
            ("a.txt/below", None, Code::NotFound),
            ("folder", None, Code::InvalidArgument),
            ("out", None, Code::InvalidArgument),
            ("up/secret", None, Code::InvalidArgument),
            ("../secret", None, Code::InvalidArgument),
            ("/etc/passwd", None, Code::InvalidArgument),
            ("a.txt", other, Code::InvalidArgument),
        ] {
            assert_eq!(look(&root, &root, pointer, expected).unwrap_err().code(), code, "{pointer}");
        }
        let sized = |max_bytes| digest_of(File::open(root.join("a.txt")).unwrap(), max_bytes).unwrap();
        assert_eq!((sized(2), sized(3).is_some()), (None, true));
    }
}
