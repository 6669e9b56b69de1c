//! Owns what a guardian leaves behind of an attempt: the host's output as it came, and at the end how it ended.
//!
//! Knows nothing of what either means. Source of the two-step: a result is there from the moment its last byte came, so
//! that neither the guardian's death nor the driver's loses it. Invariant: without the folder nothing was started, within
//! one life of the machine.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    authority::profile::{file, misplaced, owner},
    error::{Code, Error, Result},
    model::TurnId,
    process::{Containment, Ended, Outcome, Process, Spool},
    turn::{
        lock::{GuardLock, Guardian, Left, Told},
        site::Machine,
        wire::RESULT_MAX_BYTES,
    },
};

const END: &str = "end.json";
const END_MAX_BYTES: u64 = 256 * 1024;
/// As much of stderr is kept; the rest was over its limit.
const STDERR_MAX_BYTES: u64 = 1024 * 1024;

/// What is left of an attempt whose guardian is gone.
#[derive(Debug)]
pub(in crate::turn) enum Remains {
    /// No host was ever started.
    NeverStarted,
    /// How it ended; or that it was cut off after it had said all it had to say.
    Ended(Box<Outcome>),
    /// It ended, and nothing of how could be written before its guardian gave it up.
    Unkept,
    /// Its guardian gave it up by mistake, and saw its end; it may have done anything before.
    Abandoned(Box<Outcome>),
    /// It was started, and how it ended is nowhere.
    Unknown,
}

impl Remains {
    /// What an end comes to that its guardian saw.
    pub(super) fn of(outcome: Outcome) -> Self {
        let is_over = outcome.ended != Ended::Abandoned;
        if is_over { Self::Ended(Box::new(outcome)) } else { Self::Abandoned(Box::new(outcome)) }
    }
}

/// How a run ended, without its output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    ended: Ended,
    stdout_seen_bytes: u64,
    stderr_seen_bytes: u64,
    result_complete: bool,
    wall_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    awake_ms: Option<u64>,
    outlived: Vec<Process>,
    survivors: Vec<Process>,
    containment: Containment,
}

impl End {
    pub(super) fn of(outcome: &Outcome) -> Self {
        Self {
            ended: outcome.ended,
            stdout_seen_bytes: outcome.stdout_seen_bytes,
            stderr_seen_bytes: outcome.stderr_seen_bytes,
            result_complete: outcome.result_complete,
            wall_ms: outcome.wall_ms,
            awake_ms: outcome.awake_ms,
            outlived: outcome.outlived.iter().take(64).cloned().collect(),
            survivors: outcome.survivors.iter().take(64).cloned().collect(),
            containment: outcome.containment,
        }
    }

    /// The run, with what it printed.
    pub(super) fn with(self, stdout: Vec<u8>, stderr: Vec<u8>) -> Outcome {
        Outcome {
            ended: self.ended,
            stdout,
            stderr,
            stdout_seen_bytes: self.stdout_seen_bytes,
            stderr_seen_bytes: self.stderr_seen_bytes,
            result_complete: self.result_complete,
            wall_ms: self.wall_ms,
            awake_ms: self.awake_ms,
            outlived: self.outlived,
            survivors: self.survivors,
            containment: self.containment,
        }
    }
}

/// The folder of one attempt.
pub(super) fn folder(spool: &Path, turn_id: TurnId, attempt: u8) -> PathBuf {
    spool.join(format!("{turn_id}.{attempt}"))
}

/// Writes how a run ended; the output is there already, or is written anew where it was lost.
///
/// Errors: `disk_full`, `store_*`.
pub(super) fn write(folder: &Path, outcome: &Outcome) -> Result<()> {
    let failed = |e| Error::new(Code::StoreUnavailable, "what a host said cannot be kept").internal(e);
    make(folder).map_err(failed)?;
    // What somebody put in its place may lead anywhere.
    if !fs::symlink_metadata(folder).map_err(failed)?.is_dir() {
        return Err(Error::new(Code::StoreUnavailable, "something else is in the place of what a host said"));
    }
    let kept = Spool::read(folder, outcome.stdout.len() as u64 + 1, 0);
    if !matches!(kept, Ok(Some((stdout, _))) if stdout == outcome.stdout) {
        file::replace(&folder.join("stdout"), &outcome.stdout, 0o600)?;
    }
    let text = serde_json::to_vec(&End::of(outcome)).map_err(|e| Error::from(Code::Internal).internal(e))?;
    file::replace_for_now(&folder.join(END), &text)
}

/// Reads what is left of an attempt. `is_complete` says whether a stdout holds all that its host had to say.
///
/// Only once its guardian is gone. Errors: `store_*`.
pub(in crate::turn) fn remains(
    machine: &Machine,
    turn_id: TurnId,
    attempt: u8,
    is_complete: &dyn Fn(&[u8]) -> bool,
) -> Result<Remains> {
    let remains = in_folder(&folder(&machine.spool, turn_id, attempt), is_complete)?;
    let has_told =
        |told| Guardian::noted(&machine.locks, turn_id, attempt).is_some_and(|left| left.has_told(told));
    match remains {
        Remains::NeverStarted | Remains::Unknown if has_told(Told::Unkept) => Ok(Remains::Unkept),
        // Its lock outweighs a folder that is gone.
        Remains::NeverStarted if has_told(Told::Began) => Ok(Remains::Unknown),
        Remains::NeverStarted
        | Remains::Unknown
        | Remains::Unkept
        | Remains::Ended(_)
        | Remains::Abandoned(_) => Ok(remains),
    }
}

