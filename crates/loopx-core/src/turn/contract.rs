//! Owns the work contract: what an executor must know, as the wire's request of one attempt, and as the packet that an
//! agent reads which works by itself.
//!
//! Knows nothing of who reads it. Required parts are never cut; optional ones become references, and the signature
//! shows it.

use super::{
    context::Packet,
    site::{Around, Site},
    wire::{
        Action, ActionSignature, BoundaryPart, ENVELOPE_MAX_BYTES, Envelope, EnvelopeSchema, ExecutionPolicy,
        GatePart, GatesPart, QuotaLeft, Request, RequestSchema, ResultContract, Session, SessionAction,
        TodoPart, ValidatorPart,
    },
};
use crate::{
    authority::{GateFilter, View},
    error::{Code, Error, Result},
    kernel::{self, Facts, QuotaLeft as QuotaSum, READ_ROUNDS, Read, Terms as KernelTerms},
    model::{
        AgentId, Criterion, Digest, Duration, Gate, Goal, GoalId, Label, OwnId, PeerReturn, ShortText, Text,
        Todo, TodoId, TodoKind, TodoText, Validator,
    },
    projection::{NounRow, undecided},
};

/// How many returns that wait for a word are named.
const RETURNS: usize = 4;
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

/// For whom a packet is made, and of which Todo.
#[derive(Debug, Clone, Copy)]
pub struct Inquiry<'a> {
    /// The Todo.
    pub todo_id: &'a TodoId,
    /// The agent.
    pub agent_id: &'a AgentId,
    /// The ownership that it presents.
    pub own_id: Option<OwnId>,
    /// How long an ownership lasts without renewal that is yet to be claimed.
    pub ttl_ms: u64,
    /// Which life of the agent's own session asks, as its host counts them.
    pub generation: u64,
}

/// What stands behind a contract, as one read saw it.
struct Behind<'a> {
    goal: &'a Goal,
    todo: &'a Todo,
    agent_id: &'a AgentId,
    facts: &'a Facts,
    gates: &'a [Gate],
    /// What peers returned to the Todo and nobody has decided on.
    returns: &'a [NounRow],
}

/// The request for one attempt of a Turn.
///
/// Errors: `required_context_too_large` when what is required does not fit; `store_*`.
pub(super) fn request(site: &mut Site<'_>, around: &Around, route: &str, terms: Terms) -> Result<Request> {
    let todo = around.todo.as_ref().ok_or_else(|| internal("a hosted Turn works on a Todo"))?;
    let (gates, returns) = site
        .authority
        .read(|view| Ok((blocking(view, &around.goal.goal_id)?, undecided(view, &todo.todo_id, RETURNS)?)))?;
    let behind = Behind {
        goal: &around.goal,
        todo,
        agent_id: &around.turn.agent_id,
        facts: &around.facts,
        gates: &gates,
        returns: &returns,
    };
    let policy = ExecutionPolicy {
        wall_ms: Duration::from_ms(terms.wall_ms),
        idle_ms: None,
        attempts_left: terms.attempts_left,
    };
    Ok(Request {
        schema_version: RequestSchema::V0,
        turn_key: around.turn.turn_key,
        attempt: terms.attempt,
        route: route.parse()?,
        session: Session { action: SessionAction::None, handle: None },
        turn_envelope: sealed(behind.envelope(policy)?)?,
        result_contract: ResultContract::current(),
    })
}

