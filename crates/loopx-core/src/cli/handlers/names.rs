//! Owns how a word of the command line becomes an id: exact, a unique start, or what the folder means.
//!
//! An exact id always wins. For programs, with `--json`, nothing else is taken.

use std::str::FromStr;

use super::desk::Desk;
use crate::{
    cli::Args,
    error::{Code, Error, Result, echo},
    kernel::{Facts, Read},
    model::{
        AgentId, EffectId, EvidenceId, Gate, GateId, Goal, GoalId, NounKey, NounKind, Proposal, ProposalId,
        ReturnId, Todo, TodoId, Turn, TurnId,
    },
};

/// The Goal that a command means: a word of its own, `--goal`, the folder's, else the only one there is.
///
/// Errors: `invalid_id`; `not_found` where there is none; `invalid_argument` where several are.
pub(in crate::cli) fn goal(desk: &mut Desk, word: Option<&str>) -> Result<GoalId> {
    if let Some(word) = word {
        return word.parse();
    }
    if let Some(word) = desk.settings.text("goal") {
        return word.parse();
    }
    let goals = desk.look(|view, _| view.goals(None, 2))?;
    match goals.as_slice() {
        [only] => Ok(only.goal_id.clone()),
        [] => Err(Error::new(Code::NotFound, "there is no Goal yet").hint("goal start OBJECTIVE")),
        _ => Err(Error::new(Code::InvalidArgument, "no Goal is named, and the folder is bound to none")
            .hint("goal list")
            .detail("argument", "--goal")),
    }
}

/// The Goals that a command over all Goals means: `--goal` alone, else none for all of them.
pub(in crate::cli) fn goal_given(args: &Args) -> Result<Option<GoalId>> {
    args.text("goal").map(str::parse).transpose()
}

/// The row of a Goal.
///
/// Errors: `not_found`.
pub(in crate::cli) fn goal_row(desk: &mut Desk, id: &GoalId) -> Result<Goal> {
    desk.look(|view, terms| {
        let mut facts = Facts::new(terms.clone());
        view.load(&[Read::Goal(id.clone())].into(), &mut facts)?;
        facts.goal(id)?.cloned().ok_or_else(|| {
            Error::new(Code::NotFound, format!("there is no Goal {id}"))
                .hint("goal list")
                .detail("goal_id", id.as_str())
        })
    })
}

/// The Todo that a word means: `goal.7`, or `7` and `#7` in the Goal that is meant.
///
/// Errors: `invalid_id`; as [`goal`].
pub(in crate::cli) fn todo(desk: &mut Desk, word: &str) -> Result<TodoId> {
    let exact = word.parse::<TodoId>();
    if exact.is_ok() {
        return exact;
    }
    let number = word.strip_prefix('#').unwrap_or(word);
    let is_number =
        !number.is_empty() && !number.starts_with('0') && number.bytes().all(|byte| byte.is_ascii_digit());
    if desk.exact || !is_number {
        let meant = |desk: &mut Desk| {
            let id = format!("{}.{number}", goal(desk, None).ok()?).parse().ok()?;
            todo_row(desk, &id).ok().map(|todo| todo.todo_id.to_string())
        };
        return exact.map_err(|error| refused(desk, error, word, "todo", meant));
    }
    format!("{}.{number}", goal(desk, None)?).parse()
}

/// All Todos of an argument that may be given several times.
pub(in crate::cli) fn todos(desk: &mut Desk, args: &Args, id: &str) -> Result<Vec<TodoId>> {
    args.texts(id).map(|word| todo(desk, word)).collect()
}

/// The row of a Todo.
///
/// Errors: `not_found`.
pub(in crate::cli) fn todo_row(desk: &mut Desk, id: &TodoId) -> Result<Todo> {
    desk.look(|view, terms| {
        let mut facts = Facts::new(terms.clone());
        view.load(&[Read::Todo(id.clone())].into(), &mut facts)?;
        facts.todo(id)?.cloned().ok_or_else(|| {
            Error::new(Code::NotFound, format!("there is no Todo {id}"))
                .hint(format!("todo list --goal {}", id.goal()))
                .detail("todo_id", id.to_string())
        })
    })
}

/// The agent that a word names.
pub(in crate::cli) fn agent(word: &str) -> Result<AgentId> {
    word.parse()
}

