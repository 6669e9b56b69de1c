//! Owns taking back what a Turn changed, and doing it again: whether that may begin, what stands in its way, its trace.
//!
//! Knows no verb and no right, and leaves the paths to `walk`. Invariant: the present is recorded before anything is
//! touched, and what was recorded before an undo that was cut off stays until that has ended; given again after a kill it
//! goes on with what is left.

use super::{
    lock::UndoLock,
    record::{Change, Direction, Record},
    shelf::{Shelf, why_none},
    walk::{Fate, act, plan},
};
use crate::{
    authority::clock::{Clock as _, SystemClock},
    error::{Code, Error, Result, echo},
    failpoint,
    model::{Actor, Turn, TurnState, Workspace},
    turn::{beside, site::Site},
};

/// How many paths a refusal names in words.
const NAMED_MAX: usize = 3;
/// How many paths a refusal lists for programs.
const LISTED_MAX: usize = 100;

/// What an undo did, or would do.
#[derive(Debug, Clone)]
pub struct Undone {
    /// Each path, and what became of it.
    pub paths: Vec<(Change, Fate)>,
}

impl Undone {
    /// How many paths had, or would have, this fate.
    fn count(&self, is: impl Fn(&Fate) -> bool) -> usize {
        self.paths.iter().filter(|(_, fate)| is(fate)).count()
    }

    /// How many paths hold what they should: put back now, or before.
    fn right(&self) -> usize {
        self.count(|fate| matches!(fate, Fate::Restored | Fate::Already))
    }
}

/// Takes back what a Turn changed, or does it again, for whoever asks; with `dry` it only says what that would do.
///
/// Errors: `invalid_transition` of a Turn that has not ended; `not_ready` without its snapshots, with all it changed
/// `shared`, or where not one path can be put back; `executor_active` while another Turn is live in the work tree;
/// `write_scope_conflict` while another undo is at work there, `reconciliation_required` after one that was cut off;
/// `store_*`, `disk_full`.
pub fn undo(site: &mut Site<'_>, turn: &Turn, direction: Direction, by: &Actor, dry: bool) -> Result<Undone> {
    check_ended(site, turn)?;
    if !dry {
        site.snapshots_of_ended();
    }
    let (shelf, tree) = place(site, turn)?;
    if dry {
        UndoLock::check(&site.machine.locks, &tree)?;
        return locked(site, &shelf, turn, direction, by, None);
    }
    let lock = UndoLock::take(&site.machine.locks, &tree, turn.turn_id)?;
    let undone = locked(site, &shelf, turn, direction, by, Some(&lock));
    lock.close();
    undone
}

/// What an undo would find at each path of a Turn now; unlike a trial of one it is no error that none can be put back.
///
/// Errors: those by which an undo is refused as a whole.
pub fn would_undo(site: &mut Site<'_>, turn: &Turn) -> Result<Undone> {
    check_ended(site, turn)?;
    let (shelf, tree) = place(site, turn)?;
    UndoLock::check(&site.machine.locks, &tree)?;
    let live = site.authority.read(|view| beside::live(view, turn))?;
    planned(site, &shelf, turn, Direction::Undo, live).map(|(_, planned)| planned)
}

fn check_ended(site: &mut Site<'_>, turn: &Turn) -> Result<()> {
    if turn.is_terminal() {
        return Ok(());
    }
    let turn_id = turn.turn_id;
    let message = format!("the Turn {turn_id} is {}; only what has ended is taken back", turn.state.as_str());
    // What brings it to its end comes before what gives its result up.
    let ask = site.around(turn_id)?.asks.into_iter().next();
    let hint = ask.map_or_else(|| format!("turn show {turn_id}"), |ask| ask.command);
    Err(Error::new(Code::InvalidTransition, message).hint(hint))
}

/// Where the snapshots of a Turn lie, and the work tree that they are of.
fn place(site: &Site<'_>, turn: &Turn) -> Result<(Shelf, Workspace)> {
    let shelf = Shelf::of(site.machine, turn)?;
    let tree = turn.workspace.as_ref().map(Workspace::tree);
    shelf.zip(tree).ok_or_else(|| nothing(turn, why_none(site.machine, turn)))
}

