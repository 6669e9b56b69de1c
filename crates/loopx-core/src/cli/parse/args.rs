//! Owns the parsed arguments of one command, as its handler asks for them.
//!
//! Knows where a value came from; a configuration key's value is looked up by `config`, not here.

use std::{collections::BTreeMap, path::Path};

use clap::parser::ValueSource;

use super::{
    error,
    parser::is_shadowed,
    value::{self, Value, Wake, When},
};
use crate::{
    cli::{
        env::{Env, Var},
        table::{Access, Arg, Command, GLOBAL, Kind, Place},
    },
    error::{Code, Error, Result},
};

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag,
    /// A variable of the environment.
    Environment(Var),
    /// The table's default.
    Default,
}

/// Which reader of [`Args`] a kind of value has: one, so that a row of the table and its handler agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Reader {
    Switch,
    Text,
    Number,
    Millis,
    When,
    Wake,
    Argv,
    NumberedArgv,
    Path,
}

impl Reader {
    /// That of an argument.
    pub(in crate::cli) const fn of(arg: &Arg) -> Self {
        match (arg.place, arg.kind) {
            (Place::Switch, _) => Self::Switch,
            (_, Kind::Text | Kind::Id | Kind::Slug | Kind::Actor | Kind::Choice(_)) => Self::Text,
            (_, Kind::Number { .. }) => Self::Number,
            (_, Kind::Duration) => Self::Millis,
            (_, Kind::When) => Self::When,
            (_, Kind::Wake) => Self::Wake,
            (_, Kind::Argv) => Self::Argv,
            (_, Kind::NumberedArgv) => Self::NumberedArgv,
            (_, Kind::Path) => Self::Path,
        }
    }
}

/// The parsed arguments of one command, the global ones included.
///
/// Asked by the names of the flag table; asking for a name the command does not have is a mistake in the
/// handler, which a debug build reports.
#[derive(Debug)]
pub struct Args {
    command: &'static Command,
    path: String,
    given: BTreeMap<&'static str, (Origin, Vec<Value>)>,
}

/// Reads the values that clap found, then fills in the environment's and the defaults.
pub(super) fn collect(
    command: &'static Command,
    path: &str,
    mut matches: clap::ArgMatches,
    env: &Env,
) -> Result<Args> {
    let mut given = BTreeMap::new();
    let globals = GLOBAL.iter().filter(|global| !is_shadowed(command, global));
    for arg in command.args.iter().chain(globals) {
        if let Some(found) = one(arg, path, &mut matches, env)? {
            given.insert(arg.id, found);
        }
    }
    Ok(Args { command, path: path.to_owned(), given })
}

fn one(
    arg: &'static Arg,
    path: &str,
    matches: &mut clap::ArgMatches,
    env: &Env,
) -> Result<Option<(Origin, Vec<Value>)>> {
    if arg.place == Place::Switch {
        let is_given = matches.value_source(arg.id) == Some(ValueSource::CommandLine);
        return Ok(is_given.then(|| (Origin::Flag, vec![Value::On])));
    }
    let read = |name: &str, raw: &std::ffi::OsStr| {
        value::parse(arg.kind, raw)
            .map_err(|wanted| error::value(name, &raw.to_string_lossy(), &wanted, path))
    };
    if let Some(raw) = matches.remove_many::<std::ffi::OsString>(arg.id) {
        let values: Result<Vec<_>> = raw.map(|raw| read(&spelled(arg), &raw)).collect();
        return Ok(Some((Origin::Flag, values?)));
    }
    if let Some((var, raw)) = arg.env.and_then(|var| Some((var, env.get(var)?))) {
        // A variable may hold a secret, so a refusal names it and does not repeat its value.
        let value = value::parse(arg.kind, raw).map_err(|wanted| {
            Error::new(Code::InvalidArgument, format!("{} cannot be taken: {wanted}", var.name()))
                .hint(format!("{path} --help"))
                .detail("variable", var.name())
        })?;
        return Ok(Some((Origin::Environment(var), vec![value])));
    }
    match arg.default {
        Some(text) => Ok(Some((Origin::Default, vec![read(&spelled(arg), text.as_ref())?]))),
        None => Ok(None),
    }
}

/// The argument as it is typed.
fn spelled(arg: &Arg) -> String {
    match arg.place {
        Place::Positional => format!("<{}>", arg.value),
        Place::Option | Place::Switch => format!("--{}", arg.id),
    }
}

