//! Owns handing a program its input.
//!
//! The input is an anonymous file, not a pipe: a program that never reads cannot block us, one that closes early
//! cannot raise SIGPIPE in a caller's process, and nothing has to be written while it runs.

use std::{fs::File, io, io::Seek, io::Write, process::Stdio};

/// The program's stdin: an anonymous file that holds exactly `bytes`, or nothing at all.
pub(super) fn feed(bytes: &[u8]) -> io::Result<Stdio> {
    if bytes.is_empty() { Ok(Stdio::null()) } else { Ok(file(bytes)?.into()) }
}

/// An anonymous file that holds exactly `bytes`, to be read from its beginning.
pub(super) fn file(bytes: &[u8]) -> io::Result<File> {
    let mut file = anonymous()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn anonymous() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};

    // Kernels before 6.3 do not know NOEXEC_SEAL; hardened ones after it demand it.
    let sealed = memfd_create("loopx-stdin", MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL);
    let fd = sealed.or_else(|_| memfd_create("loopx-stdin", MemfdFlags::CLOEXEC))?;
    Ok(File::from(fd))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn anonymous() -> io::Result<File> {
    use std::{
        fs::{OpenOptions, remove_file},
        os::unix::fs::OpenOptionsExt,
        sync::atomic::{AtomicU64, Ordering},
    };

    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("loopx-stdin-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    remove_file(&path)?;
    Ok(file)
}
