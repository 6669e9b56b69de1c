//! Owns what is kept no longer: bodies of Turns that ended long ago, what hosts left in the spool, snapshots, and what no
//! fact points at.
//!
//! Facts, receipts and digests stay. Invariant: nothing goes of a Turn that has not ended, nor what an open Todo still needs;
//! what no fact points at goes only once it is old, since a body is kept before the fact that names it. Killed anywhere,
//! and given again, it ends.

use serde::Serialize;

use super::{
    guard::{clear, is_there, remnants},
    site::Site,
    snapshot::{self, Keep},
};
use crate::{
    authority::{
        View,
        clock::{Clock as _, SystemClock},
    },
    error::{Code, Result},
    failpoint,
    kernel::{Facts, Read, Terms},
    model::{Turn, TurnId, gathered},
    private::{Owner, Purge},
    turn::at_work,
};

/// How many Turns are looked at, and purged, at once.
const STEP: usize = 64;
/// How old has to be what no fact points at, in milliseconds.
const ORPHAN_AGE_MS: i64 = 24 * 60 * 60 * 1000;

/// What goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How long bodies are kept after the end of their Turn, in milliseconds.
    pub bodies_age_ms: u64,
    /// How long snapshots are.
    pub keep: Keep,
    /// Only says what would go.
    pub dry_run: bool,
    pub(super) orphan_age_ms: i64,
    pub(super) now_ms: i64,
}

impl Rules {
    /// Rules that hold now.
    ///
    /// Errors: `internal` where the system has no clock.
    pub fn new(bodies_age_ms: u64, keep: Keep, dry_run: bool) -> Result<Self> {
        let now_ms = SystemClock::new().read()?.wall_ms;
        Ok(Self { bodies_age_ms, keep, dry_run, orphan_age_ms: ORPHAN_AGE_MS, now_ms })
    }
}

/// How much there was of one sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Part {
    /// How many.
    pub count: u64,
    /// How large they were, in bytes.
    pub bytes: u64,
}

impl Part {
    fn add(&mut self, count: u64, bytes: u64) {
        self.count += count;
        self.bytes += bytes;
    }
}

/// What went, or would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Collected {
    /// Bodies whose digests stay.
    pub bodies: Part,
    /// Bodies that no fact points at.
    pub orphans: Part,
    /// What hosts left of attempts.
    pub spools: Part,
    /// Turns whose snapshots went, and what those held.
    pub snapshots: Part,
    /// How much was left because somebody is at work on it.
    pub in_use: u64,
    /// How much was left because a full disk has no room even for writing that it is gone.
    pub no_room: u64,
}

/// Collects what the rules let go.
///
/// A full disk is what it is called for: what only loses its name goes first and makes room, and what cannot be written
/// then is left and counted. Errors: `store_*`; what went until then is gone.
pub fn collect(site: &mut Site<'_>, rules: &Rules) -> Result<Collected> {
    let mut collected = Collected::default();
    spools(site, rules, &mut collected)?;
    let machine = site.machine;
    let authority = &mut *site.authority;
    let mut is_known = |turn_id| authority.look(|view, terms| Ok(known(view, terms, turn_id)?.is_some()));
    let (snapshots, busy, no_room) = snapshot::collect(machine, rules, &mut is_known)?;
    collected.snapshots = snapshots;
    collected.in_use += busy;
    collected.no_room += no_room;
    bodies(site, rules, &mut collected)?;
    let went = collected.bodies.count + collected.orphans.count;
    // Who works now puts bodies there, and does not wait for a file to be moved.
    if !rules.dry_run && went > 0 && at_work(&machine.locks).is_none() {
        site.private.shrink()?;
    }
    Ok(collected)
}

