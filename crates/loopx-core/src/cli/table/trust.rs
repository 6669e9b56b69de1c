//! Owns the rows of what can be checked: `audit`.

use super::shape::{Access, Arg, Command, Group, example};
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

pub(super) const AUDIT: Command =
    Command::noun("audit", Group::Trust, "The history, and whether it holds.").verbs(&[VERIFY]);
