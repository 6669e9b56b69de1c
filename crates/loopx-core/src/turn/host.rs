//! Owns the seam behind which a host is run: what it is given, and what its end means.
//!
//! Knows no one host. A host is started again by a recovery from its [`Hosting`], so that holds all it needs.

use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::wire::TurnResult;
use crate::{
    error::{Code, Error, Result},
    model::{Digest, HostFailure, ShortText, from_json},
    process::{Outcome, Spec, Token},
};

/// How the host of a Turn is started. Private: it holds paths of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosting {
    /// The program and its arguments; no shell.
    pub argv: Vec<String>,
    /// Where it works.
    #[serde(with = "folder")]
    pub folder: PathBuf,
    /// How long an attempt may take.
    pub wall_ms: u64,
    /// How many attempts there are at most.
    pub attempts_max: u8,
}

/// What a host is given for one attempt.
#[derive(Debug)]
pub struct Job<'a> {
    /// What it reads from stdin.
    pub request: Vec<u8>,
    /// The whole environment.
    pub env: BTreeMap<OsString, OsString>,
    /// The mark of its process tree.
    pub token: &'a Token,
}

/// What a host's end means.
#[derive(Debug)]
pub enum Judged {
    /// A result, read and screened.
    Result(Box<TurnResult>),
    /// A failure, whether another attempt can help, and why in short.
    Failed {
        /// The class.
        failure: HostFailure,
        /// Whether the same host may succeed when it is started again.
        retry: bool,
        /// Why, without a word of the host.
        note: Option<ShortText>,
    },
    /// LoopX ended it on a wish.
    Stopped,
}

/// Makes hosts by the names that attempts carry.
pub trait Hosts: fmt::Debug {
    /// Makes one, and starts nothing.
    ///
    /// Errors: `not_installed` for a name that this binary has no host for, and those of the host.
    fn host(&self, name: &str, hosting: Hosting) -> Result<Box<dyn Host>>;
}

/// What the private store keeps of a Turn's host, so that a recovery starts the same one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptHost {
    /// The name that attempts carry.
    pub(super) name: String,
    /// How it is started.
    pub(super) hosting: Hosting,
}

/// A program that works on a Turn.
pub trait Host: fmt::Debug {
    /// The name that attempts carry.
    fn name(&self) -> &'static str;

    /// How it is started.
    fn hosting(&self) -> &Hosting;

    /// The one program that does a job, and its bounds.
    fn spec(&self, job: &Job<'_>) -> Spec;

    /// Whether this stdout holds all that the host has to say, so that its result stands however it ends.
    fn is_complete(&self, stdout: &[u8]) -> bool;

    /// Says what an end means.
    fn judge(&self, outcome: &Outcome, turn_key: &Digest) -> Judged;

    /// Says what kept output means, when its end was not seen.
    fn reread(&self, spooled: &[u8], turn_key: &Digest) -> Judged;
}

impl KeptHost {
    /// What is kept of a host.
    pub(super) fn of(host: &dyn Host) -> Self {
        Self { name: host.name().to_owned(), hosting: host.hosting().clone() }
    }

    /// Encodes it for the private store.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| Error::from(Code::Internal).internal(e))
    }

    /// Reads it back.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        from_json(bytes)
            .map_err(|e| Error::new(Code::StoreCorrupt, "how a host is started cannot be read").internal(e))
    }
}

/// How a folder is kept: as text, and where its name is none, as the bytes it is made of.
mod folder {
    use std::{
        ffi::OsString,
        path::{Path, PathBuf},
    };

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Kept {
        Text(PathBuf),
        Bytes(OsString),
    }

    pub(super) fn serialize<S: Serializer>(folder: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match folder.to_str() {
            Some(text) => text.serialize(serializer),
            None => folder.as_os_str().serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Kept::deserialize(deserializer).map(|kept| match kept {
            Kept::Text(folder) => folder,
            Kept::Bytes(folder) => folder.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

    use super::*;

    #[test]
    fn regress_a_host_is_kept_with_any_folder_and_read_back_as_before() {
        for name in [&b"/home/a/tree"[..], b"/home/a\xff/tree"] {
            let folder = PathBuf::from(OsStr::from_bytes(name));
            let hosting = Hosting { argv: vec!["sh".to_owned()], folder, wall_ms: 1, attempts_max: 1 };
            let kept = KeptHost { name: "command".to_owned(), hosting };
            assert_eq!(KeptHost::decode(&kept.encode().unwrap()).unwrap().hosting, kept.hosting);
        }
        let before =
            br#"{"name":"command","hosting":{"argv":["sh"],"folder":"/a b","wall_ms":1,"attempts_max":1}}"#;
        let kept = KeptHost::decode(before).unwrap();
        assert_eq!(kept.hosting.folder, PathBuf::from("/a b"));
        assert_eq!(kept.encode().unwrap(), before);
    }
}
