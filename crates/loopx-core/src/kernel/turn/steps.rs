//! Owns the steps of a Turn that only its driver, a proof, or an owner's validated verb may take.
//!
//! No door offers them: what a validator said can only be submitted by the module that ran it.

use serde::{Serialize, Serializer};

use super::{
    Event,
    causes::{self, causes},
    end, named, no_move,
    prove::{lose, prove, recover},
    result::candidate_came,
    settle, turn_reads,
};
use crate::{
    error::{Code, Error, Result},
    kernel::{Concluded, Draft, Read, Verb, Wanted, claim, goal, quota, todo},
    model::{
        Actor, Attempt, Candidate, Cause, Digest, Duration, End, FailedBy, GoalId, Guarantee, HostFailure,
        Meter, OwnId, ShortText, Stopped, Timestamp, Todo, Turn, TurnId, TurnState, Unresolved, Usage,
        Verdict, VerdictOutcome, Wake,
    },
};

/// A step of a Turn.
///
/// Invariant: its digest covers what was asked, never what the submitting process saw or measured; so the same
/// verb, given again after a crash, is the same operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Starts an attempt.
    Dispatch {
        /// Which Turn.
        turn_id: TurnId,
        /// Its ownership.
        own_id: OwnId,
        /// The attempt; its number and moment are set here.
        #[serde(skip_serializing)]
        attempt: Box<Attempt>,
        /// How long it may take.
        wall_ms: Duration,
    },
    /// Records a typed result.
    Candidate {
        /// Which Turn.
        turn_id: TurnId,
        /// Its ownership, as its owner presents it.
        #[serde(skip_serializing_if = "Option::is_none")]
        own_id: Option<OwnId>,
        /// The result; its moment and requirement are set here.
        #[serde(serialize_with = "claimed")]
        candidate: Box<Candidate>,
        /// What a result of kind `wait` waits for; 15 minutes unless said.
        #[serde(skip_serializing_if = "Option::is_none")]
        wake: Option<Wake>,
        /// By what its host was held together, where that is less than was recorded.
        #[serde(skip_serializing_if = "Option::is_none")]
        held_by: Option<Guarantee>,
        /// How long the attempt took while the machine was awake, by its driver's clock.
        #[serde(skip_serializing)]
        awake_ms: Option<u64>,
    },
    /// Records what the validators said, and ends the Turn where nothing holds it.
    Verdict {
        /// Which Turn.
        turn_id: TurnId,
        /// Its ownership.
        own_id: OwnId,
        /// What they said; its moment is set here.
        #[serde(skip_serializing)]
        verdict: Box<Verdict>,
        /// Whether the tree moved while they ran.
        #[serde(skip_serializing)]
        moved: bool,
        /// Whether its driver goes on with the next Turn if it settles as progress.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        goes_on: bool,
    },
    /// Records that an attempt ended without a result.
    End {
        /// Which Turn.
        turn_id: TurnId,
        /// Its ownership.
        own_id: OwnId,
        /// What failed; none when it was stopped on a wish.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<HostFailure>,
        /// Whether another attempt may follow, its budget allowing.
        retry: bool,
        /// What went wrong, screened.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<ShortText>,
        /// By what its host was held together, where that is less than was recorded.
        #[serde(skip_serializing_if = "Option::is_none")]
        held_by: Option<Guarantee>,
        /// How long the attempt took while the machine was awake, by its driver's clock.
        #[serde(skip_serializing)]
        awake_ms: Option<u64>,
    },
    /// Records what can be proved without launching anything.
    Prove {
        /// Which Turn.
        turn_id: TurnId,
        /// Whether its executor was proved gone.
        executor_gone: bool,
        /// The tree as it is now, where that can be told.
        #[serde(skip_serializing)]
        tree: Option<Digest>,
    },
    /// Records that what happened cannot be told.
    Lose {
        /// Which Turn.
        turn_id: TurnId,
        /// Its ownership.
        own_id: OwnId,
        /// Whether its executor was proved gone.
        executor_gone: bool,
        /// By what its host was held together, where that is less than was recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_by: Option<Guarantee>,
        /// How long the attempt took while the machine was awake, by its driver's clock.
        #[serde(skip_serializing)]
        awake_ms: Option<u64>,
    },
    /// Leads an unresolved Turn out, by what was found.
    Recover {
        /// Which Turn.
        turn_id: TurnId,
        /// Its ownership.
        own_id: OwnId,
        /// What was found.
        found: Found,
        /// What a result that waits is woken by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wake: Option<Wake>,
        /// By what the host of a result was held together, where that is less than was recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_by: Option<Guarantee>,
        /// How long the attempt took while the machine was awake, by its driver's clock.
        #[serde(skip_serializing)]
        awake_ms: Option<u64>,
    },
}

