//! Owns taking a picture of a work tree: what is known to be unchanged is not read, what is new is kept.
//!
//! Knows nothing of Turns. A tree in which nothing changed costs one listing, and writes nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::read_link,
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use super::{
    listing::{Listed, Looker, as_path, list},
    picture::{self, Entry, Form, Oid, Picture, Stat},
    store::Store,
};
use crate::{
    authority::clock::{Clock as _, SystemClock},
    error::{Code, Error, Result},
};

/// The most that is kept of one work tree, in bytes.
const TREE_MAX_BYTES: u64 = 512 * 1024 * 1024;
/// A file that changed so shortly before it was read may change again without a trace, in milliseconds.
const RACY_MS: i64 = 2000;
/// How often a tree that changes while it is read is read again.
const TRIES: usize = 3;

/// Takes a picture; `also` names paths that count although git would not list them any more.
///
/// Errors: `not_ready` with the reason, `disk_full`, `store_*`.
pub(super) fn take(
    store: &Store,
    root: &Path,
    env: &BTreeMap<OsString, OsString>,
    also: &Picture,
) -> Result<Picture> {
    store.ensure(root, env)?;
    let known = picture::read(&store.picture());
    let mut last = Error::from(Code::Internal);
    for _ in 0..TRIES {
        match once(store, root, env, also, known.as_ref()) {
            Err(error) if error.code() == Code::NotReady => last = error,
            taken => return taken,
        }
    }
    Err(last)
}

/// What has to be read.
struct Due {
    path: Vec<u8>,
    form: Form,
    stat: Stat,
    /// What the index says it is, where it was never read before.
    believed: Option<Oid>,
}

fn once(
    store: &Store,
    root: &Path,
    env: &BTreeMap<OsString, OsString>,
    also: &Picture,
    known: Option<&Picture>,
) -> Result<Picture> {
    let started_ms = SystemClock::new().read()?.wall_ms;
    let mut listing = list(root, env)?;
    for path in also.keys() {
        if !listing.contains_key(path) {
            listing.insert(path.clone(), Listed::Untracked);
        }
    }
    let (mut taken, mut due, mut left) = (Picture::new(), Vec::new(), TREE_MAX_BYTES);
    let mut looker = Looker::below(root);
    for (path, listed) in listing {
        let Some(found) = looker.look(&path) else { continue };
        let mut form = Form::of(&found);
        if listed == Listed::Repository || form == Form::Repository {
            // A folder in the place of a file is told by what lies in it.
            if listed == Listed::Repository && form == Form::Repository {
                taken.insert(path, Entry { form, oid: None, stored: false, stat: Stat::default() });
            }
            continue;
        }
        if form.is_kept() {
            match left.checked_sub(found.len()) {
                Some(rest) => left = rest,
                None => form = Form::Large,
            }
        }
        let stat = Stat::of(&found);
        if !form.is_kept() {
            taken.insert(path, Entry { form, oid: None, stored: false, stat });
            continue;
        }
        let before = known.and_then(|known| known.get(&path));
        let index = match &listed {
            Listed::Tracked(oid) => Some(oid),
            Listed::Untracked | Listed::Repository => None,
        };
        match before {
            // What the user's repository held is ours to keep once it may not hold it any more.
            Some(entry)
                if entry.form == form
                    && entry.stat == stat
                    && (entry.stored || entry.oid.as_ref() == index) =>
            {
                taken.insert(path, entry.clone());
            }
            _ => {
                // wildcard: never seen, or not as it was
                let believed = index.filter(|_| before.is_none()).cloned();
                due.push(Due { path, form, stat, believed });
            }
        }
    }
    let is_same = due.is_empty() && known.is_some_and(|known| known.len() == taken.len() && *known == taken);
    if is_same {
        return Ok(taken);
    }
    read(store, root, &due, known, started_ms, &mut taken)?;
    let bytes = picture::encode(&taken)?;
    let is_new = known.is_none_or(|known| {
        known.len() != taken.len()
            || known.iter().zip(&taken).any(|(one, other)| one.0 != other.0 || !one.1.same(other.1))
    });
    Store::write(&store.picture(), &bytes, is_new)?;
    Ok(taken)
}

fn read(
    store: &Store,
    root: &Path,
    due: &[Due],
    known: Option<&Picture>,
    started_ms: i64,
    taken: &mut Picture,
) -> Result<()> {
    let mut named: BTreeMap<&[u8], (Oid, bool)> = BTreeMap::new();
    // First what the user's repository should hold: it is only named, unless it is something else after all.
    let believed: Vec<&Due> =
        due.iter().filter(|due| due.believed.is_some() && due.form != Form::Link).collect();
    let paths: Vec<&[u8]> = believed.iter().map(|due| due.path.as_slice()).collect();
    for (due, oid) in believed.iter().zip(store.files(root, &paths, false)?) {
        if due.believed.as_ref() == Some(&oid) {
            named.insert(&due.path, (oid, false));
        }
    }
    let rest: Vec<&Due> = due.iter().filter(|due| !named.contains_key(due.path.as_slice())).collect();
    let files: Vec<&[u8]> =
        rest.iter().filter(|due| due.form != Form::Link).map(|due| due.path.as_slice()).collect();
    let oids = store.files(root, &files, true)?;
    named.extend(files.into_iter().zip(oids.into_iter().map(|oid| (oid, true))));
    for due in rest.iter().filter(|due| due.form == Form::Link) {
        let gone = |e: std::io::Error| Error::new(Code::NotReady, "a link cannot be read").internal(e);
        let target = read_link(root.join(as_path(&due.path))).map_err(gone)?;
        let oid = store.bytes(target.as_os_str().as_bytes(), true)?;
        named.insert(&due.path, (oid, true));
    }
    let mut fresh = BTreeSet::new();
    let mut looker = Looker::below(root);
    for one in due {
        let Some((oid, stored)) = named.remove(one.path.as_slice()) else { continue };
        let was = known.and_then(|known| known.get(&one.path));
        if stored && !was.is_some_and(|was| was.stored && was.oid.as_ref() == Some(&oid)) {
            fresh.insert(oid.clone());
        }
        let is_still = looker.look(&one.path).is_some_and(|found| Stat::of(&found) == one.stat);
        let is_sure = is_still && one.stat.is_before(started_ms.saturating_sub(RACY_MS));
        let stat = if is_sure { one.stat } else { Stat::default() };
        taken.insert(one.path.clone(), Entry { form: one.form, oid: Some(oid), stored, stat });
    }
    store.sync(&fresh)
}
