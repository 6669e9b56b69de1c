//! Owns the files into which a guarded program's output is written as it comes, so that they outlive whoever reads it.
//!
//! Knows nothing of what the output means. Invariant: a file never holds more than its stream may keep, twice over for
//! one whose tail counts; a file that cannot be written is told, and never stops the reading.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::spec::Spec;

const STDOUT: &str = "stdout";
const STDERR: &str = "stderr";
/// The part of a tail that came before the present one.
const OLDER: &str = "stderr.0";

/// A folder of one program's output.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
    stderr_max_bytes: usize,
}

impl Spool {
    /// Makes the folder, which must not exist, and its empty files, for their owner alone; of one that cannot be made
    /// whole nothing is left.
    ///
    /// Errors: those of the system; `AlreadyExists` where a program was spooled there before.
    pub fn make(folder: &Path, spec: &Spec) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(folder)?;
        for name in [STDOUT, STDERR] {
            if let Err(error) = file(&folder.join(name)) {
                // The failure to report is the first.
                let _ = fs::remove_dir_all(folder);
                return Err(error);
            }
        }
        Ok(Self { folder: folder.to_owned(), stderr_max_bytes: spec.stderr.max_bytes })
    }

    /// Where the two streams are written.
    pub(super) fn sinks(&self) -> (Sink, Sink) {
        let sink = |name, tail_max_bytes| Sink {
            file: file(&self.folder.join(name)).ok(),
            path: self.folder.join(name),
            written_bytes: 0,
            tail_max_bytes,
            is_lost: false,
            is_dirty: false,
            is_named: tail_max_bytes.is_some(),
        };
        (sink(STDOUT, None), sink(STDERR, Some(self.stderr_max_bytes)))
    }

    /// Reads back what was spooled: stdout, and the end of stderr; none where nothing ever was.
    ///
    /// Errors: those of the system.
    pub fn read(
        folder: &Path,
        stdout_max_bytes: u64,
        stderr_max_bytes: u64,
    ) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
        use std::io::Read as _;
        let mut stdout = Vec::new();
        match File::open(folder.join(STDOUT)) {
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            opened => opened?.take(stdout_max_bytes).read_to_end(&mut stdout)?,
        };
        let mut stderr = fs::read(folder.join(OLDER)).unwrap_or_default();
        stderr.extend(fs::read(folder.join(STDERR)).unwrap_or_default());
        let max = usize::try_from(stderr_max_bytes).unwrap_or(usize::MAX);
        stderr.drain(..stderr.len().saturating_sub(max));
        Ok(Some((stdout, stderr)))
    }
}

fn file(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Where one stream is written.
#[derive(Debug)]
pub(super) struct Sink {
    path: PathBuf,
    file: Option<File>,
    written_bytes: usize,
    /// How much of its end counts; none where all of it does.
    tail_max_bytes: Option<usize>,
    is_lost: bool,
    /// Whether something was written since it was last made to last.
    is_dirty: bool,
    /// Whether its name lasts, too, or need not.
    is_named: bool,
}

impl Sink {
    /// Writes what came.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        // What is missing in its middle would pass for something it is not.
        if !self.is_lost && self.try_write(bytes).is_err() {
            self.is_lost = true;
            let _ = fs::remove_file(&self.path);
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.tail_max_bytes.is_some_and(|max| self.written_bytes >= max) {
            self.file = None;
            fs::rename(&self.path, self.path.with_file_name(OLDER))?;
            self.written_bytes = 0;
        }
        let opened = match self.file.take() {
            Some(opened) => opened,
            None => file(&self.path)?,
        };
        self.written_bytes = self.written_bytes.saturating_add(bytes.len());
        self.is_dirty = true;
        self.file.insert(opened).write_all(bytes)
    }

    /// Makes what was written survive the machine.
    pub(super) fn sync(&mut self) {
        // What cannot be made to last is there as long as the machine is.
        if std::mem::take(&mut self.is_dirty) {
            let _ = self.file.as_ref().map(File::sync_data);
            // A file without a name is nothing. After its content that costs next to nothing.
            if !std::mem::replace(&mut self.is_named, true) {
                let _ =
                    self.path.parent().map(|folder| File::open(folder).and_then(|folder| folder.sync_all()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_read_back_and_of_a_tail_only_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("x.1");
        let mut spec = Spec::new(vec!["sh".into()], "/".into());
        spec.stderr.max_bytes = 4;
        assert!(Spool::read(&folder, 8, 4).unwrap().is_none());
        let spool = Spool::make(&folder, &spec).unwrap();
        assert_eq!(Spool::make(&folder, &spec).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let (mut out, mut err) = spool.sinks();
        for part in ["ab", "cd", "ef", "g"] {
            out.write(part.as_bytes());
            err.write(part.as_bytes());
        }
        out.sync();
        assert_eq!(Spool::read(&folder, 8, 4).unwrap().unwrap(), (b"abcdefg".to_vec(), b"defg".to_vec()));
    }
}
