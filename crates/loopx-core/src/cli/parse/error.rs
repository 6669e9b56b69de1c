//! Owns the translation of parse errors into the typed error set.
//!
//! clap's own texts are not used: every message is ours, names the argument and has a hint that runs.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::nearest;
use crate::{
    cli::table::{Command, GLOBAL, Place},
    error::{Code, Error, echo},
};

/// The error of an argument vector that names no command.
pub(super) fn no_command() -> Error {
    Error::new(Code::InvalidArgument, "no command is given").hint("--help")
}

/// The error of an argument whose value cannot be taken.
pub(super) fn value(argument: &str, shown: &str, wanted: &str, path: &str) -> Error {
    let message = format!("`{argument}` cannot be `{}`: {wanted}", echo(shown));
    Error::new(Code::InvalidArgument, message).hint(format!("{path} --help")).detail("argument", argument)
}

/// Makes a typed error of clap's.
pub(super) fn typed(error: &clap::Error, command: &Command, path: &str) -> Error {
    let argument = context(error, ContextKind::InvalidArg);
    let argument = argument.as_str();
    let shown = echo(argument);
    let (message, near) = match error.kind() {
        ErrorKind::UnknownArgument => unknown(&shown, argument, command, path),
        ErrorKind::MissingRequiredArgument => (format!("`{path}` needs {}", needed(&shown)), None),
        ErrorKind::ArgumentConflict => (conflict(error, &shown), None),
        ErrorKind::InvalidValue | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            (format!("`{shown}` needs a value"), None)
        }
        ErrorKind::TooManyValues => (format!("`{shown}` takes no further value"), None),
        _ => (format!("`{path}` cannot take these arguments"), None),
    };
    let typed = Error::new(Code::InvalidArgument, message).hint(format!("{path} --help"));
    let typed = if shown.is_empty() { typed } else { typed.detail("argument", shown) };
    match near {
        Some(near) => typed.detail("nearest", near),
        None => typed,
    }
}

/// `<--a|--b>` as a person says it.
fn needed(shown: &str) -> String {
    match shown.strip_prefix("<--").and_then(|set| set.strip_suffix('>')) {
        Some(set) => format!("--{}", set.replace('|', " or ")),
        None => shown.to_owned(),
    }
}

fn unknown(shown: &str, argument: &str, command: &Command, path: &str) -> (String, Option<String>) {
    let Some(flag) = argument.strip_prefix("--") else {
        return (format!("`{path}` does not take `{shown}`"), None);
    };
    let flags = command.args.iter().chain(GLOBAL).filter(|arg| arg.place != Place::Positional);
    let flag = flag.split('=').next().unwrap_or(flag);
    match nearest(flag, flags.map(|arg| arg.id)) {
        // It is one, so it stood where none is looked for.
        Some(near) if near == flag => (
            format!(
                "`{path}` takes no further word: after `--` nothing is an option, so `{shown}` goes before it"
            ),
            Some(format!("--{near}")),
        ),
        Some(near) => {
            (format!("`{path}` does not take `{shown}`; did you mean `--{near}`?"), Some(format!("--{near}")))
        }
        None => (format!("`{path}` does not take `{shown}`"), None),
    }
}

fn conflict(error: &clap::Error, shown: &str) -> String {
    let other = echo(&context(error, ContextKind::PriorArg)).into_owned();
    if other.is_empty() || other == shown {
        return format!("`{shown}` can be given only once");
    }
    format!("`{shown}` cannot be given with `{other}`")
}

fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    }
}