fn bodies(site: &mut Site<'_>, rules: &Rules, collected: &mut Collected) -> Result<()> {
    let mut after = String::new();
    loop {
        let page = match site.private.owners(&after, STEP) {
            // Without room for the index of its log not even a look is had: at least one is left.
            Err(error) if error.code() == Code::DiskFull => {
                collected.no_room += 1;
                return Ok(());
            }
            page => page?,
        };
        let Some(last) = page.last() else { return Ok(()) };
        after.clone_from(&last.turn);
        let mut going = Vec::new();
        for owner in page {
            let Some(purge) = fate(site, rules, &owner)? else { continue };
            going.push((owner, purge));
        }
        // Where not all of a page can be written, some of it may.
        if rules.dry_run || purged(site, &going)? {
            for (owner, purge) in &going {
                collected.went(owner, *purge);
            }
            continue;
        }
        for one in &going {
            if going.len() > 1 && purged(site, std::slice::from_ref(one))? {
                collected.went(&one.0, one.1);
            } else {
                collected.no_room += one.0.count;
            }
        }
    }
}

/// Takes bodies away; no, where a full disk has no room for that.
fn purged(site: &mut Site<'_>, going: &[(Owner, Purge)]) -> Result<bool> {
    let turns: Vec<_> = going.iter().map(|(owner, purge)| (owner.turn.clone(), *purge)).collect();
    match site.private.purge(&turns) {
        Err(error) if error.code() == Code::DiskFull => Ok(false),
        done => done.map(|()| true),
    }
}

impl Collected {
    fn went(&mut self, owner: &Owner, purge: Purge) {
        match purge {
            Purge::Content => self.bodies.add(owner.count, owner.bytes),
            Purge::Whole { .. } => self.orphans.add(owner.count, owner.bytes),
        }
    }
}

/// What becomes of the bodies of a Turn; none where they stay.
fn fate(site: &mut Site<'_>, rules: &Rules, owner: &Owner) -> Result<Option<Purge>> {
    let until_ms = rules.now_ms.saturating_sub(rules.orphan_age_ms);
    let orphaned = || (owner.newest_ms <= until_ms).then_some(Purge::Whole { until_ms });
    let Ok(turn_id) = owner.turn.parse::<TurnId>() else { return Ok(orphaned()) };
    site.authority.look(|view, terms| {
        let Some((turn, facts)) = known(view, terms, turn_id)? else { return Ok(orphaned()) };
        let Some(ended_at) = turn.ended_at.filter(|_| turn.is_terminal()) else { return Ok(None) };
        let is_old = terms.now.since(ended_at).as_ms() >= rules.bodies_age_ms && terms.now >= ended_at;
        Ok((is_old && !is_needed(&turn, &facts)).then_some(Purge::Content))
    })
}

/// A Turn and its Todo, if the ledger has them.
fn known(view: &mut dyn View, terms: &Terms, turn_id: TurnId) -> Result<Option<(Turn, Facts)>> {
    let mut facts = Facts::new(terms.clone());
    view.load(&gathered([Read::Turn(turn_id)]), &mut facts)?;
    Ok(facts.turn(&turn_id)?.cloned().map(|turn| (turn, facts)))
}

/// Whether its Todo is still worked on, and the next Turn may have to know what this one said; or it is not known yet what
/// an effect of that Todo did.
fn is_needed(turn: &Turn, facts: &Facts) -> bool {
    let Some(todo) = turn.todo_id().and_then(|id| facts.rows().todos.get(id)) else { return false };
    let is_last = todo.last_end.as_ref().is_some_and(|end| end.turn_id == turn.turn_id);
    todo.is_live() && (is_last || !todo.blocking_effects.is_empty())
}

fn spools(site: &mut Site<'_>, rules: &Rules, collected: &mut Collected) -> Result<()> {
    for remnant in remnants(site.machine) {
        let (turn_id, attempt) = (remnant.turn_id, remnant.attempt);
        let goes = site.authority.look(|view, terms| {
            let is_old =
                remnant.newest_ms.is_some_and(|at| at.saturating_add(rules.orphan_age_ms) <= rules.now_ms);
            Ok(known(view, terms, turn_id)?.map_or(is_old, |(turn, _)| turn.is_terminal()))
        })?;
        if !goes {
            continue;
        }
        if !rules.dry_run {
            clear(site.machine, turn_id, attempt);
            if is_there(site.machine, turn_id, attempt) {
                // Its guardian goes on.
                collected.in_use += 1;
                continue;
            }
            failpoint::reach!(GcSpool);
        }
        collected.spools.add(1, remnant.bytes);
    }
    Ok(())
}
