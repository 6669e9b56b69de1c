//! Owns the rows of `quota`.

use super::{
    flags::{OWN, WORKSPACE},
    shape::{Access, Arg, Command, DECISIONS, Group, Kind, example},
};
use crate::error::Code;

const ANY: Kind = Kind::Number { min: 0, max: 1 << 50 };

const SHOW: Command = Command::verb("show", Access::Reads, "Shows what is left of the budget, and who spent it.")
    .long(&[
        "Spent is what Turns that have ended count for, reserved what those that have not may still use. A Turn of \
             which no meter told counts at its ceiling, and is counted as unknown.",
        "With `--csv` one line for each Goal, agent or day of the window: what was measured, never zero for what is \
             not known.",
    ])
    .args(&[
        Arg::option(
            "csv",
            "BY",
            Kind::Choice(&["goal", "agent", "day"]),
            "Print the spending of the window as CSV, a line for each",
        ),
        Arg::option("window", "DURATION", Kind::Duration, "How far back the CSV looks, at most 31d")
            .default("7d")
            .needs(&["csv"]),
    ])
    .examples(&[
        example("quota show", "what every Goal and agent has left"),
        example("quota show --csv day --window 30d", "a month, for a spreadsheet"),
    ]);

const SET: Command = Command::verb("set", Access::Writes, "Sets a limit, or what one attempt of a Turn may use.")
    .long(&[
        "A limit is of the Goal, of one agent in it with `--agent`, or of all Goals with `--authority`; it counts over \
             a rolling window. What is not given is not limited any more; `--none` lifts the whole limit. A limit of 0 lets \
             nothing run until it is raised: no time frees it.",
        "A ceiling is what one attempt may use: a Turn is admitted only where that, for all attempts it may have, is \
             left. Without one a share of what is left is reserved.",
    ])
    .args(&[
        Arg::option("agent", "AGENT", Kind::Id, "Of this agent in the Goal"),
        Arg::switch("authority", "Of all Goals together").conflicts(&["agent", "todo"]),
        Arg::option("todo", "TODO", Kind::Id, "A ceiling of this Todo alone").conflicts(&["agent"]),
        Arg::option("turns", "N", Kind::Number { min: 0, max: 1_000_000 }, "Turns admitted at most"),
        Arg::option("tokens", "N", ANY, "Tokens"),
        Arg::option("cost", "AMOUNT", Kind::Text, "A cost with its currency, as 12.50USD"),
        Arg::option("wall", "DURATION", Kind::Duration, "Time at work"),
        Arg::option("window", "DURATION", Kind::Duration, "The window, 5m to 31d").default("24h"),
        Arg::switch("none", "Lift the limit").conflicts(&["turns", "tokens", "cost", "wall"]),
        Arg::option("ceiling-tokens", "N", ANY, "Tokens that one attempt may use"),
        Arg::option("ceiling-cost", "AMOUNT", Kind::Text, "The cost that one attempt may have, as 0.50"),
        Arg::option("ceiling-wall", "DURATION", Kind::Duration, "How long one attempt may take"),
        Arg::switch("no-ceiling", "Say no ceiling any more")
            .conflicts(&["ceiling-tokens", "ceiling-cost", "ceiling-wall"]),
    ])
    .examples(&[
        example("quota set --turns 20 --window 24h", "twenty Turns a day for the Goal"),
        example("quota set --agent coder --tokens 2000000 --cost 15USD", "what one agent may spend a day"),
        example("quota set --ceiling-tokens 100000", "what one attempt may use"),
    ])
    .codes(&[
        Code::NotFound,
        Code::CurrencyMismatch,
        Code::GoalClosed,
        Code::UserOnly,
        Code::Unauthenticated,
        Code::SchemaNeedsMigration,
    ]);

const USAGE: Command =
    Command::verb("usage", Access::Writes, "Reports what a Turn used since the last report of its meter.")
        .long(&[
            "Each report has a number, counted from 0 by whoever measures, and counts once however often it is sent and \
             whenever it comes. Whoever reads a meter that goes on counting subtracts first.",
        ])
        .args(&[
            Arg::positional("turn", "TURN", Kind::Id, "The Turn"),
            Arg::option("seq", "N", ANY, "The number of the report").required(),
            OWN,
            Arg::option("attempt", "N", Kind::Number { min: 1, max: 3 }, "The attempt; else the last one"),
            Arg::option("meter", "WHOSE", Kind::Choice(&["host", "account"]), "Who measured").default("host"),
            Arg::option("tokens-in", "N", ANY, "Tokens read"),
            Arg::option("tokens-out", "N", ANY, "Tokens written"),
            Arg::option("cost", "AMOUNT", Kind::Text, "The cost with its currency, as 0.12USD"),
            Arg::option("wall", "DURATION", Kind::Duration, "Time at work"),
        ])
        .examples(&[example("quota usage 0v7k3 --seq 0 --tokens-in 1200 --tokens-out 300", "the first report")])
        .codes(&[
            Code::NotFound,
            Code::OwnRequired,
            Code::OwnershipSuperseded,
            Code::CurrencyMismatch,
            Code::Unauthenticated,
            Code::SchemaNeedsMigration,
        ]);

const VOID: Command = Command::verb("void", Access::Writes, "Takes the spend of a Turn back.")
    .args(&[
        Arg::positional("turn", "TURN", Kind::Id, "The Turn whose spend is taken back"),
        Arg::option("reason", "TEXT", Kind::Text, "Why; goes into the log").required(),
    ])
    .examples(&[example("quota void 0v7k3 --reason 'the provider refunded it'", "it counts no more")])
    .codes(&[
        Code::NotFound,
        Code::InvalidTransition,
        Code::UserOnly,
        Code::Unauthenticated,
        Code::SchemaNeedsMigration,
    ]);

const SHOULD_RUN: Command =
    Command::verb("should-run", Access::Reads, "Says by its exit code whether an agent should run now.")
        .long(&["The decision of `next`, for a shell loop: 0 there is work."])
        .args(&[
            Arg::option("agent", "AGENT", Kind::Id, "For this agent"),
            Arg::switch("driven", "For a run by LoopX, which reserves for each attempt it may have"),
            OWN,
            WORKSPACE,
        ])
        .examples(&[
            example(
                "quota should-run --agent coder",
                "in a loop: `while loopx quota should-run …; do …; done`",
            ),
            example("quota should-run --agent coder --driven", "before `turn run`, which needs more room"),
            example("quota should-run --agent coder --goal importer --json", "in one Goal, for a program"),
        ])
        .answers(DECISIONS)
        .codes(&[Code::Unauthenticated]);

pub(super) const QUOTA: Command = Command::noun("quota", Group::Budget, "What may be spent, and what was.")
    .verbs(&[SHOW, SET, USAGE, VOID, SHOULD_RUN]);
