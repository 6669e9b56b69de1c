//! Owns what can have happened to an outside effect, and its application: what it blocks stands in the Todos it names.

use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    kernel::{Context, Facts, event_kinds},
    model::{Effect, EffectFact, EffectId, EffectState, EvidenceId, ShortText},
};

/// What can have happened to an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// It was meant to happen.
    Intended {
        /// The effect.
        effect: Box<Effect>,
    },
    /// Its one dispatcher began to send it.
    Dispatched {
        /// Which.
        effect_id: EffectId,
    },
    /// It happened.
    Confirmed {
        /// Which.
        effect_id: EffectId,
        /// What shows it.
        evidence: Vec<EvidenceId>,
    },
    /// It did not happen.
    FoundAbsent {
        /// Which.
        effect_id: EffectId,
        /// What shows it.
        evidence: Vec<EvidenceId>,
    },
    /// Its provider refused it, or it broke off.
    Failed {
        /// Which.
        effect_id: EffectId,
        /// What shows it.
        evidence: Vec<EvidenceId>,
    },
    /// A readback told nothing.
    ReadBackInVain {
        /// Which.
        effect_id: EffectId,
        /// What was seen.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<EvidenceId>,
    },
    /// It was asked to stop.
    StopRequested {
        /// Which.
        effect_id: EffectId,
        /// What shows it.
        evidence: Vec<EvidenceId>,
    },
    /// It has stopped.
    StopConfirmed {
        /// Which.
        effect_id: EffectId,
        /// What shows it.
        evidence: Vec<EvidenceId>,
    },
    /// A person gave up finding out.
    WrittenOff {
        /// Which.
        effect_id: EffectId,
        /// Why.
        reason: ShortText,
        /// What was tried.
        evidence: Vec<EvidenceId>,
    },
    /// A person let it go, so that the Goal may end.
    Waived {
        /// Which.
        effect_id: EffectId,
        /// Why.
        reason: ShortText,
    },
}

event_kinds!(Event {
    Intended => "effect.intended",
    Dispatched => "effect.dispatched",
    Confirmed => "effect.confirmed",
    FoundAbsent => "effect.found_absent",
    Failed => "effect.failed",
    ReadBackInVain => "effect.read_back_in_vain",
    StopRequested => "effect.stop_requested",
    StopConfirmed => "effect.stop_confirmed",
    WrittenOff => "effect.written_off",
    Waived => "effect.waived",
});

impl Event {
    pub(in crate::kernel) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        let fact = |evidence: &[EvidenceId]| {
            Some(EffectFact { by: context.actor.clone(), at: context.at, evidence: evidence.to_vec() })
        };
        match self {
            Self::Intended { effect } => {
                block(facts, effect, true)?;
                facts.put_noun((**effect).clone());
                Ok(())
            }
            Self::Dispatched { effect_id } => {
                let effect = write(facts, *effect_id)?;
                effect.state = EffectState::Dispatched;
                effect.told = fact(&[]);
                Ok(())
            }
            Self::Confirmed { effect_id, evidence } => {
                resolve(facts, *effect_id, EffectState::Confirmed, fact(evidence))
            }
            Self::FoundAbsent { effect_id, evidence } => {
                resolve(facts, *effect_id, EffectState::Absent, fact(evidence))
            }
            Self::Failed { effect_id, evidence } => {
                resolve(facts, *effect_id, EffectState::Failed, fact(evidence))
            }
            Self::ReadBackInVain { effect_id, evidence } => {
                let effect = facts.noun_mut::<Effect>(*effect_id.as_bytes())?;
                // A try does not move the row; that nobody could tell does.
                if effect.state != EffectState::Unknown {
                    effect.state = EffectState::Unknown;
                    effect.revision += 1;
                }
                effect.tried = Some(effect.revision);
                effect.told = fact(evidence);
                Ok(())
            }
            Self::StopRequested { effect_id, evidence } => {
                write(facts, *effect_id)?.stop_requested = fact(evidence);
                Ok(())
            }
            Self::StopConfirmed { effect_id, evidence } => {
                write(facts, *effect_id)?.stop_confirmed = fact(evidence);
                Ok(())
            }
            Self::WrittenOff { effect_id, reason, evidence } => {
                let state = EffectState::WrittenOff { reason: reason.clone(), waived: None };
                resolve(facts, *effect_id, state, fact(evidence))
            }
            Self::Waived { effect_id, reason } => {
                if let EffectState::WrittenOff { waived, .. } = &mut write(facts, *effect_id)?.state {
                    *waived = Some(reason.clone());
                }
                Ok(())
            }
        }
    }
}

/// The row, with its revision moved.
fn write(facts: &mut Facts, effect_id: EffectId) -> Result<&mut Effect> {
    let effect = facts.noun_mut::<Effect>(*effect_id.as_bytes())?;
    effect.revision += 1;
    Ok(effect)
}

/// Says what became of it, and frees what waited for that.
fn resolve(
    facts: &mut Facts,
    effect_id: EffectId,
    state: EffectState,
    told: Option<EffectFact>,
) -> Result<()> {
    let effect = write(facts, effect_id)?;
    effect.state = state;
    effect.told = told;
    let effect = effect.clone();
    block(facts, &effect, false)
}

/// Puts the effect into the sets of the Todos it blocks, or takes it out.
///
/// Invariant: a Todo's set holds exactly the unresolved effects that name it.
fn block(facts: &mut Facts, effect: &Effect, on: bool) -> Result<()> {
    for todo_id in &effect.blocks.todos {
        let set = &mut facts.todo_mut(todo_id)?.blocking_effects;
        if on {
            set.insert(effect.effect_id);
        } else {
            set.remove(&effect.effect_id);
        }
    }
    Ok(())
}
