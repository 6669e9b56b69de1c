//! Owns the rows of the first minutes: `try`, `init`, `status`.

use super::{
    flags::{DRY_RUN, OWN, TTL, WORKSPACE},
    shape::{Access, Arg, Command, DECISIONS, Group, Kind, example},
};
use crate::error::Code;

pub(super) const TRY: Command = Command::lone(
    "try",
    Group::Start,
    Access::Writes,
    "Runs a governed task end to end in a scratch folder.",
)
.long(&["It makes a failing check pass, has a wrong result refused, kills its own host once, recovers, \
                 answers a gate and replays a receipt. It needs no model, no network and no earlier state."])
.args(&[Arg::switch("keep", "Keep the scratch folder and print where it is")])
.examples(&[
    example("try", "see what LoopX does, in under five seconds"),
    example("try --keep", "the same, and look around afterwards"),
])
.codes(&[Code::CheckFailed]);

pub(super) const INIT: Command =
    Command::lone("init", Group::Start, Access::Writes, "Binds this folder to a profile and a Goal.")
        .long(&[
            "Writes `.loopx/project.toml` and, in a git repository, `.loopx/` into `.git/info/exclude`; touches \
             no other file of yours. With a title it also starts a Goal. Again it finds the same Goal and says \
             `created` false; a criterion that this Goal does not have is refused, and `goal update` adds it.",
            "A folder that is bound to a Goal which the profile does not have is refused: the Goal may lie in another \
             profile or on another disk. `--rebind` forgets it.",
        ])
        .args(&[
            Arg::option("goal", "TITLE", Kind::Text, "The objective of a Goal to start; its slug is made from it"),
            Arg::option("acceptance", "TEXT", Kind::Text, "A criterion of acceptance, at most 32")
                .many()
                .needs(&["goal"]),
            Arg::switch("rebind", "Forget the Goal that this folder is bound to"),
            DRY_RUN,
        ])
        .examples(&[
            example("init", "bind the folder to the default profile"),
            example(
                "init --goal 'Ship the importer' --acceptance 'the import test passes'",
                "bind it, and start a Goal",
            ),
        ])
        .codes(&[Code::GoalExists]);

pub(super) const STATUS: Command =
    Command::lone("status", Group::Start, Access::Reads, "Shows what every Goal is waiting on.")
        .long(&["Four questions first: what is each Goal waiting on, may an agent continue, what must happen \
                 first, what did the last run prove or block. Then what needs attention, ranked, each with the \
                 command that moves it.",
            "With `--watch` a terminal is drawn over in place; elsewhere each change prints one more answer, with `--json` one \
             object a line. It ends with 0 when it is interrupted, or nobody reads it any more."])
        .args(&[
            Arg::option("agent", "AGENT", Kind::Id, "Answer for this agent"),
            Arg::switch("watch", "Stay, and show it again after each change; Ctrl-C ends it"),
        ])
        .examples(&[
            example("status", "all Goals of the authority"),
            example("status --watch", "the same, kept up to date on the terminal"),
            example("status --goal importer --json", "one Goal, for a program"),
        ]);

pub(super) const NEXT: Command =
    Command::lone("next", Group::Start, Access::Reads, "Says what an agent should do now, and lets it begin.")
        .long(&[
            "Over all Goals that the agent is registered with; `--goal` narrows. The agent is named by `--agent`, or acts by \
             `--as` or a token.",
            "It exits with 0 where there is work.",
        ])
        .args(&[
            Arg::option("agent", "AGENT", Kind::Id, "For this agent"),
            Arg::switch("claim", "Take it: admit a Turn, and reserve its slot").writes(),
            OWN,
            TTL,
            WORKSPACE,
            Arg::switch("explain", "Show each rule that was come to, and what it saw"),
        ])
        .examples(&[
            example("next --agent coder", "what it should do"),
            example("next --claim --as agent:coder --json", "and take it; `todo done` ends it"),
        ])
        .answers(DECISIONS)
        .codes(&[
            Code::ActorNotAllowed,
            Code::ExecutorActive,
            Code::WriteScopeConflict,
            Code::Unauthenticated,
        ]);

pub(super) const WHY: Command = Command::lone(
    "why",
    Group::Start,
    Access::Reads,
    "Says why something waits, and what would change it.",
)
.long(&[
    "One reason each, and the command that would change it. With nothing named, of every Goal that is not \
                 closed: why nothing runs.",
])
.args(&[
    Arg::maybe("id", "ID", Kind::Text, "A Goal, a Todo, a gate or a Turn"),
    Arg::option("agent", "AGENT", Kind::Id, "Of this agent, or of a Todo for it"),
])
.examples(&[
    example("why", "why nothing is running"),
    example("why importer.3", "why nobody takes a Todo"),
    example("why --agent coder --json", "why an agent waits, for a program"),
]);

pub(super) const HEARTBEAT: Command = Command::lone(
    "heartbeat-prompt",
    Group::Execute,
    Access::Reads,
    "Prints what a host's heartbeat tells its agent.",
)
.long(&[
    "What to do now, the command that begins it, how to report, when to stop; from the decision of `next`. At most \
         16 KiB; where there is work on a Todo 4 KiB, and behind that its work contract, which has at most 16 KiB.",
    "With the contract a basis is printed. Whoever holds that very contract gives it back with `--basis` and is told \
         what changed since, or that nothing did; at any doubt all of it is printed again, with the reason.",
])
.args(&[
    Arg::option("agent", "AGENT", Kind::Id, "For this agent"),
    OWN,
    WORKSPACE,
    Arg::option("basis", "BASIS", Kind::Text, "What the agent holds: the basis printed with its contract"),
    Arg::option(
        "doubt",
        "WHY",
        Kind::Choice(&["compacted", "acknowledgement_lost"]),
        "Why the agent may hold it no more; all is printed",
    ),
    Arg::option(
        "generation",
        "N",
        Kind::Number { min: 0, max: u64::MAX },
        "Which life of the agent's session it is; another one holds nothing",
    ),
])
.examples(&[
    example("heartbeat-prompt --agent coder", "what the host is given"),
    example("heartbeat-prompt --agent coder --doubt compacted", "all of it, after a compaction"),
])
.codes(&[Code::NotFound, Code::RequiredContextTooLarge, Code::Unauthenticated]);
