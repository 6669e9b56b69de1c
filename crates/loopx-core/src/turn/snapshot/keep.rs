//! Owns how long snapshots are kept: a Turn's go when they are too old, or when enough newer ones of their work tree
//! are there, whichever comes first.
//!
//! Knows nothing of how they are taken. Invariant: it runs under the lock of the work tree, and never forgets what a Turn
//! that has not ended needs.

use std::{collections::BTreeSet, fs};

use super::{
    picture::{self, Oid},
    record::Record,
    shelf::Shelf,
};

/// The most files that are removed at one Turn's end; the rest is for the next.
const FORGOTTEN_MAX: usize = 2000;

/// How long, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// No longer than this, in milliseconds.
    pub age_ms: u64,
    /// No more Turns of one work tree.
    pub turns: usize,
}

impl Default for Keep {
    fn default() -> Self {
        Self { age_ms: 14 * 24 * 60 * 60 * 1000, turns: 20 }
    }
}

/// Forgets what is too old or too many. What cannot be removed stays for the next time.
pub(super) fn prune(shelf: &Shelf, keep: Keep, now_ms: i64) {
    let mut records = shelf.records();
    records.sort_by_key(|record| std::cmp::Reverse(record.before.at_ms));
    let age_ms = i64::try_from(keep.age_ms).unwrap_or(i64::MAX);
    let mut ended = 0;
    let (kept, gone): (Vec<Record>, Vec<Record>) = records.into_iter().partition(|record| {
        let Some(after) = &record.after else { return true };
        ended += 1;
        ended <= keep.turns && after.at_ms.saturating_add(age_ms) > now_ms
    });
    if gone.is_empty() {
        return;
    }
    for record in &gone {
        shelf.forget(record);
    }
    let mut oids: BTreeSet<Oid> = BTreeSet::new();
    for record in &kept {
        let sides = record.changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
        oids.extend(sides.filter_map(super::record::Side::content));
    }
    // Every picture that still counts: the last one, and those before Turns that go on.
    let entries = fs::read_dir(shelf.store.turns()).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.path().extension().is_none_or(|name| name == "before")) {
        let Some(picture) = picture::read(&entry.path()) else { return };
        oids.extend(picture.into_values().filter_map(|entry| entry.oid));
    }
    let packs = kept.into_iter().filter_map(|record| record.pack).collect();
    shelf.store.forget(&oids, &packs, FORGOTTEN_MAX);
}
