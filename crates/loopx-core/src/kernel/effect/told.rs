//! Owns what may be told of an effect, in which state, by whom, and with what evidence.

use super::{Event, Told, named, no_move};
use crate::{
    error::{Code, Error, Result},
    kernel::{Draft, agent, evidence, todo},
    model::{Effect, EffectId, EffectState, EvidenceId, ShortText},
};

/// An agent tells of its own effects: those it intended, and those of the Todo it owns.
fn check_its_own(draft: &Draft<'_>, effect: &Effect) -> Result<()> {
    let Some((agent, _)) = draft.actor().agent() else { return Ok(()) };
    check_registered(draft)?;
    let intended = effect.by.agent().is_some_and(|(by, _)| by == agent);
    let owned = todo::named(draft, &effect.todo_id)?.ownership.as_ref();
    if intended || owned.is_some_and(|own| own.agent_id == *agent) {
        return Ok(());
    }
    Err(Error::new(
        Code::ActorNotAllowed,
        format!("the effect {} is of the work of {}", effect.effect_id, effect.by),
    )
    .detail("effect_id", effect.effect_id.to_string())
    .hint(format!("effect show {}", effect.effect_id)))
}

fn check_registered(draft: &Draft<'_>) -> Result<()> {
    let Some((agent, _)) = draft.actor().agent() else { return Ok(()) };
    agent::registered(draft.facts(), &(draft.goal_id().clone(), agent.clone())).map(drop)
}

/// What somebody tells of an effect rests on evidence.
fn check_evidence(draft: &Draft<'_>, effect: &Effect, evidence: &[EvidenceId]) -> Result<()> {
    if evidence.is_empty() {
        let message = format!("what became of the effect {} is told with evidence", effect.effect_id);
        return Err(Error::new(Code::InvalidArgument, message)
            .hint(format!("evidence add POINTER --kind check --todo {}", effect.todo_id)));
    }
    evidence::check(draft, evidence)
}

pub(super) fn dispatch(draft: &mut Draft<'_>, effect_id: EffectId) -> Result<EffectId> {
    let effect = named(draft, effect_id)?;
    check_its_own(draft, effect)?;
    if effect.state != EffectState::Intended {
        return Err(no_move(effect, "be dispatched"));
    }
    draft.emit(Event::Dispatched { effect_id })?;
    Ok(effect_id)
}

pub(super) fn confirm(
    draft: &mut Draft<'_>,
    effect_id: EffectId,
    failed: bool,
    evidence: &[EvidenceId],
) -> Result<EffectId> {
    let effect = named(draft, effect_id)?;
    check_its_own(draft, effect)?;
    if effect.state != EffectState::Dispatched {
        return Err(no_move(effect, "be confirmed"));
    }
    check_evidence(draft, effect, evidence)?;
    let evidence = evidence.to_vec();
    draft.emit(if failed {
        Event::Failed { effect_id, evidence }
    } else {
        Event::Confirmed { effect_id, evidence }
    })?;
    Ok(effect_id)
}

pub(super) fn reconcile(
    draft: &mut Draft<'_>,
    effect_id: EffectId,
    told: Told,
    evidence: &[EvidenceId],
) -> Result<EffectId> {
    let effect = named(draft, effect_id)?;
    check_registered(draft)?;
    let allowed = match (&effect.state, told) {
        // What was never sent did not happen; whatever else is told of it, it was sent.
        (EffectState::Intended, Told::Absent)
        | (EffectState::Dispatched, _)
        | (EffectState::Unknown, Told::Confirmed | Told::Absent | Told::Unknown) => true,
        (EffectState::Intended, Told::Confirmed | Told::Failed | Told::Unknown)
        | (EffectState::Unknown, Told::Failed)
        | (
            EffectState::Confirmed
            | EffectState::Absent
            | EffectState::Failed
            | EffectState::WrittenOff { .. },
            _,
        ) => false,
    };
    if !allowed {
        return Err(no_move(effect, told.verb()));
    }
    if told == Told::Unknown {
        evidence::check(draft, evidence)?;
    } else {
        check_evidence(draft, effect, evidence)?;
    }
    let evidence = evidence.to_vec();
    draft.emit(match told {
        Told::Confirmed => Event::Confirmed { effect_id, evidence },
        Told::Absent => Event::FoundAbsent { effect_id, evidence },
        Told::Failed => Event::Failed { effect_id, evidence },
        Told::Unknown => Event::ReadBackInVain { effect_id, evidence },
    })?;
    Ok(effect_id)
}

impl Told {
    const fn verb(self) -> &'static str {
        match self {
            Self::Confirmed => "be confirmed",
            Self::Absent => "be absent",
            Self::Failed => "be failed",
            Self::Unknown => "be unknown",
        }
    }
}

pub(super) fn stop(
    draft: &mut Draft<'_>,
    effect_id: EffectId,
    confirmed: bool,
    evidence: &[EvidenceId],
) -> Result<EffectId> {
    let effect = named(draft, effect_id)?;
    check_its_own(draft, effect)?;
    let may_run = match effect.state {
        EffectState::Dispatched
        | EffectState::Unknown
        | EffectState::Confirmed
        | EffectState::WrittenOff { .. } => true,
        EffectState::Intended | EffectState::Absent | EffectState::Failed => false,
    };
    if !may_run {
        return Err(no_move(effect, "be stopped"));
    }
    let refuse = |what: &str, hint: String| {
        Error::new(Code::InvalidTransition, format!("the effect {effect_id} {what}"))
            .detail("effect_id", effect_id.to_string())
            .hint(hint)
    };
    match (&effect.stop_requested, &effect.stop_confirmed, confirmed) {
        (_, Some(_), _) => return Err(refuse("has stopped already", format!("effect show {effect_id}"))),
        (Some(_), None, false) => {
            let hint = format!("effect stop {effect_id} --confirmed --evidence EVIDENCE");
            return Err(refuse("was asked to stop already", hint));
        }
        (None, None, true) => {
            let hint = format!("effect stop {effect_id} --evidence EVIDENCE");
            return Err(refuse("was not asked to stop", hint));
        }
        (Some(request), None, true) if request.evidence.iter().any(|id| evidence.contains(id)) => {
            return Err(Error::new(
                Code::InvalidArgument,
                "what shows that a stop was asked for does not show that anything stopped",
            )
            .hint(format!("evidence add POINTER --kind check --todo {}", effect.todo_id)));
        }
        (Some(_), None, true) | (None, None, false) => {}
    }
    check_evidence(draft, effect, evidence)?;
    let evidence = evidence.to_vec();
    draft.emit(if confirmed {
        Event::StopConfirmed { effect_id, evidence }
    } else {
        Event::StopRequested { effect_id, evidence }
    })?;
    Ok(effect_id)
}

pub(super) fn write_off(
    draft: &mut Draft<'_>,
    effect_id: EffectId,
    reason: &ShortText,
    evidence: &[EvidenceId],
) -> Result<EffectId> {
    let effect = named(draft, effect_id)?;
    if effect.state != EffectState::Unknown {
        return Err(no_move(effect, "be written off"));
    }
    check_evidence(draft, effect, evidence)?;
    draft.emit(Event::WrittenOff { effect_id, reason: reason.clone(), evidence: evidence.to_vec() })?;
    Ok(effect_id)
}
