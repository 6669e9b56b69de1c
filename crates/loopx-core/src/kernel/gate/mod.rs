//! Owns gates: who may open one, how a person answers, and what an answer ends or lets go on.

mod event;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use event::Event;

use super::{Concluded, Draft, Outcome, Read, Verb, Wanted, stands, todo, turn};
use crate::{
    error::{Code, Error, Result, shell_line},
    model::{
        Actor, Answer, Blocks, Gate, GateId, GateKind, GateState, GoalId, Key, Label, ShortText, Timestamp,
        Todo, TodoId, Turn, TurnId, TurnState,
    },
};

/// What can be asked about a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Opens one.
    Open(Box<NewGate>),
    /// Answers it.
    Resolve {
        /// Which.
        gate_id: GateId,
        /// How.
        answer: Answer,
    },
    /// Takes it back.
    Withdraw {
        /// Which.
        gate_id: GateId,
    },
    /// Asks a denied one again.
    Reopen {
        /// Which.
        gate_id: GateId,
    },
}

/// What a new gate is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewGate {
    /// What sort of question it is.
    pub kind: GateKind,
    /// The question.
    pub question: ShortText,
    /// What may be answered; any words when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Label>,
    /// What it stops.
    pub blocks: Blocks,
    /// What an approval covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Key>,
    /// Until when an approval goes on to cover later work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing_until: Option<Timestamp>,
}

impl Command {
    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Open(_) => Verb::GateOpen,
            Self::Resolve { .. } | Self::Reopen { .. } => Verb::GateResolve,
            Self::Withdraw { .. } => Verb::GateWithdraw,
        }
    }

    pub(super) fn reads(&self, goal: &GoalId, wanted: &mut Wanted<'_>) {
        match self {
            Self::Open(new) => todo_reads(&new.blocks, wanted),
            Self::Resolve { gate_id, .. } | Self::Withdraw { gate_id } | Self::Reopen { gate_id } => {
                wanted.want(Read::Gate(*gate_id));
                if matches!(self, Self::Resolve { answer: Answer::Deny { .. }, .. }) {
                    // What it holds is stopped.
                    wanted.want(Read::LiveTurns(goal.clone()));
                    turn::asked_reads(|_| true, wanted);
                }
                if let Some(blocks) = wanted.rows().gates.get(gate_id).map(|gate| gate.blocks.clone()) {
                    todo_reads(&blocks, wanted);
                }
            }
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let gate_id = match self {
            Self::Open(new) => open_asked(draft, new)?,
            Self::Resolve { gate_id, answer } => {
                resolve(draft, *gate_id, answer)?;
                *gate_id
            }
            Self::Withdraw { gate_id } => {
                withdraw(draft, *gate_id)?;
                *gate_id
            }
            Self::Reopen { gate_id } => {
                let gate = named(draft, *gate_id)?;
                if !matches!(gate.state, GateState::Denied { .. }) || gate.accepts.is_some() {
                    return Err(no_move(gate, "be asked again"));
                }
                draft.emit(Event::Reopened { gate_id: *gate_id })?;
                *gate_id
            }
        };
        Ok((Outcome { gate_id: Some(gate_id), ..Outcome::default() }, None))
    }
}

/// The command by which a person answers a gate of this kind, or takes back the question that was denied.
pub fn answer_command(gate_id: &str, kind: GateKind, options: &[Label], is_denied: bool) -> String {
    match (is_denied, kind.is_approval()) {
        (true, _) => format!("gate withdraw {gate_id}"),
        (false, true) => format!("gate resolve {gate_id} --approve"),
        (false, false) => {
            let option = options.first().and_then(|option| shell_line([option.as_str()]));
            format!("gate resolve {gate_id} --answer {}", option.as_deref().unwrap_or("TEXT"))
        }
    }
}

/// The command that says no, where one approves; none for what is only answered.
pub fn deny_command(command: &str) -> Option<String> {
    command.strip_suffix(" --approve").map(|gate| format!("{gate} --deny"))
}

fn todo_reads(blocks: &Blocks, wanted: &mut Wanted<'_>) {
    match blocks {
        Blocks::Goal => {}
        Blocks::Todos(ids) => ids.iter().for_each(|id| {
            wanted.want(Read::Todo(id.clone()));
            wanted.want(Read::TodoGates(id.clone()));
        }),
    }
}

