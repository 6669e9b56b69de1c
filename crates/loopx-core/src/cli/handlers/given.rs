//! Owns how the values of arguments become those of the nouns: texts, moments, keys, validators.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde_json::Value as Json;

use super::{desk::Desk, names};
use crate::{
    authority::{Envelope, EventFilter},
    cli::{Args, Context, Var, When, parse::Wake as WakeWord},
    error::{Code, Error, Result, echo},
    model::json_value,
    model::{AgentId, Duration, EndpointId, OperationId, Timestamp, Validator, Wake, gathered},
};

/// A value of a noun, with the argument named where it is refused.
pub(in crate::cli) fn parsed<T: FromStr<Err = Error>>(args: &Args, id: &str) -> Result<Option<T>> {
    args.text(id).map(|text| one(id, text)).transpose()
}

/// All values of an argument, in order.
pub(in crate::cli) fn all<T: FromStr<Err = Error>>(args: &Args, id: &str) -> Result<Vec<T>> {
    args.texts(id).map(|text| one(id, text)).collect()
}

/// All values of an argument, each once.
pub(in crate::cli) fn set<T: FromStr<Err = Error> + Ord>(args: &Args, id: &str) -> Result<BTreeSet<T>> {
    Ok(gathered(all(args, id)?))
}

/// A value that the table requires.
pub(in crate::cli) fn needed<T: FromStr<Err = Error>>(args: &Args, id: &str) -> Result<T> {
    one(id, args.needed(id)?)
}

fn one<T: FromStr<Err = Error>>(id: &str, text: &str) -> Result<T> {
    text.parse().map_err(|error: Error| error.detail("argument", id))
}

/// A word of a noun's own enum, as the wire spells it.
///
/// Errors: `internal` where the table offers a word that the noun does not have.
pub(in crate::cli) fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(&Json::from(text).to_string())
        .map_err(|e| Error::new(Code::Internal, format!("`{text}` is offered and not known")).internal(e))
}

/// The moment that a time or a length of time means; `id` is the operation that names it.
///
/// A length counts from now, but in a repeated operation from where it counted the first time, so that an
/// honest retry asks for the same.
pub(in crate::cli) fn moment(desk: &mut Desk, id: &OperationId, when: When) -> Result<Timestamp> {
    match when {
        When::At(ms) => Ok(Timestamp::from_ms(ms)),
        When::Span(ms) => {
            if let Some(before) = desk.authority.read(|view| asked_before(view, id))? {
                return Ok(before);
            }
            desk.look(|_, terms| Ok(terms.now.plus(Duration::from_ms(ms))))
        }
    }
}

/// The moment that an operation named when it was accepted.
fn asked_before(view: &mut dyn crate::authority::View, id: &OperationId) -> Result<Option<Timestamp>> {
    const EVENTS: u32 = 16;
    let Some(receipt) = view.receipt(id)? else { return Ok(None) };
    let Some(goal) = receipt.goal_id.as_ref().filter(|_| receipt.cut.is_none()) else { return Ok(None) };
    let after = receipt.seq.saturating_sub(u64::from(EVENTS));
    for record in view.events(&EventFilter { goal, after }, usize::try_from(EVENTS).unwrap_or(usize::MAX))? {
        let envelope = Envelope::decode(&record.payload)?;
        if envelope.operation_id != *id {
            continue;
        }
        let body = json_value(&envelope.body)?;
        if let Some(found) = named_moment(&body) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The first field of an event that holds a moment somebody asked for.
fn named_moment(value: &Json) -> Option<Timestamp> {
    let Json::Object(fields) = value else { return None };
    fields.iter().find_map(|(name, value)| match (name.as_str(), value.as_i64()) {
        ("after" | "until" | "standing_until", Some(ms)) => Some(Timestamp::from_ms(ms)),
        _ => named_moment(value),
    })
}

/// What a deferred Todo waits for.
pub(in crate::cli) fn wake(desk: &mut Desk, args: &Args, id: &OperationId) -> Result<Option<Wake>> {
    Ok(match args.wake("wake") {
        None => None,
        Some(WakeWord::After(when)) => Some(Wake::After(moment(desk, id, *when)?)),
        Some(WakeWord::TodoDone(word)) => Some(Wake::TodoDone(names::todo(desk, word)?)),
        Some(WakeWord::Gate(word)) => Some(Wake::Gate(names::gate(desk, word)?)),
    })
}

/// The validators that `--validator` names, each with the other flags' values.
///
/// The program is made an absolute path now, and the environment is recorded now: a validator gets nothing of
/// who calls it later. Errors: `not_found` for a program that is nowhere, `invalid_argument`.
pub(in crate::cli) fn validators(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &Desk,
) -> Result<Vec<Validator>> {
    let progress_exit = args.number("progress-exit").and_then(|code| u8::try_from(code).ok());
    args.argvs("validator").map(|argv| validator(context, args, desk, argv, progress_exit)).collect()
}

/// One command that proves something.
///
/// Errors: as [`validators`].
pub(in crate::cli) fn validator(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &Desk,
    argv: &[String],
    progress_exit: Option<u8>,
) -> Result<Validator> {
    let (program, rest) = argv.split_first().ok_or_else(|| Error::from(Code::Internal))?;
    let mut recorded: Vec<Box<str>> = vec![resolved(context, program)?.into()];
    recorded.extend(rest.iter().map(|word| word.as_str().into()));
    let mut env = Vec::new();
    let mut names: Vec<&str> = vec!["PATH"];
    names.extend(args.texts("env"));
    names.sort_unstable();
    names.dedup();
    for name in names {
        let is_name = !name.is_empty() && !name.contains('=') && !name.contains('\0');
        if !is_name || name.starts_with("LOOPX_") {
            return Err(Error::new(
                Code::InvalidArgument,
                "a validator's variable has a plain name that is not ours",
            )
            .detail("argument", "--env"));
        }
        let Some(value) = context.env.named(name) else { continue };
        let value = value.to_str().ok_or_else(|| {
            Error::new(Code::InvalidArgument, format!("{} is not valid UTF-8", echo(name)))
                .detail("variable", echo(name))
        })?;
        env.push((name.into(), value.into()));
    }
    let timeout_ms = Duration::from_ms(desk.settings.millis("validator.timeout")?);
    Ok(Validator { argv: recorded, progress_exit, timeout_ms, env })
}

/// The absolute path of a program: as it stands, from the present folder, or from `PATH`.
fn resolved(context: &Context<'_, '_>, program: &str) -> Result<String> {
    let nowhere = || {
        let shown = echo(program).into_owned();
        Error::new(Code::NotFound, format!("there is no program `{shown}`")).detail("program", shown)
    };
    let found = if program.contains('/') {
        let path = context.folder()?.join(program);
        Some(path).filter(|path| is_program(path))
    } else {
        let paths = context.env.get(Var::Path).map(std::env::split_paths).into_iter().flatten();
        paths.filter(|dir| dir.is_absolute()).map(|dir| dir.join(program)).find(|path| is_program(path))
    };
    let path: PathBuf = found.ok_or_else(nowhere)?;
    path.into_os_string()
        .into_string()
        .map_err(|_| Error::new(Code::InvalidArgument, "a validator's path is not valid UTF-8"))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// For whom a command executes, and through which endpoint: the agent's own unless another is named.
pub(in crate::cli) fn executor(args: &Args) -> Result<(AgentId, EndpointId)> {
    let agent = names::agent(args.needed("agent")?)?;
    let endpoint = match parsed(args, "endpoint")? {
        Some(endpoint) => endpoint,
        None => agent.default_endpoint(),
    };
    Ok((agent, endpoint))
}
