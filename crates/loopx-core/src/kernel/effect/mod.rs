//! Owns the outside effect's table of moves: an intent, its one dispatch, what its dispatcher or a readback tells, and
//! what a person writes off.
//!
//! Reaches no provider and believes no process: that nothing was observed is not that nothing was done.

mod event;
mod guard;
mod intend;
mod told;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use event::Event;
pub use guard::in_hand;
use guard::key;
pub(super) use guard::{
    close_refusal, in_the_way, loaded, may_read_back, waive, want, want_open, want_waived,
};

use super::{Concluded, Draft, Outcome, Read, Verb, Wanted, claim, effect_command, stands};
use crate::{
    error::{Code, Error, Result},
    model::{
        Actor, Digest, Effect, EffectId, EffectKey, EvidenceId, GoalId, NounKind, OwnId, ShortText, TodoId,
    },
};

/// What can be asked about an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Says what is meant to happen, before anything is sent.
    Intend(Box<Intent>),
    /// Begins to send it. Whoever is told yes sends it; nobody is told so twice.
    Dispatch {
        /// Which.
        effect_id: EffectId,
    },
    /// Says what its provider answered to whoever sent it.
    Confirm {
        /// Which.
        effect_id: EffectId,
        /// Whether that was a refusal.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
        /// What shows it.
        evidence: Vec<EvidenceId>,
    },
    /// Says what its provider tells of it later.
    Reconcile {
        /// Which.
        effect_id: EffectId,
        /// What that is.
        told: Told,
        /// What shows it; needed unless it told nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<EvidenceId>,
    },
    /// Says that it was asked to stop, or that it has stopped. Neither says what it did.
    Stop {
        /// Which.
        effect_id: EffectId,
        /// Whether it has stopped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        confirmed: bool,
        /// What shows it.
        evidence: Vec<EvidenceId>,
    },
    /// Gives up finding out.
    WriteOff {
        /// Which.
        effect_id: EffectId,
        /// Why.
        reason: ShortText,
        /// What was tried.
        evidence: Vec<EvidenceId>,
    },
}

/// An intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// The Todo whose work it is.
    pub todo_id: TodoId,
    /// The owner's token, when its owner asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_id: Option<OwnId>,
    /// What names it in its Goal, and at its provider, for ever.
    pub key: EffectKey,
    /// The digest of what the provider is asked.
    pub digest: Digest,
    /// What is meant to happen.
    pub what: ShortText,
    /// Other Todos that wait until it is known what became of it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub todos: BTreeSet<TodoId>,
    /// Keys that no other effect may have or touch until then.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub keys: BTreeSet<EffectKey>,
}

/// What a readback tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// It happened.
    Confirmed,
    /// It did not.
    Absent,
    /// It was refused, or broke off.
    Failed,
    /// Nothing.
    Unknown,
}

impl Command {
    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Intend(_) => Verb::EffectIntend,
            Self::Dispatch { .. } | Self::Confirm { .. } => Verb::EffectConfirm,
            Self::Reconcile { .. } => Verb::EffectReconcile,
            Self::Stop { .. } => Verb::EffectStop,
            Self::WriteOff { .. } => Verb::EffectWriteOff,
        }
    }

    pub(super) fn reads(&self, goal: &GoalId, actor: &Actor, wanted: &mut Wanted<'_>) {
        let (effect_id, evidence) = match self {
            Self::Intend(intent) => {
                claim::owner_reads(&intent.todo_id, wanted);
                wanted.want(Read::EffectOf(goal.clone(), intent.key.clone()));
                wanted.want(Read::OpenNouns(goal.clone(), NounKind::Effect));
                intent.todos.iter().for_each(|id| wanted.want(Read::Todo(id.clone())));
                return;
            }
            Self::Dispatch { effect_id } => (effect_id, &[][..]),
            Self::Confirm { effect_id, evidence, .. }
            | Self::Reconcile { effect_id, evidence, .. }
            | Self::Stop { effect_id, evidence, .. }
            | Self::WriteOff { effect_id, evidence, .. } => (effect_id, &evidence[..]),
        };
        wanted.want(Read::Noun(key(*effect_id)));
        for id in evidence {
            wanted.want(Read::Evidence(*id));
        }
        if let Some((agent, _)) = actor.agent() {
            wanted.want(Read::Agent(goal.clone(), agent.clone()));
        }
        let effect = loaded(wanted.rows(), *effect_id);
        // What it blocks is freed with it.
        let todos: Vec<_> = effect.into_iter().flat_map(|effect| &effect.blocks.todos).cloned().collect();
        for id in todos {
            wanted.want(Read::Todo(id));
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let effect_id = match self {
            Self::Intend(intent) => return intend::intend(draft, intent),
            Self::Dispatch { effect_id } => told::dispatch(draft, *effect_id)?,
            Self::Confirm { effect_id, failed, evidence } => {
                told::confirm(draft, *effect_id, *failed, evidence)?
            }
            Self::Reconcile { effect_id, told, evidence } => {
                told::reconcile(draft, *effect_id, *told, evidence)?
            }
            Self::Stop { effect_id, confirmed, evidence } => {
                told::stop(draft, *effect_id, *confirmed, evidence)?
            }
            Self::WriteOff { effect_id, reason, evidence } => {
                told::write_off(draft, *effect_id, reason, evidence)?
            }
        };
        let effect = named(draft, effect_id)?;
        let outcome = Outcome {
            effect_id: Some(effect_id),
            effect_state: Some(effect.state.as_str().to_owned()),
            todo_ids: vec![effect.todo_id.clone()],
            ..Outcome::default()
        };
        Ok((outcome, None))
    }
}

/// The effect of this Goal with that id, or `not_found`.
pub(super) fn named<'d>(draft: &'d Draft<'_>, effect_id: EffectId) -> Result<&'d Effect> {
    let goal_id = draft.goal_id();
    let effect = draft.facts().noun::<Effect>(*effect_id.as_bytes())?;
    effect.filter(|effect| effect.goal_id == *goal_id).ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no effect {effect_id} in {goal_id}"))
            .hint(format!("effect list --goal {goal_id}"))
    })
}

/// The error of a move that the table does not know.
fn no_move(effect: &Effect, verb: &str) -> Error {
    let (id, state) = (effect.effect_id, effect.state.as_str());
    Error::new(Code::InvalidTransition, format!("the effect {id} {}", stands(state, verb)))
        .detail("effect_id", id.to_string())
        .detail("state", state)
        .hint(effect_command(effect))
}
