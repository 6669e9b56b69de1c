//! Owns the rows about the databases as wholes: `migrate`.

use super::{
    flags::DRY_RUN,
    shape::{Access, Command, Group, example},
};
use crate::error::Code;

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
