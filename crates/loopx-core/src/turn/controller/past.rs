//! Owns what a decision names as its predecessor: the last move of the last Turn of an agent in a Goal.
//!
//! Knows nothing of what follows from it. Invariant: all of it is read from the ledger, and nothing from a receipt that
//! somebody presents.

use super::Mark;
use crate::{
    authority::{Envelope, EventFilter, TurnFilter, View},
    error::{Code, Error, Result},
    kernel::{ClaimEvent, Event, Outcome},
    model::{
        AgentId, Continuation, Digest, FailedBy, GoalId, Receipt, ResultKind, Stopped, TodoId, Turn, TurnId,
        TurnState, VerdictOutcome, json_value,
    },
};

/// How many events are read at once.
const STEP: u64 = 64;

/// The predecessor that a decision names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// The receipt of its last move.
    pub mark: Mark,
    /// How it ended, or where it stands.
    pub ended: Ended,
}

/// Where a Turn stands, as far as a loop is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It completed its Todo.
    Completion {
        /// Which.
        todo_id: TodoId,
        /// What follows.
        continuation: Continuation,
    },
    /// It settled, and its Todo stays.
    Progress,
    /// It found something that the next Turn has to repair.
    RepairRequired,
    /// It says that the plan does not hold.
    ReplanRequired,
    /// It was ended without a result.
    Stopped(Stopped),
    /// Its host, or its validators, failed it.
    Failed(FailedBy),
    /// Another ownership took over.
    Fenced,
    /// What it did is not known.
    Unresolved,
    /// Its result waits.
    Held,
    /// It is at work, or was left there.
    AtWork,
}

impl Ended {
    /// Where a Turn stands.
    pub fn of(turn: &Turn) -> Self {
        match &turn.state {
            TurnState::Settled => Self::settled(turn),
            TurnState::Stopped { why } => Self::Stopped(*why),
            TurnState::Failed { how } => Self::Failed(*how),
            TurnState::Fenced => Self::Fenced,
            TurnState::Unresolved { .. } => Self::Unresolved,
            TurnState::Held { .. } => Self::Held,
            TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate => Self::AtWork,
        }
    }

    fn settled(turn: &Turn) -> Self {
        let Some(candidate) = &turn.candidate else { return Self::Progress };
        let is_partial =
            turn.verdict.as_ref().is_some_and(|verdict| verdict.outcome == VerdictOutcome::Progress);
        match (candidate.kind, turn.todo_id()) {
            (ResultKind::ValidatedCompletion, Some(todo_id)) if !is_partial => {
                Self::Completion { todo_id: todo_id.clone(), continuation: candidate.continuation.clone() }
            }
            (ResultKind::RepairRequired, _) => Self::RepairRequired,
            (ResultKind::ReplanRequired, _) => Self::ReplanRequired,
            (
                ResultKind::ValidatedCompletion
                | ResultKind::ValidatedProgress
                | ResultKind::UserActionRequired
                | ResultKind::Wait
                | ResultKind::LookUnchanged
                | ResultKind::LookChanged,
                _,
            ) => Self::Progress,
        }
    }
}

/// What names a receipt.
///
/// Errors: `internal` for one that moved no Turn.
pub fn mark(receipt: &Receipt) -> Result<Mark> {
    let turn_id = receipt.outcome::<Outcome>()?.turn_id.ok_or_else(|| Error::from(Code::Internal))?;
    mark_of(receipt, turn_id)
}

fn mark_of(receipt: &Receipt, turn_id: TurnId) -> Result<Mark> {
    let mut words = json_value(receipt)?;
    // Whether this call wrote it says nothing about what was written.
    if let Some(fields) = words.as_object_mut() {
        fields.remove("replayed");
    }
    Ok(Mark { turn_id, revision: receipt.accepted_revision(), digest: Digest::of_value(&words)? })
}

/// The last move of the last Turn of an agent in a Goal; none before its first Turn.
///
/// What the settlement of that Turn admitted in the same commit, and nobody has begun, is none: it is what follows. Errors:
/// `store_*`.
pub fn past(view: &mut dyn View, goal: &GoalId, agent: &AgentId) -> Result<Option<Past>> {
    let filter = TurnFilter { goal, todo: None, agent: Some(agent), live: false };
    let mut turns = view.turns(&filter, None, 2)?.into_iter();
    let Some(newest) = turns.next() else { return Ok(None) };
    if matches!(newest.state, TurnState::Admitted)
        && let Some(before) = turns.next().filter(Turn::is_terminal)
        && let Some(receipt) = last_move(view, goal, &before)?
        && receipt.outcome::<Outcome>()?.next_turn_id == Some(newest.turn_id)
    {
        return Ok(Some(Past { mark: mark_of(&receipt, before.turn_id)?, ended: Ended::of(&before) }));
    }
    let Some(receipt) = last_move(view, goal, &newest)? else { return Ok(None) };
    Ok(Some(Past { mark: mark_of(&receipt, newest.turn_id)?, ended: Ended::of(&newest) }))
}

/// The Turn that the settlement of another admitted in the same commit, if it did.
///
/// Errors: `store_*`.
pub fn next_of(view: &mut dyn View, goal: &GoalId, turn: &Turn) -> Result<Option<TurnId>> {
    let receipt = last_move(view, goal, turn)?;
    receipt.map_or(Ok(None), |receipt| Ok(receipt.outcome::<Outcome>()?.next_turn_id))
}

/// The receipt of the last commit that moved a Turn, looked for from the end of its Goal's chain.
fn last_move(view: &mut dyn View, goal: &GoalId, turn: &Turn) -> Result<Option<Receipt>> {
    let mut below = view.head(goal)?.map_or(0, |head| head.seq).saturating_add(1);
    while below > 1 {
        let first = below.saturating_sub(STEP).max(1);
        let count = usize::try_from(below - first).unwrap_or(usize::MAX);
        for record in view.events(&EventFilter { goal, after: first - 1 }, count)?.into_iter().rev() {
            let envelope = Envelope::decode(&record.payload)?;
            if moved(&envelope.body) == Some(turn.turn_id) {
                let stored = view.receipt(&envelope.operation_id)?;
                return Ok(stored.map(|stored| stored.into_receipt(envelope.operation_id, true)));
            }
        }
        below = first;
    }
    Ok(None)
}

/// The Turn that an event moves, if it moves one.
fn moved(event: &Event) -> Option<TurnId> {
    match event {
        Event::Turn(event) => Some(event.turn_id()),
        Event::Claim(ClaimEvent::Claimed { turn, .. }) => Some(turn.turn_id),
        _ => None, // wildcard: no other noun's event moves a Turn
    }
}
