//! Owns what the work tree of a Turn looked like before its first attempt, and what was changed there since.
//!
//! Knows nothing of who works there. Invariant: it is kept before the work begins, so that whoever drives or proves the
//! Turn later, after whatever crash, says the same of what it changed.

use std::collections::BTreeSet;

use super::{
    beside,
    examine::declared,
    site::{Around, Site},
    tree::{Tree, is_within},
    validate::cut,
};
use crate::{
    authority::clock::{Clock as _, SystemClock},
    error::{Code, Error, Result},
    model::{Label, Turn, TurnId, gathered},
    private::{Body, Kind},
};

/// The most paths outside the declared scopes that are listed.
const OUTSIDE_MAX: usize = 32;
/// The longest part of a path that is listed, in bytes.
const PATH_MAX_BYTES: usize = 120;
/// What is listed where it cannot be told which paths changed: all of them may have.
const ANY: &str = ".";
/// What a claim that is given again later than this, in milliseconds, finds is not what the first one found.
const CLAIM_MAX_MS: i64 = 10_000;

/// A work tree before the first attempt.
#[derive(Debug)]
pub(super) struct Opening {
    /// What it looked like; none where it had no picture.
    pub(super) tree: Option<Tree>,
    /// Whether another Turn was live there already.
    shared: bool,
}

/// The paths outside the declared scopes, and whether they may be another's.
pub(super) type Outside = (BTreeSet<Label>, bool);

/// Whether an attached Turn was admitted too long ago for the present to be the moment before it. The first attempt of a
/// driven one waits for its looks.
pub(super) fn is_late(turn: &Turn, now_ms: i64) -> bool {
    !turn.is_driven() && now_ms.saturating_sub(turn.admitted_at.as_ms()) > CLAIM_MAX_MS
}

impl Opening {
    /// Looks at the work tree of a Turn that begins, given its picture of now.
    pub(super) fn of(site: &mut Site<'_>, around: &Around, now: Option<&Tree>) -> Result<Self> {
        Ok(Self { tree: now.cloned(), shared: now.is_some() && beside::is_shared(site, around, None)? })
    }

    /// What the private store keeps of it: also that there was no picture, since nothing at all says that it was lost.
    pub(super) fn body(&self, turn_id: TurnId) -> Result<Body> {
        let mut bytes = vec![u8::from(self.shared)];
        bytes.extend(self.tree.iter().flat_map(Tree::encode));
        Site::body(Kind::Opening, turn_id.to_string(), turn_id, bytes)
    }

    /// What was kept of a Turn; none where nothing was, or its work tree is not known here.
    ///
    /// Errors: `store_*`.
    pub(super) fn kept(site: &mut Site<'_>, turn: &Turn) -> Result<Option<Self>> {
        let Some(root) = site.tree_root(turn)? else { return Ok(None) };
        let Some(body) = site.private.latest(Kind::Opening, &turn.turn_id.to_string())? else {
            return Ok(None);
        };
        let damaged = || Error::new(Code::StoreCorrupt, "the work tree before the Turn cannot be read");
        let (shared, tree) = body.bytes.split_first().ok_or_else(damaged)?;
        let tree = match tree {
            [] => None,
            tree => Some(Tree::decode(root, tree).ok_or_else(damaged)?),
        };
        Ok(Some(Self { tree, shared: *shared != 0 }))
    }

    /// What changed since outside the scopes that a Turn declares, given the picture of now.
    ///
    /// Without scopes, or where there was no picture then, nothing can be said to lie outside. Without a picture of now, or
    /// where that of then was lost, anything may. Errors: `store_*`.
    pub(super) fn outside(site: &mut Site<'_>, around: &Around, now: Option<&Tree>) -> Result<Outside> {
        let declared: BTreeSet<_> = gathered(declared(around)?);
        if declared.is_empty() {
            return Ok(Outside::default());
        }
        let opening = match Self::kept(site, &around.turn)? {
            Some(Self { tree: None, .. }) => return Ok(Outside::default()),
            // Of a claim that was given again late, nothing was kept either.
            None if !around.turn.is_driven() => return Ok(Outside::default()),
            opening => opening,
        };
        let then = opening.as_ref().and_then(|opening| opening.tree.as_ref());
        let changed = now.zip(then).and_then(|(now, then)| now.since(then, &site.machine.env));
        let paths: Vec<String> = match changed {
            Some(changed) => {
                let outside = changed.iter().filter(|path| !is_within(path, &declared));
                gathered(outside.take(OUTSIDE_MAX).map(|path| path.to_string_lossy().into_owned()))
            }
            None => vec![ANY.to_owned()],
        };
        let was_shared = opening.is_some_and(|opening| opening.shared);
        let shared = !paths.is_empty()
            && (was_shared || beside::is_shared(site, around, Some(around.turn.admitted_at))?);
        let names = paths.iter().filter_map(|path| cut(path, PATH_MAX_BYTES).parse().ok());
        Ok((gathered(names), shared))
    }
}

impl Site<'_> {
    /// Keeps what the work tree of an attached Turn looks like that was just admitted, once.
    ///
    /// Errors: `store_*`, `disk_full`; the claim stands all the same.
    pub(super) fn open_attached(&mut self, around: &Around) -> Result<()> {
        let turn = &around.turn;
        let is_over = turn.is_driven() || turn.is_terminal();
        // Without either nothing is ever compared with it, and a claim waits for no look at a tree.
        let is_of_use = !around.validators().is_empty() || !declared(around)?.is_empty();
        if is_over
            || !is_of_use
            || is_late(turn, SystemClock::new().read()?.wall_ms)
            || self.private.latest(Kind::Opening, &turn.turn_id.to_string())?.is_some()
        {
            return Ok(());
        }
        let now = self.picture(turn)?;
        let opening = Opening::of(self, around, now.as_ref())?;
        self.private.put_all(&[opening.body(turn.turn_id)?])
    }
}
