//! Owns the named points at which a test kills, stops or fails this process.
//!
//! Knows nothing of what happens at them. Without the feature `failpoints` a point is no code at all, and
//! only the macro is left of this file.

/// Marks a named point; in a build with failpoints it may return an error from the function around it.
#[cfg(feature = "failpoints")]
macro_rules! reach {
    ($point:ident) => {
        $crate::failpoint::visit($crate::failpoint::Point::$point)?
    };
}
#[cfg(not(feature = "failpoints"))]
macro_rules! reach {
    ($point:ident) => {};
}
pub(crate) use reach;

#[cfg(feature = "failpoints")]
pub use active::{Point, Spec, injected_filesystem, shift_clock, visit};

/// What a process of ours hands on to one that it starts, so that both are steered alike.
pub(crate) fn passed_on() -> Vec<(&'static str, String)> {
    #[cfg(feature = "failpoints")]
    return active::passed_on();
    #[cfg(not(feature = "failpoints"))]
    Vec::new()
}

#[cfg(feature = "failpoints")]
mod active {
    use std::{
        collections::BTreeMap,
        fs::{File, OpenOptions},
        io::Write as _,
        sync::{Mutex, OnceLock, PoisonError},
    };

    use rustix::process::{Signal, getpid, kill_process};

    use crate::{
        authority::clock::{Deadline, Reading},
        error::{Code, Error, Result},
    };

    macro_rules! points {
        ($($name:ident $text:literal: $doc:literal;)*) => {
            /// Every point, named once.
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
            pub enum Point { $(#[doc = $doc] $name,)* }

            impl Point {
                /// All points, in the order of the table.
                pub const ALL: &'static [Self] = &[$(Self::$name,)*];

                /// The spelling used in `LOOPX_FAILPOINT` and in the log of reached points.
                pub const fn as_str(self) -> &'static str {
                    match self { $(Self::$name => $text,)* }
                }
            }
        };
    }

    points! {
        ProfileBeforePublish "profile.before_publish": "The profile file is written, nobody can see it yet.";
        ProfileAfterPublish "profile.after_publish": "The profile file can be seen; the ledger does not exist.";
        StoreBeforeSchema "store.before_schema": "A database file exists, without tables.";
        StoreBeforeCommit "store.before_commit": "A transaction is complete and not committed.";
        StoreAfterCommit "store.after_commit": "A transaction is committed; nobody was told.";
        LedgerBeforeBell "ledger.before_bell": "A decision is committed, and those who wait were not told.";
        LedgerAfterBell "ledger.after_bell": "A decision is committed and those who wait were told; no answer was given.";
        PrivateBeforeCommit "private.before_commit": "Bodies are written and not committed.";
        PrivateAfterCommit "private.after_commit": "Bodies are committed; no fact points at them.";
        MigrateKept "migrate.kept": "A database is copied before its migration; nothing of it is changed.";
        MigrateRaised "migrate.raised": "A database has the tables of the newest schema, not committed.";
        RestoreKept "restore.kept": "The ledger is kept as it is; nothing of it is replaced.";
        RestoreTaken "restore.taken": "The ledger has the content of a backup, not committed.";
        RestoreMade "restore.made": "A ledger is made from a backup, without a name; what lies in its place lies there still.";
        RestoreAside "restore.aside": "What lay in the ledger's place is moved away; the new one has no name yet.";
        TurnAdmitted "turn.admitted": "A hosted Turn is admitted; its host was never described.";
        TurnDescribed "turn.described": "How the host is started is kept; no attempt was dispatched.";
        TurnDispatched "turn.dispatched": "An attempt is dispatched; its host was not started.";
        TurnHostEnded "turn.host_ended": "The host ended; what it said is nowhere but here.";
        TurnSpooled "turn.spooled": "What the host said is kept; no fact points at it.";
        TurnCandidate "turn.candidate": "The candidate is recorded; nothing was validated.";
        TurnJudged "turn.judged": "The validators spoke; their verdict is nowhere but here.";
        TurnVerdict "turn.verdict": "The verdict is recorded; nobody was told.";
        TurnAttemptEnded "turn.attempt_ended": "An attempt's end is recorded; whether another follows is open.";
        OwnerCandidate "owner.candidate": "An owner's candidate is recorded; nothing was validated.";
        OwnerJudged "owner.judged": "The validators of an owner's verb spoke; their verdict is nowhere but here.";
        OwnerVerdict "owner.verdict": "The verdict of an owner's verb is recorded; nobody was told.";
        GuardLocked "guard.locked": "A guardian has its lock; nobody was told, and nothing was started.";
        GuardReady "guard.ready": "A guardian has said that it is ready; nobody let its host go.";
        GuardLetGo "guard.go": "A guardian was let go; its host was not started.";
        GuardStarted "guard.started": "A guardian's host works.";
        GuardEnded "guard.ended": "A guardian's tree has ended; how is nowhere but here.";
        GuardSpooled "guard.spooled": "How a guardian's tree ended is kept; its driver was not told.";
        LeafMove "leaf.move": "A program is about to be moved into its control group.";
        SpoolFull "spool.full": "How a guardian's tree ended could not be written, and was told to a driver that lives.";
        UndoNoted "undo.noted": "The present is recorded before an undo; nothing says that it begins.";
        UndoBegun "undo.begun": "An undo says that it begins; nothing is put back.";
        UndoPathPlaced "undo.path_placed": "An undo put one path back.";
        UndoPlaced "undo.placed": "An undo put all back; nothing says that it has ended.";
        UndoEnded "undo.ended": "An undo says that it has ended; nobody was told.";
        GcBodies "gc.bodies": "Some bodies are purged; others that are to go are there still.";
        GcSpool "gc.spool": "What is left of one attempt is removed; others that are to go are there still.";
        GcForgotten "gc.forgotten": "Records of snapshots are gone; what they held is there still.";
        RepairArchived "repair.archived": "What a repair takes out of the ledger is kept beside it; nothing is taken out.";
        RecoverSwept "recover.swept": "A recovery ended a tree; that is nowhere but here.";
    }

    /// What happens at a point.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Action {
        Kill,
        Stop,
        Fail(Code),
    }

