//! Owns the row of `loop`.

use super::{
    flags::{DRY_RUN, WORKSPACE},
    shape::{ASKS_USER, Access, Arg, Command, Group, Kind, WAITS, example},
    turn::{AGENT, ATTEMPTS, DEADLINE, ENDPOINT, HOST},
};
use crate::error::Code;

const RUN: Command = Command::verb("run", Access::Writes, "Repeats Turns until a person or the budget ends it.")
    .long(&[
        "Refused results are repaired, what only waits is waited for, and what a crash left is brought on first: a killed \
         loop is started again as it was. The first Ctrl-C lets the Turn that runs come to its end; a second one stops it.",
        "It exits with 0 at the end of the work.",
    ])
    .args(&[
        HOST.required(),
        AGENT.required(),
        ENDPOINT,
        Arg::option(
            "turns",
            "N",
            Kind::Number { min: 1, max: 10_000 },
            "How many Turns it may run, over all starts of one --op-id",
        )
        .setting("loop.turns"),
        Arg::option("wall", "DURATION", Kind::Duration, "How long it begins Turns, at most 30d").setting("loop.wall"),
        Arg::option(
            "cost",
            "MICROS",
            Kind::Number { min: 1, max: u64::MAX },
            "What its hosts may report as their cost, in millionths",
        ),
        Arg::switch("no-wait", "Exit with 10 where it would have to wait"),
        DEADLINE,
        ATTEMPTS,
        WORKSPACE,
        DRY_RUN,
    ])
    .examples(&[
        example("loop run --agent coder --host './host.sh'", "until nothing is left, a person is asked or 10 Turns ran"),
        example("loop run --agent coder --host ./host.sh --turns 3 --no-wait", "for a timer"),
    ])
    .answers(&[WAITS, ASKS_USER])
    .codes(&[
        Code::NotReady,
        Code::ValidationFailed,
        Code::HostUnavailable,
        Code::StaleRevision,
        Code::ExecutorActive,
        Code::OwnershipSuperseded,
        Code::TurnUnresolved,
        Code::GoalStopped,
    ]);

pub(super) const LOOP: Command =
    Command::noun("loop", Group::Execute, "Turns, one after the other.").verbs(&[RUN]);
