//! Owns what happens to the effects of an explored world: they are meant, sent, told of, stopped and given up.
//!
//! Knows nothing of what that should lead to.

use std::collections::BTreeSet;

use super::{
    action::{Token, todo_id},
    node::Node,
};
use crate::{
    authority::check::{
        play::intent,
        world::{text, user},
    },
    error::Result,
    kernel::{Command, EffectCommand, EvidenceCommand, Input, Intent, Rows, Told},
    model::*,
};

/// What happens to an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its author begins to send it.
    Dispatch,
    /// Its provider answers its author.
    Confirm { failed: bool },
    /// A person says what a readback told.
    Tell(Told),
    /// Its author asks it to stop, or says that it has.
    Stop { confirmed: bool },
    /// A person gives up finding out.
    WriteOff,
}

impl Fate {
    /// All that can happen.
    pub(super) const ALL: &'static [Self] = &[
        Self::Dispatch,
        Self::Confirm { failed: false },
        Self::Confirm { failed: true },
        Self::Tell(Told::Confirmed),
        Self::Tell(Told::Absent),
        Self::Tell(Told::Failed),
        Self::Tell(Told::Unknown),
        Self::Stop { confirmed: false },
        Self::Stop { confirmed: true },
        Self::WriteOff,
    ];
}

/// Every effect, the oldest first.
pub(super) fn all(rows: &Rows) -> impl Iterator<Item = &Effect> {
    rows.nouns.values().filter_map(Effect::of)
}

/// Those that were written off, and not let go.
pub(super) fn given_up(rows: &Rows) -> impl Iterator<Item = EffectId> {
    let given_up = |effect: &&Effect| matches!(effect.state, EffectState::WrittenOff { waived: None, .. });
    all(rows).filter(given_up).map(|effect| effect.effect_id)
}

impl Node {
    /// A person shows two things, of which one is not the other.
    pub(super) fn show_two(&mut self) {
        for pointer in ["one.md", "two.md"] {
            let add = EvidenceCommand::Add {
                todo_id: None,
                criterion: None,
                kind: EvidenceKind::Note,
                pointer: text(pointer),
                digest: None,
                privacy: Privacy::Public,
                verdict: None,
            };
            self.user(Command::Evidence(add)).unwrap();
        }
    }

    /// An owner means something to happen, that nobody may build on before it is known: neither its own Todo nor the next.
    pub(super) fn intend(&mut self, token: &Token) -> Result<Receipt> {
        let number = token.todo_id.number();
        let next = todo_id(number + 1);
        let todos: BTreeSet<_> = self
            .ledger
            .seen(|rows| rows.todos.get(&next).map(|todo| todo.todo_id.clone()))
            .into_iter()
            .collect();
        let intent = Intent {
            own_id: Some(token.own_id),
            todos,
            ..intent(&token.todo_id, &format!("publish-{number}"))
        };
        self.agent(&token.seat, Command::Effect(EffectCommand::Intend(Box::new(intent))))
    }

    /// Something happens to an effect, by whoever it is who does that.
    pub(super) fn befall(&mut self, effect: &Effect, what: Fate) -> Result<Receipt> {
        let by = match what {
            Fate::Dispatch | Fate::Confirm { .. } | Fate::Stop { .. } => effect.by.clone(),
            Fate::Tell(_) | Fate::WriteOff => user(),
        };
        self.befall_by(by, effect.effect_id, what)
    }

    /// The same by somebody.
    pub(super) fn befall_by(&mut self, by: Actor, effect_id: EffectId, what: Fate) -> Result<Receipt> {
        let shown =
            |place| self.ledger.seen(|rows| rows.evidence.keys().nth(place).copied()).into_iter().collect();
        let command = match what {
            Fate::Dispatch => EffectCommand::Dispatch { effect_id },
            Fate::Confirm { failed } => EffectCommand::Confirm { effect_id, failed, evidence: shown(0) },
            // A readback that told nothing has nothing to show.
            Fate::Tell(Told::Unknown) => {
                EffectCommand::Reconcile { effect_id, told: Told::Unknown, evidence: Vec::new() }
            }
            Fate::Tell(told) => EffectCommand::Reconcile { effect_id, told, evidence: shown(0) },
            Fate::Stop { confirmed } => {
                EffectCommand::Stop { effect_id, confirmed, evidence: shown(usize::from(confirmed)) }
            }
            Fate::WriteOff => {
                EffectCommand::WriteOff { effect_id, reason: text("nobody can tell"), evidence: shown(0) }
            }
        };
        self.submit(by, Input::Command(Command::Effect(command)))
    }
}
