//! Owns the rows of `agent`.

use super::{
    flags::{ALL, CURSOR, LIMIT},
    shape::{Access, Arg, Command, Group, Kind, example},
};
use crate::error::Code;

const ID: Arg = Arg::positional("id", "AGENT", Kind::Id, "The agent, `[a-z][a-z0-9_.-]*`, at most 60 bytes");

const ADD: Command = Command::verb("add", Access::Writes, "Registers an agent with a Goal.")
    .long(&["Again with the same capabilities nothing happens; another set replaces the first."])
    .args(&[ID, Arg::option("capability", "KEY", Kind::Text, "A capability it has, at most 32").many()])
    .examples(&[
        example("agent add coder", "in the folder's Goal"),
        example("agent add coder --capability rust --capability web --goal importer", "with capabilities"),
    ])
    .codes(&[Code::GoalClosed, Code::UserOnly]);

const LIST: Command = Command::verb("list", Access::Reads, "Lists the agents of a Goal.")
    .aliases(&["ls"])
    .args(&[Arg::switch("retired", "Those too that are retired"), LIMIT, CURSOR, ALL])
    .examples(&[example("agent list --goal importer", "who may work on it")]);

const SHOW: Command = Command::verb("show", Access::Reads, "Shows one agent and what it owns.")
    .args(&[ID])
    .examples(&[example("agent show coder", "in the folder's Goal")]);

const RETIRE: Command = Command::verb("retire", Access::Writes, "Lets an agent claim nothing more.")
    .long(&["Its attached and held Turns end with it."])
    .args(&[ID])
    .examples(&[example("agent retire coder", "end its work")])
    .codes(&[Code::TurnRunning, Code::GoalClosed, Code::UserOnly, Code::Unauthenticated]);

pub(super) const AGENT: Command =
    Command::noun("agent", Group::Work, "Who may work on a Goal.").verbs(&[ADD, LIST, SHOW, RETIRE]);
