//! Owns the handlers of `token`. A secret is shown once, or written to a new file that only its owner can read.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    path::Path,
};

use serde::Serialize;
use serde_json::json;

use super::{
    caller::caller,
    desk::{Desk, around, wall},
    names, schema, show,
    submit::with_proof_hint,
};
use crate::{
    authority::profile::Place,
    cli::{Args, Context, Document, Rendered, Var, When},
    error::{Code, Error, Result},
    model::{Actor, Assurance, Duration, Timestamp, TokenId},
    private::{Token, Tokens},
    process,
    projection::Listed,
};

#[derive(Debug, Serialize)]
struct Row {
    token_id: TokenId,
    actor: Actor,
    state: &'static str,
    issued_at_ms: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_ms: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at_ms: Option<Timestamp>,
}

impl Row {
    fn of(token: &Token, now: Timestamp) -> Self {
        Self {
            token_id: token.token_id,
            actor: token.actor.clone(),
            state: token.state(now),
            issued_at_ms: token.issued_at_ms,
            expires_at_ms: token.expires_at_ms,
            revoked_at_ms: token.revoked_at_ms,
        }
    }
}

/// Refuses everybody but a proven person.
///
/// Errors: `user_only`, `unauthenticated`.
fn check_proven(context: &mut Context<'_, '_>, args: &Args, desk: &mut Desk) -> Result<()> {
    let caller = caller(context, args, desk)?;
    if !caller.actor.is_user() || caller.provenance.contained.is_some() {
        return Err(no_person(args));
    }
    let proven = caller.provenance.assurance == Assurance::Proven;
    if proven {
        return Ok(());
    }
    agreed(context, args, &caller.actor.to_string())
        .map_err(|error| with_proof_hint(context, args, desk, &caller.actor, error))
}

/// Refuses, for what needs no ledger, whoever is no person: who runs below a Turn, and who says, or proves, to be
/// somebody else. A token that is given is read wherever it is given; a strict profile wants proof here too.
///
/// Errors: `user_only`, `missing_actor`, `unauthenticated`; those of a token's file.
pub(in crate::cli) fn check_person(context: &mut Context<'_, '_>, args: &Args) -> Result<(Actor, Assurance)> {
    let marks = [Var::LoopxContainment, Var::LoopxTurnKey];
    let below = marks.iter().any(|mark| context.env.get(*mark).is_some()) || process::token_above().is_some();
    let named = args.text("as").map(str::parse::<Actor>).transpose()?;
    if below || named.as_ref().is_some_and(|actor| !actor.is_user()) {
        return Err(no_person(args));
    }
    let (settings, _, env) = around(context, args)?;
    if let Some(secret) = context.token(args)? {
        let token = Tokens::at(&Place::resolve(&env)?).prove(&secret, wall()?)?;
        if !token.actor.is_user() {
            return Err(no_person(args));
        }
        if named.is_some_and(|named| named != token.actor) {
            return Err(another(&token.actor));
        }
        return Ok((token.actor, Assurance::Proven));
    }
    let actor: Actor = context.actor(args)?.parse()?;
    if settings.text("actors.assurance") != Some("strict") {
        return Ok((actor, Assurance::Stated));
    }
    agreed(context, args, &actor.to_string())
        .map_err(|error| error.hint(format!("{} --help", args.path())))?;
    Ok((actor, Assurance::Proven))
}

/// The refusal of a token beside a word that names somebody else.
pub(super) fn another(proven: &Actor) -> Error {
    Error::new(Code::Unauthenticated, format!("the token names {proven}, not who is given as the actor"))
        .hint("token list")
}

fn no_person(args: &Args) -> Error {
    Error::new(Code::UserOnly, format!("only a person may use `{}`", args.path()))
}

/// Asks on the terminal for the word that proves who asks.
fn agreed(context: &mut Context<'_, '_>, args: &Args, actor: &str) -> Result<()> {
    match context.confirm(&format!("{}: {} as {actor}?", context.program, args.path()))? {
        Some(true) => Ok(()),
        Some(false) => Err(Error::new(Code::Unauthenticated, format!("`{}` was not agreed to", args.path()))),
        None => {
            Err(Error::new(Code::Unauthenticated, format!("`{}` needs proof that {actor} asks", args.path())))
        }
    }
}

