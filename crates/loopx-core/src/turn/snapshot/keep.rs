//! Owns how long snapshots are kept: a Turn's go when they are too old, or when enough newer ones of their work tree
//! are there, whichever comes first.
//!
//! Knows nothing of how they are taken. Invariant: it runs under the lock of the work tree, and never forgets what a Turn
//! that has not ended needs.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{
    picture::{Kept, Oid},
    record::Head,
    shelf::Shelf,
    store::Store,
};

/// The most contents that are removed at one Turn's end; the rest is for when all is looked through.
const FORGOTTEN_MAX: usize = 2000;
/// How often all is looked through, in milliseconds.
const SWEEP_EVERY_MS: i64 = 24 * 60 * 60 * 1000;
/// The file that says when it was last; its ending is no picture's.
const SWEPT: &str = "last.swept";

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
///
/// Where nothing goes, nothing but the heads was read. What goes takes its own contents along, so that those of the work
/// tree need not be looked through; what else nothing names any more is looked for once a day.
pub(super) fn prune(shelf: &Shelf, heads: Vec<Head>, keep: Keep, now_ms: i64) {
    let (kept, gone) = parted(heads, keep, now_ms);
    let mut loose: BTreeSet<Oid> = BTreeSet::new();
    let mut packs: BTreeSet<String> = BTreeSet::new();
    for head in &gone {
        if let Some(record) = shelf.record(head.turn_id) {
            loose.extend(record.contents());
            packs.extend(record.pack);
        }
        shelf.forget(head.turn_id);
    }
    let is_due = is_due(shelf, now_ms);
    if !is_due && loose.is_empty() && packs.is_empty() {
        return;
    }
    let counts = |oid: &str| is_due || loose.contains(oid);
    let Some((named, kept_packs)) = named(shelf, &kept, &gone, counts) else { return };
    if is_due {
        if shelf.store.forget_all_but(&named, &kept_packs, FORGOTTEN_MAX) {
            // Without it, it is looked for the next time.
            let _ = Store::write(&swept(shelf), now_ms.to_string().as_bytes(), false);
        }
        return;
    }
    shelf.store.forget(loose.difference(&named).take(FORGOTTEN_MAX), packs.difference(&kept_packs));
}

/// The contents and packs that something kept names, as far as they count; none where that cannot be told. What is going
/// names nothing.
pub(super) fn named(
    shelf: &Shelf,
    kept: &[Head],
    gone: &[Head],
    counts: impl Fn(&str) -> bool,
) -> Option<(BTreeSet<Oid>, BTreeSet<String>)> {
    let (mut named, mut packs) = (BTreeSet::new(), BTreeSet::new());
    for record in kept.iter().filter_map(|head| shelf.record(head.turn_id)) {
        named.extend(record.contents());
        packs.extend(record.pack);
    }
    // Every picture that still counts: the last one, those before Turns that go on, and those before an undo.
    let entries = fs::read_dir(shelf.store.turns()).into_iter().flatten().flatten();
    let is_picture = |path: &Path| path.extension().is_none_or(|name| name == "before");
    let goes = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        gone.iter().any(|head| name.starts_with(&head.turn_id.to_string()))
    };
    for path in entries.map(|entry| entry.path()).filter(|path| is_picture(path) && !goes(path)) {
        // One that cannot be read may name anything.
        let picture = Kept::open(&path)?;
        let oids = picture.names().filter(|oid| counts(oid));
        named.extend(oids.filter_map(|oid| Oid::parse(oid.as_bytes())));
    }
    Some((named, packs))
}

/// What is kept, and what goes.
pub(super) fn parted(mut heads: Vec<Head>, keep: Keep, now_ms: i64) -> (Vec<Head>, Vec<Head>) {
    heads.sort_by_key(|head| std::cmp::Reverse(head.before.at_ms));
    let age_ms = i64::try_from(keep.age_ms).unwrap_or(i64::MAX);
    let mut ended = 0;
    heads.into_iter().partition(|head| {
        let Some(after) = &head.after else { return true };
        ended += 1;
        // What an undo was cut off from is needed to end it.
        let is_needed = ended <= keep.turns || head.unfinished().is_some();
        is_needed && after.at_ms.saturating_add(age_ms) > now_ms
    })
}

fn swept(shelf: &Shelf) -> PathBuf {
    shelf.store.turns().join(SWEPT)
}

/// Whether a day has passed since all was looked through; one begins when that was never done.
fn is_due(shelf: &Shelf, now_ms: i64) -> bool {
    let path = swept(shelf);
    let last: Option<i64> = fs::read_to_string(&path).ok().and_then(|text| text.parse().ok());
    // A clock that was set back makes it due.
    let is_fresh = last.is_some_and(|last| (0..SWEEP_EVERY_MS).contains(&now_ms.saturating_sub(last)));
    if last.is_none() {
        // Without it, it is tried again the next time.
        let _ = Store::write(&path, now_ms.to_string().as_bytes(), false);
        return false;
    }
    !is_fresh
}