fn named<'d>(draft: &'d Draft<'_>, gate_id: GateId) -> Result<&'d Gate> {
    let goal_id = draft.goal_id();
    draft.facts().gate(&gate_id)?.filter(|gate| gate.goal_id == *goal_id).ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no gate {gate_id} in {goal_id}"))
            .detail("gate_id", gate_id.to_string())
            .hint(format!("gate list --goal {goal_id}"))
    })
}

fn no_move(gate: &Gate, verb: &str) -> Error {
    Error::new(
        Code::InvalidTransition,
        format!("the {} gate {} {}", gate.kind.as_str(), gate.gate_id, stands(gate.state.as_str(), verb)),
    )
    .detail("gate_id", gate.gate_id.to_string())
    .detail("state", gate.state.as_str())
    .hint(format!("gate show {}", gate.gate_id))
}

/// A gate that somebody asked for.
fn open_asked(draft: &mut Draft<'_>, new: &NewGate) -> Result<GateId> {
    if new.options.len() > 32 {
        return Err(Error::new(Code::InvalidArgument, "a gate has at most 32 options"));
    }
    if !new.options.is_empty() && new.kind.is_approval() {
        return Err(Error::new(
            Code::InvalidArgument,
            "an approval is a yes or a no; only decisions have options",
        ));
    }
    if new.standing_until.is_some() && (new.scope.is_none() || !new.kind.is_approval()) {
        return Err(Error::new(Code::InvalidArgument, "only an approval with a scope can stand"));
    }
    if new.standing_until.is_some_and(|until| until <= draft.now()) {
        return Err(Error::new(Code::InvalidArgument, "a standing approval ends in the future"));
    }
    match &new.blocks {
        Blocks::Goal if !draft.actor().is_user() => {
            return Err(Error::new(Code::UserOnly, "a gate on the whole Goal is a person's"));
        }
        Blocks::Goal => {}
        Blocks::Todos(ids) => {
            if ids.is_empty() || ids.len() > 32 {
                return Err(Error::new(Code::InvalidArgument, "a gate names 1 to 32 Todos, or the Goal"));
            }
            for id in ids {
                let todo = todo::named(draft, id)?;
                check_agents_own(draft, todo)?;
                if !todo.is_live() {
                    return Err(Error::new(
                        Code::InvalidTransition,
                        format!("the Todo {id} is {}", todo.state.as_str()),
                    )
                    .hint(format!("todo show {id}")));
                }
            }
        }
    }
    open(draft, new, None)
}

/// An agent opens gates on Todos it owns or made; a contained one on the Todo of its Turn.
fn check_agents_own(draft: &Draft<'_>, todo: &Todo) -> Result<()> {
    let Some((agent, _)) = draft.actor().agent() else { return Ok(()) };
    let owns = todo.ownership.as_ref().is_some_and(|own| own.agent_id == *agent);
    let made = matches!(&todo.made_by, Actor::Agent(maker, _) if maker == agent);
    let allowed = match draft.provenance().contained {
        Some(turn_id) => todo.turn_id == Some(turn_id),
        None => owns || made,
    };
    if allowed {
        return Ok(());
    }
    Err(Error::new(
        Code::ActorNotAllowed,
        format!(
            "{} may only open a gate on a Todo it owns or made; {} is neither",
            draft.actor(),
            todo.todo_id
        ),
    ))
}

fn open(draft: &mut Draft<'_>, new: &NewGate, accepts: Option<TurnId>) -> Result<GateId> {
    let gate_id = GateId::from_bytes(draft.mint());
    draft.emit(Event::Opened { gate_id, new: Box::new(new.clone()), accepts })?;
    Ok(gate_id)
}

fn question(text: &str) -> Result<ShortText> {
    text.parse()
}

