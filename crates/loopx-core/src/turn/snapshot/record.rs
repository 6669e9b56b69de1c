//! Owns what is remembered of one Turn's snapshots: when they were taken, what differs between them, and that it was undone.
//!
//! Knows neither git nor files. A path stands there so that it is text on one line and its bytes can be had back: what is no
//! UTF-8, a control character, and the sign `%`, as `%` and two hexadecimal digits.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::picture::{Entry, Form, Kept, Oid, Picture};
use crate::model::{Actor, ScopePath, TurnId};

/// The most that is listed of what a snapshot leaves out.
const LEFT_OUT_MAX: usize = 100;

/// The most undos of one Turn that are remembered; the oldest go first.
const UNDOS_MAX: usize = 32;

/// One of the two moments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Why there is no snapshot of it, in words that name no place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

/// How a path differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It was not there before.
    Added,
    /// It holds something else.
    Modified,
    /// It is not there after.
    Deleted,
}

impl Kind {
    /// The letter that git has for it.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Added => "A",
            Self::Modified => "M",
            Self::Deleted => "D",
        }
    }
}

/// What lay at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Side {
    pub(super) form: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) oid: Option<String>,
}

impl Side {
    pub(super) fn of(entry: &Entry) -> Self {
        Self {
            form: entry.form.as_str().to_owned(),
            oid: entry.oid.as_ref().map(|oid| oid.as_str().to_owned()),
        }
    }

    /// Its form.
    pub(super) fn form(&self) -> Form {
        Form::named(&self.form).unwrap_or(Form::Other)
    }

    /// The name of its content.
    pub(super) fn content(&self) -> Option<Oid> {
        self.oid.as_ref().and_then(|oid| Oid::parse(oid.as_bytes()))
    }
}

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The path from the root of the work tree, as this module writes paths.
    pub path: String,
    /// How it differs.
    pub kind: Kind,
    /// Whether it may be another Turn's: one was live there meanwhile, and this one did not declare the path.
    pub shared: bool,
    /// Why it cannot be put back; none where it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    pub(super) before: Option<Side>,
    pub(super) after: Option<Side>,
}

impl Change {
    /// Whether both of its contents are kept.
    pub const fn is_restorable(&self) -> bool {
        self.lost.is_none()
    }

    /// The path's bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        decode(&self.path)
    }
}

/// What is remembered of a Turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The Turn.
    pub turn_id: TurnId,
    /// Where it declared to write, from the root of its work tree.
    pub scopes: Vec<ScopePath>,
    /// The moment before it.
    pub before: Moment,
    /// The moment after it; none before that.
    pub after: Option<Moment>,
    /// Whether another Turn was live in the work tree between the two.
    pub peers: bool,
    /// What differs, by path.
    pub changes: Vec<Change>,
    /// Paths whose content is never kept, as a submodule, or a file over 20 MiB.
    pub left_out: Vec<String>,
    /// The pack that holds what was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pack: Option<String>,
    /// How it was undone, and done again; the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undos: Vec<Undo>,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Back to what was before the Turn.
    Undo,
    /// Forward again to what the Turn left.
    Redo,
}

/// That a Turn was undone, or done again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// Which way.
    pub direction: Direction,
    /// Who asked for it.
    pub by: Actor,
    /// When it began, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// When it ended; none where it was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<i64>,
    /// How many paths held what they should at its end.
    #[serde(default)]
    pub paths: usize,
}

/// What of a record says how long it is kept, and who was live beside it; the paths, which are most of it, are passed over.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    pub(super) turn_id: TurnId,
    pub(super) before: Moment,
    pub(super) after: Option<Moment>,
    #[serde(default)]
    undos: Vec<Undo>,
}

impl Head {
    /// The undo that was cut off, if the last one was.
    pub(super) fn unfinished(&self) -> Option<&Undo> {
        unfinished(&self.undos)
    }
}

fn unfinished(undos: &[Undo]) -> Option<&Undo> {
    undos.last().filter(|undo| undo.ended_at_ms.is_none())
}

impl Record {
    /// The undo that was cut off, if the last one was.
    pub fn unfinished(&self) -> Option<&Undo> {
        unfinished(&self.undos)
    }

