//! Owns the rows of `todo`: making, looking, changing.
//!
//! What an owner does stands in `todo_owned`, what moves the plan in `todo_plan`.

use super::{
    flags::{
        ALL, CAPABILITY, CURSOR, EXPECT, LIMIT, PROGRESS_EXIT, SCOPE, TIMEOUT, VALIDATOR, VALIDATOR_ENV,
    },
    shape::{Access, Arg, Command, Group, Kind, example},
    todo_owned, todo_plan,
};
use crate::error::Code;

pub(super) const ID: Arg = Arg::positional(
    "id",
    "TODO",
    Kind::Id,
    "The Todo: `GOAL.N`, or `N` in the folder's Goal; whole with --json",
);
pub(super) const PRIORITIES: Kind = Kind::Choice(&["P0", "P1", "P2", "P3", "P4"]);

const DETAIL: Arg = Arg::option("detail", "TEXT", Kind::Text, "What the title cannot say, at most 4 KiB");
const EFFECT: Arg =
    Arg::option("effect", "CLASS", Kind::Text, "A class of effects outside LoopX that it may have").many();
const EXCLUDE: Arg =
    Arg::option("exclude", "AGENT", Kind::Id, "An agent that may not do it, at most 32").many();
const EVERY: Arg =
    Arg::option("every", "DURATION", Kind::Duration, "How often a monitor looks, at least 60s");
const UNCHANGED_LIMIT: Arg = Arg::option(
    "unchanged-limit",
    "N",
    Kind::Number { min: 1, max: 10_000 },
    "Looks without change, then it asks for a new plan",
);

const COORDINATES: Arg =
    Arg::option("coordinates", "TODO", Kind::Id, "The coordinator Todo that it returns its result to");

const ADD: Command = Command::verb("add", Access::Writes, "Adds a Todo to a Goal.")
    .long(&["An agent does an `advance` and watches a `monitor`; a `blocker` is resolved, a person does an \
             `action`. Without validators of its own the Goal's prove it."])
    .args(&[
        Arg::positional("title", "TITLE", Kind::Text, "What is to be done, at most 240 bytes"),
        DETAIL,
        Arg::option(
            "kind",
            "KIND",
            Kind::Choice(&["advance", "monitor", "blocker", "action"]),
            "What kind of work it is",
        )
        .default("advance"),
        Arg::option("priority", "P", PRIORITIES, "How soon").default("P2"),
        Arg::option("depends-on", "TODO", Kind::Id, "A Todo that must be done first, at most 64").many(),
        Arg::option("wake", "WAKE", Kind::Wake, "Deferred until after:WHEN, todo_done:TODO, gate:GATE")
            .conflicts(&["blocked"]),
        Arg::option("blocked", "REASON", Kind::Text, "Add it blocked, and say why"),
        CAPABILITY,
        SCOPE,
        EFFECT,
        Arg::switch("publish", "It publishes something"),
        EXCLUDE,
        VALIDATOR,
        PROGRESS_EXIT,
        TIMEOUT,
        VALIDATOR_ENV,
        EVERY,
        UNCHANGED_LIMIT,
        Arg::option("reviews", "TODO", Kind::Id, "The Todo it reviews; its author may not do it"),
        COORDINATES,
        Arg::switch("hold", "Let nobody start it yet"),
    ])
    .examples(&[
        example("todo add 'Fix the login test' --priority P1", "in the folder's Goal"),
        example("todo add 'Port it' --validator 'make test' --scope src", "proof and scope"),
        example("todo add 'Look at it' --kind monitor --every 15m", "a monitor"),
    ])
    .codes(&[
        Code::BoundaryViolation,
        Code::DependencyCycle,
        Code::DependencyGraphTooLarge,
        Code::InvalidTransition,
        Code::GoalClosed,
        Code::ActorNotAllowed,
    ]);

const LIST: Command = Command::verb("list", Access::Reads, "Lists Todos; without filters, those still open.")
    .aliases(&["ls"])
    .args(&[
        Arg::option(
            "state",
            "STATE",
            Kind::Choice(&["open", "deferred", "blocked", "done", "cancelled"]),
            "Only in this state",
        )
        .many(),
        Arg::option(
            "kind",
            "KIND",
            Kind::Choice(&["advance", "monitor", "replan", "blocker", "action"]),
            "Only of this kind",
        )
        .many(),
        Arg::option("priority", "P", PRIORITIES, "Only of this priority").many(),
        Arg::option("agent", "AGENT", Kind::Id, "Only what this agent owns"),
        LIMIT,
        CURSOR,
        ALL,
    ])
    .examples(&[
        example("todo list", "the first page of what is open"),
        example("todo list --state done --goal importer --json", "for a program"),
    ]);

const SHOW: Command = Command::verb("show", Access::Reads, "Shows one Todo, its owner and its Turns.")
    .args(&[ID])
    .examples(&[example("todo show importer.3", "all that is known about it")]);

const UPDATE: Command = Command::verb("update", Access::Writes, "Changes what a Todo asks for.")
    .long(&["A list that is given replaces the whole list. A running Turn finds the change at its end."])
    .args(&[
        ID,
        Arg::option("title", "TEXT", Kind::Text, "The new title, at most 240 bytes"),
        DETAIL,
        Arg::option("priority", "P", PRIORITIES, "The new priority"),
        CAPABILITY,
        SCOPE,
        EFFECT,
        Arg::option("publish", "YES|NO", Kind::Choice(&["yes", "no"]), "Whether it publishes something"),
        EXCLUDE,
        VALIDATOR,
        PROGRESS_EXIT,
        TIMEOUT,
        VALIDATOR_ENV,
        COORDINATES,
        Arg::option(
            "clear",
            "LIST",
            Kind::Choice(&["capability", "scope", "effect", "exclude", "validator", "coordinates"]),
            "Empty this",
        )
        .many(),
        EXPECT,
    ])
    .examples(&[
        example("todo update importer.3 --priority P0", "make it urgent"),
        example("todo update importer.3 --clear scope --expect 7", "only if nobody changed it since"),
    ])
    .codes(&[
        Code::StaleRevision,
        Code::InvalidTransition,
        Code::BoundaryViolation,
        Code::ActorNotAllowed,
        Code::Unauthenticated,
    ]);

pub(super) const TODO: Command = Command::noun("todo", Group::Work, "The work of a Goal, and who owns it.")
    .verbs(&[
        ADD,
        LIST,
        SHOW,
        todo_owned::CLAIM,
        todo_owned::RENEW,
        todo_owned::PROGRESS,
        todo_owned::DONE,
        todo_owned::LOOK,
        todo_owned::RELEASE,
        todo_owned::TRANSFER,
        UPDATE,
        todo_plan::LINK,
        todo_plan::UNLINK,
        todo_plan::DEFER,
        todo_plan::BLOCK,
        todo_plan::UNBLOCK,
        todo_plan::HOLD,
        todo_plan::UNHOLD,
        todo_plan::RESOLVE,
        todo_plan::CANCEL,
        todo_plan::REOPEN,
    ]);
