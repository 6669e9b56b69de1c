//! Owns the rows that look across nouns: `find`, `log`, `doctor`.

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
