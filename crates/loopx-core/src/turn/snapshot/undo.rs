//! Owns taking back what a Turn changed, path by path, and doing it again.
//!
//! Knows no verb and no right. Invariant: only a path that still holds what the Turn left there is touched; the present
//! is recorded first; and given again after a kill it goes on with what is left.

use std::{fs::read_link, os::unix::ffi::OsStrExt as _};

use super::{
    listing::{Looker, as_path},
    picture::Form,
    record::{Change, Record, Side},
    restore,
    shelf::{Shelf, why_none},
};
use crate::{
    error::{Code, Error, Result},
    model::{GoalId, Turn, TurnId},
    turn::{prove::live, site::Site},
};

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Back to what was before the Turn.
    Undo,
    /// Forward again to what the Turn left.
    Redo,
}

/// What became, or would become, of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is put back.
    Restored,
    /// It holds what it should already.
    Already,
    /// It may be another Turn's.
    Shared,
    /// It holds something else by now, or cannot be put back; why.
    Left(String),
}

/// What an undo did, or would do.
#[derive(Debug, Clone)]
pub struct Undone {
    /// Each path, and what became of it.
    pub paths: Vec<(Change, Fate)>,
}

/// Takes back what a Turn changed, or does it again; with `dry` it only says what that would do.
///
/// Errors: `invalid_transition` of a Turn that has not ended; `not_ready` without its snapshots, or with all it changed
/// `shared`; `executor_active` while another Turn is live in the work tree; `store_*`, `disk_full`.
pub fn undo(site: &mut Site<'_>, turn: &Turn, direction: Direction, dry: bool) -> Result<Undone> {
    let turn_id = turn.turn_id;
    if !turn.is_terminal() {
        let message =
            format!("the Turn {turn_id} is {}; only what has ended is taken back", turn.state.as_str());
        return Err(Error::new(Code::InvalidTransition, message).hint(format!("turn stop {turn_id}")));
    }
    if !dry {
        site.snapshots_of_ended();
    }
    let nothing = |why: &str| {
        Error::new(Code::NotReady, format!("the Turn {turn_id} has no snapshots to go by: {why}"))
            .detail("turn_id", turn_id.to_string())
            .hint(format!("turn show {turn_id}"))
    };
    let Some(shelf) = Shelf::of(site.machine, turn)? else {
        return Err(nothing(why_none(site.machine, turn)));
    };
    let _lock = if dry { None } else { Some(shelf.lock(site.machine)?) };
    let record = shelf.record(turn_id).ok_or_else(|| nothing(why_none(site.machine, turn)))?;
    if let Some(why) = record.absent() {
        return Err(nothing(why));
    }
    if record.peers && record.scopes.is_empty() && !record.changes.is_empty() {
        let message = format!(
            "the Turn {turn_id} declared no scopes and another Turn was live in its work tree: whose a change is cannot \
             be told; give each agent a git worktree of its own"
        );
        return Err(Error::new(Code::NotReady, message)
            .detail("why", "shared")
            .hint(format!("turn diff {turn_id}")));
    }
    if let Some(other) = other_live(site, turn)? {
        return Err(Error::new(
            Code::ExecutorActive,
            format!("the Turn {other} is live in the same work tree"),
        )
        .detail("turn_id", other.to_string())
        .hint(format!("turn show {other}")));
    }
    if !dry {
        shelf.note(site.machine, turn_id, "undo.before")?;
    }
    walk(&shelf, record, direction, dry)
}

/// Another Turn, of whatever Goal, that has not ended in the work tree of this one.
fn other_live(site: &mut Site<'_>, turn: &Turn) -> Result<Option<TurnId>> {
    let mut after: Option<GoalId> = None;
    loop {
        let goals = site.authority.read(|view| view.goals(after.as_ref(), 256))?;
        let Some(last) = goals.last() else { return Ok(None) };
        after = Some(last.goal_id.clone());
        for goal in goals {
            let turns = live(site, &goal.goal_id)?;
            if let Some(other) =
                turns.iter().find(|other| other.turn_id != turn.turn_id && other.shares_tree(turn))
            {
                return Ok(Some(other.turn_id));
            }
        }
    }
}

fn walk(shelf: &Shelf, record: Record, direction: Direction, dry: bool) -> Result<Undone> {
    let sides = |change: &Change| match direction {
        Direction::Undo => (change.after.clone(), change.before.clone()),
        Direction::Redo => (change.before.clone(), change.after.clone()),
    };
    let mut changes = record.changes;
    // What goes away makes room first: a folder for a file, or another spelling of the same name.
    changes.sort_by_key(|change| sides(change).1.is_some());
    let mut paths = Vec::new();
    for change in changes {
        let (from, to) = sides(&change);
        let fate = match &change.lost {
            _ if change.shared => Fate::Shared,
            Some(why) => Fate::Left(why.clone()),
            None => one(shelf, &change.bytes(), from.as_ref(), to.as_ref(), dry)?,
        };
        paths.push((change, fate));
    }
    paths.sort_by(|one, other| one.0.path.cmp(&other.0.path));
    Ok(Undone { paths })
}

fn one(shelf: &Shelf, path: &[u8], from: Option<&Side>, to: Option<&Side>, dry: bool) -> Result<Fate> {
    let now = present(shelf, path)?;
    if now.as_ref() == to {
        return Ok(Fate::Already);
    }
    if now.as_ref() != from {
        return Ok(Fate::Left("it holds something else by now".to_owned()));
    }
    let content = match to {
        None => None,
        Some(side) => match side.content().and_then(|oid| shelf.store.read(&oid)) {
            Some(content) => Some((side.form(), content)),
            None => return Ok(Fate::Left("what it held is kept no longer".to_owned())),
        },
    };
    if dry {
        return Ok(Fate::Restored);
    }
    let done = match content {
        Some((form, content)) => restore::put(&shelf.root, path, form, &content),
        None => restore::take_away(&shelf.root, path),
    };
    match done {
        Ok(()) => Ok(Fate::Restored),
        Err(e) if matches!(e.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded) => {
            Err(Error::new(Code::DiskFull, "no space is left in the work tree").internal(e))
        }
        Err(e) => Ok(Fate::Left(format!("it cannot be put back: {}", e.kind()))),
    }
}

/// What lies at a path now; a folder, as nothing.
fn present(shelf: &Shelf, path: &[u8]) -> Result<Option<Side>> {
    let Some(found) = Looker::below(&shelf.root).look(path) else { return Ok(None) };
    let form = Form::of(&found);
    let place = shelf.root.join(as_path(path));
    let oid = match form {
        Form::Repository => return Ok(None),
        Form::Link => match read_link(&place) {
            Ok(target) => Some(shelf.store.bytes(target.as_os_str().as_bytes(), false)?),
            Err(_) => None,
        },
        Form::File | Form::Program => shelf.store.files(&shelf.root, &[path], false)?.pop(),
        Form::Large | Form::Other => None,
    };
    Ok(Some(Side { form: form.as_str().to_owned(), oid: oid.map(|oid| oid.as_str().to_owned()) }))
}
