//! Owns the clap commands made from rows of the table: one flat parser for a run, the whole tree for
//! completions.
//!
//! Knows nothing of values beyond their number; those are checked by `value`.

use std::ffi::OsString;

use clap::{ArgAction, ArgGroup, ValueHint, builder::PossibleValuesParser};

use crate::cli::table::{Arg, Command, GLOBAL, Kind, Place};

/// The parser of one verb: its own arguments and the global ones, and nothing else of the table.
pub(super) fn leaf(command: &'static Command) -> clap::Command {
    let parser = bare(command).no_binary_name(true);
    let globals = GLOBAL.iter().filter(|global| !is_shadowed(command, global));
    groups(parser, command).args(command.args.iter().map(raw)).args(globals.map(raw))
}

/// The tree of all commands, for completions.
pub(in crate::cli) fn tree(program: &'static str, commands: &[&'static [Command]]) -> clap::Command {
    let root = clap::Command::new(program)
        .disable_version_flag(true)
        .args(GLOBAL.iter().map(|arg| completed(arg).global(true)));
    root.subcommands(commands.iter().copied().flatten().map(subtree))
}

fn subtree(command: &'static Command) -> clap::Command {
    groups(clap::Command::new(command.name), command)
        .about(command.about)
        .visible_aliases(command.aliases.to_vec())
        .disable_help_subcommand(true)
        .args(command.args.iter().map(completed))
        .subcommands(command.verbs.iter().map(subtree))
}

fn bare(command: &'static Command) -> clap::Command {
    clap::Command::new(command.name).disable_help_flag(true).disable_version_flag(true)
}

/// Whether a command has an argument of its own with a global one's name, as `init --goal TITLE` has.
pub(super) fn is_shadowed(command: &Command, global: &Arg) -> bool {
    command.args.iter().any(|arg| arg.id == global.id)
}

fn groups(parser: clap::Command, command: &'static Command) -> clap::Command {
    if command.one_of.is_empty() {
        return parser;
    }
    parser.group(ArgGroup::new("one of").args(command.one_of.iter().copied()).required(true))
}

/// An argument whose value is left as the process got it.
fn raw(arg: &'static Arg) -> clap::Arg {
    match arg.place {
        Place::Switch => argument(arg),
        Place::Option | Place::Positional => argument(arg).value_parser(clap::value_parser!(OsString)),
    }
}

fn argument(arg: &'static Arg) -> clap::Arg {
    let made = clap::Arg::new(arg.id)
        .required(arg.required)
        .conflicts_with_all(arg.conflicts)
        .requires_all(arg.needs);
    let action = if arg.many { ArgAction::Append } else { ArgAction::Set };
    match arg.place {
        Place::Switch => made.long(arg.id).action(ArgAction::SetTrue),
        Place::Option => made.long(arg.id).value_name(arg.value).action(action),
        Place::Positional if arg.many => made.value_name(arg.value).num_args(1..).action(action),
        Place::Positional => made.value_name(arg.value).action(action),
    }
}

fn completed(arg: &'static Arg) -> clap::Arg {
    let made = argument(arg).help(arg.help);
    match arg.kind {
        _ if arg.place == Place::Switch => made,
        Kind::Choice(words) => made.value_parser(PossibleValuesParser::new(words)),
        Kind::Path => made.value_hint(ValueHint::AnyPath),
        Kind::Argv => made.value_hint(ValueHint::CommandString),
        _ => made.value_hint(ValueHint::Other),
    }
}
