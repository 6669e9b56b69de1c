//! Owns the rows that look across nouns: `find`, `log`, `check`, `metrics`, `doctor`.

use super::{
    flags::{ALL, CURSOR, DRY_RUN, LIMIT},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

pub(super) const FIND: Command =
    Command::lone("find", Group::Start, Access::Reads, "Finds Goals, Todos and gates by id or text.")
        .long(&["Looks for the text, upper and lower case alike, in ids and titles of all Goals, and in the questions of their gates; `--goal` narrows."])
        .args(&[
            Arg::positional("text", "TEXT", Kind::Text, "A part of an id or a title"),
            LIMIT,
        ])
        .examples(&[example("find login", "everywhere"), example("find login --goal importer", "in one Goal")]);

pub(super) const LOG: Command =
    Command::lone("log", Group::Trust, Access::Reads, "Shows what happened, newest first.")
        .args(&[
            Arg::option("todo", "TODO", Kind::Id, "Only about this Todo"),
            Arg::option("since", "WHEN", Kind::When, "Not before this time, or this long ago"),
            LIMIT,
            CURSOR,
            ALL,
        ])
        .examples(&[
            example("log --goal importer", "the last events of a Goal"),
            example("log --todo importer.3 --since 2d --json", "of one Todo, for a program"),
        ]);

pub(super) const CHECK: Command =
    Command::lone("check", Group::Trust, Access::Reads, "Looks in files for what must not be public.")
        .long(&[
            "It looks for credentials, private keys, and paths, addresses and names of somebody's machines. A finding names its place and its kind, and never shows the value.",
            "In a git work tree it reads what a commit would hold: what is tracked, and what is neither tracked nor ignored. Binary files are counted and left out.",
            "A line that holds `loopx:allow KIND` may hold such a finding; where it holds none, the next line may. Several kinds are divided by commas.",
        ])
        .args(&[
            Arg::maybe("path", "PATH", Kind::Path, "A file or a folder; else the present folder").many(),
            Arg::switch("all", "Read every file, ignored ones too; never below `.git`"),
        ])
        .examples(&[
            example("check", "what the next commit would hold"),
            example("check src README.md --json", "some of it, for a program"),
            example("check --all", "what lies here, ignored or not"),
        ])
        .codes(&[Code::CheckFailed, Code::NotReady]);

pub(super) const METRICS: Command =
    Command::lone("metrics", Group::Trust, Access::Reads, "Shows how well work was kept, handed on and asked about.")
        .long(&[
            "Every number is counted from the events of the ledger, in all Goals or in that of `--goal`, and says what it means. What the ledger cannot tell yet is `unknown`, never zero.",
        ])
        .args(&[Arg::option("window", "DURATION", Kind::Duration, "How far back").default("7d")])
        .examples(&[
            example("metrics", "of the last seven days"),
            example("metrics --goal importer --window 30d --json", "of one Goal, for a program"),
        ]);

pub(super) const DOCTOR: Command =
    Command::lone("doctor", Group::Trust, Access::Reads, "Checks the installation and the ledger.")
        .long(&[
            "Each finding names the command that mends it. It changes nothing without a flag that says so.",
        ])
        .args(&[
            Arg::switch("accept-clock", "Take the present time after a jump of the clock").writes(),
            Arg::switch(
                "repair",
                "Cut damaged chains, keep what is cut in a file, begin a new life of the ledger",
            )
            .writes()
            .conflicts(&["accept-clock"]),
            DRY_RUN,
        ])
        .examples(&[
            example("doctor", "look"),
            example("doctor --accept-clock --dry-run", "whether the clock jumped"),
            example("doctor --repair --dry-run", "what would be cut, and where"),
        ])
        .codes(&[Code::CheckFailed, Code::UserOnly, Code::Unauthenticated]);
