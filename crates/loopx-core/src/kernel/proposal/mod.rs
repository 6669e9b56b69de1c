//! Owns proposals: how one is made, and how a person's word makes it the command it holds.
//!
//! Knows no other domain's rules: a confirmed command is decided by its own.

mod event;
mod table;

use serde::{Deserialize, Serialize};

pub use event::Event;
use table::check_proposable;

use super::{
    Concluded, Draft, Input, Outcome, Read, Verb, Wanted, agent, authorize, check_expected, seeded, stands,
    turn,
};
use crate::{
    error::{Code, Error, Result},
    model::{
        Actor, Expected, GoalId, NounKey, NounKind, OneNoun as _, Proposal, ProposalId, ProposalKind,
        ProposalState, ShortText, Timestamp, TodoId, TurnId, json_value,
    },
};

/// The most proposals of an agent that wait in a Goal.
const OPEN_MAX: u32 = 64;

/// The longest command that is proposed, in bytes of its JSON.
const COMMAND_MAX_BYTES: usize = 16 * 1024;

/// What can be asked about proposals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Makes one.
    Add {
        /// What it is meant as.
        kind: ProposalKind,
        /// The command.
        command: Box<super::Command>,
        /// What its author believes.
        #[serde(default, skip_serializing_if = "Expected::is_nothing")]
        expected: Expected,
        /// Why.
        reason: ShortText,
    },
    /// Gives the command that one holds, as the person who confirms.
    Confirm {
        /// Which.
        proposal_id: ProposalId,
        /// The command, as the person read it: another one than is kept is refused.
        command: Box<super::Command>,
        /// What its author believed.
        #[serde(default, skip_serializing_if = "Expected::is_nothing")]
        expected: Expected,
    },
    /// Writes down that what its author believed is no longer so.
    Lapse {
        /// Which.
        proposal_id: ProposalId,
    },
    /// Says no.
    Reject {
        /// Which.
        proposal_id: ProposalId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// Says not now.
    Defer {
        /// Which.
        proposal_id: ProposalId,
        /// Not before then.
        until: Timestamp,
    },
    /// Its author takes it back.
    Withdraw {
        /// Which.
        proposal_id: ProposalId,
    },
}

const fn key(proposal_id: ProposalId) -> NounKey {
    NounKey { kind: NounKind::Proposal, id: *proposal_id.as_bytes() }
}

