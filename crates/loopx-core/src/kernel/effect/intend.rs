//! Owns when something outside may be meant: by whom, of which work, and beside what else.

use std::collections::BTreeSet;

use super::{Event, Intent, guard::refusal};
use crate::{
    error::{Code, Error, Result},
    kernel::{Concluded, Draft, Facts, Outcome, Read, claim, todo},
    model::{Effect, EffectBlocks, EffectId, EffectKey, EffectState, GoalId, OneNoun as _, TodoId},
};

/// How many Todos, or keys, an effect blocks at most.
const BLOCKS_MAX: usize = 32;

/// Records what is meant, or names the effect that has this key already.
pub(super) fn intend(draft: &mut Draft<'_>, intent: &Intent) -> Result<Concluded> {
    let Intent { todo_id, own_id, key, digest, what, todos, keys } = intent;
    todo::named(draft, todo_id)?;
    if draft.actor().agent().is_some() {
        if let claim::Presented::ScopesTaken(outcome) = claim::present(draft, todo_id, *own_id)? {
            return Ok((*outcome, Some(Code::OwnershipExpired)));
        }
        claim::renew(draft, todo_id)?;
    }
    let outcome = |effect: &Effect, created: bool| Outcome {
        created: Some(created),
        effect_id: Some(effect.effect_id),
        effect_state: Some(effect.state.as_str().to_owned()),
        todo_ids: vec![effect.todo_id.clone()],
        ..Outcome::default()
    };
    if let Some(first) = keyed(draft.facts(), draft.goal_id(), key)? {
        if first.digest == *digest {
            return Ok((outcome(first, false), None));
        }
        let (id, message) = (first.effect_id, format!("the key {key} names another effect already"));
        return Err(Error::new(Code::OperationConflict, message)
            .detail("effect_id", id.to_string())
            .hint(format!("effect show {id}")));
    }
    let blocked = blocked(draft, todo_id, todos, keys.len())?;
    check_keys(draft.facts(), draft.goal_id(), key, keys)?;
    let effect = Effect {
        effect_id: EffectId::from_bytes(draft.mint()),
        goal_id: draft.goal_id().clone(),
        todo_id: todo_id.clone(),
        key: key.clone(),
        digest: *digest,
        what: what.clone(),
        blocks: EffectBlocks { todos: blocked, keys: keys.clone() },
        state: EffectState::Intended,
        revision: 1,
        tried: None,
        by: draft.actor().clone(),
        at: draft.now(),
        told: None,
        stop_requested: None,
        stop_confirmed: None,
    };
    let concluded = (outcome(&effect, true), None);
    draft.emit(Event::Intended { effect: Box::new(effect) })?;
    Ok(concluded)
}

/// The Todos that an effect blocks, its own among them.
fn blocked(
    draft: &Draft<'_>,
    todo_id: &TodoId,
    todos: &BTreeSet<TodoId>,
    keys: usize,
) -> Result<BTreeSet<TodoId>> {
    let mut blocked = todos.clone();
    blocked.insert(todo_id.clone());
    if blocked.len() > BLOCKS_MAX || keys > BLOCKS_MAX {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("an effect blocks at most {BLOCKS_MAX} Todos, its own among them, and {BLOCKS_MAX} keys"),
        ));
    }
    for id in &blocked {
        let todo = todo::named(draft, id)?;
        if !todo.is_live() {
            let message = format!("the Todo {id} is {}; no effect is of it", todo.state.as_str());
            return Err(Error::new(Code::InvalidTransition, message)
                .detail("todo_id", id.to_string())
                .hint(format!("todo reopen {id}")));
        }
    }
    Ok(blocked)
}

/// The effect that a key names in a Goal.
fn keyed<'f>(facts: &'f Facts, goal: &GoalId, key: &EffectKey) -> Result<Option<&'f Effect>> {
    facts.asked(&Read::EffectOf(goal.clone(), key.clone()))?;
    let mut all = facts.rows().nouns.values().filter_map(Effect::of);
    Ok(all.find(|effect| effect.goal_id == *goal && effect.key == *key))
}

/// Refuses an intent while an effect that is not resolved keeps its key, or one that it would touch.
fn check_keys(facts: &Facts, goal: &GoalId, key: &EffectKey, keys: &BTreeSet<EffectKey>) -> Result<()> {
    let open = facts.open_nouns::<Effect>(goal)?;
    let kept = |effect: &&&Effect| {
        let blocked = &effect.blocks.keys;
        effect.is_unresolved()
            && (blocked.contains(key) || keys.contains(&effect.key) || !blocked.is_disjoint(keys))
    };
    if let Some(other) = open.iter().find(kept) {
        return Err(refusal(other, &format!("the effect {} keeps a key of this one", other.effect_id)));
    }
    // One page holds all of them, so that none is overlooked.
    match open.first() {
        Some(first) if open.len() >= Facts::PAGE => {
            Err(refusal(first, &format!("{} effects of {goal} wait to be resolved", open.len())))
        }
        Some(_) | None => Ok(()),
    }
}
