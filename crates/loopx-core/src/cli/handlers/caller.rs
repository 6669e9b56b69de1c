//! Owns who asks: the actor of a command, how sure LoopX is of it, and whether it runs below a Turn.
//!
//! Knows no verb and no right; the kernel's table decides what each may do.

use super::{
    desk::{Desk, wall},
    names,
    token::another,
};
use crate::{
    authority::{TurnFilter, View},
    cli::{Args, Context, Var},
    error::{Code, Error, Result},
    kernel::{Facts, Person, Read, Verb},
    model::{Actor, Agent, Assurance, Door, GoalId, Provenance, Turn, TurnId},
    process,
};

/// Who asks.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Caller {
    /// The actor.
    pub(in crate::cli) actor: Actor,
    /// Through which door, how surely.
    pub(in crate::cli) provenance: Provenance,
    /// Whether a token proved it.
    pub(in crate::cli) by_token: bool,
}

/// How many Goals and Turns of each are looked at for the Turn of a key.
const LOOKED_AT: usize = 1000;

/// Finds who asks: below a Turn its agent; else whom the token names; else `--as`, `LOOPX_ACTOR`, and on a
/// terminal the login name.
///
/// Errors: `missing_actor`; `unauthenticated` for a token that proves nothing, or another actor;
/// `actor_not_allowed` below something of ours that cannot be told.
pub(in crate::cli) fn caller(context: &Context<'_, '_>, args: &Args, desk: &mut Desk) -> Result<Caller> {
    let named = args.text("as").map(str::parse::<Actor>).transpose()?;
    caller_named(context, args, desk, named)
}

/// As [`caller`], where the call names somebody by a word of its own.
///
/// Errors: as [`caller`].
pub(super) fn caller_named(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    named: Option<Actor>,
) -> Result<Caller> {
    if let Some(turn) = contained(context, desk)? {
        let actor = named.unwrap_or(Actor::Agent(turn.agent_id, turn.endpoint));
        let provenance =
            Provenance { door: Door::Cli, assurance: Assurance::Stated, contained: Some(turn.turn_id) };
        return Ok(Caller { actor, provenance, by_token: false });
    }
    let outside = |assurance| Provenance { door: Door::Cli, assurance, contained: None };
    if let Some(secret) = context.token(args)? {
        let token = desk.tokens().prove(&secret, wall()?)?;
        if named.as_ref().is_some_and(|named| *named != token.actor) {
            return Err(another(&token.actor));
        }
        return Ok(Caller { actor: token.actor, provenance: outside(Assurance::Proven), by_token: true });
    }
    let actor = match named {
        Some(actor) => actor,
        None => context.actor(args).map_err(|error| with_agent(context, args, desk, error))?.parse()?,
    };
    Ok(Caller { actor, provenance: outside(Assurance::Stated), by_token: false })
}

/// Whether a call is an agent's alone, as the kernel's table of actors has it.
fn is_agents(args: &Args) -> bool {
    let words = match args.path() {
        "todo release" if args.switch("force") => return false,
        // A person's has no ownership.
        "todo done" if args.text("own").is_none() => return false,
        // An owner's three ways to end its Turn are one verb there.
        "todo progress" | "todo look" => Verb::TurnCandidate.as_str(),
        path => path,
    };
    let agents = |verb: &&Verb| verb.rights().agent && verb.rights().person == Person::Never;
    Verb::ALL.iter().filter(agents).any(|verb| verb.as_str() == words)
}

/// Names an agent where a person may never ask, and nobody, or a person, did.
pub(super) fn with_agent(context: &Context<'_, '_>, args: &Args, desk: &mut Desk, error: Error) -> Error {
    let is_so = match error.code() {
        Code::MissingActor => true,
        Code::ActorNotAllowed => error.hint_args().is_none(),
        _ => false, // wildcard: no other code says who asks
    };
    if !is_so || !is_agents(args) {
        return error;
    }
    let named = args.command().args.iter().any(|arg| arg.id == "id").then(|| args.text("id")).flatten();
    let todo = named.and_then(|word| names::todo(desk, word).ok());
    let goal = todo.map(|todo| todo.goal().clone()).or_else(|| names::goal(desk, None).ok());
    let found = goal.and_then(|goal| desk.look(|view, _| view.agents(&goal)).ok()).unwrap_or_default();
    let agent = found.into_iter().find(Agent::is_registered);
    let hint = agent.and_then(|agent| {
        let named = format!("agent:{}", agent.agent_id);
        // Whom the call itself names is not replaced in it.
        context.again("--as", &named).filter(|call| call.contains(&named))
    });
    error.hint(hint.unwrap_or_else(|| "agent list".to_owned()))
}

/// The Turn below which this process runs, if it does.
fn contained(context: &Context<'_, '_>, desk: &mut Desk) -> Result<Option<Turn>> {
    // An ancestor's mark counts before our own environment's, which whoever starts us may write as it likes.
    let mark = match process::token_above() {
        Some(mark) => Some(mark),
        None => context.env.text(Var::LoopxContainment)?.map(str::to_owned),
    };
    if let Some(mark) = mark {
        // `<turn>.<attempt>`, or `<turn>.v` for its validators.
        let id = mark.split('.').next().and_then(|id| id.parse::<TurnId>().ok()).ok_or_else(strange)?;
        return desk
            .look(|view, terms| {
                let mut facts = Facts::new(terms.clone());
                view.load(&[Read::Turn(id)].into(), &mut facts)?;
                Ok(facts.turn(&id)?.cloned())
            })?
            .map(Some)
            .ok_or_else(strange);
    }
    let Some(key) = context.env.text(Var::LoopxTurnKey)?.map(str::to_owned) else { return Ok(None) };
    desk.look(|view, _| of_key(view, &key))?.map(Some).ok_or_else(strange)
}

/// The Turn of a key, among those that have not ended.
fn of_key(view: &mut dyn View, key: &str) -> Result<Option<Turn>> {
    for goal in view.goals(None, LOOKED_AT)? {
        let filter = TurnFilter { goal: &goal.goal_id, todo: None, agent: None, live: true };
        let turns = view.turns(&filter, None, LOOKED_AT)?;
        if let Some(turn) = turns.into_iter().find(|turn| turn.turn_key.to_string() == key) {
            return Ok(Some(turn));
        }
    }
    Ok(None)
}

fn strange() -> Error {
    Error::new(
        Code::ActorNotAllowed,
        "this runs below a Turn that is not known here, so it may write nothing",
    )
}

/// Refuses an agent that came by a token after it was retired.
///
/// Errors: `unauthenticated`.
pub(super) fn check_retired(desk: &mut Desk, caller: &Caller, goal: &GoalId) -> Result<()> {
    let (true, Some((agent, _))) = (caller.by_token, caller.actor.agent()) else { return Ok(()) };
    let key = (goal.clone(), agent.clone());
    let retired = desk.look(|view, terms| {
        let mut facts = Facts::new(terms.clone());
        view.load(&[Read::Agent(key.0.clone(), key.1.clone())].into(), &mut facts)?;
        Ok(facts.agent(&key)?.is_some_and(|agent| !agent.is_registered()))
    })?;
    if retired {
        return Err(Error::new(
            Code::Unauthenticated,
            format!("the token's agent {agent} is retired in {goal}"),
        )
        .hint(format!("agent show {agent} --goal {goal}")));
    }
    Ok(())
}
