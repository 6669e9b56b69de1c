//! Owns the way of one write from parsed arguments to its answer: id, proof, submission, receipt.
//!
//! Knows no rule: what is refused, and how, the authority says.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    caller::{Caller, caller, check_retired, with_agent},
    desk::{Desk, wall},
    init, names, proposed, show,
    workbench::Workbench,
};
use crate::{
    authority::{profile::Place, random},
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result, echo},
    kernel::{ClaimCommand, Command, GateCommand, Input, Outcome, Person, ProposalCommand, recover_command},
    model::json_value,
    model::{
        Actor, Answer, Assurance, Blocks, Digest, Expected, Gate, GoalId, Operation, OperationId, Receipt,
        TurnState, uuid_v7,
    },
    private::Tokens,
    turn,
};

/// What a command asks to be written.
#[derive(Debug)]
pub(in crate::cli) struct Wish {
    /// The Goal.
    pub(in crate::cli) goal_id: GoalId,
    /// What.
    pub(in crate::cli) command: Command,
    /// What the caller believes.
    pub(in crate::cli) expected: Expected,
}

impl Wish {
    /// A wish that believes nothing.
    pub(in crate::cli) fn new(goal_id: GoalId, command: Command) -> Self {
        Self { goal_id, command, expected: Expected::default() }
    }
}

/// What was written, and what the receipt says of it.
#[derive(Debug)]
pub(in crate::cli) struct Written {
    /// The receipt.
    pub(in crate::cli) receipt: Receipt,
    /// What it did.
    pub(in crate::cli) outcome: Outcome,
    /// The id of the verb, where the receipt is that of one of its steps.
    pub(in crate::cli) verb: Option<OperationId>,
}

/// The id of a command's operation: the caller's, or a new one.
///
/// Errors: `invalid_id`.
pub(in crate::cli) fn operation_id(args: &Args) -> Result<OperationId> {
    if let Some(text) = args.text("op-id") {
        return text.parse();
    }
    let id = Digest::of(&uuid_v7(wall()?, random::bytes()?)).to_string();
    format!("op_{}", id.get(..26).unwrap_or(&id)).parse()
}

/// Submits a wish as whoever asks.
///
/// Errors: those of the authority; a negative end, with its receipt among the details; as [`caller`].
pub(in crate::cli) fn submit(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    wish: Wish,
) -> Result<Written> {
    if let Some(noted) = &mut context.noting {
        noted.0 = Some(wish);
        return Err(Error::new(Code::Internal, format!("`{}` was noted and not written", args.path())));
    }
    let caller = caller(context, args, desk)?;
    submit_as(context, args, desk, caller, operation_id(args)?, wish)
}

/// Submits a wish under an id as somebody who is known already.
///
/// Errors: as [`submit`].
pub(in crate::cli) fn submit_as(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    caller: Caller,
    operation_id: OperationId,
    wish: Wish,
) -> Result<Written> {
    answered(receive(context, args, desk, caller, operation_id, wish)?)
}

/// As [`submit_as`], with the receipt of a negative end as it is.
///
/// Errors: as [`submit`], but a negative end.
pub(super) fn receive(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    mut caller: Caller,
    operation_id: OperationId,
    wish: Wish,
) -> Result<Receipt> {
    check_retired(desk, &caller, &wish.goal_id)?;
    let input = Input::Command(wish.command.clone());
    let needs = match input.verb().rights().person {
        Person::Never => false,
        Person::Stated => desk.is_strict(),
        Person::Proven => true,
    };
    prove(context, args, &mut caller, needs, desk, &operation_id, &wish)?;
    let frees = wish.command.may_free();
    let admits = match &wish.command {
        Command::Claim(ClaimCommand::Claim(claim)) => Some(claim.workspace.clone()),
        Command::Claim(ClaimCommand::Next(next)) => Some(next.workspace.clone()),
        _ => None, // wildcard: every other command admits to no work tree
    };
    let actor = caller.actor.clone();
    prove_in_the_way(context, desk, &wish.goal_id, &wish.command, &caller.actor)?;
    let operation = Operation {
        operation_id,
        actor: caller.actor,
        provenance: caller.provenance,
        goal_id: wish.goal_id,
        command: wish.command,
        expected: wish.expected,
    };
    let receipt = match &admits {
        Some(workspace) => {
            let locks = desk.profile.place().locks();
            turn::submit_claim(&mut desk.authority, &locks, workspace.as_ref(), operation)
        }
        None => desk.authority.submit(operation),
    };
    let receipt = match receipt {
        Ok(receipt) => receipt,
        Err(error) if admits.is_some() && error.code() == Code::TurnUnresolved => {
            return Err(with_way_out(context, desk, error));
        }
        Err(error) if actor.is_user() && error.code() == Code::ActorNotAllowed => {
            return Err(with_agent(context, args, desk, error));
        }
        Err(error) => return Err(with_proof_hint(context, args, desk, &actor, error)),
    };
    if frees {
        settle_freed(context, desk, &receipt);
    }
    if turn::waits_for_snapshot(&desk.profile.place().snapshots()) {
        match Workbench::of(context, desk) {
            Ok(mut bench) => bench.site(desk).snapshots_of_ended(),
            // The write stands; what waits is taken with the next one.
            Err(error) => tracing::warn!(%error, "no snapshot after the Turns that have ended yet"),
        }
    }
    Ok(receipt)
}