impl Command {
    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Add { .. } => Verb::ProposalAdd,
            Self::Confirm { .. } => Verb::ProposalConfirm,
            Self::Lapse { .. } => Verb::ProposalLapse,
            Self::Reject { .. } => Verb::ProposalReject,
            Self::Defer { .. } => Verb::ProposalDefer,
            Self::Withdraw { .. } => Verb::ProposalWithdraw,
        }
    }

    /// Whether it can take away what holds a result, or gives a command that can.
    pub(super) fn may_free(&self) -> bool {
        match self {
            Self::Confirm { .. } | Self::Lapse { .. } | Self::Reject { .. } | Self::Withdraw { .. } => true,
            Self::Add { .. } | Self::Defer { .. } => false,
        }
    }

    /// The command that it gives as the person's own.
    pub(super) fn given(&self) -> Option<&super::Command> {
        match self {
            Self::Confirm { command, .. } => Some(command),
            Self::Add { .. }
            | Self::Lapse { .. }
            | Self::Reject { .. }
            | Self::Defer { .. }
            | Self::Withdraw { .. } => None,
        }
    }

    pub(super) fn reads(&self, goal: &GoalId, actor: &Actor, wanted: &mut Wanted<'_>) {
        let proposal_id = match self {
            Self::Add { .. } => {
                if let Some((agent_id, _)) = actor.agent() {
                    wanted.want(Read::Agent(goal.clone(), agent_id.clone()));
                    wanted.want_agent_turns(goal, agent_id);
                }
                return;
            }
            Self::Confirm { proposal_id, command, expected } => {
                // The person gives it with his word, so that what it asks for is known at once.
                if check_proposable(command).is_ok() {
                    command.reads(goal, actor, wanted);
                }
                wanted.want_expected(expected);
                proposal_id
            }
            Self::Lapse { proposal_id }
            | Self::Reject { proposal_id, .. }
            | Self::Defer { proposal_id, .. }
            | Self::Withdraw { proposal_id } => proposal_id,
        };
        wanted.want(Read::Noun(key(*proposal_id)));
        let Some(proposal) = wanted.rows().nouns.get(&key(*proposal_id)).and_then(Proposal::of) else {
            return;
        };
        if let Some((agent_id, _)) = proposal.by.agent() {
            wanted.want(Read::Agent(proposal.goal_id.clone(), agent_id.clone()));
        }
        if let Some(todo_id) = &proposal.todo_id {
            wanted.want(Read::Todo(todo_id.clone()));
        }
        if matches!(self, Self::Lapse { .. }) {
            wanted.want_expected(&proposal.expected);
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let (proposal_id, event) = match self {
            Self::Add { kind, command, expected, reason } => {
                return add(draft, *kind, command, expected, reason);
            }
            Self::Confirm { proposal_id, command, expected } => {
                return confirm(draft, *proposal_id, command, expected);
            }
            Self::Lapse { proposal_id } => {
                let proposal = waiting(draft, *proposal_id, "lapse")?;
                if check_expected(draft.facts(), draft.goal_id(), &proposal.expected).is_ok() {
                    let message = format!("what the proposal {proposal_id} expects is still so");
                    return Err(Error::new(Code::InvalidTransition, message)
                        .hint(format!("proposal show {proposal_id}")));
                }
                (*proposal_id, Event::Lapsed { proposal_id: *proposal_id })
            }
            Self::Reject { proposal_id, reason } => {
                waiting(draft, *proposal_id, "be rejected")?;
                (*proposal_id, Event::Rejected { proposal_id: *proposal_id, reason: reason.clone() })
            }
            Self::Defer { proposal_id, until } => {
                waiting(draft, *proposal_id, "be put off")?;
                if *until <= draft.now() {
                    return Err(Error::new(Code::InvalidArgument, "a proposal is put off into the future")
                        .hint(format!("proposal defer {proposal_id} --until 1d")));
                }
                (*proposal_id, Event::Deferred { proposal_id: *proposal_id, until: *until })
            }
            Self::Withdraw { proposal_id } => {
                let proposal = waiting(draft, *proposal_id, "be withdrawn")?;
                let author = proposal.by.agent().map(|(agent_id, _)| agent_id);
                if author != draft.actor().agent().map(|(agent_id, _)| agent_id) {
                    let message = format!("the proposal {proposal_id} is {}'s to withdraw", proposal.by);
                    return Err(Error::new(Code::ActorNotAllowed, message)
                        .hint(format!("proposal show {proposal_id}")));
                }
                (*proposal_id, Event::Withdrawn { proposal_id: *proposal_id })
            }
        };
        draft.emit(event)?;
        Ok((Outcome { proposal_id: Some(proposal_id), ..Outcome::default() }, None))
    }
}

fn add(
    draft: &mut Draft<'_>,
    kind: ProposalKind,
    command: &super::Command,
    expected: &Expected,
    reason: &ShortText,
) -> Result<Concluded> {
    check_proposable(command)?;
    let body = json_value(command)?;
    let bytes = body.to_string().len();
    if bytes > COMMAND_MAX_BYTES {
        return Err(Error::new(
            Code::PayloadTooLarge,
            format!("a proposed command has at most {COMMAND_MAX_BYTES} bytes, and this one {bytes}"),
        ));
    }
    let Some((agent_id, _)) = draft.actor().agent() else { return Err(Error::from(Code::Internal)) };
    let author = agent::registered(draft.facts(), &(draft.goal_id().clone(), agent_id.clone()))?;
    if author.proposals >= OPEN_MAX {
        let message = format!("{OPEN_MAX} proposals of {agent_id} wait for a person in {}", draft.goal_id());
        return Err(
            Error::new(Code::QueueFull, message).hint(format!("proposal list --goal {}", draft.goal_id()))
        );
    }
    let (todo_id, turn_id) = at_work(draft)?;
    let proposal_id = ProposalId::from_bytes(draft.mint());
    let proposal = Proposal {
        proposal_id,
        goal_id: draft.goal_id().clone(),
        todo_id,
        turn_id,
        kind,
        verb: Input::Command(command.clone()).verb().as_str().into(),
        command: body,
        expected: expected.clone(),
        reason: reason.clone(),
        by: draft.actor().clone(),
        at: draft.now(),
        state: ProposalState::Open,
    };
    draft.emit(Event::Added { proposal: Box::new(proposal) })?;
    Ok((Outcome { created: Some(true), proposal_id: Some(proposal_id), ..Outcome::default() }, None))
}

