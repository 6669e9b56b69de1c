//! Owns how a small file of ours is opened, locked, read whole and replaced whole.
//!
//! Knows nothing of what stands in it, and never opens a database: SQLite alone does. Invariant: whatever lies in a
//! file's place, such as a pipe or a folder, opening it neither waits nor takes it for the file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::OFlags;

use crate::{
    authority::{
        clock::Deadline,
        profile::{misplaced, owner},
        random,
    },
    error::{Code, Error, Result},
    process::pause,
};

/// How long one process waits for the lock of another; what is done under such a lock takes milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_PAUSE_MS: u64 = 5;
/// What follows the name of a file that is still being written; nobody else names a file like this.
const UNFINISHED: &str = ".new-";
/// An unfinished file that is this much older than a new one has lost its writer.
const LEFT_BEHIND: Duration = Duration::from_secs(600);

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// To be looked at; it must be there.
    Reading,
    /// To be locked; it must be there.
    Locking,
    /// To be locked or rung, and made where it is missing, for its owner alone.
    Keeping,
}

/// Opens a regular file, at once.
///
/// Errors: `InvalidInput` for anything else in its place.
pub(crate) fn open(path: &Path, what_for: For) -> io::Result<File> {
    let (writes, makes) = (what_for != For::Reading, what_for == For::Keeping);
    let mut options = OpenOptions::new();
    options.read(true).write(writes).truncate(false).mode(0o600);
    // A pipe would wait for its other end. Such a file's own reads and writes do not change by it.
    options.custom_flags(i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default());
    match opened(&mut options, path, makes) {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(irregular()),
        // A socket, or a pipe that nobody reads.
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => Err(irregular()),
        Err(e) if e.kind() == io::ErrorKind::IsADirectory => Err(irregular()),
        Err(e) => Err(e),
    }
}

/// Opens a file that is there, or makes it.
fn opened(options: &mut OpenOptions, path: &Path, makes: bool) -> io::Result<File> {
    match options.open(path) {
        Err(e) if makes && e.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match options.create_new(true).open(path) {
        Ok(file) => {
            owner::give(&file, path);
            Ok(file)
        }
        // Somebody else was faster, or a link leads to where nothing is yet.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            options.create_new(false).create(true).open(path)
        }
        Err(e) => Err(e),
    }
}

fn irregular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Takes the lock that is a file's only purpose; closing the file lets go of it. `who` is the message while somebody
/// else holds it, such as `another process changes the tokens`.
///
/// Errors: `store_busy` after 5 s, `disk_full`, `store_*`.
pub(crate) fn lock(path: &Path, who: &'static str) -> Result<File> {
    let file = open(path, For::Keeping).map_err(|e| unwritable(path, &e))?;
    let deadline = Deadline::after(LOCK_WAIT);
    while file.try_lock().is_err() {
        if deadline.left().is_zero() {
            return Err(Error::new(Code::StoreBusy, who));
        }
        pause(LOCK_PAUSE_MS);
    }
    Ok(file)
}

/// Reads a small text file; none when it is not there.
///
/// Errors: `store_unreadable` when it is no readable regular file, `payload_too_large`, `invalid_argument` when it is
/// not UTF-8.
pub(crate) fn read(path: &Path, max_bytes: u64) -> Result<Option<String>> {
    let file = match open(path, For::Reading) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        opened => opened.map_err(|e| unreadable(path, &e))?,
    };
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    let name = name(path);
    if u64::try_from(bytes.len()).is_ok_and(|length| length > max_bytes) {
        return Err(Error::new(Code::PayloadTooLarge, format!("{name} is larger than {max_bytes} bytes")));
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| Error::new(Code::InvalidArgument, format!("{name} is not valid UTF-8")))
}

/// As [`read`], of a file that nobody but us writes: what is no small text is damaged.
///
/// Errors: `store_unreadable`, `store_corrupt`.
pub(crate) fn read_ours(path: &Path, max_bytes: u64) -> Result<Option<String>> {
    let is_strange = || fs::metadata(path).is_ok_and(|found| !found.is_file());
    read(path, max_bytes).map_err(|error| match error.code() {
        // It says what lies there in the place of a file.
        Code::StoreUnreadable if is_strange() => error.hint("doctor"),
        Code::PayloadTooLarge | Code::InvalidArgument => {
            Error::new(Code::StoreCorrupt, error.message().to_owned())
        }
        _ => error,
    })
}

/// Replaces a file so that a reader, and a crash, meets the old one or the new one, whole. `mode` is its permission.
///
/// Errors: `disk_full`, `store_*`.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let unfinished = written(path, bytes, mode, Whose::Folders)?;
    let replaced = fs::rename(&unfinished, path).and_then(|()| sync_folder(path));
    replaced.map_err(|e| {
        // The rename may already have taken it away.
        let _ = fs::remove_file(&unfinished);
        unwritable(path, &e)
    })
}