/// Proves, as far as a proof leads, the Turns that a command meets.
///
/// Errors: those of the proof.
pub(super) fn prove_in_the_way(
    context: &Context<'_, '_>,
    desk: &mut Desk,
    goal: &GoalId,
    command: &Command,
    actor: &Actor,
) -> Result<()> {
    let in_the_way = turn::in_the_way(&mut desk.authority, goal, command, actor)?;
    if in_the_way.is_empty() {
        return Ok(());
    }
    turn::prove_each(&mut Workbench::of(context, desk)?.site(desk), &in_the_way).map(drop)
}

/// Settles what the write has freed. It stands in any case; what cannot be settled now is left to a later proof.
fn settle_freed(context: &mut Context<'_, '_>, desk: &mut Desk, receipt: &Receipt) {
    let settled =
        Workbench::of(context, desk).and_then(|mut bench| turn::prove_after(&mut bench.site(desk), receipt));
    match settled {
        Ok(done) => {
            for done in done {
                let turn = done.turn();
                let (id, state) = (turn.turn_id, turn.state.as_str());
                context.note(&format!("the Turn {id} is {state} now"));
                // What changed under it has to be proved once more.
                if turn.state == TurnState::Candidate {
                    context.note(&format!("next: {} {}", context.program, recover_command(id)));
                }
            }
        }
        Err(error) => context.note(&format!("what this has freed is not settled yet: {error}")),
    }
}

/// Asks the person on the terminal for the word that proves who asks, where a verb needs it.
///
/// Errors: `unauthenticated` when the answer was not `yes`.
fn prove(
    context: &mut Context<'_, '_>,
    args: &Args,
    caller: &mut Caller,
    needs: bool,
    desk: &mut Desk,
    operation_id: &OperationId,
    wish: &Wish,
) -> Result<()> {
    let stated = caller.provenance.assurance == Assurance::Stated;
    if !(needs && stated && caller.actor.is_user() && caller.provenance.contained.is_none()) {
        return Ok(());
    }
    // A replay returns what was returned before; there is nothing to agree to.
    if args.text("op-id").is_some()
        && desk.authority.read(|view| Ok(view.receipt(operation_id)?.is_some()))?
    {
        return Ok(());
    }
    let about = about(desk, wish)?;
    let question = format!("{}: {}{about}, as {}?", context.program, args.path(), caller.actor);
    match context.confirm_shown(&whole(wish)?, &question)? {
        Some(true) => caller.provenance.assurance = Assurance::Proven,
        Some(false) => {
            return Err(Error::new(Code::Unauthenticated, format!("`{}` was not agreed to", args.path())));
        }
        None => {}
    }
    Ok(())
}

/// What a person has to have read before he says yes: a command that somebody else wrote, whole.
fn whole(wish: &Wish) -> Result<Vec<String>> {
    let Command::Proposal(ProposalCommand::Confirm { command, expected, .. }) = &wish.command else {
        return Ok(Vec::new());
    };
    proposed::lines(command, expected)
}

/// What a person says yes to: the question and the answer to it, or the Goal, in one line.
fn about(desk: &mut Desk, wish: &Wish) -> Result<String> {
    let goal = &wish.goal_id;
    if let Command::Proposal(ProposalCommand::Confirm { command, .. }) = &wish.command {
        let verb = Input::Command((**command).clone()).verb().as_str();
        return Ok(format!(": `{verb}` in {goal}, as it stands above"));
    }
    let answered = match &wish.command {
        Command::Gate(GateCommand::Resolve { gate_id, answer }) => Some((
            *gate_id,
            Some(match answer {
                Answer::Approve => "yes".to_owned(),
                Answer::Deny { .. } => "no".to_owned(),
                Answer::Answer { text } => format!("`{}`", echo(text.as_str())),
                Answer::Defer { .. } => "not now".to_owned(),
            }),
        )),
        Command::Gate(GateCommand::Withdraw { gate_id } | GateCommand::Reopen { gate_id }) => {
            Some((*gate_id, None))
        }
        _ => None, // every other verb is named with its Goal
    };
    if let Some((gate_id, answer)) = answered {
        let gate = names::gate_row(desk, gate_id)?;
        let answer = answer.map(|answer| format!("{answer} to ")).unwrap_or_default();
        return Ok(format!(": {answer}\u{ab}{}\u{bb} in {goal}, {}", gate.question, at_stake(&gate)));
    }
    let objective = names::goal_row(desk, goal).map(|goal| goal.objective.to_string());
    Ok(match objective {
        Ok(objective) => format!(" in {goal}, \u{ab}{}\u{bb}", echo(&objective)),
        // A Goal that is not there is refused with its own words.
        Err(_) => format!(" in {goal}"),
    })
}

