//! Owns the rows of `effect`.

use super::{
    flags::{ALL, CURSOR, LIMIT, OWN},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const WHICH: Arg = Arg::positional(
    "id",
    "EFFECT",
    Kind::Id,
    "The effect: `eff_…`, or the start that lists show; whole with --json",
);
const EVIDENCE: Arg = Arg::option(
    "evidence",
    "EVIDENCE",
    Kind::Id,
    "The id of what shows it, `evd_…`, from `evidence add`; at most 32",
)
.many();
const TOLD_CODES: &[Code] =
    &[Code::InvalidTransition, Code::ActorNotAllowed, Code::GoalClosed, Code::SchemaNeedsMigration];

const LIST: Command = Command::verb("list", Access::Reads, "Lists outside effects.")
    .aliases(&["ls"])
    .args(&[
        Arg::option("todo", "TODO", Kind::Id, "Only of this Todo's work"),
        Arg::switch("open", "Only those that keep the Goal from being achieved"),
        LIMIT,
        CURSOR,
        ALL,
    ])
    .examples(&[example("effect list --open", "what is not known yet")]);

const SHOW: Command = Command::verb("show", Access::Reads, "Shows one effect, and what leads on.")
    .args(&[WHICH])
    .examples(&[example("effect show 0v7k3", "by the start of its id")]);

const INTEND: Command = Command::verb("intend", Access::Writes, "Says what is meant, before it is sent.")
    .long(&[
        "Until it is known what became of it, nobody claims or completes its Todo. The same key and digest are the \
         same effect. Send it only once `effect confirm EFFECT --dispatched` was accepted.",
    ])
    .args(&[
        Arg::positional("id", "TODO", Kind::Id, "The Todo whose work it is"),
        Arg::positional("what", "WHAT", Kind::Text, "What is meant to happen, at most 512 bytes"),
        Arg::option("key", "KEY", Kind::Text, "What names it, here and at its provider").required(),
        Arg::option("digest", "SHA256", Kind::Text, "The SHA-256 of what the provider is asked"),
        Arg::option("request", "PATH", Kind::Path, "The file with that, whose digest is taken"),
        Arg::option("blocks-todo", "TODO", Kind::Id, "Another Todo that waits for it; at most 31").many(),
        Arg::option("blocks-key", "KEY", Kind::Text, "A key that no other may have; at most 32").many(),
        OWN,
    ])
    .one_of(&["digest", "request"])
    .examples(&[example(
        "effect intend importer.3 'publish 1.4' --key v1.4 --request r.json",
        "before it is sent",
    )])
    .codes(&[
        Code::EffectUnresolved,
        Code::OperationConflict,
        Code::OwnRequired,
        Code::OwnershipSuperseded,
        Code::OwnershipExpired,
        Code::InvalidTransition,
        Code::GoalClosed,
        Code::SchemaNeedsMigration,
    ]);

const CONFIRM: Command = Command::verb(
    "confirm",
    Access::Writes,
    "Says what whoever sends an effect did, or was answered.",
)
.long(&[
    "With `--dispatched` it is about to be sent; that is accepted once, and whoever is refused does not send \
             it. Without, its provider answered that it happened.",
])
.args(&[
    WHICH,
    Arg::switch("dispatched", "It is about to be sent").conflicts(&["failed", "evidence"]),
    Arg::switch("failed", "Its provider refused it"),
    EVIDENCE,
])
.examples(&[
    example("effect confirm 0v7k3 --dispatched", "before it is sent"),
    example("effect confirm 0v7k3 --evidence evd_0v7k", "its provider answered"),
])
.codes(TOLD_CODES);

const RECONCILE: Command = Command::verb(
    "reconcile",
    Access::Writes,
    "Says what its provider tells of an effect later.",
)
.long(&[
    "What was not observed may have happened: it is absent only where the provider says so. As it is, the \
             readback told nothing; then a person may write it off.",
])
.args(&[
    WHICH,
    Arg::switch("confirmed", "It happened").conflicts(&["absent", "failed", "unknown"]),
    Arg::switch("absent", "It did not happen, and will not").conflicts(&["failed", "unknown"]),
    Arg::switch("failed", "It was refused, or broke off").conflicts(&["unknown"]),
    Arg::switch("unknown", "Nobody could tell; the same as without"),
    EVIDENCE,
])
.examples(&[
    example("effect reconcile 0v7k3 --confirmed --evidence evd_0v7k", "the provider has it"),
    example("effect reconcile 0v7k3", "the readback told nothing"),
])
.codes(TOLD_CODES);

const STOP: Command = Command::verb(
    "stop",
    Access::Writes,
    "Says that an effect was asked to stop, or has stopped.",
)
.long(&[
    "Two facts, each with evidence of its own; neither says what the effect did. That a model or a process \
             was stopped proves neither.",
])
.args(&[WHICH, Arg::switch("confirmed", "It has stopped"), EVIDENCE])
.examples(&[
    example("effect stop 0v7k3 --evidence evd_0v7k", "its provider was asked"),
    example("effect stop 0v7k3 --confirmed --evidence evd_0v7k", "its provider says that it stopped"),
])
.codes(TOLD_CODES);

const WRITE_OFF: Command =
    Command::verb("write-off", Access::Writes, "Gives up finding out what an effect did.")
        .long(&[
            "Its Todos can be claimed again. The Goal can be achieved only once it is let go, with `goal close --waive`.",
        ])
        .args(&[
            WHICH,
            Arg::option("reason", "TEXT", Kind::Text, "Why; goes into the log").required(),
            EVIDENCE,
        ])
        .examples(&[example(
            "effect write-off 0v7k3 --reason 'it is gone' --evidence evd_0v7k",
            "nobody can tell any more",
        )])
        .codes(&[
            Code::InvalidTransition,
            Code::UserOnly,
            Code::Unauthenticated,
            Code::GoalClosed,
            Code::SchemaNeedsMigration,
        ]);

pub(super) const EFFECT: Command =
    Command::noun("effect", Group::Outside, "Changes outside, and what became of them.")
        .verbs(&[LIST, SHOW, INTEND, CONFIRM, RECONCILE, STOP, WRITE_OFF]);
