//! Owns what can have happened to a Turn, and its application.

use serde::{Deserialize, Serialize};

use crate::{
    error::{Code, Error, Result},
    kernel::{Context, Facts, event_kinds, quota, replan, seeded},
    model::{
        Attempt, AttemptEnd, Candidate, Digest, End, Guarantee, HostFailure, LastEnd, Ownership, ReplanCause,
        ResultKind, ShortText, Slot, StopWish, Stopped, Timestamp, Todo, Turn, TurnId, TurnState, Unresolved,
        Verdict, VerdictOutcome,
    },
};

/// What can have happened to a Turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// An attempt was dispatched.
    Dispatched {
        /// Which Turn.
        turn_id: TurnId,
        /// The attempt.
        attempt: Box<Attempt>,
        /// The requirement its executor is given.
        requirement_revision: u64,
        /// Until when its ownership lasts now.
        expires_at: Timestamp,
    },
    /// An attempt ended.
    AttemptEnded {
        /// Which Turn.
        turn_id: TurnId,
        /// What failed, if something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<HostFailure>,
        /// By what it was held together, where that is less than was recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_by: Option<Guarantee>,
    },
    /// A result is there.
    CandidateRecorded {
        /// Which Turn.
        turn_id: TurnId,
        /// The result.
        candidate: Box<Candidate>,
        /// Until when its ownership lasts now.
        expires_at: Timestamp,
        /// By what its host was held together, where that is less than was recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_by: Option<Guarantee>,
    },
    /// The validators spoke.
    Validated {
        /// Which Turn.
        turn_id: TurnId,
        /// What they said.
        verdict: Box<Verdict>,
    },
    /// The tree moved while they ran.
    TreeMoved {
        /// Which Turn.
        turn_id: TurnId,
        /// What it is now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Digest>,
    },
    /// The validated result waits.
    Held {
        /// Which Turn.
        turn_id: TurnId,
        /// Whether for the tree to be still; every other cause is derived.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tree_busy: bool,
    },
    /// It is to be validated again.
    Returned {
        /// Which Turn.
        turn_id: TurnId,
        /// Whether its result now stands for the present requirement.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        renewed: bool,
        /// Until when its ownership lasts now.
        expires_at: Timestamp,
    },
    /// What happened is not known.
    Unresolved {
        /// Which Turn.
        turn_id: TurnId,
        /// Why not.
        why: Unresolved,
        /// Whether its executor was proved gone.
        executor_gone: bool,
        /// Whether its ownership is frozen, rather than ended.
        keeps_ownership: bool,
        /// By what its host was held together, where that is less than was recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_by: Option<Guarantee>,
    },
    /// Its executor was proved gone.
    ExecutorGone {
        /// Which Turn.
        turn_id: TurnId,
    },
    /// Somebody wants it stopped.
    StopWished {
        /// Which Turn.
        turn_id: TurnId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// It ended.
    Ended {
        /// Which Turn.
        turn_id: TurnId,
        /// How.
        end: End,
        /// What became of its slot.
        slot: Slot,
        /// What went wrong, or was achieved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<ShortText>,
        /// Whether the next Turn repairs it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        repair: bool,
    },
}

event_kinds!(Event {
    Dispatched => "turn.dispatched",
    AttemptEnded => "turn.attempt_ended",
    CandidateRecorded => "turn.candidate_recorded",
    Validated => "turn.validated",
    TreeMoved => "turn.tree_moved",
    Held => "turn.held",
    Returned => "turn.returned",
    Unresolved => "turn.unresolved",
    ExecutorGone => "turn.executor_gone",
    StopWished => "turn.stop_wished",
    Ended => "turn.ended",
});

impl Event {
    /// The Turn that it moves.
    pub const fn turn_id(&self) -> TurnId {
        match self {
            Self::Dispatched { turn_id, .. }
            | Self::AttemptEnded { turn_id, .. }
            | Self::CandidateRecorded { turn_id, .. }
            | Self::Validated { turn_id, .. }
            | Self::TreeMoved { turn_id, .. }
            | Self::Held { turn_id, .. }
            | Self::Returned { turn_id, .. }
            | Self::Unresolved { turn_id, .. }
            | Self::ExecutorGone { turn_id }
            | Self::StopWished { turn_id, .. }
            | Self::Ended { turn_id, .. } => *turn_id,
        }
    }

