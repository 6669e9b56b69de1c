//! Owns the picture of a work tree: every path with its content's name, and by what it is known to be unchanged.
//!
//! Knows neither git nor Turns. It is written as text, one record a path, and is read whole; one that cannot be read is
//! none, and is made anew.

use std::{borrow::Borrow, collections::BTreeMap, fs::Metadata, os::unix::fs::MetadataExt as _, path::Path};

use crate::model::Digest;

/// The first line of the file.
const HEAD: &[u8] = b"loopx picture 2";
/// What ends the file.
const END: &[u8] = b"\0end\0";
/// The largest file whose content is kept, in bytes.
pub(super) const FILE_MAX_BYTES: u64 = 20 * 1024 * 1024;

/// The name that git gives a content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Oid(String);

impl Oid {
    /// Takes 40 or 64 lower-case hexadecimal digits.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let is_hex = bytes.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
        let text = std::str::from_utf8(bytes).ok()?;
        (matches!(bytes.len(), 40 | 64) && is_hex).then(|| Self(text.to_owned()))
    }

    /// The name.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Oid {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A file.
    File,
    /// A file that can be executed.
    Program,
    /// A symbolic link.
    Link,
    /// A file that is too large, or that no room was left for.
    Large,
    /// Another repository.
    Repository,
    /// A pipe, a socket, a device.
    Other,
}

impl Form {
    const ALL: [Self; 6] =
        [Self::File, Self::Program, Self::Link, Self::Large, Self::Repository, Self::Other];

    /// The stable spelling.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Program => "program",
            Self::Link => "link",
            Self::Large => "large",
            Self::Repository => "repository",
            Self::Other => "other",
        }
    }

    /// The form of that spelling.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == name)
    }

    /// Of what the system says of a path.
    pub(super) fn of(found: &Metadata) -> Self {
        if found.is_symlink() {
            Self::Link
        } else if found.is_dir() {
            Self::Repository
        } else if !found.is_file() {
            Self::Other
        } else if found.len() > FILE_MAX_BYTES {
            Self::Large
        } else if found.mode() & 0o100 != 0 {
            Self::Program
        } else {
            Self::File
        }
    }

    /// Whether content of this form is kept.
    pub(super) const fn is_kept(self) -> bool {
        matches!(self, Self::File | Self::Program | Self::Link)
    }
}

/// By what a file is known to be the one that was read; all zero matches nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stat {
    size: u64,
    mtime_ns: i64,
    ctime_ns: i64,
    inode: u64,
}

impl Stat {
    /// Of what the system says of a path.
    pub(super) fn of(found: &Metadata) -> Self {
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            size: found.len(),
            mtime_ns: ns(found.mtime(), found.mtime_nsec()),
            ctime_ns: ns(found.ctime(), found.ctime_nsec()),
            inode: found.ino(),
        }
    }

    /// Whether the file was left alone since that moment, so that a later change must show.
    pub(super) fn is_before(&self, moment_ms: i64) -> bool {
        self.ctime_ns.max(self.mtime_ns) / 1_000_000 < moment_ms
    }
}

/// What is known of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// What lies there.
    pub(super) form: Form,
    /// Its content; none where that is not kept.
    pub(super) oid: Option<Oid>,
    /// Whether our own repository holds it; else the user's does.
    pub(super) stored: bool,
    /// By what it is known again.
    pub(super) stat: Stat,
}

impl Entry {
    /// Whether two entries hold the same; of what is not kept its size and times tell.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.form == other.form
            && match (&self.oid, &other.oid) {
                (Some(one), Some(other)) => one == other,
                (None, None) => self.form == Form::Repository || self.stat == other.stat,
                (Some(_), None) | (None, Some(_)) => false,
            }
    }
}

/// A work tree at one moment.
pub(super) type Picture = BTreeMap<Vec<u8>, Entry>;

/// Reads a picture; none where there is none, or it is damaged.
pub(super) fn read(path: &Path) -> Option<Picture> {
    Kept::open(path)?.picture()
}

/// A picture as it lies in its file: what is only compared is not taken apart into owned parts.
#[derive(Debug)]
pub(super) struct Kept {
    bytes: Vec<u8>,
}