/// The gate that a word means.
///
/// Errors: `invalid_id`, `not_found`, `ambiguous_id`.
pub(in crate::cli) fn gate(desk: &mut Desk, word: &str) -> Result<GateId> {
    minted(desk, word, GateId::PREFIX, "gate")
}

/// The row of a gate.
///
/// Errors: `not_found`.
pub(in crate::cli) fn gate_row(desk: &mut Desk, id: GateId) -> Result<Gate> {
    desk.look(|view, terms| {
        let mut facts = Facts::new(terms.clone());
        view.load(&[Read::Gate(id)].into(), &mut facts)?;
        facts.gate(&id)?.cloned().ok_or_else(|| none("gate", &id.to_string()))
    })
}

/// The effect that a word means.
///
/// Errors: `invalid_id`, `not_found`, `ambiguous_id`.
pub(in crate::cli) fn effect(desk: &mut Desk, word: &str) -> Result<EffectId> {
    minted(desk, word, EffectId::PREFIX, "effect")
}

/// The return that a word means.
///
/// Errors: `invalid_id`, `not_found`, `ambiguous_id`.
pub(in crate::cli) fn returned(desk: &mut Desk, word: &str) -> Result<ReturnId> {
    minted(desk, word, ReturnId::PREFIX, "peer")
}

/// The piece of evidence that a word means.
///
/// Errors: `invalid_id`, `not_found`, `ambiguous_id`.
pub(in crate::cli) fn evidence(desk: &mut Desk, word: &str) -> Result<EvidenceId> {
    minted(desk, word, EvidenceId::PREFIX, "evidence")
}

/// The piece of evidence that a word means for a Todo; where there is none, the hint adds one.
///
/// Errors: `invalid_id`, `not_found`, `ambiguous_id`.
pub(in crate::cli) fn evidence_for(desk: &mut Desk, word: &str, todo_id: &TodoId) -> Result<EvidenceId> {
    evidence(desk, word).map_err(|error| match error.code() {
        Code::InvalidId | Code::NotFound => {
            error.hint(format!("evidence add POINTER --kind file --todo {todo_id}"))
        }
        _ => error, // several are listed, or the store has failed
    })
}

/// The proposal that a word means.
///
/// Errors: `invalid_id`, `not_found`, `ambiguous_id`.
pub(in crate::cli) fn proposal(desk: &mut Desk, word: &str) -> Result<ProposalId> {
    minted(desk, word, ProposalId::PREFIX, "proposal")
}

/// The row of a proposal.
///
/// Errors: `not_found`.
pub(in crate::cli) fn proposal_row(desk: &mut Desk, id: ProposalId) -> Result<Proposal> {
    desk.look(|view, terms| {
        let mut facts = Facts::new(terms.clone());
        let key = NounKey { kind: NounKind::Proposal, id: *id.as_bytes() };
        view.load(&[Read::Noun(key)].into(), &mut facts)?;
        facts.noun::<Proposal>(key.id)?.cloned().ok_or_else(|| none("proposal", &id.to_string()))
    })
}

/// The Turn that a word means.
///
/// Errors: `invalid_id`, `not_found`, `ambiguous_id`.
pub(in crate::cli) fn turn(desk: &mut Desk, word: &str) -> Result<TurnId> {
    minted(desk, word, TurnId::PREFIX, "turn")
}

/// The row of a Turn.
///
/// Errors: `not_found`.
pub(in crate::cli) fn turn_row(desk: &mut Desk, id: TurnId) -> Result<Turn> {
    desk.look(|view, terms| {
        let mut facts = Facts::new(terms.clone());
        view.load(&[Read::Turn(id)].into(), &mut facts)?;
        facts.turn(&id)?.cloned().ok_or_else(|| none("turn", &id.to_string()))
    })
}

fn none(noun: &str, id: &str) -> Error {
    let id = echo(id);
    Error::new(Code::NotFound, format!("there is no {noun} {id}"))
        .hint(format!("{noun} list"))
        .detail("id", id)
}

fn minted<T: FromStr<Err = Error>>(desk: &mut Desk, word: &str, prefix: &str, noun: &str) -> Result<T> {
    match word.parse::<T>() {
        Ok(id) => Ok(id),
        Err(error) => started(desk, word, &[prefix], noun, error)?.parse(),
    }
}

