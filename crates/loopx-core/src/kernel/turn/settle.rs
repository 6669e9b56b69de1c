//! Owns settlement: the one commit that makes a Turn's result true.

use super::{
    Event,
    causes::{self, causes},
    end, named,
};
use crate::{
    error::{Code, Error, Result},
    kernel::{Draft, Facts, Outcome, claim, evidence, gap, gate, replan, todo},
    model::{
        Completion, Continuation, End, Evidence, EvidenceId, EvidenceVerdict, FailedBy, GateState,
        ResultKind, Slot, Stopped, Turn, TurnId, TurnState, Unvalidated, VerdictOutcome,
    },
};

/// Settles a validated result, or holds it, opening the gate that asks a person where no validator could say.
///
/// With `goes_on` its driver asks for the next Turn, where the result is progress.
pub(super) fn settle_or_hold(draft: &mut Draft<'_>, turn_id: TurnId, goes_on: bool) -> Result<()> {
    let turn = named(draft, turn_id)?.clone();
    // A no covers exactly the result that was asked about, also where that result was on its way here again.
    if let Some(GateState::Denied { reason, .. }) = answered(draft, &turn)? {
        return end::stop_denied(draft, turn_id, reason, true);
    }
    let unchecked = turn.verdict.as_ref().is_some_and(|verdict| verdict.outcome == VerdictOutcome::Unchecked);
    let completes = turn.candidate.as_ref().is_some_and(|c| c.kind == ResultKind::ValidatedCompletion);
    let asks = draft.facts().goal(draft.goal_id())?.is_some_and(|goal| goal.unvalidated == Unvalidated::Ask);
    // The same result may come back here; it keeps the one gate it has.
    if unchecked && completes && asks && turn.acceptance_gate.is_none() {
        gate::ask_acceptance(draft, &turn)?;
    }
    if causes(draft.facts(), named(draft, turn_id)?)?.is_empty() {
        settle(draft, turn_id, goes_on)
    } else {
        draft.emit(Event::Held { turn_id, tree_busy: false })
    }
}

/// What became of the question whether the result of a Turn is accepted; none, where nobody was asked.
fn answered(draft: &Draft<'_>, turn: &Turn) -> Result<Option<GateState>> {
    let Some(gate_id) = turn.acceptance_gate else { return Ok(None) };
    Ok(draft.facts().gate(&gate_id)?.map(|gate| gate.state.clone()))
}

/// Makes a result true: evidence, the Turn's end, the Todo's move, and what its holder goes on with.
pub(super) fn settle(draft: &mut Draft<'_>, turn_id: TurnId, goes_on: bool) -> Result<()> {
    let turn = named(draft, turn_id)?.clone();
    if let Some(changed) = looked(&turn) {
        return look(draft, &turn, changed);
    }
    if replans(draft.facts(), &turn)? {
        return replanned(draft, &turn);
    }
    let internal =
        || Error::from(Code::Internal).internal("a Turn settles without candidate, verdict or Todo");
    let (Some(candidate), Some(verdict), Some(todo_id)) = (&turn.candidate, &turn.verdict, turn.todo_id())
    else {
        return Err(internal());
    };
    let ttl_ms = end::ownership(draft.facts(), &turn)?.map(|own| own.ttl_ms).ok_or_else(internal)?;
    let approved = turn.acceptance_gate.is_some();
    let judged = match verdict.outcome {
        VerdictOutcome::Passed | VerdictOutcome::Progress => EvidenceVerdict::Accepted,
        // An approval is a person's; it accepts the completion, not what no validator looked at.
        VerdictOutcome::Unchecked => EvidenceVerdict::Unchecked,
        VerdictOutcome::Failed | VerdictOutcome::Inconclusive => return Err(internal()),
    };
    let evidence = add_evidence(draft, &turn, judged)?;
    let repair = candidate.kind == ResultKind::RepairRequired;
    end::finish(draft, turn_id, End::Settled, candidate.summary.clone(), repair)?;
    if causes::completes(&turn) {
        let completion = Completion {
            at: draft.now(),
            by: crate::model::Actor::Agent(turn.agent_id.clone(), turn.endpoint.clone()),
            turn_id: Some(turn_id),
            continuation: candidate.continuation.clone(),
            waived: None,
            evidence,
        };
        let todo = todo::named(draft, todo_id)?.clone();
        return todo::finish(draft, &todo, completion, judged == EvidenceVerdict::Accepted || approved);
    }
    // Only its own holder goes on: a proof on its behalf would hand the token to somebody else.
    let by_holder = draft.actor().agent() == Some((&turn.agent_id, &turn.endpoint));
    let goes_on = match candidate.kind {
        ResultKind::ValidatedProgress | ResultKind::ValidatedCompletion => {
            (candidate.goes_on || goes_on) && by_holder
        }
        ResultKind::RepairRequired
        | ResultKind::ReplanRequired
        | ResultKind::UserActionRequired
        | ResultKind::Wait
        | ResultKind::LookUnchanged
        | ResultKind::LookChanged => false,
    };
    if goes_on {
        claim::admit_next(draft, turn_id, ttl_ms)?;
    }
    Ok(())
}

/// Whether the result says that a replan is done, which the plan itself shows, and no validator.
pub(super) fn replans(facts: &Facts, turn: &Turn) -> Result<bool> {
    let completes = turn.candidate.as_ref().is_some_and(|c| c.kind == ResultKind::ValidatedCompletion);
    let Some(todo_id) = turn.todo_id().filter(|_| completes) else { return Ok(false) };
    Ok(facts.todo(todo_id)?.is_some_and(|todo| todo.covering.is_some()))
}