impl Kept {
    /// Reads the file; none where there is none, or it is damaged.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let kept = Self { bytes: std::fs::read(path).ok()? };
        let whole = kept.bytes.ends_with(END) && kept.parts().next()? == HEAD;
        whole.then_some(kept)
    }

    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.strip_suffix(END).unwrap_or_default().split(|byte| *byte == 0)
    }

    /// Whether it shows exactly what git listed so.
    pub(super) fn is_of(&self, listing: &Digest) -> bool {
        self.parts().nth(1) == Some(listing.to_string().as_bytes())
    }

    /// What it shows, in order; none in the place of what cannot be read.
    pub(super) fn seen(&self) -> impl Iterator<Item = Option<Seen<'_>>> {
        self.parts().skip(2).map(seen)
    }

    /// The paths whose content is not kept, in order; no more of a record than its first word is looked at to tell.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &[u8]> {
        let is_out = |record: &&[u8]| {
            let word =
                record.split(|byte| *byte == b' ').next().and_then(|word| std::str::from_utf8(word).ok());
            word.and_then(Form::named).is_some_and(|form| !form.is_kept())
        };
        self.parts().skip(2).filter(is_out).filter_map(|record| Some(seen(record)?.path))
    }

    /// The names of all contents that it shows.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        // The second word of a record; a path comes after a tab, behind all of them.
        let second = self.parts().skip(2).filter_map(|record| record.split(|byte| *byte == b' ').nth(1));
        second.filter_map(|word| std::str::from_utf8(word).ok()).filter(|word| *word != "-")
    }

    /// All of it; none where it is damaged.
    pub(super) fn picture(&self) -> Option<Picture> {
        let entry = |seen: Option<Seen<'_>>| {
            let Seen { path, form, oid, stored, stat } = seen?;
            let oid = match oid {
                Some(oid) => Some(Oid::parse(oid.as_bytes())?),
                None => None,
            };
            Some((path.to_vec(), Entry { form, oid, stored, stat }))
        };
        self.seen().map(entry).collect()
    }
}

/// One path of a [`Kept`] picture.
#[derive(Debug)]
pub(super) struct Seen<'k> {
    /// The path.
    pub(super) path: &'k [u8],
    form: Form,
    oid: Option<&'k str>,
    stored: bool,
    stat: Stat,
}

impl Seen<'_> {
    /// Whether that lies there now, by what it is known again.
    pub(super) fn is_still(&self, found: &Metadata) -> bool {
        match (self.form, Form::of(found)) {
            (Form::Repository, now) => now == Form::Repository,
            // No room was left for it, and as all else is the same, none is now.
            (Form::Large, now) => (now == Form::Large || now.is_kept()) && self.stat == Stat::of(found),
            (was, now) => was == now && self.stat == Stat::of(found),
        }
    }
}

fn seen(record: &[u8]) -> Option<Seen<'_>> {
    let at = record.iter().position(|byte| *byte == b'\t')?;
    let (head, path) = record.split_at_checked(at)?;
    let mut words = std::str::from_utf8(head).ok()?.split(' ');
    let form = Form::named(words.next()?)?;
    let oid = Some(words.next()?).filter(|word| *word != "-");
    let stored = words.next()? == "1";
    let stat = Stat {
        size: words.next()?.parse().ok()?,
        mtime_ns: words.next()?.parse().ok()?,
        ctime_ns: words.next()?.parse().ok()?,
        inode: words.next()?.parse().ok()?,
    };
    Some(Seen { path: path.strip_prefix(b"\t")?, form, oid, stored, stat })
}

/// A picture as the bytes of its file; with the digest of git's listing, where it shows what that names and no more.
pub(super) fn encode(picture: &Picture, listing: Option<&Digest>) -> Vec<u8> {
    let mut bytes = HEAD.to_vec();
    bytes.push(0);
    bytes.extend_from_slice(listing.map_or("-".to_owned(), Digest::to_string).as_bytes());
    for (path, entry) in picture {
        let Entry { form, oid, stored, stat } = entry;
        let oid = oid.as_ref().map_or("-", Oid::as_str);
        let Stat { size, mtime_ns, ctime_ns, inode } = stat;
        let head =
            format!("\0{} {oid} {} {size} {mtime_ns} {ctime_ns} {inode}\t", form.as_str(), u8::from(*stored));
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(path);
    }
    bytes.extend_from_slice(END);
    bytes
}