/// The contract as an agent is given it that works by itself: of the Todo it holds, or may take.
///
/// Errors: `not_found`; `required_context_too_large` when what is required does not fit; `store_*`.
pub fn packet(view: &mut dyn View, terms: &KernelTerms, inquiry: &Inquiry<'_>) -> Result<Packet> {
    let Inquiry { todo_id, agent_id, own_id, ttl_ms, generation } = *inquiry;
    let goal_id = todo_id.goal();
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Todo(todo_id.clone()), Read::Text(todo_id.clone())].into(), &mut facts)?;
    for _ in 0..READ_ROUNDS {
        view.load(&kernel::room_reads(goal_id, agent_id, &facts), &mut facts)?;
    }
    let none = || Error::new(Code::NotFound, format!("there is no Todo {todo_id}")).hint("todo list");
    let (goal, todo) = (facts.goal(goal_id)?.ok_or_else(none)?, facts.todo(todo_id)?.ok_or_else(none)?);
    let gates = blocking(view, goal_id)?;
    let returns = undecided(view, todo_id, RETURNS)?;
    let behind = Behind { goal, todo, agent_id, facts: &facts, gates: &gates, returns: &returns };
    // Nobody ends the run of such an agent but the time of its ownership.
    let own = todo.ownership.as_ref().filter(|own| Some(own.own_id) == own_id);
    let wall_ms = own.map_or(Duration::from_ms(ttl_ms), |own| own.ttl_ms);
    let policy = ExecutionPolicy { wall_ms, idle_ms: None, attempts_left: 0 };
    Ok(Packet {
        incarnation: terms.incarnation,
        goal_revision: goal.revision,
        generation,
        envelope: sealed(behind.envelope(policy)?)?,
    })
}

/// The blocking gates of a Goal, the oldest first: those that are shown, and enough to count the rest.
fn blocking(view: &mut dyn View, goal: &GoalId) -> Result<Vec<Gate>> {
    view.gates(&GateFilter { goal, blocking: true }, None, GATES_WHOLE + 256)
}

/// Cuts what may be cut, and signs what is left.
fn sealed(whole: Envelope) -> Result<Envelope> {
    let source_hash = whole.content_hash()?;
    fit(whole)?.seal(source_hash)
}

fn internal(why: &'static str) -> Error {
    Error::from(Code::Internal).internal(why)
}

impl Behind<'_> {
    fn envelope(&self, execution_policy: ExecutionPolicy) -> Result<Envelope> {
        let Behind { goal, todo, agent_id, facts, gates, returns } = *self;
        let text = facts.text(&todo.todo_id)?;
        let repair = todo.to_repair();
        let recommended = match repair.and_then(|end| end.note.as_ref()) {
            Some(note) => format!("repair what the last result broke: {note}"),
            None => format!("work on {}: {}", todo.todo_id, todo.title),
        };
        let recommended = recommended + &returned(todo, returns)?;
        Ok(Envelope {
            schema_version: EnvelopeSchema::V0,
            goal_id: goal.goal_id.clone(),
            goal_instance: goal.instance,
            agent_id: agent_id.clone(),
            todo: TodoPart {
                todo_id: todo.todo_id.clone(),
                kind: todo.kind,
                priority: todo.priority,
                title: todo.title.clone(),
                detail: text.map(|text: &TodoText| text.detail.clone()),
                requirement_revision: todo.requirement_revision,
                write_scopes: todo.requires.write_scopes.iter().cloned().collect(),
            },
            effective_action: match (todo.kind, repair) {
                (TodoKind::Replan, _) => Action::Replan,
                (_, Some(_)) => Action::Repair,
                (_, None) => Action::Run,
            },
            recommended_action: recommended.parse::<Text>()?,
            boundary: BoundaryPart {
                objective: goal.objective.clone(),
                acceptance: goal
                    .acceptance
                    .iter()
                    .map(|criterion: &Criterion| criterion.text.clone())
                    .collect(),
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
            execution_policy,
            validators: kernel::validators(goal, todo).iter().map(validator).collect::<Result<_>>()?,
            quota_left: self.left()?,
            action_signature: ActionSignature {
                source_hash: Digest::ZERO,
                envelope_hash: Digest::ZERO,
                matches: false,
            },
        })
    }

    /// What the budget leaves beside what Turns have reserved.
    fn left(&self) -> Result<QuotaLeft> {
        let QuotaSum { turns, caps } = kernel::quota_left(self.facts, &self.goal.goal_id, self.agent_id)?;
        let currency = self.goal.currency.filter(|_| caps.cost_micros.is_some());
        Ok(QuotaLeft {
            turns,
            tokens: caps.tokens,
            cost_micros: caps.cost_micros,
            currency: currency.map(|currency| currency.to_string().parse()).transpose()?,
            wall_ms: caps.wall_ms.map(Duration::from_ms),
        })
    }
}