impl Args {
    /// The words that name the command.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The command's row of the table.
    pub fn command(&self) -> &'static Command {
        self.command
    }

    /// Where an argument's value came from, if it has one.
    pub fn origin(&self, id: &str) -> Option<Origin> {
        self.given.get(id).map(|(origin, _)| *origin)
    }

    /// Whether the command has an argument of this name that stands for a configuration key.
    pub(in crate::cli) fn takes(&self, id: &str, key: &str) -> bool {
        let mine = self.command.args.iter().find(|arg| arg.id == id);
        let arg = mine.or_else(|| GLOBAL.iter().find(|arg| arg.id == id));
        arg.is_some_and(|arg| arg.setting == Some(key))
    }

    /// Whether the command, called like this, writes.
    pub fn writes(&self) -> bool {
        let by_flag = self.command.args.iter().any(|arg| arg.writes && self.given.contains_key(arg.id));
        self.command.access == Access::Writes || by_flag
    }

    /// All values of an argument, in the order given.
    pub fn values(&self, id: &str) -> &[Value] {
        debug_assert!(
            self.command.args.iter().chain(GLOBAL).any(|arg| arg.id == id),
            "`{}` has no argument {id}",
            self.path
        );
        self.given.get(id).map_or(&[], |(_, values)| values.as_slice())
    }

    /// The values of an argument, for a reader of this kind of value.
    ///
    /// Asking with the reader of another kind is a mistake in the handler: the values would seem never to be given.
    fn of(&self, id: &str, reader: Reader) -> &[Value] {
        let mine = self.command.args.iter().chain(GLOBAL).find(|arg| arg.id == id);
        debug_assert!(
            mine.is_none_or(|arg| Reader::of(arg) == reader),
            "`{}` reads {id} as {reader:?}, and the table has it as another kind",
            self.path
        );
        self.values(id)
    }

    /// Whether a switch was given.
    pub fn switch(&self, id: &str) -> bool {
        !self.of(id, Reader::Switch).is_empty()
    }

    /// A text, id, slug, actor or word.
    pub fn text(&self, id: &str) -> Option<&str> {
        self.texts(id).next()
    }

    /// A text that the table requires.
    ///
    /// Errors: `internal` where the table does not require it.
    pub fn needed(&self, id: &str) -> Result<&str> {
        self.text(id)
            .ok_or_else(|| Error::new(Code::Internal, format!("`{}` was called without {id}", self.path)))
    }

    /// All texts, ids, slugs, actors or words.
    pub fn texts(&self, id: &str) -> impl Iterator<Item = &str> {
        self.of(id, Reader::Text).iter().filter_map(|value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// A whole number.
    pub fn number(&self, id: &str) -> Option<u64> {
        self.of(id, Reader::Number).iter().find_map(|value| match value {
            Value::Number(number) => Some(*number),
            _ => None,
        })
    }

    /// A length of time in milliseconds.
    pub fn millis(&self, id: &str) -> Option<u64> {
        self.of(id, Reader::Millis).iter().find_map(|value| match value {
            Value::Millis(millis) => Some(*millis),
            _ => None,
        })
    }

    /// A time.
    pub fn when(&self, id: &str) -> Option<When> {
        self.of(id, Reader::When).iter().find_map(|value| match value {
            Value::When(when) => Some(*when),
            _ => None,
        })
    }

    /// What ends a deferral.
    pub fn wake(&self, id: &str) -> Option<&Wake> {
        self.of(id, Reader::Wake).iter().find_map(|value| match value {
            Value::Wake(wake) => Some(wake),
            _ => None,
        })
    }

    /// All commands, each as its words.
    pub fn argvs(&self, id: &str) -> impl Iterator<Item = &[String]> {
        self.of(id, Reader::Argv).iter().filter_map(|value| match value {
            Value::Argv(words) => Some(words.as_slice()),
            _ => None,
        })
    }

    /// All numbered commands.
    pub fn numbered_argvs(&self, id: &str) -> impl Iterator<Item = (u64, &[String])> {
        self.of(id, Reader::NumberedArgv).iter().filter_map(|value| match value {
            Value::NumberedArgv(number, words) => Some((*number, words.as_slice())),
            _ => None,
        })
    }

    /// A path.
    pub fn file(&self, id: &str) -> Option<&Path> {
        self.files(id).next()
    }

    /// All paths.
    pub fn files(&self, id: &str) -> impl Iterator<Item = &Path> {
        self.of(id, Reader::Path).iter().filter_map(|value| match value {
            Value::Path(path) => Some(path.as_path()),
            _ => None,
        })
    }
}