    /// Notes that an undo begins; one that was cut off is gone on with, whoever asks, unless it is to go the other way.
    pub(super) fn begin(&mut self, direction: Direction, by: &Actor, at_ms: i64) {
        if self.unfinished().is_some_and(|undo| undo.direction == direction) {
            return;
        }
        self.undos.push(Undo { direction, by: by.clone(), at_ms, ended_at_ms: None, paths: 0 });
        let over = self.undos.len().saturating_sub(UNDOS_MAX);
        self.undos.drain(..over);
    }

    /// Notes that the undo has ended.
    pub(super) fn end(&mut self, at_ms: i64, paths: usize) {
        if let Some(undo) = self.undos.last_mut().filter(|undo| undo.ended_at_ms.is_none()) {
            (undo.ended_at_ms, undo.paths) = (Some(at_ms), paths);
        }
    }

    /// The names of all contents that it holds on to.
    pub(super) fn contents(&self) -> impl Iterator<Item = Oid> {
        let sides = self.changes.iter().flat_map(|change| [&change.before, &change.after]);
        sides.flatten().filter_map(Side::content)
    }

    /// Why nothing can be said of what the Turn changed; none where that is known.
    pub fn absent(&self) -> Option<&str> {
        let after = self.after.as_ref();
        let last = match after {
            Some(after) => after.absent.as_deref(),
            None => Some("the Turn has not ended, or its last snapshot is not taken yet"),
        };
        self.before.absent.as_deref().or(last)
    }

    /// Whether nothing tells whose its changes are: it was not alone, and declared nothing. Then none is undone.
    pub const fn is_nobodys(&self) -> bool {
        self.peers && self.scopes.is_empty() && !self.changes.is_empty()
    }

    /// Whether a path lies where the Turn declared to write.
    pub(super) fn declares(&self, path: &str) -> bool {
        let within = |scope: &ScopePath| {
            let scope = scope.as_str();
            scope == "."
                || path.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.scopes.iter().any(within)
    }

    /// Notes what differs between two pictures.
    pub(super) fn compare(&mut self, before: &Picture, after: &Picture) {
        let mut paths: Vec<&Vec<u8>> = before.keys().chain(after.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        for path in paths {
            let (old, new) = (before.get(path), after.get(path));
            let kind = match (old, new) {
                (Some(old), Some(new)) if old.same(new) => continue,
                (Some(_), Some(_)) => Kind::Modified,
                (Some(_), None) => Kind::Deleted,
                (None, _) => Kind::Added,
            };
            let path = encode(path);
            let shared = self.peers && !self.declares(&path);
            let is_kept = |side: Option<&Entry>| side.is_none_or(|entry| entry.form.is_kept());
            let lost = (!is_kept(old) || !is_kept(new)).then(|| reason(old, new).to_owned());
            let side = |entry: Option<&Entry>| entry.map(Side::of);
            self.changes.push(Change { path, kind, shared, lost, before: side(old), after: side(new) });
        }
        let is_out = |(_, entry): &(&Vec<u8>, &Entry)| !entry.form.is_kept();
        self.left_out =
            after.iter().filter(is_out).map(|(path, _)| encode(path)).take(LEFT_OUT_MAX).collect();
    }

    /// Notes that the last picture is still the one before the Turn.
    pub(super) fn nothing_moved(&mut self, kept: &Kept) {
        self.left_out = kept.left_out().map(encode).take(LEFT_OUT_MAX).collect();
    }
}

fn reason(old: Option<&Entry>, new: Option<&Entry>) -> &'static str {
    let forms = [old, new].into_iter().flatten().map(|entry| entry.form);
    match forms.into_iter().find(|form| !form.is_kept()) {
        Some(Form::Large) => "it is larger than what is kept",
        Some(Form::Repository) => "it is another repository",
        _ => "it is no file", // wildcard: what else is not kept
    }
}

/// A path as text.
pub(super) fn encode(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '%' || c.is_ascii_control() {
                // Writing to a string does not fail.
                let _ = write!(text, "%{:02x}", u32::from(c));
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

/// The bytes of a path that [`encode`] wrote.
pub(super) fn decode(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, tail)) = rest.split_first() {
        let hex = (*first == b'%').then(|| tail.split_at_checked(2)).flatten();
        let byte = hex.and_then(|(hex, after)| {
            let byte = u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?;
            Some((byte, after))
        });
        let (byte, after) = byte.unwrap_or((*first, tail));
        bytes.push(byte);
        rest = after;
    }
    bytes
}
