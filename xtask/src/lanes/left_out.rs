//! Owns the list on which a test of this run says that it cannot be run here, so that it is not counted as passed.
//!
//! Knows nothing of why; a test appends one line, its name and the reason.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// The list of one lane.
#[derive(Debug)]
pub(super) struct LeftOut(PathBuf);

impl LeftOut {
    /// The variable of the environment that names the file to tests.
    pub(super) const VARIABLE: &str = "LOOPX_TESTS_SKIPPED";

    /// An empty list, in a folder for what does not last.
    pub(super) fn at(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("loopx-skipped-{}", std::process::id()));
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(Self(path)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// One line for each test that is on it, with its first reason; the list is gone then.
    pub(super) fn told(self) -> io::Result<Vec<String>> {
        let text = match fs::read_to_string(&self.0) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read?,
        };
        fs::remove_file(&self.0)?;
        let mut tests: BTreeMap<&str, &str> = BTreeMap::new();
        for line in text.lines() {
            let (test, why) = line.split_once(": ").unwrap_or((line, "for no reason given"));
            tests.entry(test).or_insert(why);
        }
        Ok(tests.into_iter().map(|(test, why)| format!("{test}: {why}")).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::LeftOut;

    #[test]
    fn a_test_that_says_it_twice_is_left_out_once() {
        let folder = tempfile::tempdir().unwrap();
        let list = LeftOut::at(folder.path()).unwrap();
        std::fs::write(list.path(), "a::b: no git\na::b: no git\na::c: no strace\n").unwrap();
        assert_eq!(list.told().unwrap(), ["a::b: no git", "a::c: no strace"]);
        let none = LeftOut::at(folder.path()).unwrap();
        assert!(none.told().unwrap().is_empty());
    }
}