/// Opens one gate for each key that a claim met without an approval.
pub(super) fn ask_approvals(draft: &mut Draft<'_>, todo_id: &TodoId, keys: &[Key]) -> Result<Vec<GateId>> {
    let mut ids = Vec::with_capacity(keys.len());
    for key in keys {
        let kind = match key {
            Key::Publish => GateKind::Publication,
            Key::Capability(_) | Key::Path(_) | Key::Effect(_) => GateKind::Approval,
        };
        let short: String = key.to_string().chars().take(160).collect();
        let new = NewGate {
            kind,
            question: question(&format!("May {todo_id} use {short}?"))?,
            options: Vec::new(),
            blocks: Blocks::Todos(BTreeSet::from([todo_id.clone()])),
            scope: Some(key.clone()),
            standing_until: None,
        };
        ids.push(open(draft, &new, None)?);
    }
    Ok(ids)
}

/// Asks a person to accept a completion that no validator could prove.
pub(super) fn ask_acceptance(draft: &mut Draft<'_>, turn: &Turn) -> Result<()> {
    let Some(todo_id) = turn.todo_id() else { return Ok(()) };
    let new = NewGate {
        kind: GateKind::Approval,
        question: question(&format!("Is {todo_id} done? No validator can tell."))?,
        options: Vec::new(),
        blocks: Blocks::Todos(BTreeSet::from([todo_id.clone()])),
        scope: None,
        standing_until: None,
    };
    open(draft, &new, Some(turn.turn_id)).map(|_| ())
}

/// Asks a person what an executor could not go on without.
pub(super) fn ask_person(draft: &mut Draft<'_>, todo_id: &TodoId, asked: Option<ShortText>) -> Result<()> {
    let asked = match asked {
        Some(asked) => asked,
        None => question(&format!("The executor of {todo_id} needs a person."))?,
    };
    let new = NewGate {
        kind: GateKind::Direction,
        question: asked,
        options: Vec::new(),
        blocks: Blocks::Todos(BTreeSet::from([todo_id.clone()])),
        scope: None,
        standing_until: None,
    };
    open(draft, &new, None).map(|_| ())
}

/// A review's accepted completion approves the gate that asked for it; nobody reviews his own result.
pub(super) fn approve_acceptance(draft: &mut Draft<'_>, reviewed: &TodoId, by: &Actor) -> Result<()> {
    let Some(turn_id) = todo::named(draft, reviewed)?.turn_id else { return Ok(()) };
    let author = draft.facts().turn(&turn_id)?.map(|turn| &turn.agent_id);
    if by.agent().is_some_and(|(agent, _)| Some(agent) == author) {
        return Ok(());
    }
    let Some(gate_id) = turn::named_gate(draft, turn_id)? else { return Ok(()) };
    match draft.facts().rows().gates.get(&gate_id) {
        Some(gate) if matches!(gate.state, GateState::Open | GateState::Deferred { .. }) => {
            draft.emit(Event::Resolved { gate_id, answer: Answer::Approve })
        }
        Some(_) | None => Ok(()),
    }
}

/// The refusal of an answer that this kind of gate does not take.
fn other_answer(gate: &Gate) -> Error {
    let (kind, id) = (gate.kind.as_str(), gate.gate_id);
    let takes = if gate.kind.is_approval() {
        "is approved, denied or deferred; it takes no other answer"
    } else {
        "is answered or deferred; there is nothing to approve or deny"
    };
    let command = answer_command(&id.to_string(), gate.kind, &gate.options, false);
    Error::new(Code::InvalidTransition, format!("the {kind} gate {id} {takes}"))
        .detail("gate_id", id.to_string())
        .detail("state", gate.state.as_str())
        .hint(command)
}

