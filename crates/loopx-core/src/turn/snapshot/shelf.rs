//! Owns when snapshots are taken and where their records lie: one folder a work tree, one lock for it.
//!
//! Knows no verb. Invariant: a Turn's first snapshot is taken once, before its executor starts, and its last one when it
//! has ended, whoever finds that out.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

use super::{
    keep,
    picture::{self, Oid, Picture},
    record::{Head, Moment, Record},
    store::Store,
    take::{For, Look, take},
};
use crate::{
    authority::{
        clock::{Clock as _, SystemClock},
        profile::{file, make_private_dir},
    },
    error::{Code, Error, Result},
    kernel::Outcome,
    model::{Receipt, Turn, TurnId, Workspace},
    turn::{
        examine::declared,
        opening::is_late,
        site::{Around, Machine, Site},
        workspace::repository_root,
    },
};

/// The ending of the picture of the present, before an undo.
const UNDO_BEFORE: &str = "undo.before";
/// The folder of what waits for its last snapshot.
const PENDING: &str = "pending";

/// The snapshots of one work tree, under its lock or to be read.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) store: Store,
    pub(super) root: PathBuf,
}

impl Shelf {
    /// The shelf of a Turn's work tree; none where that is unknown here, or no git work tree.
    pub(super) fn of(machine: &Machine, turn: &Turn) -> Result<Option<Self>> {
        let Some(tree) = turn.workspace.as_ref().map(Workspace::tree) else { return Ok(None) };
        let Some(root) = machine.trees.folder(&tree)? else { return Ok(None) };
        if repository_root(&root) != Some(root.as_path()) {
            return Ok(None);
        }
        let dir = machine.snapshots().join(format!("{}.git", tree.as_str()));
        Ok(Some(Self { store: Store::at(dir, &machine.env), root }))
    }

    /// Takes the lock of the work tree's snapshots.
    ///
    /// Errors: `store_busy`, `disk_full`, `store_*`.
    pub(super) fn lock(&self, machine: &Machine) -> Result<File> {
        let name = self.store.dir().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let path = machine.locks.join(format!("snapshot-{name}.lock"));
        file::lock(&path, "another process takes a snapshot of this work tree, or takes one back")
    }

    fn path(&self, turn_id: TurnId, ending: &str) -> PathBuf {
        self.store.turns().join(format!("{turn_id}.{ending}"))
    }

    /// What is remembered of a Turn.
    pub(super) fn record(&self, turn_id: TurnId) -> Option<Record> {
        read(&self.path(turn_id, "json"))
    }

    /// What says how long each Turn of this work tree is remembered.
    pub(super) fn heads(&self) -> Vec<Head> {
        let entries = fs::read_dir(self.store.turns()).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths
            .filter(|path| path.extension().is_some_and(|name| name == "json"))
            .filter_map(|path| read(&path))
            .collect()
    }

    /// Remembers a Turn.
    ///
    /// Errors: `disk_full`, `store_*`.
    pub(super) fn write(&self, record: &Record, durable: bool) -> Result<()> {
        let bytes = serde_json::to_vec(record).map_err(|e| Error::from(Code::Internal).internal(e))?;
        Store::write(&self.path(record.turn_id, "json"), &bytes, durable)
    }

    /// Forgets a Turn.
    pub(super) fn forget(&self, turn_id: TurnId) {
        for path in self.files(turn_id) {
            // What stays is forgotten the next time.
            let _ = fs::remove_file(path);
        }
    }

    /// All that is remembered of a Turn beside contents.
    pub(super) fn files(&self, turn_id: TurnId) -> [PathBuf; 3] {
        ["json", "before", UNDO_BEFORE].map(|ending| self.path(turn_id, ending))
    }

    /// The shelves that lie in a folder of snapshots, whatever became of their work trees. Only what is kept there can be
    /// looked at: where the tree lies is not known.
    pub(super) fn all(machine: &Machine) -> Vec<Self> {
        let entries = fs::read_dir(machine.snapshots()).into_iter().flatten().flatten();
        let dirs = entries.map(|entry| entry.path());
        let stores = dirs.filter(|dir| dir.extension().is_some_and(|name| name == "git") && dir.is_dir());
        stores.map(|dir| Self { store: Store::at(dir, &machine.env), root: PathBuf::new() }).collect()
    }

    /// Where it says which Turns wait for their last snapshot.
    pub(super) fn pending(machine: &Machine) -> PathBuf {
        machine.snapshots().join(PENDING)
    }

    /// Records the present before an undo. What was recorded before one that was cut off stays: it is what was there
    /// before anything was put back.
    ///
    /// Errors: `not_ready`, `disk_full`, `store_*`.
    pub(super) fn note_before_undo(&self, machine: &Machine, record: &Record) -> Result<()> {
        if record.unfinished().is_some() && self.path(record.turn_id, UNDO_BEFORE).exists() {
            return Ok(());
        }
        self.note(machine, record.turn_id, UNDO_BEFORE)
    }

