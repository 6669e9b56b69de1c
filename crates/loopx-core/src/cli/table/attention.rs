//! Owns the rows of `attention`.

use super::{
    flags::{ALL, CURSOR, LIMIT},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const LIST: Command = Command::verb("list", Access::Reads, "Lists what needs somebody, most urgent first.")
    .aliases(&["ls"])
    .long(&[
        "First what is not known or was left behind, then questions by age, then what else a person has to move, such as \
         what was proposed to him, then a plan that has to change, then work that an agent can take: the first of each Goal. \
         Each row names the command that moves it. Over all Goals; `--goal` narrows. To list is not \
         to have seen.",
    ])
    .args(&[LIMIT, CURSOR, ALL])
    .examples(&[
        example("attention list", "in all Goals"),
        example("attention list --goal importer --json", "in one Goal, for a program"),
    ]);

const SEEN: Command = Command::verb("seen", Access::Writes, "Records that you saw rows of the list.")
    .long(&[
        "It moves nothing. `metrics` measures with it how long a question waits until somebody sees it; where nothing was \
         recorded, the first action on it counts. A row that was seen as it stands is not recorded again.",
        "`ID@VERSION` means the row as it was shown, and is refused once that has changed.",
    ])
    .args(&[Arg::positional(
        "id",
        "ID[@VERSION]",
        Kind::Text,
        "A gate, an effect, a proposal, a Turn, a Todo or a Goal, as the list names it; at most 32 of one Goal",
    )
    .many()])
    .examples(&[
        example("attention seen 0v7k3", "one row, as it stands"),
        example("attention seen importer.3@4 importer.5@1", "rows as they were shown"),
    ])
    .codes(&[
        Code::InvalidTransition,
        Code::StaleRevision,
        Code::GoalClosed,
        Code::UserOnly,
        Code::SchemaNeedsMigration,
    ]);

pub(super) const ATTENTION: Command =
    Command::noun("attention", Group::Work, "What needs somebody, and who has seen it.").verbs(&[LIST, SEEN]);
