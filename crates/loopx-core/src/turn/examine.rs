//! Owns one examination of a candidate: the tree before, the validators, the tree after.
//!
//! Knows nothing of who asked for it; a driver, an owner's verb and a recovery submit what it found.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{
    opening::Opening,
    site::{Around, Site, validator_token},
    spool,
    tree::{Tree, is_within},
    validate,
    watch::Phase,
};
use crate::{
    error::{Code, Error, Result},
    kernel::Step,
    model::{ScopePath, Turn, TurnState},
    process::Keeper,
};

/// The paths a Turn may write below, as its ownership declares them, from the root of its work tree.
pub(super) fn scopes(around: &Around) -> BTreeSet<ScopePath> {
    let own = around.todo.as_ref().and_then(|todo| todo.ownership.as_ref());
    own.filter(|own| own.turn_id == around.turn.turn_id).map(|own| own.scopes.clone()).unwrap_or_default()
}

/// Where a Turn may write, from the root of its work tree: what its ownership declares, else what its Goal does.
pub(super) fn declared(around: &Around) -> Result<Vec<ScopePath>> {
    let own: Vec<_> = scopes(around).into_iter().collect();
    let goals = &around.goal.boundary.write_scopes;
    match &around.turn.workspace {
        _ if !own.is_empty() => Ok(own),
        Some(workspace) => goals.iter().map(|scope| workspace.from_root(scope)).collect(),
        None => Ok(goals.clone()),
    }
}

/// Where the validators of a Turn have to run, when it has some.
///
/// Errors: `not_ready` where this machine does not know the work tree.
pub(super) fn needed_folder(site: &mut Site<'_>, around: &Around) -> Result<Option<PathBuf>> {
    let folder = site.folder(&around.turn)?;
    let id = around.turn.turn_id;
    let refused = |text: String, hint: String| {
        Err(Error::new(Code::NotReady, text).detail("turn_id", id.to_string()).hint(hint))
    };
    match &folder {
        _ if around.validators().is_empty() => Ok(folder),
        None => refused(
            format!("this machine does not know the work tree of the Turn {id}"),
            format!("turn show {id}"),
        ),
        // Nothing that runs elsewhere would prove anything.
        Some(folder) if !folder.is_dir() => refused(
            format!("the work tree of the Turn {id} is not where it was when it was claimed"),
            "doctor".to_owned(),
        ),
        Some(_) => Ok(folder),
    }
}

/// Examines the candidate of a Turn and gives the step that records the verdict; none when `stopped` said so.
///
/// No transaction is open meanwhile. What the validators printed is kept before the verdict is.
pub(super) fn examine(
    site: &mut Site<'_>,
    around: &Around,
    keeper: &mut Keeper,
    stopped: &mut dyn FnMut(&mut Site<'_>, Phase) -> bool,
) -> Result<Option<Step>> {
    if !matches!(around.turn.state, TurnState::Candidate) {
        return Err(Error::from(Code::Internal).internal("there is no candidate to examine"));
    }
    let turn = &around.turn;
    let scopes = scopes(around);
    let folder = needed_folder(site, around)?;
    let first = site.picture(turn)?;
    let counts = Counting::of(site, turn, first.as_ref(), &scopes)?;
    let token = validator_token(turn.turn_id)?;
    let place = folder.as_deref().unwrap_or(Path::new("/"));
    let found = validate::run(keeper, around.validators(), place, &token, &mut |phase| stopped(site, phase));
    let Some(finding) = found else { return Ok(None) };
    // Whether they have to run once more shows when their verdict is committed; meanwhile it can end.
    keeper.rest();
    let last = if around.validators().is_empty() { first.clone() } else { site.picture(turn)? };
    // The tree as the candidate recorded it may be of an earlier moment than our first look.
    let recorded = turn.candidate.as_ref().and_then(|candidate| candidate.tree);
    let drifted = !scopes.is_empty()
        && recorded.is_some_and(|digest| first.as_ref().is_some_and(|tree| tree.digest(&scopes) != digest));
    let moved = match (&first, &last) {
        (Some(first), Some(last)) => {
            let changed = last.since(first, &site.machine.env);
            changed.is_none_or(|paths| paths.iter().any(|path| counts.has(path))) || drifted
        }
        (Some(_), None) => true,
        // Of a tree that had no picture nothing is claimed.
        (None, _) => false,
    };
    spool::keep_proof(site, turn.turn_id, &finding.output)?;
    let tree = last.map(|tree| tree.digest(&scopes));
    Ok(Some(Step::Verdict {
        turn_id: turn.turn_id,
        own_id: turn.own_id,
        verdict: Box::new(finding.verdict(tree)),
        moved,
        goes_on: false,
    }))
}

/// Which paths have to be the same at the end of an examination.
enum Counting<'s> {
    /// Those within the declared scopes; without scopes, all.
    Within(&'s BTreeSet<ScopePath>),
    /// Those that the Turn changed, which declared none.
    Only(BTreeSet<PathBuf>),
}

impl<'s> Counting<'s> {
    fn of(
        site: &mut Site<'_>,
        turn: &Turn,
        now: Option<&Tree>,
        scopes: &'s BTreeSet<ScopePath>,
    ) -> Result<Self> {
        let Some(now) = now.filter(|_| scopes.is_empty()) else { return Ok(Self::Within(scopes)) };
        let changed = match Opening::kept(site, turn)?.and_then(|opening| opening.tree) {
            Some(then) => now.since(&then, &site.machine.env),
            None => Some(now.changed()),
        };
        Ok(changed.map_or(Self::Within(scopes), Self::Only))
    }

    fn has(&self, path: &Path) -> bool {
        match self {
            Self::Within(scopes) => is_within(path, scopes),
            Self::Only(paths) => paths.contains(path),
        }
    }
}
