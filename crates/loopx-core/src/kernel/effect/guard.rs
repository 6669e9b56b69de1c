//! Owns what an effect that is not resolved keeps from happening: claims, completions, an achieved end.
//!
//! Knows nothing of how one is resolved.

use crate::{
    error::{Code, Error, Result},
    kernel::{Draft, Facts, Read, Rows, Wanted, effect_command},
    model::{
        AgentId, Effect, EffectId, EffectState, GoalId, NounKey, NounKind, OneNoun as _, ShortText,
        Timestamp, Todo,
    },
};

use super::{Event, named};

/// Where an effect is found.
pub(super) const fn key(effect_id: EffectId) -> NounKey {
    NounKey { kind: NounKind::Effect, id: *effect_id.as_bytes() }
}

/// An effect that is loaded.
pub(in crate::kernel) fn loaded(rows: &Rows, effect_id: EffectId) -> Option<&Effect> {
    rows.nouns.get(&key(effect_id)).and_then(Effect::of)
}

/// Asks for the effects that block a Todo.
pub(in crate::kernel) fn want(todo: &Todo, wanted: &mut Wanted<'_>) {
    let missing = todo.blocking_effects.iter().filter(|id| loaded(wanted.rows(), **id).is_none());
    let missing: Vec<_> = missing.copied().collect();
    for id in missing {
        wanted.want(Read::Noun(key(id)));
    }
}

/// The error of what waits until it is known what became of an effect.
pub(in crate::kernel) fn refusal(effect: &Effect, message: &str) -> Error {
    Error::new(Code::EffectUnresolved, message.to_owned())
        .detail("effect_id", effect.effect_id.to_string())
        .detail("state", effect.state.as_str())
        .hint(effect_command(effect))
}

/// The same of a Todo that an effect blocks.
pub(in crate::kernel) fn in_the_way(facts: &Facts, todo: &Todo, effect_id: EffectId) -> Error {
    let message = format!("the Todo {} waits for the effect {effect_id}", todo.todo_id);
    let error = match loaded(facts.rows(), effect_id) {
        Some(effect) => refusal(effect, &message),
        None => Error::new(Code::EffectUnresolved, message)
            .detail("effect_id", effect_id.to_string())
            .hint(format!("effect show {effect_id}")),
    };
    error.detail("todo_id", todo.todo_id.to_string())
}

/// The first effect of an agent's work that may have happened, where no readback was tried as it stands.
pub(in crate::kernel) fn may_read_back<'f>(
    facts: &'f Facts,
    goal: &GoalId,
    agent: &AgentId,
) -> Result<Option<&'f Effect>> {
    let its =
        |effect: &&Effect| effect.may_be_read_back() && effect.by.agent().is_some_and(|(by, _)| by == agent);
    Ok(facts.open_nouns::<Effect>(goal)?.into_iter().find(its))
}

/// Until when whoever owns the Todo of an effect keeps others out: he is at work on it, and no person is asked yet.
pub fn in_hand(facts: &Facts, effect_id: EffectId) -> Option<Timestamp> {
    let effect = loaded(facts.rows(), effect_id)?;
    let own = facts.rows().todos.get(&effect.todo_id)?.ownership.as_ref()?;
    (!own.frozen && !facts.is_expired(own)).then_some(own.expires_at)
}

/// Asks for all effects that are open.
pub(in crate::kernel) fn want_open(goal: &GoalId, wanted: &mut Wanted<'_>) {
    wanted.want(Read::OpenNouns(goal.clone(), NounKind::Effect));
}

/// Asks for the effects that are let go.
pub(in crate::kernel) fn want_waived(waive: &[(EffectId, ShortText)], wanted: &mut Wanted<'_>) {
    for (id, _) in waive {
        wanted.want(Read::Noun(key(*id)));
    }
}

/// The effect that keeps a Goal from being achieved: one that is not resolved, or was written off and not let go.
pub(in crate::kernel) fn close_refusal(facts: &Facts, goal: &GoalId) -> Result<Option<Error>> {
    let open = facts.open_nouns::<Effect>(goal)?;
    let Some(effect) = open.iter().find(|effect| effect.is_unresolved()).or_else(|| open.first()) else {
        return Ok(None);
    };
    let (id, state) = (effect.effect_id, effect.state.as_str());
    let error = refusal(effect, &format!("what the effect {id} did is not known: it is {state}"));
    if effect.is_unresolved() {
        return Ok(Some(error));
    }
    let message = format!("the effect {id} was written off, and nobody let it go");
    Ok(Some(
        Error::new(Code::EffectUnresolved, message)
            .detail("effect_id", id.to_string())
            .detail("state", state)
            .hint(waive_command(goal, id)),
    ))
}

/// The command that ends a Goal without knowing what an effect did.
fn waive_command(goal: &GoalId, effect_id: EffectId) -> String {
    format!("goal close {goal} --achieved --waive {effect_id}=REASON")
}

/// Lets effects go that were written off, each with a reason.
pub(in crate::kernel) fn waive(draft: &mut Draft<'_>, waive: &[(EffectId, ShortText)]) -> Result<()> {
    for (effect_id, reason) in waive {
        let effect = named(draft, *effect_id)?;
        match &effect.state {
            EffectState::WrittenOff { waived: None, .. } => {}
            EffectState::WrittenOff { waived: Some(_), .. } => continue,
            EffectState::Intended
            | EffectState::Dispatched
            | EffectState::Unknown
            | EffectState::Confirmed
            | EffectState::Absent
            | EffectState::Failed => return Err(super::no_move(effect, "be waived")),
        }
        draft.emit(Event::Waived { effect_id: *effect_id, reason: reason.clone() })?;
    }
    Ok(())
}