/// What an executor claims, without what was seen around it.
#[expect(clippy::borrowed_box, reason = "serde passes the field by reference")]
fn claimed<S: Serializer>(candidate: &Box<Candidate>, serializer: S) -> Result<S::Ok, S::Error> {
    let nothing = Timestamp::default();
    let claim = Candidate {
        tree: None,
        outside: [].into(),
        shared: false,
        at: nothing,
        requirement_revision: 0,
        ..(**candidate).clone()
    };
    claim.serialize(serializer)
}

/// What a recovery found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// The result, after all.
    Result(Box<Candidate>),
    /// The candidate it has can be validated again.
    Again,
    /// Nothing happened that would have to be kept.
    Nothing(HostFailure),
}

impl Step {
    pub(in crate::kernel) fn verb(&self) -> Verb {
        match self {
            Self::Dispatch { .. } => Verb::TurnDispatch,
            Self::Candidate { .. } => Verb::TurnCandidate,
            Self::Verdict { .. } => Verb::TurnVerdict,
            Self::End { .. } => Verb::TurnEnd,
            Self::Prove { .. } => Verb::TurnProve,
            Self::Lose { .. } => Verb::TurnLose,
            Self::Recover { .. } => Verb::TurnRecover,
        }
    }

    /// The Turn it is about.
    pub const fn turn_id(&self) -> TurnId {
        match self {
            Self::Dispatch { turn_id, .. }
            | Self::Candidate { turn_id, .. }
            | Self::Verdict { turn_id, .. }
            | Self::End { turn_id, .. }
            | Self::Prove { turn_id, .. }
            | Self::Lose { turn_id, .. }
            | Self::Recover { turn_id, .. } => *turn_id,
        }
    }

    pub(in crate::kernel) fn reads(&self, goal_id: &GoalId, actor: &Actor, wanted: &mut Wanted<'_>) {
        turn_reads(self.turn_id(), wanted);
        if let (Some((agent, _)), Self::Verdict { .. } | Self::Prove { .. }) = (actor.agent(), self) {
            // Whoever settles its own Turn may go on with the next.
            wanted.want(Read::Agent(goal_id.clone(), agent.clone()));
        }
        let rows = wanted.rows();
        let Some(turn) = rows.turns.get(&self.turn_id()) else { return };
        let todo = turn.todo_id().and_then(|id| rows.todos.get(id));
        match self {
            Self::Candidate { candidate, wake, .. } => {
                todo::continuation_reads(&candidate.continuation, wanted);
                if let Some(wake) = wake {
                    todo::wake_reads(wake, wanted);
                }
            }
            Self::Verdict { .. } | Self::Prove { .. } => {
                let goes_on = matches!(self, Self::Verdict { goes_on: true, .. })
                    || turn.candidate.as_ref().is_some_and(|candidate| candidate.goes_on);
                let by_holder = actor.agent() == Some((&turn.agent_id, &turn.endpoint));
                let (agent, workspace) = (turn.agent_id.clone(), turn.workspace.clone());
                if let Some(reviewed) = todo.and_then(|todo| todo.reviews.clone()) {
                    wanted.want(Read::Todo(reviewed.clone()));
                    wanted.want(Read::TodoGates(reviewed));
                }
                if let Some(todo_id) = todo.map(|todo| todo.todo_id.clone()).filter(|_| goes_on && by_holder)
                {
                    claim::going_on_reads(goal_id, &agent, &todo_id, workspace.as_ref(), wanted);
                }
                causes::want_tree(turn, wanted);
            }
            Self::Recover { found: Found::Result(candidate), .. } => {
                todo::continuation_reads(&candidate.continuation, wanted);
            }
            Self::Recover { found: Found::Again | Found::Nothing(_), .. }
            | Self::Dispatch { .. }
            | Self::End { .. }
            | Self::Lose { .. } => {}
        }
    }