/// The one minted id that a word starts, of any of some kinds; `error` is why the word is no whole one.
///
/// Errors: `invalid_id`, `not_found`, `ambiguous_id`.
pub(super) fn started(
    desk: &mut Desk,
    word: &str,
    prefixes: &[&str],
    noun: &str,
    error: Error,
) -> Result<String> {
    let whole = prefixes.iter().find_map(|prefix| Some((*prefix, word.strip_prefix(*prefix)?)));
    let tail = whole.map_or(word, |(_, tail)| tail);
    let kinds: Vec<_> = match whole {
        Some((prefix, _)) => vec![prefix],
        None => prefixes.to_vec(),
    };
    let is_plain = tail.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_start = (1..=TAIL).contains(&tail.len()) && is_plain;
    let starting = |desk: &mut Desk| {
        desk.look(|view, _| {
            let mut found = Vec::new();
            for prefix in &kinds {
                found.extend(view.tails(prefix, tail, SEVERAL)?);
            }
            found.truncate(SEVERAL);
            Ok(found)
        })
    };
    if desk.exact || !is_start {
        let meant = |desk: &mut Desk| starting(desk).ok().and_then(only);
        return Err(refused(desk, error, word, noun, meant));
    }
    one(starting(desk)?, tail, noun)
}

/// The only one of several ids.
pub(super) fn only(mut found: Vec<String>) -> Option<String> {
    found.pop().filter(|_| found.is_empty())
}

/// The refusal of a word that is no whole id. A program is told that what people may write is not taken from it, and
/// the id that a person would have meant by it, if there is one.
pub(super) fn refused(
    desk: &mut Desk,
    error: Error,
    word: &str,
    noun: &str,
    meant: impl FnOnce(&mut Desk) -> Option<String>,
) -> Error {
    let is_short = |word: &str| {
        (1..=TAIL).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    if !desk.exact || !is_short(word.rsplit(['_', '#']).next().unwrap_or(word)) {
        return error.hint(format!("{noun} list"));
    }
    let message =
        format!("`{}` is not a whole {noun} id, and with --json no shorter one is taken", echo(word));
    let error =
        |message: String| Error::new(Code::InvalidId, message).detail("expected", format!("{noun} id"));
    match meant(desk) {
        Some(id) => error(format!("{message}; the whole one is {id}"))
            .hint(format!("{noun} list --json"))
            .detail("id", id),
        None => error(message).hint(format!("{noun} list --json")),
    }
}

/// How long the random tail of a minted id is.
const TAIL: usize = 16;
/// How many ids an ambiguous start shows.
const SEVERAL: usize = 8;

/// As [`only`], with a refusal of none and of several.
pub(super) fn one(found: Vec<String>, tail: &str, noun: &str) -> Result<String> {
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(none(noun, tail)),
        _ => Err(Error::new(Code::AmbiguousId, format!("several {noun} ids start with {}", echo(tail)))
            .hint(format!("{noun} list"))
            .detail("ids", found)),
    }
}

/// The start of an id's random tail that lists show to people.
pub(in crate::cli) fn short(id: &impl ToString) -> String {
    let id = id.to_string();
    tail(&id).and_then(|tail| tail.get(..8)).map_or_else(|| id.clone(), str::to_owned)
}

/// An id as lists show it to people: a minted one by the start of its random tail.
pub(super) fn shown(id: &str) -> String {
    const MINTED: [&str; 3] = [GateId::PREFIX, TurnId::PREFIX, EvidenceId::PREFIX];
    let nouns = NounKind::ALL.iter().map(|kind| kind.prefix());
    if MINTED.into_iter().chain(nouns).any(|prefix| id.starts_with(prefix)) {
        short(&id)
    } else {
        id.to_owned()
    }
}

/// A command with its minted ids as lists show them.
pub(super) fn commanded(command: &str) -> String {
    command.split(' ').map(shown).collect::<Vec<_>>().join(" ")
}

/// The random tail of a minted id; what stands before it is its time.
pub(super) fn tail(id: &str) -> Option<&str> {
    id.rsplit('_').next().and_then(|rest| rest.get(10..))
}
