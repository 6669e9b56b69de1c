//! Owns the moves of a random history about outside effects: intents under few keys, and all that can be told of them.

use super::{
    super::{play::intent, world::text},
    Player, pick,
};
use crate::{
    kernel::{Command, EffectCommand, Intent, Told},
    model::*,
};

impl Player {
    pub(super) fn effects(&mut self, x: u16, y: u16) {
        let rows = self.world.ledger.rows();
        let effect = pick(rows.nouns.values().filter_map(Effect::of), x / 8);
        let known: Vec<EvidenceId> = pick(rows.evidence.into_keys(), y).into_iter().collect();
        let evidence = if y.is_multiple_of(5) { Vec::new() } else { known };
        let told = [Told::Confirmed, Told::Absent, Told::Failed, Told::Unknown][usize::from(y) % 4];
        let Some(effect) = effect.filter(|_| x % 8 > 2) else { return self.intend(x, y) };
        let effect_id = effect.effect_id;
        let command = match x % 8 {
            3 => EffectCommand::Dispatch { effect_id },
            4 => EffectCommand::Confirm { effect_id, failed: y.is_multiple_of(3), evidence },
            5 => EffectCommand::Stop { effect_id, confirmed: y.is_multiple_of(2), evidence },
            6 => EffectCommand::WriteOff { effect_id, reason: text("nobody knows"), evidence },
            _ => EffectCommand::Reconcile { effect_id, told, evidence },
        };
        if y.is_multiple_of(3) {
            self.as_agent(y, Command::Effect(command));
        } else {
            self.as_user(Command::Effect(command));
        }
    }

    /// Of the work of whoever owns something, else a person's.
    fn intend(&mut self, x: u16, y: u16) {
        let rows = self.world.ledger.rows();
        let own = pick(rows.todos.values().filter_map(|todo| todo.ownership.clone()), x);
        let todo_id = match &own {
            Some(own) => rows.turns[&own.turn_id].todo_id().cloned(),
            None => self.todo(x),
        };
        let Some(todo_id) = todo_id else { return };
        let keys = (y % 3 == 1).then(|| text(["k0", "k1"][usize::from(x) % 2]));
        let new = Intent {
            own_id: own.as_ref().map(|own| own.own_id),
            todos: self.todo(y).into_iter().collect(),
            keys: keys.into_iter().collect(),
            digest: Digest::of(if y.is_multiple_of(7) { b"a" } else { b"b" }),
            ..intent(&todo_id, ["k0", "k1", "k2", "k3", "k4", "k5"][usize::from(y) % 6])
        };
        let command = Command::Effect(EffectCommand::Intend(Box::new(new)));
        match own {
            Some(own) if !x.is_multiple_of(5) => {
                let name = format!("{}@{}", own.agent_id, own.endpoint);
                drop(self.world.agent(&name, command));
            }
            Some(_) | None => self.as_user(command),
        }
    }
}