    pub(in crate::kernel) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let turn_id = self.turn_id();
        let turn = named(draft, turn_id)?.clone();
        if let (true, Some(todo_id)) = (self.presents(), turn.todo_id()) {
            let own_id = self.own_id();
            // A ledger's later life knows no ownership of an earlier one.
            if turn.incarnation != draft.facts().terms().incarnation {
                return Err(Error::new(
                    Code::OwnershipSuperseded,
                    format!("the Turn {turn_id} belongs to an earlier life of the ledger"),
                )
                .detail("turn_id", turn_id.to_string()));
            }
            if turn.is_terminal() {
                claim::check(draft, todo_id, own_id)?;
            } else if let claim::Presented::ScopesTaken(outcome) = claim::present(draft, todo_id, own_id)? {
                return Ok((*outcome, Some(Code::OwnershipExpired)));
            }
        }
        if turn.is_terminal() {
            return Err(no_move(&turn, "go on"));
        }
        if let (Some(wall_ms), Some(attempt)) = (self.awake_ms(), turn.attempts.last()) {
            quota::measured(draft, &turn, attempt.number, Meter::Driver, &Usage::of_wall(wall_ms))?;
        }
        match self {
            Self::Dispatch { attempt, wall_ms, .. } => dispatch(draft, &turn, attempt, *wall_ms)?,
            Self::Candidate { candidate, wake, held_by, .. } => {
                candidate_came(draft, &turn, candidate, wake.as_ref(), *held_by)?;
            }
            Self::Verdict { verdict, moved, goes_on, .. } => {
                verdict_came(draft, &turn, verdict, *moved, *goes_on)?;
            }
            Self::End { failure, retry, note, held_by, .. } => {
                attempt_ended(draft, &turn, *failure, *retry, note.as_ref(), *held_by)?;
            }
            Self::Prove { executor_gone, tree, .. } => prove(draft, &turn, *executor_gone, *tree)?,
            Self::Lose { executor_gone, held_by, .. } => lose(draft, &turn, *executor_gone, *held_by)?,
            Self::Recover { found, wake, held_by, .. } => {
                recover(draft, &turn, found, wake.as_ref(), *held_by)?;
            }
        }
        Ok((settle::outcome(draft, turn_id)?, None))
    }

    /// Whether the step acts on the Turn's ownership: any but a proof, and what leads an unresolved Turn out without
    /// a result.
    fn presents(&self) -> bool {
        match self {
            Self::Candidate { .. }
            | Self::Dispatch { .. }
            | Self::Verdict { .. }
            | Self::End { .. }
            | Self::Lose { .. }
            | Self::Recover { found: Found::Result(_) | Found::Again, .. } => true,
            Self::Recover { found: Found::Nothing(_), .. } | Self::Prove { .. } => false,
        }
    }

    /// What its driver's clock says of the attempt.
    const fn awake_ms(&self) -> Option<u64> {
        match self {
            Self::Candidate { awake_ms, .. }
            | Self::End { awake_ms, .. }
            | Self::Lose { awake_ms, .. }
            | Self::Recover { awake_ms, .. } => *awake_ms,
            Self::Dispatch { .. } | Self::Verdict { .. } | Self::Prove { .. } => None,
        }
    }

    /// The token that is presented, if one is.
    fn own_id(&self) -> Option<OwnId> {
        match self {
            Self::Candidate { own_id, .. } => *own_id,
            Self::Dispatch { own_id, .. }
            | Self::Verdict { own_id, .. }
            | Self::End { own_id, .. }
            | Self::Lose { own_id, .. }
            | Self::Recover { own_id, .. } => Some(*own_id),
            Self::Prove { .. } => None,
        }
    }
}

pub(super) fn todo_of<'d>(draft: &'d Draft<'_>, turn: &Turn) -> Result<&'d Todo> {
    let todo_id = turn.todo_id().ok_or_else(|| no_move(turn, "do this: it works on no Todo"))?;
    todo::named(draft, todo_id)
}

