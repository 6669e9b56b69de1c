//! Owns reading the system's process table.
//!
//! Knows nothing of which process belongs to whom; `tree` decides that.

use std::{collections::BTreeSet, io};

/// One process.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// Start time in the kernel's own ticks; with the pid it names one process for ever.
    pub(super) started: u64,
    pub(super) name: String,
    /// Ended, and not yet collected by its parent.
    pub(super) dead: bool,
}

/// What a process's environment says of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Carried,
    Absent,
    /// The process is between two programs and shows no environment at this instant.
    Unsettled,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod table {
    use std::{
        ffi::OsStr,
        fs::{File, read_dir, read_link, read_to_string},
        io::{self, Read},
        os::unix::ffi::OsStrExt as _,
        path::Path,
    };

    use super::{Mark, Row};
    use crate::process::clock::pause;

    /// No environment is larger: the kernel's own limit for arguments and environment is 6 MiB at usual stacks.
    const ENVIRONMENT_MAX_BYTES: u64 = 8 * 1024 * 1024;

    pub(in crate::process) fn listed() -> io::Result<(Vec<Row>, bool)> {
        let (mut rows, mut missed) = (Vec::new(), false);
        for entry in read_dir("/proc")? {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let row = any(pid);
            missed |= row.is_none();
            rows.extend(row);
        }
        Ok((rows, missed))
    }

    pub(in crate::process) fn any(pid: i32) -> Option<Row> {
        let mut text = [0_u8; 1024];
        let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
        let n = file.read(&mut text).ok()?;
        parse(pid, text.get(..n)?)
    }

    /// Reads one line of `/proc/<pid>/stat`.
    pub(super) fn parse(pid: i32, line: &[u8]) -> Option<Row> {
        // The name stands in parentheses and may hold anything, parentheses and spaces too.
        let open = line.iter().position(|b| *b == b'(')?;
        let close = line.iter().rposition(|b| *b == b')')?;
        let name = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
        let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let state = *fields.first()?;
        let threads: u32 = fields.get(17)?.parse().ok()?;
        // A zombie whose threads go on is a leader thread that ended before its process.
        let dead = matches!(state, "Z" | "X" | "x") && threads <= 1;
        Some(Row {
            pid,
            dead,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            name,
        })
    }

    pub(in crate::process) fn carries(row: &Row, entry: &[u8]) -> Mark {
        // A thread of the kernel has neither environment nor arguments, and never will.
        if row.pid == 2 || row.parent == 2 {
            return Mark::Absent;
        }
        // Each read opens anew: a descriptor opened before an exec goes on showing the memory that is gone.
        for wait_ms in [0, 0, 1] {
            if wait_ms > 0 {
                pause(wait_ms);
            }
            let Ok(environment) = read("environ", row.pid) else { return Mark::Absent };
            if !environment.is_empty() {
                let carried = environment.split(|b| *b == 0).any(|each| each == entry);
                return if carried { Mark::Carried } else { Mark::Absent };
            }
        }
        // Amid an exec there are no arguments yet either; a cleared environment has them.
        let between = read("cmdline", row.pid).is_ok_and(|arguments| arguments.is_empty());
        let alive = any(row.pid).is_some_and(|now| now.started == row.started && !now.dead);
        if between && alive { Mark::Unsettled } else { Mark::Absent }
    }

    fn read(what: &str, pid: i32) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(format!("/proc/{pid}/{what}"))?.take(ENVIRONMENT_MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub(in crate::process) fn has_locked(pid: i32, name: &[u8]) -> bool {
        let descriptors = read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let is_named = |file: &Path| {
            let path = file.as_os_str().as_bytes();
            let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
            path.strip_suffix(name).is_some_and(|folder| folder.ends_with(b"/"))
        };
        // Whoever only reads it, or looks whether it is locked, has no lock of his own alone.
        let is_locked = |descriptor: &OsStr| {
            let told = format!("/proc/{pid}/fdinfo/{}", descriptor.to_string_lossy());
            let told = read_to_string(told).unwrap_or_default();
            told.lines().any(|line| line.starts_with("lock:") && line.contains(" WRITE "))
        };
        let mut named =
            descriptors.filter(|descriptor| read_link(descriptor.path()).is_ok_and(|file| is_named(&file)));
        named.any(|descriptor| is_locked(&descriptor.file_name()))
    }

    pub(in crate::process) fn children(pid: u32) -> Option<Vec<i32>> {
        let mut found = Vec::new();
        for thread in read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
            let mut listed = String::new();
            File::open(thread.path().join("children")).ok()?.read_to_string(&mut listed).ok()?;
            found.extend(listed.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        Some(found)
    }

    /// A variable of the environment a process was started with.
    pub(in crate::process) fn variable(pid: i32, name: &str) -> Option<String> {
        let environment = read("environ", pid).ok()?;
        let value = |entry: &[u8]| {
            let rest = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(String::from_utf8_lossy(rest).into_owned())
        };
        environment.split(|b| *b == 0).find_map(value)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod table {
    use std::io;

    use super::{Mark, Row};

    pub(in crate::process) fn listed() -> io::Result<(Vec<Row>, bool)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::process) fn any(_pid: i32) -> Option<Row> {
        None
    }

    pub(in crate::process) fn has_locked(_pid: i32, _name: &[u8]) -> bool {
        false
    }

    pub(in crate::process) fn children(_pid: u32) -> Option<Vec<i32>> {
        None
    }

    pub(in crate::process) fn carries(_row: &Row, _entry: &[u8]) -> Mark {
        Mark::Absent
    }

    pub(in crate::process) fn variable(_pid: i32, _name: &str) -> Option<String> {
        None
    }
}

/// All processes that are alive; an error where the system shows no table.
pub(super) fn living() -> io::Result<Vec<Row>> {
    let (mut rows, _) = table::listed()?;
    rows.retain(|row| !row.dead);
    Ok(rows)
}

/// One process, alive or not yet collected.
pub(super) fn any(pid: i32) -> Option<Row> {
    table::any(pid)
}

/// Whether a process has a file of this name locked, also one that was removed; no where that may not be seen.
pub(super) fn has_locked(pid: i32, name: &[u8]) -> bool {
    table::has_locked(pid, name)
}

/// The children of a process; none where the system does not list them.
pub(super) fn children(pid: u32) -> Option<Vec<i32>> {
    table::children(pid)
}

/// What descends from one process, in one look at all there are.
#[derive(Debug)]
pub(super) struct Below {
    /// Those that live.
    pub(super) alive: BTreeSet<i32>,
    /// Those that have ended and were not collected.
    dead: BTreeSet<(i32, u64)>,
    /// Whether somebody had gone between the list of all and his own row.
    missed: bool,
}

impl Below {
    /// Whether nobody can have been overlooked, given the look before: one that ends during a look may have started
    /// another that is on no list yet. Numbers are listed in their order, and a child's is the higher one, unless they
    /// begin anew.
    pub(super) fn is_whole(&self, before: Option<&Self>) -> bool {
        let had_ended = |row| before.is_some_and(|before| before.dead.contains(row));
        !self.missed && self.dead.iter().all(had_ended)
    }
}

/// What descends from a process; an error where the system shows no table.
pub(super) fn below(pid: u32) -> io::Result<Below> {
    let (mut rest, missed) = table::listed()?;
    let mut parents: BTreeSet<i32> = i32::try_from(pid).into_iter().collect();
    let mut below = Below { alive: BTreeSet::new(), dead: BTreeSet::new(), missed };
    loop {
        let before = parents.len();
        rest.retain(|row| {
            let descends = parents.contains(&row.parent);
            if descends {
                parents.insert(row.pid);
                if row.dead {
                    below.dead.insert((row.pid, row.started));
                } else {
                    below.alive.insert(row.pid);
                }
            }
            !descends
        });
        if parents.len() == before {
            return Ok(below);
        }
    }
}

/// Whether the environment a process was started with holds this entry; absent where it may not be read.
pub(super) fn carries(row: &Row, entry: &[u8]) -> Mark {
    table::carries(row, entry)
}

/// A variable of the environment a process was started with; none where it may not be read.
pub(super) fn variable(pid: i32, name: &str) -> Option<String> {
    table::variable(pid, name)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::table::parse;

    const TAIL: &str = "0 0 0 0 0 0 0 0 0 0 0 20 0";

    fn line(name: &str, state: &str, threads: u32) -> String {
        format!("7 ({name}) {state} 3 5 6 {TAIL} {threads} 0 99 0 0")
    }

    #[test]
    fn a_name_may_hold_spaces_and_parentheses() {
        let row = parse(7, line("a) Z (b", "S", 1).as_bytes()).unwrap();
        assert_eq!((row.name.as_str(), row.parent, row.group, row.started), ("a) Z (b", 3, 5, 99));
    }

    #[test]
    fn a_zombie_is_dead_unless_its_threads_go_on() {
        for (state, threads, dead) in [("Z", 1, true), ("Z", 2, false), ("X", 1, true), ("T", 1, false)] {
            let row = parse(7, line("x", state, threads).as_bytes()).unwrap();
            assert_eq!(row.dead, dead, "{state} {threads}");
        }
    }

    #[test]
    fn a_torn_line_is_nobody() {
        for torn in ["", "7 (x", "7 (x) S", "7 (x) S a b c"] {
            assert!(parse(7, torn.as_bytes()).is_none(), "{torn}");
        }
    }
}
