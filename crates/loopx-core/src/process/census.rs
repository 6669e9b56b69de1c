//! Owns reading the system's process table.
//!
//! Knows nothing of which process belongs to whom; `tree` decides that.

use std::io;

/// One living process.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// Start time in the kernel's own ticks; with the pid it names one process for ever.
    pub(super) started: u64,
    pub(super) name: String,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod table {
    use std::{
        fs::{File, read_dir},
        io::{self, Read},
    };

    use super::Row;

    /// No environment is larger: the kernel's own limit for arguments and environment is 6 MiB at usual stacks.
    const ENVIRONMENT_MAX_BYTES: u64 = 8 * 1024 * 1024;

    pub(in crate::process) fn living() -> io::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for entry in read_dir("/proc")? {
            let pid = entry?.file_name().to_str().and_then(|name| name.parse().ok());
            rows.extend(pid.and_then(one));
        }
        Ok(rows)
    }

    pub(in crate::process) fn one(pid: i32) -> Option<Row> {
        let mut text = [0_u8; 1024];
        let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
        let n = file.read(&mut text).ok()?;
        parse(pid, text.get(..n)?)
    }

    /// Reads one line of `/proc/<pid>/stat`; none for what is already dead.
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
        let row = Row {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            name,
        };
        (!dead).then_some(row)
    }

    /// The environment a process was started with; empty where it may not be read.
    fn environment(pid: i32) -> Vec<u8> {
        let Ok(file) = File::open(format!("/proc/{pid}/environ")) else { return Vec::new() };
        let mut environment = Vec::new();
        let read = file.take(ENVIRONMENT_MAX_BYTES).read_to_end(&mut environment);
        if read.is_ok() { environment } else { Vec::new() }
    }

    /// Whether the environment a process was started with holds this entry.
    pub(in crate::process) fn carries(pid: i32, entry: &[u8]) -> bool {
        environment(pid).split(|b| *b == 0).any(|each| each == entry)
    }

    /// A variable of the environment a process was started with.
    pub(in crate::process) fn variable(pid: i32, name: &str) -> Option<String> {
        let value = |entry: &[u8]| {
            let rest = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(String::from_utf8_lossy(rest).into_owned())
        };
        environment(pid).split(|b| *b == 0).find_map(value)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod table {
    use std::io;

    use super::Row;

    pub(in crate::process) fn living() -> io::Result<Vec<Row>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::process) fn one(_pid: i32) -> Option<Row> {
        None
    }

    pub(in crate::process) fn carries(_pid: i32, _entry: &[u8]) -> bool {
        false
    }

    pub(in crate::process) fn variable(_pid: i32, _name: &str) -> Option<String> {
        None
    }
}

/// All processes that are alive; an error where the system shows no table.
pub(super) fn living() -> io::Result<Vec<Row>> {
    table::living()
}

/// One process, if it is alive.
pub(super) fn one(pid: i32) -> Option<Row> {
    table::one(pid)
}

/// Whether the environment a process was started with holds this entry; false where it may not be read.
pub(super) fn carries(pid: i32, entry: &[u8]) -> bool {
    table::carries(pid, entry)
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
        assert!(parse(7, line("x", "Z", 1).as_bytes()).is_none());
        assert!(parse(7, line("x", "Z", 2).as_bytes()).is_some());
    }

    #[test]
    fn a_torn_line_is_nobody() {
        for torn in ["", "7 (x", "7 (x) S", "7 (x) S a b c"] {
            assert!(parse(7, torn.as_bytes()).is_none(), "{torn}");
        }
    }
}
