//! Owns taking a picture of a work tree: what is known to be unchanged is not read, what is new is kept.
//!
//! Knows nothing of Turns. A tree in which nothing changed costs one listing and one look at each path; neither is
//! taken apart, and nothing is written.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::read_link,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    thread,
};

use super::{
    listing::{Listed, Looker, as_path, list, parse},
    picture::{self, Entry, Form, Kept, Oid, Picture, Stat},
    store::Store,
};
use crate::{
    authority::clock::{Clock as _, SystemClock},
    error::{Code, Error, Result},
    model::Digest,
};

/// The most that is kept of one work tree, in bytes.
const TREE_MAX_BYTES: u64 = 512 * 1024 * 1024;
/// A file that changed so shortly before it was read may change again without a trace, in milliseconds.
const RACY_MS: i64 = 2000;
/// How often a tree that changes while it is read is read again.
const TRIES: usize = 3;

/// What one look at a work tree gives: what git lists, and whether the last picture still stands.
#[derive(Debug)]
pub(super) struct Look {
    started_ms: i64,
    listing: Vec<u8>,
    digest: Digest,
    known: Option<Kept>,
    stands: bool,
}

impl Look {
    /// Looks at a work tree; while git lists it, each path of the last picture is looked at.
    ///
    /// Errors: `not_ready` with the reason, `disk_full`, `store_*`.
    pub(super) fn at(store: &Store, root: &Path, env: &BTreeMap<OsString, OsString>) -> Result<Self> {
        store.ensure(root, env)?;
        let started_ms = SystemClock::new().read()?.wall_ms;
        let known = Kept::open(&store.picture());
        let is_still = || known.as_ref().is_some_and(|known| is_still(known, root));
        let (listing, is_still) = thread::scope(|scope| {
            let beside = thread::Builder::new().spawn_scoped(scope, is_still);
            let listing = list(root, env);
            // Without a second thread, one after the other.
            let is_still = beside.map_or_else(|_| is_still(), |beside| beside.join().unwrap_or(false));
            (listing, is_still)
        });
        let listing = listing?;
        let digest = Digest::of_parts(&[b"loopx listing", &listing]);
        let stands = is_still && known.as_ref().is_some_and(|known| known.is_of(&digest));
        Ok(Self { started_ms, listing, digest, known, stands })
    }

    /// The last picture, if nothing in the work tree differs from it: neither the paths, nor the index, nor what lies
    /// there.
    pub(super) fn standing(&self) -> Option<&Kept> {
        self.known.as_ref().filter(|_| self.stands)
    }
}

fn is_still(known: &Kept, root: &Path) -> bool {
    let mut looker = Looker::below(root);
    known.seen().all(|seen| {
        seen.is_some_and(|seen| looker.look(seen.path).is_some_and(|found| seen.is_still(&found)))
    })
}

/// What a picture is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// To stand as the last one, with the contents it shows.
    Keeping,
    /// To be compared once: nothing is written.
    Comparing,
}

/// Takes a picture of what was looked at; `also` names paths that count although git would not list them any more.
///
/// Errors: `not_ready` with the reason, `disk_full`, `store_*`.
pub(super) fn take(
    store: &Store,
    root: &Path,
    env: &BTreeMap<OsString, OsString>,
    mut look: Look,
    also: &Picture,
    what_for: For,
) -> Result<Picture> {
    let mut tries = 1;
    loop {
        match once(store, root, &look, also, what_for) {
            Err(error) if error.code() == Code::NotReady && tries < TRIES => tries += 1,
            taken => return taken,
        }
        look = Look::at(store, root, env)?;
    }
}

/// What has to be read.
struct Due {
    path: Vec<u8>,
    form: Form,
    stat: Stat,
    /// What the index says it is, where it was never read before.
    believed: Option<Oid>,
}

fn once(store: &Store, root: &Path, look: &Look, also: &Picture, what_for: For) -> Result<Picture> {
    let known = look.known.as_ref().and_then(Kept::picture);
    let known = known.as_ref();
    let mut listing = parse(&look.listing)?;
    let listed = listing.len();
    for path in also.keys() {
        if !listing.contains_key(path) {
            listing.insert(path.clone(), Listed::Untracked);
        }
    }
    let only_listed = listing.len() == listed;
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
    let fresh = read(store, root, &due, known, look.started_ms, &mut taken, what_for)?;
    if what_for == For::Comparing {
        return Ok(taken);
    }
    store.sync(&fresh)?;
    // A listed path that is not there may come back, and the listing would not tell.
    let is_whole = only_listed && taken.len() == listed;
    let bytes = picture::encode(&taken, is_whole.then_some(&look.digest));
    let is_new = known.is_none_or(|known| {
        known.len() != taken.len()
            || known.iter().zip(&taken).any(|(one, other)| one.0 != other.0 || !one.1.same(other.1))
    });
    Store::write(&store.picture(), &bytes, is_new)?;
    Ok(taken)
}

/// Reads what is due into the picture; what of it was not kept before.
fn read(
    store: &Store,
    root: &Path,
    due: &[Due],
    known: Option<&Picture>,
    started_ms: i64,
    taken: &mut Picture,
    what_for: For,
) -> Result<BTreeSet<Oid>> {
    let keeps = what_for == For::Keeping;
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
    let oids = store.files(root, &files, keeps)?;
    named.extend(files.into_iter().zip(oids.into_iter().map(|oid| (oid, true))));
    for due in rest.iter().filter(|due| due.form == Form::Link) {
        let gone = |e: std::io::Error| Error::new(Code::NotReady, "a link cannot be read").internal(e);
        let target = read_link(root.join(as_path(&due.path))).map_err(gone)?;
        let oid = store.bytes(target.as_os_str().as_bytes(), keeps)?;
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
    Ok(fresh)
}