/// As [`replace`], of a file that is written part by part and is its owner's alone.
///
/// Errors: those of `write`; `disk_full`, `store_*`.
pub(crate) fn replace_with(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn io::Write) -> Result<()>,
) -> Result<()> {
    let unfinished = folder(path).join(format!(".{}{UNFINISHED}{:016x}", name(path), random::number()?));
    let failed = |e: &io::Error| unwritable(path, e);
    let mut all = || -> Result<()> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&unfinished);
        let file = file.map_err(|e| failed(&e))?;
        owner::give(&file, &unfinished);
        let mut out = io::BufWriter::new(file);
        write(&mut out)?;
        let file = out.into_inner().map_err(|e| failed(e.error()))?;
        file.sync_all().map_err(|e| failed(&e))?;
        fs::rename(&unfinished, path).and_then(|()| sync_folder(path)).map_err(|e| failed(&e))
    };
    all().inspect_err(|_| {
        // The rename may already have taken it away.
        let _ = fs::remove_file(&unfinished);
    })
}

/// As [`replace`], but a power cut may undo it: for what says nothing any more after one.
///
/// Errors: `disk_full`, `store_*`.
pub(crate) fn replace_for_now(path: &Path, bytes: &[u8]) -> Result<()> {
    let unfinished = folder(path).join(format!(".{}{UNFINISHED}{:016x}", name(path), random::number()?));
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&unfinished)?;
        owner::give(&file, &unfinished);
        file.write_all(bytes)?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|e| {
        // The failure to report is the write's.
        let _ = fs::remove_file(&unfinished);
        unwritable(path, &e)
    })
}

/// Puts a first file in place, for its owner alone; says `false` where another process was first, and leaves its file.
///
/// Errors: `disk_full`, `store_*`.
pub(super) fn publish(path: &Path, bytes: &[u8]) -> Result<bool> {
    let unfinished = written(path, bytes, 0o600, Whose::Folders)?;
    // A link, unlike a rename, fails where the name is taken.
    let linked = fs::hard_link(&unfinished, path);
    fs::remove_file(&unfinished).map_err(|e| unwritable(path, &e))?;
    match linked {
        Ok(()) => sync_folder(path).map(|()| true).map_err(|e| unwritable(path, &e)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(unwritable(path, &e)),
    }
}

/// Whose a file is that root makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Root's, wherever it lies: it may hold what is not for the owner of that folder.
    Makers,
    /// That of its folder's owner, whose state it is a part of.
    Folders,
}

/// A file that somebody else fills before it gets its name; dropped before that, it is gone.
#[derive(Debug)]
pub(crate) struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// Makes an empty file beside a path, for its owner alone.
    ///
    /// Errors: `disk_full`, `store_*`.
    pub(crate) fn beside(path: &Path, whose: Whose) -> Result<Self> {
        Ok(Self { path: written(path, b"", 0o600, whose)? })
    }

    /// Gives it the mode that another file has, which it is to take the place of.
    ///
    /// Errors: `store_*`.
    pub(crate) fn take_mode(&self, other: &Path) -> Result<()> {
        let Ok(found) = fs::symlink_metadata(other) else { return Ok(()) };
        if !found.is_file() {
            return Ok(());
        }
        let taken = File::open(&self.path).and_then(|file| file.set_permissions(found.permissions()));
        taken.map_err(|e| unwritable(other, &e))
    }

    /// Where it lies until then.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name, durably, and takes that from another file only to replace it; says `false` where another
    /// file keeps it.
    ///
    /// Errors: `disk_full`, `store_*`.
    pub(crate) fn finish(&self, path: &Path, replace: bool) -> Result<bool> {
        let settle = || -> io::Result<bool> {
            File::open(&self.path)?.sync_all()?;
            if replace {
                fs::rename(&self.path, path)?;
            } else {
                // A link, unlike a rename, fails where the name is taken.
                match fs::hard_link(&self.path, path) {
                    Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                    linked => linked?,
                }
            }
            sync_folder(path).map(|()| true)
        };
        settle().map_err(|e| unwritable(path, &e))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A rename has taken it away; what stays for another reason, a later writer clears.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes the content beside the file, durably, and removes what writers that died have left in the folder.
fn written(path: &Path, bytes: &[u8], mode: u32, whose: Whose) -> Result<PathBuf> {
    let folder = folder(path);
    let unfinished = folder.join(format!(".{}{UNFINISHED}{:016x}", name(path), random::number()?));
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&unfinished)?;
        if whose == Whose::Folders {
            owner::give(&file, &unfinished);
        }
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|e| {
        // The failure to report is the write's.
        let _ = fs::remove_file(&unfinished);
        unwritable(path, &e)
    })?;
    clear(folder, &unfinished);
    Ok(unfinished)
}

