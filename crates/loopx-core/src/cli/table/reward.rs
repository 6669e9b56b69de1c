//! Owns the rows of `reward`.

use super::{
    flags::{ALL, CURSOR, LIMIT},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const ADD: Command = Command::verb("add", Access::Writes, "Records what you think of work that was done.")
    .long(&["A judgement is kept for whoever plans the next work. No decision reads it."])
    .args(&[
        Arg::positional("reason", "REASON", Kind::Text, "Why, at most 512 bytes"),
        Arg::switch("good", "More of it is wanted"),
        Arg::switch("bad", "Less of it is wanted"),
        Arg::option("turn", "TURN", Kind::Id, "The run that is judged"),
        Arg::option("todo", "TODO", Kind::Id, "The Todo whose work is judged"),
        Arg::option("route", "NAME", Kind::Text, "The way of working that is judged, by a name of yours"),
        Arg::option("lesson", "TEXT", Kind::Text, "What to do with it the next time, at most 512 bytes"),
    ])
    .one_of(&["good", "bad"])
    .examples(&[
        example("reward add 'small and well tested' --good --todo importer.3", "praise for a Todo's work"),
        example(
            "reward add 'too much at once' --bad --route big-bang --lesson 'in steps'",
            "a way of working that is not wanted again",
        ),
    ])
    .codes(&[Code::GoalClosed, Code::UserOnly, Code::SchemaNeedsMigration]);

const LIST: Command = Command::verb("list", Access::Reads, "Lists what was thought of work.")
    .aliases(&["ls"])
    .args(&[Arg::option("todo", "TODO", Kind::Id, "Only of this Todo"), LIMIT, CURSOR, ALL])
    .examples(&[example("reward list --todo importer.3", "what was thought of its work")]);

pub(super) const REWARD: Command =
    Command::noun("reward", Group::Work, "What a person thinks of work that was done.").verbs(&[ADD, LIST]);