/// `token issue`.
pub(in crate::cli) fn issue(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let actor: Actor = args.needed("actor")?.parse()?;
    if actor == Actor::System {
        return Err(Error::new(Code::InvalidArgument, "nobody can prove to be `system`")
            .detail("argument", "--actor"));
    }
    let now = wall()?;
    let expires = args.when("expires").map(|when| match when {
        When::At(ms) => Timestamp::from_ms(ms),
        When::Span(ms) => now.plus(Duration::from_ms(ms)),
    });
    if expires.is_some_and(|at| at <= now) {
        return Err(
            Error::new(Code::InvalidArgument, "a token ends in the future").detail("argument", "--expires")
        );
    }
    let out = args.file("out").map(|path| Ok::<_, Error>(context.folder()?.join(path))).transpose()?;
    if args.switch("dry-run") {
        let document = Document::new().line(format!("would make a token for {actor}"));
        return Rendered::new(schema::TOKEN, &json!({"dry_run": true, "token": {"actor": actor}}), document);
    }
    check_proven(context, args, &mut desk)?;
    // A file that cannot be made must not cost a token that nobody ever saw.
    let file = out.as_deref().map(new_file).transpose()?;
    let (token, secret) = desk.tokens().issue(actor.clone(), now, expires)?;
    let row = Row::of(&token, now);
    if let Some(mut file) = file {
        let written = file.write_all(format!("{secret}\n").as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|e| unwritable(&e))?;
        let document =
            Document::new().line(format!("token {} for {actor} is in the file", names::short(&row.token_id)));
        return Rendered::new(schema::TOKEN, &json!({"token": row}), document);
    }
    let document = Document::new().line(&secret);
    let rendered = Rendered::new(schema::TOKEN, &json!({"token": row, "secret": secret}), document)?;
    Ok(rendered.note("it is shown this once; keep it where nobody else can read it"))
}

fn new_file(path: &Path) -> Result<std::fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|e| unwritable(&e))
}

fn unwritable(e: &io::Error) -> Error {
    let (code, message) = match e.kind() {
        io::ErrorKind::AlreadyExists => {
            (Code::InvalidArgument, "the file is there already; a token gets a new one")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (Code::DiskFull, "the file cannot be written")
        }
        _ => (Code::InvalidArgument, "the file cannot be made"),
    };
    Error::new(code, message).detail("argument", "--out").internal(e)
}

/// `token list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let desk = Desk::open(context, args)?;
    let now = wall()?;
    let after = args.text("cursor").map(str::parse::<TokenId>).transpose()?;
    let later = |token: &&Token| after.is_none_or(|after| token.token_id > after);
    let mut items: Vec<_> =
        desk.tokens().list()?.iter().filter(later).map(|token| Row::of(token, now)).collect();
    let limit = desk.page(args)?.unwrap_or(usize::MAX);
    let more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| more).map(|row| row.token_id.to_string());
    show::listed(
        schema::TOKEN_LIST,
        &Listed { items, next_cursor },
        &["TOKEN", "STATE", "ACTOR", "ISSUED", "ENDS"],
        |row| {
            let ends = row.expires_at_ms.map_or_else(|| "-".to_owned(), |at| show::when(at, now));
            let issued = show::when(row.issued_at_ms, now);
            vec![names::short(&row.token_id), row.state.to_owned(), row.actor.to_string(), issued, ends]
        },
        "There is no token; `token issue --actor <ACTOR>` makes one.",
    )
}

/// `token revoke`.
pub(in crate::cli) fn revoke(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = which(&mut desk, args.needed("id")?)?;
    check_proven(context, args, &mut desk)?;
    let now = wall()?;
    let token = desk.tokens().revoke(id, now)?;
    let document = Document::new().line(format!("token {} of {} is revoked", names::short(&id), token.actor));
    Rendered::new(schema::TOKEN, &json!({"token": Row::of(&token, now)}), document)
}

/// The token that a word means: exact, or a unique start of its random tail.
fn which(desk: &mut Desk, word: &str) -> Result<TokenId> {
    let exact = word.parse::<TokenId>();
    if exact.is_ok() {
        return exact;
    }
    let tail = word.strip_prefix(TokenId::PREFIX).unwrap_or(word);
    let starting = |desk: &Desk| {
        let ids = desk.tokens().list()?.into_iter().map(|token| token.token_id.to_string());
        let fits = |id: &String| names::tail(id).is_some_and(|found| found.starts_with(tail));
        Ok::<Vec<String>, Error>(ids.filter(fits).collect())
    };
    let is_start =
        !tail.is_empty() && tail.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if desk.exact || !is_start {
        let meant = |desk: &mut Desk| starting(desk).ok().and_then(names::only);
        return exact.map_err(|error| names::refused(desk, error, word, "token", meant));
    }
    names::one(starting(desk)?, tail, "token")?.parse()
}
