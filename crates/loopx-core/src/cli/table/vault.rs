//! Owns the rows about the profile's stores as wholes: `backup`, `restore`, `migrate`, `gc`.

use super::{
    flags::DRY_RUN,
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

pub(super) const BACKUP: Command =
    Command::lone("backup", Group::Trust, Access::Writes, "Copies the ledger, and verifies the copy.")
        .long(&[
            "The copy is one state of the ledger, whatever is written meanwhile. It is looked through before it gets its \
             name, and only you can read it. Without a path it goes into the profile's `backups`.",
            "Facts are all in it. Bodies are not: what hosts printed, how they are started, the state of a work tree \
             before a Turn. With a backup alone such a Turn can be neither recovered nor undone, and its output is not \
             shown; `--include private` copies them too, into a second file. Tokens, work trees and snapshots are in neither.",
        ])
        .args(&[
            Arg::maybe("path", "PATH", Kind::Path, "The file to make"),
            Arg::option("include", "WHAT", Kind::Choice(&["private"]), "Copy the bodies too, into a file beside it"),
            Arg::switch("force", "Replace a regular file that is there already"),
        ])
        .examples(&[
            example("backup", "into the profile's own folder"),
            example("backup copies/loopx.db --force", "to a folder of yours, over the last one"),
        ])
        .codes(&[Code::UserOnly, Code::Unauthenticated, Code::DiskFull, Code::StoreCorrupt]);

pub(super) const RESTORE: Command = Command::lone(
    "restore",
    Group::Trust,
    Access::Writes,
    "Puts a backup in the place of the ledger.",
)
.long(&[
    "The backup is audited first; one that is damaged, of a newer schema, or another authority's changes \
     nothing. The ledger as it was is kept in `backups`, and the answer names the file.",
    "Another life of the ledger begins: whoever owned a Todo owns it no more, a live Turn becomes unresolved, and what \
     was done since the backup is not done again under its `--op-id`. Bodies, tokens and work trees stay as they are.",
])
.args(&[Arg::positional("path", "PATH", Kind::Path, "The backup"), DRY_RUN])
.examples(&[
    example("restore copies/loopx.db --dry-run", "whether it could be restored, and what it holds"),
    example("restore copies/loopx.db", "with the ledger as it was kept"),
])
.codes(&[
    Code::UserOnly,
    Code::Unauthenticated,
    Code::TurnRunning,
    Code::OrphanedGoalState,
    Code::SchemaTooNew,
    Code::StoreCorrupt,
    Code::StoreBusy,
    Code::DiskFull,
]);

pub(super) const MIGRATE: Command = Command::lone(
    "migrate",
    Group::Trust,
    Access::Writes,
    "Brings the profile's databases to the newest schema.",
)
.long(&[
    "Each database is copied into the profile's `backups` first, and changed in one transaction: killed on the way it \
     has the old schema or the new one, and giving the command again ends it. An older release refuses the new schema; \
     the copy leads back.",
    "A release reads and writes the newest schema and the one before; nothing but this command changes it.",
])
.args(&[DRY_RUN])
.examples(&[
    example("migrate --dry-run", "what would be changed"),
    example("migrate", "with a copy of the databases as they were"),
])
.codes(&[
    Code::UserOnly,
    Code::Unauthenticated,
    Code::SchemaTooNew,
    Code::StoreBusy,
    Code::DiskFull,
]);

pub(super) const GC: Command = Command::lone(
    "gc",
    Group::Trust,
    Access::Writes,
    "Removes what is kept no longer: bodies, spools, snapshots.",
)
.long(&[
    "Bodies are what hosts and validators printed, how hosts are started, and the state of a work tree before a Turn. They go \
     once their Turn has ended for `retention.bodies`; snapshots as `snapshot.age` and `snapshot.turns` say; what is left of \
     an attempt, once its Turn has ended; and what no fact points at, once it is a day old.",
    "Nothing goes of a Turn that has not ended, nor what the last Turn of an open Todo said. Facts, receipts and digests \
     stay, so `audit verify` and `verify` say what they said before; what is purged is shown as purged. Backups, work trees \
     and tokens are not touched.",
])
.args(&[
    Arg::option("older-than", "DURATION", Kind::Duration, "Bodies of Turns that ended this long ago; `0s` for all that ended")
        .setting("retention.bodies"),
    DRY_RUN,
])
.examples(&[
    example("gc --dry-run", "what would go, and how much that is"),
    example("gc", "as the settings say"),
    example("gc --older-than 7d", "for once, more of what was printed"),
])
.codes(&[Code::UserOnly, Code::Unauthenticated, Code::StoreBusy, Code::DiskFull]);
