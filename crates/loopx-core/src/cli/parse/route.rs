//! Owns the first look at the argument vector: which command is named, and what is left for its parser.
//!
//! Walks the table and builds nothing, so that help, version and an unknown command cost next to nothing.

use std::ffi::{OsStr, OsString};

use super::{error, nearest, words};
use crate::{
    cli::table::{Command, GLOBAL, Group, Place},
    error::{Code, Error, Result, echo},
};

/// What an argument vector asks for.
#[derive(Debug)]
pub(in crate::cli) enum Route {
    /// The version.
    Version,
    /// The help of a command; of everything for an empty chain.
    Help(Vec<&'static Command>),
    /// The help of the commands of a group.
    Group(Group),
    /// A verb, and what is left for its parser.
    Verb(Vec<&'static Command>, Vec<OsString>),
}

/// Finds the command that an argument vector (without the program's name) names.
///
/// Errors: `invalid_argument` for a word that is no command, with the nearest one as the hint.
pub(in crate::cli) fn route(commands: &[&'static [Command]], argv: Vec<OsString>) -> Result<Route> {
    let mut walk = Walk::default();
    let mut argv = argv.into_iter();
    if argv.len() == 0 {
        return Ok(Route::Help(Vec::new()));
    }
    while let Some(word) = argv.next() {
        match word.to_str() {
            Some("--") => {
                walk.rest.push(word);
                break;
            }
            Some("-h" | "--help") => walk.help = true,
            Some("-V" | "--version") if walk.chain.is_empty() => walk.version = true,
            Some("help") if walk.chain.is_empty() => walk.help = true,
            Some(flag) if flag.starts_with('-') && flag.len() > 1 => {
                let takes_value = !walk.is_at_verb() && is_global_with_value(flag);
                walk.rest.push(word);
                if takes_value {
                    walk.rest.extend(argv.next());
                }
            }
            _ if walk.is_at_verb() => walk.rest.push(word),
            _ => match walk.group_of(commands, &word) {
                Some(group) => return Ok(Route::Group(group)),
                None => walk.step(commands, &word)?,
            },
        }
    }
    walk.rest.extend(argv);
    walk.end()
}

/// Finds the command that words name, for `man`.
///
/// Errors: `invalid_argument` as for [`route`].
pub(in crate::cli) fn walk(commands: &[&'static [Command]], path: &[&str]) -> Result<Vec<&'static Command>> {
    let mut walk = Walk::default();
    for word in path {
        walk.step(commands, OsStr::new(word))?;
    }
    Ok(walk.chain)
}

#[derive(Default)]
struct Walk {
    chain: Vec<&'static Command>,
    rest: Vec<OsString>,
    help: bool,
    version: bool,
}

impl Walk {
    fn is_at_verb(&self) -> bool {
        self.chain.last().is_some_and(|command| command.verbs.is_empty())
    }

    /// The group that a word after `help` means, where no command is called like it.
    fn group_of(&self, commands: &[&'static [Command]], word: &OsStr) -> Option<Group> {
        let word = word.to_str().filter(|_| self.help && self.chain.is_empty())?;
        let is_command = commands.iter().copied().flatten().any(|command| command.is_called(word));
        if is_command { None } else { Group::called(word) }
    }

    fn step(&mut self, commands: &[&'static [Command]], word: &OsStr) -> Result<()> {
        let word = word.to_string_lossy();
        let verbs: &[&'static [Command]] = match self.chain.last() {
            Some(noun) => &[noun.verbs],
            None => commands,
        };
        if let Some(next) = verbs.iter().copied().flatten().find(|command| command.is_called(&word)) {
            self.chain.push(next);
            return Ok(());
        }
        let names = verbs.iter().copied().flatten().map(|command| command.name);
        let path = words(&self.chain);
        let shown = echo(&word);
        let message = match path.as_str() {
            "" => format!("there is no command `{shown}`"),
            noun => format!("`{noun}` has no verb `{shown}`"),
        };
        let near = nearest(&word, names);
        let message =
            near.map_or_else(|| message.clone(), |name| format!("{message}; did you mean `{name}`?"));
        let error = Error::new(Code::InvalidArgument, message).detail("argument", shown);
        Err(match near {
            Some(name) => error.hint(format!("{path} {name} --help").trim_start()).detail("nearest", name),
            None => error.hint(format!("{path} --help").trim_start()),
        })
    }

    fn end(self) -> Result<Route> {
        if self.version {
            return Ok(Route::Version);
        }
        if self.help {
            return Ok(Route::Help(self.chain));
        }
        match self.chain.last() {
            None => Err(error::no_command()),
            Some(noun) if !noun.verbs.is_empty() => {
                let path = words(&self.chain);
                let verbs: Vec<_> = noun.verbs.iter().map(|verb| verb.name).collect();
                Err(Error::new(Code::InvalidArgument, format!("`{path}` needs a verb: {}", verbs.join(", ")))
                    .hint(format!("{path} --help")))
            }
            Some(_) => Ok(Route::Verb(self.chain, self.rest)),
        }
    }
}

/// Whether the word after a flag before the command belongs to the flag.
fn is_global_with_value(flag: &str) -> bool {
    let Some(id) = flag.strip_prefix("--") else { return false };
    GLOBAL.iter().any(|arg| arg.place == Place::Option && arg.id == id)
}
