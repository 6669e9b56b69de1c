//! Owns collecting what snapshots no longer need: records that are too old or too many, what only they named, and what
//! nothing ever named.
//!
//! Knows neither ledger nor verb; whoever calls says which Turns are known. Invariant: each work tree is gone through under
//! its lock, records before contents, so that what a kill leaves is found the next time.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{
    keep::{named, parted},
    record::Head,
    shelf::Shelf,
};
use crate::{
    error::{Code, Result},
    failpoint,
    model::TurnId,
    turn::{
        gc::{Part, Rules},
        site::Machine,
    },
};

/// What goes of the snapshots of one work tree, in the order in which it has to go.
#[derive(Debug, Default)]
struct Doomed {
    turns: Vec<TurnId>,
    records: Vec<PathBuf>,
    contents: Vec<PathBuf>,
}

/// Collects what goes by the rules; how much of it there is, of how many work trees somebody else is at work, and for how
/// many a full disk has no room for a lock.
///
/// `is_known` says whether the ledger has a Turn. Errors: those of `is_known`; `store_*`.
pub(in crate::turn) fn collect(
    machine: &Machine,
    rules: &Rules,
    is_known: &mut dyn FnMut(TurnId) -> Result<bool>,
) -> Result<(Part, u64, u64)> {
    let (mut part, mut busy, mut no_room) = (Part::default(), 0, 0);
    for shelf in Shelf::all(machine) {
        // A preview looks, and takes no lock: that would make a file.
        let lock = match (!rules.dry_run).then(|| shelf.lock(machine)).transpose() {
            Err(error) if error.code() == Code::StoreBusy => {
                busy += 1;
                continue;
            }
            Err(error) if error.code() == Code::DiskFull => {
                no_room += 1;
                continue;
            }
            taken => taken?,
        };
        let doomed = doomed(&shelf, rules, is_known)?;
        part.count += u64::try_from(doomed.turns.len()).unwrap_or(u64::MAX);
        let files = || doomed.records.iter().chain(&doomed.contents);
        part.bytes += files().map(|path| size(path)).sum::<u64>();
        if rules.dry_run {
            continue;
        }
        for path in &doomed.records {
            // What stays is found the next time.
            let _ = fs::remove_file(path);
        }
        failpoint::reach!(GcForgotten);
        for path in &doomed.contents {
            let _ = fs::remove_file(path);
        }
        for turn_id in &doomed.turns {
            let _ = fs::remove_file(Shelf::pending(machine).join(turn_id.to_string()));
        }
        drop(lock);
    }
    Ok((part, busy, no_room))
}

fn doomed(shelf: &Shelf, rules: &Rules, is_known: &mut dyn FnMut(TurnId) -> Result<bool>) -> Result<Doomed> {
    let (kept, mut gone) = parted(shelf.heads(), rules.keep, rules.now_ms);
    let (mut stay, mut lost): (Vec<Head>, Vec<Head>) = (Vec::new(), Vec::new());
    for head in kept {
        // What waits for the end of a Turn that the ledger has not, as after a restore, waits for ever.
        let is_old = head.before.at_ms.saturating_add(rules.orphan_age_ms) <= rules.now_ms;
        let is_lost = head.after.is_none() && is_old && !is_known(head.turn_id)?;
        if is_lost { lost.push(head) } else { stay.push(head) }
    }
    gone.extend(lost);
    let Some((contents, packs)) = named(shelf, &stay, &gone, |_| true) else { return Ok(Doomed::default()) };
    let turns: Vec<TurnId> = gone.iter().map(|head| head.turn_id).collect();
    let records = turns.iter().flat_map(|turn_id| shelf.files(*turn_id)).filter(|path| path.exists());
    Ok(Doomed {
        records: records.collect(),
        contents: shelf.store.unnamed_packs(&packs).chain(shelf.store.unnamed(&contents)).collect(),
        turns,
    })
}

/// What a file takes; a name among several of one file takes nothing.
fn size(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |found| if found.nlink() > 1 { 0 } else { found.len() })
}
