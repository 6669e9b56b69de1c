//! Owns what can have happened to proposals, and what follows from it in the rows: who waits for how many, and what a
//! replan was told.
//!
//! Knows nothing of what may be proposed.

use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    kernel::{Context, Facts, event_kinds},
    model::{Proposal, ProposalId, ProposalState, ShortText, Timestamp},
};

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

impl Event {
    pub(in crate::kernel) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
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
