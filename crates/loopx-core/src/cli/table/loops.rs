//! Owns the row of `loop`.

use super::{
    flags::{DRY_RUN, WORKSPACE},
    shape::{Access, Arg, Command, Group, Kind, example},
    turn::{AGENT, ATTEMPTS, DEADLINE, ENDPOINT, HOST},
};
use crate::error::Code;

const RUN: Command = Command::verb("run", Access::Writes, "Repeats governed Turns, until a person or the budget ends it.")
    .long(&[
        "Each Turn goes the way of `turn run`: LoopX decides what comes next, the host works, the validators prove, LoopX \
         commits. A refused result is repaired, what only waits is waited for, and what a crash left is brought on first: \
         a loop that was killed is started again as it was.",
        "The first Ctrl-C lets the Turn that runs come to its end; a second one ends its host and stops it.",
        "It exits with 0 when the work is at its end, with 10 where it would have to wait, with 11 where a person has to \
         act, and else with the code of what ended it: 1 for a spent budget.",
    ])
    .args(&[
        HOST.required(),
        AGENT.required(),
        ENDPOINT,
        Arg::option(
            "turns",
            "N",
            Kind::Number { min: 1, max: 10_000 },
            "How many Turns it may run; with the same --op-id those of an earlier start count too",
        )
        .setting("loop.turns"),
        Arg::option("wall", "DURATION", Kind::Duration, "How long it begins Turns, at most 30d").setting("loop.wall"),
        Arg::option(
            "cost",
            "MICROS",
            Kind::Number { min: 1, max: u64::MAX },
            "What its hosts may report as their cost, in millionths; ends it where one reports none",
        ),
        Arg::switch("no-wait", "Exit with 10 where it would have to wait"),
        DEADLINE,
        ATTEMPTS,
        WORKSPACE,
        DRY_RUN,
    ])
    .examples(&[
        example("loop run --agent coder --host './host.sh'", "until nothing is left, a person is asked or 10 Turns ran"),
        example("loop run --agent coder --host './host.sh' --turns 3 --wall 2h --no-wait", "for a timer"),
    ])
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