fn resolve(draft: &mut Draft<'_>, gate_id: GateId, answer: &Answer) -> Result<()> {
    let gate = named(draft, gate_id)?.clone();
    let open = matches!(gate.state, GateState::Open | GateState::Deferred { .. });
    let fits = match answer {
        Answer::Approve | Answer::Deny { .. } => gate.kind.is_approval(),
        Answer::Answer { .. } => !gate.kind.is_approval(),
        Answer::Defer { .. } => true,
    };
    if !open {
        let verb = match answer {
            Answer::Approve => "be approved",
            Answer::Deny { .. } => "be denied",
            Answer::Answer { .. } => "be answered",
            Answer::Defer { .. } => "be deferred",
        };
        return Err(no_move(&gate, verb));
    }
    if !fits {
        return Err(other_answer(&gate));
    }
    match answer {
        Answer::Answer { text } if !gate.options.is_empty() => {
            if !gate.options.iter().any(|option| option.as_str() == text.as_str()) {
                return Err(no_option(&gate));
            }
        }
        Answer::Defer { until } if *until <= draft.now() => {
            return Err(Error::new(Code::InvalidArgument, "a gate is deferred into the future"));
        }
        Answer::Answer { .. } | Answer::Defer { .. } | Answer::Approve | Answer::Deny { .. } => {}
    }
    let stopped = match answer {
        Answer::Deny { .. } => held_by(draft, &gate)?,
        Answer::Approve | Answer::Answer { .. } | Answer::Defer { .. } => Vec::new(),
    };
    draft.emit(Event::Resolved { gate_id, answer: answer.clone() })?;
    let Answer::Deny { reason } = answer else { return Ok(()) };
    for turn_id in stopped {
        turn::stop_denied(draft, turn_id, reason.clone(), gate.accepts == Some(turn_id))?;
    }
    Ok(())
}

/// The refusal of an answer that a question does not offer, with those it does.
fn no_option(gate: &Gate) -> Error {
    let options: Vec<_> = gate.options.iter().map(Label::as_str).collect();
    let offered: Vec<_> = options.iter().map(|option| format!("`{option}`")).collect();
    let message = format!("the answer is not an option of {}: {}", gate.gate_id, offered.join(", "));
    Error::new(Code::InvalidArgument, message).detail("options", options).hint(answer_command(
        &gate.gate_id.to_string(),
        gate.kind,
        &gate.options,
        false,
    ))
}

/// The held Turns that have this gate among their causes: it blocks their Todo or the Goal, or asks about them.
fn held_by(draft: &Draft<'_>, gate: &Gate) -> Result<Vec<TurnId>> {
    let holds = |turn: &&Turn| {
        let names = match (&gate.accepts, &gate.blocks) {
            (Some(turn_id), _) => turn.turn_id == *turn_id,
            (None, Blocks::Goal) => true,
            (None, Blocks::Todos(ids)) => turn.todo_id().is_some_and(|todo_id| ids.contains(todo_id)),
        };
        names && matches!(turn.state, TurnState::Held { .. })
    };
    Ok(draft
        .facts()
        .live_turns(draft.goal_id())?
        .into_iter()
        .filter(holds)
        .map(|turn| turn.turn_id)
        .collect())
}

/// Takes back the question whether a Turn's result is accepted, when that result no longer stands.
pub(super) fn retract(draft: &mut Draft<'_>, turn_id: TurnId) -> Result<()> {
    let Some(gate_id) = turn::named_gate(draft, turn_id)? else { return Ok(()) };
    match draft.facts().gate(&gate_id)?.map(|gate| &gate.state) {
        Some(GateState::Open | GateState::Deferred { .. }) => draft.emit(Event::Withdrawn { gate_id }),
        Some(
            GateState::Approved { .. }
            | GateState::Denied { .. }
            | GateState::Answered { .. }
            | GateState::Withdrawn { .. },
        )
        | None => Ok(()),
    }
}

fn withdraw(draft: &mut Draft<'_>, gate_id: GateId) -> Result<()> {
    let gate = named(draft, gate_id)?.clone();
    match gate.state {
        GateState::Open | GateState::Deferred { .. } | GateState::Denied { .. } => {}
        GateState::Approved { .. } | GateState::Answered { .. } | GateState::Withdrawn { .. } => {
            return Err(no_move(&gate, "be withdrawn"));
        }
    }
    if gate.accepts.is_some() {
        return Err(no_move(&gate, "be withdrawn: it asks whether a result is accepted"));
    }
    if let Some((agent, _)) = draft.actor().agent() {
        let opened = matches!(&gate.opened_by, Actor::Agent(opener, _) if opener == agent);
        if !opened || gate.kind.is_approval() || matches!(gate.state, GateState::Denied { .. }) {
            return Err(Error::new(
                Code::ActorNotAllowed,
                format!("{} may only withdraw a decision or direction it opened itself", draft.actor()),
            ));
        }
    }
    draft.emit(Event::Withdrawn { gate_id })
}
