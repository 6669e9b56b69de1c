//! Owns the rows of `quota`.

use super::{
    flags::{OWN, WORKSPACE},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const SHOULD_RUN: Command = Command::verb(
    "should-run",
    Access::Reads,
    "Says by its exit code whether an agent should run now.",
)
.long(&[
    "The decision of `next`, for a shell loop: 0 there is work, 10 wait, 11 a person has to act, 12 the Goal \
                 is closed.",
])
.args(&[Arg::option("agent", "AGENT", Kind::Id, "For this agent"), OWN, WORKSPACE])
.examples(&[
    example("quota should-run --agent coder", "in a loop: `while loopx quota should-run …; do …; done`"),
    example("quota should-run --agent coder --goal importer --json", "in one Goal, for a program"),
])
.codes(&[Code::Unauthenticated]);

pub(super) const QUOTA: Command =
    Command::noun("quota", Group::Budget, "What the budget of Turns lets happen.").verbs(&[SHOULD_RUN]);
