//! Owns the rows of `peer` and of `handoff`: results that go to a coordinator, and work that goes to another agent.

use super::{
    flags::{ALL, CURSOR, LIMIT, OWN},
    shape::{Access, Arg, Command, Group, Kind, example},
    todo::ID,
};
use crate::error::Code;

const WHICH: Arg = Arg::positional(
    "id",
    "RETURN",
    Kind::Id,
    "The return: `ret_…`, or the start that lists show; whole with --json",
);

const LIST: Command = Command::verb("list", Access::Reads, "Lists what peers returned.")
    .aliases(&["ls"])
    .args(&[
        Arg::option("todo", "TODO", Kind::Id, "Only what was returned to this coordinator"),
        Arg::switch("open", "Only what nobody has decided on"),
        LIMIT,
        CURSOR,
        ALL,
    ])
    .examples(&[example("peer list --open --todo importer.1", "what waits for its coordinator")]);

const SHOW: Command = Command::verb("show", Access::Reads, "Shows one return, and what became of it.")
    .args(&[WHICH])
    .examples(&[example("peer show 0v7k3", "by the start of its id")]);

const RETURN: Command = Command::verb("return", Access::Writes, "Gives a result to the coordinator of a Todo.")
    .long(&[
        "The Todo names its coordinator: `todo update TODO --coordinates COORDINATOR`. That it was returned is kept \
         whatever becomes of either side, and says nothing of whether it is taken in.",
    ])
    .args(&[
        Arg::positional("id", "TODO", Kind::Id, "The Todo whose result it is"),
        Arg::positional("summary", "SUMMARY", Kind::Text, "What was found, at most 400 bytes; paths are taken out"),
        Arg::option(
            "evidence",
            "EVIDENCE",
            Kind::Id,
            "The id of what shows it, `evd_…`, from `evidence add`; at most 32",
        )
        .many()
        .required(),
        Arg::option("turn", "TURN", Kind::Id, "The Turn in which it was found, from `turn list --todo TODO`; else the one at work"),
        OWN,
    ])
    .examples(&[
        example("peer return importer.3 'two hold' --evidence evd_0v7k --own own_0v7k", "at work"),
        example("peer return importer.3 'all hold' --evidence evd_0v7k --turn trn_0v7k", "after its Turn"),
    ])
    .codes(&[
        Code::OwnRequired,
        Code::OwnershipSuperseded,
        Code::OwnershipExpired,
        Code::InvalidTransition,
        Code::ActorNotAllowed,
        Code::GoalClosed,
        Code::SchemaNeedsMigration,
    ]);

const DECIDED: &[Code] = &[
    Code::OwnRequired,
    Code::OwnershipSuperseded,
    Code::OwnershipExpired,
    Code::TodoAlreadyDone,
    Code::InvalidTransition,
    Code::GoalClosed,
    Code::SchemaNeedsMigration,
];

const ADOPT: Command = Command::verb("adopt", Access::Writes, "Takes in what a peer returned.")
    .long(&["The owner of the coordinator decides, or a person. It proves nothing, and completes nothing."])
    .args(&[WHICH, Arg::option("reason", "TEXT", Kind::Text, "Why; goes into the log"), OWN])
    .examples(&[example("peer adopt 0v7k3 --own own_0v7k", "as owner of the coordinator")])
    .codes(DECIDED);

const REJECT: Command = Command::verb("reject", Access::Writes, "Does not take in what a peer returned.")
    .long(&[
        "With `--superseded-by` another return to the same coordinator stands in its place; so gives way also what \
         was adopted before it was known better.",
    ])
    .args(&[
        WHICH,
        Arg::option("reason", "TEXT", Kind::Text, "Why; goes into the log").required(),
        Arg::option("superseded-by", "RETURN", Kind::Id, "The return that stands in its place"),
        OWN,
    ])
    .examples(&[
        example("peer reject 0v7k3 --reason 'not shown' --own own_0v7k", "it is not taken in"),
        example("peer reject 0v7k3 --superseded-by 0v8m1 --reason 'measured since'", "a better one is there"),
    ])
    .codes(DECIDED);

pub(super) const PEER: Command =
    Command::noun("peer", Group::Work, "Results that peers give to a coordinator.")
        .verbs(&[LIST, SHOW, RETURN, ADOPT, REJECT]);

const PACKET: Command = Command::verb(
    "show",
    Access::Reads,
    "Shows what whoever takes a Todo over has to know, and its revision.",
)
.args(&[ID])
.examples(&[example("handoff show importer.3", "before it is taken over")]);

const ACCEPT: Command = Command::verb("accept", Access::Writes, "Says that an agent takes a Todo over.")
    .long(&[
        "It names the revision that `handoff show` printed, and is refused where anything moved since. It gives no \
         ownership: `todo claim` does, or `next --claim`.",
    ])
    .args(&[
        ID,
        Arg::option("revision", "REVISION", Kind::Text, "The revision that `handoff show` printed").required(),
    ])
    .examples(&[example("handoff accept importer.3 --revision REVISION", "with what was read")])
    .codes(&[
        Code::StaleRevision,
        Code::AlreadyClaimed,
        Code::NotClaimable,
        Code::TodoAlreadyDone,
        Code::Held,
        Code::TurnUnresolved,
        Code::GoalStopped,
        Code::GoalClosed,
        Code::ActorNotAllowed,
        Code::SchemaNeedsMigration,
    ]);

pub(super) const HANDOFF: Command =
    Command::noun("handoff", Group::Work, "What is handed over with a Todo, and who took it.")
        .verbs(&[PACKET, ACCEPT]);
