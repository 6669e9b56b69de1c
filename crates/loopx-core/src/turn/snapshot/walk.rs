//! Owns what an undo finds at each path, and what it does there.
//!
//! Knows no Turn. Invariant: only a path that still holds what the other side left there is touched, and that is looked at
//! once more right before it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::read_link,
    os::unix::ffi::OsStrExt as _,
};

use super::{
    listing::{Looker, as_path},
    picture::{Form, Oid},
    record::{Change, Direction, Record, Side},
    restore::{self, Folders},
    shelf::Shelf,
};
use crate::{
    error::{Code, Error, Result},
    failpoint,
};

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

impl Fate {
    /// The stable spelling.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Already => "already",
            Self::Shared => "shared",
            Self::Left(_) => "left",
        }
    }
}

/// What lies at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Present {
    /// Nothing, or a folder.
    Nothing,
    /// This.
    Side(Side),
    /// What cannot be read.
    Unknown,
}

impl Change {
    /// What the path has to hold so that it is touched, and what it holds after.
    fn sides(&self, direction: Direction) -> (Option<&Side>, Option<&Side>) {
        match direction {
            Direction::Undo => (self.after.as_ref(), self.before.as_ref()),
            Direction::Redo => (self.before.as_ref(), self.after.as_ref()),
        }
    }
}

/// What would become of each path of a Turn.
///
/// Errors: `not_ready` where git does not answer.
pub(super) fn plan(shelf: &Shelf, record: &Record, direction: Direction) -> Result<Vec<(Change, Fate)>> {
    let named: Vec<(&Change, Vec<u8>)> =
        record.changes.iter().map(|change| (change, change.bytes())).collect();
    let counts = |change: &Change| !change.shared && change.is_restorable();
    let paths: Vec<&[u8]> =
        named.iter().filter(|(change, _)| counts(change)).map(|(_, path)| path.as_slice()).collect();
    let found = all_present(shelf, &paths)?;
    let needed = record.changes.iter().filter(|change| counts(change));
    let needed: BTreeSet<Oid> = needed.filter_map(|change| change.sides(direction).1?.content()).collect();
    let missing = shelf.store.missing(&needed)?;
    let fate = |change: &Change, path: &[u8]| {
        let (from, to) = change.sides(direction);
        match &change.lost {
            _ if change.shared => Fate::Shared,
            Some(why) => Fate::Left(why.clone()),
            None => judged(found.get(path).unwrap_or(&Present::Unknown), from, to).unwrap_or_else(|| {
                let is_kept = to.is_none_or(|to| to.content().is_some_and(|oid| !missing.contains(&oid)));
                if is_kept { Fate::Restored } else { Fate::Left(FORGOTTEN.to_owned()) }
            }),
        }
    };
    let mut planned: Vec<_> =
        named.iter().map(|(change, path)| ((*change).clone(), fate(change, path))).collect();
    planned.sort_by(|one, other| one.0.path.cmp(&other.0.path));
    Ok(planned)
}

const FORGOTTEN: &str = "what it held is kept no longer";

/// What becomes of a path by what lies there; none where it is to be put back.
fn judged(now: &Present, from: Option<&Side>, to: Option<&Side>) -> Option<Fate> {
    let now = match now {
        Present::Unknown => return Some(Fate::Left("it cannot be read".to_owned())),
        Present::Nothing => None,
        Present::Side(side) => Some(side),
    };
    if now == to {
        return Some(Fate::Already);
    }
    (now != from).then(|| Fate::Left("it holds something else by now".to_owned()))
}

