//! Owns the rows of what can be checked: `audit`, `verify`.

use super::shape::{Access, Arg, Command, Group, Kind, example};
use crate::error::Code;

const VERIFY: Command =
    Command::verb("verify", Access::Reads, "Checks each chain of events, and the rows against them.")
        .long(&[
            "Walks every chain by its numbers, computes each link anew and compares the end with the head. Then applies the events of each Goal to an empty ledger and compares what they come to with the rows: the Goal, agents, Todos, texts, Turns, gates, evidence, meters, counts, and the columns they are found by.",
            "A mismatch names the first event, or the first row by its id. The walk needs one page of events in memory, the rest one Goal's rows. `--goal` narrows.",
        ])
        .args(&[Arg::switch("chain-only", "Walk the chains, and compare no row")])
        .examples(&[
            example("audit verify", "everything"),
            example("audit verify --goal importer --chain-only --json", "one chain, for a program"),
        ])
        .codes(&[Code::CheckFailed]);

const EXPORT: Command =
    Command::verb("export", Access::Reads, "Prints a chain of events, or the proof of a Turn.")
        .long(&[
            "A chain is a line of JSON for each event, with its link; what only its owner may see is taken out. With `--turn`, or `--todo` for its last Turn that ended, it is one object that proves that Turn. `verify` checks both.",
        ])
        .args(&[
            Arg::option("since", "SEQ", Kind::Number { min: 0, max: u64::MAX }, "Only events after this number")
                .conflicts(&["turn", "todo"]),
            Arg::option("turn", "TURN", Kind::Id, "The proof of this Turn").conflicts(&["todo"]),
            Arg::option("todo", "TODO", Kind::Id, "The proof of the last Turn on this Todo that ended"),
        ])
        .examples(&[
            example("audit export --goal importer --since 100", "the events after the 100th"),
            example("audit export --todo importer.3", "what proves its result"),
        ])
        .codes(&[Code::NotReady]);

pub(super) const VERIFY_FILE: Command =
    Command::lone("verify", Group::Trust, Access::Reads, "Checks a proof, or an exported chain, by itself.")
        .long(&[
            "It needs no profile: links, payloads, receipts, validators, evidence and trees must agree with each other. That they are authentic, only a head tells that you trust, or this profile's ledger.",
        ])
        .args(&[
            Arg::positional("bundle", "BUNDLE", Kind::Path, "The file that `audit export` printed"),
            Arg::option("against", "HEAD", Kind::Text, "The hash of a head that it must lead to"),
            Arg::switch("against-ledger", "It must be what this profile's ledger holds"),
        ])
        .examples(&[
            example("verify proof.json", "by itself"),
            example("verify proof.json --against-ledger", "against the ledger it came from"),
        ])
        .codes(&[Code::CheckFailed]);

pub(super) const AUDIT: Command =
    Command::noun("audit", Group::Trust, "The history, and whether it holds.").verbs(&[VERIFY, EXPORT]);
