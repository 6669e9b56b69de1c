//! Owns the adapter's own command line.
//!
//! Knows nothing of codex's, and hands on what stands behind `--`.

use std::{ffi::OsString, path::PathBuf};

/// How it is called, for whoever called it otherwise.
const USAGE: &str =
    "usage: loopx-codex-adapter [--codex PROGRAM] [--codex-home FOLDER] [-- CODEX-ARGUMENT...]";

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    /// The codex program: a path, or a name in `PATH`.
    pub(super) codex: PathBuf,
    /// Where codex keeps its settings and sessions; else where it does by itself.
    pub(super) codex_home: Option<PathBuf>,
    /// Arguments for codex, before ours.
    pub(super) more: Vec<OsString>,
}

impl Options {
    pub(super) fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut options = Self { codex: "codex".into(), codex_home: None, more: Vec::new() };
        while let Some(word) = words.next() {
            match word.to_str() {
                Some("--codex") => options.codex = words.next().ok_or(USAGE)?.into(),
                Some("--codex-home") => options.codex_home = Some(words.next().ok_or(USAGE)?.into()),
                Some("--") => options.more.extend(words.by_ref()),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_behind_two_dashes_is_codex_s() {
        let parse = |line: &str| Options::parse(line.split_ascii_whitespace().map(OsString::from));
        let options = parse("--codex /c --codex-home /h -- -s read-only").unwrap();
        assert_eq!(options.codex_home, Some("/h".into()));
        assert_eq!(options.more, ["-s", "read-only"]);
        assert_eq!(parse("").unwrap().codex, PathBuf::from("codex"));
        assert!(parse("--codex").is_err() && parse("-s read-only").is_err());
    }
}
