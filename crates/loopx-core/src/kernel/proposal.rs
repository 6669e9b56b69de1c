//! Owns proposals: what may be proposed, and how a person's word makes one the command it holds.
//!
//! Knows no other domain's rules: a confirmed command is decided by its own.

use serde::{Deserialize, Serialize};

use super::{
    Concluded, Context, Draft, Facts, Input, Outcome, Read, Verb, Wanted, agent, authorize, check_expected,
    claim, event_kinds, goal, seeded, stands, turn,
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

/// What can have happened to proposals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// One was made.
    Added {
        /// It.
        proposal: Box<Proposal>,
    },
    /// A person gave its command; what that did follows.
    Confirmed {
        /// Which.
        proposal_id: ProposalId,
    },
    /// A person said no.
    Rejected {
        /// Which.
        proposal_id: ProposalId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// A person said not now.
    Deferred {
        /// Which.
        proposal_id: ProposalId,
        /// Not before then.
        until: Timestamp,
    },
    /// What its author believed was no longer so.
    Lapsed {
        /// Which.
        proposal_id: ProposalId,
    },
    /// Its author took it back.
    Withdrawn {
        /// Which.
        proposal_id: ProposalId,
    },
}

event_kinds!(Event {
    Added => "proposal.added",
    Confirmed => "proposal.confirmed",
    Rejected => "proposal.rejected",
    Deferred => "proposal.deferred",
    Lapsed => "proposal.lapsed",
    Withdrawn => "proposal.withdrawn",
});

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

/// Whether a command may wait for a person's word: one of a person's, that moves this Goal's plan or terms.
///
/// Not what only its own holder gives, nor what needs a machine that runs something, nor a judgement.
///
/// Errors: `invalid_argument`.
pub(super) fn check_proposable(command: &super::Command) -> Result<()> {
    let may = match command {
        super::Command::Goal(command) => match command {
            goal::Command::Update(_) | goal::Command::Stop | goal::Command::Resume => true,
            goal::Command::Start(_)
            | goal::Command::Close { .. }
            | goal::Command::Reopen
            | goal::Command::Incarnate => false,
        },
        super::Command::Claim(command) => match command {
            claim::Command::ForceRelease { .. } => true,
            claim::Command::Claim(_)
            | claim::Command::Renew { .. }
            | claim::Command::Release { .. }
            | claim::Command::Transfer { .. }
            | claim::Command::Next(_) => false,
        },
        super::Command::Agent(_)
        | super::Command::Quota(_)
        | super::Command::Todo(_)
        | super::Command::Gate(_)
        | super::Command::Evidence(_)
        | super::Command::Batch(_) => true,
        super::Command::Turn(_)
        | super::Command::Attention(_)
        | super::Command::Effect(_)
        | super::Command::Reward(_)
        | super::Command::Proposal(_)
        | super::Command::Peer(_)
        | super::Command::Handoff(_) => false,
    };
    if may {
        return Ok(());
    }
    let verb = Input::Command(command.clone()).verb().as_str();
    Err(Error::new(Code::InvalidArgument, format!("`{verb}` cannot be proposed")).detail("verb", verb))
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

impl Event {
    pub(super) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        let at = context.at;
        let (proposal_id, state) = match self {
            Self::Added { proposal } => {
                count(facts, proposal, 1)?;
                of_replan(facts, proposal)?;
                facts.put_noun((**proposal).clone());
                return Ok(());
            }
            Self::Deferred { proposal_id, until } => {
                facts.noun_mut::<Proposal>(*proposal_id.as_bytes())?.state =
                    ProposalState::Deferred { until: *until };
                return Ok(());
            }
            Self::Confirmed { proposal_id } => {
                (proposal_id, ProposalState::Confirmed { by: context.actor.clone(), at })
            }
            Self::Rejected { proposal_id, reason } => {
                let reason = reason.clone();
                (proposal_id, ProposalState::Rejected { by: context.actor.clone(), at, reason })
            }
            Self::Lapsed { proposal_id } => (proposal_id, ProposalState::Stale { at }),
            Self::Withdrawn { proposal_id } => (proposal_id, ProposalState::Withdrawn { at }),
        };
        let proposal = facts.noun_mut::<Proposal>(*proposal_id.as_bytes())?;
        proposal.state = state;
        let proposal = proposal.clone();
        of_replan(facts, &proposal)?;
        count(facts, &proposal, -1)
    }
}

/// Tells the replan that a proposal was made for what became of it, while that Turn lasts.
fn of_replan(facts: &mut Facts, proposal: &Proposal) -> Result<()> {
    let Some(todo_id) = &proposal.todo_id else { return Ok(()) };
    let todo = facts.todo(todo_id)?;
    let mine = todo.is_some_and(|todo| todo.covering.is_some() && todo.turn_id == proposal.turn_id);
    if !mine || proposal.turn_id.is_none() {
        return Ok(());
    }
    let todo = facts.todo_mut(todo_id)?;
    todo.revision += 1;
    let Some(covering) = &mut todo.covering else { return Ok(()) };
    match &proposal.state {
        ProposalState::Open | ProposalState::Deferred { .. } => {
            covering.proposed.insert(proposal.proposal_id);
        }
        ProposalState::Confirmed { .. } => {
            covering.proposed.remove(&proposal.proposal_id);
            covering.confirmed = true;
        }
        ProposalState::Rejected { .. } | ProposalState::Stale { .. } | ProposalState::Withdrawn { .. } => {
            covering.proposed.remove(&proposal.proposal_id);
        }
    }
    Ok(())
}

/// Counts what of an agent waits for a person.
fn count(facts: &mut Facts, proposal: &Proposal, by: i32) -> Result<()> {
    let Some((agent_id, _)) = proposal.by.agent() else { return Ok(()) };
    let author = facts.agent_mut(&(proposal.goal_id.clone(), agent_id.clone()))?;
    author.proposals = author.proposals.saturating_add_signed(by);
    Ok(())
}