/// What the author works on: the Turn that contains him, else the one that executes through his endpoint.
fn at_work(draft: &Draft<'_>) -> Result<(Option<TodoId>, Option<TurnId>)> {
    let Some((agent_id, endpoint)) = draft.actor().agent() else { return Ok((None, None)) };
    let contained = draft.provenance().contained;
    let turns = draft.facts().agent_turns(draft.goal_id(), agent_id)?;
    let mut turn = None;
    for one in turns {
        let is_own = match contained {
            Some(inside) => one.turn_id == inside,
            None => one.endpoint == *endpoint && turn::executes(draft.facts(), one)?,
        };
        if is_own {
            turn = Some(one);
            break;
        }
    }
    Ok((turn.and_then(|turn| turn.todo_id().cloned()), turn.map(|turn| turn.turn_id)))
}

/// The proposal of this Goal with that id, or `not_found`.
fn named<'d>(draft: &'d Draft<'_>, proposal_id: ProposalId) -> Result<&'d Proposal> {
    let goal_id = draft.goal_id();
    let found = draft.facts().noun::<Proposal>(*proposal_id.as_bytes())?;
    found.filter(|proposal| proposal.goal_id == *goal_id).ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no proposal {proposal_id} in {goal_id}"))
            .detail("proposal_id", proposal_id.to_string())
            .hint(format!("proposal list --goal {goal_id}"))
    })
}

/// One that still waits for a person.
fn waiting<'d>(draft: &'d Draft<'_>, proposal_id: ProposalId, verb: &str) -> Result<&'d Proposal> {
    let proposal = named(draft, proposal_id)?;
    if proposal.is_open() {
        return Ok(proposal);
    }
    let state = proposal.state.as_str();
    let message = format!("the proposal {proposal_id} {}", stands(state, verb));
    Err(Error::new(Code::InvalidTransition, message)
        .detail("proposal_id", proposal_id.to_string())
        .detail("state", state)
        .hint(format!("proposal show {proposal_id}")))
}

/// Decides the command as the person's own, in this commit.
fn confirm(
    draft: &mut Draft<'_>,
    proposal_id: ProposalId,
    command: &super::Command,
    expected: &Expected,
) -> Result<Concluded> {
    let proposal = named(draft, proposal_id)?;
    if matches!(proposal.state, ProposalState::Stale { .. }) {
        // It says the same however often it is confirmed.
        let message = format!("what the proposal {proposal_id} expects was no longer so");
        return Err(Error::new(Code::StaleRevision, message)
            .detail("proposal_id", proposal_id.to_string())
            .hint(format!("proposal show {proposal_id}")));
    }
    let proposal = waiting(draft, proposal_id, "be confirmed")?;
    if proposal.command != json_value(command)? || proposal.expected != *expected {
        let message = format!("this is not what the proposal {proposal_id} holds");
        return Err(Error::new(Code::InvalidArgument, message).hint(format!("proposal show {proposal_id}")));
    }
    check_proposable(command)?;
    let believed = check_expected(draft.facts(), draft.goal_id(), expected);
    if !seeded!(CarriesOutStale) {
        believed.map_err(|error| error.detail("proposal_id", proposal_id.to_string()))?;
    }
    let verb = Input::Command(command.clone()).verb();
    authorize(verb, draft.actor(), draft.provenance(), draft.facts().terms().strict)?;
    draft.emit(Event::Confirmed { proposal_id })?;
    let (outcome, negative) = command.decide(draft).map_err(|error| in_vain(proposal_id, error))?;
    Ok((Outcome { proposal_id: Some(proposal_id), ..outcome }, negative))
}

/// Takes back what a Turn proposed that needs no answer any more.
pub(super) fn withdraw(draft: &mut Draft<'_>, proposal_id: ProposalId) -> Result<()> {
    draft.emit(Event::Withdrawn { proposal_id })
}

/// The error of a command that is not carried out: what only waits says for what, all else is answered with a no.
fn in_vain(proposal_id: ProposalId, error: Error) -> Error {
    let waits = matches!(error.code(), Code::TurnRunning | Code::TurnUnresolved | Code::EffectUnresolved);
    if waits || error.code() == Code::Internal {
        return error;
    }
    error.hint(format!("proposal reject {proposal_id}"))
}
