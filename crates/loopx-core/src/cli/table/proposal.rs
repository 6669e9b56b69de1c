//! Owns the rows of `proposal`.

use super::{
    flags::{ALL, CURSOR, LIMIT},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const ID: Arg = Arg::positional(
    "id",
    "PROPOSAL",
    Kind::Id,
    "The proposal: `prp_…`, or its short form in lists; whole with --json",
);

const ADD: Command = Command::verb("add", Access::Writes, "Proposes a command that only a person may give.")
    .long(&[
        "The words after `--` are a command of this program that writes: of goal, todo, gate, agent, or \
             `evidence add`. It is kept as it was understood, and nothing of it is done before a person confirms it.",
        "An agent has at most 64 proposals in a Goal that wait for a person.",
    ])
    .args(&[
        Arg::positional("command", "COMMAND", Kind::Text, "The command, word by word, after `--`").many(),
        Arg::option("reason", "TEXT", Kind::Text, "Why, at most 512 bytes; paths are taken out").required(),
        Arg::switch("dream", "It is an idea: nobody waits for it, and it is never shown as due"),
    ])
    .examples(&[
        example(
            "proposal add --reason 'done by 7' -- todo hold importer.3",
            "a Todo that somebody else made",
        ),
        example(
            "proposal add --dream --reason 'too slow' -- todo add 'A parser'",
            "an idea of more work",
        ),
    ])
    .codes(&[Code::ActorNotAllowed, Code::QueueFull, Code::GoalClosed, Code::SchemaNeedsMigration]);

const LIST: Command =
    Command::verb("list", Access::Reads, "Lists proposals; without --ended, those that wait for a person.")
        .aliases(&["ls"])
        .args(&[
            Arg::switch("ended", "Those that were answered, withdrawn or overtaken too"),
            Arg::option("todo", "TODO", Kind::Id, "Only those made at work on this Todo"),
            LIMIT,
            CURSOR,
            ALL,
        ])
        .examples(&[example("proposal list", "what waits for a person")]);

const SHOW: Command = Command::verb("show", Access::Reads, "Shows one proposal and its command.")
    .args(&[ID])
    .examples(&[example("proposal show 0v7k3", "by the start of its id")]);

const CONFIRM: Command = Command::verb(
    "confirm",
    Access::Writes,
    "Gives the command of a proposal as yours.",
)
.long(&[
    "Exactly what was proposed is done, in the same commit, by the rules for you. Where what its author \
             expected is no longer so, the proposal ends as stale. It needs a proven user.",
])
.args(&[ID])
.examples(&[example("proposal confirm 0v7k3", "yes")])
.codes(&[
    Code::StaleRevision,
    Code::InvalidTransition,
    Code::GoalClosed,
    Code::UserOnly,
    Code::Unauthenticated,
]);

const REJECT: Command = Command::verb("reject", Access::Writes, "Says no to a proposal.")
    .args(&[ID, Arg::option("reason", "TEXT", Kind::Text, "Why, at most 512 bytes")])
    .examples(&[example("proposal reject 0v7k3 --reason 'not before the audit'", "no")])
    .codes(&[Code::InvalidTransition, Code::GoalClosed, Code::UserOnly, Code::Unauthenticated]);

const DEFER: Command = Command::verb("defer", Access::Writes, "Says not now to a proposal.")
    .args(&[
        ID,
        Arg::option("until", "WHEN", Kind::When, "Not before this: a time, or a duration from now")
            .required(),
    ])
    .examples(&[example("proposal defer 0v7k3 --until 2d", "ask again in two days")])
    .codes(&[Code::InvalidTransition, Code::GoalClosed, Code::UserOnly, Code::Unauthenticated]);

const WITHDRAW: Command = Command::verb("withdraw", Access::Writes, "Takes your own proposal back.")
    .args(&[ID])
    .examples(&[example("proposal withdraw 0v7k3 --as agent:ada", "it is not needed any more")])
    .codes(&[Code::InvalidTransition, Code::GoalClosed, Code::ActorNotAllowed]);

pub(super) const PROPOSAL: Command =
    Command::noun("proposal", Group::Work, "Commands that wait for a person's word.")
        .verbs(&[ADD, LIST, SHOW, CONFIRM, REJECT, DEFER, WITHDRAW]);
