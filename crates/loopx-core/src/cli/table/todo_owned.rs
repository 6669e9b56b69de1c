//! Owns the rows of `todo` that begin, keep and end an ownership.

use super::{
    flags::{OWN, TTL, WORKSPACE},
    shape::{Access, Arg, Command, Kind, example},
    todo::ID,
};
use crate::error::Code;

const SUMMARY: Arg = Arg::option("summary", "TEXT", Kind::Text, "What was done, at most 400 bytes; screened");
const EVIDENCE: Arg = Arg::option(
    "evidence",
    "EVIDENCE",
    Kind::Id,
    "The id of evidence for it, `evd_…`, from `evidence add`; at most 32",
)
.many();
const OWNER_CODES: &[Code] = &[
    Code::OwnRequired,
    Code::OwnershipSuperseded,
    Code::OwnershipExpired,
    Code::InvalidTransition,
    Code::ActorNotAllowed,
];

pub(super) const CLAIM: Command = Command::verb(
    "claim",
    Access::Writes,
    "Claims a Todo and admits a Turn on it.",
)
.long(&[
    "Prints `own_id`, which every verb of the owner presents. An offer or a listing implies nothing: \
             of several claims one wins, and the others learn who holds it and until when.",
    "A replan is claimed by the name that `next`, `turn plan` and `status` give it, `replan:CAUSE:TODO/N` or \
             `replan:acceptance_gap:GOAL/N`, and is a Todo from then on.",
])
.args(&[ID, TTL, WORKSPACE])
.examples(&[
    example("todo claim importer.3 --as agent:coder@shell", "own it for the default time"),
    example("todo claim importer.3 --as agent:coder --ttl 2h --json", "longer, for a program"),
])
.codes(&[
    Code::AlreadyClaimed,
    Code::NotClaimable,
    Code::WriteScopeConflict,
    Code::ExecutorActive,
    Code::GateBlocked,
    Code::GateOpened,
    Code::Held,
    Code::QuotaExhausted,
    Code::TurnUnresolved,
    Code::EffectUnresolved,
    Code::GoalStopped,
    Code::GoalClosed,
    Code::ActorNotAllowed,
]);

pub(super) const RENEW: Command = Command::verb("renew", Access::Writes, "Keeps an ownership for longer.")
    .args(&[ID, OWN])
    .examples(&[example("todo renew importer.3 --own own_0v7k", "from now on, the same time again")])
    .codes(OWNER_CODES);

pub(super) const PROGRESS: Command =
    Command::verb("progress", Access::Writes, "Settles progress and ends the Turn.")
        .long(&[
            "The validators run; passed or at their progress exit it is accepted. With `--continue` the next \
             Turn is admitted in the same commit, under a new `own_id`.",
        ])
        .args(&[
            ID,
            OWN,
            SUMMARY,
            EVIDENCE,
            Arg::switch("continue", "Go on with the next Turn if the rules allow"),
        ])
        .examples(&[
            example("todo progress importer.3 --own own_0v7k --summary 'parser ported'", "and give it back"),
            example("todo progress importer.3 --own own_0v7k --continue", "and go on"),
        ])
        .codes(&[
            Code::ValidationFailed,
            Code::OwnRequired,
            Code::OwnershipSuperseded,
            Code::OwnershipExpired,
            Code::Held,
            Code::TurnUnresolved,
            Code::ActorNotAllowed,
        ]);

pub(super) const DONE: Command = Command::verb("done", Access::Writes, "Completes a Todo.")
    .long(&[
        "For an agent the validators run, and only their pass settles the Turn; without any validator a person \
         is asked. A user completes without an ownership; over a failing or unrun validator with `--waive`.",
        "What follows is said by `--successor`, `--no-followup` or `--awaits`; without any the Goal goes on.",
        "A replan is done once the plan has changed. One of a whole Goal, in which a criterion is not shown and \
         nothing is left to do, is done by more work, by a proposal that is confirmed, or with `--awaits`: then \
         nothing more is planned until that monitor sees a change, or ends, or the Goal's terms change.",
    ])
    .args(&[
        ID,
        OWN,
        SUMMARY,
        EVIDENCE,
        Arg::option("successor", "TODO", Kind::Id, "A Todo that takes it further, at most 32")
            .many()
            .conflicts(&["no-followup", "awaits"]),
        Arg::switch("no-followup", "Nothing follows from it").conflicts(&["awaits"]),
        Arg::option("awaits", "TODO", Kind::Id, "A monitor whose news the Goal waits for, after its replan"),
        Arg::option("waive", "REASON", Kind::Text, "Accept it without its validators, and say why"),
    ])
    .examples(&[
        example("todo done importer.3 --own own_0v7k", "the owner is finished"),
        example("todo done importer.4 --as user:ada", "a person did it"),
        example("todo done importer.3 --own own_0v7k --successor importer.5", "and another takes it further"),
    ])
    .codes(&[
        Code::ValidationFailed,
        Code::OwnRequired,
        Code::OwnershipSuperseded,
        Code::OwnershipExpired,
        Code::TodoAlreadyDone,
        Code::Held,
        Code::GateBlocked,
        Code::TurnUnresolved,
        Code::Unauthenticated,
    ]);

pub(super) const LOOK: Command = Command::verb("look", Access::Writes, "Records what a monitor saw.")
    .args(&[
        ID,
        OWN,
        Arg::switch("unchanged", "Nothing has changed; the Turn costs nothing"),
        Arg::switch("changed", "Something has changed"),
        SUMMARY,
        EVIDENCE,
    ])
    .one_of(&["unchanged", "changed"])
    .examples(&[
        example("todo look importer.6 --own own_0v7k --unchanged", "nothing new"),
        example("todo look importer.6 --own own_0v7k --changed --summary 'queue at 90 %'", "something new"),
    ])
    .codes(OWNER_CODES);

pub(super) const RELEASE: Command = Command::verb("release", Access::Writes, "Gives a Todo back.")
    .long(&[
        "With `--force` a proven user takes it from its owner; where a host runs it, stop its Turn first.",
    ])
    .args(&[
        ID,
        OWN,
        Arg::switch("force", "End somebody else's ownership").needs(&["reason"]),
        Arg::option("reason", "TEXT", Kind::Text, "Why it is taken away; goes into the log")
            .needs(&["force"]),
    ])
    .examples(&[
        example("todo release importer.3 --own own_0v7k", "give it back"),
        example("todo release importer.3 --force --reason 'its machine is gone'", "take it away"),
    ])
    .codes(&[
        Code::OwnRequired,
        Code::OwnershipSuperseded,
        Code::OwnershipExpired,
        Code::TurnRunning,
        Code::ExecutorActive,
        Code::UserOnly,
        Code::Unauthenticated,
    ]);

pub(super) const TRANSFER: Command =
    Command::verb("transfer", Access::Writes, "Gives a Todo to another agent of the Goal.")
        .long(&["The other agent has ten minutes in which nobody else can claim it."])
        .args(&[ID, OWN, Arg::option("to", "AGENT", Kind::Id, "Who gets it").required()])
        .examples(&[example("todo transfer importer.3 --own own_0v7k --to reviewer", "hand it over")])
        .codes(&[
            Code::OwnRequired,
            Code::OwnershipSuperseded,
            Code::OwnershipExpired,
            Code::TurnRunning,
            Code::ActorNotAllowed,
        ]);
