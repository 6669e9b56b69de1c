//! Owns the work contract of one attempt: what its executor must know, as the wire's request.
//!
//! Knows nothing of who reads it. Required parts are never cut; optional ones are, and the signature shows it.

use super::{
    site::{Around, Site},
    wire::{
        Action, ActionSignature, BoundaryPart, ENVELOPE_MAX_BYTES, Envelope, EnvelopeSchema, ExecutionPolicy,
        GatePart, GatesPart, QuotaLeft, Request, RequestSchema, ResultContract, Session, SessionAction,
        TodoPart, ValidatorPart,
    },
};
use crate::{
    authority::GateFilter,
    error::{Code, Error, Result},
    kernel::{self, QuotaLeft as QuotaSum},
    model::{Criterion, Digest, Duration, Gate, Goal, Label, Text, TodoText, Validator},
};

/// How many blocking gates are shown whole.
const GATES_WHOLE: usize = 6;

/// What the driver decides about an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// From 1.
    pub(super) attempt: u8,
    /// The longest run.
    pub(super) wall_ms: u64,
    /// Attempts that may follow.
    pub(super) attempts_left: u8,
}

/// The request for one attempt of a Turn.
///
/// Errors: `required_context_too_large` when what is required does not fit; `store_*`.
pub(super) fn request(site: &mut Site<'_>, around: &Around, route: &str, terms: Terms) -> Result<Request> {
    let goal_id = around.goal.goal_id.clone();
    let filter = GateFilter { goal: &goal_id, blocking: true };
    let gates = site.authority.read(|view| view.gates(&filter, None, GATES_WHOLE + 256))?;
    let whole = envelope(around, &gates, terms)?;
    let source_hash = whole.content_hash()?;
    let sealed = fit(whole)?.seal(source_hash)?;
    Ok(Request {
        schema_version: RequestSchema::V0,
        turn_key: around.turn.turn_key,
        attempt: terms.attempt,
        route: route.parse()?,
        session: Session { action: SessionAction::None, handle: None },
        turn_envelope: sealed,
        result_contract: ResultContract::current(),
    })
}

fn envelope(around: &Around, gates: &[Gate], terms: Terms) -> Result<Envelope> {
    let internal = || Error::from(Code::Internal).internal("a hosted Turn works on a Todo");
    let (goal, todo) = (&around.goal, around.todo.as_ref().ok_or_else(internal)?);
    let text = around.facts.text(&todo.todo_id)?;
    let repair = todo.last_end.as_ref().filter(|end| end.repair);
    let recommended = match repair.and_then(|end| end.note.as_ref()) {
        Some(note) => format!("repair what the last result broke: {note}"),
        None => format!("work on {}: {}", todo.todo_id, todo.title),
    };
    Ok(Envelope {
        schema_version: EnvelopeSchema::V0,
        goal_id: goal.goal_id.clone(),
        goal_instance: goal.instance,
        agent_id: around.turn.agent_id.clone(),
        todo: TodoPart {
            todo_id: todo.todo_id.clone(),
            kind: todo.kind,
            priority: todo.priority,
            title: todo.title.clone(),
            detail: text.map(|text: &TodoText| text.detail.clone()),
            requirement_revision: todo.requirement_revision,
            write_scopes: todo.requires.write_scopes.iter().cloned().collect(),
        },
        effective_action: if repair.is_some() { Action::Repair } else { Action::Run },
        recommended_action: recommended.parse::<Text>()?,
        boundary: BoundaryPart {
            objective: goal.objective.clone(),
            acceptance: goal.acceptance.iter().map(|criterion: &Criterion| criterion.text.clone()).collect(),
            non_goals: goal.non_goals.clone(),
            write_scopes: goal.boundary.write_scopes.clone(),
            needs_approval: goal.boundary.needs_approval.iter().cloned().collect(),
            exclusive_workspace: goal.boundary.exclusive_workspace,
            stop_conditions: goal.stop_conditions.clone(),
        },
        gates: GatesPart {
            blocking: gates.iter().take(GATES_WHOLE).map(gate).collect(),
            more: u32::try_from(gates.len().saturating_sub(GATES_WHOLE)).unwrap_or(u32::MAX),
        },
        required_reads: goal.authority_sources.clone(),
        execution_policy: ExecutionPolicy {
            wall_ms: Duration::from_ms(terms.wall_ms),
            idle_ms: None,
            attempts_left: terms.attempts_left,
        },
        validators: around.validators().iter().map(validator).collect::<Result<_>>()?,
        quota_left: left(around, goal)?,
        action_signature: ActionSignature {
            source_hash: Digest::ZERO,
            envelope_hash: Digest::ZERO,
            matches: false,
        },
    })
}

/// What the budget leaves beside what this Turn has reserved.
fn left(around: &Around, goal: &Goal) -> Result<QuotaLeft> {
    let QuotaSum { turns, caps } = kernel::quota_left(&around.facts, &goal.goal_id, &around.turn.agent_id)?;
    let currency = goal.currency.filter(|_| caps.cost_micros.is_some());
    Ok(QuotaLeft {
        turns,
        tokens: caps.tokens,
        cost_micros: caps.cost_micros,
        currency: currency.map(|currency| currency.to_string().parse()).transpose()?,
        wall_ms: caps.wall_ms.map(Duration::from_ms),
    })
}

fn gate(gate: &Gate) -> GatePart {
    GatePart { gate_id: gate.gate_id, kind: gate.kind, question: gate.question.clone() }
}

/// Describes a validator by its words, without where its program lies.
fn validator(validator: &Validator) -> Result<ValidatorPart> {
    let mut words = validator.argv.iter().map(|word| &**word);
    let program = words.next().and_then(|path| path.rsplit('/').next()).unwrap_or("validator");
    let rest = words.fold(program.to_owned(), |all, word| all + " " + word);
    let shown = crate::boundary::screen(&rest).map_or_else(|_| program.to_owned(), |screened| screened.text);
    let description: Label = super::validate::cut(&shown, 120).parse().or_else(|_| "validator".parse())?;
    Ok(ValidatorPart {
        description,
        progress_exit: validator.progress_exit,
        timeout_ms: validator.timeout_ms,
    })
}

/// Cuts what is optional until the rest fits: gates beyond their count first, then what is not wanted.
fn fit(mut envelope: Envelope) -> Result<Envelope> {
    let size = |envelope: &Envelope| serde_json::to_vec(envelope).map_or(usize::MAX, |bytes| bytes.len());
    while size(&envelope) > ENVELOPE_MAX_BYTES {
        if envelope.gates.blocking.pop().is_some() {
            envelope.gates.more = envelope.gates.more.saturating_add(1);
        } else if envelope.boundary.non_goals.pop().is_none() {
            envelope.check_size()?;
        }
    }
    Ok(envelope)
}