    /// One `name=action[@n]`: at the n-th visit of the point, counted from 1, the action happens once.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Spec {
        point: Point,
        action: Action,
        visit: u64,
    }

    impl Spec {
        /// Reads `name=kill|stop|error:<code>[@n]`.
        pub fn parse(text: &str) -> Result<Self> {
            let refuse =
                |what: &str| Error::new(Code::InvalidArgument, format!("failpoint `{text}` names no {what}"));
            let (name, rest) = text.split_once('=').ok_or_else(|| refuse("action"))?;
            let (action, visit) = match rest.split_once('@') {
                Some((action, visit)) => (action, visit.parse().map_err(|_| refuse("visit"))?),
                None => (rest, 1),
            };
            let point =
                Point::ALL.iter().copied().find(|p| p.as_str() == name).ok_or_else(|| refuse("point"))?;
            let action = match (action, action.strip_prefix("error:")) {
                ("kill", _) => Action::Kill,
                ("stop", _) => Action::Stop,
                (_, Some(code)) => Code::ALL
                    .iter()
                    .copied()
                    .find(|c| c.as_str() == code)
                    .map(Action::Fail)
                    .ok_or_else(|| refuse("error code"))?,
                _ => return Err(refuse("action")),
            };
            Ok(Self { point, action, visit })
        }
    }

    /// How long a signal may take to reach every thread of a busy machine's process.
    const STOPS_WITHIN: std::time::Duration = std::time::Duration::from_millis(500);

    /// What this process was told when it started.
    struct Plan {
        spec: Result<Option<Spec>>,
        log: Option<File>,
        visits: Mutex<BTreeMap<Point, u64>>,
    }

    #[expect(clippy::disallowed_methods, reason = "a failpoint build is steered by its environment alone")]
    fn variable(name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn plan() -> &'static Plan {
        static PLAN: OnceLock<Plan> = OnceLock::new();
        PLAN.get_or_init(|| Plan {
            spec: variable("LOOPX_FAILPOINT").map(|text| Spec::parse(&text)).transpose(),
            log: variable("LOOPX_FAILPOINT_LOG")
                .and_then(|path| OpenOptions::new().append(true).create(true).open(path).ok()),
            visits: Mutex::new(BTreeMap::new()),
        })
    }

    /// Visits a point: logs it, then does what the environment asked for.
    ///
    /// Errors: the asked code; `invalid_argument` at every point when the request cannot be read.
    pub fn visit(point: Point) -> Result<()> {
        let plan = plan();
        if let Some(mut log) = plan.log.as_ref() {
            // One write a line, so that lines of several processes do not mix.
            log.write_all(format!("{}\n", point.as_str()).as_bytes())
                .map_err(|e| Error::from(Code::Internal).internal(e))?;
        }
        let Some(spec) = plan.spec.clone()? else { return Ok(()) };
        if spec.point != point {
            return Ok(());
        }
        let count = {
            let mut visits = plan.visits.lock().unwrap_or_else(PoisonError::into_inner);
            let count = visits.entry(point).or_insert(0);
            *count += 1;
            *count
        };
        if count != spec.visit {
            return Ok(());
        }
        let signal = match spec.action {
            Action::Kill => Signal::KILL,
            Action::Stop => Signal::STOP,
            Action::Fail(code) => {
                return Err(Error::new(code, format!("failpoint {} failed as asked", point.as_str())));
            }
        };
        kill_process(getpid(), signal).map_err(|e| Error::from(Code::Internal).internal(e))?;
        // Another thread may be the one that takes the signal; this one must not go on until all have stopped.
        let stopped = Deadline::after(STOPS_WITHIN);
        while !stopped.left().is_zero() {
            std::thread::park_timeout(stopped.left());
        }
        Ok(())
    }

    /// What steers this process, for one that it starts.
    pub(super) fn passed_on() -> Vec<(&'static str, String)> {
        ["LOOPX_FAILPOINT", "LOOPX_FAILPOINT_LOG", "LOOPX_FAILPOINT_CLOCK"]
            .into_iter()
            .filter_map(|name| Some((name, variable(name)?)))
            .collect()
    }

    /// The filesystem a test pretends to be on, by `LOOPX_FAILPOINT_FILESYSTEM` (a name of the probe's table).
    pub fn injected_filesystem() -> Option<String> {
        variable("LOOPX_FAILPOINT_FILESYSTEM")
    }

    /// Shifts a reading by `LOOPX_FAILPOINT_CLOCK`: comma-separated `wall=<±ms>`, `boot=<±ms>`, `boot_id=<text>`.
    pub fn shift_clock(mut reading: Reading) -> Result<Reading> {
        let Some(text) = variable("LOOPX_FAILPOINT_CLOCK") else { return Ok(reading) };
        for part in text.split(',') {
            let refuse = || Error::new(Code::InvalidArgument, format!("clock shift `{part}` cannot be read"));
            let (name, value) = part.split_once('=').ok_or_else(refuse)?;
            let shift_ms = || value.parse::<i64>().map_err(|_| refuse());
            match name {
                "wall" => reading.wall_ms = reading.wall_ms.saturating_add(shift_ms()?),
                "boot" => reading.boot_ms = reading.boot_ms.saturating_add(shift_ms()?),
                "boot_id" => value.clone_into(&mut reading.boot_id),
                _ => return Err(refuse()),
            }
        }
        Ok(reading)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_request_is_read_or_refused() {
            let spec = Spec::parse("store.before_commit=error:disk_full@3").unwrap();
            assert_eq!(
                spec,
                Spec { point: Point::StoreBeforeCommit, action: Action::Fail(Code::DiskFull), visit: 3 }
            );
            assert_eq!(Spec::parse("store.after_commit=kill").unwrap().visit, 1);
            for bad in [
                "",
                "store.before_commit",
                "nowhere=kill",
                "store.before_commit=explode",
                "store.before_commit=error:no",
                "store.before_commit=kill@x",
            ] {
                assert_eq!(Spec::parse(bad).unwrap_err().code(), Code::InvalidArgument, "{bad}");
            }
        }

        #[test]
        fn names_are_unique() {
            let names: std::collections::BTreeSet<_> = Point::ALL.iter().map(|p| p.as_str()).collect();
            assert_eq!(names.len(), Point::ALL.len());
        }
    }
}