fn in_folder(folder: &Path, is_complete: &dyn Fn(&[u8]) -> bool) -> Result<Remains> {
    let unreadable = |e| {
        let other = || Error::new(Code::StoreUnreadable, "what a host left cannot be read").internal(&e);
        misplaced(folder, &e).unwrap_or_else(other)
    };
    let max = RESULT_MAX_BYTES as u64;
    let Some((stdout, stderr)) = Spool::read(folder, max, STDERR_MAX_BYTES).map_err(unreadable)? else {
        let was = folder.try_exists().map_err(unreadable)?;
        return Ok(if was { Remains::Unknown } else { Remains::NeverStarted });
    };
    let end = end_of(folder)?;
    let seen = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let outcome = match end {
        Some(end) => return Ok(Remains::of(end.with(stdout, stderr))),
        None if is_complete(&stdout) => Outcome {
            ended: Ended::ExitUnknown,
            stdout_seen_bytes: seen(&stdout),
            stderr_seen_bytes: seen(&stderr),
            stdout,
            stderr,
            result_complete: true,
            wall_ms: 0,
            awake_ms: None,
            outlived: Vec::new(),
            survivors: Vec::new(),
            containment: Containment::Token,
        },
        None => return Ok(Remains::Unknown),
    };
    Ok(Remains::Ended(Box::new(outcome)))
}

/// Whether the guardian of an attempt saw the end of all that it guarded, and wrote so.
pub(in crate::turn) fn is_told_empty(machine: &Machine, turn_id: TurnId, attempt: u8) -> bool {
    let end = end_of(&folder(&machine.spool, turn_id, attempt));
    end.is_ok_and(|end| end.is_some_and(|end| end.survivors.is_empty()))
}

/// Whether a host began, and how it ended is not written.
pub(in crate::turn) fn is_cut_off(machine: &Machine, turn_id: TurnId, attempt: u8) -> bool {
    let folder = folder(&machine.spool, turn_id, attempt);
    folder.exists() && !is_told_empty(machine, turn_id, attempt)
}

/// Leaves the trace that a host began, where its own folder was taken away.
pub(in crate::turn) fn trace(machine: &Machine, turn_id: TurnId, attempt: u8) {
    // Where it is there it says all by itself.
    let _ = make(&folder(&machine.spool, turn_id, attempt));
}

/// Refuses something else in the place of the folder in which attempts leave what they left: before a Turn is admitted
/// of which no host could begin.
pub(in crate::turn) fn check_place(spool: &Path) -> Result<()> {
    match fs::metadata(spool.join(".")) {
        Err(e) => misplaced(spool, &e).map_or(Ok(()), Err),
        Ok(_) => Ok(()),
    }
}

/// Makes the folder of an attempt, for its owner alone.
fn make(folder: &Path) -> std::io::Result<()> {
    owner::make_dirs(folder)
}

fn end_of(folder: &Path) -> Result<Option<End>> {
    let text = file::read_ours(&folder.join(END), END_MAX_BYTES)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Removes what is left of an attempt, once it is kept elsewhere or counts no more.
pub(in crate::turn) fn clear(machine: &Machine, turn_id: TurnId, attempt: u8) {
    match GuardLock::left(&machine.locks, turn_id, attempt) {
        Ok(Left::Nothing) => {}
        Ok(Left::Lock(lock)) => {
            if let Some(leaf) = lock.leaf() {
                leaf.remove();
            }
            lock.close();
        }
        // A guardian that goes on has use for it.
        Ok(Left::Taken(_)) | Err(_) => return,
    }
    // What stays behind is clutter, which the next proof of all Turns removes.
    let _ = fs::remove_dir_all(folder(&machine.spool, turn_id, attempt));
}

/// One folder that lies in the spool.
#[derive(Debug)]
pub(in crate::turn) struct Remnant {
    /// Of which Turn.
    pub(in crate::turn) turn_id: TurnId,
    /// Of which attempt.
    pub(in crate::turn) attempt: u8,
    /// How much lies there.
    pub(in crate::turn) bytes: u64,
    /// When something was last put there, in milliseconds since the Unix epoch; none where that cannot be told.
    pub(in crate::turn) newest_ms: Option<i64>,
}

/// What lies in the spool, whatever became of its Turns.
pub(in crate::turn) fn remnants(machine: &Machine) -> Vec<Remnant> {
    let folders = fs::read_dir(&machine.spool).into_iter().flatten().flatten();
    let found = folders.filter_map(|folder| {
        let name = folder.file_name();
        let (turn_id, attempt) = name.to_str()?.rsplit_once('.')?;
        let (turn_id, attempt) = (turn_id.parse().ok()?, attempt.parse().ok()?);
        let newest_ms = folder.metadata().ok().map(|meta| {
            let at = meta.mtime().saturating_mul(1000);
            at.saturating_add(meta.mtime_nsec() / 1_000_000)
        });
        let files = fs::read_dir(folder.path()).into_iter().flatten().flatten();
        let bytes = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
        Some(Remnant { turn_id, attempt, bytes, newest_ms })
    });
    found.collect()
}

/// Whether something of an attempt is there.
pub(in crate::turn) fn is_there(machine: &Machine, turn_id: TurnId, attempt: u8) -> bool {
    folder(&machine.spool, turn_id, attempt).symlink_metadata().is_ok()
}

/// The Turns of which something is left.
pub(in crate::turn) fn left(machine: &Machine) -> BTreeSet<TurnId> {
    let folders = fs::read_dir(&machine.spool).into_iter().flatten().flatten();
    let named = |name: &str| name.rsplit_once('.')?.0.parse().ok();
    folders.filter_map(|folder| named(folder.file_name().to_str()?)).collect()
}