/// Does what was planned, each path once `may_go_on` says nothing against it. What was done outlasts a power cut then.
///
/// What was put back before by one that `was_cut_off` may not have been, and does as well. Errors: `disk_full` and
/// `store_unavailable` of the work tree; those of git.
pub(super) fn act(
    shelf: &Shelf,
    mut planned: Vec<(Change, Fate)>,
    direction: Direction,
    was_cut_off: bool,
    may_go_on: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<(Change, Fate)>> {
    let mut folders = Folders::default();
    for (change, _) in planned.iter().filter(|(_, fate)| was_cut_off && *fate == Fate::Already) {
        folders.note_all(&change.bytes());
    }
    // What goes away makes room first: a folder for a file, or another spelling of the same name.
    planned.sort_by_key(|(change, _)| change.sides(direction).1.is_some());
    for (change, fate) in planned.iter_mut().filter(|(_, fate)| *fate == Fate::Restored) {
        may_go_on()?;
        *fate = one(shelf, change, direction, &mut folders)?;
        failpoint::reach!(UndoPathPlaced);
    }
    folders.sync(&shelf.root).map_err(|e| {
        Error::new(Code::StoreUnavailable, "what was put back cannot be written through to the disk")
            .internal(e)
    })?;
    planned.sort_by(|one, other| one.0.path.cmp(&other.0.path));
    Ok(planned)
}

fn one(shelf: &Shelf, change: &Change, direction: Direction, folders: &mut Folders) -> Result<Fate> {
    let path = change.bytes();
    let (from, to) = change.sides(direction);
    let found = all_present(shelf, &[&path])?;
    if let Some(fate) = judged(found.get(path.as_slice()).unwrap_or(&Present::Unknown), from, to) {
        return Ok(fate);
    }
    let content = match to {
        None => None,
        Some(side) => match side.content().and_then(|oid| shelf.store.read(&oid)) {
            Some(content) => Some((side.form(), content)),
            None => return Ok(Fate::Left(FORGOTTEN.to_owned())),
        },
    };
    let done = match content {
        Some((form, content)) => restore::put(&shelf.root, &path, form, &content, folders),
        None => restore::take_away(&shelf.root, &path, folders),
    };
    match done {
        Ok(()) => Ok(Fate::Restored),
        Err(e) if matches!(e.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded) => {
            Err(Error::new(Code::DiskFull, "no space is left in the work tree").internal(e))
        }
        Err(e) => Ok(Fate::Left(match direction {
            Direction::Undo => format!("it cannot be put back: {}", e.kind()),
            Direction::Redo => format!("it cannot be done again: {}", e.kind()),
        })),
    }
}

/// What lies at some paths now.
fn all_present<'p>(shelf: &Shelf, paths: &[&'p [u8]]) -> Result<BTreeMap<&'p [u8], Present>> {
    let mut looker = Looker::below(&shelf.root);
    let (mut found, mut files) = (BTreeMap::new(), Vec::new());
    for path in paths {
        let form = looker.look(path).map(|found| Form::of(&found));
        let oid = match form {
            // A folder is told by what lies in it.
            None | Some(Form::Repository) => {
                found.insert(*path, Present::Nothing);
                continue;
            }
            Some(Form::Link) => match read_link(shelf.root.join(as_path(path))) {
                Ok(target) => Some(shelf.store.bytes(target.as_os_str().as_bytes(), false)?),
                Err(_) => None,
            },
            Some(form @ (Form::File | Form::Program)) => {
                files.push((*path, form));
                continue;
            }
            Some(Form::Large | Form::Other) => None,
        };
        found.extend(form.map(|form| (*path, Present::Side(side(form, oid)))));
    }
    let names: Vec<&[u8]> = files.iter().map(|(path, _)| *path).collect();
    if let Ok(oids) = shelf.store.files(&shelf.root, &names, false) {
        let sides = files.iter().zip(oids);
        found.extend(sides.map(|((path, form), oid)| (*path, Present::Side(side(*form, Some(oid))))));
        return Ok(found);
    }
    // One of them cannot be read; that says nothing of the others.
    for (path, form) in files {
        let oid = shelf.store.files(&shelf.root, &[path], false).ok().and_then(|mut oids| oids.pop());
        found.insert(path, oid.map_or(Present::Unknown, |oid| Present::Side(side(form, Some(oid)))));
    }
    Ok(found)
}

fn side(form: Form, oid: Option<Oid>) -> Side {
    Side { form: form.as_str().to_owned(), oid: oid.map(|oid| oid.as_str().to_owned()) }
}