fn nothing(turn: &Turn, why: &str) -> Error {
    let turn_id = turn.turn_id;
    Error::new(Code::NotReady, format!("the Turn {turn_id} has no snapshots to go by: {why}"))
        .detail("turn_id", turn_id.to_string())
        .hint(format!("turn show {turn_id}"))
}

fn locked(
    site: &mut Site<'_>,
    shelf: &Shelf,
    turn: &Turn,
    direction: Direction,
    by: &Actor,
    lock: Option<&UndoLock>,
) -> Result<Undone> {
    let live = live_beside(site, turn)?;
    let _taken = lock.map(|_| shelf.lock(site.machine)).transpose()?;
    let (record, planned) = planned(site, shelf, turn, direction, live)?;
    let is_refused = planned.right() == 0 && !planned.paths.is_empty();
    if is_refused {
        // One that was cut off is over all the same: nothing is left that it could do.
        if let Some(lock) = lock.filter(|_| record.unfinished().is_some()) {
            end(shelf, record, lock, 0)?;
        }
        return Err(refused(turn, direction, &planned));
    }
    let does_nothing = planned.count(|fate| *fate == Fate::Restored) == 0;
    let Some(lock) = lock.filter(|_| !does_nothing || record.unfinished().is_some()) else {
        return Ok(planned);
    };
    let undone = carry_out(site, shelf, turn, record, planned, direction, by, lock)?;
    // Somebody may have got there first with each of them.
    if undone.right() == 0 { Err(refused(turn, direction, &undone)) } else { Ok(undone) }
}

/// What is remembered of a Turn, and what would become of each of its paths, where an undo may begin at all.
fn planned(
    site: &mut Site<'_>,
    shelf: &Shelf,
    turn: &Turn,
    direction: Direction,
    live: Option<Turn>,
) -> Result<(Record, Undone)> {
    check_live(site, live)?;
    let record = shelf.record(turn.turn_id).ok_or_else(|| nothing(turn, why_none(site.machine, turn)))?;
    if let Some(why) = record.absent() {
        return Err(nothing(turn, why));
    }
    check_shared(&record)?;
    check_unfinished(shelf, &record)?;
    let paths = plan(shelf, &record, direction)?;
    Ok((record, Undone { paths }))
}

#[expect(clippy::too_many_arguments, reason = "what is undone, for whom, and under what")]
fn carry_out(
    site: &mut Site<'_>,
    shelf: &Shelf,
    turn: &Turn,
    mut record: Record,
    planned: Undone,
    direction: Direction,
    by: &Actor,
    lock: &UndoLock,
) -> Result<Undone> {
    shelf.note_before_undo(site.machine, &record)?;
    failpoint::reach!(UndoNoted);
    // Who was admitted while its file was away has not seen the lock.
    let mut holds = || {
        if lock.hold()? { live_beside(site, turn).and_then(|live| check_live(site, live)) } else { Ok(()) }
    };
    holds()?;
    let was_cut_off = record.unfinished().is_some();
    record.begin(direction, by, SystemClock::new().read()?.wall_ms);
    shelf.write(&record, true)?;
    failpoint::reach!(UndoBegun);
    let undone = Undone { paths: act(shelf, planned.paths, direction, was_cut_off, &mut holds)? };
    failpoint::reach!(UndoPlaced);
    end(shelf, record, lock, undone.right())?;
    failpoint::reach!(UndoEnded);
    Ok(undone)
}

/// Notes the end of an undo, unless another has its lock by now, and the record with it.
fn end(shelf: &Shelf, mut record: Record, lock: &UndoLock, paths: usize) -> Result<()> {
    lock.hold()?;
    record.end(SystemClock::new().read()?.wall_ms, paths);
    shelf.write(&record, true)
}

/// Refuses to undo in a tree that was another's too, where nothing tells whose a change is.
fn check_shared(record: &Record) -> Result<()> {
    if !record.is_nobodys() {
        return Ok(());
    }
    let turn_id = record.turn_id;
    let message = format!(
        "the Turn {turn_id} declared no scopes and another Turn was live in its work tree: whose a change is cannot be \
         told; give each agent a git worktree of its own"
    );
    Err(Error::new(Code::NotReady, message).detail("why", "shared").hint(format!("turn diff {turn_id}")))
}

