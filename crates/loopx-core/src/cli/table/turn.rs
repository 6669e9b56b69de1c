//! Owns the rows of `turn`.

use super::{
    flags::{ALL, CURSOR, DRY_RUN, LIMIT, REASON, WORKSPACE},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const ID: Arg = Arg::positional(
    "id",
    "TURN",
    Kind::Id,
    "The Turn: `trn_…`, or its short form in lists; whole with --json",
);
const TODO: Arg = Arg::option("todo", "TODO", Kind::Id, "The Todo; else what the agent should do next");
pub(super) const AGENT: Arg = Arg::option("agent", "AGENT", Kind::Id, "The agent that works");
pub(super) const HOST: Arg =
    Arg::option("host", "COMMAND", Kind::Argv, "The command that does the work; no shell is run");
pub(super) const DEADLINE: Arg =
    Arg::option("deadline", "DURATION", Kind::Duration, "When an attempt is ended, at most 24h")
        .setting("turn.deadline");
pub(super) const ATTEMPTS: Arg = Arg::option(
    "attempts",
    "N",
    Kind::Number { min: 1, max: 3 },
    "How often a lost host is started again, 1 to 3",
)
.setting("turn.attempts");
pub(super) const ENDPOINT: Arg =
    Arg::option("endpoint", "ENDPOINT", Kind::Id, "Who executes for the agent; else `AGENT.cli`");
const MOVE_CODES: &[Code] =
    &[Code::InvalidTransition, Code::ExecutorActive, Code::UserOnly, Code::Unauthenticated];

const PLAN: Command = Command::verb("plan", Access::Reads, "Shows what `turn run` would do, and why.")
    .args(&[TODO, AGENT.required()])
    .examples(&[
        example("turn plan --agent coder", "the next Todo, and what would prove it"),
        example("turn plan --agent coder --todo importer.3 --json", "for one Todo, for a program"),
    ])
    .codes(&[
        Code::NotClaimable,
        Code::AlreadyClaimed,
        Code::GateBlocked,
        Code::GoalStopped,
        Code::GoalClosed,
    ]);

const RUN: Command = Command::verb("run", Access::Writes, "Runs one governed Turn: work, proof, one commit.")
    .long(&[
        "LoopX decides, the host works, the validators prove, LoopX commits once. The host reads one JSON \
             object from stdin and writes one to stdout. All that it starts is ended with it.",
    ])
    .args(&[HOST.required(), TODO, AGENT.required(), ENDPOINT, DEADLINE, ATTEMPTS, WORKSPACE, DRY_RUN])
    .examples(&[
        example("turn run --agent coder --host './host.sh'", "the next Todo"),
        example(
            "turn run --agent coder --host 'python3 h.py' --deadline 10m",
            "ten minutes for each attempt",
        ),
    ])
    .codes(&[
        Code::ValidationFailed,
        Code::HostUnavailable,
        Code::AlreadyClaimed,
        Code::NotClaimable,
        Code::WriteScopeConflict,
        Code::ExecutorActive,
        Code::TurnUnresolved,
        Code::GateBlocked,
        Code::GateOpened,
        Code::Held,
        Code::QuotaExhausted,
        Code::GoalStopped,
        Code::GoalClosed,
    ]);

const LIST: Command = Command::verb("list", Access::Reads, "Lists Turns; without filters, those not ended.")
    .aliases(&["ls"])
    .args(&[
        Arg::option(
            "state",
            "STATE",
            Kind::Choice(&[
                "admitted",
                "dispatched",
                "candidate",
                "held", // same spelling: a state
                "unresolved",
                "settled",
                "stopped",
                "failed",
                "fenced",
            ]),
            "Only in this state",
        )
        .many(),
        Arg::option("todo", "TODO", Kind::Id, "Only on this Todo"),
        Arg::option("agent", "AGENT", Kind::Id, "Only of this agent"),
        LIMIT,
        CURSOR,
        ALL,
    ])
    .examples(&[
        example("turn list", "what runs, is held or unresolved"),
        example("turn list --todo importer.3 --state failed", "what went wrong"),
    ]);

const SHOW: Command = Command::verb("show", Access::Reads, "Shows one Turn: phases, verdicts, receipts.")
    .args(&[
        ID,
        Arg::switch(
            "output",
            "What its hosts and validators printed, and how they ended; kept on this machine alone",
        ),
    ])
    .examples(&[
        example("turn show 0v7k3", "by the start of its id"),
        example("turn show 0v7k3 --output", "why a host crashed, or what a validator said"),
    ]);

const STOP: Command = Command::verb("stop", Access::Writes, "Ends a Turn and all that it started.")
    .long(&["For a Turn whose agent works by itself nothing was started: what that agent runs goes on, and no result of it \
             is taken any more."])
    .args(&[ID, REASON])
    .examples(&[example("turn stop 0v7k3 --reason 'wrong branch'", "stop it")])
    .codes(MOVE_CODES);

const ACCEPT: Command = Command::verb("accept", Access::Writes, "Lets a result stand for a changed Todo.")
    .long(&["For a Turn held because what it was asked for has changed; its result is proved again."])
    .args(&[ID, REASON])
    .examples(&[example("turn accept 0v7k3", "the result is good for the new text too")])
    .codes(MOVE_CODES);

const RECOVER: Command = Command::verb(
    "recover",
    Access::Writes,
    "Brings a Turn to an honest end after a crash.",
)
.long(&[
    "With `--prove` it records what can be proven, and starts nothing. With `--resume` it also goes on: it \
         reads a finished result, runs validators, or starts the host again where its end was seen, or nothing can have changed.",
])
.args(&[
    Arg::maybe("id", "TURN", Kind::Id, "The Turn; else, with `--prove`, all of this machine"),
    Arg::switch("prove", "Record what can be proven, and start nothing"),
    Arg::switch("resume", "Go on with it; needs its id").needs(&["id"]),
    HOST.needs(&["resume"]),
    DRY_RUN,
])
.one_of(&["prove", "resume"])
.examples(&[
    example("turn recover --prove", "everything on this machine"),
    example("turn recover 0v7k3 --resume", "one Turn, to its end"),
])
.codes(&[
    Code::ValidationFailed,
    Code::HostUnavailable,
    Code::ExecutorActive,
    Code::InvalidTransition,
    Code::TurnUnresolved,
    Code::GateOpened,
    Code::Held,
]);

const ABANDON: Command = Command::verb("abandon", Access::Writes, "Gives up a Turn that cannot be proven.")
    .args(&[ID, REASON.required()])
    .examples(&[example("turn abandon 0v7k3 --reason 'its machine is gone'", "free its Todo")])
    .codes(MOVE_CODES);

const DIFF: Command = Command::verb("diff", Access::Reads, "Shows what a Turn changed in its work tree.")
    .long(&[
        "Between a snapshot before the Turn and one after it, in a repository of LoopX's own. A `shared` path may be \
             another Turn's; of a path that is not restorable LoopX keeps no content. Of a Turn that has not ended it is \
             the difference up to now.",
    ])
    .args(&[
        ID,
        Arg::switch("stat", "One line a path: how it changed, and whether `turn undo` would put it back now"),
        Arg::switch("name-only", "The paths alone").conflicts(&["stat"]),
    ])
    .examples(&[
        example("turn diff 0v7k3", "as a unified difference"),
        example("turn diff 0v7k3 --stat", "its paths, and which of them an undo would put back"),
    ]);

const UNDO: Command = Command::verb("undo", Access::Writes, "Puts back what a Turn changed in its work tree.")
    .long(&[
        "Only paths that still hold what the Turn left there, and that are its own. The present is recorded first, and \
             `--redo` does what was undone again. No fact changes: a Todo that is done stays done. Refused while another \
             Turn of the work tree has not ended, also a held one; none is admitted there meanwhile. Whoever may execute a \
             file is put back; the rest of a mode is the present file's, or as a checkout gives it.",
    ])
    .args(&[ID, Arg::switch("redo", "Do again what the Turn did, after an undo"), DRY_RUN])
    .examples(&[
        example("turn undo 0v7k3 --dry-run", "what it would put back"),
        example("turn undo 0v7k3", "put it back"),
    ])
    .codes(&[
        Code::InvalidTransition,
        Code::ExecutorActive,
        Code::UserOnly,
        Code::Unauthenticated,
        Code::NotReady,
        Code::WriteScopeConflict,
        Code::ReconciliationRequired,
    ]);

pub(super) const TURN: Command =
    Command::noun("turn", Group::Execute, "Governed attempts: work, proof, one commit.")
        .verbs(&[PLAN, RUN, LIST, SHOW, STOP, ACCEPT, RECOVER, ABANDON, DIFF, UNDO]);
