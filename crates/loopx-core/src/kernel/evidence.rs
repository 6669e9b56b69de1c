//! Owns evidence: who may add what, and which criterion an accepted piece shows.

use serde::{Deserialize, Serialize};

use super::{Concluded, Context, Draft, Facts, Outcome, Read, Wanted, event_kinds, goal, replan, todo};
use crate::{
    error::{Code, Error, Result},
    model::{
        Digest, Evidence, EvidenceId, EvidenceKind, EvidenceVerdict, GoalId, Privacy, ReplanCause, ShortText,
        TodoId,
    },
};

/// What can be asked about evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Adds a piece. A person's is accepted or rejected by the person; an agent's is unchecked.
    Add {
        /// The Todo it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        todo_id: Option<TodoId>,
        /// The criterion it shows, counted from 1; a person's to say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        criterion: Option<u8>,
        /// What it points at.
        kind: EvidenceKind,
        /// The URL, commit or relative path.
        pointer: ShortText,
        /// The digest of what is there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
        /// Who may see the pointer.
        #[serde(default, skip_serializing_if = "Privacy::is_public")]
        privacy: Privacy,
        /// A person's judgement; accepted unless said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdict: Option<EvidenceVerdict>,
    },
}

/// What can have happened to evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A piece was added.
    Added {
        /// The piece.
        evidence: Box<Evidence>,
    },
}

event_kinds!(Event { Added => "evidence.added" });

impl Command {
    pub(super) fn reads(&self, _goal: &GoalId, wanted: &mut Wanted<'_>) {
        let Self::Add { todo_id, .. } = self;
        if let Some(todo_id) = todo_id {
            wanted.want(Read::Todo(todo_id.clone()));
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let evidence_id = add(draft, self)?;
        Ok((Outcome { evidence_ids: vec![evidence_id], ..Outcome::default() }, None))
    }
}

/// The evidence of this Goal with that id, or `not_found`.
fn named<'d>(draft: &'d Draft<'_>, evidence_id: &EvidenceId) -> Result<&'d Evidence> {
    let goal_id = draft.goal_id();
    draft.facts().evidence(evidence_id)?.filter(|evidence| evidence.goal_id == *goal_id).ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no evidence {evidence_id} in {goal_id}"))
            .hint(format!("evidence list --goal {goal_id}"))
    })
}

/// Refuses evidence that is not there, or was rejected.
pub(super) fn check(draft: &Draft<'_>, ids: &[EvidenceId]) -> Result<()> {
    if ids.len() > 32 {
        return Err(Error::new(Code::InvalidArgument, "at most 32 pieces of evidence are named"));
    }
    for id in ids {
        if named(draft, id)?.verdict == EvidenceVerdict::Rejected {
            return Err(Error::new(Code::InvalidArgument, format!("the evidence {id} was rejected")));
        }
    }
    Ok(())
}

/// Adds a piece and returns its id; a person's accepted piece that names a criterion shows it.
pub(super) fn add(draft: &mut Draft<'_>, command: &Command) -> Result<EvidenceId> {
    let Command::Add { todo_id, criterion, kind, pointer, digest, privacy, verdict } = command;
    kind.check(pointer.as_str())?;
    let by_person = draft.actor().is_user();
    if !by_person && (criterion.is_some() || verdict.is_some_and(|v| v != EvidenceVerdict::Unchecked)) {
        return Err(Error::new(Code::UserOnly, "what evidence shows is a person's or a validator's to say"));
    }
    let turn_id = match todo_id {
        Some(todo_id) => todo::named(draft, todo_id)?.turn_id,
        None => None,
    };
    if let (Some(contained), Some(_)) = (draft.provenance().contained, todo_id)
        && turn_id != Some(contained)
    {
        return Err(Error::new(
            Code::ActorNotAllowed,
            format!("{} may only add evidence to the Todo of its own Turn", draft.actor()),
        ));
    }
    let criteria = draft.facts().goal(draft.goal_id())?.map_or(0, |goal| goal.acceptance.len());
    if criterion.is_some_and(|n| n == 0 || usize::from(n) > criteria) {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("the Goal has {criteria} criteria, counted from 1"),
        ));
    }
    let default = if by_person { EvidenceVerdict::Accepted } else { EvidenceVerdict::Unchecked };
    let verdict = verdict.unwrap_or(default);
    let own_turn = match turn_id {
        Some(turn_id) => draft
            .facts()
            .turn(&turn_id)?
            .filter(|turn| draft.actor().agent() == Some((&turn.agent_id, &turn.endpoint))),
        None => None,
    };
    let own_turn = own_turn.map(|turn| turn.turn_id);
    let evidence_id = EvidenceId::from_bytes(draft.mint());
    let evidence = Evidence {
        evidence_id,
        goal_id: draft.goal_id().clone(),
        todo_id: todo_id.clone(),
        turn_id: own_turn,
        criterion: *criterion,
        kind: *kind,
        pointer: pointer.clone(),
        digest: *digest,
        privacy: *privacy,
        produced_by: draft.actor().clone(),
        verdict,
        validator: None,
        exit: None,
        at: draft.now(),
    };
    draft.emit(Event::Added { evidence: Box::new(evidence) })?;
    if let (Some(criterion), EvidenceVerdict::Accepted) = (*criterion, verdict) {
        draft.emit(goal::Event::CriterionShown { criterion, evidence: evidence_id })?;
    }
    Ok(evidence_id)
}

impl Event {
    pub(super) fn apply(&self, _context: &Context, facts: &mut Facts) -> Result<()> {
        let Self::Added { evidence } = self;
        facts.put_evidence(evidence.evidence_id, (**evidence).clone());
        match &evidence.todo_id {
            Some(todo_id) if evidence.verdict == EvidenceVerdict::Rejected => {
                replan::oblige(facts, todo_id, ReplanCause::EvidenceRejected)
            }
            Some(_) | None => Ok(()),
        }
    }
}