/// What has come back to a Todo and waits for a word of its owner, in words that follow what is to be done.
fn returned(todo: &Todo, returns: &[NounRow]) -> Result<String> {
    let each = |row: &NounRow| {
        let given = row.get::<PeerReturn>()?;
        Ok(format!("{} of {}", given.return_id, given.from))
    };
    let each: Vec<_> = returns.iter().map(each).collect::<Result<_>>()?;
    if each.is_empty() {
        return Ok(String::new());
    }
    let look = format!("peer list --open --todo {}", todo.todo_id);
    Ok(format!("; returned to it, and not decided on yet: {} (`{look}`)", each.join(", ")))
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

/// Makes references of what is optional until the rest fits: gates beyond their count first, then what is not wanted.
fn fit(mut envelope: Envelope) -> Result<Envelope> {
    let size = |envelope: &Envelope| serde_json::to_vec(envelope).map_or(usize::MAX, |bytes| bytes.len());
    let mut left_out = 0;
    while size(&envelope) > ENVELOPE_MAX_BYTES {
        if envelope.gates.blocking.pop().is_some() {
            envelope.gates.more = envelope.gates.more.saturating_add(1);
            continue;
        }
        // The last one is the reference, once there is one; it is the last to go.
        let reference = usize::from(left_out > 0);
        let non_goals = &mut envelope.boundary.non_goals;
        if non_goals.len() > reference {
            non_goals.truncate(non_goals.len() - reference - 1);
            left_out += 1;
            non_goals.push(left_out_of(&envelope.goal_id, left_out)?);
        } else if non_goals.pop().is_none() {
            envelope.check_size()?;
            break;
        }
    }
    Ok(envelope)
}

/// Where what did not fit is shown.
fn left_out_of(goal: &GoalId, count: usize) -> Result<ShortText> {
    format!("{count} more, which `goal show {goal}` shows").parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = include_str!("../../../../docs/wire/request.json");

    /// A contract that is too long by what is not wanted alone.
    fn envelope(non_goals: usize, reads: usize) -> Envelope {
        let mut envelope = Request::parse(REQUEST.as_bytes()).unwrap().turn_envelope;
        envelope.boundary.non_goals = vec!["n".repeat(500).parse().unwrap(); non_goals];
        envelope.required_reads = vec!["r".repeat(500).parse().unwrap(); reads];
        envelope
    }

    #[test]
    fn what_is_optional_becomes_a_reference_and_what_is_required_stays_whole() {
        let whole = envelope(20, 16);
        let cut = sealed(whole.clone()).unwrap();
        cut.check_signature().unwrap();
        let size = cut.check_size().unwrap();
        assert!(!cut.action_signature.matches && size > ENVELOPE_MAX_BYTES - 600, "{size}");
        assert_eq!((cut.gates.blocking.len(), cut.gates.more), (0, 1), "a gate is counted");
        let (reference, kept) = cut.boundary.non_goals.split_last().unwrap();
        let left_out = whole.boundary.non_goals.len() - kept.len();
        assert_eq!(reference.as_str(), format!("{left_out} more, which `goal show faster-builds` shows"));
        assert!(!kept.is_empty() && kept == &whole.boundary.non_goals[..kept.len()]);
        let mut rest = cut;
        rest.gates = whole.gates.clone();
        rest.boundary.non_goals = whole.boundary.non_goals.clone();
        rest.action_signature = whole.action_signature.clone();
        assert_eq!(rest, whole, "nothing else was touched");
    }

    #[test]
    fn what_is_required_and_does_not_fit_is_refused() {
        for non_goals in [0, 1, 20] {
            let refused = sealed(envelope(non_goals, 33)).unwrap_err();
            assert_eq!(refused.code(), Code::RequiredContextTooLarge, "{non_goals}");
        }
    }
}
