//! Owns the rows of `goal`.

use super::{
    flags::{
        ALL, CURSOR, EXPECT, LIMIT, PROGRESS_EXIT, REASON, SCOPE, TIMEOUT, VALIDATOR, VALIDATOR_ENV,
        WORKSPACE,
    },
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const WHICH: Arg = Arg::maybe("id", "GOAL", Kind::Slug, "The Goal; else `--goal`, else the folder's");
const ACCEPTANCE: Arg =
    Arg::option("acceptance", "TEXT", Kind::Text, "A criterion of acceptance, at most 32").many();
const CHECK: Arg =
    Arg::option("check", "N=COMMAND", Kind::NumberedArgv, "A command that checks the Nth criterion, from 1")
        .many();
const NON_GOAL: Arg = Arg::option("non-goal", "TEXT", Kind::Text, "What is not wanted, at most 32").many();
const NEEDS_APPROVAL: Arg = Arg::option(
    "needs-approval",
    "KEY",
    Kind::Text,
    "What needs an approval first: capability:K, path:PREFIX, effect:CLASS or publish",
)
.many();
const STOP_CONDITION: Arg =
    Arg::option("stop-condition", "TEXT", Kind::Text, "When to stop, at most 32").many();
const SOURCE: Arg =
    Arg::option("source", "POINTER", Kind::Text, "What the work must obey: a URL or relative path").many();
const CLEARABLE: Kind = Kind::Choice(&[
    "acceptance",
    "non-goal",
    "scope",
    "needs-approval",
    "stop-condition",
    "validator",
    "source",
]);

const START: Command = Command::verb("start", Access::Writes, "Starts a Goal.")
    .long(&[
        "Its slug is made from the objective: lower case, runs of other characters become `-`, at most 48 \
             bytes; a second one with the same slug is refused unless `--id` gives it another.",
    ])
    .args(&[
        Arg::positional("objective", "OBJECTIVE", Kind::Text, "What is to be reached, at most 4 KiB"),
        Arg::option("id", "SLUG", Kind::Slug, "The slug, `[a-z0-9][a-z0-9-]*`, at most 48 bytes"),
        ACCEPTANCE,
        CHECK,
        NON_GOAL,
        SCOPE,
        NEEDS_APPROVAL,
        Arg::switch("exclusive-workspace", "Let one Turn at a time work in the tree"),
        WORKSPACE,
        STOP_CONDITION,
        VALIDATOR,
        PROGRESS_EXIT,
        TIMEOUT,
        VALIDATOR_ENV,
        SOURCE,
        Arg::option(
            "unvalidated",
            "POLICY",
            Kind::Choice(&["ask", "trust"]),
            "Without a validator: ask a person, or trust the agent",
        )
        .default("ask"),
    ])
    .examples(&[
        example("goal start 'Ship the importer' --acceptance 'the import test passes'", "one criterion"),
        example(
            "goal start 'Ship it' --id importer --validator 'cargo test' --scope src",
            "with a proof and a boundary",
        ),
    ])
    .codes(&[Code::GoalExists]);

const SHOW: Command = Command::verb("show", Access::Reads, "Shows one Goal.")
    .args(&[WHICH])
    .examples(&[example("goal show importer", "objective, acceptance, boundary, counts")]);

const LIST: Command = Command::verb("list", Access::Reads, "Lists Goals.")
    .aliases(&["ls"])
    .args(&[
        Arg::option("state", "STATE", Kind::Choice(&["active", "stopped", "closed"]), "Only in this state")
            .many(),
        LIMIT,
        CURSOR,
        ALL,
    ])
    .examples(&[
        example("goal list", "all Goals"),
        example("goal list --state active --json", "for a program"),
    ]);

const UPDATE: Command = Command::verb("update", Access::Writes, "Changes what a Goal wants.")
    .long(&[
        "A list that is given replaces the whole list. What is wanted, and what proves it, needs a proven \
             user: on a terminal LoopX asks, elsewhere it takes a token.",
    ])
    .args(&[
        WHICH,
        Arg::option("objective", "TEXT", Kind::Text, "The new objective, at most 4 KiB"),
        ACCEPTANCE,
        CHECK,
        NON_GOAL,
        SCOPE,
        NEEDS_APPROVAL,
        Arg::option(
            "exclusive-workspace",
            "YES|NO",
            Kind::Choice(&["yes", "no"]),
            "Whether one Turn at a time works in the tree",
        ),
        STOP_CONDITION,
        VALIDATOR,
        PROGRESS_EXIT,
        TIMEOUT,
        VALIDATOR_ENV,
        SOURCE,
        Arg::option("clear", "LIST", CLEARABLE, "Empty this list").many(),
        Arg::option(
            "criterion",
            "N",
            Kind::Number { min: 1, max: 32 },
            "The criterion to waive, counted from 1",
        )
        .needs(&["waive"]),
        Arg::option("waive", "REASON", Kind::Text, "Accept that criterion without evidence, and say why")
            .needs(&["criterion"]),
        EXPECT,
    ])
    .examples(&[
        example("goal update importer --validator 'cargo test -q'", "new validators"),
        example("goal update importer --criterion 2 --waive 'measured by hand'", "waive a criterion"),
    ])
    .codes(&[Code::StaleRevision, Code::GoalClosed, Code::UserOnly, Code::Unauthenticated]);

const STOP: Command = Command::verb("stop", Access::Writes, "Admits nothing new; what runs goes on.")
    .args(&[WHICH])
    .examples(&[example("goal stop importer", "stop it for now")])
    .codes(&[Code::InvalidTransition, Code::GoalClosed]);

const RESUME: Command = Command::verb("resume", Access::Writes, "Lets a stopped Goal go on.")
    .args(&[WHICH])
    .examples(&[example("goal resume importer", "go on")])
    .codes(&[Code::InvalidTransition, Code::GoalClosed, Code::UserOnly, Code::Unauthenticated]);

const CLOSE: Command = Command::verb("close", Access::Writes, "Closes a Goal as achieved or abandoned.")
    .long(&["Achieved needs every Todo ended and every criterion met or waived; abandoned needs a reason."])
    .args(&[
        WHICH,
        Arg::switch("achieved", "Everything it wanted is there"),
        Arg::switch("abandoned", "It is given up; needs `--reason`").needs(&["reason"]),
        REASON,
        Arg::option(
            "waive",
            "EFFECT=REASON",
            Kind::Text,
            "Let an effect go that was written off, and say why",
        )
        .many()
        .conflicts(&["abandoned"]),
    ])
    .one_of(&["achieved", "abandoned"])
    .examples(&[
        example("goal close importer --achieved", "it is done"),
        example("goal close importer --abandoned --reason 'the vendor left'", "it is given up"),
    ])
    .codes(&[
        Code::InvalidTransition,
        Code::GateBlocked,
        Code::TurnRunning,
        Code::TurnUnresolved,
        Code::EffectUnresolved,
        Code::UserOnly,
        Code::Unauthenticated,
    ]);

const REOPEN: Command = Command::verb("reopen", Access::Writes, "Makes a closed Goal active again.")
    .args(&[WHICH])
    .examples(&[example("goal reopen importer", "take it up again")])
    .codes(&[Code::InvalidTransition, Code::UserOnly, Code::Unauthenticated]);

const EXPORT: Command = Command::verb("export", Access::Reads, "Prints a Goal with its whole history.")
    .long(&["All that is public of it: rows, events with their chain, receipts. No body, handle or private path; an \
             ownership token is printed as its digest."])
    .args(&[WHICH])
    .examples(&[example("goal export importer --json", "for a program")]);

pub(super) const GOAL: Command =
    Command::noun("goal", Group::Work, "Objectives, and what proves them reached.")
        .verbs(&[START, SHOW, LIST, UPDATE, STOP, RESUME, CLOSE, REOPEN, EXPORT]);