    pub(in crate::kernel) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        match self {
            Self::Dispatched { turn_id, attempt, requirement_revision, expires_at } => {
                let turn = facts.turn_mut(turn_id)?;
                turn.state = TurnState::Dispatched;
                turn.attempts.push((**attempt).clone());
                turn.requirement_revision = *requirement_revision;
                turn.candidate = None;
                turn.verdict = None;
                arm(facts, turn_id, *expires_at)
            }
            Self::AttemptEnded { turn_id, failure, held_by } => {
                let turn = facts.turn_mut(turn_id)?;
                weaken(turn, *held_by);
                close_attempt(turn, context.at, *failure);
                Ok(())
            }
            Self::CandidateRecorded { turn_id, candidate, expires_at, held_by } => {
                let turn = facts.turn_mut(turn_id)?;
                weaken(turn, *held_by);
                recorded(turn, candidate, context.at);
                arm(facts, turn_id, *expires_at)
            }
            Self::Validated { turn_id, verdict } => {
                facts.turn_mut(turn_id)?.verdict = Some((**verdict).clone());
                Ok(())
            }
            Self::TreeMoved { turn_id, tree } => {
                let turn = facts.turn_mut(turn_id)?;
                turn.moved = turn.moved.saturating_add(1);
                if let Some(candidate) = &mut turn.candidate {
                    candidate.tree = *tree;
                }
                Ok(())
            }
            Self::Held { turn_id, tree_busy } => {
                facts.turn_mut(turn_id)?.state = TurnState::Held { tree_busy: *tree_busy };
                freeze(facts, turn_id)
            }
            Self::Returned { turn_id, renewed, expires_at } => {
                returned(facts, turn_id, *renewed)?;
                arm(facts, turn_id, *expires_at)
            }
            Self::Unresolved { turn_id, why, executor_gone, keeps_ownership, held_by } => {
                let turn = facts.turn_mut(turn_id)?;
                weaken(turn, *held_by);
                turn.state = TurnState::Unresolved { why: *why, executor_gone: *executor_gone };
                if *executor_gone {
                    close_attempt(turn, context.at, None);
                }
                if *keeps_ownership { freeze(facts, turn_id) } else { drop_ownership(facts, turn_id) }
            }
            Self::ExecutorGone { turn_id } => {
                let turn = facts.turn_mut(turn_id)?;
                close_attempt(turn, context.at, None);
                if let TurnState::Unresolved { executor_gone, .. } = &mut turn.state {
                    *executor_gone = true;
                }
                Ok(())
            }
            Self::StopWished { turn_id, reason } => {
                facts.turn_mut(turn_id)?.stop_wish =
                    Some(StopWish { by: context.actor.clone(), at: context.at, reason: reason.clone() });
                Ok(())
            }
            Self::Ended { turn_id, end, slot, note, repair } => {
                ended(context, facts, turn_id, *end, *slot, note.as_ref(), *repair)
            }
        }
    }
}

fn recorded(turn: &mut Turn, candidate: &Candidate, at: Timestamp) {
    turn.state = TurnState::Candidate;
    if turn.candidate.as_ref().is_none_or(|old| !old.is_same_result(candidate)) {
        // An approval covers exactly the result it was asked for.
        turn.acceptance_gate = None;
    }
    turn.candidate = Some(candidate.clone());
    turn.verdict = None;
    turn.moved = 0;
    close_attempt(turn, at, None);
}

/// Puts right by what the last attempt was held together.
fn weaken(turn: &mut Turn, held_by: Option<Guarantee>) {
    if let (Some(attempt), Some(held_by)) = (turn.attempts.last_mut(), held_by) {
        attempt.guarantee = attempt.guarantee.max(Some(held_by));
    }
}

fn close_attempt(turn: &mut Turn, at: Timestamp, failure: Option<HostFailure>) {
    if let Some(attempt) = turn.attempts.last_mut().filter(|attempt| attempt.end.is_none()) {
        attempt.end = Some(AttemptEnd { at, failure });
    }
}

fn returned(facts: &mut Facts, turn_id: &TurnId, renewed: bool) -> Result<()> {
    let todo_id = facts.turn(turn_id)?.and_then(|turn| turn.todo_id().cloned());
    let present = match &todo_id {
        Some(todo_id) => facts.todo(todo_id)?.map(|todo| todo.requirement_revision),
        None => None,
    };
    let turn = facts.turn_mut(turn_id)?;
    turn.state = TurnState::Candidate;
    turn.verdict = None;
    turn.moved = 0;
    if let (true, Some(candidate), Some(present)) = (renewed, &mut turn.candidate, present) {
        candidate.requirement_revision = present;
    }
    Ok(())
}