fn dispatch(draft: &mut Draft<'_>, turn: &Turn, attempt: &Attempt, wall_ms: Duration) -> Result<()> {
    if !turn.is_driven() || turn.stop_wish.is_some() {
        return Err(no_move(turn, "be dispatched"));
    }
    let closed = turn.open_attempt().is_none();
    let left = turn.attempts.len() < Turn::ATTEMPTS_MAX;
    let allowed = match turn.state {
        TurnState::Admitted => true,
        TurnState::Dispatched => closed && left,
        // While more than the requirement holds it, another attempt would be held as well.
        TurnState::Held { .. } => {
            let causes = causes(draft.facts(), turn)?;
            let only = |cause: &Cause| matches!(cause, Cause::Requirement | Cause::AgentBusy);
            left && causes.contains(&Cause::Requirement) && causes.iter().all(only)
        }
        TurnState::Candidate
        | TurnState::Unresolved { .. }
        | TurnState::Settled
        | TurnState::Stopped { .. }
        | TurnState::Failed { .. }
        | TurnState::Fenced => false,
    };
    if !allowed {
        return Err(no_move(turn, "be dispatched"));
    }
    if matches!(turn.state, TurnState::Held { .. }) {
        causes::check_agent_free(draft.facts(), turn)?;
    }
    let requirement_revision = todo_of(draft, turn)?.requirement_revision;
    let now = draft.now();
    let deadline_at = now.plus(wall_ms);
    let number = u8::try_from(turn.attempts.len()).unwrap_or(u8::MAX).saturating_add(1);
    let attempt =
        Attempt { number, dispatched_at: now, deadline_at: Some(deadline_at), end: None, ..attempt.clone() };
    let own = end::ownership(draft.facts(), turn)?.ok_or_else(|| Error::from(Code::Internal))?;
    let expires_at = own.expires_at.max(now.plus(own.ttl_ms)).max(deadline_at.plus(super::GRACE));
    let (turn_id, attempt) = (turn.turn_id, Box::new(attempt));
    draft.emit(Event::Dispatched { turn_id, attempt, requirement_revision, expires_at })
}

fn verdict_came(
    draft: &mut Draft<'_>,
    turn: &Turn,
    verdict: &Verdict,
    moved: bool,
    goes_on: bool,
) -> Result<()> {
    if !matches!(turn.state, TurnState::Candidate) {
        return Err(no_move(turn, "take a verdict"));
    }
    let turn_id = turn.turn_id;
    if turn.stop_wish.is_some() {
        return end::stop(draft, turn_id, Stopped::Stop);
    }
    let validated = goal::has_validators(draft.facts(), todo_of(draft, turn)?)?;
    if validated == (verdict.outcome == VerdictOutcome::Unchecked) {
        let message = format!("the validators of the Turn {turn_id} were changed since they ran");
        return Err(Error::new(Code::StaleRevision, message).detail("turn_id", turn_id.to_string()));
    }
    if moved {
        draft.emit(Event::TreeMoved { turn_id, tree: verdict.tree })?;
        if turn.moved > 0 {
            return draft.emit(Event::Held { turn_id, tree_busy: true });
        }
        // The first time, the validators run once more.
        let todo_id = todo_of(draft, turn)?.todo_id.clone();
        return claim::renew(draft, &todo_id);
    }
    let verdict = Verdict { at: draft.now(), ..verdict.clone() };
    let (outcome, note) = (verdict.outcome, verdict.note.clone());
    draft.emit(Event::Validated { turn_id, verdict: Box::new(verdict) })?;
    match outcome {
        VerdictOutcome::Failed => {
            settle::reject(draft, turn_id)?;
            end::finish(draft, turn_id, End::Failed(FailedBy::Validate), note, true)
        }
        VerdictOutcome::Inconclusive => {
            let why = Unresolved::Inconclusive;
            let (executor_gone, keeps_ownership) = (true, true);
            draft.emit(Event::Unresolved { turn_id, why, executor_gone, keeps_ownership, held_by: None })
        }
        VerdictOutcome::Passed | VerdictOutcome::Progress | VerdictOutcome::Unchecked => {
            settle::settle_or_hold(draft, turn_id, goes_on)
        }
    }
}

fn attempt_ended(
    draft: &mut Draft<'_>,
    turn: &Turn,
    failure: Option<HostFailure>,
    retry: bool,
    note: Option<&ShortText>,
    held_by: Option<Guarantee>,
) -> Result<()> {
    let turn_id = turn.turn_id;
    if !matches!(turn.state, TurnState::Dispatched) || !turn.is_driven() {
        return Err(no_move(turn, "end an attempt"));
    }
    if turn.open_attempt().is_some() {
        draft.emit(Event::AttemptEnded { turn_id, failure, held_by })?;
    }
    let Some(failure) = failure.filter(|_| turn.stop_wish.is_none()) else {
        return match note {
            Some(note) => end::finish(draft, turn_id, End::Stopped(Stopped::Stop), Some(note.clone()), false),
            None => end::stop(draft, turn_id, Stopped::Stop),
        };
    };
    // What may have changed something outside is not tried again.
    let untouched = todo_of(draft, turn)?.blocking_effects.is_empty();
    if retry && untouched && failure.is_retried() && turn.attempts.len() < Turn::ATTEMPTS_MAX {
        return Ok(());
    }
    end::finish(draft, turn_id, End::Failed(FailedBy::Host(failure)), note.cloned(), false)
}