/// Says what can lead out of the unresolved Turn that a refusal names, as it stands, from this machine.
pub(super) fn with_way_out(context: &Context<'_, '_>, desk: &mut Desk, error: Error) -> Error {
    let id = error.details().get("turn_id").and_then(Value::as_str).and_then(|id| id.parse().ok());
    let Some(turn_id) = id else { return error };
    let around = Workbench::of(context, desk).and_then(|mut bench| bench.site(desk).around(turn_id));
    // A hint that cannot be made better is still the rule's own.
    match around.ok().and_then(|around| around.asks.into_iter().next()) {
        Some(ask) => error.hint(ask.command),
        None => error,
    }
}

/// What an answer to a gate covers, and what waits for it.
fn at_stake(gate: &Gate) -> String {
    const NAMED: usize = 5;
    let waits = match &gate.blocks {
        Blocks::Goal => "the whole Goal waits for it".to_owned(),
        Blocks::Todos(ids) => {
            let named: Vec<_> = ids.iter().take(NAMED).map(ToString::to_string).collect();
            let more = ids.len() - named.len();
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("{}{more} {} for it", named.join(", "), if ids.len() == 1 { "waits" } else { "wait" })
        }
    };
    let scope = gate
        .scope
        .as_ref()
        .map(|scope| format!("it covers {}, ", echo(&scope.to_string())))
        .unwrap_or_default();
    let until =
        gate.standing_until.map(|at| format!("it stands until {}, ", show::utc(at))).unwrap_or_default();
    format!("{scope}{until}{waits}")
}

/// Says how a person proves who asks: the same call with the token that `init` left, where that still proves this.
pub(in crate::cli) fn with_proof_hint(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &Desk,
    actor: &Actor,
    error: Error,
) -> Error {
    with_proof_hint_in(context, args, desk.profile.place(), actor, error)
}

/// As [`with_proof_hint`], where no ledger may be open.
pub(super) fn with_proof_hint_in(
    context: &Context<'_, '_>,
    args: &Args,
    place: &Place,
    actor: &Actor,
    error: Error,
) -> Error {
    if error.code() != Code::Unauthenticated || error.hint_args().is_some() {
        return error;
    }
    let path = place.dir().join(init::TOKEN_FILE);
    let secret = crate::cli::config::read_limited(&path).ok().flatten();
    let proven = secret.and_then(|secret| Tokens::at(place).prove(secret.trim(), wall().ok()?).ok());
    let hint = proven.filter(|token| token.actor == *actor).and_then(|_| context.again_proven(&path));
    error.hint(hint.unwrap_or_else(|| format!("{} --help", args.path()))).detail(
        "proof",
        "answer on a terminal, or give --token-file or LOOPX_TOKEN; `init` leaves your first token in the profile",
    )
}

/// Turns a receipt into what was written, or a negative end into its error.
pub(in crate::cli) fn answered(receipt: Receipt) -> Result<Written> {
    let outcome: Outcome = receipt.outcome()?;
    if receipt.negative().is_none() {
        return Ok(Written { receipt, outcome, verb: None });
    }
    Err(turn::negative(&receipt))
}

/// The answer of a write: `{schema_version, receipt, <noun>: {…}, …}`, and a few lines for people.
pub(in crate::cli) fn written(
    schema: &'static str,
    noun: &'static str,
    object: &impl Serialize,
    written: &Written,
    more: &[(&str, Value)],
    document: Document,
) -> Result<Rendered> {
    let mut body = Map::new();
    body.insert("receipt".to_owned(), json_value(&written.receipt)?);
    body.insert(noun.to_owned(), json_value(object)?);
    body.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    if let Some(verb) = &written.verb {
        body.insert("operation_id".to_owned(), verb.to_string().into());
    }
    let id = written.verb.as_ref().unwrap_or(written.receipt.operation_id());
    let is_replayed = written.receipt.is_replayed();
    Ok(Rendered::new(schema, &body, document)?.operation(id, is_replayed))
}