/// Refuses while another undo of the work tree was cut off: it is finished, or answered by its opposite, first.
fn check_unfinished(shelf: &Shelf, record: &Record) -> Result<()> {
    let heads = shelf.heads();
    let mut others = heads.iter().filter(|head| head.turn_id != record.turn_id);
    let Some((other, undo)) = others.find_map(|head| Some((head, head.unfinished()?))) else {
        return Ok(());
    };
    let other = other.turn_id;
    let (what, redo) = match undo.direction {
        Direction::Undo => ("undo", ""),
        Direction::Redo => ("redo", " --redo"),
    };
    let message =
        format!("the {what} of the Turn {other} in the same work tree was cut off; it is ended first");
    Err(Error::new(Code::ReconciliationRequired, message)
        .detail("turn_id", other.to_string())
        .hint(format!("turn undo {other}{redo}")))
}

/// A Turn that is live in the same work tree, read as by a writer: behind every admission that has not seen the lock of
/// this undo.
fn live_beside(site: &mut Site<'_>, turn: &Turn) -> Result<Option<Turn>> {
    site.authority.read_first(|view| beside::live(view, turn))
}

/// Refuses while another Turn, of whatever Goal, is live in the work tree: while it has not ended.
///
/// One that is held executes nothing and counts all the same. Its result was proved over this tree and is to be settled
/// over it; a file that moves beneath it sends it back to its validators, or lets it settle what is not there any more. The
/// same goes for one that is unresolved, of which nobody knows what it still does.
fn check_live(site: &mut Site<'_>, other: Option<Turn>) -> Result<()> {
    let Some(other) = other else { return Ok(()) };
    let other_id = other.turn_id;
    let ask = site.around(other_id)?.asks.into_iter().next();
    let (what, hint) = match (&other.state, ask) {
        (TurnState::Held { .. }, Some(ask)) => {
            ("is held in the same work tree, which its result was proved over: let it end first", ask.command)
        }
        (TurnState::Held { .. }, None) => (
            "is held in the same work tree, which its result was proved over: let it end first",
            format!("turn stop {other_id}"),
        ),
        (TurnState::Unresolved { .. }, Some(ask)) => {
            ("is unresolved in the same work tree: let it end first", ask.command)
        }
        _ => ("is live in the same work tree: let it end, or stop it", format!("turn stop {other_id}")), // wildcard: every other state that is not terminal is at work
    };
    Err(Error::new(Code::ExecutorActive, format!("the Turn {other_id} {what}"))
        .detail("turn_id", other_id.to_string())
        .detail("state", other.state.as_str())
        .hint(hint))
}

/// Says that not one path can be put back, and what stands in the way of each.
fn refused(turn: &Turn, direction: Direction, planned: &Undone) -> Error {
    let turn_id = turn.turn_id;
    let said = |fate: &Fate| match fate {
        Fate::Left(why) => why.clone(),
        Fate::Shared => "it may be another Turn's".to_owned(),
        Fate::Restored | Fate::Already => String::new(),
    };
    let mut named: Vec<String> = (planned.paths.iter().take(NAMED_MAX))
        .map(|(change, fate)| format!("{}: {}", echo(&change.path), said(fate)))
        .collect();
    match planned.paths.len().saturating_sub(NAMED_MAX) {
        0 => {}
        more => named.push(format!("and {more} more")),
    }
    let what = match direction {
        Direction::Undo => "put back",
        Direction::Redo => "done again",
    };
    let listed = planned.paths.iter().take(LISTED_MAX);
    let listed: Vec<_> = listed
        .map(|(change, fate)| serde_json::json!({"path": change.path, "fate": fate.word(), "reason": said(fate)}))
        .collect();
    let message = format!("nothing of the Turn {turn_id} can be {what}: {}", named.join("; "));
    Error::new(Code::NotReady, message)
        .detail("turn_id", turn_id.to_string())
        .detail("why", "nothing_restorable")
        .detail("items", listed)
        .hint(format!("turn diff {turn_id} --stat"))
}