    /// Takes a picture now and keeps it under a name, so that nothing in it is forgotten.
    fn note(&self, machine: &Machine, turn_id: TurnId, ending: &str) -> Result<()> {
        let look = Look::at(&self.store, &self.root, &machine.env)?;
        if look.standing().is_none() {
            take(&self.store, &self.root, &machine.env, look, &Picture::new(), For::Keeping)?;
        }
        let link = self.path(turn_id, ending);
        // An older one is replaced.
        let _ = fs::remove_file(&link);
        fs::hard_link(self.store.picture(), &link)
            .map_err(|e| Error::new(Code::StoreUnavailable, "the snapshot cannot be kept").internal(e))
    }

    fn first(&self, machine: &Machine, around: &Around, now_ms: i64, late: bool) -> Result<()> {
        let turn_id = around.turn.turn_id;
        if self.record(turn_id).is_some() {
            return Ok(());
        }
        make_private_dir(&self.store.turns())?;
        let scopes = declared(around)?;
        let lock = self.lock(machine);
        let taken = match &lock {
            _ if late => Err("the claim was given again long after it was made".to_owned()),
            Err(error) => Err(error.message().to_owned()),
            Ok(_) => self.note(machine, turn_id, "before").map_err(|error| error.message().to_owned()),
        };
        let absent = taken.err();
        let record = Record {
            turn_id,
            scopes,
            before: Moment { at_ms: now_ms, absent },
            after: None,
            peers: false,
            changes: Vec::new(),
            left_out: Vec::new(),
            pack: None,
            undos: Vec::new(),
        };
        let pending = machine.snapshots().join(PENDING);
        make_private_dir(&pending)?;
        self.write(&record, false)?;
        let name = self.store.dir().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Store::write(&pending.join(turn_id.to_string()), name.as_bytes(), false)
    }

    fn last(&self, machine: &Machine, turn_id: TurnId, now_ms: i64) -> Result<()> {
        let _lock = self.lock(machine)?;
        let mut heads = self.heads();
        if let Some(mut record) = self.record(turn_id).filter(|record| record.after.is_none()) {
            record.peers = had_peers(&heads, &record);
            let absent = match record.before.absent {
                Some(_) => None,
                None => self.compare(machine, &mut record).err().map(|error| error.message().to_owned()),
            };
            let after = Moment { at_ms: now_ms, absent };
            for head in heads.iter_mut().filter(|head| head.turn_id == turn_id) {
                head.after = Some(after.clone());
            }
            record.after = Some(after);
            self.write(&record, !record.changes.is_empty())?;
        }
        // The picture before it is in the record now, as far as it differs.
        let _ = fs::remove_file(self.path(turn_id, "before"));
        keep::prune(self, heads, machine.keep, now_ms);
        Ok(())
    }

    /// What a Turn that has not ended changed up to now; nothing of it is remembered.
    fn so_far(&self, machine: &Machine, record: &Record) -> Result<Record> {
        let _lock = self.lock(machine)?;
        let mut record = record.clone();
        record.peers = had_peers(&self.heads(), &record);
        self.differ(machine, &mut record, For::Comparing)?;
        Ok(record)
    }

    /// Notes what differs between the picture before a Turn and one taken now, and gives both, where anything does.
    fn differ(
        &self,
        machine: &Machine,
        record: &mut Record,
        what_for: For,
    ) -> Result<Option<(Picture, Picture)>> {
        let damaged = || Error::new(Code::StoreCorrupt, "the snapshot before the Turn is damaged");
        let path = self.path(record.turn_id, "before");
        let look = Look::at(&self.store, &self.root, &machine.env)?;
        if let Some(kept) = look.standing().filter(|_| is_same_file(&path, &self.store.picture())) {
            record.nothing_moved(kept);
            return Ok(None);
        }
        let before = picture::read(&path).ok_or_else(damaged)?;
        let after = take(&self.store, &self.root, &machine.env, look, &before, what_for)?;
        record.compare(&before, &after);
        Ok(Some((before, after)))
    }

    fn compare(&self, machine: &Machine, record: &mut Record) -> Result<()> {
        let Some((before, after)) = self.differ(machine, record, For::Keeping)? else { return Ok(()) };
        // What a path held before is the user's repository's alone, if it was not changed when it was seen; and what it
        // holds now may be in another's commit. Both are brought over.
        let ours = |path: &str, side: &Option<super::record::Side>, picture: &Picture| {
            let oid = side.as_ref().and_then(super::record::Side::content)?;
            let entry = picture.get(&super::record::decode(path))?;
            (!entry.stored && !self.store.has(&oid)).then_some(oid)
        };
        let needed = record
            .changes
            .iter()
            .flat_map(|change| {
                [ours(&change.path, &change.before, &before), ours(&change.path, &change.after, &after)]
            })
            .flatten()
            .collect();
        let (pack, lost) = self.store.bring(&self.root, &machine.env, &needed)?;
        record.pack = pack;
        let is_lost = |side: &Option<super::record::Side>| {
            side.as_ref().and_then(super::record::Side::content).is_some_and(|oid: Oid| lost.contains(&oid))
        };
        for change in &mut record.changes {
            if is_lost(&change.before) || is_lost(&change.after) {
                change.lost = Some("the repository had lost what was there".to_owned());
            }
        }
        Ok(())
    }
}

