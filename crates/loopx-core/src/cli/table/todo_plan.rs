//! Owns the rows of `todo` that move the plan: links, waiting, blocking, ending without doing.

use super::{
    flags::{EXPECT, OWN, REASON},
    shape::{Access, Arg, Command, Kind, example},
    todo::ID,
};
use crate::error::Code;

const DEPENDS_ON: Arg =
    Arg::option("depends-on", "TODO", Kind::Id, "The Todo that must be done first, at most 64")
        .many()
        .required();
const MUST_REASON: Arg = REASON.required();
const MOVE_CODES: &[Code] = &[
    Code::InvalidTransition,
    Code::StaleRevision,
    Code::TurnRunning,
    Code::TurnUnresolved,
    Code::GoalClosed,
    Code::ActorNotAllowed,
];

pub(super) const LINK: Command = Command::verb("link", Access::Writes, "Makes a Todo wait for others.")
    .args(&[ID, DEPENDS_ON, EXPECT])
    .examples(&[example(
        "todo link importer.5 --depends-on importer.3 --depends-on importer.4",
        "two at once",
    )])
    .codes(&[
        Code::DependencyCycle,
        Code::DependencyGraphTooLarge,
        Code::InvalidTransition,
        Code::StaleRevision,
        Code::GoalClosed,
        Code::ActorNotAllowed,
    ]);

pub(super) const UNLINK: Command = Command::verb("unlink", Access::Writes, "Makes a Todo wait no longer.")
    .args(&[ID, DEPENDS_ON, EXPECT])
    .examples(&[example("todo unlink importer.5 --depends-on importer.3", "it no longer waits for it")])
    .codes(MOVE_CODES);

pub(super) const DEFER: Command =
    Command::verb("defer", Access::Writes, "Puts a Todo off until something happens.")
        .args(&[
            ID,
            Arg::option("wake", "WAKE", Kind::Wake, "Until after:WHEN, todo_done:TODO or gate:GATE")
                .required(),
            OWN,
            EXPECT,
        ])
        .examples(&[
            example("todo defer importer.5 --wake after:3d", "for three days"),
            example("todo defer importer.5 --wake after:2031-05-01T09:00:00Z", "until a time"),
            example("todo defer importer.5 --wake todo_done:importer.3", "until another is done"),
        ])
        .codes(MOVE_CODES);

pub(super) const BLOCK: Command = Command::verb("block", Access::Writes, "Says that a Todo cannot go on.")
    .args(&[ID, MUST_REASON, OWN, EXPECT])
    .examples(&[example("todo block importer.5 --reason 'no test account'", "and what is missing")])
    .codes(MOVE_CODES);

pub(super) const UNBLOCK: Command = Command::verb("unblock", Access::Writes, "Says that a Todo can go on.")
    .args(&[ID, EXPECT])
    .examples(&[example("todo unblock importer.5", "it can go on")])
    .codes(MOVE_CODES);

pub(super) const HOLD: Command = Command::verb("hold", Access::Writes, "Lets nobody start a Todo.")
    .long(&["Under a running Turn it holds when the result is there."])
    .args(&[ID, EXPECT])
    .examples(&[example("todo hold importer.5", "hold it")])
    .codes(MOVE_CODES);

pub(super) const UNHOLD: Command = Command::verb("unhold", Access::Writes, "Ends a hold.")
    .args(&[ID, EXPECT])
    .examples(&[example("todo unhold importer.5", "let it go on")])
    .codes(MOVE_CODES);

pub(super) const RESOLVE: Command = Command::verb("resolve", Access::Writes, "Resolves a blocker.")
    .args(&[
        ID,
        Arg::option(
            "evidence",
            "EVIDENCE",
            Kind::Id,
            "The id of what shows it, `evd_…`, from `evidence add`; an agent needs some",
        )
        .many(),
        EXPECT,
    ])
    .examples(&[example("todo resolve importer.7", "it blocks no longer")])
    .codes(MOVE_CODES);

pub(super) const CANCEL: Command = Command::verb("cancel", Access::Writes, "Ends a Todo without doing it.")
    .long(&["It approves nothing, and what depends on it waits for a person's word."])
    .args(&[
        ID,
        MUST_REASON,
        Arg::option("superseded-by", "TODO", Kind::Id, "The Todo that takes its place"),
        EXPECT,
    ])
    .examples(&[
        example("todo cancel importer.5 --reason 'not needed'", "drop it"),
        example("todo cancel importer.5 --reason 'split up' --superseded-by importer.8", "replace it"),
    ])
    .codes(MOVE_CODES);

pub(super) const REOPEN: Command = Command::verb("reopen", Access::Writes, "Opens an ended Todo again.")
    .args(&[ID, EXPECT])
    .examples(&[example("todo reopen importer.3", "do it again")])
    .codes(MOVE_CODES);