/// The Todo of a Turn, to change it; none for a Turn that works on none.
fn todo_of<'f>(facts: &'f mut Facts, turn_id: &TurnId) -> Result<Option<&'f mut Todo>> {
    let todo_id = facts.turn(turn_id)?.ok_or_else(|| Error::from(Code::Internal))?.todo_id().cloned();
    todo_id.map(|todo_id| facts.todo_mut(&todo_id)).transpose()
}

fn own(facts: &mut Facts, turn_id: &TurnId, change: impl FnOnce(&mut Ownership)) -> Result<()> {
    if let Some(todo) = todo_of(facts, turn_id)? {
        todo.revision += 1;
        if let Some(own) = todo.ownership.as_mut().filter(|own| own.turn_id == *turn_id) {
            change(own);
        }
    }
    Ok(())
}

fn arm(facts: &mut Facts, turn_id: &TurnId, expires_at: Timestamp) -> Result<()> {
    own(facts, turn_id, |own| {
        own.frozen = false;
        own.expires_at = expires_at;
    })
}

fn freeze(facts: &mut Facts, turn_id: &TurnId) -> Result<()> {
    own(facts, turn_id, |own| own.frozen = true)
}

fn drop_ownership(facts: &mut Facts, turn_id: &TurnId) -> Result<()> {
    if let Some(todo) = todo_of(facts, turn_id)? {
        todo.revision += 1;
        if let Some(own) = todo.ownership.take_if(|own| own.turn_id == *turn_id) {
            todo.last_own_id = Some(own.own_id);
        }
    }
    Ok(())
}

fn ended(
    context: &Context,
    facts: &mut Facts,
    turn_id: &TurnId,
    end: End,
    slot: Slot,
    note: Option<&ShortText>,
    repair: bool,
) -> Result<()> {
    let turn = facts.turn_mut(turn_id)?;
    turn.state = match end {
        End::Settled => TurnState::Settled,
        End::Stopped(why) => TurnState::Stopped { why },
        End::Failed(how) => TurnState::Failed { how },
        End::Fenced => TurnState::Fenced,
    };
    turn.slot = slot;
    turn.ended_at = Some(context.at);
    close_attempt(turn, context.at, None);
    let ended = turn.clone();
    if slot == Slot::Returned && !seeded!(KeepsReservations) {
        quota::shift(facts, &ended, -1);
    }
    quota::ended(facts, turn_id)?;
    drop_ownership(facts, turn_id)?;
    if let Some(todo) = todo_of(facts, turn_id)? {
        todo.turn_id = None;
        // A stop says nothing about the work, so it does not hide what is still to be repaired.
        if repair || !matches!(end, End::Stopped(_)) {
            let by = Some(ended.agent_id.clone());
            todo.last_end = Some(LastEnd { turn_id: *turn_id, by, repair, note: note.cloned() });
        }
        if let (Some(covering), End::Failed(_)) = (&mut todo.covering, end) {
            covering.failed = covering.failed.saturating_add(1);
        }
    }
    tell_of_plan(facts, &ended, end)
}

/// Whether a Turn brought accepted progress; none for an end that says nothing of the work.
fn brought(turn: &Turn, end: End) -> Option<bool> {
    match end {
        End::Settled => {
            let kind = turn.candidate.as_ref().map(|candidate| candidate.kind);
            let advances =
                matches!(kind, Some(ResultKind::ValidatedCompletion | ResultKind::ValidatedProgress));
            let outcome = turn.verdict.as_ref().map(|verdict| verdict.outcome);
            // What no validator looked at a person accepts.
            let proved = matches!(outcome, Some(VerdictOutcome::Passed | VerdictOutcome::Progress));
            Some(advances && (proved || turn.acceptance_gate.is_some()))
        }
        End::Failed(_) | End::Stopped(Stopped::Wait) => Some(false),
        End::Stopped(_) | End::Fenced => None,
    }
}

/// What the end of a Turn says of the plan of its Todo.
fn tell_of_plan(facts: &mut Facts, turn: &Turn, end: End) -> Result<()> {
    let kind = turn.candidate.as_ref().map(|candidate| candidate.kind);
    if let (Some(todo_id), Some(progress)) = (turn.todo_id(), brought(turn, end)) {
        replan::count(facts, todo_id, progress)?;
    }
    match (turn.todo_id(), end, kind) {
        (Some(todo_id), End::Settled, Some(ResultKind::ReplanRequired)) => {
            replan::oblige(facts, todo_id, ReplanCause::ReplanRequired)
        }
        // wildcard: no other result says anything of it
        _ => Ok(()),
    }
}
