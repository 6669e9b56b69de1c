//! Owns the table: how a Turn has to end under each personality of the fake host.
//!
//! Source: the Turn's own page, and the README of the fake host, which says the same to people.

/// How a Turn has to end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) personality: &'static str,
    /// The exit status of `turn run`.
    pub(crate) exit: i32,
    /// The Turn's state.
    pub(crate) state: &'static str,
    /// Why, where the state has a why.
    pub(crate) why: &'static str,
    pub(crate) slot: &'static str,
    /// The Todo afterwards.
    pub(crate) todo: &'static str,
    /// What is kept of how the attempt ended.
    pub(crate) ended: &'static str,
    /// Whether something outlived the host and is named.
    pub(crate) outlived: bool,
    /// Which part of the matrix it is tested in: those that take seconds stand apart.
    pub(crate) part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Ends by itself at once.
    Quick,
    /// Is ended at a deadline or after a grace.
    Slow,
    /// Leaves something that only a guardian can find: nothing marks it, and nobody is its parent.
    Hidden,
}

const fn settled(personality: &'static str, ended: &'static str) -> Row {
    Row {
        personality,
        exit: 0,
        state: "settled",
        why: "",
        slot: "spent",
        todo: "done",
        ended,
        outlived: false,
        part: Part::Quick,
    }
}

const fn failed(personality: &'static str, why: &'static str, ended: &'static str) -> Row {
    Row {
        personality,
        exit: 3,
        state: "failed",
        why,
        slot: "returned",
        todo: "open",
        ended,
        outlived: false,
        part: Part::Quick,
    }
}

const fn slow(row: Row) -> Row {
    Row { part: Part::Slow, ..row }
}

const fn leaving(row: Row) -> Row {
    Row { outlived: true, ..row }
}

const fn hidden(row: Row) -> Row {
    Row { part: Part::Hidden, ..row }
}

const LINGERED: &str = "ended by LoopX, because it went on after its result";
const DEADLINE: &str = "ended by LoopX at its deadline";
const TOO_MUCH: &str = "ended by LoopX, because it printed more than its limit";

pub(crate) const ROWS: &[Row] = &[
    settled("good", "exit 0"),
    Row { todo: "open", ..settled("progress", "exit 0") },
    Row {
        exit: 6,
        state: "stopped",
        why: "user_action",
        slot: "returned",
        todo: "open",
        ..settled("needs-user", "exit 0")
    },
    Row { state: "stopped", why: "wait", slot: "returned", todo: "deferred", ..settled("wait", "exit 0") },
    Row { exit: 1, slot: "spent", ..failed("lie", "validate", "exit 0") },
    slow(settled("hang-after-result", LINGERED)),
    slow(settled("ignore-term", LINGERED)),
    slow(failed("stall", "timeout", DEADLINE)),
    slow(failed("stall-ignoring-term", "timeout", DEADLINE)),
    slow(failed("stop-itself", "timeout", DEADLINE)),
    slow(failed("close-and-stall", "timeout", DEADLINE)),
    failed("exit-zero", "result_missing", "exit 0"),
    failed("exit-nonzero", "crashed", "exit 7"),
    failed("exit-signal", "crashed", "killed by signal 9"),
    failed("half-then-dies", "crashed", "killed by signal 9"),
    failed("half-then-exits", "result_invalid", "exit 0"),
    settled("result-exit-one", "exit 1"),
    settled("result-then-dies", "killed by signal 9"),
    failed("two-results", "result_invalid", "exit 0"),
    failed("key-twice", "result_invalid", "exit 0"),
    failed("other-turn", "result_invalid", "exit 0"),
    failed("other-version", "incompatible_version", "exit 0"),
    failed("unknown-key", "result_invalid", "exit 0"),
    failed("missing-key", "result_invalid", "exit 0"),
    failed("wrong-kind", "result_invalid", "exit 0"),
    failed("wrong-type", "result_invalid", "exit 0"),
    failed("long-text", "result_invalid", "exit 0"),
    failed("credential", "result_invalid", "exit 0"),
    failed("invalid-utf8", "result_invalid", "exit 0"),
    failed("no-json", "result_invalid", "exit 0"),
    failed("chatty", "result_invalid", "exit 0"),
    settled("drip", "exit 0"),
    failed("oversize", "output_too_large", TOO_MUCH),
    failed("flood-stdout", "output_too_large", TOO_MUCH),
    settled("flood-stderr", "exit 0"),
    leaving(settled("fork", "exit 0")),
    leaving(settled("setsid", "exit 0")),
    hidden(settled("double-fork", "exit 0")),
    hidden(settled("double-fork-then-hang", LINGERED)),
    leaving(settled("swarm", "exit 0")),
    settled("write-after-result", "exit 0"),
    leaving(settled("write-late", "exit 0")),
    hidden(settled("write-late-daemon", "exit 0")),
    failed("reports-rate-limited", "rate_limited", "exit 0"),
    failed("reports-auth-required", "auth_required", "exit 0"),
    failed("reports-nonsense", "result_invalid", "exit 0"),
];

pub(crate) fn row(personality: &str) -> Row {
    *ROWS.iter().find(|row| row.personality == personality).unwrap()
}