/// Whether another Turn was live in the work tree since a Turn's first snapshot.
fn had_peers(heads: &[Head], record: &Record) -> bool {
    heads.iter().any(|other| {
        let ended_at_ms = other.after.as_ref().map_or(i64::MAX, |after| after.at_ms);
        other.turn_id != record.turn_id && ended_at_ms >= record.before.at_ms
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let name = |path: &Path| fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
    name(one).is_some_and(|one| Some(one) == name(other))
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// What is remembered of a Turn's snapshots on this machine; none where nothing is.
///
/// Errors: `store_*`.
pub fn recorded(machine: &Machine, turn: &Turn) -> Result<Option<Record>> {
    Ok(Shelf::of(machine, turn)?.and_then(|shelf| shelf.record(turn.turn_id)))
}

/// What a Turn that has its first snapshot and not its last one yet has changed up to now.
///
/// Errors: `not_ready` with the reason, `store_busy` while another snapshot is taken, `disk_full`, `store_*`.
pub fn so_far(machine: &Machine, turn: &Turn, record: &Record) -> Result<Record> {
    let shelf = Shelf::of(machine, turn)?;
    let shelf = shelf.ok_or_else(|| Error::new(Code::NotReady, why_none(machine, turn)))?;
    shelf.so_far(machine, record)
}

/// Why nothing is remembered of a Turn.
pub fn why_none(machine: &Machine, turn: &Turn) -> &'static str {
    match (&turn.workspace, Shelf::of(machine, turn)) {
        (None, _) => "it works in no folder",
        (Some(_), Ok(Some(_))) => "none was taken, or it is kept no longer",
        (Some(_), Ok(None) | Err(_)) => "its folder is no git work tree, or not on this machine",
    }
}

/// Whether a Turn waits for its last snapshot, as far as a folder of snapshots tells.
pub fn waits_for_snapshot(snapshots: &Path) -> bool {
    fs::read_dir(snapshots.join(PENDING)).is_ok_and(|mut entries| entries.next().is_some())
}

impl Site<'_> {
    /// Keeps what the work tree of a Turn held that was just admitted: for its snapshot, and for what is told of it later.
    /// What goes wrong stops nothing.
    pub fn opened(&mut self, around: &Around) {
        self.snapshot_before(around);
        if let Err(error) = self.open_attached(around) {
            tracing::warn!(turn = %around.turn.turn_id, %error, "no picture of the tree before the Turn");
        }
    }

    /// Takes the snapshot before a Turn, once. What goes wrong is remembered, or leaves none; it stops nothing.
    pub fn snapshot_before(&mut self, around: &Around) {
        let turn = &around.turn;
        // What an earlier attempt did is the Turn's.
        if turn.is_driven() && !turn.attempts.is_empty() {
            return;
        }
        let (Ok(Some(shelf)), Ok(now)) = (Shelf::of(self.machine, turn), SystemClock::new().read()) else {
            return;
        };
        let late = is_late(turn, now.wall_ms);
        self.snapshots_of_ended();
        if let Err(error) = shelf.first(self.machine, around, now.wall_ms, late) {
            tracing::warn!(turn = %turn.turn_id, %error, "no snapshot before the Turn");
        }
    }

    /// Takes the snapshots after all Turns of this machine that have ended and still wait for theirs. As
    /// [`Self::snapshot_before`] it stops nothing.
    pub fn snapshots_of_ended(&mut self) {
        let pending = self.machine.snapshots().join(PENDING);
        for entry in fs::read_dir(pending).into_iter().flatten().flatten() {
            let Some(turn_id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let Ok(around) = self.around(turn_id) else { continue };
            if !around.turn.is_terminal() {
                continue;
            }
            let Ok(now) = SystemClock::new().read() else { return };
            let taken = match Shelf::of(self.machine, &around.turn) {
                Ok(Some(shelf)) => shelf.last(self.machine, turn_id, now.wall_ms),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            match taken {
                // One that stays is found done the next time.
                Ok(()) => drop(fs::remove_file(entry.path())),
                Err(error) => tracing::warn!(turn = %turn_id, %error, "no snapshot after the Turn yet"),
            }
        }
    }

    /// Takes the snapshots that a commit makes due: after what it ended, and before what it began.
    pub fn snapshots_around(&mut self, receipt: &Receipt) {
        self.snapshots_of_ended();
        let Ok(outcome) = receipt.outcome::<Outcome>() else { return };
        if let Some(begun) = outcome.next_turn_id
            && let Ok(around) = self.around(begun)
            && !around.turn.is_terminal()
        {
            self.opened(&around);
        }
    }
}