/// Removes unfinished files that are much older than a new one. One that stays harms nobody.
fn clear(folder: &Path, new: &Path) {
    let modified = |path: &Path| fs::symlink_metadata(path).and_then(|found| found.modified());
    let (Ok(now), Ok(entries)) = (modified(new), fs::read_dir(folder)) else { return };
    for entry in entries.flatten().filter(|entry| is_unfinished(&entry.file_name().to_string_lossy())) {
        let path = entry.path();
        let age = modified(&path).ok().and_then(|then| now.duration_since(then).ok());
        if age.is_some_and(|age| age >= LEFT_BEHIND) {
            let _ = fs::remove_file(path);
        }
    }
}

fn is_unfinished(name: &str) -> bool {
    let unique =
        name.strip_prefix('.').and_then(|name| name.rsplit_once(UNFINISHED)).map(|(_, unique)| unique);
    unique.is_some_and(|unique| unique.len() == 16 && unique.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Makes a new name in the folder of a path survive a power cut.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Types a failure to read a file.
fn unreadable(path: &Path, e: &io::Error) -> Error {
    let name = name(path);
    let message = match e.kind() {
        io::ErrorKind::PermissionDenied => format!("{name} cannot be read: this user has no permission"),
        io::ErrorKind::InvalidInput => format!("{name} cannot be read: it is not a regular file"),
        _ => format!("{name} cannot be read"),
    };
    Error::new(Code::StoreUnreadable, message).internal(format_args!("{}: {e}", path.display()))
}

/// Types a failure to make, to lock or to replace a file.
pub(crate) fn unwritable(path: &Path, e: &io::Error) -> Error {
    if let Some(error) = misplaced(path, e) {
        return error;
    }
    let name = name(path);
    let (code, why) = match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => (Code::DiskFull, "no space is left"),
        io::ErrorKind::PermissionDenied => (Code::StoreUnreadable, "this user has no permission"),
        io::ErrorKind::ReadOnlyFilesystem => (Code::StoreUnreadable, "nobody can write there"),
        io::ErrorKind::InvalidInput => (Code::StoreUnreadable, "it is not a regular file"),
        _ => (Code::StoreUnavailable, "it cannot be reached"),
    };
    let error = Error::new(code, format!("{name} cannot be written: {why}"))
        .internal(format_args!("{}: {e}", path.display()));
    if e.kind() == io::ErrorKind::InvalidInput { error.hint("doctor") } else { error }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::net::UnixListener, time::SystemTime};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn pipe(path: &Path) {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    #[test]
    fn what_is_no_file_is_refused_at_once_and_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        pipe(&path("pipe"));
        fs::create_dir(path("folder")).unwrap();
        let _socket = UnixListener::bind(path("socket")).unwrap();
        std::os::unix::fs::symlink(path("pipe"), path("link")).unwrap();
        for name in ["pipe", "folder", "socket", "link"] {
            let path = path(name);
            for what_for in [For::Reading, For::Keeping] {
                assert_eq!(open(&path, what_for).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
            }
            for refused in [read(&path, 9).unwrap_err(), lock(&path, "busy").unwrap_err()] {
                assert_eq!(refused.code(), Code::StoreUnreadable, "{name}");
                assert!(refused.message().starts_with(name), "{refused}");
            }
        }
        // what is there stays as it is, and what is not there is none, or made
        fs::write(path("text"), "as it is").unwrap();
        drop(open(&path("text"), For::Keeping).unwrap());
        assert_eq!(read(&path("text"), 8).unwrap().as_deref(), Some("as it is"));
        assert_eq!(read(&path("text"), 7).unwrap_err().code(), Code::PayloadTooLarge);
        assert_eq!(read(&path("none"), 9).unwrap(), None);
        assert_eq!(read(&path("text").join("below"), 9).unwrap(), None);
        drop(lock(&path("none"), "busy").unwrap());
        assert_eq!(read(&path("none"), 9).unwrap().as_deref(), Some(""));
    }

    #[test]
    fn what_a_dead_writer_left_is_removed_by_a_later_one_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for name in [".a.json.new-0123456789abcdef", ".a.new-0123", "a.new-0123456789abcdef", ".x"] {
            File::create(path(name)).unwrap().set_modified(old).unwrap();
        }
        fs::write(path(".b.json.new-fedcba9876543210"), "its writer may live").unwrap();
        replace(&path("a.json"), b"new", 0o640).unwrap();
        assert!(!publish(&path("a.json"), b"newer").unwrap());
        let mut left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort_unstable();
        let kept = [".a.new-0123", ".b.json.new-fedcba9876543210", ".x", "a.json", "a.new-0123456789abcdef"];
        assert_eq!(left, kept);
        assert_eq!(read(&path("a.json"), 9).unwrap().as_deref(), Some("new"));
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(path("a.json")).unwrap());
        assert_eq!(mode & 0o777, 0o640);
    }
}
