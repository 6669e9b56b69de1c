//! Owns the rows of `gate`.

use super::{
    flags::{ALL, CURSOR, LIMIT},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const ID: Arg = Arg::positional(
    "id",
    "GATE",
    Kind::Id,
    "The gate: `gate_…`, or its short form in lists; whole with --json",
);
const KINDS: &[&str] = &["decision", "approval", "credential", "access", "publication", "direction"];

const OPEN: Command =
    Command::verb("open", Access::Writes, "Asks a person, and blocks until there is an answer.")
        .args(&[
            Arg::positional("question", "QUESTION", Kind::Text, "What is asked, at most 512 bytes"),
            Arg::option("kind", "KIND", Kind::Choice(KINDS), "What kind of answer it needs")
                .default("decision"),
            Arg::option("option", "TEXT", Kind::Text, "An answer to choose from, at most 32").many(),
            Arg::option("blocks", "TODO|goal", Kind::Text, "A Todo it blocks, at most 32, or `goal` for all")
                .many()
                .required(),
            Arg::option(
                "scope",
                "KIND:KEY",
                Kind::Text,
                "What an approval covers: capability:K, path:PREFIX, effect:CLASS or publish",
            ),
            Arg::switch("standing", "Let an approval count until it expires, not once").needs(&["expires"]),
            Arg::option(
                "expires",
                "WHEN",
                Kind::When,
                "When a standing approval ends: a time, or a duration",
            )
            .needs(&["standing"]),
        ])
        .examples(&[
            example("gate open 'Which one?' --option a --option b --blocks importer.3", "a decision"),
            example("gate open 'Src?' --kind approval --scope path:src --blocks importer.3", "once"),
            example("gate open 'Go?' --kind publication --blocks goal --standing --expires 7d", "for a week"),
        ])
        .codes(&[Code::GoalClosed, Code::ActorNotAllowed, Code::UserOnly]);

const LIST: Command = Command::verb("list", Access::Reads, "Lists gates; without filters, those that block.")
    .aliases(&["ls"])
    .args(&[
        Arg::option(
            "state",
            "STATE",
            Kind::Choice(&["open", "deferred", "approved", "denied", "answered", "withdrawn", "expired"]),
            "Only in this state",
        )
        .many(),
        Arg::option("kind", "KIND", Kind::Choice(KINDS), "Only of this kind").many(),
        Arg::option("todo", "TODO", Kind::Id, "Only those that block this Todo"),
        LIMIT,
        CURSOR,
        ALL,
    ])
    .examples(&[example("gate list", "what waits for a person, in all Goals")]);

const SHOW: Command = Command::verb("show", Access::Reads, "Shows one gate and what it blocks.")
    .args(&[ID])
    .examples(&[example("gate show 0v7k3", "by the start of its id")]);

const RESOLVE: Command = Command::verb("resolve", Access::Writes, "Answers a gate.")
    .long(&[
        "Approve and deny are for approval, credential, access and publication; answer is for decision and \
             direction; defer is for all; reopen takes back a denial. It needs a proven user.",
    ])
    .args(&[
        ID,
        Arg::option("answer", "TEXT", Kind::Text, "The answer, or one of its options"),
        Arg::switch("approve", "Yes, for exactly its scope"),
        Arg::switch("deny", "No"),
        Arg::option("defer", "WHEN", Kind::When, "Not before this: a time, or a duration from now"),
        Arg::switch("reopen", "Ask again what was denied"),
        Arg::option("reason", "TEXT", Kind::Text, "Why it is denied; goes into the log"),
    ])
    .one_of(&["answer", "approve", "deny", "defer", "reopen"])
    .examples(&[
        example("gate resolve 0v7k3 --answer sqlite", "a decision"),
        example("gate resolve 0v7k3 --approve", "an approval"),
        example("gate resolve 0v7k3 --deny --reason 'not before the audit'", "a refusal"),
        example("gate resolve 0v7k3 --defer 2d", "ask again in two days"),
    ])
    .codes(&[Code::InvalidTransition, Code::GoalClosed, Code::UserOnly, Code::Unauthenticated]);

const WITHDRAW: Command = Command::verb("withdraw", Access::Writes, "Takes a question back.")
    .args(&[ID])
    .examples(&[example("gate withdraw 0v7k3", "nobody needs to answer")])
    .codes(&[Code::InvalidTransition, Code::GoalClosed, Code::ActorNotAllowed, Code::UserOnly]);

pub(super) const GATE: Command = Command::noun("gate", Group::Work, "Questions that wait for a person.")
    .verbs(&[OPEN, LIST, SHOW, RESOLVE, WITHDRAW]);