/// Completes a replan where the plan has changed; what changed nothing has failed, or waited in vain.
fn replanned(draft: &mut Draft<'_>, turn: &Turn) -> Result<()> {
    let (Some(candidate), Some(todo_id)) = (&turn.candidate, turn.todo_id()) else {
        return Err(Error::from(Code::Internal));
    };
    let todo = todo::named(draft, todo_id)?.clone();
    let covering = todo.covering.as_ref().ok_or_else(|| Error::from(Code::Internal))?;
    let continuation = gap::follows(draft.facts(), &candidate.continuation)?;
    let awaits = matches!(continuation, Continuation::Awaits { .. });
    if !awaits && !replan::is_changed(draft.facts(), covering)? {
        let note = Some("nothing of the plan has changed".parse()?);
        let (end, repair) = match turn.state {
            TurnState::Held { .. } => (End::Stopped(Stopped::Denied), false),
            TurnState::Admitted
            | TurnState::Dispatched
            | TurnState::Candidate
            | TurnState::Unresolved { .. }
            | TurnState::Settled
            | TurnState::Stopped { .. }
            | TurnState::Failed { .. }
            | TurnState::Fenced => (End::Failed(FailedBy::Validate), true),
        };
        return end::finish(draft, turn.turn_id, end, note, repair);
    }
    end::finish(draft, turn.turn_id, End::Settled, candidate.summary.clone(), false)?;
    let completion = Completion {
        at: draft.now(),
        by: crate::model::Actor::Agent(turn.agent_id.clone(), turn.endpoint.clone()),
        turn_id: Some(turn.turn_id),
        continuation,
        waived: None,
        evidence: Vec::new(),
    };
    todo::finish(draft, &todo, completion, true)
}

/// Whether the result is a look at a monitor, which has nothing to validate, and whether it saw a change.
pub(super) fn looked(turn: &Turn) -> Option<bool> {
    match turn.candidate.as_ref()?.kind {
        ResultKind::LookUnchanged => Some(false),
        ResultKind::LookChanged => Some(true),
        ResultKind::ValidatedCompletion
        | ResultKind::ValidatedProgress
        | ResultKind::RepairRequired
        | ResultKind::ReplanRequired
        | ResultKind::UserActionRequired
        | ResultKind::Wait => None,
    }
}

/// Settles a look at a monitor, with the evidence it brings; one without change gives its slot back.
fn look(draft: &mut Draft<'_>, turn: &Turn, changed: bool) -> Result<()> {
    let Some(todo_id) = turn.todo_id().cloned() else { return Err(Error::from(Code::Internal)) };
    let slot = if changed { Slot::Spent } else { Slot::Returned };
    let (turn_id, note) =
        (turn.turn_id, turn.candidate.as_ref().and_then(|candidate| candidate.summary.clone()));
    // Nothing was validated, so nothing is accepted by it.
    add_evidence(draft, turn, EvidenceVerdict::Unchecked)?;
    draft.emit(Event::Ended { turn_id, end: End::Settled, slot, note, repair: false })?;
    draft.emit(todo::Event::LookedAt { todo_id, changed })
}

/// Records what the validators refused.
pub(super) fn reject(draft: &mut Draft<'_>, turn_id: TurnId) -> Result<()> {
    let turn = named(draft, turn_id)?.clone();
    add_evidence(draft, &turn, EvidenceVerdict::Rejected).map(|_| ())
}

fn add_evidence(draft: &mut Draft<'_>, turn: &Turn, verdict: EvidenceVerdict) -> Result<Vec<EvidenceId>> {
    let Some(candidate) = &turn.candidate else { return Ok(Vec::new()) };
    let said = turn.verdict.as_ref();
    let mut ids = Vec::with_capacity(candidate.evidence.len());
    for pointer in &candidate.evidence {
        let evidence_id = EvidenceId::from_bytes(draft.mint());
        let evidence = Evidence {
            evidence_id,
            goal_id: turn.goal_id.clone(),
            todo_id: turn.todo_id().cloned(),
            turn_id: Some(turn.turn_id),
            criterion: None,
            kind: pointer.kind,
            pointer: pointer.pointer.clone(),
            digest: pointer.digest,
            privacy: pointer.privacy,
            produced_by: crate::model::Actor::Agent(turn.agent_id.clone(), turn.endpoint.clone()),
            verdict,
            validator: said.and_then(|verdict| verdict.validator.clone()),
            exit: said.and_then(|verdict| verdict.exit),
            at: draft.now(),
        };
        draft.emit(evidence::Event::Added { evidence: Box::new(evidence) })?;
        ids.push(evidence_id);
    }
    Ok(ids)
}

/// What a receipt says of a step: the Turn as it stands, and the Turn its holder goes on with, if there is one.
pub(super) fn outcome(draft: &Draft<'_>, turn_id: TurnId) -> Result<Outcome> {
    let mut outcome = end::outcome(draft, turn_id)?;
    let turn = named(draft, turn_id)?;
    if let Some(todo_id) = turn.todo_id().filter(|_| turn.is_terminal()) {
        let own = todo::named(draft, todo_id)?.ownership.as_ref();
        let next = own.filter(|own| own.turn_id != turn_id && own.acquired_at == draft.now());
        outcome.own_id = next.map(|own| own.own_id);
        outcome.expires_at_ms = next.map(|own| own.expires_at);
        outcome.next_turn_id = next.map(|own| own.turn_id);
    }
    outcome.evidence_ids = draft
        .facts()
        .rows()
        .evidence
        .values()
        .filter(|evidence| evidence.turn_id == Some(turn_id))
        .map(|evidence| evidence.evidence_id)
        .collect();
    Ok(outcome)
}
